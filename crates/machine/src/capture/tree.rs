//! A sysfs or debugfs tree, live, copied or in a tarball: small files of text, any of which may be missing.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::{CpuMask, NR_CPUS};

use super::archive::Members;
use super::cpuinfo;
use super::CaptureError;

/// The most that is read of a file; sysfs gives a page.
pub(super) const MAX_FILE: u64 = 64 << 10;

/// The most that is read of /proc/cpuinfo, which has up to 2 KiB for each CPU.
const MAX_CPUINFO: u64 = 4 << 20;

/// The most that is read of the file with this path.
pub(super) fn max_size(path: &str) -> u64 {
    if path.rsplit('/').next() == Some(cpuinfo::FILE) {
        MAX_CPUINFO
    } else {
        MAX_FILE
    }
}

/// The root of a tree. Paths are relative to it.
pub(super) struct Tree {
    root: PathBuf,
    /// Of a tree in a tarball its members, and where in it the root is.
    packed: Option<(Rc<Members>, String)>,
}

impl Tree {
    /// A tree on disk.
    pub fn new(root: impl Into<PathBuf>) -> Tree {
        Tree { root: root.into(), packed: None }
    }

    /// The tarball at `path`, from the member `root` on.
    pub fn packed(path: &Path, members: Rc<Members>, root: &str) -> Tree {
        Tree { root: path.join(root), packed: Some((members, root.into())) }
    }

    /// The tree that begins at a directory of this one.
    pub fn subtree(&self, dir: &str) -> Tree {
        let packed = self.packed.as_ref().map(|(members, root)| (members.clone(), joined(root, dir)));
        Tree { root: self.root.join(dir), packed }
    }

    /// The directories `proc` in and beside a sysfs tree; beside it only if it is called `sys`.
    pub fn processes(&self) -> Vec<Tree> {
        let mut trees = vec![self.subtree("proc")];
        if self.root.file_name().is_some_and(|name| name == "sys") {
            let root = self.root.with_file_name("proc");
            let packed = self.packed.as_ref().map(|(members, own)| {
                let above = own.rsplit_once('/').map_or("", |(above, _)| above);
                (members.clone(), joined(above, "proc"))
            });
            trees.push(Tree { root, packed });
        }
        trees
    }

    /// Whether there is a directory.
    pub fn has_dir(&self, path: &str) -> bool {
        match &self.packed {
            Some((members, root)) => members.has_dir(&joined(root, path)),
            None => self.root.join(path).is_dir(),
        }
    }

    /// A fault in a file of this tree.
    pub fn garbled(&self, path: &str, problem: impl Into<String>, expected: impl Into<String>) -> CaptureError {
        CaptureError::Garbled { path: self.root.join(path), problem: problem.into(), expected: expected.into() }
    }

    /// The bytes of a file. None where it is missing or masked by another kind of file or by permissions. Only regular
    /// files are opened: another could wait for ever.
    fn bytes(&self, path: &str) -> Result<Option<Vec<u8>>, CaptureError> {
        if let Some((members, root)) = &self.packed {
            return Ok(members.file(&joined(root, path)).map(<[u8]>::to_vec));
        }
        let full = self.root.join(path);
        if !full.is_file() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        match File::open(&full).and_then(|file| file.take(max_size(path) + 1).read_to_end(&mut bytes)) {
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => Ok(None),
            Err(cause) => Err(CaptureError::Unreadable { path: full, cause }),
            Ok(_) => Ok(Some(bytes)),
        }
    }

    /// The trimmed text of a file. `None` if the file does not exist, is empty, or says `<not supported>` or the like.
    pub fn text(&self, path: &str) -> Result<Option<String>, CaptureError> {
        let Some(bytes) = self.bytes(path)? else { return Ok(None) };
        let most = max_size(path);
        if bytes.len() as u64 > most {
            let expected = format!("at most {} KiB, as kernels give", most >> 10);
            return Err(self.garbled(path, "larger than any such file", expected));
        }
        // A device tree's strings end with a NUL.
        let text = String::from_utf8(bytes).map_err(|_| self.garbled(path, "not UTF-8", "text"))?;
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        Ok(Some(text.to_string()).filter(|text| !text.is_empty() && !text.starts_with('<')))
    }

    /// A name: printable, at most 64 characters.
    pub fn name(&self, path: &str) -> Result<Option<String>, CaptureError> {
        let Some(text) = self.text(path)? else { return Ok(None) };
        if text.chars().count() > 64 || text.chars().any(char::is_control) {
            return Err(self.garbled(path, "not a valid name", "up to 64 printable characters"));
        }
        Ok(Some(text))
    }

    /// The decimal number in a file; none if the file is missing.
    pub fn number(&self, path: &str, range: RangeInclusive<i64>) -> Result<Option<i64>, CaptureError> {
        self.text(path)?.map(|text| self.parse(path, &text, &range)).transpose()
    }

    /// Decimal numbers between spaces; none where the file is missing.
    pub fn numbers(&self, path: &str, range: RangeInclusive<i64>) -> Result<Vec<i64>, CaptureError> {
        let text = self.text(path)?.unwrap_or_default();
        text.split_whitespace().map(|word| self.parse(path, word, &range)).collect()
    }

    fn parse(&self, path: &str, word: &str, range: &RangeInclusive<i64>) -> Result<i64, CaptureError> {
        word.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
            let expected = format!("a number from {} to {}", range.start(), range.end());
            self.garbled(path, format!("found `{}`", shortened(word)), expected)
        })
    }

    /// The hexadecimal number in a file; none if the file is missing.
    pub fn hex(&self, path: &str) -> Result<Option<u64>, CaptureError> {
        let Some(text) = self.text(path)? else { return Ok(None) };
        let digits = text.strip_prefix("0x").unwrap_or(&text);
        let number = u64::from_str_radix(digits, 16);
        let fault = |_| self.garbled(path, format!("found `{}`", shortened(&text)), "a hexadecimal number of 64 bits");
        number.map(Some).map_err(fault)
    }

    /// CPUs in the kernel's list format, by the kernel's ids. cpufreq lists them with spaces between.
    pub fn cpu_list(&self, path: &str) -> Result<Option<CpuMask>, CaptureError> {
        let Some(text) = self.text(path)? else { return Ok(None) };
        let list = text.split_whitespace().collect::<Vec<_>>().join(",");
        CpuMask::parse_list(&list).map(Some).map_err(|piece| {
            let expected = format!("a list of CPUs such as 0-3,8, all below {NR_CPUS}");
            self.garbled(path, format!("found `{}`", shortened(&piece)), expected)
        })
    }

    /// The numbers of the entries `PREFIXn` of a directory, rising.
    pub fn numbered(&self, dir: &str, prefix: &str) -> Vec<u32> {
        let names = self.names(dir);
        let number = |name: &String| {
            let digits = name.strip_prefix(prefix)?;
            // `cpu07` is not the kernel's.
            digits.parse().ok().filter(|n: &u32| n.to_string() == digits)
        };
        let mut numbers: Vec<u32> = names.iter().filter_map(number).collect();
        numbers.sort_unstable();
        numbers
    }

    /// The names in a directory, sorted; none where it is missing or cannot be read.
    pub fn names(&self, dir: &str) -> Vec<String> {
        if let Some((members, root)) = &self.packed {
            return members.names(&joined(root, dir));
        }
        let entries = std::fs::read_dir(self.root.join(dir)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|e| e.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }
}

/// The path of a member of a tarball.
fn joined(root: &str, path: &str) -> String {
    if root.is_empty() {
        path.into()
    } else {
        format!("{root}/{path}")
    }
}

/// What a message quotes of garbage.
pub(super) fn shortened(text: &str) -> String {
    let cut = text.char_indices().nth(40).map(|(at, _)| at);
    cut.map_or_else(|| text.escape_debug().to_string(), |at| format!("{}...", text[..at].escape_debug()))
}
