use fairground_machine::Machine;
use fairground_sim::Rule;
use fairground_trace::placements::{Cause, Placement, Step, Task};
use fairground_trace::{EventSource, Note, Reader, TraceEvent, TraceEventKind};
use proptest::prelude::*;

use super::*;

fn source(text: &str) -> impl EventSource + '_ {
    Reader::new("t.txt", text.as_bytes())
}

fn read(text: &str) -> Side {
    SideReader::new("trace", "t.txt").read(source(text)).unwrap()
}

/// The rows of a table, a list of values each.
fn rows(table: &Table) -> Vec<Vec<u64>> {
    (0..table.len()).map(|row| table.columns.iter().map(|(_, _, values)| values[row]).collect()).collect()
}

fn names(side: &Side) -> Vec<String> {
    side.threads.iter().map(|thread| format!("{}-{}", thread.name, thread.pid)).collect()
}

/// CPU 1 runs `a` from the begin (it leaves at 30 ns), idles in state 1 from 30 to 80 and runs `b` until the end at 100. CPU 0 has
/// only a clock.
const LANES: &str = "\
a-7 [001] 5.000000000: cpu_frequency: state=1000000 cpu_id=0
a-7 [001] 5.000000000: cpu_frequency: state=500000 cpu_id=1
a-7 [001] 5.000000030: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=1 next_comm=swapper/1 next_pid=0 next_prio=120
<idle>-0 [001] 5.000000030: cpu_idle: state=1 cpu_id=1
<idle>-0 [001] 5.000000080: cpu_idle: state=4294967295 cpu_id=1
<idle>-0 [001] 5.000000080: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=0 next_comm=b next_pid=9 next_prio=120
b-9 [001] 5.000000090: cpu_frequency: state=1000000 cpu_id=1
b-9 [001] 5.000000100: sched_pelt_cfs: cpu=1 path=/ load=1 util=300 rbl_load=1
";

#[test]
fn lanes_have_what_ran_idle_states_and_clocks() {
    let side = read(LANES);
    assert_eq!(names(&side), ["a-7", "b-9"]);
    assert_eq!((side.begin_ns.as_str(), side.to_ns, side.events), ("5000000000", 100, 8));
    assert_eq!(side.cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<_>>(), [0, 1]);
    assert_eq!((rows(&side.runs), side.runs.first.clone()), (vec![vec![0, 30, 0], vec![80, 20, 1]], vec![0, 0, 2]));
    assert_eq!((rows(&side.idles), side.idles.first.clone()), (vec![vec![30, 50, 1]], vec![0, 0, 1]));
    assert_eq!(rows(&side.clocks), [vec![0, 1_000_000], vec![0, 500_000], vec![90, 1_000_000]]);
    assert_eq!(rows(&side.utils), [vec![100, 300]]);
    let has = Has { switches: true, idle: true, frequency: true, utilization: true, ..Has::default() };
    assert_eq!(side.has, has);
}

/// Three points below the top of 2362 MHz the big CPUs of hikey960 have 1421 MHz: 1024 * 1421 / 2362 = 616.04.
#[test]
fn caps_of_cooling_are_capacities_of_the_machine() {
    let lines = "\
a-7 [004] 5.000000000: print: tracing_mark_write: fairground_cooling: target=3 cpu_id=4
a-7 [004] 5.000000010: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=1 next_comm=b next_pid=9 next_prio=120
b-9 [004] 5.000000020: print: tracing_mark_write: fairground_cooling: target=0 cpu_id=4
b-9 [004] 5.000000030: print: tracing_mark_write: fairground_cooling: target=99 cpu_id=0
";
    let machine = Machine::find("hikey960").unwrap();
    let side = SideReader::new("trace", "t").on(Some(&machine)).read(source(lines)).unwrap();
    let lowest = vec![30, machine.capacity_at(0, machine.freq_domain_of(0).opps[0].khz) as u64];
    let big = [vec![0, 616], vec![20, 1024]];
    let expected = [vec![lowest; 4], [big.clone(), big.clone(), big.clone(), big].concat()].concat();
    assert_eq!(rows(&side.caps), expected, "a record is of all CPUs of a frequency domain");
    assert_eq!(side.caps.first, [0, 1, 2, 3, 4, 6, 8, 10, 12]);
    assert!(rows(&read(lines).caps).is_empty(), "without a machine");
    let damaged = lines.replace("cpu_id=0", "cpu_id=4294967295");
    assert!(SideReader::new("trace", "t").read(source(&damaged)).is_err());
}

#[test]
fn a_window_shows_what_lasts_into_it() {
    let side = SideReader::new("trace", "t").between(20, 85).read(source(LANES)).unwrap();
    assert_eq!(rows(&side.runs), [vec![20, 10, 0], vec![80, 5, 1]], "clipped at both ends");
    assert_eq!(rows(&side.idles), [vec![30, 50, 1]]);
    assert_eq!(rows(&side.clocks), [vec![0, 1_000_000], vec![0, 500_000]], "as it was set before");
    assert_eq!((side.from_ns, side.to_ns, side.events), (20, 85, 4), "events at 30 and at 80 ns");
    let model = Model::new("t", vec![side, read(LANES)]);
    assert_eq!((model.from_ns, model.to_ns), (0, 100));
    let behind = SideReader::new("trace", "t").between(200, 300).read(source(LANES)).unwrap();
    assert_eq!((behind.from_ns, behind.to_ns, behind.events), (100, 100, 0));
}

/// A wakeup of ours: from CPU 4 to 6, 500 ns until it runs, with its reasons.
const DECISION: &str = "\
<idle>-0 [000] 0.0: print: tracing_mark_write: fairground_meta: machine=m
<idle>-0 [000] 0.0: print: tracing_mark_write: fairground_meta: rail0=S2M
w-8 [004] 0.000001000: sched_waking: comm=a pid=7 prio=120 target_cpu=005
w-8 [004] 0.000001000: print: tracing_mark_write: fairground_rule: name=A2 function=select_idle_sibling label=previous CPU text=it is idle
w-8 [004] 0.000001000: print: tracing_mark_write: fairground_why: pid=7 rule=- note=9 cpu=-1 a=0 b=0 c=0 text=sync
w-8 [004] 0.000001000: print: tracing_mark_write: fairground_why: pid=7 rule=A2 note=2 cpu=5 a=12 b=462 c=0 text=CPU 5 fits: 12 of 462
w-8 [004] 0.000001000: print: tracing_mark_write: fairground_decision: kind=wake comm=a pid=7 prio=120 prev_cpu=5 cpu=6 rule=A2 probes=2 group_cpus=3
w-8 [004] 0.000001100: sched_wakeup: comm=a pid=7 prio=120 target_cpu=006
<idle>-0 [006] 0.000001500: sched_switch: prev_comm=swapper/6 prev_pid=0 prev_prio=120 prev_state=0 next_comm=a next_pid=7 next_prio=120
";

#[test]
fn a_decision_has_its_rule_its_candidates_and_its_wait() {
    let side = read(DECISION);
    assert_eq!(side.facts, [("machine".to_owned(), "m".to_owned())], "names of rails are no facts");
    assert_eq!(names(&side), ["w-8", "a-7"]);
    // wake of thread 1 on CPU 4 by thread 0, from CPU 5 to CPU 6 by the first rule; 500 ns until it runs; two steps.
    assert_eq!(rows(&side.decisions), [[1000, 0, 1, 4, 1, 6, 6, 1, 2, 3, 501, 2]]);
    assert_eq!(
        (side.rules[0].title.as_str(), side.rules[0].text.as_str()),
        ("select_idle_sibling: previous CPU (A2)", "it is idle")
    );
    assert_eq!(rows(&side.steps), [[0, 0, 0], [1, 6, 1]]);
    assert_eq!(side.texts, ["sync", "CPU \u{1} fits: \u{1} of \u{1}"]);
    assert_eq!(side.numbers.column("value"), [5, 12, 462]);
    assert!(side.has.decisions && side.has.reasons);
}

/// Where a kernel put a task is known, and not why.
#[test]
fn a_wakeup_of_a_kernel_has_no_rule() {
    let text: String =
        DECISION.lines().filter(|line| !line.contains("fairground")).map(|line| line.to_owned() + "\n").collect();
    let side = read(&text);
    assert_eq!(rows(&side.decisions), [[0, 0, 1, 4, 1, 6, 6, 0, 0, 0, 501, 0]]);
    assert!(!side.has.decisions && side.rules.is_empty());
}

/// A line of a switch on a CPU, at a time in ns.
fn switch(ns: u64, cpu: u32, prev: &str, next: &str) -> String {
    let [(prev, prev_pid), (next, next_pid)] = [prev, next].map(|thread| thread.split_once('-').unwrap());
    format!("{prev}-{prev_pid} [{cpu:03}] 0.{ns:09}: sched_switch: prev_comm={prev} prev_pid={prev_pid} prev_prio=120 prev_state=S next_comm={next} next_pid={next_pid} next_prio=120\n")
}

/// A line of sched_waking or sched_wakeup on CPU 0 by `w`, at a time in ns.
fn wake(ns: u64, event: &str, thread: &str) -> String {
    let (name, pid) = thread.split_once('-').unwrap();
    format!("w-8 [000] 0.{ns:09}: {event}: comm={name} pid={pid} prio=120 target_cpu=001\n")
}

fn waits(side: &Side) -> &[u64] {
    side.decisions.column("wait")
}

/// The wakeup of a begins first and ends last; its answer and its steps go with it.
#[test]
fn decisions_are_in_the_order_in_which_they_begin() {
    let lines = [
        wake(0, "sched_waking", "x-1"),
        wake(1000, "sched_waking", "a-7"),
        wake(2000, "sched_waking", "b-9"),
        wake(3000, "sched_wakeup", "b-9"),
        wake(4000, "sched_wakeup", "a-7"),
    ];
    let side = SideReader::new("trace", "t").asking(Some(Box::new(Stubborn))).read(source(&lines.concat())).unwrap();
    let thread = |number: u64| side.threads[number as usize].name.as_str();
    let shown: Vec<_> = side.decisions.column("thread").iter().map(|number| thread(*number)).collect();
    assert_eq!((side.decisions.column("time"), shown), (&[1000, 2000][..], vec!["a", "b"]));
    assert_eq!(rows(&side.answers), [[0, 1, 1, 1, 7, 2, 1], [1, 1, 1, 1, 9, 2, 1]], "as many probes as its pid");
}

/// b runs when it is woken for the second time, and leaves CPU 1 later; c is woken in its own context.
#[test]
fn a_thread_that_runs_does_not_wait() {
    let lines = [
        wake(0, "sched_waking", "b-9"),
        wake(10, "sched_wakeup", "b-9"),
        switch(100, 1, "swapper/1-0", "b-9"),
        wake(200, "sched_waking", "b-9"),
        wake(210, "sched_wakeup", "b-9"),
        switch(300, 1, "b-9", "swapper/1-0"),
        wake(400, "sched_waking", "b-9"),
        wake(410, "sched_wakeup", "b-9"),
        wake(500, "sched_waking", "w-8"),
        wake(510, "sched_wakeup", "w-8"),
        switch(900, 1, "swapper/1-0", "b-9"),
        switch(950, 0, "x-3", "w-8"),
    ];
    assert_eq!(waits(&read(&lines.concat())), [101, 1, 501, 1]);
}

/// The b that was woken exits without running, as of a trace with lost events; its pid comes again as c.
#[test]
fn what_an_exited_thread_waited_for_is_not_its_successors() {
    let exit = "b-9 [001] 0.000000300: sched_process_exit: comm=b pid=9 prio=120\n";
    let lines = [
        wake(0, "sched_waking", "b-9"),
        wake(10, "sched_wakeup", "b-9"),
        exit.into(),
        switch(800, 1, "swapper/1-0", "c-9"),
    ];
    assert_eq!(waits(&read(&lines.concat())), [0]);
}

#[test]
fn energy_lies_between_readings() {
    let reading = |us: u64, pj: u64| {
        format!(
            "w-8 [004] 0.{us:06}: print: tracing_mark_write: fairground_energy: rail=0 part=active energy_pj={pj}\n"
        )
    };
    let side = read(&(DECISION.to_owned() + &[reading(2, 100), reading(12, 350), reading(22, 400)].concat()));
    assert_eq!(side.rails, ["S2M"]);
    assert_eq!(
        (rows(&side.power), side.power.first.clone()),
        (vec![vec![2000, 10_000, 250], vec![12_000, 10_000, 50]], vec![0, 2])
    );
}

/// Another event (a switch on CPU 3) comes before the second decision of one side.
#[test]
fn sides_are_in_step_while_all_events_are_the_same() {
    let second = DECISION.replace("0.000001", "0.000002").replace("cpu=6 rule", "cpu=5 rule");
    let third = DECISION.replace("0.000001", "0.000003");
    let switch = "x-3 [003] 0.0000025: sched_switch: prev_comm=x prev_pid=3 prev_prio=120 prev_state=1 next_comm=y next_pid=4 next_prio=120\n";
    let [first, second, third] = [DECISION, &second, &third].map(|text| text.split_once("rail0=S2M\n").unwrap().1);
    let base = read(&[first, second, third].concat());
    let test = read(&[first, second, switch, third].concat());
    assert_eq!((base.decisions.len(), test.decisions.len()), (3, 3));
    assert_eq!(Model::new("t", vec![base.clone(), test]).in_step, 2, "what they chose the second time does not matter");
    assert_eq!(Model::new("t", vec![base]).in_step, 0);
}

/// Answers each wakeup with CPU 1, not sure, after as many probes as the pid says.
struct Stubborn;

impl OtherScheduler for Stubborn {
    fn label(&self) -> String {
        "fair:other".into()
    }

    fn event(&mut self, event: &TraceEvent) -> Result<Option<Answer>, String> {
        let TraceEventKind::Wakeup { task, .. } = event.what else { return Ok(None) };
        let pid = task.pid;
        let task = Task { comm: task.comm.to_owned(), pid };
        let steps = vec![Step {
            rule: Some("B1".into()),
            note: 0,
            cpu: Some(1),
            numbers: [0; 3],
            text: "CPU 1 is idle".into(),
        }];
        let (rule, cause) = ("B1".to_owned(), Cause::Wake);
        let placement = Placement {
            time: event.time,
            cause,
            by: task.clone(),
            task,
            on_cpu: 0,
            prev: 0,
            chosen: 1,
            rule,
            probes: pid.into(),
            group_cpus: 0,
            pull: None,
            steps,
        };
        Ok(Some(Answer { placement, doubt: Some("it is a guess".into()), possible: vec![1, 2] }))
    }

    fn rule<'a>(&'a self, name: &'a str) -> Rule<'a> {
        Rule { name, function: "select_idle_capacity", label: "scan", text: "" }
    }

    fn notes(&self) -> Vec<Note> {
        vec![Note::Hint("of a test".into())]
    }
}

#[test]
fn an_answer_belongs_to_its_decision() {
    let side = SideReader::new("trace", "t").asking(Some(Box::new(Stubborn))).read(source(DECISION)).unwrap();
    assert_eq!(rows(&side.answers), [[0, 1, 1, 1, 7, 2, 1]]);
    assert_eq!(rows(&side.possible), [[1], [2]]);
    assert_eq!(rows(&side.answer_steps), [[1, 2, 2]]);
    let asked = side.asked.unwrap();
    assert_eq!(
        (asked.doubts, asked.notes),
        (vec!["it is a guess".to_owned()], vec![Note::Hint("of a test".to_owned())])
    );
    assert_eq!(asked.rules[0].title, "select_idle_capacity: scan (B1)");
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let page = || page_body(&Model::new("t", vec![read(&(LANES.to_owned() + DECISION))]));
    assert_eq!(page(), page());
}

/// Names of threads end no element of the page and control no terminal.
#[test]
fn hostile_names_stay_text() {
    let name = "</script><img src=x>\u{1b}[2J\u{202e}&";
    let text = LANES.replace("comm=b ", &format!("comm={name} ")).replace("b-9 ", &format!("{name}-9 "));
    let side = read(&text);
    assert_eq!(side.threads[1].name, "</script><img src=x>?[2J?&");
    let body = page_body(&Model::new("<b>", vec![side]));
    assert_eq!((body.matches("<script").count(), body.matches("</script>").count()), (2, 2));
}

#[test]
fn what_cannot_be_shown_is_refused() {
    let refused = |text: &str| SideReader::new("trace", "t").read(source(text)).unwrap_err().to_string();
    assert_eq!(refused("a-1 [000] 1.0: cpu_frequency: state=1 cpu_id=0\n"), "t has no event that can be shown");
    let far = refused("a-1 [000] 1.0: cpu_idle: state=1 cpu_id=4000000000\n");
    assert_eq!(far, "t: event at 1000000000 ns: expected a CPU below 8192, found 4000000000");
    let idle = |time: &str| format!("a-1 [000] {time}: cpu_idle: state=1 cpu_id=0\n");
    let late = refused(&(idle("0.0") + &idle("9007199.254740993")));
    let expected = "t: event at 9007199254740993 ns: expected at most 9007199254740992 ns after the first event, found 9007199254740993";
    assert_eq!(late, expected);
    let meter = refused("a-1 [000] 1.0: print: tracing_mark_write: fairground_energy: rail=x\n");
    assert_eq!(meter, "t: event at 1000000000 ns: expected fairground_energy with rail, part, energy_pj");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Lines in any order, some damaged: read or refused, and what is read can be packed.
    #[test]
    fn any_trace_is_shown_or_refused(
        picks in prop::collection::vec((0_usize..17, any::<prop::sample::Index>(), prop::option::weighted(0.2, any::<u8>())), 0..60),
        late in prop::collection::vec((0_usize..17, any::<u64>()), 0..3),
        from in 0_u64..3000,
        length in prop_oneof![Just(0_u64), 0_u64..3000],
    ) {
        let lines: Vec<&str> = LANES.lines().chain(DECISION.lines()).collect();
        let mut text = Vec::new();
        for (line, at, byte) in picks {
            let mut line = lines[line % lines.len()].as_bytes().to_vec();
            let at = at.index(line.len());
            byte.into_iter().for_each(|byte| line[at] = byte);
            text.extend(line);
            text.push(b'\n');
        }
        for (line, ns) in late {
            let (thread, rest) = lines[line % lines.len()].split_once("] ").unwrap();
            let (_, event) = rest.split_once(": ").unwrap();
            let line = format!("{thread}] {}.{:09}: {event}\n", ns / 1_000_000_000, ns % 1_000_000_000);
            text.extend(line.into_bytes());
        }
        let to = if length == 0 { u64::MAX } else { from + length };
        let reader = SideReader::new("trace", "t").asking(Some(Box::new(Stubborn))).between(from, to);
        if let Ok(side) = reader.read(Reader::new("t", text.as_slice())) {
            prop_assert!(side.decisions.column("time").is_sorted());
            let model = Model::new("t", vec![side.clone(), side]);
            prop_assert!(model.to_bytes().len() > 12);
            prop_assert_eq!(model.in_step, model.sides[0].decisions.len());
        }
    }
}
