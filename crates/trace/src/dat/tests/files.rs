//! Files in formats that Fairground reads but does not write.

use std::collections::BTreeMap;

use miniz_oxide::deflate::compress_to_vec_zlib;
use ruzstd::encoding::{compress_to_vec, CompressionLevel};

/// How a file of version 7 is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packed {
    No,
    Zlib,
    Zstd,
}

/// What a file of ours has, without what it stands in.
pub struct Parts {
    header_info: Vec<u8>,
    ftrace: Vec<u8>,
    systems: Vec<u8>,
    tasks: Vec<u8>,
    cpus: Vec<Vec<u8>>,
}

/// Takes a file of ours apart.
pub fn parts(file: &[u8]) -> Parts {
    let number = |at: usize, size: usize| file[at..at + size].iter().rev().fold(0, |n, b| (n << 8) | usize::from(*b));
    let texts = |at: usize| (0..number(at, 4)).fold(at + 4, |at, _| at + 8 + number(at, 8));
    let page = 18 + 12;
    let event = page + 8 + number(page, 8) + 13;
    let ftrace = event + 8 + number(event, 8);
    let systems = texts(ftrace);
    let mut kallsyms = systems + 4;
    for _ in 0..number(systems, 4) {
        let name = file[kallsyms..].iter().position(|b| *b == 0).unwrap();
        kallsyms = texts(kallsyms + name + 1);
    }
    let printk = kallsyms + 4 + number(kallsyms, 4);
    let tasks = printk + 4 + number(printk, 4);
    let nr_cpus = tasks + 8 + number(tasks, 8);
    let places = nr_cpus + 4 + 12 + 10;
    let cpu = |i: usize| {
        let (at, size) = (number(places + 16 * i, 8), number(places + 16 * i + 8, 8));
        file[at..at + size].to_vec()
    };
    Parts {
        header_info: file[18..ftrace].to_vec(),
        ftrace: file[ftrace..systems].to_vec(),
        systems: file[systems..kallsyms].to_vec(),
        tasks: file[tasks..nr_cpus].to_vec(),
        cpus: (0..number(nr_cpus, 4)).map(cpu).collect(),
    }
}

impl Packed {
    fn name(self) -> &'static [u8] {
        match self {
            Packed::No => b"none\0",
            Packed::Zlib => b"zlib\0",
            Packed::Zstd => b"zstd\0",
        }
    }

    fn pack(self, bytes: &[u8]) -> Vec<u8> {
        let packed = match self {
            Packed::No => return bytes.to_vec(),
            Packed::Zlib => compress_to_vec_zlib(bytes, 6),
            Packed::Zstd => compress_to_vec(bytes, CompressionLevel::Fastest),
        };
        let sizes = [packed.len() as u32, bytes.len() as u32].map(u32::to_le_bytes);
        [sizes.concat(), packed].concat()
    }

    /// Packs pages in chunks of three.
    fn chunks(self, pages: &[u8]) -> Vec<u8> {
        if self == Packed::No || pages.is_empty() {
            return pages.to_vec();
        }
        let chunks: Vec<Vec<u8>> = pages.chunks(3 * 4096).map(|chunk| self.pack(chunk)).collect();
        [(chunks.len() as u32).to_le_bytes().to_vec(), chunks.concat()].concat()
    }
}

/// Adds a section: where it is.
fn section(file: &mut Vec<u8>, kind: u16, content: &[u8], packed: Packed) -> u64 {
    let at = file.len() as u64;
    let content = packed.pack(content);
    file.extend(kind.to_le_bytes());
    file.extend(u16::from(packed != Packed::No).to_le_bytes());
    file.extend([0; 4]);
    file.extend((content.len() as u64).to_le_bytes());
    file.extend(content);
    at
}

fn option(kind: u16, content: &[u8]) -> Vec<u8> {
    [&kind.to_le_bytes(), (content.len() as u32).to_le_bytes().as_slice(), content].concat()
}

/// Puts a file of version 7 together.
pub fn v7(parts: &Parts, packed: Packed) -> Vec<u8> {
    let mut file = [b"\x17\x08\x44tracing7\0\0\x08", 4096_u32.to_le_bytes().as_slice(), packed.name(), b"1\0"].concat();
    let options_at = file.len();
    file.extend([0; 8]);
    let mut options = Vec::new();
    let sections = [(16, &parts.header_info), (17, &parts.ftrace), (18, &parts.systems), (21, &parts.tasks)];
    for (kind, content) in sections {
        let at = section(&mut file, kind, content, packed);
        options.extend(option(kind, &at.to_le_bytes()));
    }
    let mut buffer = section(&mut file, 3, &[], Packed::No).to_le_bytes().to_vec();
    let flags = buffer_flags(&file);
    file[flags] = u8::from(packed != Packed::No);
    buffer.extend(b"\0local\0");
    buffer.extend(4096_u32.to_le_bytes());
    buffer.extend((parts.cpus.len() as u32).to_le_bytes());
    // The pages stand last: what is cut off is cut off them.
    let chunks: Vec<Vec<u8>> = parts.cpus.iter().map(|pages| packed.chunks(pages)).collect();
    let options_size = options.len() + 6 + buffer.len() + 20 * chunks.len() + 14;
    let packed_at = file.len() + 16 + options_size;
    let mut at = packed_at as u64;
    for (cpu, chunk) in (0_u32..).zip(&chunks) {
        buffer.extend(cpu.to_le_bytes());
        buffer.extend(at.to_le_bytes());
        // The number of chunks is not counted.
        let uncounted = if packed == Packed::No { 0 } else { chunk.len().min(4) };
        buffer.extend(((chunk.len() - uncounted) as u64).to_le_bytes());
        at += chunk.len() as u64;
    }
    options.extend(option(3, &buffer));
    options.extend(option(0, &[0; 8]));
    let options = section(&mut file, 0, &options, Packed::No);
    file[options_at..options_at + 8].copy_from_slice(&options.to_le_bytes());
    assert_eq!(file.len(), packed_at);
    file.extend(chunks.concat());
    file
}

/// A file of ours that is being turned, from its beginning on.
struct Turning {
    file: Vec<u8>,
    at: usize,
    /// Fields that are numbers, by event: where, and of how many bytes.
    numbers: BTreeMap<u64, Vec<(usize, usize)>>,
}

impl Turning {
    /// The number here, which then has its high byte first.
    fn number(&mut self, size: usize) -> usize {
        let bytes = &mut self.file[self.at..self.at + size];
        bytes.reverse();
        self.at += size;
        bytes.iter().fold(0, |n, byte| (n << 8) | usize::from(*byte))
    }

    /// A size field of `width` bytes, and the data it is the size of.
    fn text(&mut self, size: usize) -> String {
        let length = self.number(size);
        self.at += length;
        String::from_utf8_lossy(&self.file[self.at - length..self.at]).into_owned()
    }

    fn name(&mut self) {
        self.at += self.file[self.at..].iter().position(|byte| *byte == 0).unwrap() + 1;
    }

    fn formats(&mut self) {
        for _ in 0..self.number(4) {
            let text = self.text(8);
            let value = |line: &str, key: &str| -> Option<u64> {
                line.split_once(key)?.1.split([';', '\n']).next()?.trim().parse().ok()
            };
            let is_number = |line: &&str| line.contains("__data_loc") || !line.contains('[');
            let fields = text.lines().filter(|line| line.starts_with("\tfield:")).filter(is_number);
            let places = fields.map(|line| (value(line, "offset:").unwrap(), value(line, "size:").unwrap()));
            let places = places.map(|(at, size)| (at as usize, size as usize)).collect();
            self.numbers.insert(value(&text, "ID:").unwrap(), places);
        }
    }

    /// The word that records begin with has the length in its first bits, whichever these are.
    fn record(&mut self) {
        let word = self.number(4) as u32;
        let (length, delta) = (word & 31, word >> 5);
        self.file[self.at - 4..self.at].copy_from_slice(&((length << 27) | delta).to_be_bytes());
        let size = match length {
            30 => {
                self.at += 4;
                return self.file[self.at - 4..self.at].reverse();
            }
            0 => self.number(4) - 4,
            words => 4 * words as usize,
        };
        let (begin, end) = (self.at, self.at + size);
        let id = self.number(2) as u64;
        self.file[begin..begin + 2].reverse();
        for (at, size) in self.numbers[&id].clone() {
            self.at = begin + at;
            self.number(size);
        }
        self.at = end.next_multiple_of(4);
    }
}

/// A file of ours as a machine would have written it whose high bytes come first.
pub fn turned(file: &[u8]) -> Vec<u8> {
    let mut t = Turning { file: file.to_vec(), at: 14, numbers: BTreeMap::new() };
    t.file[12] = 1;
    t.number(4);
    for _ in 0..2 {
        t.name();
        t.text(8);
    }
    t.formats();
    for _ in 0..t.number(4) {
        t.name();
        t.formats();
    }
    for size in [4, 4, 8] {
        t.text(size);
    }
    let cpus = t.number(4);
    t.at += 12 + 10;
    let places: Vec<(usize, usize)> = (0..cpus).map(|_| (t.number(8), t.number(8))).collect();
    for at in places.iter().flat_map(|(at, size)| (*at..at + size).step_by(4096)) {
        t.at = at;
        t.number(8);
        let end = t.number(8) + t.at;
        while t.at < end {
            t.record();
        }
    }
    t.file
}

/// Where the flags of a section without content are that has just been added.
fn buffer_flags(file: &[u8]) -> usize {
    file.len() - 14
}

/// A field of a format file.
fn field(declaration: &str, offset: usize, size: usize) -> String {
    format!("\tfield:{declaration};\toffset:{offset};\tsize:{size};\tsigned:1;\n")
}

/// A file of version 6 of a machine of 4-byte longs whose high bytes come first, pages of 64 bytes, and an order of
/// fields that no kernel has.
pub fn big_endian() -> Vec<u8> {
    let common = [field("int common_pid", 0, 4), field("unsigned char common_type", 4, 1)].concat();
    let fields = [field("short target_cpu", 6, 2), field("__data_loc char[] comm", 8, 4), field("pid_t pid", 12, 4)];
    let waking = format!("name: sched_waking\nID: 9\nformat:\n{common}\n{}\nprint fmt: \"\"\n", fields.concat());
    let page = [field(" u64 timestamp", 0, 8), field(" local_t commit", 8, 4), field(" char data", 12, 52)];
    let text = |text: &str| [(text.len() as u64).to_be_bytes().as_slice(), text.as_bytes()].concat();
    let pages = [cpu_0(), cpu_1()];
    let mut file = [
        b"\x17\x08\x44tracing6\0\x01\x04\x00\x00\x00\x40header_page\0".as_slice(),
        &text(&page.concat()),
        b"header_event\0",
        &text(""),
        &0_u32.to_be_bytes(),
        b"\0\0\0\x01sched\0\0\0\0\x01",
        &text(&waking),
        &[0; 8],
        &[8_u64.to_be_bytes().as_slice(), &18_u64.to_be_bytes()].concat()[8..],
        b"7 some\x01na\xffme\n4  x\n",
        b"\0\0\0\x02flyrecord\0",
    ]
    .concat();
    let mut at = file.len() as u64 + 32;
    for page in &pages {
        file.extend(at.to_be_bytes());
        file.extend((page.len() as u64).to_be_bytes());
        at += page.len() as u64;
    }
    file.extend(pages.concat());
    file
}

/// A page before which `lost` says what was lost.
fn page(time: u64, lost: u32, data: &[u8], behind: &[u8]) -> Vec<u8> {
    let length = (data.len() as u32 | lost).to_be_bytes();
    let mut page = [time.to_be_bytes().as_slice(), &length, data, behind].concat();
    page.resize(64, 0);
    page
}

/// A waking of pid 9, at `delta` after the one before.
fn waking(delta: u32, pid: u32, cpu: u16, comm: &[u8]) -> Vec<u8> {
    let words = 4 + comm.len().div_ceil(4) as u32;
    let place = ((comm.len() as u32) << 16) | 16;
    let head = ((words << 27) | delta).to_be_bytes();
    let mut record = [head.as_slice(), &pid.to_be_bytes(), &[9, 0], &cpu.to_be_bytes()].concat();
    record.extend(place.to_be_bytes());
    record.extend(9_u32.to_be_bytes());
    record.extend(comm);
    record.resize(4 + 4 * words as usize, 0);
    record
}

/// An unknown event, then a waking after a time stamp; an unknown number was lost.
fn cpu_0() -> Vec<u8> {
    let unknown = [(2_u32 << 27).to_be_bytes(), [0; 4], [77, 0, 0, 0]].concat();
    let stamp = [((31_u32 << 27) | 9).to_be_bytes(), 32_u32.to_be_bytes()].concat();
    page(5, 1 << 31, &[unknown, stamp, waking(0, 8, 3, b"x\0")].concat(), &[])
}

/// A waking after an extension of time and padding; 12 were lost.
fn cpu_1() -> Vec<u8> {
    let padding = [((29_u32 << 27) | 1).to_be_bytes(), 4_u32.to_be_bytes()].concat();
    let extend = [((30_u32 << 27) | 1).to_be_bytes(), 32_u32.to_be_bytes()].concat();
    let data = [padding, extend, waking(1, 7, 1, b"other\0")].concat();
    page(5, 3 << 30, &data, &12_u32.to_be_bytes())
}
