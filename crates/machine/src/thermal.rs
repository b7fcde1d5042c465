//! The thermal model: heat capacities, resistances, and the governors that cap clocks.
//!
//! ```text
//!   power of big -> (big) --R-- (board) --R-- ambient       C dT/dt = power + sum of (T_other - T) / R
//!                                  |
//! power of little -> (little) --R--+
//! ```

use crate::CpuMask;

/// The heat of a machine: a network of capacities and resistances, and the governors that watch it.
#[derive(Clone, Debug, PartialEq)]
pub struct Thermal {
    /// Temperature around it, thousandths of a degree Celsius.
    pub ambient_mc: i32,
    /// Temperature of all nodes when a run begins, thousandths of a degree Celsius.
    pub start_mc: i32,
    /// Time step of the thermal model, ns.
    pub step_ns: u64,
    /// The heat capacities of the network.
    pub nodes: Vec<ThermalNode>,
    /// Thermal resistances between nodes.
    pub links: Vec<ThermalLink>,
    /// Thermal zones with their governors.
    pub zones: Vec<ThermalZone>,
}

/// A part of the machine with one temperature.
#[derive(Clone, Debug, PartialEq)]
pub struct ThermalNode {
    /// Name of the node, e.g. `big`.
    pub name: String,
    /// CPUs whose energy heats it, with what their clusters and supplies draw; may be none (a board, a case).
    pub cpus: CpuMask,
    /// Heat capacity of the node, J/K.
    pub j_per_k: f64,
    /// Resistance to what is around the machine, K/W; none: no heat leaves from here.
    pub to_ambient: Option<f64>,
}

/// A path of heat between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct ThermalLink {
    /// The two nodes, as indices into [`Thermal::nodes`].
    pub between: [u32; 2],
    /// Thermal resistance between the nodes, K/W.
    pub k_per_w: f64,
}

/// A governor that watches one node and lowers clocks.
#[derive(Clone, Debug, PartialEq)]
pub struct ThermalZone {
    /// Name of the zone, e.g. `BIG`.
    pub name: String,
    /// The node whose temperature is watched, as its index into [`Thermal::nodes`].
    pub node: u32,
    /// Interval between two looks at the temperature, ns.
    pub polling_ns: u64,
    /// Frequency domains that it may cap, and the weight of their power requests (power allocator only).
    pub cools: Vec<(u32, f64)>,
    /// The governor's algorithm and its temperatures.
    pub governor: ThermalGovernor,
}

/// A thermal governor: how caps of frequencies follow from temperatures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ThermalGovernor {
    /// One operating point less at each look while the trip is exceeded and the temperature rises, one more while it
    /// falls, but for the last; all when it falls below the trip.
    StepWise {
        /// Temperature above which frequencies are capped, thousandths of a degree Celsius.
        trip_mc: i32,
        /// How far below the trip the temperature must fall for the caps to go.
        hysteresis_mc: i32,
    },
    /// A budget of power from a PID controller, shared out by what the clocks ask for.
    PowerAllocator {
        /// Where the controller is switched on.
        switch_on_mc: i32,
        /// Temperature to which the governor steers, thousandths of a degree Celsius.
        control_mc: i32,
        /// What the machine can dissipate for ever at that temperature, mW.
        sustainable_mw: f64,
        /// Constants of its controller that are stated.
        gains: ControllerGains,
    },
}

/// Constants of a power allocator's controller. What is not stated is as the kernel works it out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ControllerGains {
    /// Power for each kelvin above the temperature steered to, mW/K; none: the sustainable power over the span from
    /// switch-on to control.
    pub k_po: Option<f64>,
    /// Power for each kelvin below it, mW/K; none: twice that.
    pub k_pu: Option<f64>,
    /// What each kelvin adds to the sum of errors at each look, mW/K; none: a tenth of twice that.
    pub k_i: Option<f64>,
    /// The sum is held between minus the sustainable power and this, mW, and is this when the governor is switched on;
    /// none: it begins at 0 and stops growing at the most that the clocks can take, either way.
    pub i_max_mw: Option<f64>,
    /// Errors are summed while colder than control by less than this, thousandths of a degree; none: while hotter.
    pub integral_cutoff_mc: Option<i32>,
}

impl Thermal {
    /// Heat flowing off node `i` per kelvin that it is hotter than all around it, W/K.
    pub fn conductance(&self, i: usize) -> f64 {
        let links = self.links.iter().filter(|l| l.between.contains(&(i as u32))).map(|l| 1.0 / l.k_per_w);
        links.sum::<f64>() + self.nodes[i].to_ambient.map_or(0.0, |r| 1.0 / r)
    }

    /// The greatest share of its excess temperature that a node would lose in one step at its initial rate.
    pub fn stiffness(&self) -> f64 {
        let rate = |i: usize| self.conductance(i) / self.nodes[i].j_per_k;
        (0..self.nodes.len()).map(rate).fold(0.0, f64::max) * self.step_ns as f64 / 1e9
    }
}

impl Thermal {
    /// Raises the capacities of nodes that would lose more than `most` of their excess temperature in a step.
    pub(crate) fn soften(&mut self, most: f64) {
        for i in 0..self.nodes.len() {
            let least = self.conductance(i) * self.step_ns as f64 / 1e9 / most;
            // A little more, for rounding.
            self.nodes[i].j_per_k = self.nodes[i].j_per_k.max(least * 1.000_001);
        }
    }
}

/// How [`crate::Machine::perturbed`] changes a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Perturbation {
    /// Set to this value, in the unit of the file.
    To(f64),
    /// The figure is multiplied by this factor.
    Times(f64),
}

impl Perturbation {
    fn apply(self, value: f64) -> f64 {
        match self {
            Perturbation::To(new) => new,
            Perturbation::Times(factor) => value * factor,
        }
    }

    fn float(self, value: &mut f64) {
        *value = self.apply(*value);
    }

    /// Applies to a temperature: stated in degrees, stored in thousandths of a degree.
    fn temperature(self, mc: &mut i32) {
        *mc = (self.apply(f64::from(*mc) / 1e3) * 1e3).round() as i32;
    }
}

impl ControllerGains {
    fn perturb(&mut self, figure: &str, turn: Perturbation) -> bool {
        let value = match figure {
            "k_po" => self.k_po.as_mut(),
            "k_pu" => self.k_pu.as_mut(),
            "k_i" => self.k_i.as_mut(),
            "i_max" => self.i_max_mw.as_mut(),
            "integral_cutoff" => return self.integral_cutoff_mc.as_mut().map(|mc| turn.temperature(mc)).is_some(),
            _ => None,
        };
        value.map(|value| turn.float(value)).is_some()
    }
}

impl Thermal {
    /// Changes the figure at a path of [`crate::Figure`], e.g. `thermal.zone.BIG.control`; false if there is no such
    /// figure or it must not be changed.
    pub fn perturb(&mut self, path: &str, turn: Perturbation) -> bool {
        match path.strip_prefix("thermal.").unwrap_or_default() {
            "ambient" => turn.temperature(&mut self.ambient_mc),
            "start" => turn.temperature(&mut self.start_mc),
            path => match path.split_once('.').and_then(|(kind, rest)| Some((kind, rest.rsplit_once('.')?))) {
                Some(("node", (name, figure))) => return self.perturb_node(name, figure, turn),
                Some(("zone", (name, figure))) => return self.perturb_zone(name, figure, turn),
                _ => return self.perturb_link(path, turn),
            },
        }
        true
    }

    fn perturb_node(&mut self, name: &str, figure: &str, turn: Perturbation) -> bool {
        let Some(node) = self.nodes.iter_mut().find(|n| n.name == name) else { return false };
        let value = match figure {
            "capacity" => Some(&mut node.j_per_k),
            "to_ambient" => node.to_ambient.as_mut(),
            _ => None,
        };
        value.map(|value| turn.float(value)).is_some()
    }

    fn perturb_link(&mut self, path: &str, turn: Perturbation) -> bool {
        let nodes = &self.nodes;
        let of_link = |link: &&mut ThermalLink| {
            let [a, b] = link.between.map(|i| nodes[i as usize].name.as_str());
            path == format!("link[{a}, {b}].resistance")
        };
        self.links.iter_mut().find(of_link).map(|link| turn.float(&mut link.k_per_w)).is_some()
    }

    fn perturb_zone(&mut self, name: &str, figure: &str, turn: Perturbation) -> bool {
        let Some(zone) = self.zones.iter_mut().find(|z| z.name == name) else { return false };
        match (&mut zone.governor, figure) {
            (ThermalGovernor::StepWise { trip_mc, .. }, "trip") => turn.temperature(trip_mc),
            (ThermalGovernor::PowerAllocator { switch_on_mc, .. }, "switch_on") => turn.temperature(switch_on_mc),
            (ThermalGovernor::PowerAllocator { control_mc, .. }, "control") => turn.temperature(control_mc),
            (ThermalGovernor::PowerAllocator { sustainable_mw, .. }, "sustainable") => turn.float(sustainable_mw),
            (ThermalGovernor::PowerAllocator { gains, .. }, figure) => return gains.perturb(figure, turn),
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;

    /// Every figure is found by the path under which the machine shows it, and shown as it was turned.
    #[test]
    fn figures_of_heat_are_turned_by_their_paths() {
        let mut machine = Machine::preset("pixel6").unwrap();
        let paths: Vec<String> = machine.figures.iter().map(|f| f.path.clone()).collect();
        let fixed = |path: &str| path == "thermal.step" || path.ends_with(".polling");
        let free: Vec<&String> = paths.iter().filter(|p| p.starts_with("thermal.") && !fixed(p)).collect();
        assert_eq!(free.len(), 36);
        let before: Vec<String> = shown(&machine, &free);
        let thermal = machine.thermal.as_mut().unwrap();
        assert!(free.iter().all(|path| thermal.perturb(path, Perturbation::Times(2.0))));
        assert_eq!((thermal.start_mc, thermal.nodes[4].to_ambient), (70_000, Some(20.0)));
        machine.restate_figures();
        assert!(shown(&machine, &free).iter().zip(&before).all(|(a, b)| a != b));
    }

    fn shown(machine: &Machine, paths: &[&String]) -> Vec<String> {
        let figure = |path: &&String| format!("{:?}", machine.figures.iter().find(|f| f.path == **path).unwrap());
        paths.iter().map(figure).collect()
    }

    #[test]
    fn temperatures_are_told_in_degrees_and_what_is_not_there_is_refused() {
        let mut thermal = Machine::preset("pixel6").unwrap().thermal.unwrap();
        assert!(thermal.perturb("thermal.ambient", Perturbation::To(31.5)));
        assert_eq!(thermal.ambient_mc, 31_500);
        for path in [
            "thermal.zone.GPU.control",
            "thermal.link[big, moon].resistance",
            "thermal.node.big.to_ambient",
            "costs.scale",
            "",
        ] {
            assert!(!thermal.perturb(path, Perturbation::To(1.0)), "{path}");
        }
    }
}
