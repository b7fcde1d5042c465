//! `fairground completions` and `fairground man`: what a package puts beside the command, from its one definition.

use std::path::PathBuf;

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::env::Shells;
use clap_mangen::Man;
use miette::Diagnostic;
use thiserror::Error;

use crate::complete::VARIABLE;
use crate::error::{run_failed, End, Failure};
use crate::output::print;

/// Shells for which there are completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// eval "$(fairground completions bash)"
    Bash,
    /// source <(fairground completions zsh)
    Zsh,
    /// fairground completions fish | source
    Fish,
}

/// Prints the script of a shell.
#[derive(Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub fn run(self) -> Result<End, Failure> {
        let (shells, name) = (Shells::builtins(), self.shell.to_possible_value());
        let name = name.as_ref().map_or("bash", |name| name.get_name());
        let mut script = Vec::new();
        if let Some(shell) = shells.completer(name) {
            shell
                .write_registration(VARIABLE, "fairground", "fairground", "fairground", &mut script)
                .map_err(|e| run_failed(format!("cannot make the script: {e}")))?;
        }
        print(
            &(String::from_utf8_lossy(&script).into_owned() + if self.shell == Shell::Bash { KEEP_COLONS } else { "" }),
        )?;
        Ok(End::Done)
    }
}

/// bash would take the name of a scheduler or of a workload with options for several words.
const KEEP_COLONS: &str = "COMP_WORDBREAKS=${COMP_WORDBREAKS//:/}\n";

/// No directory for the pages.
#[derive(Debug, Error, Diagnostic)]
#[error("cannot write man pages into {directory}: {cause}")]
#[diagnostic(help("name a directory that is there, such as share/man/man1"))]
struct NoDirectory {
    directory: String,
    cause: std::io::Error,
}

/// Writes one page for each command, from the definition of the command line.
#[derive(Args)]
pub struct ManPages {
    /// Write a page for each command into this directory [default: print that of fairground]
    directory: Option<PathBuf>,
}

impl ManPages {
    pub fn run(self) -> Result<End, Failure> {
        let mut command = crate::Cli::command();
        command.build();
        let page = |command: &clap::Command| {
            let mut page = Vec::new();
            // The same bytes from each build: no date.
            let man = Man::new(command.clone()).manual("Fairground").date("");
            man.render(&mut page).map(|()| page).map_err(|e| run_failed(format!("cannot make a page: {e}")))
        };
        let Some(directory) = &self.directory else {
            print(&String::from_utf8_lossy(&page(&command)?))?;
            return Ok(End::Done);
        };
        for (name, command) in pages("fairground", &command) {
            let file = directory.join(format!("{name}.1"));
            let cannot = |cause| NoDirectory { directory: directory.display().to_string(), cause };
            std::fs::write(file, page(&command.display_name(&name))?).map_err(cannot)?;
        }
        Ok(End::Done)
    }
}

/// The command and all below it, by the names of their pages: `fairground-kernel-build`.
fn pages(name: &str, command: &clap::Command) -> Vec<(String, clap::Command)> {
    let below = command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
    let below = below.flat_map(|below| pages(&format!("{name}-{}", below.get_name()), below));
    std::iter::once((name.to_owned(), command.clone())).chain(below).collect()
}
