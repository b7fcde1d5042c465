//! The CPU nodes of a device tree.

use crate::{CpuId, CpuMask, NR_CPUS};

use super::super::kinds::{canonical_core_name, Isa};
use super::super::{CaptureError, Notes};
use super::nodes::{DeviceTree, NodeRef};

/// The CPU nodes, in the order of the tree: the n-th is CPU n.
pub(super) struct Cpus<'a> {
    root: NodeRef<'a>,
    /// The node that they are in.
    pub parent: NodeRef<'a>,
    all: Vec<NodeRef<'a>>,
}

impl<'a> Cpus<'a> {
    /// Finds the CPUs: nodes of that name or `device_type`, as the kernel's, and none that has failed.
    pub fn read(tree: &'a DeviceTree, notes: &mut Notes) -> Result<Cpus<'a>, CaptureError> {
        let root = tree.root();
        let missing = || root.fault("", "it has no node `cpus`", "the device tree of a machine, overlays applied");
        let parent = root.child("cpus").ok_or_else(missing)?;
        let is_cpu = |node: &NodeRef| node.name() == "cpu" || node.bytes("device_type") == Some(b"cpu\0");
        let has_failed = |node: &NodeRef| node.bytes("status").is_some_and(|status| status.starts_with(b"fail"));
        let (failed, all): (Vec<NodeRef>, Vec<NodeRef>) = parent.children().filter(is_cpu).partition(has_failed);
        if !failed.is_empty() {
            notes.add(format!("CPUs that have failed (`status`) are left out: {}", failed.len()));
        }
        if all.is_empty() || all.len() > NR_CPUS {
            return Err(parent.fault("", format!("{} CPUs", all.len()), format!("nodes `cpu@N`, 1 to {NR_CPUS}")));
        }
        Ok(Cpus { root, parent, all })
    }

    pub fn count(&self) -> usize {
        self.all.len()
    }

    pub fn mask(&self) -> CpuMask {
        CpuMask::first_n(self.count())
    }

    pub fn root(&self) -> NodeRef<'a> {
        self.root
    }

    /// The CPUs and their nodes.
    pub fn iter(&self) -> impl Iterator<Item = (CpuId, NodeRef<'a>)> + '_ {
        (0..).zip(self.all.iter().copied())
    }

    /// The CPU of a node.
    pub fn id(&self, node: NodeRef) -> Option<CpuId> {
        self.all.iter().position(|cpu| *cpu == node).map(|id| id as CpuId)
    }

    pub fn node(&self, cpu: CpuId) -> NodeRef<'a> {
        self.all[cpu as usize]
    }

    /// The CPUs of which something holds.
    pub fn those(&self, of: impl Fn(NodeRef<'a>) -> bool) -> CpuMask {
        self.iter().filter(|(_, node)| of(*node)).map(|(cpu, _)| cpu).collect()
    }

    pub fn title(&self) -> Result<String, CaptureError> {
        let board = self.root.text("model")?.unwrap_or("A machine");
        Ok(format!("{board}, {} CPUs, from a device tree", self.count()))
    }

    /// Arm's, if it is started or known as one.
    pub fn isa(&self) -> Option<Isa> {
        let is_arm = |node: NodeRef| {
            let starts = |property, word: &[u8]| node.bytes(property).is_some_and(|bytes| bytes.starts_with(word));
            starts("compatible", b"arm,") || starts("enable-method", b"psci") || starts("enable-method", b"spin-table")
        };
        (!self.those(is_arm).is_empty()).then_some(Isa::Arm64)
    }

    /// The names of the cores: `compatible` without the vendor. Names of architectures (`arm,armv8`) do not count.
    pub fn names(&self) -> Result<Vec<Option<String>>, CaptureError> {
        let name = |(_, node): (CpuId, NodeRef)| {
            let compatible = node.texts("compatible")?;
            let names = compatible.iter().map(|text| text.split_once(',').map_or(*text, |(_, name)| name));
            let mut names = names.filter(|name| !["armv8", "riscv"].contains(name) && crate::file::is_name(name));
            Ok(names.next().filter(|name| name.len() <= 32).map(canonical_core_name))
        };
        self.iter().map(name).collect()
    }
}
