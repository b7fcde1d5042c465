//! Records events of the kernel that runs here, into a trace.dat file, as `trace-cmd record` does.
//!
//! An instance of the tracer of its own keeps other users of tracefs undisturbed. Events stay in the kernel's buffers
//! until the recording has ended: a reader that empties them meanwhile would be a task that the recording shows and
//! disturbs. Where a buffer is full the newest events are dropped, so what is there has no gaps.
//!
//! An instance is removed when its [`Tracer`] is dropped. A program that is killed leaves it; the next [`Tracer`] of
//! any program removes those whose program is gone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use miette::Diagnostic;
use thiserror::Error;

use crate::dat::{self, Head};

/// Where tracefs is mounted: on its own, or as a part of debugfs.
const ROOTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// What is recorded if the kernel has it: what our readers of recordings use.
const EVENTS: [(&str, &[&str]); 2] = [
    (
        "sched",
        &[
            "sched_switch",
            "sched_waking",
            "sched_wakeup",
            "sched_wakeup_new",
            "sched_migrate_task",
            "sched_process_fork",
            "sched_process_exec",
            "sched_process_exit",
        ],
    ),
    ("power", &["cpu_idle", "cpu_frequency"]),
];
/// Without these a recording says nothing.
const NEEDED: [&str; 2] = ["sched_switch", "sched_waking"];
/// The clock of events: that of `clock_gettime(CLOCK_MONOTONIC)`.
const CLOCK: &str = "mono";
/// Bytes that a first read of a file of tracefs asks for at least.
const ROOM: usize = 1 << 16;
/// What names of instances begin with; the id of the process follows.
const NAME: &str = "fairground-";

/// Why nothing is recorded.
#[derive(Debug, Error, Diagnostic)]
pub enum TracerError {
    /// There is no tracefs, or this user may not use it.
    #[error("events of the kernel cannot be recorded: {path}: {cause}")]
    #[diagnostic(help("that takes root, and tracefs: `mount -t tracefs tracefs /sys/kernel/tracing`"))]
    Tracefs {
        /// The file or directory.
        path: String,
        /// What the system says of it.
        cause: io::Error,
    },
    /// The kernel has not the events.
    #[error("events of the kernel cannot be recorded: it has no {event}")]
    #[diagnostic(help("it needs CONFIG_EVENT_TRACING and the tracepoints of the scheduler"))]
    NoEvent {
        /// The event.
        event: &'static str,
    },
    /// Reading the kernel's buffers or writing the file failed.
    #[error("the recording cannot be written: {0}")]
    Output(io::Error),
}

/// An instance of the kernel's tracer.
#[derive(Debug)]
pub struct Tracer {
    root: PathBuf,
    instance: PathBuf,
    /// The recorded events, by system.
    events: Vec<(&'static str, Vec<&'static str>)>,
}

/// What was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Events in the file.
    pub events: u64,
    /// Events that found no room.
    pub dropped: u64,
}

impl Tracer {
    /// Sets up an instance with buffers of `buffer_kib` for each CPU. Nothing is recorded yet.
    ///
    /// # Errors
    /// If tracefs cannot be used, or lacks what is needed.
    pub fn new(buffer_kib: u64) -> Result<Tracer, TracerError> {
        let root = ROOTS.iter().map(Path::new).find(|root| root.join("instances").is_dir());
        let root = root.unwrap_or(Path::new(ROOTS[0]));
        let instances = root.join("instances");
        remove_abandoned(&instances);
        let instance = instances.join(format!("{NAME}{}", std::process::id()));
        fs::create_dir(&instance).map_err(|cause| at(&instance, cause))?;
        // From here on the instance is removed whatever happens.
        let mut tracer = Tracer { root: root.to_owned(), instance, events: Vec::new() };
        tracer.set("tracing_on", "0")?;
        tracer.set("trace_clock", CLOCK)?;
        tracer.set("options/overwrite", "0")?;
        tracer.set("buffer_size_kb", &buffer_kib.to_string())?;
        for (system, events) in EVENTS {
            let has = |event: &&&str| tracer.root.join("events").join(system).join(event).is_dir();
            let known: Vec<&'static str> = events.iter().filter(has).copied().collect();
            for event in &known {
                tracer.set(&format!("events/{system}/{event}/enable"), "1")?;
            }
            tracer.events.push((system, known));
        }
        match NEEDED.into_iter().find(|event| !tracer.events.iter().any(|(_, known)| known.contains(event))) {
            Some(event) => Err(TracerError::NoEvent { event }),
            None => Ok(tracer),
        }
    }

    /// From now on events are recorded.
    ///
    /// # Errors
    /// If tracefs cannot be written.
    pub fn start(&self) -> Result<(), TracerError> {
        self.set("tracing_on", "1")
    }

    /// From now on no events are recorded.
    ///
    /// # Errors
    /// If tracefs cannot be written.
    pub fn stop(&self) -> Result<(), TracerError> {
        self.set("tracing_on", "0")
    }

    /// Moves what was recorded into a trace.dat file of version 6. `scratch` is an empty file for intermediate
    /// data.
    ///
    /// # Errors
    /// If tracefs cannot be read, or the file not be written.
    pub fn write(&self, mut scratch: File, mut out: impl Write) -> Result<Recorded, TracerError> {
        let header_page = self.text("events/header_page")?;
        let page = dat::page_bytes(&header_page).ok_or_else(|| {
            let cause = io::Error::new(ErrorKind::InvalidData, "no field `data` with offset and size");
            at(&self.root.join("events/header_page"), cause)
        })?;
        let mut recorded = Recorded { events: 0, dropped: 0 };
        let mut sizes = Vec::new();
        for cpu in 0.. {
            let folder = self.instance.join(format!("per_cpu/cpu{cpu}"));
            if !folder.is_dir() {
                break;
            }
            recorded.add(&fs::read_to_string(folder.join("stats")).map_err(|cause| at(&folder.join("stats"), cause))?);
            sizes.push(move_pages(&folder.join("trace_pipe_raw"), page, &mut scratch)?);
        }
        let mut systems = Vec::new();
        for (system, events) in &self.events {
            let formats = events.iter().map(|event| self.text(&format!("events/{system}/{event}/format")));
            systems.push(((*system).to_owned(), formats.collect::<Result<_, _>>()?));
        }
        let head = Head {
            page,
            header_page: &header_page,
            header_event: &self.text("events/header_event")?,
            ftrace: vec![self.text("events/ftrace/print/format")?],
            systems,
            kallsyms: "",
            tasks: &self.text("saved_cmdlines")?,
            clock: &format!("[{CLOCK}]"),
            sizes: &sizes,
        };
        let copied = out
            .write_all(&head.bytes())
            .and_then(|()| scratch.rewind())
            .and_then(|()| io::copy(&mut scratch, &mut out));
        copied.and_then(|_| out.flush()).map_err(TracerError::Output)?;
        Ok(recorded)
    }

    /// Writes a file of the instance.
    fn set(&self, file: &str, value: &str) -> Result<(), TracerError> {
        let path = self.instance.join(file);
        let written = OpenOptions::new().write(true).open(&path).and_then(|mut file| file.write_all(value.as_bytes()));
        written.map_err(|cause| at(&path, cause))
    }

    /// Reads a file of tracefs. Some give their text to the first read alone, so that has room for it.
    fn text(&self, file: &str) -> Result<String, TracerError> {
        let path = self.root.join(file);
        let mut bytes = Vec::with_capacity(ROOM);
        File::open(&path).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(|cause| at(&path, cause))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.instance);
    }
}

impl Recorded {
    /// Adds the counts of a CPU: lines `NAME: NUMBER`.
    fn add(&mut self, stats: &str) {
        for (name, count) in stats.lines().filter_map(|line| line.split_once(':')) {
            let count = count.trim().parse().unwrap_or(0);
            match name {
                "entries" => self.events += count,
                "overrun" | "commit overrun" | "dropped events" => self.dropped += count,
                _ => {}
            }
        }
    }
}

fn at(path: &Path, cause: io::Error) -> TracerError {
    TracerError::Tracefs { path: path.display().to_string(), cause }
}

/// Removes the instances of programs that are gone.
fn remove_abandoned(instances: &Path) {
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(NAME)?.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Moves the pages of a CPU behind those in `pages`; their bytes.
fn move_pages(raw: &Path, page: usize, pages: &mut File) -> Result<u64, TracerError> {
    let mut buffer = vec![0; page];
    let mut size = 0;
    let mut file =
        OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(raw).map_err(|cause| at(raw, cause))?;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => {
                buffer[n..].fill(0);
                pages.write_all(&buffer).map_err(TracerError::Output)?;
                size += page as u64;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(cause) => return Err(at(raw, cause)),
        }
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_a_cpu_are_added() {
        let mut recorded = Recorded { events: 1, dropped: 0 };
        recorded
            .add("entries: 12\noverrun: 1\ncommit overrun: 0\nbytes: 99\noldest event ts:  1.5\ndropped events: 3\n");
        assert_eq!(recorded, Recorded { events: 13, dropped: 4 });
    }

    #[test]
    fn instances_of_living_programs_stay() {
        let dir = tempfile::tempdir().unwrap();
        let names = [format!("{NAME}{}", std::process::id()), format!("{NAME}{}", u32::MAX), "fairground-x".into()];
        names.iter().for_each(|name| fs::create_dir(dir.path().join(name)).unwrap());
        remove_abandoned(dir.path());
        assert_eq!(names.map(|name| dir.path().join(name).exists()), [true, false, true]);
    }
}
