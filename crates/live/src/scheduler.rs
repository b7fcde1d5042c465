//! Loads the programs, fills the arena, attaches the scheduler, and finds one that runs.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;

use fairground_fair::ffi::FgIdleState;
use fairground_fair::{Features, PolicySandbox};
use fairground_machine::{IdleState, Machine};
use libbpf_rs::btf::{Btf, BtfType};
use libbpf_rs::{Link, Map, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, OpenObject, Program};

use crate::arena::{pages, Arena, PAGE, START};
use crate::host::Host;
use crate::structs::MAX_CPUS;
use crate::{kernel_error, now, LiveError};

/// Its name in sched_ext: `.name` in live.bpf.c.
const NAME: &str = "fairground";
/// The BPF object that build.rs made of `bpf/live.bpf.c`.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/live.bpf.o"));
/// Where the maps of a scheduler that runs have names.
const PINS: &str = "/sys/fs/bpf/fairground-live";
const ARENA_PIN: &str = "/sys/fs/bpf/fairground-live/arena";
/// What it tells recorders.
pub(crate) const EVENTS_PIN: &str = "/sys/fs/bpf/fairground-live/events";
/// The maps that have names. The arena last: who finds it finds all.
const PINNED: [(&str, &str); 2] = [("events", EVENTS_PIN), ("arena", ARENA_PIN)];
/// Sections of programs that are called at a tracepoint, before its name.
const TRACED: &str = "tp_btf/";
/// Bytes of `ended.reason` and `ended.message` in live.bpf.c; the dump follows.
const TEXTS: [usize; 2] = [128, 1024];

/// A scheduler that runs until it is dropped, or the kernel ends it.
pub struct Scheduler {
    // Dropped first: the programs use the arena.
    links: Vec<Link>,
    object: Object,
    arena: Arena,
    is_pinned: bool,
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
    /// Number that the kernel gives with it: SCX_ECODE_*.
    pub code: u64,
}

/// SCX_ECODE_ACT_RESTART: the scheduler is to be started anew, e.g. because a CPU went online or offline.
const RESTART: u64 = 1 << 48;

impl Ended {
    /// Whether the kernel asks for the scheduler to be started anew.
    pub fn asks_for_restart(&self) -> bool {
        self.code & RESTART != 0
    }
}

/// A program as the kernel's verifier saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The program's name in the kernel.
    pub name: String,
    /// Instructions that the verifier followed.
    pub instructions: u32,
}

/// Loads the programs and attaches nothing: what the kernel's verifier says of each.
///
/// # Errors
/// Something is missing ([`LiveError::Lacking`]), or the kernel refuses a program.
pub fn verify() -> Result<Vec<Verified>, LiveError> {
    check_kernel()?;
    check_room()?;
    let object = load()?;
    object.progs().map(|program| verified(&program)).collect()
}

fn verified(program: &Program) -> Result<Verified, LiveError> {
    // SAFETY: zeroed is a value of this plain struct.
    let mut info: libbpf_sys::bpf_prog_info = unsafe { std::mem::zeroed() };
    let mut len = size_of_val(&info) as u32;
    // SAFETY: room for the answer, and its length.
    let error =
        unsafe { libbpf_sys::bpf_prog_get_info_by_fd(program.as_fd().as_raw_fd(), &raw mut info, &raw mut len) };
    if error != 0 {
        return Err(kernel_error("ask about the programs", std::io::Error::from_raw_os_error(-error)));
    }
    Ok(Verified { name: program.name().to_string_lossy().into_owned(), instructions: info.verified_insns })
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
    /// Ticks of CPUs that were idle, and those of them that found a domain due.
    pub idle_ticks: [u64; 2],
    /// The longest time that fair tasks had a CPU without a tick, ns; a time that goes on counts. A host that takes CPUs away, or
    /// interrupts that are off for long, make it longer than the tick's period; what ran then is charged all of it.
    pub longest_tickless_ns: u64,
    /// Calls for tasks that the scheduler did not know.
    pub unknown: u64,
    /// Tasks that were refused because all slots were taken.
    pub refused: u64,
    /// How often a task left the queues because the quota of a cgroup was used up.
    pub throttled: u64,
    /// Tasks that came into a cgroup for which there was no room: they count as in one around it.
    pub ungrouped: u64,
    /// How often a task had waited for 5 s in the queue of a CPU, which got another look at it.
    pub late: u64,
    /// How often CPUs went idle with tasks in their queues, and were sent back to them, by how their last dispatch ended ([`WAYS`]).
    pub idled_early: Vec<u64>,
    /// ns that all placements took together; recorded ones take longer.
    pub deciding_ns: u64,
    /// Attempts to balance a domain, by [`fairground_sim::BalanceKind`], and those of them that found a source.
    pub balanced: [Vec<u64>; 2],
    /// Rounds for CPUs without tick that were asked for, and that were made.
    pub nohz_rounds: [u64; 2],
    /// From wakeups until the tasks ran.
    pub waits: Waits,
    /// What CPUs have for fair tasks now.
    pub capacity: Capacity,
}

/// How a dispatch ends: LIVE_WAY_* of live.h.
pub const WAYS: [&str; 5] = [
    "a task that was moved here was to run",
    "the current task was to go on",
    "the picked task was to run",
    "another CPU had taken the picked task",
    "there was no task",
];

/// Capacity of all CPUs of the machine file together, offline ones too, where the biggest has 1024, and what takes it: PELT signals and
/// limits as of the last event of each CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// Without anything that takes it.
    pub whole: u64,
    /// For fair tasks, as the last balance passes found it.
    pub left: u64,
    /// What RT tasks take: their PELT utilization.
    pub rt: u64,
    /// What deadline tasks take, likewise.
    pub deadline: u64,
    /// What interrupts take, likewise; 0 with a kernel that does not account them.
    pub interrupts: u64,
    /// What limits of clocks take: of each CPU the larger of the hardware's and cpufreq's.
    pub limits: u64,
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
    /// When that wait ended, ns of CLOCK_MONOTONIC.
    pub longest_until_ns: u64,
}

impl Scheduler {
    /// Starts `features` on this machine, which `machine` describes. `hz`: the kernel's ticks per second. The kernel's
    /// fair class is out of work from then on.
    ///
    /// # Errors
    /// Something is missing ([`LiveError::Lacking`]), the file is of another machine, or the kernel refuses the programs.
    pub fn start(machine: &Machine, features: &Features, hz: u32) -> Result<Scheduler, LiveError> {
        check_kernel()?;
        check_cpus(machine)?;
        // What it refuses is said before the programs are loaded, which takes long.
        sandbox(machine, features, hz)?;
        check_room()?;
        let object = load()?;
        // CPUs may have gone offline meanwhile.
        let mut sandbox = sandbox(machine, features, hz)?;
        // SAFETY: libbpf has mapped the arena at START, where nothing was, and nothing is attached.
        let arena = unsafe { Arena::fill(&mut sandbox, &idle_states(machine), 1) }?;
        let mut scheduler = Scheduler { links: Vec::new(), object, arena, is_pinned: false };
        // Names of one that was killed: nobody is to take them for this one's.
        if Host::this().other_scheduler().is_none() {
            unpin();
        }
        scheduler.attach()?;
        scheduler.pin();
        Ok(scheduler)
    }

    /// Starts it anew after the kernel has ended it, for the CPUs that are online now. The programs stay in the kernel: to verify them takes
    /// billions of instructions. Counters begin at 0.
    ///
    /// # Errors
    /// As [`Scheduler::start`].
    pub fn restart(&mut self, machine: &Machine, features: &Features, hz: u32) -> Result<(), LiveError> {
        let failed = |error: &dyn std::fmt::Display| kernel_error("start the scheduler anew", error);
        // Nobody is to find it while it is filled.
        self.unpin();
        self.links.clear();
        check_cpus(machine)?;
        // Programs that are just called end first.
        std::thread::sleep(std::time::Duration::from_millis(10));
        let mut sandbox = sandbox(machine, features, hz)?;
        // SAFETY: libbpf has mapped the arena at START, and nothing is attached.
        self.arena = unsafe { Arena::fill(&mut sandbox, &idle_states(machine), self.arena.head("starts") + 1) }?;
        let end = self.end()?;
        let mut read = libbpf_rs::RingBufferBuilder::new();
        read.add(&end, |_| 0).map_err(|error| failed(&error))?;
        read.build().and_then(|ring| ring.consume()).map_err(|error| failed(&error))?;
        let ended = self.ended_map().ok_or_else(|| failed(&"the object has no map"))?;
        let nothing = vec![0; ended.value_size() as usize];
        ended.update(&0u32.to_ne_bytes(), &nothing, MapFlags::ANY).map_err(|error| failed(&error))?;
        self.attach()?;
        self.pin();
        Ok(())
    }

    fn attach(&mut self) -> Result<(), LiveError> {
        let failed = |error| kernel_error("attach the scheduler", error);
        for program in self.object.progs_mut().filter(|program| program.section().to_string_lossy().starts_with(TRACED))
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
        self.is_pinned = false;
        if !Path::new(PINS).parent().is_some_and(Host::is_bpf_fs) {
            return;
        }
        self.is_pinned = PINNED.iter().all(|(name, path)| {
            let found = self.object.maps_mut().find(|map| map.name() == *name);
            found.is_some_and(|mut map| map.pin(path).is_ok()) && Path::new(path).exists()
        });
        if !self.is_pinned {
            self.unpin();
        }
    }

    /// Takes its own names away. libbpf has to know: it pins nothing twice.
    fn unpin(&mut self) {
        for (name, path) in PINNED {
            if let Some(mut map) = self.object.maps_mut().find(|map| map.name() == name) {
                let _ = map.unpin(path);
            }
        }
    }

    /// Whether other processes can find it.
    pub fn is_pinned(&self) -> bool {
        self.is_pinned
    }

    /// Unparks the calling thread as soon as the kernel has ended the scheduler. A thread that looked from time to time would be
    /// one more task that the scheduler places, and its CPU the last one that went idle.
    ///
    /// # Errors
    /// The programs have no such map, or there are no more files or threads.
    pub fn unpark_at_end(&self) -> Result<(), LiveError> {
        let failed = |error: &dyn std::fmt::Display| kernel_error("wait for the end of the scheduler", error);
        let end = self.end()?.as_fd().try_clone_to_owned().map_err(|error| failed(&error))?;
        let caller = std::thread::current();
        let wait = move || {
            let mut ready = libc::pollfd { fd: end.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one struct, which lives until the call returns. It returns early where a handler of a signal ran.
            while unsafe { libc::poll(&raw mut ready, 1, -1) } < 0
                && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
            {}
            caller.unpark();
        };
        std::thread::Builder::new().name("end".into()).spawn(wait).map_err(|error| failed(&error))?;
        Ok(())
    }

    /// The ring in which something lies as soon as it has ended.
    fn end(&self) -> Result<Map<'_>, LiveError> {
        let found = self.object.maps().find(|map| map.name() == "end");
        found.ok_or_else(|| kernel_error("wait for the end of the scheduler", "the object has no map"))
    }

    fn ended_map(&self) -> Option<Map<'_>> {
        self.object.maps().find(|map| map.name().to_string_lossy().ends_with(".bss.ended"))
    }

    /// Why the kernel ended it; none while it runs.
    pub fn ended(&self) -> Option<Ended> {
        let value = self.ended_map()?.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok()??;
        let number = |at: usize| Some(i64::from_ne_bytes(*value.get(at..)?.first_chunk()?));
        let (kind, code) = (number(0)?, number(8)? as u64);
        let text = |bytes: &[u8]| {
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            String::from_utf8_lossy(&bytes[..end]).into_owned()
        };
        let (reason, rest) = value.get(16..)?.split_at_checked(TEXTS[0])?;
        let (message, dump) = rest.split_at_checked(TEXTS[1])?;
        (kind != 0).then(|| Ended { kind, reason: text(reason), message: text(message), dump: text(dump), code })
    }

    /// What it has done so far.
    pub fn status(&self) -> Status {
        status(&self.arena)
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        // The scheduler first: its state is right only as long as it is told of migrations.
        while self.links.pop().is_some() {}
        let arena = self.object.maps().find(|map| map.name() == "arena").and_then(|map| map_id(&map));
        // If the kernel has ended it, another one may have the name by now.
        if self.is_pinned && has_name(arena) {
            unpin();
        }
        // Empty if it could not be started anew.
        let _ = std::fs::remove_dir(PINS);
    }
}

/// A scheduler that another process has started.
pub struct Running {
    // Keeps its memory.
    map: MapHandle,
    pub(crate) arena: Arena,
    /// `starts` of its live_head when it was opened.
    starts: u64,
}

impl Running {
    /// Opens it.
    ///
    /// # Errors
    /// [`LiveError::NotRunning`], or its arena cannot be mapped.
    pub fn open() -> Result<Running, LiveError> {
        let path = Path::new(ARENA_PIN);
        if !path.exists() || Host::this().other_scheduler().as_deref() != Some(NAME) {
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
        Ok(Running { map, arena, starts: arena.head("starts") })
    }

    /// Whether it still runs, and was not started anew since.
    pub fn is_in_charge(&self) -> bool {
        self.arena.head("starts") == self.starts && self.is_running()
    }

    /// Whether one that does not run is perhaps just started anew: `start` keeps the folder of its names then.
    pub fn may_come_back() -> bool {
        Path::new(PINS).exists()
    }

    /// Whether it runs, perhaps started anew. Not for a moment while that is done.
    pub fn is_running(&self) -> bool {
        Host::this().other_scheduler().as_deref() == Some(NAME) && has_name(map_id(&self.map))
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

/// The kernel's number of a map.
fn map_id(map: &impl MapCore) -> Option<u32> {
    map.info().ok().map(|info| info.info.id)
}

/// Whether the arena that others find is the one with this number.
fn has_name(arena: Option<u32>) -> bool {
    let pinned = MapHandle::from_pinned_path(ARENA_PIN).ok();
    arena.is_some() && pinned.and_then(|pinned| map_id(&pinned)) == arena
}

/// Takes the names away.
fn unpin() {
    for (_, file) in PINNED.iter().rev() {
        let _ = std::fs::remove_file(file);
    }
    let _ = std::fs::remove_dir(PINS);
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

fn check_kernel() -> Result<(), LiveError> {
    let mut missing = Host::this().lacking();
    if !Host::is_privileged() {
        missing.push("loading programs into the kernel needs root".into());
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(LiveError::Lacking(missing))
}

/// The policy's state for this machine as the kernel has it now: the CPUs that are online, and energy awareness if schedutil governs it.
fn sandbox(machine: &Machine, features: &Features, hz: u32) -> Result<PolicySandbox, LiveError> {
    let mut sandbox =
        PolicySandbox::new(machine, features, hz).map_err(|error| LiveError::Machine(error.to_string()))?;
    if let Some(online) = Host::this().online().filter(|online| *online != machine.all_cpus()) {
        // Where no pass was made yet, all are due now.
        let jiffies = now() / (1_000_000_000 / u64::from(hz));
        sandbox.set_online(machine, features, &online, online.count(), jiffies);
    }
    if Host::this().is_governed_by_schedutil() {
        sandbox.start_energy_awareness(machine);
    }
    Ok(sandbox)
}

/// The idle states of each CPU as the kernel's idle loop records them; none where it records none.
fn idle_states(machine: &Machine) -> Vec<Vec<FgIdleState>> {
    let state = |(index, state): (usize, &IdleState)| FgIdleState {
        index: index as i32,
        exit_latency: state.exit_latency_ns,
        residency: state.target_residency_ns,
        ..FgIdleState::zeroed()
    };
    let of_cpu = |cpu| match machine.type_of(cpu).cpuidle {
        true => machine.idle_states(cpu).iter().enumerate().map(state).collect(),
        false => Vec::new(),
    };
    (0..machine.nr_cpus() as u32).map(of_cpu).collect()
}

fn check_cpus(machine: &Machine) -> Result<(), LiveError> {
    let nr = machine.nr_cpus();
    if nr > MAX_CPUS {
        return Err(LiveError::Machine(format!("expected {MAX_CPUS} CPUs at most, the machine has {nr}")));
    }
    let here = libbpf_rs::num_possible_cpus().map_err(|error| kernel_error("count the CPUs", error))?;
    if nr > here {
        return Err(LiveError::Machine(format!("the machine that was named has {nr} CPUs, this one {here} at most")));
    }
    // There may be more that are possible, e.g. because they could be plugged in.
    let usable = Host::this().usable().unwrap_or_else(|| machine.all_cpus());
    if usable.is_subset(&machine.all_cpus()) {
        return Ok(());
    }
    let offline = usable.minus(&Host::this().online().unwrap_or_default());
    let advice = match offline.is_empty() {
        true => String::new(),
        false => format!("; CPUs {offline} are offline: bring them online, or name a file that has all CPUs"),
    };
    Err(LiveError::Machine(format!(
        "expected a machine that has the CPUs {usable}, which are here; it has {nr}{advice}"
    )))
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
    let missing = missing_tracepoints(&open).map_err(refused)?;
    if !missing.is_empty() {
        return Err(LiveError::Lacking(missing));
    }
    open.load().map_err(refused)
}

/// Tracepoints of programs that the kernel has not, in words.
fn missing_tracepoints(object: &OpenObject) -> Result<Vec<String>, libbpf_rs::Error> {
    let kernel = Btf::from_vmlinux()?;
    let is_missing = |name: &String| kernel.type_by_name::<BtfType>(&format!("btf_trace_{name}")).is_none();
    let sections = object.progs().map(|program| program.section().to_string_lossy().into_owned());
    let names: Vec<String> = sections.filter_map(|section| Some(section.strip_prefix(TRACED)?.to_string())).collect();
    if names.iter().all(is_missing) {
        return Ok(vec!["the kernel lets no program see its tracepoints (CONFIG_BPF_EVENTS)".into()]);
    }
    let words = |name: &String| match name.as_str() {
        "tick_stop" => "the kernel never stops its tick (CONFIG_NO_HZ_IDLE or CONFIG_NO_HZ_FULL)".into(),
        _ => format!("the kernel has no tracepoint {name}"),
    };
    Ok(names.iter().filter(|name| is_missing(name)).map(words).collect())
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
        all.idle_ticks[0] += one("idle_ticks");
        all.idle_ticks[1] += one("idle_passes");
        let tickless = one("ticked").checked_sub(1).map_or(0, |ticked| now().saturating_sub(ticked));
        all.longest_tickless_ns = all.longest_tickless_ns.max(one("longest_tickless")).max(tickless);
        all.unknown += one("unknown");
        all.throttled += one("throttled");
        all.ungrouped += one("ungrouped");
        all.late += one("late");
        add(&mut all.idled_early, arena.cpu(cpu, "idled_early"));
        all.deciding_ns += one("deciding");
        add(&mut all.balanced[0], arena.cpu(cpu, "attempts"));
        add(&mut all.balanced[1], arena.cpu(cpu, "found"));
        all.nohz_rounds[0] += one("kicks");
        all.nohz_rounds[1] += one("rounds");
        let taken = |signal| arena.policy_cpu(cpu, signal, Some(("fg_avg", "util_avg")));
        all.capacity.whole += arena.policy_cpu(cpu, "cpu_capacity_orig", None);
        all.capacity.left += arena.policy_cpu(cpu, "cpu_capacity", None);
        all.capacity.rt += taken("rt");
        all.capacity.deadline += taken("dl");
        all.capacity.interrupts += taken("irq");
        all.capacity.limits += arena.policy_cpu(cpu, "thermal_pressure", None);
        all.waits.count += one("waits");
        all.waits.sum_ns += one("waited");
        if one("longest_wait") > all.waits.longest_ns {
            all.waits.longest_ns = one("longest_wait");
            (all.waits.longest_pid, all.waits.longest_until_ns) = (one("longest_waiter"), one("longest_until"));
        }
    }
    all
}
