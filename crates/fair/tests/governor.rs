//! schedutil on hikey: eight equal CPUs on one clock of 208, 432, 729, 960 and 1200 MHz, which takes 500 us to change.

use std::sync::Arc;

use fairground_fair::{Fair, Features, Options};
use fairground_machine::Machine;
use fairground_sim::testing::{spec, workload};
use fairground_sim::{Config, Engine, Event, EventKind, Governor, HashObserver, Observer};
use fairground_workload::{Amount, CapSource, FrequencyCap, Op, Policy, Workload};

const MS: u64 = 1_000_000;

/// When the clock of CPU 0 changed, and to what, ns and MHz.
#[derive(Default)]
struct Clock(Vec<(u64, u32)>);

impl Observer for Clock {
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Frequency { khz } if event.cpu == 0 => self.0.push((event.time, khz / 1000)),
            _ => {}
        }
    }
}

fn run(workload: Workload, scheduler: &str) -> (Vec<(u64, u32)>, String) {
    let machine = Arc::new(Machine::preset("hikey").unwrap());
    let features = Features::parse(scheduler).unwrap();
    let fair = Fair::new(Arc::clone(&machine), features, Options::default()).unwrap();
    let config = Config { governor: Governor::Schedutil, ..Config::default() };
    let (mut clock, mut hash) = (Clock::default(), HashObserver::default());
    let mut engine = Engine::new(machine, Arc::new(workload), Box::new(fair), config);
    engine.run(&mut [&mut clock, &mut hash]).unwrap();
    (clock.0, hash.hex())
}

/// One task that works `duty` percent of each 2 ms, for a second.
fn periodic(duty: u32) -> Workload {
    let machine = Machine::preset("hikey").unwrap();
    Workload::find(&format!("periodic:tasks=1,periods=2,duty={duty},duration=1"), &machine).unwrap().0
}

/// A task that works for 100 ms.
fn busy() -> Workload {
    workload(vec![], vec![spec("busy", vec![Op::Run(Amount::fixed(100 * MS))])])
}

/// 1.25 * 1200 MHz * duty: 150, 300, 600, 825, 1050 MHz. Twice the work, twice the clock. hikey's 208 MHz cost more energy
/// than its 432 for the same work, and so are passed over from v5.16 on.
#[test]
fn a_periodic_task_settles_at_the_operating_point_of_its_utilization() {
    for (scheduler, lowest) in [("fair:v5.4", 208), ("fair:v5.11", 208), ("fair:v6.1", 432), ("fair:v6.12", 432)] {
        for (duty, mhz) in [(10, lowest), (20, 432), (40, 729), (55, 960), (70, 1200)] {
            let (clock, _) = run(periodic(duty), scheduler);
            let (since, last) = *clock.last().unwrap();
            assert!(last == mhz && since < 500 * MS, "{scheduler}, {duty} %: {clock:?}");
        }
    }
}

/// 500 us of transition: every 10 ms at most, or every 750 us from v6.10 on. The first change has none before it.
#[test]
fn changes_keep_the_distance_of_their_version() {
    // An RT task wants the top while it is there, and a quarter of it while it sleeps.
    let bursts = || {
        let once = |_| [Op::Run(Amount::fixed(MS)), Op::Sleep(Amount::fixed(3 * MS))];
        let mut bursts = workload(vec![], vec![spec("bursts", (0..40).flat_map(once).collect())]);
        (bursts.tasks[0].attr.policy, bursts.tasks[0].attr.rt_priority) = (Policy::Fifo, 1);
        bursts
    };
    let nearest = |scheduler| {
        let (clock, _) = run(bursts(), scheduler);
        assert!(clock.len() > 5, "{scheduler}: {clock:?}");
        clock.windows(2).skip(1).map(|w| w[1].0 - w[0].0).min().unwrap()
    };
    assert!(nearest("fair:v5.4") >= 9_990_000);
    let late = nearest("fair:v6.12");
    assert!((740_000..9_000_000).contains(&late), "{late}");
}

#[test]
fn a_busy_cpu_goes_up_step_by_step_and_an_rt_task_at_once() {
    let (clock, _) = run(busy(), "fair:v6.12");
    let steps: Vec<u32> = clock.iter().map(|(_, mhz)| *mhz).collect();
    assert!(steps.windows(2).all(|w| w[0] < w[1]) && steps.last() == Some(&1200), "{clock:?}");
    let mut rt = busy();
    rt.tasks[0].attr.policy = Policy::Fifo;
    rt.tasks[0].attr.rt_priority = 1;
    let (clock, _) = run(rt, "fair:v6.12");
    let (at, mhz) = clock[1];
    assert!(mhz == 1200 && at < 10 * MS, "{clock:?}");
}

/// At most 800 MHz from 40 ms to 70 ms, while one task works all the time: 729 is the last below.
#[test]
fn the_governor_keeps_to_its_limits_and_uses_what_they_give_back() {
    let (from, to) = (40 * MS, 70 * MS);
    for by in [CapSource::User, CapSource::Cooling, CapSource::Hardware] {
        let mut capped = busy();
        let cap = FrequencyCap { cpus: (0..8).collect(), max_khz: 800_000, from_ns: from, to_ns: Some(to), by };
        capped.frequency_caps = vec![cap];
        let (clock, _) = run(capped, "fair:v6.12");
        let at = |time: u64| clock.iter().rfind(|(t, _)| *t <= time).unwrap().1;
        let within = clock.iter().filter(|(t, _)| (from + MS..to).contains(t));
        assert!(within.clone().all(|(_, mhz)| *mhz <= 729), "{by:?}: {clock:?}");
        assert_eq!((at(to - 1), at(to + 5 * MS)), (729, 1200), "{by:?}: {clock:?}");
    }
}

#[test]
fn the_same_run_again_asks_for_the_same() {
    for scheduler in ["fair:v5.4", "fair:debian-6.12.117"] {
        assert_eq!(run(periodic(40), scheduler), run(periodic(40), scheduler));
    }
}
