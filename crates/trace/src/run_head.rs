//! The head of one of our traces: facts about the run that made it.

use crate::{EventSource, TraceError, TraceEventKind};

/// Facts and notes in the first lines of a trace of `fairground run`; empty for other traces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunHead {
    meta: Vec<(String, String)>,
    notes: Vec<String>,
}

impl RunHead {
    /// Reads a source up to the first event that does not belong to the head.
    ///
    /// # Errors
    /// If the source cannot be read.
    pub fn read(source: &mut dyn EventSource) -> Result<RunHead, TraceError> {
        let mut head = RunHead::default();
        while let Some(event) = source.next_event()? {
            let TraceEventKind::Print(text) = event.what else { break };
            if let Some((key, value)) = text.strip_prefix("fairground_meta: ").and_then(|meta| meta.split_once('=')) {
                head.meta.push((key.to_owned(), value.to_owned()));
            } else if let Some(note) = text.strip_prefix("fairground_note: ") {
                head.notes.push(note.to_owned());
            }
        }
        Ok(head)
    }

    /// `machine`, `workload`, `sched`, `seed` and the like.
    pub fn meta(&self, key: &str) -> Option<&str> {
        self.meta.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// The rest of the first note that begins with `prefix`, such as `hz: `: settings that are not as by default.
    pub fn note(&self, prefix: &str) -> Option<&str> {
        self.notes.iter().find_map(|note| note.strip_prefix(prefix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;

    #[test]
    fn a_head_ends_with_the_first_event() {
        let text = "<idle>-0 [000] 0.0: print: tracing_mark_write: fairground_meta: machine=my board.toml\n\
                    <idle>-0 [000] 0.0: print: tracing_mark_write: fairground_note: hz: 1000\n\
                    <idle>-0 [000] 0.1: cpu_idle: state=1 cpu_id=0\n\
                    <idle>-0 [000] 0.2: print: tracing_mark_write: fairground_meta: seed=1\n";
        let head = RunHead::read(&mut Reader::new("t", text.as_bytes())).unwrap();
        assert_eq!((head.meta("machine"), head.note("hz: ")), (Some("my board.toml"), Some("1000")));
        assert_eq!((head.meta("seed"), head.note("governor: ")), (None, None));
    }
}
