//! Changes at random.

/// Numbers that look random and are the same for the same seed (SplitMix64, Steele et al. 2014).
pub struct Draws(u64);

impl Draws {
    /// For a seed.
    pub fn new(seed: u64) -> Draws {
        Draws(seed.wrapping_mul(0xd134_2543_de82_ef95))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 if there is none.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Where counting goes wrong.
const NUMBERS: [u64; 16] = [
    0,
    1,
    7,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x10_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 40,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];

/// As they stand in texts.
const WRITTEN: [&str; 14] = [
    "0",
    "-1",
    "00",
    "1e9",
    "0.1",
    ".",
    "65536",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999",
];

/// Bytes of a stretch that is taken out, copied or moved.
const STRETCH: usize = 80;

/// The input of a run: one of the seeds with one to eight changes, `words` being what changes may put in.
pub fn changed(seeds: &[Vec<u8>], words: &[&str], run: u64) -> Vec<u8> {
    let mut draws = Draws::new(run);
    let mut bytes = seeds[draws.below(seeds.len())].clone();
    let mut at = draws.below(bytes.len());
    for _ in 0..=draws.below(8) {
        // Half of the changes come close to the one before.
        at = match draws.below(2) {
            0 => draws.below(bytes.len()),
            _ => (at + draws.below(STRETCH)).min(bytes.len()),
        };
        change(&mut bytes, at, seeds, words, &mut draws);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, at: usize, seeds: &[Vec<u8>], words: &[&str], draws: &mut Draws) {
    let end = (at + 1 + draws.below(STRETCH)).min(bytes.len());
    let at = at.min(end);
    match draws.below(12) {
        0 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << draws.below(8)),
        1 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = draws.below(256) as u8),
        2 | 3 => overwrite(bytes, at, draws),
        4 => drop(bytes.drain(at..end)),
        5 => {
            let stretch = bytes[at..end].to_vec();
            let to = draws.below(bytes.len() + 1);
            bytes.splice(to..to, stretch);
        }
        6 => {
            let other = &seeds[draws.below(seeds.len())];
            let from = draws.below(other.len());
            let until = (from + draws.below(STRETCH)).min(other.len());
            drop(bytes.splice(at..at, other[from..until].iter().copied()));
        }
        7 | 8 => {
            let word = words.get(draws.below(words.len())).unwrap_or(&"");
            drop(bytes.splice(at..at, word.bytes()));
        }
        9 | 10 => rewrite_number(bytes, at, draws),
        // Seldom: whatever comes behind is not tried.
        _ if draws.below(8) == 0 => bytes.truncate(at),
        _ => {}
    }
}

/// Sets a number of 1, 2, 4 or 8 bytes, of either order.
fn overwrite(bytes: &mut [u8], at: usize, draws: &mut Draws) {
    let n = NUMBERS[draws.below(NUMBERS.len())].wrapping_add(draws.below(3) as u64).wrapping_sub(1);
    let size = 1 << draws.below(4);
    let number = match draws.below(2) {
        0 => n.to_le_bytes()[..size].to_vec(),
        _ => n.to_be_bytes()[8 - size..].to_vec(),
    };
    bytes.iter_mut().skip(at).zip(number).for_each(|(byte, new)| *byte = new);
}

/// Writes another number in the place of the next one that is written in digits.
fn rewrite_number(bytes: &mut Vec<u8>, at: usize, draws: &mut Draws) {
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let Some(start) = bytes.iter().skip(at).take(STRETCH).position(is_digit).map(|n| at + n) else { return };
    let len = bytes[start..].iter().take_while(|byte| is_digit(byte)).count();
    let number = match draws.below(3) {
        0 => draws.below(3000).to_string(),
        _ => WRITTEN[draws.below(WRITTEN.len())].to_owned(),
    };
    bytes.splice(start..start + len, number.bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_one_input_and_others_have_others() {
        let seeds = [b"one 12 two".to_vec(), b"three".to_vec()];
        let all: Vec<_> = (0..100).map(|run| changed(&seeds, &["{"], run)).collect();
        assert_eq!(all, (0..100).map(|run| changed(&seeds, &["{"], run)).collect::<Vec<_>>());
        assert!(all.iter().collect::<std::collections::BTreeSet<_>>().len() > 80);
    }

    #[test]
    fn seeds_of_no_bytes_can_be_changed() {
        (0..1000).for_each(|run| drop(changed(&[vec![]], &[], run)));
    }
}
