//! Measures the costs of the machine on which it runs.
//!
//! A captured machine file has costs that are lent by another machine. This crate turns them into measured ones: small workloads
//! are played here ([`fairground_play`]) in interleaved rounds, the same workloads are simulated on the machine file, and least
//! squares find the costs with which the simulation takes as long as the machine did.
//!
//! ```text
//! design ── trials ──┬── real: played in rounds, probes ── ns per operation ──┐
//!                    └── simulate: on the machine file ── what is paid ───────┴── estimate ── figures, residuals, sum rules
//! ```
//!
//! | module | what |
//! |---|---|
//! | `design` | the workloads, and the CPUs on which they run |
//! | `probe` | what no workload can say: a null system call, lines, refills |
//! | `knobs`, `idle` | what is changed on this machine meanwhile; idle states one at a time |
//! | `wakes` | how single wakes of an idle CPU scatter |
//! | `smt` | what a core does with several busy threads |
//! | `clocks` | how long a clock takes to change |
//! | `energy` | power by the number of busy CPUs |
//! | `tick` | what a tick takes of a busy CPU |
//! | `direct` | these five, round by round |
//! | `real`, `simulate` | the time of an operation here, and as simulated |
//! | `estimate`, `nnls` | from times to figures, with their spreads |
//! | `param` | the figures as parts of a machine and of its file |
//!
//! It needs no root. What a machine does not let it measure is said by name, and the rest goes on. What root lets it change it restores.

mod clocks;
mod design;
mod direct;
mod energy;
mod estimate;
mod idle;
mod knobs;
mod nnls;
mod param;
mod probe;
mod real;
mod simulate;
mod smt;
mod tick;
mod wakes;

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use fairground_fair::Features;
use fairground_host::{read, Host, Keeper, RestoreError};
use fairground_machine::{CpuMask, Distance, Machine, NewFigure, NewValue, Source, SourceClass};
use fairground_play::CpuTimes;
use miette::Diagnostic;
use thiserror::Error;

use direct::{Direct, DirectFigures};
use idle::IdleStates;
use knobs::Knobs;

pub use clocks::ClockFigure;
pub use design::Places;
pub use energy::{PowerFigure, PowerFit, PowerReading, Powers};
pub use estimate::{Estimate, FigureEstimate, RowFit, Rule, Standing};
pub use param::Param;
pub use simulate::nearest_preset;
pub use smt::SmtFigure;
pub use wakes::WakeFigure;

/// Why there is no measurement.
#[derive(Debug, Error, Diagnostic)]
pub enum MeasureError {
    /// The file describes another machine.
    #[error("{name} does not describe this machine: {what}")]
    #[diagnostic(help("`fairground machine measure` without a file captures this machine first"))]
    OtherMachine {
        /// Name of the file or preset.
        name: String,
        /// The first thing in which the file differs from this machine.
        what: String,
    },
    /// None of the CPUs may be used.
    #[error("this command may use CPUs {allowed}, none of which {name} has")]
    NoCpu {
        /// Name of the machine.
        name: String,
        /// The CPUs that the command may use, as a list.
        allowed: String,
    },
    /// Not even the simplest workload can be played.
    #[error("nothing can be played here: {0}")]
    NothingPlays(String),
    /// A trial could not be simulated.
    #[error("{trial} cannot be simulated: {cause}")]
    Simulation {
        /// Name of the trial.
        trial: String,
        /// What the player or the simulator says.
        cause: String,
    },
    /// Something that was changed on this machine could not be restored.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Restore(#[from] RestoreError),
    /// The user interrupted it.
    #[error("interrupted")]
    Interrupted,
}

/// How a machine is measured.
#[derive(Clone, Copy)]
pub struct MeasureOptions<'a> {
    /// Rounds, in each of which everything is measured once.
    pub rounds: usize,
    /// Time after which no further round begins, unless fewer than [`ROUNDS_MIN`] are done.
    pub budget: Duration,
    /// Release of the running kernel; trials are simulated by the preset nearest to it.
    pub kernel: &'a str,
    /// This machine, whose settings are changed where its user may.
    pub host: &'a Host,
    /// The place of the record of what is to be restored; or why there is none, and nothing is changed.
    pub keeper: Result<&'a Keeper, &'a str>,
    /// Ends the measurement when it becomes true.
    pub stop: &'a AtomicBool,
    /// Is told the number of each round that is done.
    pub tell: &'a dyn Fn(usize),
}

/// Rounds that are needed for a median and a spread.
pub const ROUNDS_MIN: usize = 3;

/// Figures of this machine, and under which conditions they were measured.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Figures, rows and sum rules.
    pub estimate: Estimate,
    /// How wakes of idle CPUs scatter; none where that was not measured.
    pub wakes: Vec<WakeFigure>,
    /// Throughput of cores with several busy threads; none where there are no such cores.
    pub smt: Vec<SmtFigure>,
    /// How long the clock takes to change; none where its speed cannot be set.
    pub clocks: Vec<ClockFigure>,
    /// Power by the number of busy CPUs; none where no meter can be read.
    pub powers: Powers,
    /// The CPUs on which it was measured.
    pub places: Places,
    /// The scheduler that the trials were simulated with.
    pub sched: String,
    /// Rounds that were done.
    pub rounds: usize,
    /// How long they took.
    pub took: Duration,
    /// Time of reading the clock, and of a step of a program, which were taken off, ns.
    pub overhead_ns: [f64; 2],
    /// What was not measured, and what a reader of the figures must know.
    pub notes: Vec<String>,
}

/// Checks that `machine` is arranged as this one, `here`, was captured.
///
/// # Errors
/// [`MeasureError::OtherMachine`] with the first difference.
pub fn check_arrangement(machine: &Machine, here: &Machine, name: &str) -> Result<(), MeasureError> {
    let other = |what: String| Err(MeasureError::OtherMachine { name: name.into(), what });
    let (theirs, ours) = (machine.nr_cpus(), here.nr_cpus());
    if theirs != ours {
        return other(format!("it has {theirs} CPUs, this machine has {ours} online"));
    }
    for a in 0..ours as u32 {
        let (stated, seen) = (machine.cpus[a as usize].capacity, here.cpus[a as usize].capacity);
        if stated != seen {
            return other(format!("its CPU {a} has a capacity of {stated}, here that is {seen}"));
        }
        for b in 0..a {
            let (stated, seen) = (machine.distance(a, b), here.distance(a, b));
            if stated != seen {
                let (stated, seen) = (stated.name(), seen.name());
                return other(format!(
                    "its CPUs {b} and {a} are at the distance `{stated}`, here they are at `{seen}`"
                ));
            }
        }
    }
    Ok(())
}

/// Measures this machine, which `machine` describes, on the CPUs `allowed`.
///
/// # Errors
/// If nothing can be played or simulated, if it is interrupted, or if what was changed on this machine cannot be restored. Whatever the
/// error, what can be restored is.
pub fn measure(machine: &Machine, allowed: &CpuMask, options: &MeasureOptions) -> Result<Measurement, MeasureError> {
    let no_cpu = || MeasureError::NoCpu { name: machine.name.clone(), allowed: allowed.to_string() };
    let places = Places::choose(machine, allowed).ok_or_else(no_cpu)?;
    let sched = format!("fair:{}", nearest_preset(options.kernel));
    let features =
        Features::parse(&sched).map_err(|e| MeasureError::Simulation { trial: sched.clone(), cause: e.to_string() })?;
    let begin = Instant::now();
    let before = CpuTimes::read();
    let knobs = Knobs::new(options.host, options.keeper);
    let (states, choices, unchosen) = IdleStates::find(&knobs, machine, &places);
    let trials = design::design(machine, &places, &choices);
    let mut real = real::Real::prepare(trials, states, places.here, allowed, options.stop)?;
    let mut direct = Direct::prepare(&knobs, machine, &places, allowed);
    let mut rounds = 0;
    while rounds < options.rounds && (rounds < ROUNDS_MIN || begin.elapsed() < options.budget) {
        real.play_round(rounds, options.stop)?;
        direct.round(options.stop);
        rounds += 1;
        (options.tell)(rounds);
    }
    let took = begin.elapsed();
    let times = before.zip(CpuTimes::read()).map(|(before, after)| after.since(before));
    let others_pct = times.as_ref().map_or(0.0, |times| others_pct(times, real.cpu_ns));
    let (mut trials, switches, overhead_ns) = (real.results(), real.switches(), real.overhead());
    let mut missing = real.missing;
    missing.extend(unchosen);
    let DirectFigures { wakes, smt, clocks, powers, ticks, missing: others } =
        direct.figures(machine, others_pct > OTHERS_IDLE_PCT);
    missing.extend(others);
    let series = |rounds| estimate::Series { rounds, spread: 1.0 };
    trials.extend(ticks.map(|rounds| (design::tick(places.here), vec![series(rounds)])));
    // Before the long arithmetic: nothing of it needs the machine.
    knobs.undo()?;
    let mut notes = Vec::new();
    if others_pct > OTHERS_IDLE_PCT {
        trials.retain(|(trial, _)| !matches!(&trial.how, design::How::Workload(play) if play.idles));
        let what = "CPUs that fall idle, throughput of threads of a core, power, and ticks";
        notes.push(format!("not measured: {what}, as others took {others_pct:.0} % of the CPUs' time"));
    }
    let predict = |machine: &Machine| {
        let all = trials.iter().map(|(trial, _)| simulate::predict(machine, &features, trial));
        Ok::<_, MeasureError>(all.collect::<Result<Vec<_>, MeasureError>>()?.concat())
    };
    let estimate = estimate::estimate(machine, &trials, predict)?;
    if estimate.misfit > MISFIT_LARGE {
        let misfit = 100.0 * estimate.misfit;
        notes.push(format!(
            "a misfit of {misfit:.0} %: these figures do not give what was measured; measure again before you use them"
        ));
    }
    if rounds < options.rounds {
        let (asked, budget) = (options.rounds, options.budget.as_secs());
        notes.push(format!("{rounds} of {asked} rounds were done in {budget} s: --budget S gives it more time"));
    }
    notes.extend(unmeasured(machine, &places, options.host));
    notes.extend(missing.iter().map(|missing| format!("not measured: {missing}")));
    notes.extend(powers.notes.iter().cloned());
    notes.extend(times.iter().flat_map(|times| busy(times, others_pct)));
    notes.extend(other_ways(&switches, machine, &features, &trials)?);
    Ok(Measurement { estimate, wakes, smt, clocks, powers, places, sched, rounds, took, overhead_ns, notes })
}

/// What this machine, or this user, does not let be measured.
fn unmeasured(machine: &Machine, places: &Places, host: &Host) -> Vec<String> {
    let mut notes = Vec::new();
    let reached = |distance: &Distance| *distance == Distance::Same || places.there.iter().any(|(d, _)| d == distance);
    let far: Vec<&str> = machine.distances().into_iter().filter(|d| !reached(d)).map(Distance::name).collect();
    if machine.nr_cpus() == 1 {
        notes.push("one CPU: nothing that passes between CPUs was measured".into());
    } else if !far.is_empty() {
        let (far, here) = (far.join(", "), places.here);
        notes.push(format!(
            "not measured: the distances {far}, at which CPU {here} has no CPU that the command may use"
        ));
    }
    let unsteady = (std::iter::once(places.here).chain(places.there.iter().map(|(_, cpu)| *cpu)))
        .filter_map(|cpu| {
            let path = host.path(&format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"));
            read(&path).map(|text| text.trim().to_owned())
        })
        .find(|governor| governor != "performance");
    notes.extend(host.battery_note());
    if let Some(governor) = unsteady {
        notes.push(format!("the governor of the clock is {governor}: figures of a clock that changes are too large"));
    }
    notes
}

/// A misfit above which the figures are no use: good fits have 7 to 8 %.
const MISFIT_LARGE: f64 = 0.15;
/// Steal time and the time of others above which a note says so, percent.
const STEAL_PCT: f64 = 1.0;
const OTHERS_PCT: f64 = 10.0;
/// That above which a CPU that should idle is often not idle, percent.
const OTHERS_IDLE_PCT: f64 = 25.0;

/// What others took of the CPUs' time meanwhile, percent.
fn others_pct(times: &CpuTimes, played_ns: u64) -> f64 {
    // SAFETY: no pointers.
    let ticks_per_s = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
    // Probes, and what prepares rounds, are this process itself.
    // SAFETY: all zeros is a valid state, and `usage` is ours.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    let own = played_ns as f64 / 1e9 + seconds(usage.ru_utime) + seconds(usage.ru_stime);
    100.0 * (times.busy as f64 - own * ticks_per_s).max(0.0) / times.all.max(1) as f64
}

/// What others took of the machine meanwhile, if that is noticeable.
fn busy(times: &CpuTimes, others_pct: f64) -> Vec<String> {
    let steal = 100.0 * times.steal as f64 / times.all.max(1) as f64;
    let mut notes = Vec::new();
    if steal > STEAL_PCT {
        notes.push(format!("the hypervisor took {steal:.1} % of the CPUs' time from this machine (steal)"));
    }
    if others_pct > OTHERS_PCT {
        notes.push(format!(
            "others took {others_pct:.0} % of the CPUs' time: a busy machine, on which caches are colder"
        ));
    }
    notes
}

/// Trials in which threads switched otherwise than simulated: what they measure is not what the model pays.
fn other_ways(
    switches: &[(String, f64)],
    machine: &Machine,
    sched: &Features,
    trials: &[(design::Trial, Vec<estimate::Series>)],
) -> Result<Vec<String>, MeasureError> {
    let mut notes = Vec::new();
    for (trial, _) in trials {
        let played = switches.iter().find(|(name, _)| *name == trial.name).map(|(_, played)| *played);
        if let (design::How::Workload(play), Some(played)) = (&trial.how, played) {
            let simulated = simulate::run(machine, sched, &trial.name, play)?.switches;
            if (played - simulated).abs() > 0.5 + 0.25 * simulated {
                let name = &trial.name;
                notes.push(format!(
                    "{name}: {played:.1} context switches an operation, where {simulated:.1} are simulated: not the same way"
                ));
            }
        }
    }
    Ok(notes)
}

impl Measurement {
    /// The figures for the machine file: those that were measured, and the parts of sums. `when` is the date, for the source.
    pub fn new_figures(&self, machine: &Machine, kernel: &str, when: &str) -> Vec<NewFigure> {
        let rounds = self.rounds;
        let how = format!("`fairground machine measure`, {rounds} rounds, {when}, Linux {kernel}");
        let taken = |figure: &&FigureEstimate| matches!(figure.standing, Standing::Measured | Standing::PartOfSum);
        let mut new: Vec<NewFigure> = Vec::new();
        for figure in self.estimate.figures.iter().filter(taken) {
            let source = match figure.standing {
                Standing::PartOfSum => {
                    Source::Estimate(format!("its part of a sum with {}; the sum: {how}", figure.with.join(", ")))
                }
                _ => Source::Published(SourceClass::Measured, how.clone()),
            };
            let ns = figure.param.stated_ns(machine, figure.ns);
            let (path, spread) = (figure.path.clone(), spread_stated(figure.spread));
            new.push(NewFigure { path, value: ns.into(), unit: "ns", source, spread });
        }
        let measured = |path: &str, value: NewValue, unit, spread| NewFigure {
            path: path.into(),
            value,
            unit,
            source: Source::Published(SourceClass::Measured, how.clone()),
            spread: spread_stated(spread),
        };
        let wakes = self.wakes.iter().filter(|of| of.settled);
        new.extend(wakes.map(|of| measured(&of.path, of.value.into(), of.unit, of.spread)));
        let smt = self.smt.iter().filter(|of| of.settled);
        new.extend(smt.map(|of| measured(&of.path, NewValue::List(of.value.clone()), "ratio", of.spread)));
        let clocks = self.clocks.iter().filter(|of| of.settled && !of.path.is_empty());
        new.extend(clocks.map(|of| measured(&of.path, of.ns.into(), "ns", of.spread)));
        let powers = self.powers.figure.iter();
        new.extend(powers.map(|of| measured(&of.path, NewValue::List(of.mw.clone()), "mW", of.spread)));
        // A table by distance has all that occur.
        let is_stated = |table: &str| machine.figures.iter().any(|figure| figure.path.starts_with(table));
        for (table, param, other) in [
            ("costs.line_read.", Param::LineRead as fn(Distance) -> Param, Some(Param::Line as fn(Distance) -> Param)),
            ("costs.line_next.", Param::LineNext, Some(Param::LineRead)),
            ("costs.socket_message.", Param::SocketMessage, None),
        ] {
            if is_stated(table) || !new.iter().any(|figure| figure.path.starts_with(table)) {
                continue;
            }
            // What was not measured costs as another figure does, or as the nearer distance.
            let mut nearer: Option<(String, f64)> = None;
            for distance in machine.distances().into_iter().filter(|d| *d != Distance::Same) {
                let path = param(distance).path(machine);
                let measured = new.iter().find(|figure| figure.path == path).map(|figure| &figure.value);
                if let Some(NewValue::Number(value)) = measured {
                    nearer = Some((path, *value));
                    continue;
                }
                let other = other.map(|other| other(distance));
                let stated = other.map(|other| (other.path(machine), other.ns(&self.estimate.machine)));
                let like = stated.or_else(|| nearer.clone()).map(|(path, ns)| (format!("as {path}"), ns));
                let (reason, value) = like.unwrap_or_else(|| ("not measured".into(), 0.0));
                let spread = spread_stated(param(distance).spread_of_estimate(machine));
                new.push(NewFigure { path, value: value.into(), unit: "ns", source: Source::Estimate(reason), spread });
            }
        }
        new
    }
}

/// The greatest spread that a file may state is 10. Two digits behind the point, rounded up: no figure is certain.
fn spread_stated(spread: f64) -> f64 {
    ((spread * 100.0).ceil() / 100.0).clamp(1.01, 10.0)
}
