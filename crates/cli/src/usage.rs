//! Errors in the words of a command, in the style of all other errors: what is wrong, then help.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use fairground_machine::nearest;
use miette::Diagnostic;
use thiserror::Error;

use crate::renamed;

/// What is wrong with the words of a command.
#[derive(Debug, Error, Diagnostic)]
#[error("{message}")]
#[diagnostic(help("{help}"))]
pub struct UsageError {
    message: String,
    help: String,
}

/// What the standard library's parsers say, and what a user is told instead.
const EXPECTED: [(&str, &str); 7] = [
    ("invalid digit found in string", "expected a whole number"),
    ("cannot parse integer from empty string", "expected a whole number"),
    ("number would be zero for non-zero type", "expected a whole number, 1 or more"),
    ("number too large to fit in target type", "the number is too large"),
    ("number too small to fit in target type", "the number is too small"),
    ("invalid float literal", "expected a number"),
    ("cannot parse float from empty string", "expected a number"),
];

impl UsageError {
    /// From clap's error about `words`, which are without the program's name. clap has its parts as text only: paragraphs,
    /// the first with the message, others with a tip or the usage.
    pub fn new(error: &clap::Error, words: &[String]) -> UsageError {
        if let Some(replacement) = renamed::replacement(words) {
            return UsageError { message: replacement, help: "the option has another place now".into() };
        }
        let plain = error.render().to_string();
        let mut paragraphs = plain.trim_end().split("\n\n");
        let (mut message, mut help) = (String::new(), Vec::new());
        for line in paragraphs.next().unwrap_or_default().lines().map(str::trim) {
            match line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                Some(expected) => help.push(expected.replace("possible values: ", "expected one of ")),
                None if message.is_empty() => message = line.trim_start_matches("error: ").to_owned(),
                None if message.ends_with(':') => message = format!("{message} {line}"),
                None => message = format!("{message}, {line}"),
            }
        }
        let meant = meant_value(error);
        help.extend(meant.iter().map(|value| format!("did you mean `{value}`?")));
        // clap takes `yaml` for `amd`.
        let is_ours = |paragraph: &str| paragraph.trim_start().starts_with("tip: a similar value exists");
        let is_left_out = |paragraph: &&str| paragraph.starts_with("For more information") || is_ours(paragraph);
        for paragraph in paragraphs.filter(|paragraph| !is_left_out(paragraph)) {
            help.extend(paragraph.lines().map(|line| {
                let line = line.trim();
                line.strip_prefix("tip: ").unwrap_or(line).replacen("Usage: ", "usage: ", 1)
            }));
        }
        for (found, expected) in EXPECTED {
            message = message.replace(found, expected);
        }
        if help.is_empty() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            help.push("--help lists all options".into());
        }
        UsageError { message: without_range(&message), help: help.join("\n") }
    }
}

/// The value that is meant instead of one that is none of an option's.
fn meant_value(error: &clap::Error) -> Option<String> {
    let (Some(ContextValue::String(value)), Some(ContextValue::Strings(valid))) =
        (error.get(ContextKind::InvalidValue), error.get(ContextKind::ValidValue))
    else {
        return None;
    };
    nearest(value, valid.iter().map(String::as_str)).map(str::to_owned)
}

/// The message with `V is not in A..=B` of clap in words: `expected A to B`.
fn without_range(message: &str) -> String {
    let Some((before, range)) = message.split_once(" is not in ") else { return message.to_owned() };
    let Some((head, _)) = before.rsplit_once(": ") else { return message.to_owned() };
    match range.split_once("..").map(|(from, to)| (from, to.trim_start_matches('='))) {
        Some((from, "" | "18446744073709551615")) => format!("{head}: expected {from} or more"),
        Some((from, to)) => format!("{head}: expected {from} to {to}"),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn said(words: &str) -> [String; 2] {
        let words: Vec<String> = words.split_whitespace().map(String::from).collect();
        let all = std::iter::once("fairground".to_owned()).chain(words.clone());
        let error = crate::Cli::try_parse_from(all).map(drop).unwrap_err();
        let UsageError { message, help } = UsageError::new(&error, &words);
        [message, help]
    }

    #[test]
    fn messages_say_what_was_expected() {
        let compare = |rest: &str| said(&format!("compare hikey960 sched-pipe {rest}"));
        assert_eq!(compare("--jobs 0")[0], "invalid value '0' for '--jobs <N>': expected a whole number, 1 or more");
        assert_eq!(compare("--doubt 1000000")[0], "invalid value '1000000' for '--doubt <N>': expected 0 to 100000");
        assert_eq!(said("whatif t --nth 0")[0], "invalid value '0' for '--nth <N>': expected 1 or more");
        assert_eq!(compare("--doubt x")[0], "invalid value 'x' for '--doubt <N>': expected a whole number");
        let [message, help] = said("stats latency f --by cpus");
        assert_eq!(message, "invalid value 'cpus' for '--by <BY>'");
        assert_eq!(help, "expected one of comm, pid, cpu\ndid you mean `cpu`?");
        assert!(!compare("--format yaml").concat().contains("did you mean"), "{:?}", compare("--format yaml"));
        let [message, help] = said("run hikey960");
        assert_eq!(message, "the following required arguments were not provided: --sched <SCHED>, <WORKLOAD>");
        assert!(help.starts_with("usage: fairground run"), "{help}");
        let [message, help] = said("comprae");
        assert_eq!(message, "unrecognized subcommand 'comprae'");
        assert!(help.contains("'compare'\nusage: fairground"), "{help}");
        assert!(said("explain f --trace t")[0].contains("fairground whatif TRACE"));
    }
}
