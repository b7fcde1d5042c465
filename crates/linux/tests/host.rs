//! The host around a kernel that is none (`fake.c`): loading, every call and callback, and how a process ends.

mod support;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::rc::Rc;
use std::sync::Arc;

use fairground_linux::abi::{KsBalance, KsPlacement};
use fairground_linux::{die, Interests, Kernel, KernelEntity, KernelObserver, Linux, LinuxError, Reader};
use fairground_machine::{Cluster, CpuId, CpuMask, Machine};
use fairground_sim::testing::{machine, spec, with_costs, workload};
use fairground_sim::{
    ClampLimits, Config, Decision, Engine, Event, EventKind, Governor, HashObserver, MigrateCause, Observer, Outcome,
    Reason, Rule, SimError, TaskId, NO_RULE,
};
use fairground_workload::{
    Amount, Clamp, ClampPercent, GroupClamp, Object, Op, SchedAttr, TaskGroup, TaskSpec, Workload,
};
use support::{alone, in_child};

/// Compiles the fake with some of its defaults changed.
fn fake(dir: &Path, defines: &[&str]) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = dir.join("libksched.so");
    let compiler = std::env::var("CC").unwrap_or("cc".into());
    let status = Command::new(compiler)
        .args(["-std=gnu11", "-Wall", "-Wno-unused-function", "-Werror", "-O1", "-shared", "-fPIC", "-iquote"])
        .arg(here.join("kernel/include"))
        // Not -I: policy/features.h would stand in for the C library's.
        .arg("-iquote")
        .arg(here.join("../../policy"))
        .args(defines)
        .arg(here.join("tests/fake.c"))
        .arg("-o")
        .arg(&library)
        .status();
    assert!(status.expect("a C compiler").success());
    library
}

fn load(defines: &[&str]) -> Result<Kernel, LinuxError> {
    Kernel::load(&fake(tempfile::tempdir().unwrap().path(), defines))
}

fn linux() -> Linux {
    Linux::new(load(&[]).unwrap(), die).unwrap()
}

fn run_on(
    m: Machine,
    sched: Linux,
    w: Workload,
    config: Config,
    o: &mut [&mut dyn Observer],
) -> Result<Outcome, SimError> {
    let config = Config { start_phase: false, audit_every_ns: 1_000_000, ..config };
    Engine::new(Arc::new(m), Arc::new(w), Box::new(sched), config).run(o)
}

fn run(w: Workload) -> Result<Outcome, SimError> {
    run_on(machine(2, 1), linux(), w, Config::default(), &mut [])
}

const MS: u64 = 1_000_000;

fn works(name: &str, ns: u64) -> TaskSpec {
    spec(name, vec![Op::Run(Amount::fixed(ns))])
}

/// Everything that a program can ask of a scheduler: pipes, sleeps, forks, exec, yields, attributes, affinity.
fn busy() -> Workload {
    let nap = Op::Sleep(Amount::fixed(300_000));
    let work = || Op::Run(Amount { base: 50_000, jitter: 200_000 });
    let nice = Op::SetAttr(SchedAttr { nice: 5, ..SchedAttr::default() });
    let to_one = Op::SetAffinity([1].into_iter().collect());
    let spawn = Op::Spawn { spec: 1, count: 3, thread: true };
    let around = |body: &[Op]| {
        let mut ops = vec![Op::Loop { times: Some(20), end: body.len() as u32 + 2 }];
        ops.extend_from_slice(body);
        ops.push(Op::EndLoop { begin: 0 });
        ops
    };
    let parent = [work(), spawn, Op::Yield, Op::WaitChildren, Op::PipeWrite { pipe: 0, bytes: 64 }];
    let child = vec![Op::Exec, nice, work(), nap, to_one, work()];
    let reader = [Op::PipeRead { pipe: 0, bytes: 64 }, work()];
    let hog = |ms| vec![Op::Run(Amount::fixed(ms * MS))];
    let hogs = [("hog-2", hog(9)), ("hog-3", hog(25)), ("hog-4", hog(60))];
    let tasks = [("parent", around(&parent)), ("child", child), ("reader", around(&reader)), ("hog", hog(40))];
    workload(
        vec![Object::Pipe { slots: 16 }],
        tasks.into_iter().chain(hogs).map(|(name, program)| spec(name, program)).collect(),
    )
}

#[derive(Default)]
struct Recorder(Vec<Event>);

impl Observer for Recorder {
    fn event(&mut self, event: &Event) {
        self.0.push(*event);
    }
}

#[test]
fn an_incomplete_library_is_refused_by_name() {
    let refusal = |defines: &[&str]| match load(defines) {
        Err(LinuxError::Foreign { what, .. }) => what,
        other => panic!("{:?}", other.map(|k| k.release())),
    };
    assert_eq!(refusal(&["-DFAKE_TICK=0"]), "the function tick is missing");
    let expected = fairground_linux::abi::KS_ABI;
    assert_eq!(refusal(&["-DFAKE_ABI=99"]), format!("its border has version 99, expected {expected}"));
    assert!(refusal(&["-DFAKE_SIZE=8"]).starts_with("its table has 8 bytes, expected "));
    assert!(refusal(&["-DFAKE_CPU_SIZE=8"]).starts_with("its struct fg_cpu has 8 bytes, expected "));
}

#[test]
fn what_is_no_library_of_ours_is_refused_in_the_linkers_words() {
    let dir = tempfile::tempdir().unwrap();
    let cause = |path: &Path| match Kernel::load(path) {
        Err(LinuxError::Load { cause, .. }) => cause,
        other => panic!("{:?}", other.map(|k| k.release())),
    };
    assert!(cause(&dir.path().join("none.so")).contains("No such file"));
    let text = dir.path().join("text.so");
    std::fs::write(&text, "not ELF").unwrap();
    assert!(cause(&text).contains("text.so"));
    assert!(cause(Path::new("libm.so.6")).contains("ks_kernel"));
}

#[test]
fn a_kernel_tells_what_it_was_built_for() {
    let kernel = load(&[]).unwrap();
    assert_eq!((kernel.hz(), kernel.max_cpus(), kernel.release().as_str()), (250, 64, "0.0-fake"));
    assert!(kernel.fits(&machine(64, 1), 250).is_ok());
    let many = kernel.fits(&machine(65, 1), 250).unwrap_err();
    assert_eq!(
        many.full(),
        "the machine has 65 CPUs, this kernel was built for at most 64; build it with CONFIG_NR_CPUS=65 or more"
    );
    let hz = kernel.fits(&machine(2, 1), 1000).unwrap_err();
    assert_eq!(
        hz.full(),
        "the run has 1000 ticks per second, this kernel was built with CONFIG_HZ=250; run it with --hz 250, or build \
         it with CONFIG_HZ_1000=y"
    );
}

#[test]
fn a_process_has_one_kernel() {
    alone("a_process_has_one_kernel", || {
        let _first = linux();
        assert!(matches!(Linux::new(load(&[]).unwrap(), die), Err(LinuxError::Second)));
    });
}

#[test]
fn a_run_that_does_not_fit_the_kernel_does_not_begin() {
    alone("a_run_that_does_not_fit_the_kernel_does_not_begin", || {
        let config = Config { hz: 100, ..Config::default() };
        let failure = run_on(machine(2, 1), linux(), busy(), config, &mut []).unwrap_err();
        assert!(matches!(&failure, SimError::Refused { what } if what.contains("CONFIG_HZ=250")), "{failure}");
    });
}

/// The checkers of the engine and the audit, each millisecond, are quiet; every kind of event is there.
#[test]
fn a_run_goes_through_every_call() {
    alone("a_run_goes_through_every_call", || {
        let mut seen = Recorder::default();
        let outcome = run_on(with_costs(machine(4, 1)), linux(), busy(), Config::default(), &mut [&mut seen]).unwrap();
        let count = |wanted: &dyn Fn(&EventKind) -> bool| seen.0.iter().filter(|e| wanted(&e.kind)).count();
        assert_eq!(count(&|k| matches!(k, EventKind::Fork { .. })), 67);
        assert_eq!(count(&|k| matches!(k, EventKind::Exit { .. })), 67);
        let causes = [MigrateCause::Fork, MigrateCause::Wake, MigrateCause::Affinity, MigrateCause::Balance];
        for wanted in causes {
            let n = count(&|k| matches!(k, EventKind::Migrate { cause, .. } if *cause == wanted));
            assert!(n > 0, "{wanted:?}");
        }
        let decided = |k: &EventKind| matches!(k, EventKind::Decision(Decision { rule: 0, probes: 3, .. }));
        assert!(count(&decided) > 67);
        assert!(count(&|k| matches!(k, EventKind::Stopper(true))) > 0);
        assert_eq!(outcome.notes[0], "linux: 0.0-fake, HZ 250");
    });
}

#[test]
fn the_same_run_gives_the_same_events_in_every_process() {
    let hashes = [0, 1].map(|_| {
        in_child("the_same_run_gives_the_same_events_in_every_process", || {
            let mut hash = HashObserver::new();
            run_on(with_costs(machine(4, 1)), linux(), busy(), Config::default(), &mut [&mut hash]).unwrap();
            println!("\nhash {:032x}", hash.value());
        })
    });
    let [Some(a), Some(b)] = hashes else { return };
    let line =
        |o: &Output| String::from_utf8_lossy(&o.stdout).lines().find(|l| l.starts_with("hash ")).map(String::from);
    assert!(line(&a).is_some() && line(&a) == line(&b), "{:?} {:?}", line(&a), line(&b));
}

/// hikey960: four CPUs of 462 on a clock of 1844 MHz, four of 1024 on one of 2362 MHz; two caches, clusters without a
/// cache of their own.
#[test]
fn the_kernel_is_told_of_the_machine() {
    alone("the_kernel_is_told_of_the_machine", || {
        let hikey = Machine::find("hikey960").unwrap();
        let little = hikey.cpus[0].capacity;
        let opps = &hikey.freq_domains[1].opps;
        let top = opps.last().unwrap().clone();
        let (n, us) = (opps.len(), hikey.freq_domains[1].transition_ns.div_ceil(1000));
        let mc = [0, 7].map(|c: usize| hikey.llcs[hikey.cpus[c].llc as usize].iter().fold(0u64, |m, c| m | 1 << c));
        let notes = run_on(hikey, linux(), busy(), Config::default(), &mut []).unwrap().notes;
        let says = |line: String| assert!(notes.contains(&format!("kernel says: {line}")), "{line}\n{notes:#?}");
        says(format!("cpu 0: capacity {little} node 0 package 0 pd 0 smt 1 cluster 1 mc {:x}", mc[0]));
        says(format!("cpu 7: capacity 1024 node 0 package 0 pd 4 smt 80 cluster 80 mc {:x}", mc[1]));
        says(format!("pd 4: {n} opps, top {} kHz {} uW, {us} us", top.khz, (top.active_mw * 1000.0) as u32));
        says("cpu 0 runs at 1024".into());
        assert!(!notes.iter().any(|n| n.contains("too quiet")));
    });
}

/// The parent's process is 0, its child is forked as process 1.
#[test]
fn the_kernel_is_told_of_processes() {
    alone("the_kernel_is_told_of_processes", || {
        let parent = vec![Op::Spawn { spec: 1, count: 1, thread: false }, Op::WaitChildren];
        let mut forks = workload(Vec::new(), vec![spec("parent", parent), spec("child", vec![Op::Exec])]);
        forks.start.truncate(1);
        let notes = run(forks).unwrap().notes;
        let expected = "kernel says: a task of process 1 is of process 2 now";
        assert!(notes.iter().any(|note| note == expected), "{notes:#?}");
    });
}

#[test]
fn the_kernel_is_told_of_clusters() {
    alone("the_kernel_is_told_of_clusters", || {
        let mut m = machine(4, 2);
        let pair = |cpus: [CpuId; 2]| Cluster { cpus: cpus.into_iter().collect(), ..m.clusters[0].clone() };
        m.clusters = vec![pair([0, 1]), pair([2, 3])];
        (m.cores, m.cpu_types[0].smt_throughput) = ((0..4).map(CpuMask::single).collect(), vec![1000]);
        m.cpus.iter_mut().for_each(|cpu| (cpu.core, cpu.cluster) = (cpu.id, cpu.id / 2));
        let notes = run_on(m, linux(), busy(), Config::default(), &mut []).unwrap().notes;
        let expected = "kernel says: cpu 3: capacity 1024 node 0 package 0 pd 0 smt 8 cluster c mc f";
        assert!(notes.iter().any(|n| n == expected), "{notes:#?}");
    });
}

#[test]
fn a_task_that_is_not_where_it_was_reported_is_found_by_the_audit() {
    alone("a_task_that_is_not_where_it_was_reported_is_found_by_the_audit", || {
        match run(workload(vec![], vec![works("lost", 5 * MS)])) {
            Err(SimError::Invariant { what, .. }) => {
                assert!(what.ends_with("task 0 is on CPU 1 in the kernel, and was reported on CPU 0"), "{what}");
            }
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn warnings_of_the_log_are_kept_once_and_without_addresses() {
    alone("warnings_of_the_log_are_kept_once_and_without_addresses", || {
        let notes = run(workload(vec![], vec![works("again", MS)])).unwrap().notes;
        assert_eq!(notes.iter().filter(|n| *n == "kernel says: said once at 0x.., flags 0x1317").count(), 1);
    });
}

/// Has every callback called, and looks at nothing.
struct WatchesAll;

impl KernelObserver for WatchesAll {
    fn interests(&self) -> Interests {
        Interests { placements: true, picks: true, steps: true, pelt: true, balance: true, frequencies: true }
    }
}

#[test]
fn a_warning_or_fault_of_the_kernel_ends_the_process_with_its_reason() {
    let test = "a_warning_or_fault_of_the_kernel_ends_the_process_with_its_reason";
    if let Ok(who) = std::env::var("FAIRGROUND_HOST_TEST_WHO") {
        let mut sched = Linux::new(load(&[]).unwrap(), die).unwrap();
        sched.watch(Box::new(WatchesAll));
        let _ = run_on(machine(2, 1), sched, workload(vec![], vec![works(&who, MS)]), Config::default(), &mut []);
        return;
    }
    let cases = [
        ("warn", "the kernel warns: WARNING: at fake.c"),
        ("bug", "the kernel hits BUG: fake.c:1"),
        ("panic", "the kernel panics: no init"),
        ("lock", "the kernel would deadlock or loses a lock: rq lock taken twice"),
        ("stub", "the kernel calls printk_deferred, which its host does not provide"),
        ("sleep", "the kernel would sleep where it must not: mutex_lock()"),
        ("garbage", "the kernel panics: a\\x9b\\x1b[31mé"),
        ("softirq", "CPU 0 raises a softirq on CPU 1"),
        ("cpu", "the kernel's code names CPU 1000, which does not exist"),
        ("null-placed", "the kernel's code passes no placement: its pointer is null or not aligned"),
        ("null-placing", "the kernel's code passes no placement: its pointer is null or not aligned"),
        ("null-pelt", "the kernel's code passes no PELT update: its pointer is null or not aligned"),
        ("null-after", "the kernel's code passes no signal after a PELT update: its pointer is null or not aligned"),
        ("null-function", "the kernel's code passes no name of a function: its pointer is null or not aligned"),
        ("null-balanced", "the kernel's code passes no balance pass: its pointer is null or not aligned"),
        ("null-found", "the kernel's code passes no busiest queue: its pointer is null or not aligned"),
        ("null-walked", "the kernel's code passes no walk: its pointer is null or not aligned"),
        ("null-stepped", "the kernel's code passes no step: its pointer is null or not aligned"),
        ("wild-waker", "the kernel's code names CPU 1000, which does not exist"),
        ("wild-current", "the kernel's code names task 1000, which was never born"),
        ("wild-found", "the kernel's code names CPU 1000, which does not exist"),
        ("wild-walked", "the kernel's code names CPU 1000, which does not exist"),
        ("wild-stepping", "the kernel's code names task 1000, which was never born"),
        ("wild-stepped", "the kernel's code names CPU 1000, which does not exist"),
        ("wild-picking", "the kernel's code names task group -5, which does not exist"),
        ("wild-picked", "the kernel's code names task 1000, which was never born"),
        ("frames", "the kernel hits BUG: no frames"),
    ];
    for (who, reason) in cases {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", test, "--nocapture"]).env("FAIRGROUND_HOST_TEST_WHO", who);
        let output = child.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{who}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(&format!("error: {reason}\n")), "{who}: {said}");
    }
}

/// The fake refuses a nice value of -20.
#[test]
fn a_change_that_the_kernel_refuses_ends_the_process() {
    let output = in_child("a_change_that_the_kernel_refuses_ends_the_process", || {
        let lift = Op::SetAttr(SchedAttr { nice: -20, ..SchedAttr::default() });
        let _ = run(workload(vec![], vec![spec("t", vec![lift])]));
    });
    let Some(output) = output else { return };
    assert!(String::from_utf8_lossy(&output.stderr)
        .contains("the kernel refuses new attributes of task 0: Operation not permitted"));
}

fn in_group(files: &[(&str, &str)]) -> Workload {
    let files = files.iter().map(|(f, v)| (f.to_string(), v.to_string())).collect();
    let outer = TaskGroup { path: "/a".into(), parent: None, files, cpus: None };
    let inner = TaskGroup { path: "/a/b".into(), parent: Some(0), files: Vec::new(), cpus: None };
    let mut w = workload(vec![], vec![works("t", 5 * MS / 2)]);
    w.tasks[0].group = Some(1);
    Workload { groups: vec![outer, inner], ..w }
}

/// The fake holds a limited group back every other millisecond: 2.5 ms of work end at 4.5 ms.
#[test]
fn a_group_with_a_limit_waits_for_the_kernels_timer() {
    alone("a_group_with_a_limit_waits_for_the_kernels_timer", || {
        let outcome = run(in_group(&[("cpu.max", "50000 100000")])).unwrap();
        assert_eq!(outcome.end, 9 * MS / 2);
    });
}

#[test]
fn a_group_without_a_limit_does_not_wait() {
    alone("a_group_without_a_limit_does_not_wait", || {
        assert_eq!(run(in_group(&[("cpu.weight", "300")])).unwrap().end, 5 * MS / 2);
    });
}

/// A thread outside writes it while the run is on, with two decimals; the fake refuses 99.99 %.
#[test]
fn a_clamp_of_a_group_that_changes_reaches_the_kernel() {
    let output = in_child("a_clamp_of_a_group_that_changes_reaches_the_kernel", || {
        let new = GroupClamp { group: 1, clamp: Clamp::Min, value: ClampPercent { hundredths: 9999 } };
        let mut w = in_group(&[]);
        w.tasks[0].group = None;
        w.tasks[0].program = vec![Op::SetGroupClamp(new)].into();
        let _ = run(w);
    });
    let Some(output) = output else { return };
    let told = String::from_utf8_lossy(&output.stderr);
    let expected = "the kernel does not take `99.99` for cpu.uclamp.min of the task group `/a/b`: Invalid argument";
    assert!(told.contains(expected), "{told}");
}

#[test]
fn limits_of_clamps_are_refused_by_name() {
    alone("limits_of_clamps_are_refused_by_name", || {
        let clamps = ClampLimits { max: 800, ..ClampLimits::default() };
        match run_on(machine(2, 1), linux(), in_group(&[]), Config { clamps, ..Config::default() }, &mut []) {
            Err(SimError::Refused { what }) => {
                assert!(what.contains("no way yet to set sched_util_clamp_max"), "{what}")
            }
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn a_value_that_the_kernel_refuses_is_named_with_its_file() {
    alone("a_value_that_the_kernel_refuses_is_named_with_its_file", || {
        match run(in_group(&[("cpu.max", "nonsense")])) {
            Err(SimError::Refused { what }) => assert!(
                what.starts_with(
                    "the kernel does not take `nonsense` for cpu.max of the task group `/a`: Invalid argument"
                ),
                "{what}"
            ),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn schedutil_is_the_kernels() {
    alone("schedutil_is_the_kernels", || {
        let config = Config { governor: Governor::Schedutil, ..Config::default() };
        let mut seen = Recorder::default();
        let w = workload(vec![], vec![works("t", MS)]);
        let notes = run_on(machine(1, 1), linux(), w, config, &mut [&mut seen]).unwrap().notes;
        let clocks = seen.0.iter().filter_map(|e| match e.kind {
            EventKind::Frequency { khz } => Some(khz),
            _ => None,
        });
        assert_eq!(clocks.collect::<Vec<_>>(), [500_000, 1_000_000]);
        assert!(notes.contains(&"kernel says: cpu 0 runs at 512".into()), "{notes:?}");
    });
}

/// What a watcher saw, in order.
#[derive(Default)]
struct Notebook {
    placing: Vec<TaskId>,
    placed: Vec<TaskId>,
    picked: usize,
    balanced: usize,
    pushing: Vec<CpuId>,
    pushed: Vec<CpuId>,
}

struct Watcher(Rc<RefCell<Notebook>>);

impl KernelObserver for Watcher {
    fn interests(&self) -> Interests {
        Interests { placements: true, picks: true, balance: true, ..Interests::default() }
    }
    fn placing(&mut self, kernel: &Reader, p: &KsPlacement) {
        let mut rq = fairground_fair::ffi::FgCpu::zeroed();
        kernel.cpu(p.this_cpu as CpuId, &mut rq);
        assert_eq!((rq.id, p.chosen), (p.this_cpu, -1));
        self.0.borrow_mut().placing.push(p.task as TaskId);
    }
    fn placed(&mut self, _: &Reader, p: &KsPlacement) -> Option<u16> {
        self.0.borrow_mut().placed.push(p.task as TaskId);
        (p.task == 0).then_some(0)
    }
    fn picked(&mut self, _: &Reader, _: CpuId, _: Option<KernelEntity>) {
        self.0.borrow_mut().picked += 1;
    }
    fn balanced(&mut self, _: &Reader, _: &KsBalance) {
        self.0.borrow_mut().balanced += 1;
    }
    fn pushing(&mut self, _: &Reader, cpu: CpuId) {
        self.0.borrow_mut().pushing.push(cpu);
    }
    fn pushed(&mut self, _: &Reader, cpu: CpuId) {
        self.0.borrow_mut().pushed.push(cpu);
    }
    fn rules(&self) -> Vec<Rule<'static>> {
        vec![Rule { name: "mine", function: "select_task_rq_fair", label: "first", text: "because it is the first" }]
    }
    fn reasons(&mut self, tell: &mut dyn FnMut(Reason)) {
        tell(Reason { note: 3, rule: 0, cpu: Some(1), numbers: [7, 0, 0] });
        tell(Reason { note: 4, rule: NO_RULE, cpu: None, numbers: [0; 3] });
    }
    fn note_text(&self, note: u16) -> &'static str {
        if note == 3 {
            "{a} of my own"
        } else {
            ""
        }
    }
}

/// Asks why.
#[derive(Default)]
struct Curious(Vec<(TaskId, Vec<Reason>)>);

impl Observer for Curious {
    fn event(&mut self, _: &Event) {}
    fn wants_reasons(&self) -> bool {
        true
    }
    fn reasons(&mut self, decision: &Event, reasons: &[Reason]) {
        let EventKind::Decision(d) = decision.kind else { panic!("{decision:?}") };
        self.0.push((d.task, reasons.to_vec()));
    }
}

#[test]
fn a_watcher_gives_reasons_for_the_decisions_it_names_a_rule_of() {
    alone("a_watcher_gives_reasons_for_the_decisions_it_names_a_rule_of", || {
        let mut sched = linux();
        sched.watch(Box::new(Watcher(Rc::default())));
        let mut engine = Engine::new(Arc::new(machine(4, 1)), Arc::new(busy()), Box::new(sched), Config::default());
        let mut curious = Curious::default();
        engine.run(&mut [&mut curious]).unwrap();
        assert!(curious.0.iter().all(|(task, _)| *task == 0) && !curious.0.is_empty());
        let (of_rule, of_none) = (curious.0[0].1[0], curious.0[0].1[1]);
        assert_eq!(engine.scheduler().rule(of_rule.rule).name, "mine");
        assert_eq!(engine.scheduler().note_text(of_rule.note), "{a} of my own");
        assert_eq!((of_rule.cpu, of_rule.numbers[0], of_none.rule), (Some(1), 7, NO_RULE));
    });
}

#[test]
fn a_watcher_sees_decisions_before_their_effects_and_names_their_rules() {
    alone("a_watcher_sees_decisions_before_their_effects_and_names_their_rules", || {
        let notes = Rc::new(RefCell::new(Notebook::default()));
        let mut sched = linux();
        sched.watch(Box::new(Watcher(Rc::clone(&notes))));
        let config = Config { start_phase: false, ..Config::default() };
        let mut engine = Engine::new(Arc::new(machine(4, 1)), Arc::new(busy()), Box::new(sched), config);
        let mut seen = Recorder::default();
        engine.run(&mut [&mut seen]).unwrap();
        let rules = seen.0.iter().filter_map(|e| match e.kind {
            EventKind::Decision(d) => {
                let rule = engine.scheduler().rule(d.rule);
                Some((d.task, rule.name, rule.text))
            }
            _ => None,
        });
        for (task, rule, text) in rules {
            let expected = if task == 0 {
                ("mine", "because it is the first")
            } else {
                ("linux", "decided by the kernel's own code")
            };
            assert_eq!((rule, text), expected);
        }
        let notes = notes.borrow();
        assert!(notes.placing.len() > 67 && notes.placing == notes.placed);
        assert!(notes.picked > 0 && notes.balanced > 0);
        assert!(!notes.pushing.is_empty() && notes.pushing == notes.pushed);
    });
}
