//! Fits of workload options to baseline cells, as the published rows record them.

use fairground_machine::MachineSpec;
use fairground_workload::Workload;

use super::{decade_thousandths, halve, miss, targets, CalibrateError, FitRuns, Target, STEPS_PER_DECADE};
use crate::published::{with_option, FittedOption, Mail, PublishedError};
use fairground_run::experiment::Experiment;

/// A workload option to fit, and the cell to reproduce.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionJob {
    /// The baseline cell that the fit must reproduce.
    pub target: Target,
    /// The fit as the published row records it.
    pub recorded: FittedOption,
}

/// Outcome of the fit of a workload option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OptionFit {
    /// The fitted value, with the digits that are written to the file.
    pub value: f64,
    /// Our baseline value with it: mean over the seeds.
    pub ours: f64,
}

/// The workload options that were fitted to cells of the machine called `name`.
///
/// # Errors
/// If the published rows do not load.
pub fn option_jobs(name: &str) -> Result<Vec<OptionJob>, PublishedError> {
    let targets = targets(name)?;
    let mails = Mail::known().map(Mail::find).collect::<Result<Vec<_>, _>>()?;
    let job = |recorded: FittedOption| {
        let target = targets.iter().find(|target| target.cell == recorded.cell)?.clone();
        Some(OptionJob { target, recorded })
    };
    Ok(mails.into_iter().flat_map(|mail| mail.fitted).filter_map(job).collect())
}

/// Varies the job's option until the one scheduler of `experiment` gives the target. Deterministic; the recorded value
/// has no influence.
///
/// # Errors
/// If a run fails or no value reaches the target.
pub fn fit_option(experiment: &Experiment, runs: &FitRuns, job: &OptionJob) -> Result<OptionFit, CalibrateError> {
    let OptionJob { target, recorded } = job;
    let cpus =
        MachineSpec::parse(&target.run.machine).subset.map(|subset| experiment.machine.subset(subset)).transpose()?;
    let at = |step: u64| {
        let workload = with_option(&target.run.workload, &recorded.workload, &recorded.option, value(step));
        let workload = workload.as_ref().unwrap_or(&target.run.workload);
        let workload = Workload::find_bound(workload, &experiment.machine, cpus.as_ref())?.0;
        runs.baseline(experiment.with_workload(workload), &target.run.metric)
    };
    let (low, high) = (step(recorded.low), step(recorded.high));
    let rises = at(low)? < at(high)?;
    let (step, ours) = halve((low, high), target.published, rises, at)?;
    let fit = OptionFit { value: value(step), ours };
    if miss(ours, target.published) > target.close_enough {
        let figure = format!("{}:{}", recorded.workload, recorded.option);
        return Err(CalibrateError::OutOfReach { figure, published: target.published, value: fit.value, ours });
    }
    Ok(fit)
}

/// The value of a grid step: four digits from 0.001 on.
fn value(step: u64) -> f64 {
    decade_thousandths(step) as f64 / 1e6
}

/// The first grid step whose value is at least `of`.
fn step(of: f64) -> u64 {
    (0..10 * STEPS_PER_DECADE).find(|step| value(*step) >= of).unwrap_or(10 * STEPS_PER_DECADE)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::published::PublishedRun;

    #[test]
    fn the_fits_of_mail_003_are_of_its_unpatched_kernel() {
        let jobs = option_jobs("pixel6").unwrap();
        let words = |j: &OptionJob| format!("{}:{} {}", j.recorded.workload, j.recorded.option, j.target.run.base);
        assert_eq!(
            jobs.iter().map(words).collect::<Vec<_>>(),
            ["geekbench5:points fair:misfit-unlink-baseline", "jankbench:frame-scale fair:misfit-unlink-baseline"]
        );
        assert!(option_jobs("hikey").unwrap().is_empty());
    }

    #[test]
    fn values_have_four_digits() {
        assert_eq!([0, 1, 9000, 27_000].map(value), [0.001, 0.001001, 0.01, 1.0]);
        assert_eq!([0.1, 1.0, 1.0005].map(step).map(value), [0.1, 1.0, 1.001]);
        assert_eq!(value(step(0.3249)).to_string(), "0.3249");
    }

    /// One copy on one core at full speed: its points are the option.
    #[test]
    fn an_option_is_turned_until_the_baseline_is_met_whichever_way_it_goes() {
        let mut job = option_jobs("pixel6").unwrap().swap_remove(0);
        let workload = "geekbench5:copies=1,work=10,gap=10".to_string();
        job.target.run = PublishedRun { workload: workload.clone(), ..job.target.run };
        let machine = fairground_machine::Machine::preset("hikey").unwrap();
        let workload = Workload::find(&workload, &machine).unwrap().0;
        let scheds = vec!["fair:v5.9".parse().unwrap()];
        let (config, workers) = Default::default();
        let experiment =
            Experiment { machine: Arc::new(machine), workload: Arc::new(workload), scheds, config, workers };
        let stop = Default::default();
        let runs = FitRuns { seeds: vec![1], jobs: 1, store: None, stop: &stop, tell: &|_| () };
        let fit = fit_option(&experiment, &runs, &job).unwrap();
        assert!(miss(fit.ours, 2765.4) < 2e-3 && (2500.0..3100.0).contains(&fit.value), "{fit:?}");
        assert_eq!(fit_option(&experiment, &runs, &job).unwrap(), fit);
        job.recorded.high = 100.0;
        let error = fit_option(&experiment, &runs, &job).unwrap_err();
        assert!(error.to_string().starts_with("no value of geekbench5:points gives 2765.4"), "{error}");
    }
}
