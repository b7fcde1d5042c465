//! Errors that end a run.

use thiserror::Error;

use crate::Time;

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SimError {
    /// The workload cannot be interpreted.
    #[error("workload {workload}: {what}")]
    Program {
        /// Name of the workload.
        workload: String,
        /// The problem, with the thread template and step.
        what: String,
    },
    /// The scheduler under test cannot serve this workload with these settings.
    #[error("{what}")]
    Refused {
        /// Why, as the scheduler reports it.
        what: String,
    },
    /// Threads are blocked and nothing can ever wake them.
    #[error("deadlock at {at} ns: no thread can ever run again\n{report}")]
    Deadlock {
        /// Virtual time of the deadlock, ns.
        at: Time,
        /// One line for each of up to 24 live threads: what it waits for, and who holds that.
        report: String,
    },
    /// The scheduler under test broke a rule that no scheduler may break.
    #[error("broken invariant at {at} ns: {what}")]
    Invariant {
        /// Virtual time at which the rule was broken, ns.
        at: Time,
        /// The broken rule, with the task or CPU.
        what: String,
    },
    /// Events or steps repeat while virtual time does not advance.
    #[error("time stands still at {at} ns: {what}")]
    Livelock {
        /// Virtual time that does not advance, ns.
        at: Time,
        /// What repeats: a step of a thread, an event, or the reschedule of a CPU.
        what: String,
    },
    /// The run has created as many threads as a run may.
    #[error("the run has created {max} threads at {at} ns, the most that a run may create; the next is a {name}")]
    TooManyThreads {
        /// Virtual time of the refused creation, ns.
        at: Time,
        /// The most threads that a run may create, [`fairground_workload::MAX_TASKS`].
        max: u64,
        /// Name of the thread that was refused.
        name: String,
    },
    /// The run did not end within [`crate::Config::max_time_ns`].
    #[error("the workload has not ended after {at} ns of virtual time\n{report}")]
    TimeLimit {
        /// The time limit, ns of virtual time.
        at: Time,
        /// One line for each of up to 24 live threads: what it does or waits for.
        report: String,
    },
    /// The run did not end within [`crate::Config::max_events`].
    #[error("the run has not ended after {events} events, at {at} ns; the last one was {what}")]
    EventLimit {
        /// Virtual time at which the limit was reached, ns.
        at: Time,
        /// The limit, in events of the run.
        events: u64,
        /// The last event before the limit.
        what: String,
    },
    /// The caller stopped the run ([`crate::Engine::stop_on`]).
    #[error("stopped at {at} ns")]
    Stopped {
        /// Virtual time at which the run was stopped, ns.
        at: Time,
    },
}
