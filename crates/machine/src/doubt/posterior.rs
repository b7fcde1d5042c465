//! What published base cells make of the doubt of a preset: draws of its figures that all count the same, as data.
//!
//! A file `machines/posterior/NAME.tsv` has a head of lines `# KEY: TEXT`, a line of names, and a line for each draw: by
//! how many standard deviations each name is off in it, with tabs between. Names are paths of figures, and what
//! figures share. `fairground calibrate machines/NAME.toml --posterior --write` makes it.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_128;

use super::Draw;
use crate::error::{FileError, FileResult};
use crate::{suggest_from, Machine, MachineError, Source};

include!(concat!(env!("OUT_DIR"), "/posteriors.rs"));

/// The least effective number of draws that a posterior may have.
pub const EFFECTIVE_MIN: f64 = 100.0;

/// More standard deviations than a draw can be off: of normal numbers none in 10^15 is.
const DEVIATION_MAX: f64 = 8.0;

/// Draws of what is in doubt of a preset, weighed by base cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Posterior {
    /// Hash of the figures that it is for ([`Machine::figures_hash`]).
    pub figures: String,
    /// Number of base cells that weigh it.
    pub cells: usize,
    /// How many independent draws tell as much.
    pub effective: f64,
    /// Place of each name in a row.
    names: BTreeMap<String, usize>,
    /// Deviations by row and place.
    rows: Vec<Vec<f64>>,
}

/// Keys of the head that a reader needs; others are for people.
const KEYS: [&str; 4] = ["machine", "figures", "effective", "cell"];

impl Posterior {
    /// The text of the posterior of a preset that comes with the program.
    pub fn recorded_text(name: &str) -> Option<&'static str> {
        POSTERIORS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// The posterior of the preset that has this machine's name, whether or not it is for these figures.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn recorded(machine: &Machine) -> Result<Option<Posterior>, MachineError> {
        let Some(text) = Posterior::recorded_text(&machine.name) else { return Ok(None) };
        Ok(Some(Posterior::parse(&format!("machines/posterior/{}.tsv", machine.name), text, &machine.name)?))
    }

    /// Reads the posterior of the machine called `machine`; `file` stands for the file in errors.
    ///
    /// # Errors
    /// The first fault, with its place.
    pub fn parse(file: &str, text: &str, machine: &str) -> FileResult<Posterior> {
        Reader { file, text }.posterior(machine)
    }

    /// Number of draws, each of which counts the same.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether it has no draw: never, a file has one at least.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The names that it has.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    /// How many standard deviations the thing called `name` is off in a draw: that of its row, draw 1 the first, after
    /// the last the first again; none in draw 0, or if the posterior does not have the name.
    pub fn deviation(&self, draw: Draw, name: &str) -> Option<f64> {
        let row = draw.0.checked_sub(1)? % self.rows.len() as u64;
        Some(self.rows[row as usize][*self.names.get(name)?])
    }
}

impl Machine {
    /// Hash of all that draws depend on, 32 hex digits: values, classes of sources, spreads. Texts of sources and comments
    /// do not count.
    pub fn figures_hash(&self) -> String {
        let mut bare = self.clone();
        bare.title.clear();
        bare.leaves_out.clear();
        for figure in &mut bare.figures {
            figure.source = match &figure.source {
                Source::Published(class, _) => Source::Published(*class, "source".into()),
                Source::Estimate(_) => Source::Estimate(String::new()),
                Source::Fitted(_) => Source::Fitted("cell".into()),
            };
        }
        // What is stated, and what the tables of this module make of it.
        let mut text = bare.to_toml();
        bare.figures.sort_by(|a, b| a.path.cmp(&b.path));
        for figure in &bare.figures {
            let doubt = figure.doubt_before_fits();
            text += &format!("{} {} {:?} {}\n", figure.path, doubt.spread, doubt.shares, doubt.common);
        }
        format!("{:032x}", xxh3_128(text.as_bytes()))
    }
}

/// A file that is read.
struct Reader<'a> {
    file: &'a str,
    text: &'a str,
}

/// A line of a file: where it begins, and its text.
type Line<'a> = (usize, &'a str);

impl<'a> Reader<'a> {
    fn posterior(&self, machine: &str) -> FileResult<Posterior> {
        let mut at = 0;
        let mut lines: Vec<Line> = Vec::new();
        for line in self.text.split_inclusive('\n') {
            lines.push((at, line.trim_end_matches(['\n', '\r'])));
            at += line.len();
        }
        let is_head = |line: &&Line| line.1.starts_with('#');
        let mut head: BTreeMap<&str, Line> = BTreeMap::new();
        let mut cells = 0;
        for (start, line) in lines.iter().take_while(is_head) {
            let Some((key, value)) = line[1..].split_once(':') else { continue };
            cells += usize::from(key.trim() == "cell");
            let value_at = start + 1 + key.len() + 1;
            head.insert(key.trim(), (value_at + (value.len() - value.trim_start().len()), value.trim()));
        }
        let key = |name: &'static str| {
            let known = || suggest_from(name, "the head has", head.keys().copied());
            let missing = || self.fault((0, ""), name, "is missing in the head", known());
            head.get(name).copied().ok_or_else(missing)
        };
        for name in KEYS {
            key(name)?;
        }
        let named = key("machine")?;
        if named.1 != machine {
            let expected = format!("expected {machine}, the name of the file");
            return Err(self.fault(named, "machine", format!("is {:?}", named.1), expected));
        }
        let effective = key("effective")?;
        let number = effective.1.parse::<f64>().ok().filter(|number| *number >= EFFECTIVE_MIN && number.is_finite());
        let expected = || format!("expected at least {EFFECTIVE_MIN} effective draws: make more runs");
        let number =
            number.ok_or_else(|| self.fault(effective, "effective", format!("is {:?}", effective.1), expected()))?;
        let mut lines = lines.iter().skip_while(is_head);
        let end = (self.text.len(), "");
        let names = self.names(lines.next().copied().unwrap_or(end))?;
        let rows = lines.map(|line| self.row(*line, &names)).collect::<FileResult<Vec<Vec<f64>>>>()?;
        if rows.is_empty() {
            return Err(self.fault(end, "", "has no draw", "expected a line of numbers behind that of names"));
        }
        let names = names.into_iter().enumerate().map(|(place, (_, name))| (name.to_owned(), place)).collect();
        Ok(Posterior { figures: key("figures")?.1.to_owned(), cells, effective: number, names, rows })
    }

    fn names(&self, (start, line): Line<'a>) -> FileResult<Vec<Line<'a>>> {
        let names = self.columns((start, line));
        for (i, name) in names.iter().enumerate() {
            let is_twice = names[..i].iter().any(|other| other.1 == name.1);
            if name.1.is_empty() || is_twice {
                let problem = if is_twice { "is there twice" } else { "is empty" };
                return Err(self.fault(
                    *name,
                    name.1,
                    format!("name {} {problem}", i + 1),
                    "expected names with tabs between",
                ));
            }
        }
        Ok(names)
    }

    fn row(&self, line: Line<'a>, names: &[Line]) -> FileResult<Vec<f64>> {
        let columns = self.columns(line);
        if columns.len() != names.len() {
            let expected = format!("expected {}, one for each name, with tabs between", names.len());
            return Err(self.fault(line, "", format!("has {} numbers", columns.len()), expected));
        }
        let number = |(column, (_, name)): (&Line<'a>, &Line)| {
            let number = column.1.parse::<f64>().ok().filter(|number| number.abs() <= DEVIATION_MAX);
            let expected = || format!("expected standard deviations, -{DEVIATION_MAX} to {DEVIATION_MAX}");
            number.ok_or_else(|| self.fault(*column, name, format!("is {:?}", column.1), expected()))
        };
        columns.iter().zip(names).map(number).collect()
    }

    fn columns(&self, (start, line): Line<'a>) -> Vec<Line<'a>> {
        let mut at = start;
        let column = |column: &'a str| {
            let begins = at;
            at += column.len() + 1;
            (begins, column)
        };
        line.split('\t').map(column).collect()
    }

    fn fault(
        &self,
        (start, text): Line,
        key: &str,
        problem: impl Into<String>,
        help: impl Into<String>,
    ) -> Box<FileError> {
        FileError::new(self.file, self.text, start..start + text.len(), key, problem).hint(help)
    }
}
