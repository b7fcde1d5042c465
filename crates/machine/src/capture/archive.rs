//! A tarball of a sysfs tree, in memory.
//!
//! Nothing is unpacked: of the members only those that a capture reads are kept ([`files`](super::files)), without the
//! zeros that tar pads sysfs's files with. What a hostile tarball could cost is bounded: members, names, bytes that it
//! unpacks to, bytes that are kept. Links are followed among the members alone.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use tar::{Archive, Entry, EntryType, PaxExtensions};

use super::files::{role, Role};
use super::tree::{max_size, shortened, MAX_FILE};
use super::{CaptureError, Notes};

/// Limits of a tarball: bytes unpacked, members, bytes of a name, members kept, bytes of them.
const MAX_UNPACKED: u64 = 512 << 20;
const MAX_MEMBERS: u32 = 1_000_000;
const MAX_NAME: usize = 256;
const MAX_KEPT: usize = 1 << 18;
const MAX_KEPT_BYTES: usize = 64 << 20;

/// Links that are followed on the way to a file, as many as the kernel follows.
const MAX_LINKS: u32 = 40;

/// The most names above the root of a tree in a tarball.
const MAX_ABOVE: usize = 8;

/// The directory by which the root of a tree is known.
const MARK: [&str; 3] = ["devices", "system", "cpu"];

/// How gzip's files begin.
pub(super) const GZIP: [u8; 2] = [0x1f, 0x8b];

/// What is kept of a tarball.
#[derive(Default)]
pub(super) struct Members {
    /// By path, without `.`, `..` and a leading `/`.
    kept: BTreeMap<String, Member>,
    bytes: usize,
    /// Where a tree begins: how many names deep, and the path.
    root: Option<(usize, String)>,
}

enum Member {
    Dir,
    File(Vec<u8>),
    /// A link to another path of the tarball.
    Link(String),
}

impl Members {
    /// Where the tree begins; of several the one with the fewest names above it.
    pub fn root(&self) -> Option<&str> {
        self.root.as_ref().map(|(_, path)| path.as_str())
    }

    fn keep(&mut self, path: String, member: Member) {
        if let Member::File(bytes) = &member {
            self.bytes += bytes.len();
        }
        self.kept.insert(path, member);
    }

    pub fn has_dir(&self, path: &str) -> bool {
        let Some(path) = self.resolved(path) else { return false };
        matches!(self.kept.get(&path), Some(Member::Dir)) || self.paths_below(&path).next().is_some()
    }

    pub fn file(&self, path: &str) -> Option<&[u8]> {
        match self.kept.get(&self.resolved(path)?)? {
            Member::File(bytes) => Some(bytes),
            Member::Dir | Member::Link(_) => None,
        }
    }

    /// The names in a directory, sorted; empty if the directory does not exist.
    pub fn names(&self, dir: &str) -> Vec<String> {
        let Some(dir) = self.resolved(dir) else { return Vec::new() };
        let name = |path: &String| path[dir.len() + 1..].split('/').next().unwrap_or("").to_string();
        let mut names: Vec<String> = self.paths_below(&dir).map(name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The paths below a directory.
    fn paths_below<'a>(&'a self, dir: &str) -> impl Iterator<Item = &'a String> {
        let start = format!("{dir}/");
        self.kept.range(start.clone()..).map(|(path, _)| path).take_while(move |path| path.starts_with(&start))
    }

    /// The path that links make of a path; none if they are too many.
    fn resolved(&self, path: &str) -> Option<String> {
        let (mut done, mut links) = (String::new(), 0);
        let mut rest: Vec<String> = path.split('/').rev().map(str::to_string).collect();
        while let Some(name) = rest.pop() {
            if !done.is_empty() {
                done.push('/');
            }
            done.push_str(&name);
            if let Some(Member::Link(target)) = self.kept.get(&done) {
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                rest.extend(target.split('/').rev().map(str::to_string));
                done.clear();
            }
        }
        Some(done)
    }
}

/// Members that are left out, by why.
#[derive(Default)]
struct SkippedMembers {
    reasons: [(u32, String); 3],
}

/// Why a member is left out.
#[derive(Clone, Copy)]
enum SkipReason {
    Upward,
    LinkOut,
    Special,
}

impl SkippedMembers {
    fn add(&mut self, why: SkipReason, name: &str) {
        let (count, first) = &mut self.reasons[why as usize];
        if *count == 0 {
            *first = shortened(name);
        }
        *count += 1;
    }

    fn note(&self, notes: &mut Notes) {
        let words = [
            "with `..` in their names are left out",
            "that are links out of the tarball are left out",
            "that are neither files, directories nor links are left out",
        ];
        for ((count, first), words) in self.reasons.iter().zip(words).filter(|((count, _), _)| *count > 0) {
            notes.add(format!("members of the tarball {words}: {count}, the first is `{first}`"));
        }
    }
}

/// Reads a tarball; `head` is how it begins.
pub(super) fn read(path: &Path, head: &[u8], file: impl Read, notes: &mut Notes) -> Result<Members, CaptureError> {
    match head.starts_with(&GZIP) {
        true => read_tar(path, MultiGzDecoder::new(file), notes),
        false => read_tar(path, file, notes),
    }
}

/// A reader that fails where a tarball unpacks to too much.
struct Limited<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self
            .left
            .checked_sub(read as u64)
            .ok_or_else(|| io::Error::other(format!("it unpacks to more than {} MiB", MAX_UNPACKED >> 20)))?;
        Ok(read)
    }
}

fn read_tar(path: &Path, packed: impl Read, notes: &mut Notes) -> Result<Members, CaptureError> {
    let fault = |problem: String| CaptureError::Garbled {
        path: path.into(),
        problem,
        expected: "a tarball of a sysfs tree, such as the script of `machine capture --script` makes".into(),
    };
    let broken = |e: io::Error| fault(format!("no whole tarball: {e}"));
    let mut archive = Archive::new(Limited { inner: packed, left: MAX_UNPACKED });
    let mut reader = Reader::default();
    // Raw: long names are read here, within limits.
    for (n, entry) in (0..).zip(archive.entries().map_err(broken)?.raw(true)) {
        if n == MAX_MEMBERS {
            return Err(fault(format!("more than {MAX_MEMBERS} members")));
        }
        reader.member(&mut entry.map_err(broken)?).map_err(broken)?;
        if reader.members.kept.len() > MAX_KEPT || reader.members.bytes > MAX_KEPT_BYTES {
            return Err(fault(format!("more than {MAX_KEPT} files of CPUs, or {} MiB", MAX_KEPT_BYTES >> 20)));
        }
    }
    // What follows the last member holds the checksum of what is packed.
    io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(broken)?;
    reader.left_out.note(notes);
    Ok(reader.members)
}

/// What members before it say of the next one.
#[derive(Default)]
struct LongNames {
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
}

#[derive(Default)]
struct Reader {
    members: Members,
    left_out: SkippedMembers,
    next: LongNames,
}

impl Reader {
    fn member<R: Read>(&mut self, entry: &mut Entry<R>) -> io::Result<()> {
        match entry.header().entry_type() {
            EntryType::GNULongName => self.next.name = Some(extension(entry)?),
            EntryType::GNULongLink => self.next.link = Some(extension(entry)?),
            EntryType::XHeader => self.next = pax(&extension(entry)?),
            EntryType::XGlobalHeader => {}
            kind => {
                let next = std::mem::take(&mut self.next);
                let name = next.name.unwrap_or_else(|| entry.header().path_bytes().into_owned());
                let link = next.link.or_else(|| entry.header().link_name_bytes().map(|link| link.into_owned()));
                return self.named(entry, kind, &name, link.as_deref());
            }
        }
        Ok(())
    }

    /// Keeps a member if a capture reads it. A name that is not UTF-8 does not occur in sysfs.
    fn named<R: Read>(
        &mut self,
        entry: &mut Entry<R>,
        kind: EntryType,
        name: &[u8],
        link: Option<&[u8]>,
    ) -> io::Result<()> {
        let Some(name) = std::str::from_utf8(name).ok().filter(|name| name.len() <= MAX_NAME) else { return Ok(()) };
        let Some(path) = normal("", name) else {
            self.left_out.add(SkipReason::Upward, name);
            return Ok(());
        };
        let Some(role) = self.role(&path) else { return Ok(()) };
        let member = match (kind, role) {
            (EntryType::Regular | EntryType::Continuous, Role::File) => {
                Ok(Member::File(contents(entry, max_size(&path))?))
            }
            (EntryType::Regular | EntryType::Continuous, Role::Above) => return Ok(()),
            (EntryType::Directory, _) => Ok(Member::Dir),
            (EntryType::Link, _) => linked("", link),
            (EntryType::Symlink, _) => linked(path.rsplit_once('/').map_or("", |(parent, _)| parent), link),
            _ => Err(SkipReason::Special),
        };
        match member {
            Ok(member) => self.members.keep(path, member),
            Err(why) => self.left_out.add(why, name),
        }
        Ok(())
    }

    /// The role of a path in whatever tree it may be of; notes where that begins.
    fn role(&mut self, path: &str) -> Option<Role> {
        let names: Vec<&str> = path.split('/').collect();
        let starts = 0..names.len().min(MAX_ABOVE + 1);
        let (start, role) = starts.filter_map(|start| Some((start, role(&names[start..])?))).next()?;
        if names[start..].starts_with(&MARK) {
            let root = (start, names[..start].join("/"));
            if self.members.root.as_ref().is_none_or(|known| root < *known) {
                self.members.root = Some(root);
            }
        }
        Some(role)
    }
}

/// A link from a directory of the tarball.
fn linked(from: &str, target: Option<&[u8]>) -> Result<Member, SkipReason> {
    let target = target.and_then(|target| std::str::from_utf8(target).ok());
    let inside = target.filter(|target| !target.starts_with('/') && target.len() <= MAX_NAME);
    inside.and_then(|target| normal(from, target)).map(Member::Link).ok_or(SkipReason::LinkOut)
}

/// What describes the next member, within limits.
fn extension<R: Read>(entry: &mut Entry<R>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if entry.by_ref().take(MAX_FILE + 1).read_to_end(&mut bytes)? as u64 > MAX_FILE {
        return Err(io::Error::other(format!("a name of more than {} KiB", MAX_FILE >> 10)));
    }
    bytes.truncate(bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()));
    Ok(bytes)
}

/// The names that a pax header gives to the next member.
fn pax(bytes: &[u8]) -> LongNames {
    let mut next = LongNames::default();
    for extension in PaxExtensions::new(bytes).flatten() {
        match extension.key_bytes() {
            b"path" => next.name = Some(extension.value_bytes().into()),
            b"linkpath" => next.link = Some(extension.value_bytes().into()),
            _ => {}
        }
    }
    next
}

/// The bytes of a file, one more than is allowed of one that is too large. tar states sysfs's files as large as a page
/// and fills the rest with zeros.
fn contents<R: Read>(entry: &mut Entry<R>, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    entry.by_ref().take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 <= most {
        bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
        bytes.shrink_to_fit();
    }
    Ok(bytes)
}

/// A path from a directory of the tarball on, without `.` and `..`; none if it leads out of the tarball.
fn normal(from: &str, path: &str) -> Option<String> {
    let mut names: Vec<&str> = from.split('/').filter(|name| !name.is_empty()).collect();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." if from.is_empty() => return None,
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}
