//! RT tasks that never sleep, in a kernel that was built from a tree and in ours of the same release: when the deadline server
//! lets fair tasks run, and for how long. FAIRGROUND_LIBKSCHED names the kernel; without it there is nothing to test.

#[path = "support/machines.rs"]
mod machines;
mod support;

use std::path::PathBuf;
use std::sync::Arc;

use fairground_fair::ffi::{FG_FAIR_SERVER, FG_FAIR_SERVER_OFF};
use fairground_fair::{Fair, Options};
use fairground_linux::conformance::preset_for;
use fairground_linux::{die, Kernel, Linux};
use fairground_machine::Machine;
use fairground_sim::{Config, Engine, Event, EventKind, Observer, Scheduler, TaskId};
use fairground_workload::rtapp::{import, Dialect};
use fairground_workload::Workload;
use machines::server;
use support::alone;

const SECOND: u64 = 1_000_000_000;

/// ns that a switch may be apart: both charge the same work, but not all of it before the same look at a clock.
const APART: u64 = 10_000;

/// Every switch from a task to another.
#[derive(Default)]
struct Switches(Vec<(u64, Option<TaskId>, Option<TaskId>)>);

impl Observer for Switches {
    fn event(&mut self, event: &Event) {
        if let EventKind::Switch { prev, next, .. } = event.kind {
            self.0.push((event.time, prev, next));
        }
    }
}

fn switches(sched: Box<dyn Scheduler>, hz: u32, m: &Machine, w: &Workload) -> Switches {
    let config = Config { hz, max_time_ns: 30 * SECOND, audit_every_ns: 10_000_000, ..Config::default() };
    let mut switches = Switches::default();
    Engine::new(Arc::new(m.clone()), Arc::new(w.clone()), sched, config).run(&mut [&mut switches]).unwrap();
    switches
}

/// One CPU with an RT task of these steps, and fair ones.
fn same_switches(test: &str, rt: &str, fair: &[&str]) {
    let Some(library) = std::env::var_os("FAIRGROUND_LIBKSCHED").map(PathBuf::from) else { return };
    alone(test, || {
        let kernel = Kernel::load(&library).unwrap();
        let (hz, release) = (kernel.hz(), kernel.release());
        let features = preset_for(&release).unwrap();
        if u32::from(features.get(FG_FAIR_SERVER)) == FG_FAIR_SERVER_OFF {
            println!("\n= {test}: {release} has no deadline server");
            return;
        }
        let m = server(1, 1, 0, 1);
        let fair: Vec<String> =
            fair.iter().enumerate().map(|(i, steps)| format!("\"fair{i}\": {{ \"loop\": -1, {steps} }}")).collect();
        let text = format!(
            "{{ \"tasks\": {{ \"rt\": {{ \"policy\": \"SCHED_FIFO\", \"priority\": 50, \"loop\": -1, {rt} }}, {} }}, \
             \"global\": {{ \"duration\": 8, \"calibration\": 1000 }} }}",
            fair.join(", ")
        );
        let w = import("f.json", text.as_bytes(), &Dialect::default(), &m).unwrap().0;
        let sched = Fair::new(Arc::new(m.clone()), features, Options::default()).unwrap();
        let ours = switches(Box::new(sched), hz, &m, &w).0;
        let theirs = switches(Box::new(Linux::new(kernel, die).unwrap()), hz, &m, &w).0;
        let apart = ours.iter().zip(&theirs).map(|(a, b)| a.0.abs_diff(b.0)).max().unwrap();
        println!("\n= {test}: {release}: {} switches, at most {apart} ns apart", theirs.len());
        for (a, b) in ours.iter().zip(&theirs) {
            assert!((a.1, a.2) == (b.1, b.2) && a.0.abs_diff(b.0) <= APART, "{release}: {b:?}, ours: {a:?}");
        }
        assert_eq!(ours.len(), theirs.len());
        assert!(
            theirs.iter().filter(|(at, prev, next)| *at > SECOND && *prev == Some(0) && next.is_some()).count() >= 3
        );
    });
}

const HOG: &str = "\"run\": 1000000";

#[test]
fn a_task_that_never_sleeps() {
    same_switches("a_task_that_never_sleeps", HOG, &["\"run\": 1000000"]);
}

#[test]
fn a_task_that_sleeps_for_30_ms() {
    same_switches("a_task_that_sleeps_for_30_ms", HOG, &["\"run\": 7000, \"sleep\": 30000"]);
}

/// What is left of the runtime then is too much for the rest of the period.
#[test]
fn a_task_that_sleeps_for_300_ms() {
    same_switches("a_task_that_sleeps_for_300_ms", HOG, &["\"run\": 1500, \"sleep\": 300000"]);
}

#[test]
fn a_task_that_sleeps_for_longer_than_a_period() {
    same_switches("a_task_that_sleeps_for_longer_than_a_period", HOG, &["\"run\": 1500, \"sleep\": 1300000"]);
}

/// The CPU idles, and the task runs by itself, before the RT task begins.
#[test]
fn an_rt_task_that_begins_late() {
    let rt = "\"delay\": 1700000, \"run\": 1000000";
    same_switches("an_rt_task_that_begins_late", rt, &["\"run\": 9000, \"sleep\": 100000"]);
}

#[test]
fn an_rt_task_that_sleeps_at_times() {
    let rt = "\"run\": 1500000, \"sleep\": 200000";
    same_switches("an_rt_task_that_sleeps_at_times", rt, &["\"run\": 20000, \"sleep\": 70000"]);
}
