//! The running thread of each CPU, for events without a context.

use std::collections::BTreeMap;

use super::{Line, Thread, TraceEventKind};

/// The thread that ran last, by CPU.
#[derive(Default)]
pub struct Running(BTreeMap<u32, (String, u32)>);

impl Running {
    /// Updates the running thread after an event.
    pub fn learn(&mut self, line: &Line, what: &TraceEventKind) {
        let thread = match what {
            TraceEventKind::Switch { next, .. } => Some(*next),
            _ => line.context,
        };
        let Some(Thread { comm, pid }) = thread else { return };
        let last = self.0.entry(line.cpu).or_default();
        last.1 = pid;
        if last.0 != comm {
            comm.clone_into(&mut last.0);
        }
    }

    /// The thread that runs as an event happens; the idle task where no thread was seen.
    pub fn thread_at<'a>(&'a self, line: &Line<'a>, what: &TraceEventKind<'a>) -> Thread<'a> {
        let last = || self.0.get(&line.cpu).map(|(comm, pid)| Thread { comm, pid: *pid });
        match *what {
            _ if line.context.is_some() => line.context,
            TraceEventKind::Switch { prev, .. } => Some(prev),
            _ => last(),
        }
        .unwrap_or(Thread { comm: "<idle>", pid: 0 })
    }
}
