//! Records what a running scheduler does: the kernel's scheduling events and the policy's placements go to a trace, and the command's
//! own policy is asked about each placement again.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use fairground_fair::ffi::{FgWhy, FG_PROTECT, FG_RQ};
use fairground_fair::reasons;
use fairground_host::thread_began;
use fairground_trace::Export;
use libbpf_rs::{ErrorKind, MapHandle, RingBufferBuilder};

use crate::arena::START;
use crate::decision::{Arguments, Replica, Verdict};
use crate::scheduler::{Running, EVENTS_PIN};
use crate::stream::{kinds, Placed, QueueOrder, RawEvent, Stream};
use crate::{kernel_error, now, LiveError};

/// What is recorded beside the kernel's events and the placements.
#[derive(Clone, Copy, Debug)]
pub struct What {
    /// Picks.
    pub picks: bool,
    /// The state that placements are decided on, so that the command's policy can be asked again. Copying it takes many times as long as
    /// the placement.
    pub state: bool,
}

/// What a recording came to.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Events of the kernel.
    pub events: u64,
    /// Placements with their state.
    pub decisions: u64,
    /// Placements without it: of tasks in cgroups, or where no state is asked for.
    pub stateless: u64,
    /// Those with it for which the command's policy came out with the same: CPU, rule, and all that follows.
    pub same: u64,
    /// Placements without room for their state, and events without room.
    pub lost: (u64, u64),
    /// The first placements that came out otherwise.
    pub different: Vec<Different>,
    /// The scheduler ended before the recording did, or was started anew, as it is when a CPU goes offline.
    pub is_cut_short: bool,
}

/// A placement that the command's policy decides otherwise than the kernel's did, on the same state.
#[derive(Clone, Debug)]
pub struct Different {
    /// Name and pid of the task.
    pub task: (String, u32),
    /// What was asked.
    pub arguments: Arguments,
    /// The scheduler in the kernel.
    pub live: Verdict,
    /// The command.
    pub native: Verdict,
}

/// How long the reader sleeps. Each time it wakes up it is one more task to place.
const POLL: Duration = Duration::from_millis(100);
/// The same where states are recorded, for which CPUs have little room.
const POLL_STATES: Duration = Duration::from_millis(10);
/// How often is looked whether the scheduler still runs.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How many of them are kept.
const MOST_DIFFERENT: usize = 8;

/// The programs record, until it is dropped.
struct Recording<'r> {
    running: &'r Running,
    events: MapHandle,
    /// All of the arena, sorted.
    slots: Vec<usize>,
    /// When it began: ns of CLOCK_MONOTONIC.
    since: u64,
    /// What was lost before it began.
    lost_before: (u64, u64),
}

impl<'r> Recording<'r> {
    fn begin(running: &'r Running, what: What) -> Result<Recording<'r>, LiveError> {
        let arena = &running.arena;
        let other = arena.recorder();
        // The process of another one that was killed may be gone, or be a later one of the same number.
        if other != 0 && thread_began(other) == Some(arena.head("recorder_began")) {
            return Err(kernel_error("record", format!("process {other} records already")));
        }
        let events = MapHandle::from_pinned_path(EVENTS_PIN)
            .map_err(|error| kernel_error("open the scheduler's events", error))?;
        // Of one that was killed: programs that are just filling a slot end first.
        if other != 0 {
            arena.end_recorder(other);
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut slots = arena.slots();
        slots.sort_unstable();
        slots.iter().for_each(|slot| arena.release(*slot));
        let mut recording = Recording { running, events, slots, since: now(), lost_before: (0, 0) };
        recording.lost_before = recording.lost();
        arena.set_recorder(std::process::id(), what);
        Ok(recording)
    }

    fn stop(&self) {
        self.running.arena.end_recorder(std::process::id());
    }

    /// Placements and events without room.
    fn lost(&self) -> (u64, u64) {
        let arena = &self.running.arena;
        let sum = |name| (0..arena.nr_cpus()).map(|cpu| arena.cpu(cpu, name)[0]).sum::<u64>();
        // A scheduler that was started anew counts from 0.
        let since = |name, before: u64| sum(name).saturating_sub(before);
        (since("lost_decisions", self.lost_before.0), since("lost_events", self.lost_before.1))
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Reads a running scheduler's events.
struct Recorder<'r, 'o> {
    recording: &'r Recording<'r>,
    replica: Option<Replica>,
    why: Option<Box<FgWhy>>,
    stream: Stream<'o>,
    recorded: Recorded,
}

/// Records until `goes_on` says no. `out` gets the events; with picks also the reasons of placements, if their state is recorded.
///
/// # Errors
/// Another process records, the kernel refuses, or the trace cannot be written.
pub fn record<'o>(
    running: &Running,
    out: Option<Box<dyn Export + 'o>>,
    what: What,
    mut goes_on: impl FnMut() -> bool,
) -> Result<Recorded, LiveError> {
    let recording = Recording::begin(running, what)?;
    let len = running.arena.head("machine_len") as usize;
    // SAFETY: a slot of the arena that `running` has mapped.
    let replica = recording.slots.first().and_then(|slot| unsafe { Replica::new(*slot, len) });
    let recorder = Rc::new(RefCell::new(Recorder {
        recording: &recording,
        replica,
        why: (what.picks && what.state).then(|| Box::new(FgWhy::zeroed())),
        stream: Stream::new(out),
        recorded: Recorded::default(),
    }));
    let failed = |error| kernel_error("read the scheduler's events", error);
    let mut builder = RingBufferBuilder::new();
    let taker = Rc::clone(&recorder);
    builder
        .add(&recording.events, move |bytes| {
            taker.borrow_mut().take(bytes);
            0
        })
        .map_err(failed)?;
    let ring = builder.build().map_err(failed)?;
    let mut next_look = Instant::now() + LOOK_EVERY;
    while goes_on() {
        if Instant::now() >= next_look {
            if !running.is_in_charge() {
                recorder.borrow_mut().recorded.is_cut_short = true;
                break;
            }
            next_look = Instant::now() + LOOK_EVERY;
        }
        match ring.poll(if what.state { POLL_STATES } else { POLL }) {
            // By a signal, after which `goes_on` may say no.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            polled => polled.map_err(failed)?,
        }
        recorder.borrow_mut().stream.pass_on(false);
    }
    recording.stop();
    ring.consume().map_err(failed)?;
    drop(ring);
    let Ok(recorder) = Rc::try_unwrap(recorder) else {
        return Err(kernel_error("read the scheduler's events", "its reader did not end"));
    };
    recorder.into_inner().finish()
}

impl Recorder<'_, '_> {
    fn take(&mut self, bytes: &[u8]) {
        // Earlier ones are of a recorder that was killed.
        let running = self.recording.running;
        let order = QueueOrder { rq: running.feature(FG_RQ), protect: running.feature(FG_PROTECT) };
        let raw = RawEvent::read(bytes, order).filter(|raw| raw.time >= self.recording.since);
        let Some(raw) = raw else { return };
        let placed = if raw.kind == kinds::DECISION { self.decide(&raw) } else { None };
        self.recorded.stateless += u64::from(raw.kind == kinds::PLACED);
        self.stream.take(raw, placed);
    }

    /// Asks the command's policy about a placement, and gives its slot back.
    fn decide(&mut self, raw: &RawEvent) -> Option<Placed> {
        let slot = START | raw.value as u32 as usize;
        self.recording.slots.binary_search(&slot).ok()?;
        let replica = self.replica.as_mut()?;
        // SAFETY: a slot of the arena that is mapped, all slots are alike, and its event says that it is filled.
        unsafe { replica.load(slot) };
        self.recording.running.arena.release(slot);
        let (arguments, live) = (replica.arguments(), replica.recorded());
        let native = replica.ask(self.why.as_deref_mut());
        self.recorded.decisions += 1;
        if native == live {
            self.recorded.same += 1;
        } else if self.recorded.different.len() < MOST_DIFFERENT {
            let task = (raw.threads[0].name(), raw.threads[0].pid);
            self.recorded.different.push(Different { task, arguments, live, native });
        }
        let why = self.why.as_deref().map(|why| reasons(arguments.flags, why).collect());
        Some((arguments, live, why.unwrap_or_default()))
    }

    fn finish(mut self) -> Result<Recorded, LiveError> {
        self.recorded.lost = self.recording.lost();
        self.recorded.events = self.stream.count();
        self.stream.finish().map_err(|error| kernel_error("write the trace", error))?;
        Ok(self.recorded)
    }
}
