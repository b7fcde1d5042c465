//! Settings of this machine that are changed while it is measured.
//!
//! The record of what is to be restored begins with the first change, and not before: who measures without a right to change anything
//! makes none. Each file is recorded before it is written, and all are restored at the end, whichever way the measurement ends.

use std::cell::RefCell;
use std::path::Path;

use fairground_host::restore::write_to;
use fairground_host::{is_writable, Changes, Host, Keeper, RestoreError};

/// What may be changed, and what has been.
pub struct Knobs<'a> {
    /// The machine.
    pub host: &'a Host,
    /// The place of the record, or why there is none.
    keeper: Result<&'a Keeper, &'a str>,
    changes: RefCell<Option<Changes<'a>>>,
}

impl<'a> Knobs<'a> {
    /// Nothing is changed yet. Without a `keeper` nothing will be, for the reason that stands in its place.
    pub fn new(host: &'a Host, keeper: Result<&'a Keeper, &'a str>) -> Knobs<'a> {
        Knobs { host, keeper, changes: RefCell::new(None) }
    }

    /// Why a file cannot be set; `None` if nothing is known that keeps it.
    pub fn refusal(&self, path: &Path) -> Option<String> {
        if !path.exists() {
            return Some(format!("there is no {}", path.display()));
        }
        if !is_writable(path) {
            return Some(format!("{} cannot be written by this user", path.display()));
        }
        self.keeper.err().map(str::to_owned)
    }

    /// Writes `value` to a file that shows what was last written to it.
    ///
    /// # Errors
    /// Why it was not written: no such file, no place for the record, or the kernel's reason.
    pub fn set(&self, path: &Path, value: &str) -> Result<(), String> {
        let mut changes = self.changes.borrow_mut();
        let changes = match &mut *changes {
            Some(changes) => changes,
            none => none.insert(self.keeper?.begin().map_err(|error| error.to_string())?),
        };
        changes.set(path, value).map_err(|error| error.to_string())
    }

    /// Writes `value` to a file whose value lasts only as long as another change does, which is set already and takes it back.
    ///
    /// # Errors
    /// Why it was not written.
    pub fn put(&self, path: &Path, value: &str) -> Result<(), String> {
        write_to(path, value).map_err(|error| format!("cannot write {}: {error}", path.display()))
    }

    /// Restores all that was changed.
    ///
    /// # Errors
    /// If something cannot be restored: the record stays.
    pub fn undo(self) -> Result<(), RestoreError> {
        self.changes.into_inner().map_or(Ok(()), Changes::undo)
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use std::path::Path;

    use fairground_host::{Host, Keeper};

    /// A machine made of files, with a place for the record.
    pub struct Laid {
        pub dir: tempfile::TempDir,
        pub host: Host,
        pub keeper: Keeper,
    }

    impl Laid {
        /// Files with these paths and texts.
        pub fn out(files: &[(&str, &str)]) -> Laid {
            let dir = tempfile::tempdir().unwrap();
            for (path, text) in files {
                let path = dir.path().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            let host = Host::new(dir.path(), true);
            let keeper = Keeper::hold(&dir.path().join("state"), &host).unwrap();
            Laid { dir, host, keeper }
        }

        /// What a file has.
        pub fn text(&self, path: &str) -> String {
            std::fs::read_to_string(self.dir.path().join(path)).unwrap().trim().to_owned()
        }

        /// Writes a file.
        pub fn write(&self, path: &str, text: &str) {
            std::fs::write(self.dir.path().join(path), text).unwrap();
        }

        /// Lets nobody write a file: root neither, as far as we ask.
        pub fn protect(&self, path: &str) {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::Permissions::from_mode(0o444);
            std::fs::set_permissions(self.dir.path().join(path), mode).unwrap();
        }

        pub fn record(&self) -> std::path::PathBuf {
            self.dir.path().join(Path::new("state/restore.jsonl"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::Laid;
    use super::*;

    #[test]
    fn a_record_is_made_by_the_first_change_and_all_is_restored() {
        let laid = Laid::out(&[("a", "1\n"), ("b", "2\n")]);
        let knobs = Knobs::new(&laid.host, Ok(&laid.keeper));
        assert!(!laid.record().exists());
        knobs.set(&laid.host.path("a"), "5").unwrap();
        knobs.set(&laid.host.path("b"), "6").unwrap();
        knobs.set(&laid.host.path("a"), "7").unwrap();
        assert!(laid.record().exists());
        assert_eq!((laid.text("a").as_str(), laid.text("b").as_str()), ("7", "6"));
        knobs.undo().unwrap();
        assert_eq!((laid.text("a").as_str(), laid.text("b").as_str()), ("1", "2"));
        assert!(!laid.record().exists());
    }

    #[test]
    fn what_is_dropped_in_a_panic_is_restored() {
        let laid = Laid::out(&[("a", "1\n")]);
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let knobs = Knobs::new(&laid.host, Ok(&laid.keeper));
            knobs.set(&laid.host.path("a"), "5").unwrap();
            std::panic::resume_unwind(Box::new("as a failure would"));
        }));
        assert!(failed.is_err() && laid.text("a") == "1" && !laid.record().exists());
    }

    #[test]
    fn what_cannot_be_set_is_said_by_name() {
        let laid = Laid::out(&[("a", "1\n"), ("b", "2\n")]);
        laid.protect("b");
        let knobs = Knobs::new(&laid.host, Ok(&laid.keeper));
        let refusal = |knobs: &Knobs, file: &str| knobs.refusal(&laid.host.path(file)).unwrap_or_default();
        assert_eq!(refusal(&knobs, "a"), "");
        assert!(refusal(&knobs, "b").contains("/b cannot be written"));
        assert!(refusal(&knobs, "c").contains("there is no") && knobs.set(&laid.host.path("c"), "1").is_err());
        let without = Knobs::new(&laid.host, Err("nothing is to be changed"));
        assert_eq!(refusal(&without, "a"), "nothing is to be changed");
        assert!(without.set(&laid.host.path("a"), "2").is_err() && laid.text("a") == "1");
    }
}
