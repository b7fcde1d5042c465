//! Input of a capture: a directory, a tarball or a device tree.

use std::fs::File;
use std::io::{BufReader, Chain, Cursor, Read};
use std::path::Path;
use std::rc::Rc;

use super::archive;
use super::devicetree::DeviceTree;
use super::sysfs::find_sysfs;
use super::tree::Tree;
use super::{CaptureError, Notes};

/// The most of a device tree; the kernel takes 2 MiB of one that is flattened.
const MAX_DEVICE_TREE: u64 = 4 << 20;

/// Enough to tell what a file is: tar's mark is in its first block.
const HEAD: u64 = 512;

/// Where tar has its mark, and the mark.
const TAR_MARK: (usize, &[u8]) = (257, b"ustar");

/// The input of a capture, opened: a sysfs tree or a device tree.
pub(super) enum Input {
    Sysfs(Tree),
    DeviceTree(DeviceTree),
}

/// How the source of a device tree begins.
const SOURCE_MARK: &[u8] = b"/dts-v1/";

/// Known types of files that cannot be captured from: how they begin, what they are, and what to do.
const OTHERS: [(&[u8], &str, &str); 6] = [
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "compressed by xz", "unpack it first: `xz -dk`"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "compressed by zstd", "unpack it first: `zstd -d`"),
    (b"BZh", "compressed by bzip2", "unpack it first: `bzip2 -dk`"),
    (b"PK\x03\x04", "a zip archive", "make a tarball of what is in it"),
    (b"format =", "a machine file", "it needs no capturing: `fairground machine show`"),
    (b"\x7fELF", "a program", "a tarball, or a device tree"),
];

/// Opens the input. The type of a file is detected from its contents.
pub(super) fn open(path: &Path, notes: &mut Notes) -> Result<Input, CaptureError> {
    let unreadable = |cause| CaptureError::Unreadable { path: path.into(), cause };
    if !path.metadata().map_err(unreadable)?.is_file() {
        return find_sysfs(path).map(Input::Sysfs);
    }
    let mut file = BufReader::new(File::open(path).map_err(unreadable)?);
    let mut head = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut head).map_err(unreadable)?;
    let whole = Cursor::new(head.clone()).chain(file);
    if DeviceTree::is_blob(&head) {
        let bytes = device_tree(path, whole)?;
        return DeviceTree::from_blob(path, &bytes).map(Input::DeviceTree);
    }
    if head.starts_with(&archive::GZIP) || head.get(TAR_MARK.0..).is_some_and(|rest| rest.starts_with(TAR_MARK.1)) {
        return tarball(path, &head, whole, notes).map(Input::Sysfs);
    }
    if is_source(path, &head) {
        let problem = "it is the source of a device tree".into();
        return Err(CaptureError::Garbled { path: path.into(), problem, expected: flatten(path) });
    }
    let known = OTHERS.iter().find(|(start, ..)| head.starts_with(start));
    let (_, what, advice) = known.unwrap_or(&NOTHING);
    let problem = format!("it is {what}");
    Err(CaptureError::Garbled { path: path.into(), problem, expected: format!("{EXPECTED}; {advice}") })
}

/// Whether a file is the source of a device tree, by its name or by the mark that such a file has.
fn is_source(path: &Path, head: &[u8]) -> bool {
    let is_named = path.extension().is_some_and(|end| end == "dts" || end == "dtsi");
    is_named || head.windows(SOURCE_MARK.len()).any(|part| part == SOURCE_MARK)
}

/// How to make a flattened device tree from its source, for the message.
fn flatten(path: &Path) -> String {
    let file = path.display();
    format!(
        "a flattened one: `dtc -I dts -O dtb -o board.dtb {file}` makes it (Debian package device-tree-compiler); what includes \
         files or has macros goes through `cpp -nostdinc -undef -x assembler-with-cpp` first"
    )
}

/// A file that is not in [`OTHERS`], and the files that are expected.
const NOTHING: (&[u8], &str, &str) = (b"", "of an unknown type", "the type of a file is detected from its contents");
const EXPECTED: &str = "a directory with sysfs, a tarball of one (.tar or .tar.gz), or a device tree (.dtb)";

type FileFromStart = Chain<Cursor<Vec<u8>>, BufReader<File>>;

fn device_tree(path: &Path, whole: FileFromStart) -> Result<Vec<u8>, CaptureError> {
    let mut bytes = Vec::new();
    let unreadable = |cause| CaptureError::Unreadable { path: path.into(), cause };
    whole.take(MAX_DEVICE_TREE + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_DEVICE_TREE {
        let problem = "larger than any device tree".into();
        let expected = format!("at most {} MiB", MAX_DEVICE_TREE >> 20);
        return Err(CaptureError::Garbled { path: path.into(), problem, expected });
    }
    Ok(bytes)
}

fn tarball(path: &Path, head: &[u8], whole: FileFromStart, notes: &mut Notes) -> Result<Tree, CaptureError> {
    let members = Rc::new(archive::read(path, head, whole, notes)?);
    let missing = "devices/system/cpu";
    let expected = "a tarball of what is mounted on /sys, such as the script of `machine capture --script` makes";
    let root = members.root().ok_or(CaptureError::NoTree { path: path.into(), kind: "sysfs", missing, expected })?;
    Ok(Tree::packed(path, members.clone(), root))
}
