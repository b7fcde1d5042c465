//! Tarballs and device trees with bytes changed at random: a machine that its own file describes, or an error that names
//! the file. The changes are the same every time; FUZZ_RUNS says how many, for longer runs.

use fairground_machine::Machine;

use super::archives::Tarball;
use super::devicetree::{board, try_file};
use super::trees;

/// Changes for each input, unless FUZZ_RUNS says otherwise.
const RUNS: u64 = 400;

/// Numbers that look random (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 16) as usize % n.max(1)
    }
}

/// One to eight changes: a bit turned over, a byte set to one that means something, bytes copied, gone, or doubled.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    const TELLING: &[u8] =
        &[0, 1, 2, 3, 9, 0x7f, 0x80, 0xff, b'{', b'}', b'<', b'(', b'&', b';', b'/', b'"', b'9', b'.'];
    for _ in 0..=random.below(8) {
        let (at, from) = (random.below(bytes.len()), random.below(bytes.len()));
        let len = random.below(64).min(bytes.len() - at.max(from));
        match random.below(6) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = TELLING[random.below(TELLING.len())],
            2 => bytes.copy_within(from..from + len, at),
            3 => drop(bytes.drain(at..at + len)),
            4 => {
                let copy = bytes[from..from + len].to_vec();
                bytes.splice(at..at, copy);
            }
            _ => bytes.truncate(if random.below(8) == 0 { at.max(1) } else { bytes.len() }),
        }
    }
}

/// Headers of tar are looked at only if their checksums are right.
fn right_checksums(bytes: &mut [u8]) {
    for block in bytes.chunks_exact_mut(512).filter(|block| block[257..].starts_with(b"ustar")) {
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
}

fn runs() -> u64 {
    std::env::var("FUZZ_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(RUNS)
}

fn fuzz(name: &str, original: &[u8], like: &str, finish: impl Fn(&mut [u8])) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join(name);
    let mut machines = 0;
    for run in 1..=runs() {
        let mut bytes = original.to_vec();
        mutate(&mut bytes, &mut Random(run.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        finish(&mut bytes);
        std::fs::write(&path, &bytes).expect("a file");
        match try_file(&path, like) {
            Ok(captured) => {
                machines += 1;
                let again = Machine::from_toml("captured.toml", &captured.to_toml());
                assert_eq!(again.expect("a machine"), captured.machine, "run {run}");
            }
            Err(error) => assert!(error.to_string().contains(name), "run {run}: {error}"),
        }
    }
    assert!(machines > 0, "no change was harmless: nothing beyond the parser was reached");
}

#[test]
fn changed_sources() {
    fuzz("board.dts", &std::fs::read(board("big-little.dts")).expect("a board"), "hikey960", |_| {});
}

#[test]
fn changed_blobs() {
    fuzz("board.dtb", &std::fs::read(board("big-little.dtb")).expect("a board"), "hikey960", |_| {});
    fuzz("server.dtb", &std::fs::read(board("smt-server.dtb")).expect("a board"), "hikey960", |_| {});
}

#[test]
fn changed_tarballs() {
    let bytes = Tarball::of(&trees::two_nodes(), "sys").bytes();
    fuzz("machine.tar", &bytes, "hikey960", right_checksums);
}
