//! Background load of a phone: services that wake up now and then for short work.
//!
//! How much that is has not been published; an option sets it. That it comes in short pieces from a few threads, each
//! at a pace of its own, is an estimate.

use super::parts;
use crate::options::{OptionInfo, OptionKind, Options, MICRO, NS_PER_MS};
use crate::program::*;

pub(super) const BACKGROUND: OptionInfo = OptionInfo {
    name: "background",
    kind: OptionKind::Decimal { unit: "percent", min: 0, max: 100 * MICRO },
    default: "0",
    meaning:
        "load of everything else on the phone, percent of a CPU of capacity 1024, in four periodic threads; 0: none",
    excludes: None,
};

/// Paces of the threads, ms: no two meet often. An estimate.
const PERIODS_MS: [u64; 4] = [17, 37, 53, 101];
/// Working set of a service, KiB; an estimate.
const SERVICE_KIB: u32 = 32;

/// Adds the threads that the option asks for, each with the same part of the load: daemons of nice 0, bound nowhere and
/// without clamps, begun from `cpu` at a point of their first period that is drawn.
pub(super) fn add(options: &Options, cpu: fairground_machine::CpuId, workload: &mut Workload) {
    let millionths = options.millionths("background");
    if millionths == 0 {
        return;
    }
    let timer = workload.objects.len() as ObjId;
    workload.objects.push(Object::Timer { per_task: true });
    for (number, period_ms) in PERIODS_MS.into_iter().enumerate() {
        let period_ns = period_ms * NS_PER_MS;
        let work_ns = (period_ns * millionths / (100 * MICRO * PERIODS_MS.len() as u64)).max(1);
        let mut p = ProgramBuilder::new();
        p.op(Op::Sleep(Amount { base: 0, jitter: period_ns }));
        p.repeat(None, |p| {
            p.op(Op::Run(parts::varied(work_ns)));
            p.op(Op::TimerWait { timer, period_ns, relative: true });
        });
        let task = TaskSpec::new(&format!("background-{number}"), SERVICE_KIB, p.build());
        workload.start.push(Start { spec: workload.tasks.len() as SpecId, count: 1, cpu, process: 0 });
        workload.tasks.push(TaskSpec { daemon: true, ..task });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::small_machine;

    fn found(spec: &str) -> Workload {
        Workload::find(spec, &small_machine(8)).unwrap().0
    }

    /// Without it, and with none of it, the workload is what it was.
    #[test]
    fn nobody_else_is_there_unless_asked_for() {
        for name in ["geekbench5", "jankbench"] {
            let (plain, none) = (found(name), found(&format!("{name}:background=0")));
            assert_eq!((plain.tasks, plain.start, plain.objects), (none.tasks, none.start, none.objects), "{name}");
        }
    }

    /// 8 % are 2 % for each: 0.34 ms of 17, and a fifth to both sides.
    #[test]
    fn the_load_is_shared_by_daemons_that_come_behind_everybody_else() {
        for name in ["geekbench5", "jankbench"] {
            let (plain, loaded) = (found(name), found(&format!("{name}:background=8")));
            assert_eq!(loaded.tasks[..plain.tasks.len()], plain.tasks[..], "{name}");
            let more = &loaded.tasks[plain.tasks.len()..];
            assert!(more.len() == 4 && more.iter().all(|task| task.daemon), "{name}");
            assert!(more[0].program.contains(&Op::Run(Amount { base: 272_000, jitter: 136_000 })), "{:?}", more[0]);
            assert_eq!(loaded.start.len(), plain.start.len() + 4);
        }
    }
}
