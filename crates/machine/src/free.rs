//! The costs that a fit to a published baseline may turn.

use std::fmt;

use crate::{Costs, Distance, SoftCost};

/// A figure of `[costs]` that a fit may turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeCost {
    /// `costs.scale`, a factor.
    Scale,
    /// `costs.soft.KIND` of a kind that the scale multiplies, ns as the file states them.
    Soft(SoftCost),
    /// `costs.line.DISTANCE`, whole ns. Not of `same`.
    Line(Distance),
    /// `costs.message.DISTANCE`, whole ns. Not of `same`.
    Message(Distance),
}

impl FreeCost {
    /// All of them, the scale first.
    pub fn all() -> impl Iterator<Item = FreeCost> {
        let soft = SoftCost::all().filter(|kind| kind.is_scaled()).map(FreeCost::Soft);
        let apart = || Distance::ALL.into_iter().filter(|d| *d != Distance::Same);
        let by_distance = apart().map(FreeCost::Line).chain(apart().map(FreeCost::Message));
        std::iter::once(FreeCost::Scale).chain(soft).chain(by_distance)
    }

    /// The one at a path of [`crate::Figure`].
    pub fn at(path: &str) -> Option<FreeCost> {
        FreeCost::all().find(|free| free.to_string() == path)
    }
}

/// As the path of a figure: `costs.scale`, `costs.soft.fork`.
impl fmt::Display for FreeCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FreeCost::Scale => f.write_str("costs.scale"),
            FreeCost::Soft(kind) => write!(f, "costs.soft.{}", kind.name()),
            FreeCost::Line(distance) => write!(f, "costs.line.{}", distance.name()),
            FreeCost::Message(distance) => write!(f, "costs.message.{}", distance.name()),
        }
    }
}

impl Costs {
    /// A free cost as the file states it: a factor, or ns before the scale, to a millionth of a ns.
    pub fn stated(&self, free: FreeCost) -> f64 {
        match free {
            FreeCost::Scale => self.scale,
            FreeCost::Soft(kind) => (self.soft(kind) / self.scale * 1e6).round() / 1e6,
            FreeCost::Line(distance) => self.line_ns[distance as usize] as f64,
            FreeCost::Message(distance) => self.message_ns[distance as usize] as f64,
        }
    }

    /// Turns a free cost to `value` (above 0), as a file would state it; one by distance to the nearest whole ns.
    pub fn turn(&mut self, free: FreeCost, value: f64) {
        match free {
            FreeCost::Scale => self.rescale(value),
            FreeCost::Soft(kind) => self.soft_ns[kind as usize] = value * self.scale,
            FreeCost::Line(distance) => self.line_ns[distance as usize] = value.round() as u64,
            FreeCost::Message(distance) => self.message_ns[distance as usize] = value.round() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;

    #[test]
    fn what_a_fit_may_turn_is_found_by_its_path() {
        for free in FreeCost::all() {
            assert_eq!(FreeCost::at(&free.to_string()), Some(free));
        }
        assert_eq!(FreeCost::at("costs.soft.fork"), Some(FreeCost::Soft(SoftCost::Fork)));
        assert_eq!(FreeCost::at("costs.soft.probe"), None, "a scan is never fitted");
        assert_eq!(FreeCost::at("costs.message.llc"), Some(FreeCost::Message(Distance::Llc)));
        assert_eq!(FreeCost::at("costs.line.same"), None, "a line that stays costs nothing");
        assert_eq!(FreeCost::at("costs.jitter"), None);
    }

    #[test]
    fn a_cost_is_turned_as_the_file_states_it() {
        let mut costs = Machine::preset("hikey").unwrap().costs;
        let send = FreeCost::Soft(SoftCost::SockSend);
        assert_eq!(costs.stated(send), 3410.0);
        costs.turn(send, 4000.0);
        assert_eq!((costs.stated(send), costs.soft(SoftCost::SockSend)), (4000.0, 4000.0 * costs.scale));
        costs.turn(FreeCost::Message(Distance::Llc), 620.4);
        assert_eq!((costs.message_ns[Distance::Llc as usize], costs.message_ns[Distance::Node as usize]), (620, 0));
        costs.turn(FreeCost::Scale, 2.0);
        assert_eq!(costs.stated(FreeCost::Scale), 2.0);
        assert!((costs.soft(SoftCost::SockSend) - 8000.0).abs() < 1e-9, "{}", costs.soft(SoftCost::SockSend));
    }
}
