use proptest::prelude::*;

use super::*;

fn read(text: &[u8]) -> Result<(Vec<String>, Vec<String>), TraceError> {
    read_all(&mut Reader::new("t", text))
}

/// Every event of a trace as text, and the notes on the trace.
pub(crate) fn read_all(source: &mut impl EventSource) -> Result<(Vec<String>, Vec<String>), TraceError> {
    let mut events = Vec::new();
    while let Some(e) = source.next_event()? {
        events.push(format!("{} {}-{}@{} {}", e.time, e.context.comm, e.context.pid, e.cpu, words(&e.what)));
    }
    Ok((events, source.notes().iter().map(ToString::to_string).collect()))
}

pub(crate) fn words(what: &TraceEventKind) -> String {
    let t = |t: &Thread| format!("{}-{}", t.comm, t.pid);
    match what {
        TraceEventKind::Switch { prev, left, next, .. } => format!("{} {left:?} {}", t(prev), t(next)),
        TraceEventKind::Waking { task, cpu } => format!("waking {} {cpu}", t(task)),
        TraceEventKind::Wakeup { task, cpu, new } => format!("wakeup {} {cpu} {new}", t(task)),
        TraceEventKind::Migrate { task, from, to } => format!("migrate {} {from} {to}", t(task)),
        TraceEventKind::Runtime { task, ns } => format!("runtime {} {ns}", t(task)),
        TraceEventKind::Idle { cpu, state } => format!("idle cpu {cpu} {state:?}"),
        TraceEventKind::Clamps { task, cpu, util, clamped, min, max } => {
            format!("clamps {} {cpu} {util} {clamped} {min} {max}", task.as_ref().map_or("queue".into(), t))
        }
        TraceEventKind::Signals { task, cpu, load, util, runnable } => {
            format!("signals {} {cpu} {load} {util} {runnable}", task.as_ref().map_or("queue".into(), t))
        }
        TraceEventKind::Frequency { cpu, khz } => format!("frequency cpu {cpu} {khz}"),
        TraceEventKind::Fork { parent, child } => format!("fork {} {}", t(parent), t(child)),
        TraceEventKind::Exec { pid } => format!("exec {pid}"),
        TraceEventKind::Exit { task } => format!("exit {}", t(task)),
        TraceEventKind::Print(text) => format!("print {text}"),
    }
}

fn events(text: &str) -> Vec<String> {
    let (events, notes) = read(text.as_bytes()).unwrap();
    assert_eq!(notes, [""; 0]);
    events
}

/// Both orders in which modules print them, and a name that holds what stands behind it.
#[test]
fn clamps_of_lisas_module_are_read() {
    let text = "\
a-1 [000] 1.0: uclamp_util_cfs: cpu=3 util_avg=17 uclamp_avg=512 uclamp_min=512 uclamp_max=1024
a-1 [000] 1.0: uclamp_util_se: pid=9 comm=x cpu=7 cpu=3 util_avg=17 uclamp_avg=512 uclamp_min=512 uclamp_max=800
a-1 [000] 1.0: uclamp_util_se: cpu=3 comm=x pid=7 pid=9 util_avg=17 uclamp_avg=512 uclamp_min=512 uclamp_max=800
";
    let expected = ["queue 3 17 512 512 1024", "x cpu=7-9 3 17 512 512 800", "x pid=7-9 3 17 512 512 800"];
    assert_eq!(events(text), expected.map(|e| format!("1000000000 a-1@0 clamps {e}")));
    let cut = read(b"a-1 [000] 1.0: uclamp_util_se: pid=9 comm=x util_avg=17\n").unwrap_err().to_string();
    assert!(cut.contains("expected uclamp_util_se with pid, comm, cpu"), "{cut}");
}

/// As `trace-cmd report -R` prints them: a fork's parent by other names, what was written behind `buf`.
#[test]
fn events_field_by_field_have_other_names() {
    let text = "\
a-1 [000] 1.0: sched_process_fork: parent_comm=a b parent_pid=1 child_comm=c child_pid=2
a-1 [000] 1.0: print: ip=0xffff buf=fairground_meta: seed=1
";
    let expected = ["fork a b-1 c-2", "print fairground_meta: seed=1"];
    assert_eq!(events(text), expected.map(|e| format!("1000000000 a-1@0 {e}")));
}

/// trace-cmd knows the formats of our own events from the file, and prints them as any others.
#[test]
fn events_of_ours_are_read_as_trace_cmd_prints_them() {
    let text = "\
          <idle>-0     [001]  1.500000: fairground_decision:  kind=wake comm=a pid=9 prio=120 prev_cpu=1 cpu=0 rule=A2
            a b-7      [000]  1.500001: fairground:fairground_stopper: event=start
";
    let expected = [
        "1500000000 <idle>-0@1 print fairground_decision: kind=wake comm=a pid=9 prio=120 prev_cpu=1 cpu=0 rule=A2",
        "1500001000 a b-7@0 print fairground_stopper: event=start",
    ];
    assert_eq!(events(text), expected);
}

/// They would go to terminals and into recordings, which refuse them.
#[test]
fn control_characters_are_replaced() {
    let text = "a\u{1b}[31m-1 [0]\t1.0: sched_waking: comm=b\u{15}\u{85}\0c\td pid=2 prio=120 target_cpu=0\r\n";
    assert_eq!(events(text), ["1000000000 a?[31m-1@0 waking b???c d-2 0"]);
}

#[test]
fn the_kernels_own_file_is_read() {
    // Linux 6.18; the second line with the thread group, as `record-tgid` adds it.
    let text = "\
# tracer: nop
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
            bash-28465   [000] d..2.  2302.162915: sched_wakeup_new: comm=bash pid=28471 prio=120 target_cpu=001
            bash-28465   (  28465) [000] d.s3.  2302.162974: sched_migrate_task: comm=rcu_preempt pid=15 prio=120 orig_cpu=1 dest_cpu=0
          <idle>-0       (-----) [000] d.s3.  2302.170970: sched_waking: comm=rcu_preempt pid=15 prio=120 target_cpu=000
            bash-28465   [000] d..2.  2302.171000: sched_switch: prev_comm=bash prev_pid=28465 prev_prio=120 prev_state=R+ ==> next_comm=rcu_preempt next_pid=15 next_prio=120
     rcu_preempt-15      [000] d..2.  2302.171001: sched_switch: prev_comm=rcu_preempt prev_pid=15 prev_prio=120 prev_state=I ==> next_comm=swapper/0 next_pid=0 next_prio=120
            bash-28465   [000] ...1.  2302.364464: tracing_mark_write: hello world
            bash-28465   [000] d..1.  2302.364465: mutex_unlock <-rb_simple_write
            bash-28465   [000] d..1.  2302.364466: <stack trace>
 => mutex_unlock
 => ksys_write
            bash-28465   [000] d..1.  2302.364467: softirq_raise: vec=9 [action=RCU]
";
    let expected = [
        "2302162915000 bash-28465@0 wakeup bash-28471 1 true",
        "2302162974000 bash-28465@0 migrate rcu_preempt-15 1 0",
        "2302170970000 <idle>-0@0 waking rcu_preempt-15 0",
        "2302171000000 bash-28465@0 bash-28465 Runnable rcu_preempt-15",
        "2302171001000 rcu_preempt-15@0 rcu_preempt-15 Sleeping swapper/0-0",
        "2302364464000 bash-28465@0 print hello world",
    ];
    let (events, notes) = read(text.as_bytes()).unwrap();
    assert_eq!(
        (events.iter().map(String::as_str).collect(), notes),
        (expected.to_vec(), vec!["t: 3 events of other kinds were passed over".to_owned()])
    );
}

#[test]
fn trace_cmd_is_read_raw_and_cooked() {
    let text = "\
cpus=2
CPU 1 is empty
          <idle>-0     [001]  1234.567890123: sched_switch:         prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=0x0 next_comm=ls next_pid=9 next_prio=120
              ls-9     [001]  1234.567890: sched_switch:         ls:9 [120] R ==> my ed:12 [120]
           my ed-12    [001] d..2.  1234.567891: sched_switch:         my ed:12 [120] S ==> swapper/1:0 [120]
          <idle>-0     [001]  1234.567892: sched_wakeup:         my ed:12 [120] success=1 CPU:003
          <idle>-0     [001]  1234.567892: sched_wakeup:         my ed:12 [120] CPU:002
          <idle>-0     [001]  1234.567893: sched_waking:         comm=my ed pid=12 prio=120 success=1 target_cpu=2
          <idle>-0     [001]  1234.567894: print:                tracing_mark_write: hello
";
    let expected = [
        "1234567890123 <idle>-0@1 swapper/1-0 Runnable ls-9",
        "1234567890000 ls-9@1 ls-9 Runnable my ed-12",
        "1234567891000 my ed-12@1 my ed-12 Sleeping swapper/1-0",
        "1234567892000 <idle>-0@1 wakeup my ed-12 3 false",
        "1234567892000 <idle>-0@1 wakeup my ed-12 2 false",
        "1234567893000 <idle>-0@1 waking my ed-12 2",
        "1234567894000 <idle>-0@1 print hello",
    ];
    assert_eq!(events(text), expected);
}

/// perf 6.1: `perf record -g -e sched:sched_switch,cpu-clock`, `perf script --show-lost-events`, a period before the event.
#[test]
fn call_chains_samples_and_losses_of_perf_script_are_passed_over() {
    let text = "\
# captured on    : Sun Nov 22 06:48:07 2026
perf 30052 [000] 61645.782369: sched:sched_switch: prev_comm=perf prev_pid=30052 prev_prio=120 prev_state=D ==> next_comm=migration/0 next_pid=18 next_prio=0
\tffffffff821f8b58 __schedule+0x618 ([kernel.kallsyms])
\t           ee137 sched_setaffinity@@GLIBC_2.3.4+0x7 (/usr/lib/x86_64-linux-gnu/libc.so.6)

      lto cgu.02 30268 [000] 61667.242611:     250000          cpu-clock:      7f457fd37cca llvm::LiveIntervals::computeVirtRegs+0x18a (/usr/lib/libLLVM.so)
            perf 30786 [000] 61702.831531:          1 sched:sched_waking: comm=migration/0 pid=18 prio=0 target_cpu=000
            perf 30786 [000] 61702.831532: PERF_RECORD_LOST lost 12
";
    let (events, notes) = read(text.as_bytes()).unwrap();
    let expected = [
        "61645782369000 perf-30052@0 perf-30052 Sleeping migration/0-18",
        "61702831531000 perf-30786@0 waking migration/0-18 0",
    ];
    assert_eq!(events, expected);
    let expected = ["t: 12 events were lost while it was recorded", "t: 1 events of other kinds were passed over"];
    assert_eq!(notes, expected);
}

/// `perf script -F +srcline`, and a chain whose tabs have become blanks. `dd` is a name and an address.
#[test]
fn below_an_event_of_perfs_everything_indented_is_its_chain() {
    let text = "\
  dd    10 [000] 1.0: sched:sched_waking: comm=x pid=8 prio=120 target_cpu=000
\tffffffff821f8b58 __schedule+0x618 ([kernel.kallsyms])
  core.c:1234
\t           ee137 operator[][3]+0x7 (/usr/lib/libc.so.6)
  x.cpp:7

  dd    10 [000] 1.1: 250000 cpu-clock:
    ffffffff8 foo+0x1 ([kernel.kallsyms])
  dd    10 [000] 1.2: sched:sched_waking: comm=x pid=8 prio=120 target_cpu=000
    core.c:1234
";
    let (events, notes) = read(text.as_bytes()).unwrap();
    assert_eq!(events, ["1000000000 dd-10@0 waking x-8 0", "1200000000 dd-10@0 waking x-8 0"]);
    assert_eq!(notes, ["t: 1 events of other kinds were passed over"]);
    let is_bad = |below: &str, event: &str| {
        let text = format!("{event}: sched_waking: comm=x pid=8 prio=120 target_cpu=000\n{below}\n");
        let notes = read(text.as_bytes()).unwrap().1;
        assert!(notes[0].contains("1 line is no part of a trace and left out"), "{notes:?}");
    };
    is_bad("core.c:1234", "dd 10 [000] 1.0");
    is_bad("\n  core.c:1234", "dd 10 [000] 1.0");
    is_bad("  dd 10 [000] 1: sched:sched_waking: comm=x", "dd 10 [000] 1.0");
    is_bad("  core.c:1234", "dd-10 [000] 1.0");
}

#[test]
fn perf_script_is_read() {
    let text = "\
     migration/0    18 [000]  1517.086554:       sched:sched_waking: comm=perf pid=15545 prio=120 target_cpu=000
            perf 15545/15545 [000]  1517.086540509: sched:sched_stat_runtime: comm=perf pid=15545 runtime=48533 [ns]
";
    let expected =
        ["1517086554000 migration/0-18@0 waking perf-15545 0", "1517086540509 perf-15545@0 runtime perf-15545 48533"];
    assert_eq!(events(text), expected);
}

/// perf prints it of a thread that exits: without an id, as one and as two, with the id of its program.
#[test]
fn who_has_no_id_any_more_is_who_ran_there() {
    let text = "\
     :-1    -1 [001] 1.0: sched:sched_waking: comm=x pid=8 prio=120 target_cpu=000
       a     7 [001] 1.1: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b c next_pid=9 next_prio=120
     :-1    -1 [001] 1.2: sched:sched_waking: comm=x pid=8 prio=120 target_cpu=000
     :-1 -1/-1 [001] 1.3: sched:sched_waking: comm=x pid=8 prio=120 target_cpu=000
     :-1  7/-1 [001] 1.4: sched:sched_switch: prev_comm=b c prev_pid=9 prev_prio=120 prev_state=X ==> next_comm=swapper/1 next_pid=0 next_prio=120
          :-1-1 [000] 1.5: sched_waking: comm=x pid=8 prio=120 target_cpu=000
";
    let (events, notes) = read(text.as_bytes()).unwrap();
    let expected = [
        "1000000000 <idle>-0@1 waking x-8 0",
        "1100000000 a-7@1 a-7 Sleeping b c-9",
        "1200000000 b c-9@1 waking x-8 0",
        "1300000000 b c-9@1 waking x-8 0",
        "1400000000 b c-9@1 b c-9 Sleeping swapper/1-0",
        "1500000000 :-1-1@0 waking x-8 0", // ftrace: init, by that name
    ];
    assert_eq!(events, expected);
    assert_eq!(
        notes,
        ["t: 4 events are of threads that perf did not know any more (:-1): they are attributed to the thread that ran there"]
    );
}

#[test]
fn names_may_hold_anything() {
    let text = "\
a [001] 1.0: b-c-7 [003] 1.5: sched_switch: prev_comm=a [001] 1.0: b-c prev_pid=7 prev_prio=120 prev_state=D ==> next_comm=x pid=3 next_pid=8 next_prio=120
-9 [000] 2.0: sched_waking: comm=a pid=1 b pid=8 prio=120 target_cpu=1
";
    let expected = [
        "1500000000 a [001] 1.0: b-c-7@3 a [001] 1.0: b-c-7 Sleeping x pid=3-8",
        "2000000000 -9@0 waking a pid=1 b-8 1",
    ];
    assert_eq!(events(text), expected);
}

/// TASK_RUNNING is 0; preempted stands at bit 8 (since 4.14), bit 10 or above before.
#[test]
fn states_are_letters_or_numbers() {
    for (state, runnable) in [
        ("R", true),
        ("R+", true),
        ("0", true),
        ("256", true),
        ("0x100", true),
        ("1024", true),
        ("S", false),
        ("D|W", false),
        ("x", false),
        ("1", false),
        ("0x2", false),
        ("130", false),
        ("16", false),
    ] {
        let text = format!("a-1 [0] 1.0: sched_switch: a:1 [120] {state} ==> b:2 [120]\n");
        let left = if runnable { "Runnable" } else { "Sleeping" };
        assert_eq!(events(&text), [format!("1000000000 a-1@0 a-1 {left} b-2")], "{state}");
    }
}

#[test]
fn an_error_names_file_line_and_what_was_expected() {
    let message = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(
        message("# fine\n\nsome words\n"),
        "t:3: expected COMM-PID [CPU] SECONDS.FRACTION: EVENT: FIELDS, found \"some words\""
    );
    let text = "a-1 [0] 1.0: sched_waking: comm=a prio=120 target_cpu=0\n";
    assert!(message(text).starts_with("t:1: expected sched_waking with comm, pid, target_cpu, found \"a-1"));
    assert!(message("a-1 [0] 1.0: sched_switch: a:1 [120] R b:2 [120]\n").contains("t:1: expected sched_switch"));
    assert!(message("a-1 [4294967296] 1.0: x: y\n").contains("expected COMM-PID [CPU]"), "a CPU beyond u32");
    assert!(message("a-1 [0] 99999999999.0: x: y\n").contains("expected COMM-PID [CPU]"), "a time beyond u64");
    let help = |text: &[u8]| miette::Diagnostic::help(&read(text).unwrap_err()).unwrap().to_string();
    for (text, helps) in [
        ("  <idle>-0         0dNh2. 100.000001: sched_waking: comm=a pid=1\n", "options/latency-format"),
        ("  <idle>-0        12d..2.   10us : sched_waking: comm=a pid=1\n", "options/latency-format"),
        ("  <idle>-0       [000] d..2. 123456789012: sched_waking: comm=a pid=1\n", "echo global > trace_clock"),
        ("  <idle>-0       (-----) [000] 123456789012: sched_waking: comm=a pid=1\n", "echo global > trace_clock"),
        ("a-1 [x] 1.0: sched_waking: comm=a pid=1\n", "traces are text as"),
        ("some 12 words 34: of 5days... 6\n", "traces are text as"),
    ] {
        assert!(help(text.as_bytes()).contains(helps), "{text}");
    }
    assert!(read(&[b'x'; 70_000]).unwrap_err().to_string().contains("a line of text"));
}

#[test]
fn a_trace_that_is_cut_off_is_read_up_to_there() {
    let whole = "a-1 [0] 1.0: sched_waking: comm=b pid=2 prio=120 target_cpu=0\n";
    let cut = format!("{whole}{}", &whole[..30]);
    let (events, notes) = read(cut.as_bytes()).unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!(notes, ["t:2: the last line has no end: the trace is cut off"]);
}

/// As a console that is mixed in, or half a line of a buffer that ran over; also in front of the first event.
#[test]
fn bad_lines_are_left_out_and_counted() {
    let good = "a-1 [0] 1.0: sched_waking: comm=b pid=2 prio=120 target_cpu=0\n";
    let bad = ["* daemon started\n", "t_cpu=0\n", "a-1 [0] 1.0: sched_waking: comm=a prio=120\n"];
    let (events, notes) = read([bad[0], good, bad[1], good, bad[2], good].concat().as_bytes()).unwrap();
    assert_eq!(events.len(), 3);
    assert_eq!(
        notes,
        ["t: 3 lines are no part of a trace and left out, the first is this: t:1: expected COMM-PID [CPU] \
          SECONDS.FRACTION: EVENT: FIELDS, found \"* daemon started\""]
    );
    let (events, notes) = read([good, bad[2], good].concat().as_bytes()).unwrap();
    assert_eq!(events.len(), 2);
    assert!(
        notes[0].starts_with("t: 1 line is no part of a trace and left out, the first is this: t:2: "),
        "{notes:?}"
    );
    let unknown = "a-1 [0] 1.0: x: y\n";
    assert!(read([unknown, bad[0]].concat().as_bytes()).is_ok(), "an event of another kind makes it a trace");
}

/// It is read up to there only: a big file of another kind is refused soon.
#[test]
fn a_thousand_bad_lines_before_an_event_are_no_trace() {
    let good = "a-1 [0] 1.0: sched_waking: comm=b pid=2 prio=120 target_cpu=0\n";
    let text = |bad: usize| "words\n".repeat(bad) + good;
    assert_eq!(read(text(1000).as_bytes()).unwrap().0.len(), 1);
    assert!(read(text(1001).as_bytes()).unwrap_err().to_string().starts_with("t:1: expected COMM-PID"));
}

#[test]
fn lost_events_are_told() {
    let (events, notes) = read(b"CPU:1 [LOST 12 EVENTS]\nCPU:0 [3 EVENTS DROPPED]\n").unwrap();
    assert!(events.is_empty());
    assert_eq!(notes, ["t: 15 events were lost while it was recorded"]);
}

const SAMPLE: &str = "\
a b-1 [000] 1.000000001: sched_switch: prev_comm=a b prev_pid=1 prev_prio=120 prev_state=1 next_comm=c next_pid=2 next_prio=120
c-2 [000] 1.000000002: sched_wakeup: comm=a b pid=1 prio=120 success=1 target_cpu=3
c-2 [000] d..2. 1.000003: sched_switch: c:2 [120] R ==> a b:1 [120]
c-2 [000] 1.000000004: sched_migrate_task: comm=a b pid=1 prio=120 orig_cpu=3 dest_cpu=0
c 2/2 [000] 1.000005: sched:sched_stat_runtime: comm=c pid=2 runtime=5 [ns]
CPU:1 [LOST 12 EVENTS]
";

/// A text with some bytes replaced, put in and taken out.
pub(crate) fn damaged(text: &str) -> impl Strategy<Value = Vec<u8>> {
    let text = text.as_bytes().to_vec();
    let damage = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 1..12);
    damage.prop_map(move |damage| {
        let mut bytes = text.clone();
        for (at, byte, how) in damage {
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => bytes[at] = b" [].:=-\n"[usize::from(byte % 8)],
                _ => drop(bytes.remove(at)),
            }
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes);
    }

    #[test]
    fn any_damage_is_read_or_refused(bytes in damaged(SAMPLE)) {
        let _ = read(&bytes);
    }
}
