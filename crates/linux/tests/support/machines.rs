//! Machines of tests.

use fairground_machine::{Cluster, CpuMask, Machine};

/// `nodes` packages of equal CPUs, in cores of `threads` with neighbouring ids, in clusters of `cluster` CPUs that
/// share a cache (0: none), one last-level cache a node.
pub fn server(nr_cpus: u32, nodes: u32, cluster: u32, threads: u32) -> Machine {
    let mut m = Machine::symmetric(nr_cpus as usize);
    let per_node = nr_cpus / nodes;
    let part =
        |size: u32| -> Vec<CpuMask> { (0..nr_cpus / size).map(|i| (i * size..(i + 1) * size).collect()).collect() };
    for cpu in &mut m.cpus {
        (cpu.core, cpu.node) = (cpu.id / threads, cpu.id / per_node);
        (cpu.llc, cpu.package) = (cpu.node, cpu.node);
        cpu.cluster = cpu.id.checked_div(cluster).unwrap_or(cpu.node);
    }
    m.cores = part(threads);
    (m.nodes, m.llcs, m.packages) = (part(per_node), part(per_node), part(per_node));
    let clusters = part(if cluster > 0 { cluster } else { per_node });
    let whole = |cpus| Cluster { cpus, shares_cache: cluster > 0, active_mw: 50.0, idle_mw: 50.0 };
    m.clusters = clusters.into_iter().map(whole).collect();
    m.numa_distance = (0..nodes).map(|a| (0..nodes).map(|b| if a == b { 10 } else { 20 }).collect()).collect();
    m.cpu_types[0].smt_throughput = if threads > 1 { vec![1000, 1250] } else { vec![1000] };
    m
}
