//! Sources of the scheduler that are not in the library: a change of one has no effect.

use std::collections::BTreeMap;

use super::cache::BuiltKernel;
use super::embedded;
use super::inputs::Input;

/// A sentence for each source that is left out and that nobody expects to be, or that differs from the same source of
/// the kernel that is most alike.
pub(super) fn warnings(inputs: &[Input], left_out: &[Input], others: &[BuiltKernel]) -> Vec<String> {
    let expected = expected();
    let base = nearest(inputs, others);
    let mut warnings = Vec::new();
    for file in left_out {
        let known = expected.iter().find(|(path, _)| is_below(&file.path, path));
        let theirs = base.and_then(|kernel| Some((kernel, content(&kernel.record.left_out, &file.path)?)));
        match (known, theirs) {
            (None, None) => warnings.push(format!(
                "{} is not compiled: no makefile of kernel/sched lists it, and no file that is compiled includes it",
                file.path
            )),
            (known, Some((kernel, theirs))) if theirs != file.hash => {
                let why = known.map_or(String::new(), |(_, why)| format!(": {why}"));
                warnings.push(format!("{} differs from linux:{}'s and is not compiled{why}", file.path, kernel.name));
            }
            _ => {}
        }
    }
    warnings
}

/// The list `left-out`: a file, or a directory with `/` at the end, and why.
fn expected() -> Vec<(&'static str, &'static str)> {
    let entries = embedded::entries("left-out").filter_map(|entry| entry.split_once(':'));
    entries.map(|(path, why)| (path.trim(), why.trim())).collect()
}

fn is_below(path: &str, listed: &str) -> bool {
    path == listed || listed.ends_with('/') && path.starts_with(listed)
}

fn content<'a>(files: &'a [Input], path: &str) -> Option<&'a str> {
    files.iter().find(|file| file.path == path).map(|file| file.hash.as_str())
}

/// The kernel with the most inputs in common.
fn nearest<'a>(inputs: &[Input], others: &'a [BuiltKernel]) -> Option<&'a BuiltKernel> {
    let ours: BTreeMap<&str, &str> = inputs.iter().map(|i| (i.path.as_str(), i.hash.as_str())).collect();
    let common = |kernel: &&BuiltKernel| {
        kernel.record.inputs.iter().filter(|i| ours.get(i.path.as_str()) == Some(&i.hash.as_str())).count()
    };
    others.iter().max_by_key(common)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::fake;

    fn input(path: &str, hash: &str) -> Input {
        Input { path: path.into(), size: 1, mtime: 1, hash: hash.into() }
    }

    fn kernel(name: &str, fair: &str, left_out: &[Input]) -> BuiltKernel {
        let mut record = fake::record(name);
        record.inputs = vec![input("kernel/sched/fair.c", fair), input("Makefile", "m")];
        record.left_out = left_out.to_vec();
        BuiltKernel { name: name.into(), library: "/nowhere.so".into(), record, failed: None }
    }

    #[test]
    fn a_source_that_nothing_names_is_told_and_an_expected_one_is_not() {
        let left_out =
            [input("kernel/sched/new.c", "n"), input("kernel/sched/psi.c", "p"), input("kernel/sched/ext/a.c", "")];
        let warnings = warnings(&[], &left_out, &[]);
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].starts_with("kernel/sched/new.c is not compiled: no makefile"), "{warnings:?}");
    }

    #[test]
    fn a_source_that_a_patch_changes_in_vain_is_told_with_the_reason() {
        let inputs = [input("kernel/sched/fair.c", "patched"), input("Makefile", "m")];
        let others = [
            kernel("base", "plain", &[input("kernel/sched/psi.c", "p")]),
            kernel("far", "old", &[input("kernel/sched/psi.c", "q")]),
        ];
        let changed = warnings(&inputs, &[input("kernel/sched/psi.c", "q")], &others[..1]);
        assert_eq!(changed.len(), 1);
        assert!(
            changed[0].starts_with("kernel/sched/psi.c differs from linux:base's and is not compiled: "),
            "{changed:?}"
        );
        assert_eq!(warnings(&inputs, &[input("kernel/sched/psi.c", "p")], &others[..1]), Vec::<String>::new());
        let near = kernel("near", "patched", &[input("kernel/sched/psi.c", "q")]);
        let others = [others[0].clone(), near];
        assert_eq!(
            warnings(&inputs, &[input("kernel/sched/psi.c", "q")], &others),
            Vec::<String>::new(),
            "near is nearer"
        );
    }
}
