//! Groups of CPUs as files write them: `"all"`, `"0-3"`, `["0-3", "4-7"]`, `"4 cores"`,
//! `{ threads = 2, apart = 64 }`.

use crate::error::FileResult;
use crate::{nearest, suggest, CpuId, CpuMask};

use super::node::Node;
use super::tree::Data;

/// A level of the topology: disjoint groups that cover all CPUs.
pub(super) struct Level {
    /// Name of one group of the level, e.g. `core`.
    pub name: &'static str,
    pub groups: Vec<CpuMask>,
    /// Index of the group of each CPU.
    pub of: Vec<u32>,
}

/// The levels known so far, finest first; the first is the CPUs themselves.
pub(super) struct Levels {
    pub n_cpus: usize,
    pub known: Vec<Level>,
}

impl Levels {
    /// A machine of `n_cpus` of which nothing else is known.
    pub fn new(n_cpus: usize) -> Levels {
        let groups: Vec<CpuMask> = (0..n_cpus as CpuId).map(CpuMask::single).collect();
        let of = (0..n_cpus as u32).collect();
        Levels { n_cpus, known: vec![Level { name: "cpu", groups, of }] }
    }

    /// The level `name`; the CPUs themselves if it is not yet known.
    pub fn level(&self, name: &str) -> &Level {
        self.known.iter().find(|l| l.name == name).unwrap_or(&self.known[0])
    }

    /// The groups that `node` writes.
    pub fn groups(&self, node: &Node) -> FileResult<Vec<CpuMask>> {
        let expected = r#"expected "all", "0-3", ["0-3", "4-7"], or "4 cores""#;
        match &node.tree.data {
            Data::Text(text) => self.text_groups(node, text.trim()),
            Data::Array(_) => match &node.elements()?[..] {
                [] => Err(node.fault("no group of CPUs").hint(expected)),
                elements => elements.iter().map(|e| self.cpu_list(e, e.text()?)).collect(),
            },
            Data::Table(_) => self.thread_groups(node),
            _ => {
                let fault = node.fault(format!("expected groups of CPUs, found {}", node.tree.kind()));
                Err(fault.hint(expected))
            }
        }
    }

    /// The union of the groups that `node` writes.
    pub fn cpus(&self, node: &Node) -> FileResult<CpuMask> {
        Ok(self.groups(node)?.iter().fold(CpuMask::EMPTY, |all, group| all.or(group)))
    }

    fn text_groups(&self, node: &Node, text: &str) -> FileResult<Vec<CpuMask>> {
        if text == "all" {
            return Ok(vec![CpuMask::first_n(self.n_cpus)]);
        }
        match text.split_once(' ') {
            Some((count, unit))
                if count.bytes().all(|b| b.is_ascii_digit()) && unit.starts_with(char::is_alphabetic) =>
            {
                self.consecutive_groups(node, count, unit.trim())
            }
            _ => Ok(vec![self.cpu_list(node, text)?]),
        }
    }

    /// `4 cores`: every four consecutive cores, which must come out even.
    fn consecutive_groups(&self, node: &Node, count: &str, unit: &str) -> FileResult<Vec<CpuMask>> {
        let Some(level) = self.known.iter().find(|l| l.name == unit || format!("{}s", l.name) == unit) else {
            let valid = self.known.iter().map(|l| l.name);
            return Err(node.fault(format!("unknown level `{unit}`")).hint(suggest(unit, valid)));
        };
        let n = level.groups.len();
        let count = count.parse::<usize>().ok().filter(|c| *c > 0 && *c <= n && n % c == 0);
        let count = count.ok_or_else(|| {
            node.fault(format!("{n} {}s do not come out even", level.name)).hint(format!("expected a divisor of {n}"))
        })?;
        let join = |groups: &[CpuMask]| groups.iter().fold(CpuMask::EMPTY, |all, g| all.or(g));
        Ok(level.groups.chunks(count).map(join).collect())
    }

    /// `{ threads = t, apart = a }`, see [`threads_apart`].
    fn thread_groups(&self, node: &Node) -> FileResult<Vec<CpuMask>> {
        let fields = node.table(&["threads", "apart"])?;
        let n = self.n_cpus as u32;
        let threads = fields.need("threads")?.integer(1, 8)?;
        let apart = fields.need("apart")?.integer(1, n)?;
        threads_apart(self.n_cpus, threads as usize, apart as usize).ok_or_else(|| {
            let problem = format!("{n} CPUs do not divide into blocks of {threads} x {apart}");
            node.fault(problem).hint("threads x apart must divide the number of CPUs")
        })
    }

    fn cpu_list(&self, node: &Node, text: &str) -> FileResult<CpuMask> {
        let mask = CpuMask::parse_list(text).map_err(|piece| {
            let fault = node.fault(format!("`{piece}` is not a CPU list"));
            match nearest(text, ["all"]) {
                Some(_) => fault.hint("did you mean `all`?"),
                None => fault.hint(r#"expected e.g. "0-3,8", "all" or "4 cores""#),
            }
        })?;
        if mask.is_empty() {
            return Err(node.fault("an empty group").hint("expected at least one CPU"));
        }
        match mask.minus(&CpuMask::first_n(self.n_cpus)).first() {
            Some(cpu) => {
                let last = self.n_cpus - 1;
                Err(node.fault(format!("there is no CPU {cpu}")).hint(format!("this machine has CPUs 0 to {last}")))
            }
            None => Ok(mask),
        }
    }

    /// Makes a level of groups, each with the place that wrote it: every CPU must be in exactly one.
    pub fn partition(&self, name: &'static str, groups: Vec<(CpuMask, Node)>, whole: &Node) -> FileResult<Level> {
        let mut of = vec![None; self.n_cpus];
        for (i, (group, node)) in groups.iter().enumerate() {
            for cpu in group.iter() {
                if of[cpu as usize].replace(i as u32).is_some() {
                    let fault = node.fault(format!("CPU {cpu} is in two {name}s"));
                    return Err(fault.hint(format!("each CPU belongs to exactly one {name}")));
                }
            }
        }
        if let Some(cpu) = of.iter().position(Option::is_none) {
            let fault = whole.fault(format!("CPU {cpu} is in no {name}"));
            return Err(fault.hint(format!("each CPU of 0 to {} belongs to exactly one {name}", self.n_cpus - 1)));
        }
        let groups = groups.into_iter().map(|(group, _)| group).collect();
        Ok(Level { name, groups, of: of.into_iter().flatten().collect() })
    }

    /// A group of `inner` must lie within one group of `outer`.
    pub fn require_within(&self, inner: &Level, outer: &Level, node: &Node) -> FileResult<()> {
        match inner.straddler(outer) {
            Some(group) => Err(crossing(node, inner.name, &group, outer.name)),
            None => Ok(()),
        }
    }

    /// Groups of the two levels may contain each other in either direction, but not overlap in part.
    pub fn require_nested(&self, a: &Level, b: &Level, node: &Node) -> FileResult<()> {
        for group in &a.groups {
            let overlaps = b.groups.iter().filter(|g| g.intersects(group));
            let mut partial = overlaps.filter(|g| !g.is_subset(group) && !group.is_subset(g));
            if partial.next().is_some() {
                return Err(crossing(node, a.name, group, b.name));
            }
        }
        Ok(())
    }
}

impl Level {
    /// The first group with members in two groups of `outer`.
    fn straddler(&self, outer: &Level) -> Option<CpuMask> {
        let same = |group: &CpuMask| {
            group.iter().all(|c| Some(outer.of[c as usize]) == group.first().map(|f| outer.of[f as usize]))
        };
        self.groups.iter().find(|group| !same(group)).copied()
    }
}

fn crossing(node: &Node, inner: &str, group: &CpuMask, outer: &str) -> Box<crate::FileError> {
    node.fault(format!("{inner} {group} crosses the border of a {outer}"))
        .hint(format!("all CPUs of a {inner} must be in one {outer}"))
}

/// Cores of `threads` CPUs: in each block of threads x apart CPUs, those `apart` apart are threads of one core.
/// `apart = 1` is adjacent siblings, `apart` = number of cores the numbering of x86 servers. None if the blocks do not
/// come out even.
pub(super) fn threads_apart(n_cpus: usize, threads: usize, apart: usize) -> Option<Vec<CpuMask>> {
    let block = threads.checked_mul(apart).filter(|b| *b > 0 && n_cpus % b == 0)?;
    let firsts = (0..n_cpus).filter(|cpu| cpu % block < apart);
    Some(firsts.map(|first| (0..threads).map(|t| (first + t * apart) as CpuId).collect()).collect())
}
