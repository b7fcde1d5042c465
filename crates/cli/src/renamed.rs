//! Renamed options: the old spelling is refused with an error that names the new one.

/// An option that another command or option has replaced.
struct RenamedOption {
    /// The words of the command that had it.
    command: &'static [&'static str],
    /// The old spelling, with its dashes.
    option: &'static str,
    /// The command line that does the same today.
    now: &'static str,
}

const RENAMED: [RenamedOption; 11] = [
    RenamedOption { command: &["sweep"], option: "--look", now: "fairground sweep FILE --status" },
    RenamedOption { command: &["explain"], option: "--trace", now: "fairground whatif TRACE" },
    RenamedOption { command: &["explain"], option: "--diff", now: "fairground diff BASE TEST" },
    RenamedOption { command: &["explain"], option: "--machine", now: "fairground whatif TRACE --machine MACHINE" },
    RenamedOption { command: &["explain"], option: "--sched", now: "fairground whatif TRACE --sched fair:SPEC" },
    RenamedOption { command: &["explain"], option: "--governor", now: "fairground whatif TRACE --governor GOVERNOR" },
    RenamedOption { command: &["explain"], option: "--hz", now: "fairground whatif TRACE --hz HZ" },
    RenamedOption { command: &["explain"], option: "--nth", now: "fairground whatif TRACE --nth N" },
    RenamedOption { command: &["compare"], option: "--trace", now: "fairground replay RECORDING" },
    RenamedOption { command: &["kernel", "agree"], option: "--free", now: "fairground kernel free-run NAME" },
    RenamedOption {
        command: &["machine", "capture"],
        option: "--out",
        now: "fairground machine capture --output FILE",
    },
];

/// Kinds of statistics. Earlier versions took the kind after the file.
const KINDS: [&str; 6] = ["latency", "residency", "frequency", "migrations", "energy", "uclamp"];

/// The error for arguments that an earlier version accepted; `None` for others. `words`: without the program's name.
pub fn replacement(words: &[String]) -> Option<String> {
    let is = |word: &String, option: &str| {
        word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    };
    let found = RENAMED.iter().find(|renamed| {
        let begins = words.len() > renamed.command.len() && words.iter().zip(renamed.command).all(|(a, b)| a == b);
        begins && words.iter().any(|word| is(word, renamed.option))
    });
    if let Some(RenamedOption { command, option, now }) = found {
        return Some(format!("`fairground {} {option}` is `{now}` now", command.join(" ")));
    }
    match words {
        [stats, file, rest @ ..] if stats == "stats" && !file.starts_with('-') && !KINDS.contains(&file.as_str()) => {
            let kind = rest.iter().find(|word| KINDS.contains(&word.as_str())).map_or("latency", String::as_str);
            Some(format!("the kind comes before the file: `fairground stats {kind} {file}`"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &str) -> Option<String> {
        replacement(&words.split(' ').map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn old_spellings_name_the_new_ones() {
        let new = |words: &str| said(words).unwrap_or_default();
        assert!(new("explain --trace t.txt --machine m.toml").contains("`fairground whatif TRACE`"));
        assert!(new("compare --trace t.txt --test fair:v5.9").contains("`fairground replay RECORDING`"));
        assert!(new("explain --diff=a b").contains("`fairground diff BASE TEST`"));
        assert!(new("kernel agree base --free --seeds 2").contains("`fairground kernel free-run NAME`"));
        assert!(new("machine capture --out m.toml").contains("--output"));
        assert!(new("stats t.txt residency --machine hikey").contains("`fairground stats residency t.txt`"));
        assert!(new("stats t.txt").contains("`fairground stats latency t.txt`"));
    }

    #[test]
    fn other_mistakes_are_not_taken_for_them() {
        for words in
            ["explain --tarce t.txt", "run hikey960 sched-pipe --trace t.txt --nope", "stats latency", "compare"]
        {
            assert_eq!(said(words), None, "{words}");
        }
    }
}
