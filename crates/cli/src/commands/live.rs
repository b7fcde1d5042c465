//! `fairground live`.

use clap::{Args, Subcommand};

/// What to do with the scheduler in the running kernel.
#[derive(Subcommand)]
pub enum LiveCommand {
    /// Start: all tasks of the fair class are scheduled by the policy until the command is interrupted
    Start(Start),
    /// Say what the scheduler that runs has done: placements and picks by rule, migrations, latencies
    Status(Status),
    /// Turn features of the scheduler that runs on and off: +asym-prev-first -misfit-unlink
    Set(Set),
}

/// Loads the policy into the kernel and stays until it ends.
#[derive(Args)]
pub struct Start {
    /// Preset or file that describes this machine [default: as `machine capture` sees it]
    machine: Option<String>,
    /// Release and features of the policy: fair:v6.12+asym-prev-first
    #[arg(long, value_name = "SCHED", default_value = "fair:v6.12")]
    sched: String,
    /// The kernel's ticks per second [default: as its configuration says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    hz: Option<u32>,
    /// End after this time, s [default: when the command is interrupted]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
}

/// Reads the counters of the scheduler that runs.
#[derive(Args)]
pub struct Status {}

/// Writes features of the scheduler that runs.
#[derive(Args)]
pub struct Set {
    /// Changes: +NAME, -NAME, +NAME=VALUE
    #[arg(required = true, value_name = "CHANGE", allow_hyphen_values = true)]
    changes: Vec<String>,
}

#[cfg(feature = "live")]
mod built {
    use std::path::Path;
    use std::sync::atomic::Ordering;
    use std::time::{Duration, Instant};

    use fairground_fair::{features, pick_rules, rules, Features};
    use fairground_host::Host;
    use fairground_live::{Running, Scheduler, Status as Counters};
    use fairground_machine::{capture, CaptureOptions, Machine};
    use miette::Diagnostic;
    use thiserror::Error;

    use super::{LiveCommand, Set, Start};
    use crate::error::{run_failed, End, Failure};
    use crate::output::{complain, print};
    use crate::restore::stoppable;

    /// The tick rate is not known.
    #[derive(Debug, Error, Diagnostic)]
    #[error("this kernel does not say its ticks per second (CONFIG_HZ)")]
    #[diagnostic(help("name them: --hz 250"))]
    struct NoHz;

    /// The policy is not named.
    #[derive(Debug, Error, Diagnostic)]
    #[error("--sched {0}: expected fair:RELEASE with features, e.g. fair:v6.12+asym-prev-first")]
    struct NotFair(String);

    /// A feature that cannot be changed while the scheduler runs.
    #[derive(Debug, Error, Diagnostic)]
    #[error("{0} decides how queues or domains are made: it cannot change while the scheduler runs")]
    #[diagnostic(help("start the scheduler anew"))]
    struct Fixed(&'static str);

    /// Features by which queues, their sums or domains were made when the scheduler started.
    const FIXED: [&str; 16] = [
        "rq",
        "flat-pick",
        "weight-bits",
        "uclamp-buckets",
        "uclamp-key",
        "group-shares",
        "throttle",
        "sched-cache",
        "fair-server",
        "cls-domain",
        "imb-pct-117",
        "busy-factor-16",
        "groups-within",
        "weight-in-map",
        "llc-phys",
        "balance-shared",
    ];

    impl LiveCommand {
        pub fn run(self) -> Result<End, Failure> {
            match self {
                LiveCommand::Start(start) => start.run(),
                LiveCommand::Status(_) => {
                    print(&report(&Running::open()?.status()))?;
                    Ok(End::Done)
                }
                LiveCommand::Set(set) => set.run(),
            }
        }
    }

    impl Start {
        fn run(self) -> Result<End, Failure> {
            let Some(text) = self.sched.strip_prefix("fair:") else { return Err(NotFair(self.sched).into()) };
            let features = Features::parse(text)?;
            let machine = match &self.machine {
                Some(name) => Machine::load(name)?,
                None => captured()?,
            };
            let host = Host::new(Path::new("/"), false);
            let hz = self.hz.or_else(|| host.hz()).ok_or(NoHz)?;
            features.notes().iter().for_each(|note| complain(&format!("note: {note}")));
            let stop = stoppable()?;
            let scheduler = Scheduler::start(&machine, &features, hz)?;
            if scheduler.ended().is_none() {
                complain(&format!("fairground schedules this machine by {}", self.sched));
            }
            if !scheduler.is_pinned() {
                complain("note: /sys/fs/bpf is not mounted: `fairground live status` and `set` will not find it");
            }
            let begin = Instant::now();
            let goes_on = || {
                !stop.load(Ordering::Relaxed) && self.seconds.is_none_or(|s| begin.elapsed() < Duration::from_secs(s))
            };
            while goes_on() && scheduler.ended().is_none() {
                std::thread::sleep(Duration::from_millis(100));
            }
            if let Some(ended) = scheduler.ended() {
                print(&format!("{}\n{}", report(&scheduler.status()), ended.dump))?;
                return Err(run_failed(format!(
                    "the kernel ended the scheduler, and its fair class is in charge again: {} ({}) {}",
                    ended.reason, ended.kind, ended.message
                )));
            }
            let status = scheduler.status();
            drop(scheduler);
            print(&report(&status))?;
            Ok(End::Done)
        }
    }

    impl Set {
        fn run(self) -> Result<End, Failure> {
            let running = Running::open()?;
            let all = 0..features().len();
            let values = all.fold(Features::newest(), |values, id| values.with_value(id, running.feature(id)));
            let changed = values.clone().and(&self.changes.concat())?;
            let ids = changed.differing(&values);
            for id in &ids {
                let name = features()[*id].name;
                if FIXED.contains(&name) {
                    return Err(Fixed(name).into());
                }
            }
            for id in ids {
                running.set_feature(id, changed.get(id));
            }
            Ok(End::Done)
        }
    }

    fn captured() -> Result<Machine, Failure> {
        let options = CaptureOptions { from: "/sys".into(), debugfs: None, name: "captured".into(), like: None };
        let captured = capture(&options)?;
        captured.notes.iter().for_each(|note| complain(&format!("note: {note}")));
        Ok(captured.machine)
    }

    /// What a scheduler has done, as text.
    fn report(status: &Counters) -> String {
        let mut text = String::new();
        let placed: u64 = status.placed.iter().sum();
        let waits = status.waits;
        let mean = if waits.count > 0 { waits.sum_ns as f64 / waits.count as f64 / 1e3 } else { 0.0 };
        text += &format!(
            "{placed} placements, {} migrations, {} switches, {} ticks\nfrom wakeup to CPU: mean {mean:.1} us, longest {:.1} us (pid {}), {} wakeups\n",
            status.migrations,
            status.switches,
            status.ticks,
            waits.longest_ns as f64 / 1e3,
            waits.longest_pid,
            waits.count
        );
        for (title, counts, rules) in [("placements", &status.placed, rules()), ("picks", &status.picked, pick_rules())]
        {
            let all: u64 = counts.iter().sum();
            let mut rows: Vec<(u64, &str, &str)> = counts
                .iter()
                .zip(rules)
                .filter(|(n, _)| **n > 0)
                .map(|(n, rule)| (*n, rule.function, rule.label))
                .collect();
            rows.sort_by(|a, b| b.cmp(a));
            text += &format!("\n{title}\n");
            for (n, function, label) in rows {
                text += &format!("{n:>10} {:>5.1} %  {function}: {label}\n", n as f64 * 100.0 / all as f64);
            }
        }
        if status.unknown > 0 || status.refused > 0 {
            text += &format!("\n{} calls for unknown tasks, {} tasks refused\n", status.unknown, status.refused);
        }
        text
    }
}

#[cfg(not(feature = "live"))]
mod absent {
    use miette::Diagnostic;
    use thiserror::Error;

    use super::LiveCommand;
    use crate::error::{End, Failure};

    /// The command was built without it.
    #[derive(Debug, Error, Diagnostic)]
    #[error("this command was built without `fairground live`")]
    #[diagnostic(help(
        "build it with clang-19, llvm-19, python3 and libelf-dev: cargo build --release -p fairground-cli --features live"
    ))]
    struct Absent;

    impl LiveCommand {
        pub fn run(self) -> Result<End, Failure> {
            Err(Absent.into())
        }
    }
}
