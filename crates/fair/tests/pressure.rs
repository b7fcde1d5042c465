//! Limits of frequencies, from the workload to what the policy sees.

use std::sync::Arc;

use fairground_fair::{Fair, Features, Options};
use fairground_machine::{CpuId, CpuMask, Machine};
use fairground_sim::{Config, Engine, Env, Event, EventKind, FrequencyLimits, HashObserver, Observer, Scheduler};
use fairground_workload::{CapSource, FrequencyCap, Workload};

const MS: u64 = 1_000_000;

fn fair(machine: &Arc<Machine>, scheduler: &str) -> Fair {
    Fair::new(Arc::clone(machine), Features::parse(scheduler).unwrap(), Options::default()).unwrap()
}

/// 462 of the little CPUs, as the policy computes it: 462 - 462 x 999 / 1844 = 462 - 250 = 212.
#[test]
fn limits_reach_every_cpu_of_the_clock() {
    let machine = Arc::new(Machine::preset("hikey960").unwrap());
    let (mut fair, mut env) = (fair(&machine, "v5.11"), Env::new(Arc::clone(&machine), 250, 1));
    let orig = fair.cpu(0).cpu_capacity_orig;
    let limits = FrequencyLimits { cooling_khz: 999_000, policy_khz: 533_000, ..FrequencyLimits::unlimited(1_844_000) };
    let little = CpuMask::parse_list("0-3").unwrap();
    little.iter().for_each(|cpu| env.cpu_mut(cpu).limits = limits);
    fair.frequency_limits(&mut env, &little);
    for cpu in 0..4 {
        let rq = fair.cpu(cpu);
        assert_eq!(rq.thermal_pressure, orig - orig * 999 / 1844);
        assert_eq!((rq.hw_pressure, rq.cpufreq_pressure), (0, orig - orig * 533 / 1844));
        assert_eq!(rq.pd, 0);
    }
    assert_eq!((fair.cpu(4).thermal_pressure, fair.cpu(4).pd), (0, 4));
}

/// Frequencies of CPU 4 in order, and who was placed on a little CPU while that was slow.
#[derive(Default)]
struct Seen {
    khz: Vec<(u64, u32)>,
    slow_placements: Vec<CpuId>,
}

impl Observer for Seen {
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Frequency { khz } if event.cpu == 4 => self.khz.push((event.time / MS, khz)),
            // From when the averaged pressure has come (250 ms is more than seven half-lives) to when it goes.
            EventKind::Decision(d) if (450 * MS..600 * MS).contains(&event.time) => self.slow_placements.push(d.chosen),
            _ => {}
        }
    }
}

fn run(workload: &Workload, scheduler: &str, seed: u64) -> (Seen, String) {
    let machine = Arc::new(Machine::preset("hikey960").unwrap());
    let config = Config { seed, audit_every_ns: 100_000, ..Config::default() };
    let scheduler = Box::new(fair(&machine, scheduler));
    let mut engine = Engine::new(machine, Arc::new(workload.clone()), scheduler, config);
    let (mut seen, mut hash) = (Seen::default(), HashObserver::new());
    engine.run(&mut [&mut seen, &mut hash]).unwrap();
    (seen, hash.hex())
}

fn throttled() -> Workload {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/throttled.json");
    Workload::find(file, &Machine::preset("hikey960").unwrap()).unwrap().0
}

/// The clock follows a cap 300 us after it, down and up again.
#[test]
fn a_cap_slows_the_clock_for_its_time() {
    let (seen, _) = run(&throttled(), "v5.11", 1);
    assert_eq!(seen.khz, [(0, 2_362_000), (200, 903_000), (600, 2_362_000)]);
}

/// While the big CPUs have less than the little ones, wakeups that know of it go to the little ones.
#[test]
fn pressure_sends_wakeups_elsewhere() {
    let little = |scheduler: &str, workload: &Workload| {
        let placed = run(workload, scheduler, 1).0.slow_placements;
        assert!(placed.len() > 5, "{scheduler}: {placed:?}");
        placed.iter().filter(|cpu| **cpu < 4).count() * 100 / placed.len()
    };
    let mut by_user = throttled();
    by_user.frequency_caps[0].by = CapSource::User;
    let aware = little("v5.11", &throttled());
    assert!(aware > 50, "{aware} %");
    // Without thermal pressure; limited only by cpufreq, whose limit the scheduler reads since v6.10.
    assert_eq!(little("v5.11-thermal-in-cap", &throttled()), 0);
    assert_eq!(little("v5.11", &by_user), 0);
    let heard = little("v5.11-thermal-in-cap+hw-pressure", &by_user);
    assert!(heard > 50, "{heard} %");
}

/// A cap at time 0 is there from the beginning; of several the lowest holds.
#[test]
fn caps_overlap() {
    let mut workload = throttled();
    let cpus = CpuMask::parse_list("4-7").unwrap();
    let cap = |max_khz, from_ms: u64, to_ms: Option<u64>| FrequencyCap {
        cpus,
        max_khz,
        from_ns: from_ms * MS,
        to_ns: to_ms.map(|ms| ms * MS),
        by: CapSource::Hardware,
    };
    workload.frequency_caps =
        vec![cap(2_000_000, 0, None), cap(1_500_000, 100, Some(300)), cap(903_000, 200, Some(250))];
    let (seen, _) = run(&workload, "v5.11", 1);
    let expected = [(0, 1_805_000), (100, 1_421_000), (200, 903_000), (250, 1_421_000), (300, 1_805_000)];
    assert_eq!(seen.khz, expected);
}

#[test]
fn equal_inputs_give_equal_bytes_under_caps_and_clamps() {
    let hash = |scheduler: &str, seed| run(&throttled(), scheduler, seed).1;
    for scheduler in ["v5.11", "v5.11+ufc+ufc-thermal+misfit-unlink+util-est=v68-est-lsb+max-allowed-cap"] {
        assert_eq!(hash(scheduler, 1), hash(scheduler, 1));
    }
    assert_ne!(hash("v5.11", 1), hash("v5.11+ufc+ufc-thermal+misfit-unlink", 1));
}
