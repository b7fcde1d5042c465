//! The project file `fairground.toml`: defaults of options, taken from the current directory or the nearest one above it.
//!
//! What the file sets and the command line does not is put into the words of the command, before they are parsed: the one
//! definition of the options checks the values, and the command in each result names them. Only options that choose what is
//! run and how it is shown are taken: a file that lies in some directory must not name files to write, nor code to load.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Arg;
use fairground_machine::{nearest, suggest};
use miette::{Diagnostic, NamedSource, SourceSpan};
use thiserror::Error;
use toml_edit::{ImDocument, Item, TableLike, Value};

/// Name of the file.
const FILE: &str = "fairground.toml";

/// Longest file that is read, bytes.
const LEN_MAX: u64 = 1 << 20;

/// Keys outside of tables: [`SETTINGS`] for [`SIMULATIONS`], the others for all commands that have the option.
const COMMON: [&str; 12] = [
    "machine",
    "sched",
    "hz",
    "governor",
    "idle_governor",
    "idle_limit",
    "ambient",
    "sysctl",
    "jobs",
    "store",
    "color",
    "quiet",
];

/// Keys that say what is simulated.
const SETTINGS: [&str; 8] = ["machine", "sched", "hz", "governor", "idle_governor", "idle_limit", "ambient", "sysctl"];

/// Commands that take [`SETTINGS`] from outside of their tables. Others have them from a trace, a kernel or this host, and a
/// default of the project must not replace those unseen.
const SIMULATIONS: [&str; 4] = ["run", "compare", "review", "bisect"];

/// Further keys of the table of a command. What they may be differs between commands.
const OWN: [&str; 15] = [
    "workload",
    "base",
    "test",
    "seeds",
    "seed",
    "until",
    "doubt",
    "draw",
    "format",
    "metrics",
    "fail_if",
    "legend",
    "rounds",
    "by",
    "check_determinism",
];

/// Keys, and the options that replace them when they are typed: what `compare` refuses together. In one file they are the
/// file's mistake.
const REPLACED_BY: [(&str, &[&str]); 4] =
    [("doubt", &["draw"]), ("draw", &["doubt", "screen"]), ("seeds", &["until"]), ("until", &["seeds"])];

/// What is wrong with a project file.
#[derive(Debug, Error, Diagnostic)]
pub enum ProjectError {
    /// It cannot be read.
    #[error("cannot read {file}: {cause}")]
    Unreadable {
        /// The path of the file.
        file: String,
        /// What the system says.
        cause: String,
    },
    /// It is not TOML, has an unknown key, or a value of another type.
    #[error("{message}")]
    #[diagnostic(help("{help}"))]
    Content {
        /// The fault, in a sentence that names file and key.
        message: Box<str>,
        /// The keys or the type that would do, with the nearest name.
        help: Box<str>,
        /// Name and text of the file, for the excerpt.
        #[source_code]
        text: NamedSource<String>,
        /// The key or value in that text.
        #[label("here")]
        at: SourceSpan,
    },
}

/// The defaults of a command.
#[derive(Debug, Default)]
pub struct Defaults {
    /// Options as words, with their keys.
    options: Vec<(String, Vec<OsString>)>,
    machine: Option<OsString>,
    workload: Option<OsString>,
}

/// The words of a command, completed.
#[derive(Clone, Debug, PartialEq)]
pub struct Words {
    /// All words, that of the program first.
    pub words: Vec<OsString>,
    /// Keys of the project file that are among them.
    pub taken: Vec<String>,
}

/// The project file of a directory: its own, else that of the nearest directory above.
pub fn find(directory: &Path) -> Option<PathBuf> {
    directory.ancestors().map(|directory| directory.join(FILE)).find(|file| file.is_file())
}

/// Whether a command does the same with any project file: help, the version, and what undoes changes of this machine must
/// not fail for what some file says.
pub fn is_needless(words: &[OsString]) -> bool {
    let is_help = words.get(1).is_some_and(|word| word == "help");
    let mut options = words.iter().skip(1).take_while(|word| *word != "--");
    is_help || options.any(|word| ["--help", "-h", "--version", "-V", "--restore"].iter().any(|option| word == option))
}

/// The name of a command's subcommand, how many of `words` lead to it, and its definition; `None` if there is none.
fn subcommand<'a>(words: &[OsString], mut command: &'a clap::Command) -> Option<(String, usize, &'a clap::Command)> {
    let mut found: Option<(String, usize, &clap::Command)> = None;
    for (at, word) in words.iter().enumerate().skip(1) {
        let word = word.to_string_lossy();
        let Some(next) = command.find_subcommand(&*word) else {
            // Options of the program may stand in front, `--color always` with a word of its own.
            if found.is_none() && (word.starts_with('-') || words[at - 1] == "--color") {
                continue;
            }
            break;
        };
        let name = found.map_or_else(|| next.get_name().to_owned(), |(name, ..)| name);
        (command, found) = (next, Some((name, at + 1, next)));
    }
    found
}

/// The options of a command and of the program that are among its words, by their long or short names.
fn typed<'a>(words: &[OsString], command: &'a clap::Command, program: &'a clap::Command) -> Vec<&'a Arg> {
    let all = || command.get_arguments().chain(program.get_arguments());
    let mut found = Vec::new();
    for word in words.iter().skip(1).take_while(|word| *word != "--") {
        let word = word.to_string_lossy();
        if let Some(long) = word.strip_prefix("--") {
            let name = long.split_once('=').map_or(long, |(name, _)| name);
            found.extend(all().find(|argument| argument.get_long() == Some(name)));
        } else if let Some(short) = word.strip_prefix('-') {
            for letter in short.chars() {
                let argument = all().find(|argument| argument.get_short() == Some(letter));
                found.extend(argument);
                // The rest of the word is its value.
                if argument.is_none_or(|argument| argument.get_action().takes_values()) {
                    break;
                }
            }
        }
    }
    found
}

impl Defaults {
    /// What a file sets for the command of `words`. Checks all of the file.
    ///
    /// # Errors
    /// If the file cannot be read, or has a key that no command has or of another type.
    pub fn read(file: &Path, words: &[OsString], program: &clap::Command) -> Result<Defaults, ProjectError> {
        let shown = file.display().to_string();
        let unreadable = |cause: String| ProjectError::Unreadable { file: shown.clone(), cause };
        let size = std::fs::metadata(file).map_err(|e| unreadable(e.to_string()))?.len();
        if size > LEN_MAX {
            return Err(unreadable(format!("it has {size} bytes, expected at most {LEN_MAX}")));
        }
        let text = std::fs::read_to_string(file).map_err(|e| unreadable(e.to_string()))?;
        let reader = Reader { file, name: FILE.to_owned(), text: &text };
        let document = ImDocument::parse(text.as_str())
            .map_err(|e| reader.fault(e.message().to_owned(), "expected TOML", e.span()))?;
        reader.defaults(document.as_table(), words, program)
    }

    /// The words with the options that they lack, without those that an option among them excludes.
    pub fn complete(&self, words: &[OsString], program: &clap::Command) -> Words {
        let Some((_, at, command)) = subcommand(words, program) else {
            return Words { words: words.to_vec(), taken: Vec::new() };
        };
        let given = typed(words, command, program);
        let (mut words, mut taken) = (words.to_vec(), Vec::new());
        let excludes = |a: &Arg, b: &Arg| command.get_arg_conflicts_with(a).iter().any(|c| c.get_id() == b.get_id());
        let is_free = |key: &str| {
            let mut all = command.get_arguments().chain(program.get_arguments());
            let default = all.find(|argument| argument.get_long() == Some(&option_of(key)[2..]));
            let replacing = REPLACED_BY.iter().filter(|(replaced, _)| *replaced == key).flat_map(|(_, by)| by.iter());
            default.is_some_and(|default| {
                !given.iter().any(|given| {
                    given.get_id() == default.get_id()
                        || replacing.clone().any(|by| given.get_long() == Some(by))
                        || given.is_exclusive_set()
                        || excludes(default, given)
                        || excludes(given, default)
                })
            })
        };
        let missing = self.options.iter().filter(|(key, added)| !added.is_empty() && is_free(key));
        let mut end = at;
        for (key, added) in missing {
            words.splice(end..end, added.iter().cloned());
            end += added.len();
            taken.push(key.clone());
        }
        Words { words, taken }
    }

    /// The same words with the machine in front of the other arguments, then with machine and workload: to be tried if
    /// arguments are missing.
    pub fn with_arguments(&self, completed: &Words, program: &clap::Command) -> Vec<Words> {
        let Some((_, at, _)) = subcommand(&completed.words, program) else { return Vec::new() };
        let with = |arguments: &[(&str, &Option<OsString>)]| {
            let mut all = completed.clone();
            for (n, (key, value)) in arguments.iter().enumerate() {
                all.words.insert(at + n, (*value).clone()?);
                all.taken.insert(n, (*key).to_owned());
            }
            Some(all)
        };
        let (machine, workload) = (("machine", &self.machine), ("workload", &self.workload));
        [with(&[machine]), with(&[machine, workload])].into_iter().flatten().collect()
    }
}

/// The option of a key: `--idle-governor` of `idle_governor`.
pub fn option_of(key: &str) -> String {
    format!("--{}", key.replace('_', "-"))
}

/// A project file on its way to options: what errors have to name.
struct Reader<'a> {
    file: &'a Path,
    name: String,
    text: &'a str,
}

type Span = Option<std::ops::Range<usize>>;

impl Reader<'_> {
    fn fault(&self, message: String, help: impl Into<String>, at: Span) -> ProjectError {
        let at = at.unwrap_or(0..0);
        let line = self.text[..at.start.min(self.text.len())].matches('\n').count() + 1;
        ProjectError::Content {
            message: format!("{}:{line}: {message}", self.file.display()).into(),
            help: help.into().into(),
            text: NamedSource::new(&self.name, self.text.to_owned()),
            at: at.into(),
        }
    }

    fn defaults(
        &self,
        top: &dyn TableLike,
        words: &[OsString],
        program: &clap::Command,
    ) -> Result<Defaults, ProjectError> {
        let current = subcommand(words, program);
        let current_name = current.as_ref().map(|(name, ..)| name.as_str());
        let mut found = Defaults::default();
        for is_own in [false, true] {
            for (key, item) in top.iter() {
                match (item.as_table_like(), is_own) {
                    (None, false) => {
                        self.known(key, &COMMON, top, program)?;
                        let is_taken =
                            !SETTINGS.contains(&key) || current_name.is_some_and(|name| SIMULATIONS.contains(&name));
                        let target = current.as_ref().map(|(.., command)| *command).filter(|_| is_taken);
                        self.set(&mut found, (key, item), target)?;
                    }
                    (Some(table), true) => {
                        let command = program.find_subcommand(key);
                        if command.is_none() && COMMON.contains(&key) {
                            self.set(&mut found, (key, item), None)?;
                        }
                        let command = command.ok_or_else(|| self.unknown(key, &COMMON, top, program))?;
                        for (key, item) in table.iter() {
                            self.known(key, &[&COMMON[..], &OWN].concat(), table, program)?;
                            let takes = |key: &str| {
                                let mut all = std::iter::once(command).chain(command.get_subcommands());
                                all.any(|command| has_option(command, key) || is_argument(command, key))
                            };
                            if !takes(key) && !["color", "quiet"].contains(&key) {
                                let all = [&COMMON[..], &OWN].concat();
                                let has: Vec<&str> = all.into_iter().filter(|key| takes(key)).collect();
                                let message = format!("`{}` has no option for the key `{key}`", command.get_name());
                                let help = suggest(key, has);
                                return Err(self.fault(message, help, span_of_key(table, key)));
                            }
                            let is_current = current_name == Some(command.get_name());
                            let target = current.as_ref().map(|(.., command)| *command).filter(|_| is_current);
                            self.set(&mut found, (key, item), target)?;
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(found)
    }

    fn known(
        &self,
        key: &str,
        known: &[&str],
        table: &dyn TableLike,
        program: &clap::Command,
    ) -> Result<(), ProjectError> {
        if known.contains(&key) {
            return Ok(());
        }
        Err(self.unknown(key, known, table, program))
    }

    fn unknown(&self, key: &str, known: &[&str], table: &dyn TableLike, program: &clap::Command) -> ProjectError {
        let at = span_of_key(table, key);
        if OWN.contains(&key) {
            let help = format!("write it in the table of a command: [compare], then {key} = ...");
            return self.fault(format!("the key `{key}` differs between commands"), help, at);
        }
        let commands = program.get_subcommands().map(clap::Command::get_name);
        let names: Vec<&str> = known.iter().copied().chain(commands.filter(|_| known.len() == COMMON.len())).collect();
        let help = match nearest(key, names.iter().copied()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("expected {}, or a table with the name of a command", known.join(", ")),
        };
        self.fault(format!("unknown key `{key}`"), help, at)
    }

    /// Keeps a value for the command that is run, if it takes it.
    fn set(
        &self,
        found: &mut Defaults,
        (key, item): (&str, &Item),
        command: Option<&clap::Command>,
    ) -> Result<(), ProjectError> {
        let values = match item.as_value() {
            Some(Value::Array(array)) => array.iter().collect(),
            Some(value) => vec![value],
            None => Vec::new(),
        };
        let wrong = |expected: &str| {
            self.fault(format!("`{key}` has a value of another type"), format!("expected {expected}"), item.span())
        };
        if values.is_empty() && !matches!(item.as_value(), Some(Value::Array(_))) {
            return Err(wrong("a text, a number, or a list of them"));
        }
        let is_flag = ["quiet", "legend", "check_determinism"].contains(&key);
        let option = option_of(key);
        let mut added = Vec::new();
        for value in values {
            match (value, is_flag) {
                (Value::Boolean(on), true) => added.extend(on.value().then(|| OsString::from(&option))),
                (_, true) => return Err(wrong("true or false")),
                (Value::String(text), false) => {
                    let text = self.located(key, text.value())?;
                    added.push(format!("{option}={text}").into());
                }
                (Value::Integer(number), false) => added.push(format!("{option}={}", number.value()).into()),
                (Value::Float(number), false) => added.push(format!("{option}={}", number.value()).into()),
                _ => return Err(wrong("a text or a number")),
            }
        }
        let Some(command) = command else { return Ok(()) };
        if is_argument(command, key) {
            let text = added.first().map(|word: &OsString| word.to_string_lossy()[option.len() + 1..].into());
            *(if key == "machine" { &mut found.machine } else { &mut found.workload }) = text;
        } else if has_option(command, key) || ["color", "quiet"].contains(&key) {
            found.options.retain(|(other, _)| other != key);
            found.options.push((key.to_owned(), added));
        }
        Ok(())
    }

    /// A path within the project as the current directory sees it; other text as it is. `store` must be within.
    fn located(&self, key: &str, text: &str) -> Result<String, ProjectError> {
        let project = self.file.parent().unwrap_or(Path::new(""));
        match key {
            "store" => {
                let inside = Path::new(text).components().all(|part| matches!(part, std::path::Component::Normal(_)));
                if !inside {
                    let help = "a project keeps its results in a directory of its own: store = \"results\"";
                    let at = self.text.find(text).map(|at| at..at + text.len());
                    return Err(self.fault(format!("`store` is {text:?}, outside of the project"), help, at));
                }
                Ok(project.join(text).display().to_string())
            }
            "machine" | "workload" if !Path::new(text).exists() && project.join(text).is_file() => {
                Ok(project.join(text).display().to_string())
            }
            _ => Ok(text.to_owned()),
        }
    }
}

fn span_of_key(table: &dyn TableLike, key: &str) -> Span {
    table.get_key_value(key).and_then(|(key, _)| key.span())
}

fn has_option(command: &clap::Command, key: &str) -> bool {
    let option = option_of(key);
    command.get_arguments().any(|argument| argument.get_long() == Some(&option[2..]))
}

/// Whether a command takes the machine or the workload as an argument of its own.
fn is_argument(command: &clap::Command, key: &str) -> bool {
    ["machine", "workload"].contains(&key) && command.get_positionals().any(|argument| argument.get_id() == key)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn defaults(text: &str, line: &str) -> Result<Defaults, ProjectError> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(FILE);
        std::fs::write(&file, text).unwrap();
        Defaults::read(&file, &words(line), &crate::Cli::command())
    }

    fn completed(text: &str, line: &str) -> String {
        let Words { words: all, taken } = defaults(text, line).unwrap().complete(&words(line), &crate::Cli::command());
        let all: Vec<String> = all.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        format!("{} # {}", all.join(" "), taken.join(" "))
    }

    const TEXT: &str = "machine = 'hikey960'\ngovernor = 'schedutil'\nhz = 1000\nquiet = true\n[compare]\nseeds = '9-16'\ntest = ['fair:v6.1', 'fair:v6.12']\nhz = 250\n";

    #[test]
    fn a_command_gets_what_it_has_and_lacks() {
        assert_eq!(
            completed(TEXT, "fairground run a b --hz 100"),
            "fairground run --governor=schedutil --quiet a b --hz 100 # governor quiet"
        );
        assert_eq!(
            completed(TEXT, "fairground --color always compare a b"),
            "fairground --color always compare --governor=schedutil --quiet --seeds=9-16 --test=fair:v6.1 --test=fair:v6.12 \
             --hz=250 a b # governor quiet seeds test hz"
        );
        assert_eq!(completed(TEXT, "fairground machine list"), "fairground machine list --quiet # quiet");
        assert_eq!(completed(TEXT, "fairground --version"), "fairground --version # ");
        assert_eq!(completed("quiet = false", "fairground run a b"), "fairground run a b # ");
    }

    #[test]
    fn what_is_typed_excludes_defaults() {
        let text = "store = 'results'\nquiet = true\njobs = 2\n[compare]\nseeds = 4\n";
        for (line, taken) in [
            ("compare a b --no-store", "quiet jobs seeds"),
            ("compare a b -q --store=x", "jobs seeds"),
            ("-q compare a b --no-store --jobs 3", "seeds"),
            ("compare a b -- --no-store -q", "store quiet jobs seeds"),
            ("sweep f --check", "store quiet"),
            ("sweep f --status", "store quiet"),
            ("sweep f --dask tcp://x", "store quiet"),
            ("sweep f -q", "store jobs"),
            ("validate --restore", ""),
            ("compare a b --until 1", "store quiet jobs"),
        ] {
            let line = format!("fairground {line}");
            let completed = completed(text, &line);
            let mut keys: Vec<&str> = completed.rsplit_once("# ").unwrap().1.split_whitespace().collect();
            let mut expected: Vec<&str> = taken.split_whitespace().collect();
            keys.sort_unstable();
            expected.sort_unstable();
            assert_eq!(keys, expected, "{line}");
        }
    }

    #[test]
    fn what_compare_refuses_beside_a_typed_option_is_left_out() {
        let taken = |text: &str, line: &str| completed(text, line).rsplit_once("# ").unwrap().1.to_owned();
        assert_eq!(taken("[compare]\ndoubt = 20\nseeds = 4\n", "fairground compare a b --draw=3"), "seeds");
        assert_eq!(taken("[compare]\ndraw = 2\nlegend = true\n", "fairground compare a b --screen"), "legend");
        assert_eq!(taken("[compare]\nuntil = 1\n", "fairground compare a b --seeds 9-16"), "");
        assert_eq!(taken("[compare]\nuntil = 1\nseeds = 4\n", "fairground compare a b"), "until seeds");
    }

    /// What a trace, a kernel or this host says is replaced by the table of the command alone.
    #[test]
    fn settings_of_the_project_are_for_simulations() {
        let all = "machine = 'hikey'\nsched = 'fair:v6.1'\nhz = 1000\ngovernor = 'schedutil'\njobs = 2\n";
        for line in ["import t", "replay t", "whatif t", "stats residency t", "play w", "kernel agree k", "live start"]
        {
            let line = format!("fairground {line}");
            let found = defaults(all, &line).unwrap();
            assert!(found.options.iter().all(|(key, _)| key == "jobs"), "{line}: {:?}", found.options);
            assert_eq!((found.machine, found.workload), (None, None), "{line}");
        }
        let own = format!("{all}[stats]\nmachine = 'pixel6'\n[whatif]\nhz = 250\n");
        let [stats, whatif] =
            ["stats residency", "whatif"].map(|command| completed(&own, &format!("fairground {command} t")));
        assert_eq!(stats, "fairground stats residency --machine=pixel6 t # machine");
        assert_eq!(whatif, "fairground whatif --hz=250 t # hz");
    }

    #[test]
    fn the_machine_stands_in_front_of_other_arguments() {
        let line = words("fairground compare sched-pipe");
        let program = crate::Cli::command();
        let found =
            defaults("machine = 'hikey960'\n[compare]\nworkload = 'hackbench'\n", "fairground compare sched-pipe")
                .unwrap();
        let tried = found.with_arguments(&found.complete(&line, &program), &program);
        let tried: Vec<Vec<OsString>> = tried.into_iter().map(|words| words.words).collect();
        assert_eq!(
            tried,
            [
                words("fairground compare hikey960 sched-pipe"),
                words("fairground compare hikey960 hackbench sched-pipe")
            ]
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_line_and_nearest_key() {
        let fault = |text: &str| {
            let error = defaults(text, "fairground run a b").unwrap_err();
            let help = error.help().map(|help| help.to_string()).unwrap_or_default();
            let message = error.to_string();
            format!("{} | {help}", message.split_once(FILE).unwrap().1)
        };
        assert_eq!(fault("hz = 100\ngovernr = 'x'\n"), ":2: unknown key `governr` | did you mean `governor`?");
        assert_eq!(fault("[comprae]\n"), ":1: unknown key `comprae` | did you mean `compare`?");
        assert_eq!(fault("[compare]\nsedes = 3\n"), ":2: unknown key `sedes` | did you mean `seeds`?");
        assert!(fault("seeds = 3\n").contains("differs between commands | write it in the table of a command"));
        assert!(fault("[stats]\nseeds = 3\n").starts_with(":2: `stats` has no option for the key `seeds`"));
        assert_eq!(fault("quiet = 'yes'\n"), ":1: `quiet` has a value of another type | expected true or false");
        assert_eq!(fault("hz = { a = 1 }\n"), ":1: `hz` has a value of another type | expected a text or a number");
        assert!(fault("hz = 1970-01-01\n").contains("another type"));
        assert!(fault("hz = \n").contains("expected TOML"));
        for harmful in
            ["output = 'x'", "trace = 'x'", "allow_library = true", "[run]\ntrace = 'x'", "[run]\nrtapp_logs = 'x'"]
        {
            assert!(fault(harmful).contains("unknown key"), "{harmful}");
        }
        for outside in ["/tmp/x", "../x", "a/../../x"] {
            assert!(fault(&format!("store = '{outside}'")).contains("outside of the project"), "{outside}");
        }
    }

    /// Each key is an option or an argument of some command.
    #[test]
    fn keys_are_options() {
        let program = crate::Cli::command();
        for key in COMMON.iter().chain(&OWN) {
            let all = || program.get_subcommands().flat_map(|c| std::iter::once(c).chain(c.get_subcommands()));
            let is_known = has_option(&program, key) || all().any(|c| has_option(c, key) || is_argument(c, key));
            assert!(is_known, "{key}");
        }
    }
}
