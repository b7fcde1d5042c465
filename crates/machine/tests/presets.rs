//! The machines that come with the program.

use fairground_machine::{presets, Distance, Machine, SoftCost};

fn preset(name: &str) -> Machine {
    Machine::preset(name).unwrap_or_else(|e| panic!("{:?}", miette::Report::new(e)))
}

fn capacities(machine: &Machine) -> Vec<u32> {
    machine.cpus.iter().map(|c| c.capacity).collect()
}

#[test]
fn presets_load_under_their_own_names_and_survive_a_round_trip() {
    for name in presets() {
        let machine = preset(name);
        assert_eq!(machine.name, name);
        let text = machine.to_toml();
        let again = Machine::from_toml(name, &text).unwrap_or_else(|e| panic!("{:?}\n{text}", miette::Report::new(e)));
        assert_eq!(machine.figures, again.figures);
        assert!(machine == again, "{name}");
    }
}

#[test]
fn hikey960_has_the_capacities_of_its_device_tree() {
    let machine = preset("hikey960");
    assert_eq!(capacities(&machine), [462, 462, 462, 462, 1024, 1024, 1024, 1024]);
    // The table of capacities by OPP, rounded: 999 of 1844 MHz, 1421 of 2362 MHz.
    assert_eq!(machine.capacity_at(0, 999_000).round(), 250.0);
    assert_eq!(machine.capacity_at(4, 1_421_000).round(), 616.0);
    assert_eq!(machine.distance(0, 3), Distance::Llc);
    assert_eq!(machine.distance(3, 4), Distance::Node);
    assert_eq!(machine.within(5, Distance::Llc).to_string(), "4-7");
    let sleep = &machine.idle_states(4)[2];
    assert_eq!((sleep.name.as_str(), sleep.exit_latency_ns), ("cluster-sleep", 3_700_000));
    assert_eq!(machine.idle_states(0)[0].exit_latency_ns, 1000);
}

#[test]
fn hikey_is_told_the_wakeup_latency_of_its_device_tree() {
    let machine = preset("hikey");
    assert_eq!(capacities(&machine), [1024; 8]);
    assert_eq!(machine.freq_domains.len(), 1);
    assert_eq!(machine.idle_states(0)[1].exit_latency_ns, 950_000);
    assert_eq!(machine.idle_states(0)[2].exit_latency_ns, 1_500_000);
}

#[test]
fn juno_interleaves_its_clusters() {
    let machine = preset("juno-r2");
    assert_eq!(capacities(&machine), [383, 1024, 1024, 383, 383, 383]);
    assert_eq!(machine.clusters[0].cpus.to_string(), "0,3-5");
    assert_eq!(machine.distance(0, 5), Distance::Llc);
}

#[test]
fn epyc_has_every_distance_of_a_server() {
    let machine = preset("epyc-7742-2p");
    assert_eq!((machine.nr_cpus(), machine.cores.len(), machine.llcs.len()), (256, 128, 32));
    assert_eq!(machine.cores[1].to_string(), "1,129");
    assert_eq!(machine.llcs[0].to_string(), "0-3,128-131");
    let to = |cpu| machine.distance(0, cpu);
    assert_eq!(to(128), Distance::Smt);
    assert_eq!(to(3), Distance::Llc);
    assert_eq!(to(4), Distance::Node);
    assert_eq!(to(64), Distance::Remote);
    assert_eq!(machine.slit(0, 64), 32);
    let distances = [Distance::Same, Distance::Smt, Distance::Llc, Distance::Node, Distance::Remote];
    assert_eq!(machine.distances(), distances);
    assert_eq!(machine.type_of(0).smt_throughput, [1000, 1250]);
}

/// Before the fit the parts of a pipe wakeup sum to the half of the published round trip that they split; the file's
/// comments derive each part.
#[test]
fn the_split_of_a_pipe_wakeup_sums_to_the_published_half() {
    for (name, half_ns) in [("hikey960", 3350.0), ("hikey", 10_500.0)] {
        let mut machine = preset(name);
        machine.costs.rescale(1.0);
        use SoftCost::*;
        let soft = [Syscall, PipeWrite, Wakeup, Enqueue, IpiSend, IpiIrq, Pick, SwitchThread, Syscall, PipeRead];
        let soft: f64 =
            soft.iter().map(|kind| machine.costs.soft(*kind)).sum::<f64>() + 2.0 * machine.costs.soft(Probe);
        let cpu = machine.nr_cpus() as u32 - 1;
        let hard = machine.costs.ipi_ns[Distance::Llc as usize] + machine.idle_states(cpu)[0].wake_ns;
        let sum = soft + hard as f64;
        assert!((sum - half_ns).abs() < 0.005 * half_ns, "{name}: {sum}");
    }
}
