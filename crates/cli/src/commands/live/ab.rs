//! `fairground live ab`: two sets of features on the system that runs, in turns.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use fairground_fair::Features;
use fairground_lab::comparison::{Report, Settings};
use fairground_live::{Running, Status};
use fairground_play::{CannotPlay, Ended, Player, RoundOptions};
use fairground_run::batch::RunReport;
use fairground_run::metrics::{Better, Metric, MetricValue};
use fairground_workload::Workload;

use super::built::{changeable, switch, this_machine, NotFair};
use super::record::{in_force, CUT_SHORT};
use super::Ab;
use crate::commands::play::{default_timeout, fastest, figures};
use crate::error::{run_failed, End, Failure};
use crate::output::stop_on_signals;
use crate::output::{columns, complain, print};

/// The features that were in force come back, whatever happens.
struct Before<'r> {
    running: &'r Running,
    features: Features,
}

impl Drop for Before<'_> {
    fn drop(&mut self) {
        // One that was started anew has those that it was started with.
        if self.running.is_in_charge() {
            // All of them could be changed before.
            let _ = switch(self.running, &self.features);
        }
    }
}

impl Ab {
    pub fn run(self) -> Result<End, Failure> {
        let running = Running::open()?;
        let sides = [parse(&self.base)?, parse(&self.test)?];
        for side in &sides {
            changeable(&running, side)?;
        }
        let machine = this_machine(self.machine.as_deref())?;
        let cpus = fairground_play::affinity().map_err(run_failed)?;
        let (workload, warnings) = Workload::find_bound(&self.workload, &machine, None)?;
        warnings.iter().for_each(|warning| complain(&format!("warning: {warning}")));
        let limit = Duration::from_secs(default_timeout(&workload));
        let player = Player::new(workload, &cpus, fastest(&machine, &cpus), false).map_err(|error| match error {
            CannotPlay::Refused(refusal) => refusal.into(),
            CannotPlay::Round(error) => run_failed(error),
        })?;
        let stop = stop_on_signals();
        let before = Before { running: &running, features: in_force(&running) };
        let mut results = vec![Vec::new(), Vec::new()];
        let mut is_cut_short = false;
        for seed in 1..=self.rounds {
            // Base first, then test first: a drift of the machine falls on both.
            let order = if seed % 2 == 1 { [0, 1] } else { [1, 0] };
            let mut pair = [None, None];
            for side in order {
                switch(&running, &sides[side])?;
                let options = RoundOptions { seed, limit, count_migrations: false };
                let least = self.round.unwrap_or_default();
                let Some(metrics) = round(&player, &running, &options, least, &stop)? else { break };
                is_cut_short = !running.is_in_charge();
                if is_cut_short {
                    break;
                }
                pair[side] = Some(Ok(RunReport { hash: hash(&metrics), metrics, notes: Vec::new() }));
            }
            let [Some(base), Some(test)] = pair else { break };
            results[0].push(base);
            results[1].push(test);
        }
        drop(before);
        let done = results[0].len();
        if done == 0 && is_cut_short {
            return Err(run_failed(format!("{CUT_SHORT}; no pair of rounds was done")));
        }
        if done == 0 {
            return Err(Failure::Interrupted("interrupted; no pair of rounds was done".into()));
        }
        let name = self.machine.as_deref().unwrap_or("this machine");
        let settings = [&self.base, &self.test].map(|sched| Settings::new(name, &self.workload, sched));
        let seeds: Vec<u64> = (1..=done as u64).collect();
        print(&self.format.render_for(&Report::new(&settings, &seeds, &results), columns(None)))?;
        if is_cut_short {
            return Err(run_failed(format!("{CUT_SHORT}; {done} of {} pairs were done", self.rounds)));
        }
        if stop.load(Ordering::Relaxed) {
            return Err(Failure::Interrupted(format!("interrupted; {done} of {} pairs were done", self.rounds)));
        }
        Ok(End::Done)
    }
}

/// There is no stream of events to hash: what was measured takes its place.
fn hash(metrics: &[MetricValue]) -> u128 {
    let mut hasher = DefaultHasher::new();
    metrics.iter().for_each(|figure| figure.value.to_bits().hash(&mut hasher));
    hasher.finish().into()
}

fn parse(sched: &str) -> Result<Features, Failure> {
    let text = sched.strip_prefix("fair:").ok_or_else(|| NotFair(sched.into()))?;
    Ok(Features::parse(text)?)
}

/// The means of the figures of the workload, played until `least` has passed, and what the scheduler has counted meanwhile. None: it
/// was interrupted.
fn round(
    player: &Player,
    running: &Running,
    options: &RoundOptions,
    least: Duration,
    stop: &std::sync::atomic::AtomicBool,
) -> Result<Option<Vec<MetricValue>>, Failure> {
    let (begin, before) = (Instant::now(), running.status());
    let mut sums: Vec<MetricValue> = Vec::new();
    let mut times = 0.0;
    loop {
        let played = player.round(options, stop).map_err(run_failed)?;
        match played.ended {
            Ended::Complete => {}
            Ended::Interrupted => return Ok(None),
            Ended::TimedOut => return Err(run_failed(format!("a round did not end within {:?}", options.limit))),
        }
        times += 1.0;
        for figure in figures(player.workload(), true, &played) {
            match sums.iter_mut().find(|sum| sum.metric.name == figure.metric.name) {
                Some(sum) => sum.value += figure.value,
                None => sums.push(figure),
            }
        }
        if begin.elapsed() >= least {
            break;
        }
    }
    sums.iter_mut().for_each(|sum| sum.value /= times);
    sums.extend(counted(&before, &running.status(), times));
    Ok(Some(sums))
}

/// What the scheduler has counted between two looks, for each time that the workload was played. All tasks of the machine count.
fn counted(before: &Status, after: &Status, times: f64) -> Vec<MetricValue> {
    let placed = |status: &Status| status.placed.iter().sum::<u64>() as f64;
    // One that was started anew counts from 0, and its round does not count.
    let waits = after.waits.count.saturating_sub(before.waits.count) as f64;
    let waited = after.waits.sum_ns.saturating_sub(before.waits.sum_ns) as f64 / 1e3;
    let metric = |name, unit, better, meaning| Metric::new(name, unit, better, meaning);
    let each = |now: f64, then: f64| (now - then) / times;
    let mut all = vec![
        MetricValue {
            metric: metric("placements", "count", Better::Lower, "wakeups and forks of all tasks that were placed"),
            value: each(placed(after), placed(before)),
        },
        MetricValue {
            metric: metric("placed_elsewhere", "count", Better::Lower, "of these on another CPU than the previous one"),
            value: each(after.migrations as f64, before.migrations as f64),
        },
    ];
    if waits > 0.0 {
        all.push(MetricValue {
            metric: metric("wakeup_wait_mean_us", "us", Better::Lower, "from a wakeup until the task runs"),
            value: waited / waits,
        });
    }
    all
}
