//! All that our traces tell of decisions, in their order: placements, picks, and the values that decisions leave behind.

use crate::left::{self, Left};
use crate::picks::{self, Pick};
use crate::placements::{parse_own_record, Head, OwnRecord, Placement};
use crate::text::{TraceError, TraceEventKind};
use crate::EventSource;

/// A decision, or a value that one has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// A task was placed. Its waker and its steps are not read.
    Placed(Box<Placement>),
    /// A task was picked or tested, or has to leave the CPU.
    Picked(Box<Pick>),
    /// A decision has changed a value.
    Left(Box<Left>),
}

impl Decision {
    /// Time, ns.
    pub fn time(&self) -> u64 {
        match self {
            Decision::Placed(placement) => placement.time,
            Decision::Picked(pick) => pick.time,
            Decision::Left(left) => left.time,
        }
    }
}

/// Reads the decisions of a trace one by one.
pub struct Decisions<S> {
    source: S,
    head: Head,
}

impl<S: EventSource> Decisions<S> {
    /// Reads a trace from its first event.
    pub fn new(source: S) -> Decisions<S> {
        Decisions { source, head: Head::default() }
    }

    /// The head of the trace as far as it has been read.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The next decision; `None` at the end.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn next_decision(&mut self) -> Result<Option<Decision>, TraceError> {
        while let Some(event) = self.source.next_event()? {
            let TraceEventKind::Print(text) = event.what else { continue };
            let time = event.time;
            if let Some(fields) = text.strip_prefix("fairground_left: ") {
                let Some(left) = left::parse(fields, time) else { return Err(self.source.unexpected(left::EXPECTED)) };
                return Ok(Some(Decision::Left(Box::new(left))));
            }
            if let Some(fields) = text.strip_prefix("fairground_pick: ") {
                let Some(pick) = picks::parse(fields) else { return Err(self.source.unexpected(picks::EXPECTED)) };
                return Ok(Some(Decision::Picked(Box::new(Pick { time, ..pick }))));
            }
            match parse_own_record(text) {
                Ok(OwnRecord::Decision(mut placement)) => {
                    placement.time = time;
                    return Ok(Some(Decision::Placed(placement)));
                }
                Ok(OwnRecord::Rule(rule)) => drop(self.head.rules.insert(rule.name.clone(), rule)),
                Ok(_) => {}
                Err(expected) => return Err(self.source.unexpected(expected)),
            }
        }
        Ok(None)
    }
}
