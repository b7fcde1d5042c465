//! The runs of a sweep: how many, and those of a grid.

use serde_json::Value;

use super::{Axis, Design, Kind, Levels, SweepFile};
use crate::run_spec::{RunSpec, Way};

impl SweepFile {
    /// Number of runs.
    pub fn size(&self) -> u64 {
        let all = match self.design {
            Design::Grid => self.axes.iter().fold(1, |n: u64, axis| n.saturating_mul(axis.count())),
            Design::Saltelli => u64::from(self.points.unwrap_or(0)).saturating_mul(self.axes.len() as u64 + 2),
            Design::Random | Design::Sobol => u64::from(self.points.unwrap_or(0)),
        };
        all.saturating_mul(self.seeds.into())
    }

    /// The points of a grid, each as its run with seed 1, in the order of its tables: the last axis changes first. Empty for
    /// another design, whose points are drawn.
    pub fn grid(&self) -> impl Iterator<Item = RunSpec> + '_ {
        let points = if self.design == Design::Grid { self.size() / u64::from(self.seeds.max(1)) } else { 0 };
        (0..points).map(|point| self.point(point))
    }

    fn point(&self, point: u64) -> RunSpec {
        let fixed = |name: &str| self.fixed.get(name).cloned().unwrap_or_default();
        let mut spec = RunSpec::new(&fixed("machine"), &fixed("workload"), &fixed("sched"), 1);
        spec.options.clone_from(&self.settings);
        let (mut features, mut options) = (String::new(), Vec::new());
        for (axis, level) in self.axes.iter().zip(self.places(point)) {
            let Levels::Listed(values) = &axis.levels else { continue };
            let (value, piece) = (&values[level], axis.pieces.get(level).map_or("", String::as_str));
            let text = || value.as_str().unwrap_or_default().to_owned();
            match axis.kind {
                Kind::Machine => spec.machine = text(),
                Kind::Workload => spec.workload = text(),
                Kind::Sched => spec.sched = text(),
                Kind::Feature => features += piece,
                Kind::Option if piece.is_empty() => {}
                Kind::Option => options.push(piece),
                Kind::Figure => {
                    let way = axis.way.unwrap_or(Way::To);
                    spec.figures.push((axis.name.clone(), way, value.as_f64().unwrap_or_default()));
                }
                Kind::Setting => spec.options.push((axis.name.clone(), value.clone())),
            }
        }
        spec.sched += &features;
        if !options.is_empty() {
            let is_bare = self.inputs.workloads.contains_key(&spec.workload) || !spec.workload.contains(':');
            spec.workload += if is_bare { ":" } else { "," };
            spec.workload += &options.join(",");
        }
        // By name: sweeps that list them in another order share their runs.
        spec.figures.sort_by(|a, b| (&a.0, way_word(a.1)).cmp(&(&b.0, way_word(b.1))));
        spec.options.sort_by(|a, b| (&a.0, a.1.to_string()).cmp(&(&b.0, b.1.to_string())));
        spec
    }

    /// The level of each axis at the point of this number in [`Self::grid`].
    pub fn levels(&self, point: u64) -> Vec<&Value> {
        let at = self.axes.iter().zip(self.places(point));
        at.map(|(axis, place)| match &axis.levels {
            Levels::Listed(values) => &values[place],
            Levels::Range(_) => &Value::Null,
        })
        .collect()
    }

    /// The place of each axis's level in its list.
    fn places(&self, point: u64) -> Vec<usize> {
        let mut left = point;
        let mut places = vec![0; self.axes.len()];
        for (place, axis) in places.iter_mut().zip(&self.axes).rev() {
            *place = (left % axis.count().max(1)) as usize;
            left /= axis.count().max(1);
        }
        places
    }
}

fn way_word(way: Way) -> &'static str {
    match way {
        Way::To => "to",
        Way::Times => "times",
    }
}

impl Axis {
    /// Number of levels; 0 for a range.
    pub fn count(&self) -> u64 {
        match &self.levels {
            Levels::Listed(values) => values.len() as u64,
            Levels::Range(_) => 0,
        }
    }

    /// The levels as people read them: `a, b, c`, or `1 .. 5`.
    pub fn levels_in_words(&self) -> String {
        let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match &self.levels {
            Levels::Listed(values) => values.iter().map(word).collect::<Vec<_>>().join(", "),
            Levels::Range(range) => format!("{} .. {}", range.low, range.high),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::run_spec::Inputs;

    use super::*;

    fn sweep(text: &str) -> SweepFile {
        SweepFile::read("s.toml", text, ".".as_ref(), Inputs::default()).unwrap()
    }

    #[test]
    fn the_last_axis_changes_first() {
        let text = "experiment = { name = \"s\", seeds = 3 }\n\
                    fixed = { machine = \"hikey960\", workload = \"sched-pipe:loops=10\", settings = { hz = 250 } }\n\
                    [axes]\nsched = [\"fair:v5.9\", \"fair:v5.11\"]\nfeatures = { asym-prev-first = [false, true] }\n\
                    options = { threads = [false, true] }\n";
        let sweep = sweep(text);
        assert_eq!((sweep.size(), sweep.grid().count()), (24, 8));
        let shown: Vec<String> = sweep.grid().map(|spec| format!("{} {}", spec.sched, spec.workload)).collect();
        assert_eq!(shown[0], "fair:v5.9-asym-prev-first sched-pipe:loops=10");
        assert_eq!(shown[1], "fair:v5.9-asym-prev-first sched-pipe:loops=10,threads");
        assert_eq!(shown[2], "fair:v5.9+asym-prev-first sched-pipe:loops=10");
        assert_eq!(shown[7], "fair:v5.11+asym-prev-first sched-pipe:loops=10,threads");
        assert_eq!(sweep.levels(2), [&json!("fair:v5.9"), &json!(true), &json!(false)]);
        let first = sweep.grid().next().unwrap();
        assert_eq!((first.seed, first.options), (1, vec![("hz".to_owned(), 250.into())]));
    }

    #[test]
    fn points_of_other_designs_are_counted_and_not_known() {
        let text = "experiment = { name = \"s\", design = \"saltelli\", points = 8, seeds = 2 }\n\
                    fixed = { machine = \"hikey960\", workload = \"sched-pipe:loops=10\", sched = \"fair:v5.9\" }\n\
                    [axes.figures]\n\"costs.soft.wakeup\" = { times = { low = 0.5, high = 2 } }\n";
        let sweep = sweep(text);
        assert_eq!((sweep.size(), sweep.grid().count()), (8 * 3 * 2, 0));
    }
}
