//! Which events a recording has, and so which rows can be set against it.

use std::collections::BTreeMap;

use fairground_trace::{TraceEvent, TraceEventKind};

/// Events of a recording that rows of a replay need.
#[derive(Clone, Debug, Default)]
pub struct RecordedEvents {
    wakings: u64,
    wakeups: u64,
    migrations: u64,
    idle: u64,
    /// Changes of CPU from one switch of a thread to its next.
    moves: u64,
    /// CPU of each thread's last switch, by pid.
    cpus: BTreeMap<u32, u32>,
}

/// Rows that are left out, and the events that the recording lacks for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct LeftOut {
    /// Names of rows; `*` stands for any text.
    pub rows: &'static str,
    /// Names of the events that the recording lacks.
    pub lacks: &'static str,
}

const LATENCIES: LeftOut = LeftOut { rows: "wakeup_latency_*", lacks: "sched_waking, sched_wakeup" };
const PLACEMENTS: LeftOut = LeftOut { rows: "wakeups, same_cpu_pct*", lacks: "sched_wakeup" };
const MIGRATIONS: LeftOut = LeftOut { rows: "migrations", lacks: "sched_migrate_task" };
const IDLE: LeftOut = LeftOut { rows: "idle_state*_pct", lacks: "cpu_idle" };

impl RecordedEvents {
    /// Records that the trace has this event.
    pub fn note(&mut self, event: &TraceEvent) {
        match event.what {
            TraceEventKind::Switch { next, .. } if next.pid != 0 => {
                let before = self.cpus.insert(next.pid, event.cpu);
                self.moves += u64::from(before.is_some_and(|cpu| cpu != event.cpu));
            }
            TraceEventKind::Waking { .. } => self.wakings += 1,
            TraceEventKind::Wakeup { new: false, .. } => self.wakeups += 1,
            TraceEventKind::Migrate { .. } => self.migrations += 1,
            TraceEventKind::Idle { .. } => self.idle += 1,
            _ => {}
        }
    }

    /// Whether wakeups begin with an event of their own.
    pub fn have_wakings(&self) -> bool {
        self.wakings > 0
    }

    /// The rows that the recording has no events for. Migrations are missed only if threads change their CPU.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let lacking = [
            (self.wakings + self.wakeups == 0, LATENCIES),
            (self.wakeups == 0, PLACEMENTS),
            (self.migrations == 0 && self.moves > 0, MIGRATIONS),
            (self.idle == 0, IDLE),
        ];
        lacking.into_iter().filter(|(lacks, _)| *lacks).map(|(_, left_out)| left_out).collect()
    }
}

impl LeftOut {
    /// Whether this row is left out.
    pub fn has(&self, row: &str) -> bool {
        self.rows.split(", ").any(|pattern| match pattern.split_once('*') {
            None => row == pattern,
            Some((begin, end)) => row.starts_with(begin) && row.ends_with(end),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_left_out_by_name() {
        let has = |left_out: LeftOut, row: &str| left_out.has(row);
        assert!(has(LATENCIES, "wakeup_latency_p50_us") && !has(LATENCIES, "wakeups"));
        assert!(has(PLACEMENTS, "wakeups") && has(PLACEMENTS, "same_cpu_pct(a)") && has(PLACEMENTS, "same_cpu_pct"));
        assert!(has(IDLE, "idle_state1_pct") && !has(IDLE, "migrations") && has(MIGRATIONS, "migrations"));
    }

    #[test]
    fn a_recording_of_still_threads_lacks_no_migrations() {
        let events = RecordedEvents { wakings: 1, wakeups: 1, idle: 1, ..RecordedEvents::default() };
        assert_eq!(events.left_out(), []);
        let moving = RecordedEvents { moves: 1, ..events.clone() };
        assert_eq!(moving.left_out(), [MIGRATIONS]);
        assert_eq!(RecordedEvents { wakeups: 0, ..events }.left_out(), [PLACEMENTS]);
        assert_eq!(RecordedEvents::default().left_out(), [LATENCIES, PLACEMENTS, IDLE]);
    }
}
