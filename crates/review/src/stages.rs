//! From patches to schedulers: which patch is a stage of its own, which changes no code, and which fails.
//!
//! A *stage* is a scheduler that differs from the one before it by one patch, or by several where the first of them do not
//! compile without the last. The base is stage 0. What changes between two stages is due to the patches of the second.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fairground_fair::{feature_diff, Features};
use fairground_linux::build::{BuildError, Kernels, Request, Step};
use miette::Diagnostic;
use serde::Serialize;
use thiserror::Error;

use crate::code;
use crate::farm::{self, Changes};
use crate::series::{content, Change, Git, Patch, Series, SeriesError};

/// A patch, or a feature that stands for one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Member {
    /// First line of its message, or the change of a feature as it is written in a scheduler's name.
    pub title: String,
    /// Its commit or file; empty for a feature.
    pub id: String,
    /// Functions of the kernel that it changes, as far as it says.
    pub functions: Vec<String>,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a patch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "fate", content = "detail")]
pub enum Fate {
    /// It is, or is part of, the stage of this number, from 1.
    Stage(usize),
    /// It changes comments and blanks, or the same objects come out.
    SameCode,
    /// It touches only files that are not compiled here: these.
    NotCompiled(Vec<String>),
    /// It does not apply: file, hunk and line.
    DoesNotApply(String),
    /// It does not compile: the compiler's message.
    DoesNotCompile(String),
}

impl Fate {
    /// Whether the patch could not be tried.
    pub fn is_failure(&self) -> bool {
        matches!(self, Fate::DoesNotApply(_) | Fate::DoesNotCompile(_))
    }
}

/// A scheduler of the series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stage {
    /// Its name, which `--sched` takes.
    pub sched: String,
    /// The patches that the stage before lacks, from 1; none for the base.
    pub patches: Vec<usize>,
}

impl Stage {
    /// `2/4`, `1+2/4`, of so many patches.
    pub fn label(&self, all: usize) -> String {
        let numbers: Vec<String> = self.patches.iter().map(usize::to_string).collect();
        format!("{}/{all}", numbers.join("+"))
    }
}

/// All schedulers of a series.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stages {
    /// Title of the series, if it has one.
    pub title: Option<String>,
    /// From where the series is.
    pub source: String,
    /// What the base is.
    pub base: String,
    /// The patches, in order.
    pub members: Vec<Member>,
    /// The base, then a stage for each patch that changes code.
    pub stages: Vec<Stage>,
    /// What cannot be judged here, a sentence each.
    pub not_judged: Vec<String>,
    /// Names of the trees in which patches were built.
    #[serde(skip)]
    built_in: Vec<String>,
}

/// Why there are no stages.
#[derive(Debug, Error, Diagnostic)]
pub enum StagesError {
    /// The base does not build.
    #[error("the base does not build: {0}")]
    Base(String),
    /// The series cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Series(#[from] SeriesError),
    /// The tree is not what it was as the base was built.
    #[error("{file} was edited while the series was built, or its date lies ahead of this computer's clock: what an edit does would be told as a patch's doing")]
    #[diagnostic(help(
        "run the review again when the tree stays as it is; a range of commits needs its files as well"
    ))]
    Edited {
        /// The file, relative to the tree.
        file: String,
    },
    /// What was built with cannot be removed.
    #[error("{0}")]
    Clean(String),
    /// A feature is unknown.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Features(#[from] fairground_fair::FairError),
    /// The cache cannot be used.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Build(#[from] BuildError),
    /// The tree cannot be found.
    #[error("cannot open {tree}: {cause}")]
    Tree {
        /// The tree.
        tree: String,
        /// Why.
        cause: String,
    },
}

/// A scheduler that was built.
pub(crate) struct Made {
    sched: String,
    /// Hash of what comes out.
    code: String,
    /// Hashes of what went in, by path; empty where a file was written after the build began.
    inputs: BTreeMap<String, String>,
    /// Whether a file went in.
    compiles: Box<dyn Fn(&str) -> bool>,
    warnings: Vec<String>,
}

type Build<'a> = &'a mut dyn FnMut(&Changes) -> Result<Made, String>;

/// How kernels are built.
#[derive(Clone, Debug, Default)]
pub struct BuildOptions {
    /// A kernel's `.config` whose scheduler options are taken over.
    pub config: Option<std::path::PathBuf>,
    /// Settings `CONFIG_X=v`.
    pub set: Vec<String>,
    /// Parallel jobs.
    pub jobs: Option<std::num::NonZeroUsize>,
}

impl Stages {
    /// Builds the base and each patch of a series on `tree`. `tell` hears what is built.
    ///
    /// # Errors
    /// If the base does not build. A patch that fails is a fate.
    pub fn of_series(
        tree: &Path,
        series: &Series,
        options: &BuildOptions,
        tell: &mut dyn FnMut(&str, Step),
    ) -> Result<Stages, StagesError> {
        let no_tree = |e: std::io::Error| StagesError::Tree { tree: tree.display().to_string(), cause: e.to_string() };
        let (typed, tree) = (tree, tree.canonicalize().map_err(no_tree)?);
        let kernels = Kernels::user()?;
        let farms = farms()?;
        let mut built = 0;
        let mut built_in = Vec::new();
        let mut build = |changes: &Changes| {
            let what = match built {
                0 => "base".to_owned(),
                n => format!("build {n} of at most {}", series.patches.len()),
            };
            built += 1;
            let (name, made) = made(&kernels, &farms, &tree, changes, options, &mut |step| tell(&what, step));
            built_in.push(name);
            made
        };
        let stages = of_patches(&tree, typed, series, &mut build)?;
        // The next version of a series begins with the objects of its base, which a patch that takes all back is built in, too.
        let base = built_in.first().cloned();
        built_in.retain(|name| Some(name) != base.as_ref());
        Ok(Stages { built_in, ..stages })
    }

    /// Removes the patched trees and their objects. The kernels stay, by the names that the stages have.
    ///
    /// # Errors
    /// If a file cannot be removed; the message names it.
    pub fn clean(&self) -> Result<(), StagesError> {
        let (kernels, farms) = (Kernels::user()?, farms()?);
        for name in &self.built_in {
            let objects = || kernels.remove(&work_name(name)).map_err(|error| error.to_string());
            farm::remove(&farms.join(name), objects).map_err(StagesError::Clean)?;
        }
        Ok(())
    }

    /// The features of a scheduler's name, each in the place of a patch: `fair:v5.9+a+b` is a on v5.9, then b; and
    /// `fair:v5.9..fair:v5.11` all features that differ, in the order of the releases that changed them.
    ///
    /// # Errors
    /// If a name is unknown.
    pub fn of_features(text: &str) -> Result<Stages, StagesError> {
        let range = text.split_once("..");
        let base = Features::full_name(range.map_or(text, |(base, _)| base)).into_owned();
        let (preset, mut now) = Features::split(&base)?;
        let changes = match range {
            Some((_, test)) => between(&Features::parse(&base)?, &Features::parse(&Features::full_name(test))?),
            None => std::mem::take(&mut now),
        };
        let base = format!("{preset}{}", now.concat());
        let mut stages = Stages { source: format!("features of {text}"), base: base.clone(), ..Stages::default() };
        stages.stages.push(Stage { sched: base.clone(), patches: Vec::new() });
        let (mut sched, mut pending) = (base, Vec::new());
        for (number, change) in (1..).zip(changes) {
            let mut with = now.clone();
            // A name has each feature once.
            with.retain(|other| feature_of(other) != feature_of(&change));
            with.push(change.clone());
            let named = format!("{preset}{}", with.concat());
            let fate = match Features::parse(&named) {
                Ok(_) => {
                    pending.push(number);
                    stages.stages.push(Stage { sched: named.clone(), patches: std::mem::take(&mut pending) });
                    (now, sched) = (with, named);
                    Fate::Stage(stages.stages.len() - 1)
                }
                // Part of a preset, and without code.
                Err(error) if range.is_some() && fairground_fair::why_not_ready(feature_of(&change)).is_some() => {
                    Fate::NotCompiled(vec![error.to_string()])
                }
                Err(error) => {
                    // It may need one that follows.
                    pending.push(number);
                    (now, sched) = (with, named);
                    Fate::DoesNotCompile(error.to_string())
                }
            };
            let functions = functions_of(&change);
            stages.members.push(Member { title: change, id: String::new(), functions, fate });
        }
        // The last ones do not go together, and nothing follows that they may need.
        Features::parse(&sched)?;
        stages.join_fates();
        Ok(stages)
    }

    /// A feature that could not stand without one behind it belongs to the stage of that: features do not fail.
    fn join_fates(&mut self) {
        for (number, stage) in self.stages.iter().enumerate() {
            for patch in &stage.patches {
                self.members[patch - 1].fate = Fate::Stage(number);
            }
        }
    }

    /// Number of patches.
    pub fn count(&self) -> usize {
        self.members.len()
    }

    /// The patches of a stage by number and title: `2/4 sched: title`.
    pub fn name(&self, stage: usize) -> String {
        let stage = &self.stages[stage];
        let titles: Vec<&str> = stage.patches.iter().map(|n| self.members[n - 1].title.as_str()).collect();
        match stage.patches.is_empty() {
            true => format!("base {}", stage.sched),
            false => format!("{} {}", stage.label(self.count()), titles.join(" + ")),
        }
    }
}

/// The feature of a change as it is written in a name.
fn feature_of(change: &str) -> &str {
    change.trim_start_matches(['+', '-']).split('=').next().unwrap_or_default()
}

/// The kernel's functions that a feature changes.
fn functions_of(change: &str) -> Vec<String> {
    let details = fairground_fair::feature_details(feature_of(change));
    details.map_or(Vec::new(), |details| details.functions.split_whitespace().map(str::to_owned).collect())
}

/// The changes that lead from one to the other, as they are written in a name, by the last release that changed each.
fn between(base: &Features, test: &Features) -> Vec<String> {
    let mut changes = feature_diff(base, test);
    changes.sort_by_key(|change| change.releases.last().map(|(release, _)| *release));
    let word = |change: fairground_fair::FeatureChange| {
        let name = change.feature.name;
        let first = change.feature.values.first().copied().unwrap_or("0");
        match (change.test == first, change.feature.values.is_empty()) {
            (true, _) => format!("-{name}"),
            (false, true) => format!("+{name}"),
            (false, false) => format!("+{name}={}", change.test),
        }
    };
    changes.into_iter().map(word).collect()
}

/// Hex digits of a kernel's key in its name.
const KEY_DIGITS: usize = 12;

/// Where patched trees are laid out.
fn farms() -> Result<std::path::PathBuf, BuildError> {
    Ok(fairground_linux::build::user_cache()?.join("review"))
}

/// The kernel that is built in a tree of this name.
fn work_name(farm: &str) -> String {
    format!("review-work-{farm}")
}

/// Lays a patched tree out and builds it. Returns the tree's name as well.
fn made(
    kernels: &Kernels,
    farms: &Path,
    tree: &Path,
    changes: &Changes,
    options: &BuildOptions,
    tell: &mut dyn FnMut(Step),
) -> (String, Result<Made, String>) {
    let config = options.config.as_ref().map(|path| std::fs::read(path).unwrap_or_default());
    let others: Vec<Vec<u8>> =
        options.set.iter().map(|set| set.clone().into_bytes()).chain([config.unwrap_or_default()]).collect();
    let name = farm::name(tree, changes, &others);
    let made = made_in(kernels, &farms.join(&name), work_name(&name), tree, changes, options, tell);
    (name, made)
}

/// Lays a patched tree out as `dir` and builds it as the kernel `name`.
fn made_in(
    kernels: &Kernels,
    dir: &Path,
    name: String,
    tree: &Path,
    changes: &Changes,
    options: &BuildOptions,
    tell: &mut dyn FnMut(Step),
) -> Result<Made, String> {
    let _in_use = farm::lay_out(tree, changes, dir)?;
    let request = Request {
        tree: dir.to_owned(),
        name: Some(name),
        config: options.config.clone(),
        set: options.set.clone(),
        debug: false,
        jobs: options.jobs,
    };
    // Files are named as in the tree, not as in the farm.
    let in_tree = |error: BuildError| error.to_string().replace(&format!("{}/", dir.display()), "");
    let kernel = kernels.build(&request, tell).map_err(in_tree)?.kernel;
    // By all that went in, wherever the tree lies: what an answer names is never built anew with other content, and a later
    // version of the series finds the runs of its base.
    let kept = format!("review-{}", kernel.record.key.get(..KEY_DIGITS).unwrap_or(&kernel.record.key));
    let kernel = kernels.keep_as(&kernel, &kept).map_err(in_tree)?;
    // What is told beside other kernels of the cache depends on these: `outside` says it of the patches.
    let mut warnings: Vec<String> = kernel.record.warnings.clone();
    warnings
        .extend(kernel.record.not_observable.iter().map(|name| format!("{name}() cannot be observed in this tree")));
    let stubbed = kernel.record.stubbed.iter();
    warnings.extend(stubbed.map(|stub| format!("{} is not there: a run ends that calls it", stub.symbol)));
    let code = kernel.code_hash().to_owned();
    let sched = format!("linux:{}", kernel.name);
    let inputs = kernel.inputs().map(|(path, hash)| (path.to_owned(), hash.to_owned())).collect();
    Ok(Made { sched, code, inputs, compiles: Box::new(move |path| kernel.compiles(path)), warnings })
}

/// `typed`: the tree as the answer names it.
fn of_patches(tree: &Path, typed: &Path, series: &Series, build: Build) -> Result<Stages, StagesError> {
    // What patches change is read once, or from commits: an edit meanwhile cannot become theirs.
    let named: BTreeSet<String> = series.patches.iter().flat_map(|patch| patch.files.iter().cloned()).collect();
    let mut before = match (&series.base, Git::at(tree)) {
        (Some(base), Some(git)) => git.changes(base, &named)?,
        _ => named.iter().map(|file| (file.clone(), content(tree, &Changes::new(), file))).collect(),
    };
    let base = match (&series.base, Git::at(tree)) {
        (Some(base), Some(git)) => format!("commit {} of {}", git.short(base)?, typed.display()),
        _ => typed.display().to_string(),
    };
    let mut last = build(&before).map_err(StagesError::Base)?;
    let inputs = last.inputs.clone();
    let edited_before = |made: &Made| {
        // A file that was written while a build ran has no hash in its record.
        let is_edited = |(file, hash): &(&String, &String)| {
            !named.contains(*file) && (hash.is_empty() || inputs.get(*file).is_some_and(|old| old != *hash))
        };
        made.inputs.iter().find(is_edited).map(|(file, _)| file.clone())
    };
    if let Some(file) = edited_before(&last) {
        return Err(StagesError::Edited { file });
    }
    let mut edited = None;
    let mut build = |changes: &Changes| {
        let made = build(changes)?;
        edited = edited.take().or(edited_before(&made));
        Ok::<Made, String>(made)
    };
    let mut stages = Stages {
        title: series.title.clone(),
        source: series.source.clone(),
        base,
        stages: vec![Stage { sched: last.sched.clone(), patches: Vec::new() }],
        not_judged: last.warnings.clone(),
        ..Stages::default()
    };
    let mut pending = Vec::new();
    for (number, patch) in (1..).zip(&series.patches) {
        let fate = match patch.applied(tree, &before, &named) {
            Err(problem) => Fate::DoesNotApply(problem),
            Ok(after) => {
                let fate = match idle(tree, patch, &before, &after, &last).filter(|_| pending.is_empty()) {
                    Some(fate) => fate,
                    None => match build(&after) {
                        Err(problem) => {
                            pending.push(number);
                            Fate::DoesNotCompile(problem)
                        }
                        Ok(made) if made.code == last.code && pending.is_empty() => Fate::SameCode,
                        Ok(made) => {
                            pending.push(number);
                            let patches = std::mem::take(&mut pending);
                            stages.stages.push(Stage { sched: made.sched.clone(), patches });
                            last = made;
                            Fate::Stage(stages.stages.len() - 1)
                        }
                    },
                };
                before = after;
                fate
            }
        };
        stages.members.push(Member {
            title: patch.title.clone(),
            id: patch.id.clone(),
            functions: patch.functions.clone(),
            fate,
        });
    }
    if let Some(file) = edited {
        return Err(StagesError::Edited { file });
    }
    let new: Vec<String> =
        last.warnings.iter().filter(|warning| !stages.not_judged.contains(warning)).cloned().collect();
    stages.not_judged.extend(new);
    let outside = outside(&stages.members, series, &last.compiles);
    let unmodelled = unmodelled(&stages.members);
    stages.not_judged.extend(outside.into_iter().chain(unmodelled));
    Ok(stages)
}

/// Why a patch changes no code, if it is seen before a build: what it touches is not compiled, or only comments change.
fn idle(tree: &Path, patch: &Patch, before: &Changes, after: &Changes, last: &Made) -> Option<Fate> {
    let files: Vec<&String> = match &patch.change {
        Change::Commit(_) | Change::Diffs(_) => patch.files.iter().filter(|file| (last.compiles)(file)).collect(),
    };
    if files.is_empty() {
        return Some(Fate::NotCompiled(patch.files.clone()));
    }
    let is_same = |file: &&String| match (content(tree, before, file), content(tree, after, file)) {
        (Some(old), Some(new)) => code::is_same(file, &old, &new),
        (old, new) => old == new,
    };
    files.iter().all(is_same).then_some(Fate::SameCode)
}

/// Sources of the scheduler without effect that a patch changes beside others: of one that changes nothing else this is its fate.
fn outside(members: &[Member], series: &Series, compiles: &dyn Fn(&str) -> bool) -> Vec<String> {
    let is_left_out = |file: &&String| {
        file.starts_with("kernel/sched/") && (file.ends_with(".c") || file.ends_with(".h")) && !compiles(file)
    };
    let of_patch = |(number, (member, patch)): (usize, (&Member, &Patch))| {
        let files = patch.files.iter().filter(|_| matches!(member.fate, Fate::Stage(_))).filter(is_left_out);
        files.map(|file| format!("patch {number} changes {file}, which is not compiled here")).collect::<Vec<_>>()
    };
    (1..).zip(members.iter().zip(&series.patches)).flat_map(of_patch).collect()
}

/// What the model has not, by how names of functions begin (docs/kernel.md, "What is the kernel's and what is not").
const UNMODELLED: [(&str, &str); 7] = [
    ("task_numa_", "faults of NUMA balancing are not modelled"),
    ("sched_core_", "core scheduling is not modelled"),
    ("psi_", "pressure stall information is not modelled"),
    ("autogroup_", "autogroup is not modelled"),
    ("scx_", "sched_ext is not modelled"),
    ("task_tick_dl", "no workload has threads of SCHED_DEADLINE"),
    ("update_curr_dl", "no workload has threads of SCHED_DEADLINE"),
];

fn unmodelled(members: &[Member]) -> Vec<String> {
    let mut sentences = Vec::new();
    for (number, member) in (1..).zip(members) {
        for function in &member.functions {
            let known = UNMODELLED.iter().find(|(begin, _)| function.starts_with(begin));
            sentences.extend(known.map(|(_, why)| format!("patch {number} changes {function}(): {why}")));
        }
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_is_a_stage_and_two_that_need_each_other_are_one() {
        let stages = Stages::of_features("fair:v5.9+wa-prev-idle+asym-prev-first").unwrap();
        let names: Vec<&str> = stages.stages.iter().map(|stage| stage.sched.as_str()).collect();
        assert_eq!(names, ["fair:v5.9", "fair:v5.9+wa-prev-idle", "fair:v5.9+wa-prev-idle+asym-prev-first"]);
        assert_eq!((stages.stages[2].label(2), stages.name(1)), ("2/2".into(), "1/2 +wa-prev-idle".into()));
        assert!(Stages::of_features("fair:v5.9+no-such").is_err());
    }

    #[test]
    fn two_presets_differ_by_features_that_lead_from_one_to_the_other() {
        let stages = Stages::of_features("fair:v5.9..fair:v5.11").unwrap();
        let last = Features::parse(&stages.stages.last().unwrap().sched).unwrap();
        let left = last.differing(&Features::parse("fair:v5.11").unwrap());
        let left: Vec<&str> = left.into_iter().map(|id| fairground_fair::features()[id].name).collect();
        assert!(left.iter().all(|name| fairground_fair::why_not_ready(name).is_some()), "{left:?}");
        assert!(stages.stages.len() > 3);
    }

    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("k")).unwrap();
        std::fs::write(dir.path().join("k/f.c"), "one\ntwo\nthree\n").unwrap();
        std::fs::write(dir.path().join("note.txt"), "note\n").unwrap();
        dir
    }

    fn series(diffs: &[String]) -> Series {
        let dir = tempfile::tempdir().unwrap();
        let write = |(n, diff): (usize, &String)| {
            let path = dir.path().join(format!("{n}.patch"));
            std::fs::write(&path, diff).unwrap();
            path.display().to_string()
        };
        let files: Vec<String> = diffs.iter().enumerate().map(write).collect();
        Series::find(dir.path(), &files).unwrap()
    }

    fn replace(file: &str, old: &str, new: &str) -> String {
        format!("--- a/{file}\n+++ b/{file}\n@@ -1 +1 @@\n-{old}\n+{new}\n")
    }

    /// A compiler that reads k/f.c and k/new.c, refuses the word `bad`, and sees no difference in `alike`.
    fn fake(tree: &Path) -> impl FnMut(&Changes) -> Result<Made, String> + '_ {
        move |changes| {
            let text = String::from_utf8(content(tree, changes, "k/f.c").unwrap_or_default()).unwrap();
            if text.contains("bad") {
                return Err("k/f.c:1: error: bad".into());
            }
            let compiles = Box::new(|path: &str| path.starts_with("k/"));
            let code = text.replace(" /* 1 */", "").replace("alike", "two");
            let sched = format!("linux:{}", text.trim().replace('\n', "-"));
            let inputs =
                ["k/f.c", "k/h.h"].map(|path| (path.to_owned(), format!("{:?}", content(tree, changes, path))));
            Ok(Made { sched, code, inputs: inputs.into(), compiles, warnings: vec![] })
        }
    }

    #[test]
    fn every_patch_has_a_fate_and_the_others_go_on() {
        let tree = tree();
        let series = series(&[
            replace("note.txt", "note", "other"),
            replace("k/f.c", "one", "one /* 1 */"),
            replace("k/f.c", "nowhere", "x"),
            replace("k/f.c", "two", "alike"),
            replace("k/f.c", "three", "bad"),
            replace("k/f.c", "bad", "good"),
            replace("k/f.c", "good", "better"),
        ]);
        let stages = of_patches(tree.path(), Path::new("linux"), &series, &mut fake(tree.path())).unwrap();
        assert_eq!(stages.base, "linux");
        let fates: Vec<&Fate> = stages.members.iter().map(|member| &member.fate).collect();
        let expected = [
            &Fate::NotCompiled(vec!["note.txt".into()]),
            &Fate::SameCode,
            &Fate::DoesNotApply("k/f.c: hunk 1, at line 1: its lines are not there".into()),
            &Fate::SameCode,
            &Fate::DoesNotCompile("k/f.c:1: error: bad".into()),
            &Fate::Stage(1),
            &Fate::Stage(2),
        ];
        assert_eq!(fates, expected);
        let patches: Vec<Vec<usize>> = stages.stages.iter().map(|stage| stage.patches.clone()).collect();
        assert_eq!(patches, [vec![], vec![5, 6], vec![7]]);
        assert_eq!(stages.stages[2].sched, "linux:one /* 1 */-alike-better");
    }

    #[test]
    fn an_edit_of_the_tree_during_the_builds_is_no_patchs_doing() {
        let tree = tree();
        let series = series(&[replace("k/f.c", "one", "1"), replace("k/f.c", "two", "2")]);
        let built = |edited: &'static str| {
            let mut builds = 0;
            let mut build = fake(tree.path());
            of_patches(tree.path(), tree.path(), &series, &mut |changes| {
                builds += 1;
                if builds == 2 {
                    std::fs::write(tree.path().join(edited), "edited\n").unwrap();
                }
                build(changes)
            })
        };
        // A file that patches change has been read before.
        let stages = built("k/f.c").unwrap();
        assert_eq!(stages.stages.last().unwrap().sched, "linux:1-2-three");
        std::fs::write(tree.path().join("k/f.c"), "one\ntwo\nthree\n").unwrap();
        let error = built("k/h.h").unwrap_err();
        assert!(error.to_string().starts_with("k/h.h was edited while"), "{error}");
        // Edited while the compiler may have read it, in all builds alike.
        let mut build = fake(tree.path());
        let unsure = of_patches(tree.path(), tree.path(), &series, &mut |changes| {
            let mut made = build(changes)?;
            made.inputs.insert("k/h.h".into(), String::new());
            Ok(made)
        });
        assert_eq!(unsure.unwrap_err().to_string(), error.to_string());
    }

    #[test]
    fn a_base_that_does_not_build_is_an_error() {
        let tree = tree();
        std::fs::write(tree.path().join("k/f.c"), "bad\n").unwrap();
        let series = series(&[replace("k/f.c", "bad", "good")]);
        let error = of_patches(tree.path(), tree.path(), &series, &mut fake(tree.path()));
        assert_eq!(error.unwrap_err().to_string(), "the base does not build: k/f.c:1: error: bad");
    }

    #[test]
    fn what_the_model_has_not_is_said_beside_the_patch() {
        let member = |name: &str| Member {
            title: String::new(),
            id: String::new(),
            functions: vec![name.into()],
            fate: Fate::Stage(1),
        };
        let sentences = unmodelled(&[member("select_idle_cpu"), member("task_numa_fault")]);
        assert_eq!(sentences, ["patch 2 changes task_numa_fault(): faults of NUMA balancing are not modelled"]);
    }
}
