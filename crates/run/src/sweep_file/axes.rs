//! The axes of an experiment file: features, options, figures and settings, each looked up as it is read.

use fairground_fair::FeatureInfo;
use fairground_machine::places::{Data, Fields, FileResult, Node};
use fairground_machine::{nearest, FileError};
use fairground_sim::ClampLimits;
use fairground_workload::{rtapp, Builtin, OptionInfo, OptionKind};
use serde_json::Value;

use super::levels::{is_range, levels, listed, number, value};
use super::lookup::{fault_at, Board};
use super::read::Reader;
use super::{Axis, Kind, Levels, Way};
use crate::kernel_compat;
use crate::run_spec::perturbed;
use crate::sched_spec::SchedSpec;

impl Reader<'_> {
    pub(super) fn features(&mut self, axes: &Fields) -> FileResult<()> {
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

    /// Checks features that need or exclude others: if each two go together, all do.
    fn switched(&self, switches: &[(Node, Vec<String>)]) -> FileResult<()> {
        let Some((first, _)) = switches.first() else { return Ok(()) };
        self.few(first, self.scheds.len() * 4 * switches.len() * switches.len())?;
        let (alone, both): (Vec<_>, Vec<_>) = switches.iter().partition(|(_, pieces)| pieces.len() == 1);
        let alone: String = alone.into_iter().flat_map(|(_, pieces)| pieces).map(String::as_str).collect();
        let parsed = |text: String, node: &Node| text.parse::<SchedSpec>().map(drop).map_err(|e| fault_at(node, &e));
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

    pub(super) fn options(&mut self, axes: &Fields) -> FileResult<()> {
        let Some(node) = axes.get("options") else { return Ok(()) };
        for (name, node) in node.entries()? {
            let whole = is_range(&node) && self.whole(name, &node)?;
            let (levels, nodes) = levels(&node, self.design, whole)?;
            let pieces: Vec<String> = nodes.iter().map(|level| piece(name, level)).collect::<FileResult<_>>()?;
            self.few(&node, self.boards.len() * self.works.len() * pieces.len())?;
            for (level, piece) in nodes.iter().zip(&pieces) {
                for (work, board) in self.works.iter().flat_map(|work| self.boards.iter().map(move |b| (work, b))) {
                    // A flag that is off adds nothing to the name; check that there is such a flag.
                    let asked = if piece.is_empty() { name } else { piece };
                    self.finder.runs(work, asked, board, level)?;
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
            // The first level reports an unknown option.
            [] => Ok(false),
            [Some(first), others @ ..] if others.iter().all(|whole| *whole == Some(*first)) => Ok(*first),
            _ => Err(no_range(name, node)),
        }
    }

    pub(super) fn figures(&mut self, axes: &Fields) -> FileResult<()> {
        let Some(node) = axes.get("figures") else { return Ok(()) };
        for (path, node) in node.entries()? {
            self.boards.iter().try_for_each(|board| figure(path, &node, board))?;
            let fields = node.table(&["to", "times"])?;
            let (way, given) = match (fields.get("to"), fields.get("times")) {
                (Some(to), None) => (Way::To, to),
                (None, Some(times)) => (Way::Times, times),
                _ => {
                    return Err(node.fault("no levels").hint("expected `{ times = [0.7, 1.3] }` or `{ to = [1, 2] }`"))
                }
            };
            let (levels, nodes) = levels(&given, self.design, false)?;
            // If bounds and orders between figures hold for two values, they hold for all values between them.
            for (value, level) in least_and_greatest(&nodes)? {
                for board in &self.boards {
                    perturbed(&board.machine, path, way.by(value)).map_err(|e| fault_at(level, &e))?;
                }
            }
            let (name, pieces) = (path.to_owned(), Vec::new());
            self.push(&node, Axis { name, kind: Kind::Figure, way: Some(way), levels, pieces })?;
        }
        Ok(())
    }

    pub(super) fn settings(&mut self, axes: &Fields, fixed: &[(String, Value)]) -> FileResult<()> {
        let Some(node) = axes.get("settings") else { return Ok(()) };
        for (name, node) in node.entries()? {
            called(name, &node)?;
            if fixed.iter().any(|(other, _)| other == name) {
                let fault = node.fault_at_key(format!("`{name}` is fixed and an axis"));
                return Err(fault.hint("expected it in [fixed.settings] or in [axes.settings]"));
            }
            if is_range(&node) && WORDS.contains(&name) {
                return Err(no_range(name, &node));
            }
            let (levels, nodes) = levels(&node, self.design, name == "draw" || ClampLimits::NAMES.contains(&name))?;
            nodes.iter().try_for_each(|level| self.setting(name, level))?;
            let (name, pieces) = (name.to_owned(), Vec::new());
            self.push(&node, Axis { name, kind: Kind::Setting, way: None, levels, pieces })?;
        }
        Ok(())
    }

    fn setting(&self, name: &str, level: &Node) -> FileResult<()> {
        let mut config = self.fixed;
        config.set(name, &value(level)?).map_err(|e| fault_at(level, &e))?;
        self.boards.iter().try_for_each(|board| config.has_clocks(&board.machine)).map_err(|e| fault_at(level, &e))?;
        let fits = |sched: &SchedSpec| kernel_compat::hz(std::slice::from_ref(sched), config.hz).map(drop);
        self.scheds.iter().try_for_each(fits).map_err(|e| fault_at(level, &e))
    }

    /// Refuses a lower limit of clamps above the upper limit: each level of one must go with each level of the other.
    pub(super) fn uncrossed(&self, fixed: Option<&Fields>, axes: &Fields) -> FileResult<()> {
        let [min, max, _] = ClampLimits::NAMES;
        let greatest = self.limits(axes, min)?.into_iter().max_by_key(|(value, _)| *value);
        let least = self.limits(axes, max)?.into_iter().min_by_key(|(value, _)| *value);
        let mut worst = self.fixed;
        worst.clamps.min = greatest.as_ref().map_or(worst.clamps.min, |(value, _)| *value);
        worst.clamps.max = least.as_ref().map_or(worst.clamps.max, |(value, _)| *value);
        let Err(crossed) = worst.consistent() else { return Ok(()) };
        let section = fixed.and_then(|fixed| fixed.get("settings"));
        let place = least.or(greatest).map(|(_, level)| level).or(section).unwrap_or_else(|| axes.table.clone());
        let help =
            format!("expected every `{min}` at or below every `{max}`: each goes with each, unset ones are 1024");
        Err(place.fault(crossed.to_string()).hint(help))
    }

    /// The levels of a limit of clamps, or the ends of its range; empty if it is not an axis.
    fn limits<'n>(&self, axes: &Fields<'n>, name: &str) -> FileResult<Vec<(u16, Node<'n>)>> {
        let Some(node) = axes.get("settings") else { return Ok(Vec::new()) };
        let Some((_, axis)) = node.entries()?.into_iter().find(|(other, _)| *other == name) else {
            return Ok(Vec::new());
        };
        let (_, nodes) = levels(&axis, self.design, true)?;
        nodes.into_iter().map(|level| Ok((level.integer(0, 1024)? as u16, level))).collect()
    }
}

/// Settings that take one of a few values.
const WORDS: [&str; 3] = ["hz", "governor", "idle_governor"];

/// Refuses the long name of a limit of clamps: with two names, one limit could be two axes.
pub(super) fn called(name: &str, node: &Node) -> FileResult<()> {
    match name.strip_prefix("kernel.").filter(|bare| ClampLimits::NAMES.contains(bare)) {
        Some(bare) => Err(node.fault_at_key(format!("`{name}` is called `{bare}` here"))),
        None => Ok(()),
    }
}

fn no_range(name: &str, node: &Node) -> Box<FileError> {
    node.fault(format!("`{name}` takes no range of numbers")).hint("expected a list of levels")
}

/// A feature that is off or on.
fn feature(name: &str, node: &Node) -> FileResult<&'static FeatureInfo> {
    let all = fairground_fair::features();
    let Some(found) = all.iter().find(|feature| feature.name == name) else {
        let fault = node.fault_at_key(format!("unknown feature `{name}`"));
        return Err(fault.hint(near(name, all.iter().map(|f| f.name), "`fairground feature list` shows all features")));
    };
    if !found.values.is_empty() {
        let fault = node.fault_at_key(format!("feature `{name}` is not a switch"));
        let values = found.values.join(", ");
        return Err(fault.hint(format!("it has {values}: list schedulers, as fair:PRESET+{name}={}", found.values[0])));
    }
    Ok(found)
}

/// Checks that a machine has a figure.
fn figure(path: &str, node: &Node, board: &Board) -> FileResult<()> {
    let machine = &board.machine;
    match machine.figures.iter().any(|figure| figure.path == path) {
        true => Ok(()),
        false => {
            let fault = node.fault_at_key(format!("machine {} has no figure `{path}`", machine.name));
            let all = format!("`fairground machine show {}` shows all; a path is one key, in quotes", machine.name);
            Err(fault.hint(near(path, machine.figures.iter().map(|f| f.path.as_str()), &all)))
        }
    }
}

/// The least and the greatest level of figures, which are zero or more.
fn least_and_greatest<'n, 'a>(nodes: &'n [Node<'a>]) -> FileResult<Vec<(f64, &'n Node<'a>)>> {
    let mut levels = nodes.iter().map(|node| Ok((node.number()?.0, node))).collect::<FileResult<Vec<_>>>()?;
    levels.sort_by(|a, b| a.0.total_cmp(&b.0));
    levels.drain(1..levels.len().max(2) - 1);
    Ok(levels)
}

/// A hint with the nearest name, if there is one, and where all names are listed.
fn near<'n>(name: &str, names: impl Iterator<Item = &'n str>, all: &str) -> String {
    match nearest(name, names) {
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
            return Err(level.fault(format!("{text:?} contains a comma")).hint("expected a value without commas"));
        }
        Data::Text(text) => format!("{option}={text}"),
        Data::Int(value) => format!("{option}={value}"),
        _ => format!("{option}={}", number(level)?),
    })
}
