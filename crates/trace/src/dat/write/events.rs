//! The events of our traces and their formats in the syntax of tracefs.
//!
//! Events of the kernel have its names and fields (include/trace/events of Linux 6.12; `success` as up to 4.2, which our
//! text has too), those of LISA's module its own, what a scheduler here decides is of the system `fairground`. All have
//! one more field in common than the kernel's: `common_turn` counts the events of the trace, so that those of one
//! instant on different CPUs keep their order.

pub struct Event {
    pub system: &'static str,
    pub name: &'static str,
    pub id: u16,
    /// Those that all have in common left out.
    pub fields: &'static [Field],
    /// How it is printed, if not all fields one after the other.
    print: Option<&'static str>,
}

pub struct Field {
    /// Key in our text format.
    pub key: &'static str,
    /// Name in the event's format.
    pub name: &'static str,
    pub kind: Kind,
}

/// Type of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Pid,
    Int,
    U32,
    U64,
    Long,
    /// 15 bytes and a 0.
    Comm,
    /// Bytes behind all fields, with a 0.
    Text,
    /// Bytes to the end, with a 0: the last field.
    Rest,
}

impl Kind {
    /// Bytes in the record, which starts at a multiple of [`Self::align`].
    pub fn size(self) -> usize {
        match self {
            Kind::Pid | Kind::Int | Kind::U32 | Kind::Text => 4,
            Kind::U64 | Kind::Long => 8,
            Kind::Comm => 16,
            Kind::Rest => 0,
        }
    }

    fn align(self) -> usize {
        match self {
            Kind::Pid | Kind::Int | Kind::U32 | Kind::Text => 4,
            Kind::U64 | Kind::Long => 8,
            Kind::Comm | Kind::Rest => 1,
        }
    }

    fn declare(self, name: &str) -> String {
        match self {
            Kind::Pid => format!("pid_t {name}"),
            Kind::Int => format!("int {name}"),
            Kind::U32 => format!("u32 {name}"),
            Kind::U64 if name == "ip" => format!("unsigned long {name}"),
            Kind::U64 => format!("u64 {name}"),
            Kind::Long => format!("long {name}"),
            Kind::Comm => format!("char {name}[16]"),
            Kind::Text => format!("__data_loc char[] {name}"),
            Kind::Rest => format!("char {name}[]"),
        }
    }

    fn print(self) -> &'static str {
        match self {
            Kind::Pid | Kind::Int => "%d",
            Kind::U32 => "%u",
            Kind::U64 => "%llu",
            Kind::Long => "%ld",
            Kind::Comm | Kind::Text | Kind::Rest => "%s",
        }
    }
}

/// Bytes of the fields that all events have in common.
pub const COMMON: usize = 12;
const COMMON_FIELDS: &str = "\
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;
\tfield:unsigned int common_turn;\toffset:8;\tsize:4;\tsigned:0;
";

impl Event {
    /// Where each field begins, and where the last ends.
    pub fn offsets(&self) -> (Vec<usize>, usize) {
        let mut end = COMMON;
        let mut place = |field: &Field| {
            let at = end.next_multiple_of(field.kind.align());
            end = at + field.kind.size();
            at
        };
        let offsets = self.fields.iter().map(&mut place).collect();
        (offsets, end)
    }
}

/// The format file of an event.
pub fn format(event: &Event) -> String {
    let mut text = format!("name: {}\nID: {}\nformat:\n{COMMON_FIELDS}\n", event.name, event.id);
    for (field, offset) in event.fields.iter().zip(event.offsets().0) {
        let signed = matches!(field.kind, Kind::Pid | Kind::Int | Kind::Long);
        let (declaration, size) = (field.kind.declare(field.name), field.kind.size());
        text += &format!("\tfield:{declaration};\toffset:{offset};\tsize:{size};\tsigned:{};\n", u8::from(signed));
    }
    let print = event.print.map_or_else(|| print(event.fields), str::to_owned);
    text + &format!("\nprint fmt: {print}\n")
}

/// A print format with all fields as `KEY=VALUE`.
fn print(fields: &[Field]) -> String {
    let words: Vec<String> = fields.iter().map(|f| format!("{}={}", f.key, f.kind.print())).collect();
    let arguments = fields.iter().map(|f| match f.kind {
        Kind::Text => format!(", __get_str({})", f.name),
        _ => format!(", REC->{}", f.name),
    });
    format!("\"{}\"{}", words.join(" "), arguments.collect::<String>())
}

const fn field(key: &'static str, kind: Kind) -> Field {
    Field { key, name: key, kind }
}

/// One that our text calls otherwise.
const fn called(key: &'static str, name: &'static str, kind: Kind) -> Field {
    Field { key, name, kind }
}

const fn event(system: &'static str, name: &'static str, id: u16, fields: &'static [Field]) -> Event {
    Event { system, name, id, fields, print: None }
}

/// What a process says through trace_marker.
pub const PRINT: Event = Event {
    system: "ftrace",
    name: "print",
    // The number in every kernel.
    id: 5,
    fields: &[field("ip", Kind::U64), field("buf", Kind::Rest)],
    print: Some(r#""%ps: %s", (void *)REC->ip, REC->buf"#),
};

const WAKEUP: &[Field] = &[
    field("comm", Kind::Comm),
    field("pid", Kind::Pid),
    field("prio", Kind::Int),
    field("success", Kind::Int),
    field("target_cpu", Kind::Int),
];

const SWITCH: Event = Event {
    system: "sched",
    name: "sched_switch",
    id: 300,
    fields: &[
        field("prev_comm", Kind::Comm),
        field("prev_pid", Kind::Pid),
        field("prev_prio", Kind::Int),
        field("prev_state", Kind::Long),
        field("next_comm", Kind::Comm),
        field("next_pid", Kind::Pid),
        field("next_prio", Kind::Int),
    ],
    print: Some(concat!(
        r#""prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s ==> next_comm=%s next_pid=%d next_prio=%d", "#,
        r#"REC->prev_comm, REC->prev_pid, REC->prev_prio, "#,
        r#"REC->prev_state ? __print_flags(REC->prev_state, "|", { 0x01, "S" }, { 0x02, "D" }, { 0x10, "X" }) : "R", "#,
        r#"REC->next_comm, REC->next_pid, REC->next_prio"#,
    )),
};

/// The system of what a scheduler here decides.
pub const OURS: &str = "fairground";

/// The system of events that a kernel has only with LISA's module.
pub const MODULE: &str = "lisa";

/// All events of the exported header, grouped by system.
pub const EVENTS: &[Event] = &[
    SWITCH,
    event("sched", "sched_waking", 301, WAKEUP),
    event("sched", "sched_wakeup", 302, WAKEUP),
    event("sched", "sched_wakeup_new", 303, WAKEUP),
    event(
        "sched",
        "sched_migrate_task",
        304,
        &[
            field("comm", Kind::Comm),
            field("pid", Kind::Pid),
            field("prio", Kind::Int),
            field("orig_cpu", Kind::Int),
            field("dest_cpu", Kind::Int),
        ],
    ),
    event(
        "sched",
        "sched_process_fork",
        305,
        &[
            called("comm", "parent_comm", Kind::Comm),
            called("pid", "parent_pid", Kind::Pid),
            field("child_comm", Kind::Comm),
            field("child_pid", Kind::Pid),
        ],
    ),
    event(
        "sched",
        "sched_process_exec",
        306,
        &[field("filename", Kind::Text), field("pid", Kind::Pid), field("old_pid", Kind::Pid)],
    ),
    event(
        "sched",
        "sched_process_exit",
        307,
        &[field("comm", Kind::Comm), field("pid", Kind::Pid), field("prio", Kind::Int)],
    ),
    event("power", "cpu_idle", 320, &[field("state", Kind::U32), field("cpu_id", Kind::U32)]),
    event("power", "cpu_frequency", 321, &[field("state", Kind::U32), field("cpu_id", Kind::U32)]),
    event(
        MODULE,
        "uclamp_util_se",
        330,
        &[
            field("pid", Kind::Pid),
            field("comm", Kind::Comm),
            field("cpu", Kind::Int),
            field("util_avg", Kind::U32),
            field("uclamp_avg", Kind::U32),
            field("uclamp_min", Kind::U32),
            field("uclamp_max", Kind::U32),
        ],
    ),
    event(
        MODULE,
        "uclamp_util_cfs",
        331,
        &[
            field("cpu", Kind::Int),
            field("util_avg", Kind::U32),
            field("uclamp_avg", Kind::U32),
            field("uclamp_min", Kind::U32),
            field("uclamp_max", Kind::U32),
        ],
    ),
    event(
        MODULE,
        "sched_pelt_se",
        332,
        &[
            field("cpu", Kind::Int),
            field("path", Kind::Text),
            field("comm", Kind::Comm),
            field("pid", Kind::Pid),
            field("load", Kind::U64),
            field("util", Kind::U64),
            field("rbl_load", Kind::U64),
            field("update_time", Kind::U64),
        ],
    ),
    event(
        MODULE,
        "sched_pelt_cfs",
        333,
        &[
            field("cpu", Kind::Int),
            field("path", Kind::Text),
            field("load", Kind::U64),
            field("util", Kind::U64),
            field("rbl_load", Kind::U64),
            field("update_time", Kind::U64),
        ],
    ),
    event(
        MODULE,
        "sched_util_est_se",
        334,
        &[
            field("cpu", Kind::Int),
            field("path", Kind::Text),
            field("comm", Kind::Comm),
            field("pid", Kind::Pid),
            field("enqueued", Kind::U32),
            field("ewma", Kind::U32),
            field("util", Kind::U64),
        ],
    ),
    event(
        MODULE,
        "sched_util_est_cfs",
        335,
        &[
            field("cpu", Kind::Int),
            field("path", Kind::Text),
            field("enqueued", Kind::U32),
            field("ewma", Kind::U32),
            field("util", Kind::U64),
        ],
    ),
    event(
        OURS,
        "fairground_decision",
        340,
        &[
            field("kind", Kind::Text),
            field("comm", Kind::Comm),
            field("pid", Kind::Pid),
            field("prio", Kind::Int),
            field("prev_cpu", Kind::Int),
            field("cpu", Kind::Int),
            field("rule", Kind::Text),
            field("probes", Kind::U32),
            field("group_cpus", Kind::U32),
        ],
    ),
    event(
        OURS,
        "fairground_why",
        341,
        &[
            field("pid", Kind::Pid),
            field("rule", Kind::Text),
            field("note", Kind::U32),
            field("cpu", Kind::Int),
            field("a", Kind::U64),
            field("b", Kind::U64),
            field("c", Kind::U64),
            field("text", Kind::Text),
        ],
    ),
    event(
        OURS,
        "fairground_balance",
        342,
        &[
            field("kind", Kind::Text),
            field("level", Kind::Text),
            field("src_cpu", Kind::Int),
            field("dst_cpu", Kind::Int),
            field("unit", Kind::Text),
            field("amount", Kind::U64),
            field("rule", Kind::Text),
            field("moved", Kind::U32),
            field("active", Kind::U32),
        ],
    ),
    event(
        OURS,
        "fairground_mark",
        343,
        &[field("comm", Kind::Comm), field("pid", Kind::Pid), field("prio", Kind::Int), field("mark", Kind::Text)],
    ),
    event(OURS, "fairground_stopper", 344, &[field("event", Kind::Text)]),
    event(OURS, "fairground_temperature", 345, &[field("zone", Kind::U32), field("temp", Kind::Int)]),
    event(OURS, "fairground_cooling", 346, &[field("target", Kind::U32), field("cpu_id", Kind::U32)]),
    event(
        OURS,
        "fairground_energy",
        347,
        &[field("rail", Kind::U32), field("part", Kind::Text), field("energy_pj", Kind::U64)],
    ),
    event(
        OURS,
        "fairground_switch",
        349,
        &[
            field("prev_comm", Kind::Comm),
            field("prev_pid", Kind::Pid),
            field("prev_prio", Kind::Int),
            field("prev_state", Kind::Long),
            field("next_comm", Kind::Comm),
            field("next_pid", Kind::Pid),
            field("next_prio", Kind::Int),
            field("cost_ns", Kind::U64),
        ],
    ),
    event(
        OURS,
        "fairground_pick",
        350,
        &[
            field("kind", Kind::Text),
            field("comm", Kind::Comm),
            field("pid", Kind::Pid),
            field("prio", Kind::Int),
            field("cpu", Kind::Int),
            field("rule", Kind::Text),
            field("queued", Kind::U32),
            field("lag", Kind::Long),
            field("deadline", Kind::Long),
            field("protection", Kind::Long),
            field("curr_comm", Kind::Comm),
            field("curr_pid", Kind::Pid),
            field("curr_lag", Kind::Long),
            field("curr_deadline", Kind::Long),
            field("curr_protection", Kind::Long),
        ],
    ),
    event(
        OURS,
        "fairground_left",
        352,
        &[
            field("comm", Kind::Comm),
            field("pid", Kind::Pid),
            field("cpu", Kind::Int),
            field("domain", Kind::Int),
            field("function", Kind::Text),
            field("before", Kind::Long),
            field("after", Kind::Long),
            field("value", Kind::Text),
        ],
    ),
    event(OURS, "fairground_hotplug", 351, &[field("event", Kind::Text), field("cpu_id", Kind::U32)]),
    event(OURS, "fairground_woken", 348, &[field("pid", Kind::Pid), field("by", Kind::Text), field("sync", Kind::U32)]),
];
