//! A loaded kernel as a scheduler under test.
//!
//! ```text
//! Kernel::load -> Linux::new -> Engine::run -> boot     description of machine and task groups for the kernel
//!                                           -> calls    on a CPU at an instant: fork, wake, schedule, tick, ...
//!                                           <- Desk     what the kernel asks for on the way, into Env
//! ```
//!
//! One a process, since the kernel's state is global; it stays until the process ends. Code of the kernel cannot be
//! unwound: what is wrong in it goes to the [`FatalSink`], which ends the process.
//!
//! DEVIATION: a clamp of 0 or 1024 that a thread was born with counts as not asked for (an RT thread that asks for a
//! floor of 0 keeps the kernel's default of 1024). DEVIATION: a task that cpu.max holds back counts as waiting, and so
//! as wasted core time while CPUs idle.

mod callbacks;
mod describe;
mod error;
mod groups;
mod library;
mod observer;
mod sched;

use std::sync::atomic::{AtomicBool, Ordering};

pub use error::LinuxError;
pub use library::Kernel;
pub use observer::{Interests, KernelEntity, KernelObserver, Reader};

use fairground_sim::Rule;

pub use callbacks::fault_frames;
use callbacks::CallbackContext;
use describe::Description;
use groups::Group;

/// Reports why the process must end, and ends it.
///
/// [`fault_frames`] tells it where the kernel's code was.
pub type FatalSink = fn(&str) -> !;

/// Says why on standard error and exits with 1.
pub fn die(why: &str) -> ! {
    eprintln!("error: {why}");
    std::process::exit(1)
}

/// Rules of [`fairground_sim::Decision::rule`] before those of a watcher.
const OWN_RULES: [Rule; NR_OWN_RULES as usize] = [
    Rule {
        name: "linux",
        function: "select_task_rq_fair",
        label: "the kernel's own",
        text: "decided by the kernel's own code",
    },
    Rule {
        name: "linux-rt",
        function: "select_task_rq_rt",
        label: "the kernel's own",
        text: "decided by the kernel's own code for real-time tasks",
    },
];
const NR_OWN_RULES: u16 = 2;
const RULE_FAIR: u16 = 0;
const RULE_RT: u16 = 1;

/// There is a kernel in this process.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The kernel as a scheduler.
pub struct Linux {
    kernel: Kernel,
    /// Never freed before the process ends: the kernel keeps its address.
    desk: &'static CallbackContext,
    description: Option<&'static Description>,
    groups: Vec<Group>,
    tasks: Vec<Task>,
    rules: Vec<Rule<'static>>,
    pick_rules: Vec<Rule<'static>>,
    /// What every output must carry because of the watcher.
    notes: Vec<String>,
}

/// What is known of a task besides the kernel's own.
#[derive(Clone, Copy, Debug, Default)]
struct Task {
    /// Whether the task was created and has not ended.
    is_live: bool,
    /// Whether the task's bandwidth may be limited.
    may_wait: bool,
    /// In a group with a limit.
    limited: bool,
    /// Clamps it has asked for, as `ks_attr.uclamp_set`.
    clamps: u32,
}

impl Linux {
    /// Takes this process for `kernel`, which boots when the run begins. `fatal` hears why the process must end.
    ///
    /// # Errors
    /// If the process has a kernel already.
    pub fn new(kernel: Kernel, fatal: FatalSink) -> Result<Linux, LinuxError> {
        if TAKEN.swap(true, Ordering::SeqCst) {
            return Err(LinuxError::Second);
        }
        let desk = Box::leak(CallbackContext::new(Reader { kernel: kernel.abi }, fatal));
        Ok(Linux {
            kernel,
            desk,
            description: None,
            groups: Vec::new(),
            tasks: Vec::new(),
            rules: OWN_RULES.into(),
            pick_rules: Vec::new(),
            notes: Vec::new(),
        })
    }

    /// Sets a watcher, which is called from the boot on.
    pub fn watch(&mut self, watcher: Box<dyn KernelObserver>) {
        self.rules = OWN_RULES.into_iter().chain(watcher.rules()).collect();
        (self.pick_rules, self.notes) = (watcher.pick_rules(), watcher.notes());
        *self.desk.watch.borrow_mut() = Some(watcher);
    }
}
