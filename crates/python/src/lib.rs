//! Fairground as a Python package: [`fairground_lab`] for notebooks.
//!
//! This is the compiled half, `fairground._fairground`; `python/fairground` is what users import. Machines, workloads
//! and schedulers are what the command takes: names, files, or plain dicts with the same keys and the same messages.
//! Results are `Table`s, which any library takes over Arrow's C interface without a copy.
//!
//! While something runs the interpreter is free for other threads, and Ctrl-C ends the run.

mod analysis;
mod compare;
mod errors;
mod explain;
mod hardware;
mod interrupt;
mod kernels;
mod machine;
mod options;
mod reproduce;
mod run;
mod runs;
mod stats;
mod store;
mod sweep_file;
mod table;
mod whatif;
mod workload;

use fairground_fair::Features;
use fairground_lab::provenance::MadeBy;
use pyo3::prelude::*;

/// The compiled half of the package.
#[pymodule]
mod _fairground {
    #[pymodule_export]
    use super::analysis::{allow_library, change, html_page, nearest, page_style, printable};
    #[pymodule_export]
    use super::compare::{compare, Comparison};
    #[pymodule_export]
    use super::errors::{CannotKeep, InputError, RunFailed, StoreRefused, SweepError};
    #[pymodule_export]
    use super::explain::{
        explain_difference, explain_picks, explain_placements, Difference, Explanation, PickExplanation,
    };
    #[pymodule_export]
    use super::hardware::hardware;
    #[pymodule_export]
    use super::kernels::{build_kernel, kernels};
    #[pymodule_export]
    use super::machine::{machines, Machine};
    #[pymodule_export]
    use super::reproduce::{reproduce_rows, Reproduction};
    #[pymodule_export]
    use super::run::{run, Run};
    #[pymodule_export]
    use super::runs::{code, pack_outcomes, unpack_outcomes, Columns, Inputs, Outcome, RunKeys};
    #[pymodule_export]
    use super::store::{Results, Store};
    #[pymodule_export]
    use super::sweep_file::{load_sweep_file, read_sweep_file};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::whatif::{what_if, Counterfactual};
    #[pymodule_export]
    use super::workload::Workload;
    #[pymodule_export]
    use super::{feature_diff, features, presets, serve_worker};

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__commit__", made_by().commit)?;
        module.add("__version__", made_by().version)
    }
}

/// This package, for what results say of the program that made them. There is a command if `fairground` started the
/// interpreter.
fn made_by() -> MadeBy {
    let command = std::env::var("FAIRGROUND_STUDY_COMMAND").ok();
    MadeBy::new(env!("CARGO_PKG_VERSION"), env!("FAIRGROUND_COMMIT"), command)
}

/// Presets of our own scheduler: one row each.
#[pyfunction]
fn presets() -> table::Table {
    let rows = &fairground_fair::PRESETS;
    table::Table::from_columns(vec![
        ("name", table::texts(rows.iter().map(|p| p.name))),
        ("meaning", table::texts(rows.iter().map(|p| p.text))),
    ])
}

/// Features of our own scheduler: one row each.
#[pyfunction]
fn features() -> table::Table {
    let rows = fairground_fair::features();
    let details = || rows.iter().map(|f| fairground_fair::feature_details(f.name));
    let section = |(page, section): (&str, &str)| format!("{page} {section}");
    table::Table::from_columns(vec![
        ("name", table::texts(rows.iter().map(|f| f.name))),
        ("mail", table::texts(rows.iter().map(|f| f.mail))),
        ("since", table::texts(rows.iter().map(|f| f.since))),
        ("ready", table::booleans(rows.iter().map(|f| f.ready))),
        ("functions", table::texts(details().map(|d| d.map_or("", |d| d.functions)))),
        ("shows", table::texts(details().map(|d| d.and_then(|d| d.shows()).unwrap_or_default()))),
        ("described", table::texts(details().map(|d| d.map(|d| d.page()).map_or_else(String::new, section)))),
        ("meaning", table::texts(rows.iter().map(|f| f.text))),
    ])
}

/// The features in which two presets or schedulers differ: one row each.
#[pyfunction]
#[pyo3(signature = (base, test))]
fn feature_diff(base: &str, test: &str) -> PyResult<table::Table> {
    let read = |name: &str| Features::parse(name).map_err(errors::input);
    let rows = fairground_fair::feature_diff(&read(base)?, &read(test)?);
    Ok(table::Table::from_columns(vec![
        ("name", table::texts(rows.iter().map(|row| row.feature.name))),
        ("base", table::texts(rows.iter().map(|row| row.base))),
        ("test", table::texts(rows.iter().map(|row| row.test))),
        ("changed_by", table::texts(rows.iter().map(|row| row.to_string()))),
        ("ready", table::booleans(rows.iter().map(|row| row.feature.ready))),
        ("meaning", table::texts(rows.iter().map(|row| row.feature.text))),
    ]))
}

/// Makes the run on standard input, in a worker process of this interpreter. Ends the process.
#[pyfunction]
fn serve_worker() {
    let code = fairground_run::worker::serve(&fairground_run::worker::scheduler);
    std::process::exit(if code == std::process::ExitCode::SUCCESS { 0 } else { 2 })
}
