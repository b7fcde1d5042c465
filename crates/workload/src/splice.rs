//! Putting one program into another.

use crate::program::Op;

/// `op` as it must read `by` steps further down its program.
pub(crate) fn shifted(op: &Op, by: u32) -> Op {
    match op {
        Op::Loop { times, end } => Op::Loop { times: *times, end: end + by },
        Op::EndLoop { begin } => Op::EndLoop { begin: begin + by },
        other => other.clone(),
    }
}
