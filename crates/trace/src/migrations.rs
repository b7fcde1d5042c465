//! Migrations by cause and distance.

use std::collections::BTreeMap;

use fairground_machine::{Distance, Machine};

use crate::placements::{Cause, Placements};
use crate::{EventSource, TraceError};

/// The migrations of one cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The cause; `None` where the trace does not show it.
    pub cause: Option<Cause>,
    /// Number of all migrations.
    pub count: u64,
    /// Number of migrations by distance; all 0 without a machine.
    pub by_distance: [u64; Distance::COUNT],
}

impl Row {
    /// Name of the cause, `other` for `None`.
    pub fn name(&self) -> &'static str {
        self.cause.map_or("other", Cause::word)
    }
}

/// Reads a trace to its end. Returns a row for each cause that occurs, `other` last. Migrations from or to a CPU that
/// `machine` does not have are counted under no distance.
///
/// # Errors
/// If the trace cannot be read.
pub fn rows<S: EventSource>(trace: &mut Placements<S>, machine: Option<&Machine>) -> Result<Vec<Row>, TraceError> {
    while trace.next_placement()?.is_some() {}
    let mut rows: BTreeMap<(bool, Option<Cause>), Row> = BTreeMap::new();
    for (moved, n) in trace.moves() {
        let empty = Row { cause: moved.cause, count: 0, by_distance: [0; Distance::COUNT] };
        let row = rows.entry((moved.cause.is_none(), moved.cause)).or_insert(empty);
        row.count += n;
        let inside = |m: &&Machine| (moved.from.max(moved.to) as usize) < m.nr_cpus();
        if let Some(machine) = machine.filter(inside) {
            row.by_distance[machine.distance(moved.from, moved.to) as usize] += n;
        }
    }
    Ok(rows.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;

    #[test]
    fn migrations_are_told_by_cause_and_distance() {
        let line = |what: &str| format!("<idle>-0 [000] 1.0: {what}\n");
        let print = |what: &str| line(&format!("print: tracing_mark_write: fairground_{what}"));
        let migrate = |pid, from, to| {
            line(&format!("sched_migrate_task: comm=a pid={pid} prio=120 orig_cpu={from} dest_cpu={to}"))
        };
        let text = [
            migrate(9, 0, 1),
            print("decision: kind=wake comm=a pid=5 prio=120 prev_cpu=0 cpu=4 rule=A2 probes=1 group_cpus=0"),
            migrate(5, 0, 4),
            print("balance: kind=idle level=PKG src_cpu=3 dst_cpu=0 unit=task amount=2 rule=sibling moved=2 active=0"),
            migrate(7, 3, 0),
            migrate(8, 3, 0),
        ];
        let machine = Machine::preset("hikey960").unwrap();
        let rows = |machine| {
            let text = text.concat();
            let mut trace = Placements::new(Reader::new("t", text.as_bytes()));
            rows(&mut trace, machine).unwrap()
        };
        let actual = rows(Some(&machine));
        let [cluster, far] = [machine.distance(0, 1), machine.distance(0, 4)].map(|d| d as usize);
        let short: Vec<_> =
            actual.iter().map(|r| (r.name(), r.count, r.by_distance[cluster], r.by_distance[far])).collect();
        assert_eq!(short, [("wake", 1, 0, 1), ("balance", 2, 2, 0), ("other", 1, 1, 0)]);
        assert!(rows(None).iter().all(|r| r.by_distance == [0; Distance::COUNT] && r.count > 0));
    }
}
