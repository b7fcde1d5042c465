//! A description of the domains as text, for users and tests.

use std::fmt::Write;

use fairground_machine::{CpuId, CpuMask};

use super::plan::DomainNode;
use super::Topology;
use crate::ffi::*;

const FLAG_NAMES: [(u32, &str); 15] = [
    (FG_SD_BALANCE_NEWIDLE, "NEWIDLE"),
    (FG_SD_BALANCE_EXEC, "EXEC"),
    (FG_SD_BALANCE_FORK, "FORK"),
    (FG_SD_BALANCE_WAKE, "WAKE"),
    (FG_SD_WAKE_AFFINE, "AFFINE"),
    (FG_SD_ASYM_CPUCAPACITY, "ASYM"),
    (FG_SD_ASYM_CPUCAPACITY_FULL, "ASYM_FULL"),
    (FG_SD_SHARE_CPUCAPACITY, "SMT"),
    (FG_SD_CLUSTER, "CLUSTER"),
    (FG_SD_SHARE_LLC, "LLC"),
    (FG_SD_SERIALIZE, "SERIALIZE"),
    (FG_SD_ASYM_PACKING, "PACKING"),
    (FG_SD_PREFER_SIBLING, "SIBLING"),
    (FG_SD_OVERLAP, "OVERLAP"),
    (FG_SD_NUMA, "NUMA"),
];

impl Topology {
    /// The domains, CPUs with the same ones together; groups in ring order, as the first CPU of the line sees them.
    ///
    /// ```text
    /// 0-3: MC 0-3 (0 1 2 3) pct 117 4-8 ms NEWIDLE EXEC FORK AFFINE LLC
    ///      PKG 0-7 (0-3 4-7) pct 125 8-16 ms NEWIDLE EXEC FORK AFFINE ASYM SIBLING
    /// ```
    pub fn describe(&self) -> String {
        let mut out = String::new();
        let mut left: CpuMask = (0..self.plan().lowest.len() as CpuId).collect();
        while let Some(cpu) = left.first() {
            let same: CpuMask = left.iter().filter(|other| self.spans(*other) == self.spans(cpu)).collect();
            self.describe_cpus(&mut out, &same, cpu);
            left = left.minus(&same);
        }
        out
    }

    /// Names and spans of a CPU's domains, bottom to top: `MC 0-3, PKG 0-7`.
    pub fn summary(&self, cpu: CpuId) -> String {
        let names: Vec<String> = self.spans(cpu).iter().map(|(name, span)| format!("{name} {span}")).collect();
        names.join(", ")
    }

    /// Shortest and longest time between two passes of balancing in the domain of `cpu` at the level called `name`, ms;
    /// none where it has no such domain.
    pub fn intervals_ms(&self, cpu: CpuId, name: &str) -> Option<[u32; 2]> {
        if cpu as usize >= self.plan().lowest.len() {
            return None;
        }
        let domain = self.plan().chain(cpu).find(|d| self.levels[d.level].name == name)?;
        Some([domain.sd.min_interval, domain.sd.max_interval])
    }

    fn spans(&self, cpu: CpuId) -> Vec<(&str, CpuMask)> {
        self.plan().chain(cpu).map(|d| (self.levels[d.level].name.as_str(), d.sd.span)).collect()
    }

    fn describe_cpus(&self, out: &mut String, cpus: &CpuMask, cpu: CpuId) {
        let head = format!("{cpus}:");
        let mut margin = head.as_str();
        for domain in self.plan().chain(cpu) {
            let _ = writeln!(out, "{margin:width$} {}", self.describe_domain(domain), width = head.len());
            margin = "";
        }
        if self.plan().lowest[cpu as usize].is_none() {
            let why = if self.isolated.test(cpu) { "isolated" } else { "alone" };
            let _ = writeln!(out, "{head} no domain ({why})");
        }
    }

    fn describe_domain(&self, domain: &DomainNode) -> String {
        let sd = &domain.sd;
        let groups: Vec<String> = self.groups(domain).map(|g| g.span.to_string()).collect();
        format!(
            "{} {} ({}) pct {} {}-{} ms {}",
            self.levels[domain.level].name,
            sd.span,
            groups.join(" "),
            sd.imbalance_pct,
            sd.min_interval,
            sd.max_interval,
            flag_names(sd.flags),
        )
    }

    /// The groups of a domain, the local one first.
    pub(crate) fn groups<'a>(&'a self, domain: &DomainNode) -> impl Iterator<Item = &'a FgGroup> {
        let ring = &self.plan().rings[domain.ring];
        let first = domain.first;
        (0..ring.len()).map(move |i| &ring[(first + i) % ring.len()].sg)
    }
}

/// Names of the flags that are set, with spaces between: `NEWIDLE EXEC ...`.
pub(crate) fn flag_names(flags: u32) -> String {
    let names = FLAG_NAMES.iter().filter(|(flag, _)| flags & flag != 0).map(|(_, name)| *name);
    names.collect::<Vec<_>>().join(" ")
}
