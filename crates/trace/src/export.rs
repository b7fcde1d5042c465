//! The interface of trace writers.

use std::io::{self, ErrorKind, Write};

use fairground_sim::{Observer, TaskId};

use crate::names::RealThread;
use crate::rtapp_marks::UserEvent;
use crate::{FtraceText, PerfettoTrace};

/// Writes the events of a run down as they come, in some format.
pub trait Export: Observer {
    /// Says at time 0 what the run is (machine, workload, sched, seed, each with its value), what the scheduler's
    /// rules say, and what every output must carry, e.g. `partition: 0-3`.
    fn head(&mut self, meta: &[(&str, &str)], notes: &[String]);

    /// A task is this thread of a real kernel, from now on: nothing is known of it from a workload.
    fn name_thread(&mut self, task: TaskId, thread: &RealThread);

    /// A thread of rt-app's has said this, at no earlier time than that of the last event.
    fn user_event(&mut self, user_event: &UserEvent);

    /// Writes what is held back.
    ///
    /// # Errors
    /// The first failure to write.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

impl<W: Write> Export for FtraceText<W> {
    fn head(&mut self, meta: &[(&str, &str)], notes: &[String]) {
        FtraceText::head(self, meta, notes);
    }

    fn name_thread(&mut self, task: TaskId, thread: &RealThread) {
        self.recorder.name_thread(task, thread);
    }

    fn user_event(&mut self, said: &UserEvent) {
        FtraceText::user_event(self, said);
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        FtraceText::finish(*self).map(drop)
    }
}

impl<W: Write> Export for PerfettoTrace<W> {
    fn head(&mut self, meta: &[(&str, &str)], notes: &[String]) {
        PerfettoTrace::head(self, meta, notes);
    }

    fn name_thread(&mut self, task: TaskId, thread: &RealThread) {
        self.recorder.name_thread(task, thread);
    }

    fn user_event(&mut self, said: &UserEvent) {
        PerfettoTrace::user_event(self, said);
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        PerfettoTrace::finish(*self).map(drop)
    }
}

/// A writer that treats EPIPE as success.
pub struct IgnoreBrokenPipe<W>(pub W);

fn ignore_broken_pipe<T>(outcome: io::Result<T>, done: T) -> io::Result<T> {
    match outcome {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(done),
        other => other,
    }
}

impl<W: Write> Write for IgnoreBrokenPipe<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        ignore_broken_pipe(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        ignore_broken_pipe(self.0.flush(), ())
    }
}
