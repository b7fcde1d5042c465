//! Applies the events of a trace to the possible states.

use fairground_fair::ffi::FgIdleState;
use fairground_fair::{keeps_sleepers, Affinity, InitialState, ReplayedState, SwitchTo};
use fairground_machine::CpuId;

use super::{Confidence, Counterfactual, JudgedWakeup, NoSuchCpu, OpenWakeup, Running};
use fairground_trace::import::{is_stopper, kthread_cpu};
use fairground_trace::{field_value, leading_thread, PrevState, Thread, TraceEvent, TraceEventKind};

impl Counterfactual<'_> {
    pub(super) fn take(&mut self, event: &TraceEvent) -> Result<Option<Box<JudgedWakeup>>, NoSuchCpu> {
        let Some(event) = &self.order.event(event) else { return Ok(None) };
        if let TraceEventKind::Print(text) = event.what {
            self.print(event.cpu, text);
            return Ok(None);
        }
        self.cpus_exist(event)?;
        self.counts.backwards += u64::from(event.time < self.now);
        self.now = event.time.max(self.now);
        self.tells_interrupts |= event.in_interrupt;
        if self.hypotheses.is_empty() {
            self.begin(event);
        }
        let now = self.now;
        self.for_each_hypothesis(|past| past.advance(now));
        self.see(event);
        match event.what {
            TraceEventKind::Switch { prev, left, next, prio, .. } => {
                self.switch(event.cpu, prev, left, next);
                prio.into_iter().for_each(|prio| self.competes(next, prio));
            }
            TraceEventKind::Waking { task, cpu } => self.waking(event, task, cpu),
            TraceEventKind::Wakeup { task, cpu, new } => return Ok(self.wakeup(task, cpu, new)),
            TraceEventKind::Migrate { task, from, to } => self.migrate(task, from, to),
            TraceEventKind::Fork { parent, child } => self.fork(event.cpu, parent, child),
            TraceEventKind::Idle { cpu, state } => self.idle(cpu, state),
            TraceEventKind::Frequency { cpu, khz } => self.frequency(cpu, khz),
            TraceEventKind::Clamps { task: Some(task), cpu, min, max, .. } => self.clamp(task, cpu, min, max),
            TraceEventKind::Exit { task } => self.threads.end(task.pid),
            TraceEventKind::Clamps { task: None, .. } | TraceEventKind::Signals { .. } => {}
            TraceEventKind::Exec { .. } | TraceEventKind::Runtime { .. } | TraceEventKind::Print(_) => {}
        }
        Ok(None)
    }

    fn cpus_exist(&self, event: &TraceEvent) -> Result<(), NoSuchCpu> {
        let named = match event.what {
            TraceEventKind::Waking { cpu, .. }
            | TraceEventKind::Wakeup { cpu, .. }
            | TraceEventKind::Clamps { cpu, .. } => [cpu, cpu],
            TraceEventKind::Idle { cpu, .. } | TraceEventKind::Frequency { cpu, .. } => [cpu, cpu],
            TraceEventKind::Migrate { from, to, .. } => [from, to],
            _ => [event.cpu; 2],
        };
        let missing = [event.cpu].into_iter().chain(named).find(|cpu| *cpu as usize >= self.running.len());
        missing.map_or(Ok(()), |cpu| Err(NoSuchCpu(cpu)))
    }

    /// Makes the possible states. There is one if the trace has a run of ours from its start and sleepers are never
    /// kept on the run queue.
    fn begin(&mut self, event: &TraceEvent) {
        let tick_ns = 1_000_000_000 / u64::from(self.config.hz.max(1));
        let from_boot = self.ours && event.time < tick_ns;
        let first = if from_boot { InitialState::Boot } else { InitialState::Nothing };
        let mut states = vec![(Confidence::Sure, first, false)];
        if from_boot {
            self.running.fill(Running::Idle);
        } else {
            states.push((Confidence::Before, InitialState::Everything, false));
        }
        if keeps_sleepers(&self.features) {
            states.push((Confidence::Queued, first, true));
        }
        for (depends, before, none_delayed) in states {
            // `new` has made such a state already, so this does not fail.
            if let Ok(past) = self.hypothesis(before, none_delayed) {
                self.hypotheses.push(past);
                self.depends_on.push(depends);
            }
        }
    }

    fn for_each_hypothesis(&mut self, f: impl FnMut(&mut ReplayedState)) {
        self.hypotheses.iter_mut().for_each(f);
    }

    /// A thread that acts on a CPU runs there, even without a recorded sched_switch to it. Recordings lack events; all
    /// events of some idle tasks may be missing.
    fn see(&mut self, event: &TraceEvent) {
        let (cpu, seen) = (event.cpu, self.running[event.cpu as usize]);
        let who = match event.what {
            TraceEventKind::Switch { prev, .. } => prev,
            TraceEventKind::Waking { .. }
            | TraceEventKind::Wakeup { .. }
            | TraceEventKind::Fork { .. }
            | TraceEventKind::Exit { .. }
            | TraceEventKind::Idle { .. } => event.context,
            _ if seen == Running::Unknown => event.context,
            _ => return,
        };
        self.heard[cpu as usize] |= who.pid == 0;
        let is_expected = match seen {
            Running::Unknown => {
                let next = self.next(cpu, who);
                self.running[cpu as usize] = doing(who, next);
                return self.for_each_hypothesis(|past| past.settle(cpu, next));
            }
            Running::Idle => who.pid == 0,
            Running::Stopper => who.pid == 0 || is_stopper(who.comm),
            Running::Runs(pid) => who.pid == pid,
        };
        if !is_expected {
            self.switched_unseen(cpu, seen, who);
        }
    }

    /// `who` was switched to without a recorded event. The thread that ran before is taken to sleep.
    fn switched_unseen(&mut self, cpu: CpuId, seen: Running, who: Thread) {
        match seen {
            Running::Idle => self.counts.appeared += 1,
            _ => self.counts.contradictions += 1,
        }
        let left = match seen {
            Running::Runs(pid) => self.threads.id(pid).map(|id| (pid, id)),
            _ => None,
        };
        let next = self.next(cpu, who);
        if let SwitchTo::Task(id) = next {
            self.unwoken(who.pid, id, cpu);
        }
        self.take_cpu(cpu, left, who, next);
    }

    /// A CPU switches to `who`. `slept`: pid and number of the previous thread if it goes to sleep.
    fn take_cpu(&mut self, cpu: CpuId, slept: Option<(u32, u32)>, who: Thread, next: SwitchTo) {
        self.running[cpu as usize] = doing(who, next);
        self.idled[cpu as usize] |= next == SwitchTo::Idle;
        self.for_each_hypothesis(|past| past.switch(cpu, slept.map(|(_, id)| id), next));
        match slept {
            Some((pid, _)) if self.threads.is_ending(pid) => self.forget(pid),
            Some((pid, id)) => self.woken_already(pid, id, cpu),
            None => {}
        }
    }

    /// The thread that a CPU switches to, by the policy's numbers.
    fn next(&mut self, cpu: CpuId, who: Thread) -> SwitchTo {
        match who {
            Thread { pid: 0, .. } => SwitchTo::Idle,
            who if is_stopper(who.comm) => SwitchTo::Stopper,
            who => SwitchTo::Task(self.meet(who, cpu)),
        }
    }

    /// The number of a thread. A thread without earlier events is taken to have slept on `cpu`.
    fn meet(&mut self, who: Thread, cpu: CpuId) -> u32 {
        if let Some(id) = self.threads.hear(who.pid, who.comm, self.now) {
            return id;
        }
        self.make_room();
        let id = self.threads.enlist(who.pid, who.comm, self.now);
        let bound = self.bound(who.comm);
        self.for_each_hypothesis(|past| past.appear(id, cpu, bound));
        id
    }

    fn bound(&self, comm: &str) -> Affinity {
        match (kthread_cpu(comm), self.config.allowed) {
            (Some(cpu), _) if (cpu as usize) < self.running.len() => Affinity::PerCpuKthread(cpu),
            (_, Some(cpus)) => Affinity::Cpus(cpus),
            _ => Affinity::Any,
        }
    }

    fn make_room(&mut self) {
        let Some(past) = self.hypotheses.first() else { return };
        for pid in self.threads.too_many(|id| !past.is_runnable(id)) {
            self.forget(pid);
            self.counts.forgotten += 1;
        }
    }

    fn forget(&mut self, pid: u32) {
        self.leaving.remove(&pid);
        if let Some(id) = self.threads.remove(pid) {
            if let Some(open) = self.open.remove(&pid) {
                self.for_each_hypothesis(|past| past.call_off(open.to));
                self.counts.open += u64::from(open.judged.is_some());
            }
            self.for_each_hypothesis(|past| past.forget(id));
        }
    }

    fn switch(&mut self, cpu: CpuId, prev: Thread, left: PrevState, next: Thread) {
        let slept = match left {
            PrevState::Sleeping if prev.pid != 0 => self.threads.id(prev.pid).map(|id| (prev.pid, id)),
            _ => None,
        };
        // Our traces have no thread of the stopper: it is what follows a thread that could go on, unless the CPU goes idle
        // (the thread's group has used up its quota).
        let to = match self.ours && next.pid == 0 && prev.pid != 0 && left == PrevState::Runnable {
            true => SwitchTo::Stopper,
            false => self.next(cpu, next),
        };
        if let SwitchTo::Task(id) = to {
            self.unwoken(next.pid, id, cpu);
        }
        self.take_cpu(cpu, slept, next, to);
    }

    /// Sets a thread's priority, in the kernel's numbers.
    fn competes(&mut self, who: Thread, prio: i32) {
        let Some(id) = self.threads.id(who.pid) else { return };
        self.threads.set_real_time(who.pid, (-1..=98).contains(&prio));
        if let nice @ -20..=19 = prio.saturating_sub(120) {
            self.for_each_hypothesis(|past| past.renice(id, nice));
        }
    }

    /// A thread that was woken while it was being switched out is being placed now. That wakeup is not judged.
    fn woken_already(&mut self, pid: u32, id: u32, cpu: CpuId) {
        if self.leaving.remove(&pid) {
            self.open.insert(pid, OpenWakeup { judged: None, to: cpu });
            self.for_each_hypothesis(|past| past.send(id, None, cpu));
        }
    }

    /// Ends the open wakeup of a thread that is switched to. Counts the thread if it is not runnable on that CPU.
    fn unwoken(&mut self, pid: u32, id: u32, cpu: CpuId) {
        if let Some(open) = self.open.remove(&pid) {
            self.for_each_hypothesis(|past| past.call_off(open.to));
            self.counts.open += u64::from(open.judged.is_some());
        }
        let Some(past) = self.hypotheses.first() else { return };
        if !past.is_runnable(id) {
            self.counts.unwoken += 1;
        } else if past.task(id).cpu != cpu as i32 {
            self.counts.contradictions += 1;
        }
        for doing in self.running.iter_mut().filter(|doing| **doing == Running::Runs(pid)) {
            *doing = Running::Stopper;
        }
    }

    fn waking(&mut self, event: &TraceEvent, who: Thread, prev: CpuId) {
        let hint = self.hint.take().filter(|(pid, ..)| *pid == who.pid).map(|(_, interrupt, sync)| (interrupt, sync));
        if who.pid == 0 || is_stopper(who.comm) {
            return;
        }
        let id = self.meet(who, prev);
        if self.open.contains_key(&who.pid) {
            return;
        }
        if self.running.contains(&Running::Runs(who.pid)) {
            self.counts.leaving += 1;
            self.leaving.insert(who.pid);
            return;
        }
        if self.hypotheses.first().is_some_and(|past| past.is_runnable(id)) {
            self.counts.runnable += 1;
            return;
        }
        self.for_each_hypothesis(|past| past.move_to(id, prev));
        let judged = match self.threads.is_real_time(who.pid) {
            true => None,
            false => Some(Box::new(self.judge(event, id, prev, hint))),
        };
        self.counts.real_time += u64::from(judged.is_none());
        self.open.insert(who.pid, OpenWakeup { judged, to: prev });
        self.for_each_hypothesis(|past| past.send(id, None, prev));
    }

    fn migrate(&mut self, who: Thread, from: CpuId, to: CpuId) {
        if who.pid == 0 || is_stopper(who.comm) {
            return;
        }
        let id = self.meet(who, from);
        match self.open.get_mut(&who.pid) {
            Some(open) => {
                let from = std::mem::replace(&mut open.to, to);
                self.for_each_hypothesis(|past| past.send(id, Some(from), to));
            }
            None => self.for_each_hypothesis(|past| past.move_to(id, to)),
        }
    }

    fn wakeup(&mut self, who: Thread, cpu: CpuId, new: bool) -> Option<Box<JudgedWakeup>> {
        if who.pid == 0 || is_stopper(who.comm) {
            return None;
        }
        let id = self.meet(who, cpu);
        let Some(open) = self.open.remove(&who.pid) else {
            // A thread that was woken before it was switched out did not sleep.
            if !self.leaving.remove(&who.pid) {
                self.woken_unseen(id, cpu, new);
            }
            return None;
        };
        self.for_each_hypothesis(|past| {
            past.send(id, Some(open.to), cpu);
            past.arrive(id);
        });
        open.judged.map(|mut judged| {
            judged.recorded = cpu;
            judged
        })
    }

    fn woken_unseen(&mut self, id: u32, cpu: CpuId, new: bool) {
        let Some(past) = self.hypotheses.first() else { return };
        if past.is_new(id) {
            self.for_each_hypothesis(|past| past.start(id, cpu));
        } else if !past.is_runnable(id) {
            self.counts.without_waking += u64::from(!new);
            self.for_each_hypothesis(|past| past.wake_on(id, cpu));
        }
    }

    fn fork(&mut self, cpu: CpuId, parent: Thread, child: Thread) {
        if child.pid == 0 {
            return;
        }
        self.forget(child.pid);
        self.make_room();
        let parent = self.threads.id(parent.pid);
        let id = self.threads.enlist(child.pid, child.comm, self.now);
        let bound = self.bound(child.comm);
        self.for_each_hypothesis(|past| past.born(id, parent, cpu, bound));
    }

    fn idle(&mut self, cpu: CpuId, state: Option<u32>) {
        if self.ours && state.is_some() && self.running[cpu as usize] == Running::Stopper {
            self.take_cpu(cpu, None, Thread { comm: "swapper", pid: 0 }, SwitchTo::Idle);
        }
        let states = self.machine.idle_states(cpu);
        let entered = state.and_then(|index| {
            let known = states.get((index as usize).min(states.len().checked_sub(1)?))?;
            Some(FgIdleState {
                index: index.min(i32::MAX as u32) as i32,
                exit_latency: known.exit_latency_ns,
                residency: known.target_residency_ns,
                ..FgIdleState::zeroed()
            })
        });
        if self.machine.type_of(cpu).cpuidle {
            self.for_each_hypothesis(|past| past.set_idle_state(cpu, entered.clone()));
        }
    }

    fn frequency(&mut self, cpu: CpuId, khz: u32) {
        let top = u64::from(self.machine.max_khz(cpu).max(1));
        let scale = (u64::from(khz) * 1024 / top).clamp(1, 1024) as u32;
        for cpu in self.machine.freq_domain_of(cpu).cpus.iter() {
            self.clocked[cpu as usize] = true;
            self.for_each_hypothesis(|past| past.set_frequency(cpu, scale));
        }
    }

    fn clamp(&mut self, who: Thread, cpu: CpuId, min: u32, max: u32) {
        self.clamps = true;
        if who.pid != 0 && !is_stopper(who.comm) {
            let id = self.meet(who, cpu);
            self.for_each_hypothesis(|past| past.clamp(id, min, max));
        }
    }

    /// Reads a print event of our own traces, which adds to the kernel's events.
    fn print(&mut self, cpu: CpuId, text: &str) {
        let Some((kind, fields)) = text.strip_prefix("fairground_").and_then(|t| t.split_once(": ")) else { return };
        let number = |text: &str, key| field_value(text, key).and_then(|n| n.parse::<u32>().ok());
        match kind {
            "meta" => self.ours = true,
            "woken" => {
                let interrupt = field_value(fields, "by=") == Some("interrupt");
                self.hint = number(fields, "pid=").map(|pid| (pid, interrupt, number(fields, "sync=") == Some(1)));
            }
            "decision" if fields.starts_with("kind=wake ") => {
                let Some((who, rest)) = leading_thread(fields, " pid=") else { return };
                let known = |rule: &&str| self.words.rules().any(|known| known.name == *rule);
                let rule = field_value(rest, "rule=").filter(known).map(str::to_owned);
                if let Some(judged) = self.open.get_mut(&who.pid).and_then(|open| open.judged.as_mut()) {
                    judged.recorded_rule = rule;
                }
            }
            "stopper" => {
                let at = cpu as usize;
                if field_value(fields, "event=") == Some("start") && self.running.get(at) == Some(&Running::Idle) {
                    self.running[at] = Running::Stopper;
                    self.for_each_hypothesis(|past| past.switch(cpu, None, SwitchTo::Stopper));
                }
            }
            _ => {}
        }
    }
}

fn doing(who: Thread, next: SwitchTo) -> Running {
    match next {
        SwitchTo::Idle => Running::Idle,
        SwitchTo::Stopper => Running::Stopper,
        SwitchTo::Task(_) => Running::Runs(who.pid),
    }
}
