//! The figures that are estimated, as numbers of a machine and as places in its file.

use fairground_machine::{CpuType, Distance, Figure, Machine, SoftCost, Source, SourceClass};

/// A figure of a machine file that is a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    /// `costs.soft.KIND`.
    Soft(SoftCost),
    /// `costs.ipi.DISTANCE`.
    Ipi(Distance),
    /// `costs.line.DISTANCE`.
    Line(Distance),
    /// `costs.line_read.DISTANCE`. A machine that does not tell reads from writes gets a table of its own for them.
    LineRead(Distance),
    /// `costs.line_next.DISTANCE`; a table is made, as for `LineRead`.
    LineNext(Distance),
    /// `costs.message.DISTANCE`.
    Message(Distance),
    /// `costs.socket_message.DISTANCE`.
    SocketMessage(Distance),
    /// `costs.refill_kib.DISTANCE`.
    Refill(Distance),
    /// `refill_kib` of a `[[cache]]`, by its index in the machine.
    Cache(usize),
    /// `refill.memory_kib.DISTANCE`.
    Memory(Distance),
    /// `wake` of an idle state.
    Wake {
        /// Index of the core type.
        cpu_type: usize,
        /// Index of the state.
        state: usize,
    },
}

/// Whether the length of a sleep alone decides in which idle state a CPU of this type is.
pub fn idles_by_itself(cpu_type: &CpuType) -> bool {
    cpu_type.idle_states.len() == 1 || !cpu_type.cpuidle
}

impl Param {
    /// The figures that workloads of `machine` may pay, in the order of its file: those of processes and switches that no
    /// workload of ours has (`migrate`, `balance`) are among them, and will be seen to have no effect.
    ///
    /// Of a core type with a governor and several idle states none is, as the governor decides which of them a CPU takes: where
    /// trials have one state at a time, they add its wake.
    pub fn paid_on(machine: &Machine) -> Vec<Param> {
        let mut params: Vec<Param> = SoftCost::variants().map(Param::Soft).collect();
        let apart = || machine.distances().into_iter().filter(|distance| *distance != Distance::Same);
        params.extend(apart().map(Param::Ipi));
        params.extend(apart().map(Param::Line));
        if machine.costs.line_read_ns.is_some() {
            params.extend(apart().map(Param::LineRead));
        }
        params.extend(apart().map(Param::LineNext));
        params.extend(apart().map(Param::SocketMessage));
        params.extend(apart().filter(|d| machine.costs.message_ns[*d as usize] > 0).map(Param::Message));
        for (cpu_type, of) in machine.cpu_types.iter().enumerate().filter(|(_, of)| idles_by_itself(of)) {
            params.extend((0..of.idle_states.len()).map(|state| Param::Wake { cpu_type, state }));
        }
        params
    }

    /// Its path among the figures of `machine`.
    pub fn path(self, machine: &Machine) -> String {
        match self {
            Param::Soft(kind) => format!("costs.soft.{}", kind.name()),
            Param::Ipi(distance) => format!("costs.ipi.{}", distance.name()),
            Param::Line(distance) => format!("costs.line.{}", distance.name()),
            Param::LineRead(distance) => format!("costs.line_read.{}", distance.name()),
            Param::LineNext(distance) => format!("costs.line_next.{}", distance.name()),
            Param::Message(distance) => format!("costs.message.{}", distance.name()),
            Param::SocketMessage(distance) => format!("costs.socket_message.{}", distance.name()),
            Param::Refill(distance) => format!("costs.refill_kib.{}", distance.name()),
            Param::Cache(index) => {
                let all = machine.caches.as_ref().map_or(&[][..], |caches| &caches.all);
                // Of equal caches in a row the first speaks for all, as their entry in the file does.
                let like = |i: &usize| {
                    let content = |cache: &fairground_machine::Cache| (cache.size_kib, cache.refill_kib_ns);
                    content(&all[*i]) == content(&all[index])
                };
                let path = |i: usize| format!("cache[{}].refill_kib", all[i].cpus);
                let stated = |path: &String| machine.figures.iter().any(|figure| figure.path == *path);
                (0..=index).rev().filter(like).map(path).find(stated).unwrap_or_default()
            }
            Param::Memory(distance) => format!("refill.memory_kib.{}", distance.name()),
            Param::Wake { cpu_type, state } => {
                let of = &machine.cpu_types[cpu_type];
                format!("cpu_type.{}.idle.{}.wake", of.name, of.idle_states[state].name)
            }
        }
    }

    /// Its value, ns; a software cost as it is paid, `costs.scale` applied.
    pub fn ns(self, machine: &Machine) -> f64 {
        let costs = &machine.costs;
        match self {
            Param::Soft(kind) => costs.soft(kind),
            Param::Ipi(distance) => costs.ipi_ns[distance as usize] as f64,
            Param::Line(distance) => costs.line_ns[distance as usize] as f64,
            Param::LineRead(distance) => costs.line_read(distance) as f64,
            Param::LineNext(distance) => costs.line_next(distance) as f64,
            Param::Message(distance) => costs.message_ns[distance as usize] as f64,
            Param::SocketMessage(distance) => costs.socket_message_ns[distance as usize] as f64,
            Param::Refill(distance) => costs.refill_kib_ns[distance as usize] as f64,
            Param::Cache(index) => machine.caches.as_ref().map_or(0.0, |caches| caches.all[index].refill_kib_ns as f64),
            Param::Memory(distance) => machine.caches.as_ref().map_or(0.0, |caches| caches.memory_kib(distance) as f64),
            Param::Wake { cpu_type, state } => machine.cpu_types[cpu_type].idle_states[state].wake_ns as f64,
        }
    }

    /// Sets it; what the machine counts in whole ns is rounded.
    pub fn set(self, machine: &mut Machine, ns: f64) {
        let whole = ns.round().max(0.0) as u64;
        let costs = &mut machine.costs;
        match self {
            Param::Soft(kind) => costs.soft_ns[kind as usize] = ns,
            Param::Ipi(distance) => costs.ipi_ns[distance as usize] = whole,
            Param::Line(distance) => costs.line_ns[distance as usize] = whole,
            Param::LineRead(distance) => {
                let lines = costs.line_ns;
                costs.line_read_ns.get_or_insert(lines)[distance as usize] = whole;
            }
            Param::LineNext(distance) => {
                let lines = *costs.line_read_ns.as_ref().unwrap_or(&costs.line_ns);
                costs.line_next_ns.get_or_insert(lines)[distance as usize] = whole;
            }
            Param::Message(distance) => costs.message_ns[distance as usize] = whole,
            Param::SocketMessage(distance) => costs.socket_message_ns[distance as usize] = whole,
            Param::Refill(distance) => costs.refill_kib_ns[distance as usize] = whole,
            Param::Cache(index) => {
                // Caches of one entry have one price.
                if let Some(caches) = &mut machine.caches {
                    let like = caches.all[index].clone();
                    let same = |cache: &&mut fairground_machine::Cache| {
                        (cache.size_kib, cache.refill_kib_ns) == (like.size_kib, like.refill_kib_ns)
                    };
                    caches.all.iter_mut().filter(same).for_each(|cache| cache.refill_kib_ns = whole);
                }
            }
            Param::Memory(distance) => {
                if let Some(caches) = &mut machine.caches {
                    caches.memory_kib_ns[distance as usize] = whole;
                }
            }
            Param::Wake { cpu_type, state } => machine.cpu_types[cpu_type].idle_states[state].wake_ns = whole,
        }
    }

    /// `ns` as the file of `machine` states it: before its `costs.scale`.
    pub fn stated_ns(self, machine: &Machine, ns: f64) -> f64 {
        match self {
            Param::Soft(kind) if kind.is_scaled() => ns / machine.costs.scale,
            _ => ns,
        }
    }

    /// The spread that an estimate of this figure has.
    pub fn spread_of_estimate(self, machine: &Machine) -> f64 {
        self.spread_by(machine, Source::Estimate(String::new()))
    }

    /// The spread of the class `measured`: by how much the same part differs when it is measured twice.
    pub fn spread_of_measured(self, machine: &Machine) -> f64 {
        self.spread_by(machine, Source::Published(SourceClass::Measured, String::new()))
    }

    fn spread_by(self, machine: &Machine, source: Source) -> f64 {
        Figure { path: self.path(machine), value: String::new(), source, spread: None }.doubt().spread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_read_back_as_it_was_set_and_stands_in_the_file() {
        let mut machine = Machine::preset("thunderx2-224").unwrap();
        for param in Param::paid_on(&machine) {
            let path = param.path(&machine);
            let is_stated = machine.figures.iter().any(|figure| figure.path == path);
            assert!(is_stated || matches!(param, Param::LineNext(_) | Param::SocketMessage(_)), "{path}");
            param.set(&mut machine, 321.0);
            assert_eq!(param.ns(&machine), 321.0, "{path}");
            assert!(param.spread_of_estimate(&machine) > param.spread_of_measured(&machine), "{path}");
            assert_eq!(param.spread_of_measured(&machine), 1.1, "{path}");
        }
        let caches = machine.caches.as_ref().unwrap().all.len();
        let shared = Param::Cache(caches - 1);
        assert!(machine.figures.iter().any(|figure| figure.path == shared.path(&machine)));
        shared.set(&mut machine, 77.0);
        assert_eq!(shared.ns(&machine), 77.0);
    }

    #[test]
    fn a_scaled_cost_is_stated_before_its_scale() {
        let machine = Machine::preset("hikey960").unwrap();
        let scale = machine.costs.scale;
        assert!(scale != 1.0);
        assert_eq!(Param::Soft(SoftCost::Pick).stated_ns(&machine, 100.0), 100.0 / scale);
        assert_eq!(Param::Soft(SoftCost::Fork).stated_ns(&machine, 100.0), 100.0);
    }
}
