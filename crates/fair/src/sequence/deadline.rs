//! The queue that EEVDF picks from.

use fairground_sim::TaskId;

/// The most entries of a block: shifting or searching this many is cheaper than another block.
const FULL: usize = 64;

#[derive(Clone, Copy)]
struct Entry {
    deadline: i64,
    vruntime: i64,
    task: TaskId,
}

/// Some neighbours in the order of the queue, at least one.
struct Block {
    entries: Vec<Entry>,
    last_deadline: i64,
    min_vruntime: i64,
}

impl Block {
    /// `room`: empty, with room for a block or not.
    fn of(entries: &[Entry], mut room: Vec<Entry>) -> Block {
        room.reserve_exact(FULL);
        let mut block = Block { entries: room, last_deadline: 0, min_vruntime: 0 };
        block.entries.extend_from_slice(entries);
        block.update();
        block
    }

    /// A block of one entry, in the memory of an emptied one.
    fn first(entry: Entry, mut room: Vec<Entry>) -> Block {
        if room.capacity() < FULL {
            room.reserve_exact(FULL);
        }
        room.push(entry);
        Block { entries: room, last_deadline: entry.deadline, min_vruntime: entry.vruntime }
    }

    /// Updates the summary of the block.
    fn update(&mut self) {
        self.last_deadline = self.entries.last().map_or(i64::MIN, |e| e.deadline);
        self.min_vruntime = self.entries.iter().map(|e| e.vruntime).min().unwrap_or(i64::MAX);
    }

    fn insert(&mut self, entry: Entry) {
        let at = self.entries.partition_point(|e| e.deadline <= entry.deadline);
        self.entries.insert(at, entry);
        self.last_deadline = self.last_deadline.max(entry.deadline);
        self.min_vruntime = self.min_vruntime.min(entry.vruntime);
    }
}

/// Tasks by deadline; equal ones in the order of arrival.
///
/// A pick needs the first task whose virtual runtime is not greater than a bound. So this is a list by deadline, cut
/// into blocks that store their smallest virtual runtime. A pick searches for the first block with a task within the
/// bound, and in it for the first such task. (Ordered by virtual runtime, with deadlines in the blocks, a pick would
/// have to compare all blocks up to the bound.) That is a B-tree of two levels. A balanced binary tree takes fewer
/// steps, log2(n), but each is an unpredictable branch: a treap took two to six times as long, at every length from 2
/// to 512. A linear search is faster up to 64 tasks, and half as fast at 512: `crates/bench` measures it.
#[derive(Default)]
pub struct DeadlineQueue {
    blocks: Vec<Block>,
    /// The memory of the block that was last emptied, for reuse: short queues fill and drain all the time.
    spare: Vec<Entry>,
}

impl DeadlineQueue {
    /// Adds a task behind those of equal deadline. Both times wrap around at 2^64 and start just below it; as signed
    /// numbers they have an order.
    pub fn insert(&mut self, deadline: u64, vruntime: u64, task: TaskId) {
        let entry = Entry { deadline: deadline as i64, vruntime: vruntime as i64, task };
        let behind = self.blocks.iter().position(|b| b.last_deadline > entry.deadline);
        let Some(at) = behind.or(self.blocks.len().checked_sub(1)) else {
            return self.blocks.push(Block::first(entry, std::mem::take(&mut self.spare)));
        };
        self.blocks[at].insert(entry);
        if self.blocks[at].entries.len() == FULL {
            self.split(at);
        }
    }

    /// Removes a task; false if it is not there with this deadline.
    pub fn remove(&mut self, deadline: u64, task: TaskId) -> bool {
        let deadline = deadline as i64;
        let first = self.blocks.iter().position(|b| b.last_deadline >= deadline).unwrap_or(self.blocks.len());
        // Equal deadlines may go on in the next block.
        for at in first..self.blocks.len() {
            let entries = &mut self.blocks[at].entries;
            let start = entries.partition_point(|e| e.deadline < deadline);
            let mut equal = entries[start..].iter().take_while(|e| e.deadline == deadline);
            if let Some(offset) = equal.position(|e| e.task == task) {
                entries.remove(start + offset);
                self.shrunk(at);
                return true;
            }
            if self.blocks[at].last_deadline > deadline {
                break;
            }
        }
        false
    }

    /// The first whose virtual runtime is not beyond `bound`.
    pub fn first_within(&self, bound: u64) -> Option<TaskId> {
        let bound = bound as i64;
        let block = self.blocks.iter().find(|b| b.min_vruntime <= bound)?;
        block.entries.iter().find(|e| e.vruntime <= bound).map(|e| e.task)
    }

    /// Deadlines and tasks, first to last.
    pub fn iter(&self) -> impl Iterator<Item = (u64, TaskId)> + '_ {
        self.blocks.iter().flat_map(|b| &b.entries).map(|e| (e.deadline as u64, e.task))
    }

    /// Number of tasks.
    pub fn len(&self) -> usize {
        self.blocks.iter().map(|b| b.entries.len()).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Makes two blocks of a full one.
    fn split(&mut self, at: usize) {
        let second = Block::of(&self.blocks[at].entries[FULL / 2..], Vec::new());
        self.blocks[at].entries.truncate(FULL / 2);
        self.blocks[at].update();
        self.blocks.insert(at + 1, second);
    }

    /// An entry has left a block. It goes if it is empty, and joins a neighbour if both are small.
    fn shrunk(&mut self, at: usize) {
        if self.blocks[at].entries.is_empty() {
            self.spare = self.blocks.remove(at).entries;
            return;
        }
        self.blocks[at].update();
        if self.blocks.len() == 1 {
            return;
        }
        for left in [Some(at), at.checked_sub(1)].into_iter().flatten() {
            self.join(left);
        }
    }

    /// Makes one block of this and the next one if they leave half of it free.
    fn join(&mut self, left: usize) {
        let len = self.blocks[left].entries.len();
        if self.blocks.get(left + 1).is_some_and(|right| len + right.entries.len() <= FULL / 2) {
            let right = self.blocks.remove(left + 1);
            self.blocks[left].entries.extend(right.entries);
            self.blocks[left].update();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected answer, by linear search.
    #[derive(Default)]
    struct Plain(Vec<(i64, i64, TaskId)>);

    impl Plain {
        fn first_within(&self, bound: i64) -> Option<TaskId> {
            let within = self.0.iter().filter(|(_, v, _)| *v <= bound);
            within.min_by_key(|(deadline, _, _)| *deadline).map(|(_, _, task)| *task)
        }

        fn order(&self) -> Vec<(u64, TaskId)> {
            let mut all: Vec<(i64, TaskId)> = self.0.iter().map(|(d, _, t)| (*d, *t)).collect();
            all.sort_by_key(|(d, _)| *d);
            all.into_iter().map(|(d, t)| (d as u64, t)).collect()
        }
    }

    /// Few deadlines, so that many are equal; some below zero, which is where time starts.
    #[test]
    fn it_answers_as_a_plain_scan_does() {
        let (mut queue, mut plain) = (DeadlineQueue::default(), Plain::default());
        let mut random = fairground_workload::testing::Random::new(7);
        for task in 0..20_000u32 {
            if random.draw_below(2) == 0 && plain.0.len() < 300 {
                let (deadline, vruntime) = (random.draw_below(50) as i64 - 20, random.draw_below(50) as i64 - 20);
                queue.insert(deadline as u64, vruntime as u64, task);
                plain.0.push((deadline, vruntime, task));
            } else if !plain.0.is_empty() {
                let (deadline, _, gone) = plain.0.remove(random.draw_below(plain.0.len() as u64) as usize);
                assert!(!queue.remove(deadline as u64, task), "never queued");
                assert!(!queue.remove((deadline + 1) as u64, gone), "queued with another deadline");
                assert!(queue.remove(deadline as u64, gone));
            }
            let bound = random.draw_below(60) as i64 - 25;
            assert_eq!(queue.first_within(bound as u64), plain.first_within(bound));
            assert_eq!((queue.len(), queue.is_empty()), (plain.0.len(), plain.0.is_empty()));
            if task % 64 == 0 {
                assert_eq!(queue.iter().collect::<Vec<_>>(), plain.order());
            }
        }
    }

    #[test]
    fn blocks_are_full_enough_whatever_leaves() {
        let mut queue = DeadlineQueue::default();
        (0..4096).for_each(|i| queue.insert(i, i, i as u32));
        (0..4096).filter(|i| i % 16 != 0).for_each(|i| assert!(queue.remove(i, i as u32)));
        // Any two neighbours have more than half a block, 32.
        assert_eq!(queue.len(), 256);
        assert!(queue.blocks.len() <= 2 * 256 / 32 + 1, "{}", queue.blocks.len());
    }
}
