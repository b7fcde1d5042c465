//! The experiment file, section by section.

use std::collections::BTreeMap;
use std::path::Path;

use fairground_machine::places::{Fields, File, FileResult, Node, Tree};
use fairground_machine::FileError;
use serde_json::Value;

use super::axes::called;
use super::levels::{listed, value};
use super::lookup::{fault_at, Board, Finder, Work};
use super::{Axis, Design, Kind, Levels, SweepFile};
use crate::kernel_compat;
use crate::run_config::RunConfig;
use crate::run_spec::Inputs;
use crate::sched_spec::SchedSpec;

/// Largest number of runs at each point.
const MAX_SEEDS: u32 = 1_000_000;
/// Most points of a draw, which are kept in memory; those of a grid are not.
const MAX_POINTS: u32 = 65_536;
/// Most combinations that are checked before any run.
const MAX_CHECKS: usize = 100_000;
/// Columns of tables that are not axes.
const TAKEN: [&str; 2] = ["seed", "hash"];

const DESIGNS: [(&str, Design); 4] =
    [("grid", Design::Grid), ("random", Design::Random), ("sobol", Design::Sobol), ("saltelli", Design::Saltelli)];

/// A sweep that is being read.
pub(super) struct Reader<'a> {
    pub finder: Finder<'a>,
    pub design: Design,
    pub axes: Vec<Axis>,
    pub boards: Vec<Board>,
    pub works: Vec<Work>,
    pub scheds: Vec<SchedSpec>,
    /// The settings that do not vary.
    pub fixed: RunConfig,
}

pub(super) fn sweep_file(name: &str, text: &str, dir: &Path, inputs: Inputs) -> Result<SweepFile, Box<FileError>> {
    let tree = Tree::parse(name, text)?;
    let file = File::new(name, text);
    let root = Node::root(&file, &tree);
    let top = root.table(&["experiment", "fixed", "axes"])?;
    let head = top.need("experiment")?.table(&["name", "seeds", "design", "points", "draw"])?;
    let design = design(&head)?;
    let mut reader = Reader {
        finder: Finder::new(dir, inputs),
        design,
        axes: Vec::new(),
        boards: Vec::new(),
        works: Vec::new(),
        scheds: Vec::new(),
        fixed: RunConfig::default(),
    };
    let fixed_keys = ["machine", "workload", "sched", "settings"];
    let fixed = top.get("fixed").map(|node| section(&node, &fixed_keys)).transpose()?;
    let axes_keys = ["machine", "workload", "sched", "features", "options", "figures", "settings"];
    let axes = section(&top.need("axes")?, &axes_keys)?;
    let settings = reader.fixed_settings(fixed.as_ref())?;
    let alone = reader.named(fixed.as_ref(), &axes)?;
    reader.features(&axes)?;
    reader.options(&axes)?;
    reader.figures(&axes)?;
    reader.settings(&axes, &settings)?;
    reader.uncrossed(fixed.as_ref(), &axes)?;
    if reader.axes.is_empty() {
        let fault = axes.table.fault("nothing varies");
        return Err(fault.hint("expected one axis or more; `fairground run` makes single runs"));
    }
    Ok(SweepFile {
        name: label(&head.need("name")?)?,
        design,
        points: points(&head, design)?,
        draw: head.get("draw").map_or(Ok(1), |node| node.integer(0, u32::MAX))?,
        seeds: head.get("seeds").map_or(Ok(8), |node| node.integer(1, MAX_SEEDS))?,
        fixed: alone,
        settings,
        axes: reader.axes,
        inputs: reader.finder.inputs,
    })
}

/// A table with the keys `known`. The key `settings` was `circumstances` before.
fn section<'a>(table: &Node<'a>, known: &[&'static str]) -> FileResult<Fields<'a>> {
    match table.entries()?.iter().find(|(key, _)| *key == "circumstances") {
        Some((key, node)) => {
            let fault = node.fault_at_key(format!("unknown key `{key}`"));
            Err(fault.hint("the key is called `settings`"))
        }
        None => table.table(known),
    }
}

/// Names of sweeps are used in file names.
fn label(node: &Node) -> FileResult<String> {
    let name = node.text()?;
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    match !name.is_empty() && !name.starts_with('.') && name.len() <= 64 && name.bytes().all(fits) {
        true => Ok(name.into()),
        false => {
            let fault = node.fault(format!("{name:?} is not a valid name"));
            Err(fault.hint("expected letters, digits, `-`, `_` and `.`, up to 64, the first not a `.`"))
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
    let points = node.integer(1, MAX_POINTS)?;
    if design != Design::Random && !points.is_power_of_two() {
        let (below, above) = (points.next_power_of_two() / 2, points.next_power_of_two());
        let fault = node.fault(format!("{points} points of a sequence that is even at powers of two"));
        return Err(fault.hint(format!("expected {below} or {above}")));
    }
    Ok(Some(points))
}

impl Reader<'_> {
    pub fn push(&mut self, node: &Node, axis: Axis) -> FileResult<()> {
        if TAKEN.contains(&axis.name.as_str()) || self.axes.iter().any(|other| other.name == axis.name) {
            let fault = node.fault_at_key(format!("a second column `{}`", axis.name));
            return Err(fault.hint("axes are columns of one table: expected one of each name"));
        }
        self.axes.push(axis);
        Ok(())
    }

    fn fixed_settings(&mut self, fixed: Option<&Fields>) -> FileResult<Vec<(String, Value)>> {
        let Some(node) = fixed.and_then(|fixed| fixed.get("settings")) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for (name, node) in node.entries()? {
            called(name, &node)?;
            let value = value(&node)?;
            self.fixed.set(name, &value).map_err(|e| fault_at(&node, &e))?;
            found.push((name.to_owned(), value));
        }
        Ok(found)
    }

    /// Machines, workloads and schedulers: each is fixed or an axis.
    fn named(&mut self, fixed: Option<&Fields>, axes: &Fields) -> FileResult<BTreeMap<&'static str, String>> {
        let mut alone = BTreeMap::new();
        for (key, kind) in [("machine", Kind::Machine), ("workload", Kind::Workload), ("sched", Kind::Sched)] {
            let nodes = match (fixed.and_then(|fixed| fixed.get(key)), axes.get(key)) {
                (Some(value), None) => {
                    alone.insert(key, value.text()?.to_owned());
                    vec![value]
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
                    return Err(fault.hint("expected it in [fixed] or in [axes]"));
                }
                (None, None) => {
                    let fault = axes.table.fault(format!("no `{key}`"));
                    let help =
                        format!("expected `{key} = \"NAME\"` in [fixed], or `{key} = [\"NAME\", ...]` in [axes]");
                    return Err(fault.hint(help));
                }
            };
            nodes.iter().try_for_each(|node| self.look_up(kind, node))?;
        }
        Ok(alone)
    }

    /// Looks up one kind, in the order machine, workload, scheduler: each must fit those before.
    fn look_up(&mut self, kind: Kind, node: &Node) -> FileResult<()> {
        match kind {
            Kind::Machine => {
                let board = self.finder.machine(node)?;
                self.fixed.has_clocks(&board.machine).map_err(|e| fault_at(node, &e))?;
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
                kernel_compat::hz(&sched, self.fixed.hz).map_err(|e| fault_at(node, &e))?;
                self.boards
                    .iter()
                    .try_for_each(|board| kernel_compat::size(&sched, &board.machine))
                    .map_err(|e| fault_at(node, &e))?;
                self.scheds.extend(sched);
            }
        }
        Ok(())
    }

    /// Limits the number of combinations to check, which would take hours otherwise.
    pub fn few(&self, node: &Node, checks: usize) -> FileResult<()> {
        match checks > MAX_CHECKS {
            false => Ok(()),
            true => Err(node
                .fault(format!("{checks} combinations to be looked up before anything runs"))
                .hint(format!("expected at most {MAX_CHECKS}: split the experiment"))),
        }
    }
}
