//! What the simulator charges for an operation of a trial.

use std::sync::Arc;

use fairground_fair::{Fair, Features, Options};
use fairground_machine::{Machine, SoftCost};
use fairground_sim::{Config, Engine, Event, EventKind, MetricsObserver, Observer, SimError, SwitchState};

use crate::design::{How, Play, Trial, TICK_NS};
use crate::MeasureError;

/// Ticks a second: as few as a kernel may have. What is left of them in the mean over some ms is beyond notice.
const HZ: u32 = (1_000_000_000 / TICK_NS) as u32;
/// Batches, and operations of a batch where the trial leaves them open.
const BATCHES: u64 = 4;
const OPERATIONS: u64 = 12;

/// Time per operation, ns, of each row of `trial` on `machine` under `sched`.
///
/// # Errors
/// If the scheduler cannot serve the machine, or the run fails.
pub fn predict(machine: &Machine, sched: &Features, trial: &Trial) -> Result<Vec<f64>, MeasureError> {
    match &trial.how {
        How::Probe(_, param) => Ok(vec![param.ns(machine)]),
        How::Workload(play) => Ok(run(machine, sched, &trial.name, play)?.ns),
    }
}

/// What a run says.
pub struct Simulated {
    /// Time per operation by series, ns.
    pub ns: Vec<f64>,
    /// Switches from a thread per operation, the whole run with its start and end: what getrusage(2) counts.
    pub switches: f64,
}

/// Runs a workload of a trial.
///
/// # Errors
/// As [`predict`].
pub fn run(machine: &Machine, sched: &Features, name: &str, play: &Play) -> Result<Simulated, MeasureError> {
    let n = play.batch.unwrap_or(OPERATIONS);
    let workload = Arc::new(play.workload(name, BATCHES, n));
    // Each step at its price: what prices scatter by is no price.
    let mut exact = machine.clone();
    exact.costs.jitter = 0.0;
    if play.ticks {
        // Balancing follows some of the ticks, and the median tick here has none.
        [SoftCost::Balance, SoftCost::GroupCpu].iter().for_each(|kind| exact.costs.soft_ns[*kind as usize] = 0.0);
    }
    if let Some(choice) = &play.choice {
        let states = &mut exact.cpu_types[choice.cpu_type].idle_states;
        *states = vec![states[choice.state].clone()];
    }
    let machine = Arc::new(exact);
    let failed = |cause: SimError| MeasureError::Simulation { trial: name.into(), cause: cause.to_string() };
    let fair = Fair::new(Arc::clone(&machine), sched.clone(), Options::default());
    let fair = fair.map_err(|e| MeasureError::Simulation { trial: name.into(), cause: e.to_string() })?;
    let config = Config { hz: HZ, start_phase: false, ..Config::default() };
    let mut engine = Engine::new(Arc::clone(&machine), Arc::clone(&workload), Box::new(fair), config);
    let mut metrics = MetricsObserver::new(Arc::clone(&machine), &workload);
    let mut left = SwitchesFrom(0);
    let mut observers: [&mut dyn Observer; 2] = [&mut metrics, &mut left];
    let outcome = engine.run(&mut observers).map_err(failed)?;
    let run = metrics.finish(&outcome, engine.scheduler());
    let per_op =
        |series: usize| run.series.get(series).map_or(0.0, |times| times.mean() / n as f64 - play.pause_ns as f64);
    Ok(Simulated {
        ns: (0..play.steps.len()).map(per_op).collect(),
        switches: left.0 as f64 / ((BATCHES + 2) * n) as f64,
    })
}

/// Counts switches from threads. The last of a thread is in nobody's account.
struct SwitchesFrom(u64);

impl Observer for SwitchesFrom {
    fn event(&mut self, event: &Event) {
        let EventKind::Switch { prev: Some(_), prev_state, .. } = event.kind else { return };
        self.0 += u64::from(prev_state != SwitchState::Dead);
    }
}

/// The scheduler of the release that is nearest to this one from below, `6.18.44-debian`: the oldest for older ones, the
/// newest for text that is no release.
pub fn nearest_preset(release: &str) -> &'static str {
    let mut numbers = release.split(['.', '-', '+', '_']).map_while(|part| part.parse::<u32>().ok());
    let newest = fairground_fair::Preset::newest().name;
    let (Some(major), Some(minor)) = (numbers.next(), numbers.next()) else { return newest };
    let releases = fairground_fair::PRESETS.iter().filter(|preset| preset.is_release());
    let known = releases.filter_map(|preset| {
        let (ours_major, ours_minor) = preset.name.strip_prefix('v')?.split_once('.')?;
        Some(((ours_major.parse::<u32>().ok()?, ours_minor.parse::<u32>().ok()?), preset.name))
    });
    let mut best: Option<((u32, u32), &'static str)> = None;
    for (ours, name) in known {
        let better = match best {
            None => true,
            // Not newer, and the newest of these.
            Some((chosen, _)) => ours <= (major, minor) && ours > chosen,
        };
        if better {
            best = Some((ours, name));
        }
    }
    best.map_or(newest, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{design, tick, Places};
    use crate::Param;

    #[test]
    fn a_kernel_is_simulated_by_the_release_before_it() {
        let expected = [
            ("6.18.44", "v6.18"),
            ("6.11.0-rc3", "v6.7"),
            ("5.15.167.4-microsoft-standard-WSL2", "v5.11"),
            ("4.19.0", "v5.4"),
            ("99.0", fairground_fair::Preset::newest().name),
            ("of unknown release", fairground_fair::Preset::newest().name),
        ];
        for (release, preset) in expected {
            assert_eq!(nearest_preset(release), preset, "{release}");
        }
    }

    /// A wake that nobody waits for is a system call and an operation of a futex, whichever machine.
    #[test]
    fn an_operation_takes_the_sum_of_what_it_pays() {
        let machine = Machine::symmetric(2);
        let sched = Features::newest();
        let trials = design(&machine, &Places::choose(&machine, &machine.all_cpus()).unwrap(), &[]);
        let predicted = |name: &str| {
            let trial = trials.iter().find(|trial| trial.name == name).unwrap();
            predict(&machine, &sched, trial).unwrap()[0]
        };
        let sum = |kinds: &[SoftCost]| kinds.iter().map(|kind| machine.costs.soft(*kind)).sum::<f64>();
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1.0, "{a}, expected {b}");
        near(predicted("futex wake, nobody waits"), sum(&[SoftCost::Syscall, SoftCost::Futex]));
        near(predicted("mutex, uncontended"), 2.0 * sum(&[SoftCost::LockFast]));
        near(predicted("system call"), Param::Soft(SoftCost::Syscall).ns(&machine));
        // Both threads yield once.
        use SoftCost::{Pick, SchedCall, SwitchThread, Syscall};
        near(predicted("yield to a thread"), 2.0 * sum(&[Syscall, SchedCall, Pick, SwitchThread]));
    }

    /// A thread that computes pays a timer's interrupt and a tick once a period, and nothing else.
    #[test]
    fn a_tick_takes_its_interrupt_and_itself() {
        for name in fairground_machine::presets() {
            let machine = Machine::preset(name).unwrap();
            let here = Places::choose(&machine, &machine.all_cpus()).unwrap().here;
            let predicted = predict(&machine, &Features::newest(), &tick(here)).unwrap()[0];
            let sum = machine.costs.soft(SoftCost::TimerIrq) + machine.costs.soft(SoftCost::Tick);
            assert!((predicted / sum - 1.0).abs() < 0.02, "{name}: {predicted}, expected {sum}");
        }
    }

    /// Of a switch between two threads each operation of a ping-pong has two.
    #[test]
    fn threads_take_turns() {
        let machine = Machine::symmetric(2);
        let places = Places::choose(&machine, &machine.all_cpus()).unwrap();
        for trial in design(&machine, &places, &[]) {
            if let How::Workload(play) = &trial.how {
                if trial.name.contains("ping-pong, threads") || trial.name.contains("ping-pong, processes") {
                    let run = run(&machine, &Features::newest(), &trial.name, play).unwrap();
                    assert!((run.switches - 2.0).abs() < 0.3, "{}: {}", trial.name, run.switches);
                }
            }
        }
    }
}
