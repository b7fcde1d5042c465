//! Built kernels as schedulers: their libraries, and the records of their builds.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use fairground_linux::build::{is_any_library_allowed, BuiltKernel, Kernels};
use xxhash_rust::xxh3::Xxh3;

use super::{Kind, SchedSpec, SchedSpecError};
use crate::kernel_compat::BuiltWith;

/// A built kernel. Its library is opened once, so that all runs of a command run the same code.
#[derive(Clone)]
pub struct Kernel {
    library: Arc<File>,
    /// The record of its build; `None` for a library that is named by its path.
    built: Option<Arc<BuiltKernel>>,
    /// Hash of the library, computed at its first use.
    digest: Arc<OnceLock<u128>>,
}

impl Kernel {
    fn new(library: File, built: Option<BuiltKernel>) -> Kernel {
        Kernel { library: Arc::new(library), built: built.map(Arc::new), digest: Arc::default() }
    }

    /// The kernel of the scheduler `text`, which is `linux:rest`: a name, or the path of a library.
    pub fn find(text: &str, rest: &str) -> Result<Kernel, SchedSpecError> {
        match rest.contains('/') {
            true => Ok(Kernel::new(built_here(text, Path::new(rest))?, None)),
            false => Kernel::named(text, Kernels::user()?.find(rest)?),
        }
    }

    /// A kernel with a build record.
    fn named(text: &str, kernel: BuiltKernel) -> Result<Kernel, SchedSpecError> {
        Ok(Kernel::new(open(text, &kernel.library)?, Some(kernel)))
    }

    /// What the record of its build says.
    pub fn built_with(&self) -> Option<BuiltWith> {
        let BuiltKernel { name, record, .. } = self.built.as_deref()?;
        let (tree, hz, nr_cpus) = (record.tree.clone(), record.hz, record.nr_cpus);
        Some(BuiltWith { sched: format!("linux:{name}"), tree, hz, nr_cpus })
    }

    /// A warning if its last build failed.
    pub fn stale(&self) -> Option<String> {
        self.built.as_deref()?.stale()
    }

    /// xxh3-128 of the library.
    pub fn digest(&self) -> io::Result<u128> {
        if let Some(known) = self.digest.get() {
            return Ok(*known);
        }
        let found = digest(&self.library)?;
        Ok(*self.digest.get_or_init(|| found))
    }
}

impl SchedSpec {
    /// A kernel whose library is open, with the record of its build if there is one.
    pub fn of_library(text: &str, library: File, built: Option<BuiltKernel>) -> SchedSpec {
        SchedSpec { text: text.into(), kind: Kind::Linux(Kernel::new(library, built)) }
    }

    /// The build record of a kernel `linux:NAME`; `None` for a kernel `linux:PATH` and for our own scheduler.
    pub fn built(&self) -> Option<&BuiltKernel> {
        self.kernel()?.built.as_deref()
    }

    /// The library of a built kernel; `None` for our own scheduler.
    pub fn library(&self) -> Option<&Arc<File>> {
        Some(&self.kernel()?.library)
    }

    /// A kernel of the user's cache of built kernels.
    #[cfg(test)]
    pub fn of_built(built: BuiltKernel) -> Result<SchedSpec, SchedSpecError> {
        let text = format!("linux:{}", built.name);
        Ok(SchedSpec { kind: Kind::Linux(Kernel::named(&text, built)?), text })
    }
}

/// Opens a library. It must have been made by `kernel build`, unless any library is allowed: loading it runs its code.
fn built_here(text: &str, path: &Path) -> Result<File, SchedSpecError> {
    let mut file = open(text, path)?;
    if is_any_library_allowed() {
        return Ok(file);
    }
    let mut content = Vec::new();
    let (text, path) = (text.to_owned(), path.display().to_string());
    if let Err(e) = file.read_to_end(&mut content) {
        return Err(SchedSpecError::Library { text, path, cause: e.kind().to_string() });
    }
    match Kernels::user()?.have_built(&content)? {
        true => Ok(file),
        false => Err(SchedSpecError::NotBuiltHere { text, path }),
    }
}

fn open(text: &str, path: &Path) -> Result<File, SchedSpecError> {
    let refuse = |cause: &str| SchedSpecError::Library {
        text: text.into(),
        path: path.display().to_string(),
        cause: cause.into(),
    };
    // Checked before the file is opened: to open a pipe would wait for its writer.
    match std::fs::metadata(path) {
        Ok(meta) if !meta.is_file() => return Err(refuse("it is not a regular file")),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(refuse("there is no such file")),
        _ => {}
    }
    File::open(path).map_err(|e| refuse(&e.kind().to_string()))
}

/// xxh3-128 of all bytes of a file, from its begin.
fn digest(file: &File) -> io::Result<u128> {
    // A second open file description, so that the position of `file` does not change.
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file));
    let mut file = File::open(path)?;
    let mut hash = Xxh3::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.digest128()),
            n => hash.update(&buffer[..n]),
        }
    }
}
