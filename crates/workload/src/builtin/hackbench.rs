//! `hackbench` and `perf bench sched messaging`: groups of senders and receivers, every sender to every receiver.
//!
//! Structure after hackbench.c of rt-tests 0.84 and tools/perf/bench/sched-messaging.c, Linux 6.12: a group has as many
//! channels as receivers; main makes the receivers of a group, then its senders, group by group. Every worker reports
//! that it is ready and polls one shared descriptor; main writes a byte to it, which wakes all of them. A sender writes
//! one message to each channel in turn, so all senders of a group sweep its channels in phase; a receiver reads all
//! that come for it. Main waits for every worker.

use std::sync::Arc;

use fairground_machine::CpuId;

use super::{parts, Builtin};
use crate::error::WorkloadError;
use crate::options::{OptionInfo, OptionKind, Options};
use crate::program::*;
use crate::validate::{Problem, MAX_TASKS};

const MEASURES: &str =
    "Groups of 20 senders and 20 receivers; each sender writes each of its rounds one message of 100 bytes to every\n\
    receiver of its group. Reports the seconds from the start signal until the last worker is reaped, as the tool\n\
    prints them; creating the workers is not counted, their exit is. It shows what placement does under overload:\n\
    fork placement of 40 tasks a group, wakeups of receivers and blocked senders (all sync), and load balance.";

const MISLEADS: &str =
    "Everything is communication: a scheduler that stacks readers on writers wins by cache warmth and by not waking\n\
    anybody. A sender blocks when some 277 messages (sockets) or 640 (pipes) of one channel are unread, and a socket\n\
    lets it go on only when three quarters of these are read: work comes in bursts. Kept: the order of creation, the\n\
    thundering start, the sweep in phase, capacities and release of the channels, the price of a message by the\n\
    distance of the CPUs that touched it. Simplified: threads are joined all at once, processes one by one as\n\
    there; no memory allocator, no page faults. With `scale=1/N` a run does one Nth of the rounds and the time is\n\
    printed N times as long: right once rounds dominate start and exit.";

pub(super) const HACKBENCH: Builtin = Builtin {
    name: "hackbench",
    title: "hackbench: groups of senders and receivers over sockets or pipes",
    measures: MEASURES,
    misleads: MISLEADS,
    options: HACKBENCH_OPTIONS,
    build: hackbench,
};

pub(super) const MESSAGING: Builtin = Builtin {
    name: "messaging",
    title: "perf bench sched messaging: hackbench as perf has it",
    measures: MEASURES,
    misleads: MISLEADS,
    options: MESSAGING_OPTIONS,
    build: messaging,
};

const fn option(name: &'static str, kind: OptionKind, default: &'static str, meaning: &'static str) -> OptionInfo {
    OptionInfo { name, kind, default, meaning, excludes: None }
}

const GROUPS: OptionInfo = option("groups", OptionKind::Int { min: 1, max: 4096 }, "10", "groups (-g)");
const LOOPS: OptionInfo =
    option("loops", OptionKind::Int { min: 1, max: 1_000_000_000 }, "100", "rounds of each sender (-l)");
const PIPE: OptionInfo = option("pipe", OptionKind::Flag, "", "pipes instead of AF_UNIX stream sockets (-p)");
const SCALE: OptionInfo =
    option("scale", OptionKind::Part { max: 1_000_000 }, "1", "part of the rounds to run; the time is multiplied");
const THREADS: &str = "workers are threads of one process; processes otherwise";

const HACKBENCH_OPTIONS: &[OptionInfo] = &[
    GROUPS,
    LOOPS,
    option("bytes", OptionKind::Int { min: 1, max: 4096 }, "100", "size of a message (-s)"),
    option("fds", OptionKind::Int { min: 1, max: 1000 }, "20", "senders, and receivers, of a group (-f)"),
    PIPE,
    option("threads", OptionKind::Flag, "", THREADS),
    SCALE,
    parts::START_CPU,
];

const MESSAGING_OPTIONS: &[OptionInfo] =
    &[GROUPS, LOOPS, PIPE, option("threads", OptionKind::Flag, "", THREADS), SCALE, parts::START_CPU];

/// perf's messages and groups are hackbench's defaults, and cannot be set.
const DEFAULT_BYTES: u32 = 100;
const DEFAULT_FDS: u32 = 20;

/// What a migrated worker must refill, KiB; an estimate, as sched-pipe's 3 to 4 KiB plus the message and the array of
/// its descriptors. The channels' own lines are paid for message by message.
const FOOTPRINT_KIB: u32 = 5;

/// Bytes of the reports and the start signal.
const DUMMY_BYTES: u32 = 1;

const READY: ObjId = 0;
const GO: ObjId = 1;
const CHANNELS: ObjId = 2;
const MAIN: SpecId = 0;

/// Whether hackbench with these options does what perf's copy of it does.
pub(super) fn is_as_messaging(options: &Options) -> bool {
    options.int("bytes") == DEFAULT_BYTES.into() && options.int("fds") == DEFAULT_FDS.into()
}

fn hackbench(options: &Options) -> Result<Workload, WorkloadError> {
    build(options, HACKBENCH_OPTIONS, options.int("bytes") as u32, options.int("fds") as u32)
}

fn messaging(options: &Options) -> Result<Workload, WorkloadError> {
    build(options, MESSAGING_OPTIONS, DEFAULT_BYTES, DEFAULT_FDS)
}

fn build(options: &Options, table: &'static [OptionInfo], bytes: u32, fds: u32) -> Result<Workload, WorkloadError> {
    let (loops, parts) = (options.int("loops") as u64, options.int("scale") as u64);
    if loops % parts != 0 {
        return Err(options.refuse(table, "scale", format!("{loops} loops have no whole {parts}th part")));
    }
    let shape = Shape {
        groups: options.int("groups") as u32,
        loops: loops / parts,
        bytes,
        fds,
        pipe: options.is_given("pipe"),
        threads: options.is_given("threads"),
    };
    shape.check(options)?;
    let objects = CHANNELS + shape.groups * fds;
    Ok(Workload {
        objects: (0..objects).map(|_| if shape.pipe { parts::PIPE } else { parts::SOCKET }).collect(),
        tasks: shape.tasks(options.name()),
        start: vec![Start { spec: MAIN, count: 1, cpu: options.int("start-cpu") as CpuId, process: 0 }],
        score: Score::Elapsed { parts: parts as u32 },
        ..parts::blank(options)
    })
}

/// What the options come to.
struct Shape {
    groups: u32,
    loops: u64,
    bytes: u32,
    fds: u32,
    pipe: bool,
    threads: bool,
}

impl Shape {
    /// Before a template is made of every receiver: far too many would not fit the memory.
    fn check(&self, options: &Options) -> Result<(), WorkloadError> {
        match 1 + self.workers() {
            tasks if tasks > MAX_TASKS => Err(Problem::TooManyTasks { tasks }.into_error(options.full_name())),
            _ => Ok(()),
        }
    }

    fn workers(&self) -> u64 {
        2 * u64::from(self.groups) * u64::from(self.fds)
    }

    /// Main, then group by group the receivers, one template each, and the template of all senders.
    fn tasks(&self, name: &str) -> Vec<TaskSpec> {
        let task = |role: &str, program| TaskSpec::new(&format!("{name}{role}"), FOOTPRINT_KIB, program);
        let mut tasks = vec![task("", self.main())];
        for group in 0..self.groups {
            let first = CHANNELS + group * self.fds;
            tasks.extend((first..first + self.fds).map(|channel| task("-recv", self.receiver(channel))));
            tasks.push(task("-send", self.sender(first)));
        }
        tasks
    }

    fn main(&self) -> Arc<[Op]> {
        let mut p = ProgramBuilder::new();
        for group in 0..self.groups {
            let first = 1 + group * (self.fds + 1);
            for spec in first..first + self.fds {
                p.op(Op::Spawn { spec, count: 1, thread: self.threads });
            }
            p.op(Op::Spawn { spec: first + self.fds, count: self.fds, thread: self.threads });
        }
        let workers = Some(self.workers());
        p.repeat(workers, |p| {
            p.op(self.read(READY, DUMMY_BYTES));
        });
        p.op(Op::Mark(Mark::Begin));
        p.op(self.write(GO, DUMMY_BYTES));
        if self.threads {
            p.op(Op::WaitChildren);
        } else {
            p.repeat(workers, |p| {
                p.op(Op::WaitChild);
            });
        }
        p.op(Op::Mark(Mark::End));
        p.build()
    }

    fn sender(&self, first: ObjId) -> Arc<[Op]> {
        let mut p = self.worker();
        p.repeat(Some(self.loops), |p| {
            for channel in first..first + self.fds {
                p.op(self.write(channel, self.bytes));
            }
        });
        p.build()
    }

    fn receiver(&self, channel: ObjId) -> Arc<[Op]> {
        let mut p = self.worker();
        p.repeat(Some(self.loops * u64::from(self.fds)), |p| {
            p.op(self.read(channel, self.bytes));
        });
        p.build()
    }

    /// Says that it is ready and awaits the start.
    fn worker(&self) -> ProgramBuilder {
        let mut p = ProgramBuilder::new();
        p.op(self.write(READY, DUMMY_BYTES));
        p.op(Op::Poll(GO));
        p
    }

    fn write(&self, channel: ObjId, bytes: u32) -> Op {
        match self.pipe {
            true => Op::PipeWrite { pipe: channel, bytes },
            false => Op::SockSend { sock: channel, bytes },
        }
    }

    fn read(&self, channel: ObjId, bytes: u32) -> Op {
        match self.pipe {
            true => Op::PipeRead { pipe: channel, bytes },
            false => Op::SockRecv { sock: channel, bytes },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::small_machine;

    fn find(spec: &str) -> Workload {
        Workload::find(spec, &small_machine(2)).unwrap().0
    }

    #[test]
    fn a_group_has_a_channel_per_receiver_and_every_sender_sweeps_them_in_order() {
        let w = find("hackbench:groups=2,loops=7,fds=3");
        // Main; then three receivers and the senders of each group.
        assert_eq!((w.tasks.len(), w.objects.len()), (1 + 2 * 4, 2 + 2 * 3));
        let send = |sock| Op::SockSend { sock, bytes: 100 };
        let sender = [
            Op::SockSend { sock: READY, bytes: 1 },
            Op::Poll(GO),
            Op::Loop { times: Some(7), end: 7 },
            send(5),
            send(6),
            send(7),
            Op::EndLoop { begin: 2 },
        ];
        assert_eq!(*w.tasks[8].program, sender);
        let receiver = [
            Op::SockSend { sock: READY, bytes: 1 },
            Op::Poll(GO),
            Op::Loop { times: Some(21), end: 5 },
            Op::SockRecv { sock: 6, bytes: 100 },
            Op::EndLoop { begin: 2 },
        ];
        assert_eq!(*w.tasks[6].program, receiver);
        assert!(w.objects.iter().all(|o| *o == parts::SOCKET));
    }

    #[test]
    fn main_makes_receivers_before_senders_and_reaps_as_many() {
        let w = find("hackbench:groups=1,loops=1,fds=2,threads,pipe");
        let spawn = |spec, count| Op::Spawn { spec, count, thread: true };
        let main = [
            spawn(1, 1),
            spawn(2, 1),
            spawn(3, 2),
            Op::Loop { times: Some(4), end: 6 },
            Op::PipeRead { pipe: READY, bytes: 1 },
            Op::EndLoop { begin: 3 },
            Op::Mark(Mark::Begin),
            Op::PipeWrite { pipe: GO, bytes: 1 },
            Op::WaitChildren,
            Op::Mark(Mark::End),
        ];
        assert_eq!(*w.tasks[0].program, main);
        let processes = find("hackbench:groups=1,loops=1,fds=2");
        assert!(processes.tasks[0].program.contains(&Op::WaitChild));
    }

    #[test]
    fn a_part_of_the_rounds_says_how_many_there_are() {
        let w = find("hackbench:groups=1,loops=1000,scale=1/20");
        assert_eq!(w.score, Score::Elapsed { parts: 20 });
        assert!(w.tasks[21].program.contains(&Op::Loop { times: Some(50), end: 24 }));
        let error = Workload::find("hackbench:loops=10,scale=1/20", &small_machine(2)).unwrap_err();
        assert!(error.to_string().contains("10 loops have no whole 20th part"), "{error}");
    }

    #[test]
    fn more_workers_than_a_run_may_have_are_refused_before_they_are_made() {
        let error = Workload::find("hackbench:groups=4096,fds=1000", &small_machine(2)).unwrap_err();
        assert!(error.to_string().contains("8192001 threads, more than 1000000"), "{error}");
    }

    #[test]
    fn perf_s_own_is_the_same_with_its_defaults() {
        let (perf, tool) = (find("messaging:groups=3,loops=5"), find("hackbench:groups=3,loops=5"));
        let programs = |w: &Workload| w.tasks.iter().map(|t| t.program.clone()).collect::<Vec<_>>();
        assert_eq!(programs(&perf), programs(&tool));
        assert_eq!(perf.tasks[1].name, "messaging-recv");
    }
}
