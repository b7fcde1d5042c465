//! System calls that the libraries do not wrap, or wrap with more than one call.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use fairground_machine::{CpuId, CpuMask, NR_CPUS};
use fairground_workload::{Policy, SchedAttr};

/// The result of a call that returns -1 and sets errno.
pub fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        value => Ok(value),
    }
}

/// The number of the error that the last call of this thread left.
pub fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// An empty file in memory, closed by an execve; the name is only for /proc.
///
/// # Errors
/// As memfd_create(2).
pub fn memory_file(name: &CStr) -> io::Result<File> {
    // SAFETY: the name ends with a 0.
    let fd = checked(unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) }.into())?;
    // SAFETY: ours alone.
    Ok(unsafe { File::from_raw_fd(fd as libc::c_int) })
}

/// Lets a descriptor of this process stay open over an execve.
///
/// # Errors
/// If it is not open.
pub fn keep_over_exec(fd: libc::c_int) -> io::Result<()> {
    // SAFETY: no pointers.
    checked(unsafe { libc::fcntl(fd, libc::F_SETFD, 0) }.into()).map(drop)
}

/// CLOCK_MONOTONIC, ns.
pub fn now() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is ours; the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as libc::c_long }
}

/// Sleeps until this time of CLOCK_MONOTONIC; one call, whether it is past or not.
pub fn sleep_until(at: u64) {
    let at = timespec(at);
    // SAFETY: `at` lives through the call; no remainder is asked for.
    while unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &at, std::ptr::null_mut()) }
        == libc::EINTR
    {}
}

/// Sleeps for this long, as rt-app and benchmarks do: a relative sleep.
pub fn sleep_for(ns: u64) {
    let mut left = timespec(ns);
    loop {
        let ask = left;
        // SAFETY: both live through the call.
        if unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &ask, &mut left) } != libc::EINTR {
            return;
        }
    }
}

/// Whether a futex is used by threads of one address space alone, which is cheaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One address space.
    Private,
    /// Several.
    Shared,
}

impl Scope {
    fn flag(self) -> libc::c_int {
        match self {
            Scope::Private => libc::FUTEX_PRIVATE_FLAG,
            Scope::Shared => 0,
        }
    }
}

/// Sleeps while the word has the expected value, at most for `limit`. May return early.
pub fn futex_wait(word: &AtomicU32, expected: u32, scope: Scope, limit: Option<Duration>) {
    let limit = limit.map(|limit| timespec(limit.as_nanos() as u64));
    let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the word and the time live through the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT | scope.flag(), expected, limit) };
}

/// Wakes up to `count` sleepers.
pub fn futex_wake(word: &AtomicU32, count: u32, scope: Scope) {
    let count = count.min(i32::MAX as u32);
    // SAFETY: the word lives through the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | scope.flag(), count) };
}

/// `struct sched_attr`, size 48 without clamps and 56 with them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct RawAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
    util_min: u32,
    util_max: u32,
}

const SIZE_WITHOUT_CLAMPS: u32 = 48;
const SIZE_WITH_CLAMPS: u32 = 56;

fn policy_number(policy: Policy) -> u32 {
    (match policy {
        Policy::Other => libc::SCHED_OTHER,
        Policy::Batch => libc::SCHED_BATCH,
        Policy::Idle => libc::SCHED_IDLE,
        Policy::Fifo => libc::SCHED_FIFO,
        Policy::Rr => libc::SCHED_RR,
    }) as u32
}

/// Gives the calling thread this timer slack, at least 1 ns: the system call takes 0 for the thread's default. A real-time
/// thread has none from v6.12 on, and keeps that.
pub fn set_timer_slack(ns: u64) {
    // SAFETY: no pointers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns.max(1) as libc::c_ulong, 0, 0, 0) };
}

/// Gives the calling thread these attributes. `clamps`: also its utilisation clamps, which a kernel may not have.
pub fn set_attr(attr: &SchedAttr, clamps: bool) -> io::Result<()> {
    let fair = !attr.policy.is_rt();
    let flags = if clamps { libc::SCHED_FLAG_UTIL_CLAMP as u64 } else { 0 };
    let raw = RawAttr {
        size: if clamps { SIZE_WITH_CLAMPS } else { SIZE_WITHOUT_CLAMPS },
        policy: policy_number(attr.policy),
        flags,
        nice: if fair { attr.nice.into() } else { 0 },
        priority: attr.rt_priority.into(),
        runtime: if fair { attr.slice_ns } else { 0 },
        util_min: attr.uclamp_min.into(),
        util_max: attr.uclamp_max.into(),
        ..RawAttr::default()
    };
    // SAFETY: `raw` has the size that it states, or more.
    checked(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw, 0) }).map(drop)
}

/// The slice that the calling thread has asked for, ns; 0 on a kernel that keeps none.
pub fn slice_ns() -> io::Result<u64> {
    Ok(get_attr()?.runtime)
}

/// Policy, nice value and priority of the calling thread, which those that it creates inherit; clamps are taken as unset.
pub fn inherited_attr() -> io::Result<SchedAttr> {
    let raw = get_attr()?;
    let policies = [Policy::Other, Policy::Batch, Policy::Idle, Policy::Fifo, Policy::Rr];
    let policy = policies.into_iter().find(|p| policy_number(*p) == raw.policy).unwrap_or(Policy::Other);
    Ok(SchedAttr { policy, nice: raw.nice as i8, rt_priority: raw.priority as u8, ..SchedAttr::default() })
}

fn get_attr() -> io::Result<RawAttr> {
    let mut raw = RawAttr::default();
    // SAFETY: the kernel writes at most the size that it is told.
    checked(unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &mut raw, std::mem::size_of::<RawAttr>(), 0) })?;
    Ok(raw)
}

fn cpu_set(mask: &CpuMask) -> libc::cpu_set_t {
    // SAFETY: a set of zeros is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for cpu in mask.iter().filter(|cpu| (*cpu as usize) < libc::CPU_SETSIZE as usize) {
        // SAFETY: the CPU is within the set.
        unsafe { libc::CPU_SET(cpu as usize, &mut set) };
    }
    set
}

/// Binds the calling thread. When this returns it runs on one of these CPUs.
///
/// # Errors
/// As sched_setaffinity(2).
pub fn set_affinity(mask: &CpuMask) -> io::Result<()> {
    let set = cpu_set(mask);
    // SAFETY: `set` lives through the call.
    checked(unsafe { libc::sched_setaffinity(0, std::mem::size_of_val(&set), &set) }.into()).map(drop)
}

/// The CPUs that the calling thread may use.
///
/// # Errors
/// As sched_getaffinity(2).
pub fn affinity() -> io::Result<CpuMask> {
    // SAFETY: a set of zeros is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is ours.
    checked(unsafe { libc::sched_getaffinity(0, std::mem::size_of_val(&set), &mut set) }.into())?;
    let mut mask = CpuMask::EMPTY;
    for cpu in 0..(libc::CPU_SETSIZE as usize).min(NR_CPUS) {
        // SAFETY: the CPU is within the set.
        if unsafe { libc::CPU_ISSET(cpu, &set) } {
            mask.set(cpu as CpuId);
        }
    }
    Ok(mask)
}

/// Whether this process has started a thread.
static HAS_THREADS: AtomicBool = AtomicBool::new(false);

/// To be called where a thread is started: from then on this process reads and writes as one of several threads does.
pub fn note_thread() {
    HAS_THREADS.store(true, Ordering::Relaxed);
}

/// write(2) as the C library of a program calls it: in a process of several threads each call is a point of cancellation, by
/// two atomic operations, which took 6 % of a hackbench. This process was forked by one with threads, so its C library would pay them
/// in all; where the workload has a thread alone in it, it calls the kernel directly.
fn write(fd: libc::c_int, bytes: &[u8]) -> isize {
    // SAFETY: the buffer lives through the call.
    unsafe {
        match HAS_THREADS.load(Ordering::Relaxed) {
            true => libc::write(fd, bytes.as_ptr().cast(), bytes.len()),
            false => libc::syscall(libc::SYS_write, fd, bytes.as_ptr(), bytes.len()) as isize,
        }
    }
}

/// read(2), as [`write`].
fn read(fd: libc::c_int, buffer: &mut [u8]) -> isize {
    // SAFETY: the buffer is ours.
    unsafe {
        match HAS_THREADS.load(Ordering::Relaxed) {
            true => libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()),
            false => libc::syscall(libc::SYS_read, fd, buffer.as_mut_ptr(), buffer.len()) as isize,
        }
    }
}

/// Writes all of `bytes`, blocking.
pub fn write_all(fd: libc::c_int, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match write(fd, bytes) {
            -1 if errno() == libc::EINTR => {}
            -1 => return Err(io::Error::last_os_error()),
            n => bytes = &bytes[n as usize..],
        }
    }
    Ok(())
}

/// Reads exactly as many bytes as `buffer` has, blocking.
pub fn read_exact(fd: libc::c_int, buffer: &mut [u8]) -> io::Result<()> {
    let mut done = 0;
    while done < buffer.len() {
        match read(fd, &mut buffer[done..]) {
            -1 if errno() == libc::EINTR => {}
            -1 => return Err(io::Error::last_os_error()),
            0 => return Err(io::Error::from_raw_os_error(libc::EPIPE)),
            n => done += n as usize,
        }
    }
    Ok(())
}

/// Waits until there is something to read.
pub fn poll_readable(fd: libc::c_int) -> io::Result<()> {
    loop {
        let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor, ours.
        match unsafe { libc::poll(&mut poll, 1, -1) } {
            -1 if errno() == libc::EINTR => {}
            -1 => return Err(io::Error::last_os_error()),
            _ => return Ok(()),
        }
    }
}

/// Times of all CPUs since boot from /proc/stat, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// Of all kinds, guests' left out: they are in user time.
    pub all: u64,
    /// In which some task ran, or an interrupt.
    pub busy: u64,
    /// In which the hypervisor ran somebody else.
    pub steal: u64,
}

impl CpuTimes {
    /// Reads them; `None` where there is no /proc/stat.
    pub fn read() -> Option<CpuTimes> {
        Self::parse(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    fn parse(text: &str) -> Option<CpuTimes> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let fields: Vec<u64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        let [user, nice, system, idle, iowait, irq, softirq, steal, ..] = fields[..] else { return None };
        let busy = user + nice + system + irq + softirq;
        Some(CpuTimes { all: busy + idle + iowait + steal, busy, steal })
    }

    /// Shares of all CPUs' time since `before`, percent: what a hypervisor took for others, and what others than a
    /// workload with `own_cpu_ns` of CPU time used. `None` where it is not known.
    pub fn shares(before: Option<CpuTimes>, own_cpu_ns: u64) -> [Option<f64>; 2] {
        // SAFETY: no pointers.
        let ticks_per_s = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
        let own = own_cpu_ns as f64 / 1e9 * ticks_per_s;
        match before.zip(CpuTimes::read()).map(|(before, after)| after.since(before)).filter(|times| times.all > 0) {
            None => [None, None],
            Some(times) => [times.steal as f64, times.busy as f64 - own]
                .map(|ticks| Some((100.0 * ticks / times.all as f64).max(0.0))),
        }
    }

    /// What has been added since `earlier`.
    pub fn since(self, earlier: CpuTimes) -> CpuTimes {
        CpuTimes {
            all: self.all.saturating_sub(earlier.all),
            busy: self.busy.saturating_sub(earlier.busy),
            steal: self.steal.saturating_sub(earlier.steal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timer_slack_is_at_least_1_ns() {
        let slack = |ns| {
            set_timer_slack(ns);
            // SAFETY: no pointers.
            unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) }
        };
        let slacks = std::thread::spawn(move || [7_000, 0].map(slack)).join().expect("two system calls");
        assert_eq!(slacks, [7_000, 1]);
    }

    #[test]
    fn times_of_all_cpus_are_summed_by_kind() {
        let text = "cpu  10 1 5 100 4 2 3 7 50 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(CpuTimes::parse(text), Some(CpuTimes { all: 132, busy: 21, steal: 7 }));
        assert_eq!(CpuTimes::parse("cpu 1 2\n"), None);
    }

    /// On a thread of its own: affinity is a thread's.
    #[test]
    fn a_thread_is_bound_and_says_so() {
        let bound = std::thread::spawn(|| {
            let first = affinity().unwrap().first().unwrap();
            set_affinity(&CpuMask::single(first)).unwrap();
            (affinity().unwrap(), CpuMask::single(first))
        });
        let (is, asked) = bound.join().unwrap();
        assert_eq!(is, asked);
    }

    #[test]
    fn what_is_written_in_parts_is_read_whole() {
        let mut ends = [0; 2];
        // SAFETY: the array has room for two descriptors.
        assert_eq!(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) }, 0);
        write_all(ends[1], b"ab").unwrap();
        write_all(ends[1], b"cde").unwrap();
        poll_readable(ends[0]).unwrap();
        let mut buffer = [0; 5];
        read_exact(ends[0], &mut buffer).unwrap();
        assert_eq!(&buffer, b"abcde");
        // SAFETY: both are ours and open.
        unsafe { (libc::close(ends[0]), libc::close(ends[1])) };
    }
}
