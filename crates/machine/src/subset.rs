//! Parts of a machine as numactl and taskset name them: `kunpeng920@node0`, `kunpeng920@0-3,8`.
//!
//! The machine stays whole: all its CPUs exist, its domains are what they were. What is named behind the `@` are the
//! CPUs to which a workload is bound.

use std::path::Path;

use crate::load::is_file;
use crate::suggest::nearest;
use crate::{CpuMask, Machine, MachineError};

/// Stands before numbers of nodes.
const NODE: &str = "node";

/// A machine as typed: a preset or a file, and behind an `@` the CPUs to which the workload is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineSpec<'a> {
    /// Name of a preset or path of a file, as [`Machine::find`] takes it.
    pub name: &'a str,
    /// What [`Machine::subset`] takes; none: all CPUs.
    pub subset: Option<&'a str>,
}

impl<'a> MachineSpec<'a> {
    /// Splits at the last `@`; an `@` within the path of a file, before a `/` or a final `.toml`, is part of the name.
    pub fn parse(text: &'a str) -> MachineSpec<'a> {
        match text.rsplit_once('@') {
            Some((name, subset)) if !subset.contains('/') && !subset.ends_with(".toml") => {
                MachineSpec { name, subset: Some(subset) }
            }
            _ => MachineSpec { name: text, subset: None },
        }
    }

    /// The path of its file; none of a preset.
    pub fn file(&self) -> Option<&'a Path> {
        is_file(self.name).then(|| Path::new(self.name))
    }

    /// The machine, and the CPUs to which the workload is bound; none: it is not bound.
    ///
    /// # Errors
    /// As [`Machine::find`] and [`Machine::subset`].
    pub fn find(&self) -> Result<(Machine, Option<CpuMask>), MachineError> {
        let machine = Machine::find(self.name)?;
        let cpus = self.cpus(&machine)?;
        Ok((machine, cpus))
    }

    /// The CPUs of this machine to which the workload is bound; none: it is not bound.
    ///
    /// # Errors
    /// As [`Machine::subset`].
    pub fn cpus(&self, machine: &Machine) -> Result<Option<CpuMask>, MachineError> {
        self.subset.map(|subset| machine.subset(subset)).transpose()
    }

    /// The same CPUs of a machine with another name, as typed.
    pub fn renamed(&self, name: &str) -> String {
        self.subset.map_or_else(|| name.to_owned(), |subset| format!("{name}@{subset}"))
    }
}

impl Machine {
    /// The CPUs that `text` names: nodes (`node0`, `node0-1`, `node0,2`) or CPUs (`0-3,8`), numbers as in the kernel's
    /// list format. Never empty.
    ///
    /// # Errors
    /// [`MachineError::Subset`] if `text` is not a list, is empty, or names nodes or CPUs that the machine lacks.
    pub fn subset(&self, text: &str) -> Result<CpuMask, MachineError> {
        let (kind, list) = text.strip_prefix(NODE).map_or(("CPU", text), |list| (NODE, list));
        let of_nodes = kind == NODE;
        let there = if of_nodes { CpuMask::first_n(self.nodes.len()) } else { self.all_cpus() };
        let listed =
            CpuMask::parse_list(list).map_err(|piece| self.no_subset(text, format!("{piece:?} is not a {kind}")))?;
        let absent = listed.minus(&there);
        if listed.is_empty() {
            return Err(self.no_subset(text, format!("names no {kind}")));
        } else if !absent.is_empty() {
            return Err(self.no_subset(text, format!("there is no {kind} {absent}")));
        }
        match of_nodes {
            false => Ok(listed),
            true => Ok(listed.iter().fold(CpuMask::EMPTY, |all, node| all.or(&self.nodes[node as usize]))),
        }
    }

    fn no_subset(&self, text: &str, problem: String) -> MachineError {
        let nodes: Vec<String> = (0..self.nodes.len()).map(|node| format!("{NODE}{node}")).collect();
        // A name is near where there are letters that are not of a node; numbers are not guessed.
        let typo = text.contains(char::is_alphabetic) && !text.starts_with(NODE);
        let near = if typo { nearest(text, nodes.iter().map(String::as_str)) } else { None };
        let near = near.map(|near| format!("did you mean @{near}? ")).unwrap_or_default();
        let (last_node, last_cpu) = (self.nodes.len() - 1, self.nr_cpus() - 1);
        let help = format!(
            "{near}behind the @ stand nodes, as node0 or node0-1, or CPUs, as 0-3,8; {} has node{} and CPU{}",
            self.name,
            if last_node == 0 { "0".into() } else { format!("0 to node{last_node}") },
            if last_cpu == 0 { " 0".into() } else { format!("s 0-{last_cpu}") },
        );
        MachineError::Subset { machine: self.name.clone(), subset: text.into(), problem, help }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(machine: &Machine, text: &str) -> (String, String) {
        let MachineError::Subset { problem, help, .. } = machine.subset(text).unwrap_err() else { panic!("{text}") };
        (problem, help)
    }

    #[test]
    fn nodes_and_cpus_are_named_as_numactl_does() {
        let machine = Machine::preset("kunpeng920").unwrap();
        let cpus = |text: &str| machine.subset(text).unwrap().to_string();
        assert_eq!(["node0", "node0-1", "node0,2"].map(cpus), ["0-23", "0-47", "0-23,48-71"]);
        assert_eq!(["0-3", "0,4,8,12", "95"].map(cpus), ["0-3", "0,4,8,12", "95"]);
    }

    #[test]
    fn what_is_not_there_is_refused_with_what_is() {
        let machine = Machine::preset("kunpeng920").unwrap();
        let (problem, help) = refused(&machine, "node3-5");
        assert_eq!(problem, "there is no node 4-5");
        assert!(help.contains("kunpeng920 has node0 to node3 and CPUs 0-95"), "{help}");
        assert_eq!(refused(&machine, "90-99").0, "there is no CPU 96-99");
        assert_eq!(refused(&machine, "").0, "names no CPU");
        assert_eq!(refused(&machine, "node").0, "names no node");
        assert_eq!(refused(&machine, "3-1").0, "\"3-1\" is not a CPU");
        assert!(refused(&machine, "nod1").1.starts_with("did you mean @node1?"));
        assert!(refused(&Machine::symmetric(1), "1").1.ends_with("has node0 and CPU 0"));
    }

    #[test]
    fn the_last_at_parts_a_machine_from_its_cpus() {
        let of = |text| {
            let spec = MachineSpec::parse(text);
            (spec.name, spec.subset)
        };
        assert_eq!(of("kunpeng920"), ("kunpeng920", None));
        assert_eq!(of("kunpeng920@node0"), ("kunpeng920", Some("node0")));
        assert_eq!(of("boards/a@b/mine.toml"), ("boards/a@b/mine.toml", None));
        assert_eq!(of("a@b.toml"), ("a@b.toml", None));
        assert_eq!(of("a@b.toml@0-3"), ("a@b.toml", Some("0-3")));
        assert_eq!(of("x@"), ("x", Some("")));
        assert_eq!(MachineSpec::parse("kunpeng920@0-3").renamed("mine.toml"), "mine.toml@0-3");
    }

    #[test]
    fn where_a_whole_machine_is_wanted_a_part_is_refused() {
        let error = Machine::find("kunpeng920@node0").unwrap_err();
        assert!(matches!(error, MachineError::Whole { .. }), "{error}");
    }
}
