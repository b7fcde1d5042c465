//! [`Machine`] to TOML: the inverse of loading, figure by figure.

use std::fmt::Write;

use crate::{
    Costs, CpuMask, CpuType, Distance, Figure, IdleScope, IdleState, Machine, SoftCost, Source, SourceClass,
    NODE_RECLAIM_DISTANCE,
};

use super::clocks::{show_opps, table_of};
use super::costs::{BY_DISTANCE, HOP, PRICE};
use super::figure::{Quantity, CAPACITY, EFFICIENCY, ENERGY, FACTOR, LINES, POWER, RATE, SLIT, TIME};
use super::topology::{entry_path, show_slit};
use super::types::{capacity_from, show_smt};
use super::FORMAT;

/// The text of a machine file, and the figures that reading it gives.
pub(crate) fn write(machine: &Machine) -> (String, Vec<Figure>) {
    let mut writer = Writer { machine, out: String::new(), figures: Vec::new(), published: Vec::new() };
    let known = writer.topology();
    writer.clusters(&known);
    writer.freq_domains(&known);
    writer.votes();
    writer.thermal();
    writer.cpu_types();
    writer.caches(&known);
    writer.costs();
    let mut text = format!("format = {FORMAT}\nname = {}\ntitle = {}\n", quote(&machine.name), quote(&machine.title));
    if !machine.leaves_out.is_empty() {
        text.push_str(&format!("leaves_out = {}\n", quote(&machine.leaves_out)));
    }
    if !writer.published.is_empty() {
        text.push_str("\n[sources]\n");
        for (i, (class, full)) in writer.published.iter().enumerate() {
            let full = quote(full);
            let _ = match class {
                &SourceClass::UNSTATED => writeln!(text, "S{} = {full}", i + 1),
                class => writeln!(text, "S{} = {{ text = {full}, class = \"{}\" }}", i + 1, class.name()),
            };
        }
    }
    text.push_str(&writer.out);
    (text, writer.figures)
}

pub(super) fn quote(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}

/// Levels written so far, for expressions such as `"4 cores"`.
pub(super) type LevelGroups<'a> = Vec<(&'static str, &'a [CpuMask])>;

pub(super) struct Writer<'a> {
    pub(super) machine: &'a Machine,
    out: String,
    figures: Vec<Figure>,
    /// Sources in order of first use; the tag of the first is S1.
    published: Vec<(SourceClass, String)>,
}

impl<'a> Writer<'a> {
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        self.out.push_str(line.as_ref());
        self.out.push('\n');
    }

    pub(super) fn known_figure(&self, path: &str) -> Option<&'a Figure> {
        self.machine.figures.iter().find(|f| f.path == path)
    }

    /// Notes a figure and gives what stands behind `source =` in an inline table.
    pub(super) fn source(&mut self, path: String, value: String) -> String {
        let (source, spread) = self.source_and_spread(path, value);
        spread.map_or(source.clone(), |spread| format!("{source}, spread = {spread}"))
    }

    /// Notes a figure and gives its quoted source, and its spread if the file states one.
    fn source_and_spread(&mut self, path: String, value: String) -> (String, Option<f64>) {
        let known = self.known_figure(&path);
        let source = known.map_or(Source::Estimate(String::new()), |f| f.source.clone());
        let spread = known.and_then(|f| f.spread);
        let text = match &source {
            Source::Estimate(reason) if reason.is_empty() => "estimate".into(),
            Source::Estimate(reason) => format!("estimate: {reason}"),
            Source::Fitted(cell) => format!("fitted: {cell}"),
            Source::Published(class, full) => {
                let known = self.published.iter().position(|(c, p)| (c, p) == (class, full));
                let index = known.unwrap_or_else(|| {
                    self.published.push((*class, full.clone()));
                    self.published.len() - 1
                });
                format!("S{}", index + 1)
            }
        };
        self.figures.push(Figure { path, value, source, spread });
        (quote(&text), spread)
    }

    /// `{ us = 650, source = "..." }`: as the file had it if that is still the value, else in the model's unit.
    pub(super) fn figure(&mut self, path: String, value: f64, quantity: &Quantity) -> String {
        let is_same = |shown: &&str| quantity.parse(shown) == Some(value);
        let shown = self.known_figure(&path).map(|f| f.value.as_str()).filter(is_same);
        let shown = shown.map_or_else(|| format!("{value} {}", quantity.units[0].0), str::to_string);
        let (number, unit) = shown.split_once(' ').unwrap_or((&shown, quantity.units[0].0));
        let (number, unit) = (number.to_string(), unit.to_string());
        let source = self.source(path, shown);
        format!("{{ {unit} = {number}, source = {source} }}")
    }

    pub(super) fn key_figure(&mut self, section: &str, key: &str, value: f64, quantity: &Quantity) {
        let figure = self.figure(format!("{section}.{key}"), value, quantity);
        self.line(format!("{key} = {figure}"));
    }

    fn topology(&mut self) -> LevelGroups<'a> {
        let m = self.machine;
        let cpus = m.nr_cpus();
        let source = self.source("topology".into(), format!("{cpus} cpus"));
        self.line(format!("\n[topology]\nsource = {source}\ncpus = {cpus}"));
        let mut known: LevelGroups = Vec::new();
        let levels: [(&str, &str, &'a [CpuMask]); 4] = [
            ("core", "cores", &m.cores),
            ("llc", "llcs", &m.llcs),
            ("node", "nodes", &m.nodes),
            ("package", "packages", &m.packages),
        ];
        for (name, key, groups) in levels {
            let one_each = groups.iter().enumerate().all(|(i, g)| *g == CpuMask::single(i as u32));
            if name != "core" || !one_each {
                let text = threads_text(groups, cpus).filter(|_| name == "core");
                let text = text.unwrap_or_else(|| groups_text(groups, cpus, &known));
                self.line(format!("{key} = {text}"));
            }
            known.push((name, groups));
        }
        if m.nodes.len() > 1 || self.known_figure("topology.distances").is_some() {
            let source = self.source("topology.distances".into(), show_slit(&m.numa_distance));
            self.line(format!("distances = {{ slit = {:?}, source = {source} }}", m.numa_distance));
        }
        let is_stated = self.known_figure("topology.reclaim_distance").is_some();
        if is_stated || m.node_reclaim_distance != NODE_RECLAIM_DISTANCE {
            self.key_figure("topology", "reclaim_distance", m.node_reclaim_distance.into(), &SLIT);
        }
        known
    }

    /// Index ranges of entries: a new one where the content changes or the file had an entry of its own.
    pub(super) fn entries(
        &self,
        n: usize,
        same: impl Fn(usize) -> bool,
        path: impl Fn(usize) -> String,
    ) -> Vec<(usize, usize)> {
        let mut starts: Vec<usize> =
            (0..n).filter(|i| *i == 0 || !same(*i) || self.known_figure(&path(*i)).is_some()).collect();
        starts.push(n);
        starts.windows(2).map(|w| (w[0], w[1])).collect()
    }

    fn clusters(&mut self, known: &LevelGroups) {
        let all = &self.machine.clusters;
        let content = |i: usize| (all[i].shares_cache, all[i].active_mw, all[i].idle_mw);
        let path = |i: usize| entry_path("cluster", &[all[i].cpus], "active");
        for (lo, hi) in self.entries(all.len(), |i| content(i) == content(i - 1), path) {
            let groups: Vec<CpuMask> = all[lo..hi].iter().map(|c| c.cpus).collect();
            let section = entry_path("cluster", &groups, "");
            let section = section.trim_end_matches('.');
            self.line(format!("\n[[cluster]]\ncpus = {}", groups_text(&groups, self.machine.nr_cpus(), known)));
            if all[lo].shares_cache {
                self.line("shares_cache = true");
            }
            self.key_figure(section, "active", all[lo].active_mw, &POWER);
            self.key_figure(section, "idle", all[lo].idle_mw, &POWER);
        }
    }

    fn freq_domains(&mut self, known: &LevelGroups) {
        let all = &self.machine.freq_domains;
        let content = |i: usize| (&all[i].opps, all[i].transition_ns, all[i].slot_ns, all[i].reported_ns, &all[i].rail);
        let path = |i: usize| entry_path("freq_domain", &[all[i].cpus], "transition");
        for (lo, hi) in self.entries(all.len(), |i| content(i) == content(i - 1), path) {
            let groups: Vec<CpuMask> = all[lo..hi].iter().map(|d| d.cpus).collect();
            let section = entry_path("freq_domain", &groups, "");
            let section = section.trim_end_matches('.');
            self.line(format!("\n[[freq_domain]]\ncpus = {}", groups_text(&groups, self.machine.nr_cpus(), known)));
            self.key_figure(section, "transition", all[lo].transition_ns as f64, &TIME);
            if all[lo].slot_ns != 0 || self.known_figure(&format!("{section}.slot")).is_some() {
                self.key_figure(section, "slot", all[lo].slot_ns as f64, &TIME);
            }
            if let Some(ns) = all[lo].reported_ns {
                self.key_figure(section, "reported", ns as f64, &TIME);
            }
            if let Some(rail) = &all[lo].rail {
                self.line(format!("rail = {}", quote(rail)));
            }
            let (source, spread) = self.source_and_spread(format!("{section}.opps"), show_opps(&all[lo].opps));
            let (columns, rows) = table_of(&all[lo].opps);
            let spread = spread.map(|spread| format!("spread = {spread}\n")).unwrap_or_default();
            self.line(format!("[freq_domain.opps]\nsource = {source}\n{spread}columns = {columns:?}\nrows = ["));
            for row in rows {
                self.line(format!("    [{}],", row.join(", ")));
            }
            self.line("]");
        }
    }

    fn cpu_types(&mut self) {
        let efficiencies = self.efficiencies();
        for (i, cpu_type) in self.machine.cpu_types.iter().enumerate() {
            let members = self.machine.cpus.iter().filter(|c| c.cpu_type == i as u32);
            let cpus: CpuMask = members.clone().map(|c| c.id).collect();
            let section = format!("cpu_type.{}", cpu_type.name);
            self.line(format!("\n[cpu_type.{}]\ncpus = {}", key(&cpu_type.name), quote(&cpus.to_string())));
            match &efficiencies {
                Some(all) => self.key_figure(&section, "efficiency", all[i], &EFFICIENCY),
                None => self.capacity(&section, members.map(|c| (c.id, c.capacity))),
            }
            if cpu_type.smt_throughput != [1000] || self.known_figure(&format!("{section}.smt_throughput")).is_some() {
                self.smt(&section, cpu_type);
            }
            if !cpu_type.cpuidle {
                self.line("cpuidle = false");
            }
            cpu_type.idle_states.iter().for_each(|state| self.idle_state(&section, &cpu_type.name, state));
        }
    }

    /// One figure, or groups of CPUs where the CPUs of a type differ.
    fn capacity(&mut self, section: &str, members: impl Iterator<Item = (u32, u32)>) {
        let mut by_capacity: Vec<(u32, CpuMask)> = Vec::new();
        for (cpu, capacity) in members {
            match by_capacity.iter_mut().find(|(c, _)| *c == capacity) {
                Some((_, cpus)) => cpus.set(cpu),
                None => by_capacity.push((capacity, CpuMask::single(cpu))),
            }
        }
        if let [(capacity, _)] = by_capacity[..] {
            return self.key_figure(section, "capacity", f64::from(capacity), &CAPACITY);
        }
        let rows: Vec<String> = by_capacity.iter().map(|(c, cpus)| format!("[\"{cpus}\", {c}]")).collect();
        let shown = super::types::show_capacities(&by_capacity);
        let source = self.source(format!("{section}.capacity"), shown);
        self.line(format!("capacity = {{ rows = [{}], source = {source} }}", rows.join(", ")));
    }

    /// The efficiencies that the file stated, if they still give the capacities of all CPUs.
    fn efficiencies(&self) -> Option<Vec<f64>> {
        let m = self.machine;
        let stated =
            |t: &CpuType| EFFICIENCY.parse(&self.known_figure(&format!("cpu_type.{}.efficiency", t.name))?.value);
        let all: Vec<f64> = m.cpu_types.iter().map(stated).collect::<Option<_>>()?;
        let raw = |c: &crate::Cpu| all[c.cpu_type as usize] * f64::from(m.max_khz(c.id));
        let top = m.cpus.iter().map(raw).fold(0.0, f64::max);
        m.cpus.iter().all(|c| capacity_from(raw(c), top) == c.capacity).then_some(all)
    }

    fn smt(&mut self, section: &str, cpu_type: &CpuType) {
        let shown = show_smt(&cpu_type.smt_throughput);
        let cells = shown.split(' ').collect::<Vec<_>>().join(", ");
        let source = self.source(format!("{section}.smt_throughput"), shown);
        self.line(format!("smt_throughput = {{ ratio = [{cells}], source = {source} }}"));
    }

    fn idle_state(&mut self, section: &str, type_name: &str, state: &IdleState) {
        self.line(format!("\n[cpu_type.{}.idle.{}]", key(type_name), key(&state.name)));
        let section = format!("{section}.idle.{}", state.name);
        if state.scope == IdleScope::Cluster {
            self.line("scope = \"cluster\"");
        }
        if state.polling {
            self.line("polling = true");
        }
        if !state.keeps_cache {
            self.line("keeps_cache = false");
        }
        self.key_figure(&section, "entry", state.entry_ns as f64, &TIME);
        self.key_figure(&section, "wake", state.wake_ns as f64, &TIME);
        if state.wake_scatter != 1.0 || self.known_figure(&format!("{section}.wake_scatter")).is_some() {
            self.key_figure(&section, "wake_scatter", state.wake_scatter, &FACTOR);
        }
        if state.late_share != 0.0 || self.known_figure(&format!("{section}.late_share")).is_some() {
            self.key_figure(&section, "late", state.late_ns as f64, &TIME);
            self.key_figure(&section, "late_share", state.late_share, &FACTOR);
        }
        let is_stated = self.known_figure(&format!("{section}.exit_latency")).is_some();
        if is_stated || state.exit_latency_ns != state.entry_ns + state.wake_ns {
            self.key_figure(&section, "exit_latency", state.exit_latency_ns as f64, &TIME);
        }
        self.key_figure(&section, "residency", state.target_residency_ns as f64, &TIME);
        self.key_figure(&section, "power", state.power_mw, &POWER);
        self.key_figure(&section, "transition", state.transition_uj, &ENERGY);
    }

    fn costs(&mut self) {
        let costs = &self.machine.costs;
        self.line("\n[costs]");
        let scale = self.scale(costs);
        if let Some(scale) = scale {
            self.key_figure("costs", "scale", scale, &FACTOR);
        }
        if costs.jitter != 0.0 || self.known_figure("costs.jitter").is_some() {
            self.key_figure("costs", "jitter", costs.jitter, &FACTOR);
        }
        if let Some(rate) = costs.link_gb_per_s {
            self.key_figure("costs", "link", rate, &RATE);
        }
        if costs.message_lines != 0.0 || self.known_figure("costs.message_lines").is_some() {
            self.key_figure("costs", "message_lines", costs.message_lines, &LINES);
        }
        self.line("\n[costs.soft]");
        for kind in SoftCost::variants() {
            let factor = if kind.is_scaled() { scale.unwrap_or(1.0) } else { 1.0 };
            let stated = self.stated(kind).filter(|ns| ns * factor == costs.soft(kind));
            self.key_figure("costs.soft", kind.name(), stated.unwrap_or(costs.soft(kind)), &PRICE);
        }
        let distances = self.machine.distances();
        let stated_or_paid = |name: &str, table: &[u64; Distance::COUNT]| {
            let of_table = format!("costs.{name}.");
            self.machine.figures.iter().any(|figure| figure.path.starts_with(&of_table))
                || table.iter().any(|ns| *ns > 0)
        };
        let tables = [
            Some(&costs.ipi_ns),
            Some(&costs.line_ns),
            costs.line_read_ns.as_ref(),
            costs.line_next_ns.as_ref(),
            Some(&costs.message_ns).filter(|table| stated_or_paid("message", table)),
            Some(&costs.socket_message_ns).filter(|table| stated_or_paid("socket_message", table)),
            Some(&costs.refill_kib_ns),
        ];
        let stated = BY_DISTANCE.into_iter().zip(tables).filter_map(|(name, table)| Some((name, table?)));
        for (name, table) in stated {
            self.line(format!("\n[costs.{name}]"));
            self.by_distance(&format!("costs.{name}"), table, &distances);
        }
    }

    /// A software cost as the file stated it, before scaling.
    fn stated(&self, kind: SoftCost) -> Option<f64> {
        PRICE.parse(&self.known_figure(&format!("costs.soft.{}", kind.name()))?.value)
    }

    /// The scale that the file stated, if it still gives all costs from the stated ones.
    fn scale(&self, costs: &Costs) -> Option<f64> {
        self.known_figure("costs.scale")?;
        let scale = costs.scale;
        let mut scaled = SoftCost::variants().filter(|kind| kind.is_scaled());
        scaled.all(|kind| self.stated(kind).map(|ns| ns * scale) == Some(costs.soft(kind))).then_some(scale)
    }

    /// What the loader would not fill in by itself.
    pub(super) fn by_distance(&mut self, section: &str, table: &[u64; Distance::COUNT], occurring: &[Distance]) {
        let mut nearer = 0;
        for distance in Distance::ALL {
            let value = table[distance as usize];
            let is_stated = self.known_figure(&format!("{section}.{}", distance.name())).is_some();
            let is_needed = distance != Distance::Same && occurring.contains(&distance);
            if is_stated || is_needed || value != nearer {
                self.key_figure(section, distance.name(), value as f64, &HOP);
            }
            nearer = value;
        }
    }
}

/// A TOML key, quoted where it must be.
pub(super) fn key(name: &str) -> String {
    toml_edit::Key::new(name).to_string()
}

pub(super) fn groups_text(groups: &[CpuMask], n_cpus: usize, known: &LevelGroups) -> String {
    if let [one] = groups {
        return if *one == CpuMask::first_n(n_cpus) { "\"all\"".into() } else { quote(&one.to_string()) };
    }
    for (name, level) in known.iter().rev() {
        let per = level.len() / groups.len();
        let join = |parts: &[CpuMask]| parts.iter().fold(CpuMask::EMPTY, |all, p| all.or(p));
        if per > 0 && level.len() == per * groups.len() && level.chunks(per).map(join).eq(groups.iter().copied()) {
            return format!("\"{per} {name}{}\"", if per == 1 { "" } else { "s" });
        }
    }
    let list: Vec<String> = groups.iter().map(|g| quote(&g.to_string())).collect();
    format!("[{}]", list.join(", "))
}

/// `{ threads = 2, apart = 64 }` if that describes the cores.
fn threads_text(cores: &[CpuMask], n_cpus: usize) -> Option<String> {
    let mut first = cores.first()?.iter();
    let (lo, hi) = (first.next()?, first.next()?);
    let (threads, apart) = (cores[0].count(), (hi - lo) as usize);
    let described = super::groups::threads_apart(n_cpus, threads, apart)?;
    (described == cores).then(|| format!("{{ threads = {threads}, apart = {apart} }}"))
}
