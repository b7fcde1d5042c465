//! A workload launched on some CPUs alone, as by numactl or taskset.

use fairground_machine::{CpuMask, Machine};

use crate::error::WorkloadError;
use crate::program::{Op, TaskSpec, Workload};
use crate::warning::{Warning, WarningKind};

impl Workload {
    /// As [`Workload::find`], bound to `cpus` of the machine if there are such.
    ///
    /// # Errors
    /// As [`Workload::find`].
    pub fn find_bound(
        spec: &str,
        machine: &Machine,
        cpus: Option<&CpuMask>,
    ) -> Result<(Workload, Vec<Warning>), WorkloadError> {
        let (mut workload, mut warnings) = Workload::find(spec, machine)?;
        if let Some(cpus) = cpus {
            warnings.extend(workload.bind(cpus));
        }
        Ok((workload, warnings))
    }

    /// Binds it to `cpus`, which is not empty: it is launched there, and its threads inherit the affinity. A thread
    /// that sets an affinity itself has that: numactl and taskset bind by sched_setaffinity, which a thread may widen
    /// again, unlike a cpuset. Per-CPU kernel threads and interrupts cannot be bound. Warns of threads that may
    /// leave `cpus`.
    pub fn bind(&mut self, cpus: &CpuMask) -> Vec<Warning> {
        let first = cpus.first().unwrap_or_default();
        for start in self.start.iter_mut().filter(|start| !cpus.test(start.cpu)) {
            start.cpu = first;
        }
        let own = self.tasks.iter_mut().filter(|task| task.kthread_cpu.is_none());
        own.filter(|task| task.affinity.is_none()).for_each(|task| task.affinity = Some(*cpus));
        self.tasks.iter().filter_map(|task| leaving(task, cpus)).collect()
    }
}

/// A warning of a thread that may use others than `cpus`, by an affinity of its own.
fn leaving(task: &TaskSpec, cpus: &CpuMask) -> Option<Warning> {
    let in_program = task.program.iter().filter_map(|op| match op {
        Op::SetAffinity(mask) => Some(mask),
        _ => None,
    });
    let own = task.affinity.iter().filter(|_| task.kthread_cpu.is_none()).chain(in_program);
    let others = own.fold(CpuMask::EMPTY, |all, mask| all.or(mask)).minus(cpus);
    (!others.is_empty()).then(|| Warning {
        kind: WarningKind::Suspicious,
        at: None,
        subject: task.name.clone(),
        message: format!("is bound to CPUs {cpus}, and by an affinity of its own may use {others} too"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{ProgramBuilder, Start};
    use crate::testing::small_machine;

    fn mask(list: &str) -> CpuMask {
        CpuMask::parse_list(list).unwrap()
    }

    fn pipe() -> Workload {
        Workload::find("sched-pipe:loops=1,threads", &small_machine(8)).unwrap().0
    }

    #[test]
    fn threads_inherit_the_cpus_of_who_launches_them() {
        let bound = Workload::find_bound("sched-pipe:loops=1", &small_machine(8), Some(&mask("4-5"))).unwrap();
        assert!(bound.1.is_empty());
        assert!(bound.0.tasks.iter().all(|task| task.affinity == Some(mask("4-5"))));
        assert_eq!(bound.0.start.iter().map(|s| s.cpu).collect::<Vec<_>>(), [4], "launched from one of them");
        let mut from_5 = pipe();
        from_5.start = vec![Start { cpu: 5, ..from_5.start[0].clone() }];
        from_5.bind(&mask("4-5"));
        assert_eq!(from_5.start[0].cpu, 5, "who is there already stays");
    }

    #[test]
    fn an_affinity_of_its_own_wins_and_is_told() {
        let mut workload = pipe();
        workload.tasks[0].affinity = Some(mask("0-1,4"));
        workload.tasks[1].affinity = Some(mask("5"));
        let warnings = workload.bind(&mask("4-7"));
        assert_eq!(workload.tasks[0].affinity, Some(mask("0-1,4")));
        let words: Vec<String> = warnings.iter().map(Warning::to_string).collect();
        let [word] = &words[..] else { panic!("{words:?}") };
        assert!(word.contains("bound to CPUs 4-7, and by an affinity of its own may use 0-1 too"), "{word}");
    }

    #[test]
    fn a_thread_that_widens_its_affinity_on_its_way_is_told() {
        let mut workload = pipe();
        let mut widening = ProgramBuilder::new();
        widening.op(Op::SetAffinity(mask("0-7")));
        workload.tasks[1].program = widening.build();
        assert_eq!(workload.bind(&mask("2-3")).len(), 1);
        assert_eq!(workload.tasks[1].affinity, Some(mask("2-3")), "it is born there all the same");
    }

    #[test]
    fn kernel_threads_of_a_cpu_stay_on_it() {
        let mut workload = pipe();
        workload.tasks[1].kthread_cpu = Some(0);
        assert!(workload.bind(&mask("4-7")).is_empty());
        assert_eq!(workload.tasks[1].affinity, None);
    }
}
