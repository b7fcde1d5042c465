//! Counter-based random draws: a pure function of (seed, purpose, entity, n), so that two runs which diverge still
//! see the same value for the same use of the same thread.

use fairground_workload::{Amount, ClampOdds};

/// What a draw is for. Part of the key: two purposes never share a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// An [`Amount`] in a program; entity = the thread's lineage key.
    Program = 1,
    /// Period of a device interrupt; entity = index of the source.
    DevicePeriod = 2,
    /// Time in a device's handler; entity = index of the source.
    DeviceBusy = 3,
    /// When, within a tick, the workload starts.
    StartPhase = 4,
    /// Identity of a thread from its parent's and its birth order.
    Lineage = 5,
    /// Spread of one software step; entity = the thread's lineage key.
    StepCost = 6,
    /// Whether newly idle balancing looks at a domain (newidle-fail=random); entity = the CPU.
    NewIdle = 7,
    /// When the first period of a group's quota (cpu.max) ends; entity = the group.
    QuotaPeriod = 8,
    /// By what factor a wake of a CPU takes longer than usual, and whether it comes late; entity = the CPU.
    Wake = 9,
    /// Steady tasks of a state that is judged; entity = its number.
    Steady = 16,
}

/// SplitMix64's finaliser: every input bit reaches every output bit.
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The draw number `n` of `entity` for `purpose`, uniform over all u64.
pub fn draw(seed: u64, purpose: Purpose, entity: u64, n: u64) -> u64 {
    mix(mix(mix(seed.wrapping_add(purpose as u64)) ^ entity) ^ n)
}

/// Turns a raw draw into a value of `amount`, uniform in `base..=base + jitter` up to a bias of 2^-64 x jitter.
pub fn in_amount(amount: Amount, raw: u64) -> u64 {
    let width = u128::from(amount.jitter) + 1;
    amount.base.saturating_add(((u128::from(raw) * width) >> 64) as u64)
}

/// The lineage key of thread number `n` of start number `start` of a workload.
pub fn lineage_of_start(seed: u64, start: u32, n: u32) -> u64 {
    draw(seed, Purpose::Lineage, u64::from(start) << 32 | u64::from(n), 0)
}

/// The lineage key of the child that a thread of lineage `parent` creates as its `nth`, from 1.
pub fn lineage_of_child(seed: u64, parent: u64, nth: u64) -> u64 {
    draw(seed, Purpose::Lineage, parent, nth)
}

/// What the `nth` amount, from 1, comes to that the program of a thread of this lineage uses. An amount without jitter
/// counts as a use.
pub fn program_amount(seed: u64, lineage: u64, nth: u64, amount: Amount) -> u64 {
    if amount.jitter == 0 {
        return amount.base;
    }
    in_amount(amount, draw(seed, Purpose::Program, lineage, nth))
}

/// As [`program_amount`], the floor that the `nth` use gives; `odds` is not empty.
pub fn program_floor(seed: u64, lineage: u64, nth: u64, odds: &[ClampOdds]) -> u16 {
    let all: u64 = odds.iter().map(|o| u64::from(o.weight)).sum();
    floor_of(odds, program_amount(seed, lineage, nth, Amount { base: 0, jitter: all - 1 }))
}

/// The floor that a number below the sum of all weights falls on.
fn floor_of(odds: &[ClampOdds], drawn: u64) -> u16 {
    let mut end = 0;
    let found = odds.iter().find(|o| {
        end += u64::from(o.weight);
        drawn < end
    });
    found.map_or_else(|| unreachable!("validated: {drawn} is below the sum of the weights"), |o| o.uclamp_min)
}

/// A price spread uniformly over `1 - jitter .. 1 + jitter` of itself; `jitter_q20`: at most 2^20.
pub fn jittered(price: u64, jitter_q20: u64, raw: u64) -> u64 {
    let half = ((u128::from(price) * u128::from(jitter_q20)) >> 20) as u64;
    in_amount(Amount { base: price - half, jitter: 2 * half }, raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_depend_on_every_part_of_the_key() {
        let base = draw(1, Purpose::Program, 2, 3);
        assert_eq!(base, draw(1, Purpose::Program, 2, 3));
        for other in [
            draw(2, Purpose::Program, 2, 3),
            draw(1, Purpose::DeviceBusy, 2, 3),
            draw(1, Purpose::Program, 3, 3),
            draw(1, Purpose::Program, 2, 4),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn a_spread_price_reaches_both_ends_and_no_further() {
        let tenth = (1 << 20) / 10;
        assert_eq!(jittered(1 << 20, tenth, 0), (1 << 20) - tenth);
        assert_eq!(jittered(1 << 20, tenth, u64::MAX), (1 << 20) + tenth);
        assert_eq!(jittered(1000, 0, 77), 1000);
        assert_eq!(jittered(1000, 1 << 20, 0), 0);
    }

    #[test]
    fn amounts_stay_in_their_range_and_reach_both_ends() {
        let a = Amount { base: 10, jitter: 3 };
        assert_eq!(in_amount(a, 0), 10);
        assert_eq!(in_amount(a, u64::MAX), 13);
        assert_eq!(in_amount(Amount::fixed(7), u64::MAX), 7);
    }
}
