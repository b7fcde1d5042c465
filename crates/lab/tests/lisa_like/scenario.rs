//! A scenario, and how it is checked.

use std::process::Command;

use fairground_machine::Machine;
use fairground_workload::Workload;

use crate::bench::{library, run, Whose};
use crate::seen::Seen;
use crate::wrong::Wrong;

/// Looks at a run. `Ok`: the figures of what holds. `Err`: of what does not.
pub type Judge = Box<dyn Fn(&Machine, &Seen) -> Result<String, String>>;

/// What runs where, what must hold then, and the wrong policies under which it must not.
pub struct Scenario {
    /// A preset.
    pub machine: &'static str,
    pub workload: Box<dyn Fn(&Machine) -> Workload>,
    pub judge: Judge,
    pub caught: &'static [Wrong],
}

/// In the child: the machine, and which policy, by its place among none and [`Scenario::caught`].
const CHILD: &str = "FAIRGROUND_SCENARIO_CHILD";

impl Scenario {
    /// What went otherwise than it should, under our scheduler, and under the kernel's if there is one.
    fn misses(&self, test: &str) -> Vec<String> {
        let mut missed = Vec::new();
        for (number, wrong) in self.policies().into_iter().enumerate() {
            missed.extend(self.miss(Whose::Ours, wrong, self.verdict(Whose::Ours, wrong)));
            if library().is_some() && !wrong.is_some_and(Wrong::writes_state) {
                missed.extend(self.miss(Whose::Kernels, wrong, ask_child(test, &format!("{} {number}", self.machine))));
            }
        }
        missed
    }

    fn policies(&self) -> Vec<Option<Wrong>> {
        std::iter::once(None).chain(self.caught.iter().map(|w| Some(*w))).collect()
    }

    fn verdict(&self, whose: Whose, wrong: Option<Wrong>) -> Result<String, String> {
        let machine = Machine::preset(self.machine).unwrap();
        let workload = (self.workload)(&machine);
        let seen = run(machine.clone(), workload, whose, wrong);
        (self.judge)(&machine, &seen)
    }

    /// What is to be said where the right policy fails, or a wrong one passes.
    fn miss(&self, whose: Whose, wrong: Option<Wrong>, verdict: Result<String, String>) -> Option<String> {
        let policy = wrong.map_or("right".into(), |wrong| format!("{wrong:?}"));
        let line = format!("{}, {whose:?}, {policy}: {verdict:?}", self.machine);
        println!("= {line}");
        (verdict.is_ok() == wrong.is_some()).then_some(line)
    }

    /// One run under the kernel's scheduler, in a process of its own; the verdict goes to its output.
    fn answer(&self, number: usize) {
        match self.verdict(Whose::Kernels, self.policies()[number]) {
            Ok(figures) => println!("\nholds: {figures}"),
            Err(what) => println!("\nfails: {what}"),
        }
    }
}

/// Checks the scenarios of a test, each on a machine of its own. `test` is the test's full name.
pub fn check(test: &str, scenarios: &[Scenario]) {
    if !answered(scenarios) {
        let missed: Vec<String> = scenarios.iter().flat_map(|s| s.misses(test)).collect();
        assert!(missed.is_empty(), "{}", missed.join("\n"));
    }
}

/// Scenarios that say nothing on their machines, for the right policy fails or a wrong one passes. One that has come to
/// say something is to be asked.
pub fn check_not_asked(test: &str, scenarios: &[Scenario]) {
    if !answered(scenarios) {
        let telling = scenarios.iter().filter(|s| s.misses(test).is_empty());
        let machines: Vec<&str> = telling.map(|s| s.machine).collect();
        assert!(machines.is_empty(), "could be asked on {machines:?}");
    }
}

/// Runs the scenario if this process was started as a child; false if it was not.
fn answered(scenarios: &[Scenario]) -> bool {
    let Ok(job) = std::env::var(CHILD) else { return false };
    let (machine, number) = job.split_once(' ').unwrap();
    let asked = scenarios.iter().find(|s| s.machine == machine).unwrap();
    asked.answer(number.parse().unwrap());
    true
}

fn ask_child(test: &str, job: &str) -> Result<String, String> {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]).env(CHILD, job);
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let line = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(String::from);
    match (line("holds: "), line("fails: ")) {
        (Some(figures), None) => Ok(figures),
        (None, Some(what)) => Err(what),
        _ => panic!("{test} says nothing: {text}"),
    }
}
