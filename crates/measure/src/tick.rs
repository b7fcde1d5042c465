//! What a tick takes of a busy CPU, its interrupt included.
//!
//! A thread that is bound to a CPU reads the clock over and over; where it could not, there is a *gap* between two readings. Ticks make
//! gaps, and so do a hypervisor's host, whose ticks are as regular, and other programs. Which are the kernel's own ticks is told by
//! CLOCK_MONOTONIC_COARSE, which goes on with each of them: when it does, by the other clock, is their *phase*. Gaps at this phase are
//! held against those at other phases. If they are not much more frequent there, or if another timer runs in step, nothing is said.
//!
//! A gap is a timer's interrupt and the tick, which the simulator charges apart. So it is a row of the estimate as the operations
//! of workloads are: a thread that computes, and what each tick makes it take longer.

use std::io;
use std::time::Duration;

use fairground_machine::{CpuId, CpuMask};
use fairground_play::set_affinity;

use crate::estimate::median;

/// Ticks of a round.
const TICKS: u32 = 25;
const WINDOW_MIN: Duration = Duration::from_millis(50);
/// The longest and the shortest period of a tick that is believed, ns: 24 and 10,000 a second.
const PERIODS_NS: std::ops::RangeInclusive<u64> = 100_000..=41_666_667;
/// The least gap, in steps of the loop and in ns.
const STEPS: f64 = 5.0;
const GAP_MIN_NS: f64 = 300.0;
/// Most gaps and most ticks of a round.
const GAPS: usize = 1 << 14;
/// How long before and after the phase a gap may be, ns: the coarse clock goes on within the tick.
const BEFORE_NS: f64 = 40_000.0;
const AFTER_NS: f64 = 15_000.0;
/// Bins of a period in which the phase is looked for.
const BINS: usize = 1000;
/// Other phases, as parts of a period: those at which a timer that is two or four times as fast would be in step, and others.
const IN_STEP: [f64; 3] = [0.25, 0.5, 0.75];
const ELSEWHERE: [f64; 4] = [0.118, 0.382, 0.618, 0.854];
/// The part of the ticks that must have a gap, the part of other places that may, and by how many standard errors the first is more.
const TICKS_WITH: f64 = 0.5;
const OTHERS_WITH: f64 = 0.25;
const STANDARD_ERRORS: f64 = 4.0;
/// Gaps at ticks that a round needs.
const GAPS_MIN: usize = 5;

/// What a thread saw that reads clocks; ns of CLOCK_MONOTONIC.
#[derive(Clone, Debug, Default)]
struct Seen {
    begin: f64,
    end: f64,
    /// The usual time between two readings.
    step: f64,
    /// Begin and end of each gap.
    gaps: Vec<(f64, f64)>,
    /// When the coarse clock was seen to have gone on.
    coarse: Vec<f64>,
}

/// How many places, and how many of them have a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Share {
    with: usize,
    of: usize,
}

impl Share {
    fn part(self) -> f64 {
        self.with as f64 / self.of.max(1) as f64
    }

    fn add(&mut self, other: Share) {
        self.with += other.with;
        self.of += other.of;
    }
}

/// Ticks of a CPU, round by round.
#[derive(Default)]
pub struct Ticks {
    cpu: CpuId,
    period_ns: f64,
    /// Median gap at ticks beyond a step of the loop, of each round that has some, ns.
    rounds: Vec<f64>,
    ticks: Share,
    in_step: Share,
    elsewhere: Share,
    failure: Option<String>,
}

impl Ticks {
    /// No ticks yet of `cpu`.
    ///
    /// # Errors
    /// If nobody says how long the period of a tick is.
    pub fn prepare(cpu: CpuId) -> Result<Ticks, String> {
        let mut period = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `period` is ours. That of the coarse clock is the period of a tick.
        let is_known = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut period) } == 0;
        let ns = nanoseconds(period);
        if !is_known || !PERIODS_NS.contains(&ns) {
            return Err(format!(
                "the period of a tick is not known: CLOCK_MONOTONIC_COARSE has a resolution of {ns} ns"
            ));
        }
        Ok(Ticks { cpu, period_ns: ns as f64, ..Ticks::default() })
    }

    /// Looks at some ticks. A round that fails is none, and the next may be one.
    pub fn round(&mut self) {
        let (cpu, window) = (self.cpu, self.window());
        let seen = std::thread::Builder::new().spawn(move || look(cpu, window));
        let failed = |_| Err(io::Error::other("a thread that measures has failed"));
        match seen.and_then(|thread| thread.join().unwrap_or_else(failed)) {
            Ok(seen) => self.take(&seen),
            Err(error) => self.failure = Some(error.to_string()),
        }
    }

    fn window(&self) -> Duration {
        Duration::from_nanos(self.period_ns as u64 * u64::from(TICKS)).max(WINDOW_MIN)
    }

    fn take(&mut self, seen: &Seen) {
        let Some(phase) = phase(&seen.coarse, self.period_ns) else { return };
        let at = |part: f64| gaps_at(seen, phase + part * self.period_ns, self.period_ns);
        let share = |gaps: &[f64]| Share { with: gaps.iter().filter(|ns| **ns > 0.0).count(), of: gaps.len() };
        let ticks = at(0.0);
        self.ticks.add(share(&ticks));
        IN_STEP.iter().for_each(|part| self.in_step.add(share(&at(*part))));
        ELSEWHERE.iter().for_each(|part| self.elsewhere.add(share(&at(*part))));
        let gaps: Vec<f64> = ticks.into_iter().filter(|ns| *ns > 0.0).collect();
        if gaps.len() >= GAPS_MIN {
            self.rounds.push(median(&gaps));
        }
    }

    /// What a tick took, of each round, ns.
    ///
    /// # Errors
    /// Why that cannot be said.
    pub fn rounds(&self) -> Result<Vec<f64>, String> {
        let [ticks, others] = [self.ticks, self.others()];
        if ticks.of == 0 {
            let why = self.failure.clone().unwrap_or_else(|| "CLOCK_MONOTONIC_COARSE did not go on".into());
            return Err(format!("ticks of CPU {}: {why}", self.cpu));
        }
        let variance = |share: Share| share.part() * (1.0 - share.part()) / share.of.max(1) as f64;
        let error = (variance(ticks) + variance(others)).sqrt().max(0.5 / ticks.of as f64);
        let is_clear = ticks.part() - others.part() > STANDARD_ERRORS * error;
        if !is_clear || ticks.part() < TICKS_WITH || others.part() > OTHERS_WITH || self.rounds.is_empty() {
            let [ticks, others] = [ticks, others].map(|share| 100.0 * share.part());
            return Err(format!(
                "ticks of CPU {}: {ticks:.0} % of them take time that can be seen, and so do {others:.0} % of other moments",
                self.cpu
            ));
        }
        Ok(self.rounds.clone())
    }

    /// Other phases: those in step if they have more gaps.
    fn others(&self) -> Share {
        match self.in_step.part() > self.elsewhere.part() {
            true => self.in_step,
            false => self.elsewhere,
        }
    }
}

/// Reads clocks on `cpu` for as long as `window`.
fn look(cpu: CpuId, window: Duration) -> io::Result<Seen> {
    set_affinity(&CpuMask::single(cpu))?;
    let steps: Vec<f64> = {
        let mut last = clock_ns(libc::CLOCK_MONOTONIC);
        let mut step = |_| {
            clock_ns(libc::CLOCK_MONOTONIC_COARSE);
            let now = clock_ns(libc::CLOCK_MONOTONIC);
            let step = now.saturating_sub(last) as f64;
            last = now;
            step
        };
        (0..1000).map(&mut step).collect()
    };
    let step = median(&steps);
    let least = (STEPS * step).max(GAP_MIN_NS);
    let begin = clock_ns(libc::CLOCK_MONOTONIC);
    let until = begin + window.as_nanos() as u64;
    // From the first reading on, so that numbers stay small.
    let since = |ns: u64| ns.saturating_sub(begin) as f64;
    let (mut gaps, mut coarse) = (Vec::with_capacity(GAPS), Vec::with_capacity(GAPS));
    let (mut last, mut last_coarse) = (begin, clock_ns(libc::CLOCK_MONOTONIC_COARSE));
    while last < until && gaps.len() < GAPS && coarse.len() < GAPS {
        let now_coarse = clock_ns(libc::CLOCK_MONOTONIC_COARSE);
        let now = clock_ns(libc::CLOCK_MONOTONIC);
        if now.saturating_sub(last) as f64 > least {
            gaps.push((since(last), since(now)));
        }
        if now_coarse != last_coarse {
            coarse.push(since(now));
        }
        (last, last_coarse) = (now, now_coarse);
    }
    Ok(Seen { begin: 0.0, end: since(last), step, gaps, coarse })
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is ours; both clocks exist on every Linux. If not, the time stands still at 0, and a caller sees no tick.
    unsafe { libc::clock_gettime(clock, &mut t) };
    nanoseconds(t)
}

fn nanoseconds(t: libc::timespec) -> u64 {
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// At which time of a period most of these moments are; the middle of them. `None` without any.
fn phase(moments: &[f64], period: f64) -> Option<f64> {
    let mut bins = vec![0u32; BINS];
    let of = |moment: f64| (moment.rem_euclid(period) / period * BINS as f64) as usize % BINS;
    moments.iter().for_each(|moment| bins[of(*moment)] += 1);
    let three = |bin: usize| bins[(bin + BINS - 1) % BINS] + bins[bin] + bins[(bin + 1) % BINS];
    let most = (0..BINS).max_by_key(|bin| three(*bin)).filter(|bin| three(*bin) > 0)?;
    let middle = (most as f64 + 0.5) / BINS as f64 * period;
    // How far each is from there, either way round.
    let off = |moment: &f64| (moment - middle + period / 2.0).rem_euclid(period) - period / 2.0;
    let near: Vec<f64> = moments.iter().map(off).filter(|off| off.abs() < 2.0 * period / BINS as f64).collect();
    Some((middle + median(&near)).rem_euclid(period))
}

/// The longest gap near each moment of this phase, beyond a step of the loop, ns; 0 where there is none.
fn gaps_at(seen: &Seen, phase: f64, period: f64) -> Vec<f64> {
    let mut found = Vec::new();
    let mut moment = phase.rem_euclid(period);
    let mut first = 0;
    while moment + AFTER_NS < seen.end {
        let (from, to) = (moment - BEFORE_NS, moment + AFTER_NS);
        if from > seen.begin {
            // Both rise: what ends before this moment is not looked at again.
            first += seen.gaps[first..].iter().take_while(|(_, end)| *end < from).count();
            let near = seen.gaps[first..].iter().take_while(|(begin, _)| *begin <= to);
            found.push(near.map(|(begin, end)| end - begin - seen.step).fold(0.0, f64::max));
        }
        moment += period;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: f64 = 4e6;

    /// A round of 25 ticks at this phase with gaps of `ns`, and gaps of 9 us at other places.
    fn seen(phase: f64, ns: f64, others: &[f64]) -> Seen {
        let mut gaps: Vec<(f64, f64)> = others.iter().map(|at| (*at, at + 9_000.0)).collect();
        let mut coarse = Vec::new();
        for tick in 0..25 {
            let at = phase + f64::from(tick) * PERIOD;
            coarse.push(at + ns + 500.0);
            if ns > 0.0 {
                gaps.push((at, at + ns));
            }
        }
        gaps.sort_by(|a, b| a.0.total_cmp(&b.0));
        Seen { begin: 0.0, end: 25.0 * PERIOD, step: 50.0, gaps, coarse }
    }

    fn ticks(rounds: &[Seen]) -> Ticks {
        let mut ticks = Ticks { period_ns: PERIOD, ..Ticks::default() };
        rounds.iter().for_each(|seen| ticks.take(seen));
        ticks
    }

    /// A host's ticks, four times as many, at a phase of their own.
    fn host(phase: f64) -> Vec<f64> {
        (0..100).map(|n| phase + f64::from(n) * PERIOD / 4.0).collect()
    }

    #[test]
    fn gaps_at_the_phase_of_ticks_are_told_from_those_of_a_host() {
        let rounds =
            ticks(&[seen(1_000_000.0, 3_000.0, &host(735_000.0)), seen(1_000_000.0, 3_400.0, &host(735_000.0))]);
        assert_eq!(rounds.rounds().unwrap(), [2_950.0, 3_350.0]);
        assert!(rounds.ticks.part() > 0.95 && rounds.others().part() < 0.1, "{:?}", rounds.ticks);
        // About midnight of a period.
        let rounds = ticks(&[seen(3_998_000.0, 3_000.0, &host(735_000.0))]);
        assert_eq!(rounds.rounds().unwrap(), [2_950.0]);
    }

    #[test]
    fn a_timer_in_step_or_no_contrast_is_no_figure() {
        let in_step = ticks(&[seen(1_000_000.0, 3_000.0, &host(1_010_000.0 - PERIOD / 4.0))]);
        let why = in_step.rounds().unwrap_err();
        assert!(why.contains("100 % of other moments"), "{why}");
        // The ticks of another CPU alone: none here.
        let none = ticks(&[seen(1_000_000.0, 0.0, &host(735_000.0))]);
        assert!(none.rounds().unwrap_err().contains("0 % of them take time"));
        let noise: Vec<f64> = (0..2500).map(|n| f64::from(n) * 40_000.0).collect();
        assert!(ticks(&[seen(1_000_000.0, 3_000.0, &noise)]).rounds().is_err());
        let none = ticks(&[Seen { end: 1e8, ..Seen::default() }]);
        assert!(none.rounds().unwrap_err().contains("did not go on"));
    }

    #[test]
    fn a_round_that_fails_takes_nothing_from_the_others() {
        let mut ticks = ticks(&[seen(1_000_000.0, 3_000.0, &[])]);
        ticks.cpu = fairground_machine::NR_CPUS as CpuId - 1;
        if !fairground_play::affinity().unwrap().test(ticks.cpu) {
            ticks.round();
            assert!(ticks.failure.is_some());
        }
        assert_eq!(ticks.rounds().unwrap(), [2_950.0]);
    }

    #[test]
    fn a_phase_is_found_whichever_way_round() {
        let moments: Vec<f64> = (0..50).map(|n| f64::from(n) * PERIOD + f64::from(n % 5) * 100.0 - 200.0).collect();
        let found = phase(&moments, PERIOD).unwrap();
        assert!(found.min(PERIOD - found) < 1_000.0, "{found}");
        assert_eq!(phase(&[], PERIOD), None);
        assert_eq!(phase(&[5.0, 4e6 + 5.0, 2e6], PERIOD), Some(5.0));
    }

    /// That it comes to an end; what this machine does says nothing here.
    #[test]
    fn clocks_are_read_on_this_machine() {
        let cpu = fairground_play::affinity().unwrap().first().unwrap();
        let seen = look(cpu, Duration::from_micros(100)).unwrap();
        assert!(seen.end >= 100_000.0 || seen.gaps.len() == GAPS, "{seen:?}");
        if let Ok(mut ticks) = Ticks::prepare(cpu) {
            ticks.round();
            let _ = ticks.rounds();
        }
    }
}
