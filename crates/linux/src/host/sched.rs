//! [`Linux`] as [`Scheduler`]: each call of the engine is a call of the kernel.
//!
//! SAFETY, for all calls of the kernel: it has booted (the engine calls nothing before that, and [`Linux::boot`] only
//! once), CPUs and tasks are those it was given, pointers last for the call, and there is one thread.

use std::ffi::c_char;

use fairground_fair::ffi::{
    FgFrequencyLimits, FgTask, FG_SCHED_BATCH, FG_SCHED_FIFO, FG_SCHED_IDLE, FG_SCHED_OTHER, FG_SCHED_RR,
};
use fairground_machine::{CpuId, CpuMask, SoftCost};
use fairground_sim::{
    Change, Config, Env, Governor, Hotplug, IdleView, Ipi, Pick, Rule, Scheduler, TaskId, TaskInfo, WakeContext,
};
use fairground_workload::{GroupClamp, Policy, SchedAttr, Workload};

use super::describe::Description;
use super::error::errno;
use super::{groups, Linux, LinuxError, Task};
use crate::abi::*;

/// Bits of `ks_attr.uclamp_set`.
const CLAMP_MIN: u32 = 1;
const CLAMP_MAX: u32 = 2;

impl Linux {
    fn call<R>(&self, env: &mut Env, f: impl FnOnce(&'static KsKernel) -> R) -> R {
        self.desk.call(env, false, || f(self.kernel.abi))
    }

    fn start(&mut self, env: &mut Env, workload: &Workload, config: &Config) -> Result<(), LinuxError> {
        if self.description.is_some() {
            return Err(LinuxError::Second);
        }
        if let Some((name, _)) = config.clamps.changed().next() {
            return Err(LinuxError::Sysctl(name));
        }
        self.kernel.fits(env.machine(), env.hz())?;
        if !workload.offline.is_empty() && self.kernel.abi.has_hotplug == 0 {
            return Err(LinuxError::NoHotplug(self.kernel.release()));
        }
        let schedutil = config.governor == Governor::Schedutil;
        let description = Box::leak(Description::new(env.machine(), schedutil, env.seed()));
        self.description = Some(description);
        let host = self.desk.open(env.machine().nr_cpus() as u32);
        let kernel = self.kernel.abi;
        self.groups = self.desk.call(env, true, || {
            // SAFETY: see above; host and description stay for ever.
            match unsafe { (kernel.boot)(host, description.machine()) } {
                0 => unsafe { groups::make(kernel, &workload.groups) },
                code => Err(LinuxError::Boot(code)),
            }
        })?;
        Ok(())
    }

    /// Attributes as the kernel takes them. What a task once clamped stays asked for.
    fn attr(&mut self, task: TaskId, attr: &SchedAttr) -> KsAttr {
        let rt = attr.policy.is_rt();
        let book = &mut self.tasks[task as usize];
        book.may_wait = rt || book.limited;
        book.clamps |= if attr.uclamp_min != 0 { CLAMP_MIN } else { 0 };
        book.clamps |= if attr.uclamp_max != 1024 { CLAMP_MAX } else { 0 };
        KsAttr {
            policy: match attr.policy {
                Policy::Other => FG_SCHED_OTHER,
                Policy::Batch => FG_SCHED_BATCH,
                Policy::Idle => FG_SCHED_IDLE,
                Policy::Fifo => FG_SCHED_FIFO,
                Policy::Rr => FG_SCHED_RR,
            },
            nice: attr.nice.into(),
            rt_prio: attr.rt_priority.into(),
            uclamp_min: attr.uclamp_min.into(),
            uclamp_max: attr.uclamp_max.into(),
            uclamp_set: book.clamps,
            slice: attr.slice_ns,
        }
    }

    fn birth(&mut self, cpu: CpuId, parent: Option<TaskId>, child: &TaskInfo) -> KsBirth {
        let group = child.group.and_then(|g| self.groups.get(g as usize));
        let limited = group.is_some_and(|g| g.limited);
        let group = group.map_or(0, |g| g.id);
        let at = child.id as usize;
        if self.tasks.len() <= at {
            self.tasks.resize(at + 1, Task::default());
        }
        self.tasks[at] = Task { is_live: true, limited, ..Task::default() };
        self.desk.born(child.id, cpu);
        KsBirth {
            task: child.id as i32,
            parent: parent.map_or(KS_NONE, |p| p as i32),
            kthread_cpu: child.kthread_cpu.map_or(KS_NONE, |c| c as i32),
            group,
            process: child.process.map_or(KS_NONE, |process| process as i32),
            pad: 0,
            attr: self.attr(child.id, &child.attr),
            allowed: child.affinity,
            comm: comm(&child.name),
        }
    }
}

/// A thread's name as the kernel keeps it: 15 bytes and a zero.
fn comm(name: &str) -> [c_char; 16] {
    let mut comm = [0; 16];
    comm.iter_mut().zip(name.bytes().take(15)).for_each(|(to, from)| *to = from as c_char);
    comm
}

impl Scheduler for Linux {
    fn boot(&mut self, env: &mut Env, workload: &Workload, config: &Config) -> Result<(), String> {
        self.start(env, workload, config).map_err(|e| e.full())
    }

    fn fork(&mut self, env: &mut Env, cpu: CpuId, parent: Option<TaskId>, child: &TaskInfo) {
        let birth = self.birth(cpu, parent, child);
        self.call(env, |k| unsafe { (k.fork)(cpu as i32, &birth) });
    }

    fn exec(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        self.call(env, |k| unsafe { (k.exec)(cpu as i32, task as i32) });
    }

    fn new_process(&mut self, env: &mut Env, cpu: CpuId, task: TaskId, process: u32) {
        self.call(env, |k| unsafe { (k.new_process)(cpu as i32, task as i32, process as i32) });
    }

    fn wake(&mut self, env: &mut Env, ctx: WakeContext, task: TaskId) {
        let waker = ctx.waker.map_or(KS_NONE, |w| w as i32);
        self.call(env, |k| unsafe { (k.wake)(ctx.cpu as i32, waker, task as i32, ctx.sync.into()) });
    }

    fn block(&mut self, env: &mut Env, cpu: CpuId, _task: TaskId) {
        self.call(env, |k| unsafe { (k.block)(cpu as i32) });
    }

    fn exit(&mut self, env: &mut Env, cpu: CpuId, task: TaskId) {
        self.tasks[task as usize].is_live = false;
        self.call(env, |k| unsafe { (k.exit)(cpu as i32) });
    }

    fn yield_now(&mut self, env: &mut Env, cpu: CpuId, _task: TaskId) {
        self.call(env, |k| unsafe { (k.yield_now)(cpu as i32) });
    }

    fn change(&mut self, env: &mut Env, cpu: CpuId, task: TaskId, change: &Change) {
        let (cpu, id) = (cpu as i32, task as i32);
        let (what, code) = match change {
            Change::Attr(attr) => {
                let attr = self.attr(task, attr);
                ("attributes", self.call(env, |k| unsafe { (k.set_attr)(cpu, id, &attr) }))
            }
            Change::Affinity(mask) => {
                let words = std::ptr::from_ref(mask).cast();
                ("CPUs", self.call(env, |k| unsafe { (k.set_allowed)(cpu, id, words) }))
            }
        };
        if code < 0 {
            self.desk.die(&format!("the kernel refuses new {what} of task {task}: {}", errno(code)));
        }
    }

    /// The kernel's own handler of the file, which changes tasks that are queued at once.
    fn change_group(&mut self, env: &mut Env, _cpu: CpuId, new: &GroupClamp) {
        let written = match self.groups.get(new.group as usize) {
            Some(group) => self.call(env, |k| unsafe { groups::write_clamp(k, group, new) }),
            None => self.desk.die(&format!("there is not a task group path {}", new.group)),
        };
        if let Err(error) = written {
            self.desk.die(&error.full());
        }
    }

    fn has_hotplug(&self) -> bool {
        true
    }

    fn hotplug(&mut self, env: &mut Env, cpu: CpuId, step: Hotplug) {
        let (step, what) = match step {
            Hotplug::Deactivate => (KS_HOTPLUG_DEACTIVATE, "go offline"),
            Hotplug::Dead => (KS_HOTPLUG_DEAD, "go offline"),
            Hotplug::Activate => (KS_HOTPLUG_ACTIVATE, "come online"),
        };
        let code = self.call(env, |k| unsafe { (k.hotplug)(cpu as i32, step) });
        if code < 0 {
            self.desk.die(&format!("the kernel does not let CPU {cpu} {what}: {}", errno(code)));
        }
    }

    fn schedule(&mut self, env: &mut Env, cpu: CpuId) -> Pick {
        match self.call(env, |k| unsafe { (k.schedule)(cpu as i32) }) {
            KS_PICK_IDLE => Pick::Idle,
            KS_PICK_STOPPER => Pick::Stopper,
            task => match TaskId::try_from(task) {
                Ok(task) => Pick::Task(task),
                Err(_) => self.desk.die(&format!("CPU {cpu} picked {task}, which is neither a task nor idle")),
            },
        }
    }

    fn stopper(&mut self, env: &mut Env, cpu: CpuId) {
        self.call(env, |k| unsafe { (k.stopper)(cpu as i32) });
    }

    fn tick(&mut self, env: &mut Env, cpu: CpuId) {
        self.call(env, |k| unsafe { (k.tick)(cpu as i32) });
    }

    fn ipi(&mut self, env: &mut Env, cpu: CpuId, ipi: Ipi) {
        let kind = match ipi {
            Ipi::Resched => KS_IPI_RESCHED,
            Ipi::WakeQueue => KS_IPI_WAKE,
            Ipi::NohzKick | Ipi::Hrtick | Ipi::Unthrottle => KS_IPI_CALL,
        };
        self.call(env, |k| unsafe { (k.ipi)(cpu as i32, kind) });
    }

    fn timer(&mut self, env: &mut Env, cpu: CpuId) {
        self.call(env, |k| unsafe { (k.timer)(cpu as i32) });
    }

    fn balance(&mut self, env: &mut Env, cpu: CpuId) {
        env.charge(cpu, SoftCost::Balance, 1);
        self.call(env, |k| unsafe { (k.softirq)(cpu as i32) });
    }

    fn idle_enter(&mut self, env: &mut Env, cpu: CpuId, state: IdleView) {
        let (index, latency, residency) = (state.index.into(), state.exit_latency_ns, state.target_residency_ns);
        self.call(env, |k| unsafe { (k.idle_enter)(cpu as i32, index, latency, residency) });
    }

    fn idle_exit(&mut self, env: &mut Env, cpu: CpuId) {
        self.call(env, |k| unsafe { (k.idle_exit)(cpu as i32) });
    }

    fn tick_stopped(&mut self, env: &mut Env, cpu: CpuId, stopped: bool) {
        self.call(env, |k| unsafe { (k.tick_stopped)(cpu as i32, stopped.into()) });
    }

    fn frequency_limits(&mut self, env: &mut Env, cpus: &CpuMask) {
        for cpu in cpus.iter() {
            let limits = env.cpu(cpu).limits;
            let limits = FgFrequencyLimits {
                top: env.machine().max_khz(cpu),
                hardware: limits.hardware_khz,
                cooling: limits.cooling_khz,
                policy: limits.policy_khz,
            };
            self.call(env, |k| unsafe { (k.frequency_limits)(cpu as i32, &limits) });
        }
    }

    fn frequency_changed(&mut self, env: &mut Env, cpus: &CpuMask) {
        for cpu in cpus.iter() {
            let scale = env.cpu(cpu).freq_scale;
            self.call(env, |k| unsafe { (k.freq_scale)(cpu as i32, scale) });
        }
    }

    fn may_hold_back(&self, task: TaskId) -> bool {
        self.tasks.get(task as usize).is_some_and(|t| t.may_wait)
    }

    fn rule(&self, rule: u16) -> Rule<'_> {
        self.rules.get(rule as usize).copied().unwrap_or(Rule::named("?"))
    }

    fn pick_rule(&self, rule: u16) -> Rule<'_> {
        self.pick_rules.get(rule as usize).copied().unwrap_or(Rule::named("?"))
    }

    fn note_text(&self, note: u16) -> &str {
        self.desk.watch.borrow().as_ref().map_or("", |watcher| watcher.note_text(note))
    }

    fn has_own_rules(&self) -> bool {
        false
    }

    fn notes(&self) -> Vec<String> {
        let built = format!("linux: {}, HZ {}", self.kernel.release(), self.kernel.hz());
        let said = self.desk.lines().into_iter().map(|line| format!("kernel says: {line}"));
        std::iter::once(built).chain(self.notes.iter().cloned()).chain(said).collect()
    }

    /// Checks that tasks are on the CPUs that were reported.
    fn audit(&self, env: &Env) -> Result<(), String> {
        let mut seen = FgTask::zeroed();
        for (task, _) in self.tasks.iter().enumerate().filter(|(_, t)| t.is_live) {
            let reported = self.desk.cpu_of(task as TaskId);
            self.desk.read(env, |kernel| kernel.task(task as TaskId, &mut seen));
            if seen.cpu != reported as i32 {
                return Err(format!(
                    "task {task} is on CPU {} in the kernel, and was reported on CPU {reported}",
                    seen.cpu
                ));
            }
        }
        Ok(())
    }
}
