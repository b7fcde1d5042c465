//! Looks up keys of a JSON object under either rule for duplicates, and remembers which were read.

use std::collections::{BTreeMap, BTreeSet};

use fairground_machine::nearest;

use super::source::Source;
use crate::error::WorkloadError;
use crate::json::{Member, Node, Value};
use crate::warning::WarningKind;

/// One key as rt-app gets to see it.
pub(super) struct Field<'a> {
    /// The key, renamed if it is a duplicate.
    pub key: String,
    pub member: &'a Member,
    read: bool,
}

/// The keys of an object, in order.
pub(super) struct Fields<'a> {
    list: Vec<Field<'a>>,
    by_key: BTreeMap<String, usize>,
}

impl<'a> Fields<'a> {
    /// The keys of `node`, which `what` names in messages.
    pub fn parse(source: &mut Source, node: &'a Node, what: &str) -> Result<Self, WorkloadError> {
        let Some(members) = node.members() else {
            return Err(source.error(node.span, format!("{what} is {}", node.kind()), "expected an object"));
        };
        members.iter().try_for_each(|m| source.printable(&m.key, m.key_span))?;
        let list = if source.dialect.last_wins { last_wins(source, members) } else { renamed(members) };
        let by_key = list.iter().enumerate().map(|(i, f)| (f.key.clone(), i)).collect();
        Ok(Fields { list, by_key })
    }

    /// The member of that key. As in rt-app, `null` is as good as absent.
    pub fn get(&mut self, key: &str) -> Option<&'a Member> {
        let field = &mut self.list[*self.by_key.get(key)?];
        field.read = true;
        (field.member.value.value != Value::Null).then_some(field.member)
    }

    /// All keys that `wanted` takes, in order.
    pub fn take(&mut self, wanted: impl Fn(&str) -> bool) -> Vec<(String, &'a Member)> {
        let taken = self.list.iter_mut().filter(|f| wanted(&f.key));
        taken
            .map(|f| {
                f.read = true;
                (f.key.clone(), f.member)
            })
            .collect()
    }

    /// The member whose key is most like `key`, if one is like it at all; `known` are those that mean something else.
    pub fn nearest(&self, key: &str, known: &[&str]) -> Option<&'a Member> {
        let others = self.list.iter().map(|f| f.member).filter(|m| !known.contains(&m.key.as_str()));
        let names: Vec<&str> = others.clone().map(|m| m.key.as_str()).collect();
        let near = nearest(key, names)?;
        others.clone().find(|m| m.key == near)
    }

    /// The first key that was not read and is like one of `known`, and that one.
    pub fn misspelt<'k>(&self, known: &[&'k str]) -> Option<(&str, &'k str)> {
        let unread = self.list.iter().filter(|f| !f.read);
        unread.filter_map(|f| Some((f.key.as_str(), nearest(&f.key, known.iter().copied())?))).next()
    }

    /// Warns of every key that was not read; `known` are those that could have been meant.
    pub fn warn_rest(&self, source: &mut Source, known: &[&str], message: &str) {
        for f in self.list.iter().filter(|f| !f.read) {
            if source.is_full() {
                return;
            }
            let hint = match nearest(&f.member.key, known.iter().copied()) {
                Some(name) if name == f.member.key => "; it is given twice, and the first counts".into(),
                Some(name) => format!("; did you mean `{name}`?"),
                None => String::new(),
            };
            let text = format!("{message}{hint}");
            source.warn(WarningKind::Ignored, f.member.key_span, &f.member.key, text);
        }
    }
}

/// As doc/workgen: a key that is there already gets a number that makes it new.
fn renamed(members: &[Member]) -> Vec<Field<'_>> {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut number = 1u64;
    let mut rename = |member: &Member| {
        let mut key = member.key.clone();
        while !seen.insert(key.clone()) {
            key = format!("{}{number}", member.key);
            if seen.contains(&key) {
                number += 1;
            }
        }
        key
    };
    members.iter().map(|member| Field { key: rename(member), member, read: false }).collect()
}

/// As json-c: a later value replaces an earlier one, and stays at its place.
fn last_wins<'a>(source: &mut Source, members: &'a [Member]) -> Vec<Field<'a>> {
    let mut place: BTreeMap<&str, usize> = BTreeMap::new();
    let mut list: Vec<Field> = Vec::new();
    for member in members {
        match place.get(member.key.as_str()) {
            Some(i) => {
                let dropped = std::mem::replace(&mut list[*i].member, member);
                let text = "is replaced by a later key of the same name, as rt-app reads it";
                source.warn(WarningKind::Ignored, dropped.key_span, &dropped.key, text);
            }
            None => {
                place.insert(&member.key, list.len());
                list.push(Field { key: member.key.clone(), member, read: false });
            }
        }
    }
    list
}
