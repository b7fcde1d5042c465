//! The queue that EEVDF picks from.

use fairground_sim::TaskId;

/// Index of no node: one that stands there all the same, so that looking below a leaf needs no test.
const NIL: u32 = 0;

#[derive(Clone, Copy)]
struct Node {
    deadline: i64,
    vruntime: i64,
    /// Smallest virtual runtime of the node and what is below it.
    min_vruntime: i64,
    task: TaskId,
    /// Not below that of its children.
    priority: u32,
    left: u32,
    right: u32,
}

const NOTHING: Node =
    Node { deadline: 0, vruntime: i64::MAX, min_vruntime: i64::MAX, task: 0, priority: 0, left: NIL, right: NIL };

/// Tasks by deadline; equal ones in the order of arrival.
///
/// The question is not who is first, but who is first of those whose virtual runtime is not beyond a bound. A tree by
/// deadline in which every node knows the smallest virtual runtime below it answers that on one way down, and who is
/// asked for most often stands leftmost. (By virtual runtime, with deadlines in the nodes, the answer is the minimum of
/// all subtrees left of the bound: a second way down to find it.) A treap keeps it balanced, in the mean, with the
/// least code; its priorities come from a generator of its own, so equal histories make equal trees. For a few tasks a
/// plain scan is as fast, for hundreds many times slower: `benches/policy.rs` has both.
pub struct DeadlineQueue {
    /// The first is `NOTHING`.
    nodes: Vec<Node>,
    free: Vec<u32>,
    root: u32,
    random: u32,
}

impl Default for DeadlineQueue {
    fn default() -> Self {
        DeadlineQueue { nodes: vec![NOTHING], free: Vec::new(), root: NIL, random: 0x9e37_79b9 }
    }
}

impl DeadlineQueue {
    /// Adds a task behind those of equal deadline. Both times wrap around at 2^64 and start just below it; as signed
    /// numbers they have an order.
    pub fn insert(&mut self, deadline: u64, vruntime: u64, task: TaskId) {
        let (deadline, vruntime) = (deadline as i64, vruntime as i64);
        let priority = self.draw();
        let node = Node { deadline, vruntime, min_vruntime: vruntime, task, priority, left: NIL, right: NIL };
        let new = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.nodes.push(NOTHING);
                (self.nodes.len() - 1) as u32
            }
        };
        self.nodes[new as usize] = node;
        self.root = self.insert_below(self.root, new);
    }

    /// Removes a task; false if it is not there with this deadline.
    pub fn remove(&mut self, deadline: u64, task: TaskId) -> bool {
        let (root, found) = self.remove_below(self.root, deadline as i64, task);
        self.root = root;
        found
    }

    /// The first whose virtual runtime is not beyond `bound`.
    pub fn first_within(&self, bound: u64) -> Option<TaskId> {
        let bound = bound as i64;
        let mut at = self.root;
        if self.node(at).min_vruntime > bound {
            return None;
        }
        while at != NIL {
            let node = self.node(at);
            if self.node(node.left).min_vruntime <= bound {
                at = node.left;
            } else if node.vruntime <= bound {
                return Some(node.task);
            } else {
                at = node.right;
            }
        }
        None
    }

    /// Deadlines and tasks, first to last.
    pub fn iter(&self) -> impl Iterator<Item = (u64, TaskId)> + '_ {
        let mut above = Vec::new();
        let mut at = self.root;
        std::iter::from_fn(move || {
            while at != NIL {
                above.push(at);
                at = self.node(at).left;
            }
            let node = self.node(above.pop()?);
            at = node.right;
            Some((node.deadline as u64, node.task))
        })
    }

    /// Number of tasks.
    pub fn len(&self) -> usize {
        self.nodes.len() - 1 - self.free.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.root == NIL
    }

    fn node(&self, at: u32) -> &Node {
        &self.nodes[at as usize]
    }

    /// xorshift, never 0.
    fn draw(&mut self) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        self.random
    }

    /// Makes a node's minimum right after a change of its children.
    fn update(&mut self, at: u32) {
        let node = *self.node(at);
        let below = self.node(node.left).min_vruntime.min(self.node(node.right).min_vruntime);
        self.nodes[at as usize].min_vruntime = node.vruntime.min(below);
    }

    /// Returns the new top of the tree `at`.
    fn insert_below(&mut self, at: u32, new: u32) -> u32 {
        let (node, key) = (*self.node(at), self.node(new).deadline);
        if node.priority < self.node(new).priority {
            let (left, right) = self.split(at, key);
            self.set_children(new, left, right);
            return new;
        }
        if key < node.deadline {
            let left = self.insert_below(node.left, new);
            self.set_children(at, left, node.right);
        } else {
            let right = self.insert_below(node.right, new);
            self.set_children(at, node.left, right);
        }
        at
    }

    /// Those with a deadline up to `key`, and those beyond it.
    fn split(&mut self, at: u32, key: i64) -> (u32, u32) {
        if at == NIL {
            return (NIL, NIL);
        }
        let node = *self.node(at);
        if key < node.deadline {
            let (before, beyond) = self.split(node.left, key);
            self.set_children(at, beyond, node.right);
            (before, at)
        } else {
            let (before, beyond) = self.split(node.right, key);
            self.set_children(at, node.left, before);
            (at, beyond)
        }
    }

    /// Returns the new top of the tree `at`, and whether the task was in it.
    fn remove_below(&mut self, at: u32, deadline: i64, task: TaskId) -> (u32, bool) {
        if at == NIL {
            return (NIL, false);
        }
        let node = *self.node(at);
        if node.task == task && node.deadline == deadline {
            self.free.push(at);
            return (self.join(node.left, node.right), true);
        }
        // Equal deadlines are on both sides.
        if deadline <= node.deadline {
            let (left, found) = self.remove_below(node.left, deadline, task);
            if found {
                self.set_children(at, left, node.right);
                return (at, true);
            }
        }
        if deadline >= node.deadline {
            let (right, found) = self.remove_below(node.right, deadline, task);
            if found {
                self.set_children(at, node.left, right);
                return (at, true);
            }
        }
        (at, false)
    }

    /// One tree of two, all of the first before all of the second.
    fn join(&mut self, a: u32, b: u32) -> u32 {
        if a == NIL || b == NIL {
            return a.max(b);
        }
        let (first, second) = (*self.node(a), *self.node(b));
        if first.priority >= second.priority {
            let right = self.join(first.right, b);
            self.set_children(a, first.left, right);
            a
        } else {
            let left = self.join(a, second.left);
            self.set_children(b, left, second.right);
            b
        }
    }

    fn set_children(&mut self, at: u32, left: u32, right: u32) {
        let node = &mut self.nodes[at as usize];
        (node.left, node.right) = (left, right);
        self.update(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What it must answer, found by looking at all of them.
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
            if random.below(2) == 0 && plain.0.len() < 300 {
                let (deadline, vruntime) = (random.below(50) as i64 - 20, random.below(50) as i64 - 20);
                queue.insert(deadline as u64, vruntime as u64, task);
                plain.0.push((deadline, vruntime, task));
            } else if !plain.0.is_empty() {
                let (deadline, _, gone) = plain.0.remove(random.below(plain.0.len() as u64) as usize);
                assert!(!queue.remove(deadline as u64, task), "never queued");
                assert!(!queue.remove((deadline + 1) as u64, gone), "queued with another deadline");
                assert!(queue.remove(deadline as u64, gone));
            }
            let bound = random.below(60) as i64 - 25;
            assert_eq!(queue.first_within(bound as u64), plain.first_within(bound));
            assert_eq!((queue.len(), queue.is_empty()), (plain.0.len(), plain.0.is_empty()));
            if task % 64 == 0 {
                assert_eq!(queue.iter().collect::<Vec<_>>(), plain.order());
            }
        }
    }

    #[test]
    fn it_stays_shallow_when_filled_in_order() {
        let mut queue = DeadlineQueue::default();
        (0..4096).for_each(|i| queue.insert(i, i, i as u32));
        fn depth(queue: &DeadlineQueue, at: u32) -> u32 {
            let node = queue.node(at);
            if at == NIL {
                0
            } else {
                1 + depth(queue, node.left).max(depth(queue, node.right))
            }
        }
        // 12 levels hold 4096; a random tree has about twice as many.
        assert!(depth(&queue, queue.root) <= 40, "{}", depth(&queue, queue.root));
    }
}
