use serde_json::json;

use super::{json, refuses, succeeds};

const SMALL: &str =
    "compare hikey sched-pipe:loops=100,threads --base fair:v5.9 --test fair:v5.9+asym-prev-first --seeds 2 --format";

#[test]
fn every_layout_names_what_was_compared() {
    for format in ["own", "mmtests", "amd", "arm", "markdown", "csv", "json"] {
        let text = succeeds(&format!("{SMALL} {format}"));
        for part in ["hikey", "sched-pipe:loops=100,threads", "fair:v5.9+asym-prev-first", "ops_per_sec"] {
            assert!(text.contains(part), "{format}: no {part} in\n{text}");
        }
        assert!(text.ends_with('\n') && !text.contains("NaN"), "{text}");
    }
}

#[test]
fn compare_keeps_its_contract() {
    let result = json(&format!("{SMALL} json"));
    assert_eq!(result["schema"], "fairground-compare-2");
    assert_eq!(result["seeds"], 2);
    let names: Vec<_> = result["metrics"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
    for name in ["ops_per_sec", "migrations_per_op", "energy_j", "migrations", "wakeup_latency_p99_us", "wasted_core_s"]
    {
        assert!(names.contains(&name), "{names:?}");
    }
    let metric = &result["metrics"][0];
    assert_eq!((metric["better"].as_str(), metric["base"]["n"].as_u64()), (Some("higher"), Some(2)));
    assert_eq!(metric["ci95"].as_array().map(Vec::len), Some(2));
}

#[test]
fn bench_keeps_its_contract() {
    let result = json("bench --seconds 0.05 --format json");
    let names: Vec<_> = result["rows"].as_array().unwrap().iter().map(|r| r["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["W8", "W128", "W224", "W8-why", "W8-eas", "W1024", "F224"]);
    for row in result["rows"].as_array().unwrap() {
        let figures = ["sim_s_per_wall_s", "sim_s_per_cpu_s", "core_events_per_s", "ns_per_decision"];
        for key in figures.into_iter().chain(["fork_median_ns", "fork_p99_ns"]) {
            assert!(row[key].as_f64().is_some_and(|x| x > 0.0), "{key} of {row}");
        }
    }
}

#[test]
fn a_cell_of_the_grid_tells_what_grows() {
    let cell = |name: &str| json(&format!("bench scale --row {name} --seconds 0.01"));
    let (small, large) = (cell("8:100"), cell("256:100"));
    for key in ["start_cpu_s", "cpu_s_per_sim_s", "events", "wakeups", "group_cpus", "probes", "balances"] {
        assert!(small[key].as_f64().is_some_and(|x| x > 0.0), "{key} of {small}");
    }
    // The same tasks wake as often wherever they are; balancing looks at the more CPUs the more there are.
    let ratio = |key: &str| large[key].as_f64().unwrap() / small[key].as_f64().unwrap();
    assert!((0.3..3.0).contains(&ratio("wakeups")), "{small}\n{large}");
    assert!(ratio("group_cpus") > 3.0, "{small}\n{large}");
    refuses("bench scale --row 9:100", &["no cell", "9:100", "CPUS:TASKS"]);
    refuses("bench --format svg", &["bench scale"]);
}

#[test]
fn lists_list() {
    assert!(succeeds("machine list").contains("hikey960"));
    assert!(succeeds("machine show hikey960").contains("Cortex-A73"));
    assert!(succeeds("workload list").contains("sched-pipe"));
    assert!(succeeds("workload show sched-pipe").contains("loops"));
    assert!(succeeds("feature list").contains("asym-prev-first"));
}

#[test]
fn a_feature_shows_where_and_since_when_it_acts() {
    let text = succeeds("feature show newidle-fail");
    for line in [
        "values     none, bump, random, rate",
        "releases   bump from v6.17, random from v6.19, rate from v7.1",
        "presets    bump: v6.17 to v6.18, not debian-6.18.15, not stable-6.18.y",
        "kernel     sched_balance_newidle",
        "shows      with a default configuration",
        "described  docs/spec/placement-new.md, section 5.2",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(succeeds("feature show cls-select").contains("rule       landed needs sis-merged"));
    let shown = json("feature show asym-prev-first --format json");
    assert_eq!(shown["changes"], json!([{ "release": "v5.10", "value": "1" }]));
    assert_eq!((&shown["presets"]["v5.9"], &shown["presets"]["v5.10"]), (&json!("0"), &json!("1")));
    assert_eq!(shown["relations"], json!(["needs asym-scan"]));
    assert_eq!((&shown["spec"]["section"], &shown["shows"]), (&json!("4.2"), &json!(null)));
    refuses("feature show protct", &["unknown feature `protct`", "did you mean `protect`?"]);
}

#[test]
fn one_preset_is_listed_with_what_it_has() {
    let text = succeeds("feature list v5.10");
    let row = |name: &str| text.lines().find(|line| line.starts_with(&format!("{name} "))).map(str::to_owned);
    assert!(row("asym-prev-first").is_some_and(|row| row.contains("v5.10")), "{text}");
    assert!(row("wa-prev-idle").is_none(), "it came with v5.11: {text}");
    assert!(row("numa-imb").is_some_and(|row| row.split_whitespace().nth(1) == Some("pair")), "{text}");
    let listed = json("feature list fair:v5.10-asym-prev-first+wa-prev-idle --format json");
    let names: Vec<&str> = listed["features"].as_array().unwrap().iter().map(|f| f["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"wa-prev-idle") && !names.contains(&"asym-prev-first"), "{names:?}");
    assert_eq!(listed["sched"], json!("fair:v5.10-asym-prev-first+wa-prev-idle"));
    assert!(succeeds("feature list v6.5").contains("v6.5 has no preset and runs as v6.3"));
    refuses("feature list v6.l2", &["unknown preset `v6.l2`", "did you mean"]);
    refuses("feature list linux:mine", &["features are those of fair: schedulers", "kernel agree"]);
}

#[test]
fn two_presets_differ_in_what_changed_between_them() {
    let text = succeeds("feature diff v5.10 v5.11");
    let rows: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("feature")).skip(1).collect();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let expected = [
        ["wa-prev-idle", "0", "1", "v5.11"],
        ["pinned-no-misfit", "0", "1", "v5.11"],
        ["freq-hold", "v54", "v511", "v5.11"],
        ["numa-imb", "pair", "quarter", "v5.11"],
    ];
    assert_eq!(rows.iter().map(|row| words(row)).collect::<Vec<_>>(), expected, "{text}");
    // Back: the same changes. By a name: what no release has.
    assert!(succeeds("feature diff v5.11 v5.10").contains("numa-imb          quarter  pair  v5.11\n"));
    let named = json("feature diff fair:v7.1 fair:v7.1-newidle-fail+feec-sync --format json");
    let row = |at: usize| {
        let row = &named["features"][at];
        (row["name"].clone(), row["base"].clone(), row["test"].clone(), row["changes"].as_array().unwrap().len())
    };
    assert_eq!(row(0), (json!("feec-sync"), json!("0"), json!("1"), 0));
    assert_eq!(row(1), (json!("newidle-fail"), json!("rate"), json!("none"), 3));
    // With nothing: the newest release.
    let newest = json("feature diff v7.2 --format json");
    assert_eq!(newest["test"], json!(fairground_fair::Features::newest().to_string()));
    assert!(succeeds("feature diff v6.5 v6.3").contains("v6.5 has no preset and runs as v6.3"));
    refuses("feature diff v6.l2 v7.3", &["unknown preset `v6.l2`", "did you mean"]);
    refuses("feature diff linux:mine v7.3", &["features are those of fair: schedulers", "kernel agree"]);
}

#[test]
fn built_in_machines_and_workloads_pass_their_checks() {
    for machine in ["hikey960", "hikey", "rpi5", "juno-r2", "epyc-7742-2p"] {
        assert!(succeeds(&format!("machine check {machine}")).contains("CPUs"));
    }
    for workload in ["sched-pipe", "periodic"] {
        assert!(succeeds(&format!("workload check {workload}")).contains("0 warnings"));
    }
}

#[test]
fn a_machine_survives_being_written_and_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mine.toml");
    std::fs::write(&path, succeeds("machine show hikey960 --toml")).unwrap();
    let hash = |machine: &str| {
        json(&format!("run {machine} sched-pipe:loops=50 --sched fair:v5.9 --format json"))["hash"].clone()
    };
    assert_eq!(hash("hikey960"), hash(&path.display().to_string()));
}
