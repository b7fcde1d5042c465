//! Log files of threads in rt-app's format: one line for each round of a phase.
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
use fairground_workload::rtapp::LogPlan;
use fairground_workload::{SpecId, Workload};

use crate::rtapp_rounds::{to_us, Round, Rounds, StepProgress};

/// Longest name of a file without its ending, bytes: file systems take 255.
const NAME_MAX: usize = 240;

/// Lines that [`split`] holds in memory, bytes.
const HELD_MAX: usize = 8 << 20;

/// Writes lines as they come, each after its file's name and a tab. [`Self::finish`] returns the first failure.
pub struct RtappLog<W: Write> {
    out: W,
    rounds: Rounds,
    files: Vec<String>,
    /// Threads that were forked so far, by template.
    forks: BTreeMap<SpecId, u32>,
    /// When the first thread was created.
    started: Time,
    /// The first failure to write; nothing is written after it.
    error: Option<io::Error>,
}

impl<W: Write> RtappLog<W> {
    /// Writes to `out`, which should be buffered. `plan` is the log plan of `workload`.
    pub fn new(out: W, plan: Arc<LogPlan>, workload: Arc<Workload>) -> Self {
        let rounds = Rounds::new(plan, workload);
        RtappLog { out, rounds, files: Vec::new(), forks: BTreeMap::new(), started: 0, error: None }
    }

    /// Flushes and returns the writer.
    ///
    /// # Errors
    /// If a line could not be written: the first failure.
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
        let spec = self.rounds.created(parent, child);
        let (plan, index) = (self.rounds.plan(), self.files.len());
        let name = match plan.threads.get(spec as usize) {
            Some(thread) if thread.forked => {
                let count = self.forks.entry(spec).or_default();
                *count += 1;
                file_name(&plan.basename, &thread.task, &format!("-{index}-{:04}", *count - 1))
            }
            Some(thread) => file_name(&plan.basename, &thread.task, &format!("-{index}")),
            None => file_name(&plan.basename, "?", &format!("-{index}")),
        };
        writeln!(self.out, "{name}\t{}", head())?;
        self.files.push(name);
        Ok(())
    }

    fn came_to(&mut self, step: &Step) -> io::Result<()> {
        let (StepProgress { ended: Some(round), .. }, Some(file)) =
            (self.rounds.came_to(step), self.files.get(step.task as usize))
        else {
            return Ok(());
        };
        writeln!(self.out, "{file}\t{}", line(step.task, self.started, &round, step.time))
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

/// The line of a round.
fn line(index: TaskId, started: Time, round: &Round, end: Time) -> String {
    let Round { perf, run_us, slack_us, asked_run_us, asked_period_us, late_us, start, .. } = round;
    let (period, rel_start) = (to_us(end - start), to_us(start.saturating_sub(started)));
    let (start, end) = (to_us(*start), to_us(end));
    format!(
        "{index:4} {perf:8} {run_us:8} {period:8} {start:15} {end:15} {rel_start:15} {slack_us:10} \
         {asked_run_us:10} {asked_period_us:10} {late_us:10}"
    )
}

fn head() -> String {
    format!(
        "#idx {:>8} {:>8} {:>8} {:>15} {:>15} {:>15} {:>10} {:>10} {:>10} {:>10}",
        "perf", "run", "period", "start", "end", "rel_st", "slack", "c_duration", "c_period", "wu_lat"
    )
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

/// Makes the files of all threads in the directory `into`, which has none of them yet, from the text that a
/// [`RtappLog`] wrote. Returns their paths, sorted by name.
///
/// # Errors
/// If the system reports an error.
pub fn split(mut lines: impl BufRead, into: &Path) -> io::Result<Vec<PathBuf>> {
    let mut held: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let (mut bytes, mut line) = (0, String::new());
    while lines.read_line(&mut line)? > 0 {
        let (name, text) =
            line.split_once('\t').ok_or_else(|| io::Error::other("a line does not belong to a thread"))?;
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
