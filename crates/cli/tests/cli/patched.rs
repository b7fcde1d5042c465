//! Trees that are broken in every way we know, through the real command: each ends its own runs, with the reason, and
//! no others. FAIRGROUND_TREE_6_12 names Debian's linux-source-6.12, unpacked; without it there is nothing to test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Ran;

/// Where `select_task_rq_fair` decides on a wakeup.
const ON_WAKEUP: &str = "\t\trecord_wakee(p);\n";

const FAIR: &str = "kernel/sched/fair.c";

/// A copy of a tree that can be edited, and a cache.
struct Bench {
    dir: tempfile::TempDir,
    of: PathBuf,
    tree: PathBuf,
}

impl Bench {
    /// None without a tree.
    fn new() -> Option<Bench> {
        let Some(of) = std::env::var_os("FAIRGROUND_TREE_6_12").filter(|v| !v.is_empty()) else {
            eprintln!("SKIPPED: FAIRGROUND_TREE_6_12 names no kernel tree");
            return None;
        };
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().canonicalize().unwrap().join("tree");
        let of = Path::new(&of).canonicalize().unwrap();
        assert!(Command::new("cp").arg("-rs").arg(&of).arg(&tree).status().unwrap().success());
        Some(Bench { dir, of, tree })
    }

    /// A file as it was before all edits.
    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.of.join(file)).unwrap()
    }

    /// Has a file hold its text with this edit alone.
    fn edit(&self, file: &str, what: &str, to: &str) {
        let text = self.text(file);
        assert!(text.contains(what), "{what}");
        // A real file now, not a link to the tree's.
        fs::remove_file(self.tree.join(file)).unwrap();
        fs::write(self.tree.join(file), text.replace(what, to)).unwrap();
    }

    /// On a wakeup this happens before anything else.
    fn patch(&self, code: &str) {
        self.edit(FAIR, ON_WAKEUP, &format!("\t\t{code}\n{ON_WAKEUP}"));
    }

    /// The line of the patch.
    fn line(&self) -> usize {
        self.text(FAIR).split(ON_WAKEUP).next().unwrap().lines().count() + 1
    }

    fn run(&self, words: &str) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fairground"));
        command.args(words.split_whitespace()).current_dir(self.dir.path());
        command.env("FAIRGROUND_CACHE", self.dir.path()).output().unwrap().into()
    }

    fn build(&self, more: &str) -> Ran {
        self.run(&format!("kernel build tree {more}"))
    }

    /// Builds `linux:mine`, and keeps its library under another name if it is given.
    fn builds(&self, keep: Option<&str>) -> String {
        let ran = self.build("--name mine");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let list: serde_json::Value = serde_json::from_str(&self.run("kernel list --format json").stdout).unwrap();
        let library = list["kernels"][0]["library"].as_str().unwrap();
        keep.map(|name| fs::copy(library, self.dir.path().join(name)).unwrap());
        ran.stdout
    }
}

/// A message without its line breaks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One after the other: each builds upon what the others have built.
#[test]
fn a_broken_tree_fails_with_the_reason_and_nothing_else_does() {
    let Some(bench) = Bench::new() else { return };
    bench.builds(Some("plain.so"));
    each_failure_ends_its_own_runs_and_no_others(&bench);
    a_debug_build_checks_locks_lists_and_allocations(&bench);
    what_does_not_compile_is_told_by_the_users_own_file_and_line(&bench);
    a_function_of_another_name_is_not_observable_and_all_else_works(&bench);
    machines_and_tick_rates_that_a_kernel_was_not_built_for_are_refused(&bench);
    a_tree_from_before_v5_8_is_told_what_it_lacks(&bench);
}

fn each_failure_ends_its_own_runs_and_no_others(bench: &Bench) {
    let (line, here) = (bench.line(), "in wake of task ");
    let at = |what: &str| format!("{what} kernel/sched/fair.c:{line}");
    let source = format!("in select_task_rq_fair (kernel/sched/fair.c:{line})");
    let from = format!(", from select_task_rq_fair (kernel/sched/fair.c:{line})");
    let failures = [
        ("for (;;) barrier();", vec!["has been looping for 0.3 s of CPU time, in select_task_rq_fair", here]),
        ("*(volatile int *)24 = prev_cpu;", vec!["died of SIGSEGV at address 0x18, ", &source, here]),
        (
            "WARN(1, \"%s may use %*pbl\", \"it\", cpumask_pr_args(p->cpus_ptr));",
            vec!["the kernel warns: WARNING at kernel/sched/fair.c:", "it may use 0-7", here],
        ),
        ("WARN_ON_ONCE(prev_cpu >= 0);", vec!["the kernel warns: ", &at("WARNING at"), here]),
        ("BUG_ON(prev_cpu >= 0);", vec![&at("the kernel hits BUG: BUG at"), "select_task_rq_fair()", here]),
        (
            "raw_spin_rq_lock(cpu_rq(prev_cpu)); raw_spin_rq_lock(cpu_rq(prev_cpu));",
            vec!["the kernel would deadlock", &from, here],
        ),
        (
            "static DEFINE_MUTEX(m); mutex_lock(&m);",
            vec!["the kernel would sleep where it must not: mutex_lock() while 1 spinlock is held", &source, here],
        ),
        ("schedule();", vec!["the kernel would sleep where it must not: schedule() while 1 spinlock is held", &source]),
        (
            "static DEFINE_MUTEX(m); if (!mutex_trylock(&m)) { mutex_unlock(&m); mutex_unlock(&m); }",
            vec!["a mutex is unlocked that is not held", &source, here],
        ),
        ("find_task_by_vpid(1);", vec!["the kernel calls find_task_by_vpid, which its host does not provide", here]),
    ]
    .map(|(code, reason)| (code, reason.into_iter().map(String::from).collect::<Vec<_>>()));
    for (code, reason) in failures {
        bench.patch(code);
        bench.builds(None);
        let words = "compare hikey960 sched-pipe:loops=50 --base linux:./plain.so --test linux:mine --test fair:v6.12 \
                     --allow-library --seeds 2 --call-limit 0.3";
        let ran = bench.run(words);
        let said = flat(&ran.stderr);
        assert_eq!(ran.code, 1, "{code}: {said}");
        for part in &reason {
            assert!(said.contains(part), "{code}: no {part:?} in {said}");
        }
        let failed = |sched: &str| said.matches(&format!("run failed: {sched} seed")).count();
        assert_eq!((failed("linux:mine"), failed("linux:./plain.so"), failed("fair:v6.12")), (2, 0, 0), "{said}");
        assert!(ran.stdout.contains("fair:v6.12"), "{}", ran.stdout);
    }
}

/// What every build lets pass, or ends for another reason.
fn a_debug_build_checks_locks_lists_and_allocations(bench: &Bench) {
    let locks = "static DEFINE_RAW_SPINLOCK(a); static DEFINE_RAW_SPINLOCK(b);";
    let failures = [
        (
            "kfree(kmalloc(prev_cpu + 1, GFP_KERNEL));".to_string(),
            "an allocation that may sleep while 1 spinlock is held",
        ),
        ("lockdep_assert_rq_held(cpu_rq(prev_cpu));".into(), "the kernel warns: WARNING at kernel/sched/"),
        (
            format!(
                "{locks} raw_spin_lock(&a); raw_spin_lock(&b); raw_spin_unlock(&b); raw_spin_unlock(&a); \
                 raw_spin_lock(&b); raw_spin_lock(&a); raw_spin_unlock(&a); raw_spin_unlock(&b);"
            ),
            "a is taken while b is held; before, they were taken in the other order",
        ),
        (
            "struct rq_flags rf; struct rq *other = cpu_rq(prev_cpu); rq_lock(other, &rf); raw_spin_rq_unlock(other);"
                .into(),
            "is released that is pinned",
        ),
        (
            "struct list_head head, entry; INIT_LIST_HEAD(&head); list_add(&entry, &head); list_add(&entry, &head);"
                .into(),
            "list_add double add",
        ),
    ];
    for (code, reason) in failures {
        bench.patch(&code);
        let built = bench.build("--name checked --debug");
        assert_eq!(
            (built.code, built.stdout.contains("checks of a debug build")),
            (0, true),
            "{code}: {}",
            built.stderr
        );
        let ran = bench.run("run hikey960 sched-pipe:loops=50 --sched linux:checked");
        assert_eq!(ran.code, 1, "{code}: {}", ran.stdout);
        assert!(flat(&ran.stderr).contains(reason), "{code}: no {reason:?} in {}", ran.stderr);
    }
    bench.patch("");
    assert_eq!(bench.build("--name checked --debug").code, 0);
    for workload in ["sched-pipe:loops=200", "periodic:tasks=12,duty=25,duration=0.1"] {
        let ran = bench.run(&format!("run hikey960 {workload} --governor schedutil --sched linux:checked"));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
}

fn what_does_not_compile_is_told_by_the_users_own_file_and_line(bench: &Bench) {
    bench.patch("no_such_thing++;");
    let ran = bench.build("--name mine");
    let (said, place) = (flat(&ran.stderr), format!("{}:{}:", bench.tree.join(FAIR).display(), bench.line()));
    assert_eq!(ran.code, 2);
    // Long paths are broken at hyphens.
    let said = said.replace("- ", "-");
    assert!(said.contains(&place) && said.contains("'no_such_thing' undeclared"), "no {place} in {said}");
    let stale =
        |ran: Ran| flat(&ran.stderr).contains("warning: the last build of linux:mine failed (compiling failed: ");
    let words = "run hikey960 sched-pipe:loops=5 --sched linux:mine --call-limit 0.3";
    assert!(stale(bench.run(words)), "the library of the build before is used with a note");
    assert!(bench.run("kernel list").stdout.contains("warning: the last build failed"), "and listed with one");
    bench.patch("barrier();");
    bench.builds(None);
    assert!(!stale(bench.run(words)));
}

fn a_tree_from_before_v5_8_is_told_what_it_lacks(bench: &Bench) {
    bench.edit("kernel/sched/smp.h", "extern void sched_ttwu_pending(void *arg);", "");
    let ran = bench.build("--name mine");
    let said = flat(&ran.stderr);
    assert_eq!(ran.code, 2);
    for part in ["cannot be built; it lacks: one queue for remote calls and wakeups (v5.8)", "sched_ttwu_pending()"] {
        assert!(said.contains(part), "no {part:?} in {said}");
    }
}

fn a_function_of_another_name_is_not_observable_and_all_else_works(bench: &Bench) {
    bench.edit(FAIR, "sched_balance_rq(", "my_balance_rq(");
    let said = bench.builds(None);
    let expected = "not observable in this tree: passes of load balancing (load_balance, sched_balance_rq)\n";
    assert!(said.contains(expected), "{said}");
    let ran = bench.run("run hikey960 periodic:tasks=12,duty=30,duration=0.2 --sched linux:mine");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

fn machines_and_tick_rates_that_a_kernel_was_not_built_for_are_refused(bench: &Bench) {
    let small = bench.build("--name small --set CONFIG_NR_CPUS=8 --set CONFIG_HZ_1000=y");
    assert_eq!(small.code, 0, "{}", small.stderr);
    assert!(small.stdout.contains("HZ 1000, up to 8 CPUs"), "{}", small.stdout);
    let refused = |words: &str, parts: &[&str]| {
        let ran = bench.run(words);
        let said = flat(&ran.stderr);
        assert_eq!(ran.code, 2, "{said}");
        parts.iter().for_each(|part| assert!(said.contains(part), "{words}: no {part:?} in {said}"));
    };
    let pipe = "sched-pipe:loops=20 --sched linux:small";
    refused(&format!("run epyc-7742-2p {pipe}"), &["256 CPUs, linux:small was built for 8", "CONFIG_NR_CPUS=256"]);
    refused(&format!("run hikey {pipe} --hz 100"), &["--hz 100: linux:small was built with HZ 1000"]);
    let both = "compare hikey sched-pipe:loops=20 --base linux:small --test linux:mine";
    refused(both, &["linux:small was built with HZ 1000, linux:mine with HZ 250", "CONFIG_HZ_1000=y"]);

    let ran = bench.run(&format!("run hikey {pipe}"));
    assert!(ran.code == 0 && ran.stdout.contains("note: hz: 1000"), "{}{}", ran.stdout, ran.stderr);
    let ran = bench
        .run("compare hikey sched-pipe:loops=20 --base linux:small --test linux:./plain.so --seeds 1 --allow-library");
    let said = flat(&ran.stderr);
    let reason = "run failed: linux:./plain.so seed 1: the run has 1000 ticks per second, this kernel was built with \
                  CONFIG_HZ=250; run it with --hz 250, or build it with CONFIG_HZ_1000=y";
    assert!(ran.code == 1 && said.contains(reason), "{said}");
}
