//! Tracepoints of load tracking.

use std::sync::Arc;

use fairground_fair::{Fair, Features, Options};
use fairground_machine::Machine;
use fairground_sim::{Config, Engine, Event, EventKind, HashObserver, Observer, Signals};
use fairground_workload::rtapp::{import, Dialect};

/// Signals with the time of each.
#[derive(Default)]
struct Seen(Vec<(u64, Signals)>);

impl Seen {
    /// Those of a task, or of the queue of CPU 0.
    fn of(&self, task: Option<u32>) -> Vec<(u64, Signals)> {
        self.0.iter().filter(|(_, s)| (s.task, s.cpu) == (task, 0)).copied().collect()
    }
}

impl Observer for Seen {
    fn event(&mut self, event: &Event) {
        if let EventKind::Signals(signals) = event.kind {
            self.0.push((event.time, signals));
        }
    }
}

/// A second of two threads on one CPU at its top frequency: one always runs for a start, then one of nice 5 beside it.
fn run(scheduler: &str, signals: bool) -> (Seen, String) {
    let machine = Arc::new(Machine::symmetric(1));
    let text = r#"{ "global": { "duration": 1 }, "tasks": {
        "busy": { "loop": 1, "run": 2000000 },
        "late": { "loop": 1, "priority": 5, "sleep": 500000, "run": 2000000 } } }"#;
    let workload = import("f.json", text.as_bytes(), &Dialect::default(), &machine).unwrap().0;
    let fair = Fair::new(Arc::clone(&machine), Features::parse(scheduler).unwrap(), Options::default()).unwrap();
    let (mut seen, mut hash) = (Seen::default(), HashObserver::new());
    let config = Config { signals, ..Config::default() };
    Engine::new(machine, Arc::new(workload), Box::new(fair), config).run(&mut [&mut seen, &mut hash]).unwrap();
    (seen, hash.hex())
}

/// 335 is the weight of nice 5. A task that waits for another counts as runnable all the same.
#[test]
fn load_and_utilization_settle_where_they_must() {
    for scheduler in ["v5.7", "v6.12"] {
        let (seen, _) = run(scheduler, true);
        let before = |time: u64, task| seen.of(task).into_iter().rfind(|(at, _)| *at < time).expect("a signal").1;
        let near = |value: u64, goal: u64| value.abs_diff(goal) * 50 <= goal;
        let alone = before(500_000_000, Some(0));
        assert!([alone.load, alone.util, alone.runnable].iter().all(|v| near(*v, 1024)), "{scheduler}: {alone:?}");
        let (busy, late, queue) =
            (before(1_000_000_000, Some(0)), before(1_000_000_000, Some(1)), before(1_000_000_000, None));
        assert!(near(busy.load, 1024) && near(late.load, 335), "{scheduler}: {busy:?} {late:?}");
        assert!(near(queue.load, 1024 + 335) && near(queue.util, 1024), "{scheduler}: {queue:?}");
        assert!(near(late.runnable, 1024) && near(queue.runnable, 2048), "{scheduler}: {late:?} {queue:?}");
        // Three quarters of the CPU by weight, about, and what is not the one's is the other's.
        assert!(busy.util > 2 * late.util && (busy.util + late.util).abs_diff(queue.util) < 60, "{busy:?} {late:?}");
    }
}

/// Once in a period of 1024 us at most, in the clock of the signal; and only if that is wanted; and the run is the same.
#[test]
fn signals_are_told_on_request_as_they_enter_periods() {
    let ((silent, hash), (told, told_hash)) = (run("v6.12", false), run("v6.12", true));
    assert_eq!((silent.0.len(), hash), (0, told_hash));
    for task in [Some(0), Some(1), None] {
        let seen = told.of(task);
        assert!(seen.len() > 50, "{task:?}: {}", seen.len());
        assert!(seen.windows(2).all(|w| w[0].1.updated <= w[1].1.updated), "{task:?}");
        // Two updates are of two periods; where these begin moves with each attach, by less than one.
        let soon = seen.windows(2).filter(|w| w[1].1.updated - w[0].1.updated < 512_000).count();
        assert!(soon * 10 <= seen.len(), "{task:?}: {soon} of {}", seen.len());
    }
}
