use super::*;
use fairground_run::metrics::{Better, Metric};

/// What a run of a row would give: two metrics over `seeds` seeds.
fn executed(ops: [f64; 2], migrations: [f64; 2], seeds: usize, sources: Vec<Source>) -> Executed {
    let row = |name: &str, better, [base, test]: [f64; 2]| {
        let metric = Metric::new(name, "", better, "");
        Row::new(metric, vec![base; seeds], vec![test; seeds])
    };
    let rows = vec![row("ops_per_sec", Better::Higher, ops), row("migrations", Better::Lower, migrations)];
    let comparison = Comparison {
        base: "fair:v5.9".into(),
        test: "fair:v5.9+x".into(),
        rows,
        pairs: vec![],
        published: vec![],
        doubt: None,
    };
    let report = Report {
        common: Default::default(),
        seeds: (1..=seeds as u64).collect(),
        comparisons: vec![comparison],
        notes: vec!["partition: 0-3".into()],
        failures: vec![],
        provenance: None,
    };
    Executed { report, sources, without: vec![], ablation: None }
}

fn reproduce_000(hikey960: Executed, hikey: Executed) -> Result<Reproduction, ReproduceError> {
    let mail = Mail::find("asym-prev-first").unwrap();
    let runs = runs_of(&mail);
    let machines: Vec<_> = runs.iter().map(|r| r.machine.as_str()).collect();
    assert_eq!(machines, ["hikey960", "hikey"]);
    reproduce(&[mail], &runs.into_iter().zip([hikey960, hikey]).collect::<Vec<_>>())
}

#[test]
fn a_good_simulation_hits_every_scored_row() {
    let fitted = vec![Source::Fitted("asym-prev-first/hikey960/sched-pipe/ops_per_sec/base".into())];
    let result = reproduce_000(
        executed([149_313.0, 182_000.0], [99_936.0, 0.0], 8, fitted),
        executed([47_721.0, 47_721.0], [0.0, 0.0], 8, vec![]),
    )
    .unwrap();
    let hits: Vec<_> = result.rows.iter().map(|r| r.hit).collect();
    assert_eq!(hits, [Some(true), Some(true), None, Some(true), None, None]);
    assert_eq!((result.score.hits, result.score.scored), (3, 3));
    assert!(result.score.rms_ours.unwrap() < 1.0 && result.score.rms_zero.unwrap() > 50.0);
}

#[test]
fn a_baseline_fit_marks_its_cell_and_not_the_change() {
    let fitted = vec![Source::Fitted("asym-prev-first/hikey960/sched-pipe/ops_per_sec/base".into())];
    let result =
        reproduce_000(executed([1.0, 1.0], [1.0, 0.0], 8, fitted), executed([1.0, 1.0], [0.0, 0.0], 8, vec![]))
            .unwrap();
    let row = &result.rows[1];
    assert_eq!((row.kind, row.cells.base, row.cells.test), (Kind::Predicted, Kind::Fitted, Kind::Predicted));
    assert_eq!(result.rows[0].cells.base, Kind::Predicted);
    assert_eq!(result.rows[5].kind, Kind::Given);
}

#[test]
fn a_row_whose_patched_cell_was_fitted_is_not_scored() {
    let fitted = vec![Source::Fitted("asym-prev-first/hikey960/sched-pipe/ops_per_sec/test".into())];
    let result = reproduce_000(
        executed([149_313.0, 182_587.0], [1.0, 0.0], 8, fitted),
        executed([1.0, 1.0], [0.0, 0.0], 8, vec![]),
    )
    .unwrap();
    assert_eq!((result.rows[1].kind, result.rows[1].hit), (Kind::Fitted, None));
}

#[test]
fn a_fit_to_an_unknown_cell_is_refused() {
    let fitted = vec![Source::Fitted("asym-prev-first/hikey960/sched-pipe/opsec/base".into())];
    let result =
        reproduce_000(executed([1.0, 1.0], [1.0, 0.0], 8, fitted), executed([1.0, 1.0], [0.0, 0.0], 8, vec![]));
    assert!(matches!(result, Err(ReproduceError::UnknownCell { .. })));
}

#[test]
fn few_seeds_are_shown_and_not_scored() {
    let result = reproduce_000(
        executed([149_313.0, 182_587.0], [1.0, 0.0], 7, vec![]),
        executed([1.0, 1.0], [0.0, 0.0], 7, vec![]),
    )
    .unwrap();
    assert_eq!((result.score.scored, result.score.rms_ours), (0, None));
    assert!(result.rows[1].ours.is_some());
}

#[test]
fn a_change_of_ours_from_0_is_a_miss_and_in_no_rms() {
    let run = |migrations| {
        let hikey = executed([47_721.0, 47_721.0], [0.0, 0.0], 8, vec![]);
        reproduce_000(executed([149_313.0, 182_000.0], migrations, 8, vec![]), hikey).unwrap()
    };
    let (with, without) = (run([99_936.0, 0.0]), run([0.0, 5.0]));
    let missed = without.rows.iter().find(|r| r.why == "miss: our base is 0, theirs is not").unwrap();
    assert_eq!(
        (missed.hit, without.score.scored, without.score.hits),
        (Some(false), with.score.scored, with.score.hits - 1)
    );
    assert!(
        with.score.rms_zero.unwrap() > 50.0 && without.score.rms_zero.unwrap() < 20.0,
        "{:?}",
        without.score.rms_zero
    );
    assert!(crate::reproduce::render(&without).contains("but those in which ours is a change from 0"));
}

#[test]
fn the_rule_for_a_published_change() {
    let hit = |ours: f64, half: f64| judge(22.285, 0.488, ours, [ours - half, ours + half]).0;
    assert!(hit(22.0, 0.1));
    assert!(hit(25.0, 0.1)); // 24.9 < 25.285
    assert!(!hit(25.4, 0.1)); // 25.3 > 25.285
    assert!(hit(26.0, 1.0));
    assert!(!hit(-22.0, 50.0)); // wrong sign, whatever the interval
}

#[test]
fn wide_errors_widen_the_margin() {
    assert!(judge(30.0, 5.0, 21.0, [20.5, 21.5]).0); // 2 sigma = 10 > 3
    assert!(!judge(30.0, 5.0, 18.0, [17.5, 18.5]).0);
}

#[test]
fn the_rule_for_no_published_change() {
    let hit = |ours: f64| judge(0.373, 0.944, ours, [ours, ours]).0; // 2 sigma = 1.888
    assert!(hit(0.0) && hit(-1.8) && hit(1.8));
    assert!(!hit(1.9) && !hit(-1.9));
    assert!(judge(0.1, 0.2, 0.9, [0.9, 0.9]).0); // at least one point
    assert!(!judge(0.1, 0.2, 1.1, [1.1, 1.1]).0);
}

#[test]
fn every_row_has_the_keys_of_the_contract() {
    let result = reproduce_000(
        executed([149_313.0, 182_000.0], [99_936.0, 0.0], 8, vec![]),
        executed([47_721.0, 47_721.0], [0.0, 0.0], 8, vec![]),
    )
    .unwrap();
    let json = serde_json::to_value(&result).unwrap();
    assert!(json.get("rms_ours").is_some() && json.get("rms_zero").is_some());
    for row in json["rows"].as_array().unwrap() {
        for key in ["mail", "machine", "benchmark", "params", "metric", "published", "ours", "kind", "hit", "why"] {
            assert!(row.get(key).is_some(), "{key}");
        }
    }
    insta::assert_snapshot!(crate::reproduce::render(&result));
}

/// Mail 000 with `hikey960` as given, and its run split by features or grouped by the CPU where it started.
fn shown(change: impl FnOnce(&mut Mail, &mut Executed)) -> Result<Reproduction, ReproduceError> {
    let mut mail = Mail::find("asym-prev-first").unwrap();
    mail.keep(&["hikey960/sched-pipe/ops_per_sec".to_string()]);
    let mut run = executed([149_313.0, 182_000.0], [4.0, 2.0], 8, vec![]);
    change(&mut mail, &mut run);
    let runs = runs_of(&mail);
    assert_eq!(runs.len(), 1);
    let spec = runs.into_iter().next().unwrap();
    reproduce(&[mail], &[(spec, run)])
}

#[test]
fn a_row_that_is_left_out_may_still_have_been_fitted() {
    let fitted = |cell: &str| vec![Source::Fitted(cell.into())];
    let result = shown(|_, run| run.sources = fitted("asym-prev-first/hikey/sched-pipe/ops_per_sec/base")).unwrap();
    assert_eq!((result.rows.len(), result.rows[0].cells.base), (1, Kind::Predicted));
    let result = shown(|_, run| run.sources = fitted("asym-prev-first/hikey960/sched-pipe/ops_per_sec/base")).unwrap();
    assert_eq!(result.rows[0].cells.base, Kind::Fitted);
}

#[test]
fn runs_that_fall_into_kinds_are_counted() {
    let by = |metric: &'static str| shown(|mail, _| mail.rows[0].run.as_mut().unwrap().by = Some(metric.into()));
    let text = crate::reproduce::render(&by("migrations").unwrap());
    assert!(text.contains("ops_per_sec: runs by migrations\n    base  4 in 8 runs (100 %), mean 149313;"), "{text}");
    assert!(matches!(by("start"), Err(ReproduceError::NoMetric { metric, .. }) if metric == "start"));
}

#[test]
fn a_row_taken_apart_says_which_feature_moves_it() {
    use fairground_run::batch::RunReport;
    use fairground_run::metrics::MetricValue;
    let result = shown(|_, run| {
        let of = |text: &str| fairground_fair::Features::parse(text).unwrap();
        let (base, test) = (of("v5.9"), of("v5.9+asym-prev-first-wa-prev-idle"));
        let ablation = Ablation::plan(&base, &test, &Default::default()).unwrap();
        let row = |better| Metric::new("ops_per_sec", "", better, "");
        let report = |value: f64| {
            let metrics = vec![MetricValue { metric: row(Better::Higher), value }];
            Ok(RunReport { metrics, hash: 0, notes: vec![] })
        };
        let results = ablation.columns.iter().enumerate().map(|(i, _)| vec![report(100.0 + 20.0 * i as f64); 8]);
        run.ablation = Some((ablation.clone(), results.collect()));
    })
    .unwrap();
    assert_eq!(result.rows[0].features.len(), 1);
    let text = crate::reproduce::render(&result);
    assert!(text.contains("asym-prev-first  asym-prev-first/hikey960/sched-pipe/ops_per_sec +20.00"), "{text}");
    assert!(text.contains("adds +20.00 [+20.00, +20.00] *"), "{text}");
}

/// Mail 004 with runs of which each base takes 10 s and each test as many as its name has letters, one node alone.
fn shown_004(parts: &[&str]) -> Reproduction {
    let mut mail = Mail::find("cluster-level").unwrap();
    mail.keep(&parts.iter().map(|part| part.to_string()).collect::<Vec<_>>());
    let run = |spec: PublishedRun| {
        let metric = Metric::new(&spec.metric, "", Better::Lower, "");
        let test = spec.test.as_ref().map_or(10.0, |test| test.len() as f64 / 10.0);
        let fitted = vec![Source::Fitted("cluster-level/kunpeng920/pinned-cluster/elapsed/base".into())];
        let mut run = executed([1.0; 2], [1.0; 2], 8, fitted);
        run.report.comparisons[0].rows = vec![Row::new(metric, vec![10.0; 8], vec![test; 8])];
        (spec, run)
    };
    let runs: Vec<_> = runs_of(&mail).into_iter().map(run).collect();
    reproduce(&[mail], &runs).unwrap()
}

#[test]
fn a_row_of_one_column_is_set_beside_ours_and_not_scored() {
    let result = shown_004(&["pinned", "busy"]);
    assert_eq!((result.rows.len(), result.score.scored), (5, 0));
    for row in &result.rows {
        let ours = row.ours.as_ref().unwrap();
        assert_eq!((ours.base, ours.test, ours.improvement_pct), (Some(10.0), None, None), "{}", row.id);
        assert_eq!((row.published.test, row.hit), (None, None));
        assert!(row.why.contains("one column alone is published"), "{}", row.why);
        let fitted = row.id.contains("pinned-cluster");
        assert_eq!(row.kind, if fitted { Kind::Fitted } else { Kind::Predicted }, "{}", row.id);
    }
}

#[test]
fn a_doubted_base_is_shown_in_both_readings_and_judges_nothing() {
    let result = shown_004(&["two-nodes-5/elapsed"]);
    let row = &result.rows[0];
    let (printed, other) = (row.published.improvement_pct.unwrap(), row.published.other_improvement_pct.unwrap());
    assert!((printed - 49.07).abs() < 0.01 && (other - 1.60).abs() < 0.01, "{printed} {other}");
    assert_eq!((row.hit, result.score.scored), (None, 0));
    let text = crate::reproduce::render(&result);
    let or = text.lines().find(|line| line.trim_start().starts_with("or ")).unwrap();
    assert!(or.contains("14.20") && or.contains("1.60 %"), "{text}");
}

#[test]
fn forms_of_which_nothing_is_printed_stand_beside_the_row_they_belong_to() {
    let result = shown_004(&["one-node-2/elapsed", "one-node-4/elapsed"]);
    let forms = &result.rows[0].forms;
    let tests: Vec<_> = forms.iter().map(|form| form.test.trim_start_matches("fair:v5.9")).collect();
    assert_eq!(tests, ["+cls-domain", "+cls-select=loop", "+cls-domain+cls-select=levels", "fair:v6.7"]);
    assert_eq!([&forms[0].base, &forms[3].base], ["fair:v5.9", "fair:v6.7-cls-domain-cls-select"]);
    assert_eq!((forms[0].value, forms[0].improvement_pct.map(f64::round), forms[0].n), (2.0, Some(80.0), 8));
    assert!(result.rows[1].forms.is_empty());
    assert_eq!(result.score.scored, 2, "forms are not rows");
    let text = crate::reproduce::render(&result);
    assert!(text.contains("other forms, of which nothing is published"), "{text}");
}

#[test]
fn domains_of_mail_004_are_looked_up_and_agree() {
    let result = shown_004(&["domains"]);
    assert!(result.rows.iter().all(|row| row.why == "check: our domains have the same"), "{:?}", result.rows);
    let interval = |row: &ReproducedRow| row.ours.as_ref().map(|ours| (ours.base, ours.test)).unwrap();
    let all: Vec<_> = result.rows.iter().map(interval).collect();
    let both = |ms| (Some(ms), Some(ms));
    assert_eq!(all, [both(24.0), both(48.0), (None, Some(4.0)), (None, Some(8.0))]);
    assert_eq!(result.score.scored, 0);
}

#[test]
fn a_domain_that_differs_is_said_to() {
    let mut mail = Mail::find("cluster-level").unwrap();
    mail.keep(&["domains/mc-min".into()]);
    mail.rows[0].domain.as_mut().unwrap().cpu = 1000;
    let row = reproduce(&[mail.clone()], &[]).unwrap().rows.remove(0);
    assert_eq!(row.why, "check: our domains DIFFER");
    mail.rows[0].domain.as_mut().unwrap().machine = "kunpeng290".into();
    assert!(
        matches!(reproduce(&[mail], &[]), Err(ReproduceError::Domain { problem, .. }) if problem.contains("kunpeng290"))
    );
}
