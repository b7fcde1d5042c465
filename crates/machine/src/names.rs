//! Names of distances and software costs in files and reports.

use crate::{Distance, SoftCost};

impl Distance {
    /// The key of this distance in machine files.
    pub fn name(self) -> &'static str {
        ["same", "smt", "cluster", "llc", "node", "package", "remote"][self as usize]
    }
}

/// All kinds in the order of their discriminants, with their keys in machine files.
const SOFT: [(SoftCost, &str); SoftCost::COUNT] = [
    (SoftCost::Syscall, "syscall"),
    (SoftCost::PipeWrite, "pipe_write"),
    (SoftCost::PipeRead, "pipe_read"),
    (SoftCost::SockSend, "sock_send"),
    (SoftCost::SockRecv, "sock_recv"),
    (SoftCost::CopyKib, "copy_kib"),
    (SoftCost::Futex, "futex"),
    (SoftCost::LockFast, "lock_fast"),
    (SoftCost::TimerArm, "timer_arm"),
    (SoftCost::TimerIrq, "timer_irq"),
    (SoftCost::IpiIrq, "ipi_irq"),
    (SoftCost::Wakeup, "wakeup"),
    (SoftCost::Probe, "probe"),
    (SoftCost::GroupCpu, "group_cpu"),
    (SoftCost::Enqueue, "enqueue"),
    (SoftCost::Dequeue, "dequeue"),
    (SoftCost::IpiSend, "ipi_send"),
    (SoftCost::Pick, "pick"),
    (SoftCost::SwitchThread, "switch_thread"),
    (SoftCost::SwitchProcess, "switch_process"),
    (SoftCost::Migrate, "migrate"),
    (SoftCost::Tick, "tick"),
    (SoftCost::Balance, "balance"),
    (SoftCost::CloneThread, "clone_thread"),
    (SoftCost::Fork, "fork"),
    (SoftCost::Exec, "exec"),
    (SoftCost::Exit, "exit"),
    (SoftCost::SchedCall, "sched_call"),
];

impl SoftCost {
    /// All kinds, in the order of their discriminants.
    pub fn variants() -> impl Iterator<Item = SoftCost> {
        SOFT.iter().map(|(kind, _)| *kind)
    }

    /// The key of this kind in machine files, e.g. `pipe_write`.
    pub fn name(self) -> &'static str {
        SOFT[self as usize].1
    }

    /// Whether the machine's fitted `scale` multiplies this cost. Scan, migration, periodic work and the making and end
    /// of processes stand on their own grounds and are never fitted (design decision 6).
    pub fn is_scaled(self) -> bool {
        use SoftCost::*;
        !matches!(self, Probe | GroupCpu | Migrate | Tick | Balance | Fork | Exec | Exit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_indexed_by_discriminant() {
        assert!(SOFT.iter().enumerate().all(|(i, (kind, _))| *kind as usize == i));
        assert!(Distance::ALL.iter().enumerate().all(|(i, d)| *d as usize == i));
    }
}
