//! Clocks that a user sets, as by writing to `scaling_setspeed` under the kernel's userspace governor.

use std::fmt;
use std::str::FromStr;

use fairground_machine::{CpuId, FreqDomain, Machine};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Ranges of CPUs that can have clocks of their own.
const RANGES_MAX: usize = 8;

/// The clock of each frequency domain, by ranges of CPUs: `1421000` of all, `0-3=999MHz,4-7=1421MHz`. Without a unit a clock
/// is in kHz.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetSpeed {
    ranges: [Option<Range>; RANGES_MAX],
}

/// CPUs, and their clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Range {
    first: CpuId,
    last: CpuId,
    khz: u32,
}

/// The CPUs of a clock that is given for all.
const ALL: (CpuId, CpuId) = (0, CpuId::MAX);

impl Range {
    fn has(&self, cpu: CpuId) -> bool {
        (self.first..=self.last).contains(&cpu)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { first, last, khz } = self;
        match (*first, *last) {
            ALL => write!(f, "{khz}"),
            _ if first == last => write!(f, "{first}={khz}"),
            _ => write!(f, "{first}-{last}={khz}"),
        }
    }
}

impl fmt::Display for SetSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranges: Vec<String> = self.ranges.iter().flatten().map(Range::to_string).collect();
        f.write_str(&ranges.join(","))
    }
}

/// A text that says no clocks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct InvalidSpeed(String);

impl FromStr for SetSpeed {
    type Err = InvalidSpeed;

    fn from_str(text: &str) -> Result<SetSpeed, InvalidSpeed> {
        let mut ranges = [None; RANGES_MAX];
        for (at, part) in text.split(',').enumerate() {
            let range = range(part.trim())?;
            let overlap =
                ranges.iter().flatten().find(|other: &&Range| other.has(range.first) || range.has(other.first));
            if let Some(other) = overlap {
                return Err(InvalidSpeed(format!("`{other}` and `{range}` are of the same CPUs")));
            }
            let place =
                ranges.get_mut(at).ok_or_else(|| InvalidSpeed(format!("at most {RANGES_MAX} ranges of CPUs")))?;
            *place = Some(range);
        }
        // However they are typed, the same clocks are the same run.
        ranges.sort_by_key(|range| range.map_or(CpuId::MAX, |range| range.first));
        Ok(SetSpeed { ranges })
    }
}

fn range(text: &str) -> Result<Range, InvalidSpeed> {
    let (cpus, clock) = text.split_once('=').map_or((None, text), |(cpus, clock)| (Some(cpus.trim()), clock.trim()));
    let khz = khz(clock).ok_or_else(|| {
        InvalidSpeed(format!(
            "`{clock}` is not a clock: expected a number above 0 and kHz, MHz or GHz, without a unit kHz"
        ))
    })?;
    let Some(cpus) = cpus else { return Ok(Range { first: ALL.0, last: ALL.1, khz }) };
    let (first, last) = cpus.split_once('-').unwrap_or((cpus, cpus));
    let ends = first.parse().ok().zip(last.parse().ok()).filter(|(first, last): &(CpuId, CpuId)| first <= last);
    let (first, last) = ends.ok_or_else(|| InvalidSpeed(format!("`{cpus}` is no range of CPUs: expected 4-7 or 4")))?;
    Ok(Range { first, last, khz })
}

fn khz(text: &str) -> Option<u32> {
    let units = [("kHz", 1.0), ("MHz", 1e3), ("GHz", 1e6)];
    let with_unit = units.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, *scale)));
    let (number, scale) = with_unit.unwrap_or((text, 1.0));
    let khz = (number.trim_end().parse::<f64>().ok()? * scale).round();
    (khz >= 1.0 && khz <= f64::from(u32::MAX)).then_some(khz as u32)
}

/// Clocks that a machine does not have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{problem}")]
pub struct NoSuchClock {
    /// Names the CPUs and the clock.
    pub problem: String,
    /// The nearest clock, and all.
    pub help: String,
}

impl SetSpeed {
    /// Checks that each frequency domain of a machine has the clock that is set for it.
    ///
    /// # Errors
    /// The first domain without, or a range that is not one of whole domains.
    pub fn check(&self, machine: &Machine) -> Result<(), NoSuchClock> {
        let domains = || machine.freq_domains.iter();
        let ranges = self.ranges.iter().flatten().filter(|range| (range.first, range.last) != ALL);
        for range in ranges {
            let is_whole = |domain: &&FreqDomain| domain.cpus.iter().all(|cpu| range.has(cpu));
            let inside: usize = domains().filter(is_whole).map(|domain| domain.cpus.count()).sum();
            if inside != (range.last - range.first) as usize + 1 {
                let all: Vec<String> = domains().map(|domain| domain.cpus.to_string()).collect();
                let help = format!("CPUs that share a clock: {}", shortened(&all));
                return Err(NoSuchClock {
                    problem: format!("`{range}`: these CPUs do not have clocks of their own"),
                    help,
                });
            }
        }
        domains().try_for_each(|domain| self.opp(domain).map(drop))
    }

    /// The operating point of a domain.
    ///
    /// # Errors
    /// If no clock is set for it, or one that it does not have.
    pub(super) fn opp(&self, domain: &FreqDomain) -> Result<u32, NoSuchClock> {
        let cpus = &domain.cpus;
        let all: Vec<String> = domain.opps.iter().map(|opp| opp.khz.to_string()).collect();
        let all = format!("expected one of {} kHz", all.join(", "));
        let range = self.ranges.iter().flatten().find(|range| cpus.first().is_some_and(|cpu| range.has(cpu)));
        let Some(Range { khz, .. }) = range else {
            return Err(NoSuchClock { problem: format!("no clock is set for CPUs {cpus}"), help: all });
        };
        let nearest = domain.opps.iter().min_by_key(|opp| opp.khz.abs_diff(*khz)).map_or(0, |opp| opp.khz);
        let found = domain.opps.iter().position(|opp| opp.khz == *khz);
        found.map(|opp| opp as u32).ok_or_else(|| NoSuchClock {
            problem: format!("CPUs {cpus} have no clock of {khz} kHz"),
            help: format!("the nearest is {nearest}; {all}"),
        })
    }
}

/// The first of many.
fn shortened(all: &[String]) -> String {
    const SHOWN: usize = 8;
    let more = if all.len() > SHOWN { format!(", ... ({} in all)", all.len()) } else { String::new() };
    format!("{}{more}", all[..all.len().min(SHOWN)].join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speed(text: &str) -> SetSpeed {
        text.parse().unwrap()
    }

    #[test]
    fn clocks_are_read_with_units_and_shown_in_khz() {
        for (text, shown) in [
            ("1421000", "1421000"),
            ("1.421GHz", "1421000"),
            ("0-3=999MHz, 4-7=1421000kHz", "0-3=999000,4-7=1421000"),
            ("4=903 MHz", "4=903000"),
        ] {
            assert_eq!(speed(text).to_string(), shown, "{text}");
            assert_eq!(speed(shown), speed(text));
        }
        for (text, said) in [
            ("", "`` is not a clock"),
            ("fast", "`fast` is not a clock"),
            ("-3", "`-3` is not a clock"),
            ("nan", "`nan` is not a clock"),
            ("1e99GHz", "`1e99GHz` is not a clock"),
            ("7-4=1", "`7-4` is no range of CPUs"),
            ("little=1", "`little` is no range of CPUs"),
            ("0-4=1,4-7=2", "`0-4=1` and `4-7=2` are of the same CPUs"),
            ("1,2", "`1` and `2` are of the same CPUs"),
            ("0=1,1=1,2=1,3=1,4=1,5=1,6=1,7=1,8=1", "at most 8 ranges of CPUs"),
        ] {
            let error = text.parse::<SetSpeed>().unwrap_err().to_string();
            assert!(error.starts_with(said), "{text}: {error}");
        }
    }

    #[test]
    fn a_machine_has_the_clocks_or_the_nearest_is_named() {
        let machine = Machine::preset("hikey960").unwrap();
        let check = |text: &str| speed(text).check(&machine).map_err(|e| format!("{e}: {}", e.help));
        assert_eq!(check("0-3=999000,4-7=1421000"), Ok(()));
        for (text, said) in [
            (
                "999000",
                "CPUs 4-7 have no clock of 999000 kHz: the nearest is 903000; expected one of 903000, 1421000, ",
            ),
            (
                "0-3=1GHz,4-7=1421MHz",
                "CPUs 0-3 have no clock of 1000000 kHz: the nearest is 999000; expected one of 533000",
            ),
            ("0-3=999000", "no clock is set for CPUs 4-7: expected one of 903000"),
            (
                "0-1=999000,2-7=903000",
                "`0-1=999000`: these CPUs do not have clocks of their own: CPUs that share a clock: 0-3, 4-7",
            ),
            ("0-3=999000,4-8=903000", "`4-8=903000`: these CPUs do not have clocks of their own"),
        ] {
            let error = check(text).unwrap_err();
            assert!(error.starts_with(said), "{text}: {error}");
        }
    }
}
