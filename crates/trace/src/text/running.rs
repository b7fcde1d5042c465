//! Who runs where, for events that do not say it.

use std::collections::BTreeMap;

use super::{Line, Thread, What};

/// Who ran last, by CPU.
#[derive(Default)]
pub struct Running(BTreeMap<u32, (String, u32)>);

impl Running {
    /// Who runs after an event.
    pub fn learn(&mut self, line: &Line, what: &What) {
        let thread = match what {
            What::Switch { next, .. } => Some(*next),
            _ => line.context,
        };
        let Some(Thread { comm, pid }) = thread else { return };
        let last = self.0.entry(line.cpu).or_default();
        last.1 = pid;
        if last.0 != comm {
            comm.clone_into(&mut last.0);
        }
    }

    /// Who runs as an event happens, which has been learned; the idle task where nobody was seen.
    pub fn at<'a>(&'a self, line: &Line<'a>, what: &What<'a>) -> Thread<'a> {
        let last = || self.0.get(&line.cpu).map(|(comm, pid)| Thread { comm, pid: *pid });
        match *what {
            _ if line.context.is_some() => line.context,
            What::Switch { prev, .. } => Some(prev),
            _ => last(),
        }
        .unwrap_or(Thread { comm: "<idle>", pid: 0 })
    }
}
