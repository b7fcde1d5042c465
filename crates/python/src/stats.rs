//! Statistics of a run's events, those of `fairground stats`, as tables.

use fairground_machine::Machine;
use fairground_trace::frequency::Frequencies;
use fairground_trace::latency::Latency;
use fairground_trace::residency::{IdlePeriods, Residency};
use fairground_trace::tasks::{self, Row};
use fairground_trace::{EventSource, TraceError};

use crate::table::{counts, figures, maybe_counts, numbers, texts, Table};

/// One row for each task.
pub fn tasks(source: &mut impl EventSource) -> Result<Table, TraceError> {
    let (rows, _) = tasks::rows(source)?;
    let count = |part: fn(&Row) -> u64| counts(rows.iter().map(part));
    let quantile = |percent| maybe_counts(rows.iter().map(move |r| r.quantile(percent)));
    Ok(Table::from_columns(vec![
        ("comm", texts(rows.iter().map(|r| r.comm.as_str()))),
        ("pid", numbers(rows.iter().map(|r| r.pid))),
        ("run_ns", count(|r| r.waits.runtime)),
        ("wait_ns", count(|r| r.waits.total)),
        ("waits", count(|r| r.waits.count)),
        ("sleep_ns", count(|r| r.sleep)),
        ("wakeups", count(|r| r.wakeups)),
        ("migrations", count(|r| r.migrations)),
        ("wait_p50_ns", quantile(50)),
        ("wait_p95_ns", quantile(95)),
        ("wait_p99_ns", quantile(99)),
        ("wait_max_ns", quantile(100)),
    ]))
}

/// One row for each CPU.
pub fn cpus<S: EventSource>(machine: &Machine, source: impl Fn() -> S) -> Result<Table, TraceError> {
    let busy = Latency::read(&mut source())?.by_cpu();
    let residency = Residency::read(&mut source(), &|_, _| None)?;
    let frequencies = Frequencies::read(&mut source())?;
    let clocks = frequencies.by_cpu();
    let cpus = || 0..machine.nr_cpus() as u32;
    let idle = |cpu: u32, part: fn(&IdlePeriods) -> u64| {
        let stays = residency.by_cpu().filter(|(of, ..)| *of == cpu);
        stays.map(|(.., stays)| part(&stays)).fold(0, u64::saturating_add)
    };
    let mean = |cpu: u32| {
        let clock = clocks.iter().find(|(of, _)| of.contains(&cpu)).map(|(_, clock)| clock);
        clock.filter(|clock| clock.span() > 0).map(|clock| clock.mean_khz())
    };
    Ok(Table::from_columns(vec![
        ("cpu", numbers(cpus())),
        ("busy_ns", counts(cpus().map(|cpu| busy.get(&cpu).map_or(0, |waits| waits.runtime)))),
        ("idle_ns", counts(cpus().map(|cpu| idle(cpu, |s| s.total)))),
        ("stays", counts(cpus().map(|cpu| idle(cpu, |s| s.count)))),
        ("mean_khz", figures(cpus().map(mean))),
    ]))
}

/// One row for each CPU and idle state.
pub fn idle_states(machine: &Machine, source: &mut impl EventSource) -> Result<Table, TraceError> {
    // The shallowest cannot be left too early.
    let target = |cpu: u32, state: u32| {
        let states = ((cpu as usize) < machine.nr_cpus()).then(|| machine.idle_states(cpu))?;
        states.get(state as usize).filter(|_| state > 0).map(|s| s.target_residency_ns)
    };
    let residency = Residency::read(source, &target)?;
    let rows: Vec<(u32, u32, IdlePeriods)> = residency.by_cpu().collect();
    let count = |part: fn(&IdlePeriods) -> u64| counts(rows.iter().map(|(.., stays)| part(stays)));
    Ok(Table::from_columns(vec![
        ("cpu", numbers(rows.iter().map(|(cpu, ..)| *cpu))),
        ("state", numbers(rows.iter().map(|(_, state, _)| *state))),
        ("stays", count(|s| s.count)),
        ("total_ns", count(|s| s.total)),
        ("mean_ns", count(IdlePeriods::mean)),
        ("max_ns", count(|s| s.max)),
        ("early", count(|s| s.early)),
    ]))
}

/// One row for each CPU and frequency.
pub fn frequencies(source: &mut impl EventSource) -> Result<Table, TraceError> {
    let frequencies = Frequencies::read(source)?;
    let clocks = frequencies.by_cpu();
    let rows: Vec<_> = clocks
        .iter()
        .flat_map(|(cpus, clock)| {
            clock.stays().flat_map(move |(khz, stay)| cpus.iter().map(move |cpu| (*cpu, khz, stay)))
        })
        .collect();
    Ok(Table::from_columns(vec![
        ("cpu", numbers(rows.iter().map(|(cpu, ..)| *cpu))),
        ("khz", numbers(rows.iter().map(|(_, khz, _)| *khz))),
        ("changes", counts(rows.iter().map(|(.., stay)| stay.count))),
        ("total_ns", counts(rows.iter().map(|(.., stay)| stay.total))),
    ]))
}
