//! Runs in workers: the same figures as in this process, and an error message whatever the code under test does.
//!
//! A worker is this test program itself, started with arguments that run [`a_worker`] alone.

use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

use fairground_fair::Features;
use fairground_machine::Machine;
use fairground_run::batch::{self, Plan};
use fairground_run::experiment::{
    Attendance, Experiment, Logs, Outputs, Ran, RunError, Stop, Trace, TraceFormat, TraceHead,
};
use fairground_run::instrumented::{Call, CallHooks, CallSite, Instrumented};
use fairground_run::sched_spec;
use fairground_run::worker::{self, Job, Limits, Workers};
use fairground_sim::Scheduler;
use fairground_trace::EventSource;
use fairground_workload::rtapp::LogPlan;
use fairground_workload::Workload;

/// A limit that is never reached.
const LONG: Duration = Duration::from_secs(600);

/// Names what the code under test does at its tenth wakeup.
const MISCHIEF: &str = "FAIRGROUND_TEST_MISCHIEF";

/// Not a test of its own: what workers run.
#[test]
#[ignore = "run by the tests below"]
fn a_worker() {
    worker::serve(&make);
}

fn make(job: &Job, machine: &Arc<Machine>) -> Result<Box<dyn Scheduler>, String> {
    let what = std::env::var(MISCHIEF).unwrap_or_default();
    if what == "refuse" {
        return Err("9 CPUs are more than the 8 it is built for".into());
    }
    if what == "loop in boot" {
        spin();
    }
    let features: Features = Features::parse(&job.column.sched).map_err(|e| e.to_string())?;
    let fair = sched_spec::fair(&features, machine).map_err(|e| e.to_string())?;
    // Only where it would begin: seeds tell the runs of an experiment apart.
    let acts = what != "loop with seed 2" || job.column.config.seed == 2;
    Ok(Box::new(Instrumented::new(fair, Mischief { what, wakeups: if acts { 0 } else { 1 << 32 } })))
}

struct Mischief {
    what: String,
    wakeups: u64,
}

impl CallHooks for Mischief {
    fn enter(&mut self, site: CallSite) {
        self.wakeups += u64::from(site.call == Call::Wake);
        if site.call == Call::Wake && self.wakeups == 10 {
            act(&self.what);
        }
    }

    fn leave(&mut self, _: Call) {}
}

fn spin() -> ! {
    let mut n = 0u64;
    loop {
        n = std::hint::black_box(n + 1);
    }
}

fn act(what: &str) {
    match what {
        "" | "refuse" => {}
        "loop" | "loop with seed 2" => spin(),
        "wait" => loop {
            std::thread::sleep(Duration::from_secs(1));
        },
        // SAFETY: none; that is the point.
        "wild pointer" => unsafe { std::ptr::write_volatile(0x18 as *mut u32, 1) },
        "abort" => {
            eprintln!("list_add corruption");
            std::process::abort()
        }
        "recurse" => drop(Some(recurse(1))),
        "allocate" => {
            let mut all = Vec::new();
            loop {
                // Never touched: the limit is on addresses, and filling them may take longer than a call may.
                all.push(std::hint::black_box(Vec::<u8>::with_capacity(16 << 20)));
            }
        }
        "exit" => std::process::exit(0),
        "bug" => worker::fault("kernel BUG in set_next_entity(): !se->on_rq"),
        "panic" => panic!("the host's own code"),
        "kill" => nix::sys::signal::raise(nix::sys::signal::Signal::SIGKILL).unwrap(),
        "print" => loop {
            println!("{}", "noise ".repeat(1000));
        },
        "close everything" => {
            for fd in 1..100 {
                // SAFETY: none; that is the point.
                let _ = unsafe { libc::close(fd) };
            }
            spin()
        }
        "write everywhere" => {
            for fd in 1..100 {
                // SAFETY: none; that is the point.
                let _ = unsafe { libc::write(fd, c"}garbage{\n".as_ptr().cast(), 10) };
            }
            std::process::exit(0)
        }
        other => {
            let path = other.strip_prefix("begin ").expect("a known mischief");
            std::fs::write(path, "").unwrap();
            spin()
        }
    }
}

fn recurse(n: u64) -> u64 {
    let room = std::hint::black_box([n; 64]);
    match n {
        u64::MAX => 0,
        _ => recurse(n + 1) + room[0],
    }
}

fn experiment(what: &str) -> Experiment {
    let machine = Machine::find("hikey960").unwrap();
    let (workload, _) = Workload::find("sched-pipe:loops=200,threads", &machine).unwrap();
    let limits = Limits { cpu: Duration::from_secs(60), call: Duration::from_millis(500), memory_mib: 512 };
    Experiment {
        machine: Arc::new(machine),
        workload: Arc::new(workload),
        scheds: vec!["fair:v6.12".parse().unwrap(), "fair:v5.9".parse().unwrap()],
        config: Default::default(),
        workers: Workers {
            arguments: ["--exact", "a_worker", "--ignored", "--nocapture"].map(String::from).into(),
            environment: vec![(MISCHIEF.into(), what.into()), ("RUST_BACKTRACE".into(), "0".into())],
            limits,
            always: true,
        },
    }
}

/// Why a run ends whose scheduler does this.
fn reason(what: &str) -> String {
    experiment(what).carry_out(0, 1, None).outcome.expect_err("no report").to_string()
}

#[track_caller]
fn ends(what: &str, parts: &[&str]) {
    let reason = reason(what);
    for part in parts {
        assert!(reason.contains(part), "{what}: no {part:?} in {reason:?}");
    }
}

#[test]
fn a_run_in_a_worker_is_the_run_here() {
    let there = experiment("");
    let here = Experiment { workers: Workers::default(), ..experiment("") };
    for (sched, seed) in [(0, 1), (1, 1), (0, u64::MAX)] {
        let report = |experiment: &Experiment| experiment.carry_out(sched, seed, None).outcome.unwrap();
        assert_eq!(report(&there), report(&here));
    }
}

/// All events come back, with the metadata of a trace.
#[test]
fn a_run_in_a_worker_is_recorded_as_here() {
    let there = experiment("");
    let here = Experiment { workers: Workers::default(), ..experiment("") };
    let text = |experiment: &Experiment| {
        let meta = vec![("machine".into(), "hikey960".into())];
        let format = TraceFormat::Recording;
        let head = TraceHead { format, meta, notes: vec!["a note".into()], why: true, marks: None };
        let recorded = experiment.recorded(0, 1, head, &Stop::default()).unwrap();
        let mut source = recorded.recording.source("the run");
        let mut lines = Vec::new();
        while let Some(event) = source.next_event().unwrap() {
            lines.push(format!("{event:?}"));
        }
        (recorded.report, lines)
    };
    let (report, lines) = text(&there);
    assert!(lines[0].contains("fairground_meta: machine=hikey960") && lines.len() > 2000, "{}", lines.len());
    assert!((report, lines) == text(&here));
}

#[test]
fn every_builtin_workload_and_machine_arrives_as_it_was() {
    for machine in fairground_machine::presets() {
        let machine = Machine::find(machine).unwrap();
        assert_eq!(Machine::from_toml("again", &machine.to_toml()).unwrap(), machine);
        for builtin in fairground_workload::builtins() {
            let (workload, _) = Workload::find(builtin.name, &machine).unwrap();
            let text = serde_json::to_string(&workload).unwrap();
            assert_eq!(serde_json::from_str::<Workload>(&text).unwrap(), workload);
        }
    }
}

#[test]
fn a_loop_is_ended_and_named() {
    ends("loop", &["looping for 0.5 s of CPU time: in wake of task ", " on CPU ", " ns of virtual time"]);
    ends("loop in boot", &["looping for 0.5 s of CPU time: in boot"]);
}

#[test]
fn code_that_waits_is_ended() {
    ends("wait", &["has been waiting for 3 s: in wake of task "]);
}

#[test]
fn a_run_that_exceeds_its_cpu_time_is_ended() {
    let mut experiment = experiment("loop");
    experiment.workers.limits = Limits { cpu: Duration::from_millis(300), call: LONG, ..experiment.workers.limits };
    let reason = experiment.carry_out(0, 1, None).outcome.unwrap_err().to_string();
    assert!(reason.contains("0.3 s of CPU time, the limit set by --cpu-limit: in wake"), "{reason}");
}

/// The run has begun. It loops until it is stopped, or until ten minutes of CPU time, which would be another message.
#[test]
fn a_run_that_is_to_stop_is_ended() {
    let dir = tempfile::tempdir().unwrap();
    let begun = dir.path().join("begun");
    let (mut experiment, stop) = (experiment(&format!("begin {}", begun.display())), Stop::default());
    experiment.workers.limits = Limits { cpu: LONG, call: LONG, ..experiment.workers.limits };
    let reason = std::thread::scope(|scope| {
        let run = scope.spawn(|| experiment.until(&stop, 0, 1));
        while !begun.exists() && !run.is_finished() {
            std::thread::sleep(Duration::from_millis(5));
        }
        stop.store(true, Ordering::Relaxed);
        run.join().unwrap().unwrap_err().to_string()
    });
    assert!(reason.starts_with("stopped at "), "{reason}");
}

#[test]
fn a_death_by_signal_is_named_with_its_place() {
    ends("wild pointer", &["died of SIGSEGV at address 0x18 (instruction exe+0x", "in wake of task "]);
    ends("recurse", &["died of SIGSEGV at address 0x", "in wake of task "]);
    ends("abort", &["died of SIGABRT", "in wake of task ", "it printed:", "list_add corruption"]);
    ends("kill", &["killed by SIGKILL: in wake of task "]);
}

/// A store keeps failures of runs. It must not keep that another process killed the worker.
#[test]
fn a_killed_process_is_lost_and_a_crash_is_a_failure() {
    let outcome = |what| experiment(what).until(&Stop::default(), 0, 1).unwrap_err();
    assert!(matches!(outcome("kill"), RunError::Lost(_)));
    assert!(matches!(outcome("abort"), RunError::Failed(_)));
}

#[test]
fn memory_has_an_end() {
    ends("allocate", &["died of SIGABRT", " of the 512 MiB in use that it may have", "in wake of task "]);
}

#[test]
fn a_process_that_ends_early_has_no_result() {
    ends("exit", &["ended without an answer, exit status: 0: in wake of task "]);
    ends("panic", &["the program failed: the host's own code"]);
}

#[test]
fn a_fault_that_the_code_reports_is_the_reason() {
    ends("bug", &["kernel BUG in set_next_entity(): !se->on_rq: in wake of task "]);
}

#[test]
fn a_scheduler_that_does_not_serve_the_machine_says_so() {
    assert_eq!(reason("refuse"), "9 CPUs are more than the 8 it is built for");
}

#[test]
fn noise_is_bounded_and_ends() {
    let reason = reason("print");
    // Whether it works or waits for us to read depends on who is faster.
    assert!(reason.contains("has been") && reason.contains("noise") && reason.len() < 20_000, "{}", reason.len());
}

#[test]
fn closed_and_misused_files_end_the_run_too() {
    ends("close everything", &["looping for 0.5 s"]);
    ends("write everywhere", &["sent an answer that cannot be read"]);
}

#[test]
fn one_failure_leaves_the_other_runs_alone() {
    let experiment = experiment("loop with seed 2");
    let plan = Plan { scheds: 2, seeds: vec![1, 2, 3], jobs: 2, check_determinism: false };
    let results = batch::run(&plan, &experiment, &|| ()).unwrap();
    for runs in &results {
        assert!(runs[0].is_ok() && runs[2].is_ok());
        assert!(runs[1].as_ref().unwrap_err().contains("looping"));
    }
}

fn traced(experiment: &Experiment) -> (Ran, String) {
    let mut file = tempfile::tempfile().unwrap();
    let head = TraceHead {
        format: TraceFormat::Text,
        meta: vec![("machine".into(), "m".into())],
        notes: vec!["hz: 250".into()],
        why: true,
        marks: None,
    };
    let ran = experiment.carry_out(0, 1, Some(Trace { head, file: file.try_clone().unwrap() }));
    file.flush().unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    (ran, text)
}

#[test]
fn a_trace_from_a_worker_is_the_trace_from_here() {
    let (there, its) = traced(&experiment(""));
    let (here, ours) = traced(&Experiment { workers: Workers::default(), ..experiment("") });
    assert_eq!(there.outcome.unwrap(), here.outcome.unwrap());
    assert!(ours.lines().count() > 1000 && ours.contains("fairground_why"));
    assert_eq!(its, ours);
}

#[test]
fn logs_from_a_worker_are_the_logs_from_here() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/rt-app-tour.json");
    let spec = format!("{}:duration=0.2", path.display());
    let logged = |mut experiment: Experiment| {
        experiment.workload = Arc::new(Workload::find(&spec, &experiment.machine).unwrap().0);
        let plan = Arc::new(LogPlan::find(&spec, &experiment.machine).unwrap().expect("a file"));
        let mut file = tempfile::tempfile().unwrap();
        let logs = Some(Logs { plan, file: file.try_clone().unwrap() });
        experiment.write(0, 1, Outputs { trace: None, logs }, Attendance::default()).outcome.unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        text
    };
    let here = logged(Experiment { workers: Workers::default(), ..experiment("") });
    assert!(here.lines().count() > 10 && here.contains("#idx"), "{here}");
    assert_eq!(logged(experiment("")), here);
}

#[test]
fn a_trace_reaches_to_the_end_of_a_failed_run() {
    let (_, whole) = traced(&experiment(""));
    for what in ["wild pointer", "bug", "loop"] {
        let (ran, part) = traced(&experiment(what));
        assert!(ran.outcome.is_err() && ran.trace.is_ok());
        assert!(whole.starts_with(&part) && part.ends_with('\n'), "{what}");
        assert_eq!(part.matches("fairground_decision: kind=wake").count(), 9, "{what}");
    }
}
