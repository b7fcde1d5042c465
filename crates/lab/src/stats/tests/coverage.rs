//! How often intervals hold the truth, and how often tables of nothing have a star: simulated with draws that depend on
//! their number alone, so that each test gives the same counts every time.

use super::*;
use crate::comparison::Until;
use crate::stats::splitmix64;

/// Shapes of columns, of mean 1.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    /// sd 0.1.
    Normal,
    /// sigma 0.5.
    LogNormal,
    /// Two equal modes 4 sd apart.
    TwoModes,
    /// The same modes, of which the upper has a tenth of the values.
    RareMode,
}

/// Which sides vary.
#[derive(Clone, Copy, Debug)]
enum Sides {
    /// Both, on their own.
    Both,
    /// Both, nine tenths of the base's deviation being the test's too.
    Together,
    /// The test alone.
    Test,
    /// The base alone.
    Base,
}

const SHAPES: [Shape; 4] = [Shape::Normal, Shape::LogNormal, Shape::TwoModes, Shape::RareMode];
const SIDES: [Sides; 4] = [Sides::Both, Sides::Together, Sides::Test, Sides::Base];

/// Random draws by number.
#[derive(Clone)]
struct Draws {
    next: u64,
}

impl Draws {
    /// The draws of one stream, apart from those of all others.
    fn of_stream(stream: u64) -> Draws {
        Draws { next: stream << 32 }
    }

    fn uniform(&mut self) -> f64 {
        self.next += 1;
        // 53 bits, never 0 nor 1.
        ((splitmix64(self.next) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Box and Muller, "A note on the generation of random normal deviates" (1958).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (2.0 * std::f64::consts::PI * self.uniform()).cos()
    }
}

/// The value of a shape for a normal draw that sides may share, and draws of its own.
fn value(shape: Shape, shared: f64, draws: &mut Draws) -> f64 {
    match shape {
        Shape::Normal => 1.0 + 0.1 * shared,
        Shape::LogNormal => (0.5 * shared - 0.125).exp(),
        Shape::TwoModes => 1.0 + 0.1 * (2.0 * shared.signum() + draws.normal()),
        // The normal distribution's upper tenth begins at 1.2816. The modes are 4 sd apart about their mean.
        Shape::RareMode => 1.0 + 0.1 * (if shared > 1.281_551_6 { 3.6 } else { -0.4 } + draws.normal()),
    }
}

/// Columns of `n` pairs whose true means are 1 and `ratio`.
fn columns_of(shape: Shape, sides: Sides, n: usize, ratio: f64, draws: &mut Draws) -> [Vec<f64>; 2] {
    let (mut base, mut test) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let (first, own) = (draws.normal(), draws.normal());
        let second = match sides {
            Sides::Together => 0.9 * first + (1.0 - 0.81f64).sqrt() * own,
            _ => own,
        };
        let (b, t) = (value(shape, first, draws), value(shape, second, draws));
        base.push(if matches!(sides, Sides::Test) { 1.0 } else { b });
        test.push(ratio * if matches!(sides, Sides::Base) { 1.0 } else { t });
    }
    [base, test]
}

/// How many of 100 intervals hold the truth: of the difference, and of the change in percent.
fn coverage(shape: Shape, sides: Sides, n: usize, trials: u64) -> [f64; 2] {
    const RATIO: f64 = 0.7;
    let terms = Terms { range: Range::NotNegative, ..terms(Better::Higher) };
    let mut holds = [0u64; 2];
    for trial in 0..trials {
        let mut draws = Draws::of_stream(trial);
        let [base, test] = columns_of(shape, sides, n, RATIO, &mut draws);
        let change = Change::new(&base, &test, &terms);
        let within = |ci: Option<[f64; 2]>, truth: f64| ci.is_none_or(|[lo, hi]| lo <= truth && truth <= hi);
        holds[0] += u64::from(within(change.diff_ci95, RATIO - 1.0));
        holds[1] += u64::from(within(change.ci95, 100.0 * (RATIO - 1.0)));
    }
    holds.map(|count| count as f64 * 100.0 / trials as f64)
}

/// Whether this is the part `long` of the tests.
fn is_long() -> bool {
    std::env::var("PROPTEST_CASES").is_ok_and(|cases| cases.parse().is_ok_and(|cases: u32| cases > 1000))
}

/// Whichever sides vary: within 3 points, and within 4 with a rare mode, of which few pairs do not show what there is. The
/// part `long` has 40,000 trials of each (one sd: 0.1 points), every other run of the tests 800 (one sd: 0.8).
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let (trials, chance) = if is_long() { (40_000, 0.0) } else { (800, 1.0) };
    for n in [8, 16] {
        for shape in SHAPES {
            for sides in SIDES {
                let found = coverage(shape, sides, n, trials);
                println!("{n} pairs, {shape:?}, {sides:?}: {found:.1?} of 100 intervals hold");
                let allowed = chance + if shape == Shape::RareMode { 4.0 } else { 3.0 };
                let holds = found.iter().all(|pct| (pct - 95.0).abs() <= allowed);
                assert!(holds, "{n} pairs, {shape:?}, {sides:?}: {found:?}");
            }
        }
    }
}

/// How many of 100 columns of a shape are said to have two groups.
fn bimodal(shape: Shape, n: usize, trials: u64) -> f64 {
    let found = (0..trials).filter(|trial| {
        let [column, _] = columns_of(shape, Sides::Both, n, 1.0, &mut Draws::of_stream(*trial));
        two_modes(&column, 0.0).is_some()
    });
    found.count() as f64 * 100.0 / trials as f64
}

/// One sd of the counts: 0.03 points in the part `long`, 0.14 in every other run of the tests.
#[test]
fn few_columns_without_groups_are_called_bimodal() {
    let (trials, chance) = if is_long() { (20_000, 0.1) } else { (1000, 0.4) };
    for n in [8, 16, 32, 64] {
        let [normal, skewed, modes] =
            [Shape::Normal, Shape::LogNormal, Shape::TwoModes].map(|shape| bimodal(shape, n, trials));
        println!("{n} values: of normal columns {normal} %, of log-normal {skewed} %, of two modes {modes} %");
        assert!(normal <= 0.2 + chance && skewed <= 1.0 + chance, "{n}: {normal} {skewed}");
        assert!(n < 64 || modes > 45.0, "{n}: {modes}");
    }
}

/// A table of two sides that do not differ: a row for each shape, drawn on its own and with the base. The first row's
/// pairs may be added until its interval is narrow. Returns the number of pairs, and the changes, judged.
fn table_of_nothing(table: u64, pairs: Pairs) -> (usize, Vec<Change>) {
    let most = match pairs {
        Pairs::Fixed(n) => n,
        Pairs::Until(_) => UNTIL_MOST,
    };
    let mut rows = Vec::new();
    for (i, shape) in SHAPES.into_iter().enumerate() {
        for (j, sides) in [Sides::Both, Sides::Together].into_iter().enumerate() {
            let stream = table * 8 + (2 * i + j) as u64;
            rows.push(columns_of(shape, sides, most, 1.0, &mut Draws::of_stream(stream)));
        }
    }
    let (n, sampling) = match pairs {
        Pairs::Fixed(n) => (n, Sampling::Fixed),
        Pairs::Until(pct) => {
            let until = Until::new(pct, UNTIL_MOST as u64).unwrap();
            let (mut n, of_row) = (Until::FIRST as usize, (table % 8) as usize);
            loop {
                let terms = Terms { sampling: Sampling::UntilNarrow, ..terms(Better::Higher) };
                let change = Change::new(&rows[of_row][0][..n], &rows[of_row][1][..n], &terms);
                match until.next(n as u64, [change].iter()) {
                    Some(next) => n = next as usize,
                    None => break (n, Sampling::UntilNarrow),
                }
            }
        }
    };
    let terms = Terms { sampling, ..terms(Better::Higher) };
    let mut changes: Vec<Change> =
        rows.iter().map(|[base, test]| Change::new(&base[..n], &test[..n], &terms)).collect();
    judge(changes.iter_mut());
    (n, changes)
}

#[derive(Clone, Copy, Debug)]
enum Pairs {
    Fixed(usize),
    /// Until the half-width of a row's interval is this many percent.
    Until(f64),
}

/// Greatest number of pairs that the simulation adds.
const UNTIL_MOST: usize = 48;

/// Any difference is of interest here, so that p values alone decide. One sd: 0.2 points in the part `long`, 1.5 in every
/// other run of the tests. With `--until` the row that decides when to stop is each of the eight in turn: its interval
/// holds the truth as often as one of a fixed number of pairs.
#[test]
fn few_tables_of_nothing_have_a_better_or_worse_row() {
    let (tables, chance) = if is_long() { (10_000, 0.0) } else { (200, 3.1) };
    for pairs in [Pairs::Fixed(8), Pairs::Fixed(16), Pairs::Until(10.0), Pairs::Until(20.0), Pairs::Until(40.0)] {
        let (mut false_stars, mut holds, mut sum) = (0u64, 0u64, 0);
        for table in 0..tables {
            let (n, changes) = table_of_nothing(table, pairs);
            sum += n;
            false_stars += u64::from(changes.iter().any(Change::starred));
            let ci = changes[(table % 8) as usize].ci95;
            holds += u64::from(ci.is_none_or(|[lo, hi]| lo <= 0.0 && 0.0 <= hi));
        }
        let pct = |count: u64| count as f64 * 100.0 / tables as f64;
        let mean = sum as f64 / tables as f64;
        println!(
            "{pairs:?}: {mean:.1} pairs, {:.1} % of tables have a star, {:.1} % of intervals hold",
            pct(false_stars),
            pct(holds)
        );
        assert!(pct(false_stars) <= 5.0 + chance, "{pairs:?}: {}", pct(false_stars));
        assert!((pct(holds) - 95.0).abs() <= 3.0 + chance / 2.0, "{pairs:?}: {}", pct(holds));
    }
}
