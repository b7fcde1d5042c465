//! The event stream as raw ftrace text.
//!
//! ```text
//! COMM-PID [CPU] SECONDS.NANOSECONDS: EVENT: FIELDS
//! ```
//!
//! The context (`COMM-PID`) is what the CPU runs at that moment. As in the kernel, `sched_waking` comes before the
//! placement and its `target_cpu` is the *previous* CPU; `sched_wakeup`'s is the placement. Priorities are those at
//! birth. Clamps are told, once somebody has asked for one, by the events of LISA's module (`uclamp_util_se` of a task,
//! `uclamp_util_cfs` of a CPU) whenever the signal they bound enters a new period. What the kernel has no event for (the decision behind a placement, a program's marks, the stopper's work,
//! what must be said of the run) is a `print` line as a process would write through trace_marker:
//!
//! ```text
//! fairground_meta: KEY=VALUE                       at time 0: machine, workload, sched, seed, ...
//! fairground_rule: name=NAME text=TEXT             at time 0: what a rule says
//! fairground_note: TEXT                            at time 0: what every output of the run must carry
//! fairground_why: pid=PID rule=NAME note=N cpu=CPU a=N b=N c=N text=TEXT
//!                                                  on request, before its decision; rule - and cpu -1: none
//! fairground_decision: kind=wake|fork|exec comm=COMM pid=PID prio=N prev_cpu=N cpu=N rule=NAME probes=N group_cpus=N
//! fairground_balance: kind=busy|idle|newidle|active level=LEVEL src_cpu=N dst_cpu=N unit=load|util|task|misfit amount=N
//!                     rule=NAME moved=N active=0|1 before the migrations that come of it
//! fairground_woken: pid=PID by=task|interrupt sync=0|1
//!                                                  before its sched_waking, where the waker is not who runs there, or
//!                                                  says that it is about to sleep
//! fairground_mark: comm=COMM pid=PID prio=N mark=MARK
//! fairground_stopper: event=start|end
//! fairground_temperature: zone=N temp=MILLIDEGREES
//! fairground_cooling: target=STATE cpu_id=N
//! fairground_energy: rail=N part=active|idleN|transitions|static energy_pj=N
//!                                                  on request: taken since time 0; meta railN has the rail's name
//! ```

use std::io::{self, Write};

use fairground_machine::CpuId;
use fairground_sim::{
    Balance, Clamps, Decision, DecisionKind, Event, EventKind, Observer, Reason, SwitchState, TaskId, Time, NO_RULE,
};

use crate::{energy, Names, Words};

/// pid of task 0; idle tasks are pid 0, as in the kernel.
const FIRST_PID: u32 = 1000;

/// `state` of cpu_idle when a CPU leaves idle: PWR_EVENT_EXIT, (u32)-1.
pub(crate) const IDLE_EXIT: u32 = u32::MAX;

/// Writes events as they come. [`Self::finish`] tells whether all could be written.
pub struct FtraceText<W: Write> {
    out: W,
    names: Names,
    words: Words,
    /// Reasons are asked for.
    why: bool,
    /// Who runs, by CPU.
    current: Vec<Option<TaskId>>,
    /// Tasks whose next wakeup is their first.
    newborn: Vec<bool>,
    /// The first failure to write; nothing is written after it.
    error: Option<io::Error>,
}

impl<W: Write> FtraceText<W> {
    /// Onto `out`, which should be buffered. `words`: the scheduler's. `why`: ask for the reasons of decisions.
    pub fn new(out: W, nr_cpus: usize, names: Names, words: Words, why: bool) -> Self {
        FtraceText { out, names, words, why, current: vec![None; nr_cpus], newborn: Vec::new(), error: None }
    }

    /// Says at time 0 what the run is (machine, workload, sched, seed, each with its value), what the scheduler's
    /// rules say, and what every output must carry, e.g. `partition: 0-3`.
    pub fn head(&mut self, meta: &[(&str, &str)], notes: &[String]) {
        if self.error.is_none() {
            self.error = self.write_head(meta, notes).err();
        }
    }

    fn write_head(&mut self, meta: &[(&str, &str)], notes: &[String]) -> io::Result<()> {
        let meta = meta.iter().map(|(key, value)| format!("fairground_meta: {key}={}", one_line(value)));
        let rules = self.words.rules().filter(|(_, text)| !text.is_empty());
        let rules = rules.map(|(name, text)| format!("fairground_rule: name={name} text={text}"));
        let notes = notes.iter().map(|note| format!("fairground_note: {}", one_line(note)));
        let lines: Vec<String> = meta.chain(rules).chain(notes).collect();
        lines.iter().try_for_each(|line| self.print(0, 0, line))
    }

    /// Flushes and gives the writer back.
    ///
    /// # Errors
    /// The first failure to write.
    pub fn finish(mut self) -> io::Result<W> {
        match self.error.take() {
            Some(error) => Err(error),
            None => {
                self.out.flush()?;
                Ok(self.out)
            }
        }
    }

    fn write(&mut self, event: &Event) -> io::Result<()> {
        match &event.kind {
            EventKind::Fork { parent, child } => self.fork(event, *parent, *child),
            EventKind::Exec { task } => {
                let fields = format!("filename={} pid={p} old_pid={p}", self.names.comm(*task), p = pid(*task));
                self.line(event, "sched_process_exec", &fields)
            }
            EventKind::Exit { task } => self.line(event, "sched_process_exit", &self.task(*task)),
            EventKind::Waking { task, prev, waker, sync } => {
                self.how_woken(event, *task, *waker, *sync)?;
                self.wake(event, "sched_waking", *task, *prev)
            }
            EventKind::Decision(decision) => self.decision(event, decision),
            EventKind::Wakeup { task, target } => {
                let first = self.newborn.get_mut(*task as usize).is_some_and(std::mem::take);
                let name = if first { "sched_wakeup_new" } else { "sched_wakeup" };
                self.wake(event, name, *task, *target)
            }
            EventKind::Migrate { task, from, to, .. } => {
                let fields = format!("{} orig_cpu={from} dest_cpu={to}", self.task(*task));
                self.line(event, "sched_migrate_task", &fields)
            }
            EventKind::Balance(balance) => self.balance(event, balance),
            EventKind::Switch { prev, prev_state, next } => self.switch(event, *prev, *prev_state, *next),
            EventKind::Stopper(starts) => {
                let what = if *starts { "start" } else { "end" };
                self.print(event.time, event.cpu, &format!("fairground_stopper: event={what}"))
            }
            EventKind::Idle { state } => {
                let state = state.map_or(IDLE_EXIT, u32::from);
                self.line(event, "cpu_idle", &format!("state={state} cpu_id={}", event.cpu))
            }
            EventKind::Frequency { khz } => {
                self.line(event, "cpu_frequency", &format!("state={khz} cpu_id={}", event.cpu))
            }
            EventKind::Clamps(clamps) => self.clamps(event, clamps),
            EventKind::Temperature { zone, milli_c } => {
                let fields = format!("fairground_temperature: zone={zone} temp={milli_c}");
                self.print(event.time, event.cpu, &fields)
            }
            EventKind::Cooling { state } => {
                self.print(event.time, event.cpu, &format!("fairground_cooling: target={state} cpu_id={}", event.cpu))
            }
            EventKind::Energy { rail, part, picojoules } => {
                let part = energy::word(*part);
                let fields = format!("fairground_energy: rail={rail} part={part} energy_pj={picojoules}");
                self.print(event.time, event.cpu, &fields)
            }
            EventKind::Mark { task, mark } => {
                let fields = format!("fairground_mark: {} mark={mark:?}", self.task(*task));
                self.print(event.time, event.cpu, &fields)
            }
        }
    }

    fn fork(&mut self, event: &Event, parent: Option<TaskId>, child: TaskId) -> io::Result<()> {
        self.names.fork(parent, child);
        self.newborn.resize(child as usize + 1, false);
        self.newborn[child as usize] = true;
        let (comm, pid_) = self.who(parent, event.cpu);
        let fields = format!("comm={comm} pid={pid_} child_comm={} child_pid={}", self.names.comm(child), pid(child));
        self.line(event, "sched_process_fork", &fields)
    }

    fn wake(&mut self, event: &Event, name: &str, task: TaskId, cpu: CpuId) -> io::Result<()> {
        let fields = format!("{} success=1 target_cpu={cpu}", self.task(task));
        self.line(event, name, &fields)
    }

    /// What sched_waking does not tell: that a task which an interrupt met is not the waker, and a sync wakeup.
    fn how_woken(&mut self, event: &Event, task: TaskId, waker: Option<TaskId>, sync: bool) -> io::Result<()> {
        let current = self.current.get(event.cpu as usize).copied().flatten();
        if waker == current && !sync {
            return Ok(());
        }
        let by = if waker.is_some() { "task" } else { "interrupt" };
        let fields = format!("fairground_woken: pid={} by={by} sync={}", pid(task), u8::from(sync));
        self.print(event.time, event.cpu, &fields)
    }

    fn switch(
        &mut self,
        event: &Event,
        prev: Option<TaskId>,
        state: SwitchState,
        next: Option<TaskId>,
    ) -> io::Result<()> {
        // The numbers of TASK_RUNNING, TASK_INTERRUPTIBLE and EXIT_DEAD.
        let state = match state {
            SwitchState::Runnable => 0,
            SwitchState::Sleeping => 1,
            SwitchState::Dead => 16,
        };
        let (prev_comm, prev_pid) = self.who(prev, event.cpu);
        let (next_comm, next_pid) = self.who(next, event.cpu);
        let (prev_prio, next_prio) = (self.prio(prev), self.prio(next));
        let fields = format!(
            "prev_comm={prev_comm} prev_pid={prev_pid} prev_prio={prev_prio} prev_state={state} \
             next_comm={next_comm} next_pid={next_pid} next_prio={next_prio}"
        );
        self.line(event, "sched_switch", &fields)?;
        if let Some(current) = self.current.get_mut(event.cpu as usize) {
            *current = next;
        }
        Ok(())
    }

    fn decision(&mut self, event: &Event, d: &Decision) -> io::Result<()> {
        let kind = match d.kind {
            DecisionKind::Wake => "wake",
            DecisionKind::Fork => "fork",
            DecisionKind::Exec => "exec",
        };
        let rule = self.words.rule(d.rule);
        let fields = format!(
            "fairground_decision: kind={kind} {} prev_cpu={} cpu={} rule={rule} probes={} group_cpus={}",
            self.task(d.task),
            d.prev,
            d.chosen,
            d.probes,
            d.group_cpus
        );
        self.print(event.time, event.cpu, &fields)
    }

    fn balance(&mut self, event: &Event, b: &Balance) -> io::Result<()> {
        let fields = format!(
            "fairground_balance: kind={} level={} src_cpu={} dst_cpu={} unit={} amount={} rule={} moved={} active={}",
            b.kind.word(),
            self.words.level(b.level),
            b.src,
            b.dst,
            b.unit.word(),
            b.amount,
            self.words.balance_rule(b.rule),
            b.moved,
            u8::from(b.active)
        );
        self.print(event.time, event.cpu, &fields)
    }

    /// As LISA's module tells it.
    fn clamps(&mut self, event: &Event, c: &Clamps) -> io::Result<()> {
        let values = format!(
            "cpu={} util_avg={} uclamp_avg={} uclamp_min={} uclamp_max={}",
            c.cpu, c.util, c.clamped, c.min, c.max
        );
        match c.task {
            Some(task) => {
                let fields = format!("pid={} comm={} {values}", pid(task), self.names.comm(task));
                self.line(event, "uclamp_util_se", &fields)
            }
            None => self.line(event, "uclamp_util_cfs", &values),
        }
    }

    fn write_reasons(&mut self, event: &Event, task: TaskId, reasons: &[Reason]) -> io::Result<()> {
        for r in reasons {
            let rule = if r.rule == NO_RULE { "-" } else { self.words.rule(r.rule) };
            let (cpu, [a, b, c]) = (r.cpu.map_or(-1, i64::from), r.numbers);
            let text = self.words.clause(r);
            let fields = format!(
                "fairground_why: pid={} rule={rule} note={} cpu={cpu} a={a} b={b} c={c} text={text}",
                pid(task),
                r.note
            );
            self.print(event.time, event.cpu, &fields)?;
        }
        Ok(())
    }

    fn task(&self, task: TaskId) -> String {
        format!("comm={} pid={} prio={}", self.names.comm(task), pid(task), self.names.prio(task))
    }

    /// Name and pid of a task, or of the idle task of `cpu`.
    fn who(&self, task: Option<TaskId>, cpu: CpuId) -> (String, u32) {
        match task {
            Some(task) => (self.names.comm(task).to_owned(), pid(task)),
            None => (format!("swapper/{cpu}"), 0),
        }
    }

    fn prio(&self, task: Option<TaskId>) -> i32 {
        task.map_or(120, |t| self.names.prio(t))
    }

    /// As if a process had written this to trace_marker.
    fn print(&mut self, time: Time, cpu: CpuId, text: &str) -> io::Result<()> {
        self.line_at(time, cpu, "print", &format!("tracing_mark_write: {text}"))
    }

    fn line(&mut self, event: &Event, name: &str, fields: &str) -> io::Result<()> {
        self.line_at(event.time, event.cpu, name, fields)
    }

    fn line_at(&mut self, time: Time, cpu: CpuId, name: &str, fields: &str) -> io::Result<()> {
        let current = self.current.get(cpu as usize).copied().flatten();
        let (seconds, ns) = split(time);
        match current {
            Some(task) => write!(self.out, "{}-{}", self.names.comm(task), pid(task))?,
            None => write!(self.out, "<idle>-0")?,
        }
        writeln!(self.out, " [{cpu:03}] {seconds}.{ns:09}: {name}: {fields}")
    }
}

fn pid(task: TaskId) -> u32 {
    FIRST_PID + task
}

/// Whole seconds, and ns beyond.
fn split(time: Time) -> (u64, u64) {
    (time / 1_000_000_000, time % 1_000_000_000)
}

/// A value typed by somebody, fit for a line.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

impl<W: Write> Observer for FtraceText<W> {
    fn event(&mut self, event: &Event) {
        if self.error.is_none() {
            self.error = self.write(event).err();
        }
    }

    fn wants_reasons(&self) -> bool {
        self.why
    }

    fn wants_clamps(&self) -> bool {
        true
    }

    fn reasons(&mut self, decision: &Event, reasons: &[Reason]) {
        if let (EventKind::Decision(d), true, None) = (&decision.kind, self.why, &self.error) {
            self.error = self.write_reasons(decision, d.task, reasons).err();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fairground_sim::testing::{spec, workload};
    use fairground_sim::MigrateCause;

    use super::*;

    fn names() -> Names {
        Names::new(Arc::new(workload(vec![], vec![spec("reader", vec![])])))
    }

    fn exporter(why: bool) -> FtraceText<Vec<u8>> {
        let rules = [("none", "no rule applied"), ("A2", "the previous CPU"), ("A3", "")];
        let notes = ["CPU {cpu} is free", "CPU {cpu} fits: {a} on {b}"];
        FtraceText::new(Vec::new(), 8, names(), Words::new(&rules, &notes), why)
    }

    fn exported(events: &[(Time, CpuId, EventKind)]) -> String {
        let mut exporter = exporter(false);
        for (time, cpu, kind) in events {
            exporter.event(&Event { time: *time, cpu: *cpu, kind: *kind });
        }
        String::from_utf8(exporter.finish().unwrap()).unwrap()
    }

    #[test]
    fn what_the_run_is_stands_at_the_head() {
        let mut exporter = exporter(false);
        exporter.head(&[("machine", "my\nboard.toml"), ("seed", "1")], &["partition: 0-3".into()]);
        let text = String::from_utf8(exporter.finish().unwrap()).unwrap();
        let expected = "\
<idle>-0 [000] 0.000000000: print: tracing_mark_write: fairground_meta: machine=my board.toml
<idle>-0 [000] 0.000000000: print: tracing_mark_write: fairground_meta: seed=1
<idle>-0 [000] 0.000000000: print: tracing_mark_write: fairground_rule: name=none text=no rule applied
<idle>-0 [000] 0.000000000: print: tracing_mark_write: fairground_rule: name=A2 text=the previous CPU
<idle>-0 [000] 0.000000000: print: tracing_mark_write: fairground_note: partition: 0-3
";
        assert_eq!(text, expected);
    }

    #[test]
    fn reasons_stand_before_their_decision() {
        let mut exporter = exporter(true);
        exporter.event(&Event { time: 0, cpu: 4, kind: EventKind::Fork { parent: None, child: 0 } });
        let decision =
            Decision { kind: DecisionKind::Fork, task: 0, prev: 4, chosen: 4, rule: 1, probes: 1, group_cpus: 0 };
        let decision = Event { time: 7, cpu: 4, kind: EventKind::Decision(decision) };
        let reasons = [
            Reason { note: 9, rule: NO_RULE, cpu: None, numbers: [0; 3] },
            Reason { note: 1, rule: 1, cpu: Some(4), numbers: [12, 462, 0] },
        ];
        exporter.reasons(&decision, &reasons);
        exporter.event(&decision);
        let text = String::from_utf8(exporter.finish().unwrap()).unwrap();
        let lines: Vec<&str> = text.lines().skip(1).map(|l| l.split_once("fairground_").unwrap().1).collect();
        let expected = [
            "why: pid=1000 rule=- note=9 cpu=-1 a=0 b=0 c=0 text=note 9: 0, 0, 0",
            "why: pid=1000 rule=A2 note=1 cpu=4 a=12 b=462 c=0 text=CPU 4 fits: 12 on 462",
            "decision: kind=fork comm=reader pid=1000 prio=120 prev_cpu=4 cpu=4 rule=A2 probes=1 group_cpus=0",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn reasons_are_written_only_on_request() {
        assert!(exporter(true).wants_reasons() && !exporter(false).wants_reasons());
        let mut exporter = exporter(false);
        let decision =
            Decision { kind: DecisionKind::Wake, task: 0, prev: 0, chosen: 0, rule: 1, probes: 0, group_cpus: 0 };
        let event = Event { time: 0, cpu: 0, kind: EventKind::Decision(decision) };
        exporter.reasons(&event, &[Reason { note: 0, rule: 1, cpu: Some(0), numbers: [0; 3] }]);
        assert!(exporter.finish().unwrap().is_empty());
    }

    #[test]
    fn a_wakeup_reads_as_the_kernel_would_have_traced_it() {
        let decision =
            Decision { kind: DecisionKind::Wake, task: 0, prev: 5, chosen: 6, rule: 1, probes: 3, group_cpus: 0 };
        let text = exported(&[
            (0, 4, EventKind::Fork { parent: None, child: 0 }),
            (0, 4, EventKind::Wakeup { task: 0, target: 5 }),
            (1_500, 5, EventKind::Idle { state: None }),
            (2_000, 5, EventKind::Switch { prev: None, prev_state: SwitchState::Runnable, next: Some(0) }),
            (3_000, 5, EventKind::Switch { prev: Some(0), prev_state: SwitchState::Sleeping, next: None }),
            (3_000, 5, EventKind::Idle { state: Some(0) }),
            (1_000_004_000, 4, EventKind::Waking { task: 0, prev: 5, waker: None, sync: false }),
            (1_000_004_000, 4, EventKind::Decision(decision)),
            (1_000_004_000, 4, EventKind::Migrate { task: 0, from: 5, to: 6, cause: MigrateCause::Wake }),
            (1_000_004_010, 4, EventKind::Wakeup { task: 0, target: 6 }),
            (1_000_005_000, 6, EventKind::Switch { prev: None, prev_state: SwitchState::Runnable, next: Some(0) }),
            (1_000_006_000, 6, EventKind::Exit { task: 0 }),
            (1_000_006_000, 6, EventKind::Switch { prev: Some(0), prev_state: SwitchState::Dead, next: None }),
            (1_000_007_000, 0, EventKind::Frequency { khz: 1_844_000 }),
        ]);
        let expected = "\
<idle>-0 [004] 0.000000000: sched_process_fork: comm=swapper/4 pid=0 child_comm=reader child_pid=1000
<idle>-0 [004] 0.000000000: sched_wakeup_new: comm=reader pid=1000 prio=120 success=1 target_cpu=5
<idle>-0 [005] 0.000001500: cpu_idle: state=4294967295 cpu_id=5
<idle>-0 [005] 0.000002000: sched_switch: prev_comm=swapper/5 prev_pid=0 prev_prio=120 prev_state=0 next_comm=reader next_pid=1000 next_prio=120
reader-1000 [005] 0.000003000: sched_switch: prev_comm=reader prev_pid=1000 prev_prio=120 prev_state=1 next_comm=swapper/5 next_pid=0 next_prio=120
<idle>-0 [005] 0.000003000: cpu_idle: state=0 cpu_id=5
<idle>-0 [004] 1.000004000: sched_waking: comm=reader pid=1000 prio=120 success=1 target_cpu=5
<idle>-0 [004] 1.000004000: print: tracing_mark_write: fairground_decision: kind=wake comm=reader pid=1000 prio=120 prev_cpu=5 cpu=6 rule=A2 probes=3 group_cpus=0
<idle>-0 [004] 1.000004000: sched_migrate_task: comm=reader pid=1000 prio=120 orig_cpu=5 dest_cpu=6
<idle>-0 [004] 1.000004010: sched_wakeup: comm=reader pid=1000 prio=120 success=1 target_cpu=6
<idle>-0 [006] 1.000005000: sched_switch: prev_comm=swapper/6 prev_pid=0 prev_prio=120 prev_state=0 next_comm=reader next_pid=1000 next_prio=120
reader-1000 [006] 1.000006000: sched_process_exit: comm=reader pid=1000 prio=120
reader-1000 [006] 1.000006000: sched_switch: prev_comm=reader prev_pid=1000 prev_prio=120 prev_state=16 next_comm=swapper/6 next_pid=0 next_prio=120
<idle>-0 [000] 1.000007000: cpu_frequency: state=1844000 cpu_id=0
";
        assert_eq!(text, expected);
    }

    /// Field by field as LISA's module prints them.
    #[test]
    fn clamps_are_told_as_lisas_module_tells_them() {
        let clamps = Clamps { cpu: 6, task: Some(0), util: 17, clamped: 512, min: 512, max: 1024 };
        let text = exported(&[
            (0, 4, EventKind::Fork { parent: None, child: 0 }),
            (1_000, 4, EventKind::Clamps(clamps)),
            (1_000, 4, EventKind::Clamps(Clamps { task: None, util: 40, ..clamps })),
        ]);
        let expected = "\
<idle>-0 [004] 0.000001000: uclamp_util_se: pid=1000 comm=reader cpu=6 util_avg=17 uclamp_avg=512 uclamp_min=512 uclamp_max=1024
<idle>-0 [004] 0.000001000: uclamp_util_cfs: cpu=6 util_avg=40 uclamp_avg=512 uclamp_min=512 uclamp_max=1024
";
        assert!(text.ends_with(expected), "{text}");
    }

    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::other("disk full"))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_failure_to_write_is_reported_at_the_end() {
        let mut exporter = FtraceText::new(Full, 8, names(), Words::new(&[], &[]), false);
        exporter.event(&Event { time: 0, cpu: 0, kind: EventKind::Idle { state: Some(0) } });
        assert_eq!(exporter.finish().err().map(|e| e.to_string()), Some("disk full".into()));
    }
}
