//! The smallest machine that a workload can be checked against.

use fairground_machine::{Costs, IdleState, Machine};

/// `n` equal CPUs behind one cache that spin when idle, all prices 0. For checks that need to know only which CPUs
/// exist; experiments take a machine file.
pub fn small_machine(n: usize) -> Machine {
    let mut machine = Machine::symmetric(n);
    machine.costs = Costs::free();
    machine.cpu_types[0].idle_states =
        vec![IdleState { wake_ns: 0, exit_latency_ns: 0, target_residency_ns: 0, polling: true, ..IdleState::wfi() }];
    machine
}
