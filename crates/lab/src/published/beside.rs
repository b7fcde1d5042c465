//! Published rows beside a comparison of the same machine, workload and schedulers.

use std::collections::BTreeSet;

use fairground_run::experiment::Experiment;
use fairground_run::run_config::SETTINGS;
use fairground_run::sched_spec::SchedSpec;
use fairground_sim::Config;
use fairground_workload::Workload;
use serde::Serialize;

use super::{Mail, PublishedError, PublishedRow, PublishedRun};

/// Options of built-in workloads that make runs longer or shorter.
const LENGTH: [&str; 5] = ["loops", "duration", "runtime", "scale", "bursts"];

/// A published row, to be shown beside our figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PublishedBeside {
    /// Id of the row, `MAIL/...`.
    pub id: String,
    /// Slug of the mail.
    pub mail: String,
    /// Subject of the mail, as posted.
    pub subject: String,
    /// Name of the sender.
    pub author: String,
    /// Day on which it was sent.
    pub date: String,
    /// Workload with which the row is repeated.
    pub workload: String,
    /// Whether the comparison runs that workload, whatever its length.
    pub same_workload: bool,
    /// Name of our metric.
    pub metric: String,
    /// Unit of the published values.
    pub unit: String,
    /// Published value without the patch.
    pub base: Option<f64>,
    /// Published value with the patch.
    pub test: Option<f64>,
    /// Published change, percent of base, positive is better.
    pub improvement_pct: Option<f64>,
    /// Error of the published change, percentage points; 2 where the mail prints no error.
    pub sigma_pct: f64,
    /// Whether a cost of the machine is fitted to the base of this row.
    pub base_is_fitted: bool,
    /// What a reader must know to compare.
    pub note: String,
}

/// A side of a comparison: its machine and workload as typed, and its experiment of one scheduler.
#[derive(Clone, Copy)]
pub struct SideRun<'a> {
    /// Machine, as typed.
    pub machine: &'a str,
    /// Workload, as typed.
    pub workload: &'a str,
    /// What is run: settings and scheduler are compared with those of the row.
    pub experiment: &'a Experiment,
}

/// The rows of which `base` and `test` repeat the sides, in the order of the mails: on a preset, with the settings of the
/// row's runs, and the row's workload at any length. If there is none, the rows of the same built-in workload with other
/// options, as long as they all have one workload.
///
/// # Errors
/// If published rows do not load.
pub fn beside(base: SideRun, test: SideRun, fitted_to: &[String]) -> Result<Vec<PublishedBeside>, PublishedError> {
    let (mut same, mut alike) = (Vec::new(), Vec::new());
    for name in Mail::known() {
        let mail = Mail::find(name)?;
        for row in mail.rows.iter().filter(|row| row.test.is_some()) {
            let Some(run) = row.run.as_ref().filter(|run| is_pair(run, base, test)) else { continue };
            let matches = [(base, 0), (test, 1)].map(|(side, i)| workload_match(run.columns()[i].0, side));
            if matches.contains(&Match::Other) {
                continue;
            }
            let exact = matches == [Match::Same; 2];
            let list = if exact { &mut same } else { &mut alike };
            list.push(shown(&mail, row, run, exact, fitted_to));
        }
    }
    let workloads: BTreeSet<&str> = alike.iter().map(|row| row.workload.as_str()).collect();
    Ok(match (same.is_empty(), workloads.len()) {
        (true, 1) => alike,
        _ => same,
    })
}

/// How the workload of a row is that of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Match {
    /// The same but for its length.
    Same,
    /// The same built-in with other options.
    Alike,
    Other,
}

fn workload_match(row: &str, side: SideRun) -> Match {
    let name = |spec: &str| spec.split(':').next().unwrap_or_default().to_owned();
    if name(row) != name(side.workload) {
        return Match::Other;
    }
    if row == side.workload || without_length(row) == without_length(side.workload) {
        return Match::Same;
    }
    // Options may say what is so by default.
    let bare = |workload: Workload| Workload { name: String::new(), ..workload };
    let of_row = Workload::builtin(row, &side.experiment.machine).map(|(workload, _)| bare(workload));
    match of_row {
        Ok(workload) if workload == bare(Workload::clone(&side.experiment.workload)) => Match::Same,
        _ => Match::Alike,
    }
}

/// Name and options of a workload but for those of its length.
pub(super) fn without_length(spec: &str) -> (&str, BTreeSet<&str>) {
    let (name, options) = spec.split_once(':').unwrap_or((spec, ""));
    let is_other = |option: &&str| !option.is_empty() && !LENGTH.contains(&option.split('=').next().unwrap_or(option));
    (name, options.split(',').filter(is_other).collect())
}

/// Whether the sides are a row's but for the workload.
fn is_pair(run: &PublishedRun, base: SideRun, test: SideRun) -> bool {
    let Ok(governor) = run.governor() else { return false };
    let config = Config { governor, ..Config::default() };
    [(base, run.columns()[0].1), (test, run.columns()[1].1)].iter().all(|(side, sched)| {
        let Experiment { machine, scheds, config: own, .. } = side.experiment;
        let is_sched = sched.parse::<SchedSpec>().is_ok_and(|sched| {
            scheds.first().is_some_and(|own| own.features().is_some() && own.to_string() == sched.to_string())
        });
        let as_set = || SETTINGS.iter().all(|setting| setting.text(own, machine) == setting.text(&config, machine));
        side.machine == run.machine && is_sched && as_set()
    })
}

fn shown(
    mail: &Mail,
    row: &PublishedRow,
    run: &PublishedRun,
    same_workload: bool,
    fitted_to: &[String],
) -> PublishedBeside {
    let value = |cell: &Option<super::Cell>| cell.as_ref().map(|cell| cell.value);
    let notes = [Some("measured on the mail's own kernel and board"), mail.note.as_deref(), row.note.as_deref()];
    let doubt = row.not_scored.as_deref();
    PublishedBeside {
        id: row.id.clone(),
        mail: mail.mail.clone(),
        subject: mail.subject.clone(),
        author: mail.author.clone(),
        date: mail.date.to_string(),
        workload: run.full.clone().unwrap_or_else(|| run.workload.clone()),
        same_workload,
        metric: run.metric.clone(),
        unit: row.unit.clone(),
        base: value(&row.base),
        test: value(&row.test),
        improvement_pct: row.improvement_pct(),
        sigma_pct: row.sigma_pct(),
        base_is_fitted: fitted_to.contains(&format!("{}/base", row.id)),
        note: notes.into_iter().chain([doubt]).flatten().collect::<Vec<_>>().join("; "),
    }
}

#[cfg(test)]
mod tests {
    use fairground_run::run_config::RunConfig;

    use super::*;

    fn found(machine: &str, workload: &str, scheds: [&str; 2], config: RunConfig) -> Vec<PublishedBeside> {
        let experiments = scheds.map(|sched| config.find(machine, workload, &[sched.into()]).unwrap().0);
        let [base, test] = experiments.each_ref().map(|experiment| SideRun { machine, workload, experiment });
        beside(base, test, &["asym-prev-first/hikey960/sched-pipe/ops_per_sec/base".into()]).unwrap()
    }

    fn ids(rows: &[PublishedBeside]) -> Vec<&str> {
        rows.iter().map(|row| row.id.as_str()).collect()
    }

    const PAIR: [&str; 2] = ["fair:v5.9", "fair:v5.9+asym-prev-first"];
    const ROWS: [&str; 2] =
        ["asym-prev-first/hikey960/sched-pipe/migrations", "asym-prev-first/hikey960/sched-pipe/ops_per_sec"];

    #[test]
    fn a_row_is_found_by_machine_workload_and_pair() {
        let rows = found("hikey960", "sched-pipe:threads,loops=2000", PAIR, RunConfig::default());
        assert_eq!(ids(&rows), ROWS);
        let ops = &rows[1];
        assert_eq!((ops.base, ops.test, ops.metric.as_str()), (Some(149_313.0), Some(182_587.0), "ops_per_sec"));
        assert!((ops.improvement_pct.unwrap() - 22.285).abs() < 1e-3 && (ops.sigma_pct - 0.488).abs() < 1e-3);
        assert!(ops.same_workload && ops.base_is_fitted && !rows[0].base_is_fitted);
        assert!(ops.note.contains("the mail's own kernel") && ops.note.contains("v5.10-rc1"), "{}", ops.note);
    }

    #[test]
    fn another_form_of_the_workload_says_so() {
        let rows = found("hikey960", "sched-pipe", PAIR, RunConfig::default());
        assert_eq!(ids(&rows), ROWS);
        assert!(!rows[0].same_workload && rows[0].workload == "sched-pipe:loops=50000,threads");
    }

    #[test]
    fn nothing_is_shown_beside_another_experiment() {
        let config = RunConfig::default();
        let none =
            |machine, workload, scheds, config| assert_eq!(ids(&found(machine, workload, scheds, config)), [""; 0]);
        none("hikey960", "sched-pipe", ["fair:v5.9", "fair:v5.11"], config);
        none("hikey960", "sched-pipe", [PAIR[1], PAIR[0]], config);
        none("hikey960", "hackbench", PAIR, config);
        none("rpi5", "sched-pipe", PAIR, config);
        none("hikey960", "sched-pipe", PAIR, RunConfig { hz: Some(1000), ..config });
        none("hikey960", "sched-pipe", PAIR, RunConfig { governor: fairground_sim::Governor::Schedutil, ..config });
    }
}
