//! What our policy would have chosen at each wakeup of a recording, and how sure that is.
//!
//! The recording is replayed on the policy's own state ([`fairground_fair::ReplayedState`]). The recording says which
//! thread runs, waits or sleeps on which CPU. The policy computes load, utilization and wakees from that. It is asked
//! for a CPU just before each recorded wakeup is applied. The recording does not show what ran before it began. So
//! several states are possible: in one nothing had run before, in another everything had. If all of them lead to the
//! same CPU, and nothing else that the recording leaves open changes it, the answer is [`Confidence::Sure`].
//!
//! | module | what |
//! |---|---|
//! | this one | the answers |
//! | `events` | applies the events of a trace to the states |
//! | `threads` | threads by pid |
//! | `tally` | how often the recording agrees |
//! | `whatif` | [`WhatIf`]: a question about a trace, and the answer for people and programs |
//!
//! No recording shows everything; the rest is assumed. A thread is SCHED_OTHER, in the root task group, and allowed on
//! all CPUs, except for kernel threads whose name binds them to a CPU. Its nice value follows from its priority in
//! sched_switch and is 0 before the first. Interrupts take no time. [`Counterfactual::notes`] lists these assumptions.
//!
//! A CPU that switched to its idle task idles until another event. Recordings lack events: a thread that acts on an
//! idle CPU has been switched to without a recorded sched_switch. If the idle task of a CPU has no event at all in the
//! recording, that CPU may be busy although it seems to idle.

mod events;
mod tally;
mod threads;
mod whatif;

use std::collections::{BTreeMap, BTreeSet};

use fairground_fair::ffi::{FgVerdict, FgWhy, FG_TASK_PERCPU_KTHREAD, FG_WF_IRQ, FG_WF_SYNC, FG_WF_TTWU};
use fairground_fair::{reasons, rule_name, FairError, Features, InitialState, Placing, ReplayConfig, ReplayedState};
use fairground_machine::{CpuId, CpuMask, Machine};
use fairground_sim::NO_RULE;
use fairground_trace::placements::{Cause, Placement, Step, Task};
use fairground_trace::{AtDecision, Note, RuleNames, TraceEvent};

pub use tally::{Agreement, AgreementCounts, Disagreement, RelativeCpu, RuleAgreement};
use threads::Threads;
pub use whatif::{Found, Report, WhatIf, WhatIfError};

/// How sure an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// The answer does not depend on anything that the recording leaves open.
    Sure,
    /// It depends on what ran before the recording began.
    Before,
    /// Like `Before`, while some CPU has had no event yet. Or it depends on a CPU that switched to its idle task, and
    /// that idle task has no event in the recording.
    Unseen,
    /// It depends on whether an interrupt did the wakeup, which the recording does not show.
    Interrupt,
    /// It depends on whether the wakeup was sync (the waker is about to sleep), which the recording does not show.
    Sync,
    /// It depends on which sleepers are still queued (delayed dequeue). Virtual time decides that to the nanosecond.
    Queued,
    /// It depends on what the last load balancing stored for idle CPU scans. No recording shows when that was.
    Balance,
}

impl Confidence {
    /// The name in JSON documents.
    pub fn word(self) -> &'static str {
        ["sure", "before", "unseen", "interrupt", "sync", "queued", "balance"][self as usize]
    }

    /// The explanation that text shows.
    pub fn text(self) -> &'static str {
        match self {
            Confidence::Sure => "sure",
            Confidence::Before => "depends on what ran before the trace began",
            Confidence::Unseen => "depends on a CPU whose activity the trace does not show",
            Confidence::Interrupt => "depends on whether an interrupt did the wakeup, which the trace does not show",
            Confidence::Sync => "depends on whether the waker was about to sleep, which the trace does not show",
            Confidence::Balance => "depends on what load balancing last found, which the trace does not show",
            Confidence::Queued => "depends on which sleepers were still queued, which the trace does not show",
        }
    }
}

/// The rule of a wakeup at which no CPU is chosen.
pub const QUEUED: &str = "queued";

/// A wakeup with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedWakeup {
    /// The wakeup with the placement that our policy would have made.
    pub ours: Placement,
    /// The CPU of the recording.
    pub recorded: CpuId,
    /// The rule that chose it, if the recording names one.
    pub recorded_rule: Option<String>,
    /// How sure the answer is.
    pub confidence: Confidence,
    /// All possible answers, that of `ours` included, ascending.
    pub possible: Vec<CpuId>,
}

impl JudgedWakeup {
    /// Whether the recorded CPU is the one that our policy chooses.
    pub fn agrees(&self) -> bool {
        self.ours.chosen == self.recorded
    }
}

/// How often events could not be judged or were inconsistent, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Wakeups of threads that were runnable: no CPU is chosen.
    pub runnable: u64,
    /// Wakeups of threads that were being switched out: the recording does not show whether a CPU was chosen.
    pub leaving: u64,
    /// Wakeups without sched_waking.
    pub without_waking: u64,
    /// Wakeups of which the trace has a sched_waking and no sched_wakeup.
    pub open: u64,
    /// Wakeups of real-time and deadline threads.
    pub real_time: u64,
    /// Threads that ran without having been woken.
    pub unwoken: u64,
    /// Threads that act on an idle CPU without a recorded switch to them.
    pub appeared: u64,
    /// Switches and migrations that contradict earlier events.
    pub contradictions: u64,
    /// Events with a time before that of the previous event, which they are given instead.
    pub backwards: u64,
    /// Threads that were forgotten because there were too many.
    pub forgotten: u64,
}

/// An event names this CPU, which the machine does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSuchCpu(pub u32);

/// Settings of the recorded system, which recordings do not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordingConfig {
    /// Ticks per second.
    pub hz: u32,
    /// Whether schedutil was the frequency governor.
    pub schedutil: bool,
    /// The CPUs that all threads are bound to; `None`: threads are not bound.
    pub allowed: Option<CpuMask>,
}

/// What a CPU does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Running {
    /// The CPU has had no event yet.
    Unknown,
    Idle,
    /// The stopper, or another thread that the policy does not place.
    Stopper,
    Runs(u32),
}

/// A wakeup whose sched_wakeup has not come yet.
#[derive(Clone, Debug)]
struct OpenWakeup {
    /// `None` if the wakeup is not judged.
    judged: Option<Box<JudgedWakeup>>,
    /// The CPU that the thread goes to according to the events so far.
    to: CpuId,
}

/// Takes the events of a trace one by one and returns each wakeup with its answer.
pub struct Counterfactual<'m> {
    machine: &'m Machine,
    features: Features,
    config: RecordingConfig,
    words: RuleNames,
    /// The possible states; empty before the first event.
    hypotheses: Vec<ReplayedState>,
    /// By state: what an answer depends on if this state gives another answer than the first state.
    depends_on: Vec<Confidence>,
    threads: Threads,
    running: Vec<Running>,
    open: BTreeMap<u32, OpenWakeup>,
    /// Pids of threads that were woken while they ran.
    leaving: BTreeSet<u32>,
    /// From `fairground_woken`, for the next sched_waking: pid, whether an interrupt does the wakeup, whether it is
    /// sync.
    hint: Option<(u32, bool, bool)>,
    /// Whether the trace is one of ours, which says which wakeups are sync.
    ours: bool,
    /// Whether some event has the flags of an interrupt.
    tells_interrupts: bool,
    /// By CPU: whether it has switched to its idle task.
    idled: Vec<bool>,
    /// By CPU: whether its idle task has had an event.
    heard: Vec<bool>,
    /// Whether the trace has uclamp events.
    clamps: bool,
    /// By CPU: whether it has had a cpu_frequency event.
    clocked: Vec<bool>,
    now: u64,
    counts: Counts,
    /// The buffer for reasons; `None` if reasons are not wanted.
    why: Option<Box<FgWhy>>,
    order: AtDecision,
}

impl<'m> Counterfactual<'m> {
    /// A replay of a trace of this machine. `words`: the texts of our rules and notes.
    ///
    /// # Errors
    /// If the policy does not support the machine.
    pub fn new(
        machine: &'m Machine,
        features: &Features,
        config: RecordingConfig,
        words: RuleNames,
    ) -> Result<Counterfactual<'m>, FairError> {
        let counterfactual = Counterfactual {
            machine,
            features: features.clone(),
            config,
            words,
            hypotheses: Vec::new(),
            depends_on: Vec::new(),
            threads: Threads::default(),
            running: vec![Running::Unknown; machine.nr_cpus()],
            open: BTreeMap::new(),
            leaving: BTreeSet::new(),
            hint: None,
            ours: false,
            tells_interrupts: false,
            idled: vec![false; machine.nr_cpus()],
            heard: vec![false; machine.nr_cpus()],
            clamps: false,
            clocked: vec![false; machine.nr_cpus()],
            now: 0,
            counts: Counts::default(),
            why: None,
            order: AtDecision::default(),
        };
        // So that a fault of the machine is reported before the trace is read.
        counterfactual.hypothesis(InitialState::Boot, false)?;
        Ok(counterfactual)
    }

    /// Sets whether answers have reasons from now on.
    pub fn ask_why(&mut self, why: bool) {
        match why {
            true if self.why.is_none() => self.why = Some(Box::new(FgWhy::zeroed())),
            true => {}
            false => self.why = None,
        }
    }

    /// Applies the next event. Returns a judged wakeup with the sched_wakeup that completes it.
    ///
    /// # Errors
    /// If the event names a CPU that the machine does not have.
    pub fn event(&mut self, event: &TraceEvent) -> Result<Option<JudgedWakeup>, NoSuchCpu> {
        let judged = self.take(event)?;
        Ok(judged.map(|judged| *judged))
    }

    /// What could not be judged so far, including wakeups that are still open.
    pub fn counts(&self) -> Counts {
        let open = self.open.values().filter(|open| open.judged.is_some()).count() as u64;
        Counts { open: self.counts.open + open, ..self.counts }
    }

    /// The `n`-th possible state. In the first one nothing ran before the recording. `None` before the first event and
    /// after the last state.
    pub fn hypothesis_state(&self, n: usize) -> Option<&ReplayedState> {
        self.hypotheses.get(n)
    }

    fn hypothesis(&self, before: InitialState, none_delayed: bool) -> Result<ReplayedState, FairError> {
        let RecordingConfig { hz, schedutil, .. } = self.config;
        let now = if before == InitialState::Boot { 0 } else { self.now };
        ReplayedState::new(
            self.machine,
            &self.features,
            &ReplayConfig { hz, schedutil, initial: before, now, none_delayed },
        )
    }

    /// The assumptions behind the answers, and what could not be judged.
    pub fn notes(&self) -> Vec<Note> {
        let mut notes = vec![Note::Hint(format!(
            "policies, affinities{} and groups are not read from traces: every thread is assumed to be SCHED_OTHER and \
             allowed on all CPUs, with nice 0 until a sched_switch shows its priority",
            if self.clamps { "" } else { ", clamps" }
        ))];
        if !self.ours {
            notes.push(Note::Hint("the trace does not say which wakeups were sync: both cases were tried".into()));
        }
        let unclocked = self.clocked.iter().filter(|clocked| !**clocked).count();
        if unclocked > 0 && !self.ours {
            let guessed = format!("no cpu_frequency of {unclocked} CPUs: taken to run at full speed throughout");
            notes.push(Note::Loss(guessed));
        }
        let unseen = self.running.iter().filter(|doing| **doing == Running::Unknown).count();
        if unseen > 0 {
            notes.push(Note::Loss(format!("no event of {unseen} CPUs: they may be idle or busy")));
        }
        let unheard = self.idled.iter().zip(&self.heard).filter(|(idled, heard)| **idled && !**heard).count();
        if unheard > 0 && !self.ours {
            let silent = format!("the idle tasks of {unheard} CPUs have no event: such a CPU may be idle or busy");
            notes.push(Note::Loss(silent));
        }
        let counts = self.counts();
        notes.extend(Note::hints(&[(counts.runnable, "wakeups of runnable threads: no CPU was chosen")]));
        notes.extend(Note::losses(&[
            (counts.leaving, "wakeups of threads that were still being switched out: not judged"),
            (counts.without_waking, "wakeups without sched_waking: not judged"),
            (counts.open, "wakeups without sched_wakeup: not judged"),
            (counts.real_time, "wakeups of real-time or deadline threads: not judged"),
            (counts.unwoken, "threads ran without a recorded wakeup"),
            (counts.appeared, "threads acted on an idle CPU without a sched_switch to them"),
            (counts.contradictions, "switches and migrations contradict earlier events"),
            (counts.backwards, "events are out of order in time: taken to happen together with the event before"),
            (counts.forgotten, "threads were forgotten: too many at a time"),
        ]));
        notes
    }

    /// Judges the wakeup of a sleeper. Afterwards all states have applied the placement, except for the CPU it went to.
    fn judge(&mut self, event: &TraceEvent, task: u32, prev: CpuId, hint: Option<(bool, bool)>) -> JudgedWakeup {
        let (interrupt, sync) = hint.unwrap_or((event.in_interrupt || event.context.pid == 0, false));
        let current = match self.running[event.cpu as usize] {
            Running::Runs(pid) => self.threads.id(pid),
            _ => None,
        };
        let flags = FG_WF_TTWU | if interrupt { FG_WF_IRQ } else { 0 } | if sync { FG_WF_SYNC } else { 0 };
        let placing = Placing { task, current, now: self.now, this_cpu: event.cpu, flags };
        let mut why = self.why.take();
        let verdict = self.hypotheses[0].select(&placing, why.as_deref_mut());
        let steps = match (&why, &verdict) {
            (Some(why), Some(_)) => self.steps(flags, why),
            _ => Vec::new(),
        };
        self.why = why;
        let (confidence, possible) = self.confidence(&placing, verdict.as_ref(), prev);
        for past in &mut self.hypotheses {
            if let Some(verdict) = past.select(&placing, None) {
                past.commit(&placing, &verdict);
            }
        }
        let chosen = cpu_of(verdict.as_ref(), prev);
        let rule = verdict.as_ref().map_or(QUEUED, |v| rule_name(v.rule)).to_owned();
        let verdict = verdict.unwrap_or(FgVerdict::zeroed());
        let ours = Placement {
            time: self.now,
            cause: Cause::Wake,
            task: self.threads.task(task),
            on_cpu: event.cpu,
            by: Task::from(event.context),
            prev,
            chosen,
            rule,
            probes: u64::from(verdict.probes),
            group_cpus: u64::from(verdict.group_cpus) + u64::from(verdict.energy_cpus),
            pull: None,
            steps,
        };
        JudgedWakeup { ours, recorded: prev, recorded_rule: None, confidence, possible }
    }

    fn steps(&self, flags: u32, why: &FgWhy) -> Vec<Step> {
        let step = |reason: fairground_sim::Reason| Step {
            rule: (reason.rule != NO_RULE).then(|| self.words.rule(reason.rule).name.to_owned()),
            note: reason.note,
            cpu: reason.cpu,
            numbers: reason.numbers,
            text: self.words.clause(&reason),
        };
        reasons(flags, why).map(step).collect()
    }

    /// CPUs that switched to an idle task that has no event in the recording.
    fn unheard(&self) -> impl Iterator<Item = CpuId> + '_ {
        let silent = (0..).zip(self.running.iter().zip(&self.heard));
        let unheard = silent.filter(|(_, (doing, heard))| !self.ours && **doing == Running::Idle && !**heard);
        unheard.map(|(cpu, _)| cpu)
    }

    /// The confidence in the answer and all possible answers: in the other states, for a sync wakeup, for a wakeup by
    /// an interrupt, and with CPUs busy that only seem to idle.
    fn confidence(&mut self, placing: &Placing, first: Option<&FgVerdict>, prev: CpuId) -> (Confidence, Vec<CpuId>) {
        let chosen = cpu_of(first, prev);
        let mut answers = self.in_all_states(placing, prev);
        let mut otherwise = Vec::new();
        if !self.ours {
            otherwise.push((Confidence::Sync, placing.flags | FG_WF_SYNC));
        }
        if self.may_be_interrupt(placing) {
            otherwise.push((Confidence::Interrupt, placing.flags | FG_WF_IRQ));
        }
        for (by, flags) in otherwise {
            let placing = Placing { flags, ..*placing };
            answers.extend(self.in_all_states(&placing, prev).into_iter().map(|(_, cpu)| (by, cpu)));
        }
        answers.extend(self.if_unheard_are_busy(placing, chosen, prev));
        let depends = answers.iter().filter(|(_, cpu)| *cpu != chosen).map(|(confidence, _)| *confidence).min();
        let confidence = match depends {
            None => Confidence::Sure,
            Some(Confidence::Before) if self.running.contains(&Running::Unknown) => Confidence::Unseen,
            Some(other) => other,
        };
        let mut possible: Vec<CpuId> = answers.into_iter().map(|(_, cpu)| cpu).chain([chosen]).collect();
        possible.sort_unstable();
        possible.dedup();
        (confidence, possible)
    }

    /// Whether an interrupt may have done the wakeup and it matters: the policy treats a wakeup by a per-CPU kernel
    /// thread specially.
    fn may_be_interrupt(&self, placing: &Placing) -> bool {
        let known = self.ours || self.tells_interrupts || placing.flags & FG_WF_IRQ != 0;
        let is_kernels = |task| self.hypotheses[0].task(task).flags & FG_TASK_PERCPU_KTHREAD != 0;
        !known && placing.current.is_some_and(is_kernels)
    }

    /// The answers if CPUs are busy whose idle tasks have no event: all of these CPUs, and only the chosen one.
    fn if_unheard_are_busy(&mut self, placing: &Placing, chosen: CpuId, prev: CpuId) -> Vec<(Confidence, CpuId)> {
        let all: CpuMask = self.unheard().collect();
        if all.first().is_none() {
            return Vec::new();
        }
        let mut ways = vec![all];
        if all.test(chosen) {
            ways.push([chosen].into_iter().collect());
        }
        let mut answers = Vec::new();
        for past in &mut self.hypotheses {
            for busy in &ways {
                let verdict = past.select_if_busy(placing, busy);
                answers.push((Confidence::Unseen, cpu_of(verdict.as_ref(), prev)));
            }
        }
        answers
    }

    /// The answer in each state, with what the answer depends on if it differs from the first.
    fn in_all_states(&mut self, placing: &Placing, prev: CpuId) -> Vec<(Confidence, CpuId)> {
        let states = self.depends_on.iter().zip(&mut self.hypotheses);
        let cpu = |(depends, past): (&Confidence, &mut ReplayedState)| {
            (*depends, cpu_of(past.select(placing, None).as_ref(), prev))
        };
        let mut answers: Vec<(Confidence, CpuId)> = states.map(cpu).collect();
        // The state in which everything had run before the recording.
        let everything = self.depends_on.iter().position(|depends| *depends == Confidence::Before);
        if self.hypotheses[0].may_be_queued(placing.task) {
            answers.push((Confidence::Queued, prev));
        }
        for (all, idle_cores) in [(false, false), (false, true), (true, false), (true, true)] {
            let verdict = self.hypotheses[0].select_after_look(placing, all, idle_cores);
            answers.push((Confidence::Balance, cpu_of(verdict.as_ref(), prev)));
        }
        let Some(everything) = everything else { return answers };
        // wake_wide() is true if one of the two tasks has switched wakees often (sd_llc_size), and the other so many times
        // more often. Both counts lie between those of the two states: also ask where one is just large enough and the
        // other as large as possible, which makes it true if anything does.
        let (low, high) = (self.hypotheses[0].flips(placing), self.hypotheses[everything].flips(placing));
        let often = |n: usize| {
            self.hypotheses[0].cpu(placing.this_cpu).sd_llc_size.clamp(low[n].min(high[n]), high[n].max(low[n]))
        };
        let corners = if low == high { Vec::new() } else { vec![[high[0], often(1)], [often(0), high[1]]] };
        for flips in corners {
            for past in &mut self.hypotheses {
                answers.push((Confidence::Before, cpu_of(past.select_with_flips(placing, flips).as_ref(), prev)));
            }
        }
        answers
    }
}

/// The CPU of a verdict; `prev` if no CPU is chosen.
fn cpu_of(verdict: Option<&FgVerdict>, prev: CpuId) -> CpuId {
    verdict.map_or(prev, |v| CpuId::try_from(v.cpu).unwrap_or(prev))
}

#[cfg(test)]
mod tests;
