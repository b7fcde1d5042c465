//! Walks over the domains of a CPU, newly idle or periodic: which domains are balanced, and what the walk leaves
//! behind. Each pass over a domain is judged by itself (`balance`).
//!
//! ```text
//! walking            -> the CPU, its domains, its tasks          -> PolicySandbox
//! balancing..balanced -> the kernel's passes, their cost and what they leave of the CPU
//! walked             -> our walk around the same passes; what both have left
//! ```

use fairground_fair::ffi::*;
use fairground_fair::{PassOfWalk, PolicySandbox, WalkInput};
use fairground_machine::CpuId;
use fairground_sim::Subject;

use super::left::{compare, LeftValue, Of, Values};
use super::state::{Pass, State};
use super::state_importer::{keys, StateImporter};

/// The walk of a kernel that is under way, if any.
#[derive(Default)]
pub struct Walks {
    pending: Option<Pending>,
}

struct Pending {
    input: WalkInput,
    /// The state of the CPU and its domains before the walk. Passes use the sandbox meanwhile.
    rq: FgCpu,
    domains: Vec<FgDomain>,
    root: FgRoot,
    /// The domain of the pass that is under way.
    began: Option<usize>,
    /// Clock from which the next pass is counted, ns: of the begin of the walk, then of the end of the last pass. Up to v5.15
    /// of the begin of the pass.
    since: u64,
}

/// The kernel's walk and ours.
pub struct JudgedWalk {
    /// What both have left, with the number of domains that were balanced.
    pub left: Vec<LeftValue>,
}

impl Walks {
    /// Called when the kernel begins a walk.
    pub fn begin(
        &mut self,
        kernel: &dyn State,
        cpu: CpuId,
        kind: u32,
        importer: &StateImporter,
        sandbox: &mut PolicySandbox,
    ) {
        importer.one_cpu(kernel, sandbox, cpu);
        kernel.root(cpu, sandbox.root_mut(cpu));
        let jiffies = keys(kernel, sandbox);
        let nr_domains = sandbox.nr_domains(cpu);
        for n in 0..nr_domains {
            kernel.domain(cpu, n, sandbox.domain_mut(cpu, n));
        }
        let domains = (0..nr_domains).map(|n| sandbox.domain_mut(cpu, n).clone()).collect();
        let (rq, root) = (sandbox.cpu_mut(cpu).clone(), sandbox.root_mut(cpu).clone());
        let input = WalkInput { cpu, kind, jiffies, passes: Vec::new() };
        self.pending = Some(Pending { input, rq, domains, root, began: None, since: kernel.clock() });
    }

    /// A pass over a domain begins, within a walk or not.
    pub fn pass_begins(&mut self, kernel: &dyn State, pass: &Pass, sandbox: &mut PolicySandbox) {
        if let Some(pending) = self.pending.as_mut().filter(|pending| pending.input.cpu == pass.cpu) {
            pending.began = Some(pass.domain);
            // Up to v5.15 what comes before a pass, blocked averages above all, is not part of its cost.
            if sandbox.sys_mut().feat.value[FG_NEWIDLE_COST] == 0 {
                pending.since = kernel.clock();
            }
        }
    }

    /// It has ended.
    pub fn pass_ends(&mut self, kernel: &dyn State, pass: &Pass, ours: bool, moved: u32) {
        let Some(pending) = self.pending.as_mut().filter(|pending| pending.input.cpu == pass.cpu) else { return };
        let Some(domain) = pending.began.take() else { return };
        let clock = kernel.clock();
        let cost = clock.saturating_sub(std::mem::replace(&mut pending.since, clock));
        let (mut rq, mut sd) = (pending.rq.clone(), FgDomain::zeroed());
        kernel.cpu(pass.cpu, &mut rq);
        kernel.domain(pass.cpu, domain, &mut sd);
        pending.input.passes.push(PassOfWalk {
            domain,
            moved,
            ours,
            cost,
            nr_running: rq.nr_running,
            nr_sched_idle: rq.idle_h_nr_running,
            ttwu_pending: rq.ttwu_pending != 0,
            balance_interval: sd.balance_interval,
            idle: rq.curr_is_idle != 0,
        });
    }

    /// The walk is over. None if its begin was not seen.
    pub fn end(&mut self, kernel: &dyn State, sandbox: &mut PolicySandbox) -> Option<JudgedWalk> {
        let Pending { input, rq, domains, root, .. } = self.pending.take()?;
        let cpu = input.cpu;
        let mut after = rq.clone();
        let before = values(&rq, &domains, None);
        kernel.cpu(cpu, &mut after);
        let mut left_domains = domains.clone();
        left_domains.iter_mut().enumerate().for_each(|(n, sd)| {
            kernel.domain(cpu, n, sd);
        });
        let passes: Vec<usize> = input.passes.iter().map(|pass| pass.domain).collect();
        let theirs = values(&after, &left_domains, Some(&passes));
        *sandbox.cpu_mut(cpu) = rq;
        *sandbox.root_mut(cpu) = root;
        for (n, sd) in domains.into_iter().enumerate() {
            *sandbox.domain_mut(cpu, n) = sd;
        }
        let done = sandbox.walk(&input);
        let walked: Vec<FgDomain> = (0..left_domains.len()).map(|n| sandbox.domain_mut(cpu, n).clone()).collect();
        let ours = values(sandbox.cpu_mut(cpu), &walked, Some(&done.domains));
        let function = match input.kind {
            FG_CPU_NEWLY_IDLE => "sched_balance_newidle",
            _ => "sched_balance_domains",
        };
        let mut left = Vec::new();
        for (((of, before), (_, kernel)), (_, ours)) in before.iter().zip(&theirs).zip(&ours) {
            left.extend(compare(function, *of, before, kernel, ours));
        }
        Some(JudgedWalk { left })
    }
}

/// What a walk leaves, by object. `balanced`: the domains that it balanced, as bits; before a walk none.
fn values(rq: &FgCpu, domains: &[FgDomain], balanced: Option<&[usize]>) -> Vec<(Of, Values)> {
    let bits = balanced.unwrap_or(&[]).iter().fold(0_i128, |bits, n| bits | 1 << n);
    let of_cpu = vec![
        ("domains balanced", bits),
        ("next_balance", rq.next_balance.into()),
        ("max_idle_balance_cost", rq.max_idle_balance_cost.into()),
    ];
    let of_domain = |sd: &FgDomain| {
        vec![
            ("max_newidle_lb_cost", sd.max_newidle_lb_cost.into()),
            ("last_decay_max_lb_cost", sd.next_decay.into()),
            ("last_balance", sd.last_balance.into()),
            ("newidle_call", sd.newidle_call.into()),
            ("newidle_success", sd.newidle_success.into()),
            ("newidle_ratio", sd.newidle_ratio.into()),
            ("newidle_stamp", sd.newidle_stamp.into()),
        ]
    };
    let cpu = rq.id as CpuId;
    let mut all = vec![(Of(Subject::Cpu(cpu)), of_cpu)];
    all.extend(domains.iter().enumerate().map(|(n, sd)| (Of(Subject::Domain(cpu, n as u8)), of_domain(sd))));
    all
}
