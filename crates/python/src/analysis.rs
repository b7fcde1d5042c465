//! Functions for `fairground.analysis`: statistics of pairs, names, and the frame of pages.

use fairground_lab::page;
use fairground_lab::stats::{Change, Terms};
use fairground_run::metrics::Better;
use pyo3::prelude::*;

use crate::errors::refused;

/// A change as a Python tuple: the difference (test minus base, in the metric's unit) and its 95 % interval, the
/// improvement (percent of base's mean, positive is better) and its interval, and whether the interval excludes zero.
/// None: unknown.
type ChangeTuple = (f64, Option<[f64; 2]>, Option<f64>, Option<[f64; 2]>, Option<bool>);

/// Two columns paired by position, as `compare` judges them.
#[pyfunction]
pub fn change(base: Vec<f64>, test: Vec<f64>, better: &str) -> PyResult<ChangeTuple> {
    let better = match better {
        "higher" => Better::Higher,
        "lower" => Better::Lower,
        other => return Err(refused(format!("better: expected higher or lower, not {other:?}"))),
    };
    if base.len() != test.len() {
        return Err(refused(format!("paired columns differ in length: {} and {}", base.len(), test.len())));
    }
    if base.iter().chain(&test).any(|x| !x.is_finite()) {
        return Err(refused("paired columns must be finite"));
    }
    let change = Change::new(&base, &test, &Terms::of_any_values(better));
    Ok((change.diff, change.diff_ci95, change.improvement_pct, change.ci95, change.significant))
}

/// Text that is safe to print on a terminal: a `?` for each byte of a control character.
#[pyfunction]
pub fn printable(text: &str) -> std::borrow::Cow<'_, str> {
    fairground_lab::tables::printable(text)
}

/// The valid name nearest to `name`, if one is near enough to be meant.
#[pyfunction]
pub fn nearest(name: &str, valid: Vec<String>) -> Option<String> {
    fairground_machine::nearest(name, valid.iter().map(String::as_str)).map(str::to_string)
}

/// Lets this process load any library as `linux:PATH`, also one that `kernel_build` did not make: its code runs as you.
#[pyfunction]
pub fn allow_library() {
    fairground_linux::build::allow_any_library();
}

/// The style sheet of all pages that Fairground writes.
#[pyfunction]
pub fn page_style() -> &'static str {
    page::STYLE
}

/// A whole page: `title` is text, `heading` and `body` are HTML.
#[pyfunction]
pub fn html_page(title: &str, heading: &str, body: &str) -> String {
    page::page(title, heading, body)
}
