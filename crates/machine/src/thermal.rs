//! Heat: where it is stored, how it flows, and what is done about it.
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
    /// Of all nodes when a run begins.
    pub start_mc: i32,
    /// How often temperatures are worked out, ns.
    pub step_ns: u64,
    /// Where heat is stored.
    pub nodes: Vec<ThermalNode>,
    /// How it flows from one to another.
    pub links: Vec<ThermalLink>,
    /// Who watches.
    pub zones: Vec<ThermalZone>,
}

/// A part of one temperature.
#[derive(Clone, Debug, PartialEq)]
pub struct ThermalNode {
    /// Name, e.g. `big`.
    pub name: String,
    /// CPUs whose energy heats it, with what their clusters and supplies draw; may be none (a board, a case).
    pub cpus: CpuMask,
    /// Heat capacity, J/K.
    pub j_per_k: f64,
    /// Resistance to what is around the machine, K/W; none: no heat leaves from here.
    pub to_ambient: Option<f64>,
}

/// A path of heat between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct ThermalLink {
    /// Indices into [`Thermal::nodes`].
    pub between: [u32; 2],
    /// Resistance, K/W.
    pub k_per_w: f64,
}

/// A governor that watches one node and lowers clocks.
#[derive(Clone, Debug, PartialEq)]
pub struct ThermalZone {
    /// Name, e.g. `BIG`.
    pub name: String,
    /// Index into [`Thermal::nodes`].
    pub node: u32,
    /// How often it looks, ns.
    pub polling_ns: u64,
    /// Frequency domains that it may cap, and what their wishes count with a power allocator.
    pub cools: Vec<(u32, f64)>,
    /// How it decides.
    pub governor: ThermalGovernor,
}

/// How caps follow from temperatures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ThermalGovernor {
    /// One operating point less at each look while the trip is exceeded and the temperature rises, one more while it
    /// falls.
    StepWise {
        /// Where capping begins.
        trip_mc: i32,
        /// How far below the trip the temperature must fall for the caps to go.
        hysteresis_mc: i32,
    },
    /// A budget of power from a PID controller, shared out by what the clocks ask for.
    PowerAllocator {
        /// Where the controller is switched on.
        switch_on_mc: i32,
        /// The temperature it steers to.
        control_mc: i32,
        /// What the machine can dissipate for ever at that temperature, mW.
        sustainable_mw: f64,
    },
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
