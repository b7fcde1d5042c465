//! Warnings about fits that no longer hold, without a run.
//!
//! A preset whose file records a fit to the same cell is taken as the witness. A machine whose other figures are the
//! preset's must have the preset's fitted value; a machine with the preset's fitted value must have its other figures.
//! Where both differ, the machine may have been fitted anew, and only `calibrate` can tell. Not seen either: a fit to a
//! cell that no preset is fitted to, and a preset that code has moved off its cell.

use std::collections::BTreeSet;

use crate::{Distance, FitParam, Machine, SoftCost, Source};

use super::plausible::{digits, stated_ns, PRESETS};
use super::Warnings;

/// Differing figures that a warning names.
const NAMED: usize = 4;

impl Machine {
    pub(super) fn check_fits(&self, found: &mut Warnings) {
        for (key, free, cell) in self.fits() {
            let witness = PRESETS.iter().find(|preset| preset.fits().any(|fit| (fit.1, fit.2) == (free, cell)));
            let Some(preset) = witness else { continue };
            let fitted: BTreeSet<String> =
                self.fits().filter(|fit| fit.2 == cell).map(|(key, ..)| key.to_string()).collect();
            let [ours, theirs] = [self, preset].map(|machine| machine.costs.fit_value(free));
            let differing = self.differing(preset, &fitted);
            let name = &preset.name;
            match (ours == theirs, differing.is_empty()) {
                (false, true) => found.add(
                    key.into(),
                    format!(
                        "{} does not give the cell it is fitted to, {cell}: all else is {name}'s, whose fit is {}; expected that, \
                         or another source",
                        digits(ours),
                        theirs
                    ),
                ),
                (true, false) => {
                    let more = differing.len().saturating_sub(NAMED);
                    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                    let named = differing[..differing.len().min(NAMED)].join(", ");
                    found.add(
                        key.into(),
                        format!(
                            "fitted to {cell} with other figures: {named}{more} are not {name}'s, whose fit this is; expected a fit \
                             by `fairground calibrate`, or another source"
                        ),
                    );
                }
                _ => {}
            }
        }
    }

    /// Path, figure and cell of each fit that the file records.
    fn fits(&self) -> impl Iterator<Item = (&str, FitParam, &str)> {
        self.figures.iter().filter_map(|figure| {
            let Source::Fitted(cell) = &figure.source else { return None };
            let cell = cell.split_whitespace().next()?;
            Some((figure.path.as_str(), FitParam::from_path(&figure.path)?, cell))
        })
    }

    /// Figures other than `fitted` by which operations on the two machines take different times, as far as that shows
    /// without a run.
    fn differing(&self, other: &Machine, fitted: &BTreeSet<String>) -> Vec<String> {
        let mut differing: Vec<String> = Vec::new();
        let mut add = |key: String, differs: bool| {
            if differs && !fitted.contains(&key) {
                differing.push(key);
            }
        };
        let capacities = |machine: &Machine| machine.cpus.iter().map(|cpu| cpu.capacity).collect::<Vec<_>>();
        let clocks = |machine: &Machine| {
            let khz = |cpu| machine.freq_domain_of(cpu).opps.iter().map(|opp| opp.khz).collect::<Vec<_>>();
            machine.cpus.iter().map(|cpu| khz(cpu.id)).collect::<Vec<_>>()
        };
        add("capacities".into(), capacities(self) != capacities(other));
        add("clocks".into(), clocks(self) != clocks(other));
        let (a, b) = (&self.costs, &other.costs);
        add(FitParam::Scale.to_string(), a.scale != b.scale);
        add("costs.jitter".into(), a.jitter != b.jitter);
        add("costs.link".into(), a.link_gb_per_s != b.link_gb_per_s);
        add(FitParam::MessageLines.to_string(), a.message_lines != b.message_lines);
        for kind in SoftCost::variants() {
            let differs = digits(stated_ns(a, kind)) != digits(stated_ns(b, kind));
            add(format!("costs.soft.{}", kind.name()), differs);
        }
        let tables = [
            ("ipi", a.ipi_ns, b.ipi_ns),
            ("line", a.line_ns, b.line_ns),
            ("line_read", Distance::ALL.map(|d| a.line_read(d)), Distance::ALL.map(|d| b.line_read(d))),
            ("line_next", Distance::ALL.map(|d| a.line_next(d)), Distance::ALL.map(|d| b.line_next(d))),
            ("message", a.message_ns, b.message_ns),
            ("socket_message", a.socket_message_ns, b.socket_message_ns),
            ("refill_kib", a.refill_kib_ns, b.refill_kib_ns),
        ];
        for (name, ours, theirs) in tables {
            for distance in self.distances() {
                let key = format!("costs.{name}.{}", distance.name());
                add(key, ours[distance as usize] != theirs[distance as usize]);
            }
        }
        add("caches".into(), self.caches != other.caches);
        differing
    }
}
