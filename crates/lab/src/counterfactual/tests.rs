use fairground_fair::Fair;
use fairground_machine::CpuMask;

use super::*;
use fairground_trace::{EventSource, Reader};

/// Four CPUs behind one cache.
fn four() -> Machine {
    let mut machine = Machine::symmetric(4);
    machine.llcs = vec![CpuMask::first_n(4)];
    machine
}

fn counterfactual(machine: &Machine) -> Counterfactual<'_> {
    let features = Features::parse("fair:v6.12").unwrap();
    let fair = Fair::new(std::sync::Arc::new(machine.clone()), features.clone(), Default::default()).unwrap();
    let config = RecordingConfig { hz: 250, schedutil: false, allowed: None };
    Counterfactual::new(machine, &features, config, RuleNames::from_scheduler(&fair)).unwrap()
}

/// The judged wakeups of a trace with these lines, and the state after them.
fn read<'m>(machine: &'m Machine, text: &str) -> (Vec<JudgedWakeup>, Counterfactual<'m>) {
    let mut counterfactual = counterfactual(machine);
    let mut reader = Reader::new("t", text.as_bytes());
    let mut all = Vec::new();
    while let Some(event) = reader.next_event().unwrap() {
        all.extend(counterfactual.event(&event).unwrap());
    }
    (all, counterfactual)
}

/// CPU `cpu` switches from idle to a thread at `us`.
fn starts(us: u64, cpu: u32, name: &str, pid: u32) -> String {
    format!(
        "<idle>-0 [{cpu:03}] 5.{us:06}: sched_switch: prev_comm=swapper/{cpu} prev_pid=0 prev_prio=120 prev_state=0 \
         next_comm={name} next_pid={pid} next_prio=120\n"
    )
}

/// The thread goes to sleep, and CPU `cpu` idles.
fn sleeps(us: u64, cpu: u32, name: &str, pid: u32) -> String {
    format!(
        "{name}-{pid} [{cpu:03}] 5.{us:06}: sched_switch: prev_comm={name} prev_pid={pid} prev_prio=120 prev_state=1 \
         next_comm=swapper/{cpu} next_pid=0 next_prio=120\n"
    )
}

/// `by` wakes a thread that was on `prev`, and it goes to `to`.
fn wakes(us: u64, on: u32, by: &str, who: (&str, u32), prev: u32, to: u32) -> String {
    let (name, pid) = who;
    let line =
        |event: &str, rest: &str| format!("{by} [{on:03}] 5.{us:06}: {event}: comm={name} pid={pid} prio=120 {rest}\n");
    let moved = line("sched_migrate_task", &format!("orig_cpu={prev} dest_cpu={to}"));
    [
        line("sched_waking", &format!("target_cpu={prev}")),
        if prev == to { String::new() } else { moved },
        line("sched_wakeup", &format!("target_cpu={to}")),
    ]
    .concat()
}

/// a runs on CPU 0, the other CPUs idle.
fn quiet() -> String {
    let idle = |cpu: u32| starts(1, cpu, "t", 10 + cpu) + &sleeps(2, cpu, "t", 10 + cpu);
    starts(0, 0, "a", 1) + &idle(1) + &idle(2) + &idle(3)
}

#[test]
fn an_idle_previous_cpu_is_sure_whatever_was_before() {
    let machine = four();
    let (judged, _) = read(&machine, &(quiet() + &wakes(900, 0, "a-1", ("b", 2), 2, 2)));
    let [judged] = &judged[..] else { panic!("{judged:?}") };
    assert_eq!((judged.ours.chosen, judged.recorded, judged.confidence), (2, 2, Confidence::Sure));
    assert_eq!((judged.ours.rule.as_str(), judged.possible.as_slice()), ("C1", &[2][..]));
    assert_eq!((judged.ours.on_cpu, judged.ours.prev, judged.ours.by.pid), (0, 2, 1));
}

#[test]
fn a_recording_that_went_elsewhere_does_not_agree_and_is_followed() {
    let machine = four();
    let (judged, after) = read(&machine, &(quiet() + &wakes(900, 0, "a-1", ("b", 2), 2, 3)));
    assert_eq!((judged[0].ours.chosen, judged[0].recorded, judged[0].agrees()), (2, 3, false));
    for past in 0..2 {
        let past = after.hypothesis_state(past).unwrap();
        assert_eq!([2, 3].map(|cpu| (past.cpu(cpu).nr_running, past.cpu(cpu).ttwu_pending)), [(0, 0), (1, 0)]);
    }
}

/// c runs on the previous CPU. CPUs 1 and 3 have had no event: they may be idle or busy.
#[test]
fn a_cpu_that_was_not_heard_of_may_be_idle_or_busy() {
    let machine = four();
    let text = starts(0, 0, "a", 1) + &starts(1, 2, "c", 3) + &wakes(2, 0, "a-1", ("b", 2), 2, 2);
    let (judged, after) = read(&machine, &text);
    assert_eq!(judged[0].confidence, Confidence::Unseen);
    assert!(judged[0].possible.len() > 1, "{:?}", judged[0]);
    assert!(after.notes().iter().any(|note| note.starts_with("no event of 2 CPUs")), "{:?}", after.notes());
}

/// All are busy and were idle before, so queues are known. Only a waker that is about to sleep leaves room on its CPU.
#[test]
fn whether_a_waker_is_about_to_sleep_is_not_told_by_a_kernel() {
    let machine = four();
    let busy = quiet() + &starts(10, 1, "x", 4) + &starts(10, 2, "y", 5) + &starts(10, 3, "z", 6);
    let (judged, _) = read(&machine, &(busy.clone() + &wakes(20, 0, "a-1", ("b", 2), 2, 0)));
    assert!(judged[0].possible.contains(&0), "{:?}", judged[0]);
    // Whom a has woken before is known if it was born since.
    let ours = "\
<idle>-0 [000] 0.0: print: tracing_mark_write: fairground_meta: machine=x
<idle>-0 [000] 4.9: sched_process_fork: comm=init pid=9 child_comm=a child_pid=1
<idle>-0 [000] 4.9: sched_wakeup_new: comm=a pid=1 prio=120 target_cpu=0
"
    .to_owned();
    let hint = "a-1 [000] 5.000020: print: tracing_mark_write: fairground_woken: pid=2 by=task sync=1\n";
    let (judged, _) = read(&machine, &(ours + &busy + hint + &wakes(20, 0, "a-1", ("b", 2), 2, 0)));
    assert_eq!((judged[0].ours.chosen, judged[0].confidence), (0, Confidence::Sure), "{:?}", judged[0]);
}

/// In our traces a thread that the stopper pushes away is switched from to the idle thread, though it could go on. One whose
/// group has no quota left is, too, and then the CPU goes idle.
#[test]
fn a_thread_that_the_stopper_pushes_away_stays_runnable() {
    let machine = four();
    let ours = "<idle>-0 [000] 0.0: print: tracing_mark_write: fairground_meta: machine=x\n".to_owned() + &quiet();
    let left = sleeps(10, 0, "a", 1).replace("prev_state=1", "prev_state=0");
    let idle = "<idle>-0 [000] 5.000014: cpu_idle: state=0 cpu_id=0\n";
    let pushed = "\
<idle>-0 [000] 5.000010: print: tracing_mark_write: fairground_stopper: event=start
<idle>-0 [000] 5.000012: sched_migrate_task: comm=a pid=1 prio=120 orig_cpu=0 dest_cpu=3
<idle>-0 [000] 5.000012: print: tracing_mark_write: fairground_stopper: event=end
";
    let running = |text: &str| {
        let (_, after) = read(&machine, text);
        let past = after.hypothesis_state(0).unwrap();
        let untold = after.notes().into_iter().find(|note| note.contains("without a recorded wakeup"));
        ([0, 3].map(|cpu| past.cpu(cpu).nr_running), untold)
    };
    let (_, untold) = running(&ours);
    assert_eq!(running(&(ours.clone() + &left + pushed + idle + &starts(20, 3, "a", 1))), ([0, 1], untold.clone()));
    assert_eq!(running(&(ours + &left + idle)), ([0, 0], untold));
}

/// perf may lose events while a CPU idles: no sched_switch shows x on CPU 1, where it wakes b.
#[test]
fn who_acts_on_an_idle_cpu_runs_there() {
    let machine = four();
    let (judged, after) = read(&machine, &(quiet() + &wakes(900, 1, "x-7", ("b", 2), 1, 3)));
    let [judged] = &judged[..] else { panic!("{judged:?}") };
    assert!(judged.ours.chosen != 1, "{judged:?}");
    assert_eq!(after.counts().appeared, 1);
    for past in 0..2 {
        let rq = after.hypothesis_state(past).unwrap().cpu(1);
        assert_eq!((rq.h_nr_running, rq.curr_is_idle), (1, 0));
    }
}

/// CPU 0 switched to a, and then x acts there: a has been switched out without a recorded event, and is taken to sleep.
#[test]
fn who_is_displaced_unseen_sleeps() {
    let machine = four();
    let (_, after) = read(&machine, &(quiet() + &wakes(900, 0, "x-7", ("b", 2), 3, 3) + &sleeps(950, 0, "x", 7)));
    assert_eq!(after.counts().contradictions, 1);
    for past in 0..2 {
        let past = after.hypothesis_state(past).unwrap();
        assert_eq!((past.cpu(0).h_nr_running, past.cpu(0).curr_is_idle, past.is_runnable(0)), (0, 1, false));
    }
}

/// CPU 1 switched to its idle task, which has no event: it may be busy. After one event of the idle task it is sure to
/// idle.
#[test]
fn a_cpu_whose_idle_task_leaves_no_event_may_be_busy() {
    let machine = four();
    let idle = |cpu: u32| starts(1, cpu, "t", 10 + cpu) + &sleeps(2, cpu, "t", 10 + cpu);
    let left = starts(0, 0, "a", 1) + &idle(2) + &idle(3) + &sleeps(5, 1, "y", 8);
    let woken = wakes(900, 0, "a-1", ("b", 2), 1, 1);
    let (judged, after) = read(&machine, &(left.clone() + &woken));
    assert_eq!((judged[0].ours.chosen, judged[0].confidence), (1, Confidence::Unseen));
    assert!(judged[0].possible.len() > 1, "{:?}", judged[0].possible);
    let note = "the idle tasks of 1 CPUs have no event";
    assert!(after.notes().iter().any(|n| n.starts_with(note)), "{:?}", after.notes());
    let heard = "<idle>-0 [001] 5.000006: cpu_idle: state=0 cpu_id=1\n";
    let (judged, _) = read(&machine, &(left + heard + &woken));
    assert_eq!((judged[0].ours.chosen, judged[0].confidence), (1, Confidence::Sure));
}

/// A kernel thread of CPU 0 wakes b there. If it does so itself, b stays there; an interrupt may have done it instead.
#[test]
fn whether_an_interrupt_woke_is_not_told_without_flags() {
    let machine = four();
    let busy = quiet() + &starts(10, 1, "x", 4) + &sleeps(11, 0, "a", 1) + &starts(12, 0, "kworker/0:1", 9);
    let woken = wakes(20, 0, "kworker/0:1-9", ("b", 2), 0, 0);
    let (judged, _) = read(&machine, &(busy.clone() + &woken));
    assert_eq!((judged[0].ours.chosen, judged[0].confidence), (0, Confidence::Interrupt));
    assert!(judged[0].possible.len() > 1, "{:?}", judged[0].possible);
    // If some event has the flags of an interrupt, an event without them is not from an interrupt.
    let flagged = "<idle>-0 [003] d.h1. 5.000013: cpu_idle: state=0 cpu_id=3\n";
    let (judged, _) = read(&machine, &(busy + flagged + &woken));
    assert_ne!(judged[0].confidence, Confidence::Interrupt);
}

#[test]
fn nice_values_are_those_of_priorities_once_a_switch_tells_them() {
    let machine = four();
    let nice =
        |text: String| text.replace("next_comm=n next_pid=5 next_prio=120", "next_comm=n next_pid=5 next_prio=139");
    let text = nice(quiet() + &starts(10, 1, "n", 5) + &wakes(11, 0, "a-1", ("b", 2), 1, 1));
    let (_, after) = read(&machine, &text);
    for past in 0..2 {
        let past = after.hypothesis_state(past).unwrap();
        // The fifth thread of the trace.
        let (n, on_1) = (past.task(4), past.cpu(1));
        assert_eq!((n.nice, n.weight, on_1.h_nr_running), (19, 15, 2));
        assert_eq!(on_1.fair.load_weight, 15 + 1024);
    }
}

/// Real-time and deadline threads are placed by other rules than those of the fair class.
#[test]
fn wakeups_of_threads_of_real_time_are_not_judged() {
    let machine = four();
    for priority in ["next_prio=49", "next_prio=-1"] {
        let starts = starts(10, 1, "r", 5).replace("next_prio=120", priority);
        let text = quiet() + &starts + &sleeps(11, 1, "r", 5) + &wakes(12, 0, "a-1", ("r", 5), 1, 2);
        let (judged, after) = read(&machine, &text);
        assert!(judged.is_empty(), "{priority}");
        assert_eq!(after.counts().real_time, 1);
        assert_eq!(after.hypothesis_state(0).unwrap().cpu(2).nr_running, 1);
    }
}

#[test]
fn queues_are_as_recorded() {
    let machine = four();
    let counts = |text: &str| {
        let (_, after) = read(&machine, text);
        [0, 1].map(|past| {
            let past = after.hypothesis_state(past).unwrap();
            [0, 1].map(|cpu| (past.cpu(cpu).h_nr_running, past.cpu(cpu).curr_is_idle))
        })
    };
    let woken = wakes(10, 0, "a-1", ("b", 2), 2, 0) + &wakes(11, 0, "a-1", ("c", 3), 3, 0);
    assert_eq!(counts(&(quiet() + &woken)), [[(3, 0), (0, 1)]; 2]);
    let pulled = "<idle>-0 [001] 5.000012: sched_migrate_task: comm=c pid=3 prio=120 orig_cpu=0 dest_cpu=1\n";
    assert_eq!(counts(&(quiet() + &woken + pulled)), [[(2, 0), (1, 1)]; 2]);
    // Until CPU 0, where a ran when the trace began, idles, a thread may be waiting there.
    let [cold, hot] = counts(&woken);
    assert_eq!((cold[0], hot[0]), ((3, 0), (4, 0)));
}

/// The two initial states agree on a thread that has run for a second.
#[test]
fn what_was_before_is_forgotten_in_time() {
    let machine = four();
    let text = quiet() + &sleeps(999_000, 0, "a", 1);
    let (_, after) = read(&machine, &text);
    let util = |past: usize| after.hypothesis_state(past).unwrap().task(0).avg.util_avg;
    assert!(util(0) > 1000 && util(0).abs_diff(util(1)) < 10, "{} {}", util(0), util(1));
    let (_, early) = read(&machine, &(starts(0, 0, "a", 1) + &sleeps(1000, 0, "a", 1)));
    let util = |past: usize| early.hypothesis_state(past).unwrap().task(0).avg.util_avg;
    assert!(util(0) < 100 && util(1) > 900, "{} {}", util(0), util(1));
}

#[test]
fn a_thread_that_is_being_switched_away_is_not_judged() {
    let machine = four();
    let text = quiet() + &starts(5, 1, "b", 2) + &wakes(6, 0, "a-1", ("b", 2), 1, 1);
    let (judged, after) = read(&machine, &text);
    assert!(judged.is_empty());
    assert_eq!(after.counts().leaving, 1);
}

#[test]
fn reasons_are_those_of_the_policy() {
    let machine = four();
    let mut counterfactual = counterfactual(&machine);
    counterfactual.ask_why(true);
    let text = quiet() + &wakes(900, 0, "a-1", ("b", 2), 2, 2);
    let mut reader = Reader::new("t", text.as_bytes());
    let mut last = None;
    while let Some(event) = reader.next_event().unwrap() {
        last = counterfactual.event(&event).unwrap().or(last);
    }
    let steps = last.unwrap().ours.steps;
    assert!(steps.iter().any(|step| step.text == "CPU 2 is idle"), "{steps:?}");
}

#[test]
fn a_cpu_that_the_machine_lacks_is_refused() {
    let machine = four();
    let mut counterfactual = counterfactual(&machine);
    let text = "a-1 [000] 1.0: sched_waking: comm=b pid=2 prio=120 target_cpu=4\n";
    let mut reader = Reader::new("t", text.as_bytes());
    assert_eq!(counterfactual.event(&reader.next_event().unwrap().unwrap()), Err(NoSuchCpu(4)));
}

proptest::proptest! {
    /// A trace with lines in any order and with any times is accepted.
    #[test]
    fn no_order_of_events_is_too_strange(picks in proptest::collection::vec((0usize..17, 0u64..40, 0u64..50), 0..80)) {
        let lines = "\
[00C] T: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=1 next_comm=b next_pid=2 next_prio=120
[00C] T: sched_switch: prev_comm=b prev_pid=2 prev_prio=120 prev_state=0 next_comm=a next_pid=1 next_prio=120
[00C] T: sched_switch: prev_comm=swapper prev_pid=0 prev_prio=120 prev_state=0 next_comm=c next_pid=3 next_prio=120
[00C] T: sched_switch: prev_comm=c prev_pid=3 prev_prio=120 prev_state=1 next_comm=swapper next_pid=0 next_prio=120
[00C] T: sched_switch: prev_comm=c prev_pid=3 prev_prio=120 prev_state=1 next_comm=migration/0 next_pid=9 next_prio=0
[00C] T: sched_waking: comm=a pid=1 prio=120 target_cpu=1
[00C] T: sched_waking: comm=c pid=3 prio=120 target_cpu=2
[00C] T: sched_wakeup: comm=b pid=2 prio=120 target_cpu=1
[00C] T: sched_wakeup: comm=a pid=1 prio=120 target_cpu=3
[00C] T: sched_migrate_task: comm=a pid=1 prio=120 orig_cpu=1 dest_cpu=2
[00C] T: sched_migrate_task: comm=c pid=3 prio=120 orig_cpu=2 dest_cpu=0
[00C] T: sched_process_fork: comm=a pid=1 child_comm=a child_pid=3
[00C] T: sched_wakeup_new: comm=a pid=3 prio=120 target_cpu=1
[00C] T: sched_process_exit: comm=c pid=3 prio=120
[00C] T: cpu_idle: state=0 cpu_id=1
[00C] T: cpu_frequency: state=1 cpu_id=0
[00C] T: uclamp_util_se: pid=1 comm=a cpu=0 util_avg=5 uclamp_avg=300 uclamp_min=300 uclamp_max=800";
        let lines: Vec<&str> = lines.lines().collect();
        let time = |n: u64, jump: u64| if jump == 0 { n << 58 } else { n * jump * 1_000_000 };
        let mut text = String::new();
        for (line, n, jump) in &picks {
            let (line, t) = (lines[line % lines.len()].replace('C', &(n % 4).to_string()), time(*n, *jump));
            let t = format!("{}.{:09}", t / 1_000_000_000, t % 1_000_000_000);
            text.push_str(&format!("x-{} {}\n", n % 4, line.replacen('T', &t, 1)));
        }
        let machine = four();
        let (judged, after) = read(&machine, &text);
        proptest::prop_assert!(judged.iter().all(|judged| judged.recorded < 4));
        for past in (0..2).filter_map(|n| after.hypothesis_state(n)) {
            for cpu in 0..4 {
                proptest::prop_assert!(past.cpu(cpu).nr_running < 8, "{}", past.cpu(cpu).nr_running);
            }
        }
    }
}
