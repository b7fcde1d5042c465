//! What results say of the program and the command that made them.

use std::ffi::OsString;
use std::sync::OnceLock;

use fairground_lab::provenance::{command_line, MadeBy};

use crate::project::{option_of, Words};

/// Version and commit, as `--version` prints them.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("FAIRGROUND_COMMIT"), ")");

/// Options on which no figure depends, and whether a value follows. The command in a result is without them, so that the
/// result does not depend on them either.
const WITHOUT_EFFECT: [(&str, bool); 25] = [
    ("--jobs", true),
    ("--dask", true),
    ("--retry", false),
    ("--status", false),
    ("--report", true),
    ("--store", true),
    ("--no-store", false),
    ("--output", true),
    ("-o", true),
    ("--traces", true),
    ("--dir", true),
    ("--check-determinism", false),
    ("--in-worker", false),
    ("--trace", true),
    ("--trace-format", true),
    ("--why", false),
    ("--energy-every", true),
    ("--util-events", false),
    ("--rtapp-marks", false),
    ("--rtapp-logs", true),
    ("--allow-library", false),
    ("--quiet", false),
    ("-q", false),
    ("--color", true),
    ("--legend", false),
];

/// The command, completed from the project file.
static WORDS: OnceLock<Words> = OnceLock::new();

/// Keeps the command for [`made_by`] and [`taken_options`].
pub fn set_words(words: Words) {
    let _ = WORDS.set(words);
}

/// The options among these words of an error that nobody typed: the project file has them.
pub fn taken_options(error: &str) -> Vec<String> {
    let taken = WORDS.get().map_or(&[][..], |words| &words.taken);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let named: Vec<&str> = error.split(|c| !is_name(c)).collect();
    taken.iter().map(|key| option_of(key)).filter(|option| named.contains(&option.as_str())).collect()
}

/// This program, and the command that it was started with. What the project file has set is among its words, and named
/// behind it as a comment of the shell.
pub fn made_by() -> MadeBy {
    let command = WORDS.get().map(|Words { words, taken }| {
        let line = command_line(&with_effect(words.iter().skip(1).cloned()));
        let shown: Vec<&str> =
            taken.iter().map(String::as_str).filter(|key| !WITHOUT_EFFECT_KEYS.contains(key)).collect();
        match shown.is_empty() {
            true => line,
            false => format!("{line} # {} from fairground.toml", shown.join(", ")),
        }
    });
    MadeBy::new(env!("CARGO_PKG_VERSION"), env!("FAIRGROUND_COMMIT"), command)
}

/// Keys of the project file on which no figure depends.
const WITHOUT_EFFECT_KEYS: [&str; 6] = ["jobs", "store", "color", "quiet", "legend", "check_determinism"];

/// The words of a command after its program, without options on which no figure depends.
fn with_effect(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut kept = vec![OsString::from("fairground")];
    let mut words = words;
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        let (name, value) = text.split_once('=').map_or((&*text, None), |(name, value)| (name, Some(value)));
        match WITHOUT_EFFECT.iter().find(|(known, _)| *known == name) {
            Some((_, true)) if value.is_none() => _ = words.next(),
            Some(_) => {}
            None => kept.push(word),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn kept(command: &str) -> String {
        let words = with_effect(command.split_whitespace().map(OsString::from));
        words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn options_without_effect_are_left_out() {
        assert_eq!(
            kept("compare a b --jobs 3 --base x --no-store --test y --output=f"),
            "fairground compare a b --base x --test y"
        );
        assert_eq!(kept("run a b --trace t.txt --why --seed 2"), "fairground run a b --seed 2");
        assert_eq!(kept("run a b --seed 2 --jobs"), "fairground run a b --seed 2");
    }

    #[test]
    fn they_are_options_of_the_command() {
        let all = crate::Cli::command();
        let takes = |name: &str| {
            let of = |command: &clap::Command| {
                let option = command.get_arguments().find(|arg| arg.get_long() == Some(&name[2..]))?;
                Some(option.get_action().takes_values())
            };
            std::iter::once(&all).chain(all.get_subcommands()).find_map(of)
        };
        for (name, value) in WITHOUT_EFFECT.into_iter().filter(|(name, _)| name.starts_with("--")) {
            assert_eq!(takes(name), Some(value), "{name}");
        }
    }
}
