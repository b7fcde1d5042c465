//! The tree that a source describes, while it is read: nodes come and go, and refer to nodes that are still to come.

use std::collections::{BTreeMap, BTreeSet};

use super::super::tree::shortened;
use super::super::CaptureError;
use super::lex::Place;
use super::nodes::Node;
use crate::nearest;

/// What a reference names.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    Label(String),
    Path(String),
}

impl Target {
    pub fn shown(&self) -> String {
        match self {
            Target::Label(label) => format!("&{label}"),
            Target::Path(path) => format!("&{{{path}}}"),
        }
    }
}

/// A property, and what its value refers to.
#[derive(Default)]
pub(super) struct Property {
    pub value: Vec<u8>,
    pub references: Vec<Reference>,
}

/// A place in a value where the phandle of another node belongs.
pub(super) struct Reference {
    pub at: usize,
    pub target: Target,
    /// Of the source.
    pub place: Place,
}

/// A node, as far as it is read.
#[derive(Default)]
pub(super) struct Sprout {
    pub name: String,
    pub parent: Option<usize>,
    pub properties: BTreeMap<String, Property>,
    pub children: Vec<usize>,
    pub by_name: BTreeMap<String, usize>,
    pub is_deleted: bool,
}

/// The tree, as far as it is read.
#[derive(Default)]
pub(super) struct Growing {
    pub nodes: Vec<Sprout>,
    pub labels: BTreeMap<String, usize>,
}

impl Growing {
    pub fn child(&self, node: usize, name: &str) -> Option<usize> {
        self.nodes[node].by_name.get(name).copied()
    }

    /// The node that is meant, if it is part of the tree.
    pub fn find(&self, target: &Target) -> Option<usize> {
        let found = match target {
            Target::Label(label) => *self.labels.get(label)?,
            Target::Path(path) => {
                let mut names = path.split('/').filter(|name| !name.is_empty());
                names.try_fold(0, |node, name| self.child(node, name))?
            }
        };
        self.is_part(found).then_some(found)
    }

    /// Neither the node nor one above it is deleted.
    pub fn is_part(&self, node: usize) -> bool {
        let mut chain = std::iter::successors(Some(node), |node| self.nodes[*node].parent);
        chain.all(|node| !self.nodes[node].is_deleted)
    }

    pub fn delete(&mut self, node: usize) {
        self.nodes[node].is_deleted = true;
        if let Some(parent) = self.nodes[node].parent {
            let name = std::mem::take(&mut self.nodes[node].name);
            self.nodes[parent].by_name.remove(&name);
        }
    }

    /// The tree with phandles where nodes are referred to; those that are not stated are numbered, as dtc does.
    pub fn resolved(mut self) -> Result<Vec<Node>, CaptureError> {
        let stated = |node: &Sprout| {
            let value = node.properties.get("phandle")?.value.as_slice();
            Some(u32::from_be_bytes(value.try_into().ok()?))
        };
        let parts: Vec<usize> = (0..self.nodes.len()).filter(|id| self.is_part(*id)).collect();
        let known = parts.iter().filter_map(|id| Some((*id, stated(&self.nodes[*id])?)));
        let mut phandles = Phandles { known: known.collect(), taken: BTreeSet::new(), next: 1 };
        phandles.taken = phandles.known.values().copied().collect();
        for id in parts {
            let mut properties = std::mem::take(&mut self.nodes[id].properties);
            for (name, property) in &mut properties {
                for reference in std::mem::take(&mut property.references) {
                    let (at, found) = (reference.at, self.find(&reference.target));
                    let node = found.ok_or_else(|| self.unknown(id, name, &reference))?;
                    property.value[at..at + 4].copy_from_slice(&phandles.of(node).to_be_bytes());
                }
            }
            self.nodes[id].properties = properties;
        }
        for (id, phandle) in phandles.known {
            let value = phandle.to_be_bytes().into();
            self.nodes[id].properties.insert("phandle".into(), Property { value, references: Vec::new() });
        }
        Ok(self.finished())
    }

    /// A property of a node refers to what is not there.
    fn unknown(&self, node: usize, property: &str, reference: &Reference) -> CaptureError {
        let path = format!("{}: {}/{property}", reference.place.shown(), self.path(node)).into();
        let problem = format!("no node is called `{}`", shortened(&reference.target.shown()));
        let near = match &reference.target {
            Target::Label(label) => nearest(label, self.labels.keys().map(String::as_str)),
            Target::Path(_) => None,
        };
        let hint = near.map_or(String::new(), |near| format!("; did you mean `&{near}`?"));
        CaptureError::Garbled { path, problem, expected: format!("the label or path of a node{hint}") }
    }

    /// Where a node is in the tree, without a slash behind it.
    fn path(&self, node: usize) -> String {
        let chain = std::iter::successors(Some(node), |node| self.nodes[*node].parent);
        let names: Vec<&str> = chain.map(|node| self.nodes[node].name.as_str()).collect();
        shortened(&names.into_iter().rev().collect::<Vec<_>>().join("/"))
    }

    fn finished(self) -> Vec<Node> {
        let is_deleted: Vec<bool> = self.nodes.iter().map(|node| node.is_deleted).collect();
        let finish = |node: Sprout| Node {
            name: node.name,
            parent: node.parent,
            properties: node.properties.into_iter().map(|(name, property)| (name, property.value)).collect(),
            children: node.children.into_iter().filter(|child| !is_deleted[*child]).collect(),
        };
        self.nodes.into_iter().map(finish).collect()
    }
}

/// The phandles of nodes.
struct Phandles {
    known: BTreeMap<usize, u32>,
    taken: BTreeSet<u32>,
    next: u32,
}

impl Phandles {
    fn of(&mut self, node: usize) -> u32 {
        let (taken, next) = (&mut self.taken, &mut self.next);
        *self.known.entry(node).or_insert_with(|| {
            while !taken.insert(*next) {
                *next += 1;
            }
            *next
        })
    }
}
