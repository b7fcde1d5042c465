//! The event stream as raw ftrace text.
//!
//! ```text
//! COMM-PID [CPU] SECONDS.NANOSECONDS: EVENT: FIELDS
//! ```
//!
//! The context (`COMM-PID`) is what the CPU runs at that moment. What the kernel has no event for is a `print` line as
//! a process would write through trace_marker: `print: tracing_mark_write: fairground_NAME: FIELDS`.

use std::io::{self, Write};

use fairground_sim::{Event, EventKind, Observer, Reason, Time};

use crate::record::{Record, Recorder};
use crate::rtapp_marks::UserEvent;
use crate::{Names, RuleNames};

/// Writes events as they come. [`Self::finish`] returns the first failure.
pub struct FtraceText<W: Write> {
    out: W,
    pub(crate) recorder: Recorder,
    /// Whether reasons of decisions are requested.
    why: bool,
    /// The first failure to write; nothing is written after it.
    error: Option<io::Error>,
}

impl<W: Write> FtraceText<W> {
    /// Writes to `out`, which should be buffered. `words` has the scheduler's names of rules and notes. `why`: whether
    /// reasons of decisions are requested.
    pub fn new(out: W, nr_cpus: usize, names: Names, words: RuleNames, why: bool) -> Self {
        FtraceText { out, recorder: Recorder::new(nr_cpus, names, words), why, error: None }
    }

    /// Says at time 0 what the run is (machine, workload, sched, seed, each with its value), and what every output must
    /// carry, e.g. `partition: 0-3`.
    pub fn head(&mut self, meta: &[(&str, &str)], notes: &[String]) {
        if self.error.is_none() {
            let out = &mut self.out;
            self.error = self.recorder.head(meta, notes).iter().try_for_each(|record| line(out, record)).err();
        }
    }

    /// A thread of rt-app's has said this.
    pub fn user_event(&mut self, said: &UserEvent) {
        self.catch_up(said.time);
        if self.error.is_none() {
            self.error = line(&mut self.out, &self.recorder.user_event(said)).err();
        }
    }

    /// Writes the switches that are done by `until`.
    fn catch_up(&mut self, until: Time) {
        if self.error.is_none() {
            let out = &mut self.out;
            self.error = self.recorder.catch_up(until, &mut |_, record| line(out, record)).err();
        }
    }

    /// Writes what the rules are that come up for the first time.
    fn first_uses(&mut self, event: &Event, reasons: &[Reason]) {
        if matches!(event.kind, EventKind::Decision(_) | EventKind::Balance(_) | EventKind::Pick(_)) {
            self.catch_up(event.time);
            if self.error.is_none() {
                let out = &mut self.out;
                self.error = self.recorder.first_uses(event, reasons, |record| line(out, record)).err();
            }
        }
    }

    /// Flushes and returns the writer.
    ///
    /// # Errors
    /// If an event could not be written: the first failure.
    pub fn finish(mut self) -> io::Result<W> {
        self.catch_up(Time::MAX);
        match self.error.take() {
            Some(error) => Err(error),
            None => {
                self.out.flush()?;
                Ok(self.out)
            }
        }
    }
}

/// Writes a record as a line.
pub(crate) fn line(out: &mut impl Write, record: &Record) -> io::Result<()> {
    match record.context {
        Some((comm, pid)) => write!(out, "{comm}-{pid}")?,
        None => write!(out, "<idle>-0")?,
    }
    let marker = if record.is_said() { "print: tracing_mark_write: " } else { "" };
    let (seconds, ns) = (record.time / 1_000_000_000, record.time % 1_000_000_000);
    writeln!(out, " [{:03}] {seconds}.{ns:09}: {marker}{}: {}", record.cpu, record.name, record.text())
}

impl<W: Write> Observer for FtraceText<W> {
    fn event(&mut self, event: &Event) {
        self.first_uses(event, &[]);
        if self.error.is_none() {
            let out = &mut self.out;
            self.error = self.recorder.event(event, |_, record| line(out, record)).err();
        }
    }

    fn wants_reasons(&self) -> bool {
        self.why
    }

    fn wants_clamps(&self) -> bool {
        true
    }

    fn reasons(&mut self, decision: &Event, reasons: &[Reason]) {
        self.catch_up(decision.time);
        if self.why {
            self.first_uses(decision, reasons);
        }
        if let (EventKind::Decision(d), true, None) = (&decision.kind, self.why, &self.error) {
            let out = &mut self.out;
            let mut records = self.recorder.reasons(decision, d.task, reasons).into_iter();
            self.error = records.try_for_each(|record| line(out, &record)).err();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fairground_machine::CpuId;
    use fairground_sim::testing::{spec, workload};
    use fairground_sim::{
        Clamps, Decision, DecisionKind, LeftBehind, MigrateCause, Rule, Signals, Subject, SwitchState, TaskId, UtilEst,
        NO_RULE,
    };

    use super::*;

    fn names() -> Names {
        Names::new(Arc::new(workload(vec![], vec![spec("reader", vec![])])))
    }

    fn exporter(why: bool) -> FtraceText<Vec<u8>> {
        let rule = |name, text| Rule { name, function: "f", label: "l", text };
        let rules = [rule("none", "no rule applied"), rule("A2", "the previous CPU"), rule("A3", "")];
        let notes = ["CPU {cpu} is free", "CPU {cpu} fits: {a} on {b}"];
        FtraceText::new(Vec::new(), 8, names(), RuleNames::new(&rules, &notes), why)
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
            "rule: name=A2 function=f label=l text=the previous CPU",
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
            (2_000, 5, EventKind::Switch { prev: None, prev_state: SwitchState::Runnable, next: Some(0), cost: 0 }),
            (3_000, 5, EventKind::Switch { prev: Some(0), prev_state: SwitchState::Sleeping, next: None, cost: 0 }),
            (3_000, 5, EventKind::Idle { state: Some(0) }),
            (1_000_004_000, 4, EventKind::Waking { task: 0, prev: 5, waker: None, sync: false }),
            (1_000_004_000, 4, EventKind::Decision(decision)),
            (1_000_004_000, 4, EventKind::Migrate { task: 0, from: 5, to: 6, cause: MigrateCause::Wake }),
            (1_000_004_010, 4, EventKind::Wakeup { task: 0, target: 6 }),
            (
                1_000_005_000,
                6,
                EventKind::Switch { prev: None, prev_state: SwitchState::Runnable, next: Some(0), cost: 0 },
            ),
            (1_000_006_000, 6, EventKind::Exit { task: 0 }),
            (1_000_006_000, 6, EventKind::Switch { prev: Some(0), prev_state: SwitchState::Dead, next: None, cost: 0 }),
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
<idle>-0 [004] 1.000004000: print: tracing_mark_write: fairground_rule: name=A2 function=f label=l text=the previous CPU
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

    /// Time, CPU, context and event of each line, and the task that is switched to.
    fn outline(text: &str) -> Vec<String> {
        let next =
            |line: &str| line.split_once("next_pid=").map(|(_, after)| after.split(' ').next().unwrap().to_owned());
        let line = |line: &str| {
            let words: Vec<&str> =
                line.split(' ').filter(|word| *word != "print:" && *word != "tracing_mark_write:").collect();
            let ns: u64 = words[2].trim_end_matches(':').split_once('.').unwrap().1.parse().unwrap();
            let (event, next) = (words[3].trim_end_matches(':'), next(line).unwrap_or_default());
            format!("{ns} {} {} {event} {next}", words[1], words[0]).trim_end().to_owned()
        };
        text.lines().map(line).collect()
    }

    fn crowd(events: &[(Time, CpuId, EventKind)]) -> Vec<String> {
        let specs = ["a", "b", "c"].map(|name| spec(name, vec![])).to_vec();
        let names = Names::new(Arc::new(workload(vec![], specs)));
        let mut exporter = FtraceText::new(Vec::new(), 8, names, RuleNames::new(&[], &[]), false);
        let births = (0..3).map(|child| (0, 0, EventKind::Fork { parent: None, child }));
        for (time, cpu, kind) in births.chain(events.iter().copied()) {
            exporter.event(&Event { time, cpu, kind });
        }
        outline(&String::from_utf8(exporter.finish().unwrap()).unwrap()).split_off(3)
    }

    fn switch(prev: Option<TaskId>, prev_state: SwitchState, next: Option<TaskId>, cost: u64) -> EventKind {
        EventKind::Switch { prev, prev_state, next, cost }
    }

    #[test]
    fn a_switch_to_a_task_stands_behind_its_cost() {
        let lines = crowd(&[
            (1_000, 5, switch(None, SwitchState::Runnable, Some(0), 300)),
            (1_200, 4, EventKind::Frequency { khz: 1 }),
            (1_300, 4, EventKind::Frequency { khz: 2 }),
            (2_000, 5, switch(Some(0), SwitchState::Sleeping, None, 200)),
            (3_000, 5, switch(None, SwitchState::Runnable, Some(1), 10)),
        ]);
        let expected = [
            "1000 [005] <idle>-0 fairground_switch 1000",
            "1200 [004] <idle>-0 cpu_frequency",
            "1300 [005] <idle>-0 sched_switch 1000",
            "1300 [004] <idle>-0 cpu_frequency",
            "2000 [005] a-1000 sched_switch 0",
            "3000 [005] <idle>-0 fairground_switch 1001",
            "3010 [005] <idle>-0 sched_switch 1001",
        ];
        assert_eq!(lines, expected);
    }

    /// Who is woken or moved is off its CPU by then; two switches of one instant come one after the other.
    #[test]
    fn a_switch_is_early_where_something_befalls_its_task() {
        let waking = EventKind::Waking { task: 0, prev: 5, waker: None, sync: false };
        let pulled = EventKind::Migrate { task: 1, from: 5, to: 4, cause: MigrateCause::NewIdle };
        let lines = crowd(&[
            (1_000, 5, switch(Some(0), SwitchState::Sleeping, Some(1), 300)),
            (1_100, 4, waking),
            (2_000, 5, switch(Some(1), SwitchState::Runnable, Some(2), 100)),
            (2_000, 5, switch(Some(2), SwitchState::Runnable, Some(0), 200)),
            (2_150, 4, pulled),
            (3_000, 5, switch(Some(0), SwitchState::Runnable, Some(2), 100)),
            (3_000, 5, switch(Some(2), SwitchState::Sleeping, None, 200)),
        ]);
        let expected = [
            "1000 [005] a-1000 fairground_switch 1001",
            "1100 [005] a-1000 sched_switch 1001",
            "1100 [004] <idle>-0 sched_waking",
            "2000 [005] b-1001 fairground_switch 1002",
            "2000 [005] c-1002 fairground_switch 1000",
            "2100 [005] b-1001 sched_switch 1002",
            "2150 [004] <idle>-0 sched_migrate_task",
            "2200 [005] c-1002 sched_switch 1000",
            "3000 [005] a-1000 fairground_switch 1002",
            "3000 [005] a-1000 sched_switch 1002",
            "3000 [005] c-1002 sched_switch 0",
        ];
        assert_eq!(lines, expected);
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

    /// Field by field as LISA's module prints them.
    #[test]
    fn load_tracking_is_told_as_lisas_module_tells_it() {
        let signals = Signals { cpu: 6, task: Some(0), load: 1024, runnable: 900, util: 446, updated: 8_192 };
        let text = exported(&[
            (0, 4, EventKind::Fork { parent: None, child: 0 }),
            (9_000, 4, EventKind::Signals(signals)),
            (9_000, 4, EventKind::Signals(Signals { task: None, load: 2048, ..signals })),
        ]);
        let expected = "\
<idle>-0 [004] 0.000009000: sched_pelt_se: cpu=6 path=(null) comm=reader pid=1000 load=1024 util=446 rbl_load=900 update_time=8192
<idle>-0 [004] 0.000009000: sched_pelt_cfs: cpu=6 path=/ load=2048 util=446 rbl_load=900 update_time=8192
";
        assert!(text.ends_with(expected), "{text}");
    }

    /// Field by field as LISA's module prints them.
    #[test]
    fn estimates_are_told_as_lisas_module_tells_them() {
        let estimate = UtilEst { cpu: 6, task: Some(0), enqueued: 301, ewma: 290, util: 301 };
        let text = exported(&[
            (0, 4, EventKind::Fork { parent: None, child: 0 }),
            (9_000, 4, EventKind::UtilEst(estimate)),
            (9_000, 4, EventKind::UtilEst(UtilEst { task: None, ewma: 0, ..estimate })),
        ]);
        let expected = "\
<idle>-0 [004] 0.000009000: sched_util_est_se: cpu=6 path=(null) comm=reader pid=1000 enqueued=301 ewma=290 util=301
<idle>-0 [004] 0.000009000: sched_util_est_cfs: cpu=6 path=/ enqueued=301 ewma=0 util=301
";
        assert!(text.ends_with(expected), "{text}");
    }

    #[test]
    fn what_a_decision_leaves_is_told_with_what_it_is_of() {
        let left = LeftBehind {
            function: "task_tick_fair",
            value: "cfs util_avg",
            of: Subject::Task(0),
            before: -7,
            after: 446,
        };
        let text = exported(&[
            (0, 4, EventKind::Fork { parent: None, child: 0 }),
            (9_000, 4, EventKind::Left(left)),
            (9_000, 4, EventKind::Left(LeftBehind { of: Subject::Domain(6, 1), ..left })),
        ]);
        let line = |of: &str| {
            format!(
                "<idle>-0 [004] 0.000009000: print: tracing_mark_write: fairground_left: {of} function=task_tick_fair \
                 before=-7 after=446 value=cfs util_avg\n"
            )
        };
        let expected = line("comm=reader pid=1000 cpu=-1 domain=-1") + &line("comm=- pid=0 cpu=6 domain=1");
        assert!(text.ends_with(&expected), "{text}");
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
        let mut exporter = FtraceText::new(Full, 8, names(), RuleNames::new(&[], &[]), false);
        exporter.event(&Event { time: 0, cpu: 0, kind: EventKind::Idle { state: Some(0) } });
        assert_eq!(exporter.finish().err().map(|e| e.to_string()), Some("disk full".into()));
    }
}
