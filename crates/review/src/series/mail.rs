//! Patches from mails: a mailbox as the list's archive has it, or files of `git format-patch`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::io;

use mail_parser::mailbox::mbox::MessageIterator;
use mail_parser::{HeaderValue, Message, MessageParser, PartType};

/// Patches that a series has at most; a tag with more is no number of a patch.
const PATCHES_MAX: u32 = 10_000;
/// Missing patches that an error names.
const NAMED_MAX: usize = 10;

/// A mail, as far as a series needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mail {
    /// The subject without its tag and without line ends.
    pub title: String,
    /// Version of the series, from 1.
    version: u32,
    /// Number in the series and their count, as the tag has them.
    number: Option<(u32, u32)>,
    /// Whether the tag says that it is a patch.
    is_tagged: bool,
    is_reply: bool,
    /// The mail that began the thread.
    root: String,
    /// Seconds since 1970.
    date: i64,
    /// All text of it.
    pub body: String,
}

/// Patches that were chosen from mails, in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    pub mails: Vec<Mail>,
    /// Title of the cover letter, if there is one.
    pub title: Option<String>,
    /// What was taken and what was left out.
    pub words: String,
}

/// The mails in a file; `None` if it does not begin as one.
pub(super) fn read(content: &[u8]) -> io::Result<Option<Vec<Mail>>> {
    let text = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let messages: Vec<Vec<u8>> = match text.starts_with(b"From ") {
        true => MessageIterator::new(text).map(|m| m.map(|m| m.unwrap_contents())).collect::<io::Result<_>>()?,
        false if has_subject(text) => vec![text.to_vec()],
        false => return Ok(None),
    };
    Ok(Some(messages.iter().filter_map(|m| MessageParser::default().parse(m)).map(|m| Mail::new(&m)).collect()))
}

/// Whether a text begins with headers, a subject among them.
fn has_subject(text: &[u8]) -> bool {
    let head = text.split(|byte| *byte == b'\n').take_while(|line| !matches!(line, [] | [b'\r']));
    let mut head = head.take(1000).peekable();
    let is_header =
        |line: &&[u8]| line.iter().position(|b| *b == b':').is_some_and(|at| at > 0 && !line[..at].contains(&b' '));
    head.peek().is_some_and(is_header) && head.any(|line| line.to_ascii_lowercase().starts_with(b"subject:"))
}

impl Mail {
    fn new(message: &Message) -> Mail {
        let subject = message.subject().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        let tag = Tag::read(&subject);
        let id = message.message_id().unwrap_or_default().to_owned();
        let root = first(message.references()).or_else(|| first(message.in_reply_to())).unwrap_or(id);
        let mut body = String::new();
        for part in &message.parts {
            if let PartType::Text(text) = &part.body {
                let _ = writeln!(body, "{}", text.replace("\r\n", "\n"));
            }
        }
        Mail {
            title: tag.title,
            version: tag.version,
            number: tag.number,
            is_tagged: tag.is_patch,
            is_reply: tag.is_reply,
            root,
            date: message.date().map_or(0, |date| date.to_timestamp()),
            body,
        }
    }

    fn has_diff(&self) -> bool {
        self.body.lines().any(|line| line.starts_with("diff --git ") || line.starts_with("@@ -"))
    }

    /// A patch, and no answer to one or words about one.
    fn is_patch(&self) -> bool {
        !self.is_reply && self.has_diff() && self.number.is_none_or(|(n, _)| n > 0)
    }

    /// The words before a series.
    pub fn is_cover(&self) -> bool {
        !self.has_diff() && !self.is_reply && self.number.is_some_and(|(n, _)| n == 0)
    }

    fn series(&self) -> (u32, u32, &str) {
        (self.version, self.number.map_or(1, |(_, count)| count), &self.root)
    }
}

fn first(value: &HeaderValue) -> Option<String> {
    match value {
        HeaderValue::Text(text) => Some(text.to_string()),
        HeaderValue::TextList(list) => list.first().map(|id| id.to_string()),
        _ => None,
    }
}

/// What `Re: [RFC PATCH v3 2/4] title` says.
struct Tag {
    title: String,
    version: u32,
    number: Option<(u32, u32)>,
    is_patch: bool,
    is_reply: bool,
}

impl Tag {
    fn read(subject: &str) -> Tag {
        let mut rest = subject.trim();
        let mut tag = Tag { title: String::new(), version: 1, number: None, is_patch: false, is_reply: false };
        loop {
            let lower = rest.to_ascii_lowercase();
            if let Some(word) = ["re:", "aw:", "fwd:", "fw:"].into_iter().find(|word| lower.starts_with(word)) {
                tag.is_reply = true;
                rest = rest[word.len()..].trim_start();
            } else if let Some((inner, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
                inner.split_whitespace().for_each(|word| tag.word(word));
                rest = after.trim_start();
            } else {
                break;
            }
        }
        tag.title = rest.to_owned();
        tag
    }

    fn word(&mut self, word: &str) {
        let upper = word.to_ascii_uppercase();
        self.is_patch |= upper.contains("PATCH");
        let version = upper.trim_start_matches("PATCH").trim_start_matches('V').parse::<u32>().ok();
        if let Some((n, count)) = word.split_once('/') {
            let numbers =
                n.parse().ok().zip(count.parse().ok()).filter(|(n, count)| n <= count && *count <= PATCHES_MAX);
            self.number = numbers.or(self.number);
        } else if upper.contains('V') && version.is_some_and(|version| version > 0) {
            self.version = version.unwrap_or(1);
        }
    }
}

/// Takes the newest complete series of these mails. Where a later version has some of its patches alone, in the same thread, these take
/// the place of the older ones.
///
/// # Errors
/// What is missing.
pub(super) fn choose(mut mails: Vec<Mail>) -> Result<Chosen, String> {
    part_without_ids(&mut mails);
    let patches = mails.iter().filter(|mail| mail.is_patch());
    if mails.iter().all(|mail| mail.is_patch() && mail.number.is_none() && mail.version == 1) && mails.len() > 1 {
        let words = format!("{} patches without numbers, in the order given", mails.len());
        return Ok(Chosen { mails, title: None, words });
    }
    let mut all: BTreeMap<(u32, u32, &str), BTreeMap<u32, &Mail>> = BTreeMap::new();
    for mail in patches {
        let number = mail.number.map_or(1, |(n, _)| n);
        all.entry(mail.series()).or_default().entry(number).or_insert(mail);
    }
    let newest = |found: &BTreeMap<u32, &Mail>| found.values().map(|mail| mail.date).max();
    let is_whole = |((_, count, _), found): &(&(u32, u32, &str), &BTreeMap<u32, &Mail>)| found.len() == *count as usize;
    let best = all.iter().filter(is_whole).max_by_key(|((version, ..), found)| (*version, newest(found)));
    let Some((key, found)) = best else { return Err(missing(&all, mails.len())) };
    let cover = mails.iter().find(|mail| mail.is_cover() && mail.series() == *key);
    let rerolled = rerolled(&all, key);
    let words = words(&all, key, &rerolled, &mails, cover.is_some());
    let title = cover.or(found.values().next().copied()).map(|mail| mail.title.clone());
    let newest = found.iter().map(|(number, mail)| *rerolled.get(number).unwrap_or(mail));
    Ok(Chosen { mails: newest.cloned().collect(), title, words })
}

/// The patches of a series that later versions have alone, by number, the newest of each.
fn rerolled<'a>(
    all: &BTreeMap<(u32, u32, &str), BTreeMap<u32, &'a Mail>>,
    key: &(u32, u32, &str),
) -> BTreeMap<u32, &'a Mail> {
    let (version, count, root) = key;
    // By version, so that the last of a number is the newest.
    let later = all.iter().filter(|((of, n, thread), _)| of > version && (n, thread) == (count, root));
    later.flat_map(|(_, found)| found.iter().map(|(number, mail)| (*number, *mail))).collect()
}

/// Gives the mails of `git format-patch --stdout`, which have no id, one root for each series: a number that was there begins
/// another one of the same version and length.
fn part_without_ids(mails: &mut [Mail]) {
    let mut known: BTreeMap<(u32, u32), (usize, BTreeSet<u32>)> = BTreeMap::new();
    for mail in mails.iter_mut().filter(|mail| mail.root.is_empty() && !mail.is_reply) {
        let (number, count) = mail.number.unwrap_or((1, 1));
        let (series, numbers) = known.entry((mail.version, count)).or_default();
        if !numbers.insert(number) {
            *series += 1;
            *numbers = BTreeSet::from([number]);
        }
        mail.root = series.to_string();
    }
}

fn missing(all: &BTreeMap<(u32, u32, &str), BTreeMap<u32, &Mail>>, mails: usize) -> String {
    let Some(((version, count, _), found)) = all.iter().max_by_key(|((version, ..), found)| (found.len(), *version))
    else {
        return format!("none of its {} is a patch", plural(mails, "mail"));
    };
    let lacking: Vec<String> =
        (1..=*count).filter(|n| !found.contains_key(n)).map(|n| format!("{n}/{count}")).collect();
    let named = &lacking[..lacking.len().min(NAMED_MAX)];
    let more = match lacking.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("v{version} is not whole: {}{more} missing", named.join(", "))
}

fn words(
    all: &BTreeMap<(u32, u32, &str), BTreeMap<u32, &Mail>>,
    key: &(u32, u32, &str),
    rerolled: &BTreeMap<u32, &Mail>,
    mails: &[Mail],
    has_cover: bool,
) -> String {
    let (version, count, _) = key;
    let mut left: Vec<String> = Vec::new();
    left.extend(has_cover.then(|| "its cover letter".to_owned()));
    let is_used = |found: &BTreeMap<u32, &Mail>| {
        found.iter().any(|(number, mail)| rerolled.get(number).is_some_and(|taken| std::ptr::eq(*taken, *mail)))
    };
    for ((version, count, _), found) in all.iter().filter(|(other, found)| *other != key && !is_used(found)) {
        let whole = if found.len() < *count as usize { format!("{} of ", found.len()) } else { String::new() };
        left.push(format!("v{version} ({whole}{})", plural(*count as usize, "patch")));
    }
    let replies = mails.iter().filter(|mail| mail.is_reply).count();
    left.extend((replies > 0).then(|| plural(replies, "reply")));
    let others = mails.iter().filter(|mail| !mail.is_reply && !mail.is_patch() && mail.series() != *key).count();
    left.extend((others > 0).then(|| format!("{} without a patch", plural(others, "other mail"))));
    let mut taken = format!("v{version}, {}", plural(*count as usize, "patch"));
    for (number, mail) in rerolled {
        let _ = write!(taken, ", {number}/{count} of v{}", mail.version);
    }
    match left.is_empty() {
        true => taken,
        false => format!("{taken}; left out: {}", left.join(", ")),
    }
}

/// `1 patch`, `2 patches`, `3 replies`.
pub(crate) fn plural(n: usize, one: &str) -> String {
    let many = match one.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if one.ends_with("ch") => format!("{one}es"),
        None => format!("{one}s"),
    };
    format!("{n} {}", if n == 1 { one } else { &many })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/k/f.c b/k/f.c\n--- a/k/f.c\n+++ b/k/f.c\n@@ -1 +1 @@\n-one\n+1\n";

    fn mail(id: &str, day: u32, subject: &str, to: Option<&str>, body: &str) -> String {
        let to = to.map_or(String::new(), |to| format!("In-Reply-To: <{to}>\nReferences: <{to}>\n"));
        format!(
            "From mboxrd@z Thu Jan  1 00:00:00 1970\nFrom: A <a@example.org>\nMessage-Id: <{id}>\n{to}\
             Date: Mon, {day} Jan 2024 10:00:00 +0000\nSubject: {subject}\n\n{body}\n"
        )
    }

    fn chosen(mails: &[String]) -> Result<Chosen, String> {
        choose(read(mails.concat().as_bytes()).unwrap().expect("mails"))
    }

    fn titles(chosen: &Chosen) -> Vec<&str> {
        chosen.mails.iter().map(|mail| mail.title.as_str()).collect()
    }

    #[test]
    fn the_newest_whole_version_is_taken_and_what_is_left_out_is_named() {
        let v1 = [
            mail("c1", 1, "[PATCH 0/2] sched: cover", None, "Two patches.\n"),
            mail("p11", 1, "[PATCH 1/2] sched: old a", Some("c1"), DIFF),
            mail("p12", 1, "[PATCH 2/2] sched: old b", Some("c1"), DIFF),
            mail("r1", 2, "Re: [PATCH 2/2] sched: old b", Some("c1"), &format!("> x\nWhat about\n{DIFF}")),
        ];
        let v2 = [
            mail(
                "p22",
                3,
                "[PATCH v2 2/2] sched: new b",
                Some("c2"),
                &format!("Signed-off-by: A\n---\n f.c | 2\n{DIFF}-- \n2.39\n"),
            ),
            mail("c2", 3, "[PATCH v2 0/2] sched: cover, again", None, "v2: better\n"),
            mail("p21", 3, "[PATCH v2 1/2]\n sched: new\n a", Some("c2"), DIFF),
            mail("p31", 4, "[PATCH v3 1/2] sched: newest a", Some("c2"), DIFF),
        ];
        let all: Vec<String> = v1.iter().chain(&v2).cloned().collect();
        let found = chosen(&all).unwrap();
        assert_eq!(titles(&found), ["sched: newest a", "sched: new b"]);
        assert_eq!(found.title.as_deref(), Some("sched: cover, again"));
        assert_eq!(
            found.words,
            "v2, 2 patches, 1/2 of v3; left out: its cover letter, v1 (2 patches), 1 reply, \
             1 other mail without a patch"
        );
    }

    #[test]
    fn a_patch_that_was_sent_anew_alone_takes_the_place_of_the_older_one() {
        let v1 = [
            mail("c", 1, "[PATCH 0/3] cover", None, "Three patches.\n"),
            mail("p1", 1, "[PATCH 1/3] a", Some("c"), DIFF),
            mail("p2", 1, "[PATCH 2/3] b", Some("c"), DIFF),
            mail("p3", 1, "[PATCH 3/3] c", Some("c"), DIFF),
        ];
        let answer = |version: &str, number: u32, thread: Option<&str>| {
            let tag = format!("[PATCH {version} {number}/3] {version}");
            mail(&format!("{version}{number}"), 2, &tag, thread, DIFF)
        };
        let with = |more: &[String]| {
            let found = chosen(&[v1.as_slice(), more].concat()).unwrap();
            (titles(&found).join(" "), found.words)
        };
        let thread = Some("c");
        let (titles, words) = with(&[answer("v3", 2, thread), answer("v2", 2, thread), answer("v2", 3, thread)]);
        assert_eq!(titles, "a v3 v2");
        assert_eq!(words, "v1, 3 patches, 2/3 of v3, 3/3 of v2; left out: its cover letter");
        // One of another thread is what is there of a series of its own.
        let (titles, words) = with(&[answer("v2", 2, None)]);
        assert_eq!((titles.as_str(), words.ends_with("v2 (1 of 3 patches)")), ("a b c", true), "{words}");
        // Nor does a whole newer version take from an older one.
        let whole: Vec<String> = (1..=3).map(|number| answer("v2", number, thread)).collect();
        assert_eq!(with(&whole).0, "v2 v2 v2");
    }

    #[test]
    fn what_is_missing_of_a_series_is_named() {
        let error = chosen(&[mail("a", 1, "[RFC PATCHv2 3/3] c", None, DIFF)]).unwrap_err();
        assert_eq!(error, "v2 is not whole: 1/3, 2/3 missing");
        let error = chosen(&[mail("a", 1, "[PATCH 2/10000] b", None, DIFF)]).unwrap_err();
        assert!(error.starts_with("v1 is not whole: 1/10000, 3/10000"), "{error}");
        assert!(error.ends_with(", 11/10000 and 9989 more missing"), "{error}");
        let whole = chosen(&[mail("a", 1, "[PATCH 1/4000000000] x", None, DIFF)]).unwrap();
        assert_eq!(whole.words, "v1, 1 patch", "no series is so long: the tag numbers nothing");
        let error = chosen(&[mail("a", 1, "hello", None, "no diff\n")]).unwrap_err();
        assert_eq!(error, "none of its 1 mail is a patch");
    }

    #[test]
    fn series_without_ids_are_told_apart_by_their_numbers() {
        let bare = |tag: &str| format!("From 1 Mon Sep 17 00:00:00 2001\nSubject: [PATCH {tag}] {tag}\n\n{DIFF}\n");
        let tags = ["1/2", "2/2", "1/2", "2/2"];
        let mails: Vec<String> =
            (1..).zip(tags).map(|(n, tag)| bare(tag).replace(&format!("] {tag}"), &format!("] {n}"))).collect();
        let found = chosen(&mails).unwrap();
        assert_eq!(titles(&found), ["3", "4"]);
        assert_eq!(found.words, "v1, 2 patches; left out: v1 (2 patches)");
    }

    #[test]
    fn a_coded_body_is_decoded() {
        let body = "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\nSubject: [PATCH] q\n\n\
            diff --git a/k/f.c b/k/f.c\n--- a/k/f.c\n+++ b/k/f.c\n@@ -1 +1 @@\n-a =3D 1;\n+a =3D =\n2;\n";
        let found = choose(read(body.as_bytes()).unwrap().unwrap()).unwrap();
        assert!(found.mails[0].body.contains("+a = 2;\n"), "{}", found.mails[0].body);
    }

    #[test]
    fn a_plain_diff_is_no_mail() {
        assert_eq!(read(DIFF.as_bytes()).unwrap(), None);
        assert_eq!(read(b"words: of a note\n\nSubject: no\n").unwrap(), None);
    }
}
