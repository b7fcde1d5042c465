//! Doubt of workloads: what is estimated within built-ins, drawn as the figures of machines are ([`Deviations`]).
//!
//! What a user states is given, and never drawn; of files everything is.

use fairground_machine::{share_below, Deviations, Doubt, Machine};

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::builtin::Builtin;
use crate::error::WorkloadError;
use crate::find::from_builtin;
use crate::options::{OptionInfo, OptionKind};
use crate::program::{TaskSpec, Workload};

/// How far the default of an option may be off.
#[derive(Clone, Copy)]
enum Estimate {
    /// Log-normal of this spread, as a figure of a machine.
    Factor(f64),
    /// Anything from this to the default is as likely.
    FromTo(f64),
}

/// Options whose defaults are estimates, by built-in and name. docs/spec/measured.md, section 2, has those of dbench and
/// of Geekbench's floors; the others have the spread of estimates.
const ESTIMATES: [(&str, &str, Estimate); 7] = [
    ("dbench", "think", Estimate::Factor(2.0)),
    ("dbench", "hold", Estimate::Factor(2.0)),
    ("dbench", "lines", Estimate::Factor(2.0)),
    ("geekbench5", "floored", Estimate::FromTo(0.125)),
    ("geekbench5", "work", Estimate::Factor(1.6)),
    ("jankbench", "frame-scale", Estimate::Factor(1.6)),
    ("shell8", "program", Estimate::Factor(1.6)),
];

/// Spread of the working set of a task of a built-in, and the half of its log-variance that all of them share.
const FOOTPRINT: Doubt = Doubt { spread: 1.6, shares: Some("footprints"), common: 0.5 };

/// The factor of the default of an option.
pub(crate) fn default_factor(workload: &str, info: &OptionInfo, deviations: Deviations) -> f64 {
    let found = ESTIMATES.iter().find(|(of, name, _)| (*of, *name) == (workload, info.name));
    let Some(((_, name, estimate), deviation)) = found.zip(deviations) else { return 1.0 };
    let path = option_path(workload, name);
    match estimate {
        Estimate::Factor(spread) => Doubt::alone(*spread).factor(&path, deviation),
        Estimate::FromTo(least) => least + (1.0 - least) * share_below(deviation(&path)),
    }
}

/// `value` times `factor`, within what the option takes.
pub(crate) fn drawn(value: u64, factor: f64, kind: OptionKind) -> u64 {
    let (least, most) = match kind {
        OptionKind::Int { min, max } => (min.max(0) as u64, max.max(0) as u64),
        OptionKind::Decimal { min, max, .. } | OptionKind::List { min, max, .. } => (min, max),
        OptionKind::Flag | OptionKind::Cpu | OptionKind::Choice(_) | OptionKind::Part { .. } => return value,
    };
    // A value that a file may state is far below 2^53 millionths.
    ((value as f64 * factor).round() as u64).clamp(least.min(value), most.max(value))
}

fn option_path(workload: &str, option: &str) -> String {
    format!("workload.{workload}.{option}")
}

fn footprint_path(workload: &str, task: &TaskSpec) -> String {
    format!("workload.{workload}.footprint.{}", task.name)
}

impl Workload {
    /// This workload with what is estimated in it off by so many standard deviations, for the machine that it was found for.
    /// It is itself if it comes from a file, if it was changed after it was found, but for the CPUs that it was bound to, and
    /// without deviations.
    ///
    /// # Errors
    /// As [`Workload::find`].
    pub fn drawn(&self, machine: &Machine, deviations: Deviations) -> Result<Workload, WorkloadError> {
        let Some(((builtin, options), deviation)) = self.builtin_and_options().zip(deviations) else {
            return Ok(self.clone());
        };
        let cpus = self.tasks.iter().find(|task| task.kthread_cpu.is_none()).and_then(|task| task.affinity);
        let found = |deviations: Deviations| -> Result<Workload, WorkloadError> {
            let (mut workload, _) = from_builtin(builtin, options, machine, deviations)?;
            cpus.inspect(|cpus| drop(workload.bind(cpus)));
            Ok(workload)
        };
        let (plain, _) = from_builtin(builtin, options, machine, None)?;
        if plain != *self && found(None)? != *self {
            return Ok(self.clone());
        }
        let is_plain = plain == *self;
        let mut workload =
            if is_plain { from_builtin(builtin, options, machine, deviations)?.0 } else { found(deviations)? };
        // Most draws change no step: many draws of a workload have one copy of its programs.
        for (task, stated) in workload.tasks.iter_mut().zip(&self.tasks) {
            if task.program == stated.program {
                task.program = Arc::clone(&stated.program);
            }
        }
        for task in &mut workload.tasks {
            let factor = FOOTPRINT.factor(&footprint_path(builtin.name, task), deviation);
            let kib = (f64::from(task.footprint_kib) * factor).round();
            // A task that touches something still does; casts saturate.
            task.footprint_kib = (kib as u32).max(task.footprint_kib.min(1));
        }
        Ok(workload)
    }

    /// What a draw of this workload varies, by path, each with its doubt. Of an option any value of whose range is as
    /// likely the spread is the ratio of its ends.
    pub fn estimates(&self) -> Vec<(String, Doubt)> {
        let Some((builtin, typed)) = self.builtin_and_options() else { return Vec::new() };
        let is_given = |option: &str| {
            typed.split(',').any(|piece| piece.split('=').next().is_some_and(|name| name.trim() == option))
        };
        let options = ESTIMATES.iter().filter(|(of, name, _)| *of == builtin.name && !is_given(name));
        let of_option = |(_, name, estimate): &(&str, &str, Estimate)| {
            let spread = match estimate {
                Estimate::Factor(spread) => *spread,
                Estimate::FromTo(least) => 1.0 / least,
            };
            (option_path(builtin.name, name), Doubt::alone(spread))
        };
        let mut all: Vec<(String, Doubt)> = options.map(of_option).collect();
        for task in self.tasks.iter().filter(|task| task.footprint_kib > 0) {
            let path = footprint_path(builtin.name, task);
            if all.iter().all(|(known, _)| *known != path) {
                all.push((path, FOOTPRINT));
            }
        }
        all
    }

    /// All that is off by itself in a draw of this workload, by name: its estimates, by their paths, and what they share.
    pub fn names_in_doubt(&self) -> BTreeSet<String> {
        let names = |(path, doubt): (String, Doubt)| [Some(path), doubt.shares.map(String::from)];
        self.estimates().into_iter().flat_map(names).flatten().collect()
    }

    fn builtin_and_options(&self) -> Option<(&'static Builtin, &str)> {
        let (name, options) = self.name.split_once(':').unwrap_or((&self.name, ""));
        Some((Builtin::by_name(name)?, options))
    }
}

#[cfg(test)]
mod tests {
    use fairground_machine::{CpuMask, Draw};

    use super::*;
    use crate::testing::small_machine;

    fn drawn(spec: &str, draw: u64) -> Workload {
        let machine = small_machine(8);
        on_draw(&Workload::find(spec, &machine).unwrap().0, &machine, draw)
    }

    fn on_draw(workload: &Workload, machine: &Machine, draw: u64) -> Workload {
        let deviation = |name: &str| Draw(draw).deviation(name);
        workload.drawn(machine, (draw > 0).then_some(&deviation)).unwrap()
    }

    #[test]
    fn what_is_given_is_never_drawn() {
        let thinks = |spec: &str| -> Vec<Workload> {
            let of = |draw| Workload { tasks: no_footprints(drawn(spec, draw).tasks), ..drawn(spec, draw) };
            (0..4).map(of).collect()
        };
        let given = thinks("dbench:think=12,hold=0.9,lines=4");
        assert!(given.windows(2).all(|pair| pair[0] == pair[1]));
        let free = thinks("dbench");
        assert!(free.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(free[0].tasks, given[0].tasks);
    }

    fn no_footprints(mut tasks: Vec<TaskSpec>) -> Vec<TaskSpec> {
        tasks.iter_mut().for_each(|task| task.footprint_kib = 0);
        tasks
    }

    #[test]
    fn working_sets_are_drawn_and_a_bound_workload_stays_bound() {
        let machine = small_machine(8);
        let (mut workload, _) = Workload::find("hackbench:groups=2,loops=10", &machine).unwrap();
        let plain = on_draw(&workload, &machine, 3);
        assert_ne!(plain.tasks, workload.tasks);
        assert_eq!(no_footprints(plain.tasks.clone()), no_footprints(workload.tasks.clone()));
        let shared = plain.tasks.iter().zip(&workload.tasks).all(|(a, b)| Arc::ptr_eq(&a.program, &b.program));
        assert!(shared, "programs are not copied");
        let cpus: CpuMask = (2..4).collect();
        workload.bind(&cpus);
        let bound = on_draw(&workload, &machine, 3);
        assert!(bound.tasks.iter().all(|task| task.affinity == Some(cpus)));
        let sizes = |w: &Workload| w.tasks.iter().map(|task| task.footprint_kib).collect::<Vec<_>>();
        assert_eq!(sizes(&bound), sizes(&plain));
    }

    #[test]
    fn what_was_changed_after_it_was_found_is_nobodys_estimate() {
        let machine = small_machine(8);
        let (mut workload, _) = Workload::find("hackbench:groups=2,loops=10", &machine).unwrap();
        workload.warmup_ns += 1;
        assert_eq!(on_draw(&workload, &machine, 3), workload);
    }

    #[test]
    fn every_draw_of_every_built_in_is_a_workload() {
        let machine = small_machine(8);
        for builtin in crate::builtins() {
            for draw in 1..=20 {
                let workload = drawn(builtin.name, draw);
                workload.validate(&machine).unwrap_or_else(|e| panic!("{} draw {draw}: {e}", builtin.name));
            }
        }
    }

    #[test]
    fn estimates_are_options_that_exist_and_are_not_given() {
        for (workload, option, _) in ESTIMATES {
            let builtin = Builtin::by_name(workload).unwrap();
            assert!(builtin.options.iter().any(|info| info.name == option), "{workload} {option}");
        }
        let machine = small_machine(8);
        let paths = |spec: &str| {
            let estimates = Workload::find(spec, &machine).unwrap().0.estimates();
            estimates.into_iter().map(|(path, _)| path).collect::<Vec<_>>()
        };
        let of_dbench = ["think", "hold", "lines", "footprint.dbench", "footprint.dbench-client"];
        assert_eq!(paths("dbench"), of_dbench.map(|name| format!("workload.dbench.{name}")));
        assert_eq!(paths("dbench:think=3")[0], "workload.dbench.hold");
    }

    /// From one copy of eight to all, as likely; half of the draws have more than 9 of 16.
    #[test]
    fn geekbenchs_floors_are_anything_from_one_in_eight_to_all() {
        let share = |draw| {
            let deviation = |name: &str| Draw(draw).deviation(name);
            default_factor("geekbench5", floored(), (draw > 0).then_some(&deviation))
        };
        let shares: Vec<f64> = (1..=400).map(share).collect();
        assert!(shares.iter().all(|share| (0.125..=1.0).contains(share)));
        let above = shares.iter().filter(|share| **share > 0.5625).count();
        assert!((165..=235).contains(&above), "{above}");
        assert_eq!(share(0), 1.0);
    }

    fn floored() -> &'static OptionInfo {
        Builtin::by_name("geekbench5").unwrap().options.iter().find(|info| info.name == "floored").unwrap()
    }
}
