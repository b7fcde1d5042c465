//! What rails take over time, by the meters that `fairground_energy` shows: each counts up what one rail has taken for one
//! purpose.
//!
//! All meters that are shown at one instant are a reading. Windows begin and end at readings, so that the windows of a
//! trace add up to the whole, whatever their length. A meter counts from where it is first shown: of a trace that begins
//! in the middle of a run, what is in it counts.

use std::collections::{BTreeMap, BTreeSet};

use fairground_sim::EnergyPart;

use crate::note::Note;
use crate::text::value;
use crate::{EventSource, TraceError, TraceEvent, TraceEventKind};

/// More meters than machines have: rails times purposes.
const METERS_MAX: usize = 1024;

/// Figures in all windows together, one for each rail and purpose: a hundred thousand windows of a phone.
const FIGURES_MAX: usize = 1 << 22;

pub(crate) fn word(part: EnergyPart) -> String {
    match part {
        EnergyPart::Active => "active".into(),
        EnergyPart::Idle(state) => format!("idle{state}"),
        EnergyPart::Transitions => "transitions".into(),
        EnergyPart::Static => "static".into(),
    }
}

fn part(word: &str) -> Option<EnergyPart> {
    match word {
        "active" => Some(EnergyPart::Active),
        "transitions" => Some(EnergyPart::Transitions),
        "static" => Some(EnergyPart::Static),
        word => word.strip_prefix("idle")?.parse().ok().map(EnergyPart::Idle),
    }
}

/// Number of a rail, and a part of its energy.
type Meter = (u16, EnergyPart);

type Taken = BTreeMap<Meter, u64>;

/// Energy between two readings, pJ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Window {
    from: u64,
    to: u64,
    taken: Taken,
}

/// Energy of a rail, or of all rails, in a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Number of the window, from 0; `None`: the whole trace.
    pub window: Option<usize>,
    /// Start of the window, ns.
    pub from: u64,
    /// End of the window, ns.
    pub to: u64,
    /// Name of the rail; `None`: all rails.
    pub rail: Option<String>,
    /// Energy, pJ, by part in the order of [`Rails::parts`]; `None`: the rail has no such meter.
    pub parts: Vec<Option<u64>>,
}

impl Row {
    /// Sum over all parts, pJ.
    pub fn sum(&self) -> u64 {
        self.parts.iter().flatten().fold(0, |sum, pj| sum.saturating_add(*pj))
    }

    /// Mean power, mW; 0 for an empty window.
    pub fn mean_mw(&self) -> f64 {
        // pJ in a ns are mW.
        self.sum() as f64 / self.to.saturating_sub(self.from).max(1) as f64
    }
}

/// The meters of a trace.
#[derive(Clone, Debug, Default)]
pub struct Rails {
    names: BTreeMap<u16, String>,
    /// Last readings of the meters, pJ.
    shown: Taken,
    at: Option<u64>,
    /// Start of the current window, ns, and the readings at that time.
    began: Option<(u64, Taken)>,
    windows: Vec<Window>,
    /// When the window under way ends, ns; `None`: at the next reading.
    ends: Option<u64>,
    backwards: u64,
}

impl Rails {
    /// Reads a trace to its end, in windows of `every` ns from its first reading on; `None`: from each reading to the
    /// next.
    ///
    /// # Errors
    /// If the trace cannot be read, or one of our lines lacks a field.
    pub fn read<S: EventSource>(reader: &mut S, every: Option<u64>) -> Result<Rails, TraceError> {
        let mut rails = Rails::default();
        while let Some(event) = reader.next_event()? {
            if let Err(expected) = rails.take(&event, every) {
                return Err(reader.unexpected(&expected));
            }
        }
        rails.end();
        Ok(rails)
    }

    /// Takes the next event of a trace; those that say nothing of rails change nothing. Windows as of [`Self::read`].
    /// [`Self::end`] comes after the last event.
    ///
    /// # Errors
    /// Says what was expected instead of a line of ours that lacks a field, or of one too many.
    pub fn take(&mut self, event: &TraceEvent, every: Option<u64>) -> Result<(), String> {
        let TraceEventKind::Print(text) = event.what else { return Ok(()) };
        if let Some((rail, name)) = text.strip_prefix("fairground_meta: rail").and_then(named) {
            if self.names.len() < METERS_MAX {
                self.names.insert(rail, name.into());
            }
        }
        let Some(fields) = text.strip_prefix("fairground_energy: ") else { return Ok(()) };
        let Some((meter, pj)) = shown(fields) else {
            return Err("fairground_energy with rail, part, energy_pj".into());
        };
        if self.shown.len() == METERS_MAX && !self.shown.contains_key(&meter) {
            return Err(format!("at most {METERS_MAX} meters"));
        }
        let windows = self.windows.len();
        self.show(event.time, meter, pj, every);
        match self.windows.len() > windows && self.figures() > FIGURES_MAX {
            true => Err(format!("at most {FIGURES_MAX} windows times rails times purposes")),
            false => Ok(()),
        }
    }

    /// Ends the last window: no event follows.
    pub fn end(&mut self) {
        self.end_window();
    }

    /// A meter shows `pj` now.
    fn show(&mut self, time: u64, meter: Meter, pj: u64, every: Option<u64>) {
        if self.at.is_some_and(|at| time > at) {
            let (at, first) = (self.at.unwrap_or(time), self.first().unwrap_or(time));
            if self.ends.is_none_or(|end| at >= end) {
                self.end_window();
                self.ends =
                    every.map(|every| first.saturating_add(((at - first) / every.max(1) + 1).saturating_mul(every)));
            }
        }
        let (_, base) = self.began.get_or_insert((time, Taken::new()));
        base.entry(meter).or_insert(pj);
        let before = self.shown.insert(meter, pj).unwrap_or(0);
        self.backwards += u64::from(pj < before || self.at.is_some_and(|at| time < at));
        self.at = self.at.max(Some(time));
    }

    /// Time of the first reading.
    fn first(&self) -> Option<u64> {
        self.windows.first().map(|w| w.from).or(self.began.as_ref().map(|(time, _)| *time))
    }

    /// The reading of now ends a window and begins the next; the first reading only begins one.
    fn end_window(&mut self) {
        let (Some(to), Some((from, base))) = (self.at, &self.began) else { return };
        if to > *from {
            let taken =
                |(meter, pj): (&Meter, &u64)| (*meter, pj.saturating_sub(base.get(meter).copied().unwrap_or(0)));
            let window = Window { from: *from, to, taken: self.shown.iter().map(taken).collect() };
            self.windows.push(window);
            self.began = Some((to, self.shown.clone()));
        }
    }

    /// Names of the parts of energy, in the order of [`Row::parts`].
    pub fn parts(&self) -> Vec<String> {
        self.known_parts().into_iter().map(word).collect()
    }

    /// Number of windows times rails times parts.
    fn figures(&self) -> usize {
        self.windows.len().saturating_mul(self.known_rails().len()).saturating_mul(self.known_parts().len())
    }

    fn known_rails(&self) -> BTreeSet<u16> {
        self.shown.keys().map(|(rail, _)| *rail).collect()
    }

    fn known_parts(&self) -> BTreeSet<EnergyPart> {
        self.shown.keys().map(|(_, part)| *part).collect()
    }

    /// Each window by rail, with all rails behind if there are several; the whole trace in the same way at the end.
    pub fn rows(&self) -> Vec<Row> {
        let (Some(first), Some(last)) = (self.windows.first(), self.windows.last()) else { return Vec::new() };
        let mut whole = Window { from: first.from, to: last.to, taken: Taken::new() };
        for (meter, pj) in self.windows.iter().flat_map(|w| &w.taken) {
            let sum = whole.taken.entry(*meter).or_default();
            *sum = sum.saturating_add(*pj);
        }
        let windows = self.windows.iter().enumerate().map(|(number, window)| (Some(number), window));
        windows.chain([(None, &whole)]).flat_map(|(number, window)| self.rows_of(number, window)).collect()
    }

    fn rows_of(&self, number: Option<usize>, window: &Window) -> Vec<Row> {
        let rails = self.known_rails();
        let parts = self.known_parts();
        let row = |rail: Option<String>, parts| Row { window: number, from: window.from, to: window.to, rail, parts };
        let of_rail = |rail: &u16| {
            let name = self.names.get(rail).cloned().unwrap_or_else(|| rail.to_string());
            row(Some(name), parts.iter().map(|part| window.taken.get(&(*rail, *part)).copied()).collect())
        };
        let mut rows: Vec<Row> = rails.iter().map(of_rail).collect();
        if rows.len() > 1 {
            let sum = |i: usize| rows.iter().filter_map(|r| r.parts[i]).fold(0, u64::saturating_add);
            rows.push(row(None, (0..parts.len()).map(|i| Some(sum(i))).collect()));
        }
        rows
    }

    /// Notes on the rows.
    pub fn notes(&self) -> Vec<Note> {
        let what =
            "readings of meters show less, or are earlier, than those before: the trace is not one run in time order";
        Note::losses(&[(self.backwards, what)])
    }
}

/// Parses `RAIL=NAME`.
fn named(text: &str) -> Option<(u16, &str)> {
    let (rail, name) = text.split_once('=')?;
    Some((rail.parse().ok()?, name))
}

fn shown(fields: &str) -> Option<(Meter, u64)> {
    let rail = value(fields, "rail=")?.parse().ok()?;
    let part = part(value(fields, "part=")?)?;
    Some(((rail, part), value(fields, "energy_pj=")?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;

    const MS: u64 = 1_000_000;

    fn line(ms: u64, rail: u16, part: &str, pj: u64) -> String {
        let at = format!("0.{ms:03}");
        format!("<idle>-0 [000] {at}: print: tracing_mark_write: fairground_energy: rail={rail} part={part} energy_pj={pj}\n")
    }

    fn read(text: &str, every: Option<u64>) -> Rails {
        Rails::read(&mut Reader::new("t", text.as_bytes()), every).unwrap()
    }

    /// Rail 0 takes 2 pJ/ns = 2 mW, from 20 ms on 5, and 1 in its idle state; rail 1 has no idle state and takes 10.
    fn readings() -> Vec<String> {
        let active = |ms: u64| 2 * ms + 3 * ms.saturating_sub(20);
        let reading = |ms: u64| {
            let active = line(ms, 0, "active", active(ms) * MS);
            [active, line(ms, 0, "idle1", ms * MS), line(ms, 1, "static", 10 * ms * MS)].concat()
        };
        [0, 10, 20, 30, 35].map(reading).into()
    }

    fn taken(rails: &Rails, rail: Option<&str>) -> Vec<(Option<usize>, u64, u64)> {
        let rows = rails.rows();
        let of = rows.iter().filter(|row| row.rail.as_deref() == rail);
        of.map(|row| (row.window, row.to / MS, row.sum() / MS)).collect()
    }

    #[test]
    fn windows_lie_between_readings_and_add_up_to_the_whole() {
        let rails = read(&readings().concat(), None);
        assert_eq!(rails.parts(), ["active", "idle1", "static"]);
        assert_eq!(
            taken(&rails, Some("0")),
            [(Some(0), 10, 30), (Some(1), 20, 30), (Some(2), 30, 60), (Some(3), 35, 30), (None, 35, 150)]
        );
        let last = &rails.rows()[rails.rows().len() - 1];
        assert_eq!((last.rail.as_deref(), last.sum() / MS, last.mean_mw()), (None, 500, 500.0 / 35.0));
        assert_eq!(rails.rows()[1].parts, [None, None, Some(100 * MS)]);
    }

    /// Of readings every 10 ms, windows of 15 ms end at 20 and 30, in which 15 and 30 have passed.
    #[test]
    fn a_window_ends_at_the_first_reading_after_its_time() {
        let rails = read(&readings().concat(), Some(15 * MS));
        assert_eq!(
            taken(&rails, Some("1")),
            [(Some(0), 20, 200), (Some(1), 30, 100), (Some(2), 35, 50), (None, 35, 350)]
        );
        let rails = read(&readings().concat(), Some(1000 * MS));
        assert_eq!(taken(&rails, None), [(Some(0), 35, 500), (None, 35, 500)]);
    }

    /// Two pieces of a run that share a reading.
    #[test]
    fn a_run_cut_in_two_adds_up() {
        let readings = readings();
        let whole = |text: &str| read(text, None).rows().last().map_or(0, Row::sum);
        for cut in 0..readings.len() {
            let parts = [&readings[..=cut], &readings[cut..]].map(|part| whole(&part.concat()));
            assert_eq!(parts.iter().sum::<u64>(), whole(&readings.concat()), "cut at {cut}: {parts:?}");
        }
    }

    #[test]
    fn rails_have_the_names_that_the_run_says() {
        let meta = "<idle>-0 [000] 0.0: print: tracing_mark_write: fairground_meta: rail1=S2M big\n";
        let rails = read(&(meta.to_owned() + &readings().concat()), None);
        let names: Vec<_> = rails.rows().iter().take(3).map(|row| row.rail.clone()).collect();
        assert_eq!(names, [Some("0".into()), Some("S2M big".into()), None]);
    }

    /// 32 rails, each with a purpose of its own, make 1024 figures a window.
    #[test]
    fn windows_times_meters_are_bounded() {
        let meters: String = (0..32).map(|n| line(0, n, &format!("idle{n}"), 0)).collect();
        let later = |us: u64| line(0, 0, "idle0", us).replace(" 0.000:", &format!(" 0.{us:06}:"));
        let trace = |windows: u64| meters.clone() + &(1..=windows).map(later).collect::<String>();
        assert_eq!(read(&trace(4096), None).rows().len(), 33 * 4097);
        let refused = Rails::read(&mut Reader::new("t", trace(4098).as_bytes()), None).unwrap_err().to_string();
        assert!(refused.contains("expected at most 4194304 windows times rails times purposes"), "{refused}");
    }

    #[test]
    fn a_meter_that_runs_backwards_is_told_and_one_that_says_nothing_is_refused() {
        let back = [line(0, 0, "active", 5), line(1, 0, "active", 3)].concat();
        let rails = read(&back, None);
        assert_eq!((rails.notes().len(), rails.rows()[0].sum()), (1, 0));
        for bad in ["idle999", "idle", "sleep"] {
            let error = Rails::read(&mut Reader::new("t", line(0, 0, bad, 5).as_bytes()), None).unwrap_err();
            assert!(
                error.to_string().contains("t:1: expected fairground_energy with rail, part, energy_pj"),
                "{error}"
            );
        }
    }
}
