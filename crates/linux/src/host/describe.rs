//! Description of the machine for the kernel.

use fairground_fair::CpuMasks;
use fairground_machine::{CpuId, FreqDomain, Machine};

use crate::abi::*;

/// Everything that `ks_machine` points to. The kernel may keep the pointers, so this lives as long as it.
pub(super) struct Description {
    cpus: Vec<KsCpuDesc>,
    distance: Vec<u32>,
    pds: Vec<KsPd>,
    _opps: Vec<Vec<KsOpp>>,
    machine: KsMachine,
}

impl Description {
    /// Boxed, for the structs point into each other.
    pub fn new(machine: &Machine, schedutil: bool, seed: u64) -> Box<Description> {
        let opps: Vec<Vec<KsOpp>> = machine.freq_domains.iter().map(opps).collect();
        let mut described = Box::new(Description {
            cpus: (0..machine.nr_cpus() as CpuId).map(|cpu| describe_cpu(machine, cpu)).collect(),
            distance: machine.numa_distance.iter().flatten().copied().collect(),
            pds: machine.freq_domains.iter().zip(&opps).map(|(domain, opps)| describe_pd(domain, opps)).collect(),
            _opps: opps,
            machine: KsMachine::zeroed(),
        });
        described.machine = KsMachine {
            size: size_of::<KsMachine>() as u64,
            nr_cpus: described.cpus.len() as u32,
            nr_nodes: machine.nodes.len() as u32,
            node_reclaim_distance: machine.node_reclaim_distance,
            nr_pds: described.pds.len() as u32,
            cpus: described.cpus.as_ptr(),
            distance: described.distance.as_ptr(),
            pds: described.pds.as_ptr(),
            schedutil: schedutil.into(),
            seed,
        };
        described
    }

    pub fn machine(&self) -> &KsMachine {
        &self.machine
    }
}

fn describe_cpu(machine: &Machine, cpu: CpuId) -> KsCpuDesc {
    let hardware = &machine.cpus[cpu as usize];
    let masks = CpuMasks::of(machine, cpu);
    KsCpuDesc {
        capacity: hardware.capacity,
        node: hardware.node as i32,
        package: hardware.package as i32,
        pd: lowest(machine.freq_domain_of(cpu)),
        smt: masks.core,
        cluster: masks.cluster,
        mc: masks.coregroup,
    }
}

/// A domain of the machine always has a CPU.
fn lowest(domain: &FreqDomain) -> i32 {
    domain.cpus.first().map_or(0, |cpu| cpu as i32)
}

fn describe_pd(domain: &FreqDomain, opps: &[KsOpp]) -> KsPd {
    KsPd {
        cpu: lowest(domain),
        nr_opps: opps.len() as u32,
        opps: opps.as_ptr(),
        transition_us: u32::try_from(domain.reported_transition_ns().div_ceil(1000)).unwrap_or(u32::MAX),
    }
}

/// Power in uW: what the machine says of one busy CPU, static power of its cluster apart.
fn opps(domain: &FreqDomain) -> Vec<KsOpp> {
    let opp = |o: &fairground_machine::Opp| KsOpp { khz: o.khz, power_uw: o.model_uw() as u32 };
    domain.opps.iter().map(opp).collect()
}
