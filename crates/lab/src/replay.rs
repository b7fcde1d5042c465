//! Replays a recording under one or several schedulers, and measures the runs like the recording.

mod events;
mod sheet;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Seek};

use fairground_machine::{nearest, Machine};
use fairground_trace::explain::seconds;
use fairground_trace::figures::{same_placements, Figures, ThreadMatcher};
use fairground_trace::import::{Counts, Importer, InferredEvent, NoSuchCpu, Selection, WindowPosition};
use fairground_trace::{EventSource, Note, Reader, TraceError, TraceEventKind};
use fairground_workload::recorded::Recording;
use miette::Diagnostic;
use thiserror::Error;

pub use self::events::{LeftOut, RecordedEvents};
pub use self::sheet::{Grade, ReplayReport, Sheet, SheetRow, FAITHFUL_PCT, WITHIN_PCT, WITHIN_POINTS};
use fairground_run::batch::{RunReport, Runner};
use fairground_run::experiment::{Experiment, RunError, Trace, TraceFormat, TraceHead};
use fairground_run::metrics::{Better, Metric, MetricValue};

/// A trace that was read and can be run.
pub struct Imported {
    /// The activity of its threads.
    pub recording: Recording,
    /// Notes on the trace and on what was made of it; the recording has their texts.
    pub notes: Vec<Note>,
    /// Measurements of the trace.
    pub figures: Figures,
    /// CPUs without events of their idle tasks. Runs are measured without these events, too.
    pub unheard: Vec<u32>,
    /// Which events the trace has.
    pub events: RecordedEvents,
    /// How the sleeps of its threads ended.
    pub counts: Counts,
    /// Why the trace is too long to be run; `None` if it can be run.
    pub too_long: Option<String>,
}

/// Why a trace cannot be imported.
#[derive(Debug, Error, Diagnostic)]
pub enum ImportError {
    /// The trace cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Trace(#[from] TraceError),
    /// The trace is from another machine.
    #[error("{trace} has events of CPU {cpu}; {machine} has CPUs 0 to {last}")]
    #[diagnostic(help("name the machine that was recorded with --machine"))]
    NoSuchCpu {
        /// Name of the trace.
        trace: String,
        /// The CPU of the event.
        cpu: u32,
        /// Name of the machine.
        machine: String,
        /// The machine's last CPU.
        last: u32,
    },
    /// No event of the trace shows a thread that runs or is woken.
    #[error("{trace}: no thread is seen to run or to be woken")]
    #[diagnostic(help(
        "an import takes sched_switch and sched_waking, and cpu_frequency and cpu_idle if they are there"
    ))]
    Empty {
        /// Name of the trace.
        trace: String,
    },
    /// No selected thread is in the trace.
    #[error("{trace}: {missed}")]
    #[diagnostic(help("threads that are seen: {names}"))]
    NoSuchThread {
        /// Name of the trace.
        trace: String,
        /// The selections that match no thread.
        missed: String,
        /// Names of some threads of the trace.
        names: String,
    },
    /// The trace ends before the selected time.
    #[error("{trace}: nothing happens from {from} s on")]
    #[diagnostic(help("times count from the beginning of the trace, which lasts {lasts} s"))]
    Ended {
        /// Name of the trace.
        trace: String,
        /// The selected time, s.
        from: String,
        /// Time from the first event of the trace to the last, s.
        lasts: String,
    },
}

/// Imports a trace of `machine`, or the selected part of it. `progress` is called with the time of each event, ns.
///
/// # Errors
/// If the trace cannot be read, is from another machine, ends before the selected time, or has no selected thread.
pub fn import<S: EventSource>(
    trace: &str,
    reader: &mut S,
    machine: &Machine,
    selection: Selection,
    progress: &mut dyn FnMut(u64),
) -> Result<Imported, ImportError> {
    let mut importer = Importer::new(machine, selection.clone());
    let (mut figures, mut events) = (Figures::default(), RecordedEvents::default());
    let (mut begin, mut last) = (None, 0);
    while let Some(event) = reader.next_event()? {
        last = event.time.max(last);
        match selection.position(*begin.get_or_insert(event.time), &event) {
            WindowPosition::Before => continue,
            WindowPosition::Within => {}
            WindowPosition::Behind => break,
        }
        let unseen = importer.event(&event).map_err(|NoSuchCpu(cpu)| ImportError::NoSuchCpu {
            trace: trace.into(),
            cpu,
            machine: machine.name.clone(),
            last: machine.nr_cpus() as u32 - 1,
        })?;
        unseen.into_iter().for_each(|unseen| match unseen {
            InferredEvent::Began { cpu, thread, since } => figures.began(cpu, thread, since),
            InferredEvent::Left { cpu, thread, at } => figures.end_unseen(cpu, thread, at),
        });
        figures.event(&event, &mut |pid| importer.index(pid));
        events.note(&event);
        progress(event.time);
    }
    figures.finish();
    let (counts, unheard, too_long) = (importer.counts(), importer.silent_idle_cpus().collect(), importer.too_long());
    let missed: Vec<String> = importer.missed().map(|part| not_seen(part, importer.names())).collect();
    let names: Vec<String> = importer.names().take(SHOWN_MAX).map(str::to_owned).collect();
    let unmatched = missed.iter().cloned().map(Note::Loss).collect();
    let (recording, notes) = importer.finish(trace, [reader.notes(), unmatched].concat());
    if !recording.threads.is_empty() {
        return Ok(Imported { recording, notes, figures, unheard, events, counts, too_long });
    }
    let lasts = last.saturating_sub(begin.unwrap_or(last));
    let trace = trace.to_owned();
    Err(match (names.is_empty(), lasts < selection.from_ns) {
        (_, true) => ImportError::Ended { trace, from: seconds(selection.from_ns), lasts: seconds(lasts) },
        (false, _) => ImportError::NoSuchThread { trace, missed: missed.join("; "), names: names.join(", ") },
        (true, _) => ImportError::Empty { trace },
    })
}

/// Most names that a message shows.
const SHOWN_MAX: usize = 12;

/// The message for a selection that matches no name.
fn not_seen<'a>(part: &str, names: impl Iterator<Item = &'a str>) -> String {
    let near = nearest(part, names).map_or(String::new(), |near| format!("; did you mean {near:?}?"));
    format!("no thread is seen that has {part:?} in its name{near}")
}

/// Runs a recording and measures the runs.
pub struct ReplayRunner<'a> {
    /// The imported trace.
    pub imported: &'a Imported,
    /// Machine, workload and schedulers of the runs.
    pub experiment: &'a Experiment,
}

impl ReplayRunner<'_> {
    /// Runs the recording under scheduler number `sched`. Returns measurements of the run, and its report.
    ///
    /// # Errors
    /// If the run fails, or its trace cannot be written.
    pub fn simulate(&self, sched: usize, seed: u64) -> Result<(Figures, RunReport), RunError> {
        let lost = |e: io::Error| RunError::Failed(format!("cannot keep the trace of the run: {e}"));
        let mut file = tempfile::tempfile().map_err(lost)?;
        let head =
            TraceHead { format: TraceFormat::Text, meta: Vec::new(), notes: Vec::new(), why: false, marks: None };
        let trace = Trace { head, file: file.try_clone().map_err(lost)? };
        let ran = self.experiment.carry_out(sched, seed, Some(trace));
        let report = ran.outcome?;
        ran.trace.map_err(lost)?;
        file.rewind().map_err(lost)?;
        let figures = self.measure(file).map_err(|e| RunError::Failed(e.to_string()))?;
        Ok((figures, report))
    }

    fn measure(&self, file: File) -> Result<Figures, TraceError> {
        let mut births = ThreadMatcher::from_recording(&self.imported.recording);
        let mut figures = Figures::without_idle_tasks_of(self.imported.unheard.iter().copied());
        let mut reader = Reader::new("the run's trace", BufReader::with_capacity(1 << 16, file));
        let have_wakings = self.imported.events.have_wakings();
        while let Some(event) = reader.next_event()? {
            // In a recording without sched_waking, latencies begin with sched_wakeup.
            if matches!(event.what, TraceEventKind::Waking { .. }) && !have_wakings {
                continue;
            }
            births.event(&event);
            figures.event(&event, &mut |pid| births.index(pid));
        }
        figures.finish();
        Ok(figures)
    }

    /// The rows of the recording, without those that compare a run with it and those that need events it does not have.
    pub fn recorded(&self) -> Vec<MetricValue> {
        self.measured(&self.imported.figures)
    }

    /// The rows of a run, in the order of tables.
    pub fn simulated(&self, figures: &Figures) -> Vec<MetricValue> {
        [self.measured(figures), self.against_recording(figures)].concat()
    }

    fn kept(&self, mut rows: Vec<MetricValue>) -> Vec<MetricValue> {
        let left_out = self.imported.events.left_out();
        rows.retain(|row| !left_out.iter().any(|left_out| left_out.has(&row.metric.name)));
        rows
    }

    fn measured(&self, figures: &Figures) -> Vec<MetricValue> {
        let machine = &self.experiment.machine;
        let l = &figures.wakeup_latency;
        let us = |ns: u64| ns as f64 / 1e3;
        let seconds = (figures.span_ns as f64 / 1e9).max(1e-9);
        let cpu_ns = (figures.span_ns as f64 * machine.nr_cpus() as f64).max(1.0);
        let mut out = vec![
            lower("wakeup_latency_p50_us", "us", "from waking to running, median", us(l.permille(500))),
            lower("wakeup_latency_p99_us", "us", "from waking to running, 99th percentile", us(l.permille(990))),
            lower("wakeup_latency_mean_us", "us", "from waking to running, mean", l.mean() / 1e3),
            lower("switches_per_s", "1/s", "switches from or to a thread", figures.switches as f64 / seconds),
            lower("migrations", "count", "changes of CPU", figures.migrations as f64),
            lower("wakeups", "count", "times that a thread became runnable", wakeups(figures) as f64),
            lower("span_s", "s", "from the first event to the last", seconds),
        ];
        let states = self.imported.figures.idle_ns.keys();
        out.extend(states.map(|state| {
            let share = figures.idle_ns.get(state).map_or(0.0, |ns| *ns as f64 / cpu_ns * 100.0);
            lower(&format!("idle_state{state}_pct"), "%", "of CPU time in an idle state, as asked for", share)
        }));
        for (comm, indices) in self.groups() {
            let run: u64 = indices.iter().map(|i| run_ns(figures, *i)).sum();
            out.push(lower(&format!("run_s({comm})"), "s", "time on a CPU of threads of a name", run as f64 / 1e9));
        }
        self.kept(out)
    }

    /// Rows that compare the threads of a run with those of the recording.
    fn against_recording(&self, figures: &Figures) -> Vec<MetricValue> {
        let meaning = "of run time by which threads differ from the recording";
        let mut out = vec![lower("run_off_pct", "%", meaning, self.off(figures))];
        let all: Vec<usize> = (0..self.imported.recording.threads.len()).collect();
        let same = |what: &str, indices: &[usize]| {
            let meaning = "wakeups placed on the recorded CPU";
            higher(what, "%", meaning, self.same(figures, indices))
        };
        out.push(same("same_cpu_pct", &all));
        out.extend(self.groups().iter().map(|(comm, indices)| same(&format!("same_cpu_pct({comm})"), indices)));
        self.kept(out)
    }

    /// The names of threads with the most run time, and the indices of their threads, most run time first.
    fn groups(&self) -> Vec<(&str, Vec<usize>)> {
        let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
        let mut known = BTreeMap::new();
        for (i, thread) in self.imported.recording.threads.iter().enumerate() {
            let group = *known.entry(thread.comm.as_str()).or_insert_with(|| {
                groups.push((&thread.comm, Vec::new()));
                groups.len() - 1
            });
            groups[group].1.push(i);
        }
        let run = |indices: &[usize]| indices.iter().map(|i| run_ns(&self.imported.figures, *i)).sum::<u64>();
        groups.sort_by_cached_key(|(_, indices)| std::cmp::Reverse(run(indices)));
        groups.truncate(NAMES_MAX);
        groups
    }

    /// Sum of the differences of run time thread by thread, percent of all recorded run time.
    pub fn off(&self, figures: &Figures) -> f64 {
        let threads = 0..self.imported.recording.threads.len();
        let recorded = &self.imported.figures;
        let off: u64 = threads.clone().map(|i| run_ns(figures, i).abs_diff(run_ns(recorded, i))).sum();
        let all: u64 = threads.map(|i| run_ns(recorded, i)).sum();
        off as f64 / all.max(1) as f64 * 100.0
    }

    /// Share of wakeups of the threads `indices` that were placed as recorded, percent; 100 without wakeups.
    pub fn same(&self, figures: &Figures, indices: &[usize]) -> f64 {
        let (mut all, mut same) = (0, 0);
        for i in indices {
            let (n, equal) = same_placements(placements(&self.imported.figures, *i), placements(figures, *i));
            (all, same) = (all + n, same + equal);
        }
        if all == 0 {
            100.0
        } else {
            same as f64 / all as f64 * 100.0
        }
    }
}

/// Most names of threads with rows of their own.
const NAMES_MAX: usize = 8;

fn run_ns(figures: &Figures, index: usize) -> u64 {
    figures.threads.get(index).map_or(0, |t| t.run_ns)
}

fn placements(figures: &Figures, index: usize) -> &[u16] {
    figures.threads.get(index).map_or(&[], |t| &t.placements)
}

/// Number of times that threads became runnable.
pub fn wakeups(figures: &Figures) -> u64 {
    figures.threads.iter().map(|t| t.placements.len() as u64).sum()
}

fn lower(name: &str, unit: &str, meaning: &str, value: f64) -> MetricValue {
    reading(name, unit, Better::Lower, meaning, value)
}

fn higher(name: &str, unit: &str, meaning: &str, value: f64) -> MetricValue {
    reading(name, unit, Better::Higher, meaning, value)
}

fn reading(name: &str, unit: &str, better: Better, meaning: &str, value: f64) -> MetricValue {
    MetricValue { metric: Metric::new(name, unit, better, meaning), value }
}

impl Runner for ReplayRunner<'_> {
    fn run(&self, sched: usize, seed: u64) -> Result<RunReport, String> {
        let (figures, report) = self.simulate(sched, seed).map_err(|e| e.to_string())?;
        Ok(RunReport { metrics: self.simulated(&figures), ..report })
    }
}
