//! The deadline server of fair tasks (placement-new.md 2.9): what RT tasks that never sleep leave them.

use std::sync::Arc;

use fairground_fair::{Fair, Features, Options};
use fairground_machine::Machine;
use fairground_sim::{Config, Engine, Event, EventKind, Observer};
use fairground_workload::rtapp::{import, Dialect};

const MS: u64 = 1_000_000;

/// When task 1, which is a fair one, gets the CPU and when it loses it, ns.
#[derive(Default)]
struct Turns(Vec<(u64, u64)>);

impl Observer for Turns {
    fn event(&mut self, event: &Event) {
        if let EventKind::Switch { prev, next, .. } = event.kind {
            match self.0.last_mut() {
                Some(turn) if prev == Some(1) => turn.1 = event.time,
                _ => {}
            }
            if next == Some(1) {
                self.0.push((event.time, event.time));
            }
        }
    }
}

/// The turns of a fair task of these steps in six seconds, beside an RT task that begins after `delay` us and never sleeps. The
/// books are audited on the way.
fn turns(scheduler: &str, delay: u32, fair: &str) -> Vec<(u64, u64)> {
    let machine = Arc::new(Machine::symmetric(1));
    let text = format!(
        "{{ \"tasks\": {{ \"hog\": {{ \"policy\": \"SCHED_FIFO\", \"priority\": 50, \"delay\": {delay}, \"loop\": -1, \"run\": 1000000 }}, \
         \"fair\": {{ \"loop\": -1, {fair} }} }}, \"global\": {{ \"duration\": 6, \"calibration\": 1000 }} }}"
    );
    let workload = import("f.json", text.as_bytes(), &Dialect::default(), &machine).unwrap().0;
    let sched = Fair::new(Arc::clone(&machine), Features::parse(scheduler).unwrap(), Options::default()).unwrap();
    let config = Config { audit_every_ns: MS, max_time_ns: 10_000 * MS, ..Config::default() };
    let mut turns = Turns::default();
    Engine::new(machine, Arc::new(workload), Box::new(sched), config).run(&mut [&mut turns]).unwrap();
    turns.0
}

/// What the turns that begin from `from` to `to` ms come to, ms.
fn had(turns: &[(u64, u64)], from: u64, to: u64) -> u64 {
    turns.iter().filter(|turn| (from * MS..to * MS).contains(&turn.0)).map(|turn| turn.1 - turn.0).sum::<u64>() / MS
}

const BUSY: &str = "\"run\": 1000000";

/// A tick ends its turn: it may last 4 ms longer, which the next one lacks.
#[test]
fn a_fair_task_has_50_ms_of_each_second_but_not_before_it_has_to() {
    for preset in ["v6.12", "debian-6.12.117", "v6.17", "debian-6.18.15", "v6.19", "v7.0", "debian-7.3.4"] {
        let turns = turns(preset, 0, BUSY);
        let of_seconds: Vec<u64> =
            (0..5).map(|second| had(&turns, second * 1000 + 500, second * 1000 + 1500)).collect();
        assert_eq!(had(&turns, 5, 950), 0, "{preset}: {turns:?}");
        assert!(of_seconds.iter().all(|ms| (46..=54).contains(ms)), "{preset}: {of_seconds:?}");
        assert!((245..=255).contains(&of_seconds.iter().sum::<u64>()), "{preset}: {of_seconds:?}");
    }
}

/// DEVIATION: kernels throttle RT tasks then (`crates/fair/src/scheduler/rt.rs`).
#[test]
fn before_v6_12_it_has_nothing() {
    for preset in ["v5.4", "v6.7", "v6.12-fair-server"] {
        assert_eq!(had(&turns(preset, 0, BUSY), 5, 6000), 0, "{preset}");
    }
}

/// It has run all the time before the RT task came, so its first turn is a whole period later.
#[test]
fn what_it_has_run_by_itself_puts_its_turn_off() {
    for preset in ["v6.12", "debian-6.18.15", "debian-7.3.4"] {
        let turns = turns(preset, 1_030_000, BUSY);
        let began = turns.iter().map(|turn| turn.0 / MS).find(|began| *began > 1040).unwrap();
        // The last period began at a tick, 50 ms or a little more after the one before.
        assert!((1030 + 900..1030 + 1000).contains(&began), "{preset}: {began}");
    }
}

/// A task that ran in its turn and sleeps for 300 ms: what is left of the runtime is too much for the rest of the period.
#[test]
fn a_server_that_ran_goes_on_at_once_or_waits_or_takes_its_part() {
    let gap = |preset: &str| {
        let turns = turns(preset, 0, "\"run\": 1500, \"sleep\": 300000");
        let began: Vec<u64> = turns.iter().map(|turn| turn.0 / 100_000).filter(|began| *began > 9000).collect();
        began[1] - began[0]
    };
    let (at_once, waits) = (3015..=3016, 3015 + 9500..=3016 + 9500);
    assert!(at_once.contains(&gap("v6.17")));
    assert!(waits.contains(&gap("debian-6.18.15")));
    assert!(waits.contains(&gap("v6.19")));
    assert!(at_once.contains(&gap("v7.0")));
}
