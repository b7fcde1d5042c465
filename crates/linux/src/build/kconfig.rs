//! The options that a tree offers: its Kconfig files as they include each other, read without running Kconfig.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::error::BuildError;
use super::kbuild::SCHED;
use super::{embedded, files};

/// Most that is read of a file, bytes.
const LIMIT: u64 = 4 << 20;

/// What a tree's Kconfig files define, by name without `CONFIG_`.
#[derive(Debug, Default)]
pub(super) struct Options {
    defined: BTreeMap<String, Definition>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Definition {
    /// A user can set the option. The others follow from them.
    has_prompt: bool,
    /// A default that is not simply n.
    has_default: bool,
}

impl Options {
    /// Follows `source` from the tree's top Kconfig. The architecture's file is ours.
    ///
    /// # Errors
    /// [`BuildError::NotATree`] if a file is missing: Kconfig would not run. So ends a tree that was not unpacked whole.
    pub fn scan(tree: &Path) -> Result<Options, BuildError> {
        let (mut options, mut seen, mut missing) = (Options::default(), BTreeSet::new(), Vec::new());
        let mut left = vec!["Kconfig".to_string()];
        while let Some(name) = left.pop() {
            let name = name.replace("$(SRCARCH)", "sim");
            let own = name.strip_prefix(embedded::ARCH).and_then(|inner| inner.strip_prefix('/'));
            let text = match own {
                Some(inner) => embedded::text(&format!("arch/{inner}")).to_string(),
                None if !tree.join(&name).is_file() => {
                    // Which file a variable makes of it is not known here.
                    missing.extend(Some(name).filter(|name| !name.contains('$')));
                    continue;
                }
                None => files::read_text(&tree.join(&name), LIMIT)?,
            };
            if seen.insert(name) {
                left.extend(options.read(&text));
            }
        }
        missing.sort();
        missing.dedup();
        match missing.is_empty() {
            true => Ok(options),
            false => Err(BuildError::NotATree { tree: tree.to_owned(), missing }),
        }
    }

    /// Takes the options of a file and returns the files that it includes.
    fn read(&mut self, text: &str) -> Vec<String> {
        let (mut current, mut sources) = (None, Vec::new());
        for line in text.lines() {
            let (word, rest) = line.trim().split_once([' ', '\t']).unwrap_or((line.trim(), ""));
            let rest = rest.trim();
            match word {
                "config" | "menuconfig" => {
                    self.defined.entry(rest.into()).or_default();
                    current = Some(rest.to_string());
                }
                "choice" | "menu" | "comment" | "endmenu" | "endchoice" => current = None,
                // Words of a help text have no quotes.
                "source" if rest.starts_with('"') => sources.push(rest.trim_matches('"').to_string()),
                "bool" | "tristate" | "int" | "hex" | "string" | "prompt" if rest.starts_with(['"', '\'']) => {
                    let here = current.as_ref().and_then(|name| self.defined.get_mut(name));
                    here.into_iter().for_each(|option| option.has_prompt = true);
                }
                "default" if rest != "n" => {
                    let here = current.as_ref().and_then(|name| self.defined.get_mut(name));
                    here.into_iter().for_each(|option| option.has_default = true);
                }
                _ => {}
            }
        }
        sources
    }

    /// Whether the tree defines the option.
    pub fn has(&self, name: &str) -> bool {
        self.defined.contains_key(name)
    }

    /// The option whose name is nearest.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        fairground_machine::nearest(name, self.defined.keys().map(String::as_str))
    }

    /// Those that a user can set, that have a default and that the scheduler's own sources name.
    pub fn of_scheduler(&self, tree: &Path) -> Result<BTreeSet<String>, BuildError> {
        let mut named = BTreeSet::new();
        for file in files::files_below(&tree.join(SCHED))? {
            if file.extension().is_some_and(|end| end == "c" || end == "h") {
                let text = files::read_text(&file, LIMIT)?;
                let is_ours = |name: &&str| self.defined.get(*name).is_some_and(|o| o.has_prompt && o.has_default);
                named.extend(options_in(&text).filter(is_ours).map(String::from));
            }
        }
        Ok(named)
    }
}

/// Names behind `CONFIG_` in a C text.
fn options_in(text: &str) -> impl Iterator<Item = &str> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split("CONFIG_").skip(1).map(move |rest| &rest[..rest.find(|c| !word(c)).unwrap_or(rest.len())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::fake;

    fn tree() -> tempfile::TempDir {
        let tree = fake::tree("VERSION = 6\nPATCHLEVEL = 12\n");
        fake::write(tree.path(), "Kconfig", "source \"arch/$(SRCARCH)/Kconfig\"\nsource \"kernel/Kconfig.bore\"\n");
        let bore = "config SCHED_BORE\n\tbool \"Bursts\"\n\tdefault y\n\thelp\n\t  The\n\t  source of bursts.\n\nconfig HAVE_BORE\n\tdef_bool y\n\n\
                    choice\n\tprompt \"Which\"\n\tdefault BORE_A\nconfig BORE_A\n\tbool \"A\"\nendchoice\n\
                    config BORE_SLICE\n\tint \"Slice\"\n\tdefault 2000000 if X\n\nsource \"$(GONE)/Kconfig\"\n";
        fake::write(tree.path(), "kernel/Kconfig.bore", bore);
        for ours_includes in
            ["kernel/Kconfig.hz", "drivers/cpufreq/Kconfig", "drivers/cpuidle/Kconfig", "kernel/power/Kconfig"]
        {
            fake::write(tree.path(), ours_includes, "");
        }
        tree
    }

    #[test]
    fn options_are_those_of_the_files_that_the_top_one_includes_and_of_ours() {
        let tree = tree();
        fake::write(tree.path(), "arch/x86/Kconfig", "config X86\n\tdef_bool y\n");
        let options = Options::scan(tree.path()).unwrap();
        for name in ["SCHED_BORE", "HAVE_BORE", "BORE_A", "NR_CPUS"] {
            assert!(options.has(name), "{name}");
        }
        assert!(!options.has("X86"), "another architecture's");
        assert_eq!(options.nearest("SCHED_BOER"), Some("SCHED_BORE"));
    }

    #[test]
    fn a_tree_that_lacks_a_file_of_kconfig_is_not_whole() {
        let tree = tree();
        fake::write(tree.path(), "kernel/Kconfig.bore", "source \"security/Kconfig\"\n");
        let error = Options::scan(tree.path()).unwrap_err().to_string();
        assert!(error.ends_with("is not a kernel source tree: missing security/Kconfig"), "{error}");
    }

    #[test]
    fn the_schedulers_are_named_in_its_sources_can_be_set_and_have_a_default() {
        let tree = tree();
        let text =
            "#ifdef CONFIG_SCHED_BORE\n#if IS_ENABLED(CONFIG_BORE_A) && defined(CONFIG_HAVE_BORE)\nCONFIG_BORE_SLICE\n";
        fake::write(tree.path(), "kernel/sched/ext/new.c", text);
        fake::write(tree.path(), "kernel/sched/notes.txt", "CONFIG_NR_CPUS");
        let options = Options::scan(tree.path()).unwrap();
        let of_scheduler: Vec<String> = options.of_scheduler(tree.path()).unwrap().into_iter().collect();
        assert_eq!(of_scheduler, ["BORE_SLICE", "SCHED_BORE"], "the others have no default, or no prompt");
    }
}
