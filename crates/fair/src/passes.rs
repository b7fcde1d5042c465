//! Reports of balancing: what an attempt found, and a task that is pushed.

use fairground_machine::CpuId;
use fairground_sim::{Balance, BalanceKind, BalanceUnit};

use crate::ffi::*;

/// An attempt that has found a source, before it moves anything (`fg_find_busiest`). `level`: of its domain.
pub fn source_found(b: &FgBalance, level: u8) -> Balance {
    Balance {
        kind: match b.kind {
            FG_CPU_NOT_IDLE => BalanceKind::Busy,
            FG_CPU_IDLE => BalanceKind::Idle,
            _ => BalanceKind::NewlyIdle,
        },
        level,
        src: b.src_cpu as CpuId,
        dst: b.dst_cpu as CpuId,
        unit: match b.migration {
            FG_MIGRATE_LOAD => BalanceUnit::Load,
            FG_MIGRATE_UTIL => BalanceUnit::Util,
            FG_MIGRATE_TASK | FG_MIGRATE_LLC => BalanceUnit::Task,
            _ => BalanceUnit::Misfit,
        },
        amount: u64::try_from(b.imbalance).unwrap_or(0),
        rule: b.rule as u16,
        moved: b.moved,
        active: false,
    }
}

/// Active balance moves a task. `level`: of the domain that balanced.
pub fn task_pushed(level: u8, src: CpuId, dst: CpuId) -> Balance {
    Balance {
        kind: BalanceKind::Active,
        level,
        src,
        dst,
        unit: BalanceUnit::Task,
        amount: 1,
        rule: FG_BALANCE_RULE_PUSH as u16,
        moved: 1,
        active: false,
    }
}
