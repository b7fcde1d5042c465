//! Options of built-ins as data: what may be typed, what it means, and reading it.

use fairground_machine::{suggest_from, Deviations, Machine};

use crate::doubt;
use crate::error::WorkloadError;

/// An option of a built-in.
#[derive(Clone, Copy, Debug)]
pub struct OptionInfo {
    /// Name as typed on the command line.
    pub name: &'static str,
    /// Values that the option takes.
    pub kind: OptionKind,
    /// The default, as typed on the command line; empty for a flag, or if the default depends on another option.
    pub default: &'static str,
    /// Describes the option in one sentence, with the unit.
    pub meaning: &'static str,
    /// Another option that excludes this one.
    pub excludes: Option<&'static str>,
}

/// What values an option takes. Ranges include both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// The option stands alone, without a value.
    Flag,
    /// An integer within limits.
    Int {
        /// Smallest value that is valid.
        min: i64,
        /// Largest value that is valid.
        max: i64,
    },
    /// A CPU of the machine.
    Cpu,
    /// One of these words, kept as its index.
    Choice(&'static [&'static str]),
    /// A fraction 1/N of the whole, typed `1/N`, or `1` for all; kept as N.
    Part {
        /// Largest N that is valid.
        max: i64,
    },
    /// A decimal number of `unit`s, kept as a whole number of millionths of it.
    Decimal {
        /// Unit of the value, e.g. `s`.
        unit: &'static str,
        /// Smallest valid value, in millionths.
        min: u64,
        /// Largest valid value, in millionths.
        max: u64,
    },
    /// Decimal numbers joined by `+`, each kept as millionths of `unit`.
    List {
        /// Unit of the value, e.g. `us`.
        unit: &'static str,
        /// Smallest valid value of each number, in millionths.
        min: u64,
        /// Largest valid value of each number, in millionths.
        max: u64,
    },
}

pub(crate) const MICRO: u64 = 1_000_000;

impl OptionKind {
    /// Describes the expected values, e.g. `a whole number, 1 to 100`.
    pub fn expected(&self) -> String {
        match self {
            OptionKind::Flag => "no value".into(),
            OptionKind::Int { min, max } => format!("a whole number, {min} to {max}"),
            OptionKind::Cpu => "a CPU of the machine".into(),
            OptionKind::Choice(words) => format!("one of {}", words.join(", ")),
            OptionKind::Part { max } => format!("1 or a part from 1/2 to 1/{max}"),
            OptionKind::Decimal { unit, min, max } => {
                format!("a number of {unit}, {} to {}", decimal(*min), decimal(*max))
            }
            OptionKind::List { unit, min, max } => {
                format!("numbers of {unit} joined by `+`, each {} to {}", decimal(*min), decimal(*max))
            }
        }
    }
}

/// A value that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Flag,
    Int(i64),
    Millionths(Vec<u64>),
}

impl Value {
    fn drawn(self, factor: f64, kind: OptionKind) -> Value {
        match self {
            Value::Flag => Value::Flag,
            Value::Int(value) => Value::Int(doubt::drawn(value.max(0) as u64, factor, kind) as i64),
            Value::Millionths(all) => {
                Value::Millionths(all.into_iter().map(|value| doubt::drawn(value, factor, kind)).collect())
            }
        }
    }
}

/// The options of one request: those given, and the defaults of the others.
pub(crate) struct Options {
    workload: &'static str,
    values: Vec<(&'static str, Value)>,
    given: Vec<&'static str>,
    typed: String,
}

impl Options {
    /// Reads `text` (`name=value,flag,...`) against the table of `workload`. Defaults that are estimates are drawn.
    pub fn parse(
        workload: &'static str,
        table: &'static [OptionInfo],
        text: &str,
        machine: &Machine,
        deviations: Deviations,
    ) -> Result<Self, WorkloadError> {
        let mut options = Options { workload, values: Vec::new(), given: Vec::new(), typed: String::new() };
        let mut typed = Vec::new();
        for piece in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            options.take(table, piece, machine)?;
            typed.push(piece);
        }
        for info in table.iter().filter(|i| !i.default.is_empty()) {
            if !options.is_given(info.name) {
                let value = read(info.kind, info.default, machine).map_err(|p| bad(workload, info, p))?;
                let factor = doubt::default_factor(workload, info, deviations);
                options.values.push((info.name, if factor == 1.0 { value } else { value.drawn(factor, info.kind) }));
            }
        }
        options.typed = typed.join(",");
        Ok(options)
    }

    fn take(&mut self, table: &'static [OptionInfo], piece: &str, machine: &Machine) -> Result<(), WorkloadError> {
        let (name, text) = match piece.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (piece, None),
        };
        let Some(info) = table.iter().find(|i| i.name == name) else {
            return Err(WorkloadError::UnknownOption {
                workload: self.workload.into(),
                option: name.into(),
                help: suggest_from(name, "its options are:", table.iter().map(|i| i.name)),
            });
        };
        if self.is_given(info.name) {
            return Err(bad(self.workload, info, "is given twice".into()));
        }
        let value = match (info.kind, text) {
            (OptionKind::Flag, None) => Value::Flag,
            (OptionKind::Flag, Some(v)) => return Err(bad(self.workload, info, format!("takes no value, has `{v}`"))),
            (_, None) => return Err(bad(self.workload, info, "needs a value".into())),
            (kind, Some(v)) => read(kind, v, machine).map_err(|p| bad(self.workload, info, p))?,
        };
        if let Some(other) = info.excludes.filter(|o| self.is_given(o)) {
            return Err(bad(self.workload, info, format!("cannot be given together with `{other}`")));
        }
        self.values.push((info.name, value));
        self.given.push(info.name);
        Ok(())
    }

    /// Whether the user typed this option.
    pub fn is_given(&self, name: &str) -> bool {
        self.given.contains(&name)
    }

    /// The error that the value of an option does not go with the others.
    pub fn refuse(&self, table: &[OptionInfo], name: &str, problem: String) -> WorkloadError {
        let info = table.iter().find(|i| i.name == name);
        bad(self.workload, info.unwrap_or_else(|| panic!("{} has no option {name}", self.workload)), problem)
    }

    /// Name of the built-in that these options belong to.
    pub fn name(&self) -> &'static str {
        self.workload
    }

    /// The workload as typed, without blanks around its options.
    pub fn full_name(&self) -> String {
        if self.typed.is_empty() {
            self.workload.into()
        } else {
            format!("{}:{}", self.workload, self.typed)
        }
    }

    /// The value of an [`OptionKind::Int`], [`OptionKind::Cpu`], [`OptionKind::Choice`] or [`OptionKind::Part`] that
    /// has a default.
    pub fn int(&self, name: &str) -> i64 {
        match self.value(name) {
            Value::Int(v) => *v,
            other => panic!("option {name} of {} is {other:?}, not an integer", self.workload),
        }
    }

    /// The value of an [`OptionKind::Decimal`], in millionths.
    pub fn millionths(&self, name: &str) -> u64 {
        self.list(name)[0]
    }

    /// The value of an [`OptionKind::Decimal`] in ns, where one unit is `unit_ns`; fractions of a ns are cut off.
    pub fn ns(&self, name: &str, unit_ns: u64) -> u64 {
        scaled(self.millionths(name), unit_ns)
    }

    /// The value of an [`OptionKind::List`], in millionths; never empty.
    pub fn list(&self, name: &str) -> &[u64] {
        match self.value(name) {
            Value::Millionths(v) => v,
            other => panic!("option {name} of {} is {other:?}, not a number", self.workload),
        }
    }

    fn value(&self, name: &str) -> &Value {
        let found = self.values.iter().find(|(n, _)| *n == name);
        &found.unwrap_or_else(|| panic!("option {name} of {} has neither value nor default", self.workload)).1
    }
}

/// `millionths` of `unit`. Exact up to the last ns; the tables' ranges keep it inside 64 bits.
pub(crate) fn scaled(millionths: u64, unit: u64) -> u64 {
    (u128::from(millionths) * u128::from(unit) / u128::from(MICRO)) as u64
}

/// ns in a microsecond.
pub(crate) const NS_PER_US: u64 = 1_000;
/// ns in a millisecond.
pub(crate) const NS_PER_MS: u64 = 1_000_000;
/// ns in a second.
pub(crate) const NS_PER_S: u64 = 1_000_000_000;

fn bad(workload: &str, info: &OptionInfo, problem: String) -> WorkloadError {
    WorkloadError::BadOption {
        workload: workload.into(),
        option: info.name.into(),
        problem,
        help: format!("expected {}: {}", info.kind.expected(), info.meaning),
    }
}

fn read(kind: OptionKind, text: &str, machine: &Machine) -> Result<Value, String> {
    match kind {
        OptionKind::Flag => Ok(Value::Flag),
        OptionKind::Int { min, max } => read_int(text, min, max).map(Value::Int),
        OptionKind::Cpu => {
            let last = machine.nr_cpus() as i64 - 1;
            let problem = |_| format!("`{text}` is not a CPU of {}, which has 0 to {last}", machine.name);
            read_int(text, 0, last).map(Value::Int).map_err(problem)
        }
        OptionKind::Choice(words) => {
            let index = words.iter().position(|word| *word == text);
            index.map(|i| Value::Int(i as i64)).ok_or_else(|| format!("`{text}` is not one of its values"))
        }
        OptionKind::Part { max } => read_part(text, max).map(Value::Int),
        OptionKind::Decimal { min, max, .. } => Ok(Value::Millionths(vec![read_decimal(text, min, max)?])),
        OptionKind::List { min, max, .. } => {
            let values: Result<Vec<u64>, String> = text.split('+').map(|t| read_decimal(t, min, max)).collect();
            Ok(Value::Millionths(values?))
        }
    }
}

fn read_int(text: &str, min: i64, max: i64) -> Result<i64, String> {
    let value: i64 = text.parse().map_err(|_| format!("`{text}` is not a whole number"))?;
    if (min..=max).contains(&value) {
        Ok(value)
    } else {
        Err(format!("{value} is out of range"))
    }
}

/// Reads `1` or `1/N`; returns N, which is 1 for `1`.
fn read_part(text: &str, max: i64) -> Result<i64, String> {
    match text.strip_prefix("1/") {
        Some(parts) => read_int(parts, 1, max),
        None if text == "1" => Ok(1),
        None => Err(format!("`{text}` is not a part of one")),
    }
}

/// A non-negative decimal number in millionths. More than six decimals are an error, not rounded.
fn read_decimal(text: &str, min: u64, max: u64) -> Result<u64, String> {
    let no_number = || format!("`{text}` is not a decimal number");
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 6 {
        return Err(no_number());
    }
    let micros: u64 = format!("{part:0<6}").parse().map_err(|_| no_number())?;
    let whole: u64 = whole.parse().map_err(|_| format!("`{text}` is out of range"))?;
    let value = whole.checked_mul(MICRO).and_then(|w| w.checked_add(micros));
    value.filter(|v| (min..=max).contains(v)).ok_or_else(|| format!("`{text}` is out of range"))
}

/// Millionths as one would type them.
fn decimal(millionths: u64) -> String {
    let (whole, part) = (millionths / MICRO, millionths % MICRO);
    if part == 0 {
        return whole.to_string();
    }
    format!("{whole}.{}", format!("{part:06}").trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_and_bounded() {
        assert_eq!(read_decimal("2.5", 0, u64::MAX), Ok(2_500_000));
        assert_eq!(read_decimal("16", 0, u64::MAX), Ok(16_000_000));
        assert_eq!(read_decimal("0.000001", 0, u64::MAX), Ok(1));
        for bad in ["", ".", "1.", ".5", "-1", "1e3", "1.2345678", "99999999999999999999", "+1", "1.2.3"] {
            assert!(read_decimal(bad, 0, u64::MAX).is_err(), "{bad}");
        }
        assert!(read_decimal("5", 6_000_000, 7_000_000).is_err());
        assert_eq!(decimal(2_500_000), "2.5");
        assert_eq!(decimal(16_000_000), "16");
    }
}
