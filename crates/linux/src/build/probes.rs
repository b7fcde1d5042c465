//! Feature probes: small programs compiled with the kernel's flags show what a tree has; no version is compared.

use std::io;
use std::path::Path;
use std::process::Output;
use std::thread::{self, ScopedJoinHandle};

use super::error::BuildError;
use super::flags::Flags;
use super::make::Workshop;
use super::{embedded, files};

/// A target that every tree's `prepare` makes with the kernel's plain flags.
const MODEL: &str = "kernel/bounds.s";

/// What the probes of a tree gave.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// Optional ones that compiled, by file name without `.c`.
    pub has: Vec<&'static str>,
    /// What each required one that did not compile stands for.
    pub missing: Vec<String>,
}

/// Whether some probe looks at more of a tree than its headers.
pub(super) fn read_sources() -> bool {
    let includes_source = |text: &str| text.lines().any(|l| l.starts_with("#include") && l.contains(".c"));
    let of = |dir: &'static str| embedded::stems(dir).into_iter().map(move |stem| format!("{dir}/{stem}.c"));
    of("required").chain(of("probes")).any(|name| includes_source(embedded::text(&name)))
}

impl Findings {
    /// Compiles all probes, required ones first.
    pub fn gather(workshop: &mut Workshop) -> Result<Findings, BuildError> {
        let flags = Flags::read(&workshop.build(), MODEL)?;
        let of = |dir: &'static str| embedded::stems(dir).into_iter().map(move |stem| (dir, stem));
        let all: Vec<(&str, &str)> = of("required").chain(of("probes")).collect();
        let outcomes = compile_all(workshop, &flags, &all)?;
        let mut findings = Findings::default();
        for ((dir, stem), outcome) in all.into_iter().zip(outcomes) {
            match (dir, outcome) {
                ("required", Err(said)) if !is_own_error(&said, &source_of(dir, stem)) => {
                    return Err(workshop.failed("probing", &said));
                }
                ("required", Err(_)) => findings.missing.push(meaning(stem)),
                ("probes", Ok(())) => findings.has.push(stem),
                _ => {}
            }
        }
        Ok(findings)
    }

    /// A C header with a macro `KS_HAS_*` for each optional feature that was found.
    pub fn header(&self) -> String {
        let line = |stem: &&str| format!("#define KS_HAS_{} 1\n", stem.to_uppercase().replace('-', "_"));
        self.has.iter().map(line).collect()
    }
}

/// What a required probe stands for: its first comment that is no licence.
fn meaning(stem: &str) -> String {
    let text = embedded::text(&format!("required/{stem}.c"));
    let plain =
        |line: &str| line.trim().trim_start_matches(['/', '*', ' ']).trim_end_matches(['/', '*', ' ']).to_string();
    let comment = |line: &&str| line.trim_start().starts_with(['/', '*']) && !line.contains("SPDX");
    text.lines().filter(comment).map(plain).find(|l| !l.is_empty()).unwrap_or_else(|| stem.into())
}

/// A probe's source, as the compiler gets and names it.
fn source_of(dir: &str, stem: &str) -> String {
    format!("../{}/{dir}/{stem}.c", embedded::REST)
}

/// Whether the compiler's first error lies in the probe's own source. If it lies in a header of the tree, the probe
/// tells nothing of what it asks for.
fn is_own_error(said: &[String], source: &str) -> bool {
    let error = said.iter().find(|line| line.contains(" error: "));
    error.is_none_or(|line| line.starts_with(source))
}

/// The compiler's messages of each that does not compile; they go to the log, in the order of the list.
fn compile_all(
    workshop: &mut Workshop,
    flags: &Flags,
    all: &[(&str, &str)],
) -> Result<Vec<Result<(), Vec<String>>>, BuildError> {
    let build = &workshop.build();
    let compile = |(dir, stem): &(&str, &str)| flags.command(build, &["-fsyntax-only", &source_of(dir, stem)]).output();
    let jobs = workshop.jobs.clamp(1, all.len().max(1));
    // Job n compiles numbers n, n + jobs, ...
    let mut outcomes: Vec<(usize, io::Result<Output>)> = thread::scope(|scope| {
        let share = |first| move || (first..all.len()).step_by(jobs).map(|at| (at, compile(&all[at]))).collect();
        let running: Vec<ScopedJoinHandle<Vec<_>>> = (0..jobs).map(|first| scope.spawn(share(first))).collect();
        running.into_iter().flat_map(|job| job.join().unwrap_or_default()).collect()
    });
    outcomes.sort_by_key(|(at, _)| *at);
    let mut compiles = Vec::new();
    for ((dir, stem), (_, outcome)) in all.iter().zip(outcomes) {
        let outcome = outcome.map_err(files::fail("run", Path::new("sh")))?;
        workshop.note(&format!("# {dir}/{stem}: {}", outcome.status));
        let said = String::from_utf8_lossy(&outcome.stderr);
        workshop.note(&said);
        compiles.push(match outcome.status.success() {
            true => Ok(()),
            false => Err(said.lines().map(String::from).collect()),
        });
    }
    Ok(compiles)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_defines_what_was_found() {
        let findings = Findings { has: vec!["sched_tick", "hw-pressure"], missing: Vec::new() };
        assert_eq!(findings.header(), "#define KS_HAS_SCHED_TICK 1\n#define KS_HAS_HW_PRESSURE 1\n");
    }

    #[test]
    fn an_error_in_a_header_says_nothing_of_the_probe() {
        let said = |text: &str| text.lines().map(String::from).collect::<Vec<_>>();
        let source = source_of("required", "stopper");
        let own = said(&format!("{source}: In function 'ks_probe':\n{source}:4:9: error: 'x' undeclared\n"));
        assert!(is_own_error(&own, &source));
        let header = said("In file included from a.h:1:\n../include/b.h:7:10: fatal error: c.h: No such file\n");
        assert!(!is_own_error(&header, &source));
    }
}
