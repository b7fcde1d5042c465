//! How the draws of a machine are made.

use std::collections::{BTreeMap, BTreeSet};

use super::{Doubt, Draw, Posterior, SOFTWARE};
use crate::{Figure, Machine};

/// How the draws of a machine are made: what is off in them, and by how much.
pub struct DrawLaw<'a> {
    machine: &'a Machine,
    doubts: Vec<(String, Doubt)>,
    weights: Weights,
}

/// What weighs draws besides the stated doubt.
enum Weights {
    /// Fits that the file records, as far as they are of sched-pipe.
    Fits,
    /// Nothing, fits neither.
    Nothing,
    /// Fits; there is a posterior, but for other figures.
    FitsNotPosterior,
    Cells(Posterior),
}

impl<'a> DrawLaw<'a> {
    /// Of the posterior if it is for the machine's figures, else of the stated doubt. A scale that is fitted to sched-pipe
    /// is what the costs that it multiplies have in common then.
    pub(super) fn by(machine: &'a Machine, posterior: Option<Posterior>) -> DrawLaw<'a> {
        let weights = match posterior {
            Some(posterior) if posterior.figures == machine.figures_hash() => {
                return DrawLaw { weights: Weights::Cells(posterior), ..DrawLaw::before_fits(machine) };
            }
            Some(_) => Weights::FitsNotPosterior,
            None => Weights::Fits,
        };
        let is_fitted = machine.fixes_the_sum();
        let doubt = |figure: &Figure| {
            let doubt = figure.doubt();
            Doubt { shares: doubt.shares.filter(|name| !(is_fitted && *name == SOFTWARE)), ..doubt }
        };
        DrawLaw { machine, doubts: doubts(machine, doubt), weights }
    }

    /// By the stated doubt alone, as if nothing had been fitted, round the values of the file: what base cells weigh.
    pub fn before_fits(machine: &'a Machine) -> DrawLaw<'a> {
        DrawLaw { machine, doubts: doubts(machine, Figure::doubt_before_fits), weights: Weights::Nothing }
    }

    /// The figures that a draw varies, by path, in the order of the file, each with its doubt. A figure of 0 is none.
    pub fn doubts(&self) -> &[(String, Doubt)] {
        &self.doubts
    }

    /// All that is off by itself in a draw, by name: figures, by their paths, and what figures share.
    pub fn names(&self) -> BTreeSet<&str> {
        let shared = self.doubts.iter().filter(|(_, doubt)| doubt.common > 0.0).filter_map(|(_, doubt)| doubt.shares);
        self.doubts.iter().map(|(path, _)| path.as_str()).chain(shared).collect()
    }

    /// The base cells that weigh the draws; none: draws are of the stated doubt.
    pub fn posterior(&self) -> Option<&Posterior> {
        match &self.weights {
            Weights::Cells(posterior) => Some(posterior),
            _ => None,
        }
    }

    /// How many standard deviations the thing called `name` is off in a draw that is not 0: as the posterior has it, else
    /// as in [`Draw::deviation`].
    pub fn deviation(&self, draw: Draw, name: &str) -> f64 {
        let weighed = self.posterior().and_then(|posterior| posterior.deviation(draw, name));
        weighed.unwrap_or_else(|| draw.deviation(name))
    }

    /// The factors of a draw that is not 0, by path, those of 1 left out.
    pub fn factors(&self, draw: Draw) -> BTreeMap<String, f64> {
        let mut factors = self.factors_by(|name| self.deviation(draw, name));
        if matches!(self.weights, Weights::Fits | Weights::FitsNotPosterior) && self.machine.fixes_the_sum() {
            self.machine.keep_the_sum(&mut factors);
        }
        factors
    }

    /// The factors by path, those of 1 left out, where each thing is off by so many standard deviations.
    pub fn factors_by(&self, deviation: impl Fn(&str) -> f64) -> BTreeMap<String, f64> {
        let factors = self.doubts.iter().map(|(path, doubt)| (path.clone(), doubt.factor(path, &deviation)));
        factors.filter(|(_, factor)| *factor != 1.0).collect()
    }

    /// What the draws are of, for notes.
    pub fn words(&self) -> String {
        let name = &self.machine.name;
        match &self.weights {
            Weights::Cells(posterior) => format!(
                "posterior of {name}'s figures, by {} base cells (machines/posterior/{name}.tsv)",
                posterior.cells
            ),
            Weights::Fits => format!("prior of {name}'s figures: no base cells weigh them"),
            Weights::FitsNotPosterior => {
                format!("prior of {name}'s figures: machines/posterior/{name}.tsv is for other values or spreads")
            }
            Weights::Nothing => format!("prior of {name}'s figures, before fits"),
        }
    }
}

fn doubts(machine: &Machine, doubt: impl Fn(&Figure) -> Doubt) -> Vec<(String, Doubt)> {
    let of_figure = |figure: &Figure| {
        let is_nothing = figure.value.split(' ').next().and_then(|number| number.parse::<f64>().ok()) == Some(0.0);
        let doubt = doubt(figure);
        (doubt.spread > 1.0 && !is_nothing).then(|| (figure.path.clone(), doubt))
    };
    machine.figures.iter().filter_map(of_figure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two draws of hikey960's costs of an exec and of what lines share, for figures of this hash.
    fn posterior(figures: &str) -> Posterior {
        let head = format!("# machine: hikey960\n# figures: {figures}\n# effective: 200\n# cell: a/base\n");
        let text = format!("{head}costs.soft.exec\tlines\n1.0\t-1.0\n-2.0\t0.5\n");
        Posterior::parse("x.tsv", &text, "hikey960").unwrap()
    }

    #[test]
    fn a_preset_with_a_posterior_draws_from_it_and_a_changed_one_does_not() {
        let machine = Machine::preset("hikey960").unwrap();
        let weighed = posterior(&machine.figures_hash());
        let law = DrawLaw::by(&machine, Some(weighed.clone()));
        let off = |draw, name| law.deviation(Draw(draw), name);
        assert_eq!([off(1, "lines"), off(2, "lines"), off(3, "lines")], [-1.0, 0.5, -1.0]);
        assert_eq!(off(2, "costs.soft.fork"), Draw(2).deviation("costs.soft.fork"), "what it does not have");
        // 2.0, the spread of exec: one deviation of its own half of the variance, and that of processes.
        let own = (0.5f64.sqrt() * (1.0 + off(1, "processes")) * 2.0f64.ln()).exp();
        assert!((law.factors(Draw(1))["costs.soft.exec"] / own - 1.0).abs() < 1e-12);
        assert!(law.words().starts_with("posterior of hikey960's figures, by 1 base cells"), "{}", law.words());

        let mut changed = machine.clone();
        changed.costs.line_ns[4] += 1;
        let law = DrawLaw::by(&changed, Some(weighed));
        assert!(law.posterior().is_none() && law.words().contains("is for other values"), "{}", law.words());
        let stated = DrawLaw::by(&changed, None);
        assert_eq!(law.factors(Draw(1)), stated.factors(Draw(1)));
        assert!(stated.words().contains("no base cells weigh them"));
    }
}
