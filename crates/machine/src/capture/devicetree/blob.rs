//! Flattened device trees: `.dtb`, formats 16 and 17 (Devicetree Specification v0.4, chapter 5).

use std::path::{Path, PathBuf};

use super::super::CaptureError;
use super::nodes::{DeviceTree, Node, MAX_DEPTH, MAX_NAME, MAX_NODES, MAX_PROPERTIES};

/// How a blob begins.
const MAGIC: [u8; 4] = [0xd0, 0x0d, 0xfe, 0xed];
const SWAPPED: [u8; 4] = [0xed, 0xfe, 0x0d, 0xd0];

/// The version that is read, and the oldest one like it, which does not say how large the structure is.
const VERSION: u32 = 17;
const OLDEST: u32 = 16;

/// Tokens of the structure.
const BEGIN_NODE: u32 = 1;
const END_NODE: u32 = 2;
const PROPERTY: u32 = 3;
const NOTHING: u32 = 4;
const END: u32 = 9;

impl DeviceTree {
    /// Whether a file that begins so is a flattened tree, be it of the wrong endianness.
    pub fn is_blob(head: &[u8]) -> bool {
        head.starts_with(&MAGIC) || head.starts_with(&SWAPPED)
    }

    /// Reads a flattened tree.
    pub fn from_blob(file: &Path, bytes: &[u8]) -> Result<DeviceTree, CaptureError> {
        let blob = Blob { file, bytes };
        let nodes = Walk::new(&blob)?.nodes()?;
        DeviceTree::new(file, nodes)
    }
}

struct Blob<'a> {
    file: &'a Path,
    bytes: &'a [u8],
}

impl<'a> Blob<'a> {
    fn fault(&self, at: usize, problem: impl Into<String>, expected: impl Into<String>) -> CaptureError {
        let path = PathBuf::from(format!("{}, byte {at}", self.file.display()));
        CaptureError::Garbled { path, problem: problem.into(), expected: expected.into() }
    }

    fn number(&self, at: usize) -> Result<u32, CaptureError> {
        let bytes = self.part(at, 4, "a number")?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn part(&self, at: usize, len: usize, what: &str) -> Result<&'a [u8], CaptureError> {
        let part = at.checked_add(len).and_then(|end| self.bytes.get(at..end));
        part.ok_or_else(|| self.fault(at, format!("the file ends within {what}"), format!("{len} bytes")))
    }

    /// A name that ends with a NUL.
    fn name(&self, at: usize) -> Result<String, CaptureError> {
        let rest = self.bytes.get(at..).unwrap_or(&[]);
        let end = rest.iter().take(MAX_NAME + 1).position(|byte| *byte == 0);
        let name = end.and_then(|end| std::str::from_utf8(&rest[..end]).ok());
        let name = name.filter(|name| name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/'));
        let expected = || format!("up to {MAX_NAME} printable characters and a NUL");
        name.map(str::to_string).ok_or_else(|| self.fault(at, "not a valid name", expected()))
    }
}

/// The way through the structure.
struct Walk<'a> {
    blob: &'a Blob<'a>,
    at: usize,
    end: usize,
    strings: usize,
    nodes: Vec<Node>,
    /// The nodes that are open.
    open: Vec<usize>,
    properties: usize,
}

impl<'a> Walk<'a> {
    fn new(blob: &'a Blob<'a>) -> Result<Walk<'a>, CaptureError> {
        if blob.bytes.starts_with(&SWAPPED) {
            return Err(blob.fault(0, "a flattened device tree of the wrong endianness", "big-endian numbers"));
        }
        let field = |n: usize| blob.number(4 * n).map(|number| number as usize);
        let (size, at, strings) = (field(1)?, field(2)?, field(3)?);
        let (version, compatible) = (blob.number(20)?, blob.number(24)?);
        if version < OLDEST || compatible > VERSION {
            let problem = format!("a flattened device tree of version {version}, like {compatible}");
            return Err(blob.fault(20, problem, format!("version {OLDEST} or {VERSION}, or one like it")));
        }
        if size > blob.bytes.len() {
            let expected = format!("the {size} bytes that its header states");
            return Err(blob.fault(4, format!("the file has {} bytes", blob.bytes.len()), expected));
        }
        let end = if version < VERSION { size } else { at.saturating_add(field(9)?) };
        if at % 4 != 0 || end > size || strings > size {
            let problem = format!("the structure is at {at} to {end}, its strings at {strings}");
            return Err(blob.fault(8, problem, format!("multiples of 4 within the {size} bytes")));
        }
        Ok(Walk { blob, at, end, strings, nodes: Vec::new(), open: Vec::new(), properties: 0 })
    }

    fn nodes(mut self) -> Result<Vec<Node>, CaptureError> {
        loop {
            let at = self.at;
            if at + 4 > self.end {
                return Err(self.blob.fault(at, "the structure has no end", "the token 9 at its end"));
            }
            self.at += 4;
            match self.blob.number(at)? {
                BEGIN_NODE => self.begin(at)?,
                END_NODE => {
                    let ended = self.open.pop();
                    ended.ok_or_else(|| self.blob.fault(at, "the end of a node", "a node before its end"))?;
                }
                PROPERTY => self.property(at)?,
                NOTHING => {}
                END if self.open.is_empty() && !self.nodes.is_empty() => return Ok(self.nodes),
                END => return Err(self.blob.fault(at, "the end of the structure", "a root node, and its end before")),
                other => {
                    let expected = "1 (node), 2 (its end), 3 (property), 4 (nothing) or 9 (end)";
                    return Err(self.blob.fault(at, format!("the token {other}"), expected));
                }
            }
        }
    }

    fn begin(&mut self, at: usize) -> Result<(), CaptureError> {
        let name = self.blob.name(self.at)?;
        self.skip(name.len() + 1);
        let parent = self.open.last().copied();
        if parent.is_none() && !self.nodes.is_empty() {
            return Err(self.blob.fault(at, "a second root", "one root node"));
        }
        if self.nodes.len() == MAX_NODES || self.open.len() == MAX_DEPTH {
            let expected = format!("at most {MAX_NODES} nodes, {MAX_DEPTH} deep");
            return Err(self.blob.fault(at, "too many nodes", expected));
        }
        let id = self.nodes.len();
        // The name of the root has no meaning.
        let name = if parent.is_none() { String::new() } else { name };
        self.nodes.push(Node { name, parent, ..Node::default() });
        if let Some(parent) = parent {
            self.nodes[parent].children.push(id);
        }
        self.open.push(id);
        Ok(())
    }

    fn property(&mut self, at: usize) -> Result<(), CaptureError> {
        let (len, name) = (self.blob.number(self.at)? as usize, self.blob.number(self.at + 4)? as usize);
        let value = self.blob.part(self.at + 8, len, "a property")?;
        let name = self.blob.name(self.strings.saturating_add(name))?;
        self.at += 8;
        self.skip(len);
        self.properties += 1;
        if self.properties > MAX_PROPERTIES {
            return Err(self.blob.fault(at, "too many properties", format!("at most {MAX_PROPERTIES}")));
        }
        let node = self.open.last().ok_or_else(|| self.blob.fault(at, "a property", "a node around it"))?;
        self.nodes[*node].properties.insert(name, value.to_vec());
        Ok(())
    }

    /// Skips `bytes` bytes, rounded up to a multiple of 4.
    fn skip(&mut self, bytes: usize) {
        self.at = (self.at + bytes).next_multiple_of(4);
    }
}
