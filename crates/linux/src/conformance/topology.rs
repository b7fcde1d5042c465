//! Our domains and energy models against the kernel's: once after boot, before anything runs.

use fairground_fair::ffi::*;
use fairground_fair::PolicySandbox;
use fairground_machine::CpuId;

use super::state::State;

/// The differences as text, e.g. `cpu4 domain 1: flags: kernel 0x1217, ours 0x1317`. CPUs with the same difference have
/// the same text but for the CPU number. Members that the kernel does not have are not compared.
pub fn compare(kernel: &dyn State, sandbox: &mut PolicySandbox) -> Vec<String> {
    let mut found = Vec::new();
    let (theirs, ours) = (kernel.sys().sched_cache, sandbox.sys_mut().llc_balancing.active != 0);
    if theirs != ours {
        found.push(format!("cache-aware scheduling active: kernel {theirs}, ours {ours}"));
    }
    for cpu in 0..sandbox.nr_cpus() as CpuId {
        compare_place(kernel, sandbox, cpu, &mut found);
        let ours = sandbox.nr_domains(cpu);
        let mut theirs = 0;
        while kernel.domain(cpu, theirs, &mut FgDomain::zeroed()) {
            theirs += 1;
        }
        if ours != theirs {
            found.push(format!("cpu{cpu}: kernel has {theirs} domains, ours {ours}"));
        }
        for n in 0..ours.min(theirs) {
            compare_domain(kernel, sandbox, (cpu, n), &mut found);
            compare_groups(kernel, sandbox, (cpu, n), &mut found);
        }
        if sandbox.root_mut(cpu).span.first() == Some(cpu) {
            compare_energy(kernel, sandbox, cpu, &mut found);
        }
    }
    found
}

/// The performance domains of the partition whose first CPU this is.
fn compare_energy(kernel: &dyn State, sandbox: &PolicySandbox, cpu: CpuId, found: &mut Vec<String>) {
    let ours = sandbox.models(cpu);
    for (n, (span, opps)) in ours.iter().enumerate() {
        let at = format!("cpu{cpu} performance domain {n}");
        // Members that the kernel does not keep stay ours.
        let (mut em, mut theirs) = (FgEm::zeroed(), opps.clone());
        if !kernel.energy(cpu, n, &mut em, &mut theirs) {
            found.push(format!("{at}: kernel has none, ours {span}"));
            return;
        }
        if em.span != *span || theirs.len() != opps.len() {
            let sizes = (theirs.len(), opps.len());
            found.push(format!("{at}: kernel {} with {} points, ours {span} with {}", em.span, sizes.0, sizes.1));
            return;
        }
        for (theirs, ours) in theirs.iter().zip(opps) {
            compare_opp(&at, theirs, ours, found);
        }
    }
    if kernel.energy(cpu, ours.len(), &mut FgEm::zeroed(), &mut Vec::new()) {
        found.push(format!("cpu{cpu}: kernel has more performance domains than ours, {}", ours.len()));
    }
}

fn compare_opp(at: &str, theirs: &FgOpp, ours: &FgOpp, found: &mut Vec<String>) {
    let numbers = [
        ("khz", u64::from(theirs.khz), u64::from(ours.khz)),
        ("power", theirs.power, ours.power),
        ("cost", theirs.cost, ours.cost),
        ("performance", u64::from(theirs.performance), u64::from(ours.performance)),
        ("inefficient", u64::from(theirs.inefficient), u64::from(ours.inefficient)),
    ];
    let differ = numbers.into_iter().filter(|(_, theirs, ours)| theirs != ours);
    let khz = ours.khz;
    found.extend(differ.map(|(what, theirs, ours)| format!("{at}, {khz} kHz: {what}: kernel {theirs}, ours {ours}")));
}

fn compare_place(kernel: &dyn State, sandbox: &mut PolicySandbox, cpu: CpuId, found: &mut Vec<String>) {
    let place = kernel.place(cpu);
    let mut theirs = FgCpu::zeroed();
    kernel.cpu(cpu, &mut theirs);
    let ours = sandbox.cpu_mut(cpu);
    let numbers = [
        ("sd_llc_id", i64::from(place.llc_id), i64::from(ours.sd_llc_id)),
        ("sd_llc_size", i64::from(place.llc_size), i64::from(ours.sd_llc_size)),
        ("sd_share_id", i64::from(place.share_id), i64::from(ours.sd_share_id)),
        ("cpu_capacity_orig", i64::from(theirs.cpu_capacity_orig), i64::from(ours.cpu_capacity_orig)),
        ("cpu_capacity", i64::from(theirs.cpu_capacity), i64::from(ours.cpu_capacity)),
    ];
    let differ = numbers.into_iter().filter(|(_, theirs, ours)| theirs != ours);
    found.extend(differ.map(|(what, theirs, ours)| format!("cpu{cpu}: {what}: kernel {theirs}, ours {ours}")));
    if place.core != ours.core {
        found.push(format!("cpu{cpu}: threads of its core: kernel {}, ours {}", place.core, ours.core));
    }
}

fn compare_domain(kernel: &dyn State, sandbox: &mut PolicySandbox, (cpu, n): (CpuId, usize), found: &mut Vec<String>) {
    let mut theirs = FgDomain::zeroed();
    kernel.domain(cpu, n, &mut theirs);
    let ours = sandbox.domain_mut(cpu, n);
    let at = format!("cpu{cpu} domain {n}");
    if kernel.unobserved().iter().any(|member| member == "fg_domain.imb_numa_nr") {
        theirs.imb_numa_nr = ours.imb_numa_nr;
    }
    if theirs.span != ours.span {
        found.push(format!("{at}: span: kernel {}, ours {}", theirs.span, ours.span));
    }
    if theirs.flags != ours.flags {
        found.push(format!("{at}: flags: kernel {:#06x}, ours {:#06x}", theirs.flags, ours.flags));
    }
    let numbers = [
        ("weight", theirs.weight, ours.weight),
        ("imbalance_pct", theirs.imbalance_pct, ours.imbalance_pct),
        ("busy_factor", theirs.busy_factor, ours.busy_factor),
        ("cache_nice_tries", theirs.cache_nice_tries, ours.cache_nice_tries),
        ("min_interval", theirs.min_interval, ours.min_interval),
        ("max_interval", theirs.max_interval, ours.max_interval),
        ("imb_numa_nr", theirs.imb_numa_nr, ours.imb_numa_nr),
    ];
    let differ = numbers.into_iter().filter(|(_, theirs, ours)| theirs != ours);
    found.extend(differ.map(|(what, theirs, ours)| format!("{at}: {what}: kernel {theirs}, ours {ours}")));
}

fn compare_groups(kernel: &dyn State, sandbox: &mut PolicySandbox, (cpu, n): (CpuId, usize), found: &mut Vec<String>) {
    let mut theirs = Vec::new();
    kernel.groups(cpu, n, &mut theirs);
    let has_flags = kernel.unobserved().iter().all(|member| member != "fg_group.flags");
    for (g, theirs) in theirs.iter().enumerate() {
        let at = format!("cpu{cpu} domain {n} group {g}");
        let Some(ours) = sandbox.group_mut(cpu, n, g) else {
            found.push(format!("{at}: ours has no such group"));
            return;
        };
        if theirs.span != ours.span {
            found.push(format!("{at}: span: kernel {}, ours {}", theirs.span, ours.span));
        }
        if has_flags && theirs.flags != ours.flags {
            found.push(format!("{at}: flags: kernel {:#06x}, ours {:#06x}", theirs.flags, ours.flags));
        }
        let numbers = [
            ("capacity", theirs.capacity, ours.capacity),
            ("min_capacity", theirs.min_capacity, ours.min_capacity),
            ("max_capacity", theirs.max_capacity, ours.max_capacity),
        ];
        let differ = numbers.into_iter().filter(|(_, theirs, ours)| theirs != ours);
        found.extend(differ.map(|(what, theirs, ours)| format!("{at}: {what}: kernel {theirs}, ours {ours}")));
    }
    if sandbox.group_mut(cpu, n, theirs.len()).is_some() {
        found.push(format!("cpu{cpu} domain {n}: kernel has {} groups, ours more", theirs.len()));
    }
}
