//! Builds a [`Workload`] from the tasks of a file.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fairground_machine::{suggest_from, Machine};

use super::event::{Action, Event};
use super::global::Global;
use super::interrupts::Device;
use super::log::{LogPlan, LoggedStep, LoggedThread};
use super::source::Source;
use super::task::Task;
use crate::error::WorkloadError;
use crate::json::Span;
use crate::program::*;
use crate::validate::{Step, Subject};
use crate::warning::WarningKind;

mod objects;
mod program;

use objects::{Kind, Objects};

/// Working set of an rt-app thread besides its buffers, KiB; an estimate: the calibrated loop works in registers, what
/// remains is the stack and the log line it formats.
const FOOTPRINT_KIB: u32 = 8;

/// Most steps of all templates together: a million threads of 40 steps each. Validation goes through them a few times.
const MAX_STEPS: u64 = 40_000_000;

/// Everything a program is built from.
struct Build<'a> {
    global: &'a Global,
    machine: &'a Machine,
    objects: Objects,
    /// Template of the threads that `fork` makes of a task, by the task's name.
    forked: BTreeMap<String, SpecId>,
}

/// A program; where each step is written, and what is logged of it.
#[derive(Clone, Default)]
struct Program {
    ops: Vec<Op>,
    spans: Vec<Span>,
    logged: Vec<LoggedStep>,
}

/// Builds and checks; with it how the run is logged.
pub(super) fn workload(
    source: &mut Source,
    tasks: &[Task],
    devices: Vec<Device>,
    groups: Vec<TaskGroup>,
    global: &Global,
    machine: &Machine,
) -> Result<(Workload, LogPlan), WorkloadError> {
    warn_of_names(source, tasks);
    let threads: u32 = tasks.iter().map(|t| t.instances).sum();
    let forked = forked_specs(source, tasks, threads)?;
    let mut build = Build { global, machine, objects: Objects::new(threads, tasks), forked };
    let templates = build.templates(source, tasks)?;
    let irqs = devices.into_iter().map(|d| irq(source, d, &build.objects)).collect();
    let (objects, object_names) = build.objects.into_parts();
    let workload = Workload {
        name: source.file().into(),
        objects,
        object_names,
        tasks: templates.specs,
        start: starts(tasks),
        irqs,
        frequency_caps: Vec::new(),
        offline: Vec::new(),
        groups,
        duration_ns: global.duration_ns,
        warmup_ns: 0,
        score: score(tasks),
        series: series(tasks),
    };
    check(source, &workload, &templates.places, machine)?;
    let (basename, sums_slack) = (global.log_basename.clone(), global.sums_slack);
    Ok((workload, LogPlan { basename, sums_slack, threads: templates.logged }))
}

/// Templates, with where each and its steps are written, and how its threads are logged.
#[derive(Default)]
struct Templates {
    specs: Vec<TaskSpec>,
    places: Vec<(Span, Arc<[Span]>)>,
    logged: Vec<LoggedThread>,
    /// Steps of all of them.
    steps: u64,
}

impl Templates {
    /// The templates of a task, each with its number after the name, or one template of forked threads.
    fn add(
        &mut self,
        source: &Source,
        task: &Task,
        program: Program,
        count: Option<u32>,
        global: &Global,
    ) -> Result<(), WorkloadError> {
        let forked = count.is_none();
        let count = count.unwrap_or(1);
        self.steps = self.steps.saturating_add(program.ops.len() as u64 * u64::from(count));
        if self.steps > MAX_STEPS {
            let text = format!("with `{}` the threads have {} steps", task.name, self.steps);
            return Err(source.error(task.span, text, format!("expected at most {MAX_STEPS} in all")));
        }
        let (ops, spans): (Arc<[Op]>, Arc<[Span]>) = (program.ops.into(), program.spans.into());
        let steps: Arc<[LoggedStep]> = program.logged.into();
        for _ in 0..count {
            let number = if forked { "fork".into() } else { self.specs.len().to_string() };
            self.specs.push(spec(task, &format!("{}-{number}", task.name), ops.clone(), global));
            self.places.push((task.span, spans.clone()));
            let rounds = task.phases.iter().map(|phase| phase.times).collect();
            self.logged.push(LoggedThread { task: task.name.clone(), forked, steps: steps.clone(), rounds });
        }
        Ok(())
    }
}

impl Build<'_> {
    /// Those of the start first, then those of forked threads, each in the order of the file.
    fn templates(&mut self, source: &mut Source, tasks: &[Task]) -> Result<Templates, WorkloadError> {
        let mut templates = Templates::default();
        for task in tasks.iter().filter(|t| t.instances > 0) {
            let program = self.program(source, task, false)?;
            templates.add(source, task, program, Some(task.instances), self.global)?;
        }
        for task in tasks {
            if self.forked.contains_key(&task.name) {
                let program = self.program(source, task, true)?;
                templates.add(source, task, program, None, self.global)?;
            }
        }
        Ok(templates)
    }
}

/// A device with the semaphore it posts, if some task uses one of that name.
fn irq(source: &mut Source, device: Device, objects: &Objects) -> IrqSource {
    let posts = device.posts.and_then(|(name, span)| {
        let known = objects.find(Kind::Semaphore, &name);
        if known.is_none() {
            let text = format!("no task waits for the semaphore `{name}`: nothing is posted");
            source.warn(WarningKind::Suspicious, span, &device.irq.name, &text);
        }
        known
    });
    IrqSource { posts, ..device.irq }
}

/// The threads of the start, in the order of the file. Processes are numbered in the order in which they are named.
fn starts(tasks: &[Task]) -> Vec<Start> {
    let mut processes: Vec<Option<&str>> = Vec::new();
    let mut starts = Vec::new();
    for task in tasks {
        let name = task.process.as_deref();
        let process = processes.iter().position(|known| *known == name).unwrap_or_else(|| {
            processes.push(name);
            processes.len() - 1
        });
        for _ in 0..task.instances {
            starts.push(Start { spec: starts.len() as SpecId, count: 1, cpu: 0, process: process as u32 });
        }
    }
    starts
}

fn spec(task: &Task, name: &str, program: Arc<[Op]>, global: &Global) -> TaskSpec {
    let events = task.phases.iter().flat_map(|p| &p.events);
    let buffer = events.map(|e| match e.action {
        Action::Mem { bytes } | Action::IoRun { bytes } => bytes.min(global.mem_buffer),
        Action::MemRun { bytes, .. } => bytes,
        _ => 0,
    });
    let buffer_kib = buffer.max().unwrap_or(0).div_ceil(1024) as u32;
    TaskSpec {
        attr: task.attr,
        affinity: task.cpus,
        kthread_cpu: task.kthread_cpu,
        group: task.group,
        timer_slack_ns: task.timer_slack_ns,
        ..TaskSpec::new(&comm(name), FOOTPRINT_KIB + buffer_kib, program)
    }
}

/// What the kernel keeps of a name: 15 bytes.
fn comm(name: &str) -> String {
    let end = (0..=name.len().min(15)).rev().find(|i| name.is_char_boundary(*i)).unwrap_or(0);
    name[..end].into()
}

fn score(tasks: &[Task]) -> Score {
    match events(tasks).any(|(_, e)| matches!(e.action, Action::Mark(_))) {
        true => Score::OpsPerSec,
        false => Score::None,
    }
}

/// The series [`objects::SAMPLES`], if samples are taken: what clock_gettime would show.
fn series(tasks: &[Task]) -> Vec<Series> {
    let samples = events(tasks).any(|(_, e)| matches!(e.action, Action::Sample { .. } | Action::Conclude(_)));
    let series = Series {
        name: "sample".into(),
        meaning: "times reported by `sample`".into(),
        tick_ns: 1,
        unit: TimeUnit::Us,
        mean: true,
        permilles: vec![500, 900, 990, 1000],
        deadlines: Vec::new(),
    };
    samples.then_some(series).into_iter().collect()
}

fn events(tasks: &[Task]) -> impl Iterator<Item = (&Task, &Event)> {
    tasks.iter().flat_map(|t| t.phases.iter().flat_map(move |p| p.events.iter().map(move |e| (t, e))))
}

/// Templates of forked threads, after those of the start, in the order of the file.
fn forked_specs(source: &Source, tasks: &[Task], first: SpecId) -> Result<BTreeMap<String, SpecId>, WorkloadError> {
    let mut forked: BTreeMap<String, SpecId> = BTreeMap::new();
    let names: BTreeSet<&str> = tasks.iter().map(|t| t.name.as_str()).collect();
    for (_, event) in events(tasks) {
        let Action::Fork(name) = &event.action else { continue };
        if !names.contains(name.as_str()) {
            let help = suggest_from(name, "the tasks are:", tasks.iter().map(|t| t.name.as_str()));
            let text = format!("`{}` names no task: `{name}`", event.key);
            return Err(source.error_with_help(event.span, text, "expected a task's name", Some(help)));
        }
        forked.insert(name.clone(), 0);
    }
    let order = tasks.iter().filter(|t| forked.contains_key(&t.name)).map(|t| t.name.clone());
    Ok(order.collect::<Vec<_>>().into_iter().zip(first..).collect())
}

/// Warns of names that do not meet, and of barriers among forked threads.
fn warn_of_names(source: &mut Source, tasks: &[Task]) {
    let by_name = source.dialect.named_suspend;
    let suspended_on = |task: &Task, given: &Option<String>| match given {
        Some(name) if by_name => name.clone(),
        _ => task.name.clone(),
    };
    let mut suspends: BTreeSet<String> = BTreeSet::new();
    for (task, event) in events(tasks) {
        let Action::Suspend(given) = &event.action else { continue };
        suspends.insert(suspended_on(task, given));
        if let Some(name) = given.as_ref().filter(|n| !by_name && **n != task.name) {
            let text = format!(
                "says `{name}`, but rt-app ignores the string: it waits for a resume of `{}` (the option \
                 `named-suspend` honours it)",
                task.name
            );
            source.warn(WarningKind::Suspicious, event.span, &event.key, text);
        }
    }
    for (_, event) in events(tasks) {
        match &event.action {
            Action::Resume(name) if !suspends.contains(name) => {
                let text = format!("has no effect: no task suspends on `{name}`");
                source.warn(WarningKind::Suspicious, event.span, &event.key, text);
            }
            _ => {}
        }
    }
    let forks: BTreeSet<&String> =
        events(tasks).filter_map(|(_, e)| if let Action::Fork(name) = &e.action { Some(name) } else { None }).collect();
    for (task, event) in events(tasks) {
        if matches!(event.action, Action::Barrier(_)) && forks.contains(&task.name) {
            let text = "is used by forked threads, whom the barrier does not count";
            source.warn(WarningKind::Suspicious, event.span, &event.key, text);
        }
    }
}

/// Validates, and puts lines to what it finds. `places`: of each template, where it and its steps are written.
fn check(
    source: &mut Source,
    workload: &Workload,
    places: &[(Span, Arc<[Span]>)],
    machine: &Machine,
) -> Result<(), WorkloadError> {
    let of_step = |step: Step| places.get(step.spec as usize)?.1.get(step.op as usize).copied();
    let whole = Span { start: 0, end: 0 };
    let remarks = workload.check(machine).map_err(|problem| {
        let span = problem.step().and_then(of_step).unwrap_or(whole);
        source.error_with_help(span, problem.to_string(), "here", Some(problem.help()))
    })?;
    for remark in remarks {
        let span = match remark.place {
            Subject::Task(spec) => places.get(spec as usize).map(|(task, _)| *task),
            Subject::Step(step) => of_step(step),
        };
        source.warn(remark.kind, span.unwrap_or(whole), &remark.subject, remark.message);
    }
    Ok(())
}
