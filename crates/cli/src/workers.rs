//! Options of runs in worker processes.

use std::time::Duration;

use clap::Args;
use fairground_run::worker::{Limits, Workers};

/// Limits of a run under `linux:`.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Limits of a run under linux:")]
pub struct WorkerOptions {
    /// CPU time, s
    #[arg(long, value_name = "S", default_value = "600", value_parser = parse_seconds)]
    cpu_limit: Duration,
    /// CPU time of one call of the kernel's code, s: a longer call is taken for an endless loop
    #[arg(long, value_name = "S", default_value = "10", value_parser = parse_seconds)]
    call_limit: Duration,
    /// Address space, MiB
    #[arg(long, value_name = "MIB", default_value = "4096", value_parser = clap::value_parser!(u64).range(256..=1 << 20))]
    memory_limit: u64,
    /// Use worker processes for runs under fair:, too
    #[arg(long, hide = true)]
    in_worker: bool,
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(s) if (0.1..=1e6).contains(&s) => Ok(Duration::from_secs_f64(s)),
        _ => Err("expected 0.1 to 1000000".into()),
    }
}

impl WorkerOptions {
    /// These options, for another process of this program.
    pub fn arguments(&self) -> Vec<String> {
        let seconds = |time: Duration| time.as_secs_f64().to_string();
        let pairs = [
            ("--cpu-limit", seconds(self.cpu_limit)),
            ("--call-limit", seconds(self.call_limit)),
            ("--memory-limit", self.memory_limit.to_string()),
        ];
        let mut words: Vec<String> = pairs.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect();
        words.extend(self.in_worker.then(|| "--in-worker".to_owned()));
        words
    }

    /// Workers within these limits.
    pub fn workers(&self) -> Workers {
        let limits = Limits { cpu: self.cpu_limit, call: self.call_limit, memory_mib: self.memory_limit };
        Workers { limits, always: self.in_worker, ..Workers::default() }
    }
}
