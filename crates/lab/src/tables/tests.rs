use super::*;
use crate::comparison::{Comparison, Failure, Pair, Row, Settings};
use crate::provenance::Provenance;
use crate::published::PublishedBeside;
use fairground_run::metrics::{Better, Metric};

fn row(name: &str, unit: &str, better: Better, base: &[f64], test: &[f64]) -> Row {
    Row::new(Metric::new(name, unit, better, format!("what {name} is")), base.repeat(2), test.repeat(2))
}

fn published() -> PublishedBeside {
    PublishedBeside {
        id: "mail/machine/row".into(),
        mail: "mail".into(),
        subject: "[PATCH] a subject".into(),
        author: "A. Sender".into(),
        date: "2020-10-28".into(),
        workload: "sched-pipe:loops=50000,threads".into(),
        same_workload: true,
        metric: "ops_per_sec".into(),
        unit: "ops/sec".into(),
        base: Some(149_313.0),
        test: Some(182_587.0),
        improvement_pct: Some(22.285),
        sigma_pct: 0.488,
        base_is_fitted: true,
        note: "measured on the mail's own kernel and board".into(),
    }
}

/// A clear gain, a count that falls to nothing, a change from zero, noise, and a constant; six pairs each.
fn report() -> Report {
    let rows = vec![
        row(
            "ops_per_sec",
            "ops/s",
            Better::Higher,
            &[149_310.0, 149_290.5, 149_400.25],
            &[182_580.0, 182_500.0, 182_700.0],
        ),
        row("migrations", "count", Better::Lower, &[99_936.0, 99_936.0, 99_936.0], &[0.0, 0.0, 0.0]),
        row("wasted_core_s", "s", Better::Lower, &[0.0, 0.0, 0.0], &[0.25, 0.25, 0.5]),
        row("wakeup_latency_p99_us", "us", Better::Lower, &[3.5, 3.25, 3.75], &[3.75, 3.25, 3.5]),
        row("energy_j", "J", Better::Lower, &[0.5, 0.5, 0.5], &[0.5, 0.5, 0.5]),
        row("idle_cut", "count", Better::Lower, &[0.0, 0.0, 0.0], &[0.0, 0.0, 0.0]),
        row("idle_lost_j", "J", Better::Lower, &[0.0, 0.0, 0.0], &[0.0, 0.0, 0.0]),
    ];
    let settings = ["fair:v5.9", "fair:v5.9+asym-prev-first"]
        .map(|sched| Settings::new("hikey960", "sched-pipe:loops=50000,threads", sched));
    let Report { common, mut comparisons, .. } = Report::new(&settings, &[], &vec![vec![], vec![]]);
    let pairs =
        (1..=6).map(|seed| Pair { seed, base: 0xabc0 + u128::from(seed), test: 0xdef0 + u128::from(seed) }).collect();
    let mut comparison = Comparison { rows, pairs, published: vec![published()], ..comparisons.remove(0) };
    comparison.judge();
    Report {
        common,
        seeds: (1..=7).collect(),
        comparisons: vec![comparison],
        notes: vec!["partition: 0-3".into()],
        provenance: Some(Provenance::example()),
        failures: vec![Failure { side: "fair:v5.9".into(), seed: 7, message: "task 7 lost".into() }],
    }
}

#[test]
fn every_layout_as_it_was() {
    // The page has the style of all pages: it has a test of its own.
    for format in Format::ALL.into_iter().filter(|format| *format != Format::Html) {
        insta::assert_snapshot!(format.name(), format.render(&report()));
    }
}

#[test]
fn a_page_has_both_intervals_the_verdicts_and_the_rules_that_moved() {
    let mut report = report();
    let changes: Vec<f64> = (0..20).map(f64::from).collect();
    report.comparisons[0].rows[0].model = crate::doubt::ModelInterval::from_changes(&changes);
    let rule = |name: &str, before, after| crate::explain::RuleShift { rule: name.into(), before, after };
    let parted = crate::explain::Parted {
        pairs: [7, 5],
        agree_before: 3,
        rules: vec![rule("select_idle_sibling: target (A1)", 1, 4)],
        first: Some(["CPU 1".into(), "CPU 2".into()]),
        text: "<all>".into(),
    };
    let traces = vec![("base".to_owned(), "a&b.txt".to_owned())];
    let shown = PairShown {
        seed: 3,
        parted: Ok(parted),
        traces,
        traces_problem: Some("a<b".into()),
        command: "fairground view 'm'".into(),
    };
    let text = page(&report, &[Some(shown)]);
    for part in [
        "<title>Fairground: sched-pipe:loops=50000,threads on hikey960</title>",
        "worse: wasted_core_s; better: ops_per_sec, migrations; unsure: 1; same: 1",
        "<td role=\"cell\" data-name=\"95 % interval\">+22.25 .. +22.29 %</td>",
        "<td role=\"cell\" class=\"mark miss\">worse</td>",
        "over 20 draws: median +9.50 %, 90 % interval ",
        "<line class=\"bar drawn\"",
        "<path class=\"form hit\"",
        "0 on both sides: idle_cut, idle_lost_j",
        "The runs with seed 3",
        "5 of 7 decisions choose the same CPU",
        "<tr><td>1</td><td>4</td><td>select_idle_sibling: target (A1)</td></tr>",
        "The first that differs, after 3",
        "<a href=\"a&amp;b.txt\">base</a>",
        "<p>Not written: a&lt;b</p>",
        "&lt;all&gt;",
        "FAILED: fair:v5.9 seed 7: task 7 lost",
        "made by: fairground 1.2.3",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    assert!(!page(&report, &[]).contains("Rules that moved"));
}

/// The report with tests of these names beside its own, which has the first.
fn several(names: &[&str]) -> Report {
    let mut report = report();
    for name in names {
        let mut more = report.comparisons[0].clone();
        more.test.name = (*name).into();
        report.comparisons.push(more);
    }
    report
}

#[test]
fn several_tests_stand_side_by_side() {
    let report = several(&["fair:v6.1", "fair:v6.12"]);
    for format in [Format::Mail, Format::Mmtests, Format::Amd, Format::Arm] {
        insta::assert_snapshot!(format!("{}-several", format.name()), format.render(&report));
    }
    let mut other_base = several(&["fair:v6.1"]);
    other_base.comparisons[1].rows[0].base[0] += 1.0;
    let amd = Format::Amd.render(&other_base);
    assert_eq!(amd.matches("Interpretation").count(), 2, "a failed run: they are of other seeds\n{amd}");
}

#[test]
fn a_mail_has_80_columns_of_ascii_whatever_is_in_it() {
    let names = [
        "fair:v6.12+a-very-long-list-of-features-that-nobody-would-read-in-a-mail-but-that-may-be-there",
        "f\u{e4}ir",
        "c",
        "d",
    ];
    let mut report = several(&names);
    report.notes.push("na\u{ef}ve \u{b1} 3 ".to_owned() + &"words ".repeat(40));
    let text = Format::Mail.render(&report);
    assert!(text.is_ascii() && text.contains("f?ir") && text.contains("na?ve +- 3"), "{text}");
    let long: Vec<&str> = text.lines().filter(|line| line.len() > 80).collect();
    assert_eq!(long, [format!("       {}", names[0])], "a word is never cut");
    assert!(text.lines().any(|line| line == "0 on all sides: idle_cut, idle_lost_j"), "{text}");
}

#[test]
fn what_is_0_on_both_sides_has_one_line() {
    for format in [Format::Own, Format::Mmtests, Format::Amd, Format::Arm, Format::Mail] {
        let text = format.render(&report());
        assert!(text.contains("0 on both sides: idle_cut, idle_lost_j"), "{text}");
        assert_eq!(text.matches("idle_cut").count(), 1, "{text}");
    }
}

/// The main table of our own layout for a terminal of so many columns.
fn own_table(report: &Report, columns: usize) -> Vec<String> {
    let text = Format::Own.render_for(report, columns);
    let lines = text.lines().skip_while(|line| !line.starts_with("metric "));
    lines.take_while(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn a_row_has_two_lines_where_one_is_too_wide_and_no_figure_is_lost() {
    let report = report();
    let one = own_table(&report, 110);
    let width = one.iter().map(|line| line.chars().count()).max().unwrap();
    assert_eq!((one.len(), &own_table(&report, width)), (6, &one));
    let two = own_table(&report, width - 1);
    let expected = [
        "metric                   base    test  improvement       95 % interval",
        "ops_per_sec            149334  182593     +22.27 %  +22.25 .. +22.29 %",
        "  ops/s                  ± 52    ± 90       better",
    ];
    assert_eq!(two[..3], expected);
    let words = |lines: &[String]| {
        let mut words: Vec<String> = lines[1..].join(" ").split_whitespace().map(str::to_owned).collect();
        words.sort();
        words
    };
    assert_eq!(words(&one), words(&two));
    assert!(two.iter().all(|line| line.chars().count() <= 80), "{two:#?}");
}

#[test]
fn a_table_for_no_terminal_has_at_most_110_columns() {
    let mut report = report();
    let figures = |scale: f64| [0.0012, 0.0011, 0.0023].map(|x| x * scale);
    report.comparisons[0].rows.extend([
        row("wakeup_latency_mean_us", "us", Better::Lower, &figures(1.0), &figures(-20.0)),
        row("a_longer_name_than_most_metrics", "count", Better::Lower, &figures(1.0), &figures(3.1)),
    ]);
    report.comparisons[0].judge();
    let table = own_table(&report, crate::tables::COLUMNS);
    assert!(table.iter().all(|line| line.chars().count() <= 110), "{table:#?}");
    assert_eq!(table.len(), 1 + 2 * 7, "the long name takes two lines a row: {table:#?}");
    let text = Format::Own.render(&report);
    assert!(text.contains("\nhigher is better: ops_per_sec; lower: the others\n"), "{text}");
}

/// A metric of our own layout is explained where the user asks for it.
#[test]
fn the_legend_is_apart() {
    let (table, legend) = (Format::Own.render(&report()), legend(&report()));
    assert!(
        legend.contains("ops_per_sec            what ops_per_sec is\n") && legend.contains("verdict        better")
    );
    assert!(!table.contains("what ops_per_sec is"), "{table}");
}

#[test]
fn below_six_pairs_no_layout_has_a_star_and_all_is_unsure() {
    let mut report = report();
    for row in &mut report.comparisons[0].rows {
        *row = Row::new(row.metric.clone(), row.base[..5].into(), row.test[..5].into());
    }
    for format in [Format::Own, Format::Mmtests, Format::Amd, Format::Arm, Format::Markdown] {
        let figures = format.render(&report);
        let figures =
            figures.lines().filter(|line| line.contains("migrations") && !line.contains("what migrations is"));
        let starred: Vec<&str> = figures.filter(|line| line.contains('*')).collect();
        assert!(starred.is_empty(), "{}: {starred:?}", format.name());
    }
    let json: serde_json::Value = serde_json::from_str(&Format::Json.render(&report)).unwrap();
    let metrics = json["metrics"].as_array().unwrap();
    assert!(metrics.iter().all(|m| m["significant"].is_null() && m["diff_ci95"].is_array()));
    assert!(metrics.iter().all(|m| m["verdict"] == "unsure"));
    let csv = Format::Csv.render(&report);
    let mut lines = ::csv::Reader::from_reader(csv.as_bytes());
    let column = lines.headers().unwrap().iter().position(|name| name == "significant").unwrap();
    assert!(lines.records().all(|record| record.unwrap()[column].is_empty()), "{csv}");
}

#[test]
fn several_tests_are_a_list_in_json() {
    let mut report = report();
    report.comparisons.push(report.comparisons[0].clone());
    let json: serde_json::Value = serde_json::from_str(&Format::Json.render(&report)).unwrap();
    assert_eq!(json.as_array().map(Vec::len), Some(2));
}

#[test]
fn json_keeps_the_contract() {
    let json: serde_json::Value = serde_json::from_str(&Format::Json.render(&report())).unwrap();
    let keys = ["schema", "machine", "workload", "base", "test", "seeds", "metrics"];
    assert!(keys.iter().all(|k| json.get(k).is_some()), "{json}");
    let metric = &json["metrics"][0];
    let keys = ["name", "unit", "better", "base", "test", "improvement_pct", "ci95", "significant"];
    assert!(keys.iter().all(|k| metric.get(k).is_some()), "{metric}");
    assert_eq!(metric["better"], "higher");
    assert_eq!(metric["base"]["n"], 6);
    assert_eq!(json["metrics"][2]["improvement_pct"], serde_json::Value::Null);
}

#[test]
fn json_has_the_provenance_of_the_pair_and_published_rows() {
    let json: serde_json::Value = serde_json::from_str(&Format::Json.render(&report())).unwrap();
    let provenance = &json["provenance"];
    let keys = ["version", "commit", "machine_hash", "workload_hash", "program_hash", "governor", "hz", "figures"];
    assert!(keys.iter().all(|k| provenance.get(k).is_some()), "{provenance}");
    assert_eq!(provenance["figures"]["estimated"], 63);
    assert_eq!((&provenance["hz"], &provenance["test"]["hz"]), (&serde_json::Value::Null, &1000.into()));
    assert_eq!(json["published"][0]["improvement_pct"], 22.285);
}

#[test]
fn formats_are_named_as_typed_and_others_are_refused_with_a_hint() {
    for format in Format::ALL {
        assert_eq!(format.name().parse(), Ok(format));
    }
    assert!("jsno".parse::<Format>().unwrap_err().contains("did you mean json?"));
}
