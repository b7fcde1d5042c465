//! Misplacement: how far the runnable threads are from a balanced placement.

use fairground_machine::{CpuId, CpuMask, Machine};

use crate::Time;

/// Time-weighted distance from a greedy balanced placement, in threads.
///
/// The greedy rule places threads one by one, each on the CPU it may use where its part of the capacity is largest:
/// capacity / (threads there, with it). Ties may be broken any way. The threads of one affinity are *misplaced* as
/// far as they differ from what the rule gives when it places them again while all others stay where they are: that is
/// sum over CPUs of |runnable - balanced| / 2, for the tie-breaks that leave fewest. The distance is the sum over
/// affinities. So no thread is misplaced that has one CPU to run on, and any two placements of equal counts on equal
/// CPUs are equally good. A thread on a CPU that it may no longer use is misplaced.
///
/// Runnable are threads on a run queue, running or not; capacity is that of the machine file, whatever the clock.
/// Threads of an SMT core count as CPUs of their own. The rule knows neither how long a thread will run nor what it
/// costs: by it a lone thread belongs on a CPU of the highest capacity.
///
/// Kept incrementally. For each affinity the rule fills *slots*, the k-th of a CPU being worth k / capacity, in order
/// of worth; the others' threads take the first slots of their CPUs. Its last slot is the *level*. Kinds of CPU (by
/// capacity) keep their columns as histograms, so that a change costs one step per kind and affinity that has the CPU.
#[derive(Clone, Debug)]
pub struct MisplacementMeter {
    capacity: Vec<u64>,
    cpus: Vec<CpuLoad>,
    classes: Vec<Class>,
    misplaced: u64,
    since: Time,
    total_ns: u64,
}

#[derive(Clone, Debug, Default)]
struct CpuLoad {
    /// Runnable threads.
    runnable: u32,
    /// Classes that contain the CPU.
    classes: Vec<usize>,
}

impl MisplacementMeter {
    /// For a machine without threads.
    pub fn new(machine: &Machine) -> Self {
        let capacity: Vec<u64> = machine.cpus.iter().map(|c| u64::from(c.capacity.max(1))).collect();
        MisplacementMeter {
            cpus: vec![CpuLoad::default(); capacity.len()],
            capacity,
            classes: Vec::new(),
            misplaced: 0,
            since: 0,
            total_ns: 0,
        }
    }

    /// Makes an affinity known: the first is class 0, the next 1 and so on.
    pub fn add_class(&mut self, mask: &CpuMask) {
        let id = self.classes.len();
        let class = Class::new(mask, &self.capacity, &self.cpus);
        for (cpu, load) in self.cpus.iter_mut().enumerate() {
            if mask.test(cpu as CpuId) {
                load.classes.push(id);
            }
        }
        self.classes.push(class);
    }

    /// Number of affinities that are known.
    pub fn nr_classes(&self) -> usize {
        self.classes.len()
    }

    /// A thread of a class is on a run queue from now on.
    pub fn add(&mut self, now: Time, class: usize, cpu: CpuId) {
        self.change(now, class, cpu, Step::Up);
    }

    /// The thread is no longer on that run queue.
    pub fn remove(&mut self, now: Time, class: usize, cpu: CpuId) {
        self.change(now, class, cpu, Step::Down);
    }

    fn change(&mut self, now: Time, class: usize, cpu: CpuId, step: Step) {
        self.advance(now);
        let load = &mut self.cpus[cpu as usize];
        let height = load.runnable;
        step.apply(&mut load.runnable);
        let mut strays = true;
        for id in &load.classes {
            strays &= *id != class;
            let c = &mut self.classes[*id];
            self.misplaced -= c.misplaced;
            c.step(cpu, height, *id == class, step);
            self.misplaced += c.misplaced;
        }
        if strays {
            let c = &mut self.classes[class];
            self.misplaced -= c.misplaced;
            step.apply(&mut c.strays);
            c.settle();
            self.misplaced += c.misplaced;
        }
    }

    fn advance(&mut self, now: Time) {
        self.total_ns += self.misplaced * (now - self.since);
        self.since = now;
    }

    /// Number of threads that are misplaced.
    pub fn misplaced(&self) -> u64 {
        self.misplaced
    }

    /// Time of misplaced threads until `now`, ns, summed over threads.
    pub fn total_ns(&mut self, now: Time) -> u64 {
        self.advance(now);
        self.total_ns
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Up,
    Down,
}

impl Step {
    fn apply(self, count: &mut u32) {
        match self {
            Step::Up => *count += 1,
            Step::Down => *count -= 1,
        }
    }
}

/// Threads of one affinity.
#[derive(Clone, Debug)]
struct Class {
    /// By CPU of the machine.
    cpus: Vec<CpuOfClass>,
    kinds: Vec<Kind>,
    /// All its runnable threads, strays not counted.
    nr_own: u64,
    /// Runnable on a CPU outside the affinity.
    strays: u32,
    misplaced: u64,
}

#[derive(Clone, Copy, Debug)]
struct CpuOfClass {
    /// Its kind; none: it is outside the affinity.
    kind: Option<u32>,
    /// Runnable threads of the class on it.
    own: u32,
}

/// CPUs of one capacity within an affinity.
#[derive(Clone, Debug)]
struct Kind {
    capacity: u64,
    /// Slots of each CPU that lie below the level.
    below: u32,
    /// All runnable threads on each CPU.
    all: Columns,
    /// Those of other classes.
    others: Columns,
}

impl Kind {
    /// Worth of a slot is k / capacity; this compares the k-th here with the n-th of another kind.
    fn is_before(&self, k: u32, other: &Kind, n: u32) -> bool {
        u64::from(k) * other.capacity < u64::from(n) * self.capacity
    }

    fn set_level(&mut self, below: u32) {
        self.below = below;
        self.all.cut_at(below);
        self.others.cut_at(below);
    }
}

impl Class {
    fn new(mask: &CpuMask, capacity: &[u64], loads: &[CpuLoad]) -> Self {
        let mut kinds: Vec<Kind> = Vec::new();
        let mut cpus = vec![CpuOfClass { kind: None, own: 0 }; capacity.len()];
        for cpu in (0..capacity.len()).filter(|c| mask.test(*c as CpuId)) {
            let known = kinds.iter().position(|k| k.capacity == capacity[cpu]);
            let kind = known.unwrap_or_else(|| {
                let empty = Columns::default();
                kinds.push(Kind { capacity: capacity[cpu], below: 0, all: empty.clone(), others: empty });
                kinds.len() - 1
            });
            cpus[cpu].kind = Some(kind as u32);
            kinds[kind].all.add_column(loads[cpu].runnable);
            kinds[kind].others.add_column(loads[cpu].runnable);
        }
        Class { cpus, kinds, nr_own: 0, strays: 0, misplaced: 0 }
    }

    /// One thread more or less on a CPU of the affinity that holds `height` of them; `own`: of this class.
    fn step(&mut self, cpu: CpuId, height: u32, own: bool, step: Step) {
        let on = &mut self.cpus[cpu as usize];
        let Some(kind) = on.kind.map(|k| &mut self.kinds[k as usize]) else { return };
        kind.all.step(height, step);
        if own {
            step.apply(&mut on.own);
            match step {
                Step::Up => self.nr_own += 1,
                Step::Down => self.nr_own -= 1,
            }
        } else {
            kind.others.step(height - on.own, step);
        }
        self.settle();
    }

    /// Finds the level again, from where it was, and what lies beyond it.
    fn settle(&mut self) {
        let wanted = self.nr_own + u64::from(self.strays);
        if wanted == 0 {
            // The level is found again when it matters.
            self.misplaced = 0;
            return;
        }
        if let [kind] = &self.kinds[..] {
            // CPUs of one capacity, and the level is where it was.
            let (all, others) = (kind.all.one_up(true), kind.others.one_up(true));
            if (kind.below == 0 || kind.others.room < wanted) && others.1 >= wanted {
                let left_over = wanted - kind.others.room;
                let beyond_below = kind.all.beyond - kind.others.beyond;
                self.misplaced =
                    u64::from(self.strays) + (all.0 - others.0).max(beyond_below.saturating_sub(left_over));
                return;
            }
        }
        while self.is_full(wanted) {
            self.lower_level();
        }
        let mut next = self.next_level();
        // An affinity without CPUs has no slots.
        while next.free < wanted && !self.kinds.is_empty() {
            self.raise_level(&next);
            next = self.next_level();
        }
        // On the level itself, as many may stay as the slots below leave over.
        let left_over = wanted - self.filled();
        let beyond_below: u64 = self.kinds.iter().map(|k| k.all.beyond - k.others.beyond).sum();
        self.misplaced = u64::from(self.strays) + next.beyond.max(beyond_below.saturating_sub(left_over));
    }

    /// Slots below the level that the others leave free.
    fn filled(&self) -> u64 {
        self.kinds.iter().map(|k| k.others.room).sum()
    }

    /// The slots below the level would do for all.
    fn is_full(&self, wanted: u64) -> bool {
        self.kinds.iter().any(|k| k.below > 0) && self.filled() >= wanted
    }

    fn next_level(&self) -> Level {
        let first = self.kinds.iter().reduce(|a, b| if b.is_before(b.below + 1, a, a.below + 1) { b } else { a });
        let mut level = Level { worth: first.map_or((1, 1), |k| (k.below + 1, k.capacity)), free: 0, beyond: 0 };
        for k in &self.kinds {
            let on = level.is_worth(k.below + 1, k);
            let (all, others) = (k.all.one_up(on), k.others.one_up(on));
            level.free += others.1;
            level.beyond += all.0 - others.0;
        }
        level
    }

    fn raise_level(&mut self, level: &Level) {
        for k in &mut self.kinds {
            if level.is_worth(k.below + 1, k) {
                k.set_level(k.below + 1);
            }
        }
    }

    fn lower_level(&mut self) {
        let last = self.kinds.iter().reduce(|a, b| if a.is_before(a.below, b, b.below) { b } else { a });
        let Some(worth) = last.map(|k| (k.below, k.capacity)) else { return };
        let level = Level { worth, free: 0, beyond: 0 };
        for k in &mut self.kinds {
            if k.below > 0 && level.is_worth(k.below, k) {
                k.set_level(k.below - 1);
            }
        }
    }
}

/// The slots of one worth, and all before them.
struct Level {
    worth: (u32, u64),
    /// Slots up to here that the others leave free.
    free: u64,
    /// Threads of the class in slots after these.
    beyond: u64,
}

impl Level {
    fn is_worth(&self, k: u32, kind: &Kind) -> bool {
        u64::from(k) * self.worth.1 == u64::from(self.worth.0) * kind.capacity
    }
}

/// Columns of threads, one per CPU, cut at a height.
#[derive(Clone, Debug, Default)]
struct Columns {
    /// Number of columns by height.
    of_height: Vec<u32>,
    nr: u64,
    cut: u32,
    /// Columns higher than the cut.
    higher: u64,
    beyond: u64,
    /// Places free below it.
    room: u64,
}

impl Columns {
    fn add_column(&mut self, height: u32) {
        self.nr += 1;
        *self.columns_of_height(height) += 1;
        self.higher += u64::from(height > self.cut);
        self.beyond += u64::from(height.saturating_sub(self.cut));
        self.room += u64::from(self.cut.saturating_sub(height));
    }

    fn columns_of_height(&mut self, height: u32) -> &mut u32 {
        let height = height as usize;
        if height >= self.of_height.len() {
            self.of_height.resize(height + 1, 0);
        }
        &mut self.of_height[height]
    }

    /// A column of this height grows or shrinks by one.
    fn step(&mut self, height: u32, step: Step) {
        *self.columns_of_height(height) -= 1;
        match step {
            Step::Up => {
                *self.columns_of_height(height + 1) += 1;
                self.higher += u64::from(height == self.cut);
                self.beyond += u64::from(height >= self.cut);
                self.room -= u64::from(height < self.cut);
            }
            Step::Down => {
                *self.columns_of_height(height - 1) += 1;
                self.higher -= u64::from(height == self.cut + 1);
                self.beyond -= u64::from(height > self.cut);
                self.room += u64::from(height <= self.cut);
            }
        }
    }

    /// Beyond and room with the cut one up (or where it is).
    fn one_up(&self, up: bool) -> (u64, u64) {
        match up {
            true => (self.beyond - self.higher, self.room + self.nr - self.higher),
            false => (self.beyond, self.room),
        }
    }

    /// Moves the cut by one.
    fn cut_at(&mut self, cut: u32) {
        if cut > self.cut {
            (self.beyond, self.room) = self.one_up(true);
            self.cut = cut;
            self.higher -= u64::from(*self.columns_of_height(cut));
        } else {
            self.higher += u64::from(*self.columns_of_height(self.cut));
            self.cut = cut;
            self.beyond += self.higher;
            self.room -= self.nr - self.higher;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::machine;

    fn meter(capacities: &[u32]) -> MisplacementMeter {
        let mut m = machine(capacities.len() as u32, 1);
        m.cpus.iter_mut().zip(capacities).for_each(|(cpu, c)| cpu.capacity = *c);
        MisplacementMeter::new(&m)
    }

    fn misplaced_with(capacities: &[u32], affinity: CpuMask, threads: &[CpuId]) -> u64 {
        let mut m = meter(capacities);
        m.add_class(&affinity);
        threads.iter().for_each(|cpu| m.add(0, 0, *cpu));
        m.misplaced()
    }

    /// Four equal CPUs: any two of them will do for two threads, but not one; of five threads one CPU has two.
    #[test]
    fn on_equal_cpus_the_counts_decide() {
        let on = |threads: &[CpuId]| misplaced_with(&[1024; 4], CpuMask::first_n(4), threads);
        assert_eq!((on(&[]), on(&[3]), on(&[1, 3]), on(&[1, 1])), (0, 0, 0, 1));
        assert_eq!((on(&[0, 1, 2, 3, 2]), on(&[0, 1, 2, 2, 2]), on(&[0, 0, 0, 0, 0])), (0, 1, 3));
    }

    /// CPU 2 has the capacity of two others: it takes the first thread, ties with them for the second and third (512
    /// for each of two threads there), and takes the fourth.
    #[test]
    fn capacity_decides_who_is_next() {
        let on = |threads: &[CpuId]| misplaced_with(&[512, 512, 1024], CpuMask::first_n(3), threads);
        assert_eq!((on(&[0]), on(&[2])), (1, 0));
        assert_eq!((on(&[2, 0]), on(&[2, 2]), on(&[0, 1])), (0, 0, 1));
        assert_eq!((on(&[2, 2, 0]), on(&[2, 1, 0]), on(&[2, 2, 2])), (0, 0, 1));
        assert_eq!((on(&[2, 2, 1, 0]), on(&[2, 2, 2, 0]), on(&[0, 1, 0, 1])), (0, 1, 2));
    }

    /// Two threads bound to CPU 0 are where they must be; a free thread beside them is not, elsewhere it is.
    #[test]
    fn threads_that_cannot_move_are_furniture() {
        let mut m = meter(&[1024; 2]);
        m.add_class(&CpuMask::single(0));
        m.add_class(&CpuMask::first_n(2));
        m.add(0, 0, 0);
        m.add(0, 0, 0);
        m.add(0, 1, 0);
        assert_eq!(m.misplaced(), 1);
        m.remove(0, 1, 0);
        m.add(0, 1, 1);
        assert_eq!(m.misplaced(), 0);
        // A second free one ties at two on CPU 1; a bound one on the wrong CPU is misplaced, wherever that is.
        m.add(0, 1, 1);
        m.add(0, 0, 1);
        assert_eq!(m.misplaced(), 1);
    }

    /// Two threads on one of two CPUs for 10 ns, then apart for 30, then one alone: 10 thread-ns.
    #[test]
    fn the_distance_is_weighted_by_time() {
        let mut m = meter(&[1024; 2]);
        m.add_class(&CpuMask::first_n(2));
        m.add(100, 0, 0);
        m.add(100, 0, 0);
        m.remove(110, 0, 0);
        m.add(110, 0, 1);
        m.remove(140, 0, 1);
        assert_eq!(m.total_ns(200), 10);
    }

    /// By the definition: places the threads one by one in every way that the rule allows; the least distance.
    fn by_definition(capacity: &[u64], mask: &[usize], own: &[u32], others: &[u32]) -> u64 {
        fn place(capacity: &[u64], mask: &[usize], own: &[u32], others: &[u32], to: &mut Vec<u32>) -> u64 {
            if to.iter().sum::<u32>() == own.iter().sum::<u32>() {
                let differences = own.iter().zip(to.iter()).map(|(a, b)| u64::from(a.abs_diff(*b)));
                return differences.sum::<u64>() / 2;
            }
            let part = |cpu: usize, to: &[u32]| capacity[cpu] as f64 / f64::from(others[cpu] + to[cpu] + 1);
            let most = mask.iter().map(|cpu| part(*cpu, to)).fold(0.0, f64::max);
            let mut least = u64::MAX;
            for cpu in mask {
                if part(*cpu, to) >= most * (1.0 - 1e-12) {
                    to[*cpu] += 1;
                    least = least.min(place(capacity, mask, own, others, to));
                    to[*cpu] -= 1;
                }
            }
            least
        }
        place(capacity, mask, own, others, &mut vec![0; own.len()])
    }

    const NR_CPUS: usize = 4;

    proptest! {
        /// Threads of three affinities come, go and move, on CPUs of theirs or not.
        #[test]
        fn the_meter_agrees_with_the_definition(
            capacity in prop::collection::vec(prop::sample::select(vec![256u32, 512, 768, 1024]), NR_CPUS),
            masks in prop::collection::vec(1..16u32, 3),
            steps in prop::collection::vec((0..3usize, 0..NR_CPUS, any::<bool>()), 1..24),
        ) {
            let mut m = meter(&capacity);
            let members = |bits: u32| (0..NR_CPUS).filter(move |c| bits >> c & 1 == 1);
            // The last affinity turns up when there are threads already.
            let known = |m: &mut MisplacementMeter, bits: u32| m.add_class(&members(bits).map(|c| c as CpuId).collect());
            masks[..2].iter().for_each(|bits| known(&mut m, *bits));
            let mut counts = [[0u32; NR_CPUS]; 3];
            for (class, cpu, comes) in steps {
                if class == 2 && m.nr_classes() == 2 {
                    known(&mut m, masks[2]);
                }
                if comes && counts.iter().flatten().sum::<u32>() < 8 {
                    counts[class][cpu] += 1;
                    m.add(0, class, cpu as CpuId);
                } else if counts[class][cpu] > 0 {
                    counts[class][cpu] -= 1;
                    m.remove(0, class, cpu as CpuId);
                }
                let wide: Vec<u64> = capacity.iter().map(|c| u64::from(*c)).collect();
                let slow: u64 = (0..3).map(|class| {
                    let rest = |cpu| (0..3).filter(|c| *c != class).map(|c| counts[c][cpu]).sum();
                    let others: Vec<u32> = (0..NR_CPUS).map(rest).collect();
                    by_definition(&wide, &members(masks[class]).collect::<Vec<_>>(), &counts[class], &others)
                }).sum();
                prop_assert_eq!(m.misplaced(), slow, "{:?}", counts);
            }
        }
    }
}
