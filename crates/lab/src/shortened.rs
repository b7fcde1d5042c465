//! Workloads that run a fraction of their length.
//!
//! A workload that has a `scale` runs a part of its rounds, and its times are multiplied by what is left out; any other has
//! its `loops`, `duration`, `runtime` or `bursts` divided, the first that it has.

use fairground_workload::{Builtin, OptionInfo, OptionKind};

use crate::published::with_option;

/// Options that say how long a workload runs, the best first.
const LENGTHS: [&str; 5] = ["scale", "loops", "duration", "runtime", "bursts"];

/// A workload as on the command line, `by` times shorter; `None` if it is not built in, or has no option for its length.
pub fn shortened(workload: &str, by: u32) -> Option<String> {
    let (name, options) = workload.split_once(':').unwrap_or((workload, ""));
    let known = Builtin::by_name(name)?.options;
    let (length, info) =
        LENGTHS.iter().find_map(|length| Some((*length, known.iter().find(|i| i.name == *length)?)))?;
    let stated = options.split(',').filter_map(|o| o.split_once('=')).find(|(option, _)| *option == length);
    let text = stated.map_or(info.default, |(_, value)| value);
    match info.kind {
        OptionKind::Part { max } => part(workload, name, length, text, (max, by)),
        _ => with_option(workload, name, length, shortened_value(info, text.parse().ok()?, by)?),
    }
}

/// A part `1/N` of the rounds, or all, `by` times shorter; a little less where they have no such whole part.
fn part(workload: &str, name: &str, option: &str, text: &str, (max, by): (i64, u32)) -> Option<String> {
    let n: i64 = text.strip_prefix("1/").unwrap_or("1").parse().ok()?;
    let rounds = workload.split(&[':', ',']).find_map(|o| o.strip_prefix("loops="));
    let rounds: Option<i64> = rounds.and_then(|loops| loops.parse().ok());
    // The option takes a whole number here and a part as it is typed.
    let whole = with_option(workload, name, option, 1.0)?;
    let least = n.saturating_mul(by.into()).min(max);
    let n = (least..=max).find(|n| rounds.is_none_or(|rounds| rounds % n == 0)).unwrap_or(least);
    Some(whole.replace(&format!("{option}=1"), &format!("{option}=1/{n}")))
}

/// A number divided by `by`, but no less than the option takes.
fn shortened_value(info: &OptionInfo, value: f64, by: u32) -> Option<f64> {
    match info.kind {
        OptionKind::Int { min, .. } => Some((value / f64::from(by)).round().max(min as f64)),
        OptionKind::Decimal { min, .. } => Some((value / f64::from(by)).max(min as f64 / 1e6)),
        _ => None,
    }
}
