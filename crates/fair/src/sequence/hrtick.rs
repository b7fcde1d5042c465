//! The timer that ends a slice between two ticks (hrtick).

use super::{Host, RunQueues};
use crate::ffi::*;

/// With `hrtick=deadline` a timer is moved only by more than this, ns.
const WORTHWHILE_NS: u64 = 5000;

impl RunQueues {
    fn hrtick_mode(&self) -> u32 {
        self.world.sys().feat.value[FG_HRTICK].into()
    }

    /// hrtick_start_fair: sets the timer by what is left of the slice of the current task. `picked`: schedule() has just
    /// picked it.
    pub fn hrtick_start<H: Host>(&mut self, host: &mut H, cpu: usize, picked: bool) {
        if self.hrtick_mode() == FG_HRTICK_OFF {
            return;
        }
        let delay = self.world.hrtick_delay(cpu);
        if delay < 0 && !picked {
            self.resched(host, cpu);
        }
        if delay <= 0 {
            return;
        }
        let at = host.elapsed_ns() + delay as u64;
        let near = self.rqs[cpu].hrtick_at.is_some_and(|armed| armed.abs_diff(at) <= WORTHWHILE_NS);
        if !(near && self.hrtick_mode() == FG_HRTICK_DEADLINE) {
            self.rqs[cpu].hrtick_at = Some(at);
            host.set_hrtick(cpu, Some(at));
        }
    }

    /// hrtick_update: the number of queued tasks has changed. From v7.1 on a timer that is set stays.
    pub fn hrtick_update<H: Host>(&mut self, host: &mut H, cpu: usize) {
        if self.hrtick_mode() != FG_HRTICK_DEADLINE || self.rqs[cpu].hrtick_at.is_none() {
            self.hrtick_start(host, cpu, false);
        }
    }

    /// schedule() begins, or has picked the idle task (`idles`): up to v7.0 the former cancels the timer, later the latter.
    pub fn hrtick_clear<H: Host>(&mut self, host: &mut H, cpu: usize, idles: bool) {
        if idles == (self.hrtick_mode() == FG_HRTICK_DEADLINE) && self.rqs[cpu].hrtick_at.take().is_some() {
            host.set_hrtick(cpu, None);
        }
    }

    /// The timer has expired while a fair task runs.
    pub fn hrtick_fair<H: Host>(&mut self, host: &mut H, cpu: usize) {
        self.update_curr(host, cpu);
        self.world.hrtick(cpu);
        match self.hrtick_mode() {
            FG_HRTICK_DEADLINE => self.resched(host, cpu),
            _ => self.resched_lazy(host, cpu),
        }
        host.signals_updated(&self.world, cpu, self.world.curr(cpu));
        self.request_frequency(host, cpu);
    }
}
