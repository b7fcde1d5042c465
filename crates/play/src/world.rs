//! What every thread of a round refers to. Made before the first process is; processes inherit it, or read it from a file behind
//! an execve.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::Arc;

use fairground_machine::CpuMask;
use fairground_workload::{GroupId, Object, Op, SchedAttr, SeriesId, SpecId, TaskSpec, Workload, TIMER_SLACK_NS};

use serde::{Deserialize, Serialize};

use crate::calibrate::Calibration;
use crate::interp::Birth;
use crate::shared::{fault, Shared};
use crate::sys::{self, Scope};
use crate::Surroundings;

/// The two ends of a pipe or a socket.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Channel {
    /// Descriptor to read from.
    pub read: libc::c_int,
    /// Descriptor to write to.
    pub write: libc::c_int,
}

/// A round: workload, seed, objects, and how fast the machine is.
pub struct World {
    /// What is played.
    pub workload: Arc<Workload>,
    /// Seed of all draws.
    pub seed: u64,
    /// The CPUs that threads without an affinity may use.
    pub cpus: CpuMask,
    /// Work in iterations.
    pub calibration: Arc<Calibration>,
    /// Whether all threads are of one process.
    pub scope: Scope,
    /// State that processes share.
    pub shared: Shared,
    /// By object; `None` where it is neither pipe nor socket.
    channels: Vec<Option<Channel>>,
    /// By template: whether its threads await their children.
    awaits: Vec<bool>,
    /// Counter of migrations; -1: none.
    counter: AtomicI32,
    /// Whether its processes have a session of their own.
    pub own_session: bool,
    /// By task group: what its members are written to. Opened by the caller, whose rights count.
    groups: Vec<Vec<File>>,
    /// A [`Description`], if a program executes another.
    description: Option<File>,
}

/// A round as a program reads it which one of its processes has executed. Descriptors have the same numbers there.
#[derive(Serialize, Deserialize)]
struct Description {
    workload: Arc<Workload>,
    seed: u64,
    cpus: CpuMask,
    calibration: Arc<Calibration>,
    shared: RawFd,
    channels: Vec<Option<Channel>>,
    groups: Vec<Vec<RawFd>>,
}

/// What a process hands over beside its thread as it executes a program.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Handle {
    description: RawFd,
    counter: RawFd,
}

/// What a round lacks.
pub enum Lacking {
    /// An object, by its index.
    Object(u32),
    /// The memory that all share.
    Memory,
    /// A cgroup whose list of members cannot be written.
    Group(PathBuf),
}

/// Why something could not be made.
pub struct NoObject {
    /// The thing.
    pub what: Lacking,
    /// The reason.
    pub cause: io::Error,
}

impl World {
    /// Makes all objects.
    pub fn new(
        workload: Arc<Workload>,
        seed: u64,
        cpus: CpuMask,
        calibration: Arc<Calibration>,
        surroundings: &Surroundings,
    ) -> Result<World, NoObject> {
        let scope = scope_of(&workload);
        let no_memory = |cause| NoObject { what: Lacking::Memory, cause };
        let shared = Shared::new(&workload, scope).map_err(no_memory)?;
        let open = |path: &PathBuf| {
            let file = File::options().write(true).open(path);
            file.map_err(|cause| NoObject { what: Lacking::Group(path.clone()), cause })
        };
        let groups = surroundings.groups.iter().map(|files| files.iter().map(open).collect());
        let groups = groups.collect::<Result<_, _>>()?;
        let mut world = World {
            workload: Arc::clone(&workload),
            seed,
            cpus,
            calibration,
            scope,
            shared,
            channels: Vec::new(),
            awaits: awaits(&workload),
            counter: AtomicI32::new(-1),
            own_session: surroundings.own_session,
            groups,
            description: None,
        };
        for (id, object) in workload.objects.iter().enumerate() {
            let made = match *object {
                Object::Pipe { slots } => pipe(slots).map(Some),
                Object::Socket { sndbuf, .. } => socket(sndbuf).map(Some),
                _ => Ok(None),
            };
            world.channels.push(made.map_err(|cause| NoObject { what: Lacking::Object(id as u32), cause })?);
        }
        if workload.tasks.iter().any(|task| task.program.contains(&Op::Exec)) {
            world.description = Some(world.describe().map_err(no_memory)?);
        }
        Ok(world)
    }

    fn describe(&self) -> io::Result<File> {
        let number = |file: &File| file.as_raw_fd();
        let description = Description {
            workload: Arc::clone(&self.workload),
            seed: self.seed,
            cpus: self.cpus,
            calibration: Arc::clone(&self.calibration),
            shared: number(self.shared.file()),
            channels: self.channels.clone(),
            groups: self.groups.iter().map(|files| files.iter().map(number).collect()).collect(),
        };
        let mut file = sys::memory_file(c"description")?;
        serde_json::to_writer(io::BufWriter::new(&mut file), &description)?;
        Ok(file)
    }

    /// From now on, what this process and its children execute inherits the descriptors of the round and `also`; nothing happens
    /// where the workload executes no program.
    ///
    /// # Errors
    /// If a descriptor is not open.
    pub fn keep_over_exec(&self, also: RawFd) -> io::Result<()> {
        let Some(description) = &self.description else { return Ok(()) };
        let files = self.groups.iter().flatten().chain([description, self.shared.file()]).map(AsRawFd::as_raw_fd);
        let channels = self.channels.iter().flatten().flat_map(|channel| [channel.read, channel.write]);
        files.chain(channels).chain([also]).try_for_each(sys::keep_over_exec)
    }

    /// What an executed program finds the round by; `None` where the workload executes none.
    pub fn handle(&self) -> Option<Handle> {
        let description = self.description.as_ref()?.as_raw_fd();
        Some(Handle { description, counter: self.counter.load(Ordering::Acquire) })
    }

    /// The round of which a process has executed this program.
    ///
    /// # Errors
    /// If the descriptors are not those of a round.
    pub fn again(handle: Handle) -> io::Result<World> {
        let open = |fd: RawFd| {
            sys::keep_over_exec(fd)?;
            // SAFETY: it is open, and nothing else in this program has it.
            Ok::<_, io::Error>(unsafe { File::from_raw_fd(fd) })
        };
        let file = open(handle.description)?;
        // Read in its place: other processes have the same position in it.
        let mut text = vec![0; file.metadata()?.len() as usize];
        file.read_exact_at(&mut text, 0)?;
        let description: Description = serde_json::from_slice(&text)?;
        let Description { workload, seed, cpus, calibration, shared, channels, groups } = description;
        let groups = groups.into_iter().map(|files| files.into_iter().map(open).collect());
        Ok(World {
            scope: scope_of(&workload),
            shared: Shared::again(open(shared)?, &workload)?,
            awaits: awaits(&workload),
            workload,
            seed,
            cpus,
            calibration,
            channels,
            counter: AtomicI32::new(handle.counter),
            own_session: false,
            groups: groups.collect::<io::Result<_>>()?,
            description: Some(file),
        })
    }

    /// The thread template with this index in the workload. Panics if there is none.
    pub fn template(&self, spec: SpecId) -> &TaskSpec {
        &self.workload.tasks[spec as usize]
    }

    /// The ends of a pipe or socket.
    pub fn channel(&self, id: u32) -> Channel {
        self.channels[id as usize].unwrap_or(Channel { read: -1, write: -1 })
    }

    /// Moves the calling process into a task group.
    ///
    /// # Errors
    /// Where the kernel refuses it, such as a cpuset without a CPU.
    pub fn join_group(&self, group: GroupId) -> io::Result<()> {
        let files = self.groups.get(group as usize).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))?;
        // 0 stands for who writes it.
        files.iter().try_for_each(|mut file| file.write_all(b"0"))
    }

    /// Whether threads of a template await their children.
    pub fn awaits_children(&self, spec: SpecId) -> bool {
        self.awaits[spec as usize]
    }

    /// Resolution of a series' clock, ns.
    pub fn tick_ns(&self, series: SeriesId) -> u64 {
        self.workload.series[series as usize].tick_ns.into()
    }

    /// When the threads of the start were let go, ns.
    pub fn started_at(&self) -> u64 {
        self.shared.control().started_at.load(Ordering::Acquire)
    }

    /// Waits until they are; returns that time.
    pub fn await_go(&self) -> u64 {
        let c = self.shared.control();
        c.ready.fetch_add(1, Ordering::AcqRel);
        sys::futex_wake(&c.ready, 1, Scope::Shared);
        while c.go.load(Ordering::Acquire) == 0 {
            sys::futex_wait(&c.go, 0, Scope::Shared, None);
        }
        self.started_at()
    }

    /// What a new thread is born with. It counts from now on. `None`, and the round has failed, if a run may have no more
    /// threads.
    pub fn birth(
        &'static self,
        spec: SpecId,
        lineage: u64,
        inherited: SchedAttr,
        born_at: Option<u64>,
    ) -> Option<Birth> {
        let Some(id) = self.shared.take_record() else {
            self.shared.fail(fault::TOO_MANY, 0, spec, u32::MAX);
            return None;
        };
        if !self.template(spec).daemon {
            self.shared.control().vital.fetch_add(1, Ordering::AcqRel);
        }
        Some(Birth {
            world: self,
            spec,
            id,
            lineage,
            inherited,
            inherited_cpus: None,
            inherited_slack_ns: TIMER_SLACK_NS,
            born_at,
        })
    }

    /// Ends the round as failed.
    pub fn fail(&self, fault: u32, error: &io::Error, spec: SpecId, op: u32) {
        self.shared.fail(fault, error.raw_os_error().unwrap_or(libc::EIO), spec, op);
    }

    /// Counts the migrations of the calling process and of all that it creates from now on.
    ///
    /// # Errors
    /// Where the kernel does not let this user count what happens in the kernel.
    pub fn count_migrations(&self) -> io::Result<()> {
        self.counter.store(migration_counter()?, Ordering::Release);
        Ok(())
    }

    /// Migrations so far; 0 if they are not counted.
    pub fn migrations(&self) -> u64 {
        let counter = self.counter.load(Ordering::Acquire);
        let mut value = [0; 8];
        if counter < 0 || sys::read_exact(counter, &mut value).is_err() {
            return 0;
        }
        u64::from_ne_bytes(value)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for channel in self.channels.iter().flatten() {
            // SAFETY: both ends are ours; a socket pair has two descriptors as well.
            unsafe { (libc::close(channel.read), libc::close(channel.write)) };
        }
    }
}

fn awaits(workload: &Workload) -> Vec<bool> {
    workload.tasks.iter().map(|task| task.program.contains(&Op::WaitChildren)).collect()
}

/// Threads of one start process share an address space, until one of them forks.
fn scope_of(workload: &Workload) -> Scope {
    let processes: BTreeSet<u32> = workload.start.iter().map(|start| start.process).collect();
    let mut steps = workload.tasks.iter().flat_map(|task| task.program.iter());
    let forks = steps.any(|op| matches!(op, Op::Spawn { thread: false, .. }));
    if processes.len() > 1 || forks {
        Scope::Shared
    } else {
        Scope::Private
    }
}

/// Bytes of a slot of a pipe: a page, as the workload counts them.
const SLOT: libc::c_int = 4096;

fn pipe(slots: u32) -> io::Result<Channel> {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors.
    sys::checked(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) }.into())?;
    let [read, write] = ends;
    let asked = slots as libc::c_int * SLOT;
    // SAFETY: the descriptor is ours.
    let size =
        |command: libc::c_int, value: libc::c_int| sys::checked(unsafe { libc::fcntl(write, command, value) }.into());
    if size(libc::F_GETPIPE_SZ, 0)? != libc::c_long::from(asked) {
        let is = size(libc::F_SETPIPE_SZ, asked)?;
        if is != libc::c_long::from(asked) {
            return Err(io::Error::other(format!("the kernel gives it {is} bytes and not {asked}")));
        }
    }
    Ok(Channel { read, write })
}

fn socket(sndbuf: u32) -> io::Result<Channel> {
    let mut ends = [0; 2];
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: room for two descriptors.
    sys::checked(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) }.into())?;
    let [read, write] = ends;
    if send_buffer(write)? != sndbuf {
        // The kernel doubles what it is given.
        let half = (sndbuf / 2) as libc::c_int;
        let size = std::mem::size_of_val(&half) as libc::socklen_t;
        let at = std::ptr::from_ref(&half).cast();
        // SAFETY: the value lives through the call.
        sys::checked(unsafe { libc::setsockopt(write, libc::SOL_SOCKET, libc::SO_SNDBUF, at, size) }.into())?;
        let is = send_buffer(write)?;
        if is / 2 != sndbuf / 2 {
            let hint = "net.core.wmem_max limits it";
            return Err(io::Error::other(format!("its send buffer is {is} bytes and not {sndbuf}: {hint}")));
        }
    }
    Ok(Channel { read, write })
}

fn send_buffer(fd: libc::c_int) -> io::Result<u32> {
    let mut value: libc::c_int = 0;
    let mut size = std::mem::size_of_val(&value) as libc::socklen_t;
    let at = std::ptr::from_mut(&mut value).cast();
    // SAFETY: value and size are ours.
    sys::checked(unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_SNDBUF, at, &mut size) }.into())?;
    Ok(value as u32)
}

/// The first 48 bytes of `struct perf_event_attr` and room for the rest of its first version.
#[repr(C)]
#[derive(Default)]
struct EventAttr {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample: u64,
    read_format: u64,
    flags: u64,
    rest: [u64; 2],
}

/// PERF_TYPE_SOFTWARE
const SOFTWARE: u32 = 1;
/// PERF_COUNT_SW_CPU_MIGRATIONS
const MIGRATIONS: u64 = 4;
/// PERF_ATTR_SIZE_VER0
const EVENT_ATTR_SIZE: u32 = 64;
/// The bit `inherit`.
const INHERIT: u64 = 1 << 1;

fn migration_counter() -> io::Result<libc::c_int> {
    let size = EVENT_ATTR_SIZE;
    let attr = EventAttr { kind: SOFTWARE, size, config: MIGRATIONS, flags: INHERIT, ..EventAttr::default() };
    // SAFETY: `attr` has the size that it states. This process, any CPU, no group.
    sys::checked(unsafe { libc::syscall(libc::SYS_perf_event_open, &attr, 0, -1, -1, 0) }).map(|fd| fd as libc::c_int)
}

#[cfg(test)]
mod tests {
    use fairground_machine::Machine;

    use super::*;

    #[test]
    fn one_process_has_futexes_of_its_own() {
        let machine = Machine::symmetric(2);
        let of = |spec: &str| scope_of(&Workload::find(spec, &machine).unwrap().0);
        assert_eq!(of("sched-pipe:threads"), Scope::Private);
        assert_eq!(of("sched-pipe"), Scope::Shared);
        assert_eq!(of("schbench"), Scope::Private);
    }

    #[test]
    fn channels_have_the_room_that_the_workload_states() {
        for channel in [pipe(16).unwrap(), pipe(2).unwrap(), socket(212_992).unwrap(), socket(8192).unwrap()] {
            sys::write_all(channel.write, b"x").unwrap();
            sys::poll_readable(channel.read).unwrap();
            // SAFETY: ours and open.
            unsafe { (libc::close(channel.read), libc::close(channel.write)) };
        }
        assert!(pipe(3).is_err(), "a power of two pages");
    }
}
