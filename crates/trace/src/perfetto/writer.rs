//! Writes a run as a Perfetto trace.
//!
//! Events of the kernel are gathered as long as they happen on one CPU, then written as a bundle; so the order of the
//! file is the order of the run, and little is held back.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::mem::take;

use fairground_machine::{CpuId, Machine};
use fairground_sim::{EnergyPart, Event, EventKind, Observer, Reason, TaskId, Time};

use super::ids::{annotation, bundle, event, packet, trace, track, track_event};
use super::wire::Message;
use crate::record::{Fields, Record, Recorder, Value, DECIDED, WOKEN};
use crate::rtapp_marks::UserEvent;
use crate::{energy, Names, RuleNames};

/// Bytes of a bundle beyond which it is written though its CPU goes on.
const BUNDLE_BYTES: usize = 1 << 15;

/// All packets are of one sequence, which must have a number.
const SEQUENCE: u64 = 1;

/// Properties of the hardware that no event contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hardware {
    /// Capacity (of 1024) and top frequency (kHz) of each CPU.
    pub cpus: Vec<(u32, u32)>,
    /// Names of the rails, by number.
    pub rails: Vec<String>,
    /// Names of the thermal zones, by number.
    pub zones: Vec<String>,
}

impl Hardware {
    /// The tracks of a machine's CPUs.
    pub fn from_machine(machine: &Machine) -> Hardware {
        let top = |cpu| machine.freq_domain_of(cpu).opps.iter().map(|opp| opp.khz).max().unwrap_or(0);
        Hardware {
            cpus: machine.cpus.iter().map(|cpu| (cpu.capacity, top(cpu.id))).collect(),
            rails: machine.rails().iter().map(|(name, _)| (*name).to_owned()).collect(),
            zones: machine.thermal.iter().flat_map(|t| &t.zones).map(|zone| zone.name.clone()).collect(),
        }
    }
}

/// A line of a viewer. The number of a track is made of its variant and fields: it must be unique and the same in every
/// run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Track {
    /// Facts about the run.
    Run,
    /// Parent of the decisions of all CPUs.
    AllDecisions,
    /// Decisions made on a CPU.
    Decisions(CpuId),
    /// Marks of programs.
    Marks,
    /// Capacity of a CPU at its current frequency, of 1024.
    Capacity(CpuId),
    /// The cap of cooling on a CPU: number of operating points below the top; 0: no cap.
    Cooling(CpuId),
    Zone(u8),
    Rail(u16, EnergyPart),
    /// Mean power since the record before.
    Power(u16, EnergyPart),
    /// One of [`SIGNALS`], of a CPU's run queue.
    Queue(CpuId, u8),
    /// One of [`SIGNALS`], of a task.
    Task(TaskId, u8),
}

/// What load tracking and clamps say, as sched-analyzer calls it where it has it: the last four on request.
const SIGNALS: [&str; 8] = [
    "util_avg",
    "uclamped_avg",
    "uclamp_min",
    "uclamp_max",
    "load_avg",
    "runnable_avg",
    "util_est.enqueued",
    "util_est.ewma",
];

/// The number of a part.
fn part_number(part: EnergyPart) -> u8 {
    match part {
        EnergyPart::Active => 0,
        EnergyPart::Transitions => 1,
        EnergyPart::Static => 2,
        EnergyPart::Idle(state) => state.saturating_add(3),
    }
}

impl Track {
    fn uuid(self) -> u64 {
        let (kind, of, which) = match self {
            Track::Run => (1, 0, 0),
            Track::AllDecisions => (2, 0, 0),
            Track::Decisions(cpu) => (3, cpu, 0),
            Track::Marks => (4, 0, 0),
            Track::Capacity(cpu) => (5, cpu, 0),
            Track::Cooling(cpu) => (6, cpu, 0),
            Track::Zone(zone) => (7, zone.into(), 0),
            Track::Rail(rail, part) => (8, rail.into(), part_number(part)),
            Track::Queue(cpu, which) => (9, cpu, which),
            Track::Task(task, which) => (10, task, which),
            Track::Power(rail, part) => (11, rail.into(), part_number(part)),
        };
        kind << 48 | u64::from(which) << 40 | u64::from(of)
    }

    fn parent(self) -> Option<Track> {
        matches!(self, Track::Decisions(_)).then_some(Track::AllDecisions)
    }

    /// Unit of a counter; `None`: the track has events.
    fn unit(self) -> Option<&'static str> {
        match self {
            Track::Run | Track::AllDecisions | Track::Decisions(_) | Track::Marks => None,
            Track::Capacity(_) | Track::Queue(..) | Track::Task(..) => Some("of 1024"),
            Track::Cooling(_) => Some("operating points"),
            Track::Zone(_) => Some("m°C"),
            Track::Rail(..) => Some("uJ"),
            Track::Power(..) => Some("uW"),
        }
    }
}

/// Writes events as they come. [`Self::finish`] returns the first failure.
pub struct PerfettoTrace<W: Write> {
    pub(crate) recorder: Recorder,
    /// Whether reasons of decisions are requested.
    why: bool,
    packets: Packets<W>,
    /// Reasons of the next decision, each a dictionary.
    reasons: Vec<Message>,
    /// The first failure to write; nothing is written after it.
    error: Option<io::Error>,
}

impl<W: Write> PerfettoTrace<W> {
    /// Writes to `out`, which should be buffered. `words` has the scheduler's names of rules and notes. `why`: whether
    /// reasons of decisions are requested.
    pub fn new(out: W, hardware: Hardware, names: Names, words: RuleNames, why: bool) -> Self {
        let recorder = Recorder::new(hardware.cpus.len(), names, words);
        let packets = Packets {
            out,
            hardware,
            cpu: 0,
            events: Message::default(),
            known: BTreeSet::new(),
            meters: BTreeMap::new(),
        };
        PerfettoTrace { recorder, why, packets, reasons: Vec::new(), error: None }
    }

    /// Says at time 0 what the run is (machine, workload, sched, seed, each with its value), and what every output must
    /// carry.
    pub fn head(&mut self, meta: &[(&str, &str)], notes: &[String]) {
        if self.error.is_none() {
            self.error = self.write_head(meta, notes).err();
        }
    }

    fn write_head(&mut self, meta: &[(&str, &str)], notes: &[String]) -> io::Result<()> {
        for record in self.recorder.head(meta, notes) {
            let name = if record.name == "fairground_meta" { "run" } else { "note" };
            self.packets.instant(&record, Track::Run, "the run", name, &mut Vec::new())?;
        }
        for cpu in 0..self.packets.hardware.cpus.len() as CpuId {
            self.packets.capacity(0, cpu, None)?;
        }
        Ok(())
    }

    /// A thread of rt-app's has said this.
    pub fn user_event(&mut self, said: &UserEvent) {
        self.catch_up(said.time);
        if self.error.is_none() {
            let record = self.recorder.user_event(said);
            self.error = self.packets.said(&record).err();
        }
    }

    /// Flushes and returns the writer.
    ///
    /// # Errors
    /// If an event could not be written: the first failure.
    pub fn finish(mut self) -> io::Result<W> {
        self.catch_up(Time::MAX);
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        self.packets.end_bundle()?;
        self.packets.out.flush()?;
        Ok(self.packets.out)
    }

    /// Writes what the rules are that come up for the first time.
    fn first_uses(&mut self, event: &Event, reasons: &[Reason]) -> io::Result<()> {
        let packets = &mut self.packets;
        self.recorder.first_uses(event, reasons, |record| {
            packets.instant(record, Track::Run, "the run", "rule", &mut Vec::new())
        })
    }

    fn write(&mut self, event: &Event) -> io::Result<()> {
        if matches!(event.kind, EventKind::Decision(_) | EventKind::Balance(_) | EventKind::Pick(_)) {
            let packets = &mut self.packets;
            self.recorder.catch_up(event.time, &mut |_, record| packets.kernel_event(record))?;
            self.first_uses(event, &[])?;
        }
        let (packets, reasons) = (&mut self.packets, &mut self.reasons);
        let rule = self.recorder.rule_title(event);
        self.recorder.event(event, |event, record| packets.record(event, record, &rule, reasons))
    }

    /// Writes the switches that are done by `until`.
    fn catch_up(&mut self, until: Time) {
        if self.error.is_none() {
            let packets = &mut self.packets;
            self.error = self.recorder.catch_up(until, &mut |_, record| packets.kernel_event(record)).err();
        }
    }
}

impl<W: Write> Observer for PerfettoTrace<W> {
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
        self.catch_up(decision.time);
        if self.why && self.error.is_none() {
            self.error = self.first_uses(decision, reasons).err();
        }
        if let (EventKind::Decision(d), true) = (&decision.kind, self.why) {
            let records = self.recorder.reasons(decision, d.task, reasons);
            self.reasons = records.iter().map(|record| annotations(annotation::DICT_ENTRIES, &record.fields)).collect();
        }
    }
}

/// The packets, one after the other.
struct Packets<W: Write> {
    out: W,
    hardware: Hardware,
    /// The CPU of the events in `events`.
    cpu: CpuId,
    events: Message,
    /// Tracks that have been described.
    known: BTreeSet<Track>,
    /// Time and energy of the last record of each meter.
    meters: BTreeMap<(u16, EnergyPart), (Time, u64)>,
}

impl<W: Write> Packets<W> {
    /// `rule`: the title of the rule of a decision or of a balance attempt.
    fn record(&mut self, event: &Event, record: &Record, rule: &str, reasons: &mut Vec<Message>) -> io::Result<()> {
        let Event { time, cpu, .. } = *event;
        match event.kind {
            EventKind::Decision(_) => {
                self.instant(record, Track::Decisions(cpu), &format!("CPU{cpu} decisions"), rule, reasons)
            }
            EventKind::Balance(_) => {
                let rule = format!("balance, {rule}");
                self.instant(record, Track::Decisions(cpu), &format!("CPU{cpu} decisions"), &rule, reasons)
            }
            EventKind::Pick(_) => {
                let rule = format!("{}, {rule}", value(&record.fields, "kind"));
                self.instant(record, Track::Decisions(cpu), &format!("CPU{cpu} decisions"), &rule, reasons)
            }
            EventKind::Left(left) => {
                let name = format!("{}: {}", left.function, left.value);
                self.instant(record, Track::Decisions(cpu), &format!("CPU{cpu} decisions"), &name, reasons)
            }
            EventKind::Stopper(_) => {
                let name = format!("stopper {}", value(&record.fields, "event"));
                self.instant(record, Track::Decisions(cpu), &format!("CPU{cpu} decisions"), &name, reasons)
            }
            EventKind::Online(_) => {
                let name = value(&record.fields, "event");
                self.instant(record, Track::Decisions(cpu), &format!("CPU{cpu} decisions"), &name, reasons)
            }
            EventKind::Mark { .. } => {
                self.instant(record, Track::Marks, "marks", &value(&record.fields, "mark"), reasons)
            }
            EventKind::Clamps(c) => {
                let values = [c.util, c.clamped, c.min.into(), c.max.into()].map(i64::from);
                self.signals(record, c.cpu, c.task, (0..).zip(values))
            }
            EventKind::Signals(s) => {
                let values = [(0, s.util), (4, s.load), (5, s.runnable)];
                let values = values.map(|(which, n)| (which, i64::try_from(n).unwrap_or(i64::MAX)));
                self.signals(record, s.cpu, s.task, values)
            }
            EventKind::UtilEst(e) => {
                let values = [(6, e.enqueued), (7, e.ewma)].map(|(which, n)| (which, i64::from(n)));
                // A queue has no average.
                let has_average = e.task.is_some();
                self.signals(record, e.cpu, e.task, values.into_iter().take(1 + usize::from(has_average)))
            }
            EventKind::Temperature { zone, milli_c } => {
                let name = format!("{} temperature", self.hardware.zones.get(usize::from(zone)).map_or("zone", |z| z));
                self.counter(time, Track::Zone(zone), &name, milli_c.into(), Some(record))
            }
            EventKind::Cooling { state } => {
                self.counter(time, Track::Cooling(cpu), &format!("CPU{cpu} cooling"), state.into(), Some(record))
            }
            EventKind::Energy { rail, part, picojoules } => {
                let name = self.hardware.rails.get(usize::from(rail)).map_or("rail", |r| r);
                let part_word = energy::word(part);
                let [energy, power] = ["energy", "power"].map(|what| format!("{name} {what}, {part_word}"));
                self.counter(time, Track::Rail(rail, part), &energy, (picojoules / 1_000_000) as i64, Some(record))?;
                let Some(microwatts) = self.power(time, (rail, part), picojoules) else { return Ok(()) };
                self.counter(time, Track::Power(rail, part), &power, microwatts, None)
            }
            EventKind::Frequency { khz } => {
                self.kernel_event(record)?;
                self.capacity(time, cpu, Some(khz))
            }
            EventKind::Waking { .. } if record.name == WOKEN => {
                self.instant(record, Track::Decisions(cpu), &format!("CPU{cpu} decisions"), "woken", &mut Vec::new())
            }
            EventKind::Switch { .. } if record.name == DECIDED => {
                let name = format!("switch to {}", value(&record.fields, "next_comm"));
                self.instant(record, Track::Decisions(cpu), &format!("CPU{cpu} decisions"), &name, &mut Vec::new())
            }
            _ => self.kernel_event(record),
        }
    }

    fn said(&mut self, record: &Record) -> io::Result<()> {
        let context = record.context.map_or("", |(comm, _)| comm);
        let name = format!("{context} {} {}", record.name, value(&record.fields, "event"));
        self.instant(record, Track::Marks, "marks", name.trim_end(), &mut Vec::new())
    }

    /// Mean power since the last record of a meter, uW; `None` if no time has passed. Energy counts from time 0.
    fn power(&mut self, time: Time, meter: (u16, EnergyPart), picojoules: u64) -> Option<i64> {
        let (begin, before) = self.meters.insert(meter, (time, picojoules)).unwrap_or((0, 0));
        let (ns, picojoules) = (u128::from(time.checked_sub(begin)?), u128::from(picojoules.checked_sub(before)?));
        // 1 pJ in 1 ns is 1 mW.
        i64::try_from((picojoules * 1000).checked_div(ns)?).ok()
    }

    /// Writes the capacity of a CPU at a frequency, kHz; `None`: its top frequency.
    fn capacity(&mut self, time: Time, cpu: CpuId, khz: Option<u32>) -> io::Result<()> {
        let Some(&(capacity, top)) = self.hardware.cpus.get(cpu as usize) else { return Ok(()) };
        let now = u64::from(capacity) * u64::from(khz.unwrap_or(top)) / u64::from(top).max(1);
        self.counter(time, Track::Capacity(cpu), &format!("CPU{cpu} capacity"), now as i64, None)
    }

    /// A counter for each value of one of [`SIGNALS`]; the first carries the record.
    fn signals(
        &mut self,
        record: &Record,
        cpu: CpuId,
        task: Option<TaskId>,
        values: impl IntoIterator<Item = (u8, i64)>,
    ) -> io::Result<()> {
        let of = match task {
            Some(_) => format!("{}-{}", value(&record.fields, "comm"), value(&record.fields, "pid")),
            None => format!("CPU{cpu}"),
        };
        let mut carried = Some(record);
        for (which, n) in values {
            let track = task.map_or(Track::Queue(cpu, which), |task| Track::Task(task, which));
            let name = format!("{of} {}", SIGNALS[usize::from(which)]);
            self.counter(record.time, track, &name, n, carried.take())?;
        }
        Ok(())
    }

    /// Adds an event of the kernel's to the bundle.
    fn kernel_event(&mut self, record: &Record) -> io::Result<()> {
        let Some((number, numbers)) = message(record.name) else { return Ok(()) };
        if self.cpu != record.cpu || self.events.as_bytes().len() > BUNDLE_BYTES {
            self.end_bundle()?;
            self.cpu = record.cpu;
        }
        self.events.nested(bundle::EVENT, |event| {
            event.number(event::TIMESTAMP, record.time);
            event.number(event::PID, record.context.map_or(0, |(_, pid)| pid).into());
            event.nested(number, |fields| {
                for (field, (_, value)) in numbers.iter().zip(&record.fields) {
                    put(fields, *field, *field, *field, value);
                }
            });
        });
        Ok(())
    }

    /// Writes what has been gathered.
    fn end_bundle(&mut self) -> io::Result<()> {
        if self.events.is_empty() {
            return Ok(());
        }
        let (cpu, mut bundle) = (self.cpu, Message::default());
        bundle.number(bundle::CPU, cpu.into());
        let bytes = [bundle.as_bytes(), self.events.as_bytes()].concat();
        self.events.clear();
        self.packet(|p| p.bytes(packet::FTRACE_EVENTS, &bytes))
    }

    fn instant(
        &mut self,
        record: &Record,
        track: Track,
        track_name: &str,
        name: &str,
        reasons: &mut Vec<Message>,
    ) -> io::Result<()> {
        self.describe(track, track_name)?;
        let reasons = take(reasons);
        self.track_event(record.time, track, track_event::INSTANT, |e| {
            e.text(track_event::NAME, name);
            annotate(e, record);
            if !reasons.is_empty() {
                e.nested(track_event::DEBUG_ANNOTATIONS, |why| {
                    why.text(annotation::NAME, "why");
                    reasons.iter().for_each(|reason| why.bytes(annotation::ARRAY_VALUES, reason.as_bytes()));
                });
            }
        })
    }

    fn counter(&mut self, time: Time, track: Track, name: &str, value: i64, record: Option<&Record>) -> io::Result<()> {
        self.describe(track, name)?;
        self.track_event(time, track, track_event::COUNTER, |e| {
            e.signed(track_event::COUNTER_VALUE, value);
            record.into_iter().for_each(|record| annotate(e, record));
        })
    }

    fn track_event(&mut self, time: Time, track: Track, kind: u64, write: impl FnOnce(&mut Message)) -> io::Result<()> {
        self.end_bundle()?;
        self.packet(|p| {
            p.number(packet::TIMESTAMP, time);
            p.nested(packet::TRACK_EVENT, |e| {
                e.number(track_event::TYPE, kind);
                e.number(track_event::TRACK_UUID, track.uuid());
                write(e);
            });
        })
    }

    /// Says what a track is, before it is used first.
    fn describe(&mut self, track: Track, name: &str) -> io::Result<()> {
        if !self.known.insert(track) {
            return Ok(());
        }
        self.end_bundle()?;
        if let Some(parent) = track.parent() {
            self.describe(parent, "placement decisions")?;
        }
        self.packet(|p| {
            p.nested(packet::TRACK_DESCRIPTOR, |d| {
                d.number(track::UUID, track.uuid());
                d.text(track::NAME, name);
                track.parent().into_iter().for_each(|parent| d.number(track::PARENT_UUID, parent.uuid()));
                track.unit().into_iter().for_each(|unit| {
                    d.nested(track::COUNTER, |counter| counter.text(track::COUNTER_UNIT_NAME, unit));
                });
            });
        })
    }

    fn packet(&mut self, write: impl FnOnce(&mut Message)) -> io::Result<()> {
        let mut trace = Message::default();
        trace.nested(trace::PACKET, |packet| {
            packet.number(packet::SEQUENCE, SEQUENCE);
            write(packet);
        });
        self.out.write_all(trace.as_bytes())
    }
}

/// The record itself, for `track_records` to read back.
fn annotate(event: &mut Message, record: &Record) {
    event.text(track_event::CATEGORIES, record.name);
    event.nested(track_event::DEBUG_ANNOTATIONS, |a| {
        a.text(annotation::NAME, "on_cpu");
        a.number(annotation::UINT, record.cpu.into());
    });
    for (key, value) in &record.fields {
        event.nested(track_event::DEBUG_ANNOTATIONS, |a| annotated(a, key, value));
    }
}

/// A list of annotations, as field `field` of the message that results.
fn annotations(field: u32, fields: &Fields) -> Message {
    let mut list = Message::default();
    fields.iter().for_each(|(key, value)| list.nested(field, |a| annotated(a, key, value)));
    list
}

fn annotated(message: &mut Message, key: &str, value: &Value) {
    message.text(annotation::NAME, if key.is_empty() { "text" } else { key });
    put(message, annotation::STRING, annotation::UINT, annotation::INT, value);
}

/// A value as the field that its type asks for.
fn put(message: &mut Message, text: u32, unsigned: u32, signed: u32, value: &Value) {
    match value {
        Value::Text(t) => message.text(text, t),
        Value::Unsigned(n) => message.number(unsigned, *n),
        Value::Signed(n) => message.signed(signed, *n),
    }
}

fn value(fields: &Fields, key: &str) -> String {
    fields.iter().find(|(k, _)| *k == key).map_or(String::new(), |(_, value)| value.to_string())
}

/// Numbers of an event and of its fields, in the order in which records have them.
fn message(name: &str) -> Option<(u32, &'static [u32])> {
    Some(match name {
        "sched_switch" => (event::SCHED_SWITCH, &[1, 2, 3, 4, 5, 6, 7]),
        "sched_waking" => (event::SCHED_WAKING, &[1, 2, 3, 4, 5]),
        "sched_wakeup" => (event::SCHED_WAKEUP, &[1, 2, 3, 4, 5]),
        "sched_wakeup_new" => (event::SCHED_WAKEUP_NEW, &[1, 2, 3, 4, 5]),
        "sched_migrate_task" => (event::SCHED_MIGRATE_TASK, &[1, 2, 3, 4, 5]),
        "sched_process_fork" => (event::SCHED_PROCESS_FORK, &[1, 2, 3, 4]),
        "sched_process_exec" => (event::SCHED_PROCESS_EXEC, &[1, 2, 3]),
        // Its third is the thread group, which records do not have.
        "sched_process_exit" => (event::SCHED_PROCESS_EXIT, &[1, 2, 4]),
        "cpu_idle" => (event::CPU_IDLE, &[1, 2]),
        "cpu_frequency" => (event::CPU_FREQUENCY, &[1, 2]),
        _ => return None,
    })
}
