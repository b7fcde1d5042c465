//! An update of the kernel's governor after a CPU's utilization has changed, and our update from the same state.
//!
//! ```text
//! governing -> the CPUs on that clock and the governor's state -> PolicySandbox; our update
//! governed  -> both outcomes
//! ```
//!
//! Utilization changes in the middle of other decisions, so updates have a sandbox of their own.

use fairground_fair::ffi::*;
use fairground_fair::PolicySandbox;
use fairground_machine::CpuId;

use super::state::State;
use super::state_importer::keys;

/// The outcome of an update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Requested frequency, kHz; none: no request.
    asked: Option<u32>,
    /// Time of the last change (ns), the last computed and the last requested frequency (kHz), whether new limits are
    /// pending.
    clock: (u64, u32, u32, u32, u32),
    /// For each CPU: last update, idle calls, iowait boost, whether the boost is pending, the minimum of its request.
    cpus: Vec<(u64, u64, u32, u32, u32)>,
}

/// The governor update of a kernel that is under way, if any.
pub struct GovernorUpdates {
    sandbox: PolicySandbox,
    pending: Option<JudgedUpdate>,
}

/// The kernel's update and ours.
pub struct JudgedUpdate {
    /// The CPU whose utilization has changed.
    pub cpu: CpuId,
    /// Flags of the kernel's cpufreq_update_util: `FG_FREQUENCY_*`, combined.
    pub flags: u32,
    /// The row of the table: the outcome of our update, and whether new limits were pending.
    pub rule: String,
    /// What the kernel's update did.
    pub kernel: Outcome,
    /// What our policy's update did.
    pub ours: Outcome,
    /// The state before our update.
    pub before: Before,
}

/// The state that an update may change.
pub struct Before {
    cpu: CpuId,
    clock: Option<FgSugov>,
    cpus: Vec<(CpuId, FgSugovCpu)>,
}

impl GovernorUpdates {
    /// The policy to ask; schedutil sets its clocks.
    pub fn new(sandbox: PolicySandbox) -> GovernorUpdates {
        GovernorUpdates { sandbox, pending: None }
    }

    /// The structs of our policy, to be overwritten.
    pub fn sandbox_mut(&mut self) -> &mut PolicySandbox {
        &mut self.sandbox
    }

    /// Called when the kernel begins an update.
    pub fn begin(&mut self, kernel: &dyn State, cpu: CpuId, flags: u32) {
        let sandbox = &mut self.sandbox;
        keys(kernel, sandbox);
        for other in sandbox.clock_cpus(cpu).iter() {
            let to = sandbox.cpu_mut(other);
            kernel.cpu(other, to);
            kernel.governor_cpu(other, to);
        }
        let Some(clock) = sandbox.sugov_mut(cpu) else { return };
        kernel.governor(cpu, clock);
        clock.asked = 0;
        let before = Before::of(sandbox, cpu);
        let (ours, rule) = looked(sandbox, cpu, flags);
        self.pending = Some(JudgedUpdate { cpu, flags, rule, kernel: Outcome::default(), ours, before });
    }

    /// The update has ended with this request, if any. None if its begin was not seen.
    pub fn end(&mut self, kernel: &dyn State, khz: Option<u32>) -> Option<JudgedUpdate> {
        let mut judged = self.pending.take()?;
        let mut clock = FgSugov::zeroed();
        kernel.governor(judged.cpu, &mut clock);
        let of_cpu = |other| {
            let mut cpu = FgCpu::zeroed();
            kernel.governor_cpu(other, &mut cpu);
            cpu.sugov_cpu
        };
        let cpus = self.sandbox.clock_cpus(judged.cpu).iter().map(of_cpu).collect();
        judged.kernel = Outcome::of(khz, &clock, cpus);
        Some(judged)
    }
}

/// Runs ours. Returns its outcome and its row.
pub fn looked(sandbox: &mut PolicySandbox, cpu: CpuId, flags: u32) -> (Outcome, String) {
    let before = sandbox.sugov_mut(cpu).cloned().unwrap_or(FgSugov::zeroed());
    let answer = sandbox.update_frequency(cpu, flags);
    let after = sandbox.sugov_mut(cpu).cloned().unwrap_or(FgSugov::zeroed());
    let row = match answer {
        FG_FREQUENCY_SOON => "soon",
        FG_FREQUENCY_SAME => "same",
        FG_FREQUENCY_HELD => "held",
        FG_FREQUENCY_ASKED if after.khz > before.khz => "up",
        FG_FREQUENCY_ASKED => "down",
        _ => "no governor",
    };
    let limits = if before.limits_changed | before.need_update != 0 { ", new limits" } else { "" };
    let cpus: Vec<CpuId> = sandbox.clock_cpus(cpu).iter().collect();
    let cpus = cpus.into_iter().map(|other| sandbox.cpu_mut(other).sugov_cpu.clone()).collect();
    let asked = Some(after.khz).filter(|_| after.asked != 0);
    (Outcome::of(asked, &after, cpus), format!("{row}{limits}"))
}

impl Before {
    fn of(sandbox: &mut PolicySandbox, cpu: CpuId) -> Before {
        let clock = sandbox.sugov_mut(cpu).cloned();
        let others: Vec<CpuId> = sandbox.clock_cpus(cpu).iter().collect();
        let cpus = others.into_iter().map(|other| (other, sandbox.cpu_mut(other).sugov_cpu.clone())).collect();
        Before { cpu, clock, cpus }
    }

    /// Writes the saved state back.
    pub fn restore(self, sandbox: &mut PolicySandbox) {
        sandbox.sugov_mut(self.cpu).into_iter().zip(self.clock).for_each(|(to, clock)| *to = clock);
        self.cpus.into_iter().for_each(|(other, of_cpu)| sandbox.cpu_mut(other).sugov_cpu = of_cpu);
    }
}

impl Outcome {
    fn of(asked: Option<u32>, clock: &FgSugov, cpus: Vec<FgSugovCpu>) -> Outcome {
        let FgSugov { last_change, raw_khz, khz, limits_changed, need_update, .. } = *clock;
        let of_cpu = |c: FgSugovCpu| (c.last_update, c.idle_calls, c.iowait_boost, c.iowait_pending, c.min);
        let cpus = cpus.into_iter().map(of_cpu).collect();
        Outcome { asked, clock: (last_change, raw_khz, khz, limits_changed, need_update), cpus }
    }

    /// The outcome as one line; equal lines are equal outcomes.
    pub fn words(&self) -> String {
        let asked = self.asked.map_or("nothing".into(), |khz| format!("{khz} kHz"));
        let (last, raw, khz, changed, need) = self.clock;
        let limits = if changed | need != 0 { ", limits to be heeded" } else { "" };
        let cpus: Vec<String> = self.cpus.iter().map(|c| format!("{c:?}")).collect();
        format!("asks for {asked}; last change {last}, computed {raw}, set {khz}{limits}; cpus {}", cpus.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use fairground_fair::Features;
    use fairground_machine::Machine;

    use super::*;

    /// CPU 4 of a hikey960 with this utilization, long after its governor started and its last change.
    fn busy(util: u64) -> PolicySandbox {
        let machine = Machine::preset("hikey960").unwrap();
        let features = Features::preset("debian-6.12.117").unwrap();
        let mut sandbox = PolicySandbox::new(&machine, &features, 250).unwrap();
        sandbox.start_governor(&machine);
        if let Some(clock) = sandbox.sugov_mut(4) {
            clock.limits_changed = 0;
        }
        let rq = sandbox.cpu_mut(4);
        (rq.clock, rq.cfs.util_avg) = (1_000_000_000, util);
        sandbox
    }

    #[test]
    fn a_busy_cpu_asks_for_more_and_not_again_at_once() {
        let mut sandbox = busy(500);
        let (outcome, row) = looked(&mut sandbox, 4, 0);
        assert_eq!((outcome.asked, row.as_str()), (Some(1_805_000), "up"), "{}", outcome.words());
        sandbox.sugov_mut(4).unwrap().asked = 0;
        let (outcome, row) = looked(&mut sandbox, 4, 0);
        assert_eq!((outcome.asked, row.as_str()), (None, "soon"));
    }

    #[test]
    fn new_limits_are_heeded_at_once() {
        let mut sandbox = busy(500);
        looked(&mut sandbox, 4, 0);
        let clock = sandbox.sugov_mut(4).unwrap();
        (clock.asked, clock.max_khz, clock.limits_changed) = (0, 1_421_000, 1);
        let (outcome, row) = looked(&mut sandbox, 4, 0);
        assert_eq!((outcome.asked, row.as_str()), (Some(1_421_000), "down, new limits"));
    }

    #[test]
    fn what_a_look_has_changed_can_be_shown_again() {
        let mut sandbox = busy(500);
        let before = Before::of(&mut sandbox, 4);
        let first = looked(&mut sandbox, 4, 0);
        before.restore(&mut sandbox);
        assert_eq!(looked(&mut sandbox, 4, 0), first);
    }
}
