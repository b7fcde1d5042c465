//! Names of schedulers: `fair:PRESET+feature-feature` is our own, `linux:NAME` a kernel built by `fairground kernel
//! build`, `linux:PATH` (with a / in it) the library of a built kernel.

#[cfg(unix)]
mod kernel;
#[cfg(not(unix))]
#[path = "sched_spec/no_kernel.rs"]
mod kernel;

use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::Arc;

use fairground_fair::{Fair, FairError, Features, Options};
#[cfg(unix)]
use fairground_linux::build::BuildError;
use fairground_machine::Machine;
use fairground_sim::Scheduler;
use miette::Diagnostic;
use thiserror::Error;

use self::kernel::Kernel;
use crate::kernel_compat::BuiltWith;

/// A scheduler under test, parsed and checked.
#[derive(Clone)]
pub struct SchedSpec {
    text: String,
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    /// The Rust scheduler of crate `fairground_fair`, with these features.
    Fair(Box<Features>),
    /// A built kernel.
    Linux(Kernel),
}

/// Why there is no scheduler of a name.
#[derive(Debug, Error, Diagnostic)]
pub enum SchedSpecError {
    /// The name has no family in front.
    #[error("scheduler {text:?} does not name its family")]
    #[diagnostic(help(
        "{meant}write fair:PRESET or fair:PRESET+feature-feature, for example fair:v5.9+asym-prev-first, fair: for the newest release, \
         or linux:NAME"
    ))]
    NoFamily {
        /// The scheduler's name, as the user wrote it.
        text: String,
        /// Empty, or the question whether one of ours was meant.
        meant: String,
    },
    /// There is no such family.
    #[error("scheduler {text:?}: there is no family {family:?}")]
    #[diagnostic(help("write fair:{rest} for our own scheduler, linux:NAME for that of a built kernel"))]
    UnknownFamily {
        /// The scheduler's name, as the user wrote it.
        text: String,
        /// The text before the colon.
        family: String,
        /// The text after the colon.
        rest: String,
    },
    /// There is no such built kernel, or it cannot be used.
    #[cfg(unix)]
    #[error(transparent)]
    #[diagnostic(transparent)]
    Kernel(#[from] BuildError),
    /// Kernels run in processes, which this program cannot start.
    #[cfg(not(unix))]
    #[error("scheduler {text:?}: kernels do not run here")]
    #[diagnostic(help("write fair:PRESET for our own scheduler; the command runs built kernels: fairground compare"))]
    NoKernels {
        /// The scheduler's name, as the user wrote it.
        text: String,
    },
    /// The library cannot be read.
    #[error("scheduler {text:?}: cannot read {path}: {cause}")]
    #[diagnostic(help("linux:PATH takes the library of a built kernel"))]
    Library {
        /// The scheduler's name, as the user wrote it.
        text: String,
        /// Path of the library.
        path: String,
        /// Why it cannot be read.
        cause: String,
    },
    /// The library was not made by `kernel build`.
    #[error("scheduler {text:?}: {path} was not built here")]
    #[diagnostic(help(
        "its code would run as you: build the kernel with `fairground kernel build TREE --name NAME` and write linux:NAME, or say \
         --allow-library if you trust the file"
    ))]
    NotBuiltHere {
        /// The scheduler's name, as the user wrote it.
        text: String,
        /// Path of the library.
        path: String,
    },
    /// The preset or a feature is unknown or invalid.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Fair(#[from] FairError),
}

impl FromStr for SchedSpec {
    type Err = SchedSpecError;

    fn from_str(text: &str) -> Result<SchedSpec, SchedSpecError> {
        let text = &*Features::full_name(text);
        let Some((family, rest)) = text.split_once(':') else {
            let ours = format!("fair:{text}");
            let is_ours = Features::parse(&ours).is_ok();
            let meant = if is_ours { format!("did you mean {ours}? ") } else { String::new() };
            return Err(SchedSpecError::NoFamily { text: text.into(), meant });
        };
        let kind = match family {
            "fair" => Kind::Fair(Box::new(Features::parse(text)?)),
            "linux" => Kind::Linux(Kernel::find(text, rest)?),
            _ => {
                let (text, family, rest) = (text.into(), family.into(), rest.into());
                return Err(SchedSpecError::UnknownFamily { text, family, rest });
            }
        };
        Ok(SchedSpec { text: text.into(), kind })
    }
}

impl SchedSpec {
    /// The features of our own scheduler; `None` for a kernel.
    pub fn features(&self) -> Option<&Features> {
        match &self.kind {
            Kind::Fair(features) => Some(features),
            Kind::Linux(_) => None,
        }
    }

    /// What a kernel `linux:NAME` was built with; `None` for a kernel `linux:PATH` and for our own scheduler.
    pub fn built_with(&self) -> Option<BuiltWith> {
        self.kernel()?.built_with()
    }

    /// A warning if the last build of the kernel failed, so that its library is of the build before.
    pub fn stale(&self) -> Option<String> {
        self.kernel()?.stale()
    }

    /// The built kernel; `None` for our own scheduler.
    fn kernel(&self) -> Option<&Kernel> {
        match &self.kind {
            Kind::Fair(_) => None,
            Kind::Linux(kernel) => Some(kernel),
        }
    }
}

impl SchedSpec {
    /// xxh3-128 of the library of a built kernel; 0 for our own scheduler.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn library_digest(&self) -> io::Result<u128> {
        self.kernel().map_or(Ok(0), Kernel::digest)
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
    fn a_name_without_a_preset_is_the_newest_release() {
        let newest = format!("fair:{}", fairground_fair::Preset::newest().name);
        for (text, full) in [("fair", ""), ("fair:", ""), ("fair:-slice-700", "-slice-700")] {
            let sched = text.parse::<SchedSpec>().expect("a scheduler");
            assert_eq!(sched.to_string(), format!("{newest}{full}"));
            assert_eq!(sched.features().expect("ours").to_string(), format!("{newest}{full}"));
        }
    }

    #[test]
    fn a_library_is_found_by_path_or_refused() {
        let cause = |text| match refused(text) {
            SchedSpecError::Library { cause, .. } => cause,
            other => panic!("{other:?}"),
        };
        assert_eq!(cause("linux:./no.so"), "there is no such file");
        assert_eq!(cause("linux:./src"), "it is not a regular file");
        assert!(matches!(refused("linux:no-such-kernel"), SchedSpecError::Kernel(BuildError::Unknown { .. })));
    }

    #[test]
    fn other_names_are_not_guessed() {
        let help = |text: &str| refused(text).help().map(|help| help.to_string()).unwrap_or_default();
        assert!(matches!(refused("v5.9"), SchedSpecError::NoFamily { .. }));
        assert!(help("v5.9").starts_with("did you mean fair:v5.9? write"), "{}", help("v5.9"));
        assert!(help("v99").starts_with("write fair:PRESET"), "{}", help("v99"));
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
