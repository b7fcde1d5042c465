use serde_json::Value;

use super::{fairground, json, refuses, succeeds};

/// A trace of ours in a directory of its own.
fn with_own_trace(options: &str, test: impl FnOnce(&str)) {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace.txt").display().to_string();
    succeeds(&format!("run hikey960 sched-pipe:loops=50,threads --sched fair:v5.9 --trace {trace} {options}"));
    test(&trace);
}

/// Of a scheduler: the row of this name.
fn row<'a>(sched: &'a Value, name: &str) -> &'a Value {
    let row = sched["rows"].as_array().unwrap().iter().find(|row| row["name"] == name);
    row.unwrap_or_else(|| panic!("no {name} in {sched:#}"))
}

#[test]
fn a_recording_is_set_beside_its_simulation_without_better_or_worse() {
    with_own_trace("", |trace| {
        let text = succeeds(&format!("replay {trace} --seeds 2"));
        for part in
            ["machine    hikey960\n", "sched      fair:v5.9\n", "recorded", "simulated", "off by", "same_cpu_pct"]
        {
            assert!(text.contains(part), "no {part} in\n{text}");
        }
        assert!(text.contains("\nfidelity   faithful: the load is repeated, and "), "{text}");
        for part in ["improvement", "better", "base ", " *"] {
            assert!(!text.contains(part), "{part} in\n{text}");
        }
        let report = json(&format!("replay {trace} --seeds 1 --format json"));
        assert_eq!((&report["schema"], &report["machine"]), (&"fairground-replay-1".into(), &"hikey960".into()));
        let only = &report["scheds"][0];
        assert_eq!((&only["sched"], &only["fidelity"]["grade"]), (&"fair:v5.9".into(), &"faithful".into()));
        assert_eq!(row(only, "same_cpu_pct")["simulated"]["mean"], 100.0);
        assert_eq!(row(only, "same_cpu_pct")["recorded"], Value::Null);
        let wakeups = row(only, "wakeups");
        assert_eq!((&wakeups["off_by"], &wakeups["within"]), (&0.0.into(), &true.into()));
        assert_eq!((&report["left_out"], &report["comparisons"]), (&serde_json::json!([]), &serde_json::json!([])));
    });
}

#[test]
fn two_schedulers_are_compared_on_the_recording() {
    with_own_trace("", |trace| {
        let scheds = "--sched fair:v5.9 --sched fair:v5.9+asym-prev-first --seeds 6";
        let text = succeeds(&format!("replay {trace} {scheds}"));
        let (sheets, compared) = text.split_once("base      fair:v5.9\n").expect("a comparison");
        assert_eq!(sheets.matches("fidelity").count(), 2, "{sheets}");
        assert!(
            compared.starts_with("test      fair:v5.9+asym-prev-first\n") && compared.contains("improvement"),
            "{text}"
        );
        let report = json(&format!("replay {trace} {scheds} --format json"));
        let compared = &report["comparisons"][0];
        assert_eq!(compared["runs"].as_array().map(Vec::len), Some(6));
        let names: Vec<_> =
            compared["metrics"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
        assert!(names.contains(&"migrations") && !names.contains(&"same_cpu_pct"), "{names:?}");
        let same = |i: usize| row(&report["scheds"][i], "same_cpu_pct")["simulated"]["mean"].as_f64().unwrap();
        assert!(same(0) > same(1), "{report:#}");
        let csv = succeeds(&format!("replay {trace} {scheds} --format csv"));
        assert!(csv.starts_with("sched,name,unit,recorded,simulated.mean,simulated.sd,simulated.n,off_by,"), "{csv}");
    });
}

#[test]
fn the_settings_of_a_recording_of_ours_are_those_of_its_replay() {
    with_own_trace("--governor schedutil --hz 1000", |trace| {
        let notes =
            |options: &str| json(&format!("replay {trace} --seeds 1 --format json {options}"))["notes"].to_string();
        let recorded = notes("");
        assert!(recorded.contains("governor: schedutil") && recorded.contains("hz: 1000"), "{recorded}");
        assert!(!notes("--governor performance").contains("governor"));
    });
}

/// perf sched record leaves sched_wakeup out; another recorder sched_migrate_task and cpu_idle.
#[test]
fn rows_whose_events_the_recording_lacks_are_left_out_by_name() {
    with_own_trace("", |trace| {
        let text = std::fs::read_to_string(trace).unwrap();
        let without = |events: &[&str]| {
            let lines = text.lines().filter(|line| !events.iter().any(|event| line.contains(event)));
            std::fs::write(trace, lines.collect::<Vec<_>>().join("\n") + "\n").unwrap();
            json(&format!("replay {trace} --machine hikey960 --seeds 1 --format json"))
        };
        let names = |report: &Value| {
            let rows = report["scheds"][0]["rows"].as_array().unwrap().iter();
            rows.map(|row| row["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let report = without(&[" sched_wakeup:"]);
        assert_eq!(report["left_out"][0]["rows"], "wakeups, same_cpu_pct*");
        assert_eq!(report["left_out"][0]["lacks"], "sched_wakeup");
        let left = names(&report);
        assert!(left.contains(&"wakeup_latency_p50_us".into()), "{left:?}");
        assert!(left.iter().all(|name| name != "wakeups" && !name.starts_with("same_cpu_pct")), "{left:?}");
        let report = without(&[" sched_migrate_task:", " cpu_idle:", " sched_wakeup:", " sched_waking:"]);
        let left_out: Vec<_> =
            report["left_out"].as_array().unwrap().iter().map(|l| l["rows"].as_str().unwrap()).collect();
        assert_eq!(left_out, ["wakeup_latency_*", "wakeups, same_cpu_pct*", "migrations", "idle_state*_pct"]);
        let text = succeeds(&format!("replay {trace} --machine hikey960 --seeds 1"));
        assert!(text.contains("left out: migrations: the recording has no sched_migrate_task\n"), "{text}");
    });
}

/// What perf recorded on a virtual machine of two CPUs, of which the idle task of one leaves no event.
#[test]
fn a_recording_of_perf_is_repeated_but_for_what_it_lacks() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/recorded");
    let report = json(&format!(
        "replay {data}/periodic.perf.txt --machine {data}/two-cpu-vm.toml --sched fair:v6.12 --seeds 4 --format json"
    ));
    let notes = report["notes"].to_string();
    assert!(notes.contains("the idle task of CPU 1 leaves no event"), "{notes}");
    let within = |name: &str, percent: f64| {
        let row = row(&report["scheds"][0], name);
        let off = row["off_by_pct"].as_f64().unwrap();
        assert!(off.abs() <= percent, "{row}");
    };
    ["run_s(small)", "run_s(big)", "run_s(frame)", "run_s(render)"].iter().for_each(|name| within(name, 1.0));
    within("switches_per_s", 10.0);
    within("wakeups", 15.0);
    within("idle_state1_pct", 20.0);
}

#[test]
fn the_former_option_of_compare_names_replay() {
    refuses("compare --trace t.txt --test fair:v5.9", &["`fairground replay RECORDING`"]);
    let said = fairground("compare hikey960 sched-pipe --trace t.txt");
    assert!(said.code == 2 && said.stderr.contains("`fairground replay RECORDING`"), "{}", said.stderr);
}
