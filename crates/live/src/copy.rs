//! Copies the policy's structs between its two builds: that of the command, for 1,024 CPUs, and that of the kernel, for fewer.
//!
//! Both differ in their sets of CPUs alone, and so in the places of what follows them. A copy goes member by member, and follows
//! pointers. What was copied is kept as a list of moves, so that the same structs can be copied again without a look at types.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::structs::{place, size, structure, Build, What};

/// Addresses that are given out one after the other, each a multiple of a cache line.
pub struct Allocator {
    next: usize,
    end: usize,
    /// More was asked for than there is. What was given out then is not to be used.
    exhausted: bool,
}

impl Allocator {
    /// Gives out `range`. Its beginning, a multiple of 64, is an address that may be written to even when nothing is left.
    pub fn new(range: Range<usize>) -> Allocator {
        Allocator { next: range.start, end: range.end, exhausted: false }
    }

    /// The address of `len` bytes.
    pub fn take(&mut self, len: usize) -> usize {
        let at = self.next;
        let next = (at + len).next_multiple_of(64);
        if next > self.end {
            self.exhausted = true;
            return at;
        }
        self.next = next;
        at
    }

    /// What is given out next.
    pub fn next(&self) -> usize {
        self.next
    }

    /// Whether more was asked for than there was.
    pub fn is_exhausted(&self) -> bool {
        self.exhausted
    }
}

/// Bytes that a copy consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes {
    /// Address of the original.
    pub from: usize,
    /// Address of the copy.
    pub to: usize,
    /// How many.
    pub len: usize,
}

/// Copies structs with all that they point at.
pub struct Copier {
    from: Build,
    to: Build,
    allocator: Allocator,
    /// What was or will be copied: where to, by address and struct.
    copies: BTreeMap<(usize, usize), usize>,
    /// What is to be copied: struct, from, to.
    waiting: Vec<(usize, usize, usize)>,
    /// All numbers, in the order in which they were copied.
    numbers: Vec<Bytes>,
    /// Addresses of all pointers of the copies.
    pointers: Vec<usize>,
}

/// How many elements a pointer of a struct points at: the name of the member that says it.
const ARRAYS: [(&str, &str, &str); 2] = [("fg_sys", "cpus", "nr_cpus"), ("fg_em", "opps", "nr_opps")];
/// Pointers that are null in copies: what the command keeps for itself (sums over groups, which the policy then reads from each
/// CPU; processes and task groups), and what belongs to a moment.
const OMITTED: [(&str, &str); 13] = [
    ("fg_group", "sums"),
    ("fg_domain", "ring"),
    ("fg_cpu", "llc_counts"),
    ("fg_cpu", "curr"),
    ("fg_queue", "next"),
    ("fg_queue", "last"),
    ("fg_queue", "skip"),
    ("fg_sys", "tgs"),
    ("fg_task", "process"),
    ("fg_task", "tg"),
    ("fg_wake", "why"),
    ("fg_wake", "current"),
    ("live_decision", "next"),
];

impl Copier {
    /// Copies from structs of one build to those of another, into the memory of `allocator`, which is zero.
    pub fn new(from: Build, to: Build, allocator: Allocator) -> Copier {
        let (copies, waiting) = (BTreeMap::new(), Vec::new());
        Copier { from, to, allocator, copies, waiting, numbers: Vec::new(), pointers: Vec::new() }
    }

    /// Copies the struct `of` (its number in the table) that is at `from`, with all that it points at. Where the copy is.
    ///
    /// # Safety
    /// There is such a struct, its pointers point at those that its type says or are null, and nobody writes pointers meanwhile.
    /// The allocator's memory may be written.
    pub unsafe fn copy(&mut self, of: usize, from: usize) -> usize {
        let to = self.enlist(of, from, 1);
        while let Some((of, from, to)) = self.waiting.pop() {
            if self.allocator.is_exhausted() {
                break;
            }
            self.members(of, from, to);
        }
        to
    }

    /// What is left of the memory, the bytes that were copied, and the addresses of the copies' pointers.
    pub fn into_parts(self) -> (Allocator, Vec<Bytes>, Vec<usize>) {
        (self.allocator, joined(self.numbers), self.pointers)
    }

    /// Where `count` structs `of` will be that are at `from` now.
    fn enlist(&mut self, of: usize, from: usize, count: usize) -> usize {
        if from == 0 {
            return 0;
        }
        if let Some(to) = self.copies.get(&(from, of)) {
            return *to;
        }
        let (step, room) = (size(of, self.from), size(of, self.to));
        let to = self.allocator.take(room * count);
        for i in 0..count {
            self.copies.insert((from + i * step, of), to + i * room);
            self.waiting.push((of, from + i * step, to + i * room));
        }
        to
    }

    fn members(&mut self, of: usize, from: usize, to: usize) {
        for (at, m) in structure(of).members.iter().enumerate() {
            let (there, here) = (place(of, at, self.from), place(of, at, self.to));
            let (from_at, to_at) = (from + there.offset, to + here.offset);
            match m.what {
                What::Number => {
                    // Of arrays for CPUs, the words and elements for those that both builds have.
                    let bytes = Bytes { from: from_at, to: to_at, len: there.len.min(here.len) };
                    // SAFETY: the caller's struct, room for one in the copy, and the C compiler says where members are.
                    unsafe { bytes.copy(0) };
                    self.numbers.push(bytes);
                }
                What::Struct(inner) => {
                    let (step, room) = (size(inner, self.from), size(inner, self.to));
                    for i in 0..(there.len / step).min(here.len / room) {
                        self.members(inner, from_at + i * step, to_at + i * room);
                    }
                }
                What::Pointer(target) => {
                    let target = target.filter(|_| !OMITTED.contains(&(structure(of).name, m.name)));
                    for i in 0..(there.len / 8).min(here.len / 8) {
                        // SAFETY: as above; pointers have 8 bytes.
                        let pointer = unsafe { *((from_at + i * 8) as *const usize) };
                        let count = self.elements(of, m.name, from);
                        let copied = target.map_or(0, |target| self.enlist(target, pointer, count));
                        // SAFETY: as above.
                        unsafe { *((to_at + i * 8) as *mut usize) = copied };
                        self.pointers.push(to_at + i * 8);
                    }
                }
            }
        }
    }

    /// How many structs the pointer `name` of the struct at `from` points at.
    fn elements(&self, of: usize, name: &str, from: usize) -> usize {
        let count = ARRAYS.iter().find(|(s, pointer, _)| (*s, *pointer) == (structure(of).name, name));
        let Some((_, _, count)) = count else { return 1 };
        let at = structure(of).members.iter().position(|member| member.name == *count);
        let at = at.unwrap_or_else(|| panic!("no member {count}"));
        // SAFETY: a u32 of the caller's struct.
        unsafe { *((from + place(of, at, self.from).offset) as *const u32) as usize }
    }
}

impl Bytes {
    /// Copies them, from an original that is `distance` bytes behind the one that the addresses say (modulo 2^64).
    ///
    /// # Safety
    /// Both may be used so.
    pub unsafe fn copy(&self, distance: usize) {
        let from = self.from.wrapping_add(distance);
        // SAFETY: as the caller says.
        unsafe { std::ptr::copy_nonoverlapping(from as *const u8, self.to as *mut u8, self.len) };
    }
}

/// The same bytes in as few pieces as they lie in.
fn joined(mut pieces: Vec<Bytes>) -> Vec<Bytes> {
    pieces.sort_by_key(|piece| piece.from);
    let mut joined: Vec<Bytes> = Vec::new();
    for piece in pieces {
        match joined.last_mut() {
            Some(last) if last.from + last.len == piece.from && last.to + last.len == piece.to => last.len += piece.len,
            _ => joined.push(piece),
        }
    }
    joined
}
