//! [`Referee`]: compares our policy with a running kernel.

use std::sync::Arc;

use fairground_fair::ffi::*;
use fairground_fair::{pick_rules, reasons, rule_name, FairError, Features, Placing, PolicySandbox, StepKind};
use fairground_machine::{CpuId, Machine};
use fairground_sim::{LeftBehind, PickKind, PickReport, Reason, Subject};
use serde_json::{json, Value};

use super::balance::{JudgedPass, Passes};
use super::caches::{JudgedScan, Scans};
use super::disagreement_case::{About, DisagreementCase, Question};
use super::frequency::{self, GovernorUpdates};
use super::left::{compare, LeftValue, Of, Values};
use super::push::{self, Pushes};
use super::state::{Found, Pass, Placement, State, Step};
use super::state_importer::{entity_id, StateImporter};
use super::steps::{Grouped, Steps};
use super::tally::{Kind, Tally};
use super::walks::Walks;
use crate::KernelEntity;

/// Disagreements that are kept: of one kind and rule, and in all.
const KEPT_OF_RULE: usize = 2;
const KEPT: usize = 32;

/// What our policy does not explain, by names of rules behind those of `pick_rules.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unexplained {
    /// A pick, or the end of a slice.
    Pick,
    /// A woken task that the kernel lets wait.
    Wait,
    /// A woken task that preempts.
    Preempt,
}

impl Unexplained {
    /// All, in the order of their numbers.
    pub const ALL: [Unexplained; 3] = [Unexplained::Pick, Unexplained::Wait, Unexplained::Preempt];

    /// Name of the rule, other than that of placements. Those of woken tasks that preempt begin with `preempt-`.
    pub fn name(self) -> &'static str {
        ["pick-unexplained", "wake-unexplained", "preempt-unexplained"][self as usize]
    }

    /// Number of the rule.
    fn rule(self) -> u16 {
        (pick_rules().len() + self as usize) as u16
    }
}

/// A decision on which the kernel and our policy differ.
#[derive(Clone, Debug)]
pub struct Disagreement {
    /// Kind of the decision.
    pub kind: Kind,
    /// The rule our policy decided by.
    pub rule: String,
    /// One line with the choices of the kernel and of our policy.
    pub text: String,
    /// All inputs, so that a test can repeat the decision; none for a value that was left behind.
    pub case: Option<DisagreementCase>,
}

/// Asks our policy at each decision of a kernel and counts agreement.
pub struct Referee {
    machine: Arc<Machine>,
    features: Features,
    sandbox: PolicySandbox,
    importer: StateImporter,
    /// The kernel keeps all state that the policy reads.
    observable: bool,
    /// What our policy looked at last, if reasons are wanted, and the `FG_WF_*` of that wakeup.
    noted: Option<(u32, Box<FgWhy>)>,
    /// The decision under way, and our verdict.
    pending: Option<Pending>,
    /// Why the task of the kernel's last pick or step runs, waits or leaves, in the kernel's state, if reasons are wanted.
    report: Option<PickReport>,
    /// What the kernel has changed since they were taken last, if reasons are wanted.
    changes: Vec<LeftBehind>,
    /// What our policy chose last where the kernel chose otherwise.
    otherwise: Option<(CpuId, &'static str)>,
    passes: Passes,
    pushes: Pushes,
    scans: Scans,
    walks: Walks,
    steps: Steps,
    /// Present if schedutil sets the clocks.
    looks: Option<GovernorUpdates>,
    tally: Tally,
    disagreements: Vec<Disagreement>,
}

struct Pending {
    kind: Kind,
    question: Question,
    ours: i64,
    rule: &'static str,
    /// Of a wakeup: the target that our policy chose, and the rule; none if it asked for none.
    target: Option<(CpuId, &'static str)>,
    /// Of a placement: what it may change, before and after ours.
    left: Option<[LeftByPlacement; 2]>,
}

/// What a wakeup may change before its task is enqueued: by kernel function and subject.
type LeftByPlacement = Vec<(&'static str, Of, Values)>;

/// One line for a wakeup or a tick on which the kernel and our policy differ.
fn preemption(kind: Kind, step: &Step, rule: &str, [theirs, ours]: [bool; 2]) -> String {
    let word = |yes: bool| if yes { "reschedules" } else { "does not" };
    let (task, cpu, title) = (step.task.map_or(-1, i64::from), step.cpu, kind.rule_title(rule));
    format!("{} of task {task} on cpu{cpu}: kernel {}, ours {} by {title}", kind.word(), word(theirs), word(ours))
}

fn left_by_placement(sandbox: &mut PolicySandbox, placing: &Placing) -> LeftByPlacement {
    let waker = placing.current.map(|waker| sandbox.task_mut(waker).clone());
    let task = sandbox.task_mut(placing.task).clone();
    let shared: Vec<(CpuId, u32)> = leaders(sandbox).into_iter().zip(sandbox.all_shared()).collect();
    placement_left(placing, &task, waker.as_ref(), &shared)
}

/// The CPUs that lead state that CPUs share.
fn leaders(sandbox: &PolicySandbox) -> Vec<CpuId> {
    (0..sandbox.nr_cpus() as CpuId).filter(|cpu| sandbox.leads_shared(*cpu)).collect()
}

fn left_by_kernel(kernel: &dyn State, sandbox: &mut PolicySandbox, placing: &Placing) -> LeftByPlacement {
    let read = |sandbox: &mut PolicySandbox, task: u32| {
        let mut p = sandbox.task_mut(task).clone();
        kernel.task(task, &mut p);
        p
    };
    let waker = placing.current.map(|waker| read(sandbox, waker));
    let task = read(sandbox, placing.task);
    let idle_cores = |cpu: CpuId| {
        let mut shared = FgLlc::zeroed();
        let found = kernel.balance_shared(cpu, &mut shared) || kernel.llc(cpu, &mut shared);
        u32::from(found && shared.has_idle_cores != 0)
    };
    let shared: Vec<(CpuId, u32)> = leaders(sandbox).into_iter().map(|cpu| (cpu, idle_cores(cpu))).collect();
    placement_left(placing, &task, waker.as_ref(), &shared)
}

/// `shared`: has_idle_cores of each state that CPUs share, with the CPU that leads it.
fn placement_left(
    placing: &Placing,
    task: &FgTask,
    waker: Option<&FgTask>,
    shared: &[(CpuId, u32)],
) -> LeftByPlacement {
    let of_waker = |value: fn(&FgTask) -> u32| waker.map_or(0, |waker| i128::from(value(waker)));
    let flips = vec![("wakee_flips", of_waker(|w| w.wakee_flips)), ("last_wakee", of_waker(|w| w.last_wakee))];
    let of_task = |task| Of(Subject::Task(task));
    let mut left = vec![
        ("record_wakee", of_task(placing.current.unwrap_or(placing.task)), flips),
        ("select_task_rq_fair", of_task(placing.task), vec![("recent_used_cpu", task.recent_used.into())]),
    ];
    let idle_cores = |(cpu, idle): &(CpuId, u32)| {
        ("select_idle_core", Of(Subject::Cpu(*cpu)), vec![("has_idle_cores", i128::from(*idle))])
    };
    left.extend(shared.iter().map(idle_cores));
    left
}

/// The kernel's answer and ours.
struct Sides {
    kind: Kind,
    rule: String,
    kernel: Value,
    ours: Value,
}

impl Referee {
    /// Beside a kernel on this machine, by these features of ours. `hz`: the kernel's ticks per second. `unobserved`:
    /// as [`State::unobserved`] says. `schedutil`: it sets the clocks.
    ///
    /// # Errors
    /// A machine that our policy cannot serve.
    pub fn new(
        machine: &Arc<Machine>,
        features: &Features,
        hz: u32,
        unobserved: &[String],
        schedutil: bool,
    ) -> Result<Referee, FairError> {
        let new_sandbox = || {
            let mut sandbox = PolicySandbox::new(machine, features, hz)?;
            if schedutil {
                sandbox.start_governor(machine);
            }
            Ok::<PolicySandbox, FairError>(sandbox)
        };
        let mut sandbox = new_sandbox()?;
        let looks = if schedutil { Some(GovernorUpdates::new(new_sandbox()?)) } else { None };
        let importer = StateImporter::new(&mut sandbox);
        let observable = !needs(features).iter().any(|need| unobserved.iter().any(|u| u == need));
        let (tally, disagreements) = (Tally::default(), Vec::new());
        let (noted, pending, passes, pushes) = (None, None, Passes::default(), Pushes::default());
        let (walks, steps) = (Walks::default(), Steps::default());
        Ok(Referee {
            machine: Arc::clone(machine),
            features: features.clone(),
            sandbox,
            importer,
            observable,
            noted,
            pending,
            report: None,
            changes: Vec::new(),
            otherwise: None,
            passes,
            pushes,
            scans: Scans::default(),
            walks,
            steps,
            looks,
            tally,
            disagreements,
        })
    }

    /// Records reasons from now on, see [`Self::reasons`].
    pub fn note_reasons(&mut self) {
        self.noted = Some((0, Box::new(FgWhy::zeroed())));
    }

    /// What our policy looked at for its last placement, which [`Self::otherwise`] says whether the kernel shares; empty
    /// unless [`Self::note_reasons`] was called.
    pub fn reasons(&self) -> impl Iterator<Item = Reason> + '_ {
        self.noted.iter().flat_map(|(flags, why)| reasons(*flags, why))
    }

    /// Gives our policy the domains of the CPUs that are online in the kernel.
    fn follow_hotplug(&mut self, kernel: &dyn State) {
        let sys = kernel.sys();
        if self.sandbox.set_online(&self.machine, &self.features, &sys.active, sys.nr_online, sys.jiffies) {
            self.importer = StateImporter::new(&mut self.sandbox);
        }
    }

    /// A placement begins; the kernel has not changed any state for it yet.
    pub fn placing(&mut self, kernel: &dyn State, p: &Placement) {
        self.follow_hotplug(kernel);
        let jiffies = self.importer.system(kernel, &mut self.sandbox);
        let kind_flag = match p.kind {
            Kind::Fork => FG_WF_FORK,
            Kind::Exec => FG_WF_EXEC,
            _ => FG_WF_TTWU,
        };
        match p.kind {
            Kind::Fork | Kind::Exec => self.importer.groups(kernel, &mut self.sandbox),
            _ => self.importer.domains(kernel, &mut self.sandbox, p.this_cpu),
        }
        kernel.root(p.this_cpu, self.sandbox.root_mut(p.this_cpu));
        for task in std::iter::once(p.task).chain(p.current) {
            self.importer.task(kernel, &mut self.sandbox, task);
        }
        self.sandbox.task_mut(p.task).cpu = p.prev as i32;
        // The kernel counts in jiffies here, so no finer clock than that.
        let now = jiffies * self.importer.tick_ns();
        let flags = p.flags | kind_flag;
        let placing = Placing { task: p.task, current: p.current, now, this_cpu: p.this_cpu, flags };
        let why = self.noted.as_mut().map(|(noted, why)| {
            *noted = flags;
            &mut **why
        });
        let verdict = self.sandbox.select(&placing, why);
        let (ours, rule) = (i64::from(verdict.cpu), rule_name(verdict.rule));
        let target = (verdict.target_rule != FG_RULE_NONE).then(|| rule_name(verdict.target_rule));
        let target = target.map(|rule| (verdict.target as CpuId, rule));
        let before = left_by_placement(&mut self.sandbox, &placing);
        self.pending =
            Some(Pending { kind: p.kind, question: Question::Place(placing), ours, rule, target, left: None });
        if p.kind == Kind::Wake {
            self.keep_for_left(&placing, &verdict, before);
        }
    }

    /// Carries out what our verdict changes, notes it, and takes it back: a disagreement is shown as it was before.
    fn keep_for_left(&mut self, placing: &Placing, verdict: &FgVerdict, before: LeftByPlacement) {
        let task = self.sandbox.task_mut(placing.task).clone();
        let waker = placing.current.map(|waker| (waker, self.sandbox.task_mut(waker).clone()));
        let rq = self.sandbox.cpu_mut(placing.this_cpu).clone();
        let shared = self.sandbox.shared_of(verdict.target as CpuId).cloned();
        self.sandbox.commit(placing, verdict);
        let after = left_by_placement(&mut self.sandbox, placing);
        *self.sandbox.task_mut(placing.task) = task;
        waker.into_iter().for_each(|(waker, was)| *self.sandbox.task_mut(waker) = was);
        *self.sandbox.cpu_mut(placing.this_cpu) = rq;
        if let (Some(to), Some(was)) = (self.sandbox.shared_of(verdict.target as CpuId), shared) {
            *to = was;
        }
        if let Some(pending) = &mut self.pending {
            pending.left = Some([before, after]);
        }
    }

    /// wake_affine of the kernel has chosen this target in the placement under way.
    pub fn targeted(&mut self, target: CpuId) {
        let Some(pending) = &self.pending else { return };
        let (ours, rule) = pending.target.map_or((-1, "none"), |(cpu, rule)| (i64::from(cpu), rule));
        let agree = ours == i64::from(target);
        self.tally.count(Kind::Target, rule, agree, self.observable);
        if !agree {
            let question = pending.question.clone();
            let (kernel, ours) = (i64::from(target).into(), ours.into());
            self.keep(Sides { kind: Kind::Target, rule: rule.into(), kernel, ours }, &question);
        }
    }

    /// The placement has ended. Returns our rule if both agree. None without [`Self::placing`] before.
    pub fn placed(&mut self, kernel: &dyn State, chosen: CpuId) -> Option<&'static str> {
        if let Some(Pending { left: Some([before, ours]), question: Question::Place(placing), .. }) = &self.pending {
            let theirs = left_by_kernel(kernel, &mut self.sandbox, placing);
            let mut left = Vec::new();
            for (((function, of, before), (.., kernel)), (.., ours)) in before.iter().zip(&theirs).zip(ours) {
                left.extend(compare(function, *of, before, kernel, ours));
            }
            self.judge_left(left);
        }
        self.judge(i64::from(chosen))
    }

    /// Counts each value that a side has changed.
    fn judge_left(&mut self, left: Vec<LeftValue>) {
        if self.noted.is_some() {
            self.changes.extend(left.iter().filter_map(LeftValue::of_kernel));
        }
        for value in left {
            let (agree, row) = (value.is_alike(), value.row());
            self.tally.count(Kind::Left, &row, agree, self.observable);
            if !agree && self.has_room(Kind::Left, &row) {
                let text = value.words();
                self.disagreements.push(Disagreement { kind: Kind::Left, rule: row, text, case: None });
            }
        }
    }

    /// What our policy would have chosen where [`Self::placed`] found that the kernel chose otherwise: CPU and rule.
    pub fn otherwise(&self) -> Option<(CpuId, &'static str)> {
        self.otherwise
    }

    /// A fair pick from the queue of a task group on `cpu` begins; 0: from the CPU's own. `protect`: the protection of the
    /// current entity counts. Picks within a balance pass (a task that was pulled is tested like a wakeup) are not judged:
    /// the pass is judged on the state at its begin.
    pub fn picking(&mut self, kernel: &dyn State, cpu: CpuId, group: u32, protect: bool) {
        if self.passes.is_under_way() || self.pushes.is_under_way() || self.steps.is_under_way() {
            self.pending = None;
            return;
        }
        self.follow_hotplug(kernel);
        let Some(queued) = self.importer.queue(kernel, &mut self.sandbox, cpu, group) else {
            self.pending = None;
            self.tally.count(Kind::Pick, "own tasks", false, false);
            return;
        };
        let group = (group as usize).checked_sub(1);
        let (ours, rule) = self.sandbox.pick(cpu, group, &queued, protect);
        let ours = ours.map_or(-1, i64::from);
        let rule = match (group, queued.len()) {
            (None, _) => rule,
            (Some(_), 0) => "group, alone",
            (Some(_), _) => "group, queue",
        };
        let question = Question::Pick { cpu, group, queued, protect };
        self.pending = Some(Pending { kind: Kind::Pick, question, ours, rule, target: None, left: None });
    }

    /// The pick has ended with this entity, or none.
    pub fn picked(&mut self, entity: Option<KernelEntity>) {
        self.report = None;
        let id = entity.map(|entity| entity_id(&self.sandbox, entity));
        let task = match entity {
            Some(KernelEntity::Task(task)) => Some(task),
            _ => None,
        };
        let pending = self.pending.as_ref().filter(|_| self.noted.is_some());
        if let (Some(Pending { question: Question::Pick { cpu, .. }, ours, rule, .. }), Some(task)) = (pending, task) {
            let mut report = self.sandbox.report(PickKind::Pick, *cpu, task, rule);
            if *ours != i64::from(task) {
                report.rule = Unexplained::Pick.rule();
            }
            self.report = Some(report);
        }
        self.judge(id.map_or(-1, i64::from));
    }

    /// Why the task of the last pick or step runs, waits or leaves; none unless [`Self::note_reasons`] was called. Its
    /// rule is ours if both sides decide alike, else one behind those of our policy.
    pub fn take_report(&mut self) -> Option<PickReport> {
        self.report.take()
    }

    /// What the kernel has changed since the last call; nothing unless [`Self::note_reasons`] was called.
    pub fn take_changes(&mut self) -> Vec<LeftBehind> {
        std::mem::take(&mut self.changes)
    }

    /// Reports a judged test of a wakeup or the end of a slice, from the state that the kernel has now.
    fn report_step(&mut self, kernel: &dyn State, step: &Step, (rule, theirs, ours): (&'static str, bool, bool)) {
        let (Some(task), Some(_)) = (step.task, &self.noted) else { return };
        let kind = match step.kind {
            StepKind::Wakeup => PickKind::Wakeup,
            _ if theirs => PickKind::Slice,
            _ => return,
        };
        if self.importer.queue(kernel, &mut self.sandbox, step.cpu, 0).is_some() {
            self.importer.task(kernel, &mut self.sandbox, task);
            let mut report = self.sandbox.report(kind, step.cpu, task, rule);
            if theirs != ours {
                let how = match (kind, theirs) {
                    (PickKind::Wakeup, true) => Unexplained::Preempt,
                    (PickKind::Wakeup, false) => Unexplained::Wait,
                    _ => Unexplained::Pick,
                };
                report.rule = how.rule();
            }
            self.report = Some(report);
        }
    }

    fn judge(&mut self, kernel: i64) -> Option<&'static str> {
        let pending = self.pending.take()?;
        let agree = pending.ours == kernel;
        self.tally.count(pending.kind, pending.rule, agree, self.observable);
        self.otherwise = CpuId::try_from(pending.ours).ok().map(|cpu| (cpu, pending.rule)).filter(|_| !agree);
        if agree {
            return Some(pending.rule);
        }
        let (kind, rule) = (pending.kind, pending.rule.to_string());
        self.keep(Sides { kind, rule, kernel: kernel.into(), ours: pending.ours.into() }, &pending.question);
        None
    }

    /// A balance pass over a domain begins.
    pub fn balancing(&mut self, kernel: &dyn State, pass: &Pass) {
        self.follow_hotplug(kernel);
        self.walks.pass_begins(kernel, pass, &mut self.sandbox);
        self.passes.begin(kernel, pass, &mut self.importer, &mut self.sandbox);
    }

    /// A walk over the domains of a CPU begins, of this idle type.
    pub fn walking(&mut self, kernel: &dyn State, cpu: CpuId, kind: u32) {
        self.follow_hotplug(kernel);
        self.walks.begin(kernel, cpu, kind, &self.importer, &mut self.sandbox);
    }

    /// The walk is over.
    pub fn walked(&mut self, kernel: &dyn State) {
        if let Some(judged) = self.walks.end(kernel, &mut self.sandbox) {
            self.judge_left(judged.left);
        }
    }

    /// A step of a fair run queue begins. Steps within a balance pass or a push are not judged: those are judged on the
    /// state at their begin.
    pub fn stepping(&mut self, kernel: &dyn State, step: &Step) {
        if self.passes.is_under_way() || self.pushes.is_under_way() {
            return;
        }
        self.follow_hotplug(kernel);
        self.steps.begin(kernel, step, &mut self.importer, &mut self.sandbox);
    }

    /// The step has ended.
    pub fn stepped(&mut self, kernel: &dyn State, step: &Step) {
        self.report = None;
        match self.steps.end(kernel, step, &mut self.sandbox) {
            None => {}
            Some(Err(Grouped)) => self.tally.count(Kind::Left, "task groups", false, false),
            Some(Ok(judged)) => {
                self.judge_left(judged.left);
                let Some((rule, theirs, ours)) = judged.answer else { return };
                self.report_step(kernel, step, (rule, theirs, ours));
                let kind = if step.kind == StepKind::Wakeup { Kind::Preempt } else { Kind::Slice };
                self.tally.count(kind, rule, theirs == ours, self.observable);
                if theirs != ours && self.has_room(kind, rule) {
                    let text = preemption(kind, step, rule, [theirs, ours]);
                    self.disagreements.push(Disagreement { kind, rule: rule.into(), text, case: None });
                }
            }
        }
    }

    /// The pass has found a source; no task has moved yet.
    pub fn found(&mut self, kernel: &dyn State, found: &Found) {
        self.passes.found(kernel, found, &mut self.importer, &mut self.sandbox);
    }

    /// A task leaves for another CPU.
    pub fn detached(&mut self, task: u32, from: CpuId, to: CpuId) {
        if !self.pushes.detached(task, to) {
            self.passes.detached(task, from, to);
        }
    }

    /// The pass is over. `is_ours`: it was this CPU's turn. `moved`: tasks.
    pub fn balanced(&mut self, kernel: &dyn State, pass: &Pass, is_ours: bool, moved: u32) {
        self.walks.pass_ends(kernel, pass, is_ours, moved);
        let Some(judged) = self.passes.end(kernel, is_ours, &self.importer, &mut self.sandbox) else { return };
        if judged.has_own {
            return self.tally.count(Kind::Balance, "own tasks", false, false);
        }
        let JudgedPass { attempt, rule, kernel, ours, before, left, .. } = judged;
        let agree = kernel == ours;
        self.tally.count(Kind::Balance, &rule, agree, self.observable);
        self.judge_left(left);
        if !agree && self.has_room(Kind::Balance, &rule) {
            before.restore(&mut self.sandbox);
            let (kernel, ours) = (kernel.words().into(), ours.words().into());
            self.keep(Sides { kind: Kind::Balance, rule, kernel, ours }, &Question::Balance(attempt));
        }
    }

    /// The stopper of `src` begins to push a task.
    pub fn pushing(&mut self, kernel: &dyn State, src: CpuId) {
        self.follow_hotplug(kernel);
        self.pushes.begin(kernel, src, &mut self.importer, &mut self.sandbox);
    }

    /// Called when the kernel's push has ended.
    pub fn pushed(&mut self, kernel: &dyn State) {
        let Some(judged) = self.pushes.end(kernel, &self.sandbox) else { return };
        if judged.has_own {
            return self.tally.count(Kind::Balance, "push, own tasks", false, false);
        }
        let push::JudgedPush { source, rule, kernel, ours, before, .. } = judged;
        let agree = kernel == ours;
        self.tally.count(Kind::Balance, &rule, agree, self.observable);
        if !agree && self.has_room(Kind::Balance, &rule) {
            before.restore(&mut self.sandbox);
            let (kernel, ours) = (kernel.words().into(), ours.words().into());
            self.keep(Sides { kind: Kind::Balance, rule, kernel, ours }, &Question::Push(source));
        }
    }

    /// A task begins to look for the cache that its process prefers.
    pub fn scanning(&mut self, kernel: &dyn State, task: u32) {
        self.follow_hotplug(kernel);
        self.scans.begin(kernel, task, &mut self.importer, &mut self.sandbox);
    }

    /// Called when that task has looked.
    pub fn scanned(&mut self, kernel: &dyn State) {
        let Some(judged) = self.scans.end(kernel) else { return };
        let JudgedScan { task, jiffies, rule, kernel: theirs, ours, .. } = judged;
        let agree = theirs == ours;
        self.tally.count(Kind::Balance, &rule, agree, self.observable);
        if !agree && self.has_room(Kind::Balance, &rule) {
            let (kernel, ours) = (theirs.words().into(), ours.words().into());
            self.keep(Sides { kind: Kind::Balance, rule, kernel, ours }, &Question::Scan { task, jiffies });
        }
    }

    /// An update of the governor begins, after a CPU's utilization has changed.
    pub fn governing(&mut self, kernel: &dyn State, cpu: CpuId, flags: u32) {
        self.looks.iter_mut().for_each(|looks| looks.begin(kernel, cpu, flags));
    }

    /// The update has ended with this request (kHz), or none.
    pub fn governed(&mut self, kernel: &dyn State, khz: Option<u32>) {
        let Some(looks) = &mut self.looks else { return };
        let Some(judged) = looks.end(kernel, khz) else { return };
        let frequency::JudgedUpdate { cpu, flags, rule, kernel, ours, before } = judged;
        let agree = kernel == ours;
        self.tally.count(Kind::Frequency, &rule, agree, self.observable);
        if !agree {
            before.restore(looks.sandbox_mut());
            let (kernel, ours) = (kernel.words().into(), ours.words().into());
            self.keep(Sides { kind: Kind::Frequency, rule, kernel, ours }, &Question::Frequency(cpu, flags));
        }
    }

    fn has_room(&self, kind: Kind, rule: &str) -> bool {
        let alike = self.disagreements.iter().filter(|d| d.kind == kind && d.rule == rule);
        self.disagreements.len() < KEPT && alike.count() < KEPT_OF_RULE
    }

    /// The sandbox has the kernel's state.
    fn keep(&mut self, sides: Sides, question: &Question) {
        let Sides { kind, rule, kernel, ours } = sides;
        if !self.has_room(kind, &rule) {
            return;
        }
        let (word, title) = (kind.word(), kind.rule_title(&rule));
        let text = format!("{word}: kernel {}, ours {} by {title}", plain(&kernel), plain(&ours));
        let about = About { about: text.clone(), kind, machine: &self.machine, features: &self.features };
        let sandbox = match (question, &mut self.looks) {
            (Question::Frequency(..), Some(looks)) => looks.sandbox_mut(),
            _ => &mut self.sandbox,
        };
        let case = DisagreementCase::new(&about, sandbox, question, kernel);
        self.disagreements.push(Disagreement { kind, rule, text, case: Some(case) });
    }

    /// The counts so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The disagreements that are kept in full: the first 2 of each kind and rule, and at most 16 in all.
    pub fn disagreements(&self) -> &[Disagreement] {
        &self.disagreements
    }

    /// The policy's structs, for [`super::compare_topology`].
    pub fn sandbox_mut(&mut self) -> &mut PolicySandbox {
        &mut self.sandbox
    }
}

impl Disagreement {
    /// An entry of `disagreements` in the JSON schema.
    pub fn json(&self) -> Value {
        json!({ "kind": self.kind.word(), "rule": self.rule, "text": self.text, "case": self.case.as_ref().map(DisagreementCase::json) })
    }
}

/// An answer as text, without JSON's quotes.
fn plain(answer: &Value) -> String {
    answer.as_str().map_or_else(|| answer.to_string(), String::from)
}

/// State that a decision with these features reads and that not every kernel keeps.
fn needs(features: &Features) -> Vec<&'static str> {
    let mode = u32::from(features.get(FG_SIS_MODE));
    let by_cost = mode != FG_SIS_UTIL;
    let aged = mode == FG_SIS_PROP_AGED;
    let by_llc = u32::from(features.get(FG_NUMA_IMB)) == FG_NUMA_IMB_LLC;
    let needs = [
        (by_cost, "fg_domain.avg_scan_cost"),
        (aged, "fg_cpu.wake_avg_idle"),
        (mode == FG_SIS_UTIL, "fg_llc.nr_idle_scan"),
        (by_llc, "fg_domain.imb_numa_nr"),
        (!features.on(FG_LB_P09), "fg_cpu.queued"),
        (features.on(FG_BREAK_EVEN), "fg_cpu.break_even"),
        (features.on(FG_CAP_INVERSION), "fg_cpu.cpu_capacity_inverted"),
        (features.on(FG_WAKE_CAP), "fg_root.max_cpu_capacity"),
        (u32::from(features.get(FG_EM_COST)) == FG_EM_COST_PERFORMANCE, "fg_opp.performance"),
    ];
    needs.into_iter().filter(|(needed, _)| *needed).map(|(_, what)| what).collect()
}
