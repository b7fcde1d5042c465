//! Two kernels decision by decision, without our policy as the judge: up to where they part.
//!
//! A run is a pure function of its inputs, so two kernels on one machine, workload and seed make the same run until one of
//! them does something else. Up to there each decision of the one is compared with that of the other on the same state,
//! bit by bit: nothing is copied. The first that differs is what the patch does there.
//! After it the states differ, so nothing more is counted of that run: each machine and workload gives one such place, and
//! another seed others.
//!
//! Another way would be to force the choices of the base onto the patched kernel after they part, and to ask it what it would have
//! chosen. That compares decisions on states that are no longer the same: a task put back onto its CPU has the vruntime, the
//! averages and the buddies that the patched code gave it, and a kernel that is told to do what it would not do is in
//! states that it never reaches by itself. The counts would mix what the patch decides with what it has left behind.
//!
//! What is compared: placements with their work, picks, tests of woken tasks, ends of slices, and every value that decisions
//! leave behind, passes of load balancing by what they leave (`fairground_trace::left`). The name of a row is that of the base's
//! rule in our policy; no verdict depends on it, so a tree without a preset is served as well.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs::File;
use std::io::{BufReader, Seek};
use std::sync::Arc;

use fairground_linux::conformance::{Count, Kind, Tally};
use fairground_run::batch::BatchError;
use fairground_run::experiment::{Attendance, Experiment, Outputs, Trace, TraceFormat, TraceHead};
use fairground_run::worker::Workers;
use fairground_sim::Config;
use fairground_trace::decisions::{Decision, Decisions};
use fairground_trace::explain::seconds;
use fairground_trace::left::{unlike, DifferentValue, Sides};
use fairground_trace::picks::Pick;
use fairground_trace::placements::{Cause, Head};
use fairground_trace::{EventSource, Reader, TraceError};
use serde_json::{json, Value};

use super::{ConformancePlan, RefereedMachine, RefereedWorkload};

/// Runs that the text shows, and lines of each.
const RUNS_SHOWN: usize = 5;
const WORDS_SHOWN: usize = 4;

/// Where the runs of two kernels part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parting {
    /// Time of the first difference, ns.
    pub time: u64,
    /// All rows that differ in that instant.
    pub rows: Vec<(Kind, String)>,
    /// The first difference in words, a line each.
    pub words: Vec<String>,
    /// The first decision that differs, in words, if a value differs before it.
    pub decision: Option<String>,
}

/// One pair of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairOfRuns {
    /// Decisions and values before the runs part, all alike, and the rows that differ there.
    pub tally: Tally,
    /// Where they part; none: nowhere.
    pub parting: Option<Parting>,
}

/// A parting, and of which run it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundParting {
    /// Name of the machine.
    pub machine: String,
    /// Name of the workload.
    pub workload: String,
    /// Seed of both runs.
    pub seed: u64,
    /// Time and first difference.
    pub parting: Parting,
}

/// Two kernels compared over machines, workloads and seeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partings {
    /// Number of pairs of runs that were compared.
    pub runs: u64,
    /// Decisions and values on the same state.
    pub tally: Tally,
    /// Runs that part, in the order of machines, workloads and seeds.
    pub found: Vec<FoundParting>,
    /// Machine, workload, seed and message of runs that failed.
    pub failures: Vec<(String, String, u64, String)>,
}

impl PairOfRuns {
    /// Compares the runs of two kernels, recorded with reasons, and reads no further than it has to.
    ///
    /// # Errors
    /// If a run cannot be read.
    pub fn compare<S: EventSource>(base: S, test: S) -> Result<PairOfRuns, TraceError> {
        let (mut base, mut test) = (Decisions::new(base), Decisions::new(test));
        let mut pair = PairOfRuns::default();
        loop {
            let (b, t) = (base.next_decision()?, test.next_decision()?);
            match (&b, &t) {
                (None, None) => return Ok(pair),
                (Some(b), Some(t)) if b.time() == t.time() && is_same(b, t) && is_alike(b, t, true) => {
                    let (kind, rule) = row(b);
                    pair.tally.count(kind, &rule, true, true);
                }
                _ => {
                    let parting = parting(b, t, &mut base, &mut test)?;
                    parting.rows.iter().for_each(|(kind, rule)| pair.tally.count(*kind, rule, false, true));
                    pair.parting = Some(parting);
                    return Ok(pair);
                }
            }
        }
    }
}

/// Both ask the same: of a pick which task of this CPU, of a test whether this task, of a value how it changes.
fn is_same(base: &Decision, test: &Decision) -> bool {
    match (base, test) {
        (Decision::Placed(b), Decision::Placed(t)) => (b.cause, &b.task) == (t.cause, &t.task),
        (Decision::Picked(b), Decision::Picked(t)) => {
            (&b.kind, b.cpu) == (&t.kind, t.cpu) && (b.kind == "pick" || b.task == t.task)
        }
        (Decision::Left(b), Decision::Left(t)) => (&b.function, &b.value, &b.of) == (&t.function, &t.value, &t.of),
        _ => false,
    }
}

/// Both answer the same. `work`: with the same work.
fn is_alike(base: &Decision, test: &Decision, work: bool) -> bool {
    match (base, test) {
        (Decision::Placed(b), Decision::Placed(t)) => {
            b.chosen == t.chosen && (!work || (b.probes, b.group_cpus) == (t.probes, t.group_cpus))
        }
        (Decision::Picked(b), Decision::Picked(t)) => (&b.task, b.happens()) == (&t.task, t.happens()),
        (Decision::Left(b), Decision::Left(t)) => (b.before, b.after) == (t.before, t.after),
        _ => false,
    }
}

fn row(decision: &Decision) -> (Kind, String) {
    match decision {
        Decision::Placed(placement) => (kind_of(placement.cause), placement.rule.clone()),
        Decision::Picked(pick) => (kind_of_pick(pick), pick.rule.clone()),
        Decision::Left(left) => (Kind::Left, format!("{}: {}", left.function, left.value)),
    }
}

/// From the first that differs on. All that the same function leaves otherwise in that instant belongs to it; of a
/// decision nothing else does, as what follows comes of it.
fn parting<S: EventSource>(
    b: Option<Decision>,
    t: Option<Decision>,
    base: &mut Decisions<S>,
    test: &mut Decisions<S>,
) -> Result<Parting, TraceError> {
    let time = b.iter().chain(&t).map(Decision::time).min().unwrap_or(0);
    let (in_base, rest_of_base) = instant(b, base, time)?;
    let (in_test, rest_of_test) = instant(t, test, time)?;
    let mut all = unlike(&in_base, &in_test, is_same, |b, t| is_alike(b, t, true));
    if all.is_empty() {
        let words = vec!["both decide the same in this instant, in another order".into()];
        let rows = in_base.first().map(row).into_iter().collect();
        return Ok(Parting { time, rows, words, decision: None });
    }
    let function = match all.first() {
        Some((Some(Decision::Left(left)), _) | (None, Some(Decision::Left(left)))) => Some(left.function.clone()),
        _ => None,
    };
    match &function {
        Some(function) => all.retain(|(b, t)| match b.as_ref().or(t.as_ref()) {
            Some(Decision::Left(left)) => left.function == *function,
            _ => false,
        }),
        None => all.truncate(1),
    }
    let told: Vec<String> = all.iter().map(|sides| words(sides, base.head(), test.head())).collect();
    let rows: BTreeSet<(Kind, String)> = all.iter().filter_map(|(b, t)| b.as_ref().or(t.as_ref()).map(row)).collect();
    let decision = match function {
        None => None,
        Some(_) => {
            let base_decisions = in_base.into_iter().chain(rest_of_base);
            let test_decisions = in_test.into_iter().chain(rest_of_test);
            first_decision(base_decisions.collect(), test_decisions.collect(), base, test)?
        }
    };
    Ok(Parting { time, rows: rows.into_iter().collect(), words: told, decision })
}

/// The decisions of an instant, from `next` on, and the first after it.
fn instant<S: EventSource>(
    mut next: Option<Decision>,
    run: &mut Decisions<S>,
    time: u64,
) -> Result<(Vec<Decision>, Option<Decision>), TraceError> {
    let mut all = Vec::new();
    while let Some(decision) = next.take_if(|decision| decision.time() == time) {
        all.push(decision);
        next = run.next_decision()?;
    }
    Ok((all, next))
}

/// The first placement, pick or test that differs in the order of both runs, in words.
fn first_decision<S: EventSource>(
    in_base: Vec<Decision>,
    in_test: Vec<Decision>,
    base: &mut Decisions<S>,
    test: &mut Decisions<S>,
) -> Result<Option<String>, TraceError> {
    let (mut in_base, mut in_test) = (in_base.into_iter(), in_test.into_iter());
    loop {
        let sides = (next_choice(&mut in_base, base)?, next_choice(&mut in_test, test)?);
        match &sides {
            (None, None) => return Ok(None),
            (Some(b), Some(t)) if is_same(b, t) && is_alike(b, t, false) => {}
            _ => {
                let time = [&sides.0, &sides.1].into_iter().flatten().map(Decision::time).min().unwrap_or(0);
                return Ok(Some(format!("at {} s {}", seconds(time), words(&sides, base.head(), test.head()))));
            }
        }
    }
}

/// The next decision that is no value and no end of a slice, which are told only where they happen.
fn next_choice<S: EventSource>(
    first: &mut impl Iterator<Item = Decision>,
    run: &mut Decisions<S>,
) -> Result<Option<Decision>, TraceError> {
    loop {
        let next = match first.next() {
            Some(decision) => Some(decision),
            None => run.next_decision()?,
        };
        match &next {
            Some(Decision::Left(_)) => {}
            Some(Decision::Picked(pick)) if pick.kind == "slice" => {}
            _ => return Ok(next),
        }
    }
}

/// `base wake of a-7: CPU 2 by C1 after 3 probes; test wake of a-7: CPU 3 by ...`.
fn words((b, t): &Sides<Decision>, base: &Head, test: &Head) -> String {
    let value = |decision: &Option<Decision>| match decision {
        Some(Decision::Left(left)) => Some((**left).clone()),
        _ => None,
    };
    if let Some(different) = DifferentValue::of_sides(value(b), value(t)) {
        return different.to_string();
    }
    let told = |decision: &Option<Decision>, head: &Head| match decision {
        None => "nothing there".into(),
        Some(Decision::Placed(p)) => {
            let (rule, probes) = (head.rule(&p.rule).title(), p.probes + p.group_cpus);
            format!("{} of {}: CPU {} by {rule} after {probes} probes", p.cause.word(), p.task, p.chosen)
        }
        Some(Decision::Picked(p)) => {
            format!("{} on CPU {}: {} by {}", p.kind, p.cpu, p.verdict(), head.rule(&p.rule).title())
        }
        Some(Decision::Left(left)) => left.name(),
    };
    format!("base {}; test {}", told(b, base), told(t, test))
}

fn kind_of(cause: Cause) -> Kind {
    match cause {
        Cause::Wake => Kind::Wake,
        Cause::Fork => Kind::Fork,
        Cause::Exec => Kind::Exec,
        Cause::Balance | Cause::NewIdle | Cause::Active => Kind::Balance,
    }
}

fn kind_of_pick(pick: &Pick) -> Kind {
    match pick.kind.as_str() {
        "pick" => Kind::Pick,
        "wakeup" => Kind::Preempt,
        _ => Kind::Slice,
    }
}

/// Runs both kernels, the base first, on every machine with every workload, and compares run by run. Calls `progress`
/// after each pair of machine and workload.
///
/// # Errors
/// The threads cannot be started.
pub fn part(
    kernels: [&ConformancePlan; 2],
    places: &[RefereedMachine],
    loads: &[RefereedWorkload],
    workers: &Workers,
    jobs: usize,
    progress: &(dyn Fn() + Sync),
) -> Result<Partings, BatchError> {
    let share = kernels[1].decisions.div_ceil((places.len() * loads.len()).max(1) as u64);
    let found = super::over_pairs(places, loads, jobs, &|place, load| {
        let found = of_pair(kernels, place, load, share, workers);
        progress();
        found
    })?;
    let mut all = Partings::default();
    found.into_iter().for_each(|found| all.add(found));
    Ok(all)
}

/// One run of each kernel, of the first seed: it says where they part on this machine under this workload.
fn of_pair(
    kernels: [&ConformancePlan; 2],
    place: &RefereedMachine,
    load: &RefereedWorkload,
    share: u64,
    workers: &Workers,
) -> Partings {
    let mut found = Partings::default();
    let (machine, workload, seed) = (place.name.clone(), load.name().to_owned(), kernels[1].seed);
    match of_seed(kernels, place, load, share, seed, workers) {
        Ok(pair) => {
            found.runs = 1;
            found.tally = pair.tally;
            let parting = pair.parting.map(|parting| FoundParting { machine, workload, seed, parting });
            found.found.extend(parting);
        }
        Err(problem) => found.failures.push((machine, workload, seed, problem)),
    }
    found
}

fn of_seed(
    kernels: [&ConformancePlan; 2],
    place: &RefereedMachine,
    load: &RefereedWorkload,
    share: u64,
    seed: u64,
    workers: &Workers,
) -> Result<PairOfRuns, String> {
    let workload = load.workload(&place.machine, share).map_err(|e| e.to_string())?;
    let [base, test] = kernels;
    let experiment = Experiment {
        machine: Arc::clone(&place.machine),
        workload: Arc::new(workload),
        scheds: vec![base.kernel.clone(), test.kernel.clone()],
        config: Config { hz: test.hz, governor: test.governor, ..Config::default() },
        workers: workers.clone(),
    };
    let (in_base, in_test) = (traced(&experiment, 0, seed)?, traced(&experiment, 1, seed)?);
    PairOfRuns::compare(Reader::new("the base", in_base), Reader::new("the test", in_test)).map_err(|e| e.to_string())
}

/// The trace of a run with reasons, in a file that nobody else sees.
fn traced(experiment: &Experiment, sched: usize, seed: u64) -> Result<BufReader<File>, String> {
    let name = experiment.scheds[sched].to_string();
    let lost = |e: std::io::Error| format!("{name}: cannot keep its events: {e}");
    let mut file = tempfile::tempfile().map_err(lost)?;
    let meta = vec![("sched".to_owned(), name.clone())];
    let head = TraceHead { format: TraceFormat::Text, meta, notes: Vec::new(), why: true, marks: None };
    let trace = Some(Trace { head, file: file.try_clone().map_err(lost)? });
    let ran = experiment.write(sched, seed, Outputs { trace, logs: None }, Attendance::default());
    ran.outcome.map_err(|e| format!("{name}: {e}"))?;
    ran.trace.and_then(|()| file.rewind()).map_err(lost)?;
    Ok(BufReader::new(file))
}

impl Partings {
    fn add(&mut self, other: Partings) {
        self.runs += other.runs;
        self.tally.add(&other.tally);
        self.found.extend(other.found);
        self.failures.extend(other.failures);
    }

    /// Runs in which the two kernels part, and those in which they do not.
    pub fn counts(&self) -> (u64, u64) {
        let parted = self.found.len() as u64;
        (parted, self.runs - parted)
    }

    /// The rows that part runs, then the first runs that part.
    pub fn text(&self) -> String {
        let (parted, alike) = self.counts();
        let sum = |count: fn(&Count) -> u64| self.tally.kinds().map(|(_, of)| count(&of.all)).sum::<u64>();
        let mut out = format!(
            "decision by decision, on the same state up to where runs part: {} runs, {parted} part, {alike} do not; \
             {} decisions and values alike\n",
            self.runs,
            sum(|count| count.agree)
        );
        if parted > 0 {
            let _ = writeln!(out, "\n{:>9} {:>9}  rule that parts runs", "alike", "part");
        }
        for (kind, of) in self.tally.kinds() {
            for (rule, count) in of.rules.iter().filter(|(_, count)| count.agree < count.n) {
                let (word, title) = (kind.word(), kind.rule_title(rule));
                let _ = writeln!(out, "{:>9} {:>9}  {word}: {title}", count.agree, count.n - count.agree);
            }
        }
        for FoundParting { machine, workload, seed, parting } in self.found.iter().take(RUNS_SHOWN) {
            let _ = writeln!(out, "\n{machine} {workload} seed {seed}, at {} s:", seconds(parting.time));
            let shown = parting.words.iter().take(WORDS_SHOWN);
            shown.for_each(|words| out.push_str(&format!("  {words}\n")));
            if let Some(more) = parting.words.len().checked_sub(WORDS_SHOWN + 1) {
                let _ = writeln!(out, "  and {} more", more + 1);
            }
            let decision = parting.decision.iter();
            decision.for_each(|words| out.push_str(&format!("  the first decision that differs: {words}\n")));
        }
        if let Some(more) = self.found.len().checked_sub(RUNS_SHOWN + 1) {
            let _ = writeln!(out, "\nand {} more runs, in --format json", more + 1);
        }
        out
    }

    /// As a member of the JSON report.
    pub fn json(&self) -> Value {
        let row = |(kind, rule): &(Kind, String)| json!({ "kind": kind.word(), "rule": rule });
        let found = self.found.iter().map(|found| {
            json!({
                "shape": found.machine,
                "workload": found.workload,
                "seed": found.seed,
                "time_ns": found.parting.time,
                "rows": found.parting.rows.iter().map(row).collect::<Vec<Value>>(),
                "words": found.parting.words,
                "decision": found.parting.decision,
            })
        });
        let found: Vec<Value> = found.collect();
        json!({ "runs": self.runs, "kinds": self.tally.json(), "found": found })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINT: &str = "<idle>-0 [002]";

    fn wake(at: &str, cpu: u32, probes: u32) -> String {
        format!(
            "{PRINT} {at}: print: tracing_mark_write: fairground_decision: kind=wake comm=a pid=7 prio=120 prev_cpu=2 \
             cpu={cpu} rule=C1 probes={probes} group_cpus=0\n"
        )
    }

    fn pick(at: &str, task: &str) -> String {
        format!(
            "{PRINT} {at}: print: tracing_mark_write: fairground_pick: kind=pick comm={task} pid=7 prio=120 cpu=2 \
             rule=only queued=1 lag=0 deadline=1 protection=0 curr_comm=- curr_pid=0 curr_lag=0 curr_deadline=0 \
             curr_protection=0\n"
        )
    }

    fn left(at: &str, after: u32) -> String {
        format!(
            "{PRINT} {at}: print: tracing_mark_write: fairground_left: comm=- pid=0 cpu=2 domain=-1 \
             function=update_idle_cpu_scan before=0 after={after} value=nr_idle_scan\n"
        )
    }

    fn compared(base: &[String], test: &[String]) -> PairOfRuns {
        let (base, test) = (base.concat(), test.concat());
        PairOfRuns::compare(Reader::new("base", base.as_bytes()), Reader::new("test", test.as_bytes())).unwrap()
    }

    fn counts(pair: &PairOfRuns, kind: Kind) -> (u64, u64) {
        pair.tally.kind(kind).map_or((0, 0), |of| (of.all.n, of.all.agree))
    }

    #[test]
    fn runs_that_never_part_are_alike_in_all_rows() {
        let lines = [wake("1.0", 2, 1), pick("1.0", "a"), left("2.0", 4), wake("3.0", 2, 1)];
        let pair = compared(&lines, &lines);
        assert_eq!(pair.parting, None);
        assert_eq!(
            (counts(&pair, Kind::Wake), counts(&pair, Kind::Pick), counts(&pair, Kind::Left)),
            ((2, 2), (1, 1), (1, 1))
        );
    }

    #[test]
    fn a_value_parts_runs_and_names_the_first_decision_after_it() {
        let base = [wake("1.0", 2, 1), left("2.0", 4), wake("3.0", 2, 1), wake("4.0", 2, 1)];
        let test = [wake("1.0", 2, 1), left("2.0", 2), wake("3.0", 2, 1), wake("4.0", 3, 1)];
        let pair = compared(&base, &test);
        let parting = pair.parting.clone().unwrap();
        assert_eq!(
            (parting.time, &parting.rows[..]),
            (2_000_000_000, &[(Kind::Left, "update_idle_cpu_scan: nr_idle_scan".into())][..])
        );
        assert_eq!(parting.words, ["update_idle_cpu_scan: nr_idle_scan of CPU 2: base 0 to 4, test 0 to 2"]);
        let decision = parting.decision.unwrap();
        assert!(decision.starts_with("at 4.000000000 s base wake of a-7: CPU 2 by "), "{decision}");
        // After the parting nothing counts.
        assert_eq!((counts(&pair, Kind::Wake), counts(&pair, Kind::Left)), ((1, 1), (1, 0)));
    }

    #[test]
    fn a_decision_parts_runs_by_its_choice_or_by_its_work() {
        let at = |test: String| {
            let value = left("1.0", 4);
            let pair = compared(&[value.clone(), wake("2.0", 2, 1)], &[value, test]);
            let parting = pair.parting.clone().unwrap();
            assert_eq!((parting.time, parting.decision), (2_000_000_000, None));
            assert_eq!((parting.rows, counts(&pair, Kind::Wake)), (vec![(Kind::Wake, "C1".into())], (1, 0)));
            parting.words.concat()
        };
        assert!(
            at(wake("2.0", 3, 1)).contains("CPU 2 by C1 after 1 probes; test wake of a-7: CPU 3 by C1 after 1 probes")
        );
        assert!(
            at(wake("2.0", 2, 9)).contains("CPU 2 by C1 after 1 probes; test wake of a-7: CPU 2 by C1 after 9 probes")
        );
    }

    #[test]
    fn what_follows_a_decision_in_its_instant_comes_of_it() {
        let pair = compared(&[wake("1.0", 2, 1), left("1.0", 4)], &[wake("1.0", 3, 1)]);
        assert_eq!(pair.parting.unwrap().rows, [(Kind::Wake, "C1".to_owned())]);
        let extra = compared(&[left("1.0", 4), wake("1.0", 2, 1)], &[wake("1.0", 2, 1)]);
        let words = extra.parting.unwrap().words.concat();
        assert!(words.ends_with("base 0 to 4, test does not change it there"), "{words}");
    }

    #[test]
    fn another_order_within_an_instant_is_named_as_that() {
        let pair = compared(&[left("1.0", 4), wake("1.0", 2, 1)], &[wake("1.0", 2, 1), left("1.0", 4)]);
        let parting = pair.parting.unwrap();
        assert_eq!(parting.rows, [(Kind::Left, "update_idle_cpu_scan: nr_idle_scan".to_owned())]);
        assert_eq!(parting.words, ["both decide the same in this instant, in another order"]);
    }

    #[test]
    fn a_pick_parts_runs() {
        let before = [wake("1.0", 2, 1), left("1.0", 4)].concat();
        let pair = compared(&[before.clone(), pick("2.0", "a")], &[before, pick("2.0", "b")]);
        assert_eq!(pair.parting.unwrap().rows, [(Kind::Pick, "only".to_owned())]);
    }
}
