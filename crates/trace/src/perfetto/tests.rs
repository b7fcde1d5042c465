use std::io::Write;
use std::sync::Arc;

use fairground_machine::CpuId;
use fairground_sim::testing::{machine, spec, workload, RoundRobin};
use fairground_sim::{
    Balance, BalanceKind, BalanceUnit, Clamps, Config, Decision, DecisionKind, EnergyPart, Engine, Event, EventKind,
    MigrateCause, Observer, Reason, Rule, Signals, SwitchState, Time, NO_RULE,
};
use fairground_workload::testing::Random;
use fairground_workload::{Mark, Workload};
use flate2::write::ZlibEncoder;
use flate2::Compression;
use proptest::prelude::*;

use super::ids::{bundle, compact, event, packet, trace, track_event};
use super::wire::Message;
use super::*;
use crate::text::tests::words;
use crate::{EventSource, FtraceText, Names, Reader, RuleNames, TraceError, TraceEventKind};

/// Every event as text, and the notes on the trace.
fn read_all(mut source: impl EventSource) -> Result<(Vec<String>, Vec<String>), TraceError> {
    let mut events = Vec::new();
    while let Some(e) = source.next_event()? {
        events.push(format!("{} {}-{}@{} {}", e.time, e.context.comm, e.context.pid, e.cpu, words(&e.what)));
    }
    Ok((events, source.notes().iter().map(ToString::to_string).collect()))
}

fn read(bytes: &[u8]) -> Result<(Vec<String>, Vec<String>), TraceError> {
    read_all(PerfettoReader::new("t", bytes))
}

fn events(bytes: &[u8]) -> Vec<String> {
    let (events, notes) = read(bytes).unwrap();
    assert_eq!(notes, [""; 0]);
    events
}

fn fault(bytes: &[u8]) -> String {
    read(bytes).unwrap_err().to_string()
}

fn hardware(cpus: usize) -> Hardware {
    Hardware { cpus: vec![(1024, 2_000_000); cpus], rails: vec!["big".into()], zones: vec!["soc".into()] }
}

struct Both(FtraceText<Vec<u8>>, PerfettoTrace<Vec<u8>>);

impl Both {
    fn new(cpus: usize, workload: &Arc<Workload>) -> Both {
        let names = || Names::new(Arc::clone(workload));
        let words = || {
            let rule = |name, text| Rule { name, function: "f", label: "l", text };
            let rules = [rule("none", "no rule"), rule("A2", "the previous CPU")];
            let words = RuleNames::new(&rules, &["CPU {cpu} has {a}"]);
            words.with_balancing(&[Rule::named("none"), rule("P3", "load")], &["MC"])
        };
        let mut both = Both(
            FtraceText::new(Vec::new(), cpus, names(), words(), true),
            PerfettoTrace::new(Vec::new(), hardware(cpus), names(), words(), true),
        );
        let (meta, notes) = ([("machine", "my\nboard.toml"), ("seed", "1")], ["partition: 0-3".into()]);
        both.0.head(&meta, &notes);
        both.1.head(&meta, &notes);
        both
    }

    fn event(&mut self, time: Time, cpu: CpuId, kind: EventKind) {
        let event = Event { time, cpu, kind };
        self.0.event(&event);
        self.1.event(&event);
    }

    /// The text and the other.
    fn finish(self) -> (Vec<u8>, Vec<u8>) {
        (self.0.finish().unwrap(), self.1.finish().unwrap())
    }
}

/// A trace with every kind of event.
fn sample() -> (Vec<u8>, Vec<u8>) {
    let workload = Arc::new(workload(vec![], vec![spec("reader", vec![]), spec("a b=c pid=7", vec![])]));
    let mut both = Both::new(8, &workload);
    let decision =
        Decision { kind: DecisionKind::Wake, task: 1, prev: 5, chosen: 6, rule: 1, probes: 3, group_cpus: 4 };
    let balance = Balance {
        kind: BalanceKind::Busy,
        level: 0,
        src: 1,
        dst: 2,
        unit: BalanceUnit::Load,
        amount: u64::MAX,
        rule: 1,
        moved: 1,
        active: true,
    };
    let clamps = Clamps { cpu: 6, task: Some(1), util: 17, clamped: 512, min: 512, max: 1024 };
    let signals = Signals { cpu: 6, task: Some(1), load: u64::MAX, runnable: 19, util: 17, updated: 2_900 };
    let switch = |prev, prev_state, next| EventKind::Switch { prev, prev_state, next, cost: 0 };
    both.event(0, 4, EventKind::Fork { parent: None, child: 0 });
    both.event(0, 4, EventKind::Fork { parent: None, child: 1 });
    both.event(0, 4, EventKind::Wakeup { task: 0, target: 4 });
    both.event(0, 3, EventKind::Frequency { khz: 500_000 });
    both.event(1_000, 4, EventKind::Idle { state: None });
    both.event(1_000, 4, switch(None, SwitchState::Runnable, Some(0)));
    both.event(1_500, 4, EventKind::Exec { task: 0 });
    both.event(2_000, 4, EventKind::Waking { task: 1, prev: 5, waker: None, sync: true });
    let reasons = [
        Reason { note: 9, rule: NO_RULE, cpu: None, numbers: [u64::MAX, 1, 2] },
        Reason { note: 0, rule: 1, cpu: Some(4), numbers: [12, 462, 0] },
    ];
    let decided = Event { time: 2_000, cpu: 4, kind: EventKind::Decision(decision) };
    both.0.reasons(&decided, &reasons);
    both.1.reasons(&decided, &reasons);
    both.event(2_000, 4, decided.kind);
    both.event(2_000, 4, EventKind::Migrate { task: 1, from: 5, to: 6, cause: MigrateCause::Wake });
    both.event(2_000, 6, EventKind::Wakeup { task: 1, target: 6 });
    both.event(2_000, 6, switch(None, SwitchState::Runnable, Some(1)));
    both.event(3_000, 6, EventKind::Clamps(clamps));
    both.event(3_000, 6, EventKind::Clamps(Clamps { task: None, ..clamps }));
    both.event(3_000, 6, EventKind::Signals(signals));
    both.event(3_000, 6, EventKind::Signals(Signals { task: None, ..signals }));
    both.event(3_000, 2, EventKind::Balance(balance));
    both.event(3_000, 2, EventKind::Stopper(true));
    both.event(3_000, 6, EventKind::Mark { task: 1, mark: Mark::Op });
    both.event(4_000, 0, EventKind::Temperature { zone: 0, milli_c: -5_000 });
    both.event(4_000, 0, EventKind::Cooling { state: 2 });
    both.event(4_000, 0, EventKind::Energy { rail: 0, part: EnergyPart::Active, picojoules: 1_500_000 });
    both.event(5_000, 6, switch(Some(1), SwitchState::Sleeping, None));
    both.event(5_000, 6, EventKind::Idle { state: Some(1) });
    both.event(5_000, 4, EventKind::Exit { task: 0 });
    both.event(5_000, 4, switch(Some(0), SwitchState::Dead, None));
    both.finish()
}

#[test]
fn what_is_read_is_what_text_would_have_told() {
    let (text, perfetto) = sample();
    let expected = read_all(Reader::new("t", text.as_slice())).unwrap();
    assert!(expected.0.len() > 25, "{expected:?}");
    assert_eq!(read(&perfetto).unwrap(), expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_run_is_read_as_its_text_is(seed in any::<u64>(), cpus in 1..5u32) {
        let mut workload = Random::new(seed).workload(cpus as usize);
        workload.warmup_ns = 0;
        let workload = Arc::new(workload);
        let mut both = Both::new(cpus as usize, &workload);
        let sched = Box::new(RoundRobin::new(cpus as usize));
        let mut engine =
            Engine::new(Arc::new(machine(cpus, 1)), workload, sched, Config { seed, ..Config::default() });
        engine.run(&mut [&mut both.0, &mut both.1]).unwrap();
        let (text, perfetto) = both.finish();
        prop_assert_eq!(read(&perfetto).unwrap(), read_all(Reader::new("t", text.as_slice())).unwrap());
    }
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    assert_eq!(sample().1, sample().1);
}

#[test]
fn waking_has_the_previous_cpu_and_wakeup_the_chosen_one() {
    let bytes = sample().1;
    let actual = events(&bytes);
    assert!(actual.contains(&"2000 reader-1000@4 waking a b=c pid=7-1001 5".to_owned()), "{actual:#?}");
    assert!(actual.contains(&"2000 <idle>-0@6 wakeup a b=c pid=7-1001 6 true".to_owned()), "{actual:#?}");
}

fn packets(packets: &[&dyn Fn(&mut Message)]) -> Vec<u8> {
    let mut all = Message::default();
    packets.iter().for_each(|write| all.nested(trace::PACKET, |p| write(p)));
    all.as_bytes().to_vec()
}

fn bundle_of(cpu: u64, write: impl Fn(&mut Message)) -> Vec<u8> {
    packets(&[&|p| {
        p.nested(packet::FTRACE_EVENTS, |b| {
            b.number(bundle::CPU, cpu);
            write(b);
        })
    }])
}

/// An event with the fields of its message as numbers.
fn put_event(b: &mut Message, time: u64, pid: u64, id: u32, write: impl Fn(&mut Message)) {
    b.nested(bundle::EVENT, |e| {
        e.number(event::TIMESTAMP, time);
        e.number(event::PID, pid);
        e.nested(id, |m| write(m));
    });
}

fn idle(b: &mut Message, time: u64, state: u64, cpu: u64) {
    put_event(b, time, 0, event::CPU_IDLE, |m| {
        m.number(1, state);
        m.number(2, cpu);
    });
}

fn packed(numbers: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for n in numbers {
        let mut m = Message::default();
        m.number(1, *n);
        bytes.extend_from_slice(&m.as_bytes()[1..]);
    }
    bytes
}

/// As Perfetto records the scheduler by default: times as differences, names by index, and only who starts.
fn compact_sample(prev_states: &[u64]) -> Vec<u8> {
    bundle_of(3, |b| {
        b.nested(bundle::COMPACT_SCHED, |c| {
            c.bytes(compact::SWITCH_TIMESTAMP, &packed(&[100, 50, 50]));
            c.bytes(compact::SWITCH_PREV_STATE, &packed(prev_states));
            c.bytes(compact::SWITCH_NEXT_PID, &packed(&[7, 0, 8]));
            c.bytes(compact::SWITCH_NEXT_COMM, &packed(&[0, 1, 2]));
            ["seven", "swapper/3", "eight"].iter().for_each(|name| c.text(compact::INTERN_TABLE, name));
            c.bytes(compact::WAKING_TIMESTAMP, &packed(&[120]));
            c.bytes(compact::WAKING_PID, &packed(&[8]));
            c.bytes(compact::WAKING_TARGET_CPU, &packed(&[1]));
            c.bytes(compact::WAKING_COMM, &packed(&[2]));
        });
    })
}

#[test]
fn columns_of_the_scheduler_are_read() {
    let (events, notes) = read(&compact_sample(&[0, 1, 0])).unwrap();
    let expected = [
        "100 <idle>-0@3 swapper/3-0 Runnable seven-7",
        "120 seven-7@3 waking eight-8 1",
        "150 seven-7@3 seven-7 Sleeping swapper/3-0",
        "200 <idle>-0@3 swapper/3-0 Runnable eight-8",
    ];
    assert_eq!(events, expected);
    assert_eq!(notes, ["t: 1 switches do not tell who stopped, the first of each CPU: taken for the idle task"]);
}

/// What switches tell of who starts: nothing, or a priority, -1 with a deadline.
#[test]
fn priorities_are_read_where_switches_tell_them() {
    let prios = |bytes: &[u8]| {
        let (mut reader, mut prios) = (PerfettoReader::new("t", bytes), Vec::new());
        while let Some(event) = reader.next_event().unwrap() {
            if let TraceEventKind::Switch { prio, .. } = event.what {
                prios.push(prio);
            }
        }
        prios
    };
    assert_eq!(prios(&compact_sample(&[0, 1, 0])), [None; 3]);
    let columns = bundle_of(3, |b| {
        b.nested(bundle::COMPACT_SCHED, |c| {
            c.bytes(compact::SWITCH_TIMESTAMP, &packed(&[100, 50, 50]));
            c.bytes(compact::SWITCH_PREV_STATE, &packed(&[0, 1, 0]));
            c.bytes(compact::SWITCH_NEXT_PID, &packed(&[7, 0, 8]));
            c.bytes(compact::SWITCH_NEXT_PRIO, &packed(&[100, 120, -1_i64 as u64]));
            c.bytes(compact::SWITCH_NEXT_COMM, &packed(&[0, 0, 0]));
            c.text(compact::INTERN_TABLE, "x");
        });
    });
    assert_eq!(prios(&columns), [Some(100), Some(120), Some(-1)]);
    let one = |actual: bool| {
        bundle_of(0, move |b| {
            put_event(b, 1, 0, event::SCHED_SWITCH, |m| {
                m.number(6, 7);
                if actual {
                    m.signed(7, 139);
                }
            })
        })
    };
    assert_eq!([prios(&one(true)), prios(&one(false))], [[Some(139)], [None]]);
}

#[test]
fn cpus_are_told_in_the_order_of_time() {
    let bytes = [
        bundle_of(0, |b| [10, 30, 50].iter().for_each(|time| idle(b, *time, 1, 0))),
        bundle_of(1, |b| [20, 30, 40].iter().for_each(|time| idle(b, *time, 2, 1))),
    ];
    let times = events(&bytes.concat());
    let expected = ["10@0", "20@1", "30@0", "30@1", "40@1", "50@0"].map(|at| {
        let (time, cpu) = at.split_once('@').unwrap();
        format!("{time} <idle>-0@{cpu} idle cpu {cpu} Some({})", if cpu == "0" { 1 } else { 2 })
    });
    assert_eq!(times, expected);
}

#[test]
fn a_thread_is_called_what_the_trace_has_called_it() {
    let tree = packets(&[&|p| {
        p.nested(packet::PROCESS_TREE, |tree| {
            tree.nested(2, |thread| {
                thread.number(1, 5);
                thread.text(2, "five");
            });
            tree.nested(1, |process| {
                process.number(1, 6);
                process.text(3, "/usr/bin/six");
            });
        })
    }]);
    let frequency = |b: &mut Message, time, pid| {
        put_event(b, time, pid, event::CPU_FREQUENCY, |m| {
            m.number(1, 1_800_000);
            m.number(2, 1);
        });
    };
    let bundle = bundle_of(0, |b| {
        frequency(b, 1, 5);
        frequency(b, 2, 6);
        frequency(b, 3, 9);
        put_event(b, 4, 5, event::TASK_RENAME, |m| {
            m.number(1, 5);
            m.text(3, "FIVE");
        });
        frequency(b, 5, 5);
    });
    let expected = ["1 five-5", "2 six-6", "3 <...>-9", "5 FIVE-5"].map(|e| format!("{e}@0 frequency cpu 1 1800000"));
    assert_eq!(events(&[tree, bundle].concat()), expected);
}

/// `GenericFtraceEvent`, and events that the trace itself describes.
#[test]
fn events_without_a_message_are_read_by_their_names() {
    let text = |m: &mut Message, name: &str, value: &str| {
        m.nested(2, |field| {
            field.text(1, name);
            field.text(3, value);
        });
    };
    let bytes = bundle_of(0, |b| {
        put_event(b, 1, 7, event::GENERIC, |m| {
            m.text(1, "sched_stat_runtime");
            text(m, "comm", "a b");
            text(m, "pid", "7");
            m.nested(2, |field| {
                field.text(1, "runtime");
                field.number(5, 123);
            });
        });
        put_event(b, 2, 7, event::GENERIC, |m| m.text(1, "softirq_raise"));
        put_event(b, 3, 7, 70_001, |m| {
            m.text(1, "c");
            m.signed(2, 8);
            m.number(3, 456);
        });
        b.nested(bundle::GENERIC_DESCRIPTORS, |d| {
            d.number(1, 70_001);
            d.nested(2, |proto| {
                proto.text(1, "sched_stat_runtime");
                for (number, (name, kind)) in [(1, ("comm", 9)), (2, ("pid", 5)), (3, ("runtime", 4))] {
                    proto.nested(2, |field| {
                        field.text(1, name);
                        field.number(3, number);
                        field.number(5, kind);
                    });
                }
            });
        });
    });
    let mut reader = PerfettoReader::new("t", bytes.as_slice());
    let mut actual = Vec::new();
    while let Some(e) = reader.next_event().unwrap() {
        actual.push(format!("{} {}", e.time, words(&e.what)));
    }
    assert_eq!(actual, ["1 runtime a b-7 123", "3 runtime c-8 456"]);
    assert_eq!(reader.unknown(), 1);
}

#[test]
fn times_of_another_clock_are_told_since_boot() {
    let on = |clock, pair| {
        bundle_of(0, move |b| {
            b.number(bundle::FTRACE_CLOCK, clock);
            if pair {
                b.number(bundle::FTRACE_TIMESTAMP, 1_000);
                b.number(bundle::BOOT_TIMESTAMP, 5_000);
            }
            idle(b, 1_500, 0, 0);
        })
    };
    assert!(events(&on(2, true))[0].starts_with("5500 "));
    let (actual, notes) = read(&on(2, false)).unwrap();
    assert!(actual[0].starts_with("1500 "));
    assert_eq!(notes, ["t: events are on a clock whose offset to other clocks is unknown"]);
}

/// As a frame of zstd that is not compressed: magic, no checksum, a window of 1 MiB, raw blocks.
fn framed(bytes: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 10 << 3];
    let mut blocks = bytes.chunks(100_000).peekable();
    while let Some(block) = blocks.next() {
        let head = (block.len() as u32) << 3 | u32::from(blocks.peek().is_none());
        frame.extend(&head.to_le_bytes()[..3]);
        frame.extend(block);
    }
    packets(&[&|p| p.bytes(packet::ZSTD_COMPRESSED, &frame)])
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
    zlib.write_all(bytes).unwrap();
    let zlib = zlib.finish().unwrap();
    packets(&[&|p| p.bytes(packet::COMPRESSED, &zlib)])
}

#[test]
fn compressed_packets_are_read_as_others_are() {
    let plain = sample().1;
    assert_eq!(events(&compressed(&plain)), events(&plain));
    assert_eq!(events(&framed(&plain)), events(&plain));
    let (first, second) = (compressed(&bundle_of(0, |b| idle(b, 1, 0, 0))), bundle_of(0, |b| idle(b, 2, 0, 0)));
    assert_eq!(events(&[first.clone(), second, first].concat()).len(), 3);
}

/// Timers wake eight while seven runs: the flags tell, where the kernel gives them.
#[test]
fn wakings_in_columns_tell_interrupts() {
    let bytes = |flags: &[u64]| {
        bundle_of(3, |b| {
            b.nested(bundle::COMPACT_SCHED, |c| {
                c.text(compact::INTERN_TABLE, "eight");
                c.bytes(compact::WAKING_TIMESTAMP, &packed(&[120, 1, 1]));
                c.bytes(compact::WAKING_PID, &packed(&[8, 8, 8]));
                [compact::WAKING_TARGET_CPU, compact::WAKING_COMM].iter().for_each(|id| c.bytes(*id, &[0, 0, 0]));
                c.bytes(compact::WAKING_FLAGS, &packed(flags));
            });
        })
    };
    let actual = |flags: &[u64]| {
        let bytes = bytes(flags);
        let mut reader = PerfettoReader::new("t", bytes.as_slice());
        [(); 3].map(|()| reader.next_event().unwrap().unwrap().in_interrupt)
    };
    assert_eq!(actual(&[0x09, 0x01, 0x10]), [true, false, true]);
    assert_eq!(actual(&[]), [false; 3]);
    assert_eq!(fault(&bytes(&[1])), "t: byte 0: expected columns of one length");
}

/// Perfetto says of the first packet of each writer that one before it was lost: there was none.
#[test]
fn what_was_lost_is_told() {
    let lost = bundle_of(0, |b| b.number(bundle::LOST_EVENTS, 1));
    let dropped = |sequence| {
        packets(&[&|p: &mut Message| {
            p.number(packet::SEQUENCE, sequence);
            p.number(packet::PREVIOUS_DROPPED, 1);
        }])
    };
    let (_, notes) = read(&[lost, dropped(7), dropped(8), dropped(7)].concat()).unwrap();
    let expected = [
        "t: 1 times the kernel's buffer ran over: events were lost while it was recorded",
        "t: 1 times packets were lost while it was recorded",
    ];
    assert_eq!(notes, expected);
}

#[test]
fn a_trace_that_is_cut_off_is_read_up_to_there() {
    let whole = bundle_of(0, |b| idle(b, 1, 0, 0));
    for cut in 1..whole.len() {
        let (events, notes) = read(&[&whole, &whole[..cut]].concat()).unwrap();
        assert_eq!(events.len(), 1);
        assert_eq!(notes, [format!("t: byte {}: the last packet has no end: the trace is cut off", whole.len())]);
    }
    assert_eq!(read(b"").unwrap(), (vec![], vec![]));
}

#[test]
fn events_before_a_damage_are_told_before_the_damage() {
    let whole = bundle_of(0, |b| idle(b, 1, 0, 0));
    let bytes = [&whole, &b"\x0b"[..]].concat();
    let mut reader = PerfettoReader::new("t", bytes.as_slice());
    assert!(reader.next_event().unwrap().is_some());
    let error = reader.next_event().unwrap_err().to_string();
    assert_eq!(error, format!("t: byte {}: expected a packet, which begins with a byte 10", whole.len()));
    assert!(reader.next_event().unwrap().is_none());
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let expected = |bytes: &[u8], what: &str| assert_eq!(fault(bytes), format!("t: byte 0: expected {what}"));
    expected(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "a packet of at most 64 MiB");
    expected(b"\x0a\x80\x80\x80\x80\x80\x80\x80", "a packet of at most 64 MiB");
    expected(b"\x0a\x02\x0a\x05", "a field that ends within its message");
    expected(&bundle_of(1_000_000, |_| {}), "a CPU from 0 to 65535");
    expected(&bundle_of(0, |b| idle(b, 1, 0, u64::MAX)), "a CPU from 0 to 65535");
    expected(&bundle_of(0, |b| b.text(bundle::EVENT, &"x".repeat(9 << 20))), "a bundle of events of at most 8 MiB");
    let named = |n| bundle_of(0, move |b| put_event(b, 1, 0, event::SCHED_WAKING, |m| m.text(1, &"x".repeat(n))));
    assert_eq!(events(&named(255)).len(), 1);
    expected(&named(256), "a thread's name of at most 255 bytes");
    expected(&compact_sample(&[0, 1]), "columns of one length");
    let far = bundle_of(0, |b| {
        b.nested(bundle::COMPACT_SCHED, |c| {
            c.bytes(compact::WAKING_TIMESTAMP, &packed(&[1 << 63, 1 << 63]));
            [compact::WAKING_PID, compact::WAKING_TARGET_CPU, compact::WAKING_COMM]
                .iter()
                .for_each(|id| c.bytes(*id, &[0, 0]));
            c.text(compact::INTERN_TABLE, "x");
        });
    });
    expected(&far, "a time within 584 years since boot");
    let zstd = packets(&[&|p| p.bytes(packet::ZSTD_COMPRESSED, b"x")]);
    expected(&zstd, "compressed packets that zlib or zstd can read");
    let crowd = |b: &mut Message| (0..60_000).for_each(|time| idle(b, time, 0, 0));
    let crowded = packets(&[&|p| (0..18).for_each(|_| p.nested(packet::FTRACE_EVENTS, crowd))]);
    expected(&crowded, "a packet of at most 524288 events");
}

#[test]
fn times_of_292_years_are_read() {
    let (actual, _) = read(&bundle_of(0, |b| idle(b, 1 << 63, 0, 0))).unwrap();
    assert_eq!(actual, ["9223372036854775808 <idle>-0@0 idle cpu 0 Some(0)"]);
}

#[test]
fn bombs_are_refused() {
    let expected = |bytes: &[u8], what: &str| assert_eq!(fault(bytes), format!("t: byte 0: expected {what}"));
    expected(&compressed(&compressed(&sample().1)), "packets that are compressed once");
    // A packet that is nothing but passed over, a million times: in one thousandth of the bytes.
    let bomb = packets(&[&|p| p.number(packet::TIMESTAMP, 0)]).repeat(3 << 20);
    expected(&compressed(&bomb), "a compressed packet that grows no more than 128-fold");
    expected(&compressed(b"\x0a\x05"), "compressed packets that zlib or zstd can read");
    let half = packets(&[&|p| p.bytes(packet::COMPRESSED, &[0x78, 0x9c, 0x01])]);
    expected(&half, "compressed packets that zlib or zstd can read");
}

#[test]
fn a_decision_shows_its_rule_and_its_reasons() {
    let bytes = sample().1;
    let holds = |text: &str| bytes.windows(text.len()).any(|w| w == text.as_bytes());
    assert!(holds("CPU4 decisions") && holds("placement decisions") && holds("why"));
    assert!(holds("f: l (A2)") && holds("balance, f: l (P3)"));
    assert!(holds("CPU 4 has 12") && holds("CPU3 capacity") && holds("big energy, active") && holds("soc temperature"));
    assert!(holds("big power, active") && holds("uW"));
    assert!(holds("a b=c pid=7-1001 uclamped_avg") && holds("CPU6 util_avg"));
}

/// 1.5 uJ in the first 4 us are 375 mW.
#[test]
fn power_is_the_energy_since_the_record_before_over_its_time() {
    let mut milliwatts = Message::default();
    milliwatts.signed(track_event::COUNTER_VALUE, 375_000);
    let (milliwatts, bytes) = (milliwatts.as_bytes(), sample().1);
    assert_eq!(bytes.windows(milliwatts.len()).filter(|w| *w == milliwatts).count(), 1);
}

/// 500 MHz of 2 GHz.
#[test]
fn capacity_follows_the_clock() {
    let mut quarter = Message::default();
    quarter.number(track_event::COUNTER_VALUE, 256);
    let (quarter, bytes) = (quarter.as_bytes(), sample().1);
    assert_eq!(bytes.windows(quarter.len()).filter(|w| *w == quarter).count(), 1);
}

#[test]
fn text_with_an_empty_first_line_is_none_of_perfettos() {
    assert!(begins_like_one(&sample().1) && begins_like_one(&compact_sample(&[])));
    for text in
        ["", "\n", "\n\n", "\n# tracer: nop\n", "\n   bash-7 [001] 5.0: x: y\n", "\nbash-7 [001] 5.0: x: y\n", "cpus=2"]
    {
        assert!(!begins_like_one(text.as_bytes()), "{text:?}");
    }
}

/// Whatever the first length is, the file is not text, and there is no event to be read: an error.
#[test]
fn a_first_length_that_lies_is_an_error() {
    let (_, whole) = sample();
    let after = whole.iter().skip(1).position(|byte| byte & 0x80 == 0).unwrap() + 2;
    for lie in [&[0][..], &[1], &[2], &[127], &[0xff, 0xff, 0x7f], &[0xff; 10]] {
        let lying = [&[10], lie, &whole[after..]].concat();
        assert!(begins_like_one(&lying), "{lie:?}");
        let mut reader = PerfettoReader::new("t", &lying[..]);
        let read = std::iter::from_fn(|| reader.next_event().map(|event| event.map(|event| event.time)).transpose());
        let outcome: Result<Vec<u64>, TraceError> = read.collect();
        assert!(outcome.is_err(), "{lie:?}: {outcome:?}");
    }
}
