//! Time at each frequency, from cpu_frequency events.
//!
//! A CPU is known from its first event on. A frequency lasts until the next event, the last one until the trace ends.
//! CPUs whose clocks always had the same frequency are one row, like the CPUs of one clock.

use std::collections::BTreeMap;

use crate::note::Note;
use crate::{EventSource, TraceError, TraceEventKind};

/// Time that a clock spent at one frequency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrequencyPeriod {
    /// Number of times the frequency was set.
    pub count: u64,
    /// Total time at the frequency, ns.
    pub total: u64,
}

/// The clock of one CPU, or of several that always had the same frequency.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Time of the last change, ns, and the frequency since then, kHz.
    now: Option<(u64, u32)>,
    stays: BTreeMap<u32, FrequencyPeriod>,
    /// Hash of all changes. It distinguishes clocks with equal sums.
    history: u64,
}

impl Clock {
    /// Sets the frequency. Returns false if `time` is before the last change.
    fn set(&mut self, time: u64, khz: u32) -> bool {
        if self.now.is_some_and(|(_, now)| now == khz) {
            return true;
        }
        let in_order = self.end(time);
        self.now = Some((time, khz));
        self.stays.entry(khz).or_default().count += 1;
        for part in [time, u64::from(khz)] {
            self.history = (self.history ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
        in_order
    }

    fn end(&mut self, time: u64) -> bool {
        let Some((since, khz)) = self.now else { return true };
        let stay = self.stays.entry(khz).or_default();
        stay.total = stay.total.saturating_add(time.saturating_sub(since));
        time >= since
    }

    /// Frequencies, kHz, and the time at each, slowest first.
    pub fn stays(&self) -> impl Iterator<Item = (u32, FrequencyPeriod)> + '_ {
        self.stays.iter().map(|(khz, stay)| (*khz, *stay))
    }

    /// Time for which the frequency is known, ns.
    pub fn span(&self) -> u64 {
        self.stays.values().fold(0, |sum, s| sum.saturating_add(s.total))
    }

    /// Mean frequency over [`Self::span`], kHz.
    pub fn mean_khz(&self) -> f64 {
        let cycles: f64 = self.stays().map(|(khz, s)| f64::from(khz) * s.total as f64).sum();
        cycles / self.span().max(1) as f64
    }
}

/// The clocks of a trace.
#[derive(Clone, Debug, Default)]
pub struct Frequencies {
    clocks: BTreeMap<u32, Clock>,
    last: u64,
    backwards: u64,
}

impl Frequencies {
    /// Reads a trace to its end.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn read<S: EventSource>(reader: &mut S) -> Result<Frequencies, TraceError> {
        let mut all = Frequencies::default();
        while let Some(event) = reader.next_event()? {
            all.last = all.last.max(event.time);
            if let TraceEventKind::Frequency { cpu, khz } = event.what {
                all.backwards += u64::from(!all.clocks.entry(cpu).or_default().set(event.time, khz));
            }
        }
        let last = all.last;
        all.clocks.values_mut().for_each(|clock| {
            clock.end(last);
        });
        Ok(all)
    }

    /// Each CPU, and its clock.
    pub fn by_cpu(&self) -> Vec<(Vec<u32>, &Clock)> {
        self.clocks.iter().map(|(cpu, clock)| (vec![*cpu], clock)).collect()
    }

    /// CPUs that were alike, and their clock; by their first CPU.
    pub fn by_clock(&self) -> Vec<(Vec<u32>, &Clock)> {
        let mut rows: Vec<(Vec<u32>, &Clock)> = Vec::new();
        for (cpu, clock) in &self.clocks {
            match rows.iter_mut().find(|(_, known)| *known == clock) {
                Some((cpus, _)) => cpus.push(*cpu),
                None => rows.push((vec![*cpu], clock)),
            }
        }
        rows
    }

    /// Notes on the rows.
    pub fn notes(&self) -> Vec<Note> {
        let what = "changes of a clock come before the one before: the trace is not in time order";
        Note::losses(&[(self.backwards, what)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;

    fn read(changes: &[(&str, u32, u32)]) -> Frequencies {
        let line = |(at, cpu, khz): &(&str, u32, u32)| {
            format!("<idle>-0 [000] {at}: cpu_frequency: state={khz} cpu_id={cpu}\n")
        };
        let text: String = changes.iter().map(line).collect();
        Frequencies::read(&mut Reader::new("t", text.as_bytes())).unwrap()
    }

    const MS: u64 = 1_000_000;

    /// CPUs 0 and 1: 1 ms at 500 MHz, 3 ms at 1 GHz, 2 ms at 500 MHz, where the last event repeats the frequency after
    /// 1 ms. CPU 2 has its first event 1 ms before the end.
    #[test]
    fn a_frequency_lasts_until_the_next_or_the_end() {
        let mut changes = Vec::new();
        for (at, khz) in [("0.001", 500_000), ("0.002", 1_000_000), ("0.005", 500_000), ("0.006", 500_000)] {
            changes.extend([(at, 0, khz), (at, 1, khz)]);
        }
        changes.extend([("0.006", 2, 800_000), ("0.007", 3, 800_000)]);
        let all = read(&changes);
        let rows = all.by_clock();
        assert_eq!(rows.iter().map(|(cpus, _)| cpus.clone()).collect::<Vec<_>>(), [vec![0, 1], vec![2], vec![3]]);
        let stays: Vec<_> = rows[0].1.stays().collect();
        let slow = FrequencyPeriod { count: 2, total: 3 * MS };
        let fast = FrequencyPeriod { count: 1, total: 3 * MS };
        assert_eq!(stays, [(500_000, slow), (1_000_000, fast)]);
        assert_eq!((rows[0].1.span(), rows[0].1.mean_khz()), (6 * MS, 750_000.0));
        assert_eq!((rows[1].1.span(), rows[2].1.span(), rows[2].1.mean_khz()), (MS, 0, 0.0));
        assert_eq!(all.by_cpu().len(), 4);
    }

    /// Two clocks with the same sums in another order.
    #[test]
    fn clocks_with_equal_sums_are_two() {
        let (a, b) = (500_000, 600_000);
        let changes = [("0.0", 0, a), ("0.0", 1, b), ("0.1", 0, b), ("0.1", 1, a), ("0.2", 0, a), ("0.2", 1, b)];
        assert_eq!(read(&changes).by_clock().len(), 2);
    }

    #[test]
    fn a_trace_out_of_order_is_told() {
        assert_eq!(read(&[("2.0", 0, 1), ("1.0", 0, 2)]).notes().len(), 1);
    }
}
