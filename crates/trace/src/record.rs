//! Events in the form in which tracers record them: a name and fields, which each format writes in its own way.
//!
//! The kernel's events have its names and fields. As in the kernel, `sched_waking` comes before the placement and its
//! `target_cpu` is the *previous* CPU; `sched_wakeup`'s is the placement. Priorities are those at birth. If a user has
//! set a clamp, clamps are written as the events of LISA's module (`uclamp_util_se` of a task, `uclamp_util_cfs` of a
//! CPU) whenever the signal they bound enters a new period. On request, the signals of load tracking are written as the
//! module's `sched_pelt_se`, `sched_pelt_cfs`, `sched_util_est_se` and `sched_util_est_cfs`. Events that the kernel does not have (the decision behind a
//! placement, a program's marks, the stopper's work, notes on the run) begin with [`OURS`]:
//!
//! ```text
//! fairground_meta: KEY=VALUE                       at time 0: machine, workload, sched, seed, ...
//! fairground_rule: name=NAME function=FUNCTION label=LABEL text=TEXT
//!                                                  before its first use: the kernel function that decides, by which exit,
//!                                                  and when. All of them at time 0 would be the first hundred events
//! fairground_note: TEXT                            at time 0: what every output of the run must carry
//! fairground_why: pid=PID rule=NAME note=N cpu=CPU a=N b=N c=N text=TEXT
//!                                                  on request, before its decision; rule - and cpu -1: none
//! fairground_decision: kind=wake|fork|exec comm=COMM pid=PID prio=N prev_cpu=N cpu=N rule=NAME probes=N group_cpus=N
//! fairground_balance: kind=busy|idle|newidle|active level=LEVEL src_cpu=N dst_cpu=N unit=load|util|task|misfit amount=N
//!                     rule=NAME moved=N active=0|1 before the migrations that come of it
//! fairground_pick: kind=pick|wakeup|slice comm=COMM pid=PID prio=N cpu=N rule=NAME queued=N lag=N deadline=N protection=N
//!                  curr_comm=COMM curr_pid=PID curr_lag=N curr_deadline=N curr_protection=N
//!                                                  on request: why a fair task runs, waits or leaves; curr_pid 0: none
//! fairground_left: comm=COMM pid=PID cpu=CPU domain=N function=FUNCTION before=N after=N value=NAME
//!                                                  on request: a value that a decision has changed; pid 0, cpu -1,
//!                                                  domain -1: it is of none
//! fairground_woken: pid=PID by=task|interrupt sync=0|1
//!                                                  before its sched_waking, where the waker is not who runs there, or
//!                                                  says that it is about to sleep
//! fairground_switch: prev_comm=COMM prev_pid=PID prev_prio=N prev_state=N next_comm=COMM next_pid=PID next_prio=N cost_ns=N
//!                                                  where a switch to a task is decided; its sched_switch follows
//! fairground_mark: comm=COMM pid=PID prio=N mark=MARK
//! fairground_stopper: event=start|end
//! fairground_hotplug: event=offline|online cpu_id=N
//! fairground_temperature: zone=N temp=MILLIDEGREES
//! fairground_cooling: target=STATE cpu_id=N
//! fairground_energy: rail=N part=active|idleN|transitions|static energy_pj=N
//!                                                  on request: taken since time 0; meta railN has the rail's name
//! ```
//!
//! An event of the engine has the time of its instant, and the CPU pays the cost from then on. A kernel's sched_switch
//! is recorded after the cost. So the sched_switch to a task is held back for its cost, or until another CPU wakes or
//! moves one of its tasks: the engine allows that while the CPU still pays for switching the task out, and the kernel
//! makes it wait. A reader of sched_switch alone then finds the task off its CPU, as it must be, and the latency of the
//! next one short by the rest of the cost. fairground_switch has the whole cost, at the instant. No task waits for a
//! switch to the idle task or to the stopper: it is recorded where it is decided.
//!
//! Between the two the CPU does nothing (its interrupts wait). Events that others cause on it then name the next task.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use fairground_machine::CpuId;
use fairground_sim::{
    Balance, Clamps, Decision, DecisionKind, Event, EventKind, LeftBehind, PickReport, QueuedTask, Reason, Rule,
    Signals, Subject, SwitchState, TaskId, Time, UtilEst, NO_RULE,
};

use crate::names::{RealThread, OURS};
use crate::rtapp_marks::UserEvent;
use crate::{energy, Names, RuleNames};

/// Prefix of the names of events that rt-app's threads write.
pub(crate) const RTAPP: &str = "rtapp_";

/// The waker of a task, where the kernel's event does not show it.
pub(crate) const WOKEN: &str = "fairground_woken";

/// The decision to switch to a task.
pub(crate) const DECIDED: &str = "fairground_switch";

/// The rule of a pick that never was.
const NO_PICK: &str = "none";

/// `state` of cpu_idle when a CPU leaves idle: PWR_EVENT_EXIT, (u32)-1.
pub(crate) const IDLE_EXIT: u32 = u32::MAX;

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Text(Cow<'a, str>),
    Unsigned(u64),
    Signed(i64),
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Value::Text(text) => f.write_str(text),
            Value::Unsigned(n) => n.fmt(f),
            Value::Signed(n) => n.fmt(f),
        }
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::Text(text.into())
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Value::Text(text.into())
    }
}

impl From<u64> for Value<'_> {
    fn from(n: u64) -> Self {
        Value::Unsigned(n)
    }
}

impl From<u32> for Value<'_> {
    fn from(n: u32) -> Self {
        Value::Unsigned(n.into())
    }
}

impl From<i64> for Value<'_> {
    fn from(n: i64) -> Self {
        Value::Signed(n)
    }
}

impl From<i32> for Value<'_> {
    fn from(n: i32) -> Self {
        Value::Signed(n.into())
    }
}

/// Keys and values in the order in which the kernel prints them; a value may have no key.
pub(crate) type Fields<'a> = Vec<(&'a str, Value<'a>)>;

/// An event as it is recorded.
pub(crate) struct Record<'a> {
    /// Virtual time, ns.
    pub time: Time,
    /// CPU on which it happened.
    pub cpu: CpuId,
    /// Name and pid of the thread that runs there; `None`: the idle task.
    pub context: Option<(&'a str, u32)>,
    /// Name of the event, as ftrace has it.
    pub name: &'a str,
    /// The fields as `KEY=VALUE`.
    pub fields: Fields<'a>,
}

impl Record<'_> {
    /// Whether the kernel does not have this event: in its traces it is a write to trace_marker.
    pub fn is_said(&self) -> bool {
        [OURS, RTAPP].iter().any(|start| self.name.starts_with(start))
    }

    /// The fields as the kernel prints them.
    pub fn text(&self) -> String {
        let word = |(key, value): &(&str, Value)| match *key {
            "" => value.to_string(),
            key => format!("{key}={value}"),
        };
        self.fields.iter().map(word).collect::<Vec<_>>().join(" ")
    }
}

/// The event that says what a rule is.
pub(crate) const RULE: &str = "fairground_rule";

fn rule_fields(rule: Rule) -> Fields {
    let Rule { name, function, label, text } = rule;
    [("name", name), ("function", function), ("label", label), ("text", text)]
        .map(|(key, value)| (key, value.into()))
        .into()
}

/// Whether a switch is recorded later than it is decided: at the end of its cost.
fn is_held_back(event: &Event) -> bool {
    matches!(event.kind, EventKind::Switch { next: Some(_), cost: 1.., .. })
}

/// Makes records of events.
pub(crate) struct Recorder {
    names: Names,
    words: RuleNames,
    /// By CPU: the task that runs.
    current: Vec<Option<TaskId>>,
    /// Tasks whose next wakeup is their first.
    newborn: Vec<bool>,
    /// Switches that have been decided and not yet recorded, by the time at which they are recorded, then in the order
    /// of decisions.
    switching: BTreeMap<(Time, u64), Event>,
    /// Number of switches that were held back so far.
    held_back: u64,
    /// Names of the rules that were recorded.
    told: BTreeSet<String>,
}

impl Recorder {
    /// A recorder for `nr_cpus` CPUs. `words` has the scheduler's names of rules and notes.
    pub fn new(nr_cpus: usize, names: Names, words: RuleNames) -> Recorder {
        let current = vec![None; nr_cpus];
        let (switching, told) = (BTreeMap::new(), BTreeSet::new());
        Recorder { names, words, current, newborn: Vec::new(), switching, held_back: 0, told }
    }

    /// A task is this thread of a real kernel, from now on.
    pub fn name_thread(&mut self, task: TaskId, thread: &RealThread) {
        self.names.name_thread(task, thread);
    }

    /// Name and pid of a task.
    fn task(&self, task: TaskId) -> (&str, u32) {
        (self.names.comm(task), self.names.pid(task))
    }

    /// The records at time 0: facts about the run, and notes.
    pub fn head<'a>(&'a self, meta: &[(&'a str, &str)], notes: &[String]) -> Vec<Record<'a>> {
        let at_start = |name, fields| Record { time: 0, cpu: 0, context: None, name, fields };
        let meta = meta.iter().map(|(key, value)| at_start("fairground_meta", vec![(*key, one_line(value).into())]));
        let notes = notes.iter().map(|note| at_start("fairground_note", vec![("", one_line(note).into())]));
        meta.chain(notes).collect()
    }

    /// Calls `take` with the records of the rules that an event, or a reason of it, names for the first time. They come
    /// before it.
    ///
    /// # Errors
    /// If `take` fails.
    pub fn first_uses<E>(
        &mut self,
        event: &Event,
        reasons: &[Reason],
        mut take: impl FnMut(&Record) -> Result<(), E>,
    ) -> Result<(), E> {
        let of_event = match &event.kind {
            EventKind::Decision(decision) => Some(self.words.rule(decision.rule)),
            EventKind::Balance(balance) => Some(self.words.balance_rule(balance.rule)),
            EventKind::Pick(pick) => Some(self.words.pick_rule(pick.rule)).filter(|rule| rule.name != NO_PICK),
            _ => None,
        };
        let of_reasons =
            reasons.iter().filter(|reason| reason.rule != NO_RULE).map(|reason| self.words.rule(reason.rule));
        for rule in of_reasons.chain(of_event).filter(|rule| !rule.text.is_empty()) {
            if !self.told.contains(rule.name) {
                self.told.insert(rule.name.to_owned());
                take(&self.record(event.time, event.cpu, RULE, rule_fields(rule)))?;
            }
        }
        Ok(())
    }

    /// Calls `take` with the records of an event and of the switches that come before it, each with its event, in time
    /// order.
    ///
    /// # Errors
    /// If `take` fails.
    pub fn event<E>(&mut self, event: &Event, mut take: impl FnMut(&Event, &Record) -> Result<(), E>) -> Result<(), E> {
        self.catch_up(event.time, &mut take)?;
        self.overtaken(event, &mut take)?;
        if let EventKind::Switch { prev, prev_state, next, cost } = event.kind {
            return self.switch_event(event, (prev, prev_state, next, cost), &mut take);
        }
        if let EventKind::Fork { parent, child } = event.kind {
            self.names.fork(parent, child);
            self.newborn.resize(child as usize + 1, false);
            self.newborn[child as usize] = true;
        }
        if let EventKind::Waking { task, waker, sync, .. } = event.kind {
            if let Some(fields) = self.how_woken(event, task, waker, sync) {
                take(event, &self.record(event.time, event.cpu, WOKEN, fields))?;
            }
        }
        let (name, fields) = match event.kind {
            EventKind::Wakeup { task, target } => {
                let first = self.newborn.get_mut(task as usize).is_some_and(std::mem::take);
                (if first { "sched_wakeup_new" } else { "sched_wakeup" }, self.wake(task, target))
            }
            _ => self.fields(event),
        };
        take(event, &self.record(event.time, event.cpu, name, fields))
    }

    /// Calls `take` with the switches that end by `until`. Call it before any record of that time, and at the end.
    ///
    /// # Errors
    /// If `take` fails.
    pub fn catch_up<E>(
        &mut self,
        until: Time,
        take: &mut impl FnMut(&Event, &Record) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(first) = self.switching.first_entry().filter(|first| first.key().0 <= until) {
            let ((time, _), switch) = first.remove_entry();
            take(&switch, &self.switched(&switch, time))?;
        }
        Ok(())
    }

    /// Records at once the switches that must come before an event: those of a task that it wakes or moves, and those
    /// of a CPU that switches again without a cost.
    fn overtaken<E>(
        &mut self,
        event: &Event,
        take: &mut impl FnMut(&Event, &Record) -> Result<(), E>,
    ) -> Result<(), E> {
        let before = |switch: &Event| match (event.kind, switch.kind) {
            (
                EventKind::Waking { task, .. } | EventKind::Migrate { task, .. },
                EventKind::Switch { prev, next, .. },
            ) => [prev, next].contains(&Some(task)),
            (EventKind::Switch { .. }, _) => switch.cpu == event.cpu && !is_held_back(event),
            _ => false,
        };
        while let Some(key) = self.switching.iter().find(|(_, switch)| before(switch)).map(|(key, _)| *key) {
            if let Some(switch) = self.switching.remove(&key) {
                take(&switch, &self.switched(&switch, event.time))?;
            }
        }
        Ok(())
    }

    /// Records a switch at once, or records its decision and holds its sched_switch back.
    fn switch_event<E>(
        &mut self,
        event: &Event,
        (prev, state, next, cost): (Option<TaskId>, SwitchState, Option<TaskId>, u64),
        take: &mut impl FnMut(&Event, &Record) -> Result<(), E>,
    ) -> Result<(), E> {
        let taken = match is_held_back(event) {
            true => {
                let mut fields = self.switch(event, prev, state, next);
                fields.push(("cost_ns", cost.into()));
                let context = prev.map(|task| self.task(task));
                let taken = take(event, &Record { time: event.time, cpu: event.cpu, context, name: DECIDED, fields });
                self.switching.insert((event.time.saturating_add(cost), self.held_back), *event);
                self.held_back += 1;
                taken
            }
            false => take(event, &self.switched(event, event.time)),
        };
        if let Some(current) = self.current.get_mut(event.cpu as usize) {
            *current = next;
        }
        taken
    }

    /// The sched_switch of an event, in the context of the task that leaves.
    fn switched(&self, event: &Event, time: Time) -> Record<'_> {
        let (name, fields) = self.fields(event);
        let prev = if let EventKind::Switch { prev, .. } = event.kind { prev } else { None };
        Record { time, cpu: event.cpu, context: prev.map(|task| self.task(task)), name, fields }
    }

    /// The fields that sched_waking does not have: whether an interrupt is the waker, and whether the wakeup is sync.
    /// `None` if the wakeup is not sync and the waker is the running task, or an interrupt on a CPU without one.
    fn how_woken(&self, event: &Event, task: TaskId, waker: Option<TaskId>, sync: bool) -> Option<Fields<'static>> {
        let current = self.current.get(event.cpu as usize).copied().flatten();
        let by = if waker.is_some() { "task" } else { "interrupt" };
        let fields = || vec![("pid", self.names.pid(task).into()), ("by", by.into()), ("sync", u32::from(sync).into())];
        (waker != current || sync).then(fields)
    }

    /// Title of the rule by which a task was placed or a queue was balanced; empty for any other event.
    pub fn rule_title(&self, event: &Event) -> String {
        match &event.kind {
            EventKind::Decision(d) => self.words.rule(d.rule).title(),
            EventKind::Balance(b) => self.words.balance_rule(b.rule).title(),
            EventKind::Pick(p) => self.words.pick_rule(p.rule).title(),
            _ => String::new(),
        }
    }

    /// One record for each reason of a decision.
    pub fn reasons<'a>(&'a self, decision: &Event, task: TaskId, reasons: &[Reason]) -> Vec<Record<'a>> {
        let record = |r: &Reason| {
            let rule = if r.rule == NO_RULE { "-" } else { self.words.rule(r.rule).name };
            let [a, b, c] = r.numbers;
            let fields = vec![
                ("pid", self.names.pid(task).into()),
                ("rule", rule.into()),
                ("note", u32::from(r.note).into()),
                ("cpu", r.cpu.map_or(-1, i64::from).into()),
                ("a", a.into()),
                ("b", b.into()),
                ("c", c.into()),
                ("text", self.words.clause(r).into()),
            ];
            self.record(decision.time, decision.cpu, "fairground_why", fields)
        };
        reasons.iter().map(record).collect()
    }

    /// The record of an event of an rt-app thread.
    pub fn user_event(&self, said: &UserEvent) -> Record<'_> {
        let event = said.event.map(|event| ("event", event.into()));
        let figures = said.figures.iter().map(|(key, n)| (*key, (*n).into()));
        let fields = event.into_iter().chain(figures).collect();
        Record { time: said.time, cpu: said.cpu, context: Some(self.task(said.task)), name: said.name, fields }
    }

    fn record<'a>(&'a self, time: Time, cpu: CpuId, name: &'static str, fields: Fields<'a>) -> Record<'a> {
        let current = self.current.get(cpu as usize).copied().flatten();
        Record { time, cpu, context: current.map(|task| self.task(task)), name, fields }
    }

    fn fields(&self, event: &Event) -> (&'static str, Fields<'_>) {
        let cpu = ("cpu_id", event.cpu.into());
        match event.kind {
            EventKind::Fork { parent, child } => ("sched_process_fork", self.fork(event, parent, child)),
            EventKind::Exec { task } => {
                let (comm, pid) = self.task(task);
                let fields = vec![("filename", comm.into()), ("pid", pid.into()), ("old_pid", pid.into())];
                ("sched_process_exec", fields)
            }
            EventKind::Exit { task } => ("sched_process_exit", self.thread(task)),
            EventKind::Waking { task, prev, .. } => ("sched_waking", self.wake(task, prev)),
            EventKind::Wakeup { task, target } => ("sched_wakeup", self.wake(task, target)),
            EventKind::Decision(d) => ("fairground_decision", self.decision(&d)),
            EventKind::Migrate { task, from, to, .. } => {
                let cpus = [("orig_cpu", from.into()), ("dest_cpu", to.into())];
                ("sched_migrate_task", [self.thread(task), cpus.into()].concat())
            }
            EventKind::Balance(b) => ("fairground_balance", self.balance(&b)),
            EventKind::Pick(p) => ("fairground_pick", self.pick(&p)),
            EventKind::Left(left) => ("fairground_left", self.left(&left)),
            EventKind::Switch { prev, prev_state, next, .. } => {
                ("sched_switch", self.switch(event, prev, prev_state, next))
            }
            EventKind::Stopper(starts) => {
                ("fairground_stopper", vec![("event", if starts { "start" } else { "end" }.into())])
            }
            EventKind::Idle { state } => ("cpu_idle", vec![("state", state.map_or(IDLE_EXIT, u32::from).into()), cpu]),
            EventKind::Online(online) => {
                ("fairground_hotplug", vec![("event", if online { "online" } else { "offline" }.into()), cpu])
            }
            EventKind::Frequency { khz } => ("cpu_frequency", vec![("state", khz.into()), cpu]),
            EventKind::Clamps(c) => self.clamps(&c),
            EventKind::Signals(s) => self.signals(&s),
            EventKind::UtilEst(estimate) => self.estimate(&estimate),
            EventKind::Temperature { zone, milli_c } => {
                ("fairground_temperature", vec![("zone", u32::from(zone).into()), ("temp", milli_c.into())])
            }
            EventKind::Cooling { state } => ("fairground_cooling", vec![("target", state.into()), cpu]),
            EventKind::Energy { rail, part, picojoules } => {
                let meter = vec![("rail", u32::from(rail).into()), ("part", energy::word(part).into())];
                ("fairground_energy", [meter, vec![("energy_pj", picojoules.into())]].concat())
            }
            EventKind::Mark { task, mark } => {
                ("fairground_mark", [self.thread(task), vec![("mark", format!("{mark:?}").into())]].concat())
            }
        }
    }

    fn fork(&self, event: &Event, parent: Option<TaskId>, child: TaskId) -> Fields<'_> {
        let (comm, pid_) = self.thread_name(parent, event.cpu);
        let (child_comm, child_pid) = self.task(child);
        vec![("comm", comm), ("pid", pid_.into()), ("child_comm", child_comm.into()), ("child_pid", child_pid.into())]
    }

    fn wake(&self, task: TaskId, cpu: CpuId) -> Fields<'_> {
        [self.thread(task), vec![("success", 1_u32.into()), ("target_cpu", cpu.into())]].concat()
    }

    fn switch(&self, event: &Event, prev: Option<TaskId>, state: SwitchState, next: Option<TaskId>) -> Fields<'_> {
        // The numbers of TASK_RUNNING, TASK_INTERRUPTIBLE and EXIT_DEAD.
        let state: u32 = match state {
            SwitchState::Runnable => 0,
            SwitchState::Sleeping => 1,
            SwitchState::Dead => 16,
        };
        let (prev_comm, prev_pid) = self.thread_name(prev, event.cpu);
        let (next_comm, next_pid) = self.thread_name(next, event.cpu);
        vec![
            ("prev_comm", prev_comm),
            ("prev_pid", prev_pid.into()),
            ("prev_prio", self.prio(prev).into()),
            ("prev_state", state.into()),
            ("next_comm", next_comm),
            ("next_pid", next_pid.into()),
            ("next_prio", self.prio(next).into()),
        ]
    }

    fn decision(&self, d: &Decision) -> Fields<'_> {
        let kind = match d.kind {
            DecisionKind::Wake => "wake",
            DecisionKind::Fork => "fork",
            DecisionKind::Exec => "exec",
        };
        let rest = vec![
            ("prev_cpu", d.prev.into()),
            ("cpu", d.chosen.into()),
            ("rule", self.words.rule(d.rule).name.into()),
            ("probes", d.probes.into()),
            ("group_cpus", d.group_cpus.into()),
        ];
        [vec![("kind", kind.into())], self.thread(d.task), rest].concat()
    }

    fn balance(&self, b: &Balance) -> Fields<'_> {
        vec![
            ("kind", b.kind.word().into()),
            ("level", self.words.level(b.level).into()),
            ("src_cpu", b.src.into()),
            ("dst_cpu", b.dst.into()),
            ("unit", b.unit.word().into()),
            ("amount", b.amount.into()),
            ("rule", self.words.balance_rule(b.rule).name.into()),
            ("moved", b.moved.into()),
            ("active", u32::from(b.active).into()),
        ]
    }

    fn pick(&self, p: &PickReport) -> Fields<'_> {
        let (curr, state) = p.current.map_or((None, QueuedTask::default()), |(task, state)| (Some(task), state));
        let (curr_comm, curr_pid) = curr.map_or(("-", 0), |task| self.task(task));
        let who = vec![
            ("cpu", p.cpu.into()),
            ("rule", self.words.pick_rule(p.rule).name.into()),
            ("queued", p.queued.into()),
            ("lag", p.state.lag.into()),
            ("deadline", p.state.deadline.into()),
            ("protection", p.state.protection.into()),
        ];
        let current = vec![
            ("curr_comm", curr_comm.into()),
            ("curr_pid", curr_pid.into()),
            ("curr_lag", state.lag.into()),
            ("curr_deadline", state.deadline.into()),
            ("curr_protection", state.protection.into()),
        ];
        [vec![("kind", p.kind.word().into())], self.thread(p.task), who, current].concat()
    }

    fn left(&self, left: &LeftBehind) -> Fields<'_> {
        let (task, cpu, domain) = match left.of {
            Subject::Cpu(cpu) => (None, i64::from(cpu), -1),
            Subject::Domain(cpu, domain) => (None, i64::from(cpu), i64::from(domain)),
            Subject::Task(task) => (Some(task), -1, -1),
        };
        let (comm, pid) = task.map_or(("-", 0), |task| self.task(task));
        vec![
            ("comm", comm.into()),
            ("pid", pid.into()),
            ("cpu", cpu.into()),
            ("domain", domain.into()),
            ("function", left.function.into()),
            ("before", left.before.into()),
            ("after", left.after.into()),
            ("value", left.value.into()),
        ]
    }

    /// The event in the form of LISA's module.
    fn clamps(&self, c: &Clamps) -> (&'static str, Fields<'_>) {
        let values = vec![
            ("cpu", c.cpu.into()),
            ("util_avg", c.util.into()),
            ("uclamp_avg", c.clamped.into()),
            ("uclamp_min", u32::from(c.min).into()),
            ("uclamp_max", u32::from(c.max).into()),
        ];
        match c.task.map(|task| self.task(task)) {
            Some((comm, pid)) => {
                ("uclamp_util_se", [vec![("pid", pid.into()), ("comm", comm.into())], values].concat())
            }
            None => ("uclamp_util_cfs", values),
        }
    }

    /// The event in the form of LISA's module.
    fn signals(&self, s: &Signals) -> (&'static str, Fields<'_>) {
        let values = vec![
            ("load", s.load.into()),
            ("util", s.util.into()),
            ("rbl_load", s.runnable.into()),
            ("update_time", s.updated.into()),
        ];
        self.tracked(["sched_pelt_se", "sched_pelt_cfs"], s.cpu, s.task, values)
    }

    /// The event in the form of LISA's module.
    fn estimate(&self, e: &UtilEst) -> (&'static str, Fields<'_>) {
        let values = vec![("enqueued", e.enqueued.into()), ("ewma", e.ewma.into()), ("util", e.util.into())];
        self.tracked(["sched_util_est_se", "sched_util_est_cfs"], e.cpu, e.task, values)
    }

    /// A task's event or a queue's, by their names. A task's path is that of no group, a queue's that of the root.
    fn tracked<'a>(
        &'a self,
        [of_task, of_queue]: [&'static str; 2],
        cpu: CpuId,
        task: Option<TaskId>,
        values: Fields<'a>,
    ) -> (&'static str, Fields<'a>) {
        let place = |path: &'static str| vec![("cpu", cpu.into()), ("path", path.into())];
        match task.map(|task| self.task(task)) {
            Some((comm, pid)) => {
                let who = vec![("comm", comm.into()), ("pid", pid.into())];
                (of_task, [place("(null)"), who, values].concat())
            }
            None => (of_queue, [place("/"), values].concat()),
        }
    }

    fn thread(&self, task: TaskId) -> Fields<'_> {
        let (comm, pid) = self.task(task);
        vec![("comm", comm.into()), ("pid", pid.into()), ("prio", self.names.prio(task).into())]
    }

    /// Name and pid of a task, or of the idle task of `cpu`.
    fn thread_name(&self, task: Option<TaskId>, cpu: CpuId) -> (Value<'_>, u32) {
        match task {
            Some(task) => (self.names.comm(task).into(), self.names.pid(task)),
            None => (format!("swapper/{cpu}").into(), 0),
        }
    }

    fn prio(&self, task: Option<TaskId>) -> i32 {
        task.map_or(120, |t| self.names.prio(t))
    }
}

/// A user's text on one line: control characters are replaced by spaces.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}
