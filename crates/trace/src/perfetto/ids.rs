//! Field numbers by message. Other fields are skipped.

pub mod trace {
    pub const PACKET: u32 = 1;
}

pub mod packet {
    pub const FTRACE_EVENTS: u32 = 1;
    pub const PROCESS_TREE: u32 = 2;
    pub const TIMESTAMP: u32 = 8;
    pub const SEQUENCE: u32 = 10;
    pub const TRACK_EVENT: u32 = 11;
    pub const PREVIOUS_DROPPED: u32 = 42;
    pub const COMPRESSED: u32 = 50;
    pub const TIMESTAMP_CLOCK: u32 = 58;
    pub const TRACK_DESCRIPTOR: u32 = 60;
    pub const ZSTD_COMPRESSED: u32 = 133;
}

pub mod bundle {
    pub const CPU: u32 = 1;
    pub const EVENT: u32 = 2;
    pub const LOST_EVENTS: u32 = 3;
    pub const COMPACT_SCHED: u32 = 4;
    pub const FTRACE_CLOCK: u32 = 5;
    pub const FTRACE_TIMESTAMP: u32 = 6;
    pub const BOOT_TIMESTAMP: u32 = 7;
    pub const GENERIC_DESCRIPTORS: u32 = 11;
}

/// Fields of `FtraceEventBundle.CompactSched`.
pub mod compact {
    pub const SWITCH_TIMESTAMP: u32 = 1;
    pub const SWITCH_PREV_STATE: u32 = 2;
    pub const SWITCH_NEXT_PID: u32 = 3;
    pub const SWITCH_NEXT_PRIO: u32 = 4;
    pub const INTERN_TABLE: u32 = 5;
    pub const SWITCH_NEXT_COMM: u32 = 6;
    pub const WAKING_TIMESTAMP: u32 = 7;
    pub const WAKING_PID: u32 = 8;
    pub const WAKING_TARGET_CPU: u32 = 9;
    pub const WAKING_COMM: u32 = 11;
    /// Not of every kernel: Perfetto writes them since 2021.
    pub const WAKING_FLAGS: u32 = 12;
}

/// `FtraceEvent`: what all have, and the events.
pub mod event {
    pub const TIMESTAMP: u32 = 1;
    pub const PID: u32 = 2;
    pub const PRINT: u32 = 3;
    pub const SCHED_SWITCH: u32 = 4;
    pub const COMMON_FLAGS: u32 = 5;
    pub const CPU_FREQUENCY: u32 = 11;
    pub const CPU_IDLE: u32 = 13;
    pub const SCHED_WAKEUP: u32 = 17;
    pub const SCHED_WAKING: u32 = 20;
    pub const SCHED_WAKEUP_NEW: u32 = 114;
    pub const TASK_NEWTASK: u32 = 235;
    pub const TASK_RENAME: u32 = 236;
    pub const SCHED_PROCESS_EXEC: u32 = 237;
    pub const SCHED_PROCESS_EXIT: u32 = 238;
    pub const SCHED_PROCESS_FORK: u32 = 239;
    pub const GENERIC: u32 = 327;
    pub const SCHED_MIGRATE_TASK: u32 = 491;
}

pub mod track_event {
    pub const DEBUG_ANNOTATIONS: u32 = 4;
    pub const TYPE: u32 = 9;
    pub const TRACK_UUID: u32 = 11;
    pub const CATEGORIES: u32 = 22;
    pub const NAME: u32 = 23;
    pub const COUNTER_VALUE: u32 = 30;
    /// Values of `TYPE`.
    pub const INSTANT: u64 = 3;
    pub const COUNTER: u64 = 4;
}

pub mod annotation {
    pub const UINT: u32 = 3;
    pub const INT: u32 = 4;
    pub const STRING: u32 = 6;
    pub const NAME: u32 = 10;
    pub const DICT_ENTRIES: u32 = 11;
    pub const ARRAY_VALUES: u32 = 12;
}

pub mod track {
    pub const UUID: u32 = 1;
    pub const NAME: u32 = 2;
    pub const PARENT_UUID: u32 = 5;
    pub const COUNTER: u32 = 8;
    /// Fields of `CounterDescriptor`.
    pub const COUNTER_UNIT_NAME: u32 = 6;
}

/// Values of `TIMESTAMP_CLOCK`.
pub mod clock {
    pub const BOOTTIME: u64 = 6;
}
