//! Switches of our own traces at the instant at which they were decided.
//!
//! ```text
//! fairground_switch ... cost_ns=C     at the instant t: schedule() has decided; wakeups and decisions of t meet this state
//! sched_switch                        at t + C, as a kernel has it; earlier if the task that left is woken before that
//! ```

use std::collections::BTreeMap;

use crate::record::DECIDED;
use crate::text::value;
use crate::{TraceEvent, TraceEventKind};

/// Moves each switch in a trace to the time of its decision. Traces of a kernel do not change.
#[derive(Clone, Debug, Default)]
pub struct AtDecision {
    /// By CPU: number of switches that were returned and whose sched_switch has not come yet.
    given: BTreeMap<u32, u64>,
}

impl AtDecision {
    /// The event to use instead; `None` for the sched_switch of a switch that was returned at its decision.
    pub fn event<'a>(&mut self, event: &TraceEvent<'a>) -> Option<TraceEvent<'a>> {
        match event.what {
            TraceEventKind::Print(text) => {
                let Some(what) = decided(text) else { return Some(*event) };
                *self.given.entry(event.cpu).or_default() += 1;
                Some(TraceEvent { what, ..*event })
            }
            TraceEventKind::Switch { .. } => match self.given.get_mut(&event.cpu) {
                Some(left @ 1..) => {
                    *left -= 1;
                    None
                }
                _ => Some(*event),
            },
            _ => Some(*event),
        }
    }
}

/// The switch of a `fairground_switch`.
fn decided(text: &str) -> Option<TraceEventKind<'_>> {
    let fields = text.strip_prefix(DECIDED)?.strip_prefix(": ")?;
    let cost = value(fields.rsplit_once(" next_prio=")?.1, "cost_ns=")?.parse().ok()?;
    match TraceEventKind::parse("sched_switch", fields) {
        Ok(Some(TraceEventKind::Switch { prev, left, next, prio, .. })) => {
            Some(TraceEventKind::Switch { prev, left, next, prio, cost })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EventSource, Reader};

    const FIELDS: &str =
        "prev_comm=a b prev_pid=1 prev_prio=120 prev_state=1 next_comm=cost_ns=9 next_pid=2 next_prio=120";

    /// What is read of a text: times, and costs of switches.
    fn read(text: &str) -> Vec<(u64, Option<u64>)> {
        let (mut reader, mut order, mut seen) = (Reader::new("t", text.as_bytes()), AtDecision::default(), Vec::new());
        while let Some(event) = reader.next_event().unwrap() {
            let Some(event) = order.event(&event) else { continue };
            let cost = if let TraceEventKind::Switch { cost, .. } = event.what { Some(cost) } else { None };
            seen.push((event.time, cost));
        }
        seen
    }

    #[test]
    fn a_switch_is_given_once_at_its_decision() {
        let print = format!("a b-1 [000] 0.000000010: print: tracing_mark_write: {DECIDED}: {FIELDS} cost_ns=5\n");
        let wakeup = "x-3 [001] 0.000000012: sched_wakeup: comm=d pid=4 prio=120 target_cpu=0\n";
        let switch = |cpu, ns| format!("a b-1 [{cpu}] 0.0000000{ns}: sched_switch: {FIELDS}\n");
        let text =
            [&print, wakeup, &switch(1, 13), &switch(0, 15), &switch(0, 20)].map(|s: &str| s.to_owned()).concat();
        assert_eq!(read(&text), [(10, Some(5)), (12, None), (13, Some(0)), (20, Some(0))]);
    }

    #[test]
    fn two_decisions_of_one_instant_have_two_switches() {
        let print = format!("a-1 [000] 0.000000010: print: {DECIDED}: {FIELDS} cost_ns=5\n");
        let switch = format!("a-1 [000] 0.000000015: sched_switch: {FIELDS}\n");
        assert_eq!(read(&[print.as_str(), &print, &switch, &switch, &switch].concat()).len(), 3);
    }

    #[test]
    fn what_is_no_switch_stays_as_it_is() {
        for text in [
            "fairground_switch: ",
            "fairground_switch: cost_ns=1",
            "fairground_switch",
            &format!("{DECIDED}: {FIELDS}"),
        ] {
            assert_eq!(read(&format!("a-1 [000] 0.000000010: print: {text}\n")), [(10, None)]);
        }
    }
}
