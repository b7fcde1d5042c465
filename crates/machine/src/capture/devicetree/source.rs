//! Device tree sources without preprocessor directives: `.dts` (the Devicetree Specification v0.4, chapter 6, and dtc).

use std::path::Path;

use super::super::tree::shortened;
use super::super::CaptureError;
use super::expression::{escaped, number};
use super::grow::{Growing, Property, Reference, Sprout, Target};
use super::lex::{Lexer, UNPACK};
use super::nodes::{DeviceTree, MAX_DEPTH, MAX_NAME, MAX_NODES, MAX_PROPERTIES};

/// What is expected in a node.
const IN_NODE: &str = "a property, a node, or `};`";

impl DeviceTree {
    /// Reads a source.
    pub fn from_source(file: &Path, bytes: &[u8]) -> Result<DeviceTree, CaptureError> {
        let fault = |problem: String| CaptureError::Garbled {
            path: file.into(),
            problem,
            expected: "a device tree source, of text".into(),
        };
        let text = std::str::from_utf8(bytes).map_err(|e| fault(format!("no UTF-8 at byte {}", e.valid_up_to())))?;
        let parser = Parser { lexer: Lexer::new(file, text), tree: Growing::default(), properties: 0 };
        let nodes = parser.nodes()?.resolved()?;
        DeviceTree::new(file, nodes)
    }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    tree: Growing,
    properties: usize,
}

impl<'a> Parser<'a> {
    fn nodes(mut self) -> Result<Growing, CaptureError> {
        self.tree.nodes.push(Sprout::default());
        self.lexer.space()?;
        let mut is_empty = true;
        while self.lexer.peek().is_some() {
            is_empty &= !self.top()?;
        }
        match is_empty {
            true => Err(self.lexer.fault("no root node", "a device tree source: `/dts-v1/;`, then `/ { ... };`")),
            false => Ok(self.tree),
        }
    }

    /// Takes what stands outside of nodes; whether it is a node.
    fn top(&mut self) -> Result<bool, CaptureError> {
        let is_statement = self.directive(None)?;
        if is_statement {
            return Ok(false);
        }
        let labels = self.labels()?;
        let node = if self.lexer.take("/")? {
            0
        } else if self.lexer.sees("&") {
            let target = self.target()?;
            let missing = format!("no node is called `{}`", shortened(&target.shown()));
            self.tree.find(&target).ok_or_else(|| self.lexer.fault(missing, "the label or path of a node above"))?
        } else {
            return Err(self.lexer.unexpected("`/ { ... };`, `&LABEL { ... };`, or `/dts-v1/;`"));
        };
        self.label(node, labels)?;
        self.body(node, 0)?;
        Ok(true)
    }

    /// Takes a directive between slashes, in a node or outside of all; whether there was one.
    fn directive(&mut self, node: Option<usize>) -> Result<bool, CaptureError> {
        if self.lexer.take("/dts-v1/")? {
        } else if self.lexer.take("/memreserve/")? {
            number(&mut self.lexer)?;
            number(&mut self.lexer)?;
        } else if self.lexer.take("/omit-if-no-ref/")? {
            // What nobody refers to does no harm.
            if self.lexer.sees("&") {
                self.target()?;
            } else {
                return Ok(node.is_none());
            }
        } else if self.lexer.take("/delete-node/")? {
            self.delete_node(node)?;
        } else if let Some(node) = node.filter(|_| self.lexer.sees("/delete-property/")) {
            self.lexer.take("/delete-property/")?;
            let name = self.name("the name of a property")?;
            self.tree.nodes[node].properties.remove(&name);
        } else if let Some(word) = ["/include/", "/plugin/", "/incbin/"].into_iter().find(|w| self.lexer.sees(w)) {
            return Err(self.lexer.fault(format!("`{word}` wants other files"), UNPACK));
        } else {
            return Ok(false);
        }
        self.lexer.need(";", "at the end of a directive")?;
        Ok(true)
    }

    fn delete_node(&mut self, node: Option<usize>) -> Result<(), CaptureError> {
        let gone = match node.filter(|_| !self.lexer.sees("&")) {
            Some(node) => {
                let name = self.name("the name of a node")?;
                self.tree.child(node, &name)
            }
            None => {
                let target = self.target()?;
                self.tree.find(&target)
            }
        };
        gone.into_iter().for_each(|node| self.tree.delete(node));
        Ok(())
    }

    /// Takes labels: `LABEL:`.
    fn labels(&mut self) -> Result<Vec<String>, CaptureError> {
        let mut labels = Vec::new();
        while let Some(label) = self.lexer.label()? {
            labels.push(label.to_string());
        }
        Ok(labels)
    }

    fn label(&mut self, node: usize, labels: Vec<String>) -> Result<(), CaptureError> {
        for label in labels {
            let other = self.tree.labels.insert(label.clone(), node);
            if other.is_some_and(|other| other != node && self.tree.is_part(other)) {
                let problem = format!("`{}` is the label of two nodes", shortened(&label));
                return Err(self.lexer.fault(problem, "a label for each"));
            }
        }
        Ok(())
    }

    fn name(&mut self, what: &str) -> Result<String, CaptureError> {
        let name = self.lexer.run(|c| c.is_ascii_alphanumeric() || ",._+*#?@-".contains(c));
        if name.is_empty() {
            return Err(self.lexer.unexpected(what));
        } else if name.len() > MAX_NAME {
            return Err(self
                .lexer
                .fault(format!("a name of {} characters", name.len()), format!("at most {MAX_NAME}")));
        }
        self.lexer.space()?;
        Ok(name.into())
    }

    /// Takes `&LABEL` or `&{PATH}`.
    fn target(&mut self) -> Result<Target, CaptureError> {
        self.lexer.need("&", "of a reference")?;
        if self.lexer.take("{")? {
            let path = self.lexer.run(|c| c.is_ascii_alphanumeric() || ",._+*#?@-/".contains(c)).to_string();
            self.lexer.need("}", "at the end of a path")?;
            return Ok(Target::Path(path));
        }
        let label = self.lexer.run(|c| c.is_ascii_alphanumeric() || c == '_').to_string();
        if label.is_empty() {
            return Err(self.lexer.unexpected("a label after `&`"));
        }
        self.lexer.space()?;
        Ok(Target::Label(label))
    }

    /// Takes what is in a node, from `{` to `};`.
    fn body(&mut self, node: usize, depth: usize) -> Result<(), CaptureError> {
        self.lexer.need("{", "of a node")?;
        while !self.lexer.take("}")? {
            if self.directive(Some(node))? {
                continue;
            }
            let labels = self.labels()?;
            let name = self.name(IN_NODE)?;
            if self.lexer.sees("{") {
                let child = self.child(node, name, depth)?;
                self.label(child, labels)?;
                self.body(child, depth + 1)?;
            } else {
                self.property(node, &name)?;
            }
        }
        self.lexer.need(";", "at the end of a node")
    }

    /// The child of a name: one that is there is gone on with.
    fn child(&mut self, parent: usize, name: String, depth: usize) -> Result<usize, CaptureError> {
        if let Some(child) = self.tree.child(parent, &name) {
            return Ok(child);
        }
        let id = self.tree.nodes.len();
        if id == MAX_NODES || depth + 2 > MAX_DEPTH {
            let expected = format!("at most {MAX_NODES} nodes, {MAX_DEPTH} deep");
            return Err(self.lexer.fault("too many nodes", expected));
        }
        self.tree.nodes.push(Sprout { name: name.clone(), parent: Some(parent), ..Sprout::default() });
        self.tree.nodes[parent].children.push(id);
        self.tree.nodes[parent].by_name.insert(name, id);
        Ok(id)
    }

    fn property(&mut self, node: usize, name: &str) -> Result<(), CaptureError> {
        self.properties += 1;
        if self.properties > MAX_PROPERTIES {
            return Err(self.lexer.fault("too many properties", format!("at most {MAX_PROPERTIES}")));
        }
        let mut property = Property::default();
        if self.lexer.take("=")? {
            loop {
                self.labels()?;
                self.value(&mut property)?;
                self.labels()?;
                if !self.lexer.take(",")? {
                    break;
                }
            }
        }
        self.lexer.need(";", "at the end of a property")?;
        self.tree.nodes[node].properties.insert(name.into(), property);
        Ok(())
    }

    fn value(&mut self, property: &mut Property) -> Result<(), CaptureError> {
        let value = &mut property.value;
        if self.lexer.sees("\"") {
            return self.string(value);
        } else if self.lexer.take("[")? {
            return self.hex(value);
        } else if self.lexer.sees("&") {
            // The path of a node: nothing that is read here has one.
            self.target()?;
            return Ok(());
        }
        let mut bytes = 4;
        if self.lexer.take("/bits/")? {
            let bits = number(&mut self.lexer)?;
            bytes = match bits {
                8 | 16 | 32 | 64 => bits as usize / 8,
                _ => return Err(self.lexer.fault(format!("`/bits/ {bits}`"), "8, 16, 32 or 64")),
            };
        } else if self.lexer.sees("/incbin/") {
            return self.directive(None).map(|_| ());
        }
        if !self.lexer.take("<")? {
            return Err(self.lexer.unexpected("a value: `<1 2>`, `\"text\"`, `[00 ff]` or `&label`"));
        }
        while !self.lexer.take(">")? {
            self.labels()?;
            if self.lexer.sees("&") && bytes == 4 {
                let (at, place) = (value.len(), self.lexer.place());
                property.references.push(Reference { at, target: self.target()?, place });
                value.extend([0; 4]);
            } else if !self.lexer.sees(">") {
                let n = number(&mut self.lexer)?;
                self.push(n, bytes, value)?;
            }
        }
        Ok(())
    }

    /// Appends a number; one that is negative in 64 bits may be so in fewer.
    fn push(&mut self, n: u64, bytes: usize, value: &mut Vec<u8>) -> Result<(), CaptureError> {
        let above = |n: u64| n.checked_shr(8 * bytes as u32).unwrap_or(0);
        if above(n) != 0 && above(n) != above(u64::MAX) {
            return Err(self.lexer.fault(format!("found {n:#x}"), format!("a number of {} bits", 8 * bytes)));
        }
        value.extend(&n.to_be_bytes()[8 - bytes..]);
        Ok(())
    }

    fn string(&mut self, value: &mut Vec<u8>) -> Result<(), CaptureError> {
        self.lexer.bump();
        loop {
            match self.lexer.bump() {
                Some('"') => break,
                Some('\\') => value.push(escaped(&mut self.lexer)?),
                Some(c) => value.extend(c.encode_utf8(&mut [0; 4]).bytes()),
                None => return Err(self.lexer.fault("a string without an end", "`\"`")),
            }
        }
        value.push(0);
        self.lexer.space()
    }

    /// Takes pairs of hexadecimal digits up to `]`.
    fn hex(&mut self, value: &mut Vec<u8>) -> Result<(), CaptureError> {
        while !self.lexer.take("]")? {
            let digits = self.lexer.run(|c| c.is_ascii_hexdigit());
            if digits.is_empty() || digits.len() % 2 != 0 {
                return Err(self.lexer.unexpected("pairs of hexadecimal digits up to `]`"));
            }
            let byte = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|p| u8::from_str_radix(p, 16).ok());
            value.extend(digits.as_bytes().chunks(2).filter_map(byte));
            self.lexer.space()?;
        }
        Ok(())
    }
}
