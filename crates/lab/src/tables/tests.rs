use super::*;
use crate::comparison::{Comparison, Failure, Pair, Row, Settings};
use fairground_run::metrics::{Better, Metric};

fn row(name: &str, unit: &str, better: Better, base: &[f64], test: &[f64]) -> Row {
    Row::new(Metric::new(name, unit, better, format!("what {name} is")), base.repeat(2), test.repeat(2))
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
    ];
    let settings = ["fair:v5.9", "fair:v5.9+asym-prev-first"]
        .map(|sched| Settings::new("hikey960", "sched-pipe:loops=50000,threads", sched));
    let Report { common, mut comparisons, .. } = Report::new(&settings, &[], &vec![vec![], vec![]]);
    let pairs =
        (1..=6).map(|seed| Pair { seed, base: 0xabc0 + u128::from(seed), test: 0xdef0 + u128::from(seed) }).collect();
    let mut comparison = Comparison { rows, pairs, ..comparisons.remove(0) };
    comparison.judge();
    Report {
        common,
        seeds: (1..=7).collect(),
        comparisons: vec![comparison],
        notes: vec!["partition: 0-3".into()],
        failures: vec![Failure { side: "fair:v5.9".into(), seed: 7, message: "task 7 lost".into() }],
    }
}

#[test]
fn every_layout_as_it_was() {
    for format in Format::ALL {
        insta::assert_snapshot!(format.name(), format.render(&report()));
    }
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
fn formats_are_named_as_typed_and_others_are_refused_with_a_hint() {
    for format in Format::ALL {
        assert_eq!(format.name().parse(), Ok(format));
    }
    assert!("jsno".parse::<Format>().unwrap_err().contains("did you mean json?"));
}
