//! What each CPU did over time.

use std::collections::BTreeMap;

use fairground_machine::Machine;
use fairground_trace::{field_value, TraceEvent, TraceEventKind};

use crate::model::{Cpu, Side, Table};

/// CPUs above the largest kernel's: an event that names one is damaged.
pub(crate) const CPUS_MAX: u32 = 8192;

/// The part of a trace that is shown, ns since its first event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub from: u64,
    pub to: u64,
}

impl Window {
    pub fn has(&self, time: u64) -> bool {
        (self.from..=self.to).contains(&time)
    }

    /// A row of a table of spans with what of it is inside.
    fn clip(&self, begin: u64, end: u64, what: u64) -> Option<[u64; 3]> {
        let (begin, end) = (begin.max(self.from), end.min(self.to));
        (begin < end).then(|| [begin, end - begin, what])
    }
}

/// A CPU.
struct Lane {
    /// When its first event came.
    since: u64,
    /// What runs since when.
    running: Option<(u64, u64)>,
    /// Whether it has switched.
    has_switched: bool,
    idle: Option<(u64, u64)>,
    runs: Table,
    idles: Table,
    clocks: Table,
    utils: Table,
    /// Operating points below the top that cooling takes away.
    caps: Table,
}

impl Lane {
    fn new(since: u64) -> Lane {
        let spans = |what| Table::with_columns(&[("begin", true), ("length", false), (what, false)]);
        let points = |what| Table::with_columns(&[("time", true), (what, false)]);
        Lane {
            since,
            running: None,
            has_switched: false,
            idle: None,
            runs: spans("thread"),
            idles: spans("state"),
            clocks: points("khz"),
            utils: points("util"),
            caps: points("capacity"),
        }
    }

    fn tables(&self) -> [&Table; 5] {
        [&self.runs, &self.idles, &self.clocks, &self.utils, &self.caps]
    }

    fn into_tables(self) -> [Table; 5] {
        [self.runs, self.idles, self.clocks, self.utils, self.caps]
    }

    fn end_run(&mut self, window: &Window, now: u64) {
        if let Some((since, thread)) = self.running.take() {
            window.clip(since, now, thread).into_iter().for_each(|row| self.runs.push(row));
        }
    }

    fn end_idle(&mut self, window: &Window, now: u64) {
        if let Some((since, state)) = self.idle.take() {
            window.clip(since, now, state).into_iter().for_each(|row| self.idles.push(row));
        }
    }
}

/// A value from a time on. A window begins with the last value before it.
fn point(table: &mut Table, window: &Window, time: u64, value: u64) {
    if time > window.to {
        return;
    }
    let rows = table.len();
    let [times, values] = [0, 1].map(|n| table.columns[n].2.last().copied());
    if rows > 0 && times.is_some_and(|last| last >= window.from) && values == Some(value) {
        return;
    }
    if rows == 1 && times.is_some_and(|last| last < window.from) && time <= window.from {
        table.columns[0].2[0] = time;
        table.columns[1].2[0] = value;
        return;
    }
    table.push([time, value]);
}

/// The lanes of all CPUs.
pub(crate) struct Lanes {
    window: Window,
    lanes: BTreeMap<u32, Lane>,
}

impl Lanes {
    pub fn new(window: Window) -> Lanes {
        Lanes { window, lanes: BTreeMap::new() }
    }

    /// Takes an event of a time since the first. `thread` gives the number of a thread by name and pid.
    ///
    /// # Errors
    /// The number of a CPU that no machine has.
    pub fn take(
        &mut self,
        time: u64,
        event: &TraceEvent,
        thread: &mut dyn FnMut(fairground_trace::Thread) -> u64,
    ) -> Result<(), u32> {
        let cpu = match event.what {
            TraceEventKind::Idle { cpu, .. } | TraceEventKind::Frequency { cpu, .. } => cpu,
            TraceEventKind::Signals { cpu, .. } => cpu,
            TraceEventKind::Print(text) => cooling(text).map_or(event.cpu, |(cpu, _)| cpu),
            _ => event.cpu,
        };
        if cpu >= CPUS_MAX {
            return Err(cpu);
        }
        let window = self.window;
        let lane = self.lanes.entry(cpu).or_insert_with(|| Lane::new(time));
        match event.what {
            TraceEventKind::Switch { prev, next, .. } => {
                if !lane.has_switched && prev.pid != 0 {
                    lane.running = Some((lane.since, thread(prev)));
                }
                lane.has_switched = true;
                lane.end_run(&window, time);
                lane.running = (next.pid != 0).then(|| (time, thread(next)));
            }
            TraceEventKind::Idle { state, .. } => {
                lane.end_idle(&window, time);
                lane.idle = state.map(|state| (time, state.into()));
            }
            TraceEventKind::Frequency { khz, .. } => point(&mut lane.clocks, &window, time, khz.into()),
            TraceEventKind::Signals { task: None, util, .. } => point(&mut lane.utils, &window, time, util),
            TraceEventKind::Print(text) => {
                cooling(text).into_iter().for_each(|(_, below)| point(&mut lane.caps, &window, time, below));
            }
            _ => {}
        }
        Ok(())
    }

    /// Number of rows so far.
    pub fn rows(&self) -> usize {
        let rows = |lane: &Lane| lane.tables().iter().map(|table| table.len()).sum::<usize>();
        self.lanes.values().map(rows).sum()
    }

    /// Ends what is under way at `now`, and puts the lanes into a side, with those of a machine's CPUs that had no event.
    pub fn finish(mut self, now: u64, machine: Option<&Machine>, side: &mut Side) {
        let window = self.window;
        for cpu in 0..machine.map_or(0, Machine::nr_cpus) as u32 {
            self.lanes.entry(cpu).or_insert_with(|| Lane::new(0));
        }
        // A cap is recorded for the first CPU of its frequency domain, and holds for all.
        let capped: Vec<Table> = (self.lanes.keys())
            .map(|cpu| {
                let first = machine_with(machine, *cpu).and_then(|machine| machine.freq_domain_of(*cpu).cpus.first());
                let caps = self.lanes.get(&first.unwrap_or(*cpu)).map(|lane| &lane.caps);
                caps.map_or_else(no_capacities, |caps| capacities(caps, *cpu, machine))
            })
            .collect();
        let empty = Lane::new(0);
        [side.runs, side.idles, side.clocks, side.utils, side.caps] = empty.into_tables();
        for ((cpu, mut lane), caps) in self.lanes.into_iter().zip(capped) {
            lane.end_run(&window, now);
            lane.end_idle(&window, now);
            side.cpus.push(described(cpu, machine));
            lane.caps = caps;
            for (all, of) in tables_of(side).into_iter().zip(lane.into_tables()) {
                all.first.push(all.len());
                all.append(&of, 0..of.len());
            }
        }
        for table in tables_of(side) {
            table.first.push(table.len());
        }
    }
}

fn tables_of(side: &mut Side) -> [&mut Table; 5] {
    [&mut side.runs, &mut side.idles, &mut side.clocks, &mut side.utils, &mut side.caps]
}

/// The CPU of a record of cooling, and how many operating points below the top its clock is capped.
fn cooling(text: &str) -> Option<(u32, u64)> {
    let fields = text.strip_prefix("fairground_cooling: ")?;
    Some((field_value(fields, "cpu_id=")?.parse().ok()?, field_value(fields, "target=")?.parse().ok()?))
}

fn no_capacities() -> Table {
    Table::with_columns(&[("time", true), ("capacity", false)])
}

/// The machine, if it has this CPU.
fn machine_with(machine: Option<&Machine>, cpu: u32) -> Option<&Machine> {
    machine.filter(|machine| (cpu as usize) < machine.nr_cpus())
}

/// Caps in operating points as capacities of this machine's CPU; none if it is not known.
fn capacities(caps: &Table, cpu: u32, machine: Option<&Machine>) -> Table {
    let mut found = no_capacities();
    let Some(machine) = machine_with(machine, cpu) else { return found };
    let khz: Vec<u32> = machine.freq_domain_of(cpu).opps.iter().rev().map(|opp| opp.khz).collect();
    let [times, below] = [0, 1].map(|column| &caps.columns[column].2);
    for (time, below) in times.iter().zip(below) {
        let khz = usize::try_from(*below).ok().and_then(|below| khz.get(below)).or(khz.last());
        found.push([*time, machine.capacity_at(cpu, khz.copied().unwrap_or(0)) as u64]);
    }
    found
}

fn described(cpu: u32, machine: Option<&Machine>) -> Cpu {
    let Some(machine) = machine_with(machine, cpu) else {
        return Cpu { cpu, ..Cpu::default() };
    };
    let names = machine.idle_states(cpu).iter().map(|state| crate::texts::plain(&state.name));
    Cpu {
        cpu,
        kind: Some(crate::texts::plain(&machine.type_of(cpu).name)),
        capacity: Some(machine.cpus[cpu as usize].capacity),
        max_khz: Some(machine.max_khz(cpu)),
        idle_states: names.collect(),
    }
}
