use fairground_machine::{CpuMask, Vote};

use super::*;

fn juno() -> Machine {
    Machine::preset("juno-r2").unwrap()
}

fn assert_close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

/// A53s of juno-r2 have a capacity of 383 at 950 MHz: 100 with its headroom, 125, runs at 450 MHz, where there are 181.4. The
/// task sleeps for 1.8 ms, which pays for nothing but WFI (6 mW); the others are off with 0 mW.
#[test]
fn one_small_task_costs_what_it_costs_by_hand() {
    let machine = juno();
    let busy = 100.0 / (383.0 * 450.0 / 950.0);
    let price = Pricer::new(&machine).price(&[Steady::new(100.0)], &[4]).unwrap();
    assert!(assert_close(price.model_mw, 42.4 * busy), "{price:?}");
    // Its cluster is up, 57 mW, the other one down, 24 mW.
    assert!(assert_close(price.power_mw, 42.4 * busy + 6.0 * (1.0 - busy) + 57.0 + 24.0), "{price:?}");
}

/// At 30 the A53 is busy for a sixth of the time and sleeps for 3.3 ms: long enough for cluster-sleep, and then all are down.
#[test]
fn a_cluster_is_down_while_all_of_it_sleep_long() {
    let machine = juno();
    let busy = 30.0 / (383.0 * 450.0 / 950.0);
    let price = Pricer::new(&machine).price(&[Steady::new(30.0)], &[0]).unwrap();
    assert!(assert_close(price.power_mw, 42.4 * busy + 57.0 * busy + 17.0 * (1.0 - busy) + 24.0), "{price:?}");
}

/// 200 on one A53 need 250 of it, 800 MHz; the other one on that clock pays for it too.
#[test]
fn the_busiest_cpu_of_a_clock_sets_it_for_all() {
    let machine = juno();
    let tasks = [Steady::new(200.0), Steady::new(50.0)];
    let price = Pricer::new(&machine).price(&tasks, &[0, 3]).unwrap();
    assert!(assert_close(price.model_mw, 90.7 * 250.0 / (383.0 * 800.0 / 950.0)), "{price:?}");
}

#[test]
fn what_asks_for_a_floor_needs_a_cpu_and_a_clock_that_give_it() {
    let machine = juno();
    let pricer = Pricer::new(&machine);
    let floor = |min| [Steady { min, ..Steady::new(100.0) }];
    // 300 of an A53: 800 MHz give 322.
    let price = pricer.price(&floor(300), &[0]).unwrap();
    assert!(assert_close(price.model_mw, 90.7 * 100.0 / (383.0 * 800.0 / 950.0)), "{price:?}");
    assert_eq!(pricer.price(&floor(400), &[0]), None);
    assert!(pricer.price(&floor(400), &[1]).is_some());
}

#[test]
fn a_ceiling_lets_a_task_fit_unless_it_gets_too_little_done() {
    let machine = juno();
    let pricer = Pricer::new(&machine);
    let capped = |max| [Steady { max, ..Steady::new(320.0) }];
    // 320 has no fifth to spare on 383.
    assert_eq!(pricer.price(&capped(1024), &[0]), None);
    assert!(pricer.price(&capped(380), &[0]).is_some());
    // 200 takes 800 MHz, where there are 322; 150 takes 450 MHz with 181.
    assert!(pricer.price(&capped(200), &[0]).is_some());
    assert_eq!(pricer.price(&capped(150), &[0]), None);
}

#[test]
fn a_clock_that_votes_raises_another_and_its_power_but_not_the_model() {
    let mut machine = juno();
    let tasks = [Steady::new(500.0), Steady::new(30.0)];
    let plain = Pricer::new(&machine).price(&tasks, &[1, 0]).unwrap();
    // While the A72s run at 1000 MHz (or 1200) the A53s run at 950.
    let vote = Vote { from: 1, on: 0, clock: vec![0, 2, 2], voltage: vec![0, 2, 2] };
    machine.votes.push(vote);
    let voted = Pricer::new(&machine).price(&tasks, &[1, 0]).unwrap();
    assert_eq!(voted.model_mw, plain.model_mw);
    let [slow, fast] = [30.0 / (383.0 * 450.0 / 950.0), 30.0 / 383.0];
    let cluster = |busy: f64| 57.0 * busy + 17.0 * (1.0 - busy);
    let change = 133.0 * fast - 42.4 * slow + cluster(fast) - cluster(slow);
    assert!(assert_close(voted.power_mw - plain.power_mw, change), "{plain:?} {voted:?}");
}

/// All 6^3 placements, one by one.
#[test]
fn the_best_is_the_least_of_all_placements() {
    let machine = juno();
    let judge = Judge::new(&machine);
    let pricer = Pricer::new(&machine);
    for number in 0..40 {
        let tasks = drawn(5, number, 3, number % 2 == 0);
        let all = (0..6u32.pow(tasks.len() as u32)).filter_map(|n| {
            let placement: Vec<u32> = (0..tasks.len() as u32).map(|i| n / 6u32.pow(i) % 6).collect();
            pricer.price(&tasks, &placement)
        });
        let least = |of: fn(&Price) -> f64| all.clone().map(|p| of(&p)).min_by(f64::total_cmp);
        let best = judge.best(&tasks);
        // Sums of the same terms in another order.
        let same = |a: Option<f64>, b: Option<f64>| {
            a.is_some() == b.is_some() && a.zip(b).is_none_or(|(a, b)| assert_close(a, b))
        };
        assert!(same(best.map(|b| b.model_mw), least(|p| p.model_mw)), "{tasks:?}");
        assert!(same(best.map(|b| b.power_mw), least(|p| p.power_mw)), "{tasks:?}");
    }
    assert_eq!(judge.best(&[Steady::new(900.0)]), None);
}

fn experiment(machine: Machine, scheds: &[&str]) -> Experiment {
    let governor = fairground_sim::Governor::Schedutil;
    Experiment {
        machine: Arc::new(machine),
        workload: Arc::new(workload(&[])),
        scheds: scheds.iter().map(|s| s.parse().unwrap()).collect(),
        config: fairground_sim::Config { governor, ..Default::default() },
        workers: Default::default(),
    }
}

/// What is priced is what the engine draws, but for what the price leaves out.
#[test]
fn the_price_is_near_to_the_power_of_a_run() {
    for (machine, tasks, placement) in [
        ("juno-r2", [120.0, 60.0, 500.0], [0, 3, 1]),
        ("hikey960", [100.0, 100.0, 400.0], [0, 1, 4]),
        ("pixel6", [60.0, 200.0, 500.0], [0, 4, 6]),
    ] {
        let tasks = tasks.map(Steady::new);
        let machine = Machine::preset(machine).unwrap();
        let price = Pricer::new(&machine).price(&tasks, &placement).unwrap();
        let mut experiment = experiment(machine, &["fair:v6.12"]);
        let mut bound = workload(&tasks);
        bound.tasks.iter_mut().zip(placement).for_each(|(task, cpu)| task.affinity = Some(CpuMask::single(cpu)));
        experiment.workload = Arc::new(bound);
        let report = experiment.carry_out(0, 1, None).outcome.unwrap();
        let reading = |name: &str| report.metrics.iter().find(|r| r.metric.name == name).unwrap().value;
        let drawn = reading("energy_j") / 0.5 * 1e3;
        let off = (price.power_mw - drawn) / drawn;
        println!("{}: {:.1} mW priced, {drawn:.1} mW drawn", experiment.machine.name, price.power_mw);
        assert!(off.abs() < 0.15, "{}: {:.1} mW priced, {drawn:.1} mW drawn", experiment.machine.name, price.power_mw);
    }
}

/// Clocks that do not follow utilization leave the scheduler without energy awareness.
#[test]
fn a_scheduler_without_energy_awareness_regrets_more() {
    let mut experiment = experiment(Machine::preset("hikey960").unwrap(), &["fair:v6.12"]);
    let plan = Plan { states: 12, tasks: 4, clamps: false, seed: 3 };
    let aware = run(&experiment, &plan, 2, &|| ()).unwrap().unwrap().tallies.remove(0);
    experiment.config.governor = fairground_sim::Governor::Performance;
    let blind = run(&experiment, &plan, 2, &|| ()).unwrap().unwrap().tallies.remove(0);
    assert!(aware.states > 6 && blind.states > 6, "{aware:?} {blind:?}");
    assert!(aware.all.model.mean < blind.all.model.mean / 2.0, "{aware:?} {blind:?}");
    let by_energy = |tally: &SchedulerRegret| tally.rules.iter().any(|r| r.rule.starts_with('F'));
    assert!(by_energy(&aware) && !by_energy(&blind), "{aware:?} {blind:?}");
    assert!(aware.all.model.mean >= 0.0 && aware.all.power.mean >= 0.0);
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let experiment = experiment(juno(), &["fair:v6.12"]);
    let plan = Plan { states: 6, tasks: 3, clamps: true, seed: 1 };
    let of = |jobs| run(&experiment, &plan, jobs, &|| ()).unwrap().unwrap().tallies;
    assert_eq!(of(1), of(3));
}

#[test]
fn machines_that_cannot_be_judged_on_are_refused() {
    let refused = |name: &str| check(&Machine::preset(name).unwrap()).unwrap_err();
    assert!(matches!(refused("epyc-7742-2p"), RegretError::TooLarge { .. }));
    let mut machine = juno();
    machine.freq_domains[1].opps[0].active_mw = 0.0;
    let cpus = "1-2".to_string();
    assert_eq!(check(&machine), Err(RegretError::PowerUnknown { machine: "juno-r2".into(), cpus }));
    assert_eq!(check(&juno()), Ok(()));
}
