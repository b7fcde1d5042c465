//! One run, of our scheduler or of the real kernel's.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use fairground_fair::ffi::{FgTask, FG_WF_TTWU};
use fairground_fair::{Fair, Features, Options};
use fairground_linux::abi::KsPlacement;
use fairground_linux::{die, Interests, Kernel, KernelObserver, Linux, Reader};
use fairground_machine::{CpuId, CpuMask, Machine};
use fairground_sim::{Config, Engine, Governor, Pick, Scheduler, TaskId, Time};
use fairground_workload::Workload;

use crate::seen::{Estimate, Seen};
use crate::wrong::{Meddled, Wrong};

/// Ours, of the release whose rules the scenarios state.
const OURS: &str = "fair:v6.12";

/// A kernel of that release, if one was built.
pub fn library() -> Option<PathBuf> {
    std::env::var_os("FAIRGROUND_LIBKSCHED").filter(|v| !v.is_empty()).map(PathBuf::from)
}

/// Whose scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    Ours,
    /// The kernel's of [`library`]: one run a process.
    Kernels,
}

/// The scheduler under test.
pub enum Subject {
    Fair(Box<Fair>),
    Linux(Box<Linux>),
}

impl Subject {
    pub fn sched(&mut self) -> &mut dyn Scheduler {
        match self {
            Subject::Fair(fair) => &mut **fair,
            Subject::Linux(linux) => &mut **linux,
        }
    }

    pub fn as_sched(&self) -> &dyn Scheduler {
        match self {
            Subject::Fair(fair) => &**fair,
            Subject::Linux(linux) => &**linux,
        }
    }
}

/// What is noted of tasks on the way, for who meddles and for who judges.
#[derive(Clone, Default)]
pub struct Tape(Rc<RefCell<Notes>>);

#[derive(Default)]
struct Notes {
    now: Time,
    busy: CpuMask,
    last: Vec<Option<CpuId>>,
    estimates: Vec<Estimate>,
}

impl Tape {
    /// CPUs that run somebody.
    pub fn busy(&self) -> CpuMask {
        self.0.borrow().busy
    }

    /// Where a task last ran.
    pub fn last(&self, task: TaskId) -> Option<CpuId> {
        self.0.borrow().last.get(task as usize).copied().flatten()
    }

    pub fn picked(&self, cpu: CpuId, pick: Pick) {
        let mut notes = self.0.borrow_mut();
        match pick {
            Pick::Task(task) => {
                let at = task as usize;
                let room = notes.last.len().max(at + 1);
                notes.last.resize(room, None);
                notes.last[at] = Some(cpu);
                notes.busy.set(cpu);
            }
            Pick::Idle => notes.busy.clear(cpu),
            Pick::Stopper => {}
        }
    }

    /// A task is sent to one of these: if that is a certain one, somebody will run there.
    pub fn sent(&self, cpus: &CpuMask) {
        if let (1, Some(cpu)) = (cpus.count(), cpus.first()) {
            self.0.borrow_mut().busy.set(cpu);
        }
    }

    /// A task is about to be placed.
    pub fn waking(&self, now: Time, subject: &Subject, task: TaskId) {
        self.0.borrow_mut().now = now;
        if let Subject::Fair(fair) = subject {
            self.estimate(fair.task(task));
        }
    }

    fn estimate(&self, p: &FgTask) {
        let mut notes = self.0.borrow_mut();
        let est = u64::from(p.est.enqueued.max(p.est.ewma));
        let new = Estimate { time: notes.now, task: p.id, util: p.avg.util_avg, est };
        notes.estimates.push(new);
    }
}

/// Reads the kernel's tasks when they wake up.
impl KernelObserver for Tape {
    fn interests(&self) -> Interests {
        Interests { placements: true, ..Interests::default() }
    }

    fn placing(&mut self, kernel: &Reader, placement: &KsPlacement) {
        if placement.wake_flags & FG_WF_TTWU != 0 {
            let mut p = FgTask::zeroed();
            kernel.task(placement.task as TaskId, &mut p);
            self.estimate(&FgTask { id: placement.task as TaskId, ..p });
        }
    }
}

fn subject(machine: &Arc<Machine>, whose: Whose, tape: &Tape) -> (Subject, u32) {
    match whose {
        Whose::Ours => {
            let features = Features::parse(OURS).unwrap();
            let fair = Fair::new(Arc::clone(machine), features, Options::default()).unwrap();
            (Subject::Fair(Box::new(fair)), Config::default().hz)
        }
        Whose::Kernels => {
            let kernel = Kernel::load(&library().unwrap()).unwrap();
            let hz = kernel.hz();
            let mut linux = Linux::new(kernel, die).unwrap();
            linux.watch(Box::new(tape.clone()));
            (Subject::Linux(Box::new(linux)), hz)
        }
    }
}

/// Runs `workload` with schedutil.
pub fn run(machine: Machine, workload: Workload, whose: Whose, wrong: Option<Wrong>) -> Seen {
    let (machine, tape) = (Arc::new(machine), Tape::default());
    let (inner, hz) = subject(&machine, whose, &tape);
    let meddled = Meddled { inner, wrong, tape: tape.clone() };
    let config = Config { hz, governor: Governor::Schedutil, start_phase: false, ..Config::default() };
    let mut seen = Seen::default();
    let mut engine = Engine::new(machine, Arc::new(workload), Box::new(meddled), config);
    engine.run(&mut [&mut seen]).unwrap_or_else(|e| panic!("{whose:?}, {wrong:?}: {e}"));
    seen.estimates = std::mem::take(&mut tape.0.borrow_mut().estimates);
    seen
}
