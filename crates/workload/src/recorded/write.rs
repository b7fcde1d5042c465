//! The file of a recording: JSON in which the order of keys and their repetition count, as in rt-app's files.
//!
//! ```text
//! {
//!   "recording": { "of": TRACE, "machine": MACHINE, ..., "notes": [TEXT, ...] },
//!   "threads": {
//!     NAME: { "comm": NAME, "cpu": CPU, "kthread_cpu": CPU, "nice": NICE, "rt_priority": PRIORITY, "steps": {
//!       "work": US, "wake": THREAD, "wake_sync": THREAD, "fork": THREAD, "exec": true, "until": US,
//!       "await": "wakeup", "rest": "for good" } } } }
//! ```

use std::io::{self, Write};

use super::{Priority, Recording, Step, Thread};

impl Recording {
    /// Writes the file onto `out`, which should be buffered.
    ///
    /// # Errors
    /// If that cannot be written to.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let about = self.about.iter().map(|(key, value)| format!("{}: {}", quoted(key), quoted(value)));
        let notes: Vec<String> = self.notes.iter().map(|note| format!("\n      {}", quoted(note))).collect();
        let about: Vec<String> = about.chain([format!("\"notes\": [{}]", notes.join(","))]).collect();
        write!(out, "{{\n  \"recording\": {{\n    {}\n  }},\n  \"threads\": {{", about.join(",\n    "))?;
        for (i, thread) in self.threads.iter().enumerate() {
            out.write_all(if i == 0 { b"\n" } else { b",\n" })?;
            self.write_thread(&mut out, thread)?;
        }
        out.write_all(b"\n  }\n}\n")?;
        out.flush()
    }

    fn write_thread(&self, out: &mut impl Write, thread: &Thread) -> io::Result<()> {
        write!(out, "    {}: {{ \"comm\": {}, ", quoted(&thread.name), quoted(&thread.comm))?;
        for (key, cpu) in [("cpu", thread.born_on), ("kthread_cpu", thread.kthread_cpu)] {
            if let Some(cpu) = cpu {
                write!(out, "\"{key}\": {cpu}, ")?;
            }
        }
        match thread.priority {
            Priority::Nice(0) => {}
            Priority::Nice(nice) => write!(out, "\"nice\": {nice}, ")?,
            Priority::RealTime(priority) => write!(out, "\"rt_priority\": {priority}, ")?,
        }
        out.write_all(b"\"steps\": {")?;
        // A line ends where the thread sleeps.
        let mut before = "\n      ";
        for step in thread.tape.steps() {
            out.write_all(before.as_bytes())?;
            self.write_step(out, step)?;
            before = if matches!(step, Step::Await | Step::Until(_)) { ",\n      " } else { ", " };
        }
        out.write_all(b" } }")
    }

    fn write_step(&self, out: &mut impl Write, step: Step) -> io::Result<()> {
        let name = |index: u32| quoted(self.threads.get(index as usize).map_or("", |t| &t.name));
        match step {
            Step::Work(ps) => write!(out, "\"work\": {}", decimal(ps, 6)),
            Step::Wake { thread, sync: false } => write!(out, "\"wake\": {}", name(thread)),
            Step::Wake { thread, sync: true } => write!(out, "\"wake_sync\": {}", name(thread)),
            Step::Fork(thread) => write!(out, "\"fork\": {}", name(thread)),
            Step::Exec => out.write_all(b"\"exec\": true"),
            Step::Rest => out.write_all(b"\"rest\": \"for good\""),
            Step::Until(ns) => write!(out, "\"until\": {}", decimal(ns, 3)),
            Step::Await => out.write_all(b"\"await\": \"wakeup\""),
        }
    }
}

/// `n` / 10^`digits` as a decimal number without trailing zeros.
fn decimal(n: u64, digits: u32) -> String {
    let one = 10u64.pow(digits);
    let text = format!("{}.{:0width$}", n / one, n % one, width = digits as usize);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A JSON string. Control characters and what delimits are escaped.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_short_as_exact() {
        let texts = [decimal(2_000_000, 6), decimal(1, 6), decimal(1_234_567, 6), decimal(16_000_500, 3)];
        assert_eq!(texts, ["2", "0.000001", "1.234567", "16000.5"]);
    }

    #[test]
    fn a_name_may_hold_anything() {
        assert_eq!(quoted("a\"b\\\n"), r#""a\"b\\\u000a""#);
    }
}
