//! Completion in shells: of options by their definitions, of machines, workloads, schedulers, features and mails by name.
//!
//! A shell calls the command itself for candidates (clap_complete's environment `COMPLETE`), so that what was built or
//! added last is among them, and the one definition of the command line is all there is.

use std::ffi::OsStr;

use clap::CommandFactory;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use clap_complete::CompleteEnv;
use fairground_fair::{features, PRESETS};
use fairground_lab::published::Mail;
use fairground_linux::build::Kernels;
use fairground_machine::presets;
use fairground_workload::{builtins, Builtin, OptionInfo, OptionKind};

/// The variable of the environment by which a shell asks for candidates.
pub const VARIABLE: &str = "FAIRGROUND_COMPLETE";

/// If a shell asks for candidates: prints them and ends the process.
pub fn answer_shell() {
    CompleteEnv::with_factory(|| with_candidates(crate::Cli::command(), "")).var(VARIABLE).complete();
}

/// What completes a value; it gets what was typed of it.
type Candidates = fn(&str) -> Vec<String>;

/// Arguments by their ids, with what completes them, in all commands.
const COMPLETED: [(&str, Candidates); 7] = [
    ("machine", machines),
    ("workload", workloads),
    ("base", schedulers),
    ("test", schedulers),
    ("sched", schedulers),
    ("ask", schedulers),
    ("mail", mails),
];

/// Those whose name means something else in another command, by the command.
const COMPLETED_IN: [(&str, &str, Candidates); 5] = [
    ("feature show", "name", feature_names),
    ("kernel agree", "name", kernels),
    ("kernel free-run", "name", kernels),
    ("view", "what", machines),
    ("view", "second", workloads),
];

/// Arguments for which a file may stand, too.
const OR_FILES: [&str; 4] = ["machine", "workload", "what", "second"];

/// The command with completion of its values. `path`: the words that lead to it, without the program's.
fn with_candidates(command: clap::Command, path: &str) -> clap::Command {
    let command = command.mut_args(|argument| {
        let id = argument.get_id().as_str().to_owned();
        let of_command = COMPLETED_IN.iter().find(|(command, name, _)| (*command, *name) == (path, &id));
        let of_all = COMPLETED.iter().find(|(name, _)| *name == id).map(|(_, candidates)| *candidates);
        let Some(candidates) = of_command.map(|(.., candidates)| *candidates).or(of_all) else { return argument };
        let with_files = OR_FILES.contains(&id.as_str());
        argument.add(ArgValueCompleter::new(move |word: &OsStr| completed(word, candidates, with_files)))
    });
    command.mut_subcommands(|below| {
        let path = format!("{path} {}", below.get_name());
        with_candidates(below, path.trim_start())
    })
}

fn completed(word: &OsStr, candidates: Candidates, with_files: bool) -> Vec<CompletionCandidate> {
    let typed = word.to_string_lossy();
    let named = candidates(&typed).into_iter().filter(|name| name.starts_with(&*typed)).map(CompletionCandidate::new);
    let files = if with_files { PathCompleter::file().complete(word) } else { Vec::new() };
    named.chain(files).collect()
}

fn machines(_: &str) -> Vec<String> {
    presets().map(str::to_owned).collect()
}

/// Names of built-ins; after one and its colon, its options, of which several may stand.
fn workloads(typed: &str) -> Vec<String> {
    let Some((name, options)) = typed.split_once(':') else {
        return builtins().iter().map(|builtin| builtin.name.to_owned()).collect();
    };
    let Some(builtin) = Builtin::by_name(name) else { return Vec::new() };
    let before = options.rsplit_once(',').map_or(String::new(), |(before, _)| format!("{before},"));
    let option = |option: &OptionInfo| {
        let sign = if matches!(option.kind, OptionKind::Flag) { "" } else { "=" };
        format!("{name}:{before}{}{sign}", option.name)
    };
    builtin.options.iter().map(option).collect()
}

/// Presets, with a `+` or `-` behind one the features, and the kernels that are built.
fn schedulers(typed: &str) -> Vec<String> {
    // Names of features have hyphens too: each sign may be the last.
    let signs = typed.match_indices(['+', '-']).filter(|_| typed.starts_with("fair:"));
    let with_features =
        signs.flat_map(|(at, _)| feature_names("").into_iter().map(move |name| format!("{}{name}", &typed[..=at])));
    let presets = PRESETS.iter().map(|preset| format!("fair:{}", preset.name));
    presets.chain(with_features).chain(kernels("").into_iter().map(|name| format!("linux:{name}"))).collect()
}

fn feature_names(_: &str) -> Vec<String> {
    features().iter().map(|feature| feature.name.to_owned()).collect()
}

fn mails(_: &str) -> Vec<String> {
    Mail::known().map(str::to_owned).collect()
}

fn kernels(_: &str) -> Vec<String> {
    let listed = Kernels::user().ok().and_then(|kernels| kernels.list().ok()).unwrap_or_default();
    listed.into_iter().flatten().map(|kernel| kernel.name).collect()
}
