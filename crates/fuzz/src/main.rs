//! `fairground-fuzz`: a parser against as many changed files as one likes.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use fairground_fuzz::{fuzz, targets, Finding, Tally, Target};

/// Between two lines of progress.
const EVERY: Duration = Duration::from_secs(60);

/// Runs parsers on good files that were changed at random.
#[derive(Parser)]
struct Options {
    /// Parsers, or `all`; without any: lists them
    targets: Vec<String>,
    /// Inputs of each
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    runs: u64,
    /// The first of them, to go on where another run ended
    #[arg(long, default_value_t = 0, value_name = "N")]
    from: u64,
    /// Where inputs go that are not survived
    #[arg(long, default_value = ".", value_name = "DIR")]
    found: PathBuf,
}

fn main() -> ExitCode {
    let options = Options::parse();
    if options.targets.is_empty() {
        targets().iter().for_each(|t| println!("{:10} {}", t.name, t.about));
        return ExitCode::SUCCESS;
    }
    let mut survived = true;
    let all = || targets().iter().map(|target| target.name.to_owned()).collect();
    let names = if options.targets == ["all"] { all() } else { options.targets.clone() };
    for name in &names {
        match targets().iter().find(|target| target.name == name) {
            Some(target) => survived &= run(target, &options),
            None => {
                let known: Vec<_> = targets().iter().map(|target| target.name).collect();
                eprintln!("no parser {name:?}; there are {}", known.join(", "));
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::from(u8::from(!survived))
}

/// Whether a parser survives.
fn run(target: &Target, options: &Options) -> bool {
    let (begun, mut last) = (Instant::now(), Instant::now());
    // A panic is told with its input.
    let told = |run: u64, tally: &Tally| {
        if last.elapsed() >= EVERY {
            last = Instant::now();
            println!("{:10} run {run}: {}", target.name, words(tally));
        }
    };
    match fuzz(target, options.from..options.from.saturating_add(options.runs), told) {
        Ok(tally) => {
            println!("{:10} {} runs in {:.0?}: {}", target.name, options.runs, begun.elapsed(), words(&tally));
            true
        }
        Err(finding) => {
            keep(target, &finding, options);
            false
        }
    }
}

fn words(tally: &Tally) -> String {
    let (longest, run) = tally.longest;
    format!("{} read, {} refused, the longest {longest:.1?} of CPU time (run {run})", tally.read, tally.refused)
}

fn keep(target: &Target, finding: &Finding, options: &Options) {
    let path = options.found.join(format!("{}-{}", target.name, finding.run));
    println!("{:10} run {}: {}", target.name, finding.run, finding.problem);
    match std::fs::write(&path, &finding.input) {
        Ok(()) => println!("{:10} its input is {}", target.name, path.display()),
        Err(e) => println!("{:10} cannot write {}: {e}", target.name, path.display()),
    }
}
