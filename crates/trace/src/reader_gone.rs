//! Writing to somebody who may leave.

use std::io::{self, ErrorKind, Write};

/// A writer for which what a pipe's reader that has gone away does not want is as good as written.
pub struct UnlessGone<W>(pub W);

fn unless_gone<T>(outcome: io::Result<T>, done: T) -> io::Result<T> {
    match outcome {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(done),
        other => other,
    }
}

impl<W: Write> Write for UnlessGone<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        unless_gone(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        unless_gone(self.0.flush(), ())
    }
}
