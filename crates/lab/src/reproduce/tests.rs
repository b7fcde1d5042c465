use super::*;
use crate::metric::{Better, Metric};

/// What a run of a row would give: two metrics over `seeds` seeds.
fn executed(ops: [f64; 2], migrations: [f64; 2], seeds: usize, sources: Vec<Source>) -> Executed {
    let row = |name: &str, better, [base, test]: [f64; 2]| {
        let metric = Metric { name: name.into(), unit: String::new(), better, meaning: String::new() };
        Row::new(metric, vec![base; seeds], vec![test; seeds])
    };
    let rows = vec![row("ops_per_sec", Better::Higher, ops), row("migrations", Better::Lower, migrations)];
    let comparison = Comparison { base: "fair:v5.9".into(), test: "fair:v5.9+x".into(), rows, pairs: vec![] };
    let report = Report {
        machine: "m".into(),
        workload: "w".into(),
        seeds: (1..=seeds as u64).collect(),
        comparisons: vec![comparison],
        notes: vec!["partition: 0-3".into()],
        failures: vec![],
    };
    Executed { report, sources, without: vec![], dissected: None }
}

fn reproduce_000(hikey960: Executed, hikey: Executed) -> Result<Reproduction, ReproduceError> {
    let mail = Mail::find("000").unwrap();
    let runs = runs_of(&mail);
    let machines: Vec<_> = runs.iter().map(|r| r.machine.as_str()).collect();
    assert_eq!(machines, ["hikey960", "hikey"]);
    reproduce(&[mail], &runs.into_iter().zip([hikey960, hikey]).collect::<Vec<_>>())
}

#[test]
fn a_good_simulation_hits_every_scored_row() {
    let fitted = vec![Source::Fitted("000/hikey960/sched-pipe/ops_per_sec/base".into())];
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
    let fitted = vec![Source::Fitted("000/hikey960/sched-pipe/ops_per_sec/base".into())];
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
    let fitted = vec![Source::Fitted("000/hikey960/sched-pipe/ops_per_sec/test".into())];
    let result = reproduce_000(
        executed([149_313.0, 182_587.0], [1.0, 0.0], 8, fitted),
        executed([1.0, 1.0], [0.0, 0.0], 8, vec![]),
    )
    .unwrap();
    assert_eq!((result.rows[1].kind, result.rows[1].hit), (Kind::Fitted, None));
}

#[test]
fn a_fit_to_an_unknown_cell_is_refused() {
    let fitted = vec![Source::Fitted("000/hikey960/sched-pipe/opsec/base".into())];
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

/// Mail 000 with `hikey960` as given, and its run taken apart or told apart by where it started.
fn shown(change: impl FnOnce(&mut Mail, &mut Executed)) -> Result<Reproduction, ReproduceError> {
    let mut mail = Mail::find("000").unwrap();
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
    let result = shown(|_, run| run.sources = fitted("000/hikey/sched-pipe/ops_per_sec/base")).unwrap();
    assert_eq!((result.rows.len(), result.rows[0].cells.base), (1, Kind::Predicted));
    let result = shown(|_, run| run.sources = fitted("000/hikey960/sched-pipe/ops_per_sec/base")).unwrap();
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
    use crate::experiment::RunReport;
    use crate::metric::Reading;
    let result = shown(|_, run| {
        let of = |text: &str| fairground_fair::Features::parse(text).unwrap();
        let (base, test) = (of("v5.9"), of("v5.9+asym-prev-first-wa-prev-idle"));
        let dissection = Dissection::of(&base, &test, &Default::default()).unwrap();
        let row = |better| Metric { name: "ops_per_sec".into(), unit: "".into(), better, meaning: "".into() };
        let report = |value: f64| {
            let readings = vec![Reading { metric: row(Better::Higher), value }];
            Ok(RunReport { readings, hash: 0, notes: vec![] })
        };
        let results = dissection.scheds.iter().enumerate().map(|(i, _)| vec![report(100.0 + 20.0 * i as f64); 8]);
        run.dissected = Some((dissection.clone(), results.collect()));
    })
    .unwrap();
    assert_eq!(result.rows[0].features.len(), 1);
    let text = crate::reproduce::render(&result);
    assert!(text.contains("asym-prev-first  000/hikey960/sched-pipe/ops_per_sec +20.00"), "{text}");
    assert!(text.contains("adds +20.00 [+20.00, +20.00] *"), "{text}");
}
