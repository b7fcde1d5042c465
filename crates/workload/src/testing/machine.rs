//! The least machine that a workload can be checked against.

use fairground_machine::*;

/// `n` equal CPUs behind one cache, all prices 0; 1 to [`NR_CPUS`]. For checks that need to know only which CPUs
/// exist; experiments take a machine file.
pub fn small_machine(n: usize) -> Machine {
    let all = CpuMask::first_n(n);
    let cpu = |id: CpuId| Cpu {
        id,
        core: id,
        cluster: 0,
        llc: 0,
        package: 0,
        node: 0,
        freq_domain: 0,
        cpu_type: 0,
        capacity: 1024,
    };
    let idle = IdleState {
        name: "poll".into(),
        scope: IdleScope::Cpu,
        entry_ns: 0,
        wake_ns: 0,
        exit_latency_ns: 0,
        target_residency_ns: 0,
        power_mw: 0.0,
        transition_uj: 0.0,
        polling: true,
    };
    Machine {
        name: format!("small{n}"),
        title: "a machine for tests".into(),
        cpus: (0..n as CpuId).map(cpu).collect(),
        cpu_types: vec![CpuType { name: "plain".into(), idle_states: vec![idle], smt_throughput: vec![1000] }],
        cores: (0..n as CpuId).map(CpuMask::of).collect(),
        clusters: vec![Cluster { cpus: all, shares_cache: false, active_mw: 0.0, idle_mw: 0.0 }],
        llcs: vec![all],
        packages: vec![all],
        nodes: vec![all],
        numa_distance: vec![vec![10]],
        node_reclaim_distance: fairground_machine::NODE_RECLAIM_DISTANCE,
        freq_domains: vec![FreqDomain {
            cpus: all,
            opps: vec![Opp { khz: 1_000_000, active_mw: 0.0 }],
            transition_ns: 0,
        }],
        costs: Costs {
            scale: 1.0,
            soft_ns: [0.0; SoftCost::COUNT],
            jitter: 0.0,
            ipi_ns: [0; Distance::COUNT],
            line_ns: [0; Distance::COUNT],
            refill_kib_ns: [0; Distance::COUNT],
        },
        figures: Vec::new(),
    }
}
