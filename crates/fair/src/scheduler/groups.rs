//! Task groups: their files.
//!
//! A group bounds the utilization clamps of its tasks (`cpu.uclamp.min`, `cpu.uclamp.max`, nested to any depth, changed
//! at any time). Groups share CPUs by weight (`cpu.weight`, `cpu.weight.nice`, `cpu.idle`) if one of them has such a file
//! written; then each competes as one, within the group around it.
//!
//! DEVIATION: where no weight is written all fair tasks of a CPU compete as those of the root group do, each with the
//! weight of its own nice value; the kernel shares between groups of the default weight too. Files of clamps alone, as
//! phones have them, so cost nothing and change nothing else. `cpu.idle` is refused with presets before v6.6.
//!
//! `cpu.max` limits a group to a quota of CPU time in each period; a group with one makes all groups compete.

use fairground_sim::{draw, ClampLimits, Env, Purpose, TaskId};
use fairground_workload::{Clamp, ClampPercent, GroupClamp, GroupId, TaskGroup, Workload};

use crate::ffi::*;
use crate::world::{depths, NewGroup, Quota};
use crate::{world, Fair, Features};

/// The period of a quota until a file states one, us (default_cfs_period).
const DEFAULT_PERIOD_US: u64 = 100_000;

/// Shortest quota and period, us; the longest period; the largest sum of quota and burst (max_cfs_runtime).
const SHORTEST_US: u64 = 1_000;
const LONGEST_PERIOD_US: u64 = 1_000_000;
const LARGEST_QUOTA_US: u64 = (1 << 44) - 1;

/// Shares of a group without a file of weights.
const DEFAULT_SHARES: u64 = 1024 * FG_NICE_0_LOAD as u64;

/// Shares of a group with `cpu.idle`, as of a SCHED_IDLE task.
const IDLE_SHARES: u64 = 3 * 1024;

/// The most structs of groups: a group has one for each CPU. More are assumed to be a mistake.
const MAX_QUEUES: usize = 1 << 16;

/// What a run knows of a task group besides the policy's struct.
struct Group {
    parent: Option<GroupId>,
    /// What is written to its files.
    asked: FgClamps,
    /// What that allows within the groups around it.
    allowed: FgClamps,
}

/// What the files of a group ask for where it competes with others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Weight {
    /// See `FgTg::shares`; none: no file of weights was written.
    shares: Option<u64>,
    idle: bool,
    /// The quota that `cpu.max` states, us; none: no limit.
    quota_us: Option<u64>,
    period_us: Option<u64>,
    burst_us: u64,
}

impl Weight {
    /// The quota as it is to be kept.
    fn quota(&self) -> Option<Quota> {
        let period = self.period_us.unwrap_or(DEFAULT_PERIOD_US) * 1000;
        Some(Quota { quota: self.quota_us? * 1000, period, burst: self.burst_us * 1000 })
    }
}

/// The groups of a run, parents before their children.
#[derive(Default)]
pub(crate) struct Groups {
    list: Vec<Group>,
    /// Some file asked for a clamp at the start.
    asks_clamps: bool,
    /// What the files of each ask for where it competes.
    weights: Vec<Weight>,
}

impl Groups {
    /// Makes the groups of a workload.
    ///
    /// # Errors
    /// Which file of which group is not honoured.
    pub fn make(wanted: &[TaskGroup], limits: &ClampLimits) -> Result<Groups, String> {
        let mut groups = Groups::default();
        for group in wanted {
            let mut asked = FgClamps { min: 0, max: FG_CAPACITY_SCALE };
            let mut weight = Weight::default();
            for (file, value) in &group.files {
                match read(&group.path, file, value)? {
                    Asked::Clamp(clamp, value) => {
                        *of(&mut asked, clamp) = u32::from(value.util());
                        groups.asks_clamps = true;
                    }
                    // The kernel: EINVAL.
                    Asked::Shares(_) if weight.idle => {
                        return Err(format!(
                            "task group `{}`: {file}: it has cpu.idle, and so no other weight",
                            group.path
                        ))
                    }
                    Asked::Shares(asked) => weight.shares = Some(asked),
                    Asked::Idle(idle) if idle == weight.idle => {}
                    Asked::Idle(idle) => {
                        weight.shares = Some(if idle { IDLE_SHARES } else { DEFAULT_SHARES });
                        weight.idle = idle;
                    }
                    Asked::Quota(quota, period) => {
                        weight.quota_us = quota;
                        weight.period_us = period.or(weight.period_us);
                    }
                    Asked::Burst(burst) => weight.burst_us = burst,
                }
            }
            if let Some(quota) = weight.quota_us.filter(|quota| weight.burst_us > *quota) {
                return Err(format!(
                    "task group `{}`: cpu.max.burst = `{}`; expected 0 to the quota of cpu.max, {quota} us",
                    group.path, weight.burst_us
                ));
            }
            groups.list.push(Group { parent: group.parent, asked, allowed: FgClamps::zeroed() });
            groups.weights.push(weight);
        }
        groups.restrict(limits);
        Ok(groups)
    }

    /// What the group of a task allows; none in the root group.
    pub fn allowed(&self, group: Option<GroupId>) -> Option<&FgClamps> {
        Some(&self.list.get(group? as usize)?.allowed)
    }

    /// Updates the effective clamps. Returns the groups in which they changed.
    fn restrict(&mut self, limits: &ClampLimits) -> Vec<GroupId> {
        let root = FgClamps { min: u32::from(limits.min.min(limits.max)), max: u32::from(limits.max) };
        let mut changed = Vec::new();
        for id in 0..self.list.len() {
            let around = self.allowed(self.list[id].parent).unwrap_or(&root);
            let allowed = world::uclamp_restrict(around, &self.list[id].asked);
            let was = std::mem::replace(&mut self.list[id].allowed, allowed);
            if (was.min, was.max) != (self.list[id].allowed.min, self.list[id].allowed.max) {
                changed.push(id as GroupId);
            }
        }
        changed
    }
}

fn of(clamps: &mut FgClamps, clamp: Clamp) -> &mut u32 {
    match clamp {
        Clamp::Min => &mut clamps.min,
        Clamp::Max => &mut clamps.max,
    }
}

/// What a file of a group says.
enum Asked {
    Clamp(Clamp, ClampPercent),
    /// Weight of the group, in the unit of `FgTg::shares`.
    Shares(u64),
    /// `cpu.idle`.
    Idle(bool),
    /// Quota (none: no limit) and period (none: as it is) of `cpu.max`, us.
    Quota(Option<u64>, Option<u64>),
    /// `cpu.max.burst`, us.
    Burst(u64),
}

/// What is written to a file of a group.
fn read(path: &str, file: &str, value: &str) -> Result<Asked, String> {
    if let Some(shares) = read_weight(file, value) {
        let shares = shares.map_err(|expected| format!("task group `{path}`: {file} = `{value}`; expected {expected}"));
        return shares.map(Asked::Shares);
    }
    if file == "cpu.idle" {
        return match value.trim() {
            "0" => Ok(Asked::Idle(false)),
            "1" => Ok(Asked::Idle(true)),
            _ => Err(format!("task group `{path}`: {file} = `{value}`; expected 0 or 1")),
        };
    }
    let Some(clamp) = Clamp::from_file_name(file) else {
        let asked = match file {
            "cpu.max" => read_quota(value).ok_or_else(|| {
                format!(
                    "`max` or a quota of {SHORTEST_US} to {LARGEST_QUOTA_US} us, and perhaps a period of {SHORTEST_US} \
                     to {LONGEST_PERIOD_US} us behind it"
                )
            }),
            "cpu.max.burst" => {
                let burst = value.trim().parse().ok().filter(|burst| *burst <= LARGEST_QUOTA_US);
                burst.map(Asked::Burst).ok_or_else(|| format!("0 to {LARGEST_QUOTA_US} us"))
            }
            _ => {
                return Err(format!(
                "task group `{path}`: {file} = `{value}` needs a linux: scheduler; groups of fair: have cpu.weight, \
                     cpu.weight.nice, cpu.max, cpu.max.burst, cpu.idle, cpu.uclamp.min and cpu.uclamp.max only"
            ))
            }
        };
        return asked.map_err(|expected| format!("task group `{path}`: {file} = `{value}`; expected {expected}"));
    };
    match ClampPercent::parse(value) {
        Some(percent) => Ok(Asked::Clamp(clamp, percent)),
        None => Err(format!("task group `{path}`: {file} = `{value}`; expected 0 to 100 with two decimals, or max")),
    }
}

/// Quota and period of `cpu.max`; none: the kernel would refuse them.
fn read_quota(value: &str) -> Option<Asked> {
    let mut words = value.split_whitespace();
    let quota = match words.next()? {
        "max" => None,
        quota => Some(quota.parse().ok().filter(|us| (SHORTEST_US..=LARGEST_QUOTA_US).contains(us))?),
    };
    let period = match words.next() {
        None => None,
        Some(period) => Some(period.parse().ok().filter(|us| (SHORTEST_US..=LONGEST_PERIOD_US).contains(us))?),
    };
    words.next().is_none().then_some(Asked::Quota(quota, period))
}

/// The shares that a file of weights requests, or the expected values as an error; none: not a file of weights.
fn read_weight(file: &str, value: &str) -> Option<Result<u64, &'static str>> {
    let weight = match file {
        "cpu.weight" => {
            let weight = value.trim().parse::<u64>().ok().filter(|weight| (1..=10_000).contains(weight));
            weight.map(|weight| (weight * u64::from(FG_NICE_0_LOAD) + 50) / 100).ok_or("1 to 10000")
        }
        "cpu.weight.nice" => {
            let nice = value.trim().parse::<i32>().ok().filter(|nice| (-20..=19).contains(nice));
            nice.map(|nice| u64::from(world::weight_of_nice(nice))).ok_or("-20 to 19")
        }
        _ => return None,
    };
    Some(weight.map(|weight| weight * 1024))
}

/// The groups as they compete if one of them asks for some weight or has a quota, else none.
///
/// # Errors
/// Groups nested too deep; more groups than there is room for; `cpu.idle` where the run queue of `features` has none.
fn competing(
    wanted: &[TaskGroup],
    asked: &[Weight],
    features: &Features,
    cpus: usize,
) -> Result<Vec<NewGroup>, String> {
    if asked.iter().all(|weight| weight.shares.is_none() && weight.quota_us.is_none()) {
        return Ok(Vec::new());
    }
    let limited = asked.iter().position(|weight| weight.quota_us.is_some());
    let in_picks = u32::from(features.get(FG_THROTTLE)) != FG_THROTTLE_EARLY;
    if let Some(limited) = limited.filter(|_| in_picks && features.on(FG_FLAT_PICK)) {
        return Err(format!("task group `{}`: cpu.max needs throttle=task-early with flat-pick", wanted[limited].path));
    }
    let parent = |group: &TaskGroup| group.parent.map(|parent| parent as usize);
    let depths = depths(wanted.iter().map(parent));
    if let Some(deep) = depths.iter().position(|depth| *depth >= FG_MAX_TG_DEPTH) {
        return Err(format!(
            "task group `{}` is within {} others; expected {} at most in fair:",
            wanted[deep].path,
            depths[deep],
            FG_MAX_TG_DEPTH - 1
        ));
    }
    if wanted.len() > FG_MAX_TGS as usize || wanted.len() * cpus > MAX_QUEUES {
        return Err(format!(
            "{} task groups with weights or quotas on {cpus} CPUs: expected {} groups at most",
            wanted.len(),
            (MAX_QUEUES / cpus).min(FG_MAX_TGS as usize)
        ));
    }
    let idle = asked.iter().position(|weight| weight.idle);
    if let Some(idle) = idle.filter(|_| u32::from(features.get(FG_RQ)) == FG_RQ_CFS) {
        return Err(format!("task group `{}`: cpu.idle needs a preset from v6.6 on (rq=eevdf)", wanted[idle].path));
    }
    let new = |(group, asked): (&TaskGroup, &Weight)| NewGroup {
        parent: parent(group),
        shares: asked.shares.unwrap_or(DEFAULT_SHARES),
        idle: asked.idle,
        quota: asked.quota(),
    };
    Ok(wanted.iter().zip(asked).map(new).collect())
}

impl Fair {
    /// The limits of the system and the groups of a workload, before any task exists.
    ///
    /// # Errors
    /// Which file of which group is not honoured.
    pub(crate) fn start_groups(&mut self, env: &Env, workload: &Workload, limits: &ClampLimits) -> Result<(), String> {
        let groups = Groups::make(&workload.groups, limits)?;
        let competing = competing(&workload.groups, &groups.weights, self.features(), self.queues.rqs.len())?;
        let asks = groups.asks_clamps;
        (self.groups, self.limits) = (groups, *limits);
        if !competing.is_empty() {
            self.queues.set_groups(&competing)?;
            let first = |group| draw(env.seed(), Purpose::QuotaPeriod, group as u64, 0) % (DEFAULT_PERIOD_US * 1000);
            self.queues.start_bandwidth(competing.len(), first);
        }
        let sys = self.queues.world.sys_mut();
        sys.uclamp_min_rt = u32::from(limits.min_rt_default);
        sys.uclamp_limit = FgClamps { min: u32::from(limits.min), max: u32::from(limits.max) };
        if asks || limits.changed().next().is_some() {
            self.use_clamps();
        }
        Ok(())
    }

    /// A file of a group is written: its tasks, and those of groups in it, follow at once.
    pub(crate) fn set_group_clamp(&mut self, env: &Env, new: &GroupClamp) {
        let Some(group) = self.groups.list.get_mut(new.group as usize) else { return };
        *of(&mut group.asked, new.clamp) = u32::from(new.value.util());
        self.use_clamps();
        for group in self.groups.restrict(&self.limits) {
            for task in 0..self.states.len() as TaskId {
                let state = &self.states[task as usize];
                if state.group == Some(group) && !state.dead {
                    self.renew_clamps(env, task);
                }
            }
        }
    }

    /// uclamp_update_active: the clamps in force for a task, wherever it is.
    fn renew_clamps(&mut self, env: &Env, task: TaskId) {
        let cpu = self.queues.world.task(task).cpu as usize;
        if self.queues.world.task(task).uclamp_active != 0 {
            self.clock(env, cpu);
        }
        self.update_clamps(task);
    }

    /// The clamps in force for a task follow its request, its group and the limits.
    pub(crate) fn update_clamps(&mut self, task: TaskId) {
        let cpu = self.queues.world.task(task).cpu as usize;
        let allowed = self.groups.allowed(self.states[task as usize].group);
        self.queues.world.uclamp_update(cpu, task, allowed);
    }

    /// sched_uclamp_used: a clamp was requested, so from now on clamps are counted.
    pub(crate) fn use_clamps(&mut self) {
        self.sim.clamps_requested = true;
        self.queues.world.sys_mut().uclamp_used = 1;
    }
}
