//! Executes workloads for real: what the simulator runs in virtual time, on this machine, with its kernel.
//!
//! A [`Player`] checks a workload and measures how fast this machine works; [`Player::round`] then carries it out once.
//! Threads are threads and processes are processes; each step of a program ([`fairground_workload::Op`]) is the call
//! that it stands for: pipes, AF_UNIX sockets, futexes, the C library's mutexes, condition variables, barriers and
//! semaphores, `clock_nanosleep`, `sched_setattr`, `sched_setaffinity`. Amounts with jitter are drawn by the functions of
//! the simulator ([`fairground_sim::program_amount`]), so that the same seed gives a thread the same amounts. Marks and samples
//! become the same [`RunMetrics`], from which the same code computes the workload's own figures.
//!
//! What the workload states in units of the simulator means here:
//!
//! - *Work ns* are time of a loop on a CPU at full speed, calibrated as the least of many rounds. On a machine with CPUs
//!   of several types the caller names a CPU of the fastest.
//! - A *footprint* is memory that belongs to the thread. Each burst of work reads its lines, as part of the work: all, or as
//!   many as fit into the burst. It only reads; which share of its lines a thread modifies, no workload says. A thread that
//!   never computes has none beyond what its calls touch.
//! - Threads of the start are created in their order, those of one process together, each on its CPU, and let go at once.
//! - A thread that wakes up early from a condition variable, as the standard allows, goes on.
//! - *exec* is an execve of the calling program, which has to call [`go_on_after_exec`] for that.
//! - A *task group* is a cgroup that the caller has made ([`Surroundings`]): a process of the group joins it as it begins.
//!
//! [`tool_round`] runs the tool that a built-in repeats instead, e.g. `perf bench sched pipe`, or rt-app.
//!
//! Nothing survives a round: see `runner.rs`. What cannot be played is refused before anything runs ([`Refusal`]).

mod calibrate;
mod exec;
mod interp;
mod refuse;
mod runner;
mod shared;
mod sys;
mod tool;
mod world;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use fairground_machine::{CpuId, CpuMask};
use fairground_sim::{ops_per_sec, Meters, RunMetrics};
use fairground_workload::{Op, Workload};
use thiserror::Error;

use shared::{end, fault, Shared};
use world::{Lacking, NoObject, World};

pub use calibrate::Calibration;
pub use exec::go_on_after_exec;
pub use refuse::{check, Refusal};
pub use sys::{affinity, set_affinity, CpuTimes};
pub use tool::{command_line, round as tool_round, ToolError};

/// Why a round has no result.
#[derive(Debug, Error)]
pub enum RoundError {
    /// An object could not be made.
    #[error("{workload}: cannot make {what}: {cause}")]
    Object {
        /// Name of the workload.
        workload: String,
        /// What it is, with its name.
        what: String,
        /// The system's reason.
        cause: io::Error,
    },
    /// It needs more descriptors than a process may have.
    #[error("{workload} needs {needed} descriptors; a process may have {limit} (RLIMIT_NOFILE, ulimit -Hn)")]
    Descriptors {
        /// Name of the workload.
        workload: String,
        /// Number of descriptors of its pipes and sockets.
        needed: u64,
        /// The most that RLIMIT_NOFILE may be raised to.
        limit: u64,
    },
    /// A CPU could not be calibrated.
    #[error("cannot measure the speed of CPU {cpu}: {cause}")]
    Calibration {
        /// The CPU.
        cpu: CpuId,
        /// The system's reason.
        cause: io::Error,
    },
    /// A step, or the creation of a thread, failed.
    #[error("{workload}: {what}")]
    Failed {
        /// Name of the workload.
        workload: String,
        /// Where it failed, and why.
        what: String,
    },
    /// The processes of the round could not be supervised.
    #[error("the round could not be carried out: {0}")]
    Supervisor(io::Error),
}

/// How a round ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its threads came to their end, or its duration was over.
    Complete,
    /// The time limit was reached: what was left was ended.
    TimedOut,
    /// The user interrupted it.
    Interrupted,
}

/// What happened in a round.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// Seed of its draws.
    pub seed: u64,
    /// Whether it came to its own end.
    pub ended: Ended,
    /// Marks and samples as the simulator reports them; fields that only a simulator can measure are 0. Without
    /// meaning unless the round is complete.
    pub metrics: RunMetrics,
    /// From the start until the last thread that counts has exited, or until it was ended, ns.
    pub wall_ns: u64,
    /// CPU time of all its processes from their creation on, ns.
    pub cpu_ns: u64,
    /// Their voluntary switches.
    pub voluntary_switches: u64,
    /// Their involuntary switches.
    pub involuntary_switches: u64,
    /// Their migrations from the start on; `None` if they were not counted.
    pub migrations: Option<u64>,
    /// Threads that were created.
    pub threads: u64,
    /// Samples that found no room.
    pub lost_samples: u64,
    /// Share of all CPUs' time that a hypervisor took for others, percent; `None` if unknown.
    pub steal_pct: Option<f64>,
    /// Share of all CPUs' time in which others than this workload ran, percent, of a resolution of a tick; `None` if unknown.
    pub others_pct: Option<f64>,
}

/// How a round is carried out.
#[derive(Clone, Copy, Debug)]
pub struct RoundOptions {
    /// Seed of all draws.
    pub seed: u64,
    /// Time after which it is ended.
    pub limit: Duration,
    /// Count migrations, which makes each switch dearer.
    pub count_migrations: bool,
}

/// What a workload finds on this machine beside CPUs; nothing by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Whether its processes have a session of their own, which is what autogroup goes by.
    pub own_session: bool,
    /// For each task group of the workload, by its index, the files `cgroup.procs` of the cgroups that it stands for, one of each
    /// hierarchy. The caller makes and removes the cgroups; threads of a process move together, so a process has one group.
    pub groups: Vec<Vec<PathBuf>>,
}

/// Descriptors that a process has besides those of the workload, generously.
const OTHER_DESCRIPTORS: u64 = 64;

/// A workload that can be played here.
pub struct Player {
    workload: Arc<Workload>,
    cpus: CpuMask,
    calibration: Arc<Calibration>,
    surroundings: Surroundings,
}

/// Why a workload cannot be played.
#[derive(Debug, Error)]
pub enum CannotPlay {
    /// It is refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The machine does not give what is needed.
    #[error(transparent)]
    Round(#[from] RoundError),
}

impl Player {
    /// Checks that `workload` can be played on `cpus`, all of which the calling thread may use, and measures the speed of
    /// one of them, `fastest`. `yes`: also if it is dangerous.
    ///
    /// # Errors
    /// What keeps it from being played.
    pub fn new(workload: Workload, cpus: &CpuMask, fastest: CpuId, yes: bool) -> Result<Player, CannotPlay> {
        Player::within(workload, cpus, fastest, yes, Surroundings::default())
    }

    /// As [`Self::new`], with a session and cgroups of the caller's choice.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn within(
        workload: Workload,
        cpus: &CpuMask,
        fastest: CpuId,
        yes: bool,
        surroundings: Surroundings,
    ) -> Result<Player, CannotPlay> {
        refuse::check(&workload, cpus, yes, surroundings.groups.len())?;
        let computes = |op: &Op| matches!(op, Op::Run(_));
        let working = workload.tasks.iter().filter(|task| task.footprint_kib > 0 && task.program.iter().any(computes));
        let sizes: std::collections::BTreeSet<u32> = working.map(|task| task.footprint_kib).collect();
        let measured = Calibration::measure(fastest, sizes);
        let calibration = measured.map_err(|cause| RoundError::Calibration { cpu: fastest, cause })?;
        Ok(Player { workload: Arc::new(workload), cpus: *cpus, calibration: Arc::new(calibration), surroundings })
    }

    /// How fast the machine works.
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// The workload.
    pub fn workload(&self) -> &Workload {
        &self.workload
    }

    /// Carries the workload out once. As `stop` becomes true the round is ended. No process of it is left afterwards.
    ///
    /// # Errors
    /// If an object cannot be made, a step fails, or a process dies.
    pub fn round(&self, options: &RoundOptions, stop: &AtomicBool) -> Result<Round, RoundError> {
        self.raise_descriptor_limit()?;
        let (workload, calibration) = (Arc::clone(&self.workload), Arc::clone(&self.calibration));
        let world = World::new(workload, options.seed, self.cpus, calibration, &self.surroundings);
        let world = world.map_err(|e| self.no_object(e))?;
        let limit_ns = options.limit.as_nanos().min(u64::MAX.into()) as u64;
        let before = sys::CpuTimes::read();
        let world = runner::round(Box::new(world), limit_ns, options.count_migrations, stop);
        let world = world.map_err(RoundError::Supervisor)?;
        self.result(&world.shared, options.seed, before)
    }

    fn no_object(&self, NoObject { what, cause }: NoObject) -> RoundError {
        let what = match what {
            Lacking::Object(id) => {
                format!("{} {}", self.workload.objects[id as usize].kind(), self.workload.object_label(id))
            }
            Lacking::Memory => "the memory that its processes share".into(),
            Lacking::Group(path) => format!("members of the cgroup of {}", path.display()),
        };
        RoundError::Object { workload: self.workload.name.clone(), what, cause }
    }

    fn raise_descriptor_limit(&self) -> Result<(), RoundError> {
        use fairground_workload::Object;
        let channels =
            self.workload.objects.iter().filter(|o| matches!(o, Object::Pipe { .. } | Object::Socket { .. }));
        let groups: usize = self.surroundings.groups.iter().map(Vec::len).sum();
        let needed = 2 * channels.count() as u64 + groups as u64 + OTHER_DESCRIPTORS;
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `limit` is ours.
        unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
        if limit.rlim_cur >= needed {
            return Ok(());
        }
        if limit.rlim_max < needed {
            let workload = self.workload.name.clone();
            return Err(RoundError::Descriptors { workload, needed, limit: limit.rlim_max });
        }
        limit.rlim_cur = needed;
        // SAFETY: `limit` lives through the call.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
        Ok(())
    }

    fn result(&self, shared: &Shared, seed: u64, before: Option<sys::CpuTimes>) -> Result<Round, RoundError> {
        let c = shared.control();
        let ended = match c.end.load(Ordering::Acquire) {
            end::COMPLETE => Ended::Complete,
            end::TIMED_OUT => Ended::TimedOut,
            end::INTERRUPTED => Ended::Interrupted,
            _ => return Err(self.failure(shared)),
        };
        let [started, ended_at] = [&c.started_at, &c.ended_at].map(|at| at.load(Ordering::Acquire));
        let counted = c.counts_migrations.load(Ordering::Acquire) == 1;
        let (metrics, lost_samples) = self.metrics(shared, counted);
        let wall_ns = ended_at.saturating_sub(started);
        let cpu_ns = c.cpu_us.load(Ordering::Acquire) * 1000;
        let [steal_pct, others_pct] = sys::CpuTimes::shares(before, cpu_ns);
        Ok(Round {
            seed,
            ended,
            metrics,
            wall_ns,
            cpu_ns,
            voluntary_switches: c.voluntary.load(Ordering::Acquire),
            involuntary_switches: c.involuntary.load(Ordering::Acquire),
            migrations: counted.then(|| c.migrations.load(Ordering::Acquire)),
            threads: c.next_record.load(Ordering::Acquire).into(),
            lost_samples,
            steal_pct,
            others_pct,
        })
    }

    /// The measured window: from the begin mark, else the warm-up, to the last end mark, else the end of the round.
    fn metrics(&self, shared: &Shared, counted: bool) -> (RunMetrics, u64) {
        let c = shared.control();
        let load = |word: &std::sync::atomic::AtomicU64| word.load(Ordering::Acquire);
        let (begin, marked) = (load(&c.begin_at), load(&c.end_at) > 0);
        let (end, all_ops, all_migrations) = if marked {
            (load(&c.end_at), load(&c.end_ops), load(&c.end_migrations))
        } else {
            (load(&c.ended_at), shared.all_ops(), load(&c.last_migrations))
        };
        // A window that never began has nothing in it, and is as long as the round.
        let (from, begin_ops) = if begin > 0 { (begin, load(&c.begin_ops)) } else { (load(&c.started_at), all_ops) };
        let window_ns = end.saturating_sub(from);
        let ops = all_ops.saturating_sub(begin_ops);
        let steady = load(&c.steady_ops);
        let (since_ops, since_migrations) = match steady {
            u64::MAX => (begin_ops, load(&c.begin_migrations)),
            ops => (ops, load(&c.steady_migrations)),
        };
        let steady_ops = all_ops.saturating_sub(since_ops);
        let per_op = all_migrations.saturating_sub(since_migrations) as f64 / steady_ops.max(1) as f64;
        let mut meters = Meters::new(0);
        let mut lost = 0;
        for (i, series) in self.workload.series.iter().enumerate() {
            let (values, more) = shared.logged(i);
            lost += more;
            values.into_iter().for_each(|ticks| meters.report(i as u32, ticks, &series.deadlines));
        }
        if let fairground_workload::Score::Points(points) = &self.workload.score {
            let phases: usize = points.sections.iter().map(|section| section.phases.len()).sum();
            for phase in 0..phases {
                let (values, more) = shared.logged(self.workload.series.len() + phase);
                lost += more;
                values.into_iter().for_each(|ns| meters.report_phase(phase as u32, ns));
            }
        }
        let metrics = RunMetrics {
            end_ns: load(&c.ended_at).saturating_sub(load(&c.started_at)),
            window_ns,
            ops,
            ops_per_sec: ops_per_sec(ops, window_ns),
            migrations_per_op: (counted && steady_ops > 0).then_some(per_op),
            series: meters.series,
            late: meters.late,
            phase_rates: meters.phase_rates,
            ..RunMetrics::default()
        };
        (metrics, lost)
    }

    fn failure(&self, shared: &Shared) -> RoundError {
        let c = shared.control();
        let (number, spec) = (c.fault_number.load(Ordering::Acquire), c.fault_spec.load(Ordering::Acquire));
        let step = || refuse::step_label(&self.workload, spec, c.fault_op.load(Ordering::Acquire));
        let error = io::Error::from_raw_os_error(number);
        let what = match c.fault.load(Ordering::Acquire) {
            fault::STEP => format!("{}: {error}", step()),
            fault::TOO_MANY => format!("more than {} threads", fairground_workload::MAX_TASKS),
            fault::KILLED => format!("a process died of signal {number}"),
            fault::GONE => "its processes have ended, and threads are left that do not count as ended".into(),
            _ => format!("its processes could not be created: {error}"),
        };
        RoundError::Failed { workload: self.workload.name.clone(), what }
    }
}
