//! The speed of each CPU over time, from frequency and idle events and the machine.

use fairground_machine::{CpuId, IdleScope, Machine};

use crate::note::Note;

/// A stay of a CPU in an idle state.
#[derive(Clone, Copy)]
struct Stay {
    /// Index of the requested idle state.
    asked: usize,
    /// Start, ns of the trace.
    since: u64,
    /// Start of the wakeup of the CPU, ns of the trace; `u64::MAX`: the CPU still sleeps.
    left: u64,
}

/// State of each CPU, from the events so far.
pub(super) struct Speeds<'m> {
    machine: &'m Machine,
    /// By CPU: frequency, kHz; `None`: not known yet.
    khz: Vec<Option<u32>>,
    /// By CPU: its last stay.
    stays: Vec<Stay>,
    speed_q20: Vec<u64>,
    /// By core: its CPUs.
    siblings: Vec<Vec<CpuId>>,
    /// Whether the speed of a CPU was used before the trace stated it.
    guessed: bool,
}

impl<'m> Speeds<'m> {
    /// All CPUs awake and at their top frequency.
    pub fn new(machine: &'m Machine) -> Speeds<'m> {
        let n = machine.nr_cpus();
        let mut speeds = Speeds {
            machine,
            khz: vec![None; n],
            stays: vec![Stay { asked: 0, since: 0, left: 0 }; n],
            speed_q20: vec![0; n],
            siblings: machine.cores.iter().map(|c| c.iter().collect()).collect(),
            guessed: false,
        };
        (0..n as CpuId).for_each(|cpu| speeds.update(cpu));
        speeds
    }

    /// 2^20: capacity 1024 at its top frequency.
    pub fn speed_q20_at(&mut self, cpu: CpuId) -> u64 {
        self.guessed |= self.khz[cpu as usize].is_none();
        self.speed_q20[cpu as usize]
    }

    /// The CPUs that share the clock of one.
    pub fn clocked_with(&self, cpu: CpuId) -> Vec<CpuId> {
        self.machine.freq_domains[self.machine.cpus[cpu as usize].freq_domain as usize].cpus.iter().collect()
    }

    /// The CPUs that share the core of one, itself included.
    pub fn siblings(&self, cpu: CpuId) -> Vec<CpuId> {
        self.siblings[self.machine.cpus[cpu as usize].core as usize].clone()
    }

    /// The clock of a CPU, and of those that share it, changes.
    pub fn set_khz(&mut self, cpu: CpuId, khz: u32) {
        for cpu in self.clocked_with(cpu) {
            self.khz[cpu as usize] = Some(khz);
            self.update(cpu);
        }
    }

    /// A CPU goes to sleep, asking for a state.
    pub fn fall_asleep(&mut self, cpu: CpuId, asked: usize, now: u64) {
        let asked = asked.min(self.machine.idle_states(cpu).len().saturating_sub(1));
        self.stays[cpu as usize] = Stay { asked, since: now, left: u64::MAX };
        self.siblings(cpu).into_iter().for_each(|cpu| self.update(cpu));
    }

    /// Wakes a CPU up. Returns the duration of its wakeup, ns; `None` if it is not asleep.
    pub fn wake_up(&mut self, cpu: CpuId, now: u64) -> Option<u64> {
        if !self.sleeps(cpu) {
            return None;
        }
        let ns = self.wake_ns(cpu, now);
        self.stays[cpu as usize].left = now.saturating_sub(ns);
        self.siblings(cpu).into_iter().for_each(|cpu| self.update(cpu));
        Some(ns)
    }

    /// Delay of an interrupt that a CPU takes before its idle exit is recorded, ns.
    pub fn waking_up(&self, cpu: CpuId, now: u64) -> u64 {
        if self.sleeps(cpu) {
            self.wake_ns(cpu, now)
        } else {
            0
        }
    }

    fn sleeps(&self, cpu: CpuId) -> bool {
        self.stays[cpu as usize].left == u64::MAX
    }

    /// Duration of the wakeup of a CPU that is awake now, ns. It is that of the requested state if the state is the
    /// CPU's own, or if the whole cluster had requested it when the wakeup began; else that of the next shallower state
    /// for which this is true.
    fn wake_ns(&self, cpu: CpuId, now: u64) -> u64 {
        let states = self.machine.idle_states(cpu);
        if !self.machine.type_of(cpu).cpuidle {
            let slept_ns = now.saturating_sub(self.stays[cpu as usize].since);
            let held = states.iter().rfind(|state| state.target_residency_ns + state.wake_ns <= slept_ns);
            return held.unwrap_or(&states[0]).wake_ns;
        }
        let cluster = &self.machine.clusters[self.machine.cpus[cpu as usize].cluster as usize];
        let asked_by_all = |state: usize, begin: u64| {
            let asks = |s: &Stay| s.asked >= state && s.since <= begin && begin <= s.left;
            cluster.cpus.iter().all(|c| asks(&self.stays[c as usize]))
        };
        let until = (self.stays[cpu as usize].asked + 1).min(states.len());
        let held =
            states[..until].iter().enumerate().rev().find(|(i, state)| {
                state.scope == IdleScope::Cpu || asked_by_all(*i, now.saturating_sub(state.wake_ns))
            });
        held.map_or(0, |(_, state)| state.wake_ns)
    }

    /// Updates the speed of a CPU, with the engine's formula.
    fn update(&mut self, cpu: CpuId) {
        let hw = &self.machine.cpus[cpu as usize];
        let top = self.machine.freq_domains[hw.freq_domain as usize].opps.last().map_or(1, |o| u64::from(o.khz));
        let khz = self.khz[cpu as usize].map_or(top, u64::from);
        let awake = |c: &&CpuId| **c == cpu || !self.sleeps(**c);
        let threads = self.siblings[hw.core as usize].iter().filter(awake).count().max(1) as u64;
        let shares = &self.machine.cpu_types[hw.cpu_type as usize].smt_throughput;
        let throughput = shares.get(threads as usize - 1).or(shares.last()).map_or(1000, |s| u64::from(*s));
        let alone = (u64::from(hw.capacity) << 10).saturating_mul(khz) / top.max(1);
        self.speed_q20[cpu as usize] = (alone.saturating_mul(throughput) / (1000 * threads)).max(1);
    }

    /// A note on frequencies that were guessed; `None` if none was.
    pub fn notes(&self) -> Option<Note> {
        let untold = self.khz.iter().filter(|khz| khz.is_none()).count();
        (self.guessed && untold > 0)
            .then(|| Note::Loss(format!("no cpu_frequency of {untold} CPUs: taken to run at full speed throughout")))
    }
}
