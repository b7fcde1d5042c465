//! `fairground calibrate`.

use super::{fairground, files, refuses, succeeds};

/// All seeds of all recorded fits are repeated, to the digit, by `./test published`. Here one seed must do: its fit is within one
/// percent of that of all.
#[test]
fn a_recorded_fit_repeats() {
    let store = tempfile::tempdir().expect("a directory");
    let command = format!("calibrate hikey960 --seeds 1 --store {}", store.path().display());
    let out = succeeds(&command);
    assert_eq!(files(store.path()), ["lock", "results.sqlite"]);
    assert_eq!(succeeds(&command), out, "answered from the store");
    let scale = |word: &str| -> f64 {
        let line = out.lines().find(|l| l.starts_with(word)).expect(word);
        line.rsplit(' ').next().unwrap_or_default().parse().expect("a number")
    };
    assert!((scale("recorded") / scale("fitted") - 1.0).abs() < 0.01, "{out}");
    assert!(out.contains("asym-prev-first/hikey960/sched-pipe/ops_per_sec/base"));
}

#[test]
fn a_fit_is_written_into_the_file_and_nothing_else_changes() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("mine.toml");
    let text = fairground_machine::preset_text("hikey960").expect("a preset");
    let text = text.replace("scale = { factor = 0.", "scale = { factor = 1.");
    std::fs::write(&path, &text).expect("written");
    succeeds(&format!("calibrate {} --seeds 1 --write --no-store", path.display()));
    let new = std::fs::read_to_string(&path).expect("read");
    let changed: Vec<_> = text.lines().zip(new.lines()).filter(|(a, b)| a != b).map(|(_, b)| b).collect();
    assert!(changed.len() == 1 && changed[0].starts_with("scale = "), "{changed:?}");
    assert_eq!(files(dir.path()), ["mine.toml"]);
}

#[test]
fn presets_are_not_written_and_patched_cells_not_fitted() {
    refuses("calibrate hikey --write", &["hikey", "machines/hikey.toml"]);
    refuses("calibrate rpi5", &["records no fit", "--cell"]);
    refuses(
        "calibrate hikey960 --cell asym-prev-first/hikey960/sched-pipe/ops_per_sec/test",
        &["only baseline cells", "did you mean asym-prev-first/hikey960/sched-pipe/ops_per_sec/base?"],
    );
}

#[test]
fn a_fit_out_of_reach_says_so() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("slow.toml");
    let text = fairground_machine::preset_text("hikey").expect("a preset");
    std::fs::write(&path, text.replace("probe = { ns = ", "probe = { ns = 900")).expect("written");
    let ran = fairground(&format!("calibrate {} --seeds 1 --no-store", path.display()));
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("no value of costs.scale gives"), "{}", ran.stderr);
}

#[test]
fn a_figure_of_its_own_is_fitted_to_a_cell() {
    refuses("calibrate hikey --figure costs.soft.futex", &["--cell"]);
    refuses(
        "calibrate hikey960 --cell 000/hikey960/sched-pipe/ops_per_sec/base --figure costs.soft.futex",
        &["hikey960 would have 2 fitted figures and has 1 baseline cells"],
    );
    let out = succeeds(
        "calibrate hikey --seeds 1 --cell asym-prev-first/hikey/sched-pipe/ops_per_sec/base \
         --figure costs.soft.pipe_write --figure costs.soft.pipe_read --no-store",
    );
    let fitted = out.lines().find(|l| l.starts_with("fitted")).expect("a line");
    assert!(fitted.contains("costs.soft.pipe_write = ") && fitted.contains(", costs.soft.pipe_read = "), "{out}");
}

/// With the hundreds of draws that a posterior takes, `--write` writes one: `./test published`.
#[test]
fn base_cells_weigh_draws_and_too_few_draws_are_not_written() {
    let store = tempfile::tempdir().expect("a directory");
    let command = format!("calibrate hikey960 --posterior --draws 8 --seeds 2 --store {}", store.path().display());
    let out = succeeds(&command);
    assert!(out.contains("draws      32, of which ") && out.contains("fewer than the 100"), "{out}");
    assert!(out.contains("asym-prev-first/hikey960/sched-pipe/ops_per_sec/base      149313    6.0 %"), "{out}");
    assert_eq!(succeeds(&command), out, "answered from the store");

    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("hikey960.toml");
    std::fs::write(&path, fairground_machine::preset_text("hikey960").expect("a preset")).expect("written");
    let command = command.replace("hikey960", &path.display().to_string());
    let ran = fairground(&format!("{command} --write"));
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("no posterior of hikey960 is written") && ran.stderr.contains("100"), "{}", ran.stderr);
    assert_eq!(files(dir.path()), ["hikey960.toml"]);
}

#[test]
fn a_posterior_is_of_base_cells_and_of_all_figures() {
    refuses("calibrate rpi5 --posterior", &["no published base cell weighs the figures of rpi5"]);
    refuses("calibrate hikey960 --posterior --write", &["machines/hikey960.toml"]);
    refuses("calibrate hikey960 --posterior --figure costs.soft.fork", &["cannot be used with"]);
    refuses("calibrate hikey960 --draws 8", &["--posterior"]);
}
