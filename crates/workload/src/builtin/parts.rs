//! Building blocks of the built-in workloads.

use crate::options::{OptionInfo, OptionKind, Options, MICRO};
use crate::program::*;
use crate::validate::MAX_DURATION_NS;

/// Linux's default size of a pipe.
pub(crate) const PIPE: Object = Object::Pipe { slots: 16 };

/// One direction of an AF_UNIX stream with Linux's default send buffer. What a message is charged beyond its own bytes
/// is an estimate: messages of 100 bytes are charged 768, a buffer of 512 for the data and its trailer, and 256 for the
/// sk_buff. So some 277 of them are on their way at most.
pub(crate) const SOCKET: Object = Object::Socket { sndbuf: 212_992, overhead: 668 };

/// Resolution of gettimeofday, ns.
pub(super) const GETTIMEOFDAY_NS: u32 = 1000;

/// Length of a run by time.
pub(super) const DURATION: OptionInfo = OptionInfo {
    name: "duration",
    kind: OptionKind::Decimal { unit: "s", min: MICRO / 1000, max: MAX_DURATION_NS / 1000 },
    default: "10",
    meaning: "length of the run, s",
    excludes: None,
};

/// Where the first task comes from.
pub(super) const START_CPU: OptionInfo = OptionInfo {
    name: "start-cpu",
    kind: OptionKind::Cpu,
    default: "0",
    meaning: "CPU the main task is launched from",
    excludes: None,
};

/// Work that varies uniformly by a fifth of itself to both sides, ns: an estimate for code whose input changes.
pub(super) fn varied(ns: u64) -> Amount {
    Amount { base: ns - ns / 5, jitter: ns / 5 * 2 }
}

/// A workload of nothing yet, with the name that was typed.
pub(super) fn blank(options: &Options) -> Workload {
    Workload::empty(&options.full_name())
}
