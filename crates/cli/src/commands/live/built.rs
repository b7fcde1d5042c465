//! `fairground live` where the command was built with it.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use fairground_fair::ffi::{FG_CLS_SELECT, FG_FLAT_PICK, FG_RQ};
use fairground_fair::{features, pick_rules, rules, Features};
use fairground_host::Host;
use fairground_live::{verify, Running, Scheduler, Status as Counters, Verified, WAYS};
use fairground_machine::Machine;
use fairground_run::experiment::Stop;
use fairground_sim::BalanceKind;
use miette::Diagnostic;
use thiserror::Error;

use super::record::in_force;
use super::{LiveCommand, Set, Start, Status};
use crate::error::{run_failed, End, Failure};
use crate::input::machine_or_this;
use crate::output::stop_on_signals;
use crate::output::{complain, print, sleep_until_signal};

/// The tick rate is not known.
#[derive(Debug, Error, Diagnostic)]
#[error("this kernel does not say its ticks per second (CONFIG_HZ)")]
#[diagnostic(help("name them: --hz 250"))]
struct NoHz;

/// The policy is not named.
#[derive(Debug, Error, Diagnostic)]
#[error("--sched {0}: expected fair:RELEASE with features, e.g. fair:v6.12+asym-prev-first")]
pub(super) struct NotFair(pub(super) String);

/// A feature that cannot be changed while the scheduler runs.
#[derive(Debug, Error, Diagnostic)]
#[error("{0} decides how queues or domains are made: it cannot change while the scheduler runs")]
#[diagnostic(help("start the scheduler anew"))]
struct Fixed(&'static str);

/// Features by which queues, their sums, domains or energy models were made when the scheduler started.
const FIXED: [&str; 24] = [
    "rq",
    "flat-pick",
    "weight-bits",
    "uclamp-buckets",
    "uclamp-key",
    "group-shares",
    "throttle",
    "sched-cache",
    "fair-server",
    "cls-domain",
    "imb-pct-117",
    "busy-factor-16",
    "groups-within",
    "weight-in-map",
    "llc-phys",
    "balance-shared",
    "asym-cap-full",
    "asym-prefer-sibling",
    "group-flags",
    "wake-cap",
    "em-cost",
    "em-efficient",
    "eas-complexity",
    "eas-first-cpu",
];

/// `cls-select=landed` changes flags of domains, its other values do not.
fn is_fixed(name: &str, wanted: &Features, now: &Features) -> bool {
    FIXED.contains(&name)
        || name == "cls-select" && wanted.is(FG_CLS_SELECT, "landed") != now.is(FG_CLS_SELECT, "landed")
}

impl LiveCommand {
    pub fn run(self) -> Result<End, Failure> {
        match self {
            LiveCommand::Start(start) => start.run(),
            LiveCommand::Check(_) => check(),
            LiveCommand::Status(status) => status.run(),
            LiveCommand::Record(record) => record.run(),
            LiveCommand::Ab(ab) => ab.run(),
            LiveCommand::Set(set) => set.run(),
        }
    }
}

/// With which features weights and quotas of cgroups count, if they do not with these.
fn cgroup_note(features: &Features) -> Option<String> {
    if features.on(FG_FLAT_PICK) {
        return None;
    }
    let queue = if features.on(FG_RQ) { "" } else { "+rq=eevdf" };
    let wanted = features.clone().and(&format!("{queue}+weight-bits=20+flat-pick+throttle=task-early")).ok()?;
    Some(format!("weights and quotas of cgroups do nothing; they count with {wanted}"))
}

impl Start {
    fn run(self) -> Result<End, Failure> {
        let Some(text) = self.sched.strip_prefix("fair:") else { return Err(NotFair(self.sched).into()) };
        let features = Features::parse(text)?;
        let machine = this_machine(self.machine.as_deref())?;
        let host = Host::new(Path::new("/"), false);
        let hz = self.hz.or_else(|| host.hz()).ok_or(NoHz)?;
        let notes = features.notes().into_iter().chain(cgroup_note(&features));
        notes.for_each(|note| complain(&format!("note: {note}")));
        let stop = stop_on_signals();
        let begin = Instant::now();
        let left = || self.seconds.map_or(Duration::MAX, |s| Duration::from_secs(s).saturating_sub(begin.elapsed()));
        let mut scheduler = Scheduler::start(&machine, &features, hz)?;
        loop {
            if scheduler.ended().is_none() {
                complain(&format!("fairground schedules this machine by {}", self.sched));
            }
            if !scheduler.is_pinned() {
                complain("note: it has no name in /sys/fs/bpf, which may not be mounted: `fairground live status` and `set` will not find it");
            }
            scheduler.unpark_at_end()?;
            while !stop.load(Ordering::Relaxed) && !left().is_zero() && scheduler.ended().is_none() {
                sleep_until_signal(left());
            }
            let ended = scheduler.ended();
            let status = scheduler.status();
            match ended {
                None => {
                    drop(scheduler);
                    print(&report(&status))?;
                    return Ok(End::Done);
                }
                Some(ended) if ended.asks_for_restart() => {
                    print(&report(&status))?;
                    complain(&format!("{}: starting anew; what was counted begins at 0", ended.reason));
                    wait_for_end(&stop)?;
                    scheduler.restart(&machine, &features, hz)?;
                }
                Some(ended) => {
                    print(&format!("{}\n{}\n", report(&status), ended.dump))?;
                    return Err(run_failed(format!(
                        "the kernel ended the scheduler, and its fair class is in charge again: {} ({}) {}",
                        ended.reason, ended.kind, ended.message
                    )));
                }
            }
        }
    }
}

/// How often the kernel is asked how the scheduler is.
const POLL: Duration = Duration::from_millis(100);
/// How long the kernel may take to end a scheduler, or `start` to start it anew.
const END_LIMIT: Duration = Duration::from_secs(30);

/// Waits until the kernel has ended its scheduler.
fn wait_for_end(stop: &Stop) -> Result<(), Failure> {
    let begin = Instant::now();
    while fairground_live::Host::this().other_scheduler().is_some() {
        if stop.load(Ordering::Relaxed) {
            return Err(Failure::Interrupted("interrupted while the scheduler was to be started anew".into()));
        }
        if begin.elapsed() > END_LIMIT {
            return Err(run_failed("the kernel does not come to an end of the scheduler"));
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}

impl Status {
    fn run(self) -> Result<End, Failure> {
        let running = Running::open()?;
        let Some(every) = self.watch.map(|every| every.max(POLL)) else {
            print(&report(&running.status()))?;
            return Ok(End::Done);
        };
        let stop = stop_on_signals();
        let is_terminal = std::io::stdout().is_terminal();
        let mut missing_since = None;
        while !stop.load(Ordering::Relaxed) {
            if !running.is_running() {
                let since = *missing_since.get_or_insert_with(Instant::now);
                if !Running::may_come_back() || since.elapsed() > END_LIMIT {
                    return Err(run_failed("the scheduler has ended"));
                }
                std::thread::sleep(POLL);
                continue;
            }
            missing_since = None;
            if is_terminal {
                // Erases the screen and goes to its corner. If that fails, so does what follows.
                let _ = std::io::stdout().write_all(b"\x1b[2J\x1b[H");
            }
            print(&report(&running.status()))?;
            let shown = Instant::now();
            while shown.elapsed() < every && !stop.load(Ordering::Relaxed) {
                std::thread::sleep(POLL);
            }
        }
        Ok(End::Done)
    }
}

impl Set {
    fn run(self) -> Result<End, Failure> {
        let running = Running::open()?;
        let values = in_force(&running);
        switch(&running, &values.clone().and(&self.changes.concat())?)?;
        Ok(End::Done)
    }
}

/// Puts other features in force. Refuses if one of them cannot change while the scheduler runs, and changes nothing then.
pub(super) fn switch(running: &Running, features: &Features) -> Result<(), Failure> {
    let ids = changeable(running, features)?;
    ids.into_iter().for_each(|id| running.set_feature(id, features.get(id)));
    Ok(())
}

/// The features that differ from those in force, all of which can change while the scheduler runs.
pub(super) fn changeable(running: &Running, wanted: &Features) -> Result<Vec<usize>, Failure> {
    let now = in_force(running);
    let ids = wanted.differing(&now);
    match ids.iter().map(|id| features()[*id].name).find(|name| is_fixed(name, wanted, &now)) {
        Some(name) => Err(Fixed(name).into()),
        None => Ok(ids),
    }
}

/// Instructions of a program that a verifier follows at most.
const MOST_INSTRUCTIONS: f64 = 1e6;

fn check() -> Result<End, Failure> {
    let mut programs = verify()?;
    programs.sort_by(|a, b| b.instructions.cmp(&a.instructions).then_with(|| a.name.cmp(&b.name)));
    let mut text = String::from("instructions that the verifier followed, of a million at most\n");
    for Verified { name, instructions } in programs {
        text += &format!("{instructions:>10} {:>5.1} %  {name}\n", f64::from(instructions) * 100.0 / MOST_INSTRUCTIONS);
    }
    print(&text)?;
    Ok(End::Done)
}

/// [`machine_or_this`] with its notes printed.
pub(super) fn this_machine(name: Option<&str>) -> Result<Machine, Failure> {
    let (machine, notes) = machine_or_this(name)?;
    notes.iter().for_each(|note| complain(&format!("note: {note}")));
    Ok(machine)
}

/// What a scheduler has done, as text.
fn report(status: &Counters) -> String {
    let mut text = String::new();
    let placed: u64 = status.placed.iter().sum();
    let waits = status.waits;
    let mean_us = |sum: u64, count: u64| if count > 0 { sum as f64 / count as f64 / 1e3 } else { 0.0 };
    let mean = mean_us(waits.sum_ns, waits.count);
    text += &format!(
        "{placed} placements of {:.1} us in the mean, {} migrations, {} switches, {} ticks; a busy CPU went without one for up to {:.1} ms\nfrom wakeup to CPU: mean {mean:.1} us, longest {:.1} us (pid {}, until {:.6} s), {} wakeups\n",
        mean_us(status.deciding_ns, placed),
        status.migrations,
        status.switches,
        status.ticks,
        status.longest_tickless_ns as f64 / 1e6,
        waits.longest_ns as f64 / 1e3,
        waits.longest_pid,
        waits.longest_until_ns as f64 / 1e9,
        waits.count
    );
    for (title, counts, rules) in [("placements", &status.placed, rules()), ("picks", &status.picked, pick_rules())] {
        let all: u64 = counts.iter().sum();
        let mut rows: Vec<(u64, &str, &str)> = counts
            .iter()
            .zip(rules)
            .filter(|(n, _)| **n > 0)
            .map(|(n, rule)| (*n, rule.function, rule.label))
            .collect();
        rows.sort_by(|a, b| b.cmp(a));
        text += &format!("\n{title}\n");
        for (n, function, label) in rows {
            text += &format!("{n:>10} {:>5.1} %  {function}: {label}\n", n as f64 * 100.0 / all as f64);
        }
    }
    text += "\nbalance passes\n";
    let [attempts, found] = &status.balanced;
    for ((kind, attempts), found) in BalanceKind::ALL.iter().zip(attempts).zip(found) {
        text += &format!("{attempts:>10}  {}, {found} of them found a source\n", kind.word());
    }
    let [asked, made] = status.nohz_rounds;
    text += &format!("{asked:>10}  rounds for CPUs without tick asked for, {made} made\n");
    let [ticks, due] = status.idle_ticks;
    text += &format!("{ticks:>10}  ticks of idle CPUs, {due} of them found a domain due\n");
    if status.throttled > 0 {
        text += &format!("{:>10}  times a task waited for the next period of its cgroup's quota\n", status.throttled);
    }
    let capacity = status.capacity;
    text += &format!(
        "\ncapacity of all CPUs: {}, for fair tasks {}; RT tasks take {}, deadline tasks {}, interrupts {}, limits of clocks {}\n",
        capacity.whole, capacity.left, capacity.rt, capacity.deadline, capacity.interrupts, capacity.limits
    );
    if status.late > 0 {
        text += &format!(
            "\n{} times a task had waited for more than 5 s in a queue, and its CPU got another look\n",
            status.late
        );
    }
    let early: u64 = status.idled_early.iter().sum();
    if early > 0 {
        text += &format!(
            "\n{early} times a CPU went idle with tasks in its queue, and was sent back to them; when it had chosen,\n"
        );
        for (way, count) in WAYS.iter().zip(&status.idled_early).filter(|(_, count)| **count > 0) {
            text += &format!("{count:>10}  {way}\n");
        }
    }
    if status.ungrouped > 0 {
        text += &format!(
            "\n{} tasks came into a cgroup for which there was no room, and count as in one around it\n",
            status.ungrouped
        );
    }
    if status.unknown > 0 || status.refused > 0 {
        text += &format!("\n{} calls for unknown tasks, {} tasks refused\n", status.unknown, status.refused);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_features_that_cgroups_need_can_be_named() {
        for text in ["v6.12", "v5.16", "v6.12+weight-bits=20", "v6.18+throttle=task", "v7.3-flat-pick", "v6.7-rq"] {
            let note = cgroup_note(&Features::parse(text).unwrap()).unwrap();
            let name = note.rsplit(' ').next().unwrap();
            let named = Features::parse(name.strip_prefix("fair:").unwrap()).unwrap();
            assert!(named.on(FG_FLAT_PICK) && cgroup_note(&named).is_none(), "{note}");
        }
    }
}
