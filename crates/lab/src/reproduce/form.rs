//! Variants of a patch that the mail does not measure, run beside the one that it does.

use serde::Serialize;

use super::rows::Executed;
use crate::published::PublishedRun;

/// Our result of a variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Variant {
    /// Name of the base scheduler, mostly the row's base.
    pub base: String,
    /// Scheduler of this variant.
    pub test: String,
    /// Mean of the row's metric over the seeds.
    pub value: f64,
    /// Our change, percent, positive = better; `None` where base is 0 and test is not.
    pub improvement_pct: Option<f64>,
    /// 95 % interval of the change, percent; `None` below two pairs, or where base is 0 and test is not.
    pub ci95: Option<[f64; 2]>,
    /// Number of pairs of runs.
    pub n: usize,
}

/// The variants that `run` asks for and for which at least one pair of runs completed, in its order.
pub(super) fn variants_of_row(run: &PublishedRun, executed: &[(PublishedRun, Executed)]) -> Vec<Variant> {
    let form = |form: PublishedRun| {
        let (_, executed) = executed.iter().find(|(spec, _)| spec.has_runs_of(&form))?;
        let rows = &executed.report.comparisons.first()?.rows;
        let row = rows.iter().find(|row| row.metric.name == run.metric)?;
        Some(Variant {
            base: form.base,
            test: form.test.unwrap_or_default(),
            value: row.test_summary().mean,
            improvement_pct: row.change.improvement_pct,
            ci95: row.change.ci95,
            n: row.test.len(),
        })
    };
    run.forms().filter_map(form).collect()
}
