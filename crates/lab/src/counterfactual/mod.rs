//! What our policy would have chosen at each wakeup of a recording, and how sure that is.
//!
//! The recording is repeated on the policy's own state ([`fairground_fair::ReplayedState`]): who runs, waits and sleeps where is what
//! was recorded, and load, utilization and wakees follow from it. Before each wakeup is repeated the policy is asked. What was
//! before the recording nobody knows, so this is done twice: as if nothing had run before, and as if everything had. Where
//! both lead to the same CPU the answer is [`Confidence::Sure`].
//!
//! | module | what |
//! |---|---|
//! | this one | the answers |
//! | `events` | from events to states |
//! | `threads` | threads by pid |
//! | `tally` | how often the recording agrees |
//! | `whatif` | [`WhatIf`]: a question about a trace, and the answer for people and programs |
//!
//! What is in no recording is assumed: a thread is SCHED_OTHER with the nice value of its priority, 0 until that is told, in no
//! group, and may use all CPUs, but for kernel threads that are bound by their name; interrupts take no time.
//! [`Counterfactual::notes`] says so.
//!
//! A CPU that was left to its idle task idles until an event tells otherwise, and recordings lack events: who does something
//! there has been switched to unseen. As long as its idle task has not left a single event, it may be busy all the same.

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
use fairground_trace::{AtDecision, RuleNames, TraceEvent};

pub use tally::{Agreement, Disagreement, RelativeCpu, RuleAgreement, Tally};
use threads::Threads;
pub use whatif::{Found, Report, WhatIf, WhatIfError};

/// How sure an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Whatever was before the recording, the answer is this.
    Sure,
    /// It depends on what ran before the recording began.
    Before,
    /// The same, and of some CPU nothing was recorded yet; or it depends on a CPU that was left to its idle task, of which
    /// nothing was ever recorded.
    Unseen,
    /// It depends on whether it was an interrupt that woke, which the recording does not tell.
    Interrupt,
    /// It depends on whether the waker said that it is about to sleep, which the recording does not tell.
    Sync,
    /// It depends on which sleepers are still queued, which virtual time decides to the nanosecond.
    Queued,
    /// It depends on what the last look for imbalance left behind for scans: no recording tells when that was.
    Balance,
}

impl Confidence {
    /// As documents have it.
    pub fn word(self) -> &'static str {
        ["sure", "before", "unseen", "interrupt", "sync", "queued", "balance"][self as usize]
    }

    /// The step as text.
    pub fn text(self) -> &'static str {
        match self {
            Confidence::Sure => "sure",
            Confidence::Before => "depends on what ran before the trace began",
            Confidence::Unseen => "depends on a CPU of which the trace does not tell what it does",
            Confidence::Interrupt => "depends on whether an interrupt woke, which the trace does not tell",
            Confidence::Sync => "depends on whether the waker was about to sleep, which the trace does not tell",
            Confidence::Balance => "depends on what balancing last found, which the trace does not tell",
            Confidence::Queued => "depends on which sleepers were still queued, which the trace does not tell",
        }
    }
}

/// The rule of a wakeup at which no CPU is chosen.
pub const QUEUED: &str = "queued";

/// A wakeup with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedWakeup {
    /// The occasion, and the placement that our policy would have made.
    pub ours: Placement,
    /// The CPU of the recording.
    pub recorded: CpuId,
    /// The rule by which that was chosen, if the recording says so.
    pub recorded_rule: Option<String>,
    /// How sure the answer is.
    pub confidence: Confidence,
    /// All CPUs that it may be, that of `ours` among them, ascending.
    pub possible: Vec<CpuId>,
}

impl JudgedWakeup {
    /// The recording went where our policy would have gone.
    pub fn agrees(&self) -> bool {
        self.ours.chosen == self.recorded
    }
}

/// What was seen and could not be judged, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Wakeups of threads that were runnable: no CPU is chosen.
    pub runnable: u64,
    /// Wakeups of threads that were being switched away: whether a CPU was chosen is not told.
    pub leaving: u64,
    /// Wakeups without sched_waking.
    pub without_waking: u64,
    /// Wakeups whose end is not in the trace.
    pub open: u64,
    /// Wakeups of threads of real time or with a deadline.
    pub real_time: u64,
    /// Threads that ran without having been woken.
    pub unwoken: u64,
    /// Threads that appear on a CPU whose last event is its going idle.
    pub appeared: u64,
    /// Switches and moves that contradict what was seen before.
    pub contradictions: u64,
    /// Events before their predecessors, taken to happen with them.
    pub backwards: u64,
    /// Threads of which nothing is known any more, for there were too many.
    pub forgotten: u64,
}

/// A recording has an event of this CPU, which the machine lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSuchCpu(pub u32);

/// Settings of a recorded system that no recording tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordingConfig {
    /// Ticks per second.
    pub hz: u32,
    /// schedutil set the clocks.
    pub schedutil: bool,
    /// What all threads are bound to; none: nothing.
    pub allowed: Option<CpuMask>,
}

/// What a CPU does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Running {
    /// Not told yet.
    Unknown,
    Idle,
    /// The stopper, or what else is no thread to place.
    Stopper,
    Runs(u32),
}

/// A wakeup that is under way.
#[derive(Clone, Debug)]
struct OpenWakeup {
    /// None: it is not judged.
    judged: Option<Box<JudgedWakeup>>,
    /// Where it is taken to go so far.
    to: CpuId,
}

/// Takes the events of a trace one by one, and gives the wakeups with their answers.
pub struct Counterfactual<'m> {
    machine: &'m Machine,
    features: Features,
    config: RecordingConfig,
    words: RuleNames,
    /// One for each state that is possible; none before the first event.
    hypotheses: Vec<ReplayedState>,
    /// What an answer depends on that is another one in a state than in the first.
    depends_on: Vec<Confidence>,
    threads: Threads,
    running: Vec<Running>,
    open: BTreeMap<u32, OpenWakeup>,
    /// Pids of those that were woken while they had a CPU.
    leaving: BTreeSet<u32>,
    /// From `fairground_woken`, for the next sched_waking: pid, whether an interrupt wakes it, sync.
    hint: Option<(u32, bool, bool)>,
    /// The trace is one of ours: it says which wakeups are sync.
    ours: bool,
    /// The trace has interrupt events.
    tells_interrupts: bool,
    /// By CPU: it was left to its idle task, and that has left an event.
    idled: Vec<bool>,
    heard: Vec<bool>,
    /// Clamps were told of.
    clamps: bool,
    /// Clocks were told of, by CPU.
    clocked: Vec<bool>,
    now: u64,
    counts: Counts,
    /// Reasons are wanted, and room for them.
    why: Option<Box<FgWhy>>,
    order: AtDecision,
}

impl<'m> Counterfactual<'m> {
    /// An importer for a trace of this machine. `words`: what our rules and notes say.
    ///
    /// # Errors
    /// A machine that the policy cannot be on.
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
        // What is wrong with the machine is to be known before the trace is read.
        counterfactual.hypothesis(InitialState::Boot, false)?;
        Ok(counterfactual)
    }

    /// From now on answers have the reasons that led to them, or not.
    pub fn ask_why(&mut self, why: bool) {
        match why {
            true if self.why.is_none() => self.why = Some(Box::new(FgWhy::zeroed())),
            true => {}
            false => self.why = None,
        }
    }

    /// One more event. A wakeup comes with the event that says where it went.
    ///
    /// # Errors
    /// An event of a CPU that the machine lacks.
    pub fn event(&mut self, event: &TraceEvent) -> Result<Option<JudgedWakeup>, NoSuchCpu> {
        let judged = self.take(event)?;
        Ok(judged.map(|judged| *judged))
    }

    /// What could not be judged so far; wakeups that are still open are among it.
    pub fn counts(&self) -> Counts {
        let open = self.open.values().filter(|open| open.judged.is_some()).count() as u64;
        Counts { open: self.counts.open + open, ..self.counts }
    }

    /// The state of a past that is possible, the one in which nothing was first; none before the first event, or beyond the
    /// last.
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

    /// What must be said of the answers.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = vec![format!(
            "policies, affinities{} and groups are not read from traces: every thread is taken for SCHED_OTHER that may use \
             all CPUs, with nice 0 until a switch to it tells its priority",
            if self.clamps { "" } else { ", clamps" }
        )];
        if !self.ours {
            notes.push("which wakeups were sync is not told: both were tried".into());
        }
        let untold = self.clocked.iter().filter(|told| !**told).count();
        if untold > 0 && !self.ours {
            notes.push(format!("no cpu_frequency of {untold} CPUs: taken to run at full speed throughout"));
        }
        let unseen = self.running.iter().filter(|doing| **doing == Running::Unknown).count();
        if unseen > 0 {
            notes.push(format!("no event of {unseen} CPUs: idle or busy, nobody knows"));
        }
        let unheard = self.idled.iter().zip(&self.heard).filter(|(idled, heard)| **idled && !**heard).count();
        if unheard > 0 && !self.ours {
            notes
                .push(format!("the idle tasks of {unheard} CPUs leave no event: whether such a CPU idles is not sure"));
        }
        let counts = self.counts();
        let several = [
            (counts.leaving, "wakeups met threads that were still being switched away: not judged"),
            (counts.runnable, "wakeups met runnable threads: no CPU was chosen"),
            (counts.without_waking, "wakeups have no sched_waking: not judged"),
            (counts.open, "wakeups have no end in the trace: not judged"),
            (counts.real_time, "wakeups of threads of real time or with a deadline: not judged"),
            (counts.unwoken, "threads ran without having been woken"),
            (counts.appeared, "threads were switched to unseen on an idle CPU"),
            (counts.contradictions, "switches and moves contradict what was seen before"),
            (counts.backwards, "events are older than their predecessors, and taken to happen with them"),
            (counts.forgotten, "threads were forgotten: there are too many"),
        ];
        notes.extend(several.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")));
        notes
    }

    /// The answer for a sleeper about to be placed; the states have the placement behind them, but for the CPU.
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

    /// CPUs that were left to an idle task that has left no event.
    fn unheard(&self) -> impl Iterator<Item = CpuId> + '_ {
        let silent = (0..).zip(self.running.iter().zip(&self.heard));
        let unheard = silent.filter(|(_, (doing, heard))| !self.ours && **doing == Running::Idle && !**heard);
        unheard.map(|(cpu, _)| cpu)
    }

    /// What else the answer may be: in the other states, if the wakeup was sync, and if an interrupt woke.
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

    /// Whether nobody knows if it is an interrupt that wakes: the policy cares where it meets a kernel thread of its CPU.
    fn may_be_interrupt(&self, placing: &Placing) -> bool {
        let told = self.ours || self.tells_interrupts || placing.flags & FG_WF_IRQ != 0;
        let is_kernels = |task| self.hypotheses[0].task(task).flags & FG_TASK_PERCPU_KTHREAD != 0;
        !told && placing.current.is_some_and(is_kernels)
    }

    /// The CPU if somebody runs where idle tasks leave no event: there, and only on the CPU that would be chosen.
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

    /// The CPU in each state, with what it depends on if that is another one than in the first.
    fn in_all_states(&mut self, placing: &Placing, prev: CpuId) -> Vec<(Confidence, CpuId)> {
        let states = self.depends_on.iter().zip(&mut self.hypotheses);
        let cpu = |(depends, past): (&Confidence, &mut ReplayedState)| {
            (*depends, cpu_of(past.select(placing, None).as_ref(), prev))
        };
        let mut answers: Vec<(Confidence, CpuId)> = states.map(cpu).collect();
        let everything = self.depends_on.iter().position(|depends| *depends == Confidence::Before);
        if self.hypotheses[0].may_be_queued(placing.task) {
            answers.push((Confidence::Queued, prev));
        }
        for (all, idle_cores) in [(false, false), (false, true), (true, false), (true, true)] {
            let verdict = self.hypotheses[0].select_after_look(placing, all, idle_cores);
            answers.push((Confidence::Balance, cpu_of(verdict.as_ref(), prev)));
        }
        let Some(everything) = everything else { return answers };
        // A waker is one of many wakees if one of the two has changed its wakees often, and the other much more often.
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

/// Where a verdict sends a task; no choice leaves it where it is.
fn cpu_of(verdict: Option<&FgVerdict>, prev: CpuId) -> CpuId {
    verdict.map_or(prev, |v| CpuId::try_from(v.cpu).unwrap_or(prev))
}

#[cfg(test)]
mod tests;
