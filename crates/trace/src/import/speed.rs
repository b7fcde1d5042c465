//! How fast each CPU was at each moment, by the events of its clock and of its siblings' sleep, and by its machine.

use fairground_machine::{CpuId, IdleScope, Machine};

/// What a trace has said of each CPU so far.
pub(super) struct Speeds<'m> {
    machine: &'m Machine,
    /// By CPU, kHz; none: not told yet.
    khz: Vec<Option<u32>>,
    /// The idle state that it asked for, by CPU; none: it is awake.
    asleep: Vec<Option<usize>>,
    /// By CPU.
    speed_q20: Vec<u64>,
    /// Threads of each core.
    siblings: Vec<Vec<CpuId>>,
    /// It was asked how fast a CPU is before that was told.
    guessed: bool,
}

impl<'m> Speeds<'m> {
    /// Every CPU awake and at its top frequency.
    pub fn new(machine: &'m Machine) -> Speeds<'m> {
        let n = machine.nr_cpus();
        let mut speeds = Speeds {
            machine,
            khz: vec![None; n],
            asleep: vec![None; n],
            speed_q20: vec![0; n],
            siblings: machine.cores.iter().map(|c| c.iter().collect()).collect(),
            guessed: false,
        };
        (0..n as CpuId).for_each(|cpu| speeds.update(cpu));
        speeds
    }

    /// 2^20: capacity 1024 at its top frequency.
    pub fn of(&mut self, cpu: CpuId) -> u64 {
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

    /// A CPU goes to sleep, asking for a state, or wakes up.
    pub fn set_asleep(&mut self, cpu: CpuId, state: Option<usize>) {
        self.asleep[cpu as usize] = state;
        self.siblings(cpu).into_iter().for_each(|cpu| self.update(cpu));
    }

    /// Whether it sleeps.
    pub fn sleeps(&self, cpu: CpuId) -> bool {
        self.asleep[cpu as usize].is_some()
    }

    /// How long a CPU that sleeps takes to wake up, ns: from the state it asked for, or the deepest that its whole cluster
    /// asked for.
    pub fn wake_ns(&self, cpu: CpuId) -> u64 {
        let states = self.machine.idle_states(cpu);
        let Some(asked) = self.asleep[cpu as usize].map(|state| state.min(states.len().saturating_sub(1))) else {
            return 0;
        };
        let of_cpu = |states: &[fairground_machine::IdleState]| {
            states.iter().rposition(|s| s.scope == IdleScope::Cpu).unwrap_or(0)
        };
        let held = match states.get(asked).map(|s| s.scope) {
            None => return 0,
            Some(IdleScope::Cpu) => asked,
            Some(_) => {
                let cluster = &self.machine.clusters[self.machine.cpus[cpu as usize].cluster as usize];
                let agreed = cluster.cpus.iter().map(|c| self.asleep[c as usize]).min().flatten().unwrap_or(0);
                let agreed = agreed.min(asked);
                if states[agreed].scope == IdleScope::Cpu {
                    of_cpu(&states[..asked])
                } else {
                    agreed
                }
            }
        };
        states[held].wake_ns
    }

    /// As the engine has it.
    fn update(&mut self, cpu: CpuId) {
        let hw = &self.machine.cpus[cpu as usize];
        let top = self.machine.freq_domains[hw.freq_domain as usize].opps.last().map_or(1, |o| u64::from(o.khz));
        let khz = self.khz[cpu as usize].map_or(top, u64::from);
        let awake = |c: &&CpuId| **c == cpu || self.asleep[**c as usize].is_none();
        let threads = self.siblings[hw.core as usize].iter().filter(awake).count().max(1) as u64;
        let shares = &self.machine.cpu_types[hw.cpu_type as usize].smt_throughput;
        let throughput = shares.get(threads as usize - 1).or(shares.last()).map_or(1000, |s| u64::from(*s));
        let alone = (u64::from(hw.capacity) << 10).saturating_mul(khz) / top.max(1);
        self.speed_q20[cpu as usize] = (alone.saturating_mul(throughput) / (1000 * threads)).max(1);
    }

    /// What was guessed.
    pub fn notes(&self) -> Option<String> {
        let untold = self.khz.iter().filter(|khz| khz.is_none()).count();
        (self.guessed && untold > 0)
            .then(|| format!("no cpu_frequency of {untold} CPUs: taken to run at full speed throughout"))
    }
}
