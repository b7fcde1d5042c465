//! Cache-aware scheduling: the kernel's state of processes and caches into the policy's structs, and the scans by which
//! a process chooses the cache that it prefers.
//!
//! ```text
//! scanning -> all CPUs, their current tasks, the process -> PolicySandbox; our scan
//! scanned  -> both outcomes
//! ```

use fairground_fair::ffi::*;
use fairground_fair::PolicySandbox;
use fairground_machine::CpuId;
use serde_json::{json, Map, Value};

use super::fields;
use super::state::State;
use super::state_importer::StateImporter;

/// Copies the state of cache-aware scheduling, if the kernel's is active and the policy has it.
#[derive(Default)]
pub struct CacheImporter {
    /// Our ids of last-level caches by the kernel's; empty until the first use.
    ids: Vec<Option<usize>>,
    counts: Vec<u32>,
}

impl CacheImporter {
    /// Whether there is something to copy.
    pub fn is_active(sandbox: &mut PolicySandbox) -> bool {
        sandbox.sys_mut().llc_balancing.active != 0
    }

    fn ids(&mut self, kernel: &dyn State, sandbox: &mut PolicySandbox) -> &[Option<usize>] {
        if self.ids.is_empty() {
            self.ids = vec![None; sandbox.nr_cpus()];
            for cpu in 0..sandbox.nr_cpus() as CpuId {
                let id = usize::try_from(kernel.place(cpu).llc_id).ok();
                if let Some(ours) = id.and_then(|id| self.ids.get_mut(id)) {
                    *ours = usize::try_from(sandbox.cpu_mut(cpu).sd_llc_id).ok();
                }
            }
        }
        &self.ids
    }

    /// Copies the counts of queued tasks by the cache that they prefer.
    pub fn cpu(&mut self, kernel: &dyn State, sandbox: &mut PolicySandbox, cpu: CpuId) {
        let mut counts = std::mem::take(&mut self.counts);
        kernel.llc_counts(cpu, &mut counts);
        let ids = self.ids(kernel, sandbox);
        for (n, id) in counts.iter().zip(ids).filter_map(|(n, id)| Some((n, (*id)?))) {
            sandbox.llc_count_mut(cpu, id).into_iter().for_each(|to| *to = *n);
        }
        self.counts = counts;
    }

    /// Copies the process of a task whose own state was copied. Its preferred cache gets our id.
    pub fn task(&mut self, kernel: &dyn State, sandbox: &mut PolicySandbox, task: u32) {
        let llc = sandbox.task_mut(task).preferred_llc.checked_sub(1).map(|llc| llc as usize);
        let ids = self.ids(kernel, sandbox);
        let llc = llc.and_then(|llc| ids.get(llc).copied().flatten());
        let (p, process) = (sandbox.task_mut(task), kernel.process_of(task));
        p.preferred_llc = llc.map_or(0, |llc| llc as u32 + 1);
        let cpu = p.cpu;
        sandbox.point_process(task, process);
        let Some(process) = process else { return };
        kernel.process(process, sandbox.process_mut(process));
        if let Ok(cpu) = CpuId::try_from(cpu) {
            kernel.cache_time(process, cpu, sandbox.cache_time_mut(process, cpu));
        }
    }
}

/// The state for a case: the processes of these tasks, and the counts of every CPU. Nothing if it is not active.
pub fn state(sandbox: &mut PolicySandbox, tasks: &[u32]) -> Map<String, Value> {
    let mut all = Map::new();
    if !CacheImporter::is_active(sandbox) {
        return all;
    }
    let nr_cpus = sandbox.nr_cpus() as CpuId;
    let mut of: Vec<u32> = tasks.iter().filter_map(|task| sandbox.process_of(*task)).collect();
    of.sort_unstable();
    of.dedup();
    let mut processes = Vec::new();
    for process in of {
        let mut map = fields::write(sandbox.process_mut(process));
        let time = |cpu| Value::Object(fields::write(sandbox.cache_time_mut(process, cpu)));
        map.insert("cpus".into(), (0..nr_cpus).map(time).collect());
        let threads: Vec<u32> =
            tasks.iter().copied().filter(|task| sandbox.process_of(*task) == Some(process)).collect();
        map.insert("tasks".into(), json!(threads));
        processes.push(Value::Object(map));
    }
    let counts = (0..nr_cpus).map(|cpu| (cpu.to_string(), json!(sandbox.llc_counts(cpu))));
    all.insert("processes".into(), Value::Array(processes));
    all.insert("llc_counts".into(), Value::Object(counts.collect()));
    all
}

/// The outcome of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The preferred CPU of the process, -1: none.
    preferred: i32,
    nr_running_avg: u64,
    /// When the process is scanned next, in ticks since boot (jiffies).
    next_scan: u64,
}

/// The scan of a kernel that is under way, if any.
#[derive(Default)]
pub struct Scans {
    pending: Option<JudgedScan>,
}

/// The kernel's scan and ours.
pub struct JudgedScan {
    /// The task that scans.
    pub task: u32,
    /// The kernel's clock in ticks as the scan begins.
    pub jiffies: u64,
    /// The row of the table.
    pub rule: String,
    /// What the kernel's scan did.
    pub kernel: Outcome,
    /// What our policy's scan did.
    pub ours: Outcome,
    process: u32,
}

impl Scans {
    /// A task begins to look. Nothing is judged if our policy does not look.
    pub fn begin(&mut self, kernel: &dyn State, task: u32, importer: &mut StateImporter, sandbox: &mut PolicySandbox) {
        self.pending = None;
        let Some(process) = kernel.process_of(task) else { return };
        let jiffies = importer.scan(kernel, sandbox, task, process);
        if !CacheImporter::is_active(sandbox) {
            return;
        }
        let (ours, rule) = scanned(sandbox, task, jiffies);
        self.pending = Some(JudgedScan { task, jiffies, rule, kernel: Outcome::default(), ours, process });
    }

    /// The task has looked. None if its begin was not seen.
    pub fn end(&mut self, kernel: &dyn State) -> Option<JudgedScan> {
        let mut judged = self.pending.take()?;
        let mut now = FgProcess::zeroed();
        kernel.process(judged.process, &mut now);
        judged.kernel = Outcome::from_process(&now);
        Some(judged)
    }
}

/// Runs ours. Returns its outcome and its row.
pub fn scanned(sandbox: &mut PolicySandbox, task: u32, jiffies: u64) -> (Outcome, String) {
    let Some(process) = sandbox.process_of(task) else { return (Outcome::default(), "cache-scan, no process".into()) };
    let before = preferred_llc(sandbox, process);
    let has_looked = sandbox.scan_caches(task, jiffies);
    let after = preferred_llc(sandbox, process);
    let result = match (has_looked, before == after) {
        (false, _) => "none",
        (true, true) => "stays",
        (true, false) => "moves",
    };
    (Outcome::from_process(sandbox.process_mut(process)), format!("cache-scan, {result}"))
}

/// sd_llc_id of the cache that a process prefers.
fn preferred_llc(sandbox: &mut PolicySandbox, process: u32) -> Option<i32> {
    let cpu = CpuId::try_from(sandbox.process_mut(process).cpu).ok()?;
    Some(sandbox.cpu_mut(cpu).sd_llc_id)
}

impl Outcome {
    fn from_process(process: &FgProcess) -> Outcome {
        let FgProcess { cpu: preferred, nr_running_avg, next_scan, .. } = *process;
        Outcome { preferred, nr_running_avg, next_scan }
    }

    /// The outcome as one line; equal lines are equal outcomes.
    pub fn words(&self) -> String {
        let preferred = match self.preferred {
            -1 => "no CPU".to_string(),
            cpu => format!("cpu{cpu}"),
        };
        format!("{preferred}, {} running, next scan at jiffy {}", self.nr_running_avg, self.next_scan)
    }
}
