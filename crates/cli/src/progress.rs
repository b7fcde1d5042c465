//! Signs of life on a terminal, and nothing elsewhere.

use std::io::IsTerminal;
use std::time::Duration;

use fairground_sim::{Event, Observer};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

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
    /// For `runs` runs.
    pub fn new(runs: usize) -> Progress {
        Progress(bar(Some(runs as u64), "{bar:40} {pos}/{len} runs, {eta} left"))
    }

    /// For nobody knows how many.
    pub fn endless() -> Progress {
        Progress(bar(None, "{spinner} {pos} runs"))
    }

    /// One run is done.
    pub fn step(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Events between two looks at the clock: well under a millisecond of work.
const EVENTS_PER_LOOK: u32 = 4096;

/// Virtual time reached by a single run, on standard error; gone when dropped.
pub struct Spinner {
    bar: ProgressBar,
    /// Events until the next look.
    left: u32,
}

impl Spinner {
    /// None where standard error is no terminal: the run is then not observed at all.
    pub fn on_terminal() -> Option<Spinner> {
        std::io::stderr().is_terminal().then(|| Spinner::new(ProgressDrawTarget::stderr()))
    }

    fn new(target: ProgressDrawTarget) -> Spinner {
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        Spinner { bar, left: EVENTS_PER_LOOK }
    }
}

impl Observer for Spinner {
    fn event(&mut self, event: &Event) {
        self.left -= 1;
        if self.left == 0 {
            self.left = EVENTS_PER_LOOK;
            self.bar.set_message(format!("{:.3} s of virtual time", event.time as f64 / 1e9));
            self.bar.tick();
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// What is being done now, on standard error; gone when dropped.
pub struct Steps(ProgressBar);

impl Steps {
    /// Shown on a terminal only.
    pub fn new() -> Steps {
        let bar = bar(None, "{spinner} {msg}, {elapsed}");
        bar.enable_steady_tick(Duration::from_millis(100));
        Steps(bar)
    }

    /// Something else is being done now.
    pub fn tell(&self, what: &str) {
        self.0.set_message(what.to_owned());
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use fairground_sim::EventKind;

    use super::*;

    #[test]
    fn the_spinner_tells_virtual_time_now_and_then() {
        let mut spinner = Spinner::new(ProgressDrawTarget::hidden());
        let event = |time| Event { time, cpu: 0, kind: EventKind::Frequency { khz: 1 } };
        (1..EVENTS_PER_LOOK).for_each(|_| spinner.event(&event(1)));
        assert_eq!(spinner.bar.message(), "");
        spinner.event(&event(1_250_000_000));
        assert_eq!(spinner.bar.message(), "1.250 s of virtual time");
    }
}
