//! A first look at all rows: few seeds, short runs. No row is scored.
//!
//! **The rule.** [`SEEDS`] pairs of runs per row, whatever the row asks for, and a quarter of the length at which it
//! runs otherwise (`shortened.rs`).

use crate::published::Mail;
use crate::shortened::shortened;

/// Pairs of runs per row.
pub const SEEDS: u64 = 3;

/// Factor by which runs are shortened.
const PART: u32 = 4;

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
