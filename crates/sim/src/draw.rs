//! Counter-based random draws: a pure function of (seed, purpose, entity, n), so that two runs which diverge still
//! see the same value for the same use of the same thread.

use fairground_workload::Amount;

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
    fn amounts_stay_in_their_range_and_reach_both_ends() {
        let a = Amount { base: 10, jitter: 3 };
        assert_eq!(in_amount(a, 0), 10);
        assert_eq!(in_amount(a, u64::MAX), 13);
        assert_eq!(in_amount(Amount::fixed(7), u64::MAX), 7);
    }
}
