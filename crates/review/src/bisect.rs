//! The first patch that changes a metric by so much: `fairground bisect`.
//!
//! Each step asks of one stage: is its change from the base beyond the threshold, or short of it? Pairs of runs are added until a
//! test of the difference to the threshold says either. A bisection of n stages asks at most 1 + log2(n) questions, each
//! looked at a number of times that is known beforehand; the error level is divided by both (Bonferroni), whatever the
//! looks have to do with each other. So all answers of a bisection are right with the probability that is stated, as far as
//! Student's t holds for the metric. A question that is still open with the most pairs is left open, and said to be.

use fairground_lab::stats::{Change, Terms};
use fairground_run::batch::RunReport;
use fairground_run::executor::Executor;
use fairground_run::metrics::Metric;
use serde::Serialize;
use serde_json::json;

use crate::answer::{percent, range};
use crate::decisions::{self, Explained};
use crate::matrix::Cell;
use crate::measure::{sides, Means, ReviewError};
use crate::stages::Stages;

/// Pairs at the first look.
const FIRST: u64 = 8;

/// What is looked for.
#[derive(Clone, Debug)]
pub struct Goal {
    /// Where it shows.
    pub cell: Cell,
    /// Name of the metric; `None`: the workload's main one.
    pub metric: Option<String>,
    /// The change from the base, percent, positive = better: below 0 a regression is looked for, above it a gain.
    pub threshold_pct: f64,
    /// Probability of a wrong answer in the whole bisection, above 0, below 1.
    pub error: f64,
    /// Most pairs of a question.
    pub most: u64,
}

/// An answer to whether a stage changes the metric beyond the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It does not.
    Good,
    /// It does.
    Bad,
    /// Not known with the most pairs.
    Open,
}

/// A stage that was asked about.
#[derive(Clone, Debug, Serialize)]
pub struct Asked {
    /// Number of the stage; the base is 0.
    pub stage: usize,
    /// Whether it is beyond the threshold.
    pub answer: Answer,
    /// Pairs of runs.
    pub pairs: u64,
    /// Change from the base, percent, positive = better.
    pub change_pct: Option<f64>,
}

/// What a bisection finds.
#[derive(Clone, Debug)]
pub enum Found {
    /// This stage is the first beyond the threshold.
    Stage(usize),
    /// The whole series is not beyond it.
    Nowhere,
    /// It is one of these stages, and more is not known: from, to.
    Between(usize, usize),
    /// Runs of this stage fail.
    Fails(usize, String),
}

/// A bisection.
pub struct Bisection {
    /// What was looked for, with the metric.
    pub goal: Goal,
    /// The metric.
    pub metric: Metric,
    /// Questions in their order.
    pub asked: Vec<Asked>,
    /// What was found.
    pub found: Found,
    /// The change of the first bad stage from the one before, percent of that, positive = better, and its 95 % interval.
    pub change: Option<(Option<f64>, Option<[f64; 2]>)>,
    /// Its decisions.
    pub explained: Option<Explained>,
}

/// Looks for the first stage beyond the threshold.
///
/// # Errors
/// If the cell cannot be run, does not report the metric, or the work was stopped.
pub fn bisect(stages: &Stages, goal: Goal, means: &Means) -> Result<Bisection, ReviewError> {
    let scheds: Vec<&str> = stages.stages.iter().map(|stage| stage.sched.as_str()).collect();
    let experiments = sides(&goal.cell, &scheds, goal.cell.config, &means.workers)?.experiments;
    let known = experiments[0].metrics();
    let main = fairground_run::metrics::main_metric(&experiments[0].workload);
    let name = goal.metric.clone().or(main).unwrap_or_default();
    let metric = known.iter().find(|metric| metric.name == name).cloned().ok_or_else(|| ReviewError::Metric {
        cell: goal.cell.name(),
        name: name.clone(),
        help: fairground_machine::suggest(&name, known.iter().map(|metric| metric.name.as_str())),
    })?;
    let values = |stage: usize, seeds: &[u64]| -> Result<Vec<Result<f64, String>>, ReviewError> {
        let mut executor = Executor::default();
        let asked = executor.ask(&experiments[stage], 0, seeds);
        let outcomes = executor.carry_out(means.store, means.jobs, means.stop, means.progress)?;
        Ok(outcomes.of(asked).iter().map(|run| value(run, &name)).collect())
    };
    let mut search = Search {
        goal: &goal,
        metric: &metric,
        last: scheds.len() - 1,
        asked: Vec::new(),
        columns: vec![Vec::new(); scheds.len()],
    };
    let found = search.run(&values)?;
    let (asked, columns) = (search.asked, search.columns);
    let change = match found {
        Found::Stage(stage) => {
            let seeds: Vec<u64> = (1..=columns[stage].len() as u64).collect();
            let pair = [stage - 1, stage].map(|stage| values(stage, &seeds));
            let [before, after] = pair;
            let pairs: Vec<(f64, f64)> =
                before?.into_iter().zip(after?).filter_map(|(b, a)| Some((b.ok()?, a.ok()?))).collect();
            let (before, after): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let change = Change::new(&before, &after, &Terms::of_metric(&metric));
            Some((change.improvement_pct, change.ci95))
        }
        _ => None,
    };
    let explained = match found {
        Found::Stage(stage) => {
            let pair = [&*experiments[stage - 1], &*experiments[stage]];
            let scheds = [stage - 1, stage].map(|stage| stages.stages[stage].sched.clone());
            Some(decisions::of_pair(pair, &goal.cell, [stage - 1, stage], scheds, 1, means))
        }
        _ => None,
    };
    Ok(Bisection { goal, metric, asked, found, change, explained })
}

fn value(run: &Result<RunReport, String>, name: &str) -> Result<f64, String> {
    let run = run.as_ref().map_err(String::clone)?;
    let found = run.metrics.iter().find(|value| value.metric.name == name);
    found.map(|value| value.value).ok_or_else(|| format!("a run has no sample of {name}"))
}

type Values<'a, E> = &'a dyn Fn(usize, &[u64]) -> Result<Vec<Result<f64, String>>, E>;

struct Search<'a> {
    goal: &'a Goal,
    metric: &'a Metric,
    /// Number of the last stage.
    last: usize,
    asked: Vec<Asked>,
    /// Values of each stage by seed, from 1.
    columns: Vec<Vec<f64>>,
}

impl Search<'_> {
    /// The numbers of pairs at which a question is looked at.
    fn looks(&self) -> Vec<u64> {
        let mut looks = vec![FIRST.min(self.goal.most)];
        while let Some(last) = looks.last().copied().filter(|last| *last < self.goal.most) {
            looks.push((last * 2).min(self.goal.most));
        }
        looks
    }

    /// The level of a single look.
    fn level(&self) -> f64 {
        let questions = 1 + self.last.next_power_of_two().trailing_zeros();
        self.goal.error / f64::from(questions) / self.looks().len() as f64
    }

    fn run<E>(&mut self, values: Values<E>) -> Result<Found, E> {
        if self.last == 0 {
            return Ok(Found::Nowhere);
        }
        // The base is good by definition.
        let (mut good, mut bad) = (0, self.last);
        match self.ask(self.last, values)? {
            Err(message) => return Ok(Found::Fails(self.last, message)),
            Ok(Answer::Good) => return Ok(Found::Nowhere),
            Ok(Answer::Open) => return Ok(Found::Between(1, self.last)),
            Ok(Answer::Bad) => {}
        }
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            match self.ask(middle, values)? {
                Err(message) => return Ok(Found::Fails(middle, message)),
                Ok(Answer::Good) => good = middle,
                Ok(Answer::Bad) => bad = middle,
                Ok(Answer::Open) => return Ok(Found::Between(good + 1, bad)),
            }
        }
        Ok(Found::Stage(bad))
    }

    /// Asks about a stage, with ever more pairs. The inner error is that of a run.
    fn ask<E>(&mut self, stage: usize, values: Values<E>) -> Result<Result<Answer, String>, E> {
        let level = self.level();
        let looks = self.looks();
        for (at, pairs) in looks.iter().enumerate() {
            for side in [0, stage] {
                let seeds: Vec<u64> = (self.columns[side].len() as u64 + 1..=*pairs).collect();
                if seeds.is_empty() {
                    continue;
                }
                for value in values(side, &seeds)? {
                    match value {
                        Ok(value) => self.columns[side].push(value),
                        Err(message) => return Ok(Err(message)),
                    }
                }
            }
            let pairs = *pairs as usize;
            let (base, test) = (&self.columns[0][..pairs], &self.columns[stage][..pairs]);
            let answer = self.judged(base, test, level);
            if answer != Answer::Open || at + 1 == looks.len() {
                let change = Change::new(base, test, &Terms::of_metric(self.metric)).improvement_pct;
                self.asked.push(Asked { stage, answer, pairs: pairs as u64, change_pct: change });
                return Ok(Ok(answer));
            }
        }
        Ok(Ok(Answer::Open))
    }

    /// Compares the test with the base moved to the threshold.
    fn judged(&self, base: &[f64], test: &[f64], level: f64) -> Answer {
        let better = self.metric.better;
        let factor = better.sign() * self.goal.threshold_pct / 100.0;
        let at_threshold: Vec<f64> = base.iter().map(|base| base + factor * base.abs()).collect();
        let change = Change::new(&at_threshold, test, &Terms::of_any_values(better));
        if change.p.is_none_or(|p| p >= level) {
            return Answer::Open;
        }
        let beyond = match self.goal.threshold_pct < 0.0 {
            true => better.sign() * change.diff < 0.0,
            false => better.sign() * change.diff > 0.0,
        };
        if beyond {
            Answer::Bad
        } else {
            Answer::Good
        }
    }
}

impl Bisection {
    /// The stage that was found, by its patches.
    fn words(&self, stages: &Stages) -> String {
        let all = stages.count();
        let span = |from: usize, to: usize| {
            let labels = [from, to].map(|stage| stages.stages[stage].label(all));
            if from == to {
                labels[0].clone()
            } else {
                labels.join(" to ")
            }
        };
        match &self.found {
            Found::Stage(stage) => format!("first beyond it: {}", stages.name(*stage)),
            Found::Nowhere => "the series does not change it by so much".into(),
            Found::Between(from, to) => {
                format!("not known with {} pairs: it may be any of {}", self.goal.most, span(*from, *to))
            }
            Found::Fails(stage, message) => format!("runs of {} fail: {message}", stages.name(*stage)),
        }
    }

    /// The bisection as text.
    pub fn text(&self, stages: &Stages) -> String {
        let Goal { cell, threshold_pct, error, .. } = &self.goal;
        let side = if *threshold_pct < 0.0 { "worse" } else { "better" };
        let mut out = format!(
            "{}\n{} {side} by more than {} %; wrong with a probability of {} % at most\n\n",
            cell.name(),
            self.metric.name,
            threshold_pct.abs(),
            error * 100.0
        );
        for asked in &self.asked {
            let word = match asked.answer {
                Answer::Good => "no",
                Answer::Bad => "yes",
                Answer::Open => "not known",
            };
            out += &format!(
                "{word:<9}  {:>10} with {:>3} pairs  {}\n",
                percent(asked.change_pct),
                asked.pairs,
                stages.name(asked.stage)
            );
        }
        out += &format!("\n{}\n", self.words(stages));
        if let Some((change, ci95)) = self.change {
            out += &format!("  alone: {} ({})\n", percent(change), range(ci95));
        }
        if let Some(explained) = &self.explained {
            out += "\n";
            match &explained.parted {
                Ok(parted) => out += &parted.text,
                Err(problem) => out += &format!("its decisions are not known: {problem}\n"),
            }
            out += &format!("\n{}\n", explained.commands().join("\n"));
        }
        out
    }

    /// The bisection in the documented schema.
    pub fn json(&self, stages: &Stages) -> String {
        let (first, between) = match self.found {
            Found::Stage(stage) => (Some(stage), None),
            Found::Between(from, to) => (None, Some([from, to])),
            _ => (None, None),
        };
        let document = json!({
            "schema": "fairground-bisect-1",
            "machine": self.goal.cell.machine,
            "workload": self.goal.cell.workload,
            "options": self.goal.cell.options,
            "metric": self.metric.name,
            "threshold_pct": self.goal.threshold_pct,
            "error": self.goal.error,
            "patches": stages.members,
            "stages": stages.stages,
            "asked": self.asked,
            "first": first,
            "between": between,
            "verdict": self.words(stages),
            "change_pct": self.change.map(|(change, _)| change),
            "ci95": self.change.map(|(_, ci95)| ci95),
            "decisions": self.explained.as_ref().and_then(|explained| explained.parted.as_ref().ok()),
        });
        format!("{document:#}\n")
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use fairground_run::metrics::Better;
    use fairground_run::run_config::RunConfig;

    use super::*;

    fn goal(threshold_pct: f64) -> Goal {
        let cell = Cell {
            machine: "m".into(),
            workload: "w".into(),
            config: RunConfig::default(),
            options: Vec::new(),
            metrics: None,
        };
        Goal { cell, metric: None, threshold_pct, error: 0.01, most: 128 }
    }

    /// Noise that is the same in each run of a script: sum of hashed bits, about normal with deviation 1.
    fn noise(seed: u64, stage: usize, series: u64) -> f64 {
        let mut x = seed ^ (stage as u64) << 20 ^ series << 40;
        let mut sum = 0.0;
        for _ in 0..12 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            sum += (x >> 11) as f64 / (1u64 << 53) as f64;
        }
        sum - 6.0
    }

    /// A search among `last` stages whose levels are these, with noise of this deviation.
    fn search(levels: &[f64], sd: f64, series: u64, threshold_pct: f64) -> (Found, Vec<Asked>) {
        let (goal, metric) = (goal(threshold_pct), Metric::new("time", "s", Better::Lower, ""));
        let mut search = Search {
            goal: &goal,
            metric: &metric,
            last: levels.len() - 1,
            asked: vec![],
            columns: vec![vec![]; levels.len()],
        };
        let values = |stage: usize, seeds: &[u64]| {
            Ok::<_, Infallible>(seeds.iter().map(|seed| Ok(levels[stage] + sd * noise(*seed, stage, series))).collect())
        };
        let found = search.run(&values).unwrap();
        (found, search.asked)
    }

    /// 100 up to stage 4, 110 from stage 5 on.
    #[test]
    fn the_first_stage_beyond_the_threshold_is_found_with_few_questions() {
        let levels: Vec<f64> = (0..=9).map(|stage| if stage < 5 { 100.0 } else { 110.0 }).collect();
        let (found, asked) = search(&levels, 1.0, 1, -5.0);
        assert!(matches!(found, Found::Stage(5)), "{found:?}");
        let stages: Vec<usize> = asked.iter().map(|asked| asked.stage).collect();
        assert_eq!(stages, [9, 4, 6, 5]);
        let (found, asked) = search(&levels, 1.0, 1, -20.0);
        assert!(matches!(found, Found::Nowhere) && asked.len() == 1, "{found:?}");
    }

    #[test]
    fn a_question_that_stays_open_names_what_is_left() {
        // At the threshold itself nobody can know.
        let (found, asked) = search(&[100.0, 100.0, 105.0, 105.0], 3.0, 2, -5.0);
        assert!(matches!(found, Found::Between(1, 3)), "{found:?} {asked:?}");
        assert_eq!(asked[0].pairs, 128);
    }

    /// Of bisections at a level of 1 % no more than 1 % are wrong; noise more than half as large as the step. 400 in the part
    /// `long`, else 100.
    #[test]
    fn wrong_answers_are_as_rare_as_stated() {
        let levels: Vec<f64> = (0..=8).map(|stage| if stage < 3 { 100.0 } else { 110.0 }).collect();
        let (mut wrong, mut open) = (0, 0);
        let searches = if crate::is_long() { 400 } else { 100 };
        for series in 0..searches {
            match search(&levels, 6.0, series, -5.0).0 {
                Found::Stage(3) => {}
                Found::Between(from, to) if (from..=to).contains(&3) => open += 1,
                _ => wrong += 1,
            }
        }
        assert!(100 * wrong <= searches, "{wrong} wrong");
        assert!(20 * open <= 3 * searches, "{open} open");
    }

    #[test]
    fn a_run_that_fails_ends_the_search_with_its_message() {
        let (goal, metric) = (goal(-5.0), Metric::new("time", "s", Better::Lower, ""));
        let mut search = Search { goal: &goal, metric: &metric, last: 2, asked: vec![], columns: vec![vec![]; 3] };
        let values = |stage: usize, seeds: &[u64]| {
            let run = |_: &u64| if stage == 2 { Err("loops".to_owned()) } else { Ok(1.0) };
            Ok::<_, Infallible>(seeds.iter().map(run).collect())
        };
        assert!(matches!(search.run(&values).unwrap(), Found::Fails(2, message) if message == "loops"));
    }
}
