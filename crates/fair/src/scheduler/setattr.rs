//! Changes of a task: attributes and affinity, and the stopper's migrations.

use fairground_machine::{CpuId, CpuMask};
use fairground_sim::{Env, MigrateCause, TaskId};
use fairground_workload::{Policy, SchedAttr};

use super::host::StopWork;
use crate::ffi::*;
use crate::world::is_rt;
use crate::Fair;

impl Fair {
    /// Writes the attributes of a new task into the struct.
    pub(crate) fn write_attr(&mut self, task: TaskId, attr: &SchedAttr) {
        self.write_params(task, attr);
        self.queues.world.uclamp_request(task, 0, &FgClamps::zeroed());
        self.write_clamps(task, attr);
        self.queues.world.set_load_weight(task);
    }

    /// The attributes without what follows from them; the task is on no queue.
    fn write_params(&mut self, task: TaskId, attr: &SchedAttr) {
        let p = self.queues.world.task_mut(task);
        p.policy = match attr.policy {
            Policy::Other => FG_SCHED_OTHER,
            Policy::Batch => FG_SCHED_BATCH,
            Policy::Idle => FG_SCHED_IDLE,
            Policy::Fifo => FG_SCHED_FIFO,
            Policy::Rr => FG_SCHED_RR,
        } as u8;
        p.nice = i32::from(attr.nice);
        p.rt_prio = attr.rt_priority;
        p.custom_slice = attr.slice_ns;
    }

    /// A clamp counts as requested if it differs from the default; a clamp requested once stays requested.
    fn write_clamps(&mut self, task: TaskId, attr: &SchedAttr) {
        let want = FgClamps { min: u32::from(attr.uclamp_min), max: u32::from(attr.uclamp_max) };
        let mut asked = self.queues.world.task(task).flags & (FG_TASK_ASKED_MIN | FG_TASK_ASKED_MAX);
        asked |= if want.min > 0 { FG_TASK_ASKED_MIN } else { 0 };
        asked |= if want.max < FG_CAPACITY_SCALE { FG_TASK_ASKED_MAX } else { 0 };
        if asked != 0 {
            self.use_clamps();
        }
        self.queues.world.uclamp_request(task, asked, &want);
        self.update_clamps(task);
    }

    /// Writes the allowed CPUs, those of this machine, online or not.
    pub(crate) fn write_affinity(&mut self, task: TaskId, allowed: &CpuMask) {
        let allowed = allowed.and(&CpuMask::first_n(self.queues.world.cpus.len()));
        let p = self.queues.world.task_mut(task);
        p.allowed = allowed;
        p.nr_allowed = allowed.count() as u32;
        self.queues.world.set_max_allowed_capacity(task);
    }

    /// __sched_setscheduler: off the queue, changed, back on.
    ///
    /// DEVIATION: the averages of a task that is RT for a while stand still; the kernel lets them decay
    /// (switched_to_fair ages them), and gives a task born RT the load of its weight, which decays likewise.
    pub(crate) fn set_attr(&mut self, env: &mut Env, task: TaskId, attr: &SchedAttr) {
        let p = self.queues.world.task(task);
        let (cpu, was_rt) = (p.cpu as usize, is_rt(p));
        let running = self.queues.world.curr(cpu) == Some(task);
        self.clock(env, cpu);
        let leaves_fair = matches!(attr.policy, Policy::Fifo | Policy::Rr);
        if leaves_fair && self.queues.world.task(task).flags & FG_TASK_DELAYED != 0 {
            self.queues.update_curr(&mut self.sim.on(env), cpu);
            self.queues.dequeue_delayed(&mut self.sim.on(env), cpu, task, FG_DEQUEUE_CLASS);
        }
        let throttled = self.queues.forget_limbo(cpu, task);
        let queued = self.queues.world.task(task).on_rq != 0;
        if queued {
            // The averages of a task that stays fair stay in those of its queue.
            self.queues.dequeue(&mut self.sim.on(env), cpu, task, if leaves_fair { FG_DEQUEUE_MOVE } else { 0 });
        }
        if running {
            self.queues.put_prev(&mut self.sim.on(env), cpu);
        }
        self.write_params(task, attr);
        self.write_clamps(task, attr);
        match was_rt {
            true => self.queues.world.set_load_weight(task),
            false => self.queues.world.reweight_task(cpu, task),
        }
        self.states[task as usize].rr_ticks = 0;
        if !queued {
            self.switch_sleeper(cpu, task, was_rt);
            if !throttled || !self.queues.enqueue_unless_throttled(&mut self.sim.on(env), cpu, task) {
                return;
            }
        } else {
            self.queues.enqueue(&mut self.sim.on(env), cpu, task, 0);
        }
        if running && queued {
            self.set_next(cpu, task, was_rt);
            self.queues.resched(&mut self.sim.on(env), cpu);
        } else {
            self.queues.check_preempt(&mut self.sim.on(env), cpu, task, 0);
        }
        self.queues.request_frequency(&mut self.sim.on(env), cpu);
    }

    /// A sleeping task that becomes RT detaches its averages from the queue; one that becomes fair attaches them,
    /// unless it is migrating, and then its enqueue does that.
    fn switch_sleeper(&mut self, cpu: usize, task: TaskId, was_rt: bool) {
        let p = self.queues.world.task(task);
        let (to_rt, attached) = (!was_rt && is_rt(p), p.flags & (FG_TASK_MIGRATED | FG_TASK_NEW) == 0);
        let to_fair = was_rt && !is_rt(p);
        if to_rt && attached {
            self.queues.world.migrate_task(cpu, task);
        }
        if to_fair && !self.sim.pending[cpu].wake_list.iter().any(|w| w.task == task && w.migrated) {
            self.queues.world.switched_to_fair(cpu, task);
        }
    }

    fn set_next(&mut self, cpu: usize, task: TaskId, was_rt: bool) {
        if is_rt(self.queues.world.task(task)) {
            self.queues.world.set_next_rt(cpu, task, was_rt);
        } else {
            self.queues.set_next_fair(cpu, task, false);
        }
    }

    /// __set_cpus_allowed_ptr: sets the task's affinity and moves it off a CPU that it may not use any more.
    pub(crate) fn set_affinity(&mut self, env: &mut Env, task: TaskId, allowed: &CpuMask) {
        self.write_affinity(task, allowed);
        self.leave_forbidden(env, task);
    }

    /// Moves a runnable task off a CPU that it may not use any more: a running one by the stopper.
    pub(crate) fn leave_forbidden(&mut self, env: &mut Env, task: TaskId) {
        let p = self.queues.world.task(task);
        let (cpu, throttled) = (p.cpu as usize, p.flags & FG_TASK_THROTTLED != 0);
        if p.on_rq == 0 && !throttled || p.allowed.test(cpu as CpuId) {
            return;
        }
        let allowed = p.allowed.and(&self.queues.world.sys().active);
        let Some(dest) = self.distribute(&allowed) else { return };
        if throttled && self.queues.world.curr(cpu) != Some(task) {
            self.move_throttled(env, task, dest, MigrateCause::Affinity);
        } else if self.queues.world.curr(cpu) == Some(task) {
            self.sim.ask_stopper(env, cpu, StopWork::Move { task, dest, cause: MigrateCause::Affinity });
        } else {
            self.queues.move_queued(&mut self.sim.on(env), task, dest, MigrateCause::Affinity);
        }
    }

    /// A task that is on no queue because its group is throttled goes to another CPU, and onto the queue there if its group is not
    /// throttled on that.
    fn move_throttled(&mut self, env: &mut Env, task: TaskId, to: CpuId, cause: MigrateCause) {
        let from = self.queues.world.task(task).cpu as usize;
        self.clock(env, from);
        self.queues.forget_limbo(from, task);
        self.queues.world.migrate_task(from, task);
        self.queues.set_task_cpu(&mut self.sim.on(env), task, to, cause);
        self.clock(env, to as usize);
        if self.queues.enqueue_unless_throttled(&mut self.sim.on(env), to as usize, task) {
            self.queues.check_preempt(&mut self.sim.on(env), to as usize, task, 0);
        }
    }

    /// cpumask_any_and_distribute: the next CPU of `allowed` after the last one chosen here.
    fn distribute(&mut self, allowed: &CpuMask) -> Option<CpuId> {
        let last = &mut self.sim.pending[self.sim.here as usize].distribute_prev;
        let next = allowed.iter().find(|c| *c > *last).or(allowed.first())?;
        *last = next;
        Some(next)
    }

    /// Runs all works queued for the stopper.
    pub(crate) fn run_stopper(&mut self, env: &mut Env, cpu: usize) {
        let mut work = std::mem::take(&mut self.sim.pending[cpu].stop_work);
        self.queues.stop_stopper(cpu);
        for work in work.drain(..) {
            match work {
                StopWork::Move { task, dest, cause } => self.move_if_here(env, cpu, task, dest, cause),
                StopWork::Vacate { task } => self.vacate(env, cpu, task),
                StopWork::Push => drop(self.queues.push_task(&mut self.sim.on(env), cpu)),
            }
        }
        if self.sim.pending[cpu].stop_work.is_empty() {
            self.sim.pending[cpu].stop_work = work;
        }
    }

    /// migration_cpu_stop: moves the task to `dest` if it still waits on `cpu` and may run on `dest`.
    fn move_if_here(&mut self, env: &mut Env, cpu: usize, task: TaskId, dest: CpuId, cause: MigrateCause) {
        let p = self.queues.world.task(task);
        let throttled = p.flags & FG_TASK_THROTTLED != 0;
        let here = p.cpu as usize == cpu && self.queues.world.curr(cpu) != Some(task);
        let fits = dest as usize != cpu && p.allowed.test(dest) && self.queues.world.sys().active.test(dest);
        if here && throttled && fits {
            self.move_throttled(env, task, dest, cause);
        } else if here && p.on_rq != 0 && fits {
            self.queues.move_queued(&mut self.sim.on(env), task, dest, cause);
        }
    }
}
