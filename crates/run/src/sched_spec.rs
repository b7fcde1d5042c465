//! Names of schedulers as typed: `fair:PRESET+feature-feature` for our own, `linux:NAME` for a kernel built by
//! `fairground kernel build`, `linux:PATH`, with a / in it, for the library of one.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use fairground_fair::{Fair, FairError, Features, Options};
use fairground_linux::build::{is_any_library_allowed, BuildError, BuiltKernel, Kernels};
use fairground_machine::Machine;
use fairground_sim::Scheduler;
use miette::Diagnostic;
use thiserror::Error;
use xxhash_rust::xxh3::Xxh3;

/// A scheduler under test, as typed and checked.
#[derive(Clone)]
pub struct SchedSpec {
    text: String,
    kind: Kind,
    /// Of the library, once it has been asked for.
    digest: Arc<OnceLock<u128>>,
}

#[derive(Clone)]
enum Kind {
    /// Ours.
    Fair(Features),
    /// A built kernel. Opened once, so that all runs of a command are runs of the same code.
    Linux(Arc<File>),
    /// The same with what is on record of it.
    Built(Arc<File>, Arc<BuiltKernel>),
}

/// Why a scheduler's name is not understood.
#[derive(Debug, Error, Diagnostic)]
pub enum SchedSpecError {
    /// No family in front.
    #[error("scheduler {0:?} does not say whose it is")]
    #[diagnostic(help(
        "write fair:PRESET or fair:PRESET+feature-feature, for example fair:v5.9+asym-prev-first, or linux:NAME"
    ))]
    NoFamily(String),
    /// Something else in front.
    #[error("scheduler {text:?}: there is no family {family:?}")]
    #[diagnostic(help("write fair:{rest} for our own scheduler, linux:NAME for that of a built kernel"))]
    UnknownFamily {
        /// As typed.
        text: String,
        /// What stands before the colon.
        family: String,
        /// What stands behind it.
        rest: String,
    },
    /// No such built kernel, or one that cannot be used.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Kernel(#[from] BuildError),
    /// A library that cannot be had.
    #[error("scheduler {text:?}: cannot read {path}: {cause}")]
    #[diagnostic(help("linux:PATH takes the library of a built kernel"))]
    Library {
        /// As typed.
        text: String,
        /// The file.
        path: String,
        /// What the system says.
        cause: String,
    },
    /// A library that no `kernel build` made.
    #[error("scheduler {text:?}: {path} was not built here")]
    #[diagnostic(help(
        "its code would run as you: build the kernel with `fairground kernel build TREE --name NAME` and write linux:NAME, or say \
         --allow-library if you trust the file"
    ))]
    NotBuiltHere {
        /// As typed.
        text: String,
        /// The file.
        path: String,
    },
    /// The preset or a feature.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Fair(#[from] FairError),
}

impl FromStr for SchedSpec {
    type Err = SchedSpecError;

    fn from_str(text: &str) -> Result<SchedSpec, SchedSpecError> {
        let Some((family, rest)) = text.split_once(':') else {
            return Err(SchedSpecError::NoFamily(text.into()));
        };
        let kind = match family {
            "fair" => Kind::Fair(Features::parse(text)?),
            "linux" if rest.contains('/') => Kind::Linux(Arc::new(built_here(text, Path::new(rest))?)),
            "linux" => return SchedSpec::named(text, Kernels::user()?.find(rest)?),
            _ => {
                let (text, family, rest) = (text.into(), family.into(), rest.into());
                return Err(SchedSpecError::UnknownFamily { text, family, rest });
            }
        };
        Ok(SchedSpec::new(text, kind))
    }
}

/// A library that `kernel build` made, unless any is allowed: loading it runs its code.
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
    // Asked first: opening a pipe would wait for its writer.
    match std::fs::metadata(path) {
        Ok(meta) if !meta.is_file() => return Err(refuse("it is not a file")),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(refuse("there is no such file")),
        _ => {}
    }
    File::open(path).map_err(|e| refuse(&e.kind().to_string()))
}

impl SchedSpec {
    fn new(text: &str, kind: Kind) -> SchedSpec {
        SchedSpec { text: text.into(), kind, digest: Arc::default() }
    }

    /// A kernel on record.
    fn named(text: &str, kernel: BuiltKernel) -> Result<SchedSpec, SchedSpecError> {
        let library = Arc::new(open(text, &kernel.library)?);
        Ok(SchedSpec::new(text, Kind::Built(library, Arc::new(kernel))))
    }

    /// A kernel whose library is at hand, with what is on record of it.
    pub fn of_library(text: &str, library: File, kernel: Option<BuiltKernel>) -> SchedSpec {
        let library = Arc::new(library);
        let kind = match kernel {
            Some(kernel) => Kind::Built(library, Arc::new(kernel)),
            None => Kind::Linux(library),
        };
        SchedSpec::new(text, kind)
    }

    /// What is on record of a kernel that was named; none of one given by its path.
    pub fn built(&self) -> Option<&BuiltKernel> {
        match &self.kind {
            Kind::Fair(_) | Kind::Linux(_) => None,
            Kind::Built(_, kernel) => Some(kernel),
        }
    }

    /// The features of our own scheduler; none if this is a kernel.
    pub fn features(&self) -> Option<&Features> {
        match &self.kind {
            Kind::Fair(features) => Some(features),
            Kind::Linux(_) | Kind::Built(..) => None,
        }
    }

    /// The library of a built kernel; none if this is ours.
    pub fn library(&self) -> Option<&Arc<File>> {
        match &self.kind {
            Kind::Fair(_) => None,
            Kind::Linux(library) | Kind::Built(library, _) => Some(library),
        }
    }
}

impl SchedSpec {
    /// xxh3-128 of the library of a built kernel; of nothing if the scheduler is ours.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn library_digest(&self) -> io::Result<u128> {
        if let Some(known) = self.digest.get() {
            return Ok(*known);
        }
        let found = self.library().map_or(Ok(0), |library| digest(library))?;
        Ok(*self.digest.get_or_init(|| found))
    }
}

/// Of all bytes of a file, wherever its position is.
fn digest(file: &File) -> io::Result<u128> {
    // Opened anew: a position of its own.
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

/// A fresh instance of our own scheduler for one run on `machine`.
///
/// # Errors
/// If it cannot serve this machine.
pub fn fair(features: &Features, machine: &Arc<Machine>) -> Result<Box<dyn Scheduler>, FairError> {
    Ok(Box::new(Fair::new(Arc::clone(machine), features.clone(), Options::default())?))
}

impl fmt::Display for SchedSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
impl SchedSpec {
    /// A kernel that no cache has.
    pub fn of_built(kernel: BuiltKernel) -> Result<SchedSpec, SchedSpecError> {
        SchedSpec::named(&format!("linux:{}", kernel.name), kernel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> SchedSpecError {
        text.parse::<SchedSpec>().err().expect("refused")
    }

    #[test]
    fn a_scheduler_prints_as_typed() {
        for text in ["fair:v5.9+asym-prev-first", "fair:v6.1+sis-mode=prop-aged"] {
            assert_eq!(text.parse::<SchedSpec>().expect("a scheduler").to_string(), text);
        }
    }

    #[test]
    fn a_library_is_found_by_path_or_refused() {
        let cause = |text| match refused(text) {
            SchedSpecError::Library { cause, .. } => cause,
            other => panic!("{other:?}"),
        };
        assert_eq!(cause("linux:./no.so"), "there is no such file");
        assert_eq!(cause("linux:./src"), "it is not a file");
        assert!(matches!(refused("linux:no-such-kernel"), SchedSpecError::Kernel(BuildError::Unknown { .. })));
    }

    #[test]
    fn other_names_are_not_guessed() {
        assert!(matches!(refused("v5.9"), SchedSpecError::NoFamily(_)));
        assert!(matches!(refused("fare:v5.9"), SchedSpecError::UnknownFamily { .. }));
        assert!(matches!(refused("fair:v5.9+asym-prev-frist"), SchedSpecError::Fair(_)));
    }

    #[test]
    fn a_library_that_was_not_built_here_is_refused() {
        let error = refused("linux:./Cargo.toml");
        assert!(matches!(&error, SchedSpecError::NotBuiltHere { path, .. } if path == "./Cargo.toml"), "{error:?}");
        assert!(miette::Diagnostic::help(&error).unwrap().to_string().contains("--allow-library"));
    }
}
