//! perf.data: files as perf writes them, and what is wrong with others.

use proptest::prelude::*;

use super::*;

const WAKING: &str = "name: sched_waking\nID: 370\nformat:\n\
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\
\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n";
const IDLE: &str = "name: cpu_idle\nID: 400\nformat:\n\
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
\tfield:unsigned int state;\toffset:8;\tsize:4;\tsigned:0;\n\
\tfield:unsigned int cpu_id;\toffset:12;\tsize:4;\tsigned:0;\n";

/// Writes numbers in one byte order.
#[derive(Clone, Copy)]
struct Maker {
    big: bool,
}

impl Maker {
    fn n(self, size: usize, n: u64) -> Vec<u8> {
        match self.big {
            true => n.to_be_bytes()[8 - size..].to_vec(),
            false => n.to_le_bytes()[..size].to_vec(),
        }
    }

    fn all(self, numbers: &[u64]) -> Vec<u8> {
        numbers.iter().flat_map(|n| self.n(8, *n)).collect()
    }

    fn record(self, kind: u64, body: &[u8]) -> Vec<u8> {
        [self.n(4, kind), self.n(2, 0), self.n(2, 8 + body.len() as u64), body.to_vec()].concat()
    }

    /// IDENTIFIER, IP, TID, TIME, CPU, PERIOD, RAW.
    fn sample(self, id: u64, (time, cpu, tid): (u64, u64, u64), raw: &[u8]) -> Vec<u8> {
        let parts =
            [self.all(&[id, 0xffff]), self.n(4, tid), self.n(4, tid), self.all(&[time]), self.n(4, cpu), self.n(4, 0)];
        let raw = [self.n(4, raw.len() as u64), raw.to_vec()].concat();
        self.record(9, &[parts.concat(), self.all(&[1]), raw].concat())
    }

    fn waking(self, pid: u64, cpu: u64) -> Vec<u8> {
        self.waking_by(7, pid, cpu)
    }

    fn waking_by(self, by: u64, pid: u64, cpu: u64) -> Vec<u8> {
        let mut comm = b"b\0".to_vec();
        comm.resize(16, 0);
        [self.n(2, 370), vec![0x10, 0], self.n(4, by), comm, self.n(4, pid), self.n(4, 120), self.n(4, cpu)].concat()
    }

    fn idle(self, state: u64, cpu: u64) -> Vec<u8> {
        [self.n(2, 400), vec![0; 6], self.n(4, state), self.n(4, cpu)].concat()
    }

    fn comm(self, tid: u64, comm: &str) -> Vec<u8> {
        self.record(3, &[self.n(4, tid), self.n(4, tid), comm.as_bytes().to_vec(), vec![0; 4]].concat())
    }

    fn formats(self) -> Vec<u8> {
        let text = |text: &str| [self.n(8, text.len() as u64), text.as_bytes().to_vec()].concat();
        let head = [b"\x17\x08\x44tracing0.6\0".to_vec(), vec![u8::from(self.big), 8], self.n(4, 4096)].concat();
        let pages = [b"header_page\0".to_vec(), text("page"), b"header_event\0".to_vec(), text("event")].concat();
        let systems =
            [self.n(4, 0), self.n(4, 2), b"sched\0".to_vec(), self.n(4, 1), text(WAKING), b"power\0".to_vec()];
        [head, pages, systems.concat(), self.n(4, 1), text(IDLE)].concat()
    }

    /// A name from a time on; TID, TIME, CPU and IDENTIFIER follow.
    fn comm_at(self, time: u64, tid: u64, comm: &str) -> Vec<u8> {
        let mut text = comm.as_bytes().to_vec();
        text.resize(8 * (comm.len() / 8 + 1), 0);
        let ids = [self.n(4, tid), self.n(4, tid), self.all(&[time, 0, 1])].concat();
        self.record(3, &[self.n(4, tid), self.n(4, tid), text, ids].concat())
    }

    fn fork(self, time: u64, tid: u64, parent: u64) -> Vec<u8> {
        let fields = [tid, parent, tid, parent].map(|n| self.n(4, n)).concat();
        self.record(7, &[fields, self.all(&[time]), self.all(&[0, time, 0, 1])].concat())
    }

    fn file(self, records: &[Vec<u8>]) -> Vec<u8> {
        self.file_with(records, false)
    }

    /// A file of two tracepoints (ids 1 and 2) and one counter (id 3); `ids_in_all`: sample_id_all.
    fn file_with(self, records: &[Vec<u8>], ids_in_all: bool) -> Vec<u8> {
        // Bit 18 of a bit field, as compilers of either order lay it out.
        let flags: u64 = if self.big { 1 << 45 } else { 1 << 18 };
        let flags = u64::from(ids_in_all) * flags;
        let types = [
            (2, 1 << 16 | 1 | 2 | 4 | 128 | 256 | 1024),
            (2, 1 << 16 | 1 | 2 | 4 | 128 | 256 | 1024),
            (1, 1 << 16 | 1 | 2 | 4),
        ];
        let (head, ids) = (104, 8 * types.len() as u64);
        let attribute = |(index, (kind, sample_type)): (usize, &(u64, u64))| {
            let fields = [self.n(4, *kind), self.n(4, 64), self.all(&[0, 1, *sample_type, 0, flags, 0, 0])].concat();
            [fields, self.all(&[head + 8 * index as u64, 8])].concat()
        };
        let attributes: Vec<u8> = types.iter().enumerate().flat_map(attribute).collect();
        let records = records.concat();
        let (at, size) = (head + ids, attributes.len() as u64);
        let (data, formats) = ((at + size, records.len() as u64), self.formats());
        let behind = data.0 + data.1 + 16;
        let magic = if self.big { b"2ELIFREP" } else { b"PERFILE2" };
        let header = self.all(&[104, size / 3, at, size, data.0, data.1, 0, 0, 1 << 1, 0, 0, 0]);
        let table = self.all(&[behind, formats.len() as u64]);
        [magic.to_vec(), header, self.all(&[1, 2, 3]), attributes, records, table, formats].concat()
    }

    fn sample_file(self) -> Vec<u8> {
        self.file(&[
            self.comm(7, "a\u{1b}"),
            self.sample(1, (3_000, 1, 7), &self.waking(8, 0)),
            self.record(68, &[]),
            self.sample(2, (1_000, 0, 0), &self.idle(u64::from(u32::MAX), 0)),
            self.record(9, &[self.all(&[3, 0]), self.n(4, 7), self.n(4, 7), self.all(&[2_000])].concat()),
            self.record(68, &[]),
            self.record(2, &self.all(&[1, 12])),
            self.sample(1, (4_000, 1, 9), &self.waking(8, 3)),
        ])
    }
}

fn read(file: Vec<u8>) -> Result<(Vec<String>, Vec<String>), TraceError> {
    read_all(&mut PerfDataReader::new("t", file)?)
}

/// The samples of one CPU come after those of another, and are read in the order of their times.
#[test]
fn tracepoints_are_read_in_the_order_of_their_times() {
    for big in [false, true] {
        let (events, notes) = read(Maker { big }.sample_file()).unwrap();
        let expected = ["1000 <idle>-0@0 idle cpu 0 None", "3000 a?-7@1 waking b-8 0", "4000 a?-7@1 waking b-8 3"];
        assert_eq!(events, expected);
        assert_eq!(
            notes,
            ["t: 12 events were lost while it was recorded", "t: 1 events of other kinds were passed over"]
        );
    }
}

/// Names change at their times, not when they are read; a new thread has its parent's name until it has one of its own, and
/// not that of an older thread with its number.
#[test]
fn names_of_threads_are_those_of_their_time() {
    for big in [false, true] {
        let maker = Maker { big };
        let waking = |time: u64, by: u64| maker.sample(1, (time, 0, by), &maker.waking_by(by, 8, 0));
        let file = maker.file_with(
            &[
                maker.comm_at(0, 7, "shell"),
                maker.comm_at(0, 9, "older"),
                maker.comm_at(2_500, 9, "compiler"),
                maker.comm_at(4_000, 7, "renamed"),
                maker.fork(5_000, 9, 55),
                waking(1_000, 9),
                waking(2_200, 9),
                waking(3_000, 9),
                waking(3_500, 7),
                waking(4_500, 7),
                waking(5_500, 9),
                maker.fork(2_000, 9, 7),
            ],
            true,
        );
        let (events, notes) = read(file).unwrap();
        let expected = [(1_000, "older-9"), (2_200, "shell-9"), (3_000, "compiler-9"), (3_500, "shell-7")];
        let later = [(4_500, "renamed-7"), (5_500, "<...>-9")];
        let line = |(time, thread): &(u64, &str)| format!("{time} {thread}@0 waking b-8 0");
        assert_eq!(events, expected.iter().chain(&later).map(line).collect::<Vec<_>>());
        assert_eq!(notes, [""; 0]);
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let maker = Maker { big: false };
    let whole = maker.sample_file();
    let fault = |file: Vec<u8>| read(file).unwrap_err().to_string();
    let with = |at: usize, bytes: &[u8]| [&whole[..at], bytes, &whole[at + bytes.len()..]].concat();
    assert!(fault(with(8, &maker.n(8, 16))).contains("what it writes to a pipe is not read"));
    assert!(fault(with(48, &maker.n(8, 0))).contains("ended before it could finish the file"));
    assert!(fault(with(72, &maker.n(8, 0))).contains("tracepoints, as of perf record -e"));
    assert!(fault(with(16, &maker.n(8, 1))).contains("attributes of at least 64 bytes"));
    assert!(fault(whole[..60].to_vec()).contains("an end after"));
    assert!(fault(maker.file(&[maker.record(81, &[0; 8])])).contains("not compressed: record without -z"));
    assert!(fault(maker.file(&[maker.n(8, 3)])).contains("a record of at least 8 bytes"));
    let many = maker.n(8, (8 << 16) + 8);
    assert!(fault(with(128 + 72, &many)).contains("at most 65536 ids"), "{}", fault(with(128 + 72, &many)));
}

#[test]
fn a_file_that_is_cut_off_has_no_formats() {
    let maker = Maker { big: false };
    let whole = maker.sample_file();
    for cut in 0..whole.len() {
        assert!(read(whole[..cut].to_vec()).is_err(), "{cut}");
    }
}

proptest! {
    #[test]
    fn any_damage_is_read_or_refused(at in prop::collection::vec((0_usize..1400, any::<u8>()), 1..8), big: bool, ids_in_all: bool) {
        let maker = Maker { big };
        let records = [maker.comm_at(5, 7, "a"), maker.fork(6, 8, 7), maker.sample(1, (7, 0, 8), &maker.waking_by(8, 7, 0))];
        let mut file = if ids_in_all { maker.file_with(&records, true) } else { maker.sample_file() };
        let len = file.len();
        at.into_iter().for_each(|(at, byte)| file[at % len] = byte);
        let _ = read(file);
    }
}
