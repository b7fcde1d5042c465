//! A device tree in memory: nodes, properties and typed access to their values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::super::tree::shortened;
use super::super::CaptureError;

/// Limits of a tree: nodes, properties, how deep nodes lie in nodes, bytes of a name.
pub(super) const MAX_NODES: usize = 1 << 16;
pub(super) const MAX_PROPERTIES: usize = 1 << 18;
pub(super) const MAX_DEPTH: usize = 64;
pub(super) const MAX_NAME: usize = 255;

/// The most numbers of a property that refers to nodes.
const MAX_REFERRING: usize = 256;

/// A device tree in memory; `nodes[0]` is the root.
pub struct DeviceTree {
    file: PathBuf,
    nodes: Vec<Node>,
    phandles: BTreeMap<u32, usize>,
}

/// A node; its parent and children by their places in the tree's list.
#[derive(Default)]
pub(super) struct Node {
    pub name: String,
    pub parent: Option<usize>,
    pub properties: BTreeMap<String, Vec<u8>>,
    pub children: Vec<usize>,
}

impl DeviceTree {
    /// A tree of nodes, the first of which is the root. Nodes without a parent are not part of it.
    pub(super) fn new(file: &Path, nodes: Vec<Node>) -> Result<DeviceTree, CaptureError> {
        let mut tree = DeviceTree { file: file.into(), nodes, phandles: BTreeMap::new() };
        let mut phandles = BTreeMap::new();
        let mut left = vec![0];
        while let Some(id) = left.pop() {
            left.extend(&tree.nodes[id].children);
            let node = NodeRef { tree: &tree, id };
            for property in ["phandle", "linux,phandle"] {
                let Some(phandle) = node.cell(property)? else { continue };
                let other = phandles.insert(phandle, id).filter(|other| *other != id);
                if let Some(id) = other {
                    let problem = format!("{} has it, too", NodeRef { tree: &tree, id }.path());
                    return Err(node.fault(property, problem, "a phandle of its own"));
                }
            }
        }
        tree.phandles = phandles;
        Ok(tree)
    }

    pub(super) fn root(&self) -> NodeRef<'_> {
        NodeRef { tree: self, id: 0 }
    }
}

/// A node of a tree.
#[derive(Clone, Copy)]
pub(super) struct NodeRef<'a> {
    tree: &'a DeviceTree,
    id: usize,
}

impl PartialEq for NodeRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl<'a> NodeRef<'a> {
    fn node(&self) -> &'a Node {
        &self.tree.nodes[self.id]
    }

    /// The name without the unit address.
    pub fn name(&self) -> &'a str {
        let name = self.node().name.as_str();
        name.split_once('@').map_or(name, |(name, _)| name)
    }

    /// `/cpus/cpu@0` and the like.
    pub fn path(&self) -> String {
        let mut names = Vec::new();
        let mut at = Some(self.id);
        while let Some(id) = at {
            names.push(self.tree.nodes[id].name.as_str());
            at = self.tree.nodes[id].parent;
        }
        names.reverse();
        if names.len() == 1 {
            "/".into()
        } else {
            names.join("/")
        }
    }

    /// A fault of a property, or with an empty name of the node.
    pub fn fault(&self, property: &str, problem: impl Into<String>, expected: impl Into<String>) -> CaptureError {
        let place = self.path();
        let place = place.strip_suffix('/').unwrap_or(&place);
        let place = if property.is_empty() { place.into() } else { format!("{place}/{property}") };
        let path = PathBuf::from(format!("{}{place}", self.tree.file.display()));
        CaptureError::Garbled { path, problem: problem.into(), expected: expected.into() }
    }

    pub fn children(&self) -> impl Iterator<Item = NodeRef<'a>> {
        let tree = self.tree;
        self.node().children.iter().map(move |id| NodeRef { tree, id: *id })
    }

    /// The child of a name, with or without unit address.
    pub fn child(&self, name: &str) -> Option<NodeRef<'a>> {
        self.children().find(|child| child.name() == name || child.node().name == name)
    }

    /// The names of the properties, sorted.
    pub fn properties(&self) -> impl Iterator<Item = &'a str> {
        self.node().properties.keys().map(String::as_str)
    }

    pub fn bytes(&self, property: &str) -> Option<&'a [u8]> {
        self.node().properties.get(property).map(Vec::as_slice)
    }

    pub fn has_property(&self, property: &str) -> bool {
        self.bytes(property).is_some()
    }

    /// Numbers of 32 bits; none where there is no such property.
    pub fn cells(&self, property: &str) -> Result<Option<Vec<u32>>, CaptureError> {
        let Some(bytes) = self.bytes(property) else { return Ok(None) };
        if bytes.len() % 4 != 0 {
            return Err(self.fault(property, format!("{} bytes", bytes.len()), "numbers of 4 bytes each"));
        }
        let cell = |bytes: &[u8]| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        Ok(Some(bytes.chunks_exact(4).map(cell).collect()))
    }

    /// One number of 32 bits.
    pub fn cell(&self, property: &str) -> Result<Option<u32>, CaptureError> {
        let Some(cells) = self.cells(property)? else { return Ok(None) };
        match cells[..] {
            [cell] => Ok(Some(cell)),
            _ => Err(self.fault(property, format!("{} numbers", cells.len()), "one number")),
        }
    }

    /// One number that must be there.
    pub fn need(&self, property: &str) -> Result<u32, CaptureError> {
        let missing = || self.fault(property, "it is missing", "one number");
        self.cell(property)?.ok_or_else(missing)
    }

    /// The strings of a property; none where there is no such property.
    pub fn texts(&self, property: &str) -> Result<Vec<&'a str>, CaptureError> {
        let Some(bytes) = self.bytes(property) else { return Ok(Vec::new()) };
        let text = std::str::from_utf8(bytes).ok().filter(|text| text.ends_with('\0'));
        let text = text.ok_or_else(|| self.fault(property, "not a text", "text that ends with a NUL"))?;
        Ok(text[..text.len() - 1].split('\0').collect())
    }

    /// A name: printable, at most 64 characters.
    pub fn text(&self, property: &str) -> Result<Option<&'a str>, CaptureError> {
        let texts = self.texts(property)?;
        let is_name = |text: &&str| text.chars().count() <= 64 && !text.chars().any(char::is_control);
        match texts.first() {
            Some(text) if !is_name(text) => {
                Err(self.fault(property, format!("found `{}`", shortened(text)), "up to 64 printable characters"))
            }
            first => Ok(first.copied().filter(|text| !text.is_empty())),
        }
    }

    /// Whether its `status` takes it out of use.
    pub fn is_disabled(&self) -> bool {
        self.bytes("status").is_some_and(|status| !status.starts_with(b"ok"))
    }

    /// The nodes whose phandles a property lists.
    pub fn targets(&self, property: &str) -> Result<Vec<NodeRef<'a>>, CaptureError> {
        self.referring(property)?.into_iter().map(|phandle| self.target(property, phandle)).collect()
    }

    /// The nodes that a property lists with arguments after each, as many as the node's `count` says.
    pub fn specifiers(&self, property: &str, count: &str) -> Result<Vec<(NodeRef<'a>, Vec<u32>)>, CaptureError> {
        let cells = self.referring(property)?;
        let mut rest = cells.as_slice();
        let mut found = Vec::new();
        while let Some((phandle, after)) = rest.split_first() {
            let target = self.target(property, *phandle)?;
            let arguments = target.cell(count)?.unwrap_or(0) as usize;
            let Some(own) = after.get(..arguments) else {
                let problem = format!("{} numbers after the last phandle", after.len());
                return Err(self.fault(property, problem, format!("{arguments}, as {count} of its node says")));
            };
            found.push((target, own.to_vec()));
            rest = &after[arguments..];
        }
        Ok(found)
    }

    /// The numbers of a property that refers to nodes. Many CPUs may look at the same one: it is not long.
    fn referring(&self, property: &str) -> Result<Vec<u32>, CaptureError> {
        match self.bytes(property).map_or(0, <[u8]>::len) / 4 {
            many if many > MAX_REFERRING => {
                Err(self.fault(property, format!("{many} numbers"), format!("at most {MAX_REFERRING}")))
            }
            _ => Ok(self.cells(property)?.unwrap_or_default()),
        }
    }

    fn target(&self, property: &str, phandle: u32) -> Result<NodeRef<'a>, CaptureError> {
        let tree = self.tree;
        let missing = || self.fault(property, format!("no node has the phandle {phandle:#x}"), "a node of this tree");
        tree.phandles.get(&phandle).map(|id| NodeRef { tree, id: *id }).ok_or_else(missing)
    }
}
