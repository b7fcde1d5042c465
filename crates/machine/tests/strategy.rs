//! Random valid machines for property tests.

use fairground_machine::testing::Shape;
use fairground_machine::Machine;
use proptest::prelude::*;

/// Machines of 1 to 64 CPUs: SMT, clusters, several last-level caches, nodes and packages, asymmetric capacities.
/// Shrinks towards one CPU.
pub fn machines() -> impl Strategy<Value = Machine> {
    let counts = (1..3u32, 1..3u32, 1..4u32, 1..4u32, 1..5u32, 1..3u32);
    let kinds = (any::<bool>(), any::<bool>(), 1..4u32, 1..4u32, any::<u64>());
    (counts, kinds).prop_map(|((packages, nodes, llcs, clusters, cores, threads), kinds)| {
        let (siblings_last, clusters_share_cache, types, idle_states, salt) = kinds;
        let shape = Shape {
            packages,
            nodes,
            llcs,
            clusters,
            cores,
            threads,
            siblings_last,
            clusters_share_cache,
            types,
            idle_states,
            salt,
        };
        shape.build()
    })
}
