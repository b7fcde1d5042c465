//! The text report of `machine show`.

use std::fmt::Write;

use crate::{Cache, CpuMask, Distance, Figure, IdleScope, Machine, Opp, SoftCost, Source};

/// Groups shown before the rest is only counted.
const GROUPS_SHOWN: usize = 8;

/// Columns of operating points that not every machine has.
type Column = (&'static str, fn(&Opp) -> Option<f64>);
const MORE_OF_OPPS: [Column; 3] = [
    ("model mW", |o| o.model_mw),
    ("WFI mW", |o| o.wfi_mw),
    ("static mW", |o| Some(o.static_mw).filter(|mw| *mw != 0.0)),
];

impl Machine {
    /// The text of `machine show`: topology by level, caches, capacities, OPPs, idle states and costs, then every figure
    /// with its source.
    pub fn describe(&self) -> String {
        let sections = [
            self.show_topology(),
            self.show_caches(),
            self.show_clocks(),
            self.show_idle(),
            self.show_costs(),
            self.show_figures(),
        ];
        format!("{}: {}\n\n{}", self.name, self.title, sections.join("\n"))
    }

    fn show_topology(&self) -> String {
        let clusters: Vec<CpuMask> = self.clusters.iter().map(|c| c.cpus).collect();
        let clocks: Vec<CpuMask> = self.freq_domains.iter().map(|d| d.cpus).collect();
        let levels = [
            ("packages", &self.packages),
            ("nodes", &self.nodes),
            ("llcs", &self.llcs),
            ("clusters", &clusters),
            ("cores", &self.cores),
            ("clocks", &clocks),
        ];
        let mut out = format!("Topology: {} CPUs\n", self.nr_cpus());
        for (name, groups) in levels {
            let _ = writeln!(out, "  {name:<9} {:>4}  {}", groups.len(), show_groups(groups));
        }
        if self.nodes.len() > 1 {
            let _ = writeln!(out, "  distances       {}", crate::file::show_slit(&self.numa_distance));
            let _ = writeln!(out, "  reclaim at      {}", self.node_reclaim_distance);
        }
        out
    }

    /// Caches of equal size and price on one line.
    fn show_caches(&self) -> String {
        let Some(caches) = &self.caches else {
            return "Caches: none stated; who changes the CPU finds nothing there, who stays all\n".into();
        };
        let mut out = String::from("Caches: size, and ns for 1 KiB out of them\n");
        let like = |a: &Cache, b: &Cache| {
            (a.size_kib, a.refill_kib_ns, a.cpus.count()) == (b.size_kib, b.refill_kib_ns, b.cpus.count())
        };
        for run in caches.all.chunk_by(like) {
            let groups: Vec<CpuMask> = run.iter().map(|cache| cache.cpus).collect();
            let (size, ns) = (run[0].size_kib, run[0].refill_kib_ns);
            let _ = writeln!(out, "  {size:>7} KiB {ns:>6}  {}", show_groups(&groups));
        }
        let _ = writeln!(out, "  memory      {:>6}  own node", caches.memory_kib(Distance::Node));
        for distance in self.distances().into_iter().filter(|d| *d > Distance::Node) {
            let _ = writeln!(out, "  memory      {:>6}  {}", caches.memory_kib(distance), distance.name());
        }
        let _ = writeln!(out, "  a task modifies {} % of its footprint", caches.modified * 100.0);
        out
    }

    /// One table per run of clocks that differ in nothing but their CPUs.
    fn show_clocks(&self) -> String {
        let mut out = String::from("Capacities and operating points\n");
        let kind = |d: usize| {
            let cpu = self.freq_domains[d].cpus.first().map_or(0, |c| c as usize);
            let clock = &self.freq_domains[d];
            (&clock.opps, clock.slot_ns, self.cpus[cpu].cpu_type, self.cpus[cpu].capacity)
        };
        let mut d = 0;
        while d < self.freq_domains.len() {
            let run = (d..self.freq_domains.len()).take_while(|i| kind(*i) == kind(d)).count();
            let cpus = self.freq_domains[d..d + run].iter().fold(CpuMask::EMPTY, |all, f| all.or(&f.cpus));
            self.show_clock(&mut out, d, cpus);
            d += run;
        }
        out
    }

    fn show_clock(&self, out: &mut String, d: usize, cpus: CpuMask) {
        let Some(cpu) = self.freq_domains[d].cpus.first() else { return };
        let capacity = self.cpus[cpu as usize].capacity;
        let _ = writeln!(out, "  {cpus}: {}, capacity {capacity}", self.type_of(cpu).name);
        if self.freq_domains[d].slot_ns > 0 {
            let _ = writeln!(out, "    changes begin every {} us", self.freq_domains[d].slot_ns as f64 / 1000.0);
        }
        let opps = &self.freq_domains[d].opps;
        let more = MORE_OF_OPPS.iter().filter(|(_, of)| opps.iter().any(|o| of(o).is_some()));
        let heads: String = more.clone().map(|(head, _)| format!(" {head:>10}")).collect();
        let _ = writeln!(out, "    {:>9} {:>9} {:>10}{heads}", "MHz", "capacity", "mW");
        for opp in opps {
            let mhz = f64::from(opp.khz) / 1000.0;
            let cells = more.clone().map(|(_, of)| format!(" {:>10}", of(opp).map_or("".into(), |mw| mw.to_string())));
            let (capacity, cells) = (self.capacity_at(cpu, opp.khz), cells.collect::<String>());
            let _ = writeln!(out, "    {mhz:>9} {capacity:>9.0} {:>10}{cells}", opp.active_mw);
        }
    }

    fn show_idle(&self) -> String {
        let mut out = String::from("Idle states, us: entry, wake; as the kernel sees them: exit latency, residency\n");
        let us = |ns: u64| ns as f64 / 1000.0;
        for cpu_type in &self.cpu_types {
            let driver = if cpu_type.cpuidle { "" } else { ": no cpuidle driver, the kernel sees no idle state" };
            let _ = writeln!(out, "  {}{driver}", cpu_type.name);
            for s in &cpu_type.idle_states {
                let scope = if s.scope == IdleScope::Cluster { "cluster" } else { "cpu" };
                let times = [s.entry_ns, s.wake_ns, s.exit_latency_ns, s.target_residency_ns].map(us);
                let [entry, wake, exit, residency] = times;
                let _ = writeln!(
                    out,
                    "    {:<14} {scope:<8} {entry:>7} {wake:>7} {exit:>7} {residency:>7}   {} mW",
                    s.name, s.power_mw
                );
                if s.wake_scatter != 1.0 || s.late_share > 0.0 {
                    let (scatter, share, late) = (s.wake_scatter, 100.0 * s.late_share, us(s.late_ns));
                    let _ = writeln!(
                        out,
                        "    {:<14} two thirds of the wakes within a factor {scatter}; {share} % of those by other CPUs {late} us late",
                        ""
                    );
                }
            }
        }
        out
    }

    fn show_costs(&self) -> String {
        let mut out = String::from("Software costs, ns at capacity 1024, scale applied\n");
        for kind in SoftCost::variants() {
            let _ = writeln!(out, "  {:<15} {:>10.1}", kind.name(), self.costs.soft(kind));
        }
        let _ = writeln!(out, "  jitter of a step +- {} %", self.costs.jitter * 100.0);
        if let Some(rate) = self.costs.link_gb_per_s {
            let _ = writeln!(out, "  link between two nodes {rate} GB/s in each direction");
        }
        if self.costs.message_lines > 0.0 {
            let _ =
                writeln!(out, "  a message of another CPU: {} lines read beyond its data", self.costs.message_lines);
        }
        let titles = ["", "ipi", "line", "line read", "next line", "message", "socket", "refill 1 KiB"];
        let _ = writeln!(out, "By distance, ns\n{}", by_distance_row(titles.map(String::from)));
        for d in self.distances().into_iter().filter(|d| *d != Distance::Same) {
            let c = &self.costs;
            let at = |table: &[u64; Distance::COUNT]| table[d as usize].to_string();
            let (read, message) = (c.line_read(d).to_string(), c.message(d).to_string());
            let next = c.line_next(d).to_string();
            let (socket, refill) = (at(&c.socket_message_ns), at(&c.refill_kib_ns));
            let row = [d.name().into(), at(&c.ipi_ns), at(&c.line_ns), read, next, message, socket, refill];
            let _ = writeln!(out, "{}", by_distance_row(row));
        }
        out
    }

    fn show_figures(&self) -> String {
        let width = self.figures.iter().map(|f| f.path.len()).max().unwrap_or(0);
        let mut out = String::from("Figures; class and spread, the factor within which two thirds lie; sources\n");
        for figure in &self.figures {
            let Figure { path, value, source, .. } = figure;
            let doubt = figure.doubt();
            let spread = if doubt.spread == 1.0 { "exact".into() } else { doubt.spread.to_string() };
            let _ = writeln!(out, "  {path:<width$}  {value}  {} {spread}  [{source}]", source.class());
        }
        out
    }
}

/// `estimate: reason`, `fitted: cell`, or the published source.
impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::Published(_, source) => f.write_str(source),
            Source::Estimate(reason) if reason.is_empty() => f.write_str("estimate"),
            Source::Estimate(reason) => write!(f, "estimate: {reason}"),
            Source::Fitted(cell) => write!(f, "fitted: {cell}"),
        }
    }
}

fn by_distance_row([name, ipi, line, read, next, message, socket, refill]: [String; 8]) -> String {
    format!("  {name:<9} {ipi:>8} {line:>8} {read:>9} {next:>9} {message:>8} {socket:>9} {refill:>12}")
}

fn show_groups(groups: &[CpuMask]) -> String {
    let shown: Vec<String> = groups.iter().take(GROUPS_SHOWN).map(CpuMask::to_string).collect();
    let rest = groups.len().saturating_sub(GROUPS_SHOWN);
    let more = if rest > 0 { format!(" | {rest} more") } else { String::new() };
    shown.join(" | ") + &more
}
