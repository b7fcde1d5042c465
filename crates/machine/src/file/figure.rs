//! Figures: a number, its unit and its source, e.g. `{ us = 650, source = "K: hi3660.dtsi" }`.

use std::ops::RangeInclusive;

use crate::doubt::{is_exact, SPREAD_MAX};
use crate::error::FileResult;
use crate::suggest;
use crate::{Figure, Perturbation, Source};

use super::node::Node;

/// A kind of quantity.
pub(super) struct Quantity {
    /// Units and their size in the first, which is the model's.
    pub units: &'static [(&'static str, f64)],
    /// The largest value that makes sense, in the model's unit.
    pub max: f64,
    /// Whether the model counts whole units; others are rounded.
    pub whole: bool,
}

/// Times; the model counts ns. An hour is more than any cost on any machine and far from overflow.
pub(super) const TIME: Quantity =
    Quantity { units: &[("ns", 1.0), ("us", 1e3), ("ms", 1e6)], max: 3.6e12, whole: true };
/// Powers; the model counts mW. At most 1 MW.
pub(super) const POWER: Quantity = Quantity { units: &[("mW", 1.0), ("W", 1e3)], max: 1e9, whole: false };
/// Energies; the model counts uJ. At most 1 kJ.
pub(super) const ENERGY: Quantity =
    Quantity { units: &[("uJ", 1.0), ("nJ", 1e-3), ("mJ", 1e3)], max: 1e9, whole: false };
/// Throughput per clock relative to other core types (device tree: capacity-dmips-mhz).
pub(super) const EFFICIENCY: Quantity = Quantity { units: &[("dmips_per_mhz", 1.0)], max: 1e6, whole: false };
/// Capacity at top frequency on the kernel's scale.
pub(super) const CAPACITY: Quantity = Quantity { units: &[("of_1024", 1.0)], max: 1024.0, whole: false };
/// NUMA distances as firmware tables state them.
pub(super) const SLIT: Quantity = Quantity { units: &[("slit", 1.0)], max: 254.0, whole: true };
/// Temperatures; the model counts thousandths of a degree Celsius.
pub(super) const TEMPERATURE: Quantity = Quantity { units: &[("mC", 1.0), ("C", 1e3)], max: 200e3, whole: true };
pub(super) const HEAT_CAPACITY: Quantity = Quantity { units: &[("J_per_K", 1.0)], max: 1e9, whole: false };
pub(super) const HEAT_RESISTANCE: Quantity = Quantity { units: &[("K_per_W", 1.0)], max: 1e9, whole: false };
/// Answers of a controller to an error; the model counts mW/K.
pub(super) const GAIN: Quantity = Quantity { units: &[("mW_per_K", 1.0), ("W_per_K", 1e3)], max: 1e9, whole: false };
/// What a link carries.
pub(super) const RATE: Quantity = Quantity { units: &[("GB_per_s", 1.0), ("MB_per_s", 1e-3)], max: 1e6, whole: false };
/// Numbers of cache lines; means may be fractions.
pub(super) const LINES: Quantity = Quantity { units: &[("lines", 1.0)], max: 1e3, whole: false };
/// Sizes of caches; the model counts KiB.
pub(super) const SIZE: Quantity =
    Quantity { units: &[("KiB", 1.0), ("MiB", 1024.0)], max: crate::Cache::MAX_KIB as f64, whole: true };
pub(super) const FACTOR: Quantity = Quantity { units: &[("factor", 1.0)], max: 1e3, whole: false };

impl Quantity {
    fn unit_names(&self) -> impl Iterator<Item = &'static str> + Clone + '_ {
        self.units.iter().map(|(name, _)| *name)
    }

    fn in_model(&self, value: f64) -> f64 {
        if self.whole {
            value.round()
        } else {
            value
        }
    }

    /// Reads a figure as [`Figure::value`] shows it, e.g. `650 us`.
    pub fn parse(&self, shown: &str) -> Option<f64> {
        let (number, unit) = shown.split_once(' ')?;
        let (_, scale) = self.units.iter().find(|(name, _)| *name == unit)?;
        Some(self.in_model(number.parse::<f64>().ok()? * scale))
    }
}

/// `stated` times `factor` within `limits`; what the file states may itself be the limit.
fn drawn(stated: f64, factor: f64, quantity: &Quantity, limits: &RangeInclusive<f64>) -> f64 {
    let (least, most) = (limits.start().min(stated), limits.end().max(stated));
    quantity.in_model((stated * factor).clamp(least, most))
}

/// Whether a figure may be the result of a fit (design decision 6).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    Allowed,
    Never,
}

impl<'a> Node<'a> {
    /// This figure in the model's unit; its source is recorded under `path`.
    pub(super) fn figure(&self, quantity: &Quantity, path: String, fit: Fit) -> FileResult<f64> {
        self.figure_within(quantity, path, fit, 0.0..=quantity.max)
    }

    /// The same, of which draws stay within `limits`, in the model's unit. Values that the file states are not limited.
    pub(super) fn figure_within(
        &self,
        quantity: &Quantity,
        path: String,
        fit: Fit,
        limits: RangeInclusive<f64>,
    ) -> FileResult<f64> {
        let (mut value, mut shown) = self.quantity(quantity, self.file.perturbation(&path))?;
        let factor = self.file.drawn_factor(&path);
        if factor != 1.0 {
            value = drawn(value, factor, quantity, &limits);
            shown = format!("{value} {}", quantity.units[0].0);
        }
        self.record(path, shown, fit)?;
        Ok(value)
    }

    /// A time in whole ns.
    pub(super) fn time(&self, path: String) -> FileResult<u64> {
        Ok(self.figure(&TIME, path, Fit::Never)? as u64)
    }

    /// The number of this figure, turned, in the model's unit; and number and unit as written.
    fn quantity(&self, quantity: &Quantity, turn: Option<Perturbation>) -> FileResult<(f64, String)> {
        let mut found = None;
        for (key, node) in self.entries()? {
            if key == "source" || key == "spread" {
                continue;
            }
            let Some((unit, scale)) = quantity.units.iter().find(|(name, _)| *name == key) else {
                let valid = quantity.unit_names().chain(["source", "spread"]);
                return Err(node.fault_at_key(format!("unknown unit `{key}`")).hint(suggest(key, valid)));
            };
            if found.is_some() {
                return Err(node.fault_at_key("a second number in one figure").hint("expected one unit and `source`"));
            }
            let (number, written) = node.number()?;
            let (value, written) = match turn {
                None | Some(Perturbation::Times(1.0)) => (number * scale, written),
                Some(Perturbation::Times(factor)) => (number * scale * factor, (number * factor).to_string()),
                Some(Perturbation::To(new)) => (new * scale, new.to_string()),
            };
            let value = quantity.in_model(value);
            if !(0.0..=quantity.max).contains(&value) {
                let most = quantity.max / scale;
                let wrong = if value > 0.0 { "too much" } else { "not a valid figure" };
                return Err(node.fault(format!("{written} {unit} is {wrong}")).hint(format!("at most {most} {unit}")));
            }
            found = Some((value, format!("{written} {unit}")));
        }
        found.ok_or_else(|| {
            let units: Vec<&str> = quantity.unit_names().collect();
            self.fault("a figure without number")
                .hint(format!("expected a number under its unit: {}", units.join(", ")))
        })
    }

    /// The number that the file states, in the model's unit, whatever a draw or a turn makes of it.
    pub(super) fn stated(&self, quantity: &Quantity) -> FileResult<f64> {
        Ok(self.quantity(quantity, None)?.0)
    }

    /// The time that the file states, in whole ns, whatever a draw makes of it.
    pub(super) fn stated_time(&self, path: &str) -> FileResult<u64> {
        Ok(self.quantity(&TIME, self.file.perturbation(path))?.0 as u64)
    }

    /// Records the source of this table's figures, which are shown as `value`.
    pub(super) fn record(&self, path: String, value: String, fit: Fit) -> FileResult<()> {
        let source = self.entries()?.into_iter().find(|(key, _)| *key == "source");
        let Some((_, source)) = source else {
            let help =
                "every number states where it comes from: a tag of [sources], `TAG: detail`, or `estimate: reason`";
            return Err(self.fault("missing key `source`").hint(help));
        };
        let source = source.source(fit)?;
        let spread = self.spread(&path)?;
        self.file.figures.borrow_mut().push(Figure { path, value, source, spread });
        self.file.offsets.borrow_mut().push(self.key_span.start);
        Ok(())
    }

    /// `spread = 1.4`, the factor within which two thirds of what the figure may be lie.
    fn spread(&self, path: &str) -> FileResult<Option<f64>> {
        let Some((_, node)) = self.entries()?.into_iter().find(|(key, _)| *key == "spread") else { return Ok(None) };
        let (spread, written) = node.number()?;
        if !(1.0..=SPREAD_MAX).contains(&spread) {
            let fault = node.fault(format!("a spread of {written}"));
            return Err(fault.hint(format!("expected a factor, 1 (certain) to {SPREAD_MAX}: two thirds lie within it")));
        }
        if is_exact(path) {
            let fault = node.fault_at_key("a spread of what is never drawn");
            return Err(fault.hint("arrangements, clocks and what the kernel is told are exact: leave `spread` out"));
        }
        Ok(Some(spread))
    }

    /// Evidence: `TAG`, `TAG: detail`, `estimate`, `estimate: reason` or `fitted: cell`.
    fn source(&self, fit: Fit) -> FileResult<Source> {
        let text = self.text()?;
        let (tag, detail) = text.split_once(':').map_or((text.trim(), ""), |(tag, rest)| (tag.trim(), rest.trim()));
        match (tag, fit) {
            ("estimate", _) => Ok(Source::Estimate(detail.into())),
            ("fitted", Fit::Never) => Err(self.fault("this figure may not be fitted").hint(
                "only `costs.scale`, the costs it multiplies, `costs.line`, `costs.message` and `costs.message_lines` are free; state other grounds or `estimate: reason`",
            )),
            ("fitted", Fit::Allowed) if detail.is_empty() => {
                Err(self.fault("a fit without its cell").hint("expected `fitted: ` and the published baseline cell"))
            }
            ("fitted", Fit::Allowed) => Ok(Source::Fitted(detail.into())),
            _ => match self.file.sources.get(tag) {
                Some((class, full)) if detail.is_empty() => Ok(Source::Published(*class, full.clone())),
                Some((class, full)) => Ok(Source::Published(*class, format!("{full}: {detail}"))),
                None => {
                    let valid = self.file.sources.keys().map(String::as_str).chain(["estimate", "fitted"]);
                    Err(self.fault(format!("unknown source `{tag}`")).hint(suggest(tag, valid)))
                }
            },
        }
    }
}
