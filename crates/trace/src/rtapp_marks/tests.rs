//! Small files on a machine where nothing but the work takes time: every figure can be worked out by hand.

use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;

use fairground_sim::testing::{engine, machine};
use fairground_sim::Config;
use fairground_workload::rtapp::{read_text, Dialect};

use super::*;
use crate::text::tests::read_all;
use crate::{FtraceText, Hardware, Names, PerfettoReader, PerfettoTrace, Reader, RuleNames};

/// Bytes that can be looked at when their writer is gone.
#[derive(Clone, Default)]
struct Sink(Rc<RefCell<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A run of `task` on one CPU, without timer slack, as text and as Perfetto's.
fn traces(task: &str) -> (Vec<u8>, Vec<u8>) {
    let machine = machine(1, 1);
    let text = format!(r#"{{ "global": {{ "duration": 1 }}, "tasks": {{ "t": {{ {task} }} }} }}"#);
    let read = read_text("f.json", text.as_bytes(), &Dialect::default(), &machine).unwrap_or_else(|e| panic!("{e}"));
    let mut workload = read.workload;
    workload.tasks.iter_mut().for_each(|task| task.timer_slack_ns = 0);
    let (workload, plan) = (Arc::new(workload), Arc::new(read.log.expect("a file of rt-app")));
    let (names, words) = (|| Names::new(Arc::clone(&workload)), || RuleNames::new(&[], &[]));
    let (text, perfetto) = (Sink::default(), Sink::default());
    let writers: [Box<dyn Export>; 2] = [
        Box::new(FtraceText::new(text.clone(), 1, names(), words(), false)),
        Box::new(PerfettoTrace::new(perfetto.clone(), Hardware::from_machine(&machine), names(), words(), false)),
    ];
    for writer in writers {
        let mut marks = Box::new(RtappMarks::new(writer, Arc::clone(&plan), Arc::clone(&workload)));
        let config = Config { start_phase: false, ..Config::default() };
        engine(machine.clone(), (*workload).clone(), config).run(&mut [&mut *marks]).unwrap();
        marks.finish().unwrap();
    }
    (text.0.take(), perfetto.0.take())
}

/// The marks of a trace: time, us, and text.
fn said(text: &[u8]) -> Vec<(u64, String)> {
    let line = |line: &str| {
        let (head, said) = line.split_once(": print: tracing_mark_write: ")?;
        let (before, at) = head.rsplit_once(' ')?;
        assert_eq!(before, "t-0-1000 [000]");
        Some(((at.parse::<f64>().unwrap() * 1e6).round() as u64, said.trim_start_matches("rtapp_").to_owned()))
    };
    std::str::from_utf8(text).unwrap().lines().filter(|l| l.contains("rtapp_")).filter_map(line).collect()
}

/// Twice through two rounds of a and one of b; 3 of 10 ms are worked in a, and slack is what is left of the period.
#[test]
fn rounds_are_counted_as_rt_app_counts_them() {
    let task = r#""loop": 2, "phases": {
        "a": { "loop": 2, "run": 3000, "timer": { "ref": "unique", "period": 10000 } }, "b": { "run": 5000 } }"#;
    let actual = said(&traces(task).0);
    let of = |what: &str| -> Vec<(u64, String)> {
        let those = actual.iter().filter_map(|(at, said)| Some((*at, said.strip_prefix(what)?.trim().to_owned())));
        those.collect()
    };
    let round = |thread, phase, loops| format!("thread_loop={thread} phase={phase} phase_loop={loops}");
    let rounds = [
        (0, round(0, 0, 0)),
        (10_000, round(0, 0, 1)),
        (20_000, round(0, 1, 0)),
        (25_000, round(1, 0, 0)),
        (30_000, round(1, 0, 1)),
        (40_000, round(1, 1, 0)),
    ];
    assert_eq!(of("loop: event=start"), rounds);
    let ends = [10_000, 20_000, 25_000, 30_000, 40_000, 45_000];
    let ended: Vec<(u64, String)> = ends.into_iter().zip(rounds).map(|(at, (_, round))| (at, round)).collect();
    assert_eq!(of("loop: event=end"), ended);
    let stats = of("stats:");
    assert_eq!(stats[0], (10_000, "period=10000 run=3000 wa_lat=0 slack=7000 c_period=10000 c_run=3000".into()));
    assert_eq!(stats[2], (25_000, "period=5000 run=5000 wa_lat=0 slack=0 c_period=0 c_run=5000".into()));
    // The timer goes on where it was: 5 ms of its period have passed in b.
    assert_eq!(stats[3], (30_000, "period=5000 run=3000 wa_lat=0 slack=2000 c_period=10000 c_run=3000".into()));
    assert_eq!((of("task:"), actual.len()), (vec![(0, "event=start".into()), (45_000, "event=end".into())], 20));
}

/// A task without phases has one, and its `loop` is that of the phase; without that it is the thread that repeats.
#[test]
fn a_task_without_phases_repeats_its_only_phase() {
    let starts = |task: &str| -> Vec<String> {
        let actual = said(&traces(task).0).into_iter();
        actual.filter_map(|(_, said)| Some(said.strip_prefix("loop: event=start ")?.to_owned())).take(3).collect()
    };
    let round = |thread, loops| format!("thread_loop={thread} phase=0 phase_loop={loops}");
    assert_eq!(starts(r#""loop": 3, "run": 1000"#), [round(0, 0), round(0, 1), round(0, 2)]);
    assert_eq!(starts(r#""run": 1000"#), [round(0, 0), round(1, 0), round(2, 0)]);
}

/// No time goes back, and both formats tell the same.
#[test]
fn marks_stand_among_the_events_in_the_order_of_their_times() {
    let (text, perfetto) =
        traces(r#""run": 700, "sleep": 300, "run": 10, "timer": { "ref": "unique", "period": 1500 }"#);
    let (events, _) = read_all(&mut Reader::new("t", text.as_slice())).unwrap();
    let times: Vec<u64> = events.iter().map(|e| e.split(' ').next().unwrap().parse().unwrap()).collect();
    assert!(times.is_sorted() && events.iter().filter(|e| e.contains("rtapp_")).count() > 1000);
    let (same, _) = read_all(&mut PerfettoReader::new("t", perfetto.as_slice())).unwrap();
    assert_eq!(same, events);
}
