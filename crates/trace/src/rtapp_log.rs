//! The log of each thread as rt-app writes it: a line a round of a phase.
//!
//! ```text
//! #idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat
//! ```
//!
//! Columns and their meaning are those of rt-app's source as of May 2026: `idx` of the thread; `perf`, thousands of
//! loops of `run` (of a file that gives no ns per loop: us of it); `run`, us that `run` and `runtime` took, waiting for
//! a CPU included; `period`, us of the round; `start` and `end`, us of virtual time; `rel_st`, `start` since the first
//! thread was created; `slack`, us from the last timer's call to the end of its period, negative if that is missed;
//! `c_duration` and `c_period`, what the file asks for; `wu_lat`, us from the ends of timers' periods until the thread
//! runs, 0 after a missed one. Times are rounded to the nearest us. A round that the end of the run cuts off has no
//! line.
//!
//! Lines of all threads go into one file as they come ([`RtappLog`]); [`split`] makes a file for each thread of it. So
//! a run needs one open file and little memory, however many threads it has.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fairground_sim::{Event, EventKind, Observer, Step, TaskId, Time};
use fairground_workload::rtapp::{LogPlan, LoggedEvent, LoggedStep};
use fairground_workload::{SpecId, Workload};

use crate::Names;

/// Longest name of a file without its ending, bytes: file systems take 255.
const NAME_MAX: usize = 240;

/// Lines that [`split`] holds in memory, bytes.
const HELD_MAX: usize = 8 << 20;

/// Writes lines as they come, each behind its file's name and a tab. [`Self::finish`] tells whether all could be
/// written.
pub struct RtappLog<W: Write> {
    out: W,
    plan: Arc<LogPlan>,
    names: Names,
    /// By task id.
    threads: Vec<Thread>,
    /// Threads that were forked so far, by template.
    forks: BTreeMap<SpecId, u32>,
    /// When the first thread was created.
    started: Time,
    /// The first failure to write; nothing is written after it.
    error: Option<io::Error>,
}

/// A thread of the run.
struct Thread {
    file: String,
    spec: SpecId,
    /// The step it is at.
    op: Option<u32>,
    round: Option<Round>,
}

/// A round of a phase that has begun.
#[derive(Default)]
struct Round {
    phase: u32,
    start: Time,
    within: Option<Within>,
    perf: u64,
    run_us: u64,
    slack_us: i64,
    asked_run_us: u64,
    asked_period_us: u64,
    late_us: u64,
}

/// An event that is measured.
enum Within {
    Run { since: Time },
    Timer { due: Time, missed: bool },
}

impl<W: Write> RtappLog<W> {
    /// Onto `out`, which should be buffered. `plan` is of `workload`.
    pub fn new(out: W, plan: Arc<LogPlan>, workload: Arc<Workload>) -> Self {
        let (threads, forks) = (Vec::new(), BTreeMap::new());
        RtappLog { out, plan, names: Names::new(workload), threads, forks, started: 0, error: None }
    }

    /// Flushes and gives the writer back.
    ///
    /// # Errors
    /// The first failure to write.
    pub fn finish(mut self) -> io::Result<W> {
        match self.error.take() {
            Some(error) => Err(error),
            None => {
                self.out.flush()?;
                Ok(self.out)
            }
        }
    }

    /// A thread has its number and its file from its creation on, whether or not it comes to do anything.
    fn created(&mut self, time: Time, parent: Option<TaskId>, child: TaskId) -> io::Result<()> {
        if child == 0 {
            self.started = time;
        }
        self.names.fork(parent, child);
        let spec = self.names.template(child).unwrap_or(SpecId::MAX);
        let index = self.threads.len();
        let name = match self.plan.threads.get(spec as usize) {
            Some(thread) if thread.forked => {
                let count = self.forks.entry(spec).or_default();
                *count += 1;
                file_name(&self.plan.basename, &thread.task, &format!("-{index}-{:04}", *count - 1))
            }
            Some(thread) => file_name(&self.plan.basename, &thread.task, &format!("-{index}")),
            None => file_name(&self.plan.basename, "?", &format!("-{index}")),
        };
        writeln!(self.out, "{name}\t{}", head())?;
        self.threads.push(Thread { file: name, spec, op: None, round: None });
        Ok(())
    }

    fn came_to(&mut self, step: &Step) -> io::Result<()> {
        let Some(thread) = self.threads.get_mut(step.task as usize) else { return Ok(()) };
        if thread.op.replace(step.op) == Some(step.op) {
            return Ok(());
        }
        let steps = self.plan.threads.get(thread.spec as usize).map(|t| &t.steps);
        let logged = steps.and_then(|s| s.get(step.op as usize)).copied().unwrap_or_default();
        if let Some(round) = &mut thread.round {
            round.leave(step.time);
            if logged.begins || logged.phase != round.phase {
                let line = round.line(step.task, self.started, step.time);
                writeln!(self.out, "{}\t{line}", thread.file)?;
                thread.round = None;
            }
        }
        if logged.begins {
            thread.round = Some(Round { phase: logged.phase, start: step.time, ..Round::default() });
        }
        if let Some(round) = &mut thread.round {
            round.enter(step, logged, self.plan.sums_slack);
        }
        Ok(())
    }

    fn keep(&mut self, result: io::Result<()>) {
        self.error = result.err();
    }
}

impl<W: Write> Observer for RtappLog<W> {
    fn event(&mut self, event: &Event) {
        if let (EventKind::Fork { parent, child }, None) = (event.kind, &self.error) {
            let result = self.created(event.time, parent, child);
            self.keep(result);
        }
    }

    fn wants_steps(&self) -> bool {
        true
    }

    fn step(&mut self, step: &Step) {
        if self.error.is_none() {
            let result = self.came_to(step);
            self.keep(result);
        }
    }
}

impl Round {
    fn enter(&mut self, step: &Step, logged: LoggedStep, sums_slack: bool) {
        match (logged.event, step.due) {
            (LoggedEvent::Run { us, perf }, _) => {
                self.asked_run_us += us;
                self.perf += perf;
                self.within = Some(Within::Run { since: step.time });
            }
            (LoggedEvent::Timer { us }, Some(due)) => {
                self.asked_period_us += us;
                let slack = match due >= step.time {
                    true => to_us(due - step.time) as i64,
                    false => -(to_us(step.time - due) as i64),
                };
                self.slack_us = if sums_slack { self.slack_us + slack } else { slack };
                self.within = Some(Within::Timer { due, missed: due <= step.time });
            }
            _ => {}
        }
    }

    /// The event that was measured is over.
    fn leave(&mut self, now: Time) {
        match self.within.take() {
            Some(Within::Run { since }) => self.run_us += to_us(now - since),
            Some(Within::Timer { missed: true, .. }) => self.late_us = 0,
            Some(Within::Timer { due, .. }) => self.late_us += to_us(now.saturating_sub(due)),
            None => {}
        }
    }

    fn line(&self, index: TaskId, started: Time, end: Time) -> String {
        let Round { perf, run_us, slack_us, asked_run_us, asked_period_us, late_us, start, .. } = self;
        let (period, rel_start) = (to_us(end - start), to_us(start.saturating_sub(started)));
        let (start, end) = (to_us(*start), to_us(end));
        format!(
            "{index:4} {perf:8} {run_us:8} {period:8} {start:15} {end:15} {rel_start:15} {slack_us:10} \
             {asked_run_us:10} {asked_period_us:10} {late_us:10}"
        )
    }
}

fn head() -> String {
    format!(
        "#idx {:>8} {:>8} {:>8} {:>15} {:>15} {:>15} {:>10} {:>10} {:>10} {:>10}",
        "perf", "run", "period", "start", "end", "rel_st", "slack", "c_duration", "c_period", "wu_lat"
    )
}

fn to_us(ns: Time) -> u64 {
    ns.saturating_add(500) / 1000
}

/// `BASENAME-TASKNUMBER.log`. What a file name had better not hold is written as % and two hexadecimal digits a byte; a
/// name that is too long ends early, before the number.
fn file_name(basename: &str, task: &str, number: &str) -> String {
    let mut name = String::new();
    for byte in format!("{basename}-{task}").bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-_.+,=@#:()[]".contains(&byte);
        let written = if plain { char::from(byte).to_string() } else { format!("%{byte:02x}") };
        if name.len() + written.len() + number.len() > NAME_MAX {
            break;
        }
        name += &written;
    }
    if name.starts_with('.') {
        name.replace_range(..1, "%2e");
    }
    format!("{name}{number}.log")
}

/// Makes the files of all threads in the directory `into`, which holds none of them yet, of what a [`RtappLog`] has
/// written. Their paths, in the order of their names.
///
/// # Errors
/// What the system says.
pub fn split(mut lines: impl BufRead, into: &Path) -> io::Result<Vec<PathBuf>> {
    let mut held: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let (mut bytes, mut line) = (0, String::new());
    while lines.read_line(&mut line)? > 0 {
        let (name, text) = line.split_once('\t').ok_or_else(|| io::Error::other("a line belongs to no thread"))?;
        match held.get_mut(name) {
            Some(file) => file.extend_from_slice(text.as_bytes()),
            None => drop(held.insert(name.into(), text.into())),
        }
        bytes += text.len();
        if bytes > HELD_MAX {
            put_down(&mut held, into)?;
            bytes = 0;
        }
        line.clear();
    }
    put_down(&mut held, into)?;
    Ok(held.into_keys().map(|name| into.join(name)).collect())
}

/// Appends to each file what is held of it.
fn put_down(held: &mut BTreeMap<String, Vec<u8>>, into: &Path) -> io::Result<()> {
    for (name, text) in held.iter_mut().filter(|(_, text)| !text.is_empty()) {
        let mut file: File = OpenOptions::new().append(true).create(true).open(into.join(name))?;
        file.write_all(text)?;
        *text = Vec::new();
    }
    Ok(())
}

#[cfg(test)]
mod tests;
