use fairground_machine::Machine;
use fairground_sim::testing::machine;
use fairground_workload::recorded::Step::{self, Await, Exec, Fork, Rest, Until, Wake, Work};
use fairground_workload::recorded::{Priority, Recording};

use super::*;
use crate::figures::Figures;
use crate::{EventSource, Reader};

/// CPU 0 of capacity 512 and CPU 1 of 1024, on one clock of 500 MHz and 1 GHz; leaving WFI takes 2 us.
fn two_speeds() -> Machine {
    let mut machine = machine(2, 1);
    machine.cpus[0].capacity = 512;
    machine.cpu_types[0].idle_states[0].wake_ns = 2_000;
    machine
}

fn recorded(text: &str, parts: &[&str]) -> Recording {
    let machine = two_speeds();
    let parts = parts.iter().map(|p| p.to_string()).collect();
    let mut importer = Importer::new(&machine, Selection { parts, ..Selection::default() });
    let mut reader = Reader::new("t", text.as_bytes());
    while let Some(event) = reader.next_event().unwrap() {
        importer.event(&event).unwrap();
    }
    importer.finish("t", reader.notes()).0
}

/// Each thread's name and steps.
fn steps(text: &str) -> Vec<(String, Vec<Step>)> {
    let threads = recorded(text, &[]).threads;
    threads.iter().map(|t| (t.name.clone(), t.tape.steps().collect())).collect()
}

fn wake(thread: u32) -> Step {
    Wake { thread, sync: false }
}

/// a runs 1 us on the little CPU, which is 0.5 us of work, wakes b, runs 2 us more and sleeps; b runs 4 us at half clock.
const TWO: &str = "\
a-1 [000] 0.000010000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=0 next_comm=a next_pid=1 next_prio=120
a-1 [000] 0.000011000: sched_waking: comm=b pid=2 prio=120 target_cpu=1
a-1 [000] 0.000011000: sched_wakeup: comm=b pid=2 prio=120 target_cpu=1
a-1 [000] 0.000013000: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=1 next_comm=swapper/0 next_pid=0 next_prio=120
<idle>-0 [001] 0.000013000: cpu_frequency: state=500000 cpu_id=1
<idle>-0 [001] 0.000014000: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=0 next_comm=b next_pid=2 next_prio=120
b-2 [001] 0.000018000: sched_switch: prev_comm=b prev_pid=2 prev_prio=120 prev_state=1 next_comm=swapper/1 next_pid=0 next_prio=120
";

#[test]
fn work_is_scaled_by_capacity_and_clock() {
    let a = vec![Work(500_000), wake(1), Work(1_000_000), Rest];
    let b = vec![Await, Work(2_000_000), Rest];
    assert_eq!(steps(TWO), [("a-1".to_string(), a), ("b-2".to_string(), b)]);
}

/// make, which is not asked for, forks at 5 us; the child runs from 9 us on and is gcc from 10 us on.
#[test]
fn who_gets_its_name_late_has_worked_since_it_was_switched_to() {
    let text = format!(
        "{TWO}\
make-7 [001] 0.000020000: sched_process_fork: comm=make pid=7 child_comm=make child_pid=8
<idle>-0 [001] 0.000029000: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=0 next_comm=make next_pid=8 next_prio=120
gcc-8 [001] 0.000030000: sched_process_exec: filename=gcc pid=8 old_pid=8
gcc-8 [001] 0.000033000: sched_switch: prev_comm=gcc prev_pid=8 prev_prio=120 prev_state=1 next_comm=swapper/1 next_pid=0 next_prio=120
"
    );
    let threads = recorded(&text, &["gcc"]).threads;
    let work: u64 = threads[0].tape.steps().map(|s| if let Work(ps) = s { ps } else { 0 }).sum();
    assert_eq!((threads.len(), work), (1, 2_000_000), "4 us at half clock");
}

/// Switched away runnable behind its exit, a comes back to end.
#[test]
fn who_is_preempted_on_its_way_out_still_ends() {
    let text = "\
<idle>-0 [001] 0.000010000: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=0 next_comm=a next_pid=1 next_prio=120
a-1 [001] 0.000011000: sched_process_exit: comm=a pid=1 prio=120
a-1 [001] 0.000012000: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=0 next_comm=b next_pid=2 next_prio=120
b-2 [001] 0.000013000: sched_switch: prev_comm=b prev_pid=2 prev_prio=120 prev_state=0 next_comm=a next_pid=1 next_prio=120
a-1 [001] 0.000014000: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=16 next_comm=b next_pid=2 next_prio=120
";
    let (name, steps) = steps(text).remove(0);
    assert!(name == "a-1" && !steps.contains(&Rest), "{steps:?}");
}

/// CPU 1 leaves WFI at 30 us, which takes 2 us: the timer fired at 28, 18 after the first event.
#[test]
fn a_timer_fires_before_its_cpu_is_awake() {
    let text = format!(
        "<idle>-0 [001] 0.000000000: cpu_idle: state=0 cpu_id=1\n{TWO}\
<idle>-0 [001] 0.000019000: cpu_idle: state=0 cpu_id=1
<idle>-0 [001] 0.000030000: cpu_idle: state=4294967295 cpu_id=1
<idle>-0 [001] 0.000030000: sched_waking: comm=b pid=2 prio=120 target_cpu=1
"
    );
    assert_eq!(steps(&text)[1].1, [Await, Work(2_000_000), Until(18_000), Rest]);
}

/// The flags of the kernel's own file, or a line of ours, tell an interrupt from the thread that it meets.
#[test]
fn an_interrupt_is_not_the_thread_that_it_meets() {
    let flagged = TWO.replace("a-1 [000] 0.000011000: sched_waking", "a-1 [000] d.h1. 0.000011000: sched_waking");
    let line = "a-1 [000] 0.000011000: print: tracing_mark_write: fairground_woken: pid=2 by=interrupt sync=0\na-1 [000] 0.000011000: sched_waking";
    let ours = TWO.replace("a-1 [000] 0.000011000: sched_waking", line);
    for text in [flagged, ours] {
        assert_eq!(steps(&text)[1].1[0], Until(1_000), "{text}");
    }
}

#[test]
fn preemption_is_not_sleep_and_a_sync_wakeup_stays_one() {
    let text = TWO.replace("prev_state=1 next_comm=swapper/0", "prev_state=0 next_comm=swapper/0");
    let line = "fairground_woken: pid=2 by=task sync=1";
    let text = text.replacen("a-1 [000] 0.000011000:", &format!("a-1 [000] 0.000011000: print: {line}\na-1 [000] 0.000011000:"), 1)
        + "<idle>-0 [000] 0.000020000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=0 next_comm=a next_pid=1 next_prio=120
a-1 [000] 0.000024000: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=1 next_comm=swapper/0 next_pid=0 next_prio=120
";
    // The clock is at half from 13 us on: 1 us of work, then another in 4 us.
    assert_eq!(steps(&text)[0].1, [Work(500_000), Wake { thread: 1, sync: true }, Work(2_000_000), Rest]);
}

#[test]
fn births_programs_and_deaths_are_followed_and_pids_come_again() {
    let text = format!(
        "{}a-1 [000] 0.000011500: sched_process_fork: comm=a pid=1 child_comm=a child_pid=7
a-1 [000] 0.000011500: sched_wakeup_new: comm=a pid=7 prio=120 target_cpu=1
<idle>-0 [001] 0.000012000: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=0 next_comm=a next_pid=7 next_prio=120
a-7 [001] 0.000013000: sched_process_exec: filename=/bin/pid=4 pid=7 old_pid=7
c-7 [001] 0.000014000: sched_process_exit: comm=c pid=7 prio=120
c-7 [001] 0.000014000: sched_waking: comm=b pid=2 prio=120 target_cpu=1
c-7 [001] 0.000015000: sched_switch: prev_comm=c prev_pid=7 prev_prio=120 prev_state=16 next_comm=swapper/1 next_pid=0 next_prio=120
a-1 [000] 0.000016000: sched_process_fork: comm=a pid=1 child_comm=a child_pid=7
",
        TWO.lines().next().map(|l| format!("{l}\n")).unwrap()
    );
    let child = vec![Work(1_000_000), Exec, Work(1_000_000), wake(2), Work(1_000_000)];
    let seen = steps(&text);
    assert_eq!(seen[0].1, [Work(750_000), Fork(1), Work(2_250_000), Fork(3), Rest]);
    assert_eq!(seen[1], ("a-7".to_string(), child));
    assert_eq!((seen[2].1.as_slice(), seen[3].0.as_str()), ([Await, Rest].as_slice(), "a-7~3"));
}

/// Without a, b is woken by what might have been anything.
#[test]
fn who_is_left_out_wakes_like_an_interrupt() {
    let recording = recorded(TWO, &["b"]);
    assert_eq!(recording.threads.len(), 1);
    assert_eq!(recording.threads[0].tape.steps().collect::<Vec<_>>(), [Until(1_000), Work(2_000_000), Rest]);
}

#[test]
fn what_is_missing_is_said() {
    let recording = recorded(
        &TWO.lines()
            .filter(|l| !l.contains("waking") && !l.contains("sched_wakeup") && !l.contains("frequency"))
            .map(|l| format!("{l}\n"))
            .collect::<String>(),
        &[],
    );
    let notes = recording.notes.join("\n");
    assert!(notes.contains("no cpu_frequency of 2 CPUs: taken to run at full speed"), "{notes}");
    assert!(notes.contains("no wakeup is sync"), "{notes}");
    // b is runnable from the beginning as far as anybody knows.
    assert_eq!(recording.threads[1].tape.steps().collect::<Vec<_>>(), [Work(4_000_000), Rest]);
}

/// Of what comes before, only the states matter in which it leaves clocks and CPUs, and what the trace says of itself.
#[test]
fn what_is_selected_by_time_counts_from_the_first_event() {
    let selection = Selection { from_ns: 3_000, to_ns: Some(4_000), ..Selection::default() };
    let mut reader = Reader::new("t", TWO.as_bytes());
    let (mut places, mut begin) = (Vec::new(), None);
    while let Some(event) = reader.next_event().unwrap() {
        places.push(selection.position(*begin.get_or_insert(event.time), &event));
    }
    use WindowPosition::{Before, Behind, Within};
    assert_eq!(places, [Before, Before, Before, Within, Within, Within, Behind]);
    let head = "\
a-1 [000] 0.000010000: print: tracing_mark_write: fairground_meta: seed=1
a-1 [000] 0.000010000: cpu_frequency: state=1 cpu_id=0
a-1 [000] 0.000010000: print: tracing_mark_write: fairground_woken: pid=1 by=task sync=0
";
    let mut reader = Reader::new("t", head.as_bytes());
    let mut place = || selection.position(10_000, &reader.next_event().unwrap().unwrap());
    assert_eq!([place(), place(), place()], [Within, Within, Before]);
}

/// Whatever it begins with: here the wakeup of b, hours after the machine has been started.
#[test]
fn a_recording_begins_with_the_first_event_of_threads() {
    let text = "\
<idle>-0 [000] 50000.000000000: cpu_frequency: state=1000000 cpu_id=1
<idle>-0 [000] 50000.000005000: sched_wakeup: comm=b pid=2 prio=120 target_cpu=1
<idle>-0 [001] 50000.000006000: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=0 next_comm=b next_pid=2 next_prio=120
b-2 [001] 50000.000008000: sched_switch: prev_comm=b prev_pid=2 prev_prio=120 prev_state=1 next_comm=swapper/1 next_pid=0 next_prio=120
";
    assert_eq!(steps(text), [("b-2".to_string(), vec![Until(0), Work(2_000_000), Rest])]);
}

/// A day and a bit: what is written could not be read.
#[test]
fn a_recording_that_lasts_too_long_is_told() {
    let late = TWO.lines().last().unwrap().replace(" 0.", " 90000.") + "\n";
    let why = "it lasts 90000.000008000 s, and has no event from 0.000018000 s to 90000.000018000 s; runs take 3600 s";
    let has_note = |text: &str| recorded(text, &[]).notes.iter().any(|note| note.contains(why));
    assert!(!has_note(TWO) && has_note(&(TWO.to_owned() + &late)));
}

#[test]
fn long_names_are_cut() {
    let comm = "é".repeat(200);
    let text = format!("x-1 [000] 1.0: sched_waking: comm={comm} pid=2 prio=120 target_cpu=0\n");
    let recording = recorded(&text.repeat(2), &[]);
    assert_eq!(recording.threads.len(), 1);
    assert_eq!(recording.threads[0].comm, "é".repeat(127));
    assert_eq!(recording.threads[0].name, format!("{}-2", "é".repeat(127)));
}

/// One line of a switch on a CPU, at a time of us.
fn switch(cpu: u32, us: u64, prev: &str, state: &str, next: &str) -> String {
    let pid = |comm: &str| comm.bytes().next().filter(|_| comm != "idle").map_or(0, |b| u32::from(b - b'a') + 1);
    let (p, n) = (pid(prev), pid(next));
    format!(
        "{prev} {p} [{cpu:03}] 0.{us:06}: sched_switch: prev_comm={prev} prev_pid={p} prev_prio=120 prev_state={state} ==> \
         next_comm={next} next_pid={n} next_prio=120\n"
    )
}

/// Of CPU 1 the trace has nothing that its idle task does. b runs 4 us there, twice as far as is seen; then it leaves
/// the CPU at 50 us, which no switch gave it.
#[test]
fn who_leaves_a_cpu_that_idles_has_run_there_as_long_as_usual() {
    let seen = |us| switch(1, us, "a", "S", "b") + &switch(1, us + 4, "b", "S", "idle");
    let unseen = "a 1 [000] 0.000012: sched_waking: comm=b pid=2 prio=120 target_cpu=1\n";
    let text =
        switch(0, 0, "idle", "R", "a") + &seen(1) + unseen + &seen(20) + &seen(30) + &switch(1, 50, "b", "S", "idle");
    let b = &steps(&text)[1];
    let last = [Until(46_000), Work(4_000_000), Rest];
    assert_eq!((b.0.as_str(), &b.1[b.1.len() - 3..]), ("b-2", last.as_slice()));
    // Woken in sight, at 40 us, it began 2 us later, as CPU 1 takes to wake up; it wakes c at 49.
    let woken = "a 1 [000] 0.000040: sched_waking: comm=b pid=2 prio=120 target_cpu=1\n\
                 b 2 [001] 0.000049: sched_waking: comm=c pid=3 prio=120 target_cpu=1\n";
    let text = text.replace(&switch(1, 50, "b", "S", "idle"), woken) + &switch(1, 50, "b", "S", "idle");
    let b = &steps(&text)[1];
    assert_eq!(b.1[b.1.len() - 5..], [Await, Work(7_000_000), wake(2), Work(1_000_000), Rest]);
}

#[test]
fn an_idle_task_that_leaves_no_event_is_named() {
    let once =
        |us| switch(1, us, "b", "S", "idle") + &switch(0, us, "idle", "R", "a") + &switch(0, us + 1, "a", "S", "idle");
    let text: String = (0..9).map(|i| once(10 * i)).collect();
    let machine = two_speeds();
    let mut importer = Importer::new(&machine, Selection::default());
    let mut reader = Reader::new("t", text.as_bytes());
    let mut unseen = Vec::new();
    while let Some(event) = reader.next_event().unwrap() {
        unseen.extend(importer.event(&event).unwrap());
    }
    assert_eq!(importer.silent_idle_cpus().collect::<Vec<_>>(), [1]);
    assert_eq!(
        (unseen.len(), unseen[0]),
        (8, InferredEvent::Began { cpu: 1, thread: 0, since: 10_000 }),
        "as long as seen: 0"
    );
    let notes = importer.finish("t", Vec::new()).0.notes.join("\n");
    assert!(notes.contains("the idle task of CPU 1 leaves no event"), "{notes}");
}

/// b was switched to, and then CPU 1 idles and runs a: b leaves no events, and is not taken to have run all the time.
#[test]
fn who_leaves_unseen_has_not_run_until_then() {
    let asleep = "idle 0 [001] 0.000050: cpu_idle: state=0 cpu_id=1\n";
    let text =
        switch(1, 10, "idle", "R", "b") + asleep + &switch(1, 60, "idle", "R", "a") + &switch(1, 64, "a", "S", "idle");
    let seen = steps(&text);
    assert_eq!((&seen[0].1, &seen[1].1), (&vec![Rest], &vec![Work(4_000_000), Rest]));
}

/// What an import and its figures say of one thread: its steps and run time, ns.
fn steps_of_thread(text: &str, index: usize) -> (Vec<Step>, u64) {
    let machine = two_speeds();
    let (mut importer, mut figures) = (Importer::new(&machine, Selection::default()), Figures::default());
    let mut reader = Reader::new("t", text.as_bytes());
    while let Some(event) = reader.next_event().unwrap() {
        for unseen in importer.event(&event).unwrap() {
            match unseen {
                InferredEvent::Began { cpu, thread, since } => figures.began(cpu, thread, since),
                InferredEvent::Left { cpu, thread, at } => figures.end_unseen(cpu, thread, at),
            }
        }
        figures.event(&event, &mut |pid| importer.index(pid));
    }
    figures.finish();
    let (recording, _) = importer.finish("t", Vec::new());
    (recording.threads[index].tape.steps().collect(), figures.threads[index].run_ns)
}

/// b runs 4 us twice, is switched to once more and is then on CPU 0, or placed there, while the trace goes on for a second:
/// it has run 4 us before, in the recording and in its figures.
#[test]
fn who_turns_up_on_another_cpu_has_left_the_first_unseen() {
    let once = |us| switch(1, us, "idle", "R", "b") + &switch(1, us + 4, "b", "S", "idle");
    let again = once(10) + &once(20) + &switch(1, 100, "idle", "R", "b");
    let end = switch(1, 999_000, "idle", "R", "c");
    let there = switch(0, 400, "idle", "R", "b") + &switch(0, 404, "b", "S", "idle");
    let (steps, ns) = steps_of_thread(&(again.clone() + &there + &end), 0);
    // CPU 0 is half as fast.
    let expected = [Work(4_000_000), Until(90_000), Work(4_000_000), Until(390_000), Work(2_000_000), Rest];
    assert_eq!((&steps[2..], ns), (expected.as_slice(), 16_000));
    let woken = "idle 0 [000] 0.000300: sched_waking: comm=b pid=2 prio=120 target_cpu=1\n\
                 idle 0 [000] 0.000300: sched_wakeup: comm=b pid=2 prio=120 target_cpu=0\n";
    let (steps, ns) = steps_of_thread(&(again + woken + &there + &end), 0);
    assert_eq!(ns, 16_000);
    // It sleeps until it is woken: its wait for CPU 0 after that is not sleep.
    assert_eq!(steps[4..], [Work(4_000_000), Until(290_000), Work(2_000_000), Rest]);
}

/// b, which runs 4 us, leaves CPU 1 without an event. c, which runs 50 us, leaves it 10 us after b came: c did not
/// begin before b had left.
#[test]
fn who_follows_one_that_left_unseen_begins_when_that_is_gone() {
    let once = |us, who, ns| switch(1, us, "idle", "R", who) + &switch(1, us + ns, who, "S", "idle");
    let before = once(10, "b", 4) + &once(20, "b", 4) + &once(100, "c", 50) + &once(200, "c", 50);
    let text = before + &switch(1, 300, "idle", "R", "b") + &switch(1, 310, "c", "S", "idle");
    let [(b, b_ns), (c, c_ns)] = [0, 1].map(|thread| steps_of_thread(&text, thread));
    assert_eq!((b_ns, c_ns), (12_000, 106_000));
    assert_eq!(b[b.len() - 3..], [Until(290_000), Work(4_000_000), Rest]);
    assert_eq!(c[c.len() - 3..], [Until(294_000), Work(6_000_000), Rest]);
}

/// b does nothing in sight, and was seen to have left a CPU before: as it is woken it has slept.
#[test]
fn who_never_acts_in_sight_sleeps_when_it_is_woken() {
    let turn = |us| switch(1, us, "a", "S", "b");
    let woken = "idle 0 [000] 0.900000: sched_waking: comm=b pid=2 prio=120 target_cpu=1\n";
    let text = turn(10) + &switch(1, 20, "a", "R", "b") + woken + &switch(1, 900_010, "a", "S", "b");
    let (steps, ns) = steps_of_thread(&text, 1);
    assert!(ns < 1000, "{ns} ns, {steps:?}");
    // Who is seen to act is about to sleep when it is woken there.
    let acts = "b 2 [001] 0.000030: sched_waking: comm=d pid=4 prio=120 target_cpu=0\n";
    let text = turn(10) + &switch(1, 20, "a", "R", "b") + acts + woken + &switch(1, 900_010, "b", "S", "a");
    let (_, ns) = steps_of_thread(&text, 1);
    assert!(ns > 800_000_000, "{ns} ns");
}

/// a wakes b on CPU 1 while that is about to sleep: the wakeup comes behind the switch, in an interrupt there.
#[test]
fn who_is_woken_on_its_way_to_sleep_is_woken_by_who_woke_it() {
    let waking = "a 1 [000] 0.000010: sched_waking: comm=b pid=2 prio=120 target_cpu=1\n";
    let wakeup = "c 3 [001] 0.000013: sched_wakeup: comm=b pid=2 prio=120 target_cpu=1\n";
    let before = switch(0, 0, "idle", "R", "a") + &switch(1, 2, "idle", "R", "b") + waking;
    let asleep = before.clone() + &switch(1, 11, "b", "S", "c") + wakeup + &switch(1, 14, "c", "R", "b");
    let a = vec![Work(5_000_000), wake(1), Work(2_000_000), Rest];
    let seen = steps(&asleep);
    assert_eq!((&seen[0].1, &seen[1].1), (&a, &vec![Work(9_000_000), Await, Rest]));
    assert!(!seen[2].1.contains(&wake(1)), "c was only met: {:?}", seen[2].1);
    // It does not sleep after all.
    let awake = before + &wakeup.replace("c 3", "b 2");
    assert_eq!(steps(&awake)[1].1, [Work(11_000_000), Await, Rest]);
}

/// b is woken from idle twice, then where a runs, by a timer as much.
#[test]
fn who_idle_cpus_wake_is_woken_by_timers_where_others_run_too() {
    let once = |us: u64, waker: &str| {
        let waking = format!("{waker} [000] 0.{us:06}: sched_waking: comm=b pid=2 prio=120 target_cpu=1\n");
        waking + &switch(1, us + 1, "idle", "R", "b") + &switch(1, us + 3, "b", "S", "idle")
    };
    let begin = switch(1, 1, "idle", "R", "b") + &switch(1, 2, "b", "S", "idle");
    let text = begin + &once(10, "idle 0") + &once(20, "idle 0") + &switch(0, 25, "idle", "R", "a") + &once(30, "a 1");
    let recording = recorded(&text, &[]);
    let a: Vec<Step> = recording.threads[1].tape.steps().collect();
    assert!(!a.contains(&wake(0)), "{a:?}");
    assert!(recording.notes.iter().any(|n| n.starts_with("1 wakeups on busy CPUs")), "{:?}", recording.notes);
    // Flags tell an interrupt from a.
    let flagged = text.replacen("idle 0 [000] 0.000010", "idle-0 [000] d.h1. 0.000010", 1);
    let a: Vec<Step> = recorded(&flagged, &[]).threads[1].tape.steps().collect();
    assert!(a.contains(&wake(0)), "{a:?}");
}

/// The interrupt is recorded before the CPU's idle exit: it was due 2 us before.
#[test]
fn a_timer_that_is_told_before_its_cpu_is_awake_fired_earlier_too() {
    let text = format!(
        "<idle>-0 [001] 0.000000000: cpu_idle: state=0 cpu_id=1\n{TWO}\
<idle>-0 [001] 0.000019000: cpu_idle: state=0 cpu_id=1
<idle>-0 [001] 0.000030000: sched_waking: comm=b pid=2 prio=120 target_cpu=1
<idle>-0 [001] 0.000031000: cpu_idle: state=4294967295 cpu_id=1
"
    );
    assert_eq!(steps(&text)[1].1, [Await, Work(2_000_000), Until(18_000), Rest]);
}

#[test]
fn the_priority_says_how_nice_a_thread_is_or_that_it_is_a_real_time_one() {
    let with = |prio: &str| {
        let text = TWO.replacen("next_pid=1 next_prio=120", &format!("next_pid=1 next_prio={prio}"), 1);
        recorded(&text, &[]).threads[0].priority
    };
    assert_eq!(
        ["100", "139", "0", "98"].map(with),
        [Priority::Nice(-20), Priority::Nice(19), Priority::RealTime(99), Priority::RealTime(1)]
    );
    let cooked = "a-1 [000] 1.0: sched_switch: swapper/0:0 [120] R ==> a:1 [49]\n";
    assert_eq!(recorded(cooked, &[]).threads[0].priority, Priority::RealTime(50));
}

#[test]
fn a_cpu_that_the_machine_lacks_is_refused() {
    let machine = two_speeds();
    let mut importer = Importer::new(&machine, Selection::default());
    let mut reader = Reader::new("t", "a-1 [002] 1.0: sched_waking: comm=b pid=2 prio=120 target_cpu=0\n".as_bytes());
    assert_eq!(importer.event(&reader.next_event().unwrap().unwrap()), Err(NoSuchCpu(2)));
}

proptest::proptest! {
    /// Any order of a trace's lines can be imported.
    #[test]
    fn no_order_of_events_is_too_strange(picks in proptest::collection::vec((0usize..15, 0u64..40), 0..60)) {
        let lines = "\
[00C] T: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=1 next_comm=b next_pid=2 next_prio=120
[00C] T: sched_switch: prev_comm=b prev_pid=2 prev_prio=120 prev_state=0 next_comm=a next_pid=1 next_prio=120
[00C] T: sched_switch: prev_comm=swapper prev_pid=0 prev_prio=120 prev_state=0 next_comm=c next_pid=3 next_prio=120
[00C] T: sched_waking: comm=a pid=1 prio=120 target_cpu=1
[00C] T: sched_waking: comm=c pid=3 prio=120 target_cpu=1
[00C] T: sched_wakeup: comm=b pid=2 prio=120 target_cpu=1
[00C] T: sched_process_fork: comm=a pid=1 child_comm=a child_pid=3
[00C] T: sched_process_exit: comm=c pid=3 prio=120
[00C] T: sched_process_exec: filename=x pid=3 old_pid=3
[00C] T: cpu_idle: state=0 cpu_id=1
[00C] T: cpu_idle: state=4294967295 cpu_id=1
[00C] T: cpu_frequency: state=1 cpu_id=0
[00C] T: cpu_idle: state=9 cpu_id=0";
        let lines: Vec<&str> = lines.lines().collect();
        let text: String = picks
            .iter()
            .map(|(line, n)| {
                let line = lines[line % lines.len()].replace('C', &(n % 2).to_string());
                format!("x-{} {}\n", n % 4, line.replacen('T', &format!("{}.0", n / 3), 1))
            })
            .collect();
        let recording = recorded(&text, &[]);
        let mut out = Vec::new();
        recording.write(&mut out).unwrap();
        let read = fairground_workload::rtapp::import("r.json", &out, &Default::default(), &two_speeds());
        proptest::prop_assert!(recording.threads.is_empty() || read.is_ok(), "{:?}", read.err());
    }
}
