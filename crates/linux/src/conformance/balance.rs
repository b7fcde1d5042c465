//! A balance pass of the kernel over a domain, and ours over the same state.
//!
//! ```text
//! balancing -> the CPUs of the domain, its groups and neighbours  -> PolicySandbox
//! found     -> the source queue, its clock, its tasks             -> PolicySandbox
//! detached  -> the tasks that left
//! balanced  -> our pass over the copied state; both outcomes
//! ```

use fairground_fair::ffi::*;
use fairground_fair::{BalanceInput, Move, PolicySandbox, SourceQueue};
use fairground_machine::CpuId;
use fairground_sim::Subject;

use super::left::{compare, LeftValue, Of, Values};
use super::state::{Found, Pass, State};
use super::state_importer::{SavedState, StateImporter};

/// The outcome of a pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Another CPU balances the domain.
    not_ours: bool,
    moves: Vec<Move>,
    /// The pass asked the stopper of its last source to push.
    active: bool,
    left: PassEffects,
}

/// The state that a pass leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct PassEffects {
    nr_balance_failed: u32,
    balance_interval: u32,
    /// The imbalanced flag of the parent's group.
    imbalanced: bool,
    /// Capacity of the local group.
    capacity: u64,
    overload: u32,
    overutilized: u32,
    /// Utilization and capacity that cache-aware scheduling has recorded of each last-level cache in the domain; empty if
    /// it is not active.
    llcs: Vec<(u64, u64)>,
}

/// The pass of a kernel that is under way, if any.
#[derive(Default)]
pub struct Passes {
    attempt: Option<BalanceInput>,
    moves: Vec<Move>,
    /// Some source has tasks without a number here.
    has_own: bool,
}

/// The kernel's pass and ours.
pub struct JudgedPass {
    /// The input, with all source queues.
    pub attempt: BalanceInput,
    /// The row of the table: the rule of our search and the outcome.
    pub rule: String,
    /// What the kernel's pass did.
    pub kernel: Outcome,
    /// What our policy's pass did.
    pub ours: Outcome,
    /// The state before the pass.
    pub before: SavedState,
    /// What both have left behind.
    pub left: Vec<LeftValue>,
    /// Some source has tasks without a number here.
    pub has_own: bool,
}

impl Passes {
    /// Whether a pass has begun and not ended.
    pub fn is_under_way(&self) -> bool {
        self.attempt.is_some()
    }

    /// Called when the kernel begins a pass.
    pub fn begin(
        &mut self,
        kernel: &dyn State,
        pass: &Pass,
        importer: &mut StateImporter,
        sandbox: &mut PolicySandbox,
    ) {
        let jiffies = importer.balance(kernel, sandbox, pass.cpu, pass.domain);
        let Pass { cpu, domain, kind } = *pass;
        self.attempt = Some(BalanceInput { cpu, domain, kind, jiffies, ..BalanceInput::default() });
        self.moves.clear();
        self.has_own = false;
    }

    /// The kernel has found a source; no task has left yet.
    pub fn found(
        &mut self,
        kernel: &dyn State,
        found: &Found,
        importer: &mut StateImporter,
        sandbox: &mut PolicySandbox,
    ) {
        let Some(attempt) = &mut self.attempt else { return };
        let Found { group, src, migration, imbalance } = *found;
        self.moves.push(Move::Found { group, src, migration, imbalance });
        let Some(cpu) = src else { return };
        let (tasks, is_whole) = importer.movable(kernel, sandbox, cpu);
        self.has_own |= !is_whole;
        attempt.sources.push(SourceQueue { cpu, clock: kernel.clock(), irq_ns: kernel.irq_time(cpu), tasks });
    }

    /// Called when the kernel detaches a task.
    pub fn detached(&mut self, task: u32, from: CpuId, to: CpuId) {
        self.moves.push(Move::Detached { task, from, to });
    }

    /// The pass is over. None if its begin was not seen.
    pub fn end(
        &mut self,
        kernel: &dyn State,
        is_ours: bool,
        importer: &StateImporter,
        sandbox: &mut PolicySandbox,
    ) -> Option<JudgedPass> {
        let mut attempt = self.attempt.take()?;
        let source = attempt.sources.last().map(|source| source.cpu);
        attempt.stopper_is_listed = source.is_some_and(|source| has_got_wake_list(kernel, sandbox, source));
        let attempt = attempt;
        let theirs = Outcome {
            not_ours: !is_ours,
            moves: std::mem::take(&mut self.moves),
            active: attempt.sources.last().is_some_and(|source| is_asked(kernel, sandbox, source.cpu)),
            left: PassEffects::of_kernel(kernel, &attempt, &importer.recorded_llcs(sandbox, &attempt)),
        };
        let before = importer.keep(sandbox, &attempt);
        let first = left_by_sandbox(sandbox, &attempt);
        let (ours, rule) = attempted(sandbox, importer, &attempt);
        let (kernels, our_left) = (left_by_kernel(kernel, sandbox, &attempt), left_by_sandbox(sandbox, &attempt));
        let (mut left, of) = (Vec::new(), Of(Subject::Cpu(attempt.cpu)));
        for (((function, before), (_, kernel)), (_, ours)) in first.iter().zip(&kernels).zip(&our_left) {
            left.extend(compare(function, of, before, kernel, ours));
        }
        Some(JudgedPass { attempt, rule, kernel: theirs, ours, before, left, has_own: self.has_own })
    }
}

/// Runs ours. Returns its outcome and its row.
pub fn attempted(sandbox: &mut PolicySandbox, importer: &StateImporter, attempt: &BalanceInput) -> (Outcome, String) {
    let done = sandbox.balance(attempt);
    let row = row(done.rule, &done.moves, done.active);
    let llcs = importer.recorded_llcs(sandbox, attempt);
    let left = PassEffects::of_sandbox(sandbox, attempt, &llcs);
    (Outcome { not_ours: !done.ours, moves: done.moves, active: done.active, left }, row)
}

/// A search that found a source may still move nothing.
fn row(rule: &str, moves: &[Move], active: bool) -> String {
    let has_source = moves.iter().any(|m| matches!(m, Move::Found { src: Some(_), .. }));
    let has_moved = moves.iter().any(|m| matches!(m, Move::Detached { .. }));
    match (has_source, has_moved, active) {
        (true, false, true) => format!("{rule}, active"),
        (true, false, false) => format!("{rule}, stuck"),
        _ => rule.to_string(),
    }
}

/// What a pass leaves for later decisions, by the function that leaves it.
type LeftByFunction = Vec<(&'static str, Values)>;

fn left_by_sandbox(sandbox: &mut PolicySandbox, attempt: &BalanceInput) -> LeftByFunction {
    let (cpu, n) = (attempt.cpu, attempt.domain);
    let own = sandbox.asym_shared_mut(cpu).cloned();
    let shared = [sandbox.llc_mut(cpu).cloned(), own];
    let sd = sandbox.domain_mut(cpu, n).clone();
    let local = sandbox.group_mut(cpu, n, 0).cloned();
    let above = if n + 1 < sandbox.nr_domains(cpu) { sandbox.group_mut(cpu, n + 1, 0).cloned() } else { None };
    let root = sandbox.root_mut(cpu).clone();
    left(&shared, sandbox.cpu_mut(cpu), &sd, [local.as_ref(), above.as_ref()], &root)
}

fn left_by_kernel(kernel: &dyn State, sandbox: &mut PolicySandbox, attempt: &BalanceInput) -> LeftByFunction {
    let (cpu, n) = (attempt.cpu, attempt.domain);
    let has_own = sandbox.asym_shared_mut(cpu).is_some();
    let mut read = [FgLlc::zeroed(), FgLlc::zeroed()];
    let found = [kernel.llc(cpu, &mut read[0]), has_own && kernel.balance_shared(cpu, &mut read[1])];
    let [llc, own] = read;
    let shared = [Some(llc).filter(|_| found[0]), Some(own).filter(|_| found[1])];
    let (mut rq, mut sd, mut root) = (sandbox.cpu_mut(cpu).clone(), FgDomain::zeroed(), FgRoot::zeroed());
    kernel.cpu(cpu, &mut rq);
    kernel.domain(cpu, n, &mut sd);
    kernel.root(cpu, &mut root);
    let (mut groups, mut above) = (Vec::new(), Vec::new());
    kernel.groups(cpu, n, &mut groups);
    kernel.groups(cpu, n + 1, &mut above);
    left(&shared, &rq, &sd, [groups.first(), above.first()], &root)
}

/// `shared`: that of the cache, and what has_idle_cores is read from if that is another. `groups`: the local one of the
/// domain and of its parent.
fn left(
    shared: &[Option<FgLlc>; 2],
    rq: &FgCpu,
    sd: &FgDomain,
    groups: [Option<&FgGroup>; 2],
    root: &FgRoot,
) -> LeftByFunction {
    let scan = |at: usize| shared[at].as_ref().map_or(0, |shared| i128::from(shared.nr_idle_scan));
    let local = groups[0].cloned().unwrap_or(FgGroup::zeroed());
    let imbalance = groups[1].map_or(0, |above| i128::from(above.imbalance));
    vec![
        ("update_idle_cpu_scan", vec![("nr_idle_scan", scan(0)), ("nr_idle_scan", scan(1))]),
        (
            "update_group_capacity",
            vec![
                ("cpu_capacity", rq.cpu_capacity.into()),
                ("cpu_capacity_inverted", rq.cpu_capacity_inverted.into()),
                ("sgc capacity", local.capacity.into()),
                ("sgc min_capacity", local.min_capacity.into()),
                ("sgc max_capacity", local.max_capacity.into()),
                ("sgc next_update", local.next_update.into()),
            ],
        ),
        ("update_sd_lb_stats", vec![("overloaded", root.overload.into()), ("overutilized", root.overutilized.into())]),
        (
            "sched_balance_rq",
            vec![
                ("nr_balance_failed", sd.nr_balance_failed.into()),
                ("balance_interval", sd.balance_interval.into()),
                ("sgc imbalance", imbalance),
            ],
        ),
    ]
}

/// The stopper of a CPU was asked after the CPU was copied.
fn is_asked(kernel: &dyn State, sandbox: &mut PolicySandbox, cpu: CpuId) -> bool {
    let mut now = FgCpu::zeroed();
    kernel.cpu(cpu, &mut now);
    now.active_balance != 0 && sandbox.cpu_mut(cpu).active_balance == 0
}

/// A woken task was put on the wake list of a CPU after the CPU was copied, and was the first there.
fn has_got_wake_list(kernel: &dyn State, sandbox: &mut PolicySandbox, cpu: CpuId) -> bool {
    let mut now = FgCpu::zeroed();
    kernel.cpu(cpu, &mut now);
    now.ttwu_pending != 0 && sandbox.cpu_mut(cpu).ttwu_pending == 0
}

impl PassEffects {
    fn of_kernel(kernel: &dyn State, attempt: &BalanceInput, llcs: &[CpuId]) -> PassEffects {
        let (cpu, n) = (attempt.cpu, attempt.domain);
        let (mut sd, mut root, mut groups) = (FgDomain::zeroed(), FgRoot::zeroed(), Vec::new());
        kernel.domain(cpu, n, &mut sd);
        kernel.root(cpu, &mut root);
        kernel.groups(cpu, n, &mut groups);
        let capacity = groups.first().map_or(0, |g| g.capacity);
        kernel.groups(cpu, n + 1, &mut groups);
        let recorded = |cpu: &CpuId| {
            let mut llc = FgLlc::zeroed();
            kernel.llc(*cpu, &mut llc);
            (llc.util_avg, llc.capacity)
        };
        let llcs = llcs.iter().map(recorded).collect();
        PassEffects { llcs, ..PassEffects::new(&sd, capacity, groups.first(), &root) }
    }

    fn of_sandbox(sandbox: &mut PolicySandbox, attempt: &BalanceInput, llcs: &[CpuId]) -> PassEffects {
        let (cpu, n) = (attempt.cpu, attempt.domain);
        let has_parent = n + 1 < sandbox.nr_domains(cpu);
        let sd = sandbox.domain_mut(cpu, n).clone();
        let capacity = sandbox.group_mut(cpu, n, 0).map_or(0, |g| g.capacity);
        let above = has_parent.then(|| sandbox.group_mut(cpu, n + 1, 0).cloned()).flatten();
        let llcs = llcs.iter().filter_map(|cpu| sandbox.llc_mut(*cpu).map(|llc| (llc.util_avg, llc.capacity)));
        let llcs = llcs.collect();
        PassEffects { llcs, ..PassEffects::new(&sd, capacity, above.as_ref(), sandbox.root_mut(cpu)) }
    }

    fn new(sd: &FgDomain, capacity: u64, above: Option<&FgGroup>, root: &FgRoot) -> PassEffects {
        PassEffects {
            nr_balance_failed: sd.nr_balance_failed,
            balance_interval: sd.balance_interval,
            imbalanced: above.is_some_and(|g| g.imbalance != 0),
            capacity,
            overload: root.overload,
            overutilized: root.overutilized,
            llcs: Vec::new(),
        }
    }
}

impl Outcome {
    /// The outcome as one line; equal lines are equal outcomes.
    pub fn words(&self) -> String {
        let mut words: Vec<String> = self.moves.iter().map(move_words).collect();
        if self.not_ours {
            words.push("not ours".into());
        }
        if self.active {
            words.push("active balance".into());
        }
        let left = &self.left;
        words.push(format!("failed {}, interval {} ms", left.nr_balance_failed, left.balance_interval));
        words.push(format!("local capacity {}", left.capacity));
        let flags = [
            (left.imbalanced, "imbalanced"),
            (left.overload != 0, "overload"),
            (left.overutilized != 0, "overutilized"),
        ];
        words.extend(flags.into_iter().filter(|(set, _)| *set).map(|(_, word)| word.to_string()));
        if !left.llcs.is_empty() {
            let caches: Vec<String> = left.llcs.iter().map(|(util, capacity)| format!("{util}/{capacity}")).collect();
            words.push(format!("caches {}", caches.join(" ")));
        }
        words.join("; ")
    }
}

fn move_words(m: &Move) -> String {
    match m {
        Move::Found { group, src, migration, imbalance } => {
            let kind = ["load", "util", "tasks", "misfit", "llc tasks"].get(*migration as usize).unwrap_or(&"?");
            let src = src.map_or("no queue".to_string(), |src| format!("cpu{src}"));
            format!("group of cpu{group}, {src}, {kind} {imbalance}")
        }
        Move::Detached { task, to, .. } => format!("task {task} to cpu{to}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_gives_nothing_is_a_row_of_its_own() {
        let found = Move::Found { group: 0, src: Some(1), migration: FG_MIGRATE_TASK, imbalance: 1 };
        let moved = Move::Detached { task: 5, from: 1, to: 2 };
        assert_eq!(row("spare", &[found, moved], false), "spare");
        assert_eq!(row("spare", &[found], false), "spare, stuck");
        assert_eq!(row("spare", &[found], true), "spare, active");
        assert_eq!(row("balanced-pct", &[], false), "balanced-pct");
    }

    #[test]
    fn an_outcome_says_what_moved_and_what_is_left_behind() {
        let found = Move::Found { group: 4, src: Some(5), migration: FG_MIGRATE_UTIL, imbalance: 300 };
        let left = PassEffects {
            nr_balance_failed: 2,
            balance_interval: 8,
            imbalanced: true,
            capacity: 99,
            ..PassEffects::default()
        };
        let moves = vec![found, Move::Detached { task: 7, from: 5, to: 0 }];
        let outcome = Outcome { not_ours: false, moves, active: false, left };
        let words =
            "group of cpu4, cpu5, util 300; task 7 to cpu0; failed 2, interval 8 ms; local capacity 99; imbalanced";
        assert_eq!(outcome.words(), words);
    }
}
