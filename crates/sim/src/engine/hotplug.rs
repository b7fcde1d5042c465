//! CPUs that go offline and come back while threads run.
//!
//! ```text
//! span begins: deactivate (an interrupt)   threads leave, each as it is picked   the idle loop has nothing to do: die
//! span ends:   the CPU leaves its state    activate (an interrupt)               it idles, and takes threads
//! ```
//! One CPU after the other, as under the kernel's cpu_hotplug_lock. A CPU that is offline is in its deepest idle state.
//!
//! DEVIATION: who asks for it, the hotplug threads and stop_machine() take no time; a kernel takes milliseconds, in which
//! the CPU only does that. DEVIATION: timers move to the lowest CPU that is online, as since v6.9; before they move to the
//! CPU that asked.

use std::cmp::Reverse;
use std::collections::VecDeque;

use fairground_machine::{CpuId, CpuMask};
use fairground_workload::Cpusets;

use super::idle::Governor as IdleGovernorState;
use super::irq::Irq;
use super::queue::EngineEvent;
use super::{Engine, Governor};
use crate::{EventKind, Hotplug, SimError, TaskId, Time};

/// Which CPUs are offline, and which is about to be.
#[derive(Debug, Default)]
pub(super) struct HotplugState {
    /// Changes that wait for the present one: a CPU, and whether it comes online.
    due: VecDeque<(CpuId, bool)>,
    /// The CPU that goes offline or comes back.
    changing: Option<CpuId>,
    /// That CPU takes no threads any more.
    leaving: Option<CpuId>,
    offline: CpuMask,
}

impl HotplugState {
    pub(super) fn is_offline(&self, cpu: CpuId) -> bool {
        self.offline.test(cpu)
    }
}

impl Engine {
    /// What is not modelled with CPUs that go offline.
    pub(super) fn refuse_hotplug(&self) -> Result<(), SimError> {
        let refuse = |what: &str| Err(SimError::Refused { what: format!("CPUs go offline: {what}") });
        if self.workload.offline.is_empty() {
            return Ok(());
        }
        if !self.sched.has_hotplug() {
            return refuse("this scheduler cannot do that");
        }
        match self.config.governor {
            Governor::Schedutil => refuse("not modelled with schedutil, choose another governor"),
            Governor::Performance | Governor::Powersave | Governor::Userspace(_) => Ok(()),
        }
    }

    pub(super) fn arm_hotplug(&mut self) {
        for (i, span) in self.workload.offline.iter().enumerate() {
            let change = |online| EngineEvent::Hotplug { span: i as u32, online };
            self.queue.push(span.from_ns, change(false));
            span.to_ns.into_iter().for_each(|to| self.queue.push(to, change(true)));
        }
    }

    pub(super) fn hotplug_due(&mut self, span: u32, online: bool) {
        let cpus = self.workload.offline[span as usize].cpus;
        self.hotplug.due.extend(cpus.iter().map(|cpu| (cpu, online)));
        self.next_change();
    }

    /// Begins the next change, unless one is under way.
    fn next_change(&mut self) {
        if self.hotplug.changing.is_some() {
            return;
        }
        let Some((cpu, online)) = self.hotplug.due.pop_front() else { return };
        if !online && self.cpusets.online() == CpuMask::single(cpu) {
            let what = format!("CPU {cpu} is to go offline at {} ns, when no other is online", self.now);
            return self.fail(SimError::Program { workload: self.workload.name.clone(), what });
        }
        self.hotplug.changing = Some(cpu);
        self.deliver(cpu, Irq::Hotplug { online });
    }

    /// sched_cpu_deactivate: no thread comes to this CPU from now on, and those on it are to leave.
    pub(super) fn deactivate(&mut self, cpu: CpuId) {
        self.hotplug.leaving = Some(cpu);
        self.call(cpu, |s, e| s.hotplug(e, cpu, Hotplug::Deactivate));
        let online = self.cpusets.online().minus(&CpuMask::single(cpu));
        self.set_online(cpu, online);
    }

    /// Whether this CPU takes no threads any more, and is not offline yet.
    pub(super) fn is_leaving(&self, cpu: CpuId) -> bool {
        self.hotplug.leaving == Some(cpu)
    }

    /// Whether this CPU, which has nothing to do, goes offline now: unless something is on its way to it.
    pub(super) fn may_die(&self, cpu: CpuId) -> bool {
        let c = &self.cpus[cpu as usize];
        self.hotplug.leaving == Some(cpu) && c.nr_queued == 0 && c.ipis_in_flight == 0 && c.pending.is_empty()
    }

    /// Nothing is left on the CPU.
    pub(super) fn die(&mut self, cpu: CpuId) {
        self.call(cpu, |s, e| s.hotplug(e, cpu, Hotplug::Dead));
        // The stopper and the idle task have been switched to within that call.
        self.unflag(cpu);
        let c = &mut self.cpus[cpu as usize];
        c.need_resched = false;
        (c.tick_stopped, c.tick_at, c.sched_timer_at) = (true, Time::MAX, Time::MAX);
        self.hotplug.offline.set(cpu);
        (self.hotplug.leaving, self.hotplug.changing) = (None, None);
        self.move_timers(cpu);
        self.waste.set_idle(self.now, cpu, false);
        self.emit(cpu, EventKind::Online(false));
        let deepest = self.machine.idle_states(cpu).len() - 1;
        self.fall_asleep(cpu, deepest);
        self.next_change();
    }

    /// hrtimers_cpu_dying: the timers of sleeping threads move to another CPU.
    fn move_timers(&mut self, from: CpuId) {
        let Some(to) = self.cpusets.online().first() else { return };
        let moved = std::mem::take(&mut self.cpus[from as usize].timers);
        for Reverse(timer) in &moved {
            self.tasks[timer.task as usize].timer = Some((to, timer.hard));
        }
        self.cpus[to as usize].timers.extend(moved);
    }

    /// sched_cpu_activate: the CPU has left its idle state and takes threads.
    pub(super) fn activate(&mut self, cpu: CpuId) {
        self.hotplug.offline.clear(cpu);
        let nr_states = self.machine.idle_states(cpu).len();
        let c = &mut self.cpus[cpu as usize];
        (c.governor, c.tick_stopped) = (IdleGovernorState::new(self.config.idle, nr_states), false);
        self.arm_tick(cpu);
        self.emit(cpu, EventKind::Online(true));
        self.call(cpu, |s, e| s.hotplug(e, cpu, Hotplug::Activate));
        let idle = self.cpus[cpu as usize].is_idle() && self.cpus[cpu as usize].promised.is_none();
        self.waste.set_idle(self.now, cpu, idle);
        let online = self.cpusets.online().or(&CpuMask::single(cpu));
        self.set_online(cpu, online);
        self.hotplug.changing = None;
        self.next_change();
    }

    /// cpuset_update_active_cpus: threads of groups whose cpusets change may use other CPUs. `cpu`: where that happens.
    fn set_online(&mut self, cpu: CpuId, online: CpuMask) {
        let groups = Cpusets::set_online(&mut self.cpusets, online);
        self.follow_cpusets(cpu, &groups);
        for task in 0..self.tasks.len() as TaskId {
            if self.tasks[task as usize].is_live() {
                self.reclassify(task);
            }
        }
    }

    /// None of the task's CPUs is online: it may use all of the machine, and what it asked for is forgotten.
    pub(super) fn task_widened(&mut self, task: TaskId) {
        if self.tasks.get(task as usize).is_none_or(|t| !t.is_live()) {
            let who = self.name_of(task);
            return self.fail_invariant(format!("{who} may use all CPUs, but it does not exist"));
        }
        let all = self.machine.all_cpus();
        let t = &mut self.tasks[task as usize];
        (t.asked, t.affinity) = (None, all);
        self.reclassify(task);
    }

    /// Fails the run if a thread comes to a CPU that is offline.
    pub(super) fn expect_online(&mut self, cpu: CpuId, task: TaskId) {
        if self.hotplug.is_offline(cpu) {
            let who = self.name_of(task);
            self.fail_invariant(format!("{who} comes to CPU {cpu}, which is offline"));
        }
    }
}
