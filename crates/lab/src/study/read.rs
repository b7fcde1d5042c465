//! The experiment file, section by section.

use std::collections::BTreeMap;
use std::path::Path;

use fairground_fair::FeatureInfo;
use fairground_machine::places::{Data, Fields, File, FileResult, Node, Tree};
use fairground_machine::{nearest, FileError};
use fairground_sim::ClampLimits;
use fairground_workload::{rtapp, Builtin, OptionInfo, OptionKind};
use serde_json::Value;

use super::found::{told, Board, Finder, Work};
use super::levels::{is_range, listed, number, range, value};
use super::run::turned;
use super::{Axis, Design, Kind, Levels, Named, Study, Way};
use crate::circumstances::Circumstances;
use crate::fit;
use crate::spec::SchedSpec;

/// Most runs at each point, and most points.
const MAX_COUNT: u32 = 1_000_000;
/// Most combinations that are looked up before anything runs.
const MAX_CHECKS: usize = 100_000;
/// Columns of tables that are no axes.
const TAKEN: [&str; 2] = ["seed", "hash"];

const DESIGNS: [(&str, Design); 4] =
    [("grid", Design::Grid), ("random", Design::Random), ("sobol", Design::Sobol), ("saltelli", Design::Saltelli)];

/// A study that is being read.
struct Reader<'a> {
    finder: Finder<'a>,
    design: Design,
    axes: Vec<Axis>,
    boards: Vec<Board>,
    works: Vec<Work>,
    scheds: Vec<SchedSpec>,
    /// Circumstances that do not vary.
    fixed: Circumstances,
}

pub(super) fn study(name: &str, text: &str, dir: &Path, named: Named) -> Result<Study, Box<FileError>> {
    let tree = Tree::parse(name, text)?;
    let file = File::new(name, text);
    let root = Node::root(&file, &tree);
    let top = root.table(&["experiment", "fixed", "axes"])?;
    let head = top.need("experiment")?.table(&["name", "seeds", "design", "points", "draw"])?;
    let design = design(&head)?;
    let mut reader = Reader {
        finder: Finder::new(dir, named),
        design,
        axes: Vec::new(),
        boards: Vec::new(),
        works: Vec::new(),
        scheds: Vec::new(),
        fixed: Circumstances::default(),
    };
    let fixed_keys = ["machine", "workload", "sched", "circumstances"];
    let fixed = top.get("fixed").map(|node| node.table(&fixed_keys)).transpose()?;
    let axes_keys = ["machine", "workload", "sched", "features", "options", "figures", "circumstances"];
    let axes = top.need("axes")?.table(&axes_keys)?;
    let circumstances = reader.fixed_circumstances(fixed.as_ref())?;
    let fixed = reader.named(fixed.as_ref(), &axes)?;
    reader.features(&axes)?;
    reader.options(&axes)?;
    reader.figures(&axes)?;
    reader.circumstances(&axes, &circumstances)?;
    if reader.axes.is_empty() {
        let fault = axes.of.fault("nothing varies");
        return Err(fault.hint("expected one axis or more; `fairground run` makes single runs"));
    }
    Ok(Study {
        name: label(&head.need("name")?)?,
        design,
        points: points(&head, design)?,
        draw: head.get("draw").map_or(Ok(1), |node| node.integer(0, u32::MAX))?,
        seeds: head.get("seeds").map_or(Ok(8), |node| node.integer(1, MAX_COUNT))?,
        fixed,
        circumstances,
        axes: reader.axes,
        contents: reader.finder.named,
    })
}

/// Names of studies are used in file names.
fn label(node: &Node) -> FileResult<String> {
    let name = node.text()?;
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    match !name.is_empty() && name.len() <= 64 && name.bytes().all(fits) {
        true => Ok(name.into()),
        false => {
            Err(node.fault(format!("{name:?} is no name")).hint("expected letters, digits, `-`, `_` and `.`, up to 64"))
        }
    }
}

fn design(head: &Fields) -> FileResult<Design> {
    let Some(node) = head.get("design") else { return Ok(Design::Grid) };
    let word = node.text()?;
    let found = DESIGNS.iter().find(|(name, _)| *name == word);
    found.map(|(_, design)| *design).ok_or_else(|| {
        let help = fairground_machine::suggest(word, DESIGNS.iter().map(|(name, _)| *name));
        node.fault(format!("unknown design `{word}`")).hint(help)
    })
}

fn points(head: &Fields, design: Design) -> FileResult<Option<u32>> {
    let node = head.get("points");
    if design == Design::Grid {
        return match node {
            None => Ok(None),
            Some(node) => {
                Err(node.fault_at_key("a grid with points").hint("expected no `points`: a grid has all of them"))
            }
        };
    }
    let Some(node) = node else { return Ok(Some(256)) };
    let points = node.integer(1, MAX_COUNT)?;
    if design != Design::Random && !points.is_power_of_two() {
        let (below, above) = (points.next_power_of_two() / 2, points.next_power_of_two());
        let fault = node.fault(format!("{points} points of a sequence that is even at powers of two"));
        return Err(fault.hint(format!("expected {below} or {above}")));
    }
    Ok(Some(points))
}

impl Reader<'_> {
    fn push(&mut self, node: &Node, axis: Axis) -> FileResult<()> {
        if TAKEN.contains(&axis.name.as_str()) || self.axes.iter().any(|other| other.name == axis.name) {
            let fault = node.fault_at_key(format!("a second column `{}`", axis.name));
            return Err(fault.hint("axes are columns of one table: expected one of each name"));
        }
        self.axes.push(axis);
        Ok(())
    }

    fn fixed_circumstances(&mut self, fixed: Option<&Fields>) -> FileResult<Vec<(String, Value)>> {
        let Some(node) = fixed.and_then(|fixed| fixed.get("circumstances")) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for (name, node) in node.entries()? {
            let value = value(&node)?;
            self.fixed.set(name, &value).map_err(|e| told(&node, &e))?;
            found.push((name.to_owned(), value));
        }
        self.fixed.consistent().map_err(|e| told(&node, &e))?;
        Ok(found)
    }

    /// Machines, workloads and schedulers: each is fixed or an axis.
    fn named(&mut self, fixed: Option<&Fields>, axes: &Fields) -> FileResult<BTreeMap<&'static str, String>> {
        let mut alone = BTreeMap::new();
        for (key, kind) in [("machine", Kind::Machine), ("workload", Kind::Workload), ("sched", Kind::Sched)] {
            let nodes = match (fixed.and_then(|fixed| fixed.get(key)), axes.get(key)) {
                (Some(one), None) => {
                    alone.insert(key, one.text()?.to_owned());
                    vec![one]
                }
                (None, Some(axis)) => {
                    let levels = listed(&axis)?;
                    let words = levels.iter().map(|node| Ok(node.text()?.into())).collect::<FileResult<_>>()?;
                    let (name, levels_of) = (key.to_owned(), Levels::Listed(words));
                    self.push(&axis, Axis { name, kind, way: None, levels: levels_of, pieces: Vec::new() })?;
                    levels
                }
                (Some(_), Some(axis)) => {
                    let fault = axis.fault_at_key(format!("`{key}` is fixed and an axis"));
                    return Err(fault.hint(format!("expected it in [fixed] or in [axes]")));
                }
                (None, None) => {
                    let fault = axes.of.fault(format!("no `{key}`"));
                    let help =
                        format!("expected `{key} = \"NAME\"` in [fixed], or `{key} = [\"NAME\", ...]` in [axes]");
                    return Err(fault.hint(help));
                }
            };
            nodes.iter().try_for_each(|node| self.look_up(kind, node))?;
        }
        Ok(alone)
    }

    /// In the order machine, workload, scheduler: each must go with those before.
    fn look_up(&mut self, kind: Kind, node: &Node) -> FileResult<()> {
        match kind {
            Kind::Machine => {
                let board = self.finder.machine(node)?;
                self.boards.push(board);
            }
            Kind::Workload => {
                let work = self.finder.workload(node)?;
                self.few(node, self.boards.len() * (self.works.len() + 1))?;
                self.boards.iter().try_for_each(|board| self.finder.runs(&work, "", board, node))?;
                self.works.push(work);
            }
            _ => {
                let sched = [self.finder.sched(node)?];
                fit::hz(&sched, self.fixed.hz).map_err(|e| told(node, &e))?;
                self.boards
                    .iter()
                    .try_for_each(|board| fit::size(&sched, &board.machine))
                    .map_err(|e| told(node, &e))?;
                self.scheds.extend(sched);
            }
        }
        Ok(())
    }

    /// What is looked up before anything runs must not take hours itself.
    fn few(&self, node: &Node, checks: usize) -> FileResult<()> {
        match checks > MAX_CHECKS {
            false => Ok(()),
            true => Err(node
                .fault(format!("{checks} combinations to be looked up before anything runs"))
                .hint(format!("expected at most {MAX_CHECKS}: split the experiment"))),
        }
    }

    fn features(&mut self, axes: &Fields) -> FileResult<()> {
        let Some(node) = axes.get("features") else { return Ok(()) };
        let mut switches = Vec::new();
        for (name, node) in node.entries()? {
            feature(name, &node)?;
            let levels = listed(&node)?;
            let values = levels.iter().map(|level| level.boolean()).collect::<FileResult<Vec<bool>>>()?;
            let piece = |on: &bool| format!("{}{name}", if *on { '+' } else { '-' });
            let pieces: Vec<String> = values.iter().map(piece).collect();
            let levels = Levels::Listed(values.into_iter().map(Value::from).collect());
            switches.push((node.clone(), pieces.clone()));
            self.push(&node, Axis { name: name.into(), kind: Kind::Feature, way: None, levels, pieces })?;
        }
        self.switched(&switches)
    }

    /// A feature needs or excludes another: what holds for each two of them holds for all.
    fn switched(&self, switches: &[(Node, Vec<String>)]) -> FileResult<()> {
        let Some((first, _)) = switches.first() else { return Ok(()) };
        self.few(first, self.scheds.len() * 4 * switches.len() * switches.len())?;
        let (alone, both): (Vec<_>, Vec<_>) = switches.iter().partition(|(_, pieces)| pieces.len() == 1);
        let alone: String = alone.into_iter().flat_map(|(_, pieces)| pieces).map(String::as_str).collect();
        let parsed = |text: String, node: &Node| text.parse::<SchedSpec>().map(drop).map_err(|e| told(node, &e));
        for sched in &self.scheds {
            if sched.features().is_none() {
                let fault = first.fault_at_key(format!("{sched} is a kernel"));
                return Err(fault.hint("features are those of fair: schedulers; expected no others in `sched`"));
            }
            if both.len() < 2 {
                let last = both.first().map_or([""].map(String::from).to_vec(), |(_, pieces)| pieces.clone());
                last.iter().try_for_each(|piece| parsed(format!("{sched}{alone}{piece}"), first))?;
            }
            for (at, (node, pieces)) in both.iter().enumerate() {
                for other in both[..at].iter().flat_map(|(_, others)| others) {
                    pieces.iter().try_for_each(|piece| parsed(format!("{sched}{alone}{other}{piece}"), node))?;
                }
            }
        }
        Ok(())
    }

    fn options(&mut self, axes: &Fields) -> FileResult<()> {
        let Some(node) = axes.get("options") else { return Ok(()) };
        for (name, node) in node.entries()? {
            let (levels, nodes) = match is_range(&node) {
                true => {
                    let (range, ends) = range(&node, self.design, self.whole(name, &node)?)?;
                    (Levels::Range(range), ends.to_vec())
                }
                false => {
                    let nodes = listed(&node)?;
                    (Levels::Listed(nodes.iter().map(value).collect::<FileResult<_>>()?), nodes)
                }
            };
            let pieces: Vec<String> = nodes.iter().map(|level| piece(name, level)).collect::<FileResult<_>>()?;
            self.few(&node, self.boards.len() * self.works.len() * pieces.len())?;
            for (level, piece) in nodes.iter().zip(&pieces) {
                for (work, board) in self.works.iter().flat_map(|work| self.boards.iter().map(move |b| (work, b))) {
                    self.finder.runs(work, piece, board, level)?;
                }
            }
            let pieces = if is_range(&node) { Vec::new() } else { pieces };
            self.push(&node, Axis { name: name.into(), kind: Kind::Option, way: None, levels, pieces })?;
        }
        Ok(())
    }

    /// Whether an option that is to be drawn from a range takes whole numbers.
    fn whole(&self, name: &str, node: &Node) -> FileResult<bool> {
        let kinds = self.works.iter().filter_map(|work| {
            let builtin = Builtin::by_name(work.typed.split(':').next()?).filter(|_| work.file.is_none());
            let options: &[OptionInfo] = builtin.map_or(rtapp::FILE_OPTIONS, |b| b.options);
            Some(options.iter().find(|option| option.name == name)?.kind)
        });
        let wholes: Vec<Option<bool>> = kinds
            .map(|kind| match kind {
                OptionKind::Int { .. } | OptionKind::Cpu => Some(true),
                OptionKind::Decimal { .. } | OptionKind::List { .. } => Some(false),
                OptionKind::Flag | OptionKind::Choice(_) | OptionKind::Part { .. } => None,
            })
            .collect();
        match wholes.as_slice() {
            // That there is no such option is told with the first level.
            [] => Ok(false),
            [Some(first), others @ ..] if others.iter().all(|whole| *whole == Some(*first)) => Ok(*first),
            _ => Err(node.fault(format!("`{name}` takes no range of numbers")).hint("expected a list of levels")),
        }
    }

    fn figures(&mut self, axes: &Fields) -> FileResult<()> {
        let Some(node) = axes.get("figures") else { return Ok(()) };
        for (path, node) in node.entries()? {
            let fields = node.table(&["to", "times"])?;
            let (way, given) = match (fields.get("to"), fields.get("times")) {
                (Some(to), None) => (Way::To, to),
                (None, Some(times)) => (Way::Times, times),
                _ => {
                    return Err(node.fault("no levels").hint("expected `{ times = [0.7, 1.3] }` or `{ to = [1, 2] }`"))
                }
            };
            let (levels, nodes) = match is_range(&given) {
                true => {
                    let (range, ends) = range(&given, self.design, false)?;
                    (Levels::Range(range), ends.to_vec())
                }
                false => {
                    let nodes = listed(&given)?;
                    (Levels::Listed(nodes.iter().map(|n| Ok(number(n)?.into())).collect::<FileResult<_>>()?), nodes)
                }
            };
            self.few(&node, self.boards.len() * nodes.len())?;
            for board in &self.boards {
                figure(path, &node, board)?;
                for level in &nodes {
                    let (value, _) = level.number()?;
                    turned(&board.machine, path, way.by(value)).map_err(|e| told(level, &e))?;
                }
            }
            let (name, pieces) = (path.to_owned(), Vec::new());
            self.push(&node, Axis { name, kind: Kind::Figure, way: Some(way), levels, pieces })?;
        }
        Ok(())
    }

    fn circumstances(&mut self, axes: &Fields, fixed: &[(String, Value)]) -> FileResult<()> {
        let Some(node) = axes.get("circumstances") else { return Ok(()) };
        for (name, node) in node.entries()? {
            if fixed.iter().any(|(other, _)| other == name) {
                let fault = node.fault_at_key(format!("`{name}` is fixed and an axis"));
                return Err(fault.hint("expected it in [fixed.circumstances] or in [axes.circumstances]"));
            }
            let (levels, nodes) = match is_range(&node) {
                true => {
                    let (range, ends) = range(&node, self.design, ClampLimits::NAMES.contains(&name))?;
                    (Levels::Range(range), ends.to_vec())
                }
                false => {
                    let nodes = listed(&node)?;
                    (Levels::Listed(nodes.iter().map(value).collect::<FileResult<_>>()?), nodes)
                }
            };
            if is_range(&node) && ["hz", "governor", "idle_governor"].contains(&name) {
                return Err(node
                    .fault(format!("`{name}` takes no range of numbers"))
                    .hint("expected a list of levels"));
            }
            nodes.iter().try_for_each(|level| self.circumstance(name, level))?;
            let (name, pieces) = (name.to_owned(), Vec::new());
            self.push(&node, Axis { name, kind: Kind::Circumstance, way: None, levels, pieces })?;
        }
        Ok(())
    }

    fn circumstance(&self, name: &str, level: &Node) -> FileResult<()> {
        let mut circumstances = self.fixed;
        circumstances.set(name, &value(level)?).map_err(|e| told(level, &e))?;
        circumstances.consistent().map_err(|e| told(level, &e))?;
        let fits = |sched: &SchedSpec| fit::hz(std::slice::from_ref(sched), circumstances.hz).map(drop);
        self.scheds.iter().try_for_each(fits).map_err(|e| told(level, &e))
    }
}

/// A feature that is off or on.
fn feature(name: &str, node: &Node) -> FileResult<&'static FeatureInfo> {
    let all = fairground_fair::features();
    let Some(found) = all.iter().find(|feature| feature.name == name) else {
        let fault = node.fault_at_key(format!("unknown feature `{name}`"));
        return Err(fault.hint(near(name, all.iter().map(|f| f.name), "`fairground feature list` shows all features")));
    };
    if !found.values.is_empty() {
        let fault = node.fault_at_key(format!("feature `{name}` is none that is off or on"));
        let values = found.values.join(", ");
        return Err(fault.hint(format!("it has {values}: list schedulers, as fair:PRESET+{name}={}", found.values[0])));
    }
    Ok(found)
}

/// That a machine has a figure.
fn figure(path: &str, node: &Node, board: &Board) -> FileResult<()> {
    let machine = &board.machine;
    match machine.figures.iter().any(|figure| figure.path == path) {
        true => Ok(()),
        false => {
            let fault = node.fault_at_key(format!("machine {} has no figure `{path}`", machine.name));
            let all = format!("`fairground machine show {}` shows all figures", machine.name);
            Err(fault.hint(near(path, machine.figures.iter().map(|f| f.path.as_str()), &all)))
        }
    }
}

/// The nearest of names that are too many to list, and where they are listed.
fn near<'n>(name: &str, names: impl Iterator<Item = &'n str>, all: &str) -> String {
    // A name of unbounded length is nobody's typo.
    let nearest = if name.len() <= 64 { nearest(name, names) } else { None };
    match nearest {
        Some(near) => format!("did you mean `{near}`? {all}"),
        None => all.into(),
    }
}

/// What a level of an option adds to the workload's name.
fn piece(option: &str, level: &Node) -> FileResult<String> {
    Ok(match &level.tree.data {
        Data::Bool(false) => String::new(),
        Data::Bool(true) => option.into(),
        Data::Text(text) if text.contains(',') => {
            return Err(level.fault(format!("{text:?} is no value of an option")).hint("expected one without commas"));
        }
        Data::Text(text) => format!("{option}={text}"),
        Data::Int(value) => format!("{option}={value}"),
        _ => format!("{option}={}", number(level)?),
    })
}
