//! Runs of ours are judged by what ran them: where the answer is sure, it is what was recorded. Another policy is found out,
//! by its rules.

use std::sync::Arc;

use fairground_fair::{Fair, Features};
use fairground_lab::counterfactual::{AgreementCounts, Counterfactual, JudgedWakeup, RecordingConfig};
use fairground_machine::Machine;
use fairground_sim::{Config, Engine};
use fairground_trace::{EventSource, FtraceText, Names, Reader, RuleNames};
use fairground_workload::Workload;

fn fair(machine: &Arc<Machine>, sched: &str) -> Fair {
    Fair::new(Arc::clone(machine), Features::parse(sched).unwrap(), Default::default()).unwrap()
}

/// The trace of a run.
fn recorded(machine: &Arc<Machine>, workload: &str, sched: &str) -> Vec<u8> {
    let (workload, _) = Workload::find_bound(workload, machine, None).unwrap();
    let workload = Arc::new(workload);
    let fair = fair(machine, sched);
    let words = RuleNames::from_scheduler(&fair);
    let names = Names::new(Arc::clone(&workload));
    let mut text = FtraceText::new(Vec::new(), machine.nr_cpus(), names, words, false);
    text.head(&[("sched", sched)], &[]);
    let mut engine = Engine::new(Arc::clone(machine), workload, Box::new(fair), Config::default());
    engine.run(&mut [&mut text]).unwrap();
    text.finish().unwrap()
}

/// What `sched` says of a trace.
fn judged(machine: &Arc<Machine>, trace: &[u8], sched: &str) -> (AgreementCounts, Vec<JudgedWakeup>) {
    let words = RuleNames::from_scheduler(&fair(machine, sched));
    let config = RecordingConfig { hz: 250, schedutil: false, allowed: None };
    let features = Features::parse(sched).unwrap();
    let mut counterfactual = Counterfactual::new(machine, &features, config, words).unwrap();
    let mut reader = Reader::new("trace", trace);
    let (mut tally, mut differing) = (AgreementCounts::default(), Vec::new());
    while let Some(event) = reader.next_event().unwrap() {
        if let Some(judged) = counterfactual.event(&event).unwrap() {
            tally.add(&judged, machine);
            if !judged.agrees() {
                differing.push(judged);
            }
        }
    }
    let all = tally.all();
    println!(
        "{} {sched}: {} judged, {:.2} % sure, agree {:.2} % of all, {:.2} % of the sure",
        machine.name,
        all.judged,
        all.sure_pct().unwrap(),
        all.agree_pct().unwrap(),
        all.sure_agree_pct().unwrap()
    );
    (tally, differing)
}

fn machine(name: &str) -> Arc<Machine> {
    Arc::new(Machine::find(name).unwrap())
}

const PERIODIC: &str = "periodic:tasks=12,duty=30,duration=1";
const HACKBENCH: &str = "hackbench:groups=2,loops=50";

/// `sure`: percent that must be sure, `agree`: percent of these that must agree.
fn agrees_with_itself(name: &str, workload: &str, sched: &str, sure: f64, agree: f64) {
    let machine = machine(name);
    let trace = recorded(&machine, workload, sched);
    let (tally, differing) = judged(&machine, &trace, sched);
    assert!(tally.all().judged > 300, "{}", tally.all().judged);
    assert!(tally.all().sure_pct().unwrap() >= sure, "{name} {workload} {sched}");
    assert!(tally.all().sure_agree_pct().unwrap() >= agree, "{name} {workload} {sched}: {:?}", differing.first());
}

#[test]
fn a_periodic_mix_went_where_its_own_policy_goes() {
    agrees_with_itself("hikey", PERIODIC, "fair:v6.12", 95.0, 99.0);
    agrees_with_itself("hikey960", PERIODIC, "fair:v6.12", 95.0, 99.0);
    agrees_with_itself("hikey960", PERIODIC, "fair:v5.9", 95.0, 99.0);
}

#[test]
fn hackbench_went_where_its_own_policy_goes() {
    agrees_with_itself("hikey", HACKBENCH, "fair:v6.12", 30.0, 95.0);
    agrees_with_itself("hikey960", HACKBENCH, "fair:v6.12", 30.0, 95.0);
    agrees_with_itself("hikey960", HACKBENCH, "fair:v5.11", 80.0, 95.0);
}

/// Rows 000: before mail 000 a wakeup of sched-pipe goes to the first free CPU from the target on, with it to the previous one.
#[test]
fn another_policy_is_found_out_by_its_rule() {
    let machine = machine("hikey960");
    let trace = recorded(&machine, "sched-pipe:loops=500,threads", "fair:v5.9");
    let (own, _) = judged(&machine, &trace, "fair:v5.9");
    let (other, _) = judged(&machine, &trace, "fair:v5.9+asym-prev-first");
    assert!(own.all().sure_agree_pct().unwrap() >= 99.0);
    assert!(other.all().sure_agree_pct().unwrap() < 50.0, "{:?}", other.all());
    let way = &other.disagreements()[0];
    assert_eq!((way.rule.as_str(), way.recorded_rule.as_deref()), ("A2", Some("B1")), "{way:?}");
}

/// Without its first third a trace does not say how large its tasks are, which estimates take many wakeups to learn: fewer
/// answers are sure where CPUs differ, but none is worse.
#[test]
fn a_trace_without_its_beginning_is_less_sure_and_as_right() {
    let machine = machine("hikey960");
    let trace = recorded(&machine, PERIODIC, "fair:v6.12");
    let text = String::from_utf8(trace).unwrap();
    let (head, rest): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.contains("fairground_meta"));
    let late = head.into_iter().chain(rest[rest.len() / 3..].iter().copied()).map(|line| format!("{line}\n"));
    let late: String = late.collect();
    let (whole, _) = judged(&machine, text.as_bytes(), "fair:v6.12");
    let (cut, differing) = judged(&machine, late.as_bytes(), "fair:v6.12");
    assert!(cut.all().sure_pct() < whole.all().sure_pct(), "{:?} {:?}", cut.all(), whole.all());
    assert!(cut.all().sure_agree_pct().unwrap() >= 99.0, "{:?}", differing.first());
}
