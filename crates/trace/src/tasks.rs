//! Task statistics: time running, waiting and sleeping, wakeups and migrations.
//!
//! Run time and waits are those of [`crate::latency`]. A sleep begins as the task is switched away asleep and ends with its
//! next wakeup; one whose end is missing does not count, be it that the trace ends before or that no wakeup is recorded.

use std::collections::BTreeMap;

use crate::latency::{Latency, Waits};
use crate::note::Note;
use crate::{AtDecision, EventSource, PrevState, TraceError, TraceEvent, TraceEventKind};

/// Time account of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Comm of the thread in the trace.
    pub comm: String,
    /// The thread's pid in the trace.
    pub pid: u32,
    /// Run time and waits of the thread.
    pub waits: Waits,
    /// Time spent sleeping, ns.
    pub sleep: u64,
    /// Number of wakeups, including the first after its creation.
    pub wakeups: u64,
    /// Number of migrations.
    pub migrations: u64,
    /// Durations of the waits, ns, shortest first.
    pub each: Vec<u64>,
}

impl Row {
    /// A percentile of the waits by nearest rank, ns; `None` without waits.
    pub fn quantile(&self, percent: u64) -> Option<u64> {
        let rank = (self.each.len() as u64 * percent).div_ceil(100).max(1);
        self.each.get(rank as usize - 1).copied()
    }
}

#[derive(Default)]
struct Counts {
    asleep: Option<u64>,
    sleep: u64,
    wakeups: u64,
    migrations: u64,
    each: Vec<u64>,
}

/// Reads a trace to its end. Returns rows by pid, and notes on them.
///
/// # Errors
/// If the trace cannot be read.
pub fn rows<S: EventSource>(trace: &mut S) -> Result<(Vec<Row>, Vec<Note>), TraceError> {
    let (mut latency, mut tasks) = (Latency::default(), BTreeMap::<u32, Counts>::new());
    let mut order = AtDecision::default();
    while let Some(event) = trace.next_event()? {
        let Some(event) = order.event(&event) else { continue };
        let wait = latency.event(&event);
        count(&mut tasks, &event, wait);
    }
    let row = |(pid, (comm, waits)): (u32, (&str, Waits))| {
        let Counts { sleep, wakeups, migrations, mut each, .. } = tasks.remove(&pid).unwrap_or_default();
        each.sort_unstable();
        Row { comm: comm.to_owned(), pid, waits, sleep, wakeups, migrations, each }
    };
    let rows = latency.by_pid().into_iter().map(row).collect();
    Ok((rows, [trace.notes(), latency.notes()].concat()))
}

fn count(tasks: &mut BTreeMap<u32, Counts>, event: &TraceEvent, wait: Option<u64>) {
    match event.what {
        TraceEventKind::Switch { prev, left, next, .. } => {
            if prev.pid != 0 && left == PrevState::Sleeping {
                tasks.entry(prev.pid).or_default().asleep = Some(event.time);
            }
            let next = tasks.entry(next.pid).or_default();
            // Woken unseen, it sleeps no more; since when is not known.
            next.asleep = None;
            next.each.extend(wait);
        }
        TraceEventKind::Wakeup { task, .. } => {
            let task = tasks.entry(task.pid).or_default();
            task.wakeups += 1;
            let since = task.asleep.take();
            task.sleep = task.sleep.saturating_add(since.map_or(0, |since| event.time.saturating_sub(since)));
        }
        TraceEventKind::Migrate { task, .. } => tasks.entry(task.pid).or_default().migrations += 1,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;

    /// Born at 0 ms, waits 1 ms, runs 2, sleeps 3, waits 4 after a move, runs 1.
    #[test]
    fn the_life_of_a_task_adds_up() {
        let line = |at: &str, what: &str| format!("<idle>-0 [000] {at}: {what}\n");
        let switch = |at, prev: &str, state: u32, next: &str| {
            let (prev, next) = (prev.split_once('-').unwrap(), next.split_once('-').unwrap());
            let prev = format!("prev_comm={} prev_pid={} prev_prio=120 prev_state={state}", prev.0, prev.1);
            line(at, &format!("sched_switch: {prev} next_comm={} next_pid={} next_prio=120", next.0, next.1))
        };
        let wake = |at, kind: &str| line(at, &format!("{kind}: comm=a pid=7 prio=120 success=1 target_cpu=0"));
        let text = [
            wake("0.000", "sched_wakeup_new"),
            switch("0.001", "swapper/0-0", 0, "a-7"),
            switch("0.003", "a-7", 1, "swapper/0-0"),
            line("0.006", "sched_migrate_task: comm=a pid=7 prio=120 orig_cpu=1 dest_cpu=0"),
            wake("0.006", "sched_wakeup"),
            switch("0.010", "swapper/0-0", 0, "a-7"),
            switch("0.011", "a-7", 16, "swapper/0-0"),
        ]
        .concat();
        let (rows, notes) = rows(&mut Reader::new("t", text.as_bytes())).unwrap();
        assert_eq!((rows.len(), notes.len()), (1, 0));
        let ms = 1_000_000;
        let row = &rows[0];
        assert_eq!((row.comm.as_str(), row.pid), ("a", 7));
        assert_eq!((row.waits.runtime, row.waits.total, row.sleep), (3 * ms, 5 * ms, 3 * ms));
        assert_eq!((row.wakeups, row.migrations), (2, 1));
        assert_eq!([0, 50, 51, 100].map(|q| row.quantile(q)), [ms, ms, 4 * ms, 4 * ms].map(Some));
    }

    /// Asleep from 2 ms on, it runs from 5 to 7 though nothing woke it, and sleeps until 8.
    #[test]
    fn a_sleep_whose_end_is_missing_does_not_take_in_what_follows() {
        let switch = |at: &str, prev: &str, next: &str| {
            let task = |which: &str, who: &str| format!("{which}_comm=c {which}_pid={who} {which}_prio=120");
            format!("c-1 [000] {at}: sched_switch: {} prev_state=1 {}\n", task("prev", prev), task("next", next))
        };
        let text = [
            switch("0.001", "0", "7"),
            switch("0.002", "7", "0"),
            switch("0.005", "0", "7"),
            switch("0.007", "7", "0"),
            "<idle>-0 [000] 0.008: sched_wakeup: comm=c pid=7 prio=120 success=1 target_cpu=0\n".into(),
        ]
        .concat();
        let (rows, _) = rows(&mut Reader::new("t", text.as_bytes())).unwrap();
        assert_eq!((rows[0].pid, rows[0].waits.runtime, rows[0].sleep), (7, 3_000_000, 1_000_000));
    }

    #[test]
    fn who_never_waited_has_no_quantiles() {
        let row = Row {
            comm: String::new(),
            pid: 1,
            waits: Waits::default(),
            sleep: 0,
            wakeups: 0,
            migrations: 0,
            each: vec![],
        };
        assert_eq!(row.quantile(50), None);
    }
}
