//! Trees and caches without a kernel in them, for tests.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::cache::{Kernels, Record};

/// Writes a file and its directories.
pub(super) fn write(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// What looks like a kernel tree with this top Makefile.
pub(super) fn tree(makefile: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "Makefile", makefile);
    for file in [
        "Kconfig",
        "arch/x86/Kconfig",
        "include/linux/sched.h",
        "kernel/sched/fair.c",
        "kernel/sched/sched.h",
        "scripts/Kconfig.include",
        "scripts/basic/fixdep.c",
    ] {
        write(dir.path(), file, &format!("{file}\n"));
    }
    dir
}

/// A cache in a directory that is gone with it.
pub(super) struct Cache {
    pub dir: TempDir,
    pub kernels: Kernels,
}

/// Holds kernels of these names.
pub(super) fn cache(names: &[&str]) -> Cache {
    let dir = tempfile::tempdir().unwrap();
    let kernels = Kernels::in_dir(dir.path().to_owned());
    for name in names {
        let library = dir.path().join("library");
        fs::write(&library, name).unwrap();
        kernels.hold(name, &mut || {}).unwrap().publish(&library, &record(name)).unwrap();
    }
    Cache { dir, kernels }
}

/// A record whose key depends on `made_with`.
pub(super) fn record(made_with: &str) -> Record {
    Record { release: "6.12.117".into(), made_with: made_with.into(), hz: 250, nr_cpus: 512, ..Record::default() }
        .sealed()
}
