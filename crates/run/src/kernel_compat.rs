//! Checks before any run that built kernels fit the machine and each other.
//!
//! The configuration of `linux:NAME` is in the record of its build. The configuration of `linux:PATH` is not known
//! until a worker has loaded the library; the worker then refuses a machine or a rate that does not fit.

use std::path::PathBuf;

use fairground_machine::Machine;
use fairground_sim::Config;
use miette::Diagnostic;
use thiserror::Error;

use crate::sched_spec::SchedSpec;

/// What a kernel was built with that runs depend on.
#[derive(Clone, Debug)]
pub struct BuiltWith {
    /// `linux:` and the kernel's full name.
    pub sched: String,
    /// Its source tree.
    pub tree: PathBuf,
    /// Ticks per second (CONFIG_HZ).
    pub hz: u32,
    /// Most CPUs that it supports (CONFIG_NR_CPUS).
    pub nr_cpus: u32,
}

/// Why a kernel cannot run.
#[derive(Debug, Error, Diagnostic)]
pub enum Incompatible {
    /// Two kernels have different tick rates; all runs of a comparison have one.
    #[error("{first} was built with HZ {first_hz}, {other} with HZ {other_hz}: a comparison needs one tick rate")]
    #[diagnostic(help("{}", rebuild(tree, other, *first_hz)))]
    TwoRates {
        /// The first kernel, as `linux:` and its full name.
        first: String,
        /// Ticks per second that the first kernel was built with (CONFIG_HZ).
        first_hz: u32,
        /// The other kernel, in the same form.
        other: String,
        /// Ticks per second that the other kernel was built with (CONFIG_HZ).
        other_hz: u32,
        /// Source tree of the other kernel.
        tree: PathBuf,
    },
    /// The rate of `--hz` is not that of the kernel.
    #[error("--hz {asked}: {sched} was built with HZ {built}")]
    #[diagnostic(help("leave --hz out to run at HZ {built}; or {}", rebuild(tree, sched, *asked)))]
    OtherRate {
        /// The kernel, as `linux:` and its full name.
        sched: String,
        /// Ticks per second that the kernel was built with (CONFIG_HZ).
        built: u32,
        /// Ticks per second that `--hz` requests.
        asked: u32,
        /// Source tree of the kernel.
        tree: PathBuf,
    },
    /// The machine is too large.
    #[error("the machine has {cpus} CPUs, {sched} was built for {max}")]
    #[diagnostic(help("fairground kernel build {} --name {} --set CONFIG_NR_CPUS={cpus}", tree.display(), name(sched)))]
    TooManyCpus {
        /// The kernel, as `linux:` and its full name.
        sched: String,
        /// Number of CPUs of the machine.
        cpus: usize,
        /// Most CPUs that the kernel supports (CONFIG_NR_CPUS).
        max: u32,
        /// Source tree of the kernel.
        tree: PathBuf,
    },
}

fn rebuild(tree: &std::path::Path, sched: &str, hz: u32) -> String {
    let name = name(sched);
    format!("build it again: fairground kernel build {} --name {name} --set CONFIG_HZ_{hz}=y", tree.display())
}

fn name(sched: &str) -> &str {
    sched.strip_prefix("linux:").unwrap_or(sched)
}

/// Ticks per second of runs of these schedulers: `asked` if it is set, else the kernels' CONFIG_HZ.
///
/// # Errors
/// If a kernel with a build record has another rate.
pub fn hz(scheds: &[SchedSpec], asked: Option<u32>) -> Result<u32, Incompatible> {
    let mut first: Option<BuiltWith> = None;
    for kernel in scheds.iter().filter_map(SchedSpec::built_with) {
        let BuiltWith { sched, tree, hz: built, .. } = kernel.clone();
        match (asked, first) {
            (Some(asked), _) if asked != built => return Err(Incompatible::OtherRate { sched, built, asked, tree }),
            (None, Some(k)) if k.hz != built => {
                let (first, first_hz) = (k.sched, k.hz);
                return Err(Incompatible::TwoRates { first, first_hz, other: sched, other_hz: built, tree });
            }
            _ => first = Some(kernel),
        }
    }
    Ok(asked.or(first.map(|k| k.hz)).unwrap_or(Config::default().hz))
}

/// Checks that each kernel was built for as many CPUs as the machine has, or more.
///
/// # Errors
/// The first kernel with a build record that was built for fewer CPUs.
pub fn size(scheds: &[SchedSpec], machine: &Machine) -> Result<(), Incompatible> {
    let cpus = machine.nr_cpus();
    match scheds.iter().filter_map(SchedSpec::built_with).find(|k| cpus > k.nr_cpus as usize) {
        Some(BuiltWith { sched, tree, nr_cpus: max, .. }) => Err(Incompatible::TooManyCpus { sched, cpus, max, tree }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_linux::build::{BuiltKernel, Record};

    fn built(name: &str, hz: u32, nr_cpus: u32) -> SchedSpec {
        let mut record = Record::default();
        (record.hz, record.nr_cpus, record.tree) = (hz, nr_cpus, "/home/me/linux".into());
        let library = "Cargo.toml".into();
        SchedSpec::of_built(BuiltKernel { name: name.into(), library, record, failed: None }).expect("a file")
    }

    fn message(error: Incompatible) -> String {
        format!("{error}; {}", error.help().expect("advice"))
    }

    fn ours() -> SchedSpec {
        "fair:v6.12".parse().expect("a preset")
    }

    #[test]
    fn the_tick_rate_is_that_of_the_kernels_unless_it_is_set() {
        assert_eq!(hz(&[ours()], None).unwrap(), 250);
        assert_eq!(hz(&[ours()], Some(100)).unwrap(), 100);
        let mine = built("mine", 1000, 8);
        assert_eq!(hz(&[ours(), mine.clone()], None).unwrap(), 1000);
        assert_eq!(hz(&[ours(), mine], Some(1000)).unwrap(), 1000);
    }

    #[test]
    fn kernels_of_two_rates_are_refused_with_advice() {
        let scheds = [built("a", 250, 8), ours(), built("b", 1000, 8)];
        assert_eq!(
            message(hz(&scheds, None).unwrap_err()),
            "linux:a was built with HZ 250, linux:b with HZ 1000: a comparison needs one tick rate; \
             build it again: fairground kernel build /home/me/linux --name b --set CONFIG_HZ_250=y"
        );
        assert_eq!(
            message(hz(&scheds, Some(1000)).unwrap_err()),
            "--hz 1000: linux:a was built with HZ 250; leave --hz out to run at HZ 250; \
             or build it again: fairground kernel build /home/me/linux --name a --set CONFIG_HZ_1000=y"
        );
    }

    #[test]
    fn a_machine_too_large_for_a_kernel_is_refused_with_both_numbers() {
        let machine = Machine::symmetric(16);
        size(&[ours(), built("large", 250, 16)], &machine).unwrap();
        assert_eq!(
            message(size(&[built("small", 250, 8)], &machine).unwrap_err()),
            "the machine has 16 CPUs, linux:small was built for 8; \
             fairground kernel build /home/me/linux --name small --set CONFIG_NR_CPUS=16"
        );
    }
}
