//! Progress of commands, shown on standard error if that is a terminal.

use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fairground_lab::tables::printable;
use fairground_run::executor::VirtualTime;
use fairground_run::experiment::SharedTime;
use fairground_trace::Position;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// Between two drawings of a bar of which nothing else tells that it has moved.
const TICK: Duration = Duration::from_millis(100);

/// Set by `--quiet`.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on there is no progress.
pub fn hide() {
    QUIET.store(true, Ordering::Relaxed);
}

/// On standard error where that is a terminal that can move its cursor.
fn bar(length: Option<u64>, template: &str) -> ProgressBar {
    bar_with(length, template, |style| style)
}

fn bar_with(length: Option<u64>, template: &str, add: impl FnOnce(ProgressStyle) -> ProgressStyle) -> ProgressBar {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let is_shown = std::io::stderr().is_terminal() && !is_dumb && !QUIET.load(Ordering::Relaxed);
    let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(length, target);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(add(style));
    }
    bar
}

/// Counts finished runs on standard error; gone when dropped.
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar for `runs` runs.
    pub fn new(runs: usize) -> Progress {
        Progress(bar(Some(runs as u64), "{bar:40} {pos}/{len} runs, {eta} left"))
    }

    /// A counter for an unknown number of runs.
    pub fn endless() -> Progress {
        Progress(bar(None, "{spinner} {pos} runs"))
    }

    /// Counts a finished run.
    pub fn step(&self) {
        self.0.inc(1);
    }

    /// Hides the counter while `write` writes to the terminal.
    pub fn aside(&self, write: impl FnOnce()) {
        self.0.suspend(write);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Shows finished runs, the virtual time that they have reached, and the time left for the others on standard error; gone when
/// dropped.
pub struct Rest {
    bar: ProgressBar,
    time: Arc<Mutex<VirtualTime>>,
}

impl Rest {
    /// A bar without a number of runs yet.
    pub fn new() -> Rest {
        let time = Arc::<Mutex<VirtualTime>>::default();
        let shown = Arc::clone(&time);
        let virtual_time = move |_: &ProgressState, out: &mut dyn Write| {
            let ns = shown.lock().unwrap_or_else(PoisonError::into_inner).ns();
            let _ = write!(out, "{}", seconds(ns));
        };
        let template = "{bar:40} {pos}/{len} runs, {virtual_time}, {elapsed} gone{msg}";
        Rest { bar: bar_with(Some(0), template, |style| style.with_key("virtual_time", virtual_time)), time }
    }

    /// Sets the number of runs, and what tells their virtual time. The results of `kept` of them are in the store already.
    pub fn begin(&self, runs: usize, kept: usize, time: VirtualTime) {
        *self.time.lock().unwrap_or_else(PoisonError::into_inner) = time;
        self.bar.set_length(runs as u64);
        self.bar.set_position(kept as u64);
        self.bar.reset_elapsed();
        // The first run may take long: what is shown is to move from the beginning.
        self.bar.enable_steady_tick(TICK);
    }

    /// Counts a finished run. `left`: the time left, if it is known.
    pub fn step(&self, left: Option<Duration>) {
        self.bar.inc(1);
        if let Some(left) = left {
            self.bar.set_message(format!(", {} left", HumanDuration(left)));
        }
    }

    /// Hides the bar while `write` writes to the terminal.
    pub fn aside(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }
}

impl Drop for Rest {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Virtual time reached by a single run, on standard error; gone when dropped.
pub struct Spinner(ProgressBar);

impl Spinner {
    /// Shows the time that the run writes.
    pub fn new(time: SharedTime) -> Spinner {
        let virtual_time = move |_: &ProgressState, out: &mut dyn Write| {
            let _ = write!(out, "{}", seconds(time.load(Ordering::Relaxed)));
        };
        let bar = bar_with(None, "{spinner} {virtual_time}", |style| style.with_key("virtual_time", virtual_time));
        bar.enable_steady_tick(TICK);
        Spinner(bar)
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn seconds(ns: u64) -> String {
    format!("{:.3} s of virtual time", ns as f64 / 1e9)
}

/// How far a trace has been read, on standard error; gone when dropped.
pub struct Reading {
    bar: ProgressBar,
    position: Position,
    events: u64,
    /// Time of the first event, ns.
    begin: Option<u64>,
}

/// Events between two updates of what is shown.
const EVENTS_PER_LOOK: u64 = 1 << 16;

impl Reading {
    /// A bar if the length of the trace is known, else a spinner.
    pub fn new(position: Position) -> Reading {
        let bar = match position.bytes_and_size() {
            Some((_, size)) => bar(Some(size), "{bar:40} {bytes}/{total_bytes}, {msg}, {eta} left"),
            None => bar(None, "{spinner} {msg}"),
        };
        Reading { bar, position, events: 0, begin: None }
    }

    /// Counts an event of this time, ns.
    pub fn event(&mut self, time: u64) {
        let begin = *self.begin.get_or_insert(time);
        self.events += 1;
        if self.events % EVENTS_PER_LOOK == 0 {
            let seconds = time.saturating_sub(begin) as f64 / 1e9;
            self.bar.set_position(self.position.bytes_and_size().map_or(self.events, |(read, _)| read));
            self.bar.set_message(format!("{} events, {seconds:.3} s of the trace", self.events));
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Shows the current step of the work on standard error; gone when dropped.
pub struct Steps(ProgressBar);

impl Steps {
    /// A spinner without a step yet.
    pub fn new() -> Steps {
        let bar = bar(None, "{spinner} {msg}, {elapsed}");
        bar.enable_steady_tick(TICK);
        Steps(bar)
    }

    /// Shows the next step.
    pub fn tell(&self, what: &str) {
        self.0.set_message(printable(what).into_owned());
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_time_is_in_seconds() {
        assert_eq!(seconds(1_250_000_000), "1.250 s of virtual time");
    }
}
