//! Machines made in code: equal CPUs for benches and tests, and the parts that other builders share.

use crate::{
    Cluster, Costs, Cpu, CpuId, CpuMask, CpuType, Distance, FreqDomain, IdleScope, IdleState, Machine, Opp, SoftCost,
    NR_CPUS,
};

impl Machine {
    /// `n_cpus` equal CPUs of capacity 1024 behind one last-level cache, in one cluster, package, node and frequency
    /// domain (1 and 2 GHz), with WFI as the only idle state and [`Costs::plausible`]. `n_cpus` is brought into
    /// 1..=[`NR_CPUS`].
    pub fn symmetric(n_cpus: usize) -> Machine {
        let n = n_cpus.clamp(1, NR_CPUS);
        let all = CpuMask::first_n(n);
        let cpus = (0..n as CpuId).map(|id| Cpu {
            id,
            core: id,
            cluster: 0,
            llc: 0,
            package: 0,
            node: 0,
            freq_domain: 0,
            cpu_type: 0,
            capacity: 1024,
        });
        let mut machine = Machine {
            name: format!("equal-{n}"),
            title: format!("{n} equal CPUs"),
            leaves_out: String::new(),
            cpus: cpus.collect(),
            cpu_types: vec![CpuType {
                name: "equal".into(),
                idle_states: vec![IdleState::wfi()],
                cpuidle: true,
                smt_throughput: vec![1000],
            }],
            cores: (0..n as CpuId).map(CpuMask::single).collect(),
            clusters: vec![Cluster { cpus: all, shares_cache: false, active_mw: 50.0, idle_mw: 50.0 }],
            llcs: vec![all],
            packages: vec![all],
            nodes: vec![all],
            numa_distance: vec![vec![10]],
            node_reclaim_distance: crate::NODE_RECLAIM_DISTANCE,
            freq_domains: vec![FreqDomain {
                cpus: all,
                opps: vec![Opp::new(1_000_000, 300.0), Opp::new(2_000_000, 1000.0)],
                transition_ns: 50_000,
                slot_ns: 0,
                reported_ns: None,
                rail: None,
            }],
            votes: Vec::new(),
            thermal: None,
            caches: None,
            costs: Costs::plausible(),
            figures: Vec::new(),
        };
        machine.restate_figures();
        machine
    }
}

impl IdleState {
    /// Clock gating of one CPU with the figures of drivers/cpuidle/cpuidle-psci.c: 1 us latency, 1 us residency.
    pub fn wfi() -> IdleState {
        IdleState {
            name: "WFI".into(),
            scope: IdleScope::Cpu,
            entry_ns: 0,
            wake_ns: 200,
            exit_latency_ns: 1000,
            target_residency_ns: 1000,
            power_mw: 10.0,
            transition_uj: 0.0,
            polling: false,
            wake_scatter: 1.0,
            late_ns: 0,
            late_share: 0.0,
            keeps_cache: true,
        }
    }
}

impl Costs {
    /// All costs zero: a start for other tables, and for tests in which costs do not matter.
    pub fn free() -> Costs {
        let zero = [0; Distance::COUNT];
        Costs {
            scale: 1.0,
            soft_ns: [0.0; SoftCost::COUNT],
            jitter: 0.0,
            ipi_ns: zero,
            line_ns: zero,
            line_read_ns: None,
            line_next_ns: None,
            message_ns: zero,
            socket_message_ns: zero,
            message_lines: 0.0,
            link_gb_per_s: None,
            refill_kib_ns: zero,
        }
    }

    /// Round figures of a 2 GHz out-of-order core, all estimates: about 2.5 us from a pipe write to the return of the
    /// reader it wakes on an idle neighbour.
    pub fn plausible() -> Costs {
        Costs {
            scale: 1.0,
            soft_ns: std::array::from_fn(|i| plausible_ns(SoftCost::variants().nth(i))),
            jitter: 0.1,
            ipi_ns: [0, 150, 200, 250, 400, 600, 900],
            line_ns: [0, 10, 30, 50, 100, 150, 250],
            line_read_ns: None,
            line_next_ns: None,
            message_ns: [0; Distance::COUNT],
            socket_message_ns: [0; Distance::COUNT],
            message_lines: 0.0,
            link_gb_per_s: None,
            refill_kib_ns: [0, 20, 60, 150, 500, 800, 1400],
        }
    }
}

fn plausible_ns(kind: Option<SoftCost>) -> f64 {
    use SoftCost::*;
    let ns = match kind {
        Some(Syscall | Dequeue | Pick) => 180,
        Some(PipeWrite) => 370,
        Some(PipeRead) => 220,
        Some(SockSend) => 900,
        Some(SockRecv) => 700,
        Some(CopyKib | GroupCpu | IpiSend) => 100,
        Some(Futex | Wakeup | TimerArm) => 300,
        Some(LockFast) => 20,
        Some(TimerIrq) => 500,
        Some(IpiIrq | Migrate) => 150,
        Some(Probe) => 45,
        Some(Enqueue) => 170,
        Some(SwitchThread) => 280,
        Some(SwitchProcess) => 400,
        Some(Tick | Balance) => 1000,
        Some(CloneThread) => 9000,
        Some(Fork) => 45_000,
        Some(Exec) => 180_000,
        Some(Exit) => 20_000,
        Some(SchedCall) => 250,
        None => 0,
    };
    f64::from(ns)
}
