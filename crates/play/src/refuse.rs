//! What cannot be played, or not without being asked twice; found before anything runs.

use std::io;

use fairground_machine::CpuMask;
use fairground_workload::{Object, Op, Policy, SchedAttr, SpecId, Workload};
use miette::Diagnostic;
use thiserror::Error;

use crate::{exec, sys};

/// Threads of a round above which `--yes` is needed.
const THREADS_MAX: u64 = 10_000;

/// Why a workload is not played.
#[derive(Debug, Error, Diagnostic)]
pub enum Refusal {
    /// It has what no user's program can do, or what is not there yet.
    #[error("{workload} cannot be played: {what}")]
    #[diagnostic(help("{help}"))]
    Unplayable {
        /// Name of the workload.
        workload: String,
        /// The step or object, and why.
        what: String,
        /// What can be done instead.
        help: String,
    },
    /// This user, or this kernel, does not get what it asks for.
    #[error("{workload} cannot be played here: {what}")]
    #[diagnostic(help("{help}"))]
    NotAllowed {
        /// Name of the workload.
        workload: String,
        /// What it asks for, and where.
        what: String,
        /// Which permission or setting is missing.
        help: String,
    },
    /// It could disturb the machine.
    #[error("{workload} is only played with --yes: {what}")]
    #[diagnostic(help("it may make this machine slow or unusable until the time limit ends it"))]
    AskTwice {
        /// Name of the workload.
        workload: String,
        /// What is dangerous.
        what: String,
    },
}

/// Checks `workload`, which is to run on `cpus`. `yes`: the user was asked twice. `groups`: number of its task groups for which
/// there are cgroups.
///
/// # Errors
/// The first thing that keeps it from being played.
pub fn check(workload: &Workload, cpus: &CpuMask, yes: bool, groups: usize) -> Result<(), Refusal> {
    let checker = Checker { workload, cpus, groups };
    checker.whole()?;
    checker.objects()?;
    checker.steps()?;
    checker.cpus()?;
    if !yes {
        checker.dangers()?;
    }
    checker.attributes()
}

struct Checker<'a> {
    workload: &'a Workload,
    cpus: &'a CpuMask,
    groups: usize,
}

/// A step as messages call it: by its place and the name of its [`Op`].
pub fn step_label(workload: &Workload, spec: SpecId, op: u32) -> String {
    let Some(task) = workload.tasks.get(spec as usize) else { return "a task".into() };
    match task.program.get(op as usize) {
        None => format!("task `{}`", task.name),
        Some(step) => {
            let name = format!("{step:?}");
            let name = name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            format!("task `{}`, step {} ({name})", task.name, op + 1)
        }
    }
}

impl Checker<'_> {
    fn unplayable(&self, what: String, help: &str) -> Refusal {
        Refusal::Unplayable { workload: self.workload.name.clone(), what, help: help.into() }
    }

    fn ask_twice(&self, what: String) -> Refusal {
        Refusal::AskTwice { workload: self.workload.name.clone(), what }
    }

    /// All steps with their places.
    fn all_steps(&self) -> impl Iterator<Item = (SpecId, u32, &Op)> {
        self.workload.tasks.iter().enumerate().flat_map(|(spec, task)| {
            task.program.iter().enumerate().map(move |(op, step)| (spec as SpecId, op as u32, step))
        })
    }

    /// What is no thread's doing.
    fn whole(&self) -> Result<(), Refusal> {
        const SIMULATE: &str = "`fairground run` simulates it";
        let w = self.workload;
        if let Some(irq) = w.irqs.first() {
            return Err(self.unplayable(format!("the device `{}` raises interrupts", irq.name), SIMULATE));
        }
        if let Some(cap) = w.frequency_caps.first() {
            return Err(self.unplayable(format!("it limits the frequency of CPUs {}", cap.cpus), SIMULATE));
        }
        if let Some(span) = w.offline.first() {
            return Err(self.unplayable(format!("it takes CPUs {} offline", span.cpus), SIMULATE));
        }
        if let Some(group) = w.groups.get(self.groups) {
            let help = "put the command into a cgroup, and leave the groups out";
            return Err(self.unplayable(format!("it makes the task group `{}`", group.path), help));
        }
        if let Some(task) = w.tasks.iter().find(|task| task.kthread_cpu.is_some()) {
            return Err(self.unplayable(format!("task `{}` is a kernel thread of a CPU", task.name), SIMULATE));
        }
        Ok(())
    }

    fn objects(&self) -> Result<(), Refusal> {
        for (id, object) in self.workload.objects.iter().enumerate() {
            if matches!(object, Object::Ticket | Object::KernelMutex) {
                let label = self.workload.object_label(id as u32);
                let what = format!("object {label} is a {}, which only the kernel has", object.kind());
                return Err(self.unplayable(what, "`fairground run` simulates it"));
            }
        }
        Ok(())
    }

    fn steps(&self) -> Result<(), Refusal> {
        for (spec, op, step) in self.all_steps() {
            let (why, help) = match step {
                Op::Exec if !self.is_alone(spec) => (
                    "its process may have other threads, which execve ends",
                    "give it a process of its own (`process`), and let it create no threads",
                ),
                Op::Exec if !exec::is_prepared() => {
                    ("this program cannot be executed in the middle of a round", "`fairground play` can")
                }
                Op::SetGroupClamp(_) | Op::SetGroupCpus(_) => {
                    ("it writes to a task group", "`fairground run` simulates it")
                }
                Op::Serial { .. } => ("it takes a lock of the kernel", "`fairground run` simulates it"),
                Op::Recorded | Op::Work(_) | Op::Rouse { .. } | Op::Rest => {
                    ("a recording has no calls of its own", "`fairground replay` runs recordings")
                }
                Op::WaitChild if self.spawns_threads(spec) => {
                    ("no call waits for whichever thread ends next", "wait for all, or spawn processes")
                }
                _ => continue,
            };
            return Err(self.unplayable(format!("{}: {why}", step_label(self.workload, spec, op)), help));
        }
        Ok(())
    }

    /// Whether threads of this template are always the only ones of their process.
    fn is_alone(&self, spec: SpecId) -> bool {
        let w = self.workload;
        let started = |process| {
            w.start.iter().filter(|start| start.process == process).map(|start| u64::from(start.count)).sum::<u64>()
        };
        let mut starts = w.start.iter().filter(|start| start.spec == spec);
        let is_thread = |op: &Op| matches!(op, Op::Spawn { spec: child, thread: true, .. } if *child == spec);
        starts.all(|start| started(start.process) <= 1)
            && !self.all_steps().any(|(_, _, step)| is_thread(step))
            && !self.spawns_threads(spec)
    }

    fn spawns_threads(&self, spec: SpecId) -> bool {
        let program = &self.workload.tasks[spec as usize].program;
        program.iter().any(|op| matches!(op, Op::Spawn { thread: true, .. }))
    }

    /// CPUs that are not there.
    fn cpus(&self) -> Result<(), Refusal> {
        let refuse = |who: String, mask: &CpuMask| {
            let missing = mask.minus(self.cpus);
            if missing.is_empty() {
                return Ok(());
            }
            Err(Refusal::NotAllowed {
                workload: self.workload.name.clone(),
                what: format!("{who} asks for CPUs {missing}"),
                help: format!("this machine lets the command use CPUs {}", self.cpus),
            })
        };
        for task in &self.workload.tasks {
            task.affinity.iter().try_for_each(|mask| refuse(format!("task `{}`", task.name), mask))?;
        }
        for (spec, op, step) in self.all_steps() {
            if let Op::SetAffinity(mask) = step {
                refuse(step_label(self.workload, spec, op), mask)?;
            }
        }
        for start in &self.workload.start {
            let name = self.workload.tasks.get(start.spec as usize).map_or("", |task| task.name.as_str());
            refuse(format!("the start of `{name}`"), &CpuMask::single(start.cpu))?;
        }
        Ok(())
    }

    fn dangers(&self) -> Result<(), Refusal> {
        let w = self.workload;
        let attrs = self.all_attrs();
        if let Some((label, _)) = attrs.iter().find(|(_, attr)| attr.policy.is_rt()) {
            return Err(self.ask_twice(format!("{label} has a real-time policy")));
        }
        // Those that would create each other without end were refused when the workload was read.
        let counts = w.thread_counts().unwrap_or_default();
        let sum = |of: &dyn Fn(usize, u64) -> u64| {
            counts.iter().enumerate().fold(0u64, |sum, (spec, n)| sum.saturating_add(of(spec, *n)))
        };
        let threads = sum(&|_, n| n);
        if threads > THREADS_MAX {
            let number = if threads == u64::MAX { "threads without end".into() } else { format!("{threads} threads") };
            return Err(self.ask_twice(format!("it creates {number}, more than {THREADS_MAX}")));
        }
        let kib = sum(&|spec, n| n.saturating_mul(w.tasks[spec].footprint_kib.into()));
        let memory_kib = memory_kib();
        if kib > memory_kib / 2 {
            let what = format!("its working sets take {kib} KiB, more than half of the {memory_kib} KiB of memory");
            return Err(self.ask_twice(what));
        }
        Ok(())
    }

    /// Attributes that threads ask for, and where.
    fn all_attrs(&self) -> Vec<(String, SchedAttr)> {
        let w = self.workload;
        let mut attrs: Vec<(String, SchedAttr)> =
            w.tasks.iter().map(|task| (format!("task `{}`", task.name), task.attr)).collect();
        for (spec, op, step) in self.all_steps() {
            match step {
                Op::SetAttr(attr) => attrs.push((step_label(w, spec, op), *attr)),
                Op::DrawUclampMin(odds) => attrs.extend(odds.iter().map(|odds| {
                    let attr = SchedAttr { uclamp_min: odds.uclamp_min, ..w.tasks[spec as usize].attr };
                    (step_label(w, spec, op), attr)
                })),
                _ => {}
            }
        }
        attrs
    }

    /// Asks the kernel for each of them, on threads that end at once.
    fn attributes(&self) -> Result<(), Refusal> {
        let mut seen: Vec<SchedAttr> = Vec::new();
        for (label, attr) in self.all_attrs() {
            if seen.contains(&attr) {
                continue;
            }
            seen.push(attr);
            let refused = std::thread::spawn(move || try_attr(&attr)).join();
            let (what, help) = match refused {
                Ok(Ok(())) => continue,
                Ok(Err(refused)) => refused,
                Err(_) => ("attributes that could not be tried".into(), "the thread that tries them failed".into()),
            };
            let what = format!("{label} asks for {what}");
            return Err(Refusal::NotAllowed { workload: self.workload.name.clone(), what, help });
        }
        Ok(())
    }
}

/// Gives these attributes to the calling thread: what is refused, and what would allow it.
fn try_attr(attr: &SchedAttr) -> Result<(), (String, String)> {
    let clamped = (attr.uclamp_min, attr.uclamp_max) != (0, 1024);
    let denied = |error: &io::Error| error.raw_os_error() == Some(libc::EPERM);
    if let Err(error) = sys::set_attr(attr, false) {
        let permission = "CAP_SYS_NICE, or";
        return Err(match attr.policy {
            Policy::Fifo | Policy::Rr if denied(&error) => (
                format!("{} with priority {}: {error}", policy_name(attr.policy), attr.rt_priority),
                format!("it needs {permission} RLIMIT_RTPRIO (ulimit -r) of {}", attr.rt_priority),
            ),
            _ if denied(&error) => (
                format!("nice {}: {error}", attr.nice),
                format!("it needs {permission} RLIMIT_NICE (ulimit -e) of {}", 20 - i32::from(attr.nice)),
            ),
            _ => (format!("{attr:?}: {error}"), "this kernel does not know these attributes".into()),
        });
    }
    if clamped {
        if let Err(error) = sys::set_attr(attr, true) {
            let help = if denied(&error) { "it needs CAP_SYS_NICE" } else { "this kernel has no CONFIG_UCLAMP_TASK" };
            let (min, max) = (attr.uclamp_min, attr.uclamp_max);
            return Err((format!("utilization clamps {min} to {max}: {error}"), help.into()));
        }
    }
    if attr.slice_ns > 0 && sys::slice_ns().ok() != Some(attr.slice_ns) {
        let help = "this kernel has no slices of threads; Linux 6.12 and later have";
        return Err((format!("a slice of {} ns", attr.slice_ns), help.into()));
    }
    Ok(())
}

/// As sched(7) has it.
fn policy_name(policy: Policy) -> String {
    format!("SCHED_{policy:?}").to_uppercase()
}

/// Memory of the machine, KiB.
fn memory_kib() -> u64 {
    // SAFETY: no pointers.
    let [pages, size] = [libc::_SC_PHYS_PAGES, libc::_SC_PAGESIZE].map(|name| unsafe { libc::sysconf(name) });
    u64::try_from(pages).unwrap_or(0).saturating_mul(u64::try_from(size).unwrap_or(0)) / 1024
}
