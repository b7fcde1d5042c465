//! The matrix of a review: machines and workloads, cell by cell.
//!
//! A file has blocks; each is all its workloads on all its machines with some settings. `full.toml` and `quick.toml` beside this file
//! are such files; docs/review.md says why they hold what they hold.

use std::path::Path;

use fairground_machine::places::{Fields, File, FileResult, Node, Tree};
use fairground_machine::{suggest, FileError};
use fairground_run::run_config::{RunConfig, SETTINGS};
use miette::Diagnostic;
use serde_json::Value;
use thiserror::Error;

/// Most cells of a matrix, and most seeds.
const MOST: u32 = 100_000;

/// A machine, a workload and settings.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Name of the machine, as `fairground run` takes it.
    pub machine: String,
    /// Name of the workload, as `fairground run` takes it.
    pub workload: String,
    /// Settings of runs.
    pub config: RunConfig,
    /// Those that the block names, as options: `--governor schedutil`.
    pub options: Vec<String>,
    /// Metrics that are judged; `None`: the usual ones of a review.
    pub metrics: Option<Vec<String>>,
}

impl Cell {
    /// The cell in one line: machine, workload and options.
    pub fn name(&self) -> String {
        let words = [&[self.machine.clone(), self.workload.clone()], self.options.as_slice()].concat();
        words.join(" ")
    }
}

/// Cells, and how often each is run.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// `full`, `quick`, or the name of a file.
    pub name: String,
    /// Pairs of runs of each cell.
    pub seeds: u64,
    /// The first seed; the others follow.
    pub first_seed: u64,
    /// Draws of the figures in doubt, for cells that change.
    pub draws: u64,
    /// All cells, block by block, machine by machine.
    pub cells: Vec<Cell>,
}

/// A matrix cannot be read.
#[derive(Debug, Error, Diagnostic)]
pub enum MatrixError {
    /// The file cannot be read.
    #[error("cannot read {path}: {cause}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        cause: String,
    },
    /// Its text is not a matrix.
    #[error(transparent)]
    #[diagnostic(transparent)]
    File(#[from] Box<FileError>),
}

impl Matrix {
    /// The default: all kinds of machines and loads.
    ///
    /// # Errors
    /// None: tests read it.
    pub fn full() -> Result<Matrix, MatrixError> {
        Ok(parse("full", include_str!("matrix/full.toml"))?)
    }

    /// Four machines and four workloads, for minutes.
    ///
    /// # Errors
    /// None: tests read it.
    pub fn quick() -> Result<Matrix, MatrixError> {
        Ok(parse("quick", include_str!("matrix/quick.toml"))?)
    }

    /// The matrix that a file describes (`--matrix`).
    ///
    /// # Errors
    /// If it cannot be read, or with file, line and key if it is not a matrix.
    pub fn load(path: &Path) -> Result<Matrix, MatrixError> {
        let name = path.display().to_string();
        let read = |e: std::io::Error| MatrixError::Read { path: name.clone(), cause: e.to_string() };
        let text = std::fs::read_to_string(path).map_err(read)?;
        Ok(parse(&name, &text)?)
    }

    /// The machines, without duplicates, in order.
    pub fn machines(&self) -> Vec<&str> {
        distinct(self.cells.iter().map(|cell| cell.machine.as_str()))
    }

    /// The workloads, without duplicates, in order.
    pub fn workloads(&self) -> Vec<&str> {
        distinct(self.cells.iter().map(|cell| cell.workload.as_str()))
    }
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

fn parse(name: &str, text: &str) -> FileResult<Matrix> {
    let tree = Tree::parse(name, text)?;
    let file = File::new(name, text);
    let root = Node::root(&file, &tree);
    let top = root.table(&["seeds", "draws", "block"])?;
    let seeds = top.get("seeds").map_or(Ok(16), |node| node.integer(1, MOST))?;
    let draws = top.get("draws").map_or(Ok(20), |node| node.integer(0, MOST))?;
    let mut cells = Vec::new();
    for block in top.need("block")?.elements()? {
        add_block(&mut cells, &block)?;
    }
    if cells.is_empty() {
        return Err(root.fault("no cell").hint("expected a [[block]] with machines and workloads"));
    }
    Ok(Matrix { name: name.into(), seeds: seeds.into(), first_seed: 1, draws: draws.into(), cells })
}

fn add_block(cells: &mut Vec<Cell>, block: &Node) -> FileResult<()> {
    let block = block.table(&["machines", "workloads", "settings", "metrics"])?;
    let machines = words(&block, "machines")?;
    let workloads = words(&block, "workloads")?;
    let metrics = block.get("metrics").is_some().then(|| words(&block, "metrics")).transpose()?;
    let (mut config, mut options) = (RunConfig::default(), Vec::new());
    if let Some(settings) = block.get("settings") {
        for (name, node) in settings.entries()? {
            let value = setting(&node)?;
            config.set(name, &value).map_err(|error| {
                let known = SETTINGS.iter().any(|setting| setting.name == name);
                let help = if known { error.help } else { suggest(name, SETTINGS.iter().map(|setting| setting.name)) };
                node.fault_at_key(error.problem).hint(help)
            })?;
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            options.extend(typed(name, &text));
        }
    }
    if (cells.len() + machines.len() * workloads.len()) as u64 > MOST.into() {
        return Err(block.table.fault(format!("more than {MOST} cells")));
    }
    for machine in &machines {
        for workload in &workloads {
            let (machine, workload) = (machine.clone(), workload.clone());
            cells.push(Cell { machine, workload, config, options: options.clone(), metrics: metrics.clone() });
        }
    }
    Ok(())
}

/// A setting as options of the command.
pub(crate) fn typed(name: &str, value: &str) -> Vec<String> {
    match SETTINGS.iter().find(|setting| setting.name == name).is_some_and(|setting| setting.is_sysctl()) {
        true => vec!["--sysctl".into(), format!("{name}={value}")],
        false => vec![format!("--{}", name.replace('_', "-")), value.into()],
    }
}

fn setting(node: &Node) -> FileResult<Value> {
    match node.tree.kind() {
        "a string" => Ok(node.text()?.into()),
        _ => Ok(node.integer(0, u32::MAX)?.into()),
    }
}

fn words(block: &Fields, key: &str) -> FileResult<Vec<String>> {
    let node = block.need(key)?;
    let words: Vec<String> =
        node.elements()?.iter().map(|node| Ok(node.text()?.to_owned())).collect::<FileResult<_>>()?;
    match words.is_empty() {
        true => Err(node.fault(format!("`{key}` is empty")).hint("expected a name or several")),
        false => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let error = MatrixError::from(parse("m.toml", text).unwrap_err());
        let help = error.help().map(|help| help.to_string()).unwrap_or_default();
        format!("{error}; {help}")
    }

    #[test]
    fn the_matrices_of_the_program_name_machines_and_workloads_that_exist() {
        for matrix in [Matrix::full().unwrap(), Matrix::quick().unwrap()] {
            for cell in &matrix.cells {
                let (machine, cpus) = fairground_machine::MachineSpec::parse(&cell.machine).find().unwrap();
                let (workload, warnings) =
                    fairground_workload::Workload::find_bound(&cell.workload, &machine, cpus.as_ref()).unwrap();
                assert!(warnings.is_empty(), "{}", cell.name());
                let known = fairground_run::metrics::metrics(&workload, &machine);
                for name in cell.metrics.iter().flatten() {
                    assert!(known.iter().any(|metric| metric.name == *name), "{}: {name}", cell.name());
                }
            }
        }
        let quick = Matrix::quick().unwrap();
        assert_eq!((quick.machines().len(), quick.workloads().len()), (4, 4));
    }

    #[test]
    fn a_block_is_all_workloads_on_all_machines() {
        let text = "seeds = 3\n[[block]]\nmachines = [\"a\", \"b\"]\nworkloads = [\"x\"]\n\
                    settings = { governor = \"schedutil\", hz = 1000, sched_util_clamp_min = 7 }\n";
        let matrix = parse("m.toml", text).unwrap();
        let names: Vec<String> = matrix.cells.iter().map(Cell::name).collect();
        assert_eq!(names[1], "b x --governor schedutil --hz 1000 --sysctl sched_util_clamp_min=7");
        assert_eq!((names.len(), matrix.seeds, matrix.cells[0].config.hz), (2, 3, Some(1000)));
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let block = "[[block]]\nmachines = [\"a\"]\nworkloads = [\"x\"]\n";
        assert!(refused(&format!("seed = 3\n{block}")).contains("unknown key `seed`"), "{}", refused("seed = 3"));
        assert!(refused("seeds = 3").contains("block"));
        assert!(refused("[[block]]\nmachines = [\"a\"]\nworkloads = []\n").contains("`workloads` is empty"));
        let governor = refused(&format!("{block}settings = {{ governer = \"schedutil\" }}\n"));
        assert!(governor.contains("governor"), "{governor}");
    }
}
