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
    Executed { report, drawn: vec![], part_on_draws: 1, scores_draws: true, sources, without: vec![], ablation: None }
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
    let [ours, zero] = result.score.rms_without_largest.unwrap();
    assert!(ours < 1.0 && (10.0..20.0).contains(&zero), "without the row of +100 %: {ours}, {zero}");
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

/// Runs of base and test on draws, with these values of ops_per_sec.
fn drawn(values: impl IntoIterator<Item = [f64; 2]>) -> Vec<DrawnRuns> {
    use fairground_run::batch::RunReport;
    use fairground_run::metrics::MetricValue;
    let run = |value| {
        let metric = Metric::new("ops_per_sec", "", Better::Higher, "");
        Ok(RunReport { metrics: vec![MetricValue { metric, value }], hash: 0, notes: vec![] })
    };
    let draw = |(draw, values): (u64, [f64; 2])| DrawnRuns { draw, seed: draw, runs: values.map(run).into() };
    (1..).zip(values).map(draw).collect()
}

/// Changes of `from` percent, one more, and so on, in 19 draws.
fn nineteen_from(from: u32) -> Vec<DrawnRuns> {
    drawn((from..from + 19).map(|pct| [100.0, 100.0 + f64::from(pct)]))
}

/// The published change is +22.285 %, sigma 0.488: a hit overlaps 19.285 .. 25.285.
#[test]
fn draws_make_an_interval_a_second_hit_and_a_score() {
    let result = shown(|_, run| run.drawn = nineteen_from(1)).unwrap();
    let row = &result.rows[0];
    let model = row.model.as_ref().unwrap();
    let ModelInterval { median_pct, ci50, ci90, p_better, p_worse, draws } = model.interval;
    assert_eq!((median_pct, ci50, ci90), (Some(10.0), Some([5.0, 15.0]), Some([1.0, 19.0])));
    assert_eq!((p_better, p_worse, draws), (1.0, 0.0, 19));
    assert_eq!(
        model.changes_pct.iter().map(|pct| pct.round()).collect::<Vec<_>>(),
        (1..=19).map(f64::from).collect::<Vec<_>>()
    );
    assert_eq!((row.hit, row.hit_model, model.outside90), (Some(true), Some(false), Some(true)));
    // Draws are a point apart, twice the mail's error: it does not widen what is beyond the first and the last.
    let [lo, hi] = model.predictive.unwrap().ci90.unwrap();
    assert_eq!([lo, hi], [1.0, 19.0]);

    let proper = result.proper.as_ref().unwrap();
    let coverage = |coverage: Option<score::Coverage>| coverage.map(|c| (c.pct, c.ci95, c.rows));
    assert_eq!(coverage(proper.all.coverage90), Some((0.0, None, 1)));
    assert_eq!(coverage(proper.all.coverage50), Some((0.0, None, 1)));
    assert!((proper.all.coverage90.unwrap().width - (hi - lo)).abs() < 1e-9);
    // Far from the draws: the mean error, 22.285 - 10, less half of their mean distance, (19^2 - 1) / (3 19) / 2 = 3.158.
    // Of no change: 22.285 less half of the mean distance of two errors, 0.488 / sqrt(pi) = 0.275.
    assert!((proper.all.crps.ours - 9.127).abs() < 0.05, "{proper:?}");
    assert!((proper.all.crps.no_change - 22.010).abs() < 1e-3, "{proper:?}");
    assert_eq!((proper.all.crps.no_change_wide, proper.crps_without_largest), (None, None));
    assert_eq!(result.mails[0].proper, Some(proper.all));
    let hits = result.score.model.unwrap();
    assert_eq!((hits.hits_model, hits.scored_model), (0, 1));
    assert_eq!((hits.hits_of_changes_model, hits.changes_model), (0, 1));

    // One percent more, and the greatest of 19 draws reaches the margin.
    let row = &shown(|_, run| run.drawn = nineteen_from(2)).unwrap().rows[0];
    assert_eq!((row.hit_model, row.model.as_ref().unwrap().outside90), (Some(true), Some(true)));
    let row = &shown(|_, run| run.drawn = nineteen_from(10)).unwrap().rows[0];
    assert_eq!((row.hit_model, row.model.as_ref().unwrap().outside90), (Some(true), Some(false)));
}

#[test]
fn a_row_that_is_not_scored_shows_its_draws_alone() {
    let few = |mail: &mut Mail, run: &mut Executed| {
        mail.keep(&["hikey960/sched-pipe/ops_per_sec".to_string()]);
        mail.rows[0].not_scored = Some("doubted".into());
        run.drawn = nineteen_from(1);
    };
    let result = shown(few).unwrap();
    let row = &result.rows[0];
    let model = row.model.as_ref().unwrap();
    assert_eq!(model.interval.ci90, Some([1.0, 19.0]));
    assert_eq!((row.hit_model, model.predictive, model.outside90), (None, None, None));
    assert_eq!((&result.proper, result.score.model, result.mails[0].proper), (&None, None, None));
}

/// With draws a row needs no pairs of runs on the stated machine to be scored over them.
#[test]
fn few_pairs_of_runs_are_no_reason_against_a_score_over_draws() {
    let few = |mail: &mut Mail, run: &mut Executed| {
        mail.keep(&["hikey960/sched-pipe/ops_per_sec".to_string()]);
        *run = executed([149_313.0, 182_000.0], [4.0, 2.0], 7, vec![]);
        run.drawn = nineteen_from(10);
    };
    let result = shown(few).unwrap();
    let row = &result.rows[0];
    assert_eq!((row.hit, row.hit_model, row.model.as_ref().unwrap().outside90), (None, Some(true), Some(false)));
    assert_eq!(result.proper.unwrap().all.drawn_rows, 1);
}

#[test]
fn draws_without_a_percentage_are_counted_and_told() {
    let from_zero = |n| std::iter::repeat_n([0.0, 1.0], n);
    let told = |values: Vec<[f64; 2]>| {
        let mut result = shown(|_, run| run.drawn = drawn(values)).unwrap();
        let proper = result.proper.as_ref().map(|proper| (proper.all.drawn_rows, proper.all.coverage90));
        (proper, result.rows.remove(0), result.notes)
    };
    let (proper, row, notes) = told(from_zero(17).chain([[100.0, 110.0], [100.0, 120.0]]).collect());
    assert_eq!((proper, row.model.unwrap().interval.draws, row.hit_model), (Some((1, None)), 19, Some(false)));
    assert!(
        notes.contains(&format!("{}: 2 of 19 draws have a change in percent: no 90 % interval", row.id)),
        "{notes:?}"
    );
    let (proper, row, notes) = told(from_zero(19).collect());
    let model = row.model.unwrap();
    assert_eq!((proper, model.interval.median_pct, model.interval.p_better, row.hit), (None, None, 1.0, Some(true)));
    assert_eq!(row.hit_model, Some(false), "by seeds a change from 0 is a miss too");
    assert!(notes.iter().any(|note| note.ends_with("the row is not in coverage and CRPS")), "{notes:?}");
    let near = [[100.0, 122.0]; 18];
    let (_, row, notes) = told(from_zero(1).chain(near).collect());
    assert_eq!((row.model.unwrap().interval.ci90, row.hit_model), (None, Some(true)), "its upper end is infinite");
    assert!(notes.iter().any(|note| note.ends_with("no 90 % interval")), "{notes:?}");
    let (_, _, notes) = told(vec![[100.0, 110.0]; 3]);
    assert!(notes.iter().all(|note| !note.contains("draws")), "three draws were asked for: {notes:?}");
}

/// Two mails: the medians are those of two, and each is the other's rival.
#[test]
fn scores_of_mails_stand_beside_those_of_all() {
    let result = two_mails();
    let names: Vec<String> =
        super::super::over_draws::score_lines(&result).into_iter().map(|[name, ..]| name).collect();
    assert_eq!(names, ["asym-prev-first", "cluster-level", "all", "median of mails", "without the largest"]);
    let proper = result.proper.as_ref().unwrap();
    let [asym, cluster] = [0, 1].map(|mail| result.mails[mail].proper.unwrap().crps);
    assert_eq!(proper.crps_median.ours, (asym.ours + cluster.ours) / 2.0);
    let alone = crate::reproduce::score::Crps { no_change_wide: None, ..cluster };
    assert_eq!(proper.crps_without_largest, Some(alone), "22 % is the largest change, and the only one of its mail");
    assert_eq!(proper.all.crps.ours, (asym.ours + cluster.ours) / 2.0);
    // The other mail's one change, centred, is 0: a prediction of 0 without an error.
    let published = [0, 1].map(|row: usize| result.rows[row].published.improvement_pct.unwrap().abs());
    assert_eq!([asym, cluster].map(|crps| crps.no_change_wide), published.map(Some));
}

fn two_mails() -> Reproduction {
    let mail = |name, row: &str| {
        let mut mail = Mail::find(name).unwrap();
        mail.keep(&[row.to_string()]);
        mail
    };
    let mails = [mail("asym-prev-first", "hikey960/sched-pipe/ops"), mail("cluster-level", "one-node-2/elapsed")];
    let mut runs: Vec<_> = Vec::new();
    for spec in mails.iter().flat_map(runs_of) {
        let metric = Metric::new(&spec.metric, "", Better::Higher, "");
        let mut run = executed([1.0; 2], [1.0; 2], 8, vec![]);
        run.report.comparisons[0].rows = vec![Row::new(metric.clone(), vec![100.0; 8], vec![125.0; 8])];
        run.drawn = nineteen_from(1);
        for value in run.drawn.iter_mut().flat_map(|drawn| &mut drawn.runs).flatten() {
            value.metrics[0].metric = metric.clone();
        }
        runs.push((spec, run));
    }
    reproduce(&mails, &runs).unwrap()
}

/// All layouts tell of draws where there are some, and have no byte of them where there are none.
#[test]
fn draws_are_in_every_layout() {
    use crate::reproduce::{csv, html, json, markdown, render};
    let (with, without) = (two_mails(), shown(|_, _| ()).unwrap());
    for layout in [render, markdown, html] {
        let text = layout(&with);
        let is_marked = ["OUTSIDE", "**outside**", "<strong>outside"].iter().any(|mark| text.contains(mark));
        assert!(text.contains("by draws") && text.contains("median of mails") && is_marked, "{text}");
        assert!(!layout(&without).contains("draws"), "{}", layout(&without));
    }
    let value: serde_json::Value = serde_json::from_str(&json(&with)).unwrap();
    for key in ["drawn_rows", "coverage50", "coverage90", "crps", "crps_median", "crps_without_largest", "hits_model"] {
        assert!(!value[key].is_null(), "{key}");
    }
    for key in ["drawn_rows", "coverage50", "coverage90", "crps", "hits_model"] {
        assert!(!value["mails"][0][key].is_null(), "{key}");
    }
    let model = &value["rows"][0]["model"];
    assert_eq!((model["median_pct"].as_f64(), model["outside90"].as_bool()), (Some(10.0), Some(true)));
    assert_eq!(model["changes_pct"].as_array().map(Vec::len), Some(19));
    assert!(model["predictive"]["ci90"].is_array());
    let lines = csv(&with);
    let mut table = ::csv::Reader::from_reader(lines.as_bytes());
    let column = table.headers().unwrap().iter().position(|name| name == "model_ci90_hi").unwrap();
    assert_eq!(&table.records().next().unwrap().unwrap()[column], "19");
    insta::assert_snapshot!(format!("{}\n{}", render(&with), markdown(&with)));
}
