//! The answer of a review, in the layouts in which it is read. Regressions come first in each.

mod html;
mod json;
mod junit;
mod markdown;
mod text;

use std::fmt;
use std::str::FromStr;

use fairground_lab::provenance::MadeBy;
use fairground_lab::stats::Verdict;

pub use self::html::html;
pub use self::json::json;
pub use self::junit::junit;
pub use self::markdown::markdown;
pub use self::text::text;
use crate::cost::Cost;
use crate::decisions::Explained;
use crate::matrix::Matrix;
use crate::measure::{Judged, Measured, Measurements, Share};
use crate::series::plural;
use crate::stages::{Fate, Member, Stages};

/// Changes that are named of a patch and that others of the series take back.
const TAKEN_BACK: usize = 3;

/// Everything that an answer says.
pub struct Review {
    /// The series.
    pub stages: Stages,
    /// Name and size of the matrix.
    pub matrix: Matrix,
    /// What the runs show.
    pub measured: Measurements,
    /// The decisions that changed.
    pub explained: Vec<Explained>,
    /// What decisions cost; `None` unless it was measured.
    pub costs: Option<Vec<Cost>>,
    /// What made it.
    pub by: MadeBy,
}

/// A layout of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// For a mail: 72 columns of ASCII.
    Text,
    /// Markdown.
    Markdown,
    /// The documented schema.
    Json,
    /// One page without requests.
    Html,
    /// For a CI system.
    Junit,
}

impl Layout {
    /// All layouts, with their names and the file that each is written to.
    pub const ALL: [(Layout, &'static str, &'static str); 5] = [
        (Layout::Text, "text", "review.txt"),
        (Layout::Markdown, "markdown", "review.md"),
        (Layout::Json, "json", "review.json"),
        (Layout::Html, "html", "review.html"),
        (Layout::Junit, "junit", "junit.xml"),
    ];

    /// The answer in this layout.
    pub fn render(self, review: &Review) -> String {
        match self {
            Layout::Text => text(review),
            Layout::Markdown => markdown(review),
            Layout::Json => json(review),
            Layout::Html => html(review),
            Layout::Junit => junit(review),
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Layout::ALL.iter().find(|(layout, ..)| layout == self).map_or("", |(_, name, _)| name))
    }
}

impl FromStr for Layout {
    type Err = String;

    fn from_str(text: &str) -> Result<Layout, String> {
        let found = Layout::ALL.iter().find(|(_, name, _)| *name == text);
        let names = || fairground_machine::suggest(text, Layout::ALL.iter().map(|(_, name, _)| *name));
        found.map(|(layout, ..)| *layout).ok_or_else(names)
    }
}

impl Review {
    /// Rows that are worse, the largest change first.
    pub fn worse(&self) -> Vec<(&Measured, &Judged)> {
        self.measured.of_verdict(Verdict::Worse)
    }

    /// Rows that are better, the largest change first.
    pub fn better(&self) -> Vec<(&Measured, &Judged)> {
        self.measured.of_verdict(Verdict::Better)
    }

    /// Whether a patch or a run failed.
    pub fn has_failures(&self) -> bool {
        self.stages.members.iter().any(|member| member.fate.is_failure()) || self.measured.failures().next().is_some()
    }

    /// The title: that of the series, or what it is of.
    pub(crate) fn title(&self) -> String {
        self.stages.title.clone().unwrap_or_else(|| self.stages.source.clone())
    }

    /// What the whole comes to, in one sentence.
    pub fn verdict(&self) -> String {
        let (worse, better) = (self.worse().len(), self.better().len());
        if self.stages.stages.len() < 2 {
            return not_run(&self.stages.members);
        }
        let cells = &self.measured.cells;
        if cells.iter().all(|cell| cell.identical) {
            return format!("no decision of any of {} reaches the change", plural(cells.len(), "cell"));
        }
        match (worse, better) {
            (0, 0) => format!("no row of {} is better or worse", self.measured.rows()),
            _ => format!("of {}, {worse} worse and {better} better", plural(self.measured.rows(), "row")),
        }
    }

    /// What the rows were judged by.
    pub(crate) fn judged_by(&self) -> String {
        let rows = self.measured.rows();
        let (machines, workloads) = (self.matrix.machines().len(), self.matrix.workloads().len());
        format!(
            "{}: {}, {}, {}; seeds {}-{}; {} judged together (Holm, 5 %)",
            self.matrix.name,
            plural(machines, "machine"),
            plural(workloads, "workload"),
            plural(self.matrix.cells.len(), "cell"),
            self.matrix.first_seed,
            self.matrix.first_seed + (self.matrix.seeds - 1),
            plural(rows, "row")
        )
    }

    /// Cells in which no decision reaches the change: workload and machines.
    pub(crate) fn unreached(&self) -> Vec<String> {
        let mut by_workload: Vec<(&str, Vec<&str>)> = Vec::new();
        for cell in self.measured.cells.iter().filter(|cell| cell.identical) {
            let (workload, machine) = (cell.cell.workload.as_str(), cell.cell.machine.as_str());
            match by_workload.iter_mut().find(|(known, _)| *known == workload) {
                Some((_, machines)) => machines.push(machine),
                None => by_workload.push((workload, vec![machine])),
            }
        }
        by_workload.into_iter().map(|(workload, machines)| format!("{workload} on {}", machines.join(", "))).collect()
    }

    /// A cell that does reach the change, if there is one.
    pub(crate) fn reached(&self) -> Option<String> {
        let starred = |cell: &&Measured| cell.rows.iter().any(|judged| judged.row.change.starred());
        let differs = |cell: &&Measured| !cell.identical && cell.pairs > 0;
        let cells = &self.measured.cells;
        let cell = cells.iter().find(|cell| differs(cell) && starred(cell)).or_else(|| cells.iter().find(differs))?;
        Some(cell.cell.name())
    }

    /// Costs of decisions that changed, or that none did; nothing unless they were measured.
    pub(crate) fn costs(&self) -> Vec<String> {
        let Some(costs) = &self.costs else { return Vec::new() };
        let changed: Vec<String> = costs.iter().filter(|cost| cost.is_changed).map(Cost::words).collect();
        match changed.is_empty() {
            true => vec!["within 5 % of the base, or not the same in all rounds".into()],
            false => changed,
        }
    }

    /// What cannot be judged, a sentence each.
    pub(crate) fn not_judged(&self) -> Vec<String> {
        let mut by_note: Vec<(&str, Vec<String>)> = Vec::new();
        for (note, cell) in self.measured.cells.iter().flat_map(|cell| cell.notes.iter().map(move |note| (note, cell)))
        {
            match by_note.iter_mut().find(|(known, _)| known == note) {
                Some((_, cells)) => cells.push(cell.cell.name()),
                None => by_note.push((note, vec![cell.cell.name()])),
            }
        }
        let of_cells = by_note.into_iter().map(|(note, cells)| format!("{note}: {}", cells.join("; ")));
        self.stages.not_judged.iter().cloned().chain(of_cells).collect()
    }

    /// Failed runs: cell, what failed, and how many runs failed so.
    pub(crate) fn failed_runs(&self) -> Vec<String> {
        let mut found: Vec<(String, usize, u64)> = Vec::new();
        for (cell, failure) in self.measured.failures() {
            let what = format!("{}: {}: {}", cell.cell.name(), failure.side, failure.message.trim());
            match found.iter_mut().find(|(known, ..)| *known == what) {
                Some((_, n, _)) => *n += 1,
                None => found.push((what, 1, failure.seed)),
            }
        }
        let words = |(what, n, seed): (String, usize, u64)| match n {
            1 => format!("{what} (seed {seed})"),
            n => format!("{what} ({n} runs, the first with seed {seed})"),
        };
        found.into_iter().map(words).collect()
    }

    /// A cell by name, and up to which patch it is of where the whole series does not run.
    pub(crate) fn cell_name(&self, cell: &Measured) -> String {
        match cell.last + 1 == self.stages.stages.len() {
            true => cell.cell.name(),
            false => {
                format!("{}, up to {}", cell.cell.name(), self.stages.stages[cell.last].label(self.stages.count()))
            }
        }
    }

    /// What a patch became, for a list: title first where it is a stage.
    pub(crate) fn fate(&self, member: &Member) -> Option<String> {
        match &member.fate {
            Fate::Stage(stage) if self.is_unreached(*stage) => Some("no decision of the matrix reaches it".into()),
            Fate::Stage(stage) => self.taken_back(*stage),
            Fate::SameCode => Some("same code".into()),
            Fate::NotCompiled(files) => Some(format!("not compiled here: {}", files.join(", "))),
            Fate::DoesNotApply(problem) => Some(format!("does not apply: {problem}")),
            Fate::DoesNotCompile(problem) => Some(format!("does not compile: {problem}")),
        }
    }

    /// Whether a stage makes the same runs as the one before, wherever both ran.
    fn is_unreached(&self, stage: usize) -> bool {
        let known: Vec<bool> = self.measured.cells.iter().filter_map(|cell| cell.reaches(stage)).collect();
        !known.is_empty() && !known.contains(&true)
    }

    /// What a stage changes and the whole series does not, in words.
    fn taken_back(&self, stage: usize) -> Option<String> {
        let mut found: Vec<String> = Vec::new();
        for cell in &self.measured.cells {
            if cell.identical && cell.reaches(stage) == Some(true) {
                found.push(format!("{} (other runs)", cell.cell.name()));
            }
            for judged in &cell.rows {
                let share = judged.taken_back().into_iter().find(|share| share.stage == stage);
                found
                    .extend(share.map(|share| {
                        format!("{} {} {}", cell.cell.name(), judged.row.metric.name, percent(share.pct))
                    }));
            }
        }
        let more = match found.len().saturating_sub(TAKEN_BACK) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        found.truncate(TAKEN_BACK);
        (!found.is_empty()).then(|| format!("not there with the whole series: {}{more}", found.join("; ")))
    }

    /// `2/3` of a stage.
    pub(crate) fn label(&self, share: &Share) -> String {
        self.stages.stages[share.stage].label(self.stages.count())
    }

    /// What the change of a row is attributed to: `2/3 -18.2 % (-18.4 .. -18.0)`, and what is left.
    pub(crate) fn attribution(&self, judged: &Judged) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for share in judged.attributed() {
            let interval = share.ci95.map_or(String::new(), |[lo, hi]| format!(" ({lo:+.2} .. {hi:+.2})"));
            lines.push(format!("{} {}{interval}", self.label(share), percent(share.pct)));
        }
        if lines.is_empty() {
            return vec!["not attributed to any patch".into()];
        }
        if let Some(rest) = judged.not_attributed_pct().filter(|rest| rest.abs() >= 0.005) {
            lines.push(format!("not attributed: {}", percent(Some(rest))));
        }
        lines
    }
}

/// Why a series has no stage.
fn not_run(members: &[Member]) -> String {
    let failed = members.iter().filter(|member| member.fate.is_failure()).count();
    if failed > 0 {
        return format!(
            "{failed} of {} failed and none is left that changes code: nothing was run",
            plural(members.len(), "patch")
        );
    }
    match members.iter().all(|member| matches!(member.fate, Fate::SameCode)) {
        true => "same code: nothing that runs differs, and nothing was run".into(),
        false => "no patch changes what is compiled here: nothing was run".into(),
    }
}

/// `-18.21 %`; a dash where there is none.
pub(crate) fn percent(x: Option<f64>) -> String {
    fairground_lab::tables::percent(x)
}

/// `-18.40 .. -18.02`.
pub(crate) fn range(ends: Option<[f64; 2]>) -> String {
    ends.map_or("-".into(), |[lo, hi]| format!("{lo:+.2} .. {hi:+.2}"))
}

/// A metric's mean as tables show it.
pub(crate) fn mean(values: &[f64]) -> f64 {
    fairground_lab::stats::Summary::of(values).mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_nothing_was_run_tells_failures_from_patches_that_change_nothing() {
        let member = |fate| Member { title: String::new(), id: String::new(), functions: Vec::new(), fate };
        let idle = || member(Fate::NotCompiled(vec!["mm/slab.c".into()]));
        assert!(not_run(&[]).starts_with("same code"));
        assert!(not_run(&[member(Fate::SameCode)]).starts_with("same code"));
        assert!(not_run(&[idle(), member(Fate::SameCode)]).starts_with("no patch changes what is compiled"));
        let failed = [idle(), member(Fate::DoesNotApply("a: b".into())), member(Fate::DoesNotCompile("c".into()))];
        assert!(not_run(&failed).starts_with("2 of 3 patches failed"), "{}", not_run(&failed));
    }
}
