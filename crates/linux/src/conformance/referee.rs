//! [`Referee`]: compares our policy with a running kernel.

use std::sync::Arc;

use fairground_fair::ffi::*;
use fairground_fair::{reasons, rule_name, FairError, Features, Placing, PolicySandbox};
use fairground_machine::{CpuId, Machine};
use fairground_sim::Reason;
use serde_json::{json, Value};

use super::balance::{JudgedPass, Passes};
use super::caches::{JudgedScan, Scans};
use super::disagreement_case::{About, DisagreementCase, Question};
use super::frequency::{self, GovernorUpdates};
use super::push::{self, Pushes};
use super::state::{Found, Pass, Placement, State};
use super::state_importer::{entity_id, StateImporter};
use super::tally::{Kind, Tally};
use crate::KernelEntity;

/// Disagreements that are kept: of one kind and rule, and in all.
const KEPT_OF_RULE: usize = 2;
const KEPT: usize = 16;

/// A decision on which the kernel and our policy differ.
#[derive(Clone, Debug)]
pub struct Disagreement {
    /// Kind of the decision.
    pub kind: Kind,
    /// The rule our policy decided by.
    pub rule: String,
    /// One line with the choices of the kernel and of our policy.
    pub text: String,
    /// All inputs, so that a test can repeat the decision.
    pub case: DisagreementCase,
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
    passes: Passes,
    pushes: Pushes,
    scans: Scans,
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
        Ok(Referee {
            machine: Arc::clone(machine),
            features: features.clone(),
            sandbox,
            importer,
            observable,
            noted,
            pending,
            passes,
            pushes,
            scans: Scans::default(),
            looks,
            tally,
            disagreements,
        })
    }

    /// Records reasons from now on, see [`Self::reasons`].
    pub fn note_reasons(&mut self) {
        self.noted = Some((0, Box::new(FgWhy::zeroed())));
    }

    /// What our policy looked at for its last placement; empty unless [`Self::note_reasons`] was called.
    pub fn reasons(&self) -> impl Iterator<Item = Reason> + '_ {
        self.noted.iter().flat_map(|(flags, why)| reasons(*flags, why))
    }

    /// A placement begins; the kernel has not changed any state for it yet.
    pub fn placing(&mut self, kernel: &dyn State, p: &Placement) {
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
        self.pending = Some(Pending { kind: p.kind, question: Question::Place(placing), ours, rule });
    }

    /// The placement has ended. Returns our rule if both agree. None without [`Self::placing`] before.
    pub fn placed(&mut self, chosen: CpuId) -> Option<&'static str> {
        self.judge(i64::from(chosen))
    }

    /// A fair pick from the queue of a task group on `cpu` begins; 0: from the CPU's own. `protect`: the protection of the
    /// current entity counts. Picks within a balance pass (a task that was pulled is tested like a wakeup) are not judged:
    /// the pass is judged on the state at its begin.
    pub fn picking(&mut self, kernel: &dyn State, cpu: CpuId, group: u32, protect: bool) {
        if self.passes.is_under_way() || self.pushes.is_under_way() {
            self.pending = None;
            return;
        }
        let Some(queued) = self.importer.queue(kernel, &mut self.sandbox, cpu, group) else {
            self.pending = None;
            self.tally.count(Kind::Pick, "own tasks", false, false);
            return;
        };
        let group = (group as usize).checked_sub(1);
        let ours = self.sandbox.pick(cpu, group, &queued, protect).map_or(-1, i64::from);
        let rule = match (group, queued.len()) {
            (None, 0) => "alone",
            (None, _) => "queue",
            (Some(_), 0) => "group, alone",
            (Some(_), _) => "group, queue",
        };
        let question = Question::Pick { cpu, group, queued, protect };
        self.pending = Some(Pending { kind: Kind::Pick, question, ours, rule });
    }

    /// The pick has ended with this entity, or none.
    pub fn picked(&mut self, entity: Option<KernelEntity>) {
        let id = entity.map(|entity| entity_id(&self.sandbox, entity));
        self.judge(id.map_or(-1, i64::from));
    }

    fn judge(&mut self, kernel: i64) -> Option<&'static str> {
        let pending = self.pending.take()?;
        let agree = pending.ours == kernel;
        self.tally.count(pending.kind, pending.rule, agree, self.observable);
        if agree {
            return Some(pending.rule);
        }
        let (kind, rule) = (pending.kind, pending.rule.to_string());
        self.keep(Sides { kind, rule, kernel: kernel.into(), ours: pending.ours.into() }, &pending.question);
        None
    }

    /// A balance pass over a domain begins.
    pub fn balancing(&mut self, kernel: &dyn State, pass: &Pass) {
        self.passes.begin(kernel, pass, &mut self.importer, &mut self.sandbox);
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

    /// The pass is over. `is_ours`: it was this CPU's turn.
    pub fn balanced(&mut self, kernel: &dyn State, is_ours: bool) {
        let Some(judged) = self.passes.end(kernel, is_ours, &self.importer, &mut self.sandbox) else { return };
        if judged.has_own {
            return self.tally.count(Kind::Balance, "own tasks", false, false);
        }
        let JudgedPass { attempt, rule, kernel, ours, before, .. } = judged;
        let agree = kernel == ours;
        self.tally.count(Kind::Balance, &rule, agree, self.observable);
        if !agree && self.has_room(Kind::Balance, &rule) {
            before.restore(&mut self.sandbox);
            let (kernel, ours) = (kernel.words().into(), ours.words().into());
            self.keep(Sides { kind: Kind::Balance, rule, kernel, ours }, &Question::Balance(attempt));
        }
    }

    /// The stopper of `src` begins to push a task.
    pub fn pushing(&mut self, kernel: &dyn State, src: CpuId) {
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
        self.disagreements.push(Disagreement { kind, rule, text, case });
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
        json!({ "kind": self.kind.word(), "rule": self.rule, "text": self.text, "case": self.case.json() })
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
