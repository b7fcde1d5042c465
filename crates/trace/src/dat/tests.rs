use std::process::Command;
use std::sync::Arc;

use fairground_sim::testing::{machine, RoundRobin};
use fairground_sim::{Config, Engine};
use fairground_workload::testing::Random;

use self::files::{big_endian, parts, turned, v7, Packed};
use super::*;
use crate::text::tests::read_all;
use crate::text::{Reader, TraceError};
use crate::{EventSource, FtraceText, Names, RuleNames};

mod files;
mod perf_data;

/// All events of ours, texts longer than a small record, times that a page cannot tell by 27 bits, several CPUs at one
/// instant, a name that holds what stands behind it.
const TEXT: &str = "\
<idle>-0 [000] 0.000000000: print: tracing_mark_write: fairground_meta: machine=my board.toml
<idle>-0 [000] 0.000000000: print: tracing_mark_write: fairground_rule: name=A2 function=f label=l text=the previous CPU
<idle>-0 [003] 0.000000000: sched_process_fork: comm=swapper/3 pid=0 child_comm=a pid=1 child_pid=1000
<idle>-0 [003] 0.000000000: sched_wakeup_new: comm=a pid=1 pid=1000 prio=120 success=1 target_cpu=1
<idle>-0 [001] 0.000000000: cpu_idle: state=4294967295 cpu_id=1
<idle>-0 [001] 0.000000000: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=0 next_comm=a pid=1 next_pid=1000 next_prio=120
a pid=1-1000 [001] 0.200000001: sched_switch: prev_comm=a pid=1 prev_pid=1000 prev_prio=120 prev_state=1 next_comm=swapper/1 next_pid=0 next_prio=120
<idle>-0 [001] 0.200000001: cpu_idle: state=2 cpu_id=1
<idle>-0 [000] 0.200000001: cpu_frequency: state=1844000 cpu_id=0
<idle>-0 [003] 300.000000000: sched_waking: comm=a pid=1 pid=1000 prio=120 success=1 target_cpu=1
<idle>-0 [003] 300.000000000: print: tracing_mark_write: fairground_why: pid=1000 rule=- note=9 cpu=-1 a=0 b=18446744073709551615 c=0 text=a text that is longer than the 112 bytes of a small record, of which it says that cpu=3 text=4 are part of the text
<idle>-0 [003] 300.000000000: print: tracing_mark_write: fairground_decision: kind=wake comm=a pid=1 pid=1000 prio=120 prev_cpu=1 cpu=2 rule=A2 probes=3 group_cpus=0
<idle>-0 [003] 300.000000000: sched_migrate_task: comm=a pid=1 pid=1000 prio=120 orig_cpu=1 dest_cpu=2
<idle>-0 [003] 300.000000000: sched_wakeup: comm=a pid=1 pid=1000 prio=120 success=1 target_cpu=2
<idle>-0 [002] 300.000000000: sched_switch: prev_comm=swapper/2 prev_pid=0 prev_prio=120 prev_state=0 next_comm=a pid=1 next_pid=1000 next_prio=120
a pid=1-1000 [002] 300.000000001: print: tracing_mark_write: fairground_balance: kind=newidle level=MC src_cpu=0 dst_cpu=2 unit=load amount=17 rule=B1 moved=0 active=1
a pid=1-1000 [002] 300.000000002: print: tracing_mark_write: fairground_mark: comm=a pid=1 pid=1000 prio=120 mark=Latency { id: 3 }
a pid=1-1000 [002] 300.000000003: print: tracing_mark_write: fairground_stopper: event=start
a pid=1-1000 [002] 300.000000004: print: tracing_mark_write: fairground_temperature: zone=0 temp=-40000
a pid=1-1000 [002] 300.000000005: print: tracing_mark_write: fairground_cooling: target=1 cpu_id=2
a pid=1-1000 [002] 300.000000006: print: tracing_mark_write: fairground_energy: rail=1 part=active energy_pj=77
a pid=1-1000 [002] 300.000000007: uclamp_util_se: pid=1000 comm=a pid=1 cpu=2 util_avg=17 uclamp_avg=512 uclamp_min=512 uclamp_max=1024
a pid=1-1000 [002] 300.000000007: uclamp_util_cfs: cpu=2 util_avg=40 uclamp_avg=512 uclamp_min=512 uclamp_max=1024
a pid=1-1000 [002] 300.000000007: sched_pelt_se: cpu=2 path=(null) comm=a pid=1 pid=1000 load=18446744073709551615 util=17 rbl_load=19 update_time=300000000000
a pid=1-1000 [002] 300.000000007: sched_pelt_cfs: cpu=2 path=/ load=2048 util=40 rbl_load=41 update_time=300000000001
a pid=1-1000 [002] 300.000000008: sched_process_exec: filename=a pid=1 pid=1000 old_pid=1000
a pid=1-1000 [002] 300.000000009: print: tracing_mark_write: sched_switch: what a process says
a pid=1-1000 [002] 300.000000009: sched_process_exit: comm=a pid=1 pid=1000 prio=120
";

fn written(text: &[u8], nr_cpus: usize) -> Vec<u8> {
    let mut file = Vec::new();
    write(text, nr_cpus, &tempfile::tempfile().unwrap(), &mut file).unwrap();
    file
}

/// Every event of a file as text, and the notes on the file.
fn read(file: Vec<u8>) -> Result<(Vec<String>, Vec<String>), TraceError> {
    read_all(&mut DatReader::new("t.dat", file)?)
}

/// A run of some seconds with wakeups, forks, priorities and migrations, as text.
fn run(seed: u64, cpus: u32) -> Vec<u8> {
    let workload = Arc::new(Random::new(seed).workload(cpus as usize));
    let words = RuleNames::new(&[], &[]);
    let mut trace = FtraceText::new(Vec::new(), cpus as usize, Names::new(workload.clone()), words, false);
    let sched = Box::new(RoundRobin::new(cpus as usize));
    let mut engine = Engine::new(Arc::new(machine(cpus, 1)), workload, sched, Config { seed, ..Config::default() });
    engine.run(&mut [&mut trace]).unwrap();
    trace.finish().unwrap()
}

#[test]
fn what_is_written_reads_as_the_text_does() {
    let runs = (0..20).map(|seed| (run(seed, 1 + seed as u32 % 7), 7));
    for (text, cpus) in runs.chain([(TEXT.into(), 4)]) {
        let (events, notes) = read(written(&text, cpus)).unwrap();
        assert_eq!(events, read_all(&mut Reader::new("t", text.as_slice())).unwrap().0);
        assert!(notes.is_empty(), "{notes:?}");
    }
}

#[test]
fn same_text_same_bytes() {
    let text = run(3, 4);
    assert!(written(&text, 4) == written(&text, 4));
}

#[test]
fn what_is_no_trace_of_ours_is_refused_by_line() {
    let message =
        |text: &str| write(text.as_bytes(), 2, &tempfile::tempfile().unwrap(), Vec::new()).err().map(|e| e.to_string());
    assert_eq!(message(""), None);
    assert_eq!(message("cut off"), None, "a last line without an end");
    assert!(message("some words\n").unwrap().contains("line 1 of the trace: expected COMM-PID [CPU]"));
    let line = "a-1 [000] 1.0: sched_waking: comm=b pid=2 prio=120 success=1 target_cpu=0\n";
    assert_eq!(message(line), None);
    let long = format!("{line}a-1 [000] 1.0: print: {}\n", "x".repeat(1 << 18));
    assert!(message(&long).unwrap().contains("line 2 of the trace: expected a line of less than 262144 bytes"));
    assert!(message(&line.replace("[000]", "[002]")).unwrap().contains("expected a CPU below 2"));
    assert!(message(&line.replace("prio=120", "prio=x")).unwrap().contains("expected sched_waking with prio"));
    assert!(message(&line.replace(" pid=2", "")).unwrap().contains("expected sched_waking with pid"));
    assert!(message(&line.replace("sched_waking", "softirq_raise")).unwrap().contains("expected an event of ours"));
}

/// And names over 15 bytes; notes count the events of both.
#[test]
fn texts_longer_than_a_page_are_cut() {
    let text = format!("a-1 [000] 1.0: print: tracing_mark_write: {}\n", "é".repeat(4000));
    let cut = |text: &str| write(text.as_bytes(), 1, &tempfile::tempfile().unwrap(), Vec::new()).unwrap();
    let waking =
        |comm: &str| format!("a-1 [000] 1.0: sched_waking: comm={comm} pid=2 prio=120 success=1 target_cpu=0\n");
    assert_eq!(cut(&[text.clone(), waking("fifteen letters"), waking("sixteen letters.")].concat()), 2);
    let (events, _) = read(written(text.as_bytes(), 1)).unwrap();
    let said = events[0].strip_prefix("1000000000 a-1@0 print ").unwrap();
    assert!((1900..2040).contains(&said.chars().count()) && said.chars().all(|c| c == 'é'));
}

/// Every compression, in sections and in chunks of a few pages.
#[test]
fn version_7_reads_as_version_6_does() {
    let file = written(&run(5, 3), 3);
    let expected = read(file.clone()).unwrap();
    assert!(expected.0.len() > 100);
    let parts = parts(&file);
    for packed in [Packed::No, Packed::Zlib, Packed::Zstd] {
        assert_eq!(read(v7(&parts, packed)).unwrap(), expected);
    }
}

/// All events that we write, of a machine of the other byte order.
#[test]
fn high_bytes_may_come_first() {
    for text in [TEXT.into(), run(5, 4)] {
        let file = written(&text, 4);
        let turned = turned(&file);
        assert_ne!(turned, file);
        assert_eq!(read(turned).unwrap(), read(file).unwrap());
    }
}

/// Events of LISA's module have formats in the head only if there are any.
#[test]
fn events_of_a_module_are_listed_where_they_are() {
    let lists = |text: &str, name: &str| {
        let file = written(text.as_bytes(), 4);
        file.windows(name.len()).any(|window| window == name.as_bytes())
    };
    let without: String =
        TEXT.lines().filter(|line| !line.contains("_pelt_")).map(|line| format!("{line}\n")).collect();
    for name in ["name: sched_pelt_se", "name: sched_pelt_cfs"] {
        assert!(lists(TEXT, name) && !lists(&without, name), "{name}");
    }
    assert!(lists("", "name: sched_switch") && !lists("", "lisa"));
}

/// A machine of other byte order, of 4-byte longs, with an event whose fields are elsewhere, and with names of any
/// bytes; one event of two is not known.
#[test]
fn formats_say_where_fields_are() {
    let file = big_endian();
    let mut reader = DatReader::new("t.dat", file).unwrap();
    let (events, notes) = read_all(&mut reader).unwrap();
    assert_eq!(events, ["4294967303 some?na\u{fffd}me-7@1 waking other-9 1", "4294967305 <...>-8@0 waking x-9 3"]);
    assert_eq!(reader.unknown(), 1);
    let expected = [
        "t.dat: 12 events were lost while it was recorded",
        "t.dat: events were lost 1 times while it was recorded, it does not say how many",
        "t.dat: 1 events of other kinds were passed over",
    ];
    assert_eq!(notes, expected);
}

#[test]
fn a_file_that_is_cut_off_is_read_up_to_there() {
    let file = written(&run(5, 3), 3);
    let (events, _) = read(file.clone()).unwrap();
    let (some, notes) = read(file[..file.len() - 5000].to_vec()).unwrap();
    assert!(!some.is_empty() && some.len() < events.len());
    let has_note = |part: &str| notes.iter().any(|note| note.contains(part));
    assert!(has_note("the file is cut off: 5000 bytes of events of 1 CPUs are missing"), "{notes:?}");
    let packed = v7(&parts(&file), Packed::Zstd);
    let (some, notes) = read(packed[..packed.len() - 100].to_vec()).unwrap();
    assert!(some.len() < events.len());
    assert!(notes.iter().any(|note| note.contains("the file is cut off")), "{notes:?}");
}

/// Each seventh length, as all of them take 42 s beside other tests: an error that names a place, or what is there.
#[test]
fn a_head_that_is_cut_off_is_refused_by_place() {
    let file = written(TEXT.as_bytes(), 4);
    let pages = file.len() - 4 * 4096;
    for len in (0..pages).step_by(7) {
        match read(file[..len].to_vec()) {
            Err(TraceError::Damaged { at, .. }) => assert!(at as usize <= len),
            Err(other) => panic!("{len}: {other}"),
            // The padding before the first page.
            Ok((events, notes)) => assert!(events.is_empty() && !notes.is_empty() && len > pages - 4096),
        }
    }
}

fn message(file: &[u8]) -> String {
    read(file.to_vec()).unwrap_err().to_string()
}

/// A good file with other bytes at a place.
fn changed(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = written(TEXT.as_bytes(), 4);
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

#[test]
fn damage_is_named() {
    assert!(message(b"").starts_with("t.dat: byte 0: expected the signature of a trace.dat file"));
    assert!(message(&changed(10, b"8\0")).contains("byte 10: expected version 6 or 7, found \"8\""));
    assert!(message(&changed(12, &[2])).contains("expected a byte order, 0 or 1, found 2"));
    // As if the other end of numbers came first.
    assert!(message(&changed(12, &[1])).contains("byte 38: expected header_page of at most"));
    assert!(message(&changed(13, &[5])).contains("expected a long of 4 or 8 bytes, found 5"));
    assert!(message(&changed(18, b"HEADER")).contains("byte 18: expected header_page, found \"HEADER"));
    assert!(message(&changed(30, &[255; 8])).contains("byte 38: expected header_page of at most"));
    let file = written(TEXT.as_bytes(), 4);
    let find = |what: &[u8]| file.windows(what.len()).position(|w| w == what).unwrap();
    let options = find(b"options  \0");
    let million = message(&changed(options - 4, &1_000_000_u32.to_le_bytes()));
    assert!(million.contains("expected the number of CPUs, 0 to 8192, found 1000000"), "{million}");
    assert!(message(&changed(options, b"latency  \0")).contains("expected flyrecord, found \"latency  \""));
    let wide = changed(find(b"field:pid_t pid;"), b"field:pid_t pix;");
    assert!(message(&wide).contains("expected sched_waking with a field pid, found none"), "{}", message(&wide));
    // The second CPU has the pages of the first.
    let places = options + b"options  \0\0\0flyrecord\0".len();
    let shared = message(&changed(places + 16, &file[places..places + 16]));
    assert!(
        shared.contains("expected events of each CPU in a place of their own, found those of CPUs 0 and 1"),
        "{shared}"
    );
    let mut huge = changed(14, &(1_u32 << 20).to_le_bytes());
    huge[options - 4..options].copy_from_slice(&8192_u32.to_le_bytes());
    assert!(message(&huge).contains("expected CPUs with pages of 134217728 bytes at most, found 8192"));
}

/// Counts and sizes that are absurd take neither the time nor the memory that they ask for.
#[test]
fn damage_to_pages_is_passed_over_and_told() {
    let file = written(&run(5, 3), 3);
    let (events, _) = read(file.clone()).unwrap();
    let pages = file.len() - 3 * 4096;
    let mut damaged = file.clone();
    // A record longer than its page.
    damaged[pages + 16..pages + 24].copy_from_slice(&[0, 0, 0, 0, 255, 255, 255, 255]);
    let (some, notes) = read(damaged).unwrap();
    assert!(!some.is_empty() && some.len() < events.len());
    assert_eq!(notes, ["t.dat: 1 pages of events are damaged: their rest was passed over"]);
}

/// What trace-cmd says of our file, in the words of our text: `print` events with what they say in `buf`, numbers of a
/// long in hexadecimal, a fork's parent by other names.
fn as_text(report: &str) -> Vec<String> {
    let line = |line: &str| {
        let (at, fields) = line.trim().split_once(": ")?;
        let (event, fields) = fields.trim().split_once(':')?;
        let fields = fields.trim().replace("prev_state=0x", "prev_state=");
        let fields = fields.replace("parent_comm=", "comm=").replace("parent_pid=", "pid=");
        let said = fields.split_once("buf=").map_or("", |(_, said)| said);
        let what = match event {
            "print" => format!("print: tracing_mark_write: {said}"),
            event if event.starts_with("fairground_") => format!("print: tracing_mark_write: {event}: {fields}"),
            event => format!("{event}: {fields}"),
        };
        let (who, time) = at.rsplit_once(' ')?;
        let (who, cpu) = who.trim().rsplit_once(' ')?;
        Some(format!("{} {cpu} {time}: {}", who.trim(), what.trim_end()))
    };
    report.lines().filter_map(line).collect()
}

/// What trace-cmd finds in our files is what our text says. Events of one instant come CPU by CPU.
#[test]
fn trace_cmd_reads_what_is_written() {
    if Command::new("trace-cmd").arg("--version").output().is_err() {
        assert!(std::env::var("CI").is_err(), "there is no trace-cmd");
        eprintln!("SKIPPED: there is no trace-cmd (Debian package trace-cmd)");
        return;
    }
    for text in [TEXT.into(), run(5, 3)] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.dat");
        std::fs::write(&path, written(&text, 4)).unwrap();
        let report = |how: &[&str]| {
            let out = Command::new("trace-cmd").arg("report").args(how).arg("-i").arg(&path).output().unwrap();
            assert!(out.status.success() && out.stderr.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
            String::from_utf8(out.stdout).unwrap()
        };
        let (raw, cooked) = (report(&["-R", "-t"]), report(&["-t"]));
        let found = as_text(&raw);
        let text = String::from_utf8(text).unwrap();
        let key = |line: &&str| {
            let line = crate::text::Line::parse(line).unwrap();
            (line.time, line.cpu)
        };
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_by_key(key);
        assert_eq!(found, lines);
        // We read both forms that it prints as we read our own.
        let lines = read_all(&mut Reader::new("t", (lines.join("\n") + "\n").as_bytes())).unwrap();
        for printed in [raw, cooked] {
            assert_eq!(read_all(&mut Reader::new("t", printed.as_bytes())).unwrap(), lines);
        }
        assert_converts(&path, &read(std::fs::read(&path).unwrap()).unwrap());
    }
}

/// trace-cmd's own files of version 7 of the same trace read the same. Debian's knows no zlib.
fn assert_converts(path: &std::path::Path, expected: &(Vec<String>, Vec<String>)) {
    for compression in ["none", "zstd"] {
        let to = path.with_extension(compression);
        let mut convert = Command::new("trace-cmd");
        convert
            .args(["convert", "--file-version", "7", "--compression", compression, "-i"])
            .arg(path)
            .arg("-o")
            .arg(&to);
        let out = convert.output().unwrap();
        assert!(out.status.success(), "{compression}: {}", String::from_utf8_lossy(&out.stderr));
        assert_eq!(&read(std::fs::read(&to).unwrap()).unwrap(), expected, "{compression}");
    }
}
