//! The project file, and what a user types that is nearly right.

use std::path::Path;
use std::process::Command;

use crate::{refuses, split, succeeds, Ran};

/// Runs `fairground` in a directory.
fn run_in(dir: &Path, words: &str) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairground"));
    command.args(split(words)).current_dir(dir).output().expect("the binary runs").into()
}

/// The seeds of a comparison.
fn seeds(json: &serde_json::Value) -> Vec<u64> {
    json["runs"].as_array().unwrap().iter().filter_map(|pair| pair["seed"].as_u64()).collect()
}

#[test]
fn a_project_has_defaults_for_directories_below_it() {
    let dir = tempfile::tempdir().unwrap();
    let below = dir.path().join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    let text = "machine = 'hikey'\ngovernor = 'schedutil'\n[compare]\nbase = 'fair:v5.9'\ntest = ['fair:v5.11']\nseeds = '3-4'\n\
                doubt = 0\nformat = 'json'\n";
    std::fs::write(dir.path().join("fairground.toml"), text).unwrap();
    let ran = run_in(&below, "compare sched-pipe:loops=20 --no-store");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&json["machine"], &json["test"], seeds(&json)), (&"hikey".into(), &"fair:v5.11".into(), vec![3, 4]));
    assert_eq!(json["provenance"]["governor"], "schedutil");
    let command = "fairground compare hikey --governor=schedutil --base=fair:v5.9 --test=fair:v5.11 --seeds=3-4 --doubt=0 --format=json \
                   sched-pipe:loops=20 # machine, governor, base, test, seeds, doubt, format from fairground.toml";
    assert_eq!(json["provenance"]["command"], command);
    let given =
        run_in(&below, "compare hikey960 sched-pipe:loops=20 --no-store --seeds 1 --governor performance").stdout;
    let json: serde_json::Value = serde_json::from_str(&given).unwrap();
    assert_eq!((&json["machine"], &json["provenance"]["governor"]), (&"hikey960".into(), &"performance".into()));
    // The command without the file makes the same result.
    let elsewhere = tempfile::tempdir().unwrap();
    let repeated = run_in(
        elsewhere.path(),
        &(command.strip_prefix("fairground ").unwrap().split(" #").next().unwrap().to_owned() + " --no-store"),
    );
    let repeated: serde_json::Value = serde_json::from_str(&repeated.stdout).unwrap();
    assert_eq!(repeated["metrics"], serde_json::from_str::<serde_json::Value>(&ran.stdout).unwrap()["metrics"]);
}

#[test]
fn an_unknown_key_of_a_project_is_an_error_that_shows_the_place() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("fairground.toml"), "hz = 250\ngovenor = 'schedutil'\n").unwrap();
    let ran = run_in(dir.path(), "machine list");
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    for part in ["fairground.toml:2: unknown key `govenor`", "did you mean `governor`?", "govenor = 'schedutil'"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    for words in ["--help", "--version", "run --help", "run -h", "help run"] {
        let ran = run_in(dir.path(), words);
        assert_eq!((ran.code, ran.stdout.is_empty(), ran.stderr.as_str()), (0, false, ""), "{words}");
    }
}

#[test]
fn values_of_a_project_are_checked_as_those_of_the_command_line() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("fairground.toml"), "hz = 333\n").unwrap();
    let ran = run_in(dir.path(), "run hikey sched-pipe:loops=10 --sched fair:v5.9");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("invalid value '333' for '--hz <HZ>'"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--hz is from fairground.toml"), "{}", ran.stderr);
}

/// By the command line's definition or by a check of the command: who typed nothing of it is told where it stands.
#[test]
fn an_error_names_the_options_that_the_project_has_set() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("fairground.toml");
    let said = |text: &str, words: &str| {
        std::fs::write(&file, text).unwrap();
        let ran = run_in(dir.path(), words);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{words}: {}", ran.stderr);
        ran.stderr
    };
    let sides = "compare hikey sched-pipe:loops=10 --no-store --base draw=1 --test draw=2 --sched fair:v5.9";
    let drawn = said("[compare]\ndoubt = 20\n", sides);
    assert!(drawn.contains("a draw is given") && drawn.ends_with("--doubt is from fairground.toml\n"), "{drawn}");
    let both =
        said("[compare]\ndoubt = 20\ndraw = 3\n", "compare hikey sched-pipe:loops=10 --base fair: --test fair:v5.9");
    assert!(both.ends_with("--doubt and --draw are from fairground.toml\n"), "{both}");
    let typed = said("[compare]\nseeds = 4\n", &format!("{sides} --doubt 20"));
    assert!(!typed.contains("fairground.toml"), "{typed}");
}

#[test]
fn machine_and_workload_are_told_apart() {
    refuses(
        "compare sched-pipe:loops=20 hikey960 --base fair:v5.9 --test fair:v5.11",
        &[
            "`sched-pipe:loops=20` is a workload: the machine comes first",
            "fairground compare hikey960 sched-pipe:loops=20",
        ],
    );
    refuses(
        "run sched-pipe hackbench --sched fair:v5.9",
        &["`sched-pipe` is a workload, not a machine", "machine list"],
    );
    let dir = tempfile::tempdir().unwrap();
    let (trace, file) = (dir.path().join("t.txt"), dir.path().join("w.json"));
    std::fs::write(&trace, "a-1 [000] 1.5: sched_waking: comm=b pid=2 prio=120 target_cpu=0\n").unwrap();
    std::fs::write(&file, r#"{"tasks":{"t":{"loop":1,"run":1000}}}"#).unwrap();
    let (trace, file) = (trace.display(), file.display());
    refuses(
        &format!("run hikey {trace} --sched fair:v5.9"),
        &["is a trace, not a workload", "fairground import", "fairground replay"],
    );
    refuses(&format!("run {file} hikey --sched fair:v5.9"), &["is a workload: the machine comes first"]);
    assert!(succeeds(&format!("run hikey {file} --sched fair:v5.9")).contains("hash"));
}

#[test]
fn errors_of_all_kinds_have_one_style() {
    let compare = "compare hikey960 sched-pipe --base fair:v5.9 --test fair:v5.11";
    for (words, parts) in [
        (
            format!("{compare} --seeds 0"),
            &["invalid value '0' for '--seeds <N>': expected a number of seeds", "9-16"][..],
        ),
        (format!("{compare} --seeds -1"), &["invalid value '-1' for '--seeds <N>'"]),
        (format!("{compare} --jobs 0"), &["'--jobs <N>': expected a whole number, 1 or more"]),
        (format!("{compare} --doubt 1e9"), &["'--doubt <N>': expected a whole number"]),
        (format!("{compare} --nope"), &["unexpected argument '--nope'"]),
        ("comprae".into(), &["unrecognized subcommand 'comprae'", "'compare'"]),
        (format!("{compare} --until 3 --seeds 9-16"), &["--until: --seeds takes the greatest number"]),
        ("compare hikey960 sched-pipe --base v5.9 --test fair:v5.11".into(), &["did you mean fair:v5.9?"]),
    ] {
        refuses(&words, &[parts, &["x ", "help: "]].concat());
    }
}

#[test]
fn seeds_may_begin_elsewhere() {
    let words = "compare hikey sched-pipe:loops=20 --base fair:v5.9 --test fair:v5.11 --format json --seeds";
    let [all, late] = ["1-4", "3-4"].map(|seeds| crate::json(&format!("{words} {seeds}")));
    assert_eq!((seeds(&all), seeds(&late)), (vec![1, 2, 3, 4], vec![3, 4]));
    assert_eq!(all["runs"].as_array().unwrap()[2..], late["runs"].as_array().unwrap()[..], "the same runs");
}

#[test]
fn colors_and_silence_are_to_be_had() {
    let colored = crate::fairground("run nowhere sched-pipe --sched fair:v5.9 --color always").stderr;
    assert!(colored.contains("\u{1b}["), "{colored:?}");
    let plain = crate::fairground("run nowhere sched-pipe --sched fair:v5.9 --color never").stderr;
    assert!(!plain.contains('\u{1b}'), "{plain:?}");
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("t.txt");
    std::fs::write(
        &trace,
        "a-1 [000] 1.5: sched_waking: comm=b pid=2 prio=120 target_cpu=0\na-1 [000] 1.6: other: x=1\n",
    )
    .unwrap();
    let stats = |more: &str| crate::fairground(&format!("stats latency {} {more}", trace.display()));
    let (said, quiet) = (stats(""), stats("--quiet"));
    assert!(said.stderr.contains("1 events of other kinds"), "{}", said.stderr);
    assert!(quiet.code == 0 && !quiet.stderr.contains("of other kinds"), "{}", quiet.stderr);
    assert!(quiet.stderr.contains("no task waits for a CPU"), "it qualifies the table: {}", quiet.stderr);
    assert_eq!(stats("-q").stdout, stats("").stdout);
    std::fs::write(&trace, "a-1 [000] 1.5: sched_waking: comm=b pid=2 prio=120 target_cpu=0\nbad\n").unwrap();
    assert!(stats("--quiet").stderr.contains("left out"), "{}", stats("--quiet").stderr);
}
