//! `fairground regret`.

use std::fmt::Write;

use clap::Args;
use fairground_lab::regret::{self, Distribution, Distributions, Plan, Report, SchedulerRegret, MAX_TASKS};
use fairground_machine::Machine;
use fairground_run::run_config::RunConfig;
use fairground_sim::Governor;
use serde_json::{json, Value};

use super::feature::ListFormat;
use crate::error::{run_failed, End, Failure};
use crate::output::print;
use crate::progress::Progress;
use crate::run_options::{warned, Jobs};
use crate::workers::WorkerOptions;

/// Name and version of the schema.
const SCHEMA: &str = "fairground-regret-1";

/// The four forms of energy-aware wakeups under one release: with its ranking of misfit CPUs delta would be tri.
const FORMS: [&str; 4] = ["fair:v6.12", "fair:v6.12+feec=delta", "fair:v6.12+feec=margin515", "fair:v6.12+feec=margin"];

/// Says how much more energy placements take than the best ones, which are found by trying all.
///
/// States of a few steady tasks are drawn; each is run for a second of virtual time with schedutil. Every wakeup of the
/// second half is judged: what the tasks take where they are now, by the kernel's energy model and by the power of the
/// simulated machine, against the least that all placements come to.
#[derive(Args)]
pub struct Regret {
    /// Preset or file; up to 8 CPUs, with the power of its operating points
    machine: String,
    /// Scheduler; may be given several times [default: the four forms of energy-aware wakeups of fair:v6.12]
    #[arg(long, value_name = "SCHED")]
    sched: Vec<String>,
    /// Most tasks in a state
    #[arg(long, value_name = "N", default_value_t = MAX_TASKS as u64, value_parser = clap::value_parser!(u64).range(1..=MAX_TASKS as u64))]
    tasks: u64,
    /// Number of states to draw
    #[arg(long, value_name = "N", default_value = "200", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    states: u64,
    /// Give some tasks utilization clamps, uclamp_min or uclamp_max
    #[arg(long)]
    clamps: bool,
    /// Seed of the states
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// How to print the result
    #[arg(long, value_enum, default_value_t)]
    format: ListFormat,
    #[command(flatten)]
    jobs: Jobs,
    #[command(flatten)]
    workers: WorkerOptions,
}

impl Regret {
    pub fn run(self) -> Result<End, Failure> {
        regret::check(&Machine::find(&self.machine)?)?;
        let scheds = match self.sched.as_slice() {
            [] => FORMS.map(String::from).to_vec(),
            given => given.to_vec(),
        };
        // The threads of each state take the place of the workload.
        let config = RunConfig { governor: Governor::Schedutil, ..RunConfig::default() };
        let mut experiment = warned(config.find(&self.machine, "periodic:tasks=1", &scheds)?);
        experiment.workers = self.workers.workers();
        let plan = Plan { states: self.states, tasks: self.tasks as usize, clamps: self.clamps, seed: self.seed };
        let progress = Progress::new(scheds.len() * self.states as usize);
        let report = regret::run(&experiment, &plan, self.jobs.count(), &|| progress.step())?;
        drop(progress);
        let report = report.map_err(run_failed)?;
        print(&match self.format {
            ListFormat::Text => self.text(&report),
            ListFormat::Json => format!("{:#}\n", self.json(&report)),
        })?;
        Ok(End::Done)
    }

    fn text(&self, report: &Report) -> String {
        let Report { judged, nowhere, tallies } = report;
        let clamps = if self.clamps { ", some with clamps" } else { "" };
        let mut out = format!("machine   {}\n", self.machine);
        let _ = writeln!(out, "states    {judged} of 1 to {} steady tasks{clamps}, seed {}", self.tasks, self.seed);
        if *nowhere > 0 {
            let _ = writeln!(out, "          {nowhere} more have no placement that fits");
        }
        let width = tallies.iter().map(|tally| tally.sched.len()).max().unwrap_or(0).max(16);
        let _ =
            writeln!(out, "\nexcess over the best placement of all tasks, %; `best`: share of states without excess");
        heads(&mut out, &format!("{:width$}", "scheduler"), "unfit", "");
        for tally in tallies {
            let (name, unfit) = (format!("{:width$}", tally.sched), format!("{:.1}%", tally.unfit_pct));
            line(&mut out, &name, &unfit, &tally.all);
            out.push('\n');
        }
        tallies.iter().for_each(|tally| rules(&mut out, tally));
        let _ = writeln!(out, "\nmodel: the kernel's energy model; power: what the simulated machine draws");
        let _ =
            writeln!(out, "unfit: wakeups after which some CPU has more utilization than fits; they are not judged");
        out
    }

    fn json(&self, report: &Report) -> Value {
        let Report { judged, nowhere, tallies } = report;
        json!({
            "schema": SCHEMA,
            "machine": self.machine,
            "tasks": self.tasks,
            "clamps": self.clamps,
            "seed": self.seed,
            "states": judged,
            "states_nowhere": nowhere,
            "scheds": tallies,
        })
    }
}

/// The heads of the columns of both measures, the energy model and the simulated power.
fn heads(out: &mut String, first: &str, second: &str, last: &str) {
    let _ = write!(out, "{first} {second:>7}");
    for measure in ["model", "power"] {
        let _ = write!(out, "  {measure:>6} best {:>7} {:>7} {:>7} {:>7}", "mean", "p50", "p90", "max");
    }
    let _ = writeln!(out, "{last}");
}

fn line(out: &mut String, name: &str, count: &str, spreads: &Distributions) {
    let _ = write!(out, "{name} {count:>7}");
    for Distribution { none_pct, mean, p50, p90, max } in [spreads.model, spreads.power] {
        let _ = write!(out, "  {none_pct:>10.1}% {mean:>7.2} {p50:>7.2} {p90:>7.2} {max:>7.1}");
    }
}

fn rules(out: &mut String, tally: &SchedulerRegret) {
    let _ = writeln!(out, "\n{}: each wakeup against the best CPU for its task alone, by rule", tally.sched);
    heads(out, "", "wakeups", "  rule");
    for rule in &tally.rules {
        line(out, "", &rule.wakeups.to_string(), &rule.one);
        let _ = writeln!(out, "  {}", fairground_fair::rule_title(&rule.rule));
    }
}
