//! Threads by pid, and the number that the policy's state has for each.

use std::collections::{BTreeMap, VecDeque};

use fairground_trace::placements::Task;

/// Most threads that are known at a time. If there are more, those that have slept longest are forgotten. If few sleep,
/// runnable threads are forgotten too, the one with the oldest last event first.
const THREADS_MAX: usize = 1 << 16;

/// Free numbers that wait before the first of them is reused: wakers that still have the number of an ended thread as
/// their last wakee should have another wakee by then.
const NUMBERS_IDLE: usize = 1024;

/// Longest name that is stored, characters.
const COMM_MAX: usize = 64;

/// A thread that has had an event.
#[derive(Clone, Debug)]
struct Known {
    id: u32,
    /// Time of its last event, ns.
    heard: u64,
    /// Whether it has had sched_process_exit.
    ending: bool,
    /// Whether its priority is that of a real-time or deadline thread.
    real_time: bool,
}

/// All known threads.
#[derive(Default)]
pub(super) struct Threads {
    by_pid: BTreeMap<u32, Known>,
    /// Comm and pid by number.
    names: Vec<Task>,
    free: VecDeque<u32>,
}

impl Threads {
    /// The number of a thread, if it is known.
    pub fn id(&self, pid: u32) -> Option<u32> {
        self.by_pid.get(&pid).map(|known| known.id)
    }

    /// The number of a thread that has an event now, if it is known. Updates its name.
    pub fn hear(&mut self, pid: u32, comm: &str, now: u64) -> Option<u32> {
        let known = self.by_pid.get_mut(&pid)?;
        known.heard = now;
        let name = &mut self.names[known.id as usize];
        if name.comm != comm {
            name.comm = comm.chars().take(COMM_MAX).collect();
        }
        Some(known.id)
    }

    /// Adds a thread that is not known, and returns its number.
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

    /// Marks a thread as exiting.
    pub fn end(&mut self, pid: u32) {
        self.by_pid.get_mut(&pid).into_iter().for_each(|known| known.ending = true);
    }

    /// Whether a thread is exiting: it does not wake from its next sleep.
    pub fn is_ending(&self, pid: u32) -> bool {
        self.by_pid.get(&pid).is_some_and(|known| known.ending)
    }

    /// Sets whether a thread is a real-time or deadline thread.
    pub fn set_real_time(&mut self, pid: u32, real_time: bool) {
        self.by_pid.get_mut(&pid).into_iter().for_each(|known| known.real_time = real_time);
    }

    /// Whether a thread is a real-time or deadline thread, which our policies do not place.
    pub fn is_real_time(&self, pid: u32) -> bool {
        self.by_pid.get(&pid).is_some_and(|known| known.real_time)
    }

    /// The thread with this number.
    pub fn task(&self, id: u32) -> Task {
        self.names[id as usize].clone()
    }

    /// Removes a thread and returns its number.
    pub fn remove(&mut self, pid: u32) -> Option<u32> {
        let known = self.by_pid.remove(&pid)?;
        self.free.push_back(known.id);
        Some(known.id)
    }

    /// The pids of the threads to forget if there are too many: a quarter of all, so that not every new thread leads
    /// to a search of all. Those that are `asleep` come first, and among them those with the oldest last event.
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

    /// All threads are runnable: their number is limited all the same, and not every new thread leads to a search of
    /// all.
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
