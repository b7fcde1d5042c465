//! What the tree's own makefiles build of the scheduler, beside what Fairground's wrappers include.

use std::path::Path;

use super::error::BuildError;
use super::make::Workshop;
use super::{embedded, files, tools};

/// The scheduler's directory.
pub(super) const SCHED: &str = "kernel/sched";

/// Objects of the tree that a file of ours stands for: it includes their source.
const WRAPPED: [&str; 4] = ["core.o", "fair.o", "build_policy.o", "build_utility.o"];

/// What a tree's makefiles list.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Listed {
    /// Objects that no wrapper stands for, paths below the build directory.
    pub more: Vec<String>,
    /// Wrapped objects that the tree does not build.
    pub not_built: Vec<&'static str>,
}

/// Asks the tree's makefiles, with the configuration of the build directory.
pub(super) fn listed(workshop: &mut Workshop) -> Result<Listed, BuildError> {
    let (mut objects, mut dirs) = (Vec::new(), vec![SCHED.to_string()]);
    while let Some(dir) = dirs.pop() {
        for word in words(workshop, &dir)? {
            match word.strip_suffix('/') {
                Some(sub) => dirs.push(format!("{dir}/{sub}")),
                None => objects.push(format!("{dir}/{word}")),
            }
        }
    }
    objects.sort();
    objects.dedup();
    Ok(divide(objects))
}

fn divide(objects: Vec<String>) -> Listed {
    let path = |name: &str| format!("{SCHED}/{name}");
    let lists = |name: &str| objects.contains(&path(name));
    let in_parts = lists("core.o") && !lists("build_policy.o") && !lists("build_utility.o");
    let parts = if in_parts { parts() } else { Vec::new() };
    let not_built = WRAPPED.into_iter().filter(|name| !lists(name) && (!in_parts || !name.starts_with("build_")));
    let not_built = not_built.collect();
    let wrapped = WRAPPED.map(path);
    let more = objects.into_iter().filter(|o| !wrapped.contains(o) && !parts.contains(o)).collect();
    Listed { more, not_built }
}

/// Before v5.18 build_policy.o and build_utility.o are many objects, whose sources the wrappers include one by one.
fn parts() -> Vec<String> {
    let source = |line: &str| {
        let stem = line.strip_prefix("#include \"../../../kernel/sched/")?.strip_suffix(".c\"")?;
        Some(format!("{SCHED}/{stem}.o"))
    };
    let wrappers = ["arch/kernel/ks_policy.c", "arch/kernel/old_utility.h"].map(embedded::text);
    wrappers.iter().flat_map(|text| text.lines()).filter_map(source).collect()
}

/// What a directory's makefile lists.
fn words(workshop: &mut Workshop, dir: &str) -> Result<Vec<String>, BuildError> {
    let makefile = format!("../{}/sched.mk", embedded::REST);
    let mut command = tools::command("make", &workshop.build());
    command.args(["-s", "--no-print-directory", "-f", &makefile, &format!("DIR={dir}")]);
    let (succeeded, said) = workshop.run(command, &mut |_| {})?;
    match (succeeded, said.last()) {
        // A makefile that prints or warns does so before.
        (true, Some(list)) => Ok(list.split_whitespace().map(String::from).collect()),
        _ => Err(workshop.failed("reading the makefiles of kernel/sched", &said)),
    }
}

/// Directories of the tree in which the scheduler's objects may be made, as an object in each.
pub(super) fn places(tree: &Path) -> Result<Vec<String>, BuildError> {
    let mut places = vec![format!("{SCHED}/x.o")];
    for file in files::files_below(&tree.join(SCHED))? {
        let dir = file.parent().and_then(|dir| dir.strip_prefix(tree).ok());
        places.extend(dir.map(|dir| format!("{}/x.o", dir.display())));
    }
    places.dedup();
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{embedded::BUILD, fake};

    fn workshop<'a>(tree: &'a Path, dir: &Path, makefile: &str) -> Workshop<'a> {
        let overlay = dir.join("overlay");
        fake::write(&overlay, "kernel/sched/Makefile", makefile);
        fake::write(&overlay, "ks/sched.mk", embedded::text("sched.mk"));
        fake::write(&overlay, &format!("{BUILD}/include/config/auto.conf"), "CONFIG_SCHED_BORE=y\n");
        Workshop::new(tree, overlay, dir.join("log"), 1).unwrap()
    }

    #[test]
    fn what_a_patch_adds_to_the_makefile_is_found_with_the_parts_of_a_composite() {
        let (tree, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let makefile = "ccflags-y += $(call cc-disable-warning, unused-but-set-variable)\n\
            obj-y += core.o fair.o build_policy.o build_utility.o\n\
            obj-$(CONFIG_SCHED_BORE) += bore.o\nobj-$(CONFIG_OFF) += off.o\n\
            obj-y += pair.o sub/\npair-y := one.o two.o\n";
        let mut workshop = workshop(tree.path(), dir.path(), makefile);
        fake::write(&workshop.overlay, "kernel/sched/sub/Makefile", "obj-y := deep.o\n");
        let listed = listed(&mut workshop).unwrap();
        assert_eq!(listed.more, ["bore.o", "one.o", "sub/deep.o", "two.o"].map(|o| format!("kernel/sched/{o}")));
        assert_eq!(listed.not_built, [] as [&str; 0]);
    }

    #[test]
    fn a_scheduler_that_the_tree_replaces_is_named() {
        let listed = divide(vec!["kernel/sched/alt_core.o".into(), "kernel/sched/build_policy.o".into()]);
        assert_eq!(listed.more, ["kernel/sched/alt_core.o"]);
        assert_eq!(listed.not_built, ["core.o", "fair.o", "build_utility.o"]);
    }

    #[test]
    fn the_objects_of_a_tree_before_v518_are_wrapped_too() {
        let path = |name: &str| format!("kernel/sched/{name}");
        let objects = ["core.o", "fair.o", "rt.o", "pelt.o", "wait_bit.o", "topology.o", "mine.o"].map(path);
        let listed = divide(objects.into());
        assert_eq!(listed.more, ["kernel/sched/mine.o"]);
        assert_eq!(listed.not_built, [] as [&str; 0]);
    }

    #[test]
    fn a_makefile_that_make_cannot_read_is_an_error_with_its_line() {
        let (tree, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut workshop = workshop(tree.path(), dir.path(), "obj-y += core.o\nifdef X\n");
        let error = listed(&mut workshop).unwrap_err().to_string();
        assert!(error.contains("kernel/sched/Makefile:"), "{error}");
    }
}
