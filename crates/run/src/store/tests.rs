use std::os::unix::fs::symlink;

use super::*;
use crate::batch::RunReport;
use crate::metrics::{Better, MetricValue};

fn key(n: u64) -> Key {
    Key::of_parts(&[&n.to_le_bytes()])
}

/// Some with other metrics, some failed.
fn record(n: u64) -> Record {
    let metric = |name: &str| Metric::new(name, "us", Better::Lower, name);
    let names: &[&str] = if n % 3 == 0 { &["a_us"] } else { &["a_us", "b_us"] };
    let value = |(i, name): (usize, &&str)| MetricValue { metric: metric(name), value: n as f64 / 7.0 + i as f64 };
    let metrics = names.iter().enumerate().map(value).collect();
    let report = RunReport { metrics, hash: u128::MAX - u128::from(n), notes: vec![format!("note {n}")] };
    let outcome = if n % 10 == 9 { Err(format!("task {n} lost")) } else { Ok(report) };
    Record { what: format!("run {n}"), wall_ns: n, outcome }
}

fn filled(dir: &Path, results: u64) -> Store {
    let store = Store::open(dir).unwrap();
    (0..results).for_each(|n| store.put(key(n), &record(n)).unwrap());
    store
}

fn refused(dir: &Path) -> String {
    Store::open(dir).err().expect("refused").to_string()
}

#[test]
fn a_result_comes_back_as_it_was_put() {
    let dir = tempfile::tempdir().unwrap();
    let store = filled(dir.path(), 20);
    for n in 0..20 {
        assert_eq!(store.get(key(n)), Lookup::Found(record(n)));
    }
    assert_eq!(store.get(key(20)), Lookup::Missing);
    assert_eq!(store.missing(&[key(20), key(3), key(21)]).unwrap(), [0, 2]);
    store.forget(key(3)).unwrap();
    drop(store);
    let store = Store::open(dir.path()).unwrap();
    assert_eq!((store.len().unwrap(), store.warnings()), (19, &[][..]));
    assert_eq!(store.get(key(3)), Lookup::Missing);
    assert_eq!(store.get(key(7)), Lookup::Found(record(7)));
}

/// More keys than one query looks up.
#[test]
fn what_is_missing_is_found_among_many() {
    let dir = tempfile::tempdir().unwrap();
    let store = filled(dir.path(), 5);
    let mut keys: Vec<Key> = (100..100 + 2 * KEYS_PER_QUERY as u64).map(key).collect();
    let all = keys.len();
    let on_record = [0, 17, KEYS_PER_QUERY - 1, KEYS_PER_QUERY, all - 1];
    on_record.iter().zip(0..).for_each(|(place, n)| keys[*place] = key(n));
    let missing: Vec<usize> = (0..all).filter(|place| !on_record.contains(place)).collect();
    assert_eq!(store.missing(&keys).unwrap(), missing);
    assert_eq!(store.missing(&[]).unwrap(), [0; 0]);
}

#[test]
fn several_write_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let stores = [0, 1, 2].map(|_| Store::open(dir.path()).unwrap());
    std::thread::scope(|scope| {
        for (at, store) in stores.iter().enumerate() {
            scope.spawn(move || {
                (0..30).for_each(|n| store.put(key(n + 20 * at as u64), &record(n + 20 * at as u64)).unwrap())
            });
        }
    });
    assert_eq!(stores[0].len().unwrap(), 70);
    assert_eq!(stores[0].get(key(69)), Lookup::Found(record(69)));
    drop(stores);
    assert_eq!(Store::open(dir.path()).unwrap().warnings(), &[] as &[String]);
}

#[test]
fn a_result_under_another_key_is_damaged() {
    let dir = tempfile::tempdir().unwrap();
    drop(filled(dir.path(), 4));
    let db = Connection::open(dir.path().join(DATABASE)).unwrap();
    db.execute("UPDATE results SET content = (SELECT content FROM results WHERE id = 2) WHERE id = 1", []).unwrap();
    drop(db);
    let store = Store::open(dir.path()).unwrap();
    let Lookup::Damaged(words) = store.get(key(0)) else { panic!("a wrong result passes") };
    assert!(words.contains("checksum") && words.contains(&key(0).to_string()) && words.contains(DATABASE), "{words}");
    store.put(key(0), &record(0)).unwrap();
    assert_eq!(store.get(key(0)), Lookup::Found(record(0)));
    assert_eq!(store.get(key(1)), Lookup::Found(record(1)));
}

#[test]
fn no_link_is_followed() {
    let outside = tempfile::tempdir().unwrap();
    let victim = outside.path().join("victim");
    for name in [DATABASE, "results.sqlite-wal", "results.sqlite-shm", "lock"] {
        let dir = tempfile::tempdir().unwrap();
        drop(filled(dir.path(), 2));
        let _ = fs::remove_file(dir.path().join(name));
        for link in [|to: &Path, at: &Path| symlink(to, at), |to: &Path, at: &Path| fs::hard_link(to, at)] {
            fs::write(&victim, "not to be changed").unwrap();
            link(&victim, &dir.path().join(name)).unwrap();
            let words = refused(dir.path());
            assert!(words.contains(name) && words.contains("link"), "{words}");
            assert_eq!(fs::read_to_string(&victim).unwrap(), "not to be changed");
            fs::remove_file(dir.path().join(name)).unwrap();
        }
        symlink(outside.path().join("not there"), dir.path().join(name)).unwrap();
        assert!(refused(dir.path()).contains(name));
        assert!(!outside.path().join("not there").exists());
    }
    let dir = tempfile::tempdir().unwrap();
    symlink(outside.path(), dir.path().join("store")).unwrap();
    assert!(refused(&dir.path().join("store")).contains("name the directory that it leads to"));
}

#[test]
fn a_store_of_another_version_is_refused_by_name() {
    let fresh = || tempfile::tempdir().unwrap();
    let dir = fresh();
    fs::create_dir_all(dir.path().join("0123456789abcdef0123456789abcdef/01")).unwrap();
    assert!(refused(dir.path()).contains("earlier fairground (a file for each run)"));
    let dir = fresh();
    fs::write(dir.path().join("index.sqlite"), "").unwrap();
    assert!(refused(dir.path()).contains("earlier fairground (index.sqlite and parts/)"));
    let dir = fresh();
    fs::write(dir.path().join("file"), "").unwrap();
    assert!(refused(&dir.path().join("file")).contains("file"));
    let dir = fresh();
    Connection::open(dir.path().join(DATABASE)).unwrap().execute_batch("CREATE TABLE theirs (a)").unwrap();
    assert!(refused(dir.path()).contains("a database of something else"));
    let dir = fresh();
    drop(filled(dir.path(), 1));
    Connection::open(dir.path().join(DATABASE)).unwrap().pragma_update(None, "user_version", 2).unwrap();
    assert!(refused(dir.path()).contains("is of version 2"));
}

#[test]
fn a_reader_sees_what_a_writer_has_recorded_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    assert!(Store::open_to_read(dir.path()).err().unwrap().to_string().contains("it is not a store"));
    assert!(Store::open_to_read(&dir.path().join("none")).is_err());
    let path = dir.path().join("a b?c");
    let writer = filled(&path, 3);
    let reader = Store::open_to_read(&path).unwrap();
    writer.put(key(3), &record(3)).unwrap();
    assert_eq!(reader.get(key(3)), Lookup::Found(record(3)));
    assert_eq!(reader.missing(&[key(3), key(4)]).unwrap(), [1]);
    assert!(reader.put(key(4), &record(4)).unwrap_err().to_string().contains("readonly"));
    drop(writer);
    assert_eq!(reader.len().unwrap(), 4);
}

#[test]
fn packed_results_come_out_as_they_were_and_damaged_ones_do_not() {
    let records: Vec<(Key, Record)> = (0..20).map(|n| (key(n), record(n))).collect();
    let bytes = pack(&records);
    assert_eq!(unpack(&bytes).unwrap(), records);
    assert_eq!(unpack(&pack(&[])).unwrap(), []);
    assert!((0..bytes.len()).all(|end| unpack(&bytes[..end]).ok().is_none_or(|some| records.starts_with(&some))));
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        // A list that no result needs may be damaged.
        assert!(unpack(&damaged).ok().is_none_or(|found| found == records), "{at}");
    }
}

/// A trigger, a view or another table makes it a database that was not made here.
#[test]
fn nothing_that_is_stored_is_run() {
    let dir = tempfile::tempdir().unwrap();
    drop(filled(dir.path(), 3));
    let forged = "CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM results; END";
    Connection::open(dir.path().join(DATABASE)).unwrap().execute_batch(forged).unwrap();
    let store = Store::open(dir.path()).unwrap();
    assert!(store.warnings()[0].contains("put aside as results.sqlite.damaged"), "{:?}", store.warnings());
    store.put(key(1), &record(1)).unwrap();
    assert_eq!(store.get(key(1)), Lookup::Found(record(1)));
}

#[test]
fn a_damaged_database_that_others_use_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let user = filled(dir.path(), 3);
    // As the next process would read it.
    user.state().db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    fs::write(dir.path().join(DATABASE), "no database at all, but long enough to be taken for one").unwrap();
    assert!(refused(dir.path()).contains("other processes use it"));
    std::mem::forget(user);
}

#[test]
fn results_go_from_store_to_store_by_one_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("all.fairground");
    let from = filled(&dir.path().join("a"), 12);
    from.keep_document("points", "1 2 3").unwrap();
    assert_eq!(from.export(&file).unwrap(), Imported { new: 12, ..Imported::default() });
    let to = filled(&dir.path().join("b"), 5);
    assert_eq!(to.import(&file).unwrap(), Imported { new: 7, known: 5, damaged: 0 });
    assert_eq!(to.import(&file).unwrap(), Imported { new: 0, known: 12, damaged: 0 });
    (0..12).for_each(|n| assert_eq!(to.get(key(n)), Lookup::Found(record(n))));
    assert_eq!(to.document("points").unwrap().as_deref(), Some("1 2 3"));
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
    fs::write(&file, "no export").unwrap();
    assert!(matches!(to.import(&file), Err(StoreError::NoExport { .. })));
    assert!(matches!(to.import(&dir.path().join("not there")), Err(StoreError::NoExport { .. })));
}

#[test]
fn a_document_stays_as_it_is_and_a_damaged_one_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let store = filled(dir.path(), 0);
    store.keep_document("a", "first").unwrap();
    store.keep_document("a", "second").unwrap();
    assert_eq!(store.document("a").unwrap().as_deref(), Some("first"));
    store.state().db.execute("UPDATE documents SET text = 'forged'", []).unwrap();
    assert_eq!(store.document("a").unwrap(), None);
    store.keep_document("a", "second").unwrap();
    assert_eq!(store.document("a").unwrap().as_deref(), Some("second"));
}
