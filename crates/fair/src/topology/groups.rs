//! Spec 1.6: the groups of each domain, as rings that start with the local group.

use fairground_machine::{CpuId, CpuMask, Machine};

use super::levels::Shape;
use super::plan::{GroupNode, Plan, Ring, RingId};
use crate::ffi::*;

/// Gives every domain of partition `map` its groups.
pub fn build(plan: &mut Plan, machine: &Machine, shape: &Shape, map: &CpuMask) {
    let tallest = map.iter().map(|c| plan.built[c as usize].len()).max().unwrap_or(0);
    for level in 0..tallest {
        let mut rings = Vec::new();
        for cpu in map.iter() {
            add_groups(plan, machine, shape, cpu, level, &mut rings);
        }
    }
}

/// Which CPUs' domains use a ring: those of equal span, with equal groups.
struct Shared {
    spans: Vec<Span>,
    ring: RingId,
}

/// A group to be: the span of a domain below one of `level`.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Span {
    level: usize,
    cpus: CpuMask,
}

fn add_groups(plan: &mut Plan, machine: &Machine, shape: &Shape, cpu: CpuId, level: usize, rings: &mut Vec<Shared>) {
    let Some(id) = plan.built[cpu as usize].get(level).copied() else { return };
    let spans = match plan.domains[id].sd.flags & FG_SD_OVERLAP {
        0 => child_spans(plan, cpu, level),
        _ => overlapping_spans(plan, shape, cpu, level),
    };
    let (ring, first) = match rings.iter().find_map(|r| Some((r.ring, rotation(&r.spans, &spans)?))) {
        Some(found) => found,
        None => {
            let ring = make_ring(plan, machine, &spans);
            plan.rings.push(ring);
            rings.push(Shared { spans, ring: plan.rings.len() - 1 });
            (plan.rings.len() - 1, 0)
        }
    };
    let node = &mut plan.domains[id];
    (node.ring, node.first) = (ring, first);
    node.sd.nr_groups = plan.rings[ring].len() as u32;
}

/// By how much `ring` must be turned to read as `spans`.
fn rotation(ring: &[Span], spans: &[Span]) -> Option<usize> {
    let n = ring.len();
    let at = ring.iter().position(|s| *s == spans[0]).filter(|_| n == spans.len())?;
    (0..n).all(|i| ring[(at + i) % n] == spans[i]).then_some(at)
}

/// build_sched_groups: one group for each child span, from the CPU's own on. The CPUs of a domain have these groups in
/// common, and each CPU links them again: the result is the wrapping id order from the last CPU.
fn child_spans(plan: &Plan, cpu: CpuId, level: usize) -> Vec<Span> {
    let whole = plan.domains[plan.built[cpu as usize][level]].sd.span;
    let last = whole.iter().last().unwrap_or(cpu);
    let mut spans = cover(last, whole, |i| Some(Span { level, cpus: plan.child_span(i, level) }));
    let own = spans.iter().position(|span| span.cpus.test(cpu)).unwrap_or(0);
    spans.rotate_left(own);
    spans
}

/// build_overlap_sched_groups: child spans, which may overlap, until the domain is covered.
fn overlapping_spans(plan: &Plan, shape: &Shape, cpu: CpuId, level: usize) -> Vec<Span> {
    let whole = plan.domains[plan.built[cpu as usize][level]].sd.span;
    cover(cpu, whole, |i| {
        // A sibling without a domain this high is left to the groups of the others.
        plan.at(i, level)?;
        let level = if shape.groups_within { level_within(plan, i, level, &whole) } else { level };
        Some(Span { level, cpus: plan.child_span(i, level) })
    })
}

/// find_descended_sibling: the highest level up to `level` at which the CPU's group is within `whole`. If a lower one
/// has the same group, that one, as the domains above it will not stay.
fn level_within(plan: &Plan, cpu: CpuId, level: usize, whole: &CpuMask) -> usize {
    let child = |level: usize| plan.child_span(cpu, level);
    if child(level).is_subset(whole) {
        return level;
    }
    let within = (0..level).rev().find(|level| child(*level).is_subset(whole)).unwrap_or(0);
    let same = |level: &usize| plan.at(cpu, *level).is_some_and(|domain| domain.sd.span == child(*level));
    (1..=within).rev().find(|level| !same(level)).unwrap_or(0)
}

/// The groups of the CPUs from `cpu` on, in wrapping id order, of those that no group before has.
fn cover(cpu: CpuId, whole: CpuMask, group_of: impl Fn(CpuId) -> Option<Span>) -> Vec<Span> {
    let mut left = whole;
    let mut spans = Vec::new();
    for (from, to) in [(cpu, CpuId::MAX), (0, cpu)] {
        let mut at = from;
        while let Some(next) = left.next_from(at).filter(|next| *next < to) {
            if let Some(span) = group_of(next) {
                left = left.minus(&span.cpus);
                spans.push(span);
            }
            at = next + 1;
        }
    }
    spans
}

fn make_ring(plan: &Plan, machine: &Machine, spans: &[Span]) -> Ring {
    let node = |&Span { level, cpus }| GroupNode { level, sg: make_group(plan, machine, level, &cpus) };
    spans.iter().map(node).collect()
}

fn make_group(plan: &Plan, machine: &Machine, level: usize, span: &CpuMask) -> FgGroup {
    let mut group = FgGroup::zeroed();
    group.span = *span;
    group.weight = span.count() as u32;
    group.balance_mask = balance_mask(plan, level, span);
    let balance_cpu = group.balance_mask.first().or(span.first()).unwrap_or(0);
    group.balance_cpu = balance_cpu as i32;
    group.asym_prefer_cpu = span.first().unwrap_or(0) as i32;
    group.cores = cores(machine, span);
    group.flags = match level.checked_sub(1).and_then(|below| plan.at(balance_cpu, below)) {
        Some(child) => child.sd.flags,
        None => 0,
    };
    // Until pressure or other classes reduce it.
    let capacities = || span.iter().map(|c| u64::from(machine.cpus[c as usize].capacity));
    group.capacity = capacities().sum();
    group.min_capacity = capacities().min().unwrap_or(0);
    group.max_capacity = capacities().max().unwrap_or(0);
    group
}

/// CPUs of the group whose own domain at this level has exactly this group first.
fn balance_mask(plan: &Plan, level: usize, span: &CpuMask) -> CpuMask {
    span.iter().filter(|c| plan.at(*c, level).is_some() && plan.child_span(*c, level) == *span).collect()
}

fn cores(machine: &Machine, span: &CpuMask) -> u32 {
    let first_of_core = |c: &CpuId| {
        let siblings = machine.cores[machine.cpus[*c as usize].core as usize].and(span);
        siblings.first() == Some(*c)
    };
    span.iter().filter(first_of_core).count() as u32
}
