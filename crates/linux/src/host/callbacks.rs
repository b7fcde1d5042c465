//! Callbacks of the kernel: the functions of `struct ks_host`.
//!
//! SAFETY, for all of them: `this` is the [`CallbackContext`] whose table the kernel was booted with, and lives as long
//! as the process; pointers that come along are as ks.h describes them, for the time of the call. A `Desk` is only ever
//! shared, since the kernel may call back while a watcher reads.

use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_void, CStr};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fairground_machine::{CpuId, SoftCost};
use fairground_sim::{Decision, DecisionKind, Env, Ipi, MigrateCause, Reason, TaskId, Time, NO_RULE};

use super::{FatalSink, KernelEntity, KernelObserver, Reader};
use crate::abi::*;

/// Lines of the kernel's log that are kept: more of them repeat themselves.
const MAX_LINES: usize = 32;
/// Largest number of characters of a line that are kept.
const MAX_LINE: usize = 200;
/// Most digits of a hexadecimal number in the log that is not taken to be an address.
const MAX_HEX: usize = 8;
/// printk level up to which lines are kept.
const WARNING: u32 = 4;

/// What the kernel's code may reach during a call.
#[derive(Clone, Copy)]
enum EnvAccess {
    /// No call is in progress: nothing may be accessed.
    Nothing,
    Clocks(*const Env),
    All(*mut Env),
}

/// The object that the kernel's callbacks get as their first argument.
pub(super) struct CallbackContext {
    reach: Cell<EnvAccess>,
    /// Nothing that the kernel does is part of the run yet.
    booting: Cell<bool>,
    nr_cpus: Cell<u32>,
    fatal: FatalSink,
    /// The task that is being born.
    newborn: Cell<Option<TaskId>>,
    /// Where each task is, by id.
    cpu_of: RefCell<Vec<CpuId>>,
    lines: RefCell<Vec<String>>,
    pub watch: RefCell<Option<Box<dyn KernelObserver>>>,
    reader: Reader,
    host: RefCell<KsHost>,
}

/// Work as the machine prices it, by `KS_WORK_*`.
const WORKS: [SoftCost; KS_NR_WORKS as usize] = [
    SoftCost::Wakeup,
    SoftCost::Probe,
    SoftCost::GroupCpu,
    SoftCost::Enqueue,
    SoftCost::Dequeue,
    SoftCost::Pick,
    SoftCost::Tick,
    SoftCost::Migrate,
];

/// Causes of migrations, indexed by `KS_CAUSE_*`.
const CAUSES: [MigrateCause; 8] = [
    MigrateCause::Fork,
    MigrateCause::Exec,
    MigrateCause::Wake,
    MigrateCause::Balance,
    MigrateCause::NewIdle,
    MigrateCause::Active,
    MigrateCause::Affinity,
    MigrateCause::Rt,
];

impl CallbackContext {
    pub fn new(reader: Reader, fatal: FatalSink) -> Box<CallbackContext> {
        Box::new(CallbackContext {
            reach: Cell::new(EnvAccess::Nothing),
            booting: Cell::new(false),
            nr_cpus: Cell::new(0),
            fatal,
            newborn: Cell::new(None),
            cpu_of: RefCell::default(),
            lines: RefCell::default(),
            watch: RefCell::default(),
            reader,
            host: RefCell::new(KsHost::zeroed()),
        })
    }

    /// The callback table that the kernel boots with, for a machine of `nr_cpus` CPUs. Watchers have been set.
    pub fn open(&'static self, nr_cpus: u32) -> *const KsHost {
        self.nr_cpus.set(nr_cpus);
        let wants = self.watch.borrow().as_ref().map(|w| w.interests()).unwrap_or_default();
        *self.host.borrow_mut() = KsHost {
            size: size_of::<KsHost>() as u64,
            this: std::ptr::from_ref(self).cast_mut().cast(),
            clock: Some(clock),
            irq_time: Some(irq_time),
            work: Some(work),
            ipi: Some(ipi),
            softirq: Some(softirq),
            timer: Some(timer),
            placed: Some(placed),
            migrated: Some(migrated),
            widened: Some(widened),
            enqueued: Some(enqueued),
            frequency: Some(frequency),
            print: Some(print),
            fault: Some(fault),
            placing: wants.placements.then_some(placing as _),
            targeted: wants.placements.then_some(targeted as _),
            picking: wants.picks.then_some(picking as _),
            picked: wants.picks.then_some(picked as _),
            pelt: if wants.pelt { Some(pelt) } else { None },
            balancing: wants.balance.then_some(balancing as _),
            found: wants.balance.then_some(found as _),
            detached: wants.balance.then_some(detached as _),
            balanced: wants.balance.then_some(balanced as _),
            pushing: wants.balance.then_some(pushing as _),
            pushed: wants.balance.then_some(pushed as _),
            scanning: wants.balance.then_some(scanning as _),
            scanned: wants.balance.then_some(scanned as _),
            walking: wants.balance.then_some(walking as _),
            walked: wants.balance.then_some(walked as _),
            stepping: wants.steps.then_some(stepping as _),
            stepped: wants.steps.then_some(stepped as _),
            governing: wants.frequencies.then_some(governing as _),
            governed: wants.frequencies.then_some(governed as _),
        };
        self.host.as_ptr()
    }

    /// Runs the kernel's code, which may reach `env` until it returns. What it does at boot is not the run's.
    pub fn call<R>(&self, env: &mut Env, booting: bool, f: impl FnOnce() -> R) -> R {
        self.booting.set(booting);
        self.reach.set(EnvAccess::All(env));
        let result = f();
        self.reach.set(EnvAccess::Nothing);
        self.booting.set(false);
        result
    }

    /// Runs the kernel's code, which may only look at clocks.
    pub fn read<R>(&self, env: &Env, f: impl FnOnce(&Reader) -> R) -> R {
        self.reach.set(EnvAccess::Clocks(env));
        let result = f(&self.reader);
        self.reach.set(EnvAccess::Nothing);
        result
    }

    /// A task is about to be born; it is where its parent runs.
    pub fn born(&self, task: TaskId, cpu: CpuId) {
        let mut cpu_of = self.cpu_of.borrow_mut();
        let at = task as usize;
        if cpu_of.len() <= at {
            cpu_of.resize(at + 1, 0);
        }
        cpu_of[at] = cpu;
        self.newborn.set(Some(task));
    }

    /// A task is on the run queue of `cpu`, a new one for the first time: the kernel does not count it as a migration
    /// that it begins elsewhere than its parent. Moves before this (a real-time child is pushed on at once) are part of
    /// that one.
    fn begins(&self, task: TaskId, cpu: CpuId) {
        if self.newborn.get() != Some(task) {
            return;
        }
        self.newborn.set(None);
        let from = std::mem::replace(&mut self.cpu_of.borrow_mut()[task as usize], cpu);
        if from != cpu {
            self.env(|env| env.migrated(task, from, cpu, MigrateCause::Fork));
        }
    }

    /// The CPU of a task by the events reported so far.
    pub fn cpu_of(&self, task: TaskId) -> CpuId {
        self.cpu_of.borrow()[task as usize]
    }

    /// Warnings of the kernel's log.
    pub fn lines(&self) -> Vec<String> {
        self.lines.borrow().clone()
    }

    /// Ends the process: the kernel's code cannot be unwound.
    pub fn die(&self, why: &str) -> ! {
        (self.fatal)(why)
    }

    /// What a placement, a wakeup or the like may ask for.
    fn env<R>(&self, f: impl FnOnce(&mut Env) -> R) -> R {
        match self.reach.get() {
            // SAFETY: `call` holds the only other reference and does not use it meanwhile; callbacks do not nest here.
            EnvAccess::All(env) => f(unsafe { &mut *env }),
            _ => self.die("the kernel's code acts while it was only asked to be read"),
        }
    }

    fn clock(&self, look: impl FnOnce(&Env) -> u64) -> u64 {
        match self.reach.get() {
            // SAFETY: `call` and `read` hold references that outlive this.
            EnvAccess::All(env) => look(unsafe { &*env }),
            EnvAccess::Clocks(env) => look(unsafe { &*env }),
            EnvAccess::Nothing => self.die("the kernel's code runs outside of any call"),
        }
    }

    fn cpu(&self, cpu: i32) -> CpuId {
        match CpuId::try_from(cpu) {
            Ok(id) if id < self.nr_cpus.get() => id,
            _ => self.die(&format!("the kernel's code names CPU {cpu}, which does not exist")),
        }
    }

    fn task(&self, task: i32) -> TaskId {
        match TaskId::try_from(task) {
            Ok(id) if (id as usize) < self.cpu_of.borrow().len() => id,
            _ => self.die(&format!("the kernel's code names task {task}, which was never born")),
        }
    }

    /// What a placement asks. Watchers rely on its numbers.
    fn question(&self, p: &KsPlacement) -> (DecisionKind, TaskId, CpuId) {
        let kind = match p.kind as u32 {
            KS_WAKE => DecisionKind::Wake,
            KS_FORK => DecisionKind::Fork,
            KS_EXEC => DecisionKind::Exec,
            kind => self.die(&format!("the kernel places a task for reason {kind}, which does not exist")),
        };
        self.cpu(p.this_cpu);
        self.task_or_none(p.current);
        (kind, self.task(p.task), self.cpu(p.prev))
    }

    /// What a pointer of the kernel's code points at, for the time of the call. Of the pointers that it must not pass, the
    /// null pointer and one that is not aligned can be told; both end the process with a reason.
    ///
    /// # Safety
    /// Any other pointer is as ks.h describes it.
    unsafe fn pointed<'a, T>(&self, pointer: *const T, what: &str) -> &'a T {
        if pointer.is_null() || !pointer.is_aligned() {
            self.die(&format!("the kernel's code passes no {what}: its pointer is null or not aligned"));
        }
        unsafe { &*pointer }
    }

    /// Like [`Self::cpu`], for a number that may be `KS_NONE`.
    fn cpu_or_none(&self, cpu: i32) {
        if cpu != KS_NONE {
            self.cpu(cpu);
        }
    }

    /// Like [`Self::task`], for a number that may be `KS_NONE`.
    fn task_or_none(&self, task: i32) {
        if task != KS_NONE {
            self.task(task);
        }
    }

    fn group(&self, group: i32) -> u32 {
        match u32::try_from(group) {
            Ok(id) => id,
            Err(_) => self.die(&format!("the kernel's code names task group {group}, which does not exist")),
        }
    }

    /// A step whose numbers watchers may rely on.
    fn checked_step<'a>(&self, step: &'a KsStep) -> &'a KsStep {
        self.cpu(step.cpu);
        self.task_or_none(step.task);
        step
    }

    fn watcher<R>(&self, f: impl FnOnce(&mut dyn KernelObserver, &Reader) -> R) -> Option<R> {
        let Ok(mut watch) = self.watch.try_borrow_mut() else {
            self.die("the kernel's code decides while it was only asked to be read");
        };
        watch.as_mut().map(|w| f(&mut **w, &self.reader))
    }

    /// What the watcher says of the pick or the step that was reported last.
    fn tell_pick(&self) {
        if self.booting.get() || !self.env(|env| env.wants_reasons()) {
            return;
        }
        if let Some(report) = self.watcher(|w, _| w.take_pick()).flatten() {
            self.env(|env| env.picked(report));
        }
    }

    /// What the watcher says that the kernel has changed.
    fn tell_left(&self) {
        if self.booting.get() || !self.env(|env| env.wants_reasons()) {
            return;
        }
        let left = self.watcher(|w, _| w.take_left()).unwrap_or_default();
        self.env(|env| left.into_iter().for_each(|left| env.left(left)));
    }

    /// The placement that was reported to the watcher last.
    fn tell_reasons(&self) {
        if !self.env(|env| env.wants_reasons()) {
            return;
        }
        let tell = |mut reason: Reason| {
            if reason.rule != NO_RULE {
                reason.rule += super::NR_OWN_RULES;
            }
            self.env(|env| env.reason(reason));
        };
        self.watcher(|w, _| w.reasons(&mut { tell }));
    }
}

/// The desk of a callback.
///
/// # Safety
/// See the head of this file.
unsafe fn desk<'a>(this: *mut c_void) -> &'a CallbackContext {
    unsafe { &*this.cast() }
}

unsafe extern "C" fn clock(this: *mut c_void, cpu: i32) -> u64 {
    let desk = unsafe { desk(this) };
    let cpu = desk.cpu(cpu);
    desk.clock(|env| env.clock(cpu))
}

unsafe extern "C" fn irq_time(this: *mut c_void, cpu: i32) -> u64 {
    let desk = unsafe { desk(this) };
    let cpu = desk.cpu(cpu);
    desk.clock(|env| env.cpu(cpu).irq_ns)
}

unsafe extern "C" fn work(this: *mut c_void, kind: u32, n: u32) {
    let desk = unsafe { desk(this) };
    let Some(cost) = WORKS.get(kind as usize) else {
        desk.die(&format!("the kernel counts work of kind {kind}, which has no price"));
    };
    if !desk.booting.get() {
        desk.env(|env| env.charge(env.caller(), *cost, n));
    }
}

unsafe extern "C" fn ipi(this: *mut c_void, cpu: i32, kind: u32) {
    let desk = unsafe { desk(this) };
    let to = desk.cpu(cpu);
    let ipi = match kind {
        KS_IPI_RESCHED => return desk.env(|env| env.resched(to)),
        KS_IPI_WAKE => Ipi::WakeQueue,
        KS_IPI_CALL => Ipi::NohzKick,
        _ => desk.die(&format!("the kernel sends an IPI of kind {kind}, which does not exist")),
    };
    desk.env(|env| match env.caller() == to {
        false => env.send_ipi(to, ipi),
        true => desk.die(&format!("CPU {cpu} sends itself an IPI of kind {kind}")),
    })
}

unsafe extern "C" fn softirq(this: *mut c_void, cpu: i32) {
    let desk = unsafe { desk(this) };
    let cpu = desk.cpu(cpu);
    desk.env(|env| match env.caller() == cpu {
        true => env.raise_balance(cpu),
        false => desk.die(&format!("CPU {} raises a softirq on CPU {cpu}", env.caller())),
    })
}

unsafe extern "C" fn timer(this: *mut c_void, cpu: i32, when: Time) {
    let desk = unsafe { desk(this) };
    let cpu = desk.cpu(cpu);
    desk.env(|env| env.set_timer(cpu, when));
}

unsafe extern "C" fn placed(this: *mut c_void, p: *const KsPlacement) {
    let desk = unsafe { desk(this) };
    let p = unsafe { desk.pointed(p, "placement") };
    let (kind, task, prev) = desk.question(p);
    let chosen = desk.cpu(p.chosen);
    let rule = desk.watcher(|w, reader| w.placed(reader, p)).flatten();
    let own = if p.is_fair != 0 { super::RULE_FAIR } else { super::RULE_RT };
    let decision = Decision {
        kind,
        task,
        prev,
        chosen,
        rule: rule.map_or(own, |rule| rule + super::NR_OWN_RULES),
        probes: p.probes,
        group_cpus: p.group_cpus,
    };
    if rule.is_some() {
        desk.tell_reasons();
    }
    desk.env(|env| env.decided(decision));
    desk.tell_left();
}

unsafe extern "C" fn migrated(this: *mut c_void, task: i32, from: i32, to: i32, cause: u32) {
    let desk = unsafe { desk(this) };
    let (task, from, to) = (desk.task(task), desk.cpu(from), desk.cpu(to));
    let Some(cause) = CAUSES.get(cause as usize) else {
        desk.die(&format!("the kernel moves a task for cause {cause}, which does not exist"));
    };
    if desk.newborn.get() == Some(task) {
        return;
    }
    desk.cpu_of.borrow_mut()[task as usize] = to;
    desk.env(|env| env.migrated(task, from, to, *cause));
}

unsafe extern "C" fn widened(this: *mut c_void, task: i32) {
    let desk = unsafe { desk(this) };
    let task = desk.task(task);
    desk.env(|env| env.widened(task));
}

unsafe extern "C" fn enqueued(this: *mut c_void, task: i32, cpu: i32) {
    let desk = unsafe { desk(this) };
    let (task, cpu) = (desk.task(task), desk.cpu(cpu));
    desk.begins(task, cpu);
    desk.env(|env| env.enqueued(task, cpu));
}

unsafe extern "C" fn frequency(this: *mut c_void, cpu: i32, khz: u32) {
    let desk = unsafe { desk(this) };
    let cpu = desk.cpu(cpu);
    desk.env(|env| env.request_frequency(cpu, khz));
}

unsafe extern "C" fn print(this: *mut c_void, level: u32, warn: u32, line: *const c_char) {
    let desk = unsafe { desk(this) };
    let line: String = unsafe { text(line) };
    if warn != 0 {
        desk.die(&format!("the kernel warns: {line}"));
    }
    let mut lines = desk.lines.borrow_mut();
    if level <= WARNING && lines.len() < MAX_LINES && !lines.contains(&line) {
        lines.push(line);
    }
}

/// Return addresses of the calls that led to the fault that is being reported, the innermost first; ends at a 0.
static FAULT_FRAMES: [AtomicU64; 12] = [const { AtomicU64::new(0) }; 12];

/// Where the kernel's code was as it reported its end: return addresses of its calls, the innermost first. Empty if it
/// reported none, or did not end so.
pub fn fault_frames() -> Vec<u64> {
    FAULT_FRAMES.iter().map(|frame| frame.load(Relaxed)).take_while(|frame| *frame != 0).collect()
}

unsafe extern "C" fn fault(this: *mut c_void, kind: u32, what: *const c_char, frames: *const u64, nr_frames: u32) {
    let desk = unsafe { desk(this) };
    let what = unsafe { text(what) };
    let nr_frames = if frames.is_null() { 0 } else { nr_frames as usize };
    for (at, frame) in FAULT_FRAMES.iter().enumerate().take(nr_frames) {
        // SAFETY: the kernel's side passes so many.
        frame.store(unsafe { *frames.add(at) }, Relaxed);
    }
    desk.die(&match kind {
        KS_FAULT_BUG => format!("the kernel hits BUG: {what}"),
        KS_FAULT_PANIC => format!("the kernel panics: {what}"),
        KS_FAULT_LOCK => format!("the kernel would deadlock or loses a lock: {what}"),
        KS_FAULT_SLEEP => format!("the kernel would sleep where it must not: {what}"),
        KS_FAULT_STUB => format!("the kernel calls {what}, which its host does not provide"),
        _ => format!("the kernel is in a state that cannot be served: {what}"),
    })
}

/// A line of C, cut to a length one can show.
///
/// # Safety
/// `line` is a C string, or null.
unsafe fn text(line: *const c_char) -> String {
    if line.is_null() {
        return "(no words)".into();
    }
    let line = printable(unsafe { CStr::from_ptr(line) }.to_bytes());
    without_addresses(line.trim()).chars().take(MAX_LINE).collect()
}

/// Text that a terminal shows as it is: the kernel's memory may be corrupted. Other bytes become `\xNN`.
fn printable(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c.is_control() || c == char::REPLACEMENT_CHARACTER {
                true => c.to_string().bytes().for_each(|byte| out += &format!("\\x{byte:02x}")),
                false => out.push(c),
            }
        }
        chunk.invalid().iter().for_each(|byte| out += &format!("\\x{byte:02x}"));
    }
    out
}

/// Addresses differ from process to process, and results must not: `0x7f2720070440` becomes `0x..`.
fn without_addresses(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("0x") {
        let digits = after.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(after.len());
        out = out + before + "0x" + if digits > MAX_HEX { ".." } else { &after[..digits] };
        rest = &after[digits..];
    }
    out + rest
}

unsafe extern "C" fn placing(this: *mut c_void, p: *const KsPlacement) {
    let desk = unsafe { desk(this) };
    let p = unsafe { desk.pointed(p, "placement") };
    desk.question(p);
    desk.watcher(|w, reader| w.placing(reader, p));
}

unsafe extern "C" fn targeted(this: *mut c_void, cpu: i32) {
    let desk = unsafe { desk(this) };
    let cpu = desk.cpu(cpu);
    desk.watcher(|w, reader| w.targeted(reader, cpu));
}

unsafe extern "C" fn picking(this: *mut c_void, cpu: i32, group: i32, protect: u32) {
    let desk = unsafe { desk(this) };
    let cpu = desk.cpu(cpu);
    let group = desk.group(group);
    desk.watcher(|w, reader| w.picking(reader, cpu, group, protect != 0));
}

unsafe extern "C" fn picked(this: *mut c_void, cpu: i32, entity: i32) {
    let desk = unsafe { desk(this) };
    let cpu = desk.cpu(cpu);
    let entity = KernelEntity::of(entity);
    if let Some(KernelEntity::Task(task)) = entity {
        desk.task(task as i32);
    }
    desk.watcher(|w, reader| w.picked(reader, cpu, entity));
    desk.tell_pick();
}

unsafe extern "C" fn pelt(this: *mut c_void, update: *const KsPelt) {
    let desk = unsafe { desk(this) };
    let update = unsafe { desk.pointed(update, "PELT update") };
    unsafe {
        desk.pointed(update.function, "name of a function");
        desk.pointed(update.before, "signal before a PELT update");
        desk.pointed(update.after, "signal after a PELT update");
    }
    desk.watcher(|w, reader| w.pelt(reader, update));
}

unsafe extern "C" fn scanning(this: *mut c_void, task: i32) {
    let desk = unsafe { desk(this) };
    let task = desk.task(task);
    desk.watcher(|w, reader| w.scanning(reader, task));
}

unsafe extern "C" fn scanned(this: *mut c_void, task: i32) {
    let desk = unsafe { desk(this) };
    let task = desk.task(task);
    desk.watcher(|w, reader| w.scanned(reader, task));
}

unsafe extern "C" fn balancing(this: *mut c_void, pass: *const KsBalance) {
    let desk = unsafe { desk(this) };
    let pass = unsafe { desk.pointed(pass, "balance pass") };
    desk.cpu(pass.cpu);
    desk.watcher(|w, reader| w.balancing(reader, pass));
}

unsafe extern "C" fn found(this: *mut c_void, found: *const KsFound) {
    let desk = unsafe { desk(this) };
    let found = unsafe { desk.pointed(found, "busiest queue") };
    desk.cpu_or_none(found.group);
    desk.cpu_or_none(found.src);
    desk.watcher(|w, reader| w.found(reader, found));
}

unsafe extern "C" fn detached(this: *mut c_void, task: i32, from: i32, to: i32) {
    let desk = unsafe { desk(this) };
    let (task, from, to) = (desk.task(task), desk.cpu(from), desk.cpu(to));
    desk.watcher(|w, reader| w.detached(reader, task, from, to));
}

unsafe extern "C" fn balanced(this: *mut c_void, pass: *const KsBalance) {
    let desk = unsafe { desk(this) };
    let pass = unsafe { desk.pointed(pass, "balance pass") };
    desk.cpu(pass.cpu);
    desk.watcher(|w, reader| w.balanced(reader, pass));
    desk.tell_left();
}

unsafe extern "C" fn pushing(this: *mut c_void, cpu: i32) {
    let desk = unsafe { desk(this) };
    let cpu = desk.cpu(cpu);
    desk.watcher(|w, reader| w.pushing(reader, cpu));
}

unsafe extern "C" fn pushed(this: *mut c_void, cpu: i32) {
    let desk = unsafe { desk(this) };
    let cpu = desk.cpu(cpu);
    desk.watcher(|w, reader| w.pushed(reader, cpu));
}

unsafe extern "C" fn walking(this: *mut c_void, walk: *const KsWalk) {
    let desk = unsafe { desk(this) };
    let walk = unsafe { desk.pointed(walk, "walk") };
    desk.cpu(walk.cpu);
    desk.watcher(|w, reader| w.walking(reader, walk));
}

unsafe extern "C" fn walked(this: *mut c_void, walk: *const KsWalk) {
    let desk = unsafe { desk(this) };
    let walk = unsafe { desk.pointed(walk, "walk") };
    desk.cpu(walk.cpu);
    desk.watcher(|w, reader| w.walked(reader, walk));
    desk.tell_left();
}

unsafe extern "C" fn stepping(this: *mut c_void, step: *const KsStep) {
    let desk = unsafe { desk(this) };
    let step = unsafe { desk.pointed(step, "step") };
    desk.watcher(|w, reader| w.stepping(reader, desk.checked_step(step)));
}

unsafe extern "C" fn stepped(this: *mut c_void, step: *const KsStep) {
    let desk = unsafe { desk(this) };
    let step = unsafe { desk.pointed(step, "step") };
    desk.watcher(|w, reader| w.stepped(reader, desk.checked_step(step)));
    desk.tell_left();
    desk.tell_pick();
}

unsafe extern "C" fn governing(this: *mut c_void, cpu: i32, flags: u32) {
    let desk = unsafe { desk(this) };
    let cpu = desk.cpu(cpu);
    desk.watcher(|w, reader| w.governing(reader, cpu, flags));
}

unsafe extern "C" fn governed(this: *mut c_void, cpu: i32, khz: u32) {
    let desk = unsafe { desk(this) };
    let cpu = desk.cpu(cpu);
    desk.watcher(|w, reader| w.governed(reader, cpu, Some(khz).filter(|khz| *khz != 0)));
}
