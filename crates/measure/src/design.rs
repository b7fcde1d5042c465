//! The design: small workloads, each of which pays some of the costs, so that together they tell these apart.
//!
//! A workload does one thing over and over. Its first thread reads the clock before and after each batch of operations and
//! reports the difference: the median over batches is free of ticks, of other programs and of time that a hypervisor takes, as
//! long as these disturb less than half of the batches. All else is strictly serial: at each moment one thread goes on and
//! the others wait, so that the time of an operation is the sum of what is paid on the way.
//!
//! Where two threads take turns on one CPU they are of SCHED_BATCH, which no wakeup preempts: the thread that wakes goes on
//! until it sleeps, in every release. Between CPUs each workload is there twice. Alone, CPUs fall idle between two messages.
//! Beside a thread of SCHED_IDLE on each CPU, which computes and is preempted at once by whatever wakes, they never do. The
//! difference is what leaving the idle state takes. Where a governor chooses among idle states, it would choose here and in the
//! simulation, and not always alike. There they are alone only with one state at a time, all others disabled (`idle.rs`), if that can be.
//!
//! What lines of messages cost is a part of what is left if a message is passed alone. So there are bursts, too: many messages each
//! way between two semaphores' turns.
//!
//! What this language has no word for is measured by probes (`probe.rs`).

use std::sync::Arc;

use fairground_machine::{Caches, CpuId, CpuMask, Distance, IdleState, Machine};
use fairground_workload::{
    Amount, Mark, Object, Op, Policy, ProgramBuilder, Report, SchedAttr, Series, Since, Start, TaskSpec, TimeUnit,
    Workload,
};

use crate::idle::Choice;
use crate::param::idles_by_itself;
use crate::probe::Probe;
use crate::Param;

/// Bytes of a message that is passed to and fro: less than a cache line.
const MESSAGE: u32 = 32;
/// Messages of an exchange of many each way.
const BURST: u32 = 16;
/// How long a thread sleeps, ns.
const SLEEP_NS: u64 = 20_000;
/// How long a thread of SCHED_IDLE computes at a time, work ns.
const BESIDE_NS: u64 = 1_000_000;
/// Linux's default send buffer, and what a message is charged besides its bytes, as in the built-in workloads.
const SNDBUF: u32 = 212_992;
const OVERHEAD: u32 = 668;
/// Pages of a pipe.
const SLOTS: u32 = 16;

/// Something that is measured: an operation, repeated.
#[derive(Clone, Debug)]
pub struct Trial {
    /// A short name, unique in the design.
    pub name: String,
    /// How it is carried out.
    pub how: How,
    /// The rows that it gives, one for each series of the workload, or one for a probe.
    pub rows: Vec<RowInfo>,
}

/// A figure of a trial: time per operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowInfo {
    /// Its name in tables.
    pub name: String,
    /// Whether it is a whole that parts make up: it is predicted from the other rows, as a check.
    pub is_whole: bool,
}

/// How a trial is carried out.
#[derive(Clone, Debug)]
pub enum How {
    /// A workload, played and simulated.
    Workload(Play),
    /// Code that measures a figure itself.
    Probe(Probe, Param),
}

/// A workload of any length.
#[derive(Clone, Debug, Default)]
pub struct Play {
    threads: Vec<Thread>,
    objects: Vec<Object>,
    /// Operations in a batch, where more do not fit into a buffer; `None`: as many as make a batch long enough.
    pub batch: Option<u64>,
    /// Steps of programs that an operation takes, one after the other, by series: what interpreting them costs is taken off.
    pub steps: Vec<u64>,
    /// Time of an operation in which nothing is paid, ns: it is taken off, here and in the simulation.
    pub pause_ns: u64,
    /// Whether its CPUs fall idle in between.
    pub idles: bool,
    /// Whether what it measures are ticks: of nothing else it has any.
    pub ticks: bool,
    /// The one idle state that they may fall into; `None`: whichever.
    pub choice: Option<Choice>,
}

/// A thread of a workload.
#[derive(Clone, Debug)]
struct Thread {
    name: &'static str,
    policy: Policy,
    cpu: CpuId,
    /// Threads of one process have one number.
    process: u32,
    role: Role,
}

#[derive(Clone, Debug)]
enum Role {
    /// Does each of these in turn, a batch at a time, and measures it: a series each.
    Measures(Vec<Vec<Op>>),
    /// Does this as often as the first thread does an operation.
    Follows(Vec<Op>),
    /// Does this for ever.
    Beside(Vec<Op>),
    /// Is created by another, does this, and ends.
    Child(Vec<Op>),
}

/// The CPUs that are measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// Where all happens that needs one CPU.
    pub here: CpuId,
    /// For each distance that occurs from there, a CPU.
    pub there: Vec<(Distance, CpuId)>,
}

impl Places {
    /// Among the CPUs `allowed`: the first of the greatest capacity, and for each distance the first CPU of equal capacity, or
    /// of another if there is none. `None` without a CPU.
    pub fn choose(machine: &Machine, allowed: &CpuMask) -> Option<Places> {
        let capacity = |cpu: CpuId| machine.cpus.get(cpu as usize).map_or(0, |cpu| cpu.capacity);
        let known = || allowed.iter().filter(|cpu| (*cpu as usize) < machine.nr_cpus());
        let most = known().map(capacity).max()?;
        let here = known().find(|cpu| capacity(*cpu) == most)?;
        let mut there = Vec::new();
        for distance in Distance::ALL.into_iter().filter(|distance| *distance != Distance::Same) {
            let at = |cpu: &CpuId| machine.distance(here, *cpu) == distance;
            let equal = known().filter(at).find(|cpu| capacity(*cpu) == most);
            there.extend(equal.or_else(|| known().find(at)).map(|cpu| (distance, cpu)));
        }
        Some(Places { here, there })
    }
}

fn attr(policy: Policy) -> SchedAttr {
    SchedAttr { policy, ..SchedAttr::default() }
}

impl Play {
    /// The workload that measures `batches` batches of `n` operations, after two batches that are not measured.
    pub fn workload(&self, name: &str, batches: u64, n: u64) -> Workload {
        let all = (batches + 2) * n;
        let stamp = self.objects.len() as u32;
        let mut objects = self.objects.clone();
        objects.push(Object::Stamp);
        let series = self.steps.len();
        let task = |thread: &Thread| TaskSpec {
            attr: attr(thread.policy),
            affinity: Some(CpuMask::single(thread.cpu)),
            timer_slack_ns: 0,
            daemon: matches!(thread.role, Role::Beside(_)),
            ..TaskSpec::new(thread.name, 0, thread.role.program(batches, n, all, stamp))
        };
        let starts = self.threads.iter().enumerate().filter(|(_, thread)| !matches!(thread.role, Role::Child(_)));
        let start = |(spec, thread): (usize, &Thread)| Start {
            spec: spec as u32,
            count: 1,
            cpu: thread.cpu,
            process: thread.process,
        };
        Workload {
            objects,
            tasks: self.threads.iter().map(task).collect(),
            start: starts.map(start).collect(),
            series: (0..series).map(batch_series).collect(),
            ..Workload::empty(name)
        }
    }
}

fn batch_series(i: usize) -> Series {
    Series {
        name: format!("batch{i}"),
        meaning: "time of a batch of operations".into(),
        tick_ns: 1,
        unit: TimeUnit::Us,
        mean: true,
        permilles: vec![500],
        deadlines: Vec::new(),
    }
}

impl Role {
    fn program(&self, batches: u64, n: u64, all: u64, stamp: u32) -> Arc<[Op]> {
        let mut p = ProgramBuilder::new();
        match self {
            Role::Measures(parts) => {
                let round = |p: &mut ProgramBuilder| {
                    for (i, body) in parts.iter().enumerate() {
                        p.op(Op::Stamp(stamp));
                        p.repeat(Some(n), |p| put(p, body));
                        p.op(Op::Sample { since: Since::Stamp(stamp), to: Report::Series(i as u32) });
                    }
                };
                p.repeat(Some(2), |p| round(p));
                p.op(Op::Mark(Mark::Begin));
                p.repeat(Some(batches), |p| round(p));
                p.op(Op::Mark(Mark::End));
            }
            Role::Follows(body) => _ = p.repeat(Some(all), |p| put(p, body)),
            Role::Beside(body) => _ = p.repeat(None, |p| put(p, body)),
            Role::Child(body) => put(&mut p, body),
        }
        p.build()
    }
}

fn put(p: &mut ProgramBuilder, body: &[Op]) {
    body.iter().for_each(|op| _ = p.op(op.clone()));
}

/// A thread that computes on this CPU whenever nobody else does.
fn beside(cpu: CpuId) -> Thread {
    let role = Role::Beside(vec![Op::Run(Amount::fixed(BESIDE_NS))]);
    Thread { name: "beside", policy: Policy::Idle, cpu, process: 0, role }
}

/// How two threads pass the turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Channel {
    Pipe,
    Socket,
    Semaphore,
}

impl Channel {
    fn name(self) -> &'static str {
        match self {
            Channel::Pipe => "pipe",
            Channel::Socket => "socket",
            Channel::Semaphore => "semaphore",
        }
    }

    fn object(self) -> Object {
        match self {
            Channel::Pipe => Object::Pipe { slots: SLOTS },
            Channel::Socket => Object::Socket { sndbuf: SNDBUF, overhead: OVERHEAD },
            Channel::Semaphore => Object::Semaphore { value: 0 },
        }
    }

    /// Messages have `bytes`.
    fn pass(self, id: u32, bytes: u32) -> Op {
        match self {
            Channel::Pipe => Op::PipeWrite { pipe: id, bytes },
            Channel::Socket => Op::SockSend { sock: id, bytes },
            Channel::Semaphore => Op::SemPost(id),
        }
    }

    fn take(self, id: u32, bytes: u32) -> Op {
        match self {
            Channel::Pipe => Op::PipeRead { pipe: id, bytes },
            Channel::Socket => Op::SockRecv { sock: id, bytes },
            Channel::Semaphore => Op::SemWait(id),
        }
    }
}

/// Trials as they are collected.
struct Design {
    here: CpuId,
    trials: Vec<Trial>,
}

impl Design {
    fn add(&mut self, name: &str, how: How, rows: &[&str], is_whole: bool) {
        let rows = rows.iter().map(|row| RowInfo { name: (*row).into(), is_whole }).collect();
        self.trials.push(Trial { name: name.into(), how, rows });
    }

    /// One thread that does each of `parts` in turn; each is a row.
    fn alone(&mut self, name: &str, objects: Vec<Object>, batch: Option<u64>, parts: Vec<(&str, Vec<Op>)>) {
        let steps = parts.iter().map(|(_, body)| body.len() as u64 + 1).collect();
        let (rows, bodies): (Vec<&str>, Vec<Vec<Op>>) = parts.into_iter().unzip();
        let first =
            Thread { name: "first", policy: Policy::Batch, cpu: self.here, process: 0, role: Role::Measures(bodies) };
        let how = How::Workload(Play { threads: vec![first], objects, batch, steps, ..Play::default() });
        self.add(name, how, &rows, false);
    }

    /// Two threads in turns: an operation is what both do, of which each has `steps`.
    fn pair(&mut self, name: &str, objects: Vec<Object>, threads: Vec<Thread>, steps: u64, is_whole: bool) {
        let how = How::Workload(Play { threads, objects, steps: vec![steps], ..Play::default() });
        self.add(name, how, &[name], is_whole);
    }

    /// Messages to and fro between this CPU and `other`.
    fn ping_pong(
        &mut self,
        name: &str,
        channel: Channel,
        other: CpuId,
        processes: bool,
        is_beside: bool,
        is_whole: bool,
    ) {
        let there = u32::from(processes);
        let thread = |name, cpu, process, role| Thread { name, policy: Policy::Batch, cpu, process, role };
        let mut threads = vec![
            thread(
                "first",
                self.here,
                0,
                Role::Measures(vec![vec![channel.pass(0, MESSAGE), channel.take(1, MESSAGE)]]),
            ),
            thread("second", other, there, Role::Follows(vec![channel.take(0, MESSAGE), channel.pass(1, MESSAGE)])),
        ];
        if is_beside {
            threads.extend([self.here, other].map(beside));
        }
        self.pair(name, vec![channel.object(), channel.object()], threads, 6, is_whole);
        if let Some(Trial { how: How::Workload(play), .. }) = self.trials.last_mut() {
            play.idles = other != self.here && !is_beside;
        }
    }

    /// [`BURST`] messages to `other` and as many back, CPUs busy. Who waits, waits for a semaphore: at each moment one thread goes on.
    fn burst(&mut self, name: &str, channel: Channel, other: CpuId, bytes: u32) {
        let messages = |op: Op| std::iter::repeat_n(op, BURST as usize);
        let (here, there) = (0, 1);
        let (turn_there, turn_here) = (2, 3);
        let first = messages(channel.pass(there, bytes))
            .chain([Op::SemPost(turn_there), Op::SemWait(turn_here)])
            .chain(messages(channel.take(here, bytes)));
        let second = std::iter::once(Op::SemWait(turn_there))
            .chain(messages(channel.take(there, bytes)))
            .chain(messages(channel.pass(here, bytes)))
            .chain([Op::SemPost(turn_here)]);
        let steps = 2 * (2 * u64::from(BURST) + 3);
        let thread = |name, cpu, role| Thread { name, policy: Policy::Batch, cpu, process: 0, role };
        let mut threads = vec![
            thread("first", self.here, Role::Measures(vec![first.collect()])),
            thread("second", other, Role::Follows(second.collect())),
        ];
        threads.extend([self.here, other].map(beside));
        let objects = [channel, channel, Channel::Semaphore, Channel::Semaphore].map(Channel::object);
        self.pair(name, objects.to_vec(), threads, steps, false);
    }

    /// What system calls cost that nobody waits for.
    fn calls(&mut self) {
        for bytes in [MESSAGE, 1024, 4096] {
            // Messages smaller than a page share pages, as far as they go into one whole.
            let batch = u64::from(SLOTS * (4096 / bytes) * 3 / 4).min(192);
            let (write, read) = (format!("pipe write, {bytes} B"), format!("pipe read, {bytes} B"));
            let parts = vec![
                (&*write, vec![Op::PipeWrite { pipe: 0, bytes }]),
                (&*read, vec![Op::PipeRead { pipe: 0, bytes }]),
            ];
            self.alone(&format!("own pipe, {bytes} B"), vec![Channel::Pipe.object()], Some(batch), parts);
        }
        for bytes in [MESSAGE, 1024, 4096] {
            let batch = u64::from(SNDBUF / 2 / (bytes + 4 * OVERHEAD)).min(32);
            let (send, receive) = (format!("socket send, {bytes} B"), format!("socket receive, {bytes} B"));
            let parts = vec![
                (&*send, vec![Op::SockSend { sock: 0, bytes }]),
                (&*receive, vec![Op::SockRecv { sock: 0, bytes }]),
            ];
            self.alone(&format!("own socket, {bytes} B"), vec![Channel::Socket.object()], Some(batch), parts);
        }
        let futex = || vec![Object::Futex { value: 0 }];
        let wake = vec![Op::FutexWake { futex: 0, count: 1 }];
        self.alone("futex wake, nobody waits", futex(), None, vec![("futex wake, nobody waits", wake)]);
        let wait = vec![Op::FutexWait { futex: 0, expected: 1 }];
        self.alone("futex wait, another value", futex(), None, vec![("futex wait, another value", wait)]);
        let lock = vec![Op::Lock(0), Op::Unlock(0)];
        self.alone("mutex, uncontended", vec![Object::Mutex], None, vec![("mutex, uncontended", lock)]);
        let semaphore = vec![Op::SemPost(0), Op::SemWait(0)];
        let row = "semaphore, uncontended";
        self.alone(row, vec![Object::Semaphore { value: 0 }], None, vec![(row, semaphore)]);
        self.alone("yield, alone", Vec::new(), None, vec![("yield, alone", vec![Op::Yield])]);
    }

    /// Threads and processes that come and go.
    fn births(&mut self) {
        let children = [
            ("process: fork, exit, wait", false, vec![]),
            ("process: fork, exec, exit, wait", false, vec![Op::Exec]),
            ("thread: create, exit, join", true, vec![]),
        ];
        for (name, thread, child) in children {
            let body = vec![Op::Spawn { spec: 1, count: 1, thread }, Op::WaitChildren];
            let batch_thread = |name, role| Thread { name, policy: Policy::Batch, cpu: self.here, process: 0, role };
            let threads =
                vec![batch_thread("first", Role::Measures(vec![body])), batch_thread("child", Role::Child(child))];
            self.pair(name, Vec::new(), threads, 3, false);
        }
    }

    /// Two threads on this CPU.
    fn turns(&mut self) {
        for (name, processes) in [("yield to a thread", false), ("yield to a process", true)] {
            let batch_thread =
                |name, process, role| Thread { name, policy: Policy::Batch, cpu: self.here, process, role };
            let threads = vec![
                batch_thread("first", 0, Role::Measures(vec![vec![Op::Yield]])),
                batch_thread("second", u32::from(processes), Role::Beside(vec![Op::Yield])),
            ];
            self.pair(name, Vec::new(), threads, 4, false);
        }
        for channel in [Channel::Pipe, Channel::Socket, Channel::Semaphore] {
            let name = format!("{} ping-pong, threads", channel.name());
            self.ping_pong(&name, channel, self.here, false, false, channel == Channel::Pipe);
        }
        self.ping_pong("pipe ping-pong, processes", Channel::Pipe, self.here, true, false, true);
    }

    /// Sleeps, beside a thread that computes and alone; alone also into each idle state of the CPU, if these are known.
    fn sleeps(&mut self, states: Option<&[IdleState]>) {
        let mut sleeps = vec![("sleep beyond its time, CPU busy".to_owned(), SLEEP_NS, true)];
        sleeps.extend(states.map(|_| ("sleep beyond its time, CPU idle".to_owned(), SLEEP_NS, false)));
        for state in states.into_iter().flatten().skip(1) {
            // A third longer than it takes to get there.
            let sleep_ns = state.target_residency_ns / 3 * 4;
            sleeps.push((format!("sleep of {} us beyond its time, CPU idle", sleep_ns / 1000), sleep_ns, false));
        }
        for (name, sleep_ns, is_beside) in sleeps {
            self.sleep(&name, sleep_ns, is_beside, None);
        }
    }

    fn sleep(&mut self, name: &str, sleep_ns: u64, is_beside: bool, choice: Option<Choice>) {
        let body = vec![Op::Sleep(Amount::fixed(sleep_ns))];
        let role = Role::Measures(vec![body]);
        let mut threads = vec![Thread { name: "first", policy: Policy::Batch, cpu: self.here, process: 0, role }];
        threads.extend(is_beside.then(|| beside(self.here)));
        let play = Play { threads, steps: vec![2], pause_ns: sleep_ns, idles: !is_beside, choice, ..Play::default() };
        self.add(name, How::Workload(play), &[name], false);
    }

    /// Sleeps into one idle state, and messages to CPUs that are in it.
    fn one_state(&mut self, machine: &Machine, there: &[(Distance, CpuId)], choice: &Choice) {
        let state = &machine.cpu_types[choice.cpu_type].idle_states[choice.state];
        let sleep_ns = (state.target_residency_ns / 3 * 4).max(SLEEP_NS);
        let name = format!("sleep of {} us beyond its time, CPU idle in {}", sleep_ns / 1000, state.name);
        let alone = Choice { cpus: vec![self.here], ..choice.clone() };
        self.sleep(&name, sleep_ns, false, Some(alone));
        // A wake during the entry waits for its end, of which the file has no more than an estimate: no messages to deep states.
        if state.target_residency_ns > SLEEP_NS {
            return;
        }
        for (distance, other) in there.iter().filter(|(_, other)| choice.cpus.contains(other)) {
            for channel in [Channel::Pipe, Channel::Semaphore, Channel::Socket] {
                let (how, far, name) = (channel.name(), distance.name(), &state.name);
                let name = format!("{how} ping-pong, {far}, CPUs idle in {name}");
                self.ping_pong(&name, channel, *other, false, false, false);
                if let Some(Trial { how: How::Workload(play), .. }) = self.trials.last_mut() {
                    play.choice = Some(Choice { cpus: vec![self.here, *other], ..choice.clone() });
                }
            }
        }
    }

    /// Two threads on CPUs at this distance.
    fn across(&mut self, distance: Distance, other: CpuId, alone: bool) {
        let far = distance.name();
        for channel in [Channel::Pipe, Channel::Semaphore, Channel::Socket] {
            let is_whole = channel == Channel::Pipe;
            let name = format!("{} ping-pong, {far}, CPUs busy", channel.name());
            self.ping_pong(&name, channel, other, false, true, is_whole);
            if alone {
                let name = format!("{} ping-pong, {far}, CPUs idle", channel.name());
                self.ping_pong(&name, channel, other, false, false, is_whole);
            }
        }
        for channel in [Channel::Pipe, Channel::Socket] {
            for bytes in [MESSAGE, 4096] {
                let name = format!("{BURST} messages of {bytes} B each way, {}, {far}", channel.name());
                self.burst(&name, channel, other, bytes);
            }
        }
        let (from, to) = (other, self.here);
        let probes = [
            ("line to own", Probe::LineOwned { from, to }, Param::Line(distance)),
            ("line to read", Probe::LineRead { from, to }, Param::LineRead(distance)),
        ];
        for (what, probe, param) in probes {
            let name = format!("{what}, {far}");
            self.add(&name, How::Probe(probe, param), &[&name], false);
        }
    }

    /// Footprints that come from elsewhere.
    fn refills(&mut self, machine: &Machine, caches: &Caches, there: &[(Distance, CpuId)]) {
        let here = self.here;
        let levels: Vec<usize> = caches.for_cpu(here).collect();
        let Some(nearest) = levels.first().map(|index| caches.all[*index].size_kib) else { return };
        for pair in levels.windows(2) {
            let (inner, outer) = (&caches.all[pair[0]], &caches.all[pair[1]]);
            // Larger than what is nearer, and no more than half of what it is to come from.
            let kib = inner.size_kib.saturating_mul(4).min(outer.size_kib / 2);
            let param = Param::Cache(pair[1]);
            if kib > inner.size_kib && !param.path(machine).is_empty() {
                let name = format!("refill from the cache of CPUs {}", outer.cpus);
                self.add(&name, How::Probe(Probe::Walk { cpu: here, kib }, param), &[&name], false);
            }
        }
        let largest = levels.last().map_or(nearest, |index| caches.all[*index].size_kib);
        let name = "refill from memory";
        let walk = Probe::Walk { cpu: here, kib: largest.saturating_mul(2) };
        self.add(name, How::Probe(walk, Param::Memory(Distance::Node)), &[name], false);
        for (distance, other) in there {
            let name = format!("refill of a migrated task, {}", distance.name());
            let modified_permille = (caches.modified * 1000.0).round() as u32;
            let moved = Probe::Moved { from: *other, to: here, kib: nearest / 4, modified_permille };
            self.add(&name, How::Probe(moved, Param::Refill(*distance)), &[&name], false);
        }
    }
}

/// The trials for these places of a machine, with these idle states one at a time.
pub fn design(machine: &Machine, places: &Places, choices: &[Choice]) -> Vec<Trial> {
    let mut design = Design { here: places.here, trials: Vec::new() };
    let by_itself = |cpu: CpuId| idles_by_itself(machine.type_of(cpu));
    design.add("system call", How::Probe(Probe::Call { cpu: places.here }, call()), &["system call"], false);
    design.calls();
    design.turns();
    design.births();
    design.sleeps(by_itself(places.here).then(|| machine.idle_states(places.here)));
    for (distance, other) in &places.there {
        design.across(*distance, *other, by_itself(places.here) && by_itself(*other));
    }
    for choice in choices {
        design.one_state(machine, &places.there, choice);
    }
    if let Some(caches) = &machine.caches {
        design.refills(machine, caches, &places.there);
    }
    design.trials
}

/// Time between two ticks of a simulated CPU, ns.
pub(crate) const TICK_NS: u64 = 10_000_000;

/// A thread that computes, and what each tick makes it take longer: to be simulated only, as `tick.rs` sees ticks itself.
pub(crate) fn tick(here: CpuId) -> Trial {
    let mut design = Design { here, trials: Vec::new() };
    let role = Role::Measures(vec![vec![Op::Run(Amount::fixed(TICK_NS))]]);
    let first = Thread { name: "first", policy: Policy::Batch, cpu: here, process: 0, role };
    let play = Play { threads: vec![first], steps: vec![1], pause_ns: TICK_NS, ticks: true, ..Play::default() };
    let name = "tick of a busy CPU";
    design.add(name, How::Workload(play), &[name], false);
    design.trials.remove(0)
}

/// Steps of a round of the second series of [`interpreter`].
pub(crate) const EMPTY_STEPS: u64 = 8;

/// A workload whose first series is batches of nothing, the second batches of `n` rounds of eight steps that do nothing:
/// what the clock, and each step of a program, cost where a program is interpreted. It is not to be simulated.
pub(crate) fn interpreter(here: CpuId, batches: u64, n: u64) -> Workload {
    let play = Play { steps: vec![0, 0], ..Play::default() };
    let mut p = ProgramBuilder::new();
    p.op(Op::Mark(Mark::Begin));
    p.repeat(Some(batches), |p| {
        p.op(Op::Stamp(0));
        p.op(Op::Sample { since: Since::Stamp(0), to: Report::Series(0) });
        p.op(Op::Stamp(0));
        p.repeat(Some(n), |p| {
            for _ in 0..EMPTY_STEPS - 1 {
                p.repeat(Some(0), |_| ());
            }
        });
        p.op(Op::Sample { since: Since::Stamp(0), to: Report::Series(1) });
    });
    p.op(Op::Mark(Mark::End));
    let mut workload = play.workload("steps", batches, n);
    let (attr, affinity) = (attr(Policy::Batch), Some(CpuMask::single(here)));
    workload.tasks = vec![TaskSpec { attr, affinity, ..TaskSpec::new("first", 0, p.build()) }];
    workload.start = vec![Start { spec: 0, count: 1, cpu: here, process: 0 }];
    workload
}

fn call() -> Param {
    Param::Soft(fairground_machine::SoftCost::Syscall)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials_here(machine: &Machine) -> Vec<Trial> {
        design(machine, &Places::choose(machine, &machine.all_cpus()).unwrap(), &[])
    }

    #[test]
    fn every_workload_of_every_preset_is_one_that_runs() {
        for name in fairground_machine::presets() {
            let machine = Machine::preset(name).unwrap();
            for trial in trials_here(&machine) {
                if let How::Workload(play) = &trial.how {
                    let workload = play.workload(&trial.name, 3, play.batch.unwrap_or(5));
                    workload.validate(&machine).unwrap_or_else(|e| panic!("{name}, {}: {e}", trial.name));
                    assert_eq!(workload.series.len(), trial.rows.len(), "{}", trial.name);
                }
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let trials = trials_here(&Machine::preset("kunpeng920").unwrap());
        let mut names: Vec<&str> = trials.iter().flat_map(|trial| &trial.rows).map(|row| &*row.name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn places_are_of_the_strongest_kind_and_within_what_is_allowed() {
        let machine = Machine::preset("hikey960").unwrap();
        let choose = |cpus: &str| Places::choose(&machine, &CpuMask::parse_list(cpus).unwrap());
        let all = choose("0-7").unwrap();
        assert_eq!((all.here, all.there[0]), (4, (Distance::Llc, 5)));
        assert_eq!(choose("2-3").unwrap(), Places { here: 2, there: vec![(Distance::Llc, 3)] });
        assert_eq!(choose("6").unwrap(), Places { here: 6, there: vec![] });
        assert_eq!(choose("900"), None, "a CPU that the machine has not");
    }

    /// With several idle states and a governor, what wakes CPUs from them is left out.
    #[test]
    fn idle_cpus_are_measured_where_no_governor_chooses() {
        let idle = |machine: &Machine| trials_here(machine).iter().filter(|trial| trial.name.ends_with("idle")).count();
        let mut machine = Machine::symmetric(2);
        assert_eq!(idle(&machine), 4, "a sleep, and three kinds of messages");
        let target_residency_ns = 300_000;
        let deeper =
            IdleState { name: "deep".into(), target_residency_ns, ..machine.cpu_types[0].idle_states[0].clone() };
        machine.cpu_types[0].idle_states.push(deeper);
        assert_eq!(idle(&machine), 0);
        machine.cpu_types[0].cpuidle = false;
        assert_eq!(idle(&machine), 5);
        assert!(trials_here(&machine).iter().any(|trial| trial.name == "sleep of 400 us beyond its time, CPU idle"));
    }
}
