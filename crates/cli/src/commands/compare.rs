//! `fairground compare`.

mod pair;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use clap::Args;
use fairground_fair::Features;
use fairground_lab::comparison::{narrow, Comparison, Report, Until, WidthPct};
use fairground_lab::doubt::screening::{short_workload, Design};
use fairground_lab::doubt::{draws_and_seeds, DrawnRuns, Draws};
use fairground_lab::fail_if::FailIf;
use fairground_lab::sides::{is_setting, Common, SideSpec, Sides};
use fairground_lab::tables::{legend, page, printable, Format, PairShown};
use fairground_machine::MachineSpec;
use fairground_run::batch::{BatchError, Plan, Results};
use fairground_run::executor::Executor;
use fairground_run::metrics::{main_metric, Selection};
use fairground_workload::Workload;
use miette::Diagnostic;
use thiserror::Error;

use self::pair::Links;
use crate::error::{run_failed, End, Failure};
use crate::input::refuse_misplaced;
use crate::output::{columns, complain, print, stop_on_signals, OutputFile};
use crate::provenance::made_by;
use crate::run_options::{Jobs, RunOptions};
use crate::seeds::Seeds;
use crate::store::{Runs, StoreOptions};
use crate::workers::WorkerOptions;

/// `--base` or `--test` is missing.
#[derive(Debug, Error, Diagnostic)]
#[error("compare takes two sides: {missing}")]
#[diagnostic(help("fairground compare {machine} {workload} --base {base} --test {test}"))]
struct MissingSide {
    missing: &'static str,
    machine: String,
    workload: String,
    base: String,
    test: String,
}

/// A setting that the shell has split off its side.
#[derive(Debug, Error, Diagnostic)]
#[error("`{word}` does not belong to a side")]
#[diagnostic(help("quote the settings of a side together: {option} '{side} {word}'"))]
struct StraySetting {
    word: String,
    option: &'static str,
    side: String,
}

/// A third positional argument, often a side whose settings lack quotes.
#[derive(Debug, Error, Diagnostic)]
#[error("unexpected `{0}`: compare takes a machine and a workload")]
#[diagnostic(help("write fairground compare MACHINE WORKLOAD --base SIDE --test SIDE"))]
struct UnexpectedWord(String);

/// Traces are asked for, and there is nothing to link them.
#[derive(Debug, Error, Diagnostic)]
#[error("--traces is for --format html, which links them")]
#[diagnostic(help("`fairground run ... --trace FILE` writes the trace of one run"))]
struct NotAPage;

/// Draws are asked for where one is given.
#[derive(Debug, Error, Diagnostic)]
#[error("{option} draws machine and workload, and a draw is given")]
#[diagnostic(help("leave out {option}, or --draw and draw="))]
struct OneDraw {
    option: &'static str,
}

/// Draws of the figures in doubt, unless `--doubt` says another number.
const DRAWS: u64 = 20;

/// `--until` cannot be done.
#[derive(Debug, Error, Diagnostic)]
#[error("--until: {0}")]
#[diagnostic(help("--until adds seeds from 1 on until the interval of the main metric is narrow"))]
struct NoUntil(String);

/// Pairs of runs, unless `--seeds` says another number.
const SEEDS: u64 = 8;

/// Compares two sides, paired over seeds.
#[derive(Args)]
#[command(override_usage = "fairground compare [OPTIONS] --base <SIDE> --test <SIDE> <MACHINE> <WORKLOAD>")]
pub struct Compare {
    /// Preset or file; with CPUs to which the workload is bound behind it as numactl takes them: @node0, @node0-1, @0-3,8
    machine: String,
    /// Built-in with options (sched-pipe:loops=50000,threads) or an rt-app file
    workload: String,
    /// Further words, which are errors
    #[arg(hide = true)]
    more: Vec<String>,
    /// What to compare with: fair:v5.9, governor=performance, 'fair: machine=rpi5'
    #[arg(long, value_name = "SIDE")]
    base: Option<String>,
    /// What is under test, written as for --base; may be given several times
    #[arg(long, value_name = "SIDE")]
    test: Vec<String>,
    /// Scheduler of sides that do not name one
    #[arg(long, value_name = "SCHED")]
    sched: Option<String>,
    /// Pairs of runs: seeds 1 to N, or FIRST-LAST; with --until at most N [default: 8; 256 with --until]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    seeds: Option<Seeds>,
    /// Add seeds, from 8 on, until half of the 95 % interval is at most this many percent of base
    ///
    /// It is the interval of the workload's main metric, or of each that --metrics names. Which side is better plays no part.
    #[arg(long, value_name = "PCT", allow_hyphen_values = true)]
    until: Option<WidthPct>,
    /// Draws of the figures in doubt on which both sides are run too, each with a seed of its own; 0: none. The model
    /// interval is over them; 19 at least for one of 90 % [default: 20; 0 with --draw, and where a side has a draw]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(0..=100_000))]
    doubt: Option<u64>,
    /// Also say which figures carry the doubt of the first metric, and what a measurement would bring: some hundred runs of
    /// each side on draws of their own, a twentieth as long
    #[arg(long)]
    screen: bool,
    /// own, mail (ASCII, 80 columns), mmtests, amd, arm, markdown, csv, json, or html (a page with a plot and the rules that moved)
    #[arg(long, default_value_t = Format::Own)]
    format: Format,
    /// Of --format html: write traces of the pair of runs that it looks at into this directory, and link them
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
    /// Say below the table what each metric and column is
    #[arg(long)]
    legend: bool,
    /// Which figures: usual, all, or names with commas between
    #[arg(long, value_name = "LIST", default_value_t = Selection::Usual)]
    metrics: Selection,
    #[command(flatten)]
    jobs: Jobs,
    #[command(flatten)]
    store: StoreOptions,
    /// Exit with 3 if this holds for any test, e.g. ops_per_sec<-2%; may be given several times
    ///
    /// METRIC, one of < <= > >=, NUMBER. With % the number is an improvement in percent of base, positive is better:
    /// ops_per_sec<-2% holds if test is more than 2 % worse. Without, it is the mean of test in the metric's unit:
    /// wakeup_latency_p99_us>500. METRIC=VERDICT holds if the row has the verdict better, worse, same or unsure:
    /// ops_per_sec=worse.
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    fail_if: Vec<String>,
    /// Run everything twice; a run whose events differ has failed
    #[arg(long)]
    check_determinism: bool,
    #[command(flatten)]
    options: RunOptions,
    #[command(flatten)]
    workers: WorkerOptions,
    /// Write the result to this file instead, whole or not at all; - is standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Compare {
    pub fn run(self) -> Result<End, Failure> {
        let conditions = self.fail_if.iter().map(|c| c.parse()).collect::<Result<Vec<FailIf>, _>>()?;
        let sides = self.sides()?;
        refuse_misplaced("compare", &self.machine, &self.workload)?;
        let inputs = self.inputs(&sides);
        let output = self.output.as_deref().map(|path| OutputFile::beside(path, &inputs)).transpose()?;
        if self.traces.is_some() && self.format != Format::Html {
            return Err(NotAPage.into());
        }
        let links =
            self.traces.as_deref().map(|directory| Links::create(directory, self.output.as_deref())).transpose()?;
        let report = self.report(&sides, &conditions)?;
        let mut text = match self.format {
            Format::Html => page(&report, &self.shown(&sides, &report, links.as_ref())?),
            other => other.render_for(&report, columns(output.as_ref())),
        };
        match (self.format, self.legend) {
            (Format::Own, true) => text += &format!("\n{}", legend(&report)),
            (Format::Own, false) => text += "--legend says what the metrics and columns are\n",
            _ => {}
        }
        deliver(&text, output)?;
        if self.format == Format::Html && stop_on_signals().load(Ordering::Relaxed) {
            return Err(Failure::Interrupted(
                "interrupted while pairs were looked at; the page is there without the rest".into(),
            ));
        }
        Ok(end(&report, &conditions))
    }

    /// The machine and workload files that are read; `None` for a name that is not a file.
    fn inputs<'a>(&'a self, sides: &'a [SideSpec]) -> Vec<Option<&'a Path>> {
        let machines = [self.machine.as_str()].into_iter().chain(sides.iter().filter_map(SideSpec::machine));
        let workloads = [self.workload.as_str()].into_iter().chain(sides.iter().filter_map(SideSpec::workload));
        machines.map(|machine| MachineSpec::parse(machine).file()).chain(workloads.map(Workload::file)).collect()
    }

    fn report(&self, sides: &[SideSpec], conditions: &[FailIf]) -> Result<Report, Failure> {
        let (machine, workload, sched) = (&self.machine, &self.workload, self.sched.as_deref());
        let common = Common { machine, workload, sched, config: self.options.config()? };
        let draws = self.draws(sides, &common)?;
        let specs = sides;
        let find = |config| Sides::find(specs, &Common { config, ..common }, &self.workers.workers());
        let sides = find(common.config)?;
        sides.warnings.iter().for_each(|warning| complain(&format!("warning: {warning}")));
        for condition in conditions {
            condition.check(&sides.metrics())?;
        }
        let judged: Vec<&str> = conditions.iter().map(FailIf::metric).collect();
        let selected = sides.selected(&self.metrics, &judged)?;
        let drawn = Draws::find(&common.config, draws_and_seeds(draws), find)?;
        let plan = self.plan(sides.experiments.len());
        let mut report = match self.until {
            None => sides.report(&plan.seeds, &self.results(&sides, &plan)?),
            Some(WidthPct(pct)) => {
                let most = self.seeds.map_or(Some(Until::MOST), Seeds::count_from_one);
                let most =
                    most.ok_or_else(|| NoUntil("--seeds takes the greatest number of seeds here, not a range".into()))?;
                let until = Until::new(pct, most).map_err(NoUntil)?;
                let run = |plan: &Plan| self.results(&sides, plan);
                narrow(&until, &self.metrics_to_narrow(&sides)?, &plan, run, |seeds, results| {
                    sides.report(seeds, results)
                })?
            }
        };
        report.add_model(&self.drawn_runs(drawn, &plan)?);
        if draws > 0 {
            report.note_on_draw_laws(sides.experiments.iter().map(|experiment| &*experiment.machine), draws)?;
        }
        sides.add_published(&mut report)?;
        report.keep(&selected);
        if self.screen {
            let (design, draws) = self.screened(specs, &sides, &common)?;
            report.add_screening(&design, &self.drawn_runs(draws, &plan)?);
        }
        report.provenance = Some(sides.provenance(made_by()));
        Ok(report)
    }

    /// The metrics whose intervals are to be narrow.
    fn metrics_to_narrow(&self, sides: &Sides) -> Result<Vec<String>, Failure> {
        if let Selection::Names(names) = &self.metrics {
            return Ok(names.clone());
        }
        let base = &sides.experiments[0].workload;
        let main = main_metric(base).filter(|main| sides.metrics().iter().any(|metric| metric.name == *main));
        let none =
            || NoUntil(format!("{} has no metric of its own that is compared: name one with --metrics", base.name));
        Ok(vec![main.ok_or_else(none)?])
    }

    /// The base and the tests, as the user wrote them.
    fn sides(&self) -> Result<Vec<SideSpec>, Failure> {
        self.no_stray_words()?;
        let (Some(base), false) = (&self.base, self.test.is_empty()) else {
            let quoted = |side: &str| if side.contains(' ') { format!("'{side}'") } else { side.to_owned() };
            let missing = match (&self.base, self.test.is_empty()) {
                (None, true) => "--base and --test are missing",
                (None, false) => "--base is missing",
                (Some(_), _) => "--test is missing",
            };
            return Err(MissingSide {
                missing,
                machine: self.machine.clone(),
                workload: self.workload.clone(),
                base: quoted(self.base.as_deref().unwrap_or("fair:v6.1")),
                test: quoted(self.test.first().unwrap_or(&Features::newest().to_string())),
            }
            .into());
        };
        let mut sides = vec![SideSpec::parse("--base", base)?];
        for test in &self.test {
            sides.push(SideSpec::parse("--test", test)?);
        }
        Ok(sides)
    }

    /// Refuses further positional arguments: usually settings of a side that is not quoted.
    fn no_stray_words(&self) -> Result<(), Failure> {
        let words = || [&self.machine, &self.workload].into_iter().chain(&self.more);
        if let Some(word) = words().find(|word| is_setting(word)) {
            let (option, side) = match (self.test.last(), &self.base) {
                (Some(test), _) => ("--test", test.as_str()),
                (None, base) => ("--base", base.as_deref().unwrap_or("fair:")),
            };
            let side = Features::full_name(side).into_owned();
            return Err(StraySetting { word: word.clone(), option, side }.into());
        }
        self.more.first().map_or(Ok(()), |word| Err(UnexpectedWord(word.clone()).into()))
    }

    /// A pair of runs of each comparison: the first in which the sides differ.
    fn shown(
        &self,
        specs: &[SideSpec],
        report: &Report,
        links: Option<&Links>,
    ) -> Result<Vec<Option<PairShown>>, Failure> {
        let (machine, workload, sched) = (&self.machine, &self.workload, self.sched.as_deref());
        let common = Common { machine, workload, sched, config: self.options.config()? };
        let sides = Sides::find(specs, &common, &self.workers.workers())?;
        let show = |(number, comparison): (usize, &Comparison)| {
            let pair = comparison.pairs.iter().find(|pair| pair.base != pair.test)?;
            Some(pair::show(&sides, number + 1, pair.seed, links))
        };
        Ok(report.comparisons.iter().enumerate().map(show).collect())
    }

    /// How many draws the sides are run on.
    fn draws(&self, sides: &[SideSpec], common: &Common) -> Result<u64, Failure> {
        let is_drawn = common.config.draw != 0 || sides.iter().any(|side| side.sets("draw"));
        match self.doubt {
            _ if self.screen && is_drawn => Err(OneDraw { option: "--screen" }.into()),
            Some(draws) if draws > 0 && is_drawn => Err(OneDraw { option: "--doubt" }.into()),
            Some(draws) => Ok(draws),
            None if is_drawn => Ok(0),
            None => Ok(DRAWS),
        }
    }

    /// The runs on draws, each with all sides.
    fn drawn_runs(&self, drawn: Draws, plan: &Plan) -> Result<Vec<DrawnRuns>, Failure> {
        let store = if plan.check_determinism { None } else { self.store.open()? };
        let (runs, stop) = (Runs::new(), stop_on_signals());
        match drawn.carry_out(plan, store.as_ref(), &stop, &|progress| runs.tell(progress)) {
            Err(BatchError::Stopped) => Err(runs.interrupted(store.as_ref())),
            drawn => Ok(drawn?),
        }
    }

    /// The design of a screening of these sides, and its runs, which are shortened.
    fn screened(&self, sides: &[SideSpec], found: &Sides, common: &Common) -> Result<(Design, Draws), Failure> {
        let design = Design::new(found.experiments.iter().map(|e| (&*e.machine, &*e.workload)))?;
        let workload = short_workload(common.workload);
        let sides: Vec<SideSpec> = sides.iter().map(|side| side.with_workload(short_workload)).collect();
        let common = Common { workload: &workload, ..*common };
        let find = |config| Sides::find(&sides, &Common { config, ..common }, &self.workers.workers());
        let draws = Draws::find(&common.config, design.draws_and_seeds(), find)?;
        Ok((design, draws))
    }

    /// The results of a plan: from the store if it has them, else from runs.
    fn results(&self, sides: &Sides, plan: &Plan) -> Result<Results, Failure> {
        // A check of determinism makes every run.
        let store = if plan.check_determinism { None } else { self.store.open()? };
        let (runs, stop) = (Runs::new(), stop_on_signals());
        match Executor::batch(&sides.experiments, plan, store.as_ref(), &stop, &|progress| runs.tell(progress)) {
            Err(BatchError::Stopped) => Err(runs.interrupted(store.as_ref())),
            results => Ok(results?),
        }
    }

    fn plan(&self, scheds: usize) -> Plan {
        Plan {
            scheds,
            seeds: self.seeds.unwrap_or(Seeds::first(SEEDS)).list(),
            jobs: self.jobs.count(),
            check_determinism: self.check_determinism,
        }
    }
}

/// To the file, or to standard output.
pub fn deliver(text: &str, output: Option<OutputFile>) -> Result<(), Failure> {
    let Some(mut file) = output else { return print(text) };
    file.write_all(printable(text).as_bytes()).map_err(|e| run_failed(format!("cannot write the result: {e}")))?;
    file.finish()
}

fn end(report: &Report, conditions: &[FailIf]) -> End {
    let end = complain_of_failures(report);
    let held: Vec<String> = conditions.iter().flat_map(|c| c.held(report)).collect();
    end.unless_held(&held)
}

/// Names the runs that failed.
pub fn complain_of_failures(report: &Report) -> End {
    for f in &report.failures {
        complain(&format!("run failed: {} seed {}: {}", f.side, f.seed, f.message));
    }
    if report.failures.is_empty() {
        End::Done
    } else {
        End::RunFailed
    }
}
