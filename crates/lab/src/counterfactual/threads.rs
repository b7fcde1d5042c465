//! Who is who: threads by pid, and what the policy calls them.

use std::collections::{BTreeMap, VecDeque};

use fairground_trace::placements::Task;

/// Threads that are known at a time; of more those are forgotten that have slept longest, and if few sleep, those that are
/// runnable and of which nothing was heard for longest.
const THREADS_MAX: usize = 1 << 16;

/// Numbers that wait to be used again: who woke the thread that had one before should have forgotten it.
const NUMBERS_IDLE: usize = 1024;

/// Characters of a name that are kept.
const COMM_MAX: usize = 64;

/// A thread.
#[derive(Clone, Debug)]
struct Known {
    id: u32,
    /// ns, when it was last heard of.
    heard: u64,
    /// Its end has begun.
    ending: bool,
    /// Its priority is one of real time, or that of all with a deadline.
    real_time: bool,
}

/// All of them.
#[derive(Default)]
pub(super) struct Threads {
    by_pid: BTreeMap<u32, Known>,
    /// By number.
    names: Vec<Task>,
    free: VecDeque<u32>,
}

impl Threads {
    /// The number of a thread that is known.
    pub fn id(&self, pid: u32) -> Option<u32> {
        self.by_pid.get(&pid).map(|known| known.id)
    }

    /// The same, and it is called so now.
    pub fn hear(&mut self, pid: u32, comm: &str, now: u64) -> Option<u32> {
        let known = self.by_pid.get_mut(&pid)?;
        known.heard = now;
        let name = &mut self.names[known.id as usize];
        if name.comm != comm {
            name.comm = comm.chars().take(COMM_MAX).collect();
        }
        Some(known.id)
    }

    /// A new one, which is not known.
    pub fn enlist(&mut self, pid: u32, comm: &str, now: u64) -> u32 {
        let name = Task { comm: comm.chars().take(COMM_MAX).collect(), pid };
        let id = match self.free.len() > NUMBERS_IDLE {
            true => self.free.pop_front(),
            false => None,
        };
        let id = match id {
            Some(id) => {
                self.names[id as usize] = name;
                id
            }
            None => {
                self.names.push(name);
                self.names.len() as u32 - 1
            }
        };
        self.by_pid.insert(pid, Known { id, heard: now, ending: false, real_time: false });
        id
    }

    /// Its end has begun.
    pub fn end(&mut self, pid: u32) {
        self.by_pid.get_mut(&pid).into_iter().for_each(|known| known.ending = true);
    }

    /// Whether it has: the next sleep is the last.
    pub fn is_ending(&self, pid: u32) -> bool {
        self.by_pid.get(&pid).is_some_and(|known| known.ending)
    }

    /// Whether its priority is one of real time, or that of all with a deadline, is told.
    pub fn set_real_time(&mut self, pid: u32, real_time: bool) {
        self.by_pid.get_mut(&pid).into_iter().for_each(|known| known.real_time = real_time);
    }

    /// Whether it is: no policy of ours places it.
    pub fn is_real_time(&self, pid: u32) -> bool {
        self.by_pid.get(&pid).is_some_and(|known| known.real_time)
    }

    /// Who bears a number.
    pub fn task(&self, id: u32) -> Task {
        self.names[id as usize].clone()
    }

    /// It is gone; its number.
    pub fn remove(&mut self, pid: u32) -> Option<u32> {
        let known = self.by_pid.remove(&pid)?;
        self.free.push_back(known.id);
        Some(known.id)
    }

    /// If there are too many: a quarter, or every newcomer would have all of them looked through. First those that are `asleep`,
    /// of these first the ones of which nothing was heard for longest.
    pub fn too_many(&self, asleep: impl Fn(u32) -> bool) -> Vec<u32> {
        if self.by_pid.len() < THREADS_MAX {
            return Vec::new();
        }
        let mut silent: Vec<(bool, u64, u32)> =
            self.by_pid.iter().map(|(pid, known)| (!asleep(known.id), known.heard, *pid)).collect();
        silent.sort_unstable();
        silent.truncate(THREADS_MAX / 4);
        silent.into_iter().map(|(_, _, pid)| pid).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_threads_those_are_forgotten_that_slept_longest() {
        let mut threads = Threads::default();
        for pid in 0..THREADS_MAX as u32 - 1 {
            threads.enlist(pid, "t", u64::from(pid));
        }
        assert!(threads.too_many(|_| true).is_empty());
        threads.enlist(u32::MAX, "t", 0);
        let gone = threads.too_many(|id| id % 2 == 0);
        assert_eq!((gone.len(), gone[0], gone[1]), (THREADS_MAX / 4, 0, 2));
    }

    /// All are runnable: there are never more of them than that, and newcomers do not have each of them looked at, again
    /// and again.
    #[test]
    fn of_threads_that_all_run_those_are_forgotten_that_were_silent_longest_and_few_are_looked_at() {
        let mut threads = Threads::default();
        let looks = std::cell::Cell::new(0_usize);
        for pid in 0..8 * THREADS_MAX as u32 {
            for gone in threads.too_many(|_| (looks.set(looks.get() + 1), false).1) {
                assert!(gone < pid - THREADS_MAX as u32 / 2, "{gone} of {pid}");
                threads.remove(gone);
            }
            threads.enlist(pid, "t", u64::from(pid));
        }
        assert!(threads.by_pid.len() <= THREADS_MAX && threads.names.len() <= THREADS_MAX + NUMBERS_IDLE);
        assert!(looks.get() <= 8 * 4 * THREADS_MAX, "{} looks", looks.get());
    }

    #[test]
    fn a_number_is_used_again_only_after_many_others() {
        let mut threads = Threads::default();
        for pid in 0..3000 {
            threads.enlist(pid, "t", 0);
            threads.remove(pid);
        }
        assert_eq!(threads.names.len(), NUMBERS_IDLE + 1);
    }
}
