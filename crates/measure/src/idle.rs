//! Idle states one at a time, where a governor chooses among several.
//!
//! The kernel lets root disable states of a CPU. With all but one disabled each sleep of the CPU ends in that one, however short it
//! is, so that the trials for machines without a driver tell what its exit takes. They are simulated on a machine that has this state
//! alone. The state's counter of uses says whether the kernel did enter it. States that are disabled already stay so.

use std::path::PathBuf;

use fairground_host::{number, read};
use fairground_machine::{CpuId, IdleScope, Machine};

use crate::knobs::Knobs;
use crate::param::idles_by_itself;
use crate::Places;

/// The part of its sleeps that a CPU must spend in the state.
const ENTERED_PART: f64 = 0.8;

/// An idle state as the only one of these CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Index of the core type in the machine.
    pub cpu_type: usize,
    /// Index of the state in its type.
    pub state: usize,
    /// The CPUs that are to have no other, all of this type.
    pub cpus: Vec<CpuId>,
}

/// A state of a CPU as sysfs has it.
struct State {
    dir: PathBuf,
    /// As machine files call it.
    name: String,
    /// What `disable` has.
    disabled: String,
}

impl State {
    fn is_enabled(&self) -> bool {
        self.disabled == "0"
    }
}

/// States that can be chosen.
pub struct IdleStates<'k, 'a> {
    knobs: &'k Knobs<'a>,
    /// By CPU; those that are measured, which are of one type.
    cpus: Vec<(CpuId, Vec<State>)>,
    /// Of that type, as the machine has them.
    names: Vec<String>,
}

impl<'k, 'a> IdleStates<'k, 'a> {
    /// The states of the CPUs that are measured; the choices among them; and why others are missing.
    ///
    /// There are none where no governor chooses: such CPUs are measured as they are.
    pub fn find(knobs: &'k Knobs<'a>, machine: &Machine, places: &Places) -> (Self, Vec<Choice>, Vec<String>) {
        let mut states = IdleStates { knobs, cpus: Vec::new(), names: Vec::new() };
        let cpu_type = machine.cpus[places.here as usize].cpu_type as usize;
        let of = &machine.cpu_types[cpu_type];
        if idles_by_itself(of) {
            return (states, Vec::new(), Vec::new());
        }
        let is_alike = |cpu: &CpuId| machine.cpus[*cpu as usize].cpu_type as usize == cpu_type;
        let there = places.there.iter().map(|(_, cpu)| *cpu).filter(is_alike);
        let cpus: Vec<CpuId> = std::iter::once(places.here).chain(there).collect();
        let refused = |states, reason: String| {
            let (n, here) = (of.idle_states.len(), places.here);
            let note = format!("leaving the {n} idle states of CPU {here}, among which the governor chooses: {reason}");
            (states, Vec::new(), vec![note])
        };
        for cpu in &cpus {
            match found(knobs, *cpu) {
                Ok(found) => states.cpus.push((*cpu, found)),
                Err(reason) => return refused(states, reason),
            }
        }
        states.names = of.idle_states.iter().map(|state| state.name.clone()).collect();
        let (mut choices, mut missing) = (Vec::new(), Vec::new());
        for (index, state) in of.idle_states.iter().enumerate() {
            let name = &state.name;
            let has = |cpu: &&(CpuId, Vec<State>)| cpu.1.iter().any(|state| state.name == *name);
            let is_enabled =
                |cpu: &&(CpuId, Vec<State>)| cpu.1.iter().any(|state| state.name == *name && state.is_enabled());
            let reason = if state.polling {
                Some("it spins, and nothing has to be left".into())
            } else if state.scope == IdleScope::Cluster {
                Some("a whole cluster enters it, not one CPU".into())
            } else if let Some((cpu, _)) = states.cpus.iter().find(|cpu| !has(cpu)) {
                Some(format!("CPU {cpu} has no state of this name"))
            } else {
                let off = states.cpus.iter().find(|cpu| !is_enabled(cpu));
                off.map(|(cpu, _)| format!("it is disabled on CPU {cpu}, and stays so"))
            };
            match reason {
                None => choices.push(Choice { cpu_type, state: index, cpus: cpus.clone() }),
                Some(reason) => missing.push(format!("leaving the idle state {name}: {reason}")),
            }
        }
        (states, choices, missing)
    }

    /// Lets the CPUs of a choice have no other state.
    ///
    /// # Errors
    /// If a file cannot be written. Some may be by then: [`Self::release`] sets all as they were.
    pub fn choose(&self, choice: &Choice) -> Result<(), String> {
        self.each_other(choice, |state, knobs| knobs.set(&state.dir.join("disable"), "1"))
    }

    /// Sets the states of these CPUs as they were.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn release(&self, choice: &Choice) -> Result<(), String> {
        self.each_other(choice, |state, knobs| knobs.set(&state.dir.join("disable"), &state.disabled))
    }

    /// Calls `each` with all states but the chosen one that are enabled otherwise.
    fn each_other(&self, choice: &Choice, each: impl Fn(&State, &Knobs) -> Result<(), String>) -> Result<(), String> {
        let name = self.name(choice);
        for (_, states) in self.cpus.iter().filter(|(cpu, _)| choice.cpus.contains(cpu)) {
            for state in states.iter().filter(|state| state.name != name && state.is_enabled()) {
                each(state, self.knobs)?;
            }
        }
        Ok(())
    }

    /// How often each CPU of the choice has entered the state, since the machine was started.
    ///
    /// # Errors
    /// If a counter cannot be read.
    pub fn uses(&self, choice: &Choice) -> Result<Vec<u64>, String> {
        let name = self.name(choice);
        let of_choice = self.cpus.iter().filter(|(cpu, _)| choice.cpus.contains(cpu));
        let states = of_choice.flat_map(|(_, states)| states.iter().filter(|state| state.name == name));
        let uses = states.map(|state| {
            let path = state.dir.join("usage");
            number(&path).ok_or_else(|| format!("{} does not say how often it was entered", path.display()))
        });
        uses.collect()
    }

    /// Whether CPUs that slept `sleeps` times each between two readings of [`Self::uses`] were in the state then.
    ///
    /// # Errors
    /// That they were not.
    pub fn check(&self, choice: &Choice, before: &[u64], after: &[u64], sleeps: u64) -> Result<(), String> {
        let least = before.iter().zip(after).map(|(before, after)| after.wrapping_sub(*before)).min().unwrap_or(0);
        if (least as f64) < ENTERED_PART * sleeps as f64 {
            let name = self.name(choice);
            return Err(format!("of {sleeps} sleeps {least} were in {name}, though all other states were disabled"));
        }
        Ok(())
    }

    fn name(&self, choice: &Choice) -> &str {
        self.names.get(choice.state).map_or("", |name| name)
    }
}

/// The states of a CPU, if all can be disabled.
fn found(knobs: &Knobs, cpu: CpuId) -> Result<Vec<State>, String> {
    let dir = format!("sys/devices/system/cpu/cpu{cpu}/cpuidle");
    let mut states: Vec<State> = Vec::new();
    for index in knobs.host.numbered(&dir, "state") {
        let dir = knobs.host.path(&format!("{dir}/state{index}"));
        let name = read(&dir.join("name")).map_or_else(|| format!("state{index}"), |text| text.trim().to_owned());
        // As capture names a second state of one name.
        let mut unique = name;
        while states.iter().any(|state| state.name == unique) {
            unique = format!("{unique}-{index}");
        }
        let disable = dir.join("disable");
        if let Some(refusal) = knobs.refusal(&disable) {
            return Err(refusal);
        }
        let disabled = number(&disable).ok_or_else(|| format!("{}: expected a number", disable.display()))?;
        states.push(State { dir, name: unique, disabled: disabled.to_string() });
    }
    match states.is_empty() {
        true => Err(format!("there is no {}", knobs.host.path(&format!("{dir}/state0")).display())),
        false => Ok(states),
    }
}

#[cfg(test)]
mod tests {
    use fairground_machine::{CpuMask, IdleState};

    use super::*;
    use crate::design::{design, How};
    use crate::estimate::{estimate, Series, Standing};
    use crate::knobs::testing::Laid;
    use crate::simulate::predict;
    use crate::Param;

    /// Two CPUs with three states under a governor.
    fn machine() -> Machine {
        let mut machine = Machine::symmetric(2);
        let first = machine.cpu_types[0].idle_states[0].clone();
        let deeper = |name: &str, us: u64| IdleState {
            name: name.into(),
            wake_ns: us * 500,
            exit_latency_ns: us * 1000,
            target_residency_ns: us * 3000,
            ..first.clone()
        };
        let spinning = IdleState { name: "POLL".into(), polling: true, wake_ns: 0, ..first.clone() };
        machine.cpu_types[0].idle_states = vec![spinning, deeper("C1", 2), deeper("C6", 100)];
        machine.restate_figures();
        machine
    }

    const NAMES: [&str; 3] = ["POLL", "C1", "C6"];

    fn file(cpu: CpuId, state: usize, file: &str) -> String {
        format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/{file}")
    }

    /// Its files, the states of CPU 1 disabled as these texts say.
    fn laid(disabled: [&str; 3]) -> Laid {
        let laid = Laid::out(&[("proc/sys/kernel/random/boot_id", "one\n")]);
        for cpu in 0..2 {
            for (state, name) in NAMES.iter().enumerate() {
                let disabled = if cpu == 1 { disabled[state] } else { "0" };
                for (of, text) in [("name", *name), ("disable", disabled), ("usage", "10")] {
                    let path = laid.dir.path().join(file(cpu, state, of));
                    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                    std::fs::write(path, format!("{text}\n")).unwrap();
                }
            }
        }
        laid
    }

    fn places(machine: &Machine) -> Places {
        Places::choose(machine, &CpuMask::first_n(2)).unwrap()
    }

    #[test]
    fn all_other_states_are_disabled_and_enabled_again() {
        let (laid, machine) = (laid(["0"; 3]), machine());
        let knobs = Knobs::new(&laid.host, Ok(&laid.keeper));
        let (states, choices, missing) = IdleStates::find(&knobs, &machine, &places(&machine));
        assert!(!laid.record().exists(), "nothing is changed to find out");
        assert_eq!(choices.iter().map(|choice| choice.state).collect::<Vec<_>>(), [1, 2]);
        assert!(missing.len() == 1 && missing[0].contains("POLL: it spins"), "{missing:?}");
        let disabled = || (0..2).map(|cpu| [0, 1, 2].map(|k| laid.text(&file(cpu, k, "disable")))).collect::<Vec<_>>();
        states.choose(&choices[1]).unwrap();
        assert_eq!(disabled(), [["1", "1", "0"]; 2]);
        assert!(laid.record().exists());
        states.release(&choices[1]).unwrap();
        assert_eq!(disabled(), [["0"; 3]; 2]);
        states.choose(&choices[0]).unwrap();
        assert_eq!(disabled(), [["1", "0", "1"]; 2]);
        knobs.undo().unwrap();
        assert_eq!(disabled(), [["0"; 3]; 2]);
    }

    /// What a killed command leaves.
    #[test]
    fn a_record_that_stays_restores_the_states() {
        let (laid, machine) = (laid(["0"; 3]), machine());
        let knobs = Knobs::new(&laid.host, Ok(&laid.keeper));
        let (states, choices, _) = IdleStates::find(&knobs, &machine, &places(&machine));
        states.choose(&choices[0]).unwrap();
        drop(states);
        std::mem::forget(knobs);
        assert_eq!(laid.text(&file(0, 2, "disable")), "1");
        let done = laid.keeper.restore().unwrap();
        assert_eq!(done.len(), 4, "{done:?}");
        assert_eq!(laid.text(&file(0, 2, "disable")), "0");
    }

    #[test]
    fn what_is_disabled_already_stays_so_and_is_not_measured() {
        let (laid, machine) = (laid(["1", "0", "1"]), machine());
        let knobs = Knobs::new(&laid.host, Ok(&laid.keeper));
        let (states, choices, missing) = IdleStates::find(&knobs, &machine, &places(&machine));
        assert_eq!(choices.iter().map(|choice| choice.state).collect::<Vec<_>>(), [1]);
        assert!(missing[1].contains("C6: it is disabled on CPU 1"), "{missing:?}");
        states.choose(&choices[0]).unwrap();
        states.release(&choices[0]).unwrap();
        knobs.undo().unwrap();
        assert_eq!([0, 1, 2].map(|k| laid.text(&file(1, k, "disable"))), ["1", "0", "1"]);
    }

    #[test]
    fn what_keeps_the_states_from_being_chosen_is_named() {
        let machine = machine();
        let missing = |laid: &Laid, may: bool| {
            let keeper = if may { Ok(&laid.keeper) } else { Err("nothing is to be changed") };
            let knobs = Knobs::new(&laid.host, keeper);
            let (_, choices, missing) = IdleStates::find(&knobs, &machine, &places(&machine));
            assert!(choices.is_empty());
            missing.join("; ")
        };
        let without = missing(&Laid::out(&[]), true);
        assert!(without.contains("the 3 idle states of CPU 0") && without.contains("there is no"), "{without}");
        let refused = laid(["0"; 3]);
        refused.protect(&file(1, 1, "disable"));
        assert!(missing(&refused, true).contains("state1/disable cannot be written"));
        assert!(missing(&laid(["0"; 3]), false).contains("nothing is to be changed"));
        let garbled = laid(["0", "x", "0"]);
        assert!(missing(&garbled, true).contains("expected a number"));
        let renamed = laid(["0"; 3]);
        for (state, name) in ["A", "B", "C"].iter().enumerate() {
            renamed.write(&file(1, state, "name"), name);
        }
        assert!(missing(&renamed, true).contains("C6: CPU 1 has no state of this name"));
    }

    #[test]
    fn a_counter_tells_whether_the_state_was_entered() {
        let (laid, machine) = (laid(["0"; 3]), machine());
        let knobs = Knobs::new(&laid.host, Ok(&laid.keeper));
        let (states, choices, _) = IdleStates::find(&knobs, &machine, &places(&machine));
        let before = states.uses(&choices[1]).unwrap();
        assert_eq!(before, [10, 10]);
        laid.write(&file(0, 2, "usage"), "110");
        laid.write(&file(1, 2, "usage"), "95");
        let after = states.uses(&choices[1]).unwrap();
        assert!(states.check(&choices[1], &before, &after, 100).is_ok());
        let error = states.check(&choices[1], &before, &after, 1000).unwrap_err();
        assert!(error.contains("of 1000 sleeps 85 were in C6"), "{error}");
        // A counter that has wrapped.
        assert!(states.check(&choices[1], &[u64::MAX - 4; 2], &[95, 95], 100).is_ok());
        laid.write(&file(1, 2, "usage"), "many");
        assert!(states.uses(&choices[1]).unwrap_err().contains("usage does not say"));
    }

    /// Reality is a simulation with other wakes, each state by itself: these are found again.
    #[test]
    fn the_wake_of_each_state_is_found() {
        let machine = machine();
        let choices = [1, 2].map(|state| Choice { cpu_type: 0, state, cpus: vec![0, 1] });
        let mut real = machine.clone();
        real.cpu_types[0].idle_states[1].wake_ns = 3_000;
        real.cpu_types[0].idle_states[2].wake_ns = 170_000;
        let sched = fairground_fair::Features::newest();
        let trials = design(&machine, &places(&machine), &choices);
        let names: Vec<&str> = trials.iter().map(|trial| &*trial.name).filter(|name| name.ends_with("C6")).collect();
        assert_eq!(names, ["sleep of 400 us beyond its time, CPU idle in C6"], "no messages to a deep state");
        let measured: Vec<_> = trials
            .into_iter()
            .filter(|trial| matches!(trial.how, How::Workload(_)))
            .map(|trial| {
                let rows = predict(&real, &sched, &trial).unwrap().into_iter();
                let series = rows.map(|ns| Series { rounds: vec![ns; 5], spread: 1.0 }).collect();
                (trial, series)
            })
            .collect();
        let again = |machine: &Machine| {
            let rows = measured.iter().map(|(trial, _)| predict(machine, &sched, trial));
            Ok::<_, crate::MeasureError>(rows.collect::<Result<Vec<_>, _>>()?.concat())
        };
        let found = estimate(&machine, &measured, again).unwrap();
        for (state, ns) in [(1, 3_000.0), (2, 170_000.0)] {
            let figure =
                found.figures.iter().find(|figure| figure.param == Param::Wake { cpu_type: 0, state }).unwrap();
            assert!((figure.ns / ns - 1.0).abs() < 0.1 && figure.standing == Standing::Measured, "{figure:?}");
        }
        assert!(!found.figures.iter().any(|figure| figure.path.contains("POLL")), "{:?}", found.figures);
    }
}
