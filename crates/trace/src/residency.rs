//! Residency of idle states, from cpu_idle events.
//!
//! A stay begins with a request for a state and ends when the CPU leaves idle or requests another state. Only whole
//! stays count: a stay that is under way at the beginning or the end of the trace does not count, and its time is not
//! watched. A CPU without a cpu_idle event is watched and never idle. States are the requested ones; a trace does not
//! show which state the hardware reached.

use std::collections::{BTreeMap, BTreeSet};

use crate::note::Note;
use crate::{EventSource, TraceError, TraceEventKind};

/// Statistics of the stays in an idle state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdlePeriods {
    /// Number of idle periods that ended.
    pub count: u64,
    /// Sum of the durations, ns.
    pub total: u64,
    /// Longest duration, ns.
    pub max: u64,
    /// Number of stays shorter than the state's target residency, where that is known.
    pub early: u64,
}

impl IdlePeriods {
    fn add(&mut self, ns: u64, target: Option<u64>) {
        self.count += 1;
        self.total = self.total.saturating_add(ns);
        self.max = self.max.max(ns);
        self.early += u64::from(target.is_some_and(|target| ns < target));
    }

    fn merge(&mut self, other: &IdlePeriods) {
        self.count += other.count;
        self.total = self.total.saturating_add(other.total);
        self.max = self.max.max(other.max);
        self.early += other.early;
    }

    /// Mean duration of a stay, ns; 0 without stays.
    pub fn mean(&self) -> u64 {
        self.total.checked_div(self.count).unwrap_or(0)
    }
}

/// What the trace shows about a CPU that has an event.
#[derive(Clone, Copy, Debug, Default)]
struct CpuCoverage {
    /// Whether the CPU has a cpu_idle event.
    tells_idle: bool,
    /// Length of the idle period that was under way when the trace began, ns.
    before: u64,
}

/// Idle periods of a trace, by CPU and state.
#[derive(Clone, Debug, Default)]
pub struct Residency {
    /// Idle periods by CPU and state.
    stays: BTreeMap<(u32, u32), IdlePeriods>,
    /// By CPU: its current state, and since when, ns.
    now: BTreeMap<u32, (u32, u64)>,
    seen: BTreeMap<u32, CpuCoverage>,
    first: Option<u64>,
    last: u64,
    /// Number of stays that end before they begin.
    backwards: u64,
}

impl Residency {
    /// Reads a trace to its end. `target` returns the target residency of a CPU's state, ns, where it is known.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn read<S: EventSource>(
        reader: &mut S,
        target: &dyn Fn(u32, u32) -> Option<u64>,
    ) -> Result<Residency, TraceError> {
        let mut residency = Residency::default();
        while let Some(event) = reader.next_event()? {
            let first = *residency.first.get_or_insert(event.time);
            residency.last = residency.last.max(event.time);
            residency.seen.entry(event.cpu).or_default();
            if let TraceEventKind::Idle { cpu, state } = event.what {
                let seen = residency.seen.entry(cpu).or_default();
                if !std::mem::replace(&mut seen.tells_idle, true) && state.is_none() {
                    seen.before = event.time.saturating_sub(first);
                }
                residency.leave(event.time, cpu, target);
                if let Some(state) = state {
                    residency.now.insert(cpu, (state, event.time));
                }
            }
        }
        Ok(residency)
    }

    fn leave(&mut self, time: u64, cpu: u32, target: &dyn Fn(u32, u32) -> Option<u64>) {
        let Some((state, since)) = self.now.remove(&cpu) else { return };
        match time.checked_sub(since) {
            Some(ns) => self.stays.entry((cpu, state)).or_default().add(ns, target(cpu, state)),
            None => self.backwards += 1,
        }
    }

    /// Time from the first event to the last, ns.
    pub fn span(&self) -> u64 {
        self.first.map_or(0, |first| self.last.saturating_sub(first))
    }

    /// CPUs that have an event, and all CPUs of a machine with `nr_cpus` CPUs.
    pub fn cpus(&self, nr_cpus: u32) -> BTreeSet<u32> {
        self.seen.keys().copied().chain(0..nr_cpus).collect()
    }

    /// Whether the CPU has a cpu_idle event.
    pub fn tells_idle(&self, cpu: u32) -> bool {
        self.seen.get(&cpu).is_some_and(|seen| seen.tells_idle)
    }

    /// Watched time of a CPU, ns: from the first event to the last, without stays that are under way at either end.
    pub fn watched(&self, cpu: u32) -> u64 {
        let before = self.seen.get(&cpu).map_or(0, |seen| seen.before);
        let behind = self.now.get(&cpu).map_or(0, |(_, since)| self.last.saturating_sub(*since));
        self.span().saturating_sub(before).saturating_sub(behind)
    }

    /// CPU, state, and the stays of the CPU in that state.
    pub fn by_cpu(&self) -> impl Iterator<Item = (u32, u32, IdlePeriods)> + '_ {
        self.stays.iter().map(|((cpu, state), stays)| (*cpu, *state, *stays))
    }

    /// State, and the stays of all CPUs in that state.
    pub fn by_state(&self) -> Vec<(u32, IdlePeriods)> {
        let mut sums = BTreeMap::<u32, IdlePeriods>::new();
        self.by_cpu().for_each(|(_, state, stays)| sums.entry(state).or_default().merge(&stays));
        sums.into_iter().collect()
    }

    /// Notes on the rows.
    pub fn notes(&self) -> Vec<Note> {
        let what = "sleeps end before they begin and are left out: the trace is not in time order";
        Note::losses(&[(self.backwards, what)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;

    fn read(text: &str) -> Residency {
        let target = |cpu, state| (cpu == 0 && state == 1).then_some(3_000_000);
        Residency::read(&mut Reader::new("t", text.as_bytes()), &target).unwrap()
    }

    fn idle(at: &str, cpu: u32, state: u32) -> String {
        format!("<idle>-0 [{cpu}] {at}: cpu_idle: state={state} cpu_id={cpu}\n")
    }

    const EXIT: u32 = u32::MAX;

    /// CPU 0: state 1 for 2 ms (3 would have paid), for 4 ms, straight on to state 0 for 1 ms. CPU 1 leaves a state that
    /// it entered before the trace began and enters one that it is in when the trace ends.
    #[test]
    fn whole_stays_count() {
        let text = [
            idle("1.000", 1, EXIT),
            idle("1.001", 0, 1),
            idle("1.003", 0, EXIT),
            idle("1.004", 0, 1),
            idle("1.008", 0, 0),
            idle("1.009", 0, EXIT),
            idle("1.010", 1, 1),
        ];
        let residency = read(&text.concat());
        let ms = 1_000_000;
        let deep = IdlePeriods { count: 2, total: 6 * ms, max: 4 * ms, early: 1 };
        let shallow = IdlePeriods { count: 1, total: ms, max: ms, early: 0 };
        assert_eq!(residency.by_cpu().collect::<Vec<_>>(), [(0, 0, shallow), (0, 1, deep)]);
        assert_eq!((residency.span(), deep.mean()), (10 * ms, 3 * ms));
    }

    /// CPU 0 idles until 1.002 and from 1.009 on, CPU 1 all the time; CPU 3 does something else and has no cpu_idle.
    #[test]
    fn a_cpu_is_watched_between_the_stays_at_both_ends() {
        let text = [
            idle("1.000", 1, 0),
            idle("1.002", 0, EXIT),
            "a-1 [3] 1.003: sched_waking: comm=b pid=2 prio=120 target_cpu=0\n".into(),
            idle("1.004", 0, 0),
            idle("1.005", 0, EXIT),
            idle("1.009", 0, 1),
            idle("1.010", 2, 1),
        ];
        let residency = read(&text.concat());
        let ms = 1_000_000;
        assert_eq!([0, 1, 3, 4].map(|cpu| residency.watched(cpu)), [7 * ms, 0, 10 * ms, 10 * ms]);
        assert_eq!(residency.cpus(0), [0, 1, 2, 3].into());
        assert_eq!(residency.cpus(6), (0..6).collect());
        assert_eq!([0, 1, 2, 3, 4].map(|cpu| residency.tells_idle(cpu)), [true, true, true, false, false]);
    }

    #[test]
    fn states_are_summed_over_cpus() {
        let text = [idle("1.0", 0, 2), idle("1.0", 1, 2), idle("1.5", 0, EXIT), idle("1.75", 1, EXIT)].concat();
        let both = IdlePeriods { count: 2, total: 1_250_000_000, max: 750_000_000, early: 0 };
        assert_eq!(read(&text).by_state(), [(2, both)]);
    }

    #[test]
    fn a_trace_out_of_order_is_told() {
        let residency = read(&[idle("2.0", 0, 1), idle("1.0", 0, EXIT)].concat());
        assert_eq!((residency.by_cpu().count(), residency.notes().len()), (0, 1));
    }
}
