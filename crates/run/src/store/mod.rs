//! Stores results of runs when they are made: a command that is killed goes on from there when it is started again.
//!
//! A store is a directory with a SQLite database. No file outside of the directory is read or written:
//!
//! ```text
//! results.sqlite       results by the keys of their runs
//! results.sqlite-wal   commits that are not in there yet; SQLite's own, like results.sqlite-shm
//! lock                 held by every process that uses the store
//! ```
//!
//! **Writers.** Any number of processes read and write at once; SQLite lets one commit at a time. A finished run is one
//! transaction: a process that is killed loses no finished run. In case the computer loses power, everything is synced
//! once in `SYNC`: to wait for the disk after each run would make short runs several times as long.
//!
//! **Damage.** Each result carries a checksum over its key and content (`record`), each entry of the table of keys
//! one over key and place. A result that is not what was written under its key is damaged: a message names it, and its
//! run is made again. On opening, the structure of the database (up to `CHECKED_WHOLE`, beyond it that of the table
//! of keys) and all entries are checked. A database that SQLite cannot read is put aside under another name, and its
//! readable results are copied to a new one.
//!
//! **Failures** of runs are results too: the same code would fail again. A failure that does not depend on the run
//! alone (a lost process, a limit of time) must not be stored; the caller takes care of this.
//!
//! **Trust.** A store from another computer is trusted only for the results of keys that are looked up. Links are
//! refused, no path is stored, the database's schema must be this one, and SQLite runs nothing that is stored in it.

mod files;
mod packet;
mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use miette::Diagnostic;
use rusqlite::config::DbConfig;
use rusqlite::{params, Connection, ErrorCode, OpenFlags, OptionalExtension};
use thiserror::Error;

use self::files::{Guard, Noted, Refusal, DATABASE};
pub use self::packet::{pack, unpack};
pub use self::record::Record;
use self::record::{checksum, MetricList};
use crate::key::Key;
use crate::metrics::Metric;

/// Version of the layout, in the database's `user_version`.
const FORMAT: i64 = 1;
/// Marks a database as ours, in its `application_id`.
const APPLICATION: i64 = 0x4647_5253;
/// Time between two commits that wait for the disk.
const SYNC: Duration = Duration::from_secs(1);
/// How long a commit waits for others.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of a database up to which its whole structure is checked on opening.
const CHECKED_WHOLE: u64 = 256 << 20;

/// Keys that one query looks up.
const KEYS_PER_QUERY: usize = 4096;

/// Places, ascending, of the keys without an entry. ?1: the keys, 16 bytes each, concatenated; ?2: their number.
const MISSING: &str = "WITH RECURSIVE places (place) AS \
     (SELECT 0 UNION ALL SELECT place + 1 FROM places WHERE place + 1 < ?2) \
     SELECT place FROM places WHERE NOT EXISTS (SELECT 1 FROM entries WHERE key = substr(?1, 16 * place + 1, 16))";

const SCHEMA: [&str; 4] = [
    "CREATE TABLE entries (key BLOB PRIMARY KEY, id INTEGER NOT NULL, checksum BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE results (id INTEGER PRIMARY KEY, content BLOB NOT NULL)",
    "CREATE TABLE metric_lists (digest BLOB PRIMARY KEY, text BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE documents (name TEXT PRIMARY KEY, text TEXT NOT NULL, checksum BLOB NOT NULL) WITHOUT ROWID",
];

/// A store of the results of runs: a directory with a database.
pub struct Store {
    dir: PathBuf,
    /// `None` if the store is open for reading only.
    guard: Option<Guard>,
    state: Mutex<State>,
    warnings: Vec<String>,
}

struct State {
    db: Connection,
    synced: Instant,
    /// Number of stored results, as far as this process knows.
    results: u64,
    /// Whether a damaged page was met.
    damaged: bool,
    /// Metric lists that were read or written, by their hashes.
    lists: BTreeMap<[u8; 16], Vec<Metric>>,
}

/// Why a store cannot be opened, read or written.
#[derive(Debug, Error, Diagnostic)]
pub enum StoreError {
    /// The directory, or a file in it, cannot be used.
    #[error("cannot keep results in {path}: {cause}")]
    #[diagnostic(help("name another directory with --store DIR, or keep nothing with --no-store"))]
    Directory {
        /// Path of the store.
        path: String,
        /// What is wrong with it.
        cause: String,
    },
    /// The store was written by an earlier version of this program.
    #[error("{path} is a store of an earlier fairground ({layout}), which this one does not read")]
    #[diagnostic(help("name another directory, or remove this one: its runs are made again"))]
    Earlier {
        /// Path of the store.
        path: String,
        /// Describes the layout of the earlier version.
        layout: &'static str,
    },
    /// The store, or the export, was written by a later version of this program.
    #[error("the store {path} is of version {version}, and this program knows version {FORMAT}")]
    #[diagnostic(help("use a newer fairground, or name another directory"))]
    Newer {
        /// Path of the store, or of the export.
        path: String,
        /// Version of its layout.
        version: i64,
    },
    /// A damaged database that others use.
    #[error("the store {path} is damaged ({problem}), and other processes use it")]
    #[diagnostic(help("end them and start again: the database is then put aside, and its readable results are kept"))]
    InUse {
        /// Path of the store.
        path: String,
        /// The damage, as SQLite reports it.
        problem: String,
    },
    /// SQLite could not read or write.
    #[error("the store {path}: {cause}")]
    #[diagnostic(help("earlier results are kept; correct the cause and start again to go on"))]
    Database {
        /// Path of the store, or of the file to export to.
        path: String,
        /// The error, as SQLite reports it.
        cause: String,
    },
    /// The file to import is not an export of a store.
    #[error("{path} is not an export of a store: {cause}")]
    #[diagnostic(help("`fairground store export DIR FILE` writes one"))]
    NoExport {
        /// Path of the file to import.
        path: String,
        /// What is wrong with it.
        cause: String,
    },
}

/// Result of looking up a run in a store.
#[derive(Clone, Debug, PartialEq)]
pub enum Lookup {
    /// The run has this result.
    Found(Record),
    /// The run has no result.
    Missing,
    /// A result that is not as it was written: which, and what is wrong.
    Damaged(String),
}

/// Numbers of results of a copy from one store to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Results that the destination did not have: those that are copied.
    pub new: usize,
    /// Results that the destination had already.
    pub known: usize,
    /// Results that are damaged in the source; they are not copied.
    pub damaged: usize,
}

impl Store {
    /// Opens a store, or creates one. Fails before any run if the directory cannot be written.
    ///
    /// # Errors
    /// A directory that cannot be used, or that holds something else.
    pub fn open(dir: &Path) -> Result<Store, StoreError> {
        let refused = |refusal: Refusal| refusal.in_store(dir);
        let canonical = checked_directory(dir, true)?;
        let guard = Guard::shared(&canonical).map_err(|e| refused(e.into()))?;
        let noted = guard.noted();
        let mut warnings = Vec::new();
        let db = match open_whole(&canonical, noted) {
            Ok(db) => db,
            Err(Unusable::Damaged(problem)) => {
                let path = dir.display().to_string();
                if !guard.is_alone().map_err(|e| refused(e.into()))? {
                    return Err(StoreError::InUse { path, problem });
                }
                let (db, warning) = replaced(&canonical, &problem).map_err(|e| e.in_store(dir))?;
                warnings.push(warning);
                guard.share().map_err(|e| refused(e.into()))?;
                db
            }
            Err(other) => return Err(other.in_store(dir)),
        };
        let (results, bad) = check_entries(&db).map_err(|e| Unusable::from(e).in_store(dir))?;
        warnings.extend(bad);
        if results < noted.results && warnings.is_empty() {
            let lost = noted.results - results;
            warnings.push(format!(
                "{}: {lost} of {} results that were recorded are gone (a damaged write-ahead log, or a loss of power); \
                 their runs are made again",
                canonical.join(DATABASE).display(),
                noted.results
            ));
        }
        guard.note(Noted { results, damaged: false });
        Ok(Store { dir: canonical, guard: Some(guard), state: State::new(db, results), warnings })
    }

    /// Opens an existing store for reading. Other processes may write to it. Nothing in the directory changes.
    ///
    /// # Errors
    /// If the directory is not a store, or cannot be read.
    pub fn open_to_read(dir: &Path) -> Result<Store, StoreError> {
        let no_store = |cause: &str| Refusal::Words(format!("it is not a store: {cause}")).in_store(dir);
        if fs::symlink_metadata(dir).is_err_and(|e| e.kind() == io::ErrorKind::NotFound) {
            return Err(no_store("there is no such directory"));
        }
        let canonical = checked_directory(dir, false)?;
        let path = canonical.join(DATABASE);
        if !path.exists() {
            return Err(no_store(&format!("it has no {DATABASE}")));
        }
        let db = open_database_to_read(&path).map_err(|e| e.in_store(dir))?;
        match version(&db) {
            Ok(0) => Err(no_store("its database is empty")),
            Ok(_) => Ok(Store { dir: canonical, guard: None, state: State::new(db, 0), warnings: Vec::new() }),
            Err(e) => Err(e.in_store(dir)),
        }
    }

    /// Messages about damage that was found on opening.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The directory that holds the store.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Number of stored results.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn len(&self) -> Result<u64, StoreError> {
        self.state().db.query_row("SELECT COUNT(*) FROM entries", [], |row| row.get(0)).map_err(|e| self.failed(e))
    }

    /// Whether no result is stored.
    ///
    /// # Errors
    /// As [`Self::len`].
    pub fn is_empty(&self) -> Result<bool, StoreError> {
        Ok(self.len()? == 0)
    }

    /// Looks up the result of a run.
    pub fn get(&self, key: Key) -> Lookup {
        let mut state = self.state();
        match state.get(key) {
            Ok(Ok(Some(record))) => Lookup::Found(record),
            Ok(Ok(None)) => Lookup::Missing,
            Ok(Err(damage)) => Lookup::Damaged(format!("{}, result {key}: {damage}", self.database())),
            Err(e) => {
                if is_damage(&e) {
                    self.met_damage(&mut state);
                }
                Lookup::Damaged(format!("{}, result {key}: {e}", self.database()))
            }
        }
    }

    /// Places in `keys` of those without a stored result, ascending. Does not check results for damage; [`Self::get`]
    /// does.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn missing(&self, keys: &[Key]) -> Result<Vec<usize>, StoreError> {
        let state = self.state();
        let find = || -> rusqlite::Result<Vec<usize>> {
            // One snapshot for all chunks.
            let all = state.db.unchecked_transaction()?;
            let mut select = all.prepare_cached(MISSING)?;
            let mut missing = Vec::new();
            for (chunk, keys) in keys.chunks(KEYS_PER_QUERY).enumerate() {
                let bytes: Vec<u8> = keys.iter().flat_map(|key| key.bytes()).collect();
                let mut rows = select.query(params![bytes, keys.len()])?;
                while let Some(row) = rows.next()? {
                    missing.push(chunk * KEYS_PER_QUERY + row.get::<_, usize>(0)?);
                }
            }
            Ok(missing)
        };
        find().map_err(|e| self.failed(e))
    }

    /// Stores a result at once, in place of an earlier one of this key.
    ///
    /// # Errors
    /// If it cannot be written; earlier results stay.
    pub fn put(&self, key: Key, record: &Record) -> Result<(), StoreError> {
        let (content, list) = record.encode(key);
        let mut state = self.state();
        let due = state.synced.elapsed() >= SYNC;
        let done = state.put(key, &content, list.as_ref(), due);
        if let Err(e) = done {
            if is_damage(&e) {
                self.met_damage(&mut state);
            }
            return Err(self.failed(e));
        }
        self.note(&state);
        Ok(())
    }

    /// Removes the result of a run, if the store has one.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn forget(&self, key: Key) -> Result<(), StoreError> {
        let mut state = self.state();
        state.forget(key).map_err(|e| self.failed(e))?;
        self.note(&state);
        Ok(())
    }

    /// A text that was stored with the results; `None` if there is none, or if it is damaged.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn document(&self, name: &str) -> Result<Option<String>, StoreError> {
        let state = self.state();
        let read = |row: &rusqlite::Row| Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?));
        let select = "SELECT text, checksum FROM documents WHERE name = ?1";
        let found = state.db.query_row(select, [name], read).optional().map_err(|e| self.failed(e))?;
        Ok(found.filter(|(text, sum)| document_checksum(name, text)[..] == sum[..]).map(|(text, _)| text))
    }

    /// Stores a text with the results. Does not replace an existing text, unless that is damaged.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn keep_document(&self, name: &str, text: &str) -> Result<(), StoreError> {
        if self.document(name)?.is_some() {
            return Ok(());
        }
        let insert = "INSERT OR REPLACE INTO documents VALUES (?1, ?2, ?3)";
        let sum = document_checksum(name, text);
        self.state().db.execute(insert, params![name, text, sum]).map(drop).map_err(|e| self.failed(e))
    }

    /// Writes all undamaged results to one file. Creates either the whole file or none. Returns the numbers of copied
    /// and of damaged results.
    ///
    /// # Errors
    /// If the file cannot be written, or the database not read.
    pub fn export(&self, file: &Path) -> Result<Imported, StoreError> {
        let cannot = |cause: String| StoreError::Database { path: file.display().to_string(), cause };
        let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let temporary =
            tempfile::Builder::new().prefix(".fairground-").tempdir_in(dir).map_err(|e| cannot(e.to_string()))?;
        let path = fs::canonicalize(temporary.path()).map_err(|e| cannot(e.to_string()))?.join(DATABASE);
        let mut to = create(&path).map_err(|e| cannot(e.to_string()))?;
        let copied = copy(&self.state().db, &mut to, true).map_err(|e| self.failed(e))?;
        to.close().map_err(|(_, e)| cannot(e.to_string()))?;
        fs::rename(&path, file).map_err(|e| cannot(e.to_string()))?;
        Ok(copied)
    }

    /// Copies the results of an export that this store does not have. Results of another version's code are kept too,
    /// but this version never looks them up.
    ///
    /// # Errors
    /// If the file is not an export, or the database cannot be written.
    pub fn import(&self, file: &Path) -> Result<Imported, StoreError> {
        let no_export = |cause: String| StoreError::NoExport { path: file.display().to_string(), cause };
        let path = fs::canonicalize(file).map_err(|e| no_export(e.to_string()))?;
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let from = Connection::open_with_flags(path, flags).map_err(|e| no_export(e.to_string()))?;
        confine(&from).map_err(|e| no_export(e.to_string()))?;
        match version(&from) {
            Ok(FORMAT) => {}
            Ok(0) => return Err(no_export("it is empty".into())),
            Ok(version) => return Err(StoreError::Newer { path: file.display().to_string(), version }),
            Err(Unusable::Damaged(problem) | Unusable::Foreign(problem)) => return Err(no_export(problem)),
            Err(Unusable::Newer(version)) => {
                return Err(StoreError::Newer { path: file.display().to_string(), version })
            }
            Err(Unusable::Refused(e)) => return Err(no_export(e)),
        }
        let mut state = self.state();
        let copied = copy(&from, &mut state.db, true).map_err(|e| self.failed(e))?;
        state.results += copied.new as u64;
        self.note(&state);
        Ok(copied)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics between two statements that belong together.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn database(&self) -> String {
        self.dir.join(DATABASE).display().to_string()
    }

    fn failed(&self, error: rusqlite::Error) -> StoreError {
        StoreError::Database { path: self.dir.display().to_string(), cause: error.to_string() }
    }

    /// Notes the damage, so that the next process to open the store checks all of it.
    fn met_damage(&self, state: &mut State) {
        state.damaged = true;
        self.note(state);
    }

    /// Writes the state to the lock's line, for the next process to open the store.
    fn note(&self, state: &State) {
        if let Some(guard) = &self.guard {
            guard.note(Noted { results: state.results, damaged: state.damaged });
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if self.guard.is_some() && !state.damaged {
            // Moves all commits from the write-ahead log into the database. If this fails, they are as safe in the log.
            let _ = state.db.execute_batch("PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE)");
        }
    }
}

impl State {
    fn new(db: Connection, results: u64) -> Mutex<State> {
        Mutex::new(State { db, synced: Instant::now(), results, damaged: false, lists: BTreeMap::new() })
    }

    /// The result of a key; `None` if there is none. The inner error describes damage.
    fn get(&mut self, key: Key) -> rusqlite::Result<Result<Option<Record>, &'static str>> {
        let Some(found) = entry(&self.db, key)? else { return Ok(Ok(None)) };
        let Some(content) = found.content else { return Ok(Err("there is an entry and no result")) };
        if !found.whole {
            return Ok(Err("the checksum of its entry does not match"));
        }
        let State { db, lists, .. } = self;
        let mut failed = None;
        let record = Record::decode(key, &content, |digest| {
            if let Some(list) = lists.get(&digest) {
                return Some(list.clone());
            }
            let list = metric_list(db, digest).unwrap_or_else(|e| {
                failed = Some(e);
                None
            })?;
            lists.insert(digest, list.clone());
            Some(list)
        });
        match failed {
            Some(e) => Err(e),
            None => Ok(record.map(Some)),
        }
    }

    fn put(&mut self, key: Key, content: &[u8], list: Option<&MetricList>, sync: bool) -> rusqlite::Result<()> {
        self.db.pragma_update(None, "synchronous", if sync { "FULL" } else { "NORMAL" })?;
        let all = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let known = list.is_none_or(|list| self.lists.contains_key(&list.digest));
        if let Some(list) = list.filter(|_| !known) {
            all.execute(
                "INSERT OR REPLACE INTO metric_lists VALUES (?1, ?2)",
                params![list.digest, list.text.as_bytes()],
            )?;
        }
        let replaced = insert(&all, key, content)?;
        all.commit()?;
        if let Some(list) = list.filter(|_| !known) {
            if let Some(metrics) = MetricList::read(list.digest, list.text.as_bytes()) {
                self.lists.insert(list.digest, metrics);
            }
        }
        if sync {
            self.synced = Instant::now();
        }
        self.results += u64::from(!replaced);
        Ok(())
    }

    fn forget(&mut self, key: Key) -> rusqlite::Result<()> {
        let all = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let id: Option<i64> =
            all.query_row("SELECT id FROM entries WHERE key = ?1", [key.bytes()], |row| row.get(0)).optional()?;
        if let Some(id) = id {
            all.execute("DELETE FROM results WHERE id = ?1", [id])?;
            all.execute("DELETE FROM entries WHERE key = ?1", [key.bytes()])?;
        }
        all.commit()?;
        self.results -= u64::from(id.is_some());
        Ok(())
    }
}

/// An entry of the table of keys.
struct Entry {
    /// Whether its checksum is correct.
    whole: bool,
    content: Option<Vec<u8>>,
}

fn entry(db: &Connection, key: Key) -> rusqlite::Result<Option<Entry>> {
    let select = "SELECT id, checksum, content FROM entries LEFT JOIN results USING (id) WHERE key = ?1";
    let mut select = db.prepare_cached(select)?;
    let read = |row: &rusqlite::Row| {
        let (id, sum): (i64, Vec<u8>) = (row.get(0)?, row.get(1)?);
        Ok(Entry { whole: checksum(key, &id.to_le_bytes())[..] == sum[..], content: row.get(2)? })
    };
    select.query_row([key.bytes()], read).optional()
}

/// Stores a result. Returns whether it replaced another one.
fn insert(db: &Connection, key: Key, content: &[u8]) -> rusqlite::Result<bool> {
    let mut old = db.prepare_cached("SELECT id FROM entries WHERE key = ?1")?;
    let old: Option<i64> = old.query_row([key.bytes()], |row| row.get(0)).optional()?;
    if let Some(id) = old {
        db.prepare_cached("DELETE FROM results WHERE id = ?1")?.execute([id])?;
    }
    let id = db.prepare_cached("INSERT INTO results (content) VALUES (?1)")?.insert([content])?;
    let sum = checksum(key, &id.to_le_bytes());
    db.prepare_cached("INSERT OR REPLACE INTO entries VALUES (?1, ?2, ?3)")?.execute(params![key.bytes(), id, sum])?;
    Ok(old.is_some())
}

fn metric_list(db: &Connection, digest: [u8; 16]) -> rusqlite::Result<Option<Vec<Metric>>> {
    let mut select = db.prepare_cached("SELECT text FROM metric_lists WHERE digest = ?1")?;
    let text: Option<Vec<u8>> = select.query_row([digest], |row| row.get(0)).optional()?;
    Ok(text.and_then(|text| MetricList::read(digest, &text)))
}

fn document_checksum(name: &str, text: &str) -> [u8; 16] {
    record::digest(&[name.as_bytes(), &[0], text.as_bytes()].concat())
}

/// Why a database cannot be used.
enum Unusable {
    /// It is damaged: SQLite reports this, or its content is not what was written.
    Damaged(String),
    /// It is a database of another program.
    Foreign(String),
    /// The store of a later version of this program; the version of its layout.
    Newer(i64),
    /// It cannot be opened or written.
    Refused(String),
}

impl From<rusqlite::Error> for Unusable {
    fn from(error: rusqlite::Error) -> Unusable {
        match is_damage(&error) {
            true => Unusable::Damaged(error.to_string()),
            false => Unusable::Refused(error.to_string()),
        }
    }
}

/// A directory that may be a store of this layout, by a path without links.
fn checked_directory(dir: &Path, make: bool) -> Result<PathBuf, StoreError> {
    let canonical = files::directory(dir, make).map_err(|e| e.in_store(dir))?;
    if let Some(layout) = files::earlier_layout(&canonical) {
        return Err(StoreError::Earlier { path: dir.display().to_string(), layout });
    }
    files::check(&canonical).map_err(|e| e.in_store(dir))?;
    Ok(canonical)
}

impl Refusal {
    fn in_store(self, dir: &Path) -> StoreError {
        let path = dir.display().to_string();
        match self {
            Refusal::System(e) if matches!(e.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {
                StoreError::Database { path, cause: e.to_string() }
            }
            Refusal::System(e) => StoreError::Directory { path, cause: e.to_string() },
            Refusal::Words(cause) => StoreError::Directory { path, cause },
        }
    }
}

impl Unusable {
    fn in_store(self, dir: &Path) -> StoreError {
        let path = dir.display().to_string();
        match self {
            Unusable::Damaged(cause) => StoreError::Database { path, cause: format!("it is damaged: {cause}") },
            Unusable::Foreign(cause) => StoreError::Directory { path, cause },
            Unusable::Newer(version) => StoreError::Newer { path, version },
            Unusable::Refused(cause) => StoreError::Directory { path, cause },
        }
    }
}

fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, SqliteFailure, Utf8Error,
    };
    match error {
        SqliteFailure(e, _) => matches!(e.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase),
        // A cell holds a value that no version of this program writes.
        FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..) => true,
        _ => false,
    }
}

/// Makes SQLite run nothing that is stored in a database, and check the sizes of cells.
fn confine(db: &Connection) -> rusqlite::Result<()> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    db.pragma_update(None, "cell_size_check", true)?;
    db.pragma_update(None, "mmap_size", 0)
}

/// The database of a store that others may write to.
fn open_database_to_read(path: &Path) -> Result<Connection, Unusable> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    // In a directory that we may not write to, SQLite cannot create its shared memory: open the database as immutable.
    let beside = PathBuf::from(format!("{}-wal", path.display()));
    let writable = path.parent().is_some_and(|dir| nix::unistd::access(dir, nix::unistd::AccessFlags::W_OK).is_ok());
    let at_rest = !writable && !beside.exists();
    let escaped: String = path
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .map(|byte| match byte {
            b'/' | b'.' | b'-' | b'_' => char::from(*byte).to_string(),
            byte if byte.is_ascii_alphanumeric() => char::from(*byte).to_string(),
            byte => format!("%{byte:02x}"),
        })
        .collect();
    let uri = format!("file:{escaped}?mode=ro{}", if at_rest { "&immutable=1" } else { "" });
    let db = Connection::open_with_flags(uri, flags)?;
    db.busy_timeout(PATIENCE)?;
    confine(&db)?;
    Ok(db)
}

/// The database of a store, checked; made if it is not there.
fn open_whole(dir: &Path, noted: Noted) -> Result<Connection, Unusable> {
    let path = dir.join(DATABASE);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let bytes = fs::metadata(&path).map_or(0, |meta| meta.len());
    if bytes == 0 && noted.results > 0 {
        return Err(Unusable::Damaged(format!("it is empty, and had {} results", noted.results)));
    }
    let db = Connection::open_with_flags(&path, flags)?;
    db.busy_timeout(PATIENCE)?;
    confine(&db)?;
    let version = version(&db)?;
    if version == 0 {
        set_up(&db)?;
    }
    let mode: String = db.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        return Err(Unusable::Refused(format!("its file system does not allow a write-ahead log (mode {mode})")));
    }
    let whole = noted.damaged || bytes <= CHECKED_WHOLE;
    let check = if whole { "PRAGMA quick_check(1)" } else { "PRAGMA quick_check(entries)" };
    let answer: String = db.query_row(check, [], |row| row.get(0))?;
    match answer.as_str() {
        "ok" => Ok(db),
        problem => Err(Unusable::Damaged(problem.lines().next().unwrap_or_default().into())),
    }
}

/// Tables and marks, all or none.
fn set_up(db: &Connection) -> rusqlite::Result<()> {
    let tables = SCHEMA.join("; ");
    // Another process may just have done so.
    db.execute_batch("BEGIN IMMEDIATE")?;
    let made = match version(db) {
        Ok(0) => db
            .execute_batch(&format!("{tables}; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}")),
        _ => Ok(()),
    };
    db.execute_batch(if made.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    made
}

/// A new database in a file that is not there.
fn create(path: &Path) -> rusqlite::Result<Connection> {
    let db = Connection::open(path)?;
    confine(&db)?;
    set_up(&db)?;
    Ok(db)
}

/// The version of our layout in a database; 0 in an empty one.
fn version(db: &Connection) -> Result<i64, Unusable> {
    let pragma = |name: &str| db.pragma_query_value::<i64, _>(None, name, |row| row.get(0));
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let mut select = db.prepare("SELECT sql FROM sqlite_master WHERE type IS NOT 'index' OR sql IS NOT NULL")?;
    let found = select.query_map([], |row| row.get::<_, Option<String>>(0))?.collect::<Result<Vec<_>, _>>()?;
    if application == 0 && version == 0 && found.is_empty() {
        return Ok(0);
    }
    let ours = found.len() == SCHEMA.len() && found.iter().flatten().all(|sql| SCHEMA.contains(&sql.as_str()));
    if application != APPLICATION && ours {
        return Err(Unusable::Damaged("its application id is not that of a store".into()));
    }
    if application != APPLICATION {
        return Err(Unusable::Foreign(format!("{DATABASE} is a database of something else: name another directory")));
    }
    if version > FORMAT {
        return Err(Unusable::Newer(version));
    }
    match ours && version == FORMAT {
        true => Ok(version),
        false => Err(Unusable::Damaged("its tables are not those of a store".into())),
    }
}

/// Drops damaged entries. Returns the number of the others, and a warning if entries were dropped.
fn check_entries(db: &Connection) -> rusqlite::Result<(u64, Option<String>)> {
    let (mut all, mut bad) = (0, Vec::new());
    let mut select = db.prepare("SELECT key, id, checksum FROM entries")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (key, id, sum): (Vec<u8>, i64, Vec<u8>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        match Key::from_bytes(&key).filter(|key| checksum(*key, &id.to_le_bytes())[..] == sum[..]) {
            Some(_) => all += 1,
            None => bad.push(key),
        }
    }
    drop(rows);
    for key in &bad {
        db.execute("DELETE FROM entries WHERE key = ?1", [key])?;
    }
    let path = db.path().unwrap_or(DATABASE);
    let n = bad.len();
    let warning =
        (n > 0).then(|| format!("{path}: {n} entries are damaged and were dropped; their runs are made again"));
    Ok((all, warning))
}

/// Renames a damaged database. Returns a new one with the readable results, and a message.
fn replaced(dir: &Path, problem: &str) -> Result<(Connection, String), Unusable> {
    let aside = files::put_aside(dir).map_err(|e| Unusable::Refused(e.to_string()))?;
    let mut db = open_whole(dir, Noted::default())?;
    let kept = salvage(&aside, &mut db).unwrap_or_default();
    let message = format!(
        "{} is damaged ({problem}) and was put aside as {}; {} of its results could be read and are kept, the others are \
         made again",
        dir.join(DATABASE).display(),
        aside.file_name().unwrap_or_default().to_string_lossy(),
        kept.new,
    );
    Ok((db, message))
}

/// Copies the results that can be read of a damaged database, from both ends of its keys.
fn salvage(aside: &Path, to: &mut Connection) -> rusqlite::Result<Imported> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let from = Connection::open_with_flags(aside, flags)?;
    confine(&from)?;
    if version(&from).is_err() {
        return Ok(Imported::default());
    }
    let up = copy(&from, to, true);
    let down = copy(&from, to, false);
    let new = up.as_ref().map_or(0, |copied| copied.new) + down.as_ref().map_or(0, |copied| copied.new);
    Ok(Imported { new, ..Imported::default() })
}

/// Copies the undamaged results that `to` does not have, in ascending or descending order of their keys. Stops where
/// `from` cannot be read, and keeps the results that were copied by then.
fn copy(from: &Connection, to: &mut Connection, ascending: bool) -> rusqlite::Result<Imported> {
    let mut copied = Imported::default();
    let mut lists: BTreeMap<[u8; 16], Arc<Option<Vec<Metric>>>> = BTreeMap::new();
    let order = if ascending { "ASC" } else { "DESC" };
    let mut select = from.prepare(&format!("SELECT key FROM entries ORDER BY key {order}"))?;
    let mut keys = select.query([])?;
    let all = to.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // What cannot be read ends the copy, unless the first row already fails; what cannot be written is an error.
    while let Ok(Some(row)) = keys.next() {
        let Some(key) = row.get::<_, Vec<u8>>(0).ok().and_then(|key| Key::from_bytes(&key)) else {
            copied.damaged += 1;
            continue;
        };
        if entry(&all, key)?.is_some() {
            copied.known += 1;
            continue;
        }
        let content = entry(from, key).ok().flatten().filter(|entry| entry.whole).and_then(|entry| entry.content);
        let mut needed = None;
        let read = |digest: [u8; 16]| {
            needed = Some(digest);
            let list = || Arc::new(metric_list(from, digest).unwrap_or_default());
            Option::clone(lists.entry(digest).or_insert_with(list))
        };
        let whole = content.filter(|content| Record::decode(key, content, read).is_ok());
        let Some(content) = whole else {
            copied.damaged += 1;
            continue;
        };
        if let Some((digest, Some(list))) =
            needed.map(|digest| (digest, lists.get(&digest).and_then(|l| Option::as_ref(l))))
        {
            let text = serde_json::to_vec(list).unwrap_or_else(|e| unreachable!("{e}"));
            all.prepare_cached("INSERT OR IGNORE INTO metric_lists VALUES (?1, ?2)")?.execute(params![digest, text])?;
        }
        insert(&all, key, &content)?;
        copied.new += 1;
    }
    let mut documents = from.prepare("SELECT name, text, checksum FROM documents")?;
    let mut documents = documents.query([])?;
    while let Ok(Some(row)) = documents.next() {
        let read: rusqlite::Result<(String, String, Vec<u8>)> = (|| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))();
        let Ok((name, text, sum)) = read else { continue };
        if document_checksum(&name, &text)[..] == sum[..] {
            all.execute("INSERT OR IGNORE INTO documents VALUES (?1, ?2, ?3)", params![name, text, sum])?;
        }
    }
    all.commit()?;
    Ok(copied)
}
