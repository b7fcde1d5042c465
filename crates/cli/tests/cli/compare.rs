use fairground_fair::Features;

use super::{fairground, files, json, refuses, succeeds};

/// A comparison whose test side is still missing.
const BASE: &str = "compare hikey960 sched-pipe:loops=200,threads --seeds 2 --base fair:v5.9";
/// The patch of a mail.
const SMALL: &str =
    "compare hikey960 sched-pipe:loops=200,threads --seeds 2 --base fair:v5.9 --test fair:v5.9+asym-prev-first";

#[test]
fn a_missing_side_is_refused_with_the_command_to_type() {
    let command = "fairground compare hikey960 hackbench:loops=5";
    let newest = Features::newest();
    refuses(
        "compare hikey960 hackbench:loops=5",
        &["--base and --test are missing", &format!("{command} --base fair:v6.1 --test {newest}")],
    );
    refuses(
        "compare hikey960 hackbench:loops=5 --base 'fair:v5.9 hz=100'",
        &["--test is missing", &format!("{command} --base 'fair:v5.9 hz=100' --test {newest}")],
    );
    refuses(
        "compare hikey960 hackbench:loops=5 --test fair:v5.9",
        &["--base is missing", &format!("{command} --base fair:v6.1 --test fair:v5.9")],
    );
}

#[test]
fn what_differs_names_the_sides_and_what_does_not_is_the_title() {
    let alike = "compare hikey960 sched-pipe:loops=200,threads --seeds 2 --sched fair:v6.12";
    let heading = |sides: &str| {
        let table = succeeds(&format!("{alike} {sides}"));
        table.split_once("seeds ").expect("a heading").0.to_owned()
    };
    let (machine, workload) = ("machine   hikey960\n", "workload  sched-pipe:loops=200,threads\n");
    let sched = "sched     fair:v6.12\n";
    assert_eq!(
        heading("--base governor=performance --test governor=schedutil"),
        format!("{machine}{workload}{sched}base      governor=performance\ntest      governor=schedutil\n")
    );
    assert_eq!(
        heading("--base fair:v6.12 --test machine=hikey"),
        format!("{workload}{sched}base      machine=hikey960\ntest      machine=hikey\n")
    );
    assert_eq!(
        heading("--base fair:v6.12 --test workload=hackbench:groups=1,loops=3"),
        format!(
            "{machine}{sched}base      workload=sched-pipe:loops=200,threads\n\
             test      workload=hackbench:groups=1,loops=3\n"
        )
    );
    assert_eq!(
        heading("--base sched_util_clamp_min=0 --test 'kernel.sched_util_clamp_min=512 fair:v6.1'"),
        format!(
            "{machine}{workload}base      fair:v6.12 sched_util_clamp_min=0\n\
             test      fair:v6.1 sched_util_clamp_min=512\n"
        )
    );
}

#[test]
fn json_has_all_settings_of_both_sides() {
    let result = json(&format!("{BASE} --test 'fair:v5.9 hz=1000' --governor powersave --format json"));
    assert_eq!((&result["base"], &result["test"]), (&"hz=250".into(), &"hz=1000".into()));
    assert_eq!((&result["machine"], &result["sched"]), (&"hikey960".into(), &"fair:v5.9".into()));
    let settings = &result["test_settings"];
    for (name, value) in [("hz", "1000"), ("governor", "powersave"), ("sched", "fair:v5.9"), ("ambient", "none")] {
        assert_eq!(settings[name], value, "{result}");
    }
    let machines = json("compare hikey960 sched-pipe:loops=20 --seeds 1 --sched fair:v5.9 --base hz=250 --test machine=hikey --format json");
    assert_eq!(machines["machine"], serde_json::Value::Null);
    assert_eq!(machines["base_settings"]["machine"], "hikey960");
    assert!(machines["notes"].to_string().contains("differ in machine"), "{machines}");
}

#[test]
fn mistakes_in_a_side_name_the_option_and_the_setting() {
    let refused = |test: &str, parts: &[&str]| refuses(&format!("{BASE} --test {test}"), parts);
    refused("goverour=schedutil", &["--test: there is no setting \"goverour\"", "did you mean `governor`?"]);
    refused("'fair:v6.12 governor=schedutill'", &["governor \"schedutill\"", "did you mean `schedutil`?"]);
    refused("'fair:v6.12 machine=hikey690'", &["hikey690", "did you mean `hikey960`"]);
    let whole = format!("--test '{} hz=1000'", Features::newest());
    refused("hz=1000", &["--test: `hz=1000` names no scheduler", &whole, "--sched"]);
    refused("v6.12", &["does not name its family"]);
    let unquoted = &["`governor=schedutil` does not belong to a side", "--test 'fair:v6.12 governor=schedutil'"];
    refused("fair:v6.12 governor=schedutil", unquoted);
    refuses("compare --base fair:v5.9 --test fair:v6.12 governor=schedutil hikey960 sched-pipe", unquoted);
    refused("fair:v6.12 hackbench", &["unexpected `hackbench`"]);
    refuses(&format!("{BASE} --test fair:v5.9 --governor schedutill"), &["--governor", "did you mean `schedutil`?"]);
    refuses(&format!("{BASE} --test fair:v5.9 --sysctl sched_util_clamp_mix=3"), &["--sysctl", "did you mean"]);
}

#[test]
fn a_scheduler_against_itself_does_not_differ() {
    let result = json(&format!("{BASE} --test fair:v5.9 --format json"));
    for metric in result["metrics"].as_array().unwrap() {
        assert_eq!(metric["improvement_pct"], 0.0, "{metric}");
        assert_eq!(metric["ci95"], serde_json::json!([0.0, 0.0]), "{metric}");
        assert_eq!(metric["significant"], serde_json::Value::Null, "two pairs are too few: {metric}");
    }
    assert_eq!(result["identical"], true);
    assert!(result["notes"].to_string().contains("base and test made the same run with every seed"), "{result}");
    for run in result["runs"].as_array().unwrap() {
        assert_eq!(run["base_hash"], run["test_hash"]);
    }
}

#[test]
fn a_feature_that_the_preset_has_already_is_named_as_no_difference() {
    let words =
        "compare hikey960 sched-pipe:loops=20 --seeds 2 --doubt 0 --base fair:v6.12 --test fair:v6.12+asym-prev-first";
    let table = succeeds(words);
    let note = "every seed: fair:v6.12+asym-prev-first has the features of fair:v6.12, and no others";
    assert!(table.contains(note), "{table}");
}

#[test]
fn several_tests_give_a_list() {
    let result = json(&format!("{BASE} --test fair:v5.9 --test fair:v5.11 --format json"));
    let tests: Vec<_> = result.as_array().unwrap().iter().map(|c| c["test"].clone()).collect();
    assert_eq!(tests, ["fair:v5.9", "fair:v5.11"]);
}

#[test]
fn a_condition_that_holds_exits_with_3_after_the_table() {
    let ran = fairground(&format!("{BASE} --test fair:v5.9 --fail-if ops_per_sec<1%"));
    assert_eq!(ran.code, 3);
    assert!(ran.stdout.contains("ops_per_sec"), "{}", ran.stdout);
    assert!(ran.stderr.contains("ops_per_sec<1% holds for fair:v5.9"), "{}", ran.stderr);
}

#[test]
fn a_condition_that_does_not_hold_exits_with_0() {
    succeeds(&format!("{BASE} --test fair:v5.9 --fail-if ops_per_sec<-2% --fail-if energy_j>1000000"));
}

#[test]
fn output_appears_whole_and_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("result.csv");
    let printed = succeeds(&format!("{SMALL} --format csv"));
    assert_eq!(succeeds(&format!("{SMALL} --format csv --output {}", path.display())), "");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), printed);
    assert_eq!(files(dir.path()), ["result.csv"]);
}

#[test]
fn governor_is_noted_when_it_is_not_the_default() {
    let table = succeeds(&format!("{SMALL} --governor powersave --hz 1000"));
    assert!(table.contains("note: governor: powersave") && table.contains("note: hz: 1000"), "{table}");
}

#[test]
fn the_idle_governor_is_noted_when_it_is_not_the_default() {
    let hash = |governor: &str| {
        let run =
            format!("run hikey960 periodic:duration=1 --sched fair:v5.9 --idle-governor {governor} --format json");
        let result = json(&run);
        let noted = result["notes"].as_array().unwrap().iter().any(|n| n == "idle governor: teo");
        assert_eq!(noted, governor == "teo");
        result["hash"].as_str().unwrap().to_owned()
    };
    assert_ne!(hash("menu"), hash("teo"));
    refuses(&format!("{SMALL} --idle-governor ladder"), &["ladder", "menu", "teo"]);
}

#[test]
fn clocks_that_are_set_are_held_or_refused_with_the_nearest() {
    let run = |governor: &str| {
        json(&format!("run hikey960 sched-pipe:loops=200 --sched fair:v5.9 --format json --governor {governor}"))
    };
    let ops = |run: &serde_json::Value| run["metrics"][0]["value"].as_f64().unwrap();
    let [low, between, high] = ["powersave", "userspace:0-3=999MHz,4-7=1421MHz", "performance"].map(run);
    assert_eq!(between["metrics"][0]["name"], "ops_per_sec");
    assert!(ops(&low) < ops(&between) && ops(&between) < ops(&high), "{low} {between} {high}");
    assert_eq!(between["notes"][0], "governor: userspace:0-3=999000,4-7=1421000");
    assert_eq!(between["provenance"]["governor"], "userspace:0-3=999000,4-7=1421000");
    assert_eq!(run("userspace:0-3=533000,4-7=0.903GHz")["hash"], low["hash"], "the lowest clocks are powersave's");
    let table = succeeds(&format!("{BASE} --test 'fair:v5.9 governor=userspace:0-3=1709000,4-7=903000'"));
    assert!(table.contains("governor=userspace:0-3=1709000,4-7=903000"), "{table}");
    refuses(
        "run hikey960 sched-pipe:loops=200 --sched fair:v5.9 --governor userspace:0-3=999MHz,4-7=1400MHz",
        &["CPUs 4-7 have no clock of 1400000 kHz", "the nearest is 1421000", "903000, 1421000, 1805000"],
    );
    refuses(&format!("{SMALL} --governor userspace:fast"), &["--governor", "`fast` is not a clock", "MHz"]);
    refuses(&format!("{SMALL} --governor userspace"), &["userspace:1421MHz"]);
}

#[test]
fn a_limit_of_exit_latencies_takes_deep_states_away() {
    let run = |more: &str| {
        json(&format!("run hikey960 periodic:duration=1 --sched fair:v5.9 --metrics all --format json {more}"))
    };
    let asleep = |run: &serde_json::Value| -> f64 {
        let metrics = run["metrics"].as_array().unwrap().iter();
        let deep = metrics.filter(|m| m["name"].as_str().is_some_and(|name| name.ends_with("_sleep")));
        deep.map(|m| m["value"].as_f64().unwrap()).sum()
    };
    let [free, limited] = ["", "--idle-limit 100us"].map(run);
    assert!(asleep(&free) > 1.0 && asleep(&limited) == 0.0, "{free} {limited}");
    assert_eq!((&limited["notes"][0], &free["notes"]), (&"idle limit: 100us".into(), &serde_json::json!([])));
    let limits = [&free, &limited].map(|run| run["provenance"]["idle_limit_us"].clone());
    assert_eq!(limits, [serde_json::Value::Null, 100.0.into()]);
    assert_eq!(run("--idle-limit 5000")["hash"], free["hash"], "no exit latency is longer");
    let table = succeeds(&format!("{BASE} --test 'fair:v5.9 idle_limit=100'"));
    assert!(table.contains("test      idle_limit=100\n") && table.contains("idle_limit=none/100"), "{table}");
    for wrong in ["-1", "soon", "1e9"] {
        refuses(&format!("{SMALL} --idle-limit {wrong}"), &["--idle-limit", "0 to 1000000 microseconds"]);
    }
}

fn names(words: &str) -> Vec<String> {
    let result = json(&format!("{SMALL} --format json {words}"));
    result["metrics"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_metrics_to_show_can_be_chosen() {
    let has = |all: &[String], name: &str| all.iter().any(|n| n == name);
    let (usual, all) = (names(""), names("--metrics all"));
    assert!(usual.len() <= 13 && all.len() > 50, "{usual:?} {}", all.len());
    assert!(has(&usual, "misplaced_tasks") && has(&usual, "idle_cut") && has(&usual, "idle_lost_j"));
    for name in ["migrations_wake", "migrations_to_cluster", "run_delay_p95_us", "residency_pct_cortex_a53_wfi"] {
        assert!(has(&all, name) && !has(&usual, name), "{name}");
    }
    assert_eq!(names("--metrics switches,idle_cut"), ["idle_cut", "switches"]);
    assert_eq!(names("--metrics idle_cut --fail-if switches<0"), ["idle_cut", "switches"]);
    refuses(&format!("{SMALL} --metrics idle_cuts"), &["idle_cuts", "did you mean idle_cut?"]);
}

#[test]
fn a_comparison_takes_what_is_on_record_and_results_go_from_store_to_store() {
    let dir = tempfile::tempdir().unwrap();
    let [store, other, file] = ["store", "other", "all"].map(|name| dir.path().join(name).display().to_string());
    let alone = succeeds(SMALL);
    assert_eq!(succeeds(&format!("{SMALL} --store {store}")), alone);
    assert_eq!(succeeds(&format!("store export {store} {file}")), format!("4 results written to {file}\n"));
    assert_eq!(succeeds(&format!("store import {other} {file}")), "4 new results, 0 known\n");
    assert_eq!(succeeds(&format!("{SMALL} --store {other}")), alone);
    assert_eq!(succeeds(&format!("store import {other} {file}")), "0 new results, 4 known\n");
    refuses(&format!("store import {other} Cargo.toml"), &["is not an export of a store"]);
    refuses(&format!("{SMALL} --store Cargo.toml"), &["cannot keep results in Cargo.toml", "--no-store"]);
}

/// A comparison that would take for ever is ended when it has kept something. timeout(1) sends SIGTERM twice.
#[test]
fn an_interrupted_comparison_keeps_what_was_finished_and_says_so() {
    use std::process::{Command, Stdio};
    for (signals, code) in [(&["-INT"][..], 130), (&["-TERM", "-TERM"], 143)] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store");
        let store = fairground_run::store::Store::open(&path).unwrap();
        let words = "compare hikey960 sched-pipe:loops=200,threads --base fair:v5.9 --test fair:v6.12 --seeds 20000 --jobs 1 --store";
        let mut command = Command::new(env!("CARGO_BIN_EXE_fairground"));
        let child =
            command.args(words.split(' ')).arg(&path).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while store.len().unwrap() < 3 {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        for signal in signals {
            Command::new("kill").args([*signal, child.id().to_string().as_str()]).status().unwrap();
        }
        let ended = child.wait_with_output().unwrap();
        assert_eq!((ended.status.code(), ended.stdout.len()), (Some(code), 0));
        let kept = store.len().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert!(said.contains(&format!("interrupted: {kept} of 40000 results are stored in")), "{said}");
    }
}

#[test]
fn draws_give_a_model_interval_beside_that_of_seeds() {
    let model = |words: &str| json(&format!("{SMALL} {words} --format json"))["metrics"][0]["model"].clone();
    assert!(model("--doubt 0").is_null());
    let few = model("--doubt 3");
    assert_eq!((few["draws"].as_u64(), few["ci90"].is_null()), (Some(3), true));
    let all = model("--doubt 19");
    let [lo, hi] = [0, 1].map(|end| all["ci90"][end].as_f64().unwrap());
    let median = all["median_pct"].as_f64().unwrap();
    assert!(lo < median && median < hi, "{all}");
    assert_eq!(all["p_better"], 1.0);
    let table = succeeds(&format!("{SMALL} --doubt 19"));
    assert!(table.contains("better in all draws") && !table.contains("over draws     improvement"), "{table}");
    let table = succeeds(&format!("{SMALL} --doubt 19 --legend"));
    assert!(table.contains("over draws     improvement"), "{table}");
}

/// Were they on other draws, some would be better and some worse.
#[test]
fn base_and_test_are_on_the_same_draw() {
    let table = succeeds(&format!("{BASE} --test fair:v5.9 --doubt 3"));
    assert!(table.contains("same in all draws") && !table.contains("better in"), "{table}");
}

#[test]
fn draws_and_a_draw_exclude_each_other() {
    refuses(&format!("{SMALL} --draw 3 --doubt 5"), &["--doubt draws machine and workload, and a draw is given"]);
    refuses(&format!("{BASE} --test 'fair:v5.9 draw=3' --screen"), &["--screen draws machine", "leave out --screen"]);
    refuses(&format!("{SMALL} --doubt -1"), &["--doubt"]);
}
