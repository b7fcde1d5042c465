//! The domains of a machine while they are being built: nodes that refer to each other by index.

use fairground_machine::{CpuId, CpuMask};

use crate::ffi::{FgDomain, FgGroup};

/// Index of a domain in [`Plan::domains`].
pub type DomainId = usize;
/// Index of a ring in [`Plan::rings`].
pub type RingId = usize;

/// One CPU's domain at one level.
#[derive(Clone, Debug)]
pub struct DomainNode {
    /// The level of the domain, as its index into the list of levels.
    pub level: usize,
    /// The next larger domain of the same CPU; `None` for the top one.
    pub parent: Option<DomainId>,
    /// The next smaller domain of the same CPU; `None` for the lowest one.
    pub child: Option<DomainId>,
    /// The ring of the domain's groups.
    pub ring: RingId,
    /// Which group of the ring comes first: the local one.
    pub first: usize,
    /// The struct; its pointers are set when the plan is installed.
    pub sd: FgDomain,
}

/// A group of one ring.
#[derive(Clone, Debug)]
pub struct GroupNode {
    /// Level of the domains whose local group it is.
    pub level: usize,
    /// The struct; its pointer is set when the plan is installed.
    pub sg: FgGroup,
}

/// The groups of a domain in the order of their circular list.
pub type Ring = Vec<GroupNode>;

/// All domains of all partitions.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The domains, in the order in which they were made.
    pub domains: Vec<DomainNode>,
    /// Arena of rings. CPUs of one span share a ring and differ in where it starts.
    pub rings: Vec<Ring>,
    /// For each CPU its domain at each level as built, bottom to top.
    pub built: Vec<Vec<DomainId>>,
    /// For each CPU its lowest domain after degeneration.
    pub lowest: Vec<Option<DomainId>>,
}

// SAFETY: the pointers in a plan's structs are null.
unsafe impl Send for Plan {}

impl Plan {
    /// The chain of domains of a CPU, bottom to top.
    pub fn chain(&self, cpu: CpuId) -> impl Iterator<Item = &DomainNode> {
        self.chain_ids(cpu).map(|id| &self.domains[id])
    }

    /// The chain of domains of a CPU as indices, bottom to top.
    pub fn chain_ids(&self, cpu: CpuId) -> impl Iterator<Item = DomainId> + '_ {
        std::iter::successors(self.lowest[cpu as usize], |id| self.domains[*id].parent)
    }

    /// The domain of `cpu` at level `level`, if built that high.
    pub fn at(&self, cpu: CpuId, level: usize) -> Option<&DomainNode> {
        self.built[cpu as usize].get(level).map(|id| &self.domains[*id])
    }

    /// The span of the domain below that of `cpu` at `level`; the CPU alone at the bottom.
    pub fn child_span(&self, cpu: CpuId, level: usize) -> CpuMask {
        match level.checked_sub(1).and_then(|below| self.at(cpu, below)) {
            Some(child) => child.sd.span,
            None => CpuMask::single(cpu),
        }
    }

    /// The local group of a domain.
    pub fn local_group(&mut self, id: DomainId) -> &mut FgGroup {
        let node = &self.domains[id];
        &mut self.rings[node.ring][node.first].sg
    }
}
