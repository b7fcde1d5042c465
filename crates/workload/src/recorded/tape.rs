//! Steps of a recorded thread in little memory: a step is a byte, or a byte and a number of seven bits a byte. A
//! gigabyte of trace fits into a few tens of megabytes.

/// What a recorded thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Keeps a CPU for this much work, ps on a CPU of capacity 1024 at its top frequency.
    Work(u64),
    /// Wakes another thread of the recording.
    Wake {
        /// Index of the woken thread among the threads of the recording.
        thread: u32,
        /// Sync: the waker is about to sleep.
        sync: bool,
    },
    /// Sleeps until another wakes it.
    Await,
    /// Sleeps until this long after the start of the recording, ns.
    Until(u64),
    /// Creates the thread of this index.
    Fork(u32),
    /// Starts a new program, execve(2).
    Exec,
    /// Sleeps for good: what it did later is not known.
    Rest,
}

const WORK: u8 = 0;
const WAKE: u8 = 1;
const WAKE_SYNC: u8 = 2;
const AWAIT: u8 = 3;
const UNTIL: u8 = 4;
const FORK: u8 = 5;
const EXEC: u8 = 6;
const REST: u8 = 7;

/// The steps of a thread, to be added to at the end and read from the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tape(Vec<u8>);

impl Tape {
    /// Appends a step to the tape.
    pub fn push(&mut self, step: Step) {
        let (tag, number) = match step {
            Step::Work(ps) => (WORK, Some(ps)),
            Step::Wake { thread, sync } => (if sync { WAKE_SYNC } else { WAKE }, Some(thread.into())),
            Step::Await => (AWAIT, None),
            Step::Until(ns) => (UNTIL, Some(ns)),
            Step::Fork(thread) => (FORK, Some(thread.into())),
            Step::Exec => (EXEC, None),
            Step::Rest => (REST, None),
        };
        self.0.push(tag);
        let Some(mut rest) = number else { return };
        while rest >= 0x80 {
            self.0.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.0.push(rest as u8);
    }

    /// Whether the tape has no step.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All steps, in order.
    pub fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        let mut bytes = self.0.iter().copied();
        std::iter::from_fn(move || {
            let tag = bytes.next()?;
            let mut number = || {
                let (mut value, mut shift) = (0u64, 0);
                for byte in bytes.by_ref() {
                    value |= u64::from(byte & 0x7f) << shift;
                    shift += 7;
                    if byte < 0x80 {
                        break;
                    }
                }
                value
            };
            Some(match tag {
                WORK => Step::Work(number()),
                WAKE => Step::Wake { thread: number() as u32, sync: false },
                WAKE_SYNC => Step::Wake { thread: number() as u32, sync: true },
                AWAIT => Step::Await,
                UNTIL => Step::Until(number()),
                FORK => Step::Fork(number() as u32),
                EXEC => Step::Exec,
                _ => Step::Rest,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_come_back_as_they_were_pushed() {
        let steps = [
            Step::Work(0),
            Step::Work(u64::MAX),
            Step::Wake { thread: 127, sync: true },
            Step::Wake { thread: u32::MAX, sync: false },
            Step::Await,
            Step::Until(128),
            Step::Fork(1 << 20),
            Step::Exec,
            Step::Rest,
        ];
        let mut tape = Tape::default();
        steps.iter().for_each(|s| tape.push(*s));
        assert_eq!(tape.steps().collect::<Vec<_>>(), steps);
    }
}
