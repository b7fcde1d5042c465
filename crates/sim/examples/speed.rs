//! Simulated seconds per wall second with the toy scheduler, metrics and hash: `cargo run --release -p fairground-sim --example speed`.

use std::sync::Arc;
use std::time::Instant;

use fairground_sim::{testing, Config, HashObserver, MetricsObserver};
use fairground_workload::{Amount, Object, Op, ProgramBuilder};

/// Periodic threads of 15 % load: 1.5 ms of every 10 ms.
fn periodic(nr_tasks: u32, seconds: u64) -> fairground_workload::Workload {
    let mut program = ProgramBuilder::new();
    program.op(Op::Sleep(Amount { base: 0, jitter: 10_000_000 })).repeat(None, |p| {
        p.op(Op::Run(Amount { base: 1_400_000, jitter: 200_000 }));
        p.op(Op::TimerWait { timer: 0, period_ns: 10_000_000, relative: true });
    });
    let mut task = testing::spec("periodic", vec![]);
    task.program = program.build();
    task.footprint_kib = 64;
    let mut w = testing::workload(vec![Object::Timer { per_task: true }], vec![task]);
    w.start[0].count = nr_tasks;
    w.duration_ns = Some(seconds * 1_000_000_000);
    w
}

fn main() {
    for (cpus, tasks, seconds) in [(8, 40, 100), (128, 640, 10)] {
        let machine = testing::with_costs(testing::machine(cpus, 1));
        let workload = periodic(tasks, seconds);
        let mut metrics = MetricsObserver::new(Arc::new(machine.clone()), &workload);
        let mut hash = HashObserver::new();
        let mut engine = testing::engine(machine, workload, Config::default());
        let begin = Instant::now();
        match engine.run(&mut [&mut metrics, &mut hash]) {
            Ok(outcome) => {
                let wall = begin.elapsed().as_secs_f64();
                let (speed, rate) = (seconds as f64 / wall, outcome.nr_events as f64 / wall / 1e6);
                let per_s = outcome.nr_events / seconds;
                println!("{cpus} CPUs/{tasks} tasks: {speed:.0} s/s, {rate:.2} M events/s, {per_s} events per s");
            }
            Err(error) => println!("{cpus} CPUs/{tasks} tasks: {error}"),
        }
    }
}
