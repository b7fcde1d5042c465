//! Memory that the programs in the kernel and the command have at the same addresses, and what the loader puts there.
//!
//! Pages of an arena come into being when user space touches them; what a program writes to one that is not there is lost.
//! So the loader fills all of it with zeros first.

use fairground_fair::ffi::{FgIdleState, FG_FLAT_PICK};
use fairground_fair::PolicySandbox;
use fairground_host::thread_began;

use crate::copy::{Allocator, Copier};
use crate::recorder::What;
use crate::structs::{
    fingerprint, member, number, size, Build, Place, LIVE_GROUPS, LIVE_GROUP_DEPTHS, LIVE_IDLE_STATES, MAX_CPUS,
};
use crate::LiveError;

/// Bytes of a page.
pub const PAGE: usize = 4096;
/// Where an arena begins, in both address spaces. Its lower half is 0, so that the lower half of an address says which one
/// it is.
pub const START: usize = 1 << 36;
/// Tasks that have room.
pub const NR_TASKS: usize = 32_768;
/// Bytes for the machine's structs, and what describes them.
const MACHINE: usize = MAX_CPUS / 64 * (4 << 20);
/// Bytes for placements that are recorded and not yet read.
const DECISIONS: usize = MAX_CPUS / 64 * (16 << 20);
/// Task groups that have room.
const GROUPS: usize = LIVE_GROUP_DEPTHS * LIVE_GROUPS;
/// Most slots for them that a CPU has.
const MOST_SLOTS: usize = 256;

/// Pages of an arena.
pub fn pages() -> usize {
    (PAGE + MACHINE + NR_TASKS * size(number("live_task"), Build::Small) + groups_len(MAX_CPUS) + DECISIONS)
        .div_ceil(PAGE)
}

/// Bytes for the task groups of a machine.
fn groups_len(nr_cpus: usize) -> usize {
    let of = |name| size(number(name), Build::Small);
    (of("live_group") * GROUPS).next_multiple_of(64)
        + (of("fg_tg") * GROUPS).next_multiple_of(64)
        + (of("fg_tg_cpu") * nr_cpus).next_multiple_of(64) * GROUPS
}

/// Where `fg_sys` and all that it points at are.
struct Machine {
    begin: usize,
    end: usize,
}

impl Machine {
    /// Offset and number of words of what lies between pointers, which are sorted.
    fn runs(&self, pointers: &[usize]) -> Vec<(u32, u32)> {
        let mut runs = Vec::new();
        let mut begin = self.begin;
        for pointer in pointers.iter().copied().chain([self.end]) {
            if pointer > begin {
                runs.push(((begin - self.begin) as u32, ((pointer - begin) / 8) as u32));
            }
            begin = pointer + 8;
        }
        runs
    }
}

/// Reads and writes the numbers of an arena that is mapped at [`START`]. Programs may write them meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Arena;

impl Arena {
    /// Where `live_head` is.
    pub const HEAD: usize = START + PAGE;

    /// Fills an arena that is mapped at [`START`], [`pages`] long: the machine of `sandbox`, without a task.
    /// `idle_states`: of each CPU, none where there is no cpuidle. `starts`: the how manieth scheduler it is filled for.
    ///
    /// # Errors
    /// The machine needs more room.
    ///
    /// # Safety
    /// It is mapped there, writable, and no program uses it yet.
    pub unsafe fn fill(
        sandbox: &mut PolicySandbox,
        idle_states: &[Vec<FgIdleState>],
        starts: u64,
    ) -> Result<Arena, LiveError> {
        let end = START + pages() * PAGE;
        // SAFETY: all of the mapping.
        unsafe { std::ptr::write_bytes(START as *mut u8, 0, end - START) };
        // The first page stays empty: the programs take an address whose lower half is 0 for null.
        let mut allocator = Allocator::new(Arena::HEAD..Arena::HEAD + MACHINE);
        // At HEAD.
        allocator.take(size(number("live_head"), Build::Small));
        let cpus = allocator.take(sandbox.nr_cpus() * size(number("live_cpu"), Build::Small));
        let mut copier = Copier::new(Build::Large, Build::Small, allocator);
        let from = std::ptr::from_mut(sandbox.sys_mut()) as usize;
        // SAFETY: the sandbox's own structs, and memory of the arena.
        let sys = unsafe { copier.copy(number("fg_sys"), from) };
        let (mut allocator, _, mut pointers) = copier.into_parts();
        let machine = Machine { begin: sys, end: allocator.next() };
        pointers.sort_unstable();
        let runs = machine.runs(&pointers);
        let runs_at = allocator.take(runs.len() * 8);
        if allocator.is_exhausted() {
            return Err(LiveError::Machine(format!(
                "the machine has more domains or operating points than {MACHINE} bytes hold"
            )));
        }
        let arena = Arena;
        let slot = size(number("live_task"), Build::Small);
        let tasks = Arena::HEAD + MACHINE;
        let set = |name, value: usize| arena.set(arena.head_member(name), value as u64);
        set("sys", sys);
        set("cpus", cpus);
        set("tasks", tasks);
        set("free", tasks);
        set("nr_tasks", NR_TASKS);
        set("machine", machine.begin);
        set("machine_len", machine.end - machine.begin);
        set("runs", runs_at);
        set("nr_runs", runs.len());
        arena.set(arena.head_member("layout"), fingerprint());
        arena.set(arena.head_member("starts"), starts);
        arena.set_half(arena.head_member("own_disable"), 1);
        let next_free = member(number("live_task"), "next_free").offset;
        for i in 0..NR_TASKS - 1 {
            arena.set(tasks + i * slot + next_free, (tasks + (i + 1) * slot) as u64);
        }
        for (i, (offset, words)) in runs.into_iter().enumerate() {
            arena.set_half(runs_at + i * 8, offset);
            arena.set_half(runs_at + i * 8 + 4, words);
        }
        for (cpu, states) in idle_states.iter().enumerate() {
            arena.set_idle_states(cpu, states);
        }
        let groups = tasks + NR_TASKS * slot;
        let decisions = groups + groups_len(sandbox.nr_cpus());
        arena.make_slots(sandbox.nr_cpus(), decisions..end, &machine, &pointers);
        // Not in the copies of the machine that slots have.
        arena.make_groups(sandbox.nr_cpus(), groups..decisions);
        Ok(arena)
    }

    /// The idle states of a CPU by number, and behind them that it is in none.
    fn set_idle_states(&self, cpu: usize, states: &[FgIdleState]) {
        let none = FgIdleState { index: -1, ..FgIdleState::zeroed() };
        let states = &states[..states.len().min(LIVE_IDLE_STATES - 1)];
        self.set_half(self.cpu_member(cpu, "nr_idle_states"), states.len() as u32);
        let at = self.cpu_member(cpu, "idle_states") as *mut FgIdleState;
        for i in 0..LIVE_IDLE_STATES {
            // SAFETY: an array of this many in the arena, whose struct is the same in both builds.
            unsafe { at.add(i).write_volatile(states.get(i).unwrap_or(&none).clone()) };
        }
    }

    /// Task groups that cgroups can have, where the policy lets the tasks of all groups compete in one queue.
    fn make_groups(&self, nr_cpus: usize, room: std::ops::Range<usize>) {
        if self.feature(FG_FLAT_PICK) == 0 {
            return;
        }
        let (group, tg) = (number("live_group"), number("fg_tg"));
        let mut allocator = Allocator::new(room);
        let groups = allocator.take(GROUPS * size(group, Build::Small));
        let tgs = allocator.take(GROUPS * size(tg, Build::Small));
        for i in 0..GROUPS {
            let cpus = allocator.take(nr_cpus * size(number("fg_tg_cpu"), Build::Small));
            let at = tgs + i * size(tg, Build::Small);
            self.set(at + member(tg, "cpus").offset, cpus as u64);
            self.set(groups + i * size(group, Build::Small) + member(group, "tg").offset, at as u64);
        }
        assert!(!allocator.is_exhausted(), "groups_len");
        self.set(self.head("sys") as usize + member(number("fg_sys"), "tgs").offset, tgs as u64);
        self.set(self.head_member("groups"), groups as u64);
    }

    /// Rings of slots for placements that are recorded: each CPU has one.
    fn make_slots(&self, nr_cpus: usize, room: std::ops::Range<usize>, machine: &Machine, pointers: &[usize]) {
        let decision = number("live_decision");
        let len = size(decision, Build::Small).next_multiple_of(64);
        let step = (len + machine.end - machine.begin).next_multiple_of(64);
        let nr = ((room.end - room.start) / step / nr_cpus).min(MOST_SLOTS);
        self.set(self.head_member("nr_slots"), nr as u64);
        for cpu in 0..nr_cpus {
            let at = |slot: usize| room.start + (cpu * nr + slot % nr) * step;
            for slot in 0..nr {
                let (begin, copy) = (at(slot), at(slot) + len);
                self.set(begin + member(decision, "sys").offset, copy as u64);
                self.set(begin + member(decision, "machine").offset, copy as u64);
                self.set(begin + member(decision, "next").offset, at(slot + 1) as u64);
                self.set_half(begin + member(decision, "wakes").offset, u32::from(slot % nr.div_ceil(2) == 0));
                // The machine as it is before it starts: pointers that do not change, and numbers that say how many there are.
                // SAFETY: both within the arena, and no program uses it yet.
                unsafe {
                    let len = machine.end - machine.begin;
                    std::ptr::copy_nonoverlapping(machine.begin as *const u8, copy as *mut u8, len);
                }
                for pointer in pointers {
                    let to = self.get(*pointer) as usize;
                    if to != 0 {
                        self.set(copy + pointer - machine.begin, (copy + to - machine.begin) as u64);
                    }
                }
            }
            if nr > 0 {
                self.set(self.cpu_member(cpu, "slot"), at(0) as u64);
            }
        }
    }

    /// Addresses of all slots for placements that are recorded.
    pub fn slots(&self) -> Vec<usize> {
        let decision = number("live_decision");
        let mut all = Vec::new();
        for cpu in 0..self.nr_cpus() {
            let mut slot = self.cpu(cpu, "slot")[0] as usize;
            for _ in 0..self.head("nr_slots") {
                all.push(slot);
                slot = self.get(slot + member(decision, "next").offset) as usize;
            }
        }
        all
    }

    /// Gives a slot back.
    pub fn release(&self, slot: usize) {
        // What was read of it was read before.
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        self.set_half(slot + member(number("live_decision"), "taken").offset, 0);
    }

    /// The process that records; 0: none does.
    pub fn recorder(&self) -> u32 {
        // SAFETY: an aligned u32 of the arena.
        unsafe { (self.head_member("recorder") as *const u32).read_volatile() }
    }

    /// Says which process records, and what.
    pub fn set_recorder(&self, pid: u32, what: What) {
        self.set_half(self.head_member("records_picks"), u32::from(what.picks));
        self.set_half(self.head_member("records_state"), u32::from(what.state));
        self.set(self.head_member("recorder_began"), thread_began(pid).unwrap_or(0));
        self.set_half(self.head_member("recorder"), pid);
    }

    /// The process `pid` does not record any more.
    pub fn end_recorder(&self, pid: u32) {
        if self.recorder() != pid {
            return;
        }
        self.set_recorder(0, What { picks: false, state: false });
    }

    /// The arena of a scheduler that runs.
    ///
    /// # Safety
    /// [`Arena::fill`] has filled it, and it is mapped at [`START`].
    pub unsafe fn at_start() -> Arena {
        Arena
    }

    /// Whether this build knows its layout.
    pub fn is_of_this_build(&self) -> bool {
        self.head("layout") == fingerprint()
    }

    fn head_member(&self, name: &str) -> usize {
        Arena::HEAD + member(number("live_head"), name).offset
    }

    fn get(&self, at: usize) -> u64 {
        // SAFETY: an aligned u64 of the arena.
        unsafe { (at as *const u64).read_volatile() }
    }

    fn set(&self, at: usize, value: u64) {
        // SAFETY: an aligned u64 of the arena.
        unsafe { (at as *mut u64).write_volatile(value) }
    }

    fn set_half(&self, at: usize, value: u32) {
        // SAFETY: an aligned u32 of the arena.
        unsafe { (at as *mut u32).write_volatile(value) }
    }

    /// A number of `live_head`.
    pub fn head(&self, name: &str) -> u64 {
        self.get(self.head_member(name))
    }

    /// Where `fg_sys` is; none while the process that started the scheduler fills the arena anew.
    fn sys(&self) -> Option<usize> {
        Some(self.head("sys") as usize).filter(|at| *at != 0)
    }

    /// CPUs of the machine; 0 while the arena is filled anew.
    pub fn nr_cpus(&self) -> usize {
        let Some(sys) = self.sys() else { return 0 };
        let at = sys + member(number("fg_sys"), "nr_cpus").offset;
        // SAFETY: an aligned u32 of the arena.
        unsafe { (at as *const u32).read_volatile() as usize }
    }

    /// Where a member of a CPU's `live_cpu` is. While the arena is filled anew it is [`Arena::HEAD`]: within the mapping, and only to be read.
    fn cpu_member(&self, cpu: usize, name: &str) -> usize {
        let of = number("live_cpu");
        let cpus = self.head("cpus") as usize;
        if cpus == 0 {
            return Arena::HEAD;
        }
        cpus + cpu * size(of, Build::Small) + member(of, name).offset
    }

    /// The numbers of a member of a CPU's `live_cpu`.
    pub fn cpu(&self, cpu: usize, name: &str) -> Vec<u64> {
        let len = member(number("live_cpu"), name).len;
        let at = self.cpu_member(cpu, name);
        (0..len / 8).map(|i| self.get(at + i * 8)).collect()
    }

    /// A number of a CPU's `fg_cpu`, of 4 or 8 bytes: a member, or one of a struct within it. 0 while the arena is filled anew.
    ///
    /// Panics if there is no such member.
    pub fn policy_cpu(&self, cpu: usize, name: &str, within: Option<(&str, &str)>) -> u64 {
        let of = number("fg_cpu");
        let mut place = member(of, name);
        if let Some((inner, name)) = within {
            let inner = member(number(inner), name);
            place = Place { offset: place.offset + inner.offset, len: inner.len };
        }
        let cpus = self.sys().map_or(0, |sys| self.get(sys + member(number("fg_sys"), "cpus").offset) as usize);
        if cpus == 0 {
            return 0;
        }
        let at = cpus + cpu * size(of, Build::Small) + place.offset;
        match place.len {
            // SAFETY: an aligned u32 of the arena.
            4 => unsafe { u64::from((at as *const u32).read_volatile()) },
            _ => self.get(at),
        }
    }

    fn feature_at(&self, id: usize) -> Option<*mut u8> {
        let values = member(number("fg_sys"), "feat");
        assert!(id < values.len, "feature {id}");
        Some((self.sys()? + values.offset + id) as *mut u8)
    }

    /// The value of a feature that is in force; 0 while the arena is filled anew.
    pub fn feature(&self, id: usize) -> u8 {
        // SAFETY: a byte of the arena.
        self.feature_at(id).map_or(0, |at| unsafe { at.read_volatile() })
    }

    /// Puts a value of a feature in force, from the next question to the policy on; not while the arena is filled anew.
    pub fn set_feature(&self, id: usize, value: u8) {
        if let Some(at) = self.feature_at(id) {
            // SAFETY: a byte of the arena.
            unsafe { at.write_volatile(value) }
        }
    }
}
