//! The order in which balancing takes tasks off a run queue (cfs_tasks): the task queued or picked last comes last.

use fairground_sim::TaskId;

/// Stands for no task in [`Links`] and [`Queue`].
const NONE: u32 = u32::MAX;

/// The neighbours of a task in its queue.
#[derive(Clone, Copy)]
struct Links {
    newer: u32,
    older: u32,
}

/// The ends of a queue.
#[derive(Clone, Copy)]
struct Queue {
    newest: u32,
    oldest: u32,
    len: usize,
}

/// Fair tasks of every run queue, current and delayed ones included, each queue from the oldest to the newest. All
/// steps take the same time however many there are.
pub struct CfsTasks {
    /// By task; undefined for a task that is not queued.
    links: Vec<Links>,
    queues: Vec<Queue>,
}

impl CfsTasks {
    /// Empty queues for this number of CPUs.
    pub fn new(nr_cpus: usize) -> CfsTasks {
        CfsTasks { links: Vec::new(), queues: vec![Queue { newest: NONE, oldest: NONE, len: 0 }; nr_cpus] }
    }

    /// A task that is in no queue joins as the newest.
    pub fn add(&mut self, cpu: usize, task: TaskId) {
        if self.links.len() <= task as usize {
            self.links.resize(task as usize + 1, Links { newer: NONE, older: NONE });
        }
        let queue = &mut self.queues[cpu];
        self.links[task as usize] = Links { newer: NONE, older: queue.newest };
        match queue.newest {
            NONE => queue.oldest = task,
            newest => self.links[newest as usize].newer = task,
        }
        queue.newest = task;
        queue.len += 1;
    }

    /// A task of this queue leaves it.
    pub fn remove(&mut self, cpu: usize, task: TaskId) {
        let Links { newer, older } = self.links[task as usize];
        let queue = &mut self.queues[cpu];
        match newer {
            NONE => queue.newest = older,
            newer => self.links[newer as usize].older = older,
        }
        match older {
            NONE => queue.oldest = newer,
            older => self.links[older as usize].newer = newer,
        }
        queue.len -= 1;
    }

    /// All tasks of this queue leave it.
    pub fn clear(&mut self, cpu: usize) {
        self.queues[cpu] = Queue { newest: NONE, oldest: NONE, len: 0 };
    }

    /// A task of this queue becomes its newest.
    pub fn renew(&mut self, cpu: usize, task: TaskId) {
        if self.queues[cpu].newest != task {
            self.remove(cpu, task);
            self.add(cpu, task);
        }
    }

    /// The task that balancing takes first.
    pub fn oldest(&self, cpu: usize) -> Option<TaskId> {
        Some(self.queues[cpu].oldest).filter(|task| *task != NONE)
    }

    /// The task after `task` in the same queue.
    pub fn newer(&self, task: TaskId) -> Option<TaskId> {
        Some(self.links[task as usize].newer).filter(|task| *task != NONE)
    }

    /// Number of tasks on the queue of `cpu`.
    pub fn len(&self, cpu: usize) -> usize {
        self.queues[cpu].len
    }

    /// The tasks of a queue, oldest first; at most as many as [`Self::len`] says.
    pub fn iter(&self, cpu: usize) -> impl Iterator<Item = TaskId> + '_ {
        std::iter::successors(self.oldest(cpu), |task| self.newer(*task)).take(self.len(cpu))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_comes_first_and_who_is_renewed_last() {
        let mut order = CfsTasks::new(2);
        let queue = |order: &CfsTasks, cpu| order.iter(cpu).collect::<Vec<_>>();
        [5, 2, 7].iter().for_each(|task| order.add(0, *task));
        order.add(1, 3);
        assert_eq!((queue(&order, 0), queue(&order, 1)), (vec![5, 2, 7], vec![3]));
        order.renew(0, 5);
        order.renew(0, 5);
        assert_eq!(queue(&order, 0), [2, 7, 5]);
        order.remove(0, 7);
        order.add(1, 7);
        assert_eq!((queue(&order, 0), queue(&order, 1)), (vec![2, 5], vec![3, 7]));
        assert_eq!((order.len(0), order.oldest(1), order.newer(3)), (2, Some(3), Some(7)));
        [2, 5].iter().for_each(|task| order.remove(0, *task));
        assert_eq!((order.len(0), order.oldest(0)), (0, None));
    }
}
