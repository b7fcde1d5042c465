//! A progress bar on a terminal, and nothing elsewhere.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Counts finished runs on standard error; gone when dropped.
pub struct Progress(ProgressBar);

impl Progress {
    /// For `runs` runs.
    pub fn new(runs: usize) -> Progress {
        Progress::with(Some(runs as u64), "{bar:40} {pos}/{len} runs, {eta} left")
    }

    /// For nobody knows how many.
    pub fn endless() -> Progress {
        Progress::with(None, "{spinner} {pos} runs")
    }

    fn with(runs: Option<u64>, template: &str) -> Progress {
        let terminal = std::io::stderr().is_terminal();
        let target = if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(runs, target);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Progress(bar)
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
