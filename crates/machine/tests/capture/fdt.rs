//! Flattened device trees for tests: taken apart, changed by node and property, and put together again.

use std::collections::BTreeMap;

/// A node with its properties and the nodes below it, in their order.
#[derive(Clone, Default)]
pub struct Node {
    name: String,
    properties: Vec<(String, Vec<u8>)>,
    children: Vec<Node>,
}

/// Tokens of the structure (Devicetree Specification v0.4, 5.4.1).
const BEGIN_NODE: u32 = 1;
const END_NODE: u32 = 2;
const PROPERTY: u32 = 3;
const END: u32 = 9;

/// Numbers of 32 bits.
pub fn cells(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

/// A text with its NUL.
pub fn text(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}

impl Node {
    pub fn new(name: &str) -> Node {
        Node { name: name.into(), ..Node::default() }
    }

    /// With a property, in place of one of that name.
    pub fn with(mut self, property: &str, value: Vec<u8>) -> Node {
        self.set(property, value);
        self
    }

    /// With nodes below.
    pub fn below(mut self, children: impl IntoIterator<Item = Node>) -> Node {
        self.children.extend(children);
        self
    }

    /// With a property that has no value, this many times.
    pub fn repeat(mut self, property: &str, times: usize) -> Node {
        self.properties.extend((0..times).map(|_| (property.to_string(), Vec::new())));
        self
    }

    pub fn set(&mut self, property: &str, value: Vec<u8>) {
        match self.properties.iter_mut().find(|(name, _)| name == property) {
            Some((_, old)) => *old = value,
            None => self.properties.push((property.into(), value)),
        }
    }

    pub fn remove(&mut self, property: &str) {
        let before = self.properties.len();
        self.properties.retain(|(name, _)| name != property);
        assert!(self.properties.len() < before, "{} has no {property}", self.name);
    }

    pub fn get(&self, property: &str) -> &[u8] {
        let found = self.properties.iter().find(|(name, _)| name == property);
        &found.unwrap_or_else(|| panic!("{} has no {property}", self.name)).1
    }

    pub fn rename(&mut self, name: &str) {
        self.name = name.into();
    }

    /// The node at a path from here.
    pub fn at(&mut self, path: &str) -> &mut Node {
        path.split('/').filter(|name| !name.is_empty()).fold(self, |node, name| {
            let found = node.children.iter_mut().find(|child| child.name == name);
            found.unwrap_or_else(|| panic!("no {name} in {path}"))
        })
    }

    /// What a good blob says.
    pub fn from_blob(blob: &[u8]) -> Node {
        let number = |at: usize| u32::from_be_bytes(blob[at..at + 4].try_into().expect("four bytes"));
        let name = |at: usize| {
            let len = blob[at..].iter().position(|byte| *byte == 0).expect("a NUL");
            String::from_utf8(blob[at..at + len].to_vec()).expect("UTF-8")
        };
        let (mut at, strings) = (number(8) as usize, number(12) as usize);
        let mut open = vec![Node::default()];
        loop {
            let token = number(at);
            at += 4;
            match token {
                BEGIN_NODE => {
                    open.push(Node::new(&name(at)));
                    at = (at + open[open.len() - 1].name.len() + 1).next_multiple_of(4);
                }
                END_NODE => {
                    let node = open.pop().expect("a node");
                    open.last_mut().expect("one around it").children.push(node);
                }
                PROPERTY => {
                    let (len, key) = (number(at) as usize, strings + number(at + 4) as usize);
                    let value = blob[at + 8..at + 8 + len].to_vec();
                    open.last_mut().expect("a node").properties.push((name(key), value));
                    at = (at + 8 + len).next_multiple_of(4);
                }
                END => return open.remove(0).children.remove(0),
                other => panic!("token {other}"),
            }
        }
    }

    /// The blob whose root this is, of version 17.
    pub fn to_blob(&self) -> Vec<u8> {
        let (mut structure, mut strings) = (Vec::new(), Strings::default());
        self.write(&mut structure, &mut strings);
        structure.extend(END.to_be_bytes());
        // The header, then an empty list of reserved memory.
        let (begin, size) = (56, structure.len() as u32);
        let total = begin + size + strings.bytes.len() as u32;
        let header = [0xd00d_feed, total, begin, begin + size, 40, 17, 16, 0, strings.bytes.len() as u32, size];
        [cells(&header), vec![0; 16], structure, strings.bytes].concat()
    }

    fn write(&self, structure: &mut Vec<u8>, strings: &mut Strings) {
        let pad = |structure: &mut Vec<u8>| structure.resize(structure.len().next_multiple_of(4), 0);
        structure.extend(BEGIN_NODE.to_be_bytes());
        structure.extend(text(&self.name));
        pad(structure);
        for (name, value) in &self.properties {
            structure.extend(cells(&[PROPERTY, value.len() as u32, strings.offset(name)]));
            structure.extend(value);
            pad(structure);
        }
        self.children.iter().for_each(|child| child.write(structure, strings));
        structure.extend(END_NODE.to_be_bytes());
    }
}

/// The names of properties.
#[derive(Default)]
struct Strings {
    bytes: Vec<u8>,
    offsets: BTreeMap<String, u32>,
}

impl Strings {
    fn offset(&mut self, name: &str) -> u32 {
        *self.offsets.entry(name.into()).or_insert_with(|| {
            let offset = self.bytes.len() as u32;
            self.bytes.extend(text(name));
            offset
        })
    }
}
