//! `fairground calibrate MACHINE --posterior`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use fairground_lab::calibrate::evidence::{is_same, weigh, CellEvidence, Evidence};
use fairground_lab::calibrate::FitRuns;
use fairground_lab::tables::number;
use fairground_machine::{Machine, Posterior, EFFECTIVE_MIN};
use miette::Diagnostic;
use thiserror::Error;

use super::{interrupted, Calibrate};
use crate::error::{run_failed, End, Failure};
use crate::output::{complain, print, OutputFile};
use crate::progress::Progress;

/// Figures that are listed although base cells moved them little.
const LISTED: usize = 40;

/// There is nothing that may be kept.
#[derive(Debug, Error, Diagnostic)]
#[error("no posterior of {machine} is written: {reason}")]
#[diagnostic(help("{help}"))]
struct NotWritten {
    machine: String,
    reason: String,
    help: String,
}

impl Calibrate {
    /// Weighs the figures in doubt by the published baselines.
    pub(super) fn weigh(&self, machine: &Machine, runs: &FitRuns, progress: &Progress) -> Result<End, Failure> {
        let least = usize::try_from(self.draws).unwrap_or(usize::MAX / 4);
        let mut report = |draws, effective| {
            progress.aside(|| complain(&format!("{draws} draws, of which {effective:.0} are effective")));
        };
        let evidence = weigh(machine, least, runs, &mut report).map_err(|e| interrupted(e, runs))?;
        let file = self.posterior_file(machine);
        print(&render(machine, &evidence, recorded(machine, file.as_deref())?.as_deref()))?;
        if self.write {
            let file = file.unwrap_or_default();
            write(&file, &evidence)?;
            print(&format!("written    {}\n", file.display()))?;
        }
        Ok(End::Done)
    }

    /// Where the posterior of a machine file is; none for a preset.
    fn posterior_file(&self, machine: &Machine) -> Option<PathBuf> {
        let path = Path::new(&self.machine);
        let file = format!("posterior/{}.tsv", machine.name);
        path.is_file().then(|| path.parent().unwrap_or(Path::new("")).join(file))
    }
}

/// The text of the recorded posterior: beside the machine file, or that of the preset.
fn recorded(machine: &Machine, file: Option<&Path>) -> Result<Option<String>, Failure> {
    match file {
        None => Ok(Posterior::recorded_text(&machine.name).map(str::to_owned)),
        Some(file) if !file.exists() => Ok(None),
        Some(file) => {
            let unread = |e| run_failed(format!("cannot read {}: {e}", file.display()));
            let text = std::fs::read_to_string(file).map_err(unread)?;
            Ok(Some(text))
        }
    }
}

fn write(file: &Path, evidence: &Evidence) -> Result<(), Failure> {
    let excluded: Vec<&str> = excluded(evidence).map(|cell| cell.cell.target.cell.as_str()).collect();
    if !excluded.is_empty() {
        return Err(NotWritten {
            machine: evidence.machine.clone(),
            reason: format!("the prior excludes {}", excluded.join(" and ")),
            help: "find out what the model or the row lacks there; until then `not_fitted` of the row says so".into(),
        }
        .into());
    }
    let Some(text) = &evidence.posterior else {
        return Err(NotWritten {
            machine: evidence.machine.clone(),
            reason: format!("{:.0} draws are effective, and {EFFECTIVE_MIN:.0} are needed", evidence.effective),
            help: "ask for more with --draws, or find out which base cell no draw reaches".into(),
        }
        .into());
    };
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(|e| run_failed(format!("cannot make {}: {e}", folder.display())))?;
    }
    let mut out = OutputFile::create(file)?;
    out.write_all(text.as_bytes()).map_err(|e| run_failed(format!("cannot write {}: {e}", file.display())))?;
    out.finish()
}

/// Cells that are no evidence.
fn excluded(evidence: &Evidence) -> impl Iterator<Item = &CellEvidence> {
    evidence.cells.iter().filter(|cell| cell.is_excluded())
}

fn render(machine: &Machine, evidence: &Evidence, recorded: Option<&str>) -> String {
    let Evidence { cells, figures, draws, effective, failed, posterior, .. } = evidence;
    let told = figures.iter().filter(|figure| figure.posterior.is_some()).count();
    let mut out = format!("machine    {}\n", machine.name);
    let _ = writeln!(out, "figures    {} in doubt, of {told} of which base cells tell", figures.len());
    let short = if *effective < EFFECTIVE_MIN { ", fewer than the 100 that a posterior needs" } else { "" };
    let _ = writeln!(out, "draws      {draws}, of which {effective:.0} are effective{short}");
    if let Some((count, first)) = failed {
        let _ = writeln!(out, "failed     {count} draws have no value of a cell, the first: {first}");
    }
    let recorded = match (posterior, recorded) {
        (_, None) => "none",
        (Some(new), Some(recorded)) if is_same(new, recorded) => "equal",
        _ => "differs",
    };
    let _ = writeln!(out, "recorded   {recorded}");
    let width = cells.iter().map(|cell| cell.cell.target.cell.len()).max().unwrap_or(0);
    let median_and_ends = |quantiles: &[f64; 3]| {
        let [low, median, high] = quantiles.map(number);
        format!("{median} ({low} to {high})")
    };
    let _ = writeln!(
        out,
        "\n{:width$}  {:>10}  {:>7}  {:>10}  {:28}  posterior",
        "base cell: median, 90 % of draws", "published", "sigma", "as stated", "prior"
    );
    for cell in cells {
        let _ = writeln!(
            out,
            "{:width$}  {:>10}  {:>5.1} %  {:>10}  {:28}  {}",
            cell.cell.target.cell,
            number(cell.cell.target.published),
            cell.sigma * 100.0,
            number(cell.stated),
            median_and_ends(&cell.prior),
            median_and_ends(&cell.posterior),
        );
    }
    for cell in excluded(evidence) {
        let _ = writeln!(
            out,
            "{}: {:.1} standard deviations off the prior; something is missing in the model or in the row",
            cell.cell.target.cell,
            cell.distance()
        );
    }
    let listed = figures.iter().take(LISTED).filter_map(|figure| Some((figure, figure.posterior?)));
    let width = figures.iter().take(LISTED).map(|figure| figure.path.len()).max().unwrap_or(0);
    let _ = writeln!(out, "\n{:width$}  {:14}  posterior", "factor: median, 90 % of draws", "prior");
    for (figure, posterior) in listed {
        let prior = format!("1 ({:.2} to {:.2})", 1.0 / figure.prior, figure.prior);
        let [low, median, high] = posterior;
        let _ = writeln!(out, "{:width$}  {prior:14}  {median:.2} ({low:.2} to {high:.2})", figure.path);
    }
    let others = figures.len() - told.min(LISTED);
    let _ = writeln!(out, "{others} others: little or nothing is told of them");
    out
}
