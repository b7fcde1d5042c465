//! Updates the recording with each event.

use fairground_machine::CpuId;
use fairground_workload::recorded::Step;

use super::task::{State, Task};
use super::{Importer, NoSuchCpu};
use crate::text::{named, value, PrevState, Thread, TraceEvent};

impl Importer<'_> {
    pub(super) fn switch(&mut self, cpu: CpuId, prev: Thread, left: PrevState, next: Thread) {
        self.settle(cpu);
        self.idlers[cpu as usize].switched(next.pid == 0, self.now);
        let before = self.switched[cpu as usize].replace(self.now).or(self.origin).unwrap_or(self.now);
        if self.current[cpu as usize].take().is_none() && prev.pid != 0 {
            self.ran_unseen(cpu, prev, before);
        }
        self.leaves(prev.pid, left);
        if self.met(next, cpu, State::Waiting(self.now)) {
            self.switched_in(cpu, next.pid);
        }
    }

    fn leaves(&mut self, pid: u32, left: PrevState) {
        let Some(task) = self.tasks.get_mut(&pid) else { return };
        let exiting = matches!(task.state, State::Exiting(_));
        task.state = match left {
            PrevState::Sleeping => State::Asleep(self.now),
            PrevState::Runnable if exiting => task.state,
            PrevState::Runnable => State::Waiting(self.now),
        };
        if left == PrevState::Runnable {
            return;
        }
        task.flush(&mut self.threads);
        task.sleeps();
        if let Some(ended) = task.roused.take() {
            task.state = State::Waiting(self.now);
            self.step(pid, ended);
        }
        if exiting {
            self.tasks.remove(&pid);
        }
    }

    /// Who leaves a CPU without having been switched to: it has run there since the last switch, or from the beginning, if
    /// this is the first that is heard of it.
    fn ran_unseen(&mut self, cpu: CpuId, prev: Thread, since: u64) {
        let first = !self.tasks.contains_key(&prev.pid);
        if !self.met(prev, cpu, State::Running(cpu)) {
            return;
        }
        if first {
            self.current[cpu as usize] = Some((prev.pid, since));
            self.settle(cpu);
            self.current[cpu as usize] = None;
        } else {
            self.counts.contradictions += 1;
        }
    }

    fn switched_in(&mut self, cpu: CpuId, pid: u32) {
        let (since, now) = (self.since_origin(self.now), self.now);
        if let Some(&Task { state: State::Running(other), .. }) = self.tasks.get(&pid) {
            self.leave_unseen(pid, other);
        }
        let Some(task) = self.tasks.get_mut(&pid) else { return };
        let before = std::mem::replace(&mut task.state, State::Running(cpu));
        match before {
            State::Asleep(_) => {
                self.counts.unseen += 1;
                self.step(pid, Step::Until(since));
            }
            // Preempted on its way out, it goes on with that.
            State::Exiting(_) => {
                if let Some(task) = self.tasks.get_mut(&pid) {
                    task.state = State::Exiting(cpu);
                }
            }
            State::Running(_) | State::Waiting(_) => {}
        }
        self.current[cpu as usize] = Some((pid, now));
    }

    pub(super) fn waking(&mut self, event: &TraceEvent, wakee: Thread) {
        let hint = self.hint.take().filter(|(pid, ..)| *pid == wakee.pid);
        if self.met(wakee, event.cpu, State::Asleep(self.now)) {
            self.wake_silent(wakee.pid);
            self.end_sleep(event, wakee.pid, hint);
        }
    }

    /// Ends a sleep if the thread is asleep or about to be: by an interrupt, or by the thread that is current there.
    fn end_sleep(&mut self, event: &TraceEvent, wakee: u32, hint: Option<(u32, bool, bool)>) {
        let Some(task) = self.tasks.get_mut(&wakee) else { return };
        let since = match task.state {
            State::Asleep(since) => since,
            // It wakes itself, as a signal does: no sleep.
            State::Running(_) if event.context.pid != wakee && task.roused.is_none() => self.now,
            _ => return,
        };
        let index = task.index;
        let ended = if self.by_thread(event, wakee, hint) {
            self.settle(event.cpu);
            self.step(event.context.pid, Step::Wake { thread: index, sync: hint.is_some_and(|(.., sync)| sync) });
            self.counts.by_thread += 1;
            Step::Await
        } else {
            let fired = self.now.saturating_sub(self.woke_in(event.cpu)).max(since);
            self.counts.by_interrupt += 1;
            Step::Until(self.since_origin(fired))
        };
        let Some(task) = self.tasks.get_mut(&wakee) else { return };
        if let State::Running(_) = task.state {
            task.roused = Some(ended);
            return;
        }
        task.state = State::Waiting(self.now);
        self.step(wakee, ended);
    }

    /// Whether the current thread is the waker, and not an interrupt. Where the trace does not show it, a thread
    /// with at least one of five wakeups on idle CPUs is assumed to be woken by interrupts everywhere.
    fn by_thread(&mut self, event: &TraceEvent, wakee: u32, hint: Option<(u32, bool, bool)>) -> bool {
        let waker = event.context.pid;
        let runs = matches!(self.current[event.cpu as usize], Some((pid, _)) if pid == waker);
        let knows_interrupts = self.tells_interrupts || self.about.iter().any(|(key, _)| key == "sched");
        let Some(task) = self.tasks.get_mut(&wakee) else { return false };
        match waker {
            0 => task.woken_in_idle += 1,
            _ => task.woken_in_thread += 1,
        }
        let by_habit = !knows_interrupts && task.woken_in_idle > 0 && task.woken_in_idle * 4 >= task.woken_in_thread;
        let by_interrupt = hint.map_or(event.in_interrupt, |(_, interrupt, _)| interrupt);
        if waker == 0 || by_interrupt || !runs || !self.tasks.contains_key(&waker) {
            return false;
        }
        self.counts.by_habit += u64::from(by_habit);
        !by_habit
    }

    /// How long an interrupt that is taken now has waited for its CPU to wake up, ns.
    fn woke_in(&self, cpu: CpuId) -> u64 {
        match self.woken[cpu as usize] {
            Some((at, ns)) if at == self.now => ns,
            _ => self.speeds.waking_up(cpu, self.now),
        }
    }

    pub(super) fn wakeup(&mut self, event: &TraceEvent, task: Thread, to: CpuId, new: bool) {
        if !self.met(task, event.cpu, State::Asleep(self.now)) {
            return;
        }
        match self.tasks.get_mut(&task.pid) {
            Some(t) if matches!(t.state, State::Asleep(_)) => {
                self.counts.without_waking += u64::from(!new);
                self.end_sleep(event, task.pid, None);
            }
            // It has not gone to sleep.
            Some(Task { state: State::Running(on), roused: roused @ Some(_), .. }) => {
                let (on, ended) = (*on, roused.take());
                if on == to {
                    self.settle(on);
                } else {
                    // It has, unseen, or it would still be where it was; and that sleep is over.
                    self.leave_unseen(task.pid, on);
                    let woken = State::Waiting(self.now);
                    self.tasks.get_mut(&task.pid).into_iter().for_each(|task| task.state = woken);
                }
                ended.into_iter().for_each(|step| self.step(task.pid, step));
            }
            _ => {}
        }
    }

    pub(super) fn fork(&mut self, cpu: CpuId, parent: Thread, child: Thread) {
        self.settle(cpu);
        self.tasks.remove(&child.pid);
        if !self.takes(child) {
            return;
        }
        if self.tasks.contains_key(&parent.pid) {
            let Some(index) = self.enlist(child, None, State::Waiting(self.now)) else { return };
            self.step(parent.pid, Step::Fork(index));
            return;
        }
        self.enlist(child, Some(cpu), State::Waiting(self.now));
        let since = self.since_origin(self.now);
        if since > 0 {
            self.step(child.pid, Step::Until(since));
        }
    }

    pub(super) fn exec(&mut self, cpu: CpuId, pid: u32) {
        self.settle(cpu);
        if let Some(task) = self.tasks.get_mut(&pid) {
            if !std::mem::take(&mut task.exec_told) {
                self.step(pid, Step::Exec);
            }
        }
    }

    pub(super) fn exit(&mut self, cpu: CpuId, pid: u32) {
        self.settle(cpu);
        if let Some(task) = self.tasks.get_mut(&pid) {
            task.flush(&mut self.threads);
            task.state = State::Exiting(cpu);
        }
    }

    /// The speed of the other threads of the core changes from now on.
    pub(super) fn idle(&mut self, cpu: u32, state: Option<u32>) -> Result<(), NoSuchCpu> {
        if cpu as usize >= self.current.len() {
            return Err(NoSuchCpu(cpu));
        }
        self.speeds.siblings(cpu).into_iter().for_each(|cpu| self.settle(cpu));
        match state {
            Some(state) => self.speeds.fall_asleep(cpu, state as usize, self.now),
            None => self.woken[cpu as usize] = self.speeds.wake_up(cpu, self.now).map(|ns| (self.now, ns)),
        }
        Ok(())
    }

    pub(super) fn frequency(&mut self, cpu: u32, khz: u32) -> Result<(), NoSuchCpu> {
        if cpu as usize >= self.current.len() {
            return Err(NoSuchCpu(cpu));
        }
        self.speeds.clocked_with(cpu).into_iter().for_each(|cpu| self.settle(cpu));
        self.speeds.set_khz(cpu, khz);
        Ok(())
    }

    /// What our own traces say beside the kernel's events.
    pub(super) fn print(&mut self, cpu: CpuId, text: &str) {
        let Some((kind, fields)) = text.strip_prefix("fairground_").and_then(|t| t.split_once(": ")) else { return };
        let number = |text: &str, key| value(text, key).and_then(|n| n.parse::<u32>().ok());
        match kind {
            "meta" => self.about.extend(fields.split_once('=').map(|(key, v)| (key.to_owned(), v.to_owned()))),
            "woken" => {
                let interrupt = value(fields, "by=") == Some("interrupt");
                self.hint = number(fields, "pid=").map(|pid| (pid, interrupt, number(fields, "sync=") == Some(1)));
            }
            "decision" if fields.starts_with("kind=exec ") => {
                let Some((task, _)) = named(fields, " pid=") else { return };
                self.settle(cpu);
                self.step(task.pid, Step::Exec);
                self.tasks.get_mut(&task.pid).into_iter().for_each(|task| task.exec_told = true);
            }
            _ => {}
        }
    }
}
