//! Damaged stores: a store returns no wrong result, and loses none without a message. `FAIRGROUND_DAMAGES`: number of
//! damaged stores.

use std::fs;
use std::path::Path;

use fairground_run::batch::RunReport;
use fairground_run::key::Key;
use fairground_run::metrics::{Better, Metric, MetricValue};
use fairground_run::store::{Lookup, Record, Store};

const RESULTS: u64 = 60;

fn key(n: u64) -> Key {
    Key::of_parts(&[b"damage", &n.to_le_bytes()])
}

fn record(n: u64) -> Record {
    let metric = |i| Metric::new(format!("m{i}_us"), "us", Better::Lower, "m".repeat(40));
    let value = |i| MetricValue { metric: metric(i), value: (n * 100 + i) as f64 / 3.0 };
    let metrics = (0..20 + n % 3).map(value).collect();
    let report = RunReport { metrics, hash: u128::from(n) << 90, notes: vec![format!("note {n}")] };
    let outcome = if n % 10 == 9 { Err(format!("task {n} lost")) } else { Ok(report) };
    Record { what: format!("run {n}"), wall_ns: n, outcome }
}

/// Random numbers.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten().filter(|e| !e.file_name().to_string_lossy().ends_with("-shm")) {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Damages a file at random. Returns a description.
fn damage(dir: &Path, draws: &mut Draws) -> String {
    let mut files: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files.retain(|file| fs::metadata(file).unwrap().len() > 0);
    let file = &files[draws.below(files.len())];
    let mut bytes = fs::read(file).unwrap();
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let at = draws.below(bytes.len());
    let words = match draws.below(5) {
        0 => {
            bytes.truncate(at);
            format!("{name} cut to {at} bytes")
        }
        1 => {
            let end = (at + 1 + draws.below(4096)).min(bytes.len());
            bytes[at..end].fill(0);
            format!("{name} zeroed from {at} to {end}")
        }
        2 if bytes.len() > 8192 => {
            let (a, b) = (draws.below(bytes.len() / 4096) * 4096, draws.below(bytes.len() / 4096) * 4096);
            (0..4096.min(bytes.len() - a.max(b))).for_each(|i| bytes.swap(a + i, b + i));
            format!("{name}: pages at {a} and {b} swapped")
        }
        3 if name == "results.sqlite" => {
            // Swaps two results, which a disk error would not do.
            let db = rusqlite::Connection::open(file).unwrap();
            let (a, b) = (1 + draws.below(RESULTS as usize) as i64, 1 + draws.below(RESULTS as usize) as i64);
            let swap =
                "UPDATE results SET content = (SELECT content FROM results r WHERE r.id = ?1 + ?2 - results.id) \
                        WHERE id IN (?1, ?2)";
            return match db.execute(swap, [a, b]) {
                Ok(_) => format!("results {a} and {b} swapped"),
                Err(e) => format!("nothing: {e}"),
            };
        }
        _ => {
            let n = 1 + draws.below(8);
            for _ in 0..n {
                let at = draws.below(bytes.len());
                bytes[at] ^= 1 << draws.below(8);
            }
            format!("{n} bits of {name} flipped")
        }
    };
    fs::write(file, bytes).unwrap();
    words
}

#[test]
fn a_damaged_store_returns_nothing_wrong_and_loses_nothing_without_a_message() {
    let damages: u64 = std::env::var("FAIRGROUND_DAMAGES").map_or(40, |n| n.parse().unwrap());
    let home = tempfile::tempdir().unwrap();
    let at_rest = home.path().join("at rest");
    // One store was closed. The other has its last results in the write-ahead log alone, as if its process was killed.
    let store = Store::open(&at_rest).unwrap();
    (0..RESULTS / 2).for_each(|n| store.put(key(n), &record(n)).unwrap());
    drop(store);
    let killed = home.path().join("killed");
    let working = home.path().join("working");
    copy(&at_rest, &working);
    let stores = [Store::open(&at_rest).unwrap(), Store::open(&working).unwrap()];
    stores.iter().for_each(|store| (RESULTS / 2..RESULTS).for_each(|n| store.put(key(n), &record(n)).unwrap()));
    copy(&working, &killed);
    drop(stores);
    assert!(fs::metadata(killed.join("results.sqlite-wal")).unwrap().len() > 0);

    let (mut refused, mut lost, mut whole) = (0, 0, 0);
    for seed in 1..=damages {
        let mut draws = Draws(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let dir = home.path().join("damaged");
        let _ = fs::remove_dir_all(&dir);
        copy(if seed % 2 == 0 { &at_rest } else { &killed }, &dir);
        let done = damage(&dir, &mut draws);
        let store = match Store::open(&dir) {
            Ok(store) => store,
            Err(error) => {
                assert!(error.to_string().contains(dir.to_str().unwrap()), "seed {seed}, {done}: {error}");
                refused += 1;
                continue;
            }
        };
        let mut reported = !store.warnings().is_empty();
        let mut gone = Vec::new();
        for n in 0..RESULTS {
            match store.get(key(n)) {
                Lookup::Found(found) => assert_eq!(found, record(n), "seed {seed}, {done}"),
                Lookup::Missing => gone.push(n),
                Lookup::Damaged(_) => {
                    reported = true;
                    gone.push(n);
                }
            }
        }
        assert!(gone.is_empty() || reported, "seed {seed}, {done}: results {gone:?} are gone without a message");
        if gone.is_empty() {
            whole += 1;
        } else {
            lost += 1;
        }
        // The lost runs are made again. If the database cannot be written, an error is returned, and the next opening
        // repairs the database.
        let again = gone.iter().try_for_each(|n| store.put(key(*n), &record(*n)));
        drop(store);
        let store = Store::open(&dir).unwrap_or_else(|e| panic!("seed {seed}, {done}: {e}"));
        for n in 0..RESULTS {
            match store.get(key(n)) {
                Lookup::Found(found) => assert_eq!(found, record(n), "seed {seed}, {done}"),
                _ => {
                    assert!(again.is_err(), "seed {seed}, {done}: result {n} was made again and is not stored");
                    store.put(key(n), &record(n)).unwrap_or_else(|e| panic!("seed {seed}, {done}: {e}"));
                    assert_eq!(store.get(key(n)), Lookup::Found(record(n)), "seed {seed}, {done}");
                }
            }
        }
    }
    println!(
        "{damages} damaged stores: {whole} without a lost result, {lost} with lost results, {refused} refused with an error"
    );
}

/// `cargo test --release -p fairground-run --test damage -- --ignored --nocapture a_million`
#[test]
#[ignore = "some minutes and a gigabyte of disk"]
fn a_million_results_are_carried() {
    use std::time::Instant;
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("store");
    const MANY: u64 = 1_000_000;
    let keys: Vec<Key> = (0..MANY).map(key).collect();
    let begun = Instant::now();
    let store = Store::open(&dir).unwrap();
    (0..MANY).for_each(|n| store.put(key(n), &record(n)).unwrap());
    println!("put one by one: {:.1} s", begun.elapsed().as_secs_f64());
    drop(store);
    let bytes = fs::metadata(dir.join("results.sqlite")).unwrap().len();
    println!("bytes a result: {}", bytes / MANY);
    let begun = Instant::now();
    let store = Store::open(&dir).unwrap();
    println!("open: {:.2} s", begun.elapsed().as_secs_f64());
    assert_eq!(store.warnings(), &[] as &[String]);
    let begun = Instant::now();
    assert!(store.missing(&keys[..100_000]).unwrap().is_empty());
    println!("what is missing of 100,000: {:.2} s", begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    assert!(store.missing(&keys).unwrap().is_empty());
    println!("what is missing of 1,000,000: {:.2} s", begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    assert!(keys.iter().all(|key| matches!(store.get(*key), Lookup::Found(_))));
    println!("read all: {:.1} s", begun.elapsed().as_secs_f64());
}
