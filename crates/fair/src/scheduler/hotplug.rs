//! CPUs that go offline and come back (sched_cpu_deactivate, sched_cpu_dying, sched_cpu_activate).
//!
//! DEVIATION: up to v5.10 a CPU that goes offline moves all of its tasks at once (migrate_tasks). Here each is pushed
//! away as it is picked, as since v5.11, under every preset.

use fairground_machine::{CpuId, CpuMask};
use fairground_sim::{Env, Hotplug, MigrateCause, TaskId};
use fairground_workload::Workload;

use super::host::StopWork;
use crate::ffi::*;
use crate::topology::Topology;
use crate::world::is_rt;
use crate::Fair;

/// The CPUs that are online, and the one that is about to go.
#[derive(Debug)]
pub(crate) struct Online {
    cpus: CpuMask,
    /// It pushes away what it picks (balance_push).
    leaving: Option<CpuId>,
}

impl Online {
    pub fn all(nr_cpus: usize) -> Online {
        Online { cpus: CpuMask::first_n(nr_cpus), leaving: None }
    }
}

impl Fair {
    /// What cannot be served together with CPUs that go offline.
    pub(crate) fn refuse_hotplug(&self, workload: &Workload) -> Result<(), String> {
        let refuse = |what: &str| Err(format!("CPUs go offline: {what}"));
        if workload.offline.is_empty() {
            return Ok(());
        }
        if self.options.isolated != CpuMask::EMPTY || !self.options.partitions.is_empty() {
            return refuse("not modelled with partitions and isolated CPUs");
        }
        if self.queues.world.nr_groups() > 0 {
            return refuse("not modelled with task groups that have weights or quotas: choose a linux: scheduler");
        }
        if self.features.on(FG_SCHED_CACHE) && self.sim.topology.has_many_llcs() {
            return refuse("not modelled with cache-aware scheduling, choose a preset before v7.2");
        }
        Ok(())
    }

    pub(crate) fn change_online(&mut self, env: &mut Env, cpu: usize, step: Hotplug) {
        let id = CpuMask::single(cpu as CpuId);
        let active = self.queues.world.sys().active;
        self.clock(env, cpu);
        match step {
            Hotplug::Deactivate => {
                self.queues.world.nohz_balance_exit_idle(cpu);
                self.online.leaving = Some(cpu as CpuId);
                self.rebuild_domains(env, &active.minus(&id));
                if self.queues.world.curr(cpu).is_some() {
                    self.queues.resched(&mut self.sim.on(env), cpu);
                }
            }
            Hotplug::Dead => {
                self.queues.world.server_stop(cpu);
                self.online.cpus = self.online.cpus.minus(&id);
                self.online.leaving = None;
                self.queues.world.set_online(env.machine(), &self.online.cpus);
            }
            Hotplug::Activate => {
                self.online.cpus = self.online.cpus.or(&id);
                self.queues.world.set_online(env.machine(), &self.online.cpus);
                self.rebuild_domains(env, &active.or(&id));
            }
        }
    }

    /// set_cpu_active, and partition_sched_domains, which attaches the run queues to new root domains; that scales the
    /// tunables (update_sysctl).
    fn rebuild_domains(&mut self, env: &Env, active: &CpuMask) {
        let built = Topology::of_online(env.machine(), &self.features, &self.options, active, &self.online.cpus);
        // The machine was accepted with all of its CPUs online, and nothing overlaps that did not then.
        let Ok(topology) = built else { return };
        let world = &mut self.queues.world;
        world.set_active(env.machine(), active);
        world.sys_mut().scaled_offline = world.sys().nr_offline;
        world.rebuild(env.machine(), &topology, env.jiffies());
        self.sim.topology = topology;
    }

    /// balance_push: the stopper takes away what was picked.
    pub(crate) fn push_off(&mut self, env: &mut Env, cpu: usize, task: TaskId) {
        if self.online.leaving == Some(cpu as CpuId) {
            self.sim.ask_stopper(env, cpu, StopWork::Vacate { task });
        }
    }

    /// __balance_push_cpu_stop
    pub(crate) fn vacate(&mut self, env: &mut Env, cpu: usize, task: TaskId) {
        let p = self.queues.world.task(task);
        if p.on_rq != 0 && p.cpu as usize == cpu && self.queues.world.curr(cpu) != Some(task) {
            let dest = self.fall_back(env, task);
            self.clock(env, cpu);
            self.queues.move_queued(&mut self.sim.on(env), task, dest, MigrateCause::Affinity);
        }
    }

    /// select_fallback_rq: the first active CPU that the task may use, those of its CPU's node first; it may use all CPUs
    /// from now on if it may use none of the active ones.
    fn fall_back(&mut self, env: &mut Env, task: TaskId) -> CpuId {
        let (p, active) = (self.queues.world.task(task), self.queues.world.sys().active);
        let (prev, usable) = (p.cpu as CpuId, p.allowed.and(&active));
        let node = env.machine().nodes[env.machine().cpus[prev as usize].node as usize];
        let near = usable.and(&node).first().or(usable.first());
        near.unwrap_or_else(|| {
            self.widen(env, task);
            active.first().unwrap_or(prev)
        })
    }

    /// What a placement has chosen, made sure of: an RT task's CPU may be offline, and a fair one's may be one that it may
    /// not use, if it may use no active one.
    pub(crate) fn make_sure(&mut self, env: &mut Env, task: TaskId, chosen: CpuId) -> (CpuId, bool) {
        let (p, active) = (self.queues.world.task(task), self.queues.world.sys().active);
        if p.allowed.test(chosen) && active.test(chosen) {
            return (chosen, false);
        }
        if is_rt(p) || !p.allowed.intersects(&active) {
            return (self.fall_back(env, task), true);
        }
        (chosen, false)
    }

    fn widen(&mut self, env: &mut Env, task: TaskId) {
        let all = CpuMask::first_n(self.queues.world.cpus.len());
        self.write_affinity(task, &all);
        env.widened(task);
    }
}
