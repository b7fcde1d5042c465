//! Progress of commands, shown on standard error if that is a terminal.

use std::io::IsTerminal;
use std::time::Duration;

use fairground_lab::tables::printable;
use fairground_trace::Position;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// On standard error where that is a terminal.
fn bar(length: Option<u64>, template: &str) -> ProgressBar {
    let terminal = std::io::stderr().is_terminal();
    let target = if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(length, target);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
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

/// Shows finished runs and the time left for the others on standard error; gone when dropped.
pub struct Rest(ProgressBar);

impl Rest {
    /// A bar without a number of runs yet.
    pub fn new() -> Rest {
        Rest(bar(Some(0), "{bar:40} {pos}/{len} runs, {elapsed} gone{msg}"))
    }

    /// Sets the number of runs. The results of `kept` of them are in the store already.
    pub fn begin(&self, runs: usize, kept: usize) {
        self.0.set_length(runs as u64);
        self.0.set_position(kept as u64);
        self.0.reset_elapsed();
    }

    /// Counts a finished run. `left`: the time left, if it is known.
    pub fn step(&self, left: Option<Duration>) {
        self.0.inc(1);
        if let Some(left) = left {
            self.0.set_message(format!(", {} left", HumanDuration(left)));
        }
    }

    /// Hides the bar while `write` writes to the terminal.
    pub fn aside(&self, write: impl FnOnce()) {
        self.0.suspend(write);
    }
}

impl Drop for Rest {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Virtual time reached by a single run, on standard error; gone when dropped.
pub struct Spinner(ProgressBar);

impl Spinner {
    /// `None` if standard error is not a terminal.
    pub fn on_terminal() -> Option<Spinner> {
        std::io::stderr().is_terminal().then(|| Spinner::new(ProgressDrawTarget::stderr()))
    }

    fn new(target: ProgressDrawTarget) -> Spinner {
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        Spinner(bar)
    }

    /// Shows the virtual time that the run has reached, ns.
    pub fn show(&self, time: u64) {
        self.0.set_message(format!("{:.3} s of virtual time", time as f64 / 1e9));
        self.0.tick();
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
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
        bar.enable_steady_tick(Duration::from_millis(100));
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
    fn the_spinner_shows_virtual_time() {
        let spinner = Spinner::new(ProgressDrawTarget::hidden());
        spinner.show(1_250_000_000);
        assert_eq!(spinner.0.message(), "1.250 s of virtual time");
    }
}
