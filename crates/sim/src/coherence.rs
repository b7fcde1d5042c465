//! Cache lines that move between CPUs: their cost by distance, their number, and the link between nodes.
//!
//! A line costs its price by distance whatever else goes on, one price if the CPU will own it, one if it only reads
//! it, and one for each further line of data in a row, unless it comes from another NUMA node: then it passes the
//! link between the two, of which there is one for each pair of nodes and each direction, and waits for what is on it.
//!
//! ```text
//! link 0 -> 1   |AAAA|BBBBBBBB|CC|          t0: A and B are requested, t1: C
//!              t0     t1                     B waits for A to have passed, C for the rest of B
//! ```
//!
//! The time of passing itself is part of the price of a line. Times on the link count in ps: a line takes about 2 ns of
//! it.

use fairground_machine::{CpuId, Distance, Machine};

use crate::Time;

/// Bytes of a cache line.
pub(crate) const LINE_BYTES: u32 = 64;

/// Cache lines that came over from other CPUs, and time that went into them and into locks, summed over all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Lines of messages and locks by distance (not of refills).
    pub lines: [u64; Distance::COUNT],
    /// Time for these, waits for the link not included, ns.
    pub line_ns: u64,
    /// What messages of other CPUs cost beyond their lines, ns.
    pub message_ns: u64,
    /// Waiting for mutexes of pipes, ns.
    pub pipe_wait_ns: u64,
    /// Waiting for locks of run queues, ns.
    pub queue_wait_ns: u64,
    /// Waiting for the link between two nodes, refills included, ns.
    pub link_wait_ns: u64,
}

impl Traffic {
    /// What was added since `earlier`, an older state of the same sums.
    pub fn since(&self, earlier: &Traffic) -> Traffic {
        Traffic {
            lines: std::array::from_fn(|d| self.lines[d] - earlier.lines[d]),
            line_ns: self.line_ns - earlier.line_ns,
            message_ns: self.message_ns - earlier.message_ns,
            pipe_wait_ns: self.pipe_wait_ns - earlier.pipe_wait_ns,
            queue_wait_ns: self.queue_wait_ns - earlier.queue_wait_ns,
            link_wait_ns: self.link_wait_ns - earlier.link_wait_ns,
        }
    }
}

/// Transfers of cache lines between CPUs, with the links between nodes.
#[derive(Clone, Debug)]
pub(crate) struct LineTransfers {
    pub traffic: Traffic,
    link: Option<NodeLinks>,
}

impl LineTransfers {
    pub(crate) fn new(machine: &Machine) -> Self {
        LineTransfers {
            traffic: Traffic::default(),
            link: machine.costs.link_gb_per_s.map(|rate| NodeLinks::new(machine, rate)),
        }
    }

    /// Time that `n` lines take from the cache of `from` to `to`, which will own them, requested at `now`, ns.
    pub(crate) fn fetch(&mut self, machine: &Machine, now: Time, from: CpuId, to: CpuId, n: u64) -> u64 {
        let price = |distance| machine.costs.line_ns[distance as usize] * n;
        self.transfer(machine, now, from, to, n, price)
    }

    /// The same for data in a row that `to` only reads.
    pub(crate) fn fetch_data(&mut self, machine: &Machine, now: Time, from: CpuId, to: CpuId, n: u64) -> u64 {
        self.transfer(machine, now, from, to, n, |distance| machine.costs.data_lines(distance, n))
    }

    fn transfer(
        &mut self,
        machine: &Machine,
        now: Time,
        from: CpuId,
        to: CpuId,
        n: u64,
        price: impl Fn(Distance) -> u64,
    ) -> u64 {
        if from == to {
            return 0;
        }
        let distance = machine.distance(from, to);
        let ns = price(distance);
        self.traffic.lines[distance as usize] += n;
        self.traffic.line_ns += ns;
        ns + self.pass(machine, now, from, to, n)
    }

    /// Time for which `n` lines wait for the lines that are on the link already, ns. 0 within a node.
    pub(crate) fn pass(&mut self, machine: &Machine, now: Time, from: CpuId, to: CpuId, n: u64) -> u64 {
        let Some(link) = &mut self.link else { return 0 };
        let [a, b] = [from, to].map(|cpu| machine.cpus[cpu as usize].node);
        let wait_ns = if a == b { 0 } else { link.pass(now, a, b, n) };
        self.traffic.link_wait_ns += wait_ns;
        wait_ns
    }
}

/// The links between all nodes.
#[derive(Clone, Debug)]
struct NodeLinks {
    line_ps: u64,
    nr_nodes: usize,
    /// When all lines requested so far have passed, ps; by node it comes from, then by node it goes to.
    free_ps: Vec<u64>,
}

impl NodeLinks {
    fn new(machine: &Machine, gb_per_s: f64) -> Self {
        let nr_nodes = machine.nodes.len();
        let line_ps = (f64::from(LINE_BYTES) * 1e3 / gb_per_s) as u64;
        NodeLinks { line_ps, nr_nodes, free_ps: vec![0; nr_nodes * nr_nodes] }
    }

    fn pass(&mut self, now: Time, from: u32, to: u32, lines: u64) -> u64 {
        let free = &mut self.free_ps[from as usize * self.nr_nodes + to as usize];
        let now_ps = now.saturating_mul(1000);
        let begin = now_ps.max(*free);
        *free = begin.saturating_add(lines.saturating_mul(self.line_ps));
        (begin - now_ps) / 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two nodes of one CPU; 6.4 GB/s are 10 ns a line.
    fn two_nodes() -> Machine {
        let mut machine = Machine::symmetric(2);
        machine.cpus.iter_mut().for_each(|cpu| (cpu.llc, cpu.node, cpu.package) = (cpu.id, cpu.id, cpu.id));
        machine.nodes = vec![fairground_machine::CpuMask::single(0), fairground_machine::CpuMask::single(1)];
        machine.costs.line_ns = [0, 1, 2, 3, 4, 5, 100];
        machine.costs.link_gb_per_s = Some(6.4);
        machine
    }

    /// 3 lines at 50, 2 at the same time behind them, 1 the other way, and 1 when the link is free again at 100.
    #[test]
    fn lines_wait_for_what_is_on_the_link_before_them_and_not_for_what_goes_the_other_way() {
        let machine = two_nodes();
        let mut lines = LineTransfers::new(&machine);
        let asked = [(50, 0, 1, 3), (50, 0, 1, 2), (50, 1, 0, 1), (100, 0, 1, 1)];
        let took = asked.map(|(now, from, to, n)| lines.fetch(&machine, now, from, to, n));
        assert_eq!(took, [300, 230, 100, 100]);
        let t = lines.traffic;
        assert_eq!((t.lines[Distance::Remote as usize], t.line_ns, t.link_wait_ns), (7, 700, 30));
    }

    /// One line passes each 10 ns, however many are requested: of 1000 at once, the last waits for 999.
    #[test]
    fn a_link_saturates_at_its_rate() {
        let machine = two_nodes();
        let mut lines = LineTransfers::new(&machine);
        let last = (0..1000).map(|_| lines.fetch(&machine, 0, 0, 1, 1)).last();
        assert_eq!(last, Some(100 + 9990));
    }

    #[test]
    fn a_link_without_a_rate_and_lines_that_stay_wait_for_nothing() {
        let mut machine = two_nodes();
        assert_eq!(LineTransfers::new(&machine).fetch(&machine, 0, 1, 1, 5), 0);
        machine.costs.link_gb_per_s = None;
        let mut lines = LineTransfers::new(&machine);
        assert_eq!([5, 5].map(|n| lines.fetch(&machine, 0, 0, 1, n)), [500, 500]);
    }
}
