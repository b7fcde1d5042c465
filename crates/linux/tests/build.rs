//! Builds of real trees. Each test needs a tree: FAIRGROUND_TREE_6_12 and FAIRGROUND_TREE_6_1 name one of Debian's
//! linux-source-6.12 and linux-source-6.1, unpacked. A test whose tree is not named says so and passes.

#[path = "support/trees.rs"]
mod trees;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Instant;

use fairground_linux::build::{BuildError, BuildResult, Kernels, Request};
use tempfile::TempDir;
use trees::tree;

/// Everything below a directory that a build could write: names, sizes and dates.
fn snapshot(dir: &Path) -> Vec<String> {
    let mut entries = Vec::new();
    for name in ["", "arch", "include", "kernel", "kernel/sched", "scripts", "scripts/basic", "scripts/kconfig"] {
        for entry in fs::read_dir(dir.join(name)).unwrap() {
            let entry = entry.unwrap();
            let meta = entry.metadata().unwrap();
            entries.push(format!("{} {} {:?}", entry.path().display(), meta.len(), meta.modified().unwrap()));
        }
    }
    entries.sort();
    entries
}

/// A tree like `of` whose scheduler can be edited: the rest are links.
fn copy(of: &Path) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let link_all = |sub: &str, except: &str| {
        fs::create_dir_all(dir.path().join(sub)).unwrap();
        for entry in fs::read_dir(of.join(sub)).unwrap() {
            let entry = entry.unwrap();
            if entry.file_name() != except {
                symlink(entry.path(), dir.path().join(sub).join(entry.file_name())).unwrap();
            }
        }
    };
    link_all("", "kernel");
    link_all("kernel", "sched");
    fs::create_dir(dir.path().join("kernel/sched")).unwrap();
    for entry in fs::read_dir(of.join("kernel/sched")).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_file() {
            fs::copy(entry.path(), dir.path().join("kernel/sched").join(entry.file_name())).unwrap();
        }
    }
    dir
}

/// Appends C text to the tree's fair.c.
fn patch(tree: &Path, text: &str) -> PathBuf {
    let fair = tree.join("kernel/sched/fair.c");
    let before = fs::read_to_string(&fair).unwrap();
    fs::write(&fair, before + text).unwrap();
    fair
}

struct Bench {
    _cache: TempDir,
    kernels: Kernels,
}

impl Bench {
    fn new() -> Bench {
        let cache = tempfile::tempdir().unwrap();
        Bench { kernels: Kernels::in_dir(cache.path().join("kernels")), _cache: cache }
    }

    fn build(&self, tree: &Path, name: &str) -> Result<BuildResult, BuildError> {
        let request = Request { tree: tree.to_owned(), name: Some(name.into()), ..Request::default() };
        self.kernels.build(&request, &mut |_| {})
    }
}

#[test]
fn a_tree_builds_untouched_and_the_same_tree_again_is_nothing_to_do() {
    for variable in ["FAIRGROUND_TREE_6_12", "FAIRGROUND_TREE_6_1"] {
        let Some(tree) = tree(variable) else { continue };
        let (bench, before) = (Bench::new(), snapshot(&tree));
        let first = bench.build(&tree, "one").unwrap();
        assert!(first.made);
        assert_eq!(first.kernel.record.stubbed, [], "all that Debian's tree needs is expected");
        assert_eq!(first.kernel.record.not_observable, [] as [&str; 0]);
        assert_eq!(snapshot(&tree), before);

        let start = Instant::now();
        let second = bench.build(&tree, "one").unwrap();
        assert!(!second.made);
        assert!(start.elapsed().as_secs() < 2, "{:?}", start.elapsed());
        assert_eq!(second.kernel, first.kernel);

        let other = bench.build(&tree, "two").unwrap().kernel;
        assert_eq!(other.record.key, first.kernel.record.key);
        let bytes = |library: &Path| fs::read(library).unwrap();
        assert!(bytes(&other.library) == bytes(&first.kernel.library), "same inputs, same bytes");
    }
}

#[test]
fn a_patch_makes_another_library_and_a_broken_one_leaves_it_in_place() {
    let Some(of) = tree("FAIRGROUND_TREE_6_12") else { return };
    let (bench, tree) = (Bench::new(), copy(&of));
    let plain = bench.build(tree.path(), "mine").unwrap().kernel;
    let fair = patch(tree.path(), "int ks_test_patch(int a);\nint ks_test_patch(int a)\n{\n\treturn a + 1;\n}\n");
    let patched = bench.build(tree.path(), "mine").unwrap().kernel;
    assert_ne!(patched.record.key, plain.record.key);

    let lines = fs::read_to_string(&fair).unwrap().lines().count();
    patch(tree.path(), "static int broken(void)\n{\n\treturn no_such_thing;\n}\n");
    let error = bench.build(tree.path(), "mine").unwrap_err().to_string();
    let place = format!("{}:{}:", fair.canonicalize().unwrap().display(), lines + 3);
    assert!(error.contains(&place) && error.contains("no_such_thing"), "{error}");
    assert_eq!(bench.kernels.find("mine").unwrap(), patched);
}

#[test]
fn a_source_and_an_option_that_a_patch_adds_are_built_and_what_has_no_effect_is_told() {
    let Some(of) = tree("FAIRGROUND_TREE_6_12") else { return };
    let (bench, tree) = (Bench::new(), copy(&of));
    let base = bench.build(tree.path(), "base").unwrap().kernel;
    assert_eq!(base.warnings(), Vec::<String>::new());

    let sched = tree.path().join("kernel/sched");
    let append = |file: &str, text: &str| {
        let before = fs::read_to_string(sched.join(file)).unwrap_or_default();
        fs::write(sched.join(file), before + text).unwrap();
    };
    let kconfig = tree.path().join("kernel/Kconfig.hz");
    let text = fs::read_to_string(&kconfig).unwrap();
    fs::remove_file(&kconfig).unwrap();
    let added = "\nconfig SCHED_ADDED\n\tbool \"Added\"\n\tdefault y\n\
                 \nconfig SCHED_LOST\n\tbool \"Lost\"\n\tdefault y\n\tdepends on SYSCTL\n";
    fs::write(&kconfig, text + added).unwrap();
    append("Makefile", "obj-$(CONFIG_SCHED_ADDED) += added.o\n");
    append("added.c", "#include <linux/mmu_context.h>\n#include \"sched.h\"\nint ks_test_added(void);\nint ks_test_added(void)\n{\n\treturn 1;\n}\n");
    append("forgotten.c", "#ifdef CONFIG_SCHED_LOST\n#endif\n");
    append("psi.c", "/* changed */\n");
    patch(
        tree.path(),
        "int ks_test_added(void);\nint ks_test_use(void);\n\
         #ifdef CONFIG_SCHED_ADDED\nint ks_test_use(void)\n{\n\treturn ks_test_added();\n}\n#endif\n",
    );
    let mine = bench.build(tree.path(), "mine").unwrap().kernel;
    assert_eq!(mine.record.stubbed, [], "it is linked");
    assert_eq!(mine.record.options.get("CONFIG_SCHED_ADDED").map(String::as_str), Some("y"));
    let warnings = mine.warnings();
    let told = |part: &str| assert!(warnings.iter().any(|w| w.contains(part)), "no {part:?} in {warnings:?}");
    told("CONFIG_SCHED_LOST=y, the tree's default, is n here");
    told("kernel/sched/forgotten.c is not compiled: no makefile");
    told("kernel/sched/psi.c differs from linux:base's and is not compiled: CONFIG_PSI is off");
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    append("psi.c", "/* again */\n");
    let again = bench.build(tree.path(), "mine").unwrap();
    assert!(!again.made);
    assert!(again.kernel.warnings().iter().any(|w| w.starts_with("kernel/sched/psi.c has changed since the build")));
}

#[test]
fn a_patched_copy_under_a_new_name_makes_again_what_differs_and_a_failed_build_nothing() {
    let Some(of) = tree("FAIRGROUND_TREE_6_12") else { return };
    let (bench, plain) = (Bench::new(), copy(&of));
    bench.build(plain.path(), "base").unwrap();
    let objects = |name: &str| compiled(&bench, name);
    assert!(objects("base") > 20, "{}", objects("base"));

    let patched = copy(&of);
    patch(patched.path(), "int ks_test_patch(int a);\nint ks_test_patch(int a)\n{\n\treturn a + 1;\n}\n");
    let mine = bench.build(patched.path(), "mine").unwrap().kernel;
    assert_eq!(objects("mine"), 1, "fair.c alone");
    let elsewhere = Bench::new();
    let alone = elsewhere.build(patched.path(), "mine").unwrap().kernel;
    assert_eq!(mine.record.key, alone.record.key);
    let bytes = |library: &Path| fs::read(library).unwrap();
    assert!(bytes(&mine.library) == bytes(&alone.library), "the objects of another kernel give the same library");

    let fair = patch(patched.path(), "broken\n");
    assert!(bench.build(patched.path(), "mine").is_err());
    assert!(bench.kernels.find("mine").unwrap().stale().unwrap().contains("linux:mine failed (compiling failed: "));
    let text = fs::read_to_string(&fair).unwrap();
    fs::write(&fair, text.replace("broken\n", "")).unwrap();
    let found = bench.build(patched.path(), "mine").unwrap();
    assert!(!found.made && found.kernel.stale().is_none(), "the library is that of the tree again");
}

/// Objects that the last build of a name compiled, by its log.
fn compiled(bench: &Bench, name: &str) -> usize {
    let log = bench.kernels.find(name).unwrap().library.with_file_name("build.log");
    let compiles = |line: &&str| line.trim_start().starts_with("CC ") && line.ends_with(".o");
    fs::read_to_string(log).unwrap().lines().filter(compiles).count()
}

#[test]
fn what_a_patch_needs_is_stubbed_if_it_is_a_function_and_refused_if_it_is_data() {
    let Some(of) = tree("FAIRGROUND_TREE_6_12") else { return };
    let (bench, tree) = (Bench::new(), copy(&of));
    let use_it = "extern int ks_test_hint(int cpu);\nint ks_test_use(void);\nint ks_test_use(void)\n{\n\treturn ks_test_hint(1);\n}\n";
    let fair = patch(tree.path(), use_it);
    let line = fs::read_to_string(&fair).unwrap().lines().count() - 1;
    let stubbed = bench.build(tree.path(), "mine").unwrap().kernel.record.stubbed;
    assert_eq!(stubbed.len(), 1);
    assert_eq!(stubbed[0].symbol, "ks_test_hint");
    assert_eq!(stubbed[0].used_by, [format!("{}:{line}", fair.canonicalize().unwrap().display())]);

    patch(tree.path(), "extern int ks_test_table[4];\nint *ks_test_data(void);\nint *ks_test_data(void)\n{\n\treturn ks_test_table;\n}\n");
    let error = bench.build(tree.path(), "mine").unwrap_err().to_string();
    assert!(error.contains("ks_test_table, used by"), "{error}");
    assert!(!error.contains("ks_test_hint"), "{error}");
}

#[test]
fn options_are_taken_over_and_what_is_ignored_is_kept() {
    let Some(tree) = tree("FAIRGROUND_TREE_6_12") else { return };
    let (bench, dir) = (Bench::new(), tempfile::tempdir().unwrap());
    let config = dir.path().join("config");
    fs::write(&config, "CONFIG_HZ_1000=y\nCONFIG_HZ=1000\nCONFIG_NR_CPUS=64\nCONFIG_SCHED_CORE=y\nCONFIG_EXT4_FS=y\n")
        .unwrap();
    let set = vec!["CONFIG_NR_CPUS=32".to_string()];
    let request = Request { tree, name: Some("mine".into()), config: Some(config), set, debug: false, jobs: None };
    let record = bench.kernels.build(&request, &mut |_| {}).unwrap().kernel.record;
    assert_eq!((record.hz, record.nr_cpus), (1000, 32));
    let ignored: Vec<&str> = record.ignored.iter().map(|i| i.option.as_str()).collect();
    assert_eq!(ignored, ["CONFIG_SCHED_CORE"]);

    let request =
        Request { set: vec!["CONFIG_UCLAMP_TSK=y".into()], config: None, name: Some("new".into()), ..request };
    let error = bench.kernels.build(&request, &mut |step| panic!("{step}")).unwrap_err();
    assert!(miette::Diagnostic::help(&error).unwrap().to_string().contains("CONFIG_UCLAMP_TASK"), "{error}");
}
