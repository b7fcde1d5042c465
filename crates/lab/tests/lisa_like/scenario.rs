//! A scenario, and how it is checked.

use std::process::Command;

use fairground_machine::Machine;
use fairground_workload::Workload;

use crate::bench::{library, run, Whose};
use crate::seen::Seen;
use crate::wrong::Wrong;

/// What runs where, what must hold then, and the wrong policies under which it must not.
pub struct Scenario {
    /// A preset.
    pub machine: &'static str,
    pub workload: Box<dyn Fn(&Machine) -> Workload>,
    /// `Ok`: the figures of what holds. `Err`: what does not.
    pub judge: Box<dyn Fn(&Machine, &Seen) -> Result<String, String>>,
    pub caught: &'static [Wrong],
}

/// In the child: the machine, and which policy, by its place among none and [`Scenario::caught`].
const CHILD: &str = "FAIRGROUND_SCENARIO_CHILD";

impl Scenario {
    /// Under our scheduler, and under the kernel's if there is one. `test` is the full name of the calling test.
    pub fn check(&self, test: &str) {
        if let Ok(job) = std::env::var(CHILD) {
            return self.answer(&job);
        }
        for (number, wrong) in self.policies().into_iter().enumerate() {
            self.expect(Whose::Ours, wrong, self.verdict(Whose::Ours, wrong));
            if library().is_some() && !wrong.is_some_and(Wrong::writes_state) {
                self.expect(Whose::Kernels, wrong, ask_child(test, &format!("{} {number}", self.machine)));
            }
        }
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

    /// The right policy passes, a wrong one does not.
    fn expect(&self, whose: Whose, wrong: Option<Wrong>, verdict: Result<String, String>) {
        println!("= {}, {whose:?}, {wrong:?}: {verdict:?}", self.machine);
        let is_right = wrong.is_none();
        assert_eq!(verdict.is_ok(), is_right, "{}, {whose:?}, {wrong:?}: {verdict:?}", self.machine);
    }

    /// One run under the kernel's scheduler, in a process of its own; the verdict goes to its output.
    fn answer(&self, job: &str) {
        let (machine, number) = job.split_once(' ').unwrap();
        if machine != self.machine {
            return;
        }
        match self.verdict(Whose::Kernels, self.policies()[number.parse::<usize>().unwrap()]) {
            Ok(figures) => println!("\nholds: {figures}"),
            Err(what) => println!("\nfails: {what}"),
        }
    }
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
