//! Loads the programs, fills the arena, attaches the scheduler, and finds one that runs.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};

use fairground_fair::{Features, PolicySandbox};
use fairground_machine::Machine;
use libbpf_rs::{Link, MapCore, MapHandle, Object, ObjectBuilder};

use crate::arena::{pages, Arena, PAGE, START};
use crate::host::Host;
use crate::structs::MAX_CPUS;
use crate::{kernel_error, LiveError};

/// The BPF object that build.rs made of `bpf/live.bpf.c`.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/live.bpf.o"));
/// Where the arena of a scheduler that runs has a name.
const PIN: &str = "/sys/fs/bpf/fairground-live";
/// Bytes of `ended.reason` and `ended.message` in live.bpf.c; the dump follows.
const TEXTS: [usize; 2] = [128, 1024];

/// A scheduler that runs until it is dropped, or the kernel ends it.
pub struct Scheduler {
    // Dropped first: the programs use the arena.
    links: Vec<Link>,
    object: Object,
    arena: Arena,
    pinned: Option<PathBuf>,
}

/// Why the kernel ended the scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// `enum scx_exit_kind`: 64 to 66 by a user, 1024 and above because of a fault.
    pub kind: i64,
    /// In the kernel's words.
    pub reason: String,
    /// The kernel's details, e.g. which task did not run for how long.
    pub message: String,
    /// What the kernel says of its run queues and tasks then; empty where it was not asked.
    pub dump: String,
}

/// What a scheduler has done so far, all CPUs together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Wakeups and forks by the policy's rule (`FG_RULE_*`).
    pub placed: Vec<u64>,
    /// Picks by rule (`FG_PICK_RULE_*`).
    pub picked: Vec<u64>,
    /// Wakeups and forks that chose another CPU than the previous one.
    pub migrations: u64,
    /// Tasks that got a CPU.
    pub switches: u64,
    /// Ticks of CPUs that ran a task.
    pub ticks: u64,
    /// Calls for tasks that the scheduler did not know.
    pub unknown: u64,
    /// Tasks that were refused because all slots were taken.
    pub refused: u64,
    /// From wakeups until the tasks ran.
    pub waits: Waits,
}

/// Times from wakeups until the tasks ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// How many.
    pub count: u64,
    /// ns, all together.
    pub sum_ns: u64,
    /// ns.
    pub longest_ns: u64,
    /// Process id of the task that waited so long.
    pub longest_pid: u64,
}

impl Scheduler {
    /// Starts `features` on this machine, which `machine` describes. `hz`: the kernel's ticks per second. The kernel's
    /// fair class is out of work from then on.
    ///
    /// # Errors
    /// Something is missing ([`LiveError::Lacking`]), the file is of another machine, or the kernel refuses the programs.
    pub fn start(machine: &Machine, features: &Features, hz: u32) -> Result<Scheduler, LiveError> {
        let mut missing = Host::this().lacking();
        if !Host::is_privileged() {
            missing.push("loading programs into the kernel needs root".into());
        }
        if !missing.is_empty() {
            return Err(LiveError::Lacking(missing));
        }
        check_cpus(machine)?;
        let mut sandbox =
            PolicySandbox::new(machine, features, hz).map_err(|error| LiveError::Machine(error.to_string()))?;
        check_room()?;
        let object = load()?;
        // SAFETY: libbpf has mapped the arena at START, where nothing was, and nothing is attached.
        let arena = unsafe { Arena::fill(&mut sandbox) }?;
        let mut scheduler = Scheduler { links: Vec::new(), object, arena, pinned: None };
        // Of one that was killed.
        let _ = std::fs::remove_file(PIN);
        scheduler.attach()?;
        scheduler.pin();
        Ok(scheduler)
    }

    fn attach(&mut self) -> Result<(), LiveError> {
        let failed = |error| kernel_error("attach the scheduler", error);
        for program in
            self.object.progs_mut().filter(|program| program.section().to_string_lossy().starts_with("tp_btf/"))
        {
            self.links.push(program.attach().map_err(failed)?);
        }
        let mut maps = self.object.maps_mut();
        let Some(mut map) = maps.find(|map| map.name() == "fairground") else {
            return Err(kernel_error("attach the scheduler", "the object has no struct_ops map"));
        };
        self.links.push(map.attach_struct_ops().map_err(failed)?);
        Ok(())
    }

    /// Without a BPF file system other processes do not find the scheduler, and it runs all the same.
    fn pin(&mut self) {
        let path = PathBuf::from(PIN);
        if !path.parent().is_some_and(Host::is_bpf_fs) {
            return;
        }
        let found = self.object.maps_mut().find(|map| map.name() == "arena");
        if found.is_some_and(|mut map| map.pin(&path).is_ok()) {
            self.pinned = Some(path);
        }
    }

    /// Whether other processes can find it.
    pub fn is_pinned(&self) -> bool {
        self.pinned.is_some()
    }

    /// Why the kernel ended it; none while it runs.
    pub fn ended(&self) -> Option<Ended> {
        let map = self.object.maps().find(|map| map.name().to_string_lossy().ends_with(".bss.ended"))?;
        let value = map.lookup(&0u32.to_ne_bytes(), libbpf_rs::MapFlags::ANY).ok()??;
        let kind = i64::from_ne_bytes(value.get(..8)?.try_into().ok()?);
        let text = |bytes: &[u8]| {
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            String::from_utf8_lossy(&bytes[..end]).into_owned()
        };
        let (reason, rest) = value.get(16..)?.split_at_checked(TEXTS[0])?;
        let (message, dump) = rest.split_at_checked(TEXTS[1])?;
        (kind != 0).then(|| Ended { kind, reason: text(reason), message: text(message), dump: text(dump) })
    }

    /// What it has done so far.
    pub fn status(&self) -> Status {
        status(&self.arena)
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        let ended = self.ended().is_some();
        // The scheduler first: its state is right only as long as it is told of migrations.
        while self.links.pop().is_some() {}
        // If the kernel has ended it, another one may have the name by now.
        if let Some(path) = self.pinned.take().filter(|_| !ended) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A scheduler that another process has started.
pub struct Running {
    // Keeps the map, and so its memory.
    _map: MapHandle,
    arena: Arena,
}

impl Running {
    /// Opens it.
    ///
    /// # Errors
    /// [`LiveError::NotRunning`], or its arena cannot be mapped.
    pub fn open() -> Result<Running, LiveError> {
        let path = Path::new(PIN);
        if !path.exists() || Host::this().other_scheduler().as_deref() != Some("fairground") {
            return Err(LiveError::NotRunning);
        }
        let map =
            MapHandle::from_pinned_path(path).map_err(|error| kernel_error("open the scheduler's arena", error))?;
        map_arena(map.as_fd())?;
        // SAFETY: mapped at START; the process that started the scheduler has filled it before it pinned it.
        let arena = unsafe { Arena::at_start() };
        if !arena.is_of_this_build() {
            return Err(kernel_error("open the scheduler's arena", "another build of the command has started it"));
        }
        Ok(Running { _map: map, arena })
    }

    /// What it has done so far.
    pub fn status(&self) -> Status {
        status(&self.arena)
    }

    /// The value of a feature that is in force.
    pub fn feature(&self, id: usize) -> u8 {
        self.arena.feature(id)
    }

    /// Puts a value of a feature in force.
    pub fn set_feature(&self, id: usize, value: u8) {
        self.arena.set_feature(id, value);
    }
}

/// Nothing is mapped yet where the arena will be: libbpf would replace it.
fn check_room() -> Result<(), LiveError> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    let len = pages() * PAGE;
    // SAFETY: a mapping that nobody may use, where there is none, and its end.
    unsafe {
        let at = libc::mmap(START as *mut libc::c_void, len, libc::PROT_NONE, flags, -1, 0);
        if at as usize != START {
            return Err(kernel_error("find room for the arena", std::io::Error::last_os_error()));
        }
        libc::munmap(at, len);
    }
    Ok(())
}

/// Maps an arena where it is in the kernel's eyes, too.
fn map_arena(fd: BorrowedFd<'_>) -> Result<(), LiveError> {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE);
    // SAFETY: a mapping at an address of our own, where nothing may be yet.
    let at = unsafe { libc::mmap(START as *mut libc::c_void, pages() * PAGE, protection, flags, fd.as_raw_fd(), 0) };
    if at as usize == START {
        return Ok(());
    }
    Err(kernel_error("map the scheduler's arena", std::io::Error::last_os_error()))
}

fn check_cpus(machine: &Machine) -> Result<(), LiveError> {
    let nr = machine.nr_cpus();
    if nr > MAX_CPUS {
        return Err(LiveError::Machine(format!("expected {MAX_CPUS} CPUs at most, the machine has {nr}")));
    }
    let here = libbpf_rs::num_possible_cpus().map_err(|error| kernel_error("count the CPUs", error))?;
    if nr != here {
        return Err(LiveError::Machine(format!("the machine file has {nr} CPUs, this machine {here}")));
    }
    Ok(())
}

/// Loads the programs, with an arena at [`START`].
fn load() -> Result<Object, LiveError> {
    let refused = |error: libbpf_rs::Error| kernel_error("load the programs", error);
    let mut builder = ObjectBuilder::default();
    builder.name("fairground").map_err(refused)?;
    let mut open = builder.open_memory(OBJECT).map_err(refused)?;
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if name == "arena" {
            map.set_max_entries(pages() as u32).map_err(refused)?;
            map.set_map_extra(START as u64).map_err(refused)?;
        } else if name.ends_with(".rodata.live") {
            if let Some(value) = map.initial_value_mut() {
                value[..8].copy_from_slice(&(Arena::HEAD as u64).to_ne_bytes());
            }
        }
    }
    open.load().map_err(refused)
}

fn status(arena: &Arena) -> Status {
    let mut all = Status { refused: arena.head("refused"), ..Status::default() };
    let add = |sums: &mut Vec<u64>, more: Vec<u64>| {
        sums.resize(more.len(), 0);
        sums.iter_mut().zip(more).for_each(|(sum, one)| *sum += one);
    };
    for cpu in 0..arena.nr_cpus() {
        let one = |name| arena.cpu(cpu, name)[0];
        add(&mut all.placed, arena.cpu(cpu, "placed"));
        add(&mut all.picked, arena.cpu(cpu, "picked"));
        all.migrations += one("migrations");
        all.switches += one("switches");
        all.ticks += one("ticks");
        all.unknown += one("unknown");
        all.waits.count += one("waits");
        all.waits.sum_ns += one("waited");
        if one("longest_wait") > all.waits.longest_ns {
            (all.waits.longest_ns, all.waits.longest_pid) = (one("longest_wait"), one("longest_waiter"));
        }
    }
    all
}
