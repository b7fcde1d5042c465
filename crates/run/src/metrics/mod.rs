//! The figures of a run, in the order in which tables show them. The list depends on workload and machine alone.
//!
//! Names end in their unit; the name of a figure of one core type (and idle state) ends in that type (and state):
//! `idle_cut_pct_cortex_a53`, `residency_pct_cortex_a53_cpu_sleep`.

mod floors;
mod metric;
mod own;
mod points;
mod selection;

use std::collections::BTreeSet;

use fairground_machine::{CpuMask, CpuType, Distance, Machine};
use fairground_sim::{Delay, IdleStats, MigrateCause, RunMetrics, Traffic};
use fairground_workload::Workload;

pub use self::metric::{Better, Metric, MetricValue, Percentile, Range, SmallestEffect};
pub use self::own::{notes, own_notes};
pub use self::selection::{help_on_metric, Selected, Selection, SelectionError};

/// A metric, and how it is computed from a finished run.
struct Entry {
    metric: Metric,
    /// Whether tables show it by default.
    usual: bool,
    read: Box<Read>,
}

/// Computes the figure of a run; `None` if the run has no samples of it.
type Read = dyn Fn(&RunMetrics) -> Option<f64>;

/// Smallest effect of interest on means and medians of times, percent.
const MIDDLE_PCT: f64 = 2.0;
/// The same on percentiles above the median: they vary more between runs, and mails call less noise.
const TAIL_PCT: f64 = 5.0;
/// The same on greatest values, each of which is one event.
const GREATEST_PCT: f64 = 10.0;
/// The same on times that are lost to waiting, and on energy that is lost: parts of a whole that has its own figure.
const WAIT_PCT: f64 = 5.0;

/// One figure of a distribution.
struct Part {
    part: &'static str,
    words: &'static str,
    value: fn(Delay) -> f64,
    /// The percentile that it is, per thousand; `None` for mean and greatest.
    permille: Option<u32>,
    /// Smallest effect of interest, percent.
    smallest_pct: f64,
}

const PARTS: [Part; 5] = [
    Part { part: "mean", words: "mean", value: |d| d.mean, permille: None, smallest_pct: MIDDLE_PCT },
    Part { part: "p50", words: "median", value: |d| d.p50 as f64, permille: Some(500), smallest_pct: MIDDLE_PCT },
    Part {
        part: "p95",
        words: "95th percentile",
        value: |d| d.p95 as f64,
        permille: Some(950),
        smallest_pct: TAIL_PCT,
    },
    Part {
        part: "p99",
        words: "99th percentile",
        value: |d| d.p99 as f64,
        permille: Some(990),
        smallest_pct: TAIL_PCT,
    },
    Part { part: "max", words: "greatest", value: |d| d.max as f64, permille: None, smallest_pct: GREATEST_PCT },
];

/// The list of figures under construction.
struct Entries(Vec<Entry>);

impl Entries {
    fn add(
        &mut self,
        name: &str,
        unit: &str,
        meaning: &str,
        read: impl Fn(&RunMetrics) -> f64 + 'static,
    ) -> &mut Entry {
        self.add_of_samples(name, unit, meaning, move |m| Some(read(m)))
    }

    /// Adds a figure of samples. A run may have no samples.
    fn add_of_samples(
        &mut self,
        name: &str,
        unit: &str,
        meaning: &str,
        read: impl Fn(&RunMetrics) -> Option<f64> + 'static,
    ) -> &mut Entry {
        let metric = Metric::new(name, unit, Better::Lower, meaning);
        self.0.push(Entry { metric, usual: false, read: Box::new(read) });
        let last = self.0.len() - 1;
        &mut self.0[last]
    }

    /// Adds the figures of a distribution: mean, percentiles, greatest. Tables show those in `usual` by default.
    fn add_delay(&mut self, name: &str, what: &str, usual: &[&str], read: fn(&RunMetrics) -> Delay) {
        let samples = format!("{name}_samples");
        for Part { part, words, value, permille, smallest_pct } in PARTS {
            let meaning = format!("{what}: {words}");
            let entry = self.add_of_samples(&format!("{name}_{part}_us"), "us", &meaning, move |m| us(read(m), value));
            entry.smallest_pct(smallest_pct).percentile(permille, &samples).usual = usual.contains(&part);
        }
        self.add(&samples, "count", &format!("{what}: number of samples"), move |m| read(m).count as f64);
    }
}

fn us(delay: Delay, value: fn(Delay) -> f64) -> Option<f64> {
    (delay.count > 0).then(|| value(delay) / 1e3)
}

impl Entry {
    fn usual(&mut self) -> &mut Self {
        self.usual = true;
        self
    }

    fn higher_is_better(&mut self) {
        self.metric.better = Better::Higher;
    }

    /// Names the percentile that the metric is, and the metric that is the number of its samples.
    fn percentile(&mut self, permille: Option<u32>, samples: &str) -> &mut Self {
        self.metric.percentile = permille.map(|permille| Percentile { permille, samples: samples.into() });
        self
    }

    /// Sets the smallest effect of interest, where it is not that of the unit, percent of the base.
    fn smallest_pct(&mut self, pct: f64) -> &mut Self {
        self.metric.smallest.pct = pct;
        self
    }
}

fn entries(workload: &Workload, machine: &Machine) -> Vec<Entry> {
    let mut list = Entries(own_entries(workload));
    list.add("migrations", "count", "changes of CPU by all tasks", |m| m.migrations as f64).usual();
    add_delays(&mut list);
    let wasted = "core time in which a task waited while a CPU it may use idled";
    list.add("wasted_core_s", "s", wasted, |m| m.wasted_core_s).usual().smallest_pct(WAIT_PCT);
    let busy = "share of time in which the CPUs that its threads may use were in no idle state";
    let usable = usable(workload, machine);
    list.add("busy_pct", "%", busy, move |m| busy_pct(m, &usable));
    let misplaced = "tasks away from a balanced placement, mean over time";
    list.add("misplaced_tasks", "tasks", misplaced, |m| m.misplaced).usual();
    let refill = "time for which tasks waited for lines of their footprints as they came to a CPU, summed over tasks";
    list.add("refill_s", "s", refill, |m| m.refill_s).smallest_pct(WAIT_PCT);
    let near = "tasks born behind the last-level cache of who made them, of all made during the run";
    list.add("births_near_pct", "%", near, RunMetrics::births_near_pct);
    add_idle(&mut list);
    list.add("energy_j", "J", "energy of CPUs, clusters and supplies in the measured window", |m| m.energy_j).usual();
    add_power(&mut list, machine);
    add_clocks(&mut list, machine);
    list.add("switches", "count", "switches from or to a task", |m| m.switches as f64);
    add_migrations(&mut list);
    add_traffic(&mut list);
    for (i, cpu_type) in machine.cpu_types.iter().enumerate() {
        add_type(&mut list, i, cpu_type);
    }
    if workload.asks_for_clamps() {
        floors::add(&mut list, machine);
    }
    tell_apart(&mut list.0);
    list.0
}

/// Names of a machine that differ in punctuation only make the same part of a name: the second bears a 2, and so on.
fn tell_apart(entries: &mut [Entry]) {
    let mut known = BTreeSet::new();
    for entry in entries {
        let name = entry.metric.name.clone();
        let mut number = 2;
        while !known.insert(entry.metric.name.clone()) {
            entry.metric.name = format!("{name}_{number}");
            number += 1;
        }
    }
}

/// The CPUs that the threads of a workload may use. Threads that belong to a CPU do not count.
fn usable(workload: &Workload, machine: &Machine) -> CpuMask {
    let all = machine.all_cpus();
    let own = workload.tasks.iter().filter(|task| task.kthread_cpu.is_none());
    let cpus = own.fold(CpuMask::EMPTY, |cpus, task| cpus.or(&task.affinity.unwrap_or(all)));
    cpus.and(&all)
}

fn busy_pct(run: &RunMetrics, cpus: &CpuMask) -> f64 {
    let busy: u64 = cpus.iter().filter_map(|cpu| run.busy_ns.get(cpu as usize)).sum();
    percent(busy, run.window_ns * cpus.count() as u64)
}

fn add_delays(list: &mut Entries) {
    let latency = "start of a wakeup until the woken task can work";
    list.add_delay("wakeup_latency", latency, &["mean", "p50", "p99"], |m| m.wakeup_latency);
    let delay = "queued (woken, born, preempted) until working";
    list.add_delay("run_delay", delay, &["p99"], |m| m.run_delay);
}

fn add_idle(list: &mut Entries) {
    let all = |m: &RunMetrics| sum(m.idle.iter().flatten());
    list.add("idle_cut", "count", "sleeps that ended before break-even", move |m| all(m).cut as f64).usual();
    let share = "share of these in all sleeps deeper than the shallowest";
    list.add("idle_cut_pct", "%", share, |m| cut_pct(m.idle.iter()));
    list.add("idle_lost_j", "J", "energy lost by these", move |m| lost_j(&all(m))).usual().smallest_pct(WAIT_PCT);
    list.add("idle_above", "count", "sleeps too short for the state asked for", move |m| all(m).above as f64);
    list.add("idle_below", "count", "sleeps long enough for a deeper state", move |m| all(m).below as f64);
}

/// Energy by consumer, power by rail, and temperature.
fn add_power(list: &mut Entries, machine: &Machine) {
    list.add("energy_cluster_j", "J", "the clusters' static part of it", |m| m.cluster_j);
    list.add("energy_supply_j", "J", "the supplies' static part of it", |m| m.supply_j);
    list.add("energy_active_j", "J", "the part of it that running CPUs took", |m| m.active_j);
    list.add("energy_idle_j", "J", "the part of it that idle CPUs took", |m| m.idle_j);
    list.add("energy_transition_j", "J", "the part of it of entering and leaving idle states", |m| m.transition_j);
    let power = list.add("power_mw", "mW", "mean power of all rails", |m| m.rail_mw.iter().sum());
    // If a machine file has several supplies, they were measured one by one.
    power.usual = machine.freq_domains.iter().any(|domain| domain.rail.is_some());
    for (i, (rail, cpus)) in machine.rails().into_iter().enumerate() {
        let meaning = format!("mean power of the supply of CPUs {cpus}");
        list.add(&format!("power_mw_{}", identifier(rail)), "mW", &meaning, move |m| m.rail_mw[i]);
    }
    let Some(thermal) = &machine.thermal else { return };
    for (i, node) in thermal.nodes.iter().enumerate() {
        let meaning = format!("highest temperature of {}", node.name);
        let read = move |m: &RunMetrics| f64::from(m.hottest_mc[i]) / 1e3;
        list.add(&format!("hottest_c_{}", identifier(&node.name)), "C", &meaning, read);
    }
    let cooled = |domain: u32| thermal.zones.iter().any(|z| z.cools.iter().any(|(d, _)| *d == domain));
    for (i, domain) in machine.freq_domains.iter().enumerate().filter(|(i, _)| cooled(*i as u32)) {
        let meaning = format!("share of time in which heat capped the clock of CPUs {}", domain.cpus);
        let read = move |m: &RunMetrics| percent(m.capped_ns[i], m.window_ns);
        list.add(&format!("capped_pct_cpus_{}", identifier(&domain.cpus.to_string())), "%", &meaning, read);
    }
}

/// Share of time of each clock at its top operating point.
fn add_clocks(list: &mut Entries, machine: &Machine) {
    for (i, domain) in machine.freq_domains.iter().enumerate() {
        let meaning = format!("share of time at the top operating point of CPUs {}, idle or not", domain.cpus);
        let read = move |m: &RunMetrics| percent(m.top_clock_ns[i], m.window_ns);
        list.add(&format!("top_clock_pct_cpus_{}", identifier(&domain.cpus.to_string())), "%", &meaning, read)
            .higher_is_better();
    }
}

fn add_migrations(list: &mut Entries) {
    for cause in MigrateCause::ALL {
        let word = cause.word();
        let meaning = format!("changes of CPU, cause: {word}");
        list.add(&format!("migrations_{word}"), "count", &meaning, move |m| m.migrations_for(cause) as f64);
    }
    for distance in Distance::ALL.into_iter().filter(|d| *d != Distance::Same) {
        let word = distance.name();
        let meaning = format!("changes of CPU, nearest thing shared: {word}");
        let read = move |m: &RunMetrics| m.migrations_by_distance[distance as usize] as f64;
        list.add(&format!("migrations_to_{word}"), "count", &meaning, read);
    }
}

/// Cache lines that move between CPUs, and the waits for them and for locks.
fn add_traffic(list: &mut Entries) {
    for distance in Distance::ALL.into_iter().filter(|d| *d != Distance::Same) {
        let word = distance.name();
        let meaning = format!("cache lines of messages and locks that moved, nearest thing shared: {word}");
        list.add(&format!("lines_{word}"), "count", &meaning, move |m| m.traffic.lines[distance as usize] as f64);
    }
    let mut add = |name: &str, meaning: &str, ns: fn(&Traffic) -> u64| {
        list.add(name, "s", meaning, move |m| ns(&m.traffic) as f64 / 1e9).smallest_pct(WAIT_PCT);
    };
    add("lines_s", "CPU time stalled for these lines, waits for links not included", |t| t.line_ns);
    add("message_s", "CPU time for messages of other CPUs beyond their lines", |t| t.message_ns);
    add("pipe_mutex_wait_s", "CPU time spent waiting for mutexes of pipes", |t| t.pipe_wait_ns);
    add("queue_lock_wait_s", "CPU time spent waiting for locks of run queues", |t| t.queue_wait_ns);
    add("link_wait_s", "CPU time stalled for links between nodes, refills included", |t| t.link_wait_ns);
}

/// The figures of one core type.
fn add_type(list: &mut Entries, i: usize, cpu_type: &CpuType) {
    let core = &cpu_type.name;
    let suffix = identifier(core);
    let samples = format!("wakeup_latency_samples_{suffix}");
    for Part { part, words, value, permille, smallest_pct } in
        PARTS.into_iter().filter(|p| ["p50", "p99"].contains(&p.part))
    {
        let meaning = format!("{core}: start of a wakeup until the woken task can work: {words}");
        let read = move |m: &RunMetrics| us(m.wakeup_latency_by_type[i], value);
        list.add_of_samples(&format!("wakeup_latency_{part}_us_{suffix}"), "us", &meaning, read)
            .smallest_pct(smallest_pct)
            .percentile(permille, &samples);
    }
    let meaning = format!("{core}: start of a wakeup until the woken task can work: number of samples");
    list.add(&samples, "count", &meaning, move |m| m.wakeup_latency_by_type[i].count as f64);
    let cut = format!("{core}: sleeps that ended before break-even");
    list.add(&format!("idle_cut_{suffix}"), "count", &cut, move |m| sum(&m.idle[i]).cut as f64);
    let share = format!("{core}: share of these in all sleeps deeper than the shallowest");
    list.add(&format!("idle_cut_pct_{suffix}"), "%", &share, move |m| cut_pct([&m.idle[i]]));
    let lost = format!("{core}: energy lost by these");
    list.add(&format!("idle_lost_j_{suffix}"), "J", &lost, move |m| lost_j(&sum(&m.idle[i]))).smallest_pct(WAIT_PCT);
    for (s, state) in cpu_type.idle_states.iter().enumerate() {
        let name = format!("residency_pct_{suffix}_{}", identifier(&state.name));
        let meaning = format!("{core}: share of time in {}", state.name);
        let read = move |m: &RunMetrics| percent(m.idle[i][s].held_ns, m.type_ns[i]);
        let entry = list.add(&name, "%", &meaning, read);
        if s > 0 {
            entry.higher_is_better();
        }
    }
}

fn sum<'a>(stats: impl IntoIterator<Item = &'a IdleStats>) -> IdleStats {
    let mut sum = IdleStats::default();
    stats.into_iter().for_each(|s| sum.add(s));
    sum
}

/// `by_type`: states by core type. The shallowest cannot be left too early.
fn cut_pct<'a>(by_type: impl IntoIterator<Item = &'a Vec<IdleStats>>) -> f64 {
    let deep = sum(by_type.into_iter().flat_map(|states| states.iter().skip(1)));
    percent(deep.cut, deep.reached)
}

fn lost_j(stats: &IdleStats) -> f64 {
    stats.lost_pj as f64 / 1e12
}

/// `part` in percent of `whole`; 0 if `whole` is 0.
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    100.0 * part as f64 / whole as f64
}

/// `cpu-sleep` as part of a name: `cpu_sleep`.
fn identifier(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

/// The metrics of runs of `workload` on `machine`.
pub fn metrics(workload: &Workload, machine: &Machine) -> Vec<Metric> {
    entries(workload, machine).into_iter().map(|e| e.metric).collect()
}

/// Names of the metrics that tables show by default.
pub fn usual(workload: &Workload, machine: &Machine) -> Vec<String> {
    entries(workload, machine).into_iter().filter(|e| e.usual).map(|e| e.metric.name).collect()
}

/// Name of the metric that a workload is run for: the first of its own; `None` if it has none.
pub fn main_metric(workload: &Workload) -> Option<String> {
    own_entries(workload).into_iter().map(|e| e.metric.name).next()
}

/// The figures that a workload reports itself: its score, and what its programs measured.
fn own_entries(workload: &Workload) -> Vec<Entry> {
    let mut own = Entries(Vec::new());
    own::add_score(&mut own, &workload.score);
    workload.series.iter().enumerate().for_each(|(i, series)| own::add_series(&mut own, i, series));
    own.0
}

/// The figures of a run that the workload reports itself, as [`metric_values`] has them.
pub fn own_metric_values(workload: &Workload, run: &RunMetrics) -> Vec<MetricValue> {
    let read = |e: Entry| Some(MetricValue { value: (e.read)(run)?, metric: e.metric });
    own_entries(workload).into_iter().filter_map(read).collect()
}

/// The figures of a run of `workload` on `machine`. Figures of samples are left out if there is no sample.
pub fn metric_values(workload: &Workload, machine: &Machine, run: &RunMetrics) -> Vec<MetricValue> {
    let read = |e: Entry| Some(MetricValue { value: (e.read)(run)?, metric: e.metric });
    entries(workload, machine).into_iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipe_on(machine: &str) -> (Workload, Machine) {
        let machine = Machine::preset(machine).unwrap();
        (Workload::find("sched-pipe", &machine).unwrap().0, machine)
    }

    #[test]
    fn names_are_unique_and_the_usual_ones_fit_a_screen() {
        let (workload, machine) = pipe_on("hikey960");
        let mut names: Vec<String> = metrics(&workload, &machine).into_iter().map(|m| m.name).collect();
        assert!(names.contains(&"residency_pct_cortex_a73_cluster_sleep".into()), "{names:?}");
        assert!(names.contains(&"idle_lost_j_cortex_a53".into()), "{names:?}");
        assert!(usual(&workload, &machine).len() <= 12);
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn the_main_metric_is_the_first_of_the_workloads_own() {
        let main = |workload| main_metric(&Workload::find(workload, &Machine::preset("hikey960").unwrap()).unwrap().0);
        assert_eq!(main("sched-pipe").as_deref(), Some("ops_per_sec"));
        assert_eq!(main("hackbench").as_deref(), Some("time_s"));
        assert_eq!(main("periodic:tasks=1"), None);
    }

    #[test]
    fn states_that_differ_in_punctuation_have_names_of_their_own() {
        let (workload, mut machine) = pipe_on("hikey960");
        machine.cpu_types[0].idle_states[2].name = "cpu_sleep".into();
        let states: Vec<_> = (metrics(&workload, &machine).into_iter())
            .filter_map(|m| m.name.strip_prefix("residency_pct_cortex_a53_").map(str::to_owned))
            .collect();
        assert_eq!(states, ["wfi", "cpu_sleep", "cpu_sleep_2"]);
    }

    /// CPU 1 is busy for half of the time; that CPU 0 idles and wakes, which no thread may use, counts for nothing.
    #[test]
    fn only_usable_cpus_are_busy() {
        let run = RunMetrics { window_ns: 100, busy_ns: vec![80, 50], ..RunMetrics::default() };
        let mut usable = CpuMask::EMPTY;
        usable.set(1);
        assert_eq!(busy_pct(&run, &usable), 50.0);
    }

    #[test]
    fn figures_of_samples_are_left_out_where_there_are_none() {
        let (workload, machine) = pipe_on("hikey960");
        let none = Delay::default();
        let one = Delay { count: 1, p50: 5000, ..none };
        let by_type = vec![none, one];
        let run = RunMetrics { wakeup_latency: one, wakeup_latency_by_type: by_type, ..RunMetrics::default() };
        let medians: Vec<_> = (entries(&workload, &machine).into_iter())
            .filter(|e| e.metric.name.contains("_p50_us"))
            .filter_map(|e| Some((e.metric.name, (e.read)(&run)?)))
            .collect();
        let expected = [("wakeup_latency_p50_us", 5.0), ("wakeup_latency_p50_us_cortex_a73", 5.0)];
        assert_eq!(medians, expected.map(|(name, value)| (name.to_owned(), value)));
    }

    #[test]
    fn power_is_usual_if_there_are_several_supplies() {
        let is_usual = |machine| {
            let (workload, machine) = pipe_on(machine);
            usual(&workload, &machine).contains(&"power_mw".to_string())
        };
        assert!(is_usual("pixel6") && !is_usual("hikey960"));
    }

    /// Three sleeps in deeper states, one of them cut; those in the shallowest do not count.
    #[test]
    fn the_share_of_cut_sleeps_is_of_those_that_could_be() {
        let stats = |reached, cut| IdleStats { reached, cut, ..IdleStats::default() };
        assert_eq!(cut_pct([&vec![stats(97, 0), stats(2, 1)], &vec![stats(50, 0), stats(2, 0)]]), 25.0);
        assert_eq!(cut_pct([&vec![stats(97, 0)]]), 0.0);
    }
}
