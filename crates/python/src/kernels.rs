//! Building and listing of kernels.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use fairground_linux::build::{BuiltKernel, Kernels, Request};
use pyo3::prelude::*;

use crate::errors::{input, refused};
use crate::table::{booleans, counts, maybe_counts, numbers, texts, Table};

/// The built kernels, one row each, and messages about those that cannot be used.
#[pyfunction]
pub fn kernels() -> PyResult<(Table, Vec<String>)> {
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    for kernel in Kernels::user().and_then(|kernels| kernels.list()).map_err(input)? {
        match kernel {
            Ok(kernel) => found.push(kernel),
            Err(error) => problems.push(error.to_string()),
        }
    }
    Ok((table(&found), problems))
}

fn table(kernels: &[BuiltKernel]) -> Table {
    let text = |part: &dyn Fn(&BuiltKernel) -> String| {
        let words: Vec<String> = kernels.iter().map(part).collect();
        texts(words.iter().map(String::as_str))
    };
    let size = |k: &BuiltKernel| k.library.metadata().ok().map(|meta| meta.len());
    Table::from_columns(vec![
        ("sched", text(&|k| format!("linux:{}", k.name))),
        ("release", text(&|k| k.record.release.clone())),
        ("hz", numbers(kernels.iter().map(|k| k.record.hz))),
        ("nr_cpus", numbers(kernels.iter().map(|k| k.record.nr_cpus))),
        ("tree", text(&|k| k.record.tree.display().to_string())),
        ("tree_changed", booleans(kernels.iter().map(|k| k.record.tree_changed()))),
        ("built_s", counts(kernels.iter().map(|k| k.record.built))),
        ("compiler", text(&|k| k.record.compiler.clone())),
        ("key", text(&|k| k.record.key.clone())),
        ("library", text(&|k| k.library.display().to_string())),
        ("library_bytes", maybe_counts(kernels.iter().map(size))),
        ("warnings", text(&|k| k.warnings().join("\n"))),
        ("failed", text(&|k| k.failed.as_ref().map_or_else(String::new, |failed| failed.what.clone()))),
    ])
}

/// Builds the scheduler of a source tree in this process. Returns its name, and whether anything was built. Only the
/// end of this process stops it; `fairground.kernel_build` starts a process for it.
#[pyfunction]
#[pyo3(signature = (tree, name, config, set, debug, jobs))]
pub fn build_kernel(
    py: Python<'_>,
    tree: PathBuf,
    name: Option<String>,
    config: Option<PathBuf>,
    set: Vec<String>,
    debug: bool,
    jobs: Option<i64>,
) -> PyResult<(String, bool)> {
    let threads = |jobs| usize::try_from(jobs).ok().and_then(NonZeroUsize::new);
    let jobs = jobs.map(|jobs| threads(jobs).ok_or_else(|| refused("jobs: expected 1 or more"))).transpose()?;
    let request = Request { tree, name, config, set, debug, jobs };
    let built = py.detach(|| Kernels::user()?.build(&request, &mut |_| {})).map_err(input)?;
    Ok((built.kernel.name, built.made))
}
