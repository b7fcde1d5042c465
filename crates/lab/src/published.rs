//! Published figures: the values that mails print, as data in `published/SLUG.toml`.

mod assumed;
mod beside;
mod cell;
mod domain;
mod given;
mod run;

use std::borrow::Cow;
use std::collections::BTreeMap;

use miette::Diagnostic;
use serde::Deserialize;
use thiserror::Error;
use toml::value::Datetime;

use fairground_machine::nearest;
use fairground_run::metrics::Better;

pub use self::assumed::{with_option, FittedOption, Moved, Swept};
pub use self::beside::{beside, PublishedBeside, SideRun};
pub use self::cell::Cell;
pub use self::domain::DomainCheck;
pub use self::given::{GivenRow, GivenTable};
pub use self::run::{FormSpec, PublishedRun};

/// A built-in file.
struct BuiltIn {
    /// Slug of the mail.
    slug: &'static str,
    /// Older name of the mail, valid wherever a mail is named.
    number: &'static str,
    text: &'static str,
}

/// The built-in files, in the order in which `all` shows them.
const BUILT_IN: [BuiltIn; 5] = [
    BuiltIn { slug: "asym-prev-first", number: "000", text: include_str!("../../../published/asym-prev-first.toml") },
    BuiltIn { slug: "break-even", number: "001", text: include_str!("../../../published/break-even.toml") },
    BuiltIn { slug: "lb-rework", number: "002", text: include_str!("../../../published/lb-rework.toml") },
    BuiltIn { slug: "misfit-unlink", number: "003", text: include_str!("../../../published/misfit-unlink.toml") },
    BuiltIn { slug: "cluster-level", number: "004", text: include_str!("../../../published/cluster-level.toml") },
];

/// The sigma of a change, percent, where a mail prints no error (design, decision 7).
const SIGMA_PCT_WITHOUT_ERROR: f64 = 2.0;

/// All figures of a mail.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mail {
    /// Slug, e.g. `asym-prev-first`: the name of the file, and the beginning of the ids of its rows.
    pub mail: String,
    /// Older name, `000` to `004`, by which comments in the sources call the mail.
    pub number: String,
    /// Subject line, as in an archive of the linux-kernel list.
    pub subject: String,
    /// Name of the sender.
    pub author: String,
    /// Day on which it was sent.
    pub date: Datetime,
    /// Note that applies to all rows.
    pub note: Option<String>,
    /// The feature of each patch, with the features of the patches that it is based on.
    #[serde(default)]
    pub based_on: BTreeMap<String, Vec<String>>,
    /// Options of workloads that were fitted to cells of the mail.
    #[serde(default)]
    pub fitted: Vec<FittedOption>,
    /// Parameters that the mail leaves open, with their ranges.
    #[serde(default)]
    pub sweep: Vec<Swept>,
    /// Tables that are shown as the mail prints them.
    #[serde(default)]
    pub given: Vec<GivenTable>,
    /// The rows, one for each figure.
    #[serde(rename = "row")]
    pub rows: Vec<PublishedRow>,
    /// Rows that the user did not select.
    #[serde(skip)]
    pub aside: Vec<PublishedRow>,
}

/// One figure, base against test. A column that the mail does not print is `None`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRow {
    /// Id of the row; its cells are `ID/base` and `ID/test`.
    pub id: String,
    /// Machine, as the mail describes it.
    pub machine: String,
    /// Benchmark, as the mail names it.
    pub benchmark: String,
    /// Parameters and settings of the benchmark.
    pub params: String,
    /// Description of the measured value.
    pub metric: String,
    /// Unit of the values.
    pub unit: String,
    /// Whether a higher or a lower value is better.
    pub better: Better,
    /// The value without the patch.
    pub base: Option<Cell>,
    /// The value with the patch.
    pub test: Option<Cell>,
    /// Another possible base, where the printed one is doubted. Such a row is not scored.
    pub other_base: Option<Cell>,
    /// The change as the mail itself states it.
    pub reported: Option<String>,
    /// Note that a reader needs for the comparison.
    pub note: Option<String>,
    /// Why the row is shown but not judged, e.g. the mail contradicts itself.
    pub not_scored: Option<String>,
    /// Why no figure may be fitted to the base, nor weighed by it, though the row is scored.
    pub not_fitted: Option<String>,
    /// Why the row is not run.
    pub not_run: Option<String>,
    /// The run that gives our value; `None` for a row that is not run.
    pub run: Option<PublishedRun>,
    /// The property of a scheduling domain that gives our value; `None` for a row that is not about domains.
    pub domain: Option<DomainCheck>,
}

/// Why published figures cannot be read.
#[derive(Debug, Error, Diagnostic)]
pub enum PublishedError {
    /// We have no rows of this mail.
    #[error("no published rows of mail {name:?}")]
    #[diagnostic(help("{help}"))]
    Unknown {
        /// The name of the request.
        name: String,
        /// The nearest name, and all names.
        help: String,
    },
    /// The file does not parse.
    #[error("published/{mail}.toml does not parse:\n{problem}")]
    Syntax {
        /// Slug of the mail.
        mail: String,
        /// Description of the error, with line and column.
        problem: String,
    },
    /// A row is invalid.
    #[error("published/{mail}.toml, row {id}: {problem}")]
    Row {
        /// Slug of the mail.
        mail: String,
        /// Id of the row.
        id: String,
        /// Description of the error.
        problem: String,
    },
}

/// The current form of the id of a row or cell, or of its beginning: `000/hikey/...` becomes
/// `asym-prev-first/hikey/...`.
pub fn current_id(id: &str) -> Cow<'_, str> {
    let of_number = |(mail, rest): (&str, &str)| {
        let mail = BUILT_IN.iter().find(|known| known.number == mail)?;
        Some(format!("{}/{rest}", mail.slug))
    };
    id.split_once('/').and_then(of_number).map_or(Cow::Borrowed(id), Cow::Owned)
}

impl Mail {
    /// Slugs of the mails whose rows we have.
    pub fn known() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|mail| mail.slug)
    }

    /// The slug of a mail, from its slug or its number.
    pub fn slug(name: &str) -> Option<&'static str> {
        BUILT_IN.iter().find(|mail| [mail.slug, mail.number].contains(&name)).map(|mail| mail.slug)
    }

    /// The rows of a mail, by its slug or its number.
    ///
    /// # Errors
    /// If no mail has this name, or its file is invalid.
    pub fn find(name: &str) -> Result<Mail, PublishedError> {
        let mail = BUILT_IN.iter().find(|mail| [mail.slug, mail.number].contains(&name));
        let mail = mail.ok_or_else(|| {
            let near = nearest(name, BUILT_IN.iter().flat_map(|mail| [mail.slug, mail.number]));
            let near = near.and_then(Mail::slug).map(|n| format!("did you mean {n}? "));
            let known: Vec<_> = BUILT_IN.iter().map(|mail| format!("{} ({})", mail.slug, mail.number)).collect();
            let help = format!("{}there are: {}, all", near.unwrap_or_default(), known.join(", "));
            PublishedError::Unknown { name: name.into(), help }
        })?;
        Mail::parse(mail.slug, mail.text)
    }

    /// Moves all rows without any of `parts` in their ids from `rows` to `aside`.
    pub fn keep(&mut self, parts: &[String]) {
        let parts: Vec<_> = parts.iter().map(|part| current_id(part)).collect();
        let (kept, aside) = self.rows.drain(..).partition(|row| parts.iter().any(|part| row.id.contains(&**part)));
        self.rows = kept;
        self.aside.extend(Vec::into_iter(aside));
    }

    /// Sets every row's workload to the length that the mail used.
    pub fn at_full_length(&mut self) {
        for run in self.rows.iter_mut().filter_map(|row| row.run.as_mut()) {
            if let Some(full) = run.full.take() {
                run.workload = full;
            }
        }
    }

    fn parse(mail: &str, text: &str) -> Result<Mail, PublishedError> {
        let mut parsed: Mail =
            toml::from_str(text).map_err(|e| PublishedError::Syntax { mail: mail.into(), problem: e.to_string() })?;
        if parsed.mail != mail {
            let problem = format!("mail = {:?}, expected {mail:?}: the file's name", parsed.mail);
            return Err(PublishedError::Syntax { mail: mail.into(), problem });
        }
        for (i, row) in parsed.rows.iter().enumerate() {
            let twice = parsed.rows[..i].iter().any(|r| r.id == row.id);
            row.check(mail, twice).map_err(|problem| PublishedError::Row {
                mail: mail.into(),
                id: row.id.clone(),
                problem,
            })?;
        }
        parsed.check_tables()?;
        parsed.use_fits();
        Ok(parsed)
    }

    /// Checks fits, sweeps and given tables.
    fn check_tables(&self) -> Result<(), PublishedError> {
        let error = |id: &str, problem: String| PublishedError::Row { mail: self.mail.clone(), id: id.into(), problem };
        for fit in &self.fitted {
            let row = fit.cell.strip_suffix("/base").and_then(|id| self.rows.iter().find(|row| row.id == id));
            let runs = row.and_then(|row| row.run.as_ref()).is_some_and(|run| fit.sets(&run.workload).is_some());
            let problem = fit.problem().or((!runs).then_some("expected the base of a row that runs this workload"));
            problem.map_or(Ok(()), |problem| Err(error(&fit.cell, problem.into())))?;
        }
        for swept in &self.sweep {
            swept.problem().map_or(Ok(()), |problem| Err(error(&swept.what, problem.into())))?;
        }
        self.given
            .iter()
            .find_map(|t| Some((t, t.problem()?)))
            .map_or(Ok(()), |(t, problem)| Err(error(&t.what, problem)))
    }

    /// Writes the fitted options into the workloads of the rows.
    fn use_fits(&mut self) {
        for run in self.rows.iter_mut().filter_map(|row| row.run.as_mut()) {
            for workload in run.workloads_mut() {
                if let Some(set) = self.fitted.iter().rev().find_map(|fit| fit.sets(workload)) {
                    *workload = set;
                }
            }
        }
    }

    /// Whether the base of `row` is a figure that a workload's option was fitted to, in any row.
    pub fn fitted_base(&self, row: &PublishedRow) -> bool {
        let own = |fit: &FittedOption| self.all_rows().find(|r| fit.cell == format!("{}/base", r.id));
        self.fitted.iter().filter_map(own).any(|fitted| fitted.same_base(row))
    }

    /// All rows, selected or not.
    fn all_rows(&self) -> impl Iterator<Item = &PublishedRow> {
        self.rows.iter().chain(&self.aside)
    }
}

impl PublishedRow {
    /// Whether both rows print the same figure of the same run as their base.
    fn same_base(&self, other: &PublishedRow) -> bool {
        let run = |row: &PublishedRow| {
            let run = row.run.as_ref()?;
            Some([&run.machine, &run.workload, &run.base, &run.governor, &run.metric].map(String::clone))
        };
        let value = |row: &PublishedRow| row.base.as_ref().map(|base| base.value);
        value(self) == value(other) && run(self).is_some() && run(self) == run(other)
    }

    fn check(&self, mail: &str, twice: bool) -> Result<(), String> {
        if twice {
            return Err("another row has this id".into());
        }
        if !self.id.starts_with(&format!("{mail}/")) {
            return Err(format!("expected an id that begins with {mail}/"));
        }
        let ways = [self.run.is_some(), self.domain.is_some(), self.not_run.is_some()];
        if ways.iter().filter(|way| **way).count() != 1 {
            return Err("expected one of [row.run], [row.domain] and not_run".into());
        }
        self.check_cells()?;
        match &self.run {
            None => Ok(()),
            Some(run) if run.test.is_none() && self.test.is_some() => Err("expected test in [row.run] too".into()),
            Some(run) => run.problem().map_or(Ok(()), |problem| Err(problem.into())),
        }
    }

    fn check_cells(&self) -> Result<(), String> {
        if self.base.is_none() && self.test.is_none() {
            return Err("expected base, test or both".into());
        }
        if self.other_base.is_some() && (self.base.is_none() || self.not_scored.is_none()) {
            return Err("expected base and not_scored beside other_base: a base that is doubted judges nothing".into());
        }
        let cells = [&self.base, &self.test, &self.other_base];
        cells.into_iter().flatten().find_map(Cell::problem).map_or(Ok(()), Err)
    }

    /// The published change in percent of base, positive = better; `None` where base is 0 or one of the two is missing.
    pub fn improvement_pct(&self) -> Option<f64> {
        self.change_from(self.base.as_ref()?)
    }

    /// The published change from `other_base`, percent, positive = better; `None` where that is 0, or it or the test is
    /// missing.
    pub fn other_improvement_pct(&self) -> Option<f64> {
        self.change_from(self.other_base.as_ref()?)
    }

    fn change_from(&self, base: &Cell) -> Option<f64> {
        let (base, test) = (base.value, self.test.as_ref()?.value);
        (base != 0.0).then(|| self.better.sign() * (test - base) / base.abs() * 100.0)
    }

    /// Error of the change, percentage points: from the errors of both cells as [`Cell::error_pct`] has them, so of single
    /// runs where the mail prints its runs, though it prints their mean; 2 where the mail prints none.
    pub fn sigma_pct(&self) -> f64 {
        let error = |cell: &Option<Cell>| cell.as_ref().and_then(Cell::error_pct);
        match (error(&self.base), error(&self.test)) {
            (None, None) => SIGMA_PCT_WITHOUT_ERROR,
            (base, test) => {
                let (base, test) = (base.unwrap_or(0.0), test.unwrap_or(0.0));
                (base * base + test * test).sqrt()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_has_all_its_rows() {
        let mail = Mail::find("asym-prev-first").unwrap();
        assert_eq!(mail.rows.len(), 6);
        assert_eq!(mail.rows.iter().filter(|r| r.run.is_some()).count(), 4);
    }

    #[test]
    fn changes_and_errors_follow_from_the_printed_figures() {
        let mail = Mail::find("asym-prev-first").unwrap();
        let of = |i: usize| (mail.rows[i].improvement_pct(), mail.rows[i].sigma_pct());
        assert_eq!(of(0), (Some(100.0), 2.0));
        let (change, sigma) = of(1);
        assert!((change.unwrap() - 22.285).abs() < 5e-4);
        assert!((sigma - 0.488).abs() < 5e-4); // sqrt(0.28^2 + 0.40^2)
        assert_eq!(of(2), (None, 2.0));
        assert!((of(3).0.unwrap() - 0.373).abs() < 5e-4);
    }

    #[test]
    fn an_unknown_mail_is_refused_with_the_list() {
        let PublishedError::Unknown { help, .. } = Mail::find("011").unwrap_err() else { panic!() };
        let all =
            "asym-prev-first (000), break-even (001), lb-rework (002), misfit-unlink (003), cluster-level (004), all";
        assert_eq!(help, format!("did you mean break-even? there are: {all}"));
        let PublishedError::Unknown { help, .. } = Mail::find("lb-rewrk").unwrap_err() else { panic!() };
        assert!(help.starts_with("did you mean lb-rework? there are: "), "{help}");
    }

    #[test]
    fn the_number_of_a_mail_is_its_slug() {
        for slug in Mail::known() {
            let mail = Mail::find(slug).unwrap();
            assert_eq!(Mail::find(&mail.number).unwrap().mail, slug);
            assert_eq!(current_id(&format!("{}/x/y/base", mail.number)), format!("{slug}/x/y/base"));
        }
        let mut mail = Mail::find("000").unwrap();
        mail.keep(&["000/hikey/".into()]);
        assert_eq!(mail.rows.len(), 2);
        for same in ["asym-prev-first/hikey/", "hikey", "000", "005/hikey/", "1000/hikey"] {
            assert_eq!(current_id(same), same);
        }
    }

    #[test]
    fn every_mail_names_what_an_archive_finds_it_by() {
        let mail = Mail::find("lb-rework").unwrap();
        assert_eq!(mail.subject, "[PATCH v4 00/10] sched/fair: rework the CFS load balance");
        assert_eq!((mail.author.as_str(), mail.date.to_string()), ("Vincent Guittot", "2019-10-18".into()));
        let text = include_str!("../../../published/lb-rework.toml");
        let refused = |from: &str, to: &str| {
            assert!(text.contains(from));
            Mail::parse("lb-rework", &text.replacen(from, to, 1)).unwrap_err().to_string()
        };
        assert!(refused("author = \"Vincent Guittot\"\n", "").contains("missing field `author`"));
        assert!(refused("date = 2019-10-18", "date = \"in 2019\"").contains("published/lb-rework.toml does not parse"));
        assert!(refused("mail = \"lb-rework\"", "mail = \"lb-rewrk\"").contains("expected \"lb-rework\""));
    }

    fn all_rows() -> Vec<PublishedRow> {
        Mail::known().flat_map(|mail| Mail::find(mail).unwrap().rows).collect()
    }

    #[test]
    fn every_mail_has_all_its_figures() {
        let count = |mail: &str| Mail::find(mail).unwrap().rows.len();
        // break-even: three figures in two readings each; lb-rework: 7 of the small machine, 17 of the large one, one in
        // the text. misfit-unlink: four kernels in three figures each, one pair twice, two residencies, five figures of
        // each of eight CPUs. cluster-level: nine of hackbench, two of the ablation, four intervals; three stated utilizations; two of its sibling.
        let slugs = ["asym-prev-first", "break-even", "lb-rework", "misfit-unlink", "cluster-level"];
        assert_eq!(slugs.map(count), [6, 6, 25, 55, 20]);
    }

    #[test]
    fn a_row_that_contradicts_its_mail_is_not_scored() {
        let mut contradictions = Vec::new();
        for row in all_rows() {
            let Some(reported) = row.reported.as_deref().map(|r| r.trim_end_matches('%')) else { continue };
            let digits = reported.split_once('.').map_or(0, |(_, d)| d.len() as i32);
            let own = row.improvement_pct().unwrap();
            // Where the mail prints what it computed from, that settles it.
            if row.base.iter().chain(&row.test).all(|cell| !cell.samples.is_empty()) {
                continue;
            }
            // Computed from more digits than are printed, and rounded or cut off; better or worse, or more or less.
            let reported: f64 = reported.parse().unwrap();
            if (own - reported).abs().min((own * row.better.sign() - reported).abs()) > 10f64.powi(-digits).max(0.1) {
                assert!(row.not_scored.as_ref().is_some_and(|why| why.contains("contradicts itself")), "{}", row.id);
                contradictions.push(row.id);
            }
        }
        let of = |machine: &str, rest: &str| format!("lb-rework/{machine}/{rest}");
        assert_eq!(
            contradictions,
            [
                of("hikey", "hackbench-8/elapsed"),
                of("thunderx2-224", "hackbench-16/elapsed"),
                of("thunderx2-224", "hackbench-128/elapsed"),
                of("thunderx2-224", "dbench-16/throughput"),
            ]
        );
    }

    #[test]
    fn the_same_figure_is_scored_once() {
        let rows = all_rows();
        for row in rows.iter().filter(|r| r.not_scored.is_none()) {
            let figure = |r: &PublishedRow| {
                (r.id.split('/').nth(1).map(String::from), r.benchmark.clone(), r.params.clone(), r.metric.clone())
            };
            let twins = rows.iter().filter(|r| r.not_scored.is_none() && figure(r) == figure(row)).count();
            assert_eq!(twins, 1, "{}", row.id);
        }
    }

    #[test]
    fn every_row_names_a_machine_of_ours() {
        for run in all_rows().iter().filter_map(|r| r.run.as_ref()) {
            assert!(fairground_machine::MachineSpec::parse(&run.machine).find().is_ok(), "{}", run.machine);
        }
    }

    /// Names of workloads, schedulers and metrics are those of the command line, in both lengths.
    #[test]
    fn every_row_can_be_run() {
        for row in all_rows() {
            let Some(run) = row.run else { continue };
            let machine = fairground_machine::MachineSpec::parse(&run.machine).find().unwrap().0;
            for workload in std::iter::once(&run.workload).chain(&run.full).chain(&run.test_workload) {
                let (found, _) = fairground_workload::Workload::find(workload, &machine).unwrap();
                let known = fairground_run::metrics::metrics(&found, &machine);
                for metric in std::iter::once(&run.metric).chain(&run.by) {
                    assert!(known.iter().any(|m| m.name == *metric), "{}: no metric {metric}", row.id);
                }
                let metric = known.iter().find(|m| m.name == run.metric);
                assert!(metric.is_some_and(|m| m.better == row.better), "{}: better the other way round", row.id);
            }
            for sched in std::iter::once(run.clone()).chain(run.forms()).flat_map(|run| run.ends().map(String::from)) {
                assert!(sched.parse::<fairground_run::sched_spec::SchedSpec>().is_ok(), "{}: {sched}", row.id);
            }
        }
    }

    #[test]
    fn a_fitted_option_holds_in_all_rows_of_its_workload_and_marks_the_figure_it_was_fitted_to() {
        let mut mail = Mail::find("misfit-unlink").unwrap();
        let fitted = |mail: &Mail| -> Vec<String> {
            mail.rows.iter().filter(|row| mail.fitted_base(row)).map(|row| row.id.clone()).collect()
        };
        let kernels = ["ufc", "ufc-no-thermal", "patched-v4", "patched-no-thermal"];
        let ids = |figure: &str| kernels.map(|kernel| format!("misfit-unlink/pixel6/{figure}/{kernel}"));
        assert_eq!(fitted(&mail), [ids("geekbench5/score"), ids("jankbench/power")].concat());
        for run in mail.rows.iter().filter_map(|row| row.run.as_ref()) {
            let option = if run.workload.starts_with("jankbench") { "frame-scale=" } else { "points=" };
            assert!(run.columns().iter().all(|(workload, _)| workload.contains(option)), "{run:?}");
        }
        mail.keep(&["geekbench5/score/patched-v4".into()]);
        assert_eq!(fitted(&mail), [ids("geekbench5/score")[2].clone()], "also where the fitted row is laid aside");
    }

    #[test]
    fn kernels_b_and_c_run_with_what_was_asked_for_under_each() {
        let mail = Mail::find("misfit-unlink").unwrap();
        let big = mail.rows.iter().find(|row| row.id.ends_with("top-clock/big")).unwrap().run.clone().unwrap();
        let [(base, _), (test, _)] = big.columns();
        assert!(base.contains("requests=b") && test.contains("requests=c"));
    }

    #[test]
    fn a_fit_or_a_sweep_that_makes_no_sense_is_refused() {
        let text = include_str!("../../../published/misfit-unlink.toml");
        let refused = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            Mail::parse("misfit-unlink", &text.replacen(from, to, 1)).unwrap_err().to_string()
        };
        let cell = "misfit-unlink/pixel6/jankbench/power/ufc/base";
        let wrong = refused(&format!("cell = \"{cell}\""), "cell = \"misfit-unlink/pixel6/jankbench/power/ufc/test\"");
        assert!(wrong.contains("expected the base of a row that runs this workload"), "{wrong}");
        assert!(refused("range = [15, 35]", "range = [35, 15]").contains("lower end first"));
        assert!(refused("base = [160]", "base = [160, 1]").contains("little: expected a figure for each column"));
    }

    #[test]
    fn rows_are_laid_aside_and_lengthened() {
        let mut mail = Mail::find("lb-rework").unwrap();
        mail.keep(&["hackbench-32".into(), "shell8-1/loops".into()]);
        let ids: Vec<_> = mail.rows.iter().map(|r| r.id.as_str()).collect();
        assert_eq!(
            ids,
            [
                "lb-rework/hikey/shell8-1/loops",
                "lb-rework/thunderx2-224/hackbench-32/elapsed",
                "lb-rework/thunderx2-224/shell8-1/loops"
            ]
        );
        assert_eq!(mail.aside.len(), 22);
        mail.at_full_length();
        assert_eq!(mail.rows[1].run.as_ref().unwrap().workload, "hackbench:groups=32,loops=8000");
    }

    #[test]
    fn mail_004_prints_the_runs_behind_its_means() {
        let mail = Mail::find("cluster-level").unwrap();
        let sigma = |id: &str| mail.rows.iter().find(|row| row.id.ends_with(id)).unwrap().sigma_pct();
        // Standard deviations of ten runs: 1.362 and 3.077 %, 8.166 and 1.038 %.
        assert!((sigma("one-node-1/elapsed") - 3.365).abs() < 1e-3);
        assert!((sigma("two-nodes-5/elapsed") - 8.232).abs() < 1e-3);
    }

    #[test]
    fn what_does_not_fit_together_in_a_row_is_refused() {
        let text = include_str!("../../../published/cluster-level.toml");
        let refused = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            Mail::parse("cluster-level", &text.replacen(from, to, 1)).unwrap_err().to_string()
        };
        assert!(refused("value = 7.5853", "value = 7.6853").contains("the samples have a mean of 7.5853"));
        assert!(refused("not_scored = \"the base is doubted", "note = \"the base").contains("judges nothing"));
        assert!(refused("[row.domain]\n", "not_run = \"no\"\n[row.domain]\n").contains("expected one of [row.run]"));
        let same = refused("{ test = \"fair:v5.9+cls-domain\" }", "{ test = \"fair:v5.9\" }");
        assert!(same.contains("another pair than base and test"), "{same}");
        let full = "test = \"fair:v5.9+cls-domain+cls-select=loop\"\ngovernor";
        assert!(refused(full, "governor").contains("expected test in [row.run] too"));
    }

    const ABOUT: &str = "number = \"9\"\nsubject = \"s\"\nauthor = \"a\"\ndate = 2020-01-31\n";

    #[test]
    fn ids_are_of_their_mail_and_unique() {
        let row = |id: &str| {
            format!("[[row]]\nid = \"{id}\"\nmachine = \"m\"\nbenchmark = \"b\"\nparams = \"p\"\nmetric = \"x\"\nunit = \"s\"\nbetter = \"lower\"\nbase = {{ label = \"b\", value = 1 }}\ntest = {{ label = \"t\", value = 1 }}\nnot_run = \"no\"\n")
        };
        let parse = |ids: &[&str]| {
            let rows: String = ids.iter().map(|id| row(id)).collect();
            Mail::parse("007", &format!("mail = \"007\"\n{ABOUT}{rows}")).map_err(|e| e.to_string())
        };
        assert!(parse(&["007/a", "007/b"]).is_ok());
        assert!(parse(&["007/a", "007/a"]).unwrap_err().contains("another row has this id"));
        assert!(parse(&["008/a"]).unwrap_err().contains("begins with 007/"));
    }

    #[test]
    fn a_typo_is_found_at_its_place() {
        let error = Mail::parse("x", &format!("mail = \"x\"\n{ABOUT}rows = 3\n")).unwrap_err();
        assert!(matches!(error, PublishedError::Syntax { ref problem, .. } if problem.contains("rows")), "{error}");
    }
}
