use super::{json, succeeds};

const SMALL: &str = "compare hikey sched-pipe:loops=100,threads --seeds 2 --format";

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
    assert_eq!(result["schema"], "fairground-compare-1");
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
    assert_eq!(names, ["W8", "W128", "W224", "W8-why"]);
    for row in result["rows"].as_array().unwrap() {
        for key in ["sim_s_per_wall_s", "core_events_per_s", "ns_per_decision"] {
            assert!(row[key].as_f64().is_some_and(|x| x > 0.0), "{key} of {row}");
        }
    }
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
