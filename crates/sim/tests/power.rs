//! Rails, votes, energy accounts and heat, by runs whose powers are computed by hand.

use fairground_machine::{CpuMask, FreqDomain, Machine, Opp, Thermal, ThermalGovernor, ThermalNode, ThermalZone, Vote};
use fairground_sim::testing::{self, machine, spec, workload};
use fairground_sim::{
    joules, Config, Energy, EnergyPart, Event, EventKind, Governor, HashObserver, Observer, Outcome, RailEnergy,
};
use fairground_workload::{Amount, Op, ProgramBuilder, TaskSpec};

const MS: u64 = 1_000_000;

/// Energy in nW x ns of `mw` mW over `ms` ms.
fn mw_ms(mw: f64, ms: u64) -> Energy {
    (mw * 1e6) as Energy * Energy::from(ms * MS)
}

fn config(governor: Governor) -> Config {
    Config { start_phase: false, governor, ..Config::default() }
}

/// CPU 0 little, CPU 1 big, a clock and a rail each. Little: 100 mW at 1 GHz, 300 mW at 2 GHz, idle 1 and 4 mW, its rail 5
/// and 20 mW. Big: 1000 mW at either clock. Above its lower clock big wants little's rail at the voltage of 2 GHz.
fn two_rails() -> Machine {
    let mut m = machine(2, 1);
    let point = |khz, active, wfi, fixed| Opp { wfi_mw: Some(wfi), static_mw: fixed, ..Opp::new(khz, active) };
    let domain = |cpu, name: &str, opps| FreqDomain {
        cpus: CpuMask::single(cpu),
        opps,
        transition_ns: 0,
        slot_ns: 0,
        reported_ns: None,
        rail: Some(name.into()),
    };
    let little = vec![point(1_000_000, 100.0, 1.0, 5.0), point(2_000_000, 300.0, 4.0, 20.0)];
    let big = vec![Opp::new(1_000_000, 1000.0), Opp::new(1_500_000, 1000.0)];
    m.freq_domains = vec![domain(0, "LITTLE", little), domain(1, "BIG", big)];
    (m.cpus[0].freq_domain, m.cpus[1].freq_domain) = (0, 1);
    m.votes = vec![Vote { from: 1, on: 0, clock: vec![0, 0], voltage: vec![0, 1] }];
    m
}

fn pinned(name: &str, cpu: u32, program: Vec<Op>) -> TaskSpec {
    TaskSpec { affinity: Some(CpuMask::single(cpu)), ..spec(name, program) }
}

/// Sleeps to 10 ms, runs on CPU 0 to 20 ms, is over.
fn idles_then_runs() -> TaskSpec {
    pinned("a", 0, vec![Op::SleepUntil(10 * MS), Op::Run(Amount::fixed(10 * MS))])
}

/// Runs for 20 ms of virtual time. `opps`: operating points set at the beginning.
fn run(m: Machine, tasks: Vec<TaskSpec>, opps: &[(u32, u32)], observers: &mut [&mut dyn Observer]) -> Outcome {
    let mut w = workload(vec![], tasks);
    w.duration_ns = Some(20 * MS);
    let mut engine = testing::engine(m, w, config(Governor::Powersave));
    opps.iter().for_each(|(domain, opp)| engine.set_frequency(0, *domain, *opp));
    engine.run(observers).expect("the run ends well")
}

/// A run without tasks that do anything: CPU 1 idles at 0 mW (its clock says nothing of WFI and the state takes nothing).
#[test]
fn static_and_idle_power_are_those_of_the_voltage() {
    for (opp, wfi, fixed) in [(0, 1.0, 5.0), (1, 4.0, 20.0)] {
        let outcome = run(two_rails(), vec![pinned("a", 0, vec![Op::SleepUntil(20 * MS)])], &[(0, opp)], &mut []);
        assert_eq!(outcome.totals.energy.supplies, [mw_ms(fixed, 20), 0]);
        assert_eq!(outcome.totals.energy.cpus[0].idle, [mw_ms(wfi, 20)]);
    }
}

/// Big at its upper clock lifts little's voltage: little's clock stays, its rail and idle CPUs draw what they draw at 2 GHz,
/// and a cycle costs what it costs there: 300 mW x 1 / 2.
#[test]
fn a_vote_for_voltage_makes_the_voted_rail_dear_without_making_it_fast() {
    for (big, active, wfi, fixed) in [(0, 100.0, 1.0, 5.0), (1, 150.0, 4.0, 20.0)] {
        let outcome = run(two_rails(), vec![idles_then_runs()], &[(1, big)], &mut []);
        let energy = &outcome.totals.energy;
        assert_eq!(energy.supplies, [mw_ms(fixed, 20), 0]);
        assert_eq!((energy.cpus[0].active, energy.cpus[0].idle[0]), (mw_ms(active, 10), mw_ms(wfi, 10)));
    }
}

#[derive(Default)]
struct Clocks(Vec<(u64, u32, u32)>);

impl Observer for Clocks {
    fn event(&mut self, event: &Event) {
        if let (EventKind::Frequency { khz }, true) = (event.kind, event.time > 0) {
            self.0.push((event.time / MS, event.cpu, khz));
        }
    }
}

/// Big goes up at 5 ms and down at 15 ms; little, whose own governor wants the bottom, goes with it.
#[test]
fn a_vote_for_a_clock_lasts_as_long_as_the_voter_is_there() {
    let mut m = two_rails();
    m.votes[0].clock = vec![0, 1];
    let mut w = workload(vec![], vec![pinned("a", 0, vec![Op::SleepUntil(20 * MS)])]);
    w.duration_ns = Some(20 * MS);
    let mut engine = testing::engine(m, w, config(Governor::Powersave));
    engine.set_frequency(5 * MS, 1, 1);
    engine.set_frequency(15 * MS, 1, 0);
    let mut clocks = Clocks::default();
    let outcome = engine.run(&mut [&mut clocks]).unwrap();
    let (up, down) = ([(5, 1, 1_500_000), (5, 0, 2_000_000)], [(15, 1, 1_000_000), (15, 0, 1_000_000)]);
    assert_eq!(clocks.0, [up, down].concat());
    assert_eq!(outcome.totals.energy.supplies[0], mw_ms(5.0, 10) + mw_ms(20.0, 10));
}

/// Changes of 1 ms that begin every 4 ms: what is asked for at 5 and at 8 ms is there at 9, what is asked for at 15 at 17.
/// Without slots it is 6, 9 and 16; the other clock changes at once.
#[test]
fn a_clock_that_changes_in_slots_waits_for_the_next() {
    let changes = |slot_ns| {
        let mut m = two_rails();
        m.votes.clear();
        (m.freq_domains[0].slot_ns, m.freq_domains[0].transition_ns) = (slot_ns, MS);
        let mut w = workload(vec![], vec![pinned("a", 0, vec![Op::SleepUntil(20 * MS)])]);
        w.duration_ns = Some(20 * MS);
        let mut engine = testing::engine(m, w, config(Governor::Powersave));
        for (at, domain, opp) in [(5, 0, 1), (5, 1, 1), (8, 0, 0), (15, 0, 1)] {
            engine.set_frequency(at * MS, domain, opp);
        }
        let mut clocks = Clocks::default();
        engine.run(&mut [&mut clocks]).unwrap();
        clocks.0
    };
    let (low, high, big) = (1_000_000, 2_000_000, (5, 1, 1_500_000));
    assert_eq!(changes(0), [big, (6, 0, high), (9, 0, low), (16, 0, high)]);
    assert_eq!(changes(4 * MS), [big, (9, 0, high), (9, 0, low), (17, 0, high)]);
}

/// 500 mW sustainable and a sum of 500, nothing a kelvin: 1000 mW, whatever the temperature. 1.6 W through 50 K/W at 2.5 s
/// pass 40 degrees at 0.52 s; the look at 0.6 s takes two operating points, down to 1000 mW, and none is taken after.
#[test]
fn a_power_allocator_goes_by_the_constants_that_its_board_states() {
    let gains = fairground_machine::ControllerGains {
        k_po: Some(0.0),
        k_pu: Some(0.0),
        k_i: Some(0.0),
        i_max_mw: Some(500.0),
        integral_cutoff_mc: None,
    };
    let governor = |gains| ThermalGovernor::PowerAllocator {
        switch_on_mc: 40_000,
        control_mc: 75_000,
        sustainable_mw: 500.0,
        gains,
    };
    let (log, _) = burn(hot(governor(gains)), 20, config(Governor::Performance));
    assert_eq!(log.states, [(600, 2)]);
    let (derived, _) = burn(hot(governor(Default::default())), 20, config(Governor::Performance));
    assert!(derived.states.len() > 1, "{:?}", derived.states);
}

/// A busy pipe on pixel6, cut at its third ms: what is booked before and after is what is booked in all, by every part;
/// parts sum to rails, rails to the total; nothing is negative.
#[test]
fn energy_adds_up_over_time_over_rails_and_over_what_it_is_for() {
    let work = || {
        let mut program = ProgramBuilder::new();
        program.repeat(Some(40), |b| {
            b.op(Op::Run(Amount::fixed(200_000))).op(Op::Sleep(Amount::fixed(700_000)));
        });
        spec("w", program.build().to_vec())
    };
    let run = |warmup_ns, duration_ns| {
        let mut w = workload(vec![], (0..6).map(|_| work()).collect());
        (w.warmup_ns, w.duration_ns) = (warmup_ns, Some(duration_ns));
        let m = Machine::preset("pixel6").unwrap();
        testing::engine(m, w, config(Governor::Performance)).run(&mut []).unwrap()
    };
    let (before, after) = (run(0, 3 * MS), run(3 * MS, 30 * MS));
    let (all, part, rest) = (&after.totals.energy, &before.totals.energy, &after.window.energy);
    assert_eq!(&all.since(part), rest);
    assert_eq!(part.sum() + rest.sum(), all.sum());
    let rails = all.by_rail(&Machine::preset("pixel6").unwrap());
    assert_eq!(rails.iter().map(RailEnergy::sum).sum::<Energy>(), all.sum());
    assert!(rails.iter().all(|rail| rail.parts().iter().map(|(_, energy)| energy).sum::<Energy>() == rail.sum()));
    let static_part: Energy = all.clusters.iter().chain(&all.supplies).sum();
    assert_eq!(all.active() + all.idle() + all.transitions() + static_part, all.sum());
    let parts = rest.cpus.iter().flat_map(|c| c.idle.iter().chain([&c.active, &c.transitions]));
    assert!(parts.chain(&rest.supplies).all(|e| *e >= 0));
    assert!(rest.active() > 0 && rest.idle() > 0 && rest.supplies[0] > 0);
}

/// One busy CPU of 400, 700, 1000, ... mW by clock heats 0.05 J/K over 50 K/W.
fn hot(governor: ThermalGovernor) -> Machine {
    let mut m = machine(1, 1);
    m.freq_domains[0].opps = (1..=5).map(|n| Opp::new(n * 400_000, 100.0 + f64::from(n) * 300.0)).collect();
    let zone = ThermalZone { name: "soc".into(), node: 0, polling_ns: 100 * MS, cools: vec![(0, 1.0)], governor };
    let node = ThermalNode { name: "soc".into(), cpus: CpuMask::single(0), j_per_k: 0.05, to_ambient: Some(50.0) };
    let (ambient_mc, start_mc) = (25_000, 25_000);
    m.thermal =
        Some(Thermal { ambient_mc, start_mc, step_ns: 10 * MS, nodes: vec![node], links: vec![], zones: vec![zone] });
    m
}

#[derive(Default)]
struct HeatLog {
    milli_c: Vec<i32>,
    states: Vec<(u64, u32)>,
    khz: Vec<u32>,
}

impl Observer for HeatLog {
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Temperature { milli_c, .. } => self.milli_c.push(milli_c),
            EventKind::Cooling { state } => self.states.push((event.time / MS, state)),
            EventKind::Frequency { khz } => self.khz.push(khz),
            _ => {}
        }
    }
}

fn burn(m: Machine, seconds: u64, config: Config) -> (HeatLog, Outcome) {
    let mut log = HeatLog::default();
    let mut w = workload(vec![], vec![spec("burn", vec![Op::Run(Amount::fixed(seconds * 10_000 * MS))])]);
    w.duration_ns = Some(seconds * 1_000 * MS);
    let outcome = testing::engine(m, w, config).run(&mut [&mut log]).expect("the run ends well");
    (log, outcome)
}

/// At its top the CPU takes 1.6 W, which is 105 degrees in the end: 25 + 80 x (1 - e^(-t / 2.5 s)).
#[test]
fn a_busy_cpu_heats_up_as_the_closed_form_says() {
    let (log, outcome) =
        burn(hot(ThermalGovernor::StepWise { trip_mc: 200_000, hysteresis_mc: 0 }), 5, config(Governor::Performance));
    assert_eq!(outcome.totals.capped_ns, [0]);
    for (s, expected) in [(1, 51_374), (2, 69_054), (5, 94_173)] {
        let at = log.milli_c[10 * s - 1];
        assert!((at - expected).abs() <= 2, "after {s} s: {at}, not {expected}");
    }
    assert_eq!(outcome.meters.hottest_mc, [log.milli_c[49]]);
}

/// The trip of 50 degrees is passed at 0.94 s. From then on every look takes an operating point while the temperature
/// rises, and the clock follows.
#[test]
fn step_wise_takes_one_operating_point_a_look_until_the_heat_falls() {
    let (log, outcome) = burn(
        hot(ThermalGovernor::StepWise { trip_mc: 50_000, hysteresis_mc: 2_000 }),
        5,
        config(Governor::Performance),
    );
    assert_eq!(log.states[..2], [(1_000, 1), (1_100, 2)]);
    assert_eq!(log.khz[..3], [2_000_000, 1_600_000, 1_200_000]);
    let hottest = outcome.meters.hottest_mc[0];
    assert!((50_000..58_000).contains(&hottest), "{hottest}");
    assert!(log.milli_c[20..].iter().all(|mc| *mc > 46_000), "{:?}", log.milli_c);
    assert!(outcome.totals.capped_ns[0] > 3_000 * MS);
}

/// 1 W is sustainable at 75 degrees. The allocator settles around it, at operating points of 1000 mW and about.
#[test]
fn a_power_allocator_converges_to_what_is_sustainable() {
    let governor = ThermalGovernor::PowerAllocator {
        switch_on_mc: 60_000,
        control_mc: 75_000,
        sustainable_mw: 1000.0,
        gains: Default::default(),
    };
    let (log, outcome) = burn(hot(governor), 60, config(Governor::Performance));
    let late = &log.milli_c[300..];
    assert!(late.iter().all(|mc| (70_000..80_000).contains(mc)), "{late:?}");
    let mean_mw = joules(outcome.totals.energy.sum()) / 60.0 * 1e3;
    assert!((950.0..1100.0).contains(&mean_mw), "{mean_mw}");
    assert!(*log.states.first().unwrap() > (1_000, 0));
}

/// 20 degrees more around it: 20 degrees more in it, at every look.
#[test]
fn ambient_shifts_what_is_not_capped() {
    let m = || hot(ThermalGovernor::StepWise { trip_mc: 200_000, hysteresis_mc: 0 });
    let cool = burn(m(), 2, config(Governor::Performance)).0.milli_c;
    let warm = burn(m(), 2, Config { ambient_mc: Some(45_000), ..config(Governor::Performance) }).0.milli_c;
    assert!(cool.iter().zip(&warm).all(|(a, b)| (b - a - 20_000).abs() <= 1), "{cool:?} {warm:?}");
}

struct Meters(Vec<(u64, u16, EnergyPart, u64)>, HashObserver);

impl Observer for Meters {
    fn event(&mut self, event: &Event) {
        if let EventKind::Energy { rail, part, picojoules } = event.kind {
            self.0.push((event.time / MS, rail, part, picojoules));
        }
        self.1.event(event);
    }
}

/// The run of [`idles_then_runs`] for `ms` ms: the meter readings, the hash and the outcome.
fn metered(energy_every_ns: Option<u64>, ms: u64) -> (Meters, Outcome) {
    let mut w = workload(vec![], vec![idles_then_runs()]);
    w.duration_ns = Some(ms * MS);
    let config = Config { energy_every_ns, ..config(Governor::Powersave) };
    let mut meters = Meters(Vec::new(), HashObserver::new());
    let outcome = testing::engine(two_rails(), w, config).run(&mut [&mut meters]).expect("the run ends well");
    (meters, outcome)
}

/// Idle to 10 ms at 1 mW, running from then on at 100 mW, and the rail's 5 mW all the time; big takes nothing. 1 mW for 1 ms
/// is 1 uJ.
#[test]
fn meters_of_rails_count_up_from_the_beginning_to_the_end_by_what_energy_is_for() {
    let (Meters(shown, _), _) = metered(Some(8 * MS), 20);
    let of = |part| {
        let little = shown.iter().filter(|(_, rail, p, _)| (*rail, *p) == (0, part));
        little.map(|(at, .., pj)| (*at, *pj / 1_000_000)).collect::<Vec<_>>()
    };
    assert_eq!(of(EnergyPart::Idle(0)), [(0, 0), (8, 8), (16, 10), (20, 10)]);
    assert_eq!(of(EnergyPart::Active), [(0, 0), (8, 0), (16, 600), (20, 1000)]);
    assert_eq!(of(EnergyPart::Static), [(0, 0), (8, 40), (16, 80), (20, 100)]);
    assert_eq!(of(EnergyPart::Transitions), [(0, 0), (8, 0), (16, 0), (20, 0)]);
    assert!(shown.iter().all(|(_, rail, _, pj)| *rail == 0 || *pj == 0));
}

/// Sampling changes nothing, and the last sample holds the sums.
#[test]
fn meters_are_no_part_of_the_hash_and_end_at_what_the_run_has_taken() {
    let (Meters(shown, hash), outcome) = metered(Some(3 * MS), 20);
    let (Meters(none, without), _) = metered(None, 20);
    assert_eq!((none, without.hex()), (Vec::new(), hash.hex()));
    let last: u64 = shown.iter().filter(|(at, ..)| *at == 20).map(|(.., pj)| pj).sum();
    assert_eq!(Energy::from(last) * 1_000_000, outcome.totals.energy.sum());
}
