//! Fit parameters: the costs that a fit to a published baseline may change.

use std::fmt;

use crate::{Costs, Distance, SoftCost};

/// A figure of `[costs]` that a fit may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FitParam {
    /// `costs.scale`, the factor of the costs of `[costs.soft]` for which [`SoftCost::is_scaled`].
    Scale,
    /// `costs.soft.KIND` of a kind that the scale multiplies, ns as the file states them.
    Soft(SoftCost),
    /// `costs.line.DISTANCE`, whole ns. Not of `same`.
    Line(Distance),
    /// `costs.message.DISTANCE`, whole ns. Not of `same`.
    Message(Distance),
    /// `costs.message_lines`, a number of lines, 0 to 1000.
    MessageLines,
}

impl FitParam {
    /// All of them, the scale first.
    pub fn variants() -> impl Iterator<Item = FitParam> {
        let soft = SoftCost::variants().filter(|kind| kind.is_scaled()).map(FitParam::Soft);
        let apart = || Distance::ALL.into_iter().filter(|d| *d != Distance::Same);
        let by_distance = apart().map(FitParam::Line).chain(apart().map(FitParam::Message));
        std::iter::once(FitParam::Scale).chain(soft).chain(by_distance).chain([FitParam::MessageLines])
    }

    /// The parameter with this path ([`crate::Figure::path`]), if a fit may change it.
    pub fn from_path(path: &str) -> Option<FitParam> {
        FitParam::variants().find(|free| free.to_string() == path)
    }
}

/// As the path of a figure: `costs.scale`, `costs.soft.futex`.
impl fmt::Display for FitParam {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FitParam::Scale => f.write_str("costs.scale"),
            FitParam::Soft(kind) => write!(f, "costs.soft.{}", kind.name()),
            FitParam::Line(distance) => write!(f, "costs.line.{}", distance.name()),
            FitParam::Message(distance) => write!(f, "costs.message.{}", distance.name()),
            FitParam::MessageLines => f.write_str("costs.message_lines"),
        }
    }
}

impl Costs {
    /// A fit parameter as the file states it: a factor, or ns before the scale, to a millionth of a ns.
    pub fn fit_value(&self, free: FitParam) -> f64 {
        match free {
            FitParam::Scale => self.scale,
            FitParam::Soft(kind) => (self.soft(kind) / self.scale * 1e6).round() / 1e6,
            FitParam::Line(distance) => self.line_ns[distance as usize] as f64,
            FitParam::Message(distance) => self.message_ns[distance as usize] as f64,
            FitParam::MessageLines => self.message_lines,
        }
    }

    /// Sets a fit parameter to `value` (above 0), in the unit of the file; a cost by distance to the nearest whole ns.
    pub fn set_fit_value(&mut self, free: FitParam, value: f64) {
        match free {
            FitParam::Scale => self.rescale(value),
            FitParam::Soft(kind) => self.soft_ns[kind as usize] = value * self.scale,
            FitParam::Line(distance) => self.line_ns[distance as usize] = value.round() as u64,
            FitParam::Message(distance) => self.message_ns[distance as usize] = value.round() as u64,
            FitParam::MessageLines => self.message_lines = value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;

    #[test]
    fn what_a_fit_may_turn_is_found_by_its_path() {
        for free in FitParam::variants() {
            assert_eq!(FitParam::from_path(&free.to_string()), Some(free));
        }
        assert_eq!(FitParam::from_path("costs.soft.futex"), Some(FitParam::Soft(SoftCost::Futex)));
        assert_eq!(FitParam::from_path("costs.soft.probe"), None, "a scan is never fitted");
        assert_eq!(FitParam::from_path("costs.message.llc"), Some(FitParam::Message(Distance::Llc)));
        assert_eq!(FitParam::from_path("costs.line.same"), None, "a line that stays costs nothing");
        assert_eq!(FitParam::from_path("costs.jitter"), None);
    }

    #[test]
    fn a_cost_is_turned_as_the_file_states_it() {
        let mut costs = Machine::preset("hikey").unwrap().costs;
        let send = FitParam::Soft(SoftCost::SockSend);
        assert_eq!(costs.fit_value(send), 2720.0);
        costs.set_fit_value(send, 4000.0);
        assert_eq!((costs.fit_value(send), costs.soft(SoftCost::SockSend)), (4000.0, 4000.0 * costs.scale));
        costs.set_fit_value(FitParam::Message(Distance::Llc), 620.4);
        assert_eq!((costs.message_ns[Distance::Llc as usize], costs.message_ns[Distance::Node as usize]), (620, 0));
        costs.set_fit_value(FitParam::Scale, 2.0);
        assert_eq!(costs.fit_value(FitParam::Scale), 2.0);
        costs.set_fit_value(FitParam::MessageLines, 21.37);
        assert_eq!(costs.fit_value(FitParam::MessageLines), 21.37);
        assert!((costs.soft(SoftCost::SockSend) - 8000.0).abs() < 1e-9, "{}", costs.soft(SoftCost::SockSend));
    }
}
