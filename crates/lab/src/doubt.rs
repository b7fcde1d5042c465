//! Doubt of a result: what a change is over draws of the figures in doubt, beside what it is over seeds.
//!
//! A comparison is repeated on numbered draws of machine and workload, base and test on the same one, each with a seed of
//! its own. The *model interval* is of these changes: what the figures are not known for, and seeds, together. A quantile
//! is taken at k/(n+1), as of a sample of unknown distribution, so fewer than 19 draws have no 90 % interval.
//!
//! A change from 0 has a sign and no percentage. It counts as an infinite one: it is better or worse than any other, and
//! where it comes to stand at a quantile, that has no percentage either. Without such draws only the mildest would count.

#[cfg(unix)]
mod runs;
pub mod screening;

use fairground_machine::{DrawLaw, Machine, MachineError};
use fairground_run::batch::RunReport;
use fairground_run::metrics::Better;
use fairground_run::run_config::RunConfig;
use serde::Serialize;

#[cfg(unix)]
pub use self::runs::AskedDraws;
use self::screening::Design;
use crate::comparison::{Failure, Report, Row};
use crate::sides::Sides;

/// What a change is over draws.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ModelInterval {
    /// Median of the changes, percent, positive = better; `None` where it is a change from 0.
    pub median_pct: Option<f64>,
    /// From the 25 to the 75 % quantile; `None` below 3 draws, and where an end is a change from 0.
    pub ci50: Option<[f64; 2]>,
    /// From the 5 to the 95 % quantile; `None` below 19 draws, and where an end is a change from 0.
    pub ci90: Option<[f64; 2]>,
    /// Share of draws in which test is better than base, 0 to 1.
    pub p_better: f64,
    /// Share of draws in which test is worse than base, 0 to 1.
    pub p_worse: f64,
    /// Number of draws in which both sides have the metric.
    pub draws: usize,
}

impl ModelInterval {
    /// Of the changes in each draw, percent, positive = better, infinite from 0; `None` if there are none.
    pub fn from_changes(changes: &[f64]) -> Option<ModelInterval> {
        let mut sorted = changes.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let share = |is: fn(f64) -> bool| sorted.iter().filter(|pct| is(**pct)).count() as f64 / n as f64;
        let percentage = |p| quantile(&sorted, p).filter(|pct| pct.is_finite());
        let between = |lo, hi| Some([percentage(lo)?, percentage(hi)?]);
        (n > 0).then_some(ModelInterval {
            median_pct: percentage(0.5),
            ci50: between(0.25, 0.75),
            ci90: between(0.05, 0.95),
            p_better: share(|pct| pct > 0.0),
            p_worse: share(|pct| pct < 0.0),
            draws: n,
        })
    }

    /// In how many draws test is better or worse: `better in 97 % of draws`.
    pub fn words(&self) -> String {
        let (more, word) =
            if self.p_better >= self.p_worse { (self.p_better, "better") } else { (self.p_worse, "worse") };
        match (more, more * 100.0) {
            (0.0, _) => "same in all draws".into(),
            (1.0, _) => format!("{word} in all draws"),
            (_, pct) => format!("{word} in {pct:.0} % of draws"),
        }
    }
}

/// The quantile `p` of sorted values, which may be infinite. The k-th is taken for that of k/(n+1), with straight lines
/// between; `None` where `p` is beyond the first or the last.
pub fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    let at = p * (sorted.len() + 1) as f64;
    // p may be a rounded decimal.
    let at = if (at - at.round()).abs() < 1e-9 { at.round() } else { at };
    let below = at.floor();
    if below < 1.0 || at > sorted.len() as f64 {
        return None;
    }
    let first = sorted[below as usize - 1];
    let next = sorted.get(below as usize).copied().unwrap_or(first);
    // Both may be infinite, and so may be one of them that does not count.
    if at == below || first == next {
        return Some(first);
    }
    Some(first + (next - first) * (at - below))
}

/// Test against base in percent of base, positive = better; infinite where base is 0 and test is not.
pub fn change_pct(base: f64, test: f64, better: Better) -> f64 {
    match (test - base, base.abs()) {
        (0.0, _) => 0.0,
        (difference, 0.0) => better.sign() * difference.signum() * f64::INFINITY,
        (difference, base) => better.sign() * difference / base * 100.0,
    }
}

/// The draws 1 to `number`, each with the seed of its runs.
pub fn draws_and_seeds(number: u64) -> impl Iterator<Item = (u64, u64)> {
    (1..=number).map(|draw| (draw, draw))
}

/// The sides of a comparison on draws of the figures in doubt.
pub struct Draws {
    /// Number of the draw, seed of its runs, and the sides on it.
    drawn: Vec<(u64, u64, Sides)>,
}

impl Draws {
    /// The sides on each of `draws`, given with the seeds of their runs; `sides_on` finds them with the settings of a draw.
    ///
    /// # Errors
    /// Those of `sides_on`.
    pub fn find<E>(
        config: &RunConfig,
        draws: impl IntoIterator<Item = (u64, u64)>,
        mut sides_on: impl FnMut(RunConfig) -> Result<Sides, E>,
    ) -> Result<Draws, E> {
        let on = |(draw, seed)| Ok((draw, seed, sides_on(RunConfig { draw, ..*config })?));
        Ok(Draws { drawn: draws.into_iter().map(on).collect::<Result<_, E>>()? })
    }

    /// Number of each draw, seed of its runs, and the sides on it.
    pub fn sides(&self) -> &[(u64, u64, Sides)] {
        &self.drawn
    }
}

/// The runs of all sides on one draw, the base first.
#[derive(Clone, Debug)]
pub struct DrawnRuns {
    /// Number of the draw.
    pub draw: u64,
    /// Seed of its runs.
    pub seed: u64,
    /// Report of each side, or why there is none.
    pub runs: Vec<Result<RunReport, String>>,
}

impl DrawnRuns {
    /// The change of a metric from base to the side at `test`, percent, positive = better, infinite from 0; `None` if a
    /// side does not have it.
    pub fn change_pct(&self, test: usize, metric: &str) -> Option<f64> {
        let value = |side: usize| {
            let run = self.runs.get(side)?.as_ref().ok()?;
            run.metrics.iter().find(|value| value.metric.name == metric)
        };
        let (base, test) = (value(0)?, value(test)?);
        Some(change_pct(base.value, test.value, base.metric.better))
    }
}

/// The changes of a metric from base to the side at `test`, percent, positive = better, infinite from 0, of those draws
/// that have one.
pub fn changes_pct(draws: &[DrawnRuns], test: usize, metric: &str) -> Vec<f64> {
    draws.iter().filter_map(|drawn| drawn.change_pct(test, metric)).collect()
}

/// What draws up to the number `last` are of: a posterior, which has only so many, or the prior.
pub fn note_on_draw_law(law: &DrawLaw, last: u64) -> String {
    let of = format!("draws are of the {}", law.words());
    match law.posterior() {
        Some(posterior) if last > posterior.len() as u64 => {
            let (known, effective) = (posterior.len(), posterior.effective);
            format!("{of}; it has {known} draws, which tell as much as {effective:.0} independent ones: later draws repeat its values")
        }
        _ => of,
    }
}

impl Row {
    /// Adds the model interval of these draws, of the side at `test`.
    pub fn add_model(&mut self, test: usize, draws: &[DrawnRuns]) {
        self.model = ModelInterval::from_changes(&changes_pct(draws, test, &self.metric.name));
    }
}

impl Report {
    /// Adds to each comparison which figures carry the doubt of its first metric, by these runs of a screening.
    pub fn add_screening(&mut self, design: &Design, draws: &[DrawnRuns]) {
        for (comparison, test) in self.comparisons.iter_mut().zip(1..) {
            let Some(row) = comparison.rows.first() else { continue };
            let metric = &row.metric.name;
            let change = |drawn: &DrawnRuns| Some((drawn.draw, drawn.change_pct(test, metric)?));
            let changes: Vec<(u64, f64)> = draws.iter().filter_map(change).collect();
            comparison.doubt = Some(design.screen(metric, &changes));
        }
    }

    /// Notes what the draws 1 to `last` of these machines, as they are stated, are of: their posterior or their prior.
    /// Machines that differ have the same deviation for what has the same name, but for names that a posterior has: what
    /// one is off by, the other is too.
    ///
    /// # Errors
    /// If a posterior cannot be read.
    pub fn note_on_draw_laws<'a>(
        &mut self,
        machines: impl IntoIterator<Item = &'a Machine>,
        last: u64,
    ) -> Result<(), MachineError> {
        let mut names: Vec<&str> = Vec::new();
        for machine in machines {
            self.note(note_on_draw_law(&machine.draw_law()?, last));
            if !names.contains(&&*machine.name) {
                names.push(&machine.name);
            }
        }
        if names.len() > 1 {
            self.note(format!(
                "in a draw the figures of {} that have the same name are off together, but for those that a posterior \
                 has: what each machine is off by itself is not in the interval over draws",
                names.join(" and ")
            ));
        }
        Ok(())
    }

    /// Adds the model intervals of these draws, and the failures among their runs.
    pub fn add_model(&mut self, draws: &[DrawnRuns]) {
        let sides: Vec<String> = self.comparisons.iter().map(|comparison| comparison.test.name.clone()).collect();
        for (comparison, test) in self.comparisons.iter_mut().zip(1..) {
            comparison.rows.iter_mut().for_each(|row| row.add_model(test, draws));
        }
        let base = self.comparisons.first().map(|comparison| comparison.base.name.clone());
        for drawn in draws {
            for (side, run) in base.iter().chain(&sides).zip(&drawn.runs) {
                if let Err(message) = run {
                    let side = format!("{side} draw={}", drawn.draw);
                    self.failures.push(Failure { side, seed: drawn.seed, message: message.clone() });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 19 values the first is the 5 % quantile, of 18 there is none.
    #[test]
    fn quantiles_are_at_k_of_n_plus_one() {
        let values = |n: usize| (1..=n).map(|k| k as f64).collect::<Vec<f64>>();
        assert_eq!(quantile(&values(19), 0.05), Some(1.0));
        assert_eq!(quantile(&values(19), 0.95), Some(19.0));
        assert_eq!(quantile(&values(18), 0.05), None);
        assert_eq!(quantile(&values(18), 0.95), None);
        assert_eq!(quantile(&values(4), 0.5), Some(2.5));
        assert_eq!(quantile(&[7.0], 0.5), Some(7.0));
        assert_eq!(quantile(&[], 0.5), None);
        assert!((quantile(&values(24), 0.05).unwrap() - 1.25).abs() < 1e-12);
        let interval = |n: usize| ModelInterval::from_changes(&values(n)).unwrap().ci90;
        assert_eq!((interval(18), interval(19)), (None, Some([1.0, 19.0])));
        let half = |n: usize| ModelInterval::from_changes(&values(n)).unwrap().ci50;
        assert_eq!((half(2), half(3), half(19)), (None, Some([1.0, 3.0]), Some([5.0, 15.0])));
    }

    #[test]
    fn words_say_in_how_many_draws_the_sign_holds() {
        let words = |changes: &[f64]| ModelInterval::from_changes(changes).unwrap().words();
        assert_eq!(words(&[1.0, 2.0, 3.0]), "better in all draws");
        assert_eq!(words(&[1.0, 2.0, -3.0]), "better in 67 % of draws");
        assert_eq!(words(&[-1.0, -2.0, 3.0, -4.0]), "worse in 75 % of draws");
        assert_eq!(words(&[0.0, 0.0]), "same in all draws");
        assert_eq!(words(&[0.0, 0.0, 0.0, 1.0]), "better in 25 % of draws");
        assert_eq!(ModelInterval::from_changes(&[]), None);
    }

    #[test]
    fn a_change_is_positive_where_test_is_better() {
        assert_eq!(change_pct(100.0, 125.0, Better::Higher), 25.0);
        assert_eq!(change_pct(100.0, 125.0, Better::Lower), -25.0);
        assert_eq!(change_pct(0.0, 0.0, Better::Lower), 0.0);
        assert_eq!(change_pct(0.0, 1.0, Better::Lower), f64::NEG_INFINITY);
        assert_eq!(change_pct(0.0, 1.0, Better::Higher), f64::INFINITY);
    }

    #[test]
    fn notes_say_what_draws_are_of_and_when_they_repeat() {
        let [weighed, other] = ["hikey960", "rpi5"].map(|name| Machine::preset(name).unwrap());
        let law = weighed.draw_law().unwrap();
        let known = law.posterior().unwrap().len() as u64;
        let note = note_on_draw_law(&law, known);
        assert!(note.contains("posterior of hikey960") && !note.contains("repeat"), "{note}");
        assert!(note_on_draw_law(&law, known + 1).ends_with("later draws repeat its values"));
        assert!(!note_on_draw_law(&other.draw_law().unwrap(), 1000).contains("repeat"));
        let notes = |machines: &[&Machine]| {
            let mut report = Report::new(&[], &[], &Vec::new());
            report.note_on_draw_laws(machines.iter().copied(), 20).unwrap();
            report.notes.iter().filter(|note| note.contains("are off together")).count()
        };
        assert_eq!([notes(&[&weighed, &weighed]), notes(&[&weighed, &other])], [0, 1]);
    }

    /// Of 24 draws 8 have no change and 16 one from 0 for the worse: it is worse in two thirds, and the median has no
    /// percentage. Were it one of 24, only the end of an interval would lack it.
    #[test]
    fn changes_from_zero_count_with_their_sign() {
        let drawn = |from_zero: usize| {
            let changes: Vec<f64> = (0..24).map(|i| if i < from_zero { f64::NEG_INFINITY } else { 0.0 }).collect();
            ModelInterval::from_changes(&changes).unwrap()
        };
        let most = drawn(16);
        assert_eq!((most.median_pct, most.ci50, most.ci90, most.draws), (None, None, None, 24));
        assert_eq!(most.words(), "worse in 67 % of draws");
        let one = drawn(1);
        assert_eq!((one.median_pct, one.ci50, one.ci90), (Some(0.0), Some([0.0, 0.0]), None));
        assert_eq!(quantile(&[1.0, f64::INFINITY], 1.0 / 3.0), Some(1.0));
        assert_eq!(quantile(&[f64::NEG_INFINITY; 3], 0.4), Some(f64::NEG_INFINITY));
    }
}
