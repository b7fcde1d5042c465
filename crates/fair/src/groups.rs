//! Task groups, flat: what their clamps allow, and nothing else.
//!
//! A group here bounds the utilization clamps of its tasks (`cpu.uclamp.min`, `cpu.uclamp.max`, nested to any depth,
//! changed at any time). DEVIATION: run queues are not nested. All fair tasks of a CPU compete as tasks of the root group
//! do, each with the weight of its own nice value; the kernel shares a CPU between groups first. Whatever would make a
//! group count as one (`cpu.weight`, `cpu.idle`, `cpu.max`) is therefore refused by name, unless it says what is so by itself.

use fairground_sim::{ClampLimits, Env, TaskId};
use fairground_workload::{Clamp, ClampPercent, GroupClamp, GroupId, TaskGroup, Workload};

use crate::ffi::*;
use crate::{world, Fair};

/// Files that are not honoured, with the values that change nothing.
const NEUTRAL: &[(&str, &[&str])] = &[
    ("cpu.weight", &["100"]),
    ("cpu.weight.nice", &["0"]),
    ("cpu.idle", &["0"]),
    ("cpu.max", &["max", "max 100000"]),
    ("cpu.max.burst", &["0"]),
];

/// A group.
struct Group {
    parent: Option<GroupId>,
    /// What is written to its files.
    asked: FgClamps,
    /// What that allows within the groups around it.
    allowed: FgClamps,
}

/// The groups of a run, parents before their children.
#[derive(Default)]
pub(crate) struct Groups {
    list: Vec<Group>,
}

impl Groups {
    /// Makes the groups of a workload. Says besides whether some file asks for a clamp.
    ///
    /// # Errors
    /// Which file of which group is not honoured.
    pub fn make(wanted: &[TaskGroup], limits: &ClampLimits) -> Result<(Groups, bool), String> {
        let mut groups = Groups::default();
        let mut asks = false;
        for group in wanted {
            let mut asked = FgClamps { min: 0, max: FG_CAPACITY_SCALE };
            for (file, value) in &group.files {
                if let Some((clamp, value)) = read(&group.path, file, value)? {
                    *of(&mut asked, clamp) = u32::from(value.util());
                    asks = true;
                }
            }
            groups.list.push(Group { parent: group.parent, asked, allowed: FgClamps::zeroed() });
        }
        groups.restrict(limits);
        Ok((groups, asks))
    }

    /// What the group of a task allows; none in the root group.
    pub fn allowed(&self, group: Option<GroupId>) -> Option<&FgClamps> {
        Some(&self.list.get(group? as usize)?.allowed)
    }

    /// Brings what is allowed up to date: the groups in which that changed.
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

/// What is written to a file of a group, if it is a clamp.
fn read(path: &str, file: &str, value: &str) -> Result<Option<(Clamp, ClampPercent)>, String> {
    let Some(clamp) = Clamp::of_file(file) else {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let neutral = NEUTRAL.iter().find(|(name, _)| *name == file);
        if neutral.is_some_and(|(_, values)| values.iter().any(|v| words(v) == words(value))) {
            return Ok(None);
        }
        return Err(format!(
            "task group `{path}`: {file} = `{value}` needs a linux: scheduler; groups of fair: are flat and have \
             cpu.uclamp.min and cpu.uclamp.max only"
        ));
    };
    match ClampPercent::parse(value) {
        Some(percent) => Ok(Some((clamp, percent))),
        None => Err(format!("task group `{path}`: {file} = `{value}`; expected 0 to 100 with two decimals, or max")),
    }
}

impl Fair {
    /// The limits of the system and the groups of a workload, before any task exists.
    ///
    /// # Errors
    /// Which file of which group is not honoured.
    pub(crate) fn start_clamps(&mut self, workload: &Workload, limits: &ClampLimits) -> Result<(), String> {
        let (groups, asks) = Groups::make(&workload.groups, limits)?;
        (self.groups, self.limits) = (groups, *limits);
        let sys = self.world.sys_mut();
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
        let cpu = self.world.task(task).cpu as usize;
        if self.world.task(task).uclamp_active != 0 {
            self.clock(env, cpu);
        }
        self.update_clamps(task);
    }

    /// The clamps in force for a task follow its request, its group and the limits.
    pub(crate) fn update_clamps(&mut self, task: TaskId) {
        let cpu = self.world.task(task).cpu as usize;
        let allowed = self.groups.allowed(self.states[task as usize].group);
        self.world.uclamp_update(cpu, task, allowed);
    }

    /// Somebody has asked for a clamp: from now on they are counted.
    pub(crate) fn use_clamps(&mut self) {
        self.clamps_asked = true;
        self.world.sys_mut().uclamp_used = 1;
    }
}
