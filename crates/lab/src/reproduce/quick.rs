//! A first look at all rows: few seeds, short runs. No row is scored.
//!
//! **The rule.** [`SEEDS`] pairs of runs per row, whatever the row asks for, and a quarter of the length at which it
//! runs otherwise: four times the `scale` of a workload that has one (its times are multiplied by what is left out);
//! else a quarter of its `loops`, `duration`, `runtime` or `bursts`, the first that it has. A workload with none of
//! these runs as it is.

use fairground_workload::{Builtin, OptionInfo, OptionKind};

use crate::published::{with_option, Mail};

/// Pairs of runs per row.
pub const SEEDS: u64 = 3;

/// Factor by which runs are shortened.
const PART: u32 = 4;

/// Options that say how long a workload runs, the best first.
const LENGTHS: [&str; 5] = ["scale", "loops", "duration", "runtime", "bursts"];

/// The note that every output with such rows has.
pub fn words() -> String {
    format!("quick: {SEEDS} seeds, shortened to a quarter; not scored by the rule")
}

/// Shortens the runs of all rows of a mail.
pub fn shorten(mail: &mut Mail) {
    for run in mail.rows.iter_mut().filter_map(|row| row.run.as_mut()) {
        (run.seeds, run.part_on_draws) = (None, None);
        for workload in run.workloads_mut() {
            if let Some(short) = shortened(workload, PART) {
                *workload = short;
            }
        }
    }
}

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

#[cfg(test)]
mod tests {
    use fairground_machine::MachineSpec;
    use fairground_workload::Workload;

    use super::*;

    #[test]
    fn a_quarter_of_the_length_is_left() {
        let of = |workload| shortened(workload, PART).unwrap();
        assert_eq!(of("hackbench:groups=64,loops=4000,scale=1/2"), "hackbench:groups=64,loops=4000,scale=1/8");
        assert_eq!(of("hackbench:loops=100000,scale=1/16"), "hackbench:loops=100000,scale=1/80");
        assert_eq!(of("hackbench:groups=4,loops=640"), "hackbench:groups=4,loops=640,scale=1/4");
        assert_eq!(of("sched-pipe:loops=50000,threads"), "sched-pipe:threads,loops=12500");
        assert_eq!(of("sched-pipe:loops=2"), "sched-pipe:loops=1");
        assert_eq!(of("dbench:clients=64,duration=2.5"), "dbench:clients=64,duration=0.625");
        assert_eq!(shortened("workloads/ping-pong.json", PART), None);
    }

    /// Every published row has something to shorten, and what comes out is a workload.
    #[test]
    fn every_published_row_can_be_shortened() {
        for name in Mail::known() {
            let mail = Mail::find(name).unwrap();
            let mut quick = mail.clone();
            shorten(&mut quick);
            let runs = |mail: &Mail| mail.rows.iter().filter_map(|row| row.run.clone()).collect::<Vec<_>>();
            for (long, short) in runs(&mail).into_iter().zip(runs(&quick)) {
                let (machine, cpus) = MachineSpec::parse(&long.machine).find().unwrap();
                for (long, short) in long.columns().into_iter().zip(short.columns()) {
                    assert_ne!(long.0, short.0);
                    Workload::find_bound(short.0, &machine, cpus.as_ref()).unwrap();
                }
                assert_eq!(short.seeds, None);
            }
        }
    }
}
