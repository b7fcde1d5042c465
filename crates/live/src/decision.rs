//! A placement that the scheduler in the kernel has recorded, and the command's own policy, asked about the same state.
//!
//! The programs decide on a copy of the machine, the task and the waker (`struct live_decision`). Here that copy is copied once
//! more, into the structs of the policy that simulations ask: the same source, built for 1,024 CPUs and by another compiler.

use std::ptr;

use fairground_fair::ffi::{fg_select_task_rq, FgSys, FgTask, FgVerdict, FgWake, FgWhy};

use crate::copy::{Allocator, Bytes, Copier};
use crate::structs::{member, member_in, number, size, Build};

/// What a placement came out with, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The CPU that was chosen.
    pub cpu: i32,
    /// The rule, `FG_RULE_*`.
    pub rule: u32,
    /// What the caller is to change, `FG_W_*`.
    pub writes: u32,
    /// The task's `recent_used_cpu` from then on.
    pub recent_used: i32,
    /// What `wake_affine` left, and its rule.
    pub target: (i32, u32),
    /// CPUs that were probed, that were scanned, whose groups' statistics were read, and whose energy was estimated.
    pub counts: [u32; 4],
}

impl From<FgVerdict> for Verdict {
    fn from(v: FgVerdict) -> Verdict {
        Verdict {
            cpu: v.cpu,
            rule: v.rule,
            writes: v.writes,
            recent_used: v.recent_used,
            target: (v.target, v.target_rule),
            counts: [v.probes, v.scanned, v.group_cpus, v.energy_cpus],
        }
    }
}

/// The arguments of a placement besides its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// Clock of the CPU that decides, ns.
    pub now: u64,
    /// The CPU that decides.
    pub this_cpu: i32,
    /// The task's previous CPU.
    pub prev: i32,
    /// The kernel's wake flags, `FG_WF_*`.
    pub flags: u32,
}

/// Asks the command's policy about recorded placements of one machine.
pub struct Replica {
    /// Memory of the copies, in which [`Self::decision`] is.
    _memory: Vec<u64>,
    /// The slot that the first copy was made of, and what it consisted of.
    first: usize,
    bytes: Vec<Bytes>,
    /// Where the copy of `live_decision` is.
    decision: usize,
    /// Whether the CPU that places was busy.
    has_current: bool,
}

impl Replica {
    /// For placements of the rings in which `slot` is. `machine_len`: bytes of a machine there. None: the copy finds no room.
    ///
    /// # Safety
    /// The address of a slot of a live arena.
    pub unsafe fn new(slot: usize, machine_len: usize) -> Option<Replica> {
        // A set of CPUs has sixteen words here and one there.
        let words = (size(number("live_decision"), Build::Large) + machine_len * 16) / 8 + 64;
        let mut memory = vec![0u64; words];
        let begin = (memory.as_mut_ptr() as usize).next_multiple_of(64);
        let end = memory.as_ptr() as usize + words * 8;
        let mut copier = Copier::new(Build::Small, Build::Large, Allocator::new(begin..end));
        // SAFETY: as the caller says; the loader wrote the slot's pointers, and nobody changes them.
        let decision = unsafe { copier.copy(number("live_decision"), slot) };
        let (allocator, bytes, _) = copier.into_parts();
        (!allocator.is_exhausted()).then_some(Replica {
            _memory: memory,
            first: slot,
            bytes,
            decision,
            has_current: false,
        })
    }

    /// Takes over the state of a slot.
    ///
    /// # Safety
    /// The address of a slot of the arena of [`Self::new`] that a program has filled.
    pub unsafe fn load(&mut self, slot: usize) {
        let distance = slot.wrapping_sub(self.first);
        for bytes in &self.bytes {
            // SAFETY: all slots are alike, so the originals are as far from each other as the slots.
            unsafe { bytes.copy(distance) };
        }
        let wake = member(number("live_decision"), "wake").offset + member(number("fg_wake"), "current").offset;
        // SAFETY: a pointer of the slot.
        self.has_current = unsafe { *((slot + wake) as *const u64) } != 0;
    }

    /// What the scheduler in the kernel has decided on the state that was loaded.
    pub fn recorded(&self) -> Verdict {
        // SAFETY: a struct of C within the copy, with no pointers.
        unsafe { ptr::read(self.at::<FgVerdict>("verdict")) }.into()
    }

    /// The arguments of that placement.
    pub fn arguments(&self) -> Arguments {
        // SAFETY: structs of C within the copy.
        let (wake, task) = unsafe { (&*self.at::<FgWake>("wake"), &*self.at::<FgTask>("task")) };
        Arguments { now: wake.now, this_cpu: wake.this_cpu, prev: task.cpu, flags: wake.flags }
    }

    /// What the command's policy decides on the same state. `why`: its reasons, if they are wanted.
    pub fn ask(&self, why: Option<&mut FgWhy>) -> Verdict {
        // SAFETY: structs of C within the copy, whose pointers point at others within it.
        unsafe {
            let sys = *self.at::<*const FgSys>("sys");
            let mut wake = ptr::read(self.at::<FgWake>("wake"));
            wake.current = if self.has_current { self.at("current") } else { ptr::null() };
            wake.why = why.map_or(ptr::null_mut(), |why| {
                (why.nr, why.lost) = (0, 0);
                ptr::from_mut(why)
            });
            let mut verdict = FgVerdict::zeroed();
            fg_select_task_rq(sys, self.at("task"), &raw const wake, &raw mut verdict);
            verdict.into()
        }
    }

    fn at<T>(&self, member: &str) -> *const T {
        (self.decision + offset(member)) as *const T
    }
}

/// Where a member of `live_decision` is in the copy.
fn offset(name: &str) -> usize {
    member_in(number("live_decision"), name, Build::Large).offset
}

#[cfg(test)]
mod tests {
    use fairground_fair::ffi::{FG_WF_FORK, FG_WF_TTWU};
    use fairground_fair::{Features, Placing, PolicySandbox};
    use fairground_machine::Machine;

    use super::*;
    use crate::arena::{pages, Arena, PAGE, START};
    use crate::structs::MAX_CPUS;

    /// Memory where an arena is.
    fn map() -> Arena {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE | libc::MAP_NORESERVE;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping where there is none.
        let at = unsafe { libc::mmap(START as *mut libc::c_void, pages() * PAGE, protection, flags, -1, 0) };
        assert_eq!(at as usize, START);
        // SAFETY: mapped; `fill` follows.
        unsafe { Arena::at_start() }
    }

    /// What `record_state` of calls.c does.
    fn record(arena: &Arena, slot: usize, sandbox: &mut PolicySandbox, placing: &Placing) {
        let word = |at: usize| at as *mut u64;
        let decision = number("live_decision");
        let machine = arena.head("machine") as usize;
        // SAFETY: structs of the arena that the test has filled.
        unsafe {
            let copy = *word(slot + member(decision, "machine").offset) as usize;
            for run in 0..arena.head("nr_runs") as usize {
                let run = arena.head("runs") as usize + run * 8;
                let (offset, words) = (*(run as *const u32) as usize, *((run + 4) as *const u32) as usize);
                ptr::copy_nonoverlapping(word(machine + offset), word(copy + offset), words);
            }
            let small = |task: u32, sandbox: &mut PolicySandbox, to: usize| {
                let mut memory = vec![0u64; 1024];
                let begin = (memory.as_mut_ptr() as usize).next_multiple_of(64);
                let mut copier = Copier::new(Build::Large, Build::Small, Allocator::new(begin..begin + 8000));
                let copy = copier.copy(number("fg_task"), ptr::from_mut(sandbox.task_mut(task)) as usize);
                ptr::copy_nonoverlapping(copy as *const u8, to as *mut u8, size(number("fg_task"), Build::Small));
            };
            small(placing.task, sandbox, slot + member(decision, "task").offset);
            let wake = slot + member(decision, "wake").offset;
            let in_wake = |name| wake + member(number("fg_wake"), name).offset;
            let current = slot + member(decision, "current").offset;
            *word(in_wake("current")) = placing.current.map_or(0, |_| current as u64);
            if let Some(task) = placing.current {
                small(task, sandbox, current);
            }
            *word(in_wake("now")) = placing.now;
            *(in_wake("this_cpu") as *mut i32) = placing.this_cpu as i32;
            *(in_wake("flags") as *mut u32) = placing.flags;
        }
    }

    #[test]
    fn a_placement_comes_out_on_copies_of_copies_as_on_the_original() {
        let arena = map();
        if MAX_CPUS >= 224 {
            let machine = Machine::preset("thunderx2-224").unwrap();
            let mut sandbox = PolicySandbox::new(&machine, &Features::parse("v6.12").unwrap(), 250).unwrap();
            // SAFETY: mapped, and no program uses it.
            unsafe { Arena::fill(&mut sandbox, &[], 1) }.unwrap();
            assert_eq!(arena.slots().len(), 224);
        }
        let mut rules = std::collections::BTreeSet::new();
        for (machine, sched) in [("hikey960", "v6.12"), ("hikey960", "v5.9"), ("rpi5", "v7.3")] {
            let machine = Machine::preset(machine).unwrap();
            let mut sandbox = PolicySandbox::new(&machine, &Features::parse(sched).unwrap(), 250).unwrap();
            let nr = machine.nr_cpus() as u32;
            let mut dice = 12345u64;
            let mut throw = |sides: u64| {
                dice = dice.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (dice >> 33) % sides
            };
            for round in 0..50 {
                for cpu in 0..nr {
                    let busy = throw(3) != 0;
                    let rq = sandbox.cpu_mut(cpu);
                    (rq.nr_running, rq.h_nr_running) = if busy { (1, 1) } else { (0, 0) };
                    rq.curr_is_idle = u8::from(!busy);
                    (rq.cfs.util_avg, rq.cfs.load_avg) = (throw(800), throw(3000));
                    (rq.clock, rq.clock_pelt) = (1_000_000_000, 1_000_000_000);
                }
                for task in 0..2 {
                    let t = sandbox.task_mut(task);
                    (t.cpu, t.recent_used) = (throw(nr.into()) as i32, throw(nr.into()) as i32);
                    (t.avg.util_avg, t.avg.load_avg) = (throw(500), throw(1024));
                    (t.weight, t.nr_allowed, t.flags) = (1024, nr, 0);
                    (t.uclamp_max, t.wakee_flips) = (1024, throw(40) as u32);
                    t.allowed = machine.all_cpus();
                }
                let this_cpu = throw(nr.into()) as u32;
                let flags = if round % 5 == 0 { FG_WF_FORK } else { FG_WF_TTWU };
                let current = (throw(2) == 0).then_some(1);
                let placing = Placing { task: 0, current, now: 1_000_000_000, this_cpu, flags };
                // SAFETY: mapped, and no program uses it.
                unsafe { Arena::fill(&mut sandbox, &[], 1) }.unwrap();
                let slots = arena.slots();
                let mut why = Box::new(FgWhy::zeroed());
                let want: Verdict = sandbox.select(&placing, Some(&mut why)).into();
                let notes = why.nr;
                // The plan is made of one slot and used for another.
                let slot = slots[round % slots.len()];
                record(&arena, slot, &mut sandbox, &placing);
                // SAFETY: slots of the arena.
                let replica = unsafe {
                    let mut replica = Replica::new(slots[0], arena.head("machine_len") as usize).unwrap();
                    replica.load(slot);
                    replica
                };
                assert_eq!(replica.ask(None), want, "{placing:?}");
                assert_eq!(replica.ask(Some(&mut why)), want);
                assert_eq!(why.nr, notes);
                assert_eq!(replica.arguments().prev, sandbox.task_mut(0).cpu);
                rules.insert(want.rule);
            }
        }
        assert!(rules.len() > 6, "{rules:?}");
        // Another process may look while the arena is filled anew.
        // SAFETY: mapped, and no program uses it.
        unsafe { ptr::write_bytes(Arena::HEAD as *mut u8, 0, crate::arena::PAGE) };
        assert_eq!((arena.nr_cpus(), arena.feature(0), arena.policy_cpu(3, "cpu_capacity", None)), (0, 0, 0));
        arena.set_feature(0, 1);
        assert!(arena.cpu(3, "placed").iter().all(|count| *count == 0));
    }
}
