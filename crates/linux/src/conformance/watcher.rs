//! Connects the referee to a hosted kernel: maps the calls and tables of `ks.h` to [`State`] and [`Placement`].

use std::cell::RefCell;
use std::ffi::CStr;
use std::rc::Rc;
use std::sync::Arc;

use fairground_fair::ffi::{
    FgCacheTime, FgCpu, FgDomain, FgEm, FgGroup, FgLlc, FgOpp, FgProcess, FgRoot, FgSugov, FgTask, FgTg, FgTgCpu,
};
use fairground_fair::{note_text, pick_rules, rules, FairError, Features, StepKind};
use fairground_machine::{CpuId, Machine};
use fairground_sim::{LeftBehind, PickReport, Reason, Rule, TaskId, NO_RULE};
use serde_json::{json, Value};

use super::pelt::Step as PeltKind;
use super::referee::Unexplained;
use super::state::{CpuTopology, Found, Pass, Placement, Refs, State, Step, SysState};
use super::{compare_topology, Kind, PeltStep, PeltTally, Referee};
use crate::abi::*;
use crate::{Interests, KernelEntity, KernelObserver, Reader};

/// A kernel's table of reading functions.
#[derive(Clone, Copy)]
pub struct KernelState {
    kernel: &'static KsKernel,
    read: &'static KsRead,
}

/// What to judge in addition to placements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WatchOptions {
    /// Whether picks of the next task are judged.
    pub picks: bool,
    /// Whether each step of PELT is judged.
    pub pelt: bool,
    /// Whether balance passes are judged.
    pub balance: bool,
    /// schedutil sets the clocks: judge its requests; placement is energy-aware.
    pub schedutil: bool,
}

/// How far our policy and the kernel agree: topology, decisions and signals.
pub struct Agreement {
    /// Differences between our domains and the kernel's.
    pub topology: Vec<String>,
    /// Counts of decisions, and disagreements.
    pub referee: Referee,
    /// Counts of PELT steps, and differences.
    pub pelt: PeltTally,
    asked: WatchOptions,
    /// The topology has been compared.
    compared: bool,
}

/// Judges the decisions of a hosted kernel.
pub struct Watcher {
    agreement: Rc<RefCell<Agreement>>,
    /// By the rule of our policy: that it decides otherwise than the kernel.
    otherwise: &'static [String],
    preset: String,
}

/// Number of the first note that says that our policy decides otherwise; those of the policy are below.
const OTHERWISE: u16 = 512;

impl Watcher {
    /// For a kernel on this machine; `hz` and `unobserved` are the kernel's own.
    ///
    /// # Errors
    /// A machine that our policy cannot serve.
    pub fn new(
        machine: &Arc<Machine>,
        features: &Features,
        hz: u32,
        unobserved: &[String],
        asked: WatchOptions,
    ) -> Result<(Watcher, Rc<RefCell<Agreement>>), FairError> {
        let referee = Referee::new(machine, features, hz, unobserved, asked.schedutil)?;
        let (topology, pelt) = (Vec::new(), PeltTally::default());
        let agreement = Rc::new(RefCell::new(Agreement { topology, referee, pelt, asked, compared: false }));
        let preset = features.to_string();
        // One kernel a process, and the texts are asked for as long as it lives.
        let otherwise = rules()
            .iter()
            .map(|rule| format!("{preset} decides otherwise on the same state: CPU {{cpu}}, by {}", rule.title()));
        let otherwise = Box::leak(otherwise.collect::<Vec<String>>().into_boxed_slice());
        Ok((Watcher { agreement: Rc::clone(&agreement), otherwise, preset }, agreement))
    }

    /// Also records our policy's reasons, for observers that want them.
    pub fn with_reasons(self) -> Watcher {
        self.agreement.borrow_mut().referee.note_reasons();
        self
    }
}

impl Agreement {
    /// `{kinds, disagreements, topology, pelt}`, the first two as the JSON contract says.
    pub fn json(&self) -> Value {
        let disagreements: Vec<Value> = self.referee.disagreements().iter().map(|d| d.json()).collect();
        json!({
            "kinds": self.referee.tally().json(),
            "disagreements": disagreements,
            "topology": self.topology,
            "pelt": self.pelt.json(),
        })
    }
}

impl KernelObserver for Watcher {
    fn interests(&self) -> Interests {
        let asked = self.agreement.borrow().asked;
        let WatchOptions { picks, pelt, balance, schedutil: frequencies } = asked;
        Interests { placements: true, picks, steps: picks, pelt, balance, frequencies }
    }

    fn placing(&mut self, kernel: &Reader, p: &KsPlacement) {
        let (state, placement) = (KernelState::new(kernel.kernel()), placement(p));
        let mut agreement = self.agreement.borrow_mut();
        if !std::mem::replace(&mut agreement.compared, true) {
            agreement.topology = compare_topology(&state, agreement.referee.sandbox_mut());
        }
        if p.is_fair != 0 {
            agreement.referee.placing(&state, &placement);
        }
    }

    fn targeted(&mut self, _kernel: &Reader, cpu: CpuId) {
        self.agreement.borrow_mut().referee.targeted(cpu);
    }

    fn placed(&mut self, kernel: &Reader, p: &KsPlacement) -> Option<u16> {
        if p.is_fair == 0 {
            return None;
        }
        let rule = self.agreement.borrow_mut().referee.placed(&KernelState::new(kernel.kernel()), p.chosen as CpuId);
        let number = rule.and_then(|name| rules().iter().position(|rule| rule.name == name));
        Some(number.unwrap_or(rules().len()) as u16)
    }

    fn reasons(&mut self, tell: &mut dyn FnMut(Reason)) {
        let agreement = self.agreement.borrow();
        let Some((cpu, name)) = agreement.referee.otherwise() else {
            return agreement.referee.reasons().for_each(tell);
        };
        // What our policy looked at is not what the kernel did.
        if let Some(rule) = rules().iter().position(|rule| rule.name == name) {
            tell(Reason { note: OTHERWISE + rule as u16, rule: NO_RULE, cpu: Some(cpu), numbers: [0; 3] });
        }
    }

    fn take_pick(&mut self) -> Option<PickReport> {
        self.agreement.borrow_mut().referee.take_report()
    }

    fn take_left(&mut self) -> Vec<LeftBehind> {
        self.agreement.borrow_mut().referee.take_changes()
    }

    fn picking(&mut self, kernel: &Reader, cpu: CpuId, group: u32, protect: bool) {
        self.agreement.borrow_mut().referee.picking(&KernelState::new(kernel.kernel()), cpu, group, protect);
    }

    fn picked(&mut self, _kernel: &Reader, _cpu: CpuId, entity: Option<KernelEntity>) {
        self.agreement.borrow_mut().referee.picked(entity);
    }

    fn stepping(&mut self, kernel: &Reader, step: &KsStep) {
        let Some(step) = queue_step(step) else { return };
        self.agreement.borrow_mut().referee.stepping(&KernelState::new(kernel.kernel()), &step);
    }

    fn stepped(&mut self, kernel: &Reader, step: &KsStep) {
        let Some(step) = queue_step(step) else { return };
        self.agreement.borrow_mut().referee.stepped(&KernelState::new(kernel.kernel()), &step);
    }

    fn walking(&mut self, kernel: &Reader, walk: &KsWalk) {
        let state = KernelState::new(kernel.kernel());
        self.agreement.borrow_mut().referee.walking(&state, walk.cpu as CpuId, walk.kind);
    }

    fn walked(&mut self, kernel: &Reader, _walk: &KsWalk) {
        self.agreement.borrow_mut().referee.walked(&KernelState::new(kernel.kernel()));
    }

    fn pelt(&mut self, _kernel: &Reader, update: &KsPelt) {
        // SAFETY: the name of a function, a constant of the library.
        let place = unsafe { CStr::from_ptr(update.function) }.to_str().unwrap_or("unknown");
        let step = match update.step {
            KS_PELT_SUM => PeltKind::Sums {
                now: update.now,
                load: update.load,
                runnable: update.runnable,
                running: update.running != 0,
                renewed: update.renewed != 0,
            },
            _ => PeltKind::Averages { weight: update.load },
        };
        let step = PeltStep { place, step, before: unsafe { &*update.before }, after: unsafe { &*update.after } };
        self.agreement.borrow_mut().pelt.check(&step);
    }

    fn balancing(&mut self, kernel: &Reader, pass: &KsBalance) {
        let pass = balance_pass(pass);
        self.agreement.borrow_mut().referee.balancing(&KernelState::new(kernel.kernel()), &pass);
    }

    fn found(&mut self, kernel: &Reader, found: &KsFound) {
        let (group, src) = (found.group as CpuId, id(found.src).map(|cpu| cpu as CpuId));
        let found = Found { group, src, migration: found.migration, imbalance: found.imbalance };
        self.agreement.borrow_mut().referee.found(&KernelState::new(kernel.kernel()), &found);
    }

    fn detached(&mut self, _kernel: &Reader, task: TaskId, from: CpuId, to: CpuId) {
        self.agreement.borrow_mut().referee.detached(task, from, to);
    }

    fn balanced(&mut self, kernel: &Reader, pass: &KsBalance) {
        let (state, ours, moved) = (KernelState::new(kernel.kernel()), pass.ours != 0, pass.moved);
        self.agreement.borrow_mut().referee.balanced(&state, &balance_pass(pass), ours, moved);
    }

    fn pushing(&mut self, kernel: &Reader, cpu: CpuId) {
        self.agreement.borrow_mut().referee.pushing(&KernelState::new(kernel.kernel()), cpu);
    }

    fn pushed(&mut self, kernel: &Reader, _cpu: CpuId) {
        self.agreement.borrow_mut().referee.pushed(&KernelState::new(kernel.kernel()));
    }

    fn scanning(&mut self, kernel: &Reader, task: TaskId) {
        self.agreement.borrow_mut().referee.scanning(&KernelState::new(kernel.kernel()), task);
    }

    fn scanned(&mut self, kernel: &Reader, _task: TaskId) {
        self.agreement.borrow_mut().referee.scanned(&KernelState::new(kernel.kernel()));
    }

    fn governing(&mut self, kernel: &Reader, cpu: CpuId, flags: u32) {
        self.agreement.borrow_mut().referee.governing(&KernelState::new(kernel.kernel()), cpu, flags);
    }

    fn governed(&mut self, kernel: &Reader, _cpu: CpuId, khz: Option<u32>) {
        self.agreement.borrow_mut().referee.governed(&KernelState::new(kernel.kernel()), khz);
    }

    fn rules(&self) -> Vec<Rule<'static>> {
        let text = "our policy would have decided otherwise";
        let unexplained = Rule { name: "unexplained", function: "select_task_rq_fair", label: "unexplained", text };
        rules().iter().copied().chain([unexplained]).collect()
    }

    fn pick_rules(&self) -> Vec<Rule<'static>> {
        let text = "our policy would have decided otherwise";
        let unexplained = Unexplained::ALL.map(|how| {
            let (function, label) = match how {
                Unexplained::Pick => ("pick_next_task_fair", "unexplained"),
                Unexplained::Wait => ("check_preempt_wakeup_fair", "unexplained, the current task stays"),
                Unexplained::Preempt => ("check_preempt_wakeup_fair", "unexplained, the woken task preempts"),
            };
            Rule { name: how.name(), function, label, text }
        });
        pick_rules().iter().copied().chain(unexplained).collect()
    }

    fn note_text(&self, note: u16) -> &'static str {
        let otherwise = note.checked_sub(OTHERWISE).and_then(|rule| self.otherwise.get(usize::from(rule)));
        otherwise.map_or_else(|| note_text(note), String::as_str)
    }

    fn notes(&self) -> Vec<String> {
        let preset = &self.preset;
        vec![format!(
            "rules and reasons are those of {preset} on the kernel's state, where both decide alike; the kernel's code \
             may have decided so in another way"
        )]
    }
}

fn balance_pass(pass: &KsBalance) -> Pass {
    Pass { cpu: pass.cpu as CpuId, domain: pass.domain as usize, kind: pass.kind }
}

/// None: a kind of step that is not known here.
fn queue_step(step: &KsStep) -> Option<Step> {
    let kind = match step.kind {
        KS_STEP_ENQUEUE => StepKind::Enqueue,
        KS_STEP_REQUEUE => StepKind::Requeue,
        KS_STEP_DEQUEUE => StepKind::Dequeue,
        KS_STEP_WAKEUP => StepKind::Wakeup,
        KS_STEP_TICK => StepKind::Tick,
        KS_STEP_YIELD => StepKind::Yield,
        KS_STEP_SET_NEXT => StepKind::SetNext,
        KS_STEP_SET_AGAIN => StepKind::SetAgain,
        KS_STEP_IDLE => StepKind::Idle,
        _ => return None,
    };
    let KsStep { cpu, flags, resched, grouped, .. } = *step;
    Some(Step { cpu: cpu as CpuId, task: id(step.task), kind, flags, resched, grouped: grouped != 0 })
}

fn placement(p: &KsPlacement) -> Placement {
    let kind = match p.kind as u32 {
        KS_FORK => Kind::Fork,
        KS_EXEC => Kind::Exec,
        _ => Kind::Wake,
    };
    Placement {
        kind,
        task: p.task as TaskId,
        prev: p.prev as CpuId,
        this_cpu: p.this_cpu as CpuId,
        current: id(p.current),
        flags: p.wake_flags,
    }
}

fn id(number: i32) -> Option<u32> {
    u32::try_from(number).ok()
}

fn index(number: i32) -> Option<usize> {
    usize::try_from(number).ok()
}

/// All numbers that `read` writes where it is told, as many as there is room for. It returns how many there are.
fn list<T>(read: impl Fn(*mut i32, u32) -> u32, of: fn(i32) -> T, to: &mut Vec<T>) {
    let mut numbers = [0i32; 64];
    let mut nr = read(numbers.as_mut_ptr(), numbers.len() as u32) as usize;
    to.clear();
    if nr <= numbers.len() {
        to.extend(numbers[..nr].iter().map(|n| of(*n)));
        return;
    }
    let mut long = vec![0; nr];
    nr = nr.min(read(long.as_mut_ptr(), nr as u32) as usize);
    to.extend(long[..nr].iter().map(|n| of(*n)));
}

impl KernelState {
    /// The reading functions of a loaded kernel.
    pub fn new(kernel: &'static KsKernel) -> KernelState {
        // SAFETY: Kernel::load has looked at the table.
        KernelState { kernel, read: unsafe { &*kernel.read } }
    }
}

/// SAFETY, for all of it: the kernel has booted, CPUs and tasks are its own numbers, and it fills what it is given.
impl State for KernelState {
    fn cpu(&self, cpu: CpuId, to: &mut FgCpu) {
        unsafe { (self.kernel.read_cpu)(cpu as i32, to) }
    }

    fn refs(&self, cpu: CpuId) -> Refs {
        let mut refs = KsCpuRefs::zeroed();
        unsafe { (self.read.refs)(cpu as i32, &mut refs) };
        let (curr, fair_curr) = (id(refs.curr), id(refs.fair_curr));
        Refs { curr, fair_curr, next: id(refs.next), last: id(refs.last), skip: id(refs.skip) }
    }

    fn task(&self, task: u32, to: &mut FgTask) {
        unsafe { (self.kernel.read_task)(task as i32, to) }
    }

    fn process_of(&self, task: u32) -> Option<u32> {
        id(unsafe { (self.read.process_of)(task as i32) })
    }

    fn process(&self, process: u32, to: &mut FgProcess) {
        unsafe { (self.read.process)(process as i32, to) }
    }

    fn cache_time(&self, process: u32, cpu: CpuId, to: &mut FgCacheTime) {
        unsafe { (self.read.cache_time)(process as i32, cpu as i32, to) }
    }

    fn llc_counts(&self, cpu: CpuId, to: &mut Vec<u32>) {
        let nr = unsafe { (self.read.llc_counts)(cpu as i32, to.as_mut_ptr(), to.len() as u32) };
        if nr as usize != to.len() {
            to.resize(nr as usize, 0);
            unsafe { (self.read.llc_counts)(cpu as i32, to.as_mut_ptr(), nr) };
        }
    }

    fn sys(&self) -> SysState {
        let mut sys = KsSys::zeroed();
        unsafe { (self.read.sys)(&mut sys) };
        SysState {
            jiffies: sys.jiffies,
            asym_key: sys.asym_key != 0,
            smt_key: sys.smt_key != 0,
            cluster_key: sys.cluster_key != 0,
            uclamp_used: sys.uclamp_used != 0,
            eas: sys.eas != 0,
            sched_cache: sys.sched_cache != 0,
            nr_online: sys.nr_online as usize,
            active: sys.active,
        }
    }

    fn llc(&self, cpu: CpuId, to: &mut FgLlc) -> bool {
        unsafe { (self.read.llc)(cpu as i32, to) == 0 }
    }

    fn balance_shared(&self, cpu: CpuId, to: &mut FgLlc) -> bool {
        unsafe { (self.read.balance_shared)(cpu as i32, to) == 0 }
    }

    fn domain(&self, cpu: CpuId, n: usize, to: &mut FgDomain) -> bool {
        unsafe { (self.read.domain)(cpu as i32, n as u32, to) == 0 }
    }

    fn groups(&self, cpu: CpuId, n: usize, to: &mut Vec<FgGroup>) {
        let (cpu, n) = (cpu as i32, n as u32);
        let nr = unsafe { (self.read.groups)(cpu, n, to.as_mut_ptr(), to.len() as u32) };
        if nr as usize != to.len() {
            to.resize(nr as usize, FgGroup::zeroed());
            unsafe { (self.read.groups)(cpu, n, to.as_mut_ptr(), nr) };
        }
    }

    fn place(&self, cpu: CpuId) -> CpuTopology {
        let mut place = KsPlace::zeroed();
        unsafe { (self.read.place)(cpu as i32, &mut place) };
        CpuTopology {
            llc_id: place.sd_llc_id,
            llc_size: place.sd_llc_size,
            share_id: place.sd_share_id,
            llc: index(place.sd_llc),
            asym: index(place.sd_asym_cpucapacity),
            numa: index(place.sd_numa),
            core: place.core,
        }
    }

    fn queue(&self, cpu: CpuId, group: u32, to: &mut Vec<Option<KernelEntity>>) {
        list(|to, max| unsafe { (self.read.queue)(cpu as i32, group as i32, to, max) }, KernelEntity::of, to);
    }

    fn buddies(&self, cpu: CpuId, group: u32) -> [Option<KernelEntity>; 3] {
        let mut refs = KsQueueRefs::zeroed();
        unsafe { (self.read.queue_refs)(cpu as i32, group as i32, &mut refs) };
        [refs.next, refs.last, refs.skip].map(KernelEntity::of)
    }

    fn nr_groups(&self) -> u32 {
        unsafe { (self.read.nr_groups)() }
    }

    fn group_of(&self, task: u32) -> u32 {
        unsafe { (self.read.group_of)(task as i32) as u32 }
    }

    fn group(&self, group: u32, to: &mut FgTg) -> u32 {
        unsafe { (self.read.group)(group as i32, to) as u32 }
    }

    fn group_cpu(&self, group: u32, cpu: CpuId, to: &mut FgTgCpu) {
        unsafe { (self.read.group_cpu)(group as i32, cpu as i32, to) }
    }

    fn movable(&self, cpu: CpuId, to: &mut Vec<Option<u32>>) {
        list(|to, max| unsafe { (self.read.movable)(cpu as i32, to, max) }, id, to);
    }

    fn root(&self, cpu: CpuId, to: &mut FgRoot) {
        unsafe { (self.read.root)(cpu as i32, to) }
    }

    fn energy(&self, cpu: CpuId, n: usize, to: &mut FgEm, opps: &mut Vec<FgOpp>) -> bool {
        let (cpu, n) = (cpu as i32, n as u32);
        let nr = unsafe { (self.read.energy)(cpu, n, to, opps.as_mut_ptr(), opps.len() as u32) };
        if nr as usize != opps.len() {
            opps.resize(nr as usize, FgOpp::zeroed());
            unsafe { (self.read.energy)(cpu, n, to, opps.as_mut_ptr(), nr) };
        }
        nr > 0
    }

    fn governor(&self, cpu: CpuId, to: &mut FgSugov) -> bool {
        unsafe { (self.read.governor)(cpu as i32, to) == 0 }
    }

    fn governor_cpu(&self, cpu: CpuId, to: &mut FgCpu) {
        unsafe { (self.read.governor_cpu)(cpu as i32, to) }
    }

    fn clock(&self) -> u64 {
        unsafe { (self.read.clock)() }
    }

    fn irq_time(&self, cpu: CpuId) -> u64 {
        unsafe { (self.read.irq_time)(cpu as i32) }
    }

    fn unobserved(&self) -> Vec<String> {
        // SAFETY: a string constant of the library.
        let words = unsafe { CStr::from_ptr(self.read.unobserved) }.to_string_lossy().into_owned();
        words.split_whitespace().map(String::from).collect()
    }
}
