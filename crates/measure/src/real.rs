//! Trials carried out on this machine.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fairground_machine::{CpuId, CpuMask};
use fairground_play::{CannotPlay, Ended, Player, Round, RoundOptions};

use crate::design::{How, Play, Trial, EMPTY_STEPS};
use crate::estimate::Series;
use crate::idle::IdleStates;
use crate::probe::Probe;
use crate::MeasureError;

/// Batches of a round, and the time that one takes, about, ns.
const BATCHES: u64 = 50;
const BATCH_NS: f64 = 150_000.0;
/// Batches and operations of the round that finds out how long an operation takes.
const PILOT_BATCHES: u64 = 10;
const PILOT_OPERATIONS: u64 = 10;
/// Most operations of a batch.
const OPERATIONS_MAX: f64 = 2000.0;
/// Time after which a round is given up.
const ROUND_LIMIT: Duration = Duration::from_secs(20);
/// Probes that need this much memory, KiB, are carried out in one round of so many.
const LARGE_KIB: u32 = 1 << 16;
const ROUNDS_A_LARGE_PROBE: usize = 5;
/// The greatest part of the memory that is free, for a probe.
const FREE_PART: u64 = 4;
/// Rounds of a loop that has nothing to do.
const EMPTY_ROUNDS: u64 = 500;

/// A trial that can be carried out here.
struct Ready {
    trial: Trial,
    player: Option<(Player, u64)>,
    /// Time per operation of each round, by row, ns; what interpreting the steps costs is in it.
    rounds: Vec<Vec<f64>>,
    /// By row: within what factor the meaning of the figure lies.
    spread: f64,
    /// Context switches per operation, the first round's.
    switches: Option<f64>,
}

/// What was measured, and what could not be.
pub struct Real<'k, 'a> {
    states: IdleStates<'k, 'a>,
    ready: Vec<Ready>,
    interpreter: Player,
    /// Time of a batch of nothing, and of a step, ns, by round.
    empty: Vec<[f64; 2]>,
    here: CpuId,
    allowed: CpuMask,
    /// Why trials are missing.
    pub missing: Vec<String>,
    /// CPU time of what was played, ns.
    pub cpu_ns: u64,
}

impl<'k, 'a> Real<'k, 'a> {
    /// Prepares the trials: each is played once, to learn how many operations make a batch.
    ///
    /// # Errors
    /// If nothing can be played at all, or `stop` is set.
    pub fn prepare(
        trials: Vec<Trial>,
        states: IdleStates<'k, 'a>,
        here: CpuId,
        allowed: &CpuMask,
        stop: &AtomicBool,
    ) -> Result<Self, MeasureError> {
        let interpreter = Player::new(crate::design::interpreter(here, BATCHES, EMPTY_ROUNDS), allowed, here, false)
            .map_err(|error| MeasureError::NothingPlays(error.to_string()))?;
        let mut real = Real {
            states,
            ready: Vec::new(),
            interpreter,
            empty: Vec::new(),
            here,
            allowed: *allowed,
            missing: Vec::new(),
            cpu_ns: 0,
        };
        for trial in trials {
            if stop.load(Ordering::Relaxed) {
                return Err(MeasureError::Interrupted);
            }
            match real.ready(&trial, stop) {
                Ok(ready) => real.ready.push(ready),
                Err(Trouble::Interrupted) => return Err(MeasureError::Interrupted),
                Err(Trouble::Missing(why)) => real.missing.push(format!("{}: {why}", trial.name)),
            }
        }
        Ok(real)
    }

    fn ready(&mut self, trial: &Trial, stop: &AtomicBool) -> Result<Ready, Trouble> {
        let player = match &trial.how {
            How::Probe(probe, _) => {
                let (needs, free) = (u64::from(probe.needs_kib()), free_kib());
                if needs > free / FREE_PART {
                    return Err(Trouble::Missing(format!("it needs {needs} KiB, and {free} KiB of memory are free")));
                }
                None
            }
            How::Workload(play) => {
                let n = match play.batch {
                    Some(n) => n,
                    None => {
                        let player = self.player(trial, play, PILOT_BATCHES, PILOT_OPERATIONS)?;
                        let round = self.round(play, &player, PILOT_BATCHES * PILOT_OPERATIONS, stop)?;
                        let ns = batch_ns(&round, 0) / PILOT_OPERATIONS as f64;
                        (BATCH_NS / ns.max(1.0)).clamp(1.0, OPERATIONS_MAX) as u64
                    }
                };
                Some((self.player(trial, play, BATCHES, n)?, n))
            }
        };
        let rounds = vec![Vec::new(); trial.rows.len()];
        Ok(Ready { trial: trial.clone(), player, rounds, spread: 1.0, switches: None })
    }

    fn player(&self, trial: &Trial, play: &Play, batches: u64, n: u64) -> Result<Player, Trouble> {
        let workload = play.workload(&trial.name, batches, n);
        Player::new(workload, &self.allowed, self.here, false).map_err(|error| match error {
            CannotPlay::Refused(refusal) => Trouble::Missing(refusal.to_string()),
            CannotPlay::Round(error) => Trouble::Missing(error.to_string()),
        })
    }

    fn round(&mut self, of: &Play, player: &Player, sleeps: u64, stop: &AtomicBool) -> Result<Round, Trouble> {
        let round = play_in_state(&self.states, of, player, sleeps, stop)?;
        self.cpu_ns += round.cpu_ns;
        Ok(round)
    }

    /// Carries out every trial once: forwards and, in every other round, backwards, so that what drifts drifts alike for
    /// all. A trial that fails is left out from then on.
    ///
    /// # Errors
    /// If `stop` is set.
    pub fn play_round(&mut self, number: usize, stop: &AtomicBool) -> Result<(), MeasureError> {
        match play(&self.interpreter, stop) {
            Ok(round) => {
                self.cpu_ns += round.cpu_ns;
                let (nothing, loops) = (batch_ns(&round, 0), batch_ns(&round, 1));
                self.empty.push([nothing, (loops - nothing).max(0.0) / (EMPTY_STEPS * EMPTY_ROUNDS) as f64]);
            }
            Err(Trouble::Interrupted) => return Err(MeasureError::Interrupted),
            Err(Trouble::Missing(why)) => return Err(MeasureError::NothingPlays(why)),
        }
        let all = self.ready.len();
        let mut failed = Vec::new();
        for i in 0..all {
            let i = if number % 2 == 0 { i } else { all - 1 - i };
            match self.play_trial(i, number, stop) {
                Ok(()) => {}
                Err(Trouble::Interrupted) => return Err(MeasureError::Interrupted),
                Err(Trouble::Missing(why)) => failed.push((i, why)),
            }
        }
        failed.sort_by_key(|(i, _)| std::cmp::Reverse(*i));
        for (i, why) in failed {
            let gone = self.ready.remove(i);
            self.missing.push(format!("{}: {why}", gone.trial.name));
        }
        Ok(())
    }

    fn play_trial(&mut self, i: usize, number: usize, stop: &AtomicBool) -> Result<(), Trouble> {
        let ready = &mut self.ready[i];
        match (&ready.trial.how, &ready.player) {
            (How::Probe(probe, _), _) => {
                if probe.needs_kib() > LARGE_KIB && number % ROUNDS_A_LARGE_PROBE != 0 {
                    return Ok(());
                }
                let reading = measure(probe, stop)?;
                ready.rounds[0].push(reading.ns);
                ready.spread = ready.spread.max(reading.spread);
            }
            (How::Workload(of), Some((player, n))) => {
                let round = play_in_state(&self.states, of, player, BATCHES * n, stop)?;
                for (series, rounds) in ready.rounds.iter_mut().enumerate() {
                    rounds.push(batch_ns(&round, series) / *n as f64);
                }
                let switches = round.voluntary_switches + round.involuntary_switches;
                ready.switches.get_or_insert(switches as f64 / ((BATCHES + 2) * n) as f64);
                self.cpu_ns += round.cpu_ns;
            }
            (How::Workload(_), None) => {}
        }
        Ok(())
    }

    /// The trials that were carried out, with what each row measured: less what reading the clock and interpreting the steps
    /// cost.
    pub fn results(&self) -> Vec<(Trial, Vec<Series>)> {
        let [nothing, step] = self.overhead();
        let results = self.ready.iter().map(|ready| {
            let series = ready.rounds.iter().enumerate().map(|(i, rounds)| {
                let less = match (&ready.trial.how, &ready.player) {
                    (How::Workload(play), Some((_, n))) => {
                        play.steps[i] as f64 * step + nothing / *n as f64 + play.pause_ns as f64
                    }
                    _ => 0.0,
                };
                Series { rounds: rounds.iter().map(|ns| (ns - less).max(0.0)).collect(), spread: ready.spread }
            });
            (ready.trial.clone(), series.collect())
        });
        results.collect()
    }

    /// Switches per operation of each trial that is a workload, by its name.
    pub fn switches(&self) -> Vec<(String, f64)> {
        self.ready.iter().filter_map(|ready| Some((ready.trial.name.clone(), ready.switches?))).collect()
    }

    /// Time of a batch of nothing, and of a step that does nothing, ns.
    pub fn overhead(&self) -> [f64; 2] {
        [0, 1].map(|which| {
            let mut values: Vec<f64> = self.empty.iter().map(|pair| pair[which]).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap_or(0.0)
        })
    }
}

/// Why a round of a trial has no result.
enum Trouble {
    Interrupted,
    Missing(String),
}

fn play(player: &Player, stop: &AtomicBool) -> Result<Round, Trouble> {
    // All rounds have one seed: no amount of these workloads is drawn.
    let options = RoundOptions { seed: 1, limit: ROUND_LIMIT, count_migrations: false };
    let round = player.round(&options, stop).map_err(|error| Trouble::Missing(error.to_string()))?;
    match round.ended {
        Ended::Complete => Ok(round),
        Ended::Interrupted => Err(Trouble::Interrupted),
        Ended::TimedOut => {
            Err(Trouble::Missing(format!("a round did not come to its end within {} s", ROUND_LIMIT.as_secs())))
        }
    }
}

/// Plays it with one idle state alone, if it is to have that, and checks that its CPUs were in it: each sleeps `sleeps` times.
fn play_in_state(
    states: &IdleStates,
    of: &Play,
    player: &Player,
    sleeps: u64,
    stop: &AtomicBool,
) -> Result<Round, Trouble> {
    let Some(choice) = &of.choice else { return play(player, stop) };
    let chosen = states.choose(choice).and_then(|()| states.uses(choice));
    let round = chosen.map_err(Trouble::Missing).and_then(|before| Ok((before, play(player, stop)?)));
    let after = states.uses(choice);
    states.release(choice).map_err(Trouble::Missing)?;
    let (before, round) = round?;
    let is_entered = after.and_then(|after| states.check(choice, &before, &after, sleeps));
    is_entered.map(|()| round).map_err(Trouble::Missing)
}

fn measure(probe: &Probe, stop: &AtomicBool) -> Result<crate::probe::Reading, Trouble> {
    if stop.load(Ordering::Relaxed) {
        return Err(Trouble::Interrupted);
    }
    probe.measure().map_err(|error| Trouble::Missing(error.to_string()))
}

/// The median time of a batch, ns.
fn batch_ns(round: &Round, series: usize) -> f64 {
    round.metrics.series.get(series).map_or(0.0, |times| times.permille(500) as f64)
}

/// Memory that can be had without swapping, KiB; none of it if nobody says.
fn free_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use fairground_machine::Machine;

    use super::*;
    use crate::design::{design, Places};
    use crate::knobs::testing::Laid;
    use crate::knobs::Knobs;

    /// A workload, a probe, and a probe that needs more memory than there is: what they measure, never how much.
    #[test]
    fn trials_are_carried_out_and_what_cannot_be_is_named() {
        let allowed = fairground_play::affinity().unwrap();
        let here = allowed.first().unwrap();
        let machine = Machine::symmetric(here as usize + 1);
        let places = Places::choose(&machine, &allowed).unwrap();
        let names = ["system call", "own pipe, 1024 B", "yield, alone"];
        let mut trials = design(&machine, &places, &[]);
        trials.retain(|trial| names.contains(&&*trial.name));
        let mut vast = trials[0].clone();
        vast.name = "vast".into();
        vast.how = How::Probe(Probe::Walk { cpu: here, kib: u32::MAX }, crate::Param::Cache(0));
        trials.push(vast);
        let stop = AtomicBool::new(false);
        let laid = Laid::out(&[]);
        let knobs = Knobs::new(&laid.host, Ok(&laid.keeper));
        let (states, ..) = IdleStates::find(&knobs, &machine, &places);
        let mut real = Real::prepare(trials, states, here, &allowed, &stop).unwrap();
        real.play_round(0, &stop).unwrap();
        real.play_round(1, &stop).unwrap();
        let results = real.results();
        assert_eq!(results.iter().map(|(trial, _)| &*trial.name).collect::<Vec<_>>(), names);
        for (trial, series) in &results {
            assert_eq!(series.len(), trial.rows.len());
            assert!(series.iter().all(|of| of.rounds.len() == 2 && of.rounds.iter().all(|ns| *ns > 0.0)), "{series:?}");
        }
        assert!(real.missing.len() == 1 && real.missing[0].starts_with("vast: it needs"), "{:?}", real.missing);
        assert!(real.overhead()[1] > 0.0);
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(real.play_round(2, &stop), Err(MeasureError::Interrupted)));
    }

    /// Files of a temporary directory, which no kernel counts in: the state is not entered, and nothing stays disabled.
    #[test]
    fn a_state_that_is_not_entered_is_named_and_all_states_are_enabled_again() {
        let allowed = fairground_play::affinity().unwrap();
        let here = allowed.first().unwrap();
        let mut machine = Machine::symmetric(here as usize + 1);
        let first = machine.cpu_types[0].idle_states[0].clone();
        machine.cpu_types[0].idle_states.push(fairground_machine::IdleState { name: "deep".into(), ..first.clone() });
        let dir = format!("sys/devices/system/cpu/cpu{here}/cpuidle");
        let file = |state: usize, file: &str| format!("{dir}/state{state}/{file}");
        let files: Vec<(String, &str)> = [first.name.as_str(), "deep"]
            .into_iter()
            .enumerate()
            .flat_map(|(k, name)| [(file(k, "name"), name), (file(k, "disable"), "0"), (file(k, "usage"), "7")])
            .collect();
        let laid = Laid::out(&files.iter().map(|(path, text)| (&**path, *text)).collect::<Vec<_>>());
        let knobs = Knobs::new(&laid.host, Ok(&laid.keeper));
        let places = Places { here, there: Vec::new() };
        let (states, choices, _) = IdleStates::find(&knobs, &machine, &places);
        let mut trials = design(&machine, &places, &choices);
        trials.retain(|trial| trial.name.ends_with("idle in deep"));
        let stop = AtomicBool::new(false);
        let real = Real::prepare(trials, states, here, &allowed, &stop).unwrap();
        assert!(real.missing.len() == 1 && real.missing[0].contains("sleeps 0 were in deep"), "{:?}", real.missing);
        drop(real);
        assert_eq!(laid.text(&file(0, "disable")), "0", "before the end already");
        assert!(laid.record().exists());
        knobs.undo().unwrap();
        assert!(!laid.record().exists());
    }
}
