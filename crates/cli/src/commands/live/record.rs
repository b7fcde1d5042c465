//! `fairground live record`.

use std::path::Path;
use std::process::Child;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use fairground_fair::{balance_rules, note_text, pick_rules, rules, Features, Options, Topology};
use fairground_live::{record, Different, Recorded, Running, What};
use fairground_trace::{Export, FtraceText, Hardware, Names, PerfettoTrace, RuleNames};
use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;

use super::built::this_machine;
use super::Record;
use crate::commands::run::{dat, TraceFormatName};
use crate::error::{run_failed, End, Failure};
use crate::output::stop_on_signals;
use crate::output::{print_beside, OutputFile};

/// Why there is no more to see of it.
pub(super) const CUT_SHORT: &str = "the scheduler has ended meanwhile, or was started anew";
/// Numbers of notes are below this.
const NOTES: u16 = 1024;

impl Record {
    pub fn run(self) -> Result<End, Failure> {
        let running = Running::open()?;
        let stop = stop_on_signals();
        let begin = Instant::now();
        let mut beside = Beside::new(&self.command);
        let goes_on = || {
            !stop.load(Ordering::Relaxed)
                && self.seconds.is_none_or(|s| begin.elapsed() < Duration::from_secs(s))
                && beside.goes_on()
        };
        let recorded = match &self.output {
            None => record(&running, None, self.recorded_parts(), goes_on)?,
            Some(path) => self.traced(&running, path, goes_on)?,
        };
        let output = self.output.as_deref().unwrap_or(Path::new("record"));
        print_beside(output, &report(&recorded, self.recorded_parts()))?;
        let command_failed = beside.end();
        if recorded.is_cut_short {
            return Err(run_failed(format!("{CUT_SHORT}: nothing is recorded of what came then")));
        }
        if recorded.same == recorded.decisions {
            return command_failed.map_or(Ok(End::Done), |why| Err(run_failed(why)));
        }
        let different = recorded.decisions - recorded.same;
        Err(run_failed(format!("the command's policy decides otherwise than the kernel's in {different} placements")))
    }

    fn recorded_parts(&self) -> What {
        What { picks: self.why || self.events_only, state: !self.events_only }
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
        let features = in_force(running);
        let topology =
            Topology::new(&machine, &features, &Options::default()).map_err(|error| run_failed(error.to_string()))?;
        let (names, words) = (Names::without_workload(), words(&topology));
        let mut trace: Box<dyn Export> = match format {
            TraceFormatName::Perfetto => {
                Box::new(PerfettoTrace::new(file, Hardware::from_machine(&machine), names, words, self.why))
            }
            TraceFormatName::Text | TraceFormatName::Dat => {
                Box::new(FtraceText::new(file, machine.nr_cpus(), names, words, self.why))
            }
        };
        let sched = features.to_string();
        let name = self.machine.as_deref().unwrap_or("captured");
        trace.head(&[("machine", name), ("workload", "live"), ("sched", &sched)], &[]);
        let recorded = record(running, Some(trace), self.recorded_parts(), goes_on)?;
        if let Some(text) = text {
            dat::make(text, machine.nr_cpus(), &mut output)?;
        }
        output.finish()?;
        Ok(recorded)
    }
}

/// The command during which is recorded, if there is one. It starts with the recording.
struct Beside<'a> {
    words: &'a [String],
    state: State,
}

enum State {
    /// The recording has not begun.
    Waits,
    Runs(Child),
    Ended(Option<String>),
}

impl Beside<'_> {
    fn new(words: &[String]) -> Beside<'_> {
        Beside { words, state: State::Waits }
    }

    /// Starts the command when it is asked first. False: it has ended.
    fn goes_on(&mut self) -> bool {
        let Some((program, arguments)) = self.words.split_first() else { return true };
        match &mut self.state {
            State::Waits => match std::process::Command::new(program).args(arguments).spawn() {
                Ok(child) => self.state = State::Runs(child),
                Err(error) => self.state = State::Ended(Some(format!("cannot run `{program}`: {error}"))),
            },
            State::Runs(child) => match child.try_wait() {
                Ok(None) => {}
                Ok(Some(status)) => {
                    self.state = State::Ended((!status.success()).then(|| format!("`{program}` failed: {status}")));
                }
                Err(error) => self.state = State::Ended(Some(format!("cannot wait for `{program}`: {error}"))),
            },
            State::Ended(_) => {}
        }
        !matches!(self.state, State::Ended(_))
    }

    /// Ends a command that still runs, and waits for it, as `perf record` does; why it failed, if it did by itself.
    fn end(mut self) -> Option<String> {
        match &mut self.state {
            State::Ended(why) => why.take(),
            State::Waits | State::Runs(_) => None,
        }
    }
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        let State::Runs(child) = &mut self.state else { return };
        if matches!(child.try_wait(), Ok(None)) {
            // Not waited for yet: nobody else has its number.
            let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM);
            let _ = child.wait();
        }
    }
}

/// The features of the scheduler that runs.
pub fn in_force(running: &Running) -> Features {
    Features::from_values(|id| running.feature(id))
}

fn words(topology: &Topology) -> RuleNames {
    let notes: Vec<&str> = (0..NOTES).map(note_text).collect();
    RuleNames::new(rules(), &notes)
        .with_balancing(balance_rules(), &topology.names_of_policy_levels())
        .with_picks(pick_rules())
}

fn report(recorded: &Recorded, what: What) -> String {
    let Recorded { events, decisions, stateless, same, lost, different, .. } = recorded;
    let mut text = match what.state {
        true => format!("{events} events, {decisions} placements with their state\n"),
        false => format!("{events} events\n"),
    };
    if *lost != (0, 0) {
        text += &format!("without room: {} placements, {} events\n", lost.0, lost.1);
    }
    if what.state && *stateless > 0 {
        text += &format!("{stateless} placements of tasks in cgroups, without state\n");
    }
    if what.state {
        text += &format!("the command's policy, asked again on the same state: {same} of {decisions} alike\n");
    }
    for Different { task: (comm, pid), arguments, live, native } in different {
        text += &format!("{comm}-{pid}: {arguments:?}\n    kernel  {live:?}\n    command {native:?}\n");
    }
    text
}
