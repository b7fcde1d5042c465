//! Utilisation floors that Android's framework asks for, as mail 003 prints them for the threads of Geekbench 5 on a
//! Pixel 6 ("Kernel B": android12-5.10, "Kernel C": the same with the first form of the patches under discussion). They
//! are given, not predicted: what an app's threads ask for is decided by the framework, not by the scheduler.
//!
//! Of RenderThread the mail counts each value. Of the others it has least, quartiles and greatest: these five are drawn
//! with the odds 1, 2, 2, 2, 1, whose quartiles are those of the mail. Threads with one value ask for that.

use std::sync::Arc;

use crate::options::{OptionInfo, OptionKind, Options};
use crate::program::{ClampOdds, Op, ProgramBuilder, SchedAttr};

/// Whose column of the tables is drawn from.
pub(super) const REQUESTS: OptionInfo = OptionInfo {
    name: "requests",
    kind: OptionKind::Choice(&["b", "c", "none"]),
    default: "b",
    meaning: "utilisation floors asked for: mail 003's of its kernel B or C, or none",
    excludes: None,
};

/// Minimum, quartiles and maximum of a distribution.
type FiveNumbers = [u16; 5];

/// What threads ask for under one kernel.
struct Column {
    /// Clamp value and how often it was requested.
    render_thread: &'static [(u16, u32)],
    /// Requests of the thread `labs.geekbench5`.
    app: FiveNumbers,
    hwui: [FiveNumbers; 2],
    /// Threads that always ask for the same: nearly all others of an app.
    steady: u16,
    /// `AsyncTask #1`, of which kernel B's table has no line.
    async_task: u16,
}

const KERNEL_B: Column = Column {
    render_thread: RENDER_THREAD_B,
    app: [6, 175, 398, 512, 512],
    hwui: [[6, 90, 307, 512, 512], [6, 225, 307, 512, 512]],
    steady: 398,
    async_task: 0,
};

const KERNEL_C: Column = Column {
    render_thread: RENDER_THREAD_C,
    app: [6, 201, 436, 512, 512],
    hwui: [[9, 169, 496, 512, 512], [6, 169, 458, 512, 512]],
    steady: 436,
    async_task: 512,
};

#[rustfmt::skip]
const RENDER_THREAD_B: &[(u16, u32)] = &[
    (6, 4), (13, 3), (16, 28), (21, 4), (25, 4), (31, 1), (43, 5), (52, 36), (67, 4), (75, 1),
    (78, 2), (81, 1), (84, 39), (87, 4), (93, 3), (97, 2), (100, 2), (103, 3), (112, 4), (115, 1),
    (126, 3), (129, 3), (138, 4), (143, 4), (175, 4), (190, 4), (216, 5), (225, 30), (242, 1),
    (253, 59), (264, 37), (307, 40), (347, 3), (375, 5), (398, 21), (413, 2), (448, 13), (472, 19),
    (501, 4), (512, 361),
];

#[rustfmt::skip]
const RENDER_THREAD_C: &[(u16, u32)] = &[
    (6, 3), (9, 21), (13, 8), (19, 8), (22, 2), (31, 2), (44, 3), (47, 4), (50, 5), (51, 1),
    (70, 5), (75, 2), (82, 3), (92, 17), (93, 3), (99, 3), (104, 33), (109, 31), (140, 11),
    (169, 52), (190, 3), (224, 4), (231, 16), (235, 3), (237, 5), (249, 3), (276, 6), (283, 30),
    (321, 46), (325, 13), (347, 2), (358, 6), (361, 4), (374, 4), (415, 3), (436, 21), (446, 17),
    (458, 15), (463, 1), (496, 75), (506, 75), (507, 3), (512, 393),
];

/// How often each of [`FiveNumbers`] is drawn, relative to the others.
const FIVE_WEIGHTS: [u32; 5] = [1, 2, 2, 2, 1];

/// Threads that ask for something else each time.
#[derive(Clone, Copy)]
pub(super) enum Requester {
    /// The app's first thread, which makes its frames.
    App,
    Render,
    /// One of the threads hwuiTask0 and hwuiTask1, by its number.
    Hwui(usize),
}

/// What the threads of an app ask for; nothing at all if no table was chosen.
pub(super) struct Requests(Option<&'static Column>);

impl Requests {
    pub fn from_options(options: &Options) -> Self {
        Requests([Some(&KERNEL_B), Some(&KERNEL_C), None][options.int(REQUESTS.name) as usize])
    }

    /// Appends the step in which a thread requests a new clamp value.
    pub fn ask(&self, p: &mut ProgramBuilder, who: Requester) {
        if let Some(column) = self.0 {
            p.op(Op::DrawUclampMin(column.odds(who)));
        }
    }

    /// Attributes of a thread that always asks for the same.
    pub fn steady(&self) -> SchedAttr {
        attr(self.0.map_or(0, |column| column.steady))
    }

    /// Attributes of `AsyncTask #1`.
    pub fn async_task(&self) -> SchedAttr {
        attr(self.0.map_or(0, |column| column.async_task))
    }
}

fn attr(uclamp_min: u16) -> SchedAttr {
    SchedAttr { uclamp_min, ..SchedAttr::default() }
}

impl Column {
    fn odds(&self, who: Requester) -> Arc<[ClampOdds]> {
        let five = |five: FiveNumbers| odds(five.into_iter().zip(FIVE_WEIGHTS));
        match who {
            Requester::App => five(self.app),
            Requester::Render => odds(self.render_thread.iter().copied()),
            Requester::Hwui(i) => five(self.hwui[i]),
        }
    }
}

fn odds(of: impl Iterator<Item = (u16, u32)>) -> Arc<[ClampOdds]> {
    of.map(|(uclamp_min, weight)| ClampOdds { uclamp_min, weight }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(odds: &[ClampOdds]) -> u32 {
        odds.iter().map(|o| o.weight).sum()
    }

    /// The mail prints count and mean of the same values in another table.
    #[test]
    fn the_counts_of_render_thread_have_the_mails_sums_and_means() {
        for (column, count, mean) in [(KERNEL_B, 773, 350.175938), (KERNEL_C, 965, 380.451813)] {
            let odds = column.odds(Requester::Render);
            let sum: u32 = odds.iter().map(|o| u32::from(o.uclamp_min) * o.weight).sum();
            assert_eq!(total(&odds), count);
            assert!((f64::from(sum) / f64::from(count) - mean).abs() < 1e-6, "{sum}");
        }
    }

    /// In eighths: least to 1, lower quartile to 3, median to 5, upper quartile to 7, greatest to 8.
    #[test]
    fn the_quartiles_of_what_is_drawn_are_those_of_the_table() {
        let column = KERNEL_B.odds(Requester::Hwui(0));
        let at = |eighth: u32| {
            let mut below = 0;
            column
                .iter()
                .find(|o| {
                    below += o.weight;
                    below >= eighth
                })
                .map(|o| o.uclamp_min)
        };
        assert_eq!([1, 2, 4, 6, 8].map(at), [6, 90, 307, 512, 512].map(Some));
    }
}
