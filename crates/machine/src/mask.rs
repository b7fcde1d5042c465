//! Sets of CPUs, laid out as the C policy reads them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{CpuId, NR_CPUS};

/// Words in a [`CpuMask`].
pub const MASK_WORDS: usize = NR_CPUS / 64;

/// A set of CPU ids below [`NR_CPUS`]. Same layout as `struct fg_mask` of the policy.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CpuMask {
    bits: [u64; MASK_WORDS],
}

impl CpuMask {
    /// The set without any CPU.
    pub const EMPTY: CpuMask = CpuMask { bits: [0; MASK_WORDS] };

    /// The CPUs `0..n`. `n` above [`NR_CPUS`] is cut to it.
    pub fn first_n(n: usize) -> Self {
        (0..n.min(NR_CPUS) as CpuId).collect()
    }

    /// The set of one CPU. Panics if `cpu >= NR_CPUS`.
    pub fn single(cpu: CpuId) -> Self {
        std::iter::once(cpu).collect()
    }

    /// Adds `cpu`. Panics if `cpu >= NR_CPUS`.
    pub fn set(&mut self, cpu: CpuId) {
        self.bits[cpu as usize / 64] |= 1 << (cpu % 64);
    }

    /// Removes `cpu`. Panics if `cpu >= NR_CPUS`.
    pub fn clear(&mut self, cpu: CpuId) {
        self.bits[cpu as usize / 64] &= !(1 << (cpu % 64));
    }

    /// Whether `cpu` is a member; false for ids of no CPU.
    pub fn test(&self, cpu: CpuId) -> bool {
        self.bits.get(cpu as usize / 64).is_some_and(|w| w >> (cpu % 64) & 1 == 1)
    }

    /// Number of CPUs in the set.
    pub fn count(&self) -> usize {
        self.bits.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Whether the mask is empty.
    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|w| *w == 0)
    }

    /// The lowest CPU id; none if the set is empty.
    pub fn first(&self) -> Option<CpuId> {
        self.iter().next()
    }

    /// The CPUs that are in both sets.
    pub fn and(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    /// The CPUs that are in at least one of the sets.
    pub fn or(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    /// Members of this set that are not in the other.
    pub fn minus(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }

    /// Whether every member is in the other set.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.minus(other).is_empty()
    }

    /// Whether the sets share a member.
    pub fn intersects(&self, other: &Self) -> bool {
        !self.and(other).is_empty()
    }

    /// The CPUs of the set in increasing order.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        self.bits.iter().enumerate().flat_map(|(i, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                if rest == 0 {
                    return None;
                }
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                Some(i as CpuId * 64 + bit)
            })
        })
    }

    /// The first member from `start` on.
    pub fn next_from(&self, start: CpuId) -> Option<CpuId> {
        let at = start as usize / 64;
        let rest = self.bits.get(at)? & (u64::MAX << (start % 64));
        if rest != 0 {
            return Some(at as CpuId * 64 + rest.trailing_zeros());
        }
        let after = (at + 1..self.bits.len()).find(|word| self.bits[*word] != 0)?;
        Some(after as CpuId * 64 + self.bits[after].trailing_zeros())
    }

    /// Members in increasing order from the first id `>= start`, then from 0.
    pub fn iter_wrap(&self, start: CpuId) -> impl Iterator<Item = CpuId> + '_ {
        self.iter().filter(move |c| *c >= start).chain(self.iter().take_while(move |c| *c < start))
    }

    /// Reads the kernel's list format: `0-3,7`. An empty string is the empty set.
    ///
    /// # Errors
    /// The piece that is not a number or range, or that exceeds [`NR_CPUS`].
    pub fn parse_list(text: &str) -> Result<Self, String> {
        let mut mask = Self::EMPTY;
        for piece in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let (lo, hi) = piece.split_once('-').unwrap_or((piece, piece));
            let parse = |s: &str| s.trim().parse::<CpuId>().map_err(|_| piece.to_string());
            let (lo, hi) = (parse(lo)?, parse(hi)?);
            if lo > hi || hi as usize >= NR_CPUS {
                return Err(piece.to_string());
            }
            (lo..=hi).for_each(|c| mask.set(c));
        }
        Ok(mask)
    }

    fn zip(&self, other: &Self, f: impl Fn(u64, u64) -> u64) -> Self {
        CpuMask { bits: std::array::from_fn(|i| f(self.bits[i], other.bits[i])) }
    }
}

impl FromIterator<CpuId> for CpuMask {
    fn from_iter<I: IntoIterator<Item = CpuId>>(iter: I) -> Self {
        let mut mask = Self::EMPTY;
        iter.into_iter().for_each(|c| mask.set(c));
        mask
    }
}

/// A mask is written in the kernel's list format, `0-3,7`.
impl fmt::Display for CpuMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut members = self.iter().peekable();
        let mut sep = "";
        while let Some(lo) = members.next() {
            let mut hi = lo;
            while members.next_if_eq(&(hi + 1)).is_some() {
                hi += 1;
            }
            if lo == hi {
                write!(f, "{sep}{lo}")?;
            } else {
                write!(f, "{sep}{lo}-{hi}")?;
            }
            sep = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for CpuMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuMask({self})")
    }
}

impl Default for CpuMask {
    fn default() -> Self {
        Self::EMPTY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_format_round_trips() {
        for text in ["", "0", "0-3,7", "63-64,1023"] {
            assert_eq!(CpuMask::parse_list(text).unwrap().to_string(), text);
        }
        for bad in ["3-1", "1024", "a", "1-", "-"] {
            assert!(CpuMask::parse_list(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn wrapping_starts_at_the_first_id_not_below_start() {
        let m = CpuMask::parse_list("1,4,6").unwrap();
        assert_eq!(m.iter_wrap(4).collect::<Vec<_>>(), [4, 6, 1]);
        assert_eq!(m.iter_wrap(7).collect::<Vec<_>>(), [1, 4, 6]);
        assert!(!m.test(5000));
    }

    #[test]
    fn the_next_member_may_be_in_another_word() {
        let m = CpuMask::parse_list("1,64,1023").unwrap();
        let next = [0, 1, 2, 64, 65, 1023, 1024, CpuId::MAX].map(|start| m.next_from(start));
        assert_eq!(next, [Some(1), Some(1), Some(64), Some(64), Some(1023), Some(1023), None, None]);
    }
}
