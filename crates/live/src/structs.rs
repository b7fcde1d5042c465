//! The structs of `policy/fg.h` and `bpf/live.h` as data: names, types and places of their members, in the policy of
//! the command (`Build::Large`) and in that of the kernel (`Build::Small`), which is built for fewer CPUs.

use std::hash::{Hash, Hasher};

/// A struct of C.
pub struct Struct {
    /// Without `struct`.
    pub name: &'static str,
    /// In their order.
    pub members: &'static [Member],
}

/// A member of a struct.
pub struct Member {
    /// Name in C.
    pub name: &'static str,
    /// What it is, or its elements are.
    pub what: What,
}

/// What a member is. A number names a struct of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// An integer of any length.
    Number,
    /// A struct within the struct.
    Struct(usize),
    /// A pointer; none: to numbers.
    Pointer(Option<usize>),
}

include!(concat!(env!("OUT_DIR"), "/structs.rs"));

/// For how many CPUs the policy is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// [`MAX_CPUS`]: the programs in the kernel.
    Small,
    /// 1,024: the command.
    Large,
}

/// Where a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Bytes from the beginning of the struct.
    pub offset: usize,
    /// Bytes of the member, all elements of an array.
    pub len: usize,
}

fn rows(build: Build) -> &'static [u64] {
    // SAFETY: constant arrays of these lengths, written by build.rs from the same list as STRUCTS.
    match build {
        Build::Small => unsafe { &live_small },
        Build::Large => unsafe { &live_large },
    }
}

/// A number that differs between builds with other structs.
pub fn fingerprint() -> u64 {
    let names = STRUCTS.iter().flat_map(|s| s.members.iter().map(|member| member.name).chain([s.name]));
    let mut hash = std::hash::DefaultHasher::new();
    names.for_each(|name| name.hash(&mut hash));
    rows(Build::Small).hash(&mut hash);
    hash.finish()
}

/// The row of a struct in the tables of places: its size, followed by two for each member.
fn row(of: usize) -> usize {
    STRUCTS[..of].iter().map(|s| 1 + 2 * s.members.len()).sum()
}

/// The number of the struct of this name. Panics if there is none.
pub fn number(name: &str) -> usize {
    let at = STRUCTS.iter().position(|s| s.name == name);
    at.unwrap_or_else(|| panic!("no struct {name} in policy/fg.h and live.h"))
}

/// A struct of the table.
pub fn structure(of: usize) -> &'static Struct {
    &STRUCTS[of]
}

/// Bytes of a struct.
pub fn size(of: usize, build: Build) -> usize {
    rows(build)[row(of)] as usize
}

/// Where the `member`-th member of a struct is.
pub fn place(of: usize, member: usize, build: Build) -> Place {
    let at = row(of) + 1 + 2 * member;
    Place { offset: rows(build)[at] as usize, len: rows(build)[at + 1] as usize }
}

/// The same by name. Panics if the struct has no such member.
pub fn member_in(of: usize, name: &str, build: Build) -> Place {
    let at = STRUCTS[of].members.iter().position(|member| member.name == name);
    let at = at.unwrap_or_else(|| panic!("struct {} has no member {name}", STRUCTS[of].name));
    place(of, at, build)
}

/// The same in the kernel's build.
pub fn member(of: usize, name: &str) -> Place {
    member_in(of, name, Build::Small)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_builds_differ_by_their_sets_of_cpus_only() {
        let mask = number("fg_mask");
        assert_eq!((size(mask, Build::Small), size(mask, Build::Large)), (MAX_CPUS / 8, 128));
        let opp = number("fg_opp");
        assert_eq!(size(opp, Build::Small), size(opp, Build::Large));
        let task = number("fg_task");
        assert_eq!(size(task, Build::Large) - size(task, Build::Small), 128 - MAX_CPUS / 8);
        assert_eq!(member(number("live_task"), "fg"), Place { offset: 0, len: size(task, Build::Small) });
    }

    #[test]
    fn pointers_know_what_they_point_at() {
        let cpu = structure(number("fg_cpu"));
        let what = |name: &str| cpu.members.iter().find(|member| member.name == name).unwrap().what;
        assert_eq!(what("sd"), What::Pointer(Some(number("fg_domain"))));
        assert_eq!(what("llc_counts"), What::Pointer(None));
        assert_eq!(what("core"), What::Struct(number("fg_mask")));
        assert_eq!(what("nr_running"), What::Number);
    }
}
