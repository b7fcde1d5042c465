//! From a kernel's source tree to a scheduler that can be loaded: `fairground kernel build`.
//!
//! ```text
//! TREE (only read) --links--> overlay + our arch/sim --the tree's own Kbuild--> objects --link--> libksched-KEY.so
//!                               ^ configuration: base.config, the user's .config, --set
//!                               ^ probes: what has this tree? -> include/generated/ks_probes.h
//! ```
//!
//! [`Kernels`] is the user's cache: [`Kernels::build`] runs a [`Request`] and makes a [`BuiltKernel`], and
//! [`Kernels::find`] finds it for runs of `linux:NAME`. A build is incremental, and nothing at all if no
//! content has changed; it never writes to the tree, and one that fails leaves the library before in place.
//!
//! | file | what |
//! |---|---|
//! | `pipeline` | the steps in their order |
//! | `tree`, `tools` | what a user must have |
//! | `config`, `kconfig` | options taken over, those that are not, and those that a tree has |
//! | `overlay`, `embedded` | where the tree's build works: links, and the C side |
//! | `make`, `flags`, `kbuild` | running it, its first error, and what its makefiles list |
//! | `probes`, `objects`, `symbols`, `link` | what a tree has, what is made of it, what it lacks |
//! | `inputs`, `seed` | what went in, by content, and objects of another kernel that fit |
//! | `uncompiled` | sources of the scheduler that are not in the library |
//! | `cache` | built kernels by name |
//!
//! ```
//! use fairground_linux::build::{BuildError, Kernels};
//!
//! let none = Kernels::in_dir("/nowhere/kernels".into());
//! assert!(matches!(none.find("v6.12"), Err(BuildError::Unknown { .. })));
//! ```

mod cache;
mod config;
mod embedded;
mod error;
#[cfg(test)]
mod fake;
mod files;
mod flags;
mod inputs;
mod kbuild;
mod kconfig;
mod link;
mod make;
mod objects;
mod overlay;
mod pipeline;
mod probes;
mod seed;
mod symbols;
mod tools;
mod tree;
mod uncompiled;

pub use cache::{allow_any_library, is_any_library_allowed, user_cache, BuiltKernel, FailedBuild, Kernels, Record};
pub use config::IgnoredOption;
pub use error::{BuildError, StubbedSymbol};
pub use pipeline::{BuildResult, Request, Step};
