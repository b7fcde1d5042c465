//! The same machines from tarballs, and tarballs that mean no good.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use fairground_machine::{capture, Capture, CaptureError, CaptureOptions};
use flate2::write::GzEncoder;
use flate2::Compression;
use miette::Diagnostic;
use tar::{Builder, EntryType, Header};

use super::kit::Sysfs;
use super::trees;

/// A tarball in the making.
pub struct Tarball {
    tar: Builder<Vec<u8>>,
}

impl Tarball {
    pub fn new() -> Tarball {
        let mut tar = Builder::new(Vec::new());
        tar.follow_symlinks(false);
        Tarball { tar }
    }

    /// With a tree in a directory of it.
    pub fn pack(tree: &Sysfs, dir: &str) -> Tarball {
        let mut tarball = Tarball::new();
        tarball.tar.append_dir_all(dir, tree.root()).expect("a tree");
        tarball
    }

    /// Adds a member of any name, which `Builder` would not do.
    fn put(&mut self, kind: EntryType, name: &str, link: &str, contents: &[u8]) {
        let mut header = Header::new_gnu();
        let fields = header.as_old_mut();
        fields.name[..name.len()].copy_from_slice(name.as_bytes());
        fields.linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(contents.len() as u64);
        header.set_cksum();
        self.tar.append(&header, contents).expect("a member");
    }

    pub fn bytes(self) -> Vec<u8> {
        self.tar.into_inner().expect("a tarball")
    }

    fn capture(self, gzip: bool) -> Result<Capture, CaptureError> {
        let dir = tempfile::tempdir().expect("a directory");
        let bytes = self.bytes();
        let path = dir.path().join("machine");
        match gzip {
            true => {
                let mut packed = GzEncoder::new(File::create(&path).expect("a file"), Compression::fast());
                packed.write_all(&bytes).and_then(|()| packed.finish().map(|_| ())).expect("a file");
            }
            false => fs::write(&path, bytes).expect("a file"),
        }
        capture_file(&path)
    }
}

pub fn capture_file(path: &Path) -> Result<Capture, CaptureError> {
    capture(&CaptureOptions { from: path.into(), debugfs: None, name: "captured".into(), like: None })
}

/// Expects an error that names the file, with these words in message or help.
#[track_caller]
fn refused(bytes: &[u8], parts: &[&str]) {
    let dir = tempfile::tempdir().expect("a directory");
    let path: PathBuf = dir.path().join("given");
    fs::write(&path, bytes).expect("a file");
    let error = capture_file(&path).expect_err("this should be refused");
    let message = format!("{error}\n{}", error.help().map(|help| help.to_string()).unwrap_or_default());
    for part in parts.iter().copied().chain([path.to_str().expect("a path")]) {
        assert!(message.contains(part), "no {part:?} in: {message}");
    }
}

#[test]
fn a_tarball_is_captured_as_the_tree_in_it() {
    let all = [trees::big_little(), trees::smt(), trees::two_nodes(), trees::clustered(), trees::minimal()];
    for (tree, dir) in all.iter().zip([".", "sys", "./backup/sys", "phone", "sys"]) {
        let expected = tree.capture();
        for gzip in [false, true] {
            let captured =
                Tarball::pack(tree, dir).capture(gzip).unwrap_or_else(|e| panic!("{:?}", miette::Report::new(e)));
            assert_eq!(captured.machine, expected.machine, "{dir}");
            assert_eq!(captured.notes, expected.notes, "{dir}");
        }
    }
}

/// tar takes a file of sysfs for a page long, and fills it with zeros.
#[test]
fn padding_and_links_are_as_tar_makes_them() {
    let mut tarball = Tarball::new();
    let online = [b"0-1\n".as_slice(), &[0; 4092]].concat();
    tarball.put(EntryType::Regular, "sys/devices/system/cpu/online", "", &online);
    tarball.put(EntryType::Regular, "sys/devices/system/cpu/cpu0/cpu_capacity", "", b"1024\n");
    tarball.put(EntryType::Symlink, "sys/devices/system/cpu/cpu1/cpu_capacity", "../cpu0/cpu_capacity", b"");
    tarball.put(EntryType::Symlink, "sys/devices/system/cpu/cpu0/cpufreq", "../cpufreq/policy0", b"");
    let policy = "sys/devices/system/cpu/cpufreq/policy0";
    tarball.put(EntryType::Regular, &format!("{policy}/related_cpus"), "", b"0 1\n");
    tarball.put(EntryType::Regular, &format!("{policy}/scaling_available_frequencies"), "", b"1000000 2000000 \n");
    let machine = tarball.capture(true).expect("a machine").machine;
    assert_eq!(machine.cpus.iter().map(|cpu| cpu.capacity).collect::<Vec<_>>(), [1024, 1024]);
    assert_eq!(machine.freq_domains[0].opps.iter().map(|opp| opp.khz).collect::<Vec<_>>(), [1_000_000, 2_000_000]);
}

/// What leads out of the tarball is not followed: the files would say something else.
#[test]
fn what_leads_out_of_a_tarball_is_left_out() {
    let tree = trees::minimal();
    let expected = tree.capture();
    let mut tarball = Tarball::pack(&tree, "sys");
    let cpu = "sys/devices/system/cpu";
    tarball.put(EntryType::Regular, "sys/../../devices/system/cpu/online", "", b"0-63");
    tarball.put(EntryType::Symlink, &format!("{cpu}/cpu0/cpu_capacity"), "../../../../../../../../etc/passwd", b"");
    tarball.put(EntryType::Symlink, &format!("{cpu}/cpu1/cpu_capacity"), "/etc/passwd", b"");
    tarball.put(EntryType::Char, &format!("{cpu}/cpu2/cpu_capacity"), "", b"");
    tarball.put(EntryType::Symlink, &format!("{cpu}/cpu0/cpufreq"), "../cpu1/cpufreq", b"");
    tarball.put(EntryType::Symlink, &format!("{cpu}/cpu1/cpufreq"), "../cpu0/cpufreq", b"");
    tarball.put(EntryType::Regular, "etc/passwd", "", b"root");
    let captured = tarball.capture(false).expect("a machine");
    assert_eq!(captured.machine, expected.machine);
    let notes: Vec<&str> = captured.notes.iter().map(String::as_str).filter(|note| note.contains("tarball")).collect();
    assert_eq!(
        notes,
        [
            "members of the tarball with `..` in their names are left out: 1, the first is \
             `sys/../../devices/system/cpu/online`",
            "members of the tarball that are links out of the tarball are left out: 2, the first is \
             `sys/devices/system/cpu/cpu0/cpu_capacity`",
            "members of the tarball that are neither files, directories nor links are left out: 1, the first is \
             `sys/devices/system/cpu/cpu2/cpu_capacity`",
        ]
    );
}

#[test]
fn names_that_a_header_has_no_room_for() {
    let tree = Sysfs::new("0-2");
    let dir = "a-directory-with-a-name-of-some-length/".repeat(4) + "sys";
    assert_eq!(Tarball::pack(&tree, &dir).capture(false).expect("a machine").machine, tree.capture().machine);
    let mut tarball = Tarball::pack(&tree, "sys");
    tarball.put(EntryType::GNULongName, "././@LongLink", "", &[b'a'; 100_000]);
    refused(&tarball.bytes(), &["no whole tarball", "a name of more than 64 KiB"]);
}

/// 600 MiB of zeros in 600 KiB.
#[test]
fn what_unpacks_to_too_much() {
    let mut header = Header::new_gnu();
    header.set_path("sys/devices/system/cpu/online").expect("a name");
    header.set_size(600 << 20);
    header.set_cksum();
    let pack = |bytes: &[u8]| {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(bytes).and_then(|()| packed.finish()).expect("packed")
    };
    let zeros = pack(&vec![0; 1 << 20]);
    let bomb = [pack(header.as_bytes()), zeros.repeat(600)].concat();
    refused(&bomb, &["it unpacks to more than 512 MiB"]);
}

#[test]
fn tarballs_that_are_cut_off() {
    let bytes = Tarball::pack(&trees::minimal(), "sys").bytes();
    // In the middle of a member; at its end the rest of the files is missing, which a capture bears with.
    refused(&bytes[..2000], &["no whole tarball"]);
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&bytes).expect("packed");
    let packed = packed.finish().expect("packed");
    refused(&packed[..packed.len() - 9], &["no whole tarball"]);
    refused(&packed[..3], &["no whole tarball"]);
}

#[test]
fn what_is_not_there() {
    let error = capture_file(Path::new("nowhere.dtb")).expect_err("no such file");
    assert_eq!(error.to_string(), "cannot read `nowhere.dtb`: there is no such file");
}

#[test]
fn what_is_no_tarball_of_a_tree() {
    refused(b"", &["of an unknown type", "detected from its contents"]);
    refused(b"\xfd7zXZ\0\0", &["compressed by xz", "`xz -dk`"]);
    refused(b"\x28\xb5\x2f\xfd....", &["compressed by zstd", "`zstd -d`"]);
    refused(b"PK\x03\x04", &["a zip archive"]);
    refused(b"format = 1\n", &["a machine file"]);
    refused(&[7; 600], &["of an unknown type"]);
    refused(&[0; 600], &["of an unknown type"]);
    let mut tarball = Tarball::new();
    tarball.put(EntryType::Regular, "etc/passwd", "", b"root");
    refused(&tarball.bytes(), &["not a sysfs tree", "machine capture --script"]);
}

/// A file of the tree in a tarball is refused as it is in a directory, under the name of the tarball.
#[test]
fn garbage_in_a_tarball_is_refused_by_its_name() {
    let tree = trees::big_little();
    tree.put("devices/system/cpu/cpu3/cpu_capacity", "many");
    refused(&Tarball::pack(&tree, "sys").bytes(), &["sys/devices/system/cpu/cpu3/cpu_capacity", "found `many`"]);
    let tree = trees::big_little();
    tree.put("devices/system/cpu/cpu3/cpu_capacity", &"1".repeat(70_000));
    refused(&Tarball::pack(&tree, "sys").bytes(), &["larger than any such file"]);
}
