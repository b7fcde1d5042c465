//! The machine file, format 1: TOML to [`Machine`]. See `machines/README.md` for the format itself.

mod caches;
mod clocks;
mod costs;
mod figure;
mod groups;
mod node;
mod refit;
mod thermal;
mod topology;
mod tree;
mod types;
mod votes;
mod write;
mod write_caches;
mod write_power;

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::error::FileResult;
use crate::{suggest, Costs, Cpu, CpuMask, Machine, Perturbation, SourceClass};

use groups::Levels;
use node::{Fields, FigurePerturbation, File, Node};

/// TOML in which every value knows its place, for files of this kind: of machines, and of what is done with them.
pub mod places {
    pub use super::node::{Fields, File, Node};
    pub use super::tree::{Data, Entry, Tree};
    pub use crate::error::FileResult;
}

pub(crate) use refit::{refitted, restated};
pub(crate) use topology::show_slit;
pub(crate) use write::write;

/// The format this loader reads.
const FORMAT: u32 = 1;

const TOP_KEYS: [&str; 14] = [
    "format",
    "name",
    "title",
    "leaves_out",
    "sources",
    "topology",
    "cluster",
    "cpu_type",
    "freq_domain",
    "vote",
    "thermal",
    "cache",
    "refill",
    "costs",
];

/// Reads a machine from the text of a file called `file_name`.
pub(crate) fn load(file_name: &str, text: &str) -> FileResult<Machine> {
    Ok(load_turned(file_name, text, None)?.0)
}

/// The same with the factors of a draw, by path.
pub(crate) fn load_drawn(file_name: &str, text: &str, factors: &BTreeMap<String, f64>) -> FileResult<Machine> {
    read_file(&mut File { drawn: Some(factors), ..File::new(file_name, text) })
}

/// The same with one figure turned; and whether there is such a magnitude.
pub(crate) fn load_turned(
    file_name: &str,
    text: &str,
    turn: Option<(&str, Perturbation)>,
) -> FileResult<(Machine, bool)> {
    let turn = turn.map(|(path, turn)| FigurePerturbation { path, turn, met: Cell::new(false) });
    let mut file = File { turn, ..File::new(file_name, text) };
    let machine = read_file(&mut file)?;
    Ok((machine, file.turn.is_some_and(|turn| turn.met.get())))
}

/// A machine, and the line, from 1, of each of its figures by path.
pub(crate) fn load_with_lines(file_name: &str, text: &str) -> FileResult<(Machine, BTreeMap<String, usize>)> {
    let mut file = File::new(file_name, text);
    let machine = read_file(&mut file)?;
    let line = |offset: usize| text.as_bytes()[..offset.min(text.len())].iter().filter(|b| **b == b'\n').count() + 1;
    let paths = machine.figures.iter().map(|figure| figure.path.clone());
    let lines = paths.zip(file.offsets.into_inner().into_iter().map(line)).collect();
    Ok((machine, lines))
}

fn read_file(file: &mut File) -> FileResult<Machine> {
    let tree = tree::Tree::parse(file.name, file.text)?;
    require_format(&Node::root(file, &tree))?;
    file.sources = read_sources(&Node::root(file, &tree).table(&TOP_KEYS)?)?;
    let mut machine = read_machine(&Node::root(file, &tree).table(&TOP_KEYS)?)?;
    machine.figures = file.figures.take();
    Ok(machine)
}

/// Another format may have other keys, so this comes before anything else is judged.
fn require_format(root: &Node) -> FileResult<()> {
    let format = root.entries()?.into_iter().find(|(key, _)| *key == "format");
    let Some((_, node)) = format else {
        return Err(root
            .fault_at_key("missing key `format`")
            .hint(format!("a machine file begins with `format = {FORMAT}`")));
    };
    node.integer(0, u32::MAX).and_then(|version| match version {
        FORMAT => Ok(()),
        _ => {
            Err(node.fault(format!("unsupported format {version}")).hint(format!("this program reads format {FORMAT}")))
        }
    })
}

/// `[sources]`: `tag = "what it stands for"`, or `tag = { text = "...", class = "declared" }`.
fn read_sources(top: &Fields) -> FileResult<BTreeMap<String, (SourceClass, String)>> {
    let Some(node) = top.get("sources") else { return Ok(BTreeMap::new()) };
    let mut sources = BTreeMap::new();
    for (tag, value) in node.entries()? {
        if tag == "estimate" || tag == "fitted" || tag.contains(':') || tag.trim() != tag || tag.is_empty() {
            return Err(value.fault_at_key(format!("`{tag}` cannot be a source tag")).hint(
                "`estimate` and `fitted` have meanings of their own; a tag has no colon and no space around it",
            ));
        }
        sources.insert(tag.to_string(), read_cited(&value)?);
    }
    Ok(sources)
}

fn read_cited(node: &Node) -> FileResult<(SourceClass, String)> {
    if let tree::Data::Text(text) = &node.tree.data {
        return Ok((SourceClass::UNSTATED, text.clone()));
    }
    if !matches!(node.tree.data, tree::Data::Table(_)) {
        return Err(node
            .wrong_type("a string or a table")
            .hint("expected `\"...\"` or `{ text = \"...\", class = \"...\" }`"));
    }
    let fields = node.table(&["text", "class"])?;
    let class = fields.need("class")?;
    let word = class.text()?;
    let found = SourceClass::ALL.into_iter().find(|known| known.name() == word);
    let names = SourceClass::ALL.map(SourceClass::name);
    let found = found.ok_or_else(|| class.fault(format!("unknown class `{word}`")).hint(suggest(word, names)))?;
    Ok((found, fields.need("text")?.text()?.to_string()))
}

fn read_machine(top: &Fields) -> FileResult<Machine> {
    let name = read_name(&top.need("name")?)?;
    let title = top.need("title")?.text()?.to_string();
    let leaves_out = top.get("leaves_out").map_or(Ok(""), |node| node.text())?.to_string();
    let (mut levels, numa) = topology::read(&top.need("topology")?)?;
    let clusters = topology::read_clusters(&top.need("cluster")?, &mut levels)?;
    let clocks = clocks::read(&top.need("freq_domain")?, &levels)?;
    let votes = top.get("vote").map_or(Ok(Vec::new()), |node| votes::read(&node, &levels, &clocks.domains))?;
    let thermal = top.get("thermal").map(|node| thermal::read(&node, &levels, &clocks.domains)).transpose()?;
    let types = types::read(&top.need("cpu_type")?, &levels, &clocks)?;
    let cpus: Vec<Cpu> = (0..levels.n_cpus).map(|i| cpu(i, &levels, &clocks, &types)).collect();
    let groups = |level: &str| -> Vec<CpuMask> { levels.level(level).groups.clone() };
    let mut machine = Machine {
        name,
        title,
        leaves_out,
        cpus,
        cpu_types: types.types,
        cores: groups("core"),
        clusters,
        llcs: groups("llc"),
        packages: groups("package"),
        nodes: groups("node"),
        numa_distance: numa.slit,
        node_reclaim_distance: numa.reclaim_distance,
        freq_domains: clocks.domains,
        votes,
        thermal,
        caches: None,
        costs: Costs::free(),
        figures: Vec::new(),
    };
    let occurring = machine.distances();
    machine.caches = caches::read(top, &levels, &occurring)?;
    machine.costs = costs::read(&top.need("costs")?, &occurring)?;
    Ok(machine)
}

fn cpu(i: usize, levels: &Levels, clocks: &clocks::Clocks, types: &types::Types) -> Cpu {
    let of = |level: &str| levels.level(level).of[i];
    Cpu {
        id: i as u32,
        core: of("core"),
        cluster: of("cluster"),
        llc: of("llc"),
        package: of("package"),
        node: of("node"),
        freq_domain: clocks.level.of[i],
        cpu_type: types.of[i],
        capacity: types.capacities[i],
    }
}

/// Names are typed on command lines and used in file names.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

fn read_name(node: &Node) -> FileResult<String> {
    let name = node.text()?;
    if !is_name(name) {
        return Err(node
            .fault(format!("`{name}` is not a valid name"))
            .hint("expected letters, digits, `-`, `_` and `.`"));
    }
    Ok(name.to_string())
}
