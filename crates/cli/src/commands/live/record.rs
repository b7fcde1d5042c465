//! `fairground live record`.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use fairground_fair::{balance_rules, features, note_text, pick_rules, rules, Features};
use fairground_live::{record, Different, Recorded, Running};
use fairground_trace::{Export, FtraceText, Hardware, Names, PerfettoTrace, RuleNames};

use super::built::this_machine;
use super::Record;
use crate::commands::run::{dat, TraceFormatName};
use crate::error::{run_failed, End, Failure};
use crate::output::stop_on_signals;
use crate::output::{print_beside, OutputFile};

/// Numbers of notes are below this.
const NOTES: u16 = 1024;

impl Record {
    pub fn run(self) -> Result<End, Failure> {
        let running = Running::open()?;
        let stop = stop_on_signals();
        let begin = Instant::now();
        let goes_on =
            || !stop.load(Ordering::Relaxed) && self.seconds.is_none_or(|s| begin.elapsed() < Duration::from_secs(s));
        let recorded = match &self.output {
            None => record(&running, None, false, goes_on)?,
            Some(path) => self.traced(&running, path, goes_on)?,
        };
        let beside = self.output.as_deref().unwrap_or(Path::new("record"));
        print_beside(beside, &report(&recorded))?;
        if recorded.same == recorded.decisions {
            return Ok(End::Done);
        }
        let different = recorded.decisions - recorded.same;
        Err(run_failed(format!("the command's policy decides otherwise than the kernel's in {different} placements")))
    }

    fn traced(&self, running: &Running, path: &Path, goes_on: impl FnMut() -> bool) -> Result<Recorded, Failure> {
        let machine = this_machine(self.machine.as_deref())?;
        let mut output = OutputFile::create(path)?;
        let format = TraceFormatName::by_ending(path);
        let text = match format {
            TraceFormatName::Dat => Some(output.scratch()?),
            TraceFormatName::Text | TraceFormatName::Perfetto => None,
        };
        let file = text.as_ref().map_or_else(|| output.descriptor(), dat::copy)?;
        let file = std::io::BufWriter::new(file);
        let (names, words) = (Names::without_workload(), words());
        let mut trace: Box<dyn Export> = match format {
            TraceFormatName::Perfetto => {
                Box::new(PerfettoTrace::new(file, Hardware::from_machine(&machine), names, words, self.why))
            }
            TraceFormatName::Text | TraceFormatName::Dat => {
                Box::new(FtraceText::new(file, machine.nr_cpus(), names, words, self.why))
            }
        };
        let sched = in_force(running).to_string();
        let name = self.machine.as_deref().unwrap_or("captured");
        trace.head(&[("machine", name), ("workload", "live"), ("sched", &sched)], &[]);
        let recorded = record(running, Some(trace), self.why, goes_on)?;
        if let Some(text) = text {
            dat::make(text, machine.nr_cpus(), &mut output)?;
        }
        output.finish()?;
        Ok(recorded)
    }
}

/// The features of the scheduler that runs.
pub fn in_force(running: &Running) -> Features {
    (0..features().len()).fold(Features::newest(), |values, id| values.with_value(id, running.feature(id)))
}

fn words() -> RuleNames {
    let notes: Vec<&str> = (0..NOTES).map(note_text).collect();
    RuleNames::new(rules(), &notes).with_balancing(balance_rules(), &[]).with_picks(pick_rules())
}

fn report(recorded: &Recorded) -> String {
    let Recorded { events, decisions, same, lost, different } = recorded;
    let mut text = format!("{events} events, {decisions} placements with their state\n");
    if *lost != (0, 0) {
        text += &format!("without room: {} placements, {} events\n", lost.0, lost.1);
    }
    text += &format!("the command's policy, asked again on the same state: {same} of {decisions} alike\n");
    for Different { task: (comm, pid), arguments, live, native } in different {
        text += &format!("{comm}-{pid}: {arguments:?}\n    kernel  {live:?}\n    command {native:?}\n");
    }
    text
}
