//! `fairground review` and `fairground bisect`, with features in place of patches: no kernel is built.

use std::path::Path;

use serde_json::Value;

use super::{fairground, json, refuses, succeeds};

/// A matrix on which `asym-prev-first` changes hikey960, and nothing changes rpi5's CPUs.
fn matrix(dir: &Path) -> String {
    let path = dir.join("matrix.toml");
    let text = "seeds = 8\ndraws = 0\n[[block]]\nmachines = [\"hikey960\", \"rpi5\"]\nworkloads = [\"sched-pipe:loops=100\"]\n";
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

const FEATURES: &str = "--features fair:v5.9+wa-prev-idle+lb-p06+asym-prev-first";

#[test]
fn a_change_is_attributed_to_the_patch_that_makes_it_and_explained_by_rules() {
    let dir = tempfile::tempdir().unwrap();
    let matrix = matrix(dir.path());
    let features = "--features fair:v5.9+wa-prev-idle+asym-prev-first";
    let answer = json(&format!("review {features} --matrix {matrix} --no-store --format json"));
    assert_eq!(answer["schema"], "fairground-review-1");
    let rows = answer["cells"][0]["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["metric"] == "ops_per_sec").unwrap();
    assert_eq!(row["verdict"], "better");
    let named: Vec<&Value> = row["shares"].as_array().unwrap().iter().filter(|s| s["attributed"] == true).collect();
    assert_eq!(named.iter().map(|share| &share["patches"]).collect::<Vec<_>>(), [&serde_json::json!([2])]);
    let decisions = &answer["decisions"][0];
    let rules = decisions["parted"]["rules"].to_string();
    assert!(rules.contains("previous CPU (A2)"), "{rules}");
    assert!(decisions["parted"]["first"][0].as_str().unwrap().contains("B1"), "{decisions}");
}

#[test]
fn the_text_for_the_list_keeps_to_72_columns_of_ascii_and_repeats() {
    let dir = tempfile::tempdir().unwrap();
    let matrix = matrix(dir.path());
    let words = "review --features fair:v5.9+wa-prev-idle+asym-prev-first --no-store --matrix";
    let text = succeeds(&format!("{words} {matrix} --jobs 1"));
    assert!(text.is_ascii() && text.lines().all(|line| line.len() <= 72), "{text}");
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part:?} in\n{text}"));
    assert!(at("2/2  +asym-prev-first") < at("Better\n") && at("Better\n") < at("Decisions on hikey960"));
    assert_eq!(text, succeeds(&format!("{words} {matrix} --jobs 2")));
}

#[test]
fn seeds_are_taken_as_by_compare() {
    let dir = tempfile::tempdir().unwrap();
    let matrix = matrix(dir.path());
    let words =
        format!("review --features fair:v5.9+asym-prev-first --matrix {matrix} --no-store --format json --seeds");
    let answer = json(&format!("{words} 9-14"));
    assert_eq!((&answer["matrix"]["first_seed"], &answer["matrix"]["seeds"]), (&9.into(), &6.into()));
    assert_eq!((&answer["cells"][0]["pairs"], &answer["decisions"][0]["seed"]), (&6.into(), &9.into()));
    let row = |answer: &Value| answer["cells"][0]["rows"][0]["base"].as_f64().unwrap();
    assert_ne!(row(&answer), row(&json(&format!("{words} 6"))));
    refuses(&format!("{words} 9-6"), &["as in 9-16"]);
    refuses(&format!("{words} 9-14 --until 1"), &["the greatest number here, not a range"]);
}

#[test]
fn a_series_that_reaches_no_decision_has_no_table() {
    let dir = tempfile::tempdir().unwrap();
    let matrix = matrix(dir.path());
    let text = succeeds(&format!("review --features fair:v6.12+lb-p06 --matrix {matrix} --no-store"));
    assert!(text.contains("no decision of any of 2 cells reaches the change"), "{text}");
    assert!(!text.contains("Better") && !text.contains("Worse"), "{text}");
    let text = succeeds(&format!("review --features fair:v6.12 --matrix {matrix} --no-store"));
    assert!(text.contains("same code: nothing that runs differs"), "{text}");
}

#[test]
fn a_directory_has_all_layouts_and_traces_and_a_regression_can_fail_a_script() {
    let dir = tempfile::tempdir().unwrap();
    let matrix = matrix(dir.path());
    let out = dir.path().join("out");
    // Backwards, the gain is a loss.
    let words = "--features fair:v5.9+wa-prev-idle+asym-prev-first..fair:v5.9+wa-prev-idle --no-store --fail-if-worse";
    let ran = fairground(&format!("review {words} --matrix {matrix} --dir {}", out.display()));
    assert_eq!(ran.code, 3, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(super::files(&out), ["junit.xml", "review.html", "review.json", "review.md", "review.txt", "traces"]);
    let html = std::fs::read_to_string(out.join("review.html")).unwrap();
    assert!(!html.contains("http:") && !html.contains("https:") && html.contains("<td>hikey960"), "{html}");
    for name in super::files(&out.join("traces")) {
        assert!(html.contains(&format!("traces/{name}")), "{name}");
    }
    let junit = std::fs::read_to_string(out.join("junit.xml")).unwrap();
    assert!(junit.contains("failures=\"1\"") && junit.contains("<failure message=\"ops_per_sec -"), "{junit}");
    let trace = out.join("traces/hikey960-before.dat");
    assert!(succeeds(&format!("explain {}", trace.display())).contains("select_idle_sibling"));
}

#[test]
fn a_bisection_finds_the_feature_and_its_decisions() {
    let words = "--machine hikey960 --workload sched-pipe:loops=100 --no-store --threshold 10";
    let text = succeeds(&format!("bisect {FEATURES} {words}"));
    assert!(text.contains("first beyond it: 3/3 +asym-prev-first"), "{text}");
    assert!(text.contains("select_idle_sibling: previous CPU (A2)"), "{text}");
    let answer = json(&format!("bisect {FEATURES} {words} --format json"));
    assert_eq!((&answer["schema"], &answer["first"]), (&"fairground-bisect-1".into(), &3.into()));
    let text = succeeds(&format!("bisect {FEATURES} {} --threshold -10", words.replace("--threshold 10", "")));
    assert!(text.contains("the series does not change it by so much"), "{text}");
}

#[test]
fn what_cannot_be_reviewed_is_refused_with_what_was_expected() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bad.toml");
    std::fs::write(&path, "[[block]]\nmachines = [\"hikey690\"]\nworkloads = [\"sched-pipe\"]\n").unwrap();
    refuses(&format!("review --features fair:v6.12+lb-p06 --matrix {}", path.display()), &["hikey690", "hikey960"]);
    std::fs::write(&path, "[[block]]\nmachine = [\"hikey960\"]\n").unwrap();
    refuses(
        &format!("review --features fair:v6.12 --matrix {}", path.display()),
        &["unknown key `machine`", "machines"],
    );
    refuses("review --features fair:v6.12+asym-prev-frist --quick", &["asym-prev-first"]);
    refuses("review --features fair:v5.9+lb-p06 --hunt 0", &["expected 0.1 to 100000 minutes"]);
    refuses("review --features fair:v5.9+lb-p06 --hunt 1 --format html", &["--hunt has no format html"]);
    refuses("review --features fair:v5.9 --hunt 1", &["nothing to hunt for"]);
    refuses("review", &["required arguments were not provided", "TREE"]);
    refuses(&format!("review {}", dir.path().display()), &["no series is given"]);
    refuses(&format!("review {} v6.12..mine", dir.path().display()), &["is not a git repository"]);
    refuses(&format!("review {} {}", path.display(), path.display()), &["the first argument is the tree"]);
    refuses(
        "bisect --features fair:v6.12 --machine hikey960 --workload sched-pipe --threshold -2",
        &["no patch changes code"],
    );
    refuses("bisect --features fair:v5.9+lb-p06 --machine hikey960 --workload sched-pipe --threshold 0", &["not 0"]);
    let words = "--machine hikey960 --workload sched-pipe:loops=10 --threshold -2 --no-store";
    refuses(&format!("bisect --features fair:v5.9+lb-p06 {words} --metric op_per_sec"), &["ops_per_sec"]);
}
