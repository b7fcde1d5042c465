//! The run's hash: xxh3-128 over the events, so that runs with equal hashes are the same run.
//!
//! Left out is what the other events show anyway: the waker and `sync` of a wakeup, and the cost of a switch. The rules
//! of a scheduler that has none of its own count as 0 ([`crate::Scheduler::has_own_rules`]). What is reported on request
//! only ([`EventKind::Clamps`], [`EventKind::Signals`], [`EventKind::UtilEst`], [`EventKind::Energy`], [`EventKind::Pick`], [`EventKind::Left`]) does not count: observers do not change a
//! run.
//!
//! Encoding, little-endian: time u64, cpu u32, a byte for the kind, then the kind's fields in the order of their
//! declaration and in the width of their types; enums are a byte, an absent task is `0xffff_ffff`, an absent idle state
//! `0xff`.

use fairground_workload::Mark;
use xxhash_rust::xxh3::Xxh3;

use crate::{Event, EventKind, Observer, Scheduler, TaskId};

/// Bytes of events that are hashed at once: for each by itself, the calls would take longer than the hash.
const BATCH: usize = 2048;
/// Bytes of an event at most.
const LONGEST: usize = 48;

/// Hashes the event stream.
#[derive(Clone)]
pub struct HashObserver {
    state: Xxh3,
    /// Events that are not hashed yet: the first `len` bytes.
    batch: Box<[u8; BATCH]>,
    len: usize,
    rules: bool,
}

impl HashObserver {
    /// The hash of an empty stream.
    pub fn new() -> Self {
        HashObserver { state: Xxh3::new(), batch: Box::new([0; BATCH]), len: 0, rules: true }
    }

    /// The same, of a run of `sched`.
    pub fn for_scheduler(sched: &dyn Scheduler) -> Self {
        HashObserver { rules: sched.has_own_rules(), ..Self::new() }
    }

    /// The hash so far.
    pub fn value(&self) -> u128 {
        let mut state = self.state.clone();
        state.update(&self.batch[..self.len]);
        state.digest128()
    }

    /// The hash so far, as 32 hex digits.
    pub fn hex(&self) -> String {
        format!("{:032x}", self.value())
    }

    #[inline(never)]
    fn hash_batch(&mut self) {
        self.state.update(&self.batch[..self.len]);
        self.len = 0;
    }
}

impl Default for HashObserver {
    fn default() -> Self {
        Self::new()
    }
}

struct Record<'a> {
    bytes: &'a mut [u8; LONGEST],
    len: usize,
}

impl Record<'_> {
    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
        self
    }

    #[inline(always)]
    fn u8(&mut self, v: u8) -> &mut Self {
        self.put(&[v])
    }

    #[inline(always)]
    fn u32(&mut self, v: u32) -> &mut Self {
        self.put(&v.to_le_bytes())
    }

    #[inline(always)]
    fn task(&mut self, v: Option<TaskId>) -> &mut Self {
        self.u32(v.unwrap_or(u32::MAX))
    }
}

impl Observer for HashObserver {
    fn event(&mut self, event: &Event) {
        if self.len > BATCH - LONGEST {
            self.hash_batch();
        }
        let Some(bytes) = self.batch[self.len..].first_chunk_mut() else { return };
        let mut r = Record { bytes, len: 0 };
        r.put(&event.time.to_le_bytes()).u32(event.cpu);
        match event.kind {
            EventKind::Fork { parent, child } => r.u8(0).task(parent).u32(child),
            EventKind::Exec { task } => r.u8(1).u32(task),
            EventKind::Exit { task } => r.u8(2).u32(task),
            EventKind::Waking { task, prev, .. } => r.u8(3).u32(task).u32(prev),
            EventKind::Decision(d) => {
                r.u8(4).u8(d.kind as u8).u32(d.task).u32(d.prev).u32(d.chosen);
                let rule = if self.rules { d.rule } else { 0 };
                r.put(&rule.to_le_bytes()).u32(d.probes).u32(d.group_cpus)
            }
            EventKind::Wakeup { task, target } => r.u8(5).u32(task).u32(target),
            EventKind::Migrate { task, from, to, cause } => r.u8(6).u32(task).u32(from).u32(to).u8(cause as u8),
            EventKind::Switch { prev, prev_state, next, cost: _ } => r.u8(7).task(prev).u8(prev_state as u8).task(next),
            EventKind::Stopper(starts) => r.u8(8).u8(starts.into()),
            EventKind::Idle { state } => r.u8(9).u8(state.unwrap_or(u8::MAX)),
            EventKind::Frequency { khz } => r.u8(10).u32(khz),
            EventKind::Balance(b) => {
                r.u8(12).u8(b.kind as u8).u8(b.level).u32(b.src).u32(b.dst).u8(b.unit as u8);
                let rule = if self.rules { b.rule } else { 0 };
                r.put(&b.amount.to_le_bytes()).put(&rule.to_le_bytes()).u32(b.moved).u8(b.active.into())
            }
            EventKind::Temperature { zone, milli_c } => r.u8(13).u8(zone).put(&milli_c.to_le_bytes()),
            EventKind::Cooling { state } => r.u8(14).u32(state),
            EventKind::Online(online) => r.u8(15).u8(online.into()),
            EventKind::Energy { .. } | EventKind::Clamps(_) | EventKind::Signals(_) => return,
            EventKind::UtilEst(_) | EventKind::Pick(_) | EventKind::Left(_) => return,
            EventKind::Mark { task, mark } => r.u8(11).u32(task).u8(mark_code(mark)),
        };
        self.len += r.len;
    }
}

fn mark_code(mark: Mark) -> u8 {
    match mark {
        Mark::Begin => 0,
        Mark::Steady => 1,
        Mark::Op => 2,
        Mark::End => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_counts_and_the_encoding_is_fixed() {
        let hash = |time, cpu, task| {
            let mut h = HashObserver::new();
            h.event(&Event { time, cpu, kind: EventKind::Exit { task } });
            h.hex()
        };
        let all = [hash(1, 2, 3), hash(2, 2, 3), hash(1, 3, 3), hash(1, 2, 4)];
        assert!((0..4).all(|i| (0..i).all(|j| all[i] != all[j])));
        // time 1, cpu 2, kind 2, task 3.
        let bytes = [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2, 3, 0, 0, 0];
        assert_eq!(all[0], format!("{:032x}", xxhash_rust::xxh3::xxh3_128(&bytes)));
    }

    #[test]
    fn a_long_stream_is_hashed_as_one_whatever_is_looked_at_on_the_way() {
        let (mut h, mut bytes) = (HashObserver::new(), Vec::new());
        for time in 0..1000u64 {
            h.event(&Event { time, cpu: 2, kind: EventKind::Exit { task: 3 } });
            bytes.extend(time.to_le_bytes());
            bytes.extend([2, 0, 0, 0, 2, 3, 0, 0, 0]);
            if time % 7 == 0 || bytes.len() > BATCH - LONGEST {
                assert_eq!(h.value(), xxhash_rust::xxh3::xxh3_128(&bytes));
            }
        }
    }
}
