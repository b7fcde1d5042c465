//! The parsers of files from outside.

use std::path::Path;

use fairground_machine::{capture, preset_text, CaptureOptions, Machine, MachineSpec};
use fairground_playground::link;
use fairground_playground::session::Session;
use fairground_trace::dat::{DatReader, PerfDataReader};
use fairground_trace::import::{Importer, Selection};
use fairground_trace::{EventSource, PerfettoReader, Reader};
use fairground_workload::rtapp::{self, Dialect};
use fairground_workload::testing::small_machine;
use fairground_workload::Workload;
use serde_json::json;

use crate::Verdict;

/// The bytes of a file.
pub type Input<'a> = &'a [u8];

/// A parser, and the inputs that fuzzing starts from.
pub struct Target {
    /// The name in directories and on the command line.
    pub name: &'static str,
    /// Good files: the first corpus.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// The entries of libFuzzer's dictionary.
    pub words: &'static [&'static str],
    /// Repairs an input before it is parsed, where a checksum would otherwise hide what the fuzzer changed.
    pub repair: fn(&mut Vec<u8>),
    /// Parses an input and checks the result; panics if that is wrong.
    pub run: fn(Input) -> Verdict,
}

/// The contents of files, included at build time.
macro_rules! files {
    ($($path:literal),* $(,)?) => { || vec![$(include_bytes!($path).to_vec()),*] };
}

const EVENTS: &[&str] = &[
    "sched_switch: ",
    "sched_waking: ",
    "[000] ",
    "CPU:1 [LOST ",
    " EVENTS]",
    "prev_comm=",
    " next_comm=",
    " pid=",
    " ==> ",
    "print: ",
    "fairground_meta: machine=",
    "fairground_woken: ",
    "\n",
    "\n\n",
    "\t",
    ": ",
    "\0",
    "é",
];
const JSON: &[&str] = &[
    "\"\"",
    "null",
    "[",
    "{",
    "}",
    "]",
    ",",
    ":",
    "\"",
    "\\u0000",
    "/*",
    "//",
    "\"suspend\",",
    "\"loop\": -1,",
    "\"fork\": \"t\",",
    "\"phases\": {},",
    "\"run\": 0,",
    "é",
    "\0",
    "\"instance\": 9999,",
    "\"await\": \"wakeup\",",
    "\"until\": 1,",
    "\"work\": 1e3,",
    "\"born\": ",
    "\"cpus\": [0, 1],",
];
const LINK: &[&str] = &[
    "\"machine_file\": ",
    "\"workload_file\": ",
    "\"figures\": [[",
    "\"settings\": [[",
    "\"costs.scale\", 1e308",
    "fair:",
    "+asym-prev-first",
    "-asym-prev-first",
    "+sis-mode=prop54",
    " machine=",
    " workload=",
    " governor=teo",
    "linux:mine",
    "@node0",
    ":loops=",
    "18446744073709551615",
    "-1",
    "1e400",
    "null",
    "\\u0000",
    "é",
];
const TREES: &[&str] =
    &["cpu-map", "cluster0", "core0", "cpu@0", "reg", "\0", "\0\0\0\u{1}", "\0\0\0\u{2}", "\0\0\0\u{3}"];
const TOML: &[&str] = &[
    "[",
    "]",
    "[[",
    "]]",
    "=",
    "\"",
    "{",
    "}",
    "\n",
    "0-3",
    "0-1023",
    "-1",
    "1e400",
    "nan",
    "#",
    "'''",
    "inf",
    "cpus = ",
    "levels = ",
    "us",
    "ns",
    "\0",
    "é",
];
const SPECS: &[&str] = &[":", ",", "=", "@", "node", "0-3", "threads", "loops=", "ms", "us", "k", "-", "%", "é", "\n"];
const BYTES: &[&str] = &["\n", "\0", "\u{1}", "\u{8}", "\u{12}\u{2}", "field:", "offset:0;", "size:8;", "common_pid"];
const NUMBERS: &[&str] = &["0-3", "0-1023", "-1", "65535", "<not supported>", "../", "/", "\0", "cpu9", "32K", "WFI"];

/// All parsers of files from outside.
pub fn targets() -> &'static [Target] {
    const NOTHING: fn(&mut Vec<u8>) = |_| {};
    &[
        Target {
            // ftrace text: ours, the kernel's, trace-cmd's.
            name: "ftrace",
            seeds: files!["../corpus/ftrace/ours.txt", "../corpus/ftrace/kernel.txt", "../corpus/ftrace/trace-cmd.txt"],
            words: EVENTS,
            repair: NOTHING,
            run: |input| events(Ok(Reader::new("t.txt", input))),
        },
        Target {
            // what perf script prints.
            name: "perf",
            seeds: files!["../corpus/perf/chains.txt"],
            words: EVENTS,
            repair: NOTHING,
            run: |input| events(Ok(Reader::new("t.txt", input))),
        },
        Target {
            // trace.dat, versions 6 and 7.
            name: "dat",
            seeds: files![
                "../corpus/dat/ours-6.dat",
                "../corpus/dat/high-first-6.dat",
                "../corpus/dat/narrow-6.dat",
                "../corpus/dat/plain-7.dat",
                "../corpus/dat/zstd-7.dat",
            ],
            words: BYTES,
            repair: NOTHING,
            run: |input| events(DatReader::new("t.dat", input.to_vec())),
        },
        Target {
            // perf.data: threads get names and are forked, of either byte order.
            name: "perf_data",
            seeds: files!["../corpus/perf_data/little.data", "../corpus/perf_data/big.data"],
            words: BYTES,
            repair: NOTHING,
            run: |input| events(PerfDataReader::new("perf.data", input.to_vec())),
        },
        Target {
            // Perfetto's protobuf.
            name: "perfetto",
            seeds: files![
                "../corpus/perfetto/ours.pftrace",
                "../corpus/perfetto/columns.pftrace",
                "../corpus/perfetto/compressed.pftrace",
            ],
            words: BYTES,
            repair: NOTHING,
            run: |input| events(Ok(PerfettoReader::new("t.pftrace", input))),
        },
        Target {
            // from a trace to a recording that reads back.
            name: "import",
            seeds: files!["../corpus/ftrace/ours.txt", "../corpus/ftrace/kernel.txt", "../corpus/perf/chains.txt"],
            words: EVENTS,
            repair: NOTHING,
            run: import,
        },
        Target {
            // rt-app's JSON.
            name: "rtapp",
            seeds: files![
                "../../../workloads/rt-app-tour.json",
                "../../../workloads/measured.json",
                "../../../workloads/interrupts.json",
                "../../../workloads/throttled.json",
                "../../../workloads/clamped.json",
            ],
            words: JSON,
            repair: NOTHING,
            run: json,
        },
        Target {
            // recordings.
            name: "recording",
            seeds: files!["../corpus/recording/ours.json"],
            words: JSON,
            repair: NOTHING,
            run: json,
        },
        Target {
            // workloads as typed.
            name: "workload",
            seeds: || SPECIMENS.iter().map(|spec| spec.as_bytes().to_vec()).collect(),
            words: SPECS,
            repair: NOTHING,
            run: workload,
        },
        Target {
            // machines as typed.
            name: "subset",
            seeds: || ["0-3", "node0-1", "0,2-4", "node0,2"].map(|s| format!("kunpeng920@{s}").into_bytes()).into(),
            words: SPECS,
            repair: NOTHING,
            run: subset,
        },
        Target {
            // machine files.
            name: "machine",
            seeds: || {
                let presets = ["hikey960", "rpi5", "kunpeng920", "alder-lake"].into_iter();
                presets.filter_map(preset_text).map(|text| text.as_bytes().to_vec()).collect()
            },
            words: TOML,
            repair: NOTHING,
            run: machine,
        },
        Target {
            // tarballs of sysfs.
            name: "tarball",
            seeds: files!["../corpus/tarball/four.tar", "../corpus/tarball/links.tar"],
            words: NUMBERS,
            repair: |bytes| right_checksums(bytes),
            run: |input| captured("machine.tar", input),
        },
        Target {
            // flattened device trees.
            name: "dtb",
            seeds: files![
                "../../machine/tests/capture/boards/big-little.dtb",
                "../../machine/tests/capture/boards/smt-server.dtb",
            ],
            words: TREES,
            repair: NOTHING,
            run: |input| captured("board.dtb", input),
        },
        Target {
            // links to the playground, before they are packed.
            name: "link",
            seeds: links,
            words: LINK,
            repair: NOTHING,
            run: linked,
        },
    ]
}

/// What is in two links: names alone, and files that were edited.
fn links() -> Vec<Vec<u8>> {
    let named = json!({
        "version": 1, "machine": "kunpeng920@node0", "figures": [["costs.scale", 1.5]], "workload": "sched-pipe:loops=50",
        "base": "fair:v5.9", "test": "fair:v5.9+asym-prev-first hz=1000", "settings": [["governor", "schedutil"]],
        "seeds": 2, "draws": 1,
    });
    let edited = json!({
        "version": 1, "machine": "m", "machine_file": preset_text("rpi5"), "workload": "w.json",
        "workload_file": include_str!("../../../workloads/ping-pong.json"), "base": "fair:", "seeds": 1, "draws": 0,
    });
    [named, edited].map(|link| link.to_string().into_bytes()).into()
}

const SPECIMENS: &[&str] = &[
    "sched-pipe:loops=50,threads",
    "hackbench:groups=2,loops=3",
    "schbench",
    "periodic:tasks=3",
    "adrestia",
    "dbench:clients=4",
    "fork-burst",
    "geekbench5",
    "jankbench",
    "messaging",
    "shell8",
    "uclamp-micro",
];

fn verdict<T, E>(result: Result<T, E>) -> Verdict {
    match result {
        Ok(_) => Verdict::Read,
        Err(_) => Verdict::Refused,
    }
}

/// Reads all events; errors and notes stay short.
fn events(source: Result<impl EventSource, fairground_trace::TraceError>) -> Verdict {
    let Ok(mut source) = source else { return Verdict::Refused };
    let end = loop {
        match source.next_event() {
            Ok(Some(event)) => drop(std::hint::black_box(event)),
            Ok(None) => break Verdict::Read,
            Err(error) => {
                assert!(error.to_string().len() < 10_000, "an error of {} bytes", error.to_string().len());
                break Verdict::Refused;
            }
        }
    };
    assert!(source.notes().iter().all(|note| note.len() < 10_000));
    end
}

fn import(input: Input) -> Verdict {
    let machine = small_machine(4);
    let mut importer = Importer::new(&machine, Selection::default());
    let mut reader = Reader::new("t.txt", input);
    while let Ok(Some(event)) = reader.next_event() {
        if importer.event(&event).is_err() {
            return Verdict::Refused;
        }
    }
    let (recording, _) = importer.finish("t.txt", reader.notes());
    let mut out = Vec::new();
    recording.write(&mut out).expect("memory");
    match rtapp::import("r.json", &out, &Dialect::default(), &machine) {
        Ok(_) => Verdict::Read,
        Err(error) => {
            let reported = recording.notes.iter().any(|note| note.contains("it cannot be run"));
            assert!(recording.threads.is_empty() || reported, "{error}");
            Verdict::Refused
        }
    }
}

/// A workload that was read is valid, and its log fits it.
fn json(input: Input) -> Verdict {
    thread_local! {
        static HIKEY960: Machine = Machine::preset("hikey960").expect("a preset");
    }
    HIKEY960.with(|machine| {
        let read = rtapp::read_text("f.json", input, &Dialect::default(), machine);
        if let Ok(read) = &read {
            assert!(read.workload.validate(machine).is_ok());
            assert!(read.log.as_ref().is_none_or(|log| log.fits(&read.workload)));
        }
        verdict(read)
    })
}

fn workload(input: Input) -> Verdict {
    let spec = String::from_utf8_lossy(input);
    // `Workload::find` opens what looks like a path.
    if spec.contains(['/', '\0']) || spec.contains(".json") {
        return Verdict::Refused;
    }
    verdict(Workload::find(&spec, &small_machine(4)))
}

fn subset(input: Input) -> Verdict {
    let spec = String::from_utf8_lossy(input);
    if spec.contains(['/', '\0']) || spec.contains(".toml") {
        return Verdict::Refused;
    }
    thread_local! {
        static WHOLE: Machine = Machine::preset("kunpeng920").expect("a preset");
    }
    match MachineSpec::parse(&spec) {
        MachineSpec { name: "kunpeng920", subset: Some(subset) } => {
            WHOLE.with(|machine| verdict(machine.subset(subset)))
        }
        other => verdict(other.find()),
    }
}

/// A machine that was read is equal to the one read from its `to_toml`.
fn machine(input: Input) -> Verdict {
    let Ok(text) = std::str::from_utf8(input) else { return Verdict::Refused };
    let Ok(machine) = Machine::from_toml("f.toml", text) else { return Verdict::Refused };
    let again = Machine::from_toml("again.toml", &machine.to_toml());
    assert_eq!(again.expect("what was written"), machine);
    Verdict::Read
}

/// As [`machine`]; an error names the file.
fn captured(name: &str, input: Input) -> Verdict {
    thread_local! {
        static DIR_AND_LENDER: (tempfile::TempDir, Machine) = {
            let memory = Path::new("/dev/shm");
            let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
            (dir.expect("a directory"), Machine::preset("rpi5").expect("a preset"))
        };
    }
    DIR_AND_LENDER.with(|(dir, lender)| {
        let from = dir.path().join(name);
        std::fs::write(&from, input).expect("a file");
        let like = Some(lender.clone());
        match capture(&CaptureOptions { from, debugfs: None, name: "captured".into(), like }) {
            Ok(captured) => machine(captured.to_toml().as_bytes()),
            Err(error) => {
                assert!(error.to_string().contains(name), "{error}");
                Verdict::Refused
            }
        }
    })
}

/// The input as a link's letters, and packed into one; what is read is checked to its last part, and nothing runs.
fn linked(input: Input) -> Verdict {
    let _ = link::decode(&String::from_utf8_lossy(input));
    let Ok(read) = link::decode(&link::pack(input)) else { return Verdict::Refused };
    assert_eq!(link::decode(&link::encode(&read)).expect("what was written"), read);
    verdict(Session::open(read))
}

/// Sets the checksum of every tar header: readers refuse a header whose checksum is wrong.
fn right_checksums(bytes: &mut [u8]) {
    for block in bytes.chunks_exact_mut(512).filter(|block| block[257..].starts_with(b"ustar")) {
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
}
