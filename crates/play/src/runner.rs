//! A round: processes are created, let go, watched, ended and counted.
//!
//! ```text
//! play ── supervisor ─┬─ first process of the workload (leads the process group) ── its children
//!                     └─ ...
//! ```
//!
//! The supervisor is a process of its own, so that no thread of the caller disturbs the workload, and adopts whatever
//! process outlives its parent (PR_SET_CHILD_SUBREAPER): when it has awaited all, their times are in its own account.
//! All of it ends with the caller. If the caller dies, the kernel ends the supervisor (PR_SET_PDEATHSIG), with the
//! supervisor the processes of the start, and the process group: a pipe of which only the caller has the writing end sends
//! SIGKILL there as that closes (O_ASYNC, F_SETSIG). If the supervisor dies, the caller ends the group.
//!
//! The supervisor and what it creates are forks of the calling program. They execute no other program, but for the steps that
//! do (`exec.rs`): group and session outlast that, the reading end of the pipe is left open for it, and PR_SET_PDEATHSIG is kept
//! unless the program's file has capabilities. They allocate and create threads, which the C libraries of Linux (glibc, musl)
//! allow after a fork also where the forking process had several threads.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fairground_machine::{CpuId, CpuMask};
use fairground_sim::lineage_of_start;
use fairground_workload::{Mark, Op, Policy, SchedAttr, TaskSpec, Workload, TIMER_SLACK_NS};

use crate::interp::{exit_thread, start_thread, Birth, Task};
use crate::shared::{end, fault};
use crate::sys::{self, Scope};
use crate::world::World;

/// How often the supervisor looks whether a process has died.
const LOOK: Duration = Duration::from_millis(500);
/// How often the caller looks whether it is interrupted.
const STOP_LOOK_MS: libc::c_int = 100;
/// Time beyond the limit after which the caller takes the supervisor for stuck, ns.
const GRACE_NS: u64 = 10_000_000_000;

/// Carries out a round of at most `limit_ns`. Afterwards no process of it is left, and the control block has the result.
///
/// # Errors
/// If the supervisor cannot be created, or does not come to its end.
pub fn round(world: Box<World>, limit_ns: u64, count: bool, stop: &AtomicBool) -> io::Result<Box<World>> {
    let Lifeline { watched, held } = Lifeline::new()?;
    // SAFETY: no arguments.
    let parent = unsafe { libc::getpid() };
    // SAFETY: the child never returns from `supervise`; see the head of this file on what it may do.
    let supervisor = unsafe { libc::fork() };
    if supervisor == 0 {
        drop(held);
        let world: &'static World = Box::leak(world);
        let watched = watched.into_raw_fd();
        let supervised = catch_unwind(AssertUnwindSafe(|| supervise(world, limit_ns, count, parent, watched)));
        if supervised.is_err() {
            world.shared.fail(fault::SETUP, libc::EIO, 0, u32::MAX);
            end_all(world);
        }
        // SAFETY: nothing of the caller's is cleaned up by this.
        unsafe { libc::_exit(0) }
    }
    let failed = (supervisor == -1).then(io::Error::last_os_error);
    // The supervisor has it.
    drop(watched);
    let outcome = match failed {
        Some(error) => Err(error),
        None => await_supervisor(&world, supervisor, limit_ns.saturating_add(GRACE_NS), stop),
    };
    drop(held);
    outcome.map(|()| world)
}

/// Waits for the supervisor; an interrupt ends the round.
fn await_supervisor(world: &World, supervisor: libc::pid_t, limit_ns: u64, stop: &AtomicBool) -> io::Result<()> {
    let deadline = sys::now().saturating_add(limit_ns);
    // SAFETY: a child of ours that has not been awaited.
    let pidfd = sys::checked(unsafe { libc::syscall(libc::SYS_pidfd_open, supervisor, 0) }).map(|fd| fd as libc::c_int);
    loop {
        let mut poll = libc::pollfd { fd: *pidfd.as_ref().unwrap_or(&-1), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor; a negative one is left out, and the call is a sleep then.
        unsafe { libc::poll(&mut poll, 1, STOP_LOOK_MS) };
        // SAFETY: no status is asked for.
        if unsafe { libc::waitpid(supervisor, std::ptr::null_mut(), libc::WNOHANG) } != 0 {
            break;
        }
        if stop.load(Ordering::Relaxed) {
            world.shared.finish(end::INTERRUPTED);
        }
        if sys::now() > deadline {
            // SAFETY: a child of ours that has not been awaited.
            unsafe { (libc::kill(supervisor, libc::SIGKILL), libc::waitpid(supervisor, std::ptr::null_mut(), 0)) };
            break;
        }
    }
    if let Ok(fd) = pidfd {
        // SAFETY: ours.
        unsafe { libc::close(fd) };
    }
    let c = world.shared.control();
    if c.reaped.load(Ordering::Acquire) == 1 {
        return Ok(());
    }
    let group = c.group.load(Ordering::Acquire);
    if group > 0 {
        // SAFETY: the group that the supervisor made, which has members as long as it did not say otherwise.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
    Err(io::Error::other("the process that supervises the round has died"))
}

/// The life of the supervisor.
fn supervise(world: &'static World, limit_ns: u64, count: bool, parent: libc::pid_t, lifeline: libc::c_int) {
    // SAFETY: of this process alone.
    unsafe {
        if world.own_session {
            libc::setsid();
        } else {
            libc::setpgid(0, 0);
        }
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGCHLD] {
            libc::signal(signal, libc::SIG_DFL);
        }
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
        if libc::getppid() != parent {
            return;
        }
    }
    // The processes of the start inherit it.
    sys::set_timer_slack(TIMER_SLACK_NS);
    if count && world.count_migrations().is_ok() {
        world.shared.control().counts_migrations.store(1, Ordering::Release);
    }
    match world.keep_over_exec(lifeline).and_then(|()| start(world, lifeline)) {
        Ok(threads) => watch(world, threads, limit_ns),
        Err(error) => world.fail(fault::SETUP, &error, 0, u32::MAX),
    }
    end_all(world);
}

/// Creates the processes and threads of the start, in their order: the first of each process, then the others of the
/// process. All wait to be let go. Returns their number.
fn start(world: &'static World, lifeline: libc::c_int) -> io::Result<u32> {
    let inherited = sys::inherited_attr()?;
    let mut order = Vec::new();
    let mut processes: BTreeMap<u32, Vec<(Birth, CpuId)>> = BTreeMap::new();
    let mut threads = 0;
    for (i, start) in world.workload.start.iter().enumerate() {
        for n in 0..start.count {
            let lineage = lineage_of_start(world.seed, i as u32, n);
            let Some(birth) = world.birth(start.spec, lineage, inherited, None) else { return Ok(threads) };
            let process = processes.entry(start.process).or_default();
            if process.is_empty() {
                order.push(start.process);
            }
            process.push((birth, start.cpu));
            threads += 1;
        }
    }
    for process in order {
        create_process(world, processes.remove(&process).unwrap_or_default(), inherited, lifeline)?;
    }
    sys::set_affinity(&world.cpus)?;
    Ok(threads)
}

/// Creates a process with these threads, each on its CPU.
fn create_process(
    world: &'static World,
    threads: Vec<(Birth, CpuId)>,
    inherited: SchedAttr,
    lifeline: libc::c_int,
) -> io::Result<()> {
    let mut threads = threads.into_iter();
    let Some((first, cpu)) = threads.next() else { return Ok(()) };
    let c = world.shared.control();
    let group = c.group.load(Ordering::Acquire);
    sys::set_affinity(&CpuMask::single(cpu))?;
    // SAFETY: no arguments.
    let supervisor = unsafe { libc::getpid() };
    // SAFETY: the child goes on with what was made before the fork, and leaves by `exit_thread`.
    match sys::checked(unsafe { libc::fork() }.into())? {
        0 => {
            // It ends with the supervisor, which may die before the group is tied to the caller.
            // SAFETY: of this process alone.
            unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                if libc::getppid() != supervisor {
                    libc::_exit(0);
                }
            }
            // SAFETY: of this process alone. Also done by the parent: whoever comes first.
            unsafe { libc::setpgid(0, group) };
            debug_assert_eq!(first.inherited, inherited);
            for (birth, cpu) in threads {
                let spec = birth.spec;
                let made = sys::set_affinity(&CpuMask::single(cpu)).and_then(|()| start_thread(birth, false));
                if let Err(error) = made {
                    world.fail(fault::STEP, &error, spec, u32::MAX);
                }
            }
            Task::live(first);
            exit_thread()
        }
        child => {
            let child = child as libc::pid_t;
            // SAFETY: a child of ours that executes no program before it is let go.
            unsafe { libc::setpgid(child, group) };
            if group == 0 {
                c.group.store(child, Ordering::Release);
                tie_to_caller(lifeline, child)?;
            }
            Ok(())
        }
    }
}

/// A pipe that ties processes to the caller.
pub struct Lifeline {
    /// The reading end, which the processes have.
    pub watched: OwnedFd,
    /// The writing end, which the caller alone has.
    pub held: OwnedFd,
}

impl Lifeline {
    pub fn new() -> io::Result<Lifeline> {
        let mut ends = [0; 2];
        // SAFETY: room for two descriptors.
        sys::checked(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) }.into())?;
        // SAFETY: both are ours alone.
        let [watched, held] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
        Ok(Lifeline { watched, held })
    }
}

/// From now on the process group `group` is ended as the last writer of the pipe goes.
pub fn tie_to_caller(lifeline: libc::c_int, group: libc::pid_t) -> io::Result<()> {
    // SAFETY: the descriptor is ours.
    let set = |command: libc::c_int, value: libc::c_int| {
        sys::checked(unsafe { libc::fcntl(lifeline, command, value) }.into()).map(drop)
    };
    set(libc::F_SETOWN, -group)?;
    set(F_SETSIG, libc::SIGKILL)?;
    set(libc::F_SETFL, libc::O_ASYNC)
}

/// The command of fcntl(2); libc has it for some systems only.
const F_SETSIG: libc::c_int = 10;

/// Lets the threads go and waits for the end of the round.
fn watch(world: &World, threads: u32, limit_ns: u64) {
    let shared = &world.shared;
    let c = shared.control();
    let limit = sys::now().saturating_add(limit_ns);
    let ended = || c.end.load(Ordering::Acquire) != end::NOT_YET;
    loop {
        let ready = c.ready.load(Ordering::Acquire);
        if ready == threads || ended() {
            break;
        }
        if sys::now() >= limit {
            shared.finish(end::TIMED_OUT);
        }
        sys::futex_wait(&c.ready, ready, Scope::Shared, Some(LOOK));
        look_for_deaths(world);
    }
    if ended() {
        return;
    }
    let workload = &world.workload;
    outrank(workload);
    let by_mark = workload.tasks.iter().any(|task| task.program.contains(&Op::Mark(Mark::Begin)));
    let before = world.migrations();
    let started = sys::now();
    c.started_at.store(started, Ordering::Release);
    if !by_mark && workload.warmup_ns == 0 {
        shared.begin_window(started, before);
    }
    c.go.store(1, Ordering::Release);
    sys::futex_wake(&c.go, u32::MAX, Scope::Shared);
    let mut warm = (!by_mark && workload.warmup_ns > 0).then(|| started.saturating_add(workload.warmup_ns));
    let over = workload.duration_ns.map(|duration| started.saturating_add(duration));
    let limit = started.saturating_add(limit_ns);
    while !ended() {
        let now = sys::now();
        if warm.is_some_and(|at| now >= at) {
            warm = None;
            shared.begin_window(now, world.migrations());
        }
        if over.is_some_and(|at| now >= at) {
            c.ended_at.store(now, Ordering::Release);
            shared.finish(end::COMPLETE);
        } else if now >= limit {
            c.ended_at.store(now, Ordering::Release);
            shared.finish(end::TIMED_OUT);
        } else {
            let next = [warm, over].into_iter().flatten().fold(limit, u64::min);
            let sleep = Duration::from_nanos(next.saturating_sub(now)).min(LOOK);
            sys::futex_wait(&c.end, end::NOT_YET, Scope::Shared, Some(sleep));
            look_for_deaths(world);
        }
    }
    let now = world.migrations();
    c.migrations.store(now.saturating_sub(before), Ordering::Release);
    c.last_migrations.store(now, Ordering::Release);
}

/// Where threads may be real-time ones, the supervisor is of a higher priority: it ends them also if they take all CPUs.
fn outrank(workload: &Workload) {
    let asks = |op: &Op| matches!(op, Op::SetAttr(attr) if attr.policy.is_rt());
    let real_time = |task: &TaskSpec| task.attr.policy.is_rt() || task.program.iter().any(asks);
    if workload.tasks.iter().any(real_time) {
        // Whoever may not do this relies on the kernel's throttling of real-time threads.
        let highest = SchedAttr { policy: Policy::Fifo, rt_priority: 99, ..SchedAttr::default() };
        let _ = sys::set_attr(&highest, false);
    }
}

/// A process that died of a signal fails the round; so do threads that are left without any process.
fn look_for_deaths(world: &World) {
    loop {
        let mut status = 0;
        // SAFETY: the status is ours.
        match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
            0 => return,
            -1 => break,
            _ if libc::WIFSIGNALED(status) => world.shared.fail(fault::KILLED, libc::WTERMSIG(status), 0, u32::MAX),
            _ => {}
        }
    }
    let c = world.shared.control();
    // With a duration the round goes on when all have exited.
    if sys::errno() == libc::ECHILD && c.vital.load(Ordering::Acquire) > 0 {
        world.shared.fail(fault::GONE, 0, 0, u32::MAX);
    }
}

/// Ends and awaits every process of the workload, and sums up what they have used.
fn end_all(world: &World) {
    let c = world.shared.control();
    let group = c.group.load(Ordering::Acquire);
    loop {
        // SAFETY: no status is asked for.
        match unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } {
            // Some are left.
            0 if group > 0 => {
                // SAFETY: the group has members: children of ours, or of theirs.
                unsafe { libc::kill(-group, libc::SIGKILL) };
                // SAFETY: no status is asked for.
                unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) };
            }
            0 => break,
            -1 if sys::errno() == libc::EINTR => {}
            -1 => break,
            _ => {}
        }
    }
    // SAFETY: all zeros is a valid state.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is ours.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) };
    let us = |t: libc::timeval| t.tv_sec as u64 * 1_000_000 + t.tv_usec as u64;
    c.cpu_us.store(us(usage.ru_utime) + us(usage.ru_stime), Ordering::Release);
    c.voluntary.store(usage.ru_nvcsw as u64, Ordering::Release);
    c.involuntary.store(usage.ru_nivcsw as u64, Ordering::Release);
    c.reaped.store(1, Ordering::Release);
}
