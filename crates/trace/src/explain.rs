//! Text for placements and pulls, in the terms of kernel/sched, and counts of the rules that decided.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::placements::{Cause, Head, Placement};

/// A time in ns as `SECONDS.NANOSECONDS`.
pub fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// A placement in full, on several lines.
pub fn in_words(p: &Placement, head: &Head) -> String {
    let mut out = format!("{}  {}\n", seconds(p.time), occasion(p));
    let mut last = None;
    for step in &p.steps {
        let rule = step.rule.as_deref();
        // The name of a rule comes before its first step.
        if let Some(rule) = rule.filter(|_| rule != last) {
            let _ = writeln!(out, "  {}", head.rule(rule).title());
        }
        let _ = writeln!(out, "  {}{}", if rule.is_some() { "  " } else { "" }, step.text);
        last = rule;
    }
    let rule = head.rule(&p.rule);
    let by = by(head, &p.rule);
    let _ = writeln!(out, "CPU {} chosen {by} {}{}", p.chosen, rule.title(), work(p));
    if !rule.text.is_empty() {
        let _ = writeln!(out, "  {}", rule.text);
    }
    out
}

/// How a rule is named as the reason: a kernel's decision is not explained by our policy, which only decides alike, and
/// not even that if it leaves it unexplained.
pub(crate) fn by(head: &Head, rule: &str) -> &'static str {
    let is_kernel = head.meta.iter().any(|(key, value)| key == "sched" && value.starts_with("linux:"));
    match is_kernel && !rule.ends_with("unexplained") {
        true => "as our policy does on the same state by",
        false => "by",
    }
}

/// The cause of the placement, with task, CPU and waker.
fn occasion(p: &Placement) -> String {
    let (task, cpu, prev) = (&p.task, p.on_cpu, p.prev);
    let there = if p.by.pid == 0 { "which idles".into() } else { format!("which runs {}", p.by) };
    match p.cause {
        Cause::Wake => format!("{task} woken on CPU {cpu}, {there}; previous CPU {prev}"),
        Cause::Fork => format!("{task} born on CPU {cpu}, {there}"),
        Cause::Exec => format!("{task} starts a new program on CPU {cpu}"),
        Cause::Balance | Cause::NewIdle | Cause::Active => format!("{task} {}", pulled(p)),
    }
}

/// How balancing moved a task: `pulled from CPU 3 by CPU 0, newly idle, PKG: migrate_task, imbalance 2`.
pub fn pulled(p: &Placement) -> String {
    let Some(pull) = &p.pull else { return format!("moved from CPU {}", p.prev) };
    if p.cause == Cause::Active {
        return format!("pushed from CPU {} to CPU {} by the stopper, {}", p.prev, p.chosen, pull.level);
    }
    let when = match pull.kind.as_str() {
        "newidle" => "newly idle",
        kind => kind,
    };
    let on_behalf = if p.on_cpu == pull.dst { String::new() } else { format!(" through CPU {}", p.on_cpu) };
    let (from, by, level, unit, imbalance) = (p.prev, pull.dst, &pull.level, &pull.unit, pull.amount);
    format!("pulled from CPU {from} by CPU {by}{on_behalf}, {when}, {level}: migrate_{unit}, imbalance {imbalance}")
}

/// A number with its noun: `1 probe`, `2 probes`.
fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn work(p: &Placement) -> String {
    match (p.probes, p.group_cpus) {
        (0, 0) => match &p.pull {
            Some(pull) => format!(", {} moved in all", count(pull.moved, "task")),
            None => ", without a probe".into(),
        },
        (probes, 0) => format!(" after {}", count(probes, "probe")),
        (0, cpus) => format!(" after group statistics of {}", count(cpus, "CPU")),
        (probes, cpus) => format!(" after {} and group statistics of {}", count(probes, "probe"), count(cpus, "CPU")),
    }
}

/// A placement on one line.
pub fn in_short(p: &Placement, head: &Head) -> String {
    let (time, cause) = (seconds(p.time), p.cause.word());
    let work = match (p.probes, p.group_cpus) {
        _ if p.pull.is_some() => pulled(p),
        (probes, 0) => count(probes, "probe"),
        (0, cpus) => format!("statistics of {}", count(cpus, "CPU")),
        (probes, cpus) => format!("{}, statistics of {}", count(probes, "probe"), count(cpus, "CPU")),
    };
    let (task, rule) = (p.task.to_string(), head.rule(&p.rule).title());
    format!("{time}  {cause}  {task:<22}  CPU {:>3} -> {:<3}  {rule}, {work}", p.prev, p.chosen)
}

/// How counts are split into groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// All decisions are one group.
    None,
    /// By the name of the task.
    Task,
    /// By the chosen CPU.
    Cpu,
}

/// The group of a decision. Groups of numbers come before groups of names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// All decisions of the trace.
    All,
    /// Decisions for one CPU.
    Cpu(u32),
    /// Decisions about threads with this name.
    Task(String),
}

impl std::fmt::Display for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Group::All => Ok(()),
            Group::Cpu(cpu) => write!(f, "CPU {cpu}"),
            Group::Task(comm) => f.write_str(comm),
        }
    }
}

/// Number of decisions by each rule, by group.
#[derive(Default)]
pub struct RuleCounts {
    counts: BTreeMap<Group, BTreeMap<String, u64>>,
    total: u64,
}

/// A row of [`RuleCounts`].
#[derive(Clone, Debug, PartialEq)]
pub struct RuleRow {
    /// The group that is counted.
    pub group: Group,
    /// Name of the placement rule.
    pub rule: String,
    /// Number of decisions by this rule.
    pub count: u64,
    /// Share of the group's decisions, percent.
    pub share_pct: f64,
}

impl RuleCounts {
    /// Counts one decision in its group.
    pub fn add(&mut self, placement: &Placement, split: Split) {
        let group = match split {
            Split::None => Group::All,
            Split::Task => Group::Task(placement.task.comm.clone()),
            Split::Cpu => Group::Cpu(placement.chosen),
        };
        let rules = self.counts.entry(group).or_default();
        match rules.get_mut(&placement.rule) {
            Some(count) => *count += 1,
            None => drop(rules.insert(placement.rule.clone(), 1)),
        }
        self.total += 1;
    }

    /// Number of decisions counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Rows group by group, the most frequent rule first.
    pub fn rows(&self) -> Vec<RuleRow> {
        let mut rows = Vec::new();
        for (group, rules) in &self.counts {
            let all: u64 = rules.values().sum();
            let mut its: Vec<_> = rules.iter().collect();
            its.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            rows.extend(its.into_iter().map(|(rule, count)| RuleRow {
                group: group.clone(),
                rule: rule.clone(),
                count: *count,
                share_pct: *count as f64 * 100.0 / all as f64,
            }));
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use fairground_sim::Rule;

    use super::*;
    use crate::placements::{Pull, Step, Task};

    fn step(rule: Option<&str>, text: &str) -> Step {
        Step { rule: rule.map(str::to_owned), note: 0, cpu: None, numbers: [0; 3], text: text.into() }
    }

    fn wakeup(comm: &str, chosen: u32, rule: &str) -> Placement {
        Placement {
            time: 1_000_004_000,
            cause: Cause::Wake,
            task: Task { comm: comm.into(), pid: 1000 },
            on_cpu: 4,
            by: Task { comm: "writer".into(), pid: 1001 },
            prev: 5,
            chosen,
            rule: rule.into(),
            probes: 2,
            group_cpus: 0,
            pull: None,
            steps: Vec::new(),
        }
    }

    fn head() -> Head {
        let text = "the previous CPU is idle and fits";
        let rule = |name, label| Rule { name, function: "select_idle_sibling", label, text };
        let rules = [rule("A1", "target"), rule("A2", "previous CPU")].map(|r| (r.name.to_owned(), r.into()));
        Head { rules: rules.into(), ..Head::default() }
    }

    #[test]
    fn a_wakeup_is_told_from_its_occasion_to_its_end() {
        let steps = vec![
            step(None, "sync: the waker is about to sleep"),
            step(None, "target is CPU 4"),
            step(Some("A1"), "CPU 4 is busy with 1 task"),
            step(Some("A2"), "CPU 5 is idle"),
            step(Some("A2"), "CPU 5 fits: utilization 12, capacity 462"),
        ];
        let described = in_words(&Placement { steps, ..wakeup("reader", 5, "A2") }, &head());
        let expected = "\
1.000004000  reader-1000 woken on CPU 4, which runs writer-1001; previous CPU 5
  sync: the waker is about to sleep
  target is CPU 4
  select_idle_sibling: target (A1)
    CPU 4 is busy with 1 task
  select_idle_sibling: previous CPU (A2)
    CPU 5 is idle
    CPU 5 fits: utilization 12, capacity 462
CPU 5 chosen by select_idle_sibling: previous CPU (A2) after 2 probes
  the previous CPU is idle and fits
";
        assert_eq!(described, expected);
    }

    #[test]
    fn births_execs_and_interrupts_on_idle_cpus_are_told_apart() {
        let base = wakeup("a", 1, "x");
        let described = |p: Placement| in_words(&p, &head());
        let idle = Task { comm: "<idle>".into(), pid: 0 };
        assert_eq!(
            described(Placement { by: idle, probes: 1, ..base.clone() }),
            "1.000004000  a-1000 woken on CPU 4, which idles; previous CPU 5\nCPU 1 chosen by x after 1 probe\n"
        );
        let fork = Placement { cause: Cause::Fork, probes: 0, group_cpus: 12, ..base.clone() };
        assert_eq!(
            described(fork.clone()),
            "1.000004000  a-1000 born on CPU 4, which runs writer-1001\n\
             CPU 1 chosen by x after group statistics of 12 CPUs\n"
        );
        assert_eq!(
            in_short(&fork, &head()),
            "1.000004000  fork  a-1000                  CPU   5 -> 1    x, statistics of 12 CPUs"
        );
        let exec = Placement { cause: Cause::Exec, probes: 0, ..base };
        assert_eq!(
            described(exec),
            "1.000004000  a-1000 starts a new program on CPU 4\nCPU 1 chosen by x, without a probe\n"
        );
    }

    #[test]
    fn pulls_name_source_level_and_amount() {
        let described = |cause, kind: &str, on_cpu| {
            let (level, unit) = ("PKG".into(), "task".into());
            let pull = Pull { kind: kind.into(), level, dst: 0, unit, amount: 2, moved: 1 };
            let base = Placement { cause, on_cpu, prev: 3, probes: 0, pull: Some(pull), ..wakeup("a", 0, "sibling") };
            in_words(&base, &head())
        };
        assert_eq!(
            described(Cause::NewIdle, "newidle", 0),
            "1.000004000  a-1000 pulled from CPU 3 by CPU 0, newly idle, PKG: migrate_task, imbalance 2\n\
             CPU 0 chosen by sibling, 1 task moved in all\n"
        );
        assert!(described(Cause::Balance, "idle", 5).contains("by CPU 0 through CPU 5, idle, PKG"));
        assert!(described(Cause::Active, "active", 3).contains("pushed from CPU 3 to CPU 0 by the stopper, PKG"));
    }

    #[test]
    fn a_tally_counts_within_its_groups() {
        let all = [wakeup("b", 1, "A1"), wakeup("a", 10, "A2"), wakeup("b", 2, "A2"), wakeup("b", 2, "A2")];
        let rows = |split| {
            let mut tally = RuleCounts::default();
            all.iter().for_each(|p| tally.add(p, split));
            assert_eq!(tally.total(), 4);
            let short = |r: &RuleRow| format!("{} {} {} {:.1}", r.group, r.rule, r.count, r.share_pct);
            tally.rows().iter().map(short).collect::<Vec<_>>()
        };
        assert_eq!(rows(Split::None), [" A2 3 75.0", " A1 1 25.0"]);
        assert_eq!(rows(Split::Task), ["a A2 1 100.0", "b A2 2 66.7", "b A1 1 33.3"]);
        assert_eq!(rows(Split::Cpu), ["CPU 1 A1 1 100.0", "CPU 2 A2 2 100.0", "CPU 10 A2 1 100.0"]);
    }
}
