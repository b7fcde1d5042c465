use super::{fairground, json, refuses, succeeds};

/// A trace of ours in a directory of its own.
fn with_own_trace(test: impl FnOnce(&str, &str)) {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (trace, file) = (path("trace.txt"), path("again.json"));
    succeeds(&format!("run hikey960 sched-pipe:loops=50,threads --sched fair:v5.9 --trace {trace}"));
    test(&trace, &file);
}

/// Two threads of 100 us, of which one wakes the other; CPU 1 is the last.
const KERNELS: &str = "\
            a-7       [000] d..2.     1.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=7 next_prio=120
            a-7       [000] d..2.     1.000100: sched_waking: comm=b pid=8 prio=120 target_cpu=001
CPU:1 [LOST 12 EVENTS]
            a-7       [000] d..2.     1.000100: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
            b-8       [001] d..2.     1.000110: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=b next_pid=8 next_prio=120
            b-8       [001] d..2.     1.000210: sched_switch: prev_comm=b prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
            b-8       [001] d..2.     1.0003";

fn with_kernels_trace(text: &str, test: impl FnOnce(&str, &str)) {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    std::fs::write(path("trace.txt"), text).unwrap();
    test(&path("trace.txt"), &path("again.json"));
}

/// 2 x 50 round trips, 3 threads.
#[test]
fn a_trace_of_ours_becomes_a_workload_that_runs_anywhere() {
    with_own_trace(|trace, file| {
        let summary = succeeds(&format!("import {trace} -o {file}"));
        assert!(summary.contains("machine   hikey960\nrecorded  3 threads,"), "{summary}");
        for (machine, sched) in [("hikey960", "fair:v5.9"), ("rpi5", "fair:v5.5")] {
            let run = json(&format!("run {machine} {file} --sched {sched} --metrics all --format json"));
            let seen = run["metrics"]
                .as_array()
                .unwrap()
                .iter()
                .any(|m| m["name"] == "elapsed_s" || m["name"] == "migrations");
            assert!(seen, "{run}");
        }
    });
}

/// What holds of every trace of a kernel is a hint; what this one has lost, and what is guessed for that, is not.
#[test]
fn silence_leaves_what_is_missing() {
    with_kernels_trace(KERNELS, |trace, file| {
        for words in [
            format!("import {trace} --machine rpi5 -o {file}"),
            format!("replay {trace} --machine rpi5 --sched fair:v6.12 --seeds 1 --format csv"),
        ] {
            let (said, quiet) = (fairground(&words), fairground(&format!("{words} --quiet")));
            assert_eq!((quiet.code, quiet.stdout), (0, said.stdout), "{words}: {}", quiet.stderr);
            let hint = "the events do not tell affinities";
            assert!(said.stderr.contains(hint) && !quiet.stderr.contains(hint), "{words}: {}", quiet.stderr);
            for loss in ["12 events were lost", "the trace is cut off", "no cpu_frequency of 4 CPUs"] {
                assert!(quiet.stderr.contains(loss), "{words}: {loss}: {}", quiet.stderr);
            }
        }
    });
}

/// Where a recording ends, nearly each of its threads sleeps without anybody left to wake it.
#[test]
fn threads_that_wait_at_the_end_of_a_recording_have_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (trace, file) = (path("trace.txt"), path("again.json"));
    succeeds(&format!("run hikey960 hackbench:groups=1,loops=2 --sched fair:v5.9 --trace {trace}"));
    succeeds(&format!("import {trace} -o {file}"));
    let said = fairground(&format!("run hikey960 {file} --sched fair:v5.9")).stderr;
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("for ever")).collect();
    assert_eq!(lines.len(), 1, "{said}");
    assert!(
        lines[0].contains("threads wait for ever at the end of the recording") && lines[0].contains("hackbench-recv"),
        "{said}"
    );
}

#[test]
fn what_a_trace_does_not_say_is_asked_for_or_reported() {
    with_kernels_trace(KERNELS, |trace, file| {
        refuses(&format!("import {trace} -o {file}"), &["does not say which machine was recorded"]);
        let ran = fairground(&format!("import {trace} -o {file} --machine hikey960"));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        for note in ["12 events were lost", "the trace is cut off", "no cpu_frequency of 8 CPUs"] {
            assert!(ran.stderr.contains(note), "{note}: {}", ran.stderr);
        }
        let text = std::fs::read_to_string(file).unwrap();
        // 100 us on a little CPU of capacity 462.
        assert!(text.contains("\"work\": 45.117") && text.contains("\"wake\": \"b-8\""), "{text}");
        succeeds(&format!("run hikey960 {file} --sched fair:v5.9"));
    });
}

/// From 100 us on, no thread is known to run that wakes b. Until just before 210 us, b has not slept yet.
#[test]
fn a_part_of_a_trace_can_be_imported() {
    with_kernels_trace(KERNELS, |trace, file| {
        let steps = |words: &str| {
            succeeds(&format!("import {trace} -o {file} --machine hikey960 {words}"));
            let text = std::fs::read_to_string(file).unwrap();
            ["work", "until", "await"].map(|step| text.matches(&format!("\"{step}\"")).count())
        };
        assert_eq!(steps(""), [2, 0, 1]);
        assert_eq!(steps("--from 0.00010 --to 0.000209999"), [0, 1, 0]);
        assert_eq!(steps("--from 0.00011"), [1, 0, 0]);
        refuses(
            &format!("import {trace} -o {file} --machine hikey960 --from 2 --to 1.5"),
            &["--to comes before --from"],
        );
        refuses(&format!("import {trace} -o {file} --machine hikey960 --from -1"), &["--from"]);
    });
}

/// Two hours and a half, of which the machine may have been suspended; then again an hour and a bit.
#[test]
fn a_trace_that_lasts_longer_than_any_run_is_told_of_and_not_replayed() {
    let later = KERNELS.replace("] d..2.     1.00021", "] d..2.  9001.00021");
    with_kernels_trace(&later, |trace, file| {
        let why = "it lasts 9000.000210000 s, and has no event from 1.000110000 s to 9001.000210000 s; runs take 3600 s at most";
        let told = fairground(&format!("import {trace} -o {file} --machine hikey960"));
        assert!(told.code == 0 && told.stderr.contains(why), "{}", told.stderr);
        refuses(
            &format!("replay {trace} --machine hikey960 --seeds 1"),
            &["trace.txt: it lasts 9000.000210000 s,", "at most: it cannot be run", "--from and --to"],
        );
    });
    let steadily = KERNELS.replace("] d..2.     1.00011", "] d..2.  3000.00011");
    let steadily = steadily.replace("] d..2.     1.00021", "] d..2.  3601.00021");
    with_kernels_trace(&steadily, |trace, file| {
        let told = fairground(&format!("import {trace} -o {file} --machine hikey960"));
        assert!(told.stderr.contains("it lasts 3600.000210000 s, and has no event from 1.0"), "{}", told.stderr);
    });
}

#[test]
fn threads_and_times_that_a_trace_has_not_are_named() {
    with_own_trace(|trace, file| {
        let import = format!("import {trace} -o {file}");
        let told = fairground(&format!("{import} --tasks sched-pipe-1 sched-pipe-x"));
        let note = "note: no thread is seen that has \"sched-pipe-x\" in its name; did you mean \"sched-pipe-";
        assert!(
            told.code == 0 && told.stderr.contains(note) && !told.stderr.contains("pipe-1\" in"),
            "{}",
            told.stderr
        );
        refuses(
            &format!("{import} --tasks nosuch nobody"),
            &["no thread is seen that has \"nosuch\"", "\"nobody\"", "threads that are seen: ", "sched-pipe"],
        );
        refuses(&format!("{import} --from 100"), &["nothing happens from 100.000000000 s on", "which lasts 0.0"]);
    });
}

/// The machine's name at the head of a pipe would be gone when the trace is imported.
#[test]
fn what_can_be_read_only_once_wants_to_know_the_machine() {
    with_own_trace(|trace, file| {
        let piped = |words: &str| {
            let command = format!("{} import /dev/stdin -o {file} {words}", env!("CARGO_BIN_EXE_fairground"));
            let mut shell = std::process::Command::new("sh");
            super::Ran::from(shell.arg("-c").arg(format!("cat {trace} | {command}")).output().unwrap())
        };
        let refused = piped("");
        assert_eq!(refused.code, 2, "{}", refused.stderr);
        assert!(refused.stderr.contains("/dev/stdin can be read only once") && refused.stderr.contains("--machine"));
        assert!(!std::path::Path::new(file).exists());
        let read = piped("--machine hikey960");
        assert!(read.stdout.contains("recorded  3 threads,"), "{}{}", read.stdout, read.stderr);
    });
}

/// As other tools take it. What is said of the import is not part of it, to a file neither.
#[test]
fn a_hyphen_is_standard_input_and_output() {
    with_own_trace(|trace, file| {
        let fairground = env!("CARGO_BIN_EXE_fairground");
        let shell = |line: &str| {
            let mut shell = std::process::Command::new("sh");
            let ran = super::Ran::from(shell.arg("-c").arg(line).output().unwrap());
            assert_eq!(ran.code, 0, "{line}: {}", ran.stderr);
            ran
        };
        let import = format!("cat {trace} | {fairground} import - --machine hikey960 -o");
        let [named, piped] = [file, "-"].map(|output| shell(&format!("{import} {output}")));
        assert_eq!(std::fs::read_to_string(file).unwrap(), piped.stdout);
        assert!(named.stdout.contains("recorded  3 threads,") && piped.stderr.contains("recorded  3 threads,"));
        shell(&format!("{import} /dev/stdout >{file}"));
        assert_eq!(std::fs::read_to_string(file).unwrap(), piped.stdout);
        let run = format!("{fairground} run hikey960 sched-pipe:loops=50,threads --sched fair:v5.9 --trace -");
        let ran = shell(&format!("{run} | {fairground} stats latency -"));
        assert_eq!(ran.stdout, succeeds(&format!("stats latency {trace}")));
        assert!(ran.stderr.contains("\nhash  "), "{}", ran.stderr);
        assert!(shell(&format!("{fairground} explain - < {trace}")).stdout.contains("decisions"));
    });
}

/// The rest of what its head might say is as by default, as of a kernel's trace.
#[test]
fn what_can_be_read_only_once_is_explained_with_the_machine_alone() {
    with_own_trace(|trace, _| {
        let explain = format!("{} whatif - --machine hikey960", env!("CARGO_BIN_EXE_fairground"));
        let mut shell = std::process::Command::new("sh");
        let ran = super::Ran::from(shell.arg("-c").arg(format!("cat {trace} | {explain}")).output().unwrap());
        let asked = format!("asked     {}\n", fairground_fair::Features::newest());
        assert!(ran.code == 0 && ran.stdout.contains(&asked), "{}{}", ran.stdout, ran.stderr);
    });
}

/// In the same recording no sched_switch shows the start of frame on CPU 1, where it wakes render: that CPU is busy.
/// CPU 0 is idle. Answers that depend on whether CPU 1 idles are not sure.
#[test]
fn a_recording_of_perf_is_judged_by_who_acts_where() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/recorded");
    let asked = format!("whatif {data}/periodic.perf.txt --machine {data}/two-cpu-vm.toml --sched fair:v6.12");
    let one = succeeds(&format!("{asked} --at 70272872699us"));
    assert!(one.contains("render-22055 woken on CPU 1") && one.contains("CPU 1 is busy"), "{one}");
    let all = json(&format!("{asked} --format json"));
    assert!(all["certainty"]["unseen"].as_u64().unwrap() > 10, "{all:#}");
    let notes = all["notes"].to_string();
    assert!(
        notes.contains("the idle tasks of 1 CPUs have no event") && notes.contains("without a sched_switch to them"),
        "{notes}"
    );
}

/// It has no decisions, but says what can be asked of it.
#[test]
fn explain_of_a_kernels_trace_leads_to_what_explains_it() {
    with_kernels_trace(KERNELS, |trace, _| {
        refuses(&format!("explain {trace}"), &["no placement decisions", "`fairground whatif", "--machine"]);
        refuses(&format!("explain {trace} --machine hikey"), &["`fairground whatif"]);
    });
}

#[test]
fn traces_that_do_not_fit_are_refused() {
    let far = KERNELS.replace("[001]", "[008]");
    with_kernels_trace(&far, |trace, file| {
        let message = "has events of CPU 8; hikey960 has CPUs 0 to 7";
        refuses(&format!("import {trace} -o {file} --machine hikey960"), &[message]);
        assert!(!std::path::Path::new(file).exists());
    });
    let idle = "<idle>-0 [001] 100.000000: cpu_frequency: state=533000 cpu_id=1\n";
    for (lines, message) in [("", "is empty: no event was recorded"), (idle, "no thread is seen to run or to be woken")]
    {
        with_kernels_trace(lines, |trace, file| {
            refuses(&format!("import {trace} -o {file} --machine hikey960"), &[message]);
        });
    }
}
