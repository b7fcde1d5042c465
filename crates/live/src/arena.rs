//! Memory that the programs in the kernel and the command have at the same addresses, and what the loader puts there.
//!
//! Pages of an arena come into being when user space touches them; what a program writes to one that is not there is lost.
//! So the loader fills all of it with zeros first.

use std::collections::BTreeMap;

use fairground_fair::PolicySandbox;

use crate::structs::{fingerprint, member, number, place, size, structure, Build, What};
use crate::LiveError;

/// Bytes of a page.
pub const PAGE: usize = 4096;
/// Where an arena begins, in both address spaces. Its lower half is 0, so that the lower half of an address says which one
/// it is.
pub const START: usize = 1 << 36;
/// Tasks that have room.
pub const NR_TASKS: usize = 32_768;
/// Bytes for everything but tasks: the machine's structs.
const REST: usize = 4 << 20;

/// Pages of an arena.
pub fn pages() -> usize {
    (PAGE + REST + NR_TASKS * size(number("live_task"), Build::Small)).div_ceil(PAGE)
}

/// Addresses that are given out one after the other, each a multiple of a cache line. The first page stays empty: the
/// programs take an address whose lower half is 0 for null.
struct Allocator {
    next: usize,
    end: usize,
    /// More was asked for than there is. What was given out then is not to be used.
    exhausted: bool,
}

impl Allocator {
    fn take(&mut self, len: usize) -> usize {
        let at = self.next;
        let next = (at + len).next_multiple_of(64);
        if next > self.end {
            self.exhausted = true;
            return Arena::HEAD;
        }
        self.next = next;
        at
    }
}

/// Copies structs of the large build into an arena, as those of the small one, with all that they point at.
struct Copier {
    allocator: Allocator,
    /// What was or will be copied: where to, by address and struct.
    copies: BTreeMap<(usize, usize), usize>,
    /// What is to be copied: struct, from, to.
    waiting: Vec<(usize, usize, usize)>,
}

/// How many elements a pointer of a struct points at: the name of the member that says it.
const ARRAYS: [(&str, &str, &str); 2] = [("fg_sys", "cpus", "nr_cpus"), ("fg_em", "opps", "nr_opps")];
/// What the command keeps for itself: sums over groups, which the policy then reads from each CPU; and how processes and
/// task groups are kept.
const OMITTED: [(&str, &str); 6] = [
    ("fg_group", "sums"),
    ("fg_domain", "ring"),
    ("fg_cpu", "llc_counts"),
    ("fg_sys", "tgs"),
    ("fg_task", "process"),
    ("fg_wake", "why"),
];

impl Copier {
    /// Where `count` structs `of` will be that are at `from` now.
    fn copy(&mut self, of: usize, from: usize, count: usize) -> usize {
        if from == 0 {
            return 0;
        }
        if let Some(to) = self.copies.get(&(from, of)) {
            return *to;
        }
        let (small, large) = (size(of, Build::Small), size(of, Build::Large));
        let to = self.allocator.take(small * count);
        if self.allocator.exhausted {
            return 0;
        }
        for i in 0..count {
            self.copies.insert((from + i * large, of), to + i * small);
            self.waiting.push((of, from + i * large, to + i * small));
        }
        to
    }

    fn run(&mut self) {
        while let Some((of, from, to)) = self.waiting.pop() {
            self.members(of, from, to);
        }
    }

    fn members(&mut self, of: usize, from: usize, to: usize) {
        for (at, m) in structure(of).members.iter().enumerate() {
            let (large, small) = (place(of, at, Build::Large), place(of, at, Build::Small));
            let (from_at, to_at) = (from + large.offset, to + small.offset);
            match m.what {
                // SAFETY: `from` is a struct of the large build that the sandbox keeps alive, `to` is room for one of
                // the small build in the arena, and the C compiler says where their members are. Of arrays for CPUs,
                // the words and elements for those that there can be are copied.
                What::Number => unsafe {
                    let len = large.len.min(small.len);
                    std::ptr::copy_nonoverlapping(from_at as *const u8, to_at as *mut u8, len);
                },
                What::Struct(inner) => {
                    let (step, room) = (size(inner, Build::Large), size(inner, Build::Small));
                    for i in 0..(large.len / step).min(small.len / room) {
                        self.members(inner, from_at + i * step, to_at + i * room);
                    }
                }
                What::Pointer(target) => {
                    let target = target.filter(|_| !OMITTED.contains(&(structure(of).name, m.name)));
                    for i in 0..(large.len / 8).min(small.len / 8) {
                        // SAFETY: as above; pointers have 8 bytes.
                        let pointer = unsafe { *((from_at + i * 8) as *const usize) };
                        let count = elements(of, m.name, from);
                        let copied = target.map_or(0, |target| self.copy(target, pointer, count));
                        // SAFETY: as above.
                        unsafe { *((to_at + i * 8) as *mut usize) = copied };
                    }
                }
            }
        }
    }
}

/// How many structs the pointer `name` of the struct at `from` points at.
fn elements(of: usize, name: &str, from: usize) -> usize {
    let count = ARRAYS.iter().find(|(s, pointer, _)| (*s, *pointer) == (structure(of).name, name));
    let Some((_, _, count)) = count else { return 1 };
    let at = structure(of).members.iter().position(|member| member.name == *count);
    let at = at.unwrap_or_else(|| panic!("no member {count}"));
    // SAFETY: a u32 of a struct of the large build that the sandbox keeps alive.
    unsafe { *((from + place(of, at, Build::Large).offset) as *const u32) as usize }
}

/// Reads and writes the numbers of an arena that is mapped at [`START`]. Programs may write them meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Arena;

impl Arena {
    /// Where `live_head` is.
    pub const HEAD: usize = START + PAGE;

    /// Fills a fresh arena that is mapped at [`START`], [`pages`] long: the machine of `sandbox`, without a task.
    ///
    /// # Errors
    /// The machine needs more room.
    ///
    /// # Safety
    /// It is mapped there, writable, and no program uses it yet.
    pub unsafe fn fill(sandbox: &mut PolicySandbox) -> Result<Arena, LiveError> {
        let end = START + pages() * PAGE;
        // SAFETY: all of the mapping.
        unsafe { std::ptr::write_bytes(START as *mut u8, 0, end - START) };
        let slot = size(number("live_task"), Build::Small);
        let mut allocator = Allocator { next: Arena::HEAD, end: end - NR_TASKS * slot - PAGE, exhausted: false };
        // At HEAD.
        allocator.take(size(number("live_head"), Build::Small));
        let nr_cpus = sandbox.nr_cpus();
        let cpus = allocator.take(nr_cpus * size(number("live_cpu"), Build::Small));
        let mut copier = Copier { allocator, copies: BTreeMap::new(), waiting: Vec::new() };
        let sys = copier.copy(number("fg_sys"), std::ptr::from_mut(sandbox.sys_mut()) as usize, 1);
        copier.run();
        if copier.allocator.exhausted {
            return Err(LiveError::Machine(format!(
                "the machine has more domains or operating points than {REST} bytes hold"
            )));
        }
        let tasks = copier.allocator.next;
        let arena = Arena;
        let pointer = |name, value: usize| arena.set(arena.head_member(name), value as u64);
        pointer("sys", sys);
        pointer("cpus", cpus);
        pointer("tasks", tasks);
        pointer("free", tasks);
        pointer("nr_tasks", NR_TASKS);
        arena.set(arena.head_member("layout"), fingerprint());
        let own_disable = arena.head_member("own_disable") as *mut u32;
        // SAFETY: an aligned u32 of the arena.
        unsafe { own_disable.write_volatile(1) };
        let next_free = member(number("live_task"), "next_free").offset;
        for i in 0..NR_TASKS - 1 {
            arena.set(tasks + i * slot + next_free, (tasks + (i + 1) * slot) as u64);
        }
        Ok(arena)
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

    /// A number of `live_head`.
    pub fn head(&self, name: &str) -> u64 {
        self.get(self.head_member(name))
    }

    fn sys(&self) -> usize {
        self.head("sys") as usize
    }

    /// CPUs of the machine.
    pub fn nr_cpus(&self) -> usize {
        let at = self.sys() + member(number("fg_sys"), "nr_cpus").offset;
        // SAFETY: an aligned u32 of the arena.
        unsafe { (at as *const u32).read_volatile() as usize }
    }

    /// The numbers of a member of a CPU's `live_cpu`.
    pub fn cpu(&self, cpu: usize, name: &str) -> Vec<u64> {
        let of = number("live_cpu");
        let place = member(of, name);
        let at = self.head("cpus") as usize + cpu * size(of, Build::Small) + place.offset;
        (0..place.len / 8).map(|i| self.get(at + i * 8)).collect()
    }

    fn feature_at(&self, id: usize) -> *mut u8 {
        let values = member(number("fg_sys"), "feat");
        assert!(id < values.len, "feature {id}");
        (self.sys() + values.offset + id) as *mut u8
    }

    /// The value of a feature that is in force.
    pub fn feature(&self, id: usize) -> u8 {
        // SAFETY: a byte of the arena.
        unsafe { self.feature_at(id).read_volatile() }
    }

    /// Puts a value of a feature in force, from the next question to the policy on.
    pub fn set_feature(&self, id: usize, value: u8) {
        // SAFETY: a byte of the arena.
        unsafe { self.feature_at(id).write_volatile(value) }
    }
}
