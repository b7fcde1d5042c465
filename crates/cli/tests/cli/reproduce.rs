use std::fs;

use super::{fairground, files, json, refuses, succeeds};

/// One seed: nothing is scored, but every row stands there with its keys.
#[test]
fn every_row_of_a_mail_is_shown() {
    let result = json("reproduce asym-prev-first --seeds 1 --no-store --format json");
    let rows = result["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 6);
    for row in rows {
        assert!(row["why"].as_str().is_some_and(|why| !why.is_empty()), "{row}");
        assert!(row["hit"].is_null(), "one seed scores nothing: {row}");
    }
    let run = rows.iter().filter(|r| !r["ours"].is_null()).count();
    assert_eq!(run, 4);
}

#[test]
fn a_mail_without_rows_is_bad_input() {
    assert_eq!(fairground("reproduce 011").code, 2);
}

#[test]
fn rows_are_chosen_by_a_part_of_their_ids() {
    let result = json("reproduce asym-prev-first --row hikey/ --seeds 1 --no-store --format json");
    let ids: Vec<_> = result["rows"].as_array().unwrap().iter().map(|r| r["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["asym-prev-first/hikey/sched-pipe/migrations", "asym-prev-first/hikey/sched-pipe/ops_per_sec"]);
    let mut by_number = json("reproduce 000 --row 000/hikey/ --seeds 1 --no-store --format json");
    assert!(by_number["provenance"]["command"].as_str().unwrap().contains("reproduce 000"), "{by_number}");
    by_number["provenance"] = result["provenance"].clone();
    assert_eq!(by_number, result, "the number of a mail is its slug");
    assert_eq!(result["mails"][0]["subject"], "[PATCH v2] sched/fair: prefer prev cpu in asymmetric wakeup path");
    refuses(
        "reproduce asym-prev-first --row hackbench",
        &["hackbench", "asym-prev-first/hikey960/sched-pipe/migrations and so on"],
    );
}

/// One feature parts test from base: it carries the whole change.
#[test]
fn a_row_is_taken_apart_by_its_features() {
    let command = "reproduce asym-prev-first --row hikey960/sched-pipe/ops --seeds 6 --each-feature --no-store";
    let row = &json(&format!("{command} --format json"))["rows"][0];
    let piece = &row["features"][0];
    assert_eq!(piece["feature"], "asym-prev-first");
    let whole = row["ours"]["improvement_pct"].as_f64().unwrap();
    for key in ["adds", "carries"] {
        assert!((piece[key]["mean"].as_f64().unwrap() - whole).abs() < 1e-9, "{row}");
    }
    assert_eq!((row["features"].as_array().unwrap().len(), piece["without_pct"].as_f64()), (1, Some(0.0)));
    assert!(succeeds(command).contains("asym-prev-first  asym-prev-first/hikey960/sched-pipe/ops_per_sec +"));
}

/// One row of milliseconds.
const TINY: &str = "reproduce asym-prev-first --quick --row hikey/sched-pipe/ops";

#[test]
fn a_first_look_is_marked_in_every_layout() {
    let words = "quick: 3 seeds, shortened to a quarter; not scored by the rule";
    for format in ["text", "markdown", "csv", "json", "html"] {
        let shown = succeeds(&format!("{TINY} --no-store --format {format}"));
        assert!(shown.contains(words), "{format}: {shown}");
        assert!(shown.contains("not scored: 3 pairs of runs"), "{format}: {shown}");
        let verdicts = [
            "hit: our",
            "hit: theirs",
            "miss: right",
            "miss: wrong",
            "miss: theirs",
            ">hit<",
            ">miss<",
            "  yes",
            "  NO",
        ];
        assert!(!verdicts.iter().any(|verdict| shown.contains(verdict)), "{format}: {shown}");
    }
    let result = json(&format!("{TINY} --no-store --format json"));
    let row = &result["rows"][0];
    assert_eq!((row["ours"]["n"].as_u64(), row["hit"].is_null()), (Some(3), true));
    assert_eq!(row["why"], "not scored: 3 pairs of runs, at least 8 are needed");
    assert_eq!((result["scored"].as_u64(), result["mails"][0]["scored"].as_u64()), (Some(0), Some(0)));
    refuses(&format!("{TINY} --seeds 8"), &["--quick", "--seeds"]);
}

/// The picture has what the row is over draws, once there are enough for an interval, and its key says so.
#[test]
fn the_picture_has_the_model_interval() {
    let page = |draws: u32| succeeds(&format!("{TINY} --no-store --doubt {draws} --format html"));
    let drawn = |page: &str| page.matches("class=\"bar drawn\"").count();
    let [many, few] = [19, 3].map(page);
    assert_eq!([drawn(&many), drawn(&few)], [2, 0]);
    assert!(few.contains("\nmachines (figures sourced / estimated / fitted): ") && few.contains("--doubt 3"), "{few}");
}

/// The draws are those of `compare --doubt`: the same numbers, seeds and changes.
#[test]
fn rows_are_run_on_the_draws_of_a_comparison_and_kept_with_them() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let row = "reproduce asym-prev-first --quick --row hikey960/sched-pipe/ops";
    let command = format!("{row} --store {} --format json", store.display());
    let results = || fairground_run::store::Store::open(&store).unwrap().len().unwrap();
    let two = json(&format!("{command} --doubt 2"));
    assert_eq!(results(), 10, "three pairs of seeds, two pairs of draws");
    let three = json(&format!("{command} --doubt 3"));
    assert_eq!(results(), 12, "draws are added to those that are there");
    let changes = |result: &serde_json::Value| result["rows"][0]["model"]["changes_pct"].as_array().unwrap().clone();
    assert_eq!(changes(&two)[..], changes(&three)[..2]);
    let nominal = &three["rows"][0]["ours"]["improvement_pct"];
    assert!(changes(&three).iter().all(|change| change != nominal), "the figures are drawn: {three}");
    let model = &three["rows"][0]["model"];
    assert_eq!(
        (model["draws"].as_u64(), &model["ci90"], model["ci50"].is_array()),
        (Some(3), &serde_json::Value::Null, true)
    );
    assert_eq!(three["provenance"]["draws"].as_u64(), Some(3));
    assert!(
        three["rows"][0]["hit_model"].is_null() && three.get("coverage50").is_none(),
        "a quick row is not scored: {three}"
    );

    let short = row.replace("--quick", "--seeds 1 --doubt 2 --part-on-draws 4");
    let short = json(&format!("{short} --store {} --format json", store.display()));
    assert_eq!(changes(&short), changes(&two), "a quarter of the length, as --quick has");
    let notes = short["notes"].as_array().unwrap();
    assert!(notes.contains(&"runs on draws take a part of the length: 1/4 in 1 of 1 runs".into()), "{notes:?}");
    assert_eq!(results(), 14, "a pair at the whole length");

    let none = json(&command);
    assert!(none["rows"][0]["model"].is_null() && none["provenance"]["draws"].as_u64() == Some(0), "{none}");
    let seed_interval = |result: &serde_json::Value| result["rows"][0]["ours"].clone();
    assert_eq!(seed_interval(&none), seed_interval(&three));

    let row = &none["rows"][0];
    assert_eq!(row["id"], "asym-prev-first/hikey960/sched-pipe/ops_per_sec");
    let compared = json(&format!(
        "compare hikey960 sched-pipe:threads,loops=12500 --base fair:v5.9 --test fair:v5.9+asym-prev-first --seeds 3 \
         --doubt 3 --store {} --format json",
        store.display()
    ));
    assert_eq!(results(), 14, "a comparison finds these runs");
    let metric = compared["metrics"].as_array().unwrap().iter().find(|metric| metric["name"] == "ops_per_sec").unwrap();
    for key in ["median_pct", "ci50", "ci90", "p_better", "p_worse", "draws"] {
        assert_eq!(metric["model"][key], model[key], "{key}");
    }
    refuses(&format!("{TINY} --doubt -1"), &["--doubt", "-1"]);
}

/// A scored row with three draws: enough for a 50 % interval, not for one of 90 %.
#[test]
fn a_scored_row_over_draws_is_in_the_proper_score() {
    let command = "reproduce asym-prev-first --row hikey/sched-pipe/ops --seeds 8 --doubt 3 --no-store";
    let result = json(&format!("{command} --format json"));
    let (row, model) = (&result["rows"][0], &result["rows"][0]["model"]);
    let published = row["published"]["improvement_pct"].as_f64().unwrap();
    let [lo, hi] = [0, 1].map(|end| model["predictive"]["ci50"][end].as_f64().unwrap());
    assert!(row["hit"].is_boolean() && row["hit_model"].is_null() && model["outside90"].is_null(), "{row}");
    let covered = if (lo..=hi).contains(&published) { 100.0 } else { 0.0 };
    assert_eq!(result["coverage50"]["pct"].as_f64(), Some(covered));
    assert_eq!(result["coverage50"]["width"].as_f64(), Some(hi - lo));
    assert_eq!((result["drawn_rows"].as_u64(), &result["coverage90"]), (Some(1), &serde_json::Value::Null));
    assert_eq!(result["mails"][0]["crps"], result["crps"]);
    assert!(result["crps"]["ours"].as_f64().is_some_and(|crps| crps > 0.0), "{result}");
}

#[test]
fn results_are_kept_and_what_was_damaged_is_named_and_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let command = format!("{TINY} --store {} --format json", store.display());
    let results = || fairground_run::store::Store::open(&store).unwrap().len().unwrap();
    let first = succeeds(&command);
    assert_eq!(results(), 6, "three pairs of runs");
    let database = store.join("results.sqlite");
    let whole = fs::read(&database).unwrap();
    fs::write(&database, &whole[..whole.len() / 2]).unwrap();
    let again = fairground(&command);
    assert_eq!((again.code, &again.stdout), (0, &first));
    let message: String = again.stderr.split_whitespace().collect();
    assert!(
        message.contains("results.sqliteisdamaged") && message.contains("results.sqlite.damaged"),
        "{}",
        again.stderr
    );
    assert_eq!(results(), 6);
    let third = fairground(&command);
    assert_eq!((&third.stdout, third.stderr.as_str()), (&first, ""));
}

#[test]
fn a_store_that_cannot_be_written_is_refused_before_any_run() {
    refuses(&format!("{TINY} --store /dev/null"), &["/dev/null", "--no-store"]);
}

#[test]
fn a_page_is_written_whole_and_stands_alone() {
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("page.html");
    let printed = succeeds(&format!("{TINY} --no-store --format html --output {}", page.display()));
    assert_eq!((printed.as_str(), files(dir.path())), ("", vec!["page.html".to_string()]));
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>\n"), "{text}");
    assert!(text.contains("hikey/sched-pipe/ops_per_sec") && text.contains("<svg class=\"plot\""), "{text}");
    for outside in ["http:", "https:", "<script", "@import", "url("] {
        assert!(!text.contains(outside), "{outside}");
    }
    refuses(&format!("{TINY} --output {}/no/page.html", dir.path().display()), &["there is no directory"]);
}

#[test]
fn a_document_takes_the_tables_of_a_mail() {
    let dir = tempfile::tempdir().unwrap();
    let document = dir.path().join("notes.md");
    let path = document.display();
    let place = "<!-- reproduce asym-prev-first: begin by hand -->\n<!-- reproduce asym-prev-first: end -->\n";
    fs::write(&document, format!("Before.\n{place}After.\n")).unwrap();
    let command = "reproduce asym-prev-first --quick --no-store";
    succeeds(&format!("{command} --update {path}"));
    let text = fs::read_to_string(&document).unwrap();
    assert!(
        text.starts_with("Before.\n<!-- reproduce asym-prev-first: begin ") && text.ends_with("After.\n"),
        "{text}"
    );
    assert!(text.contains("| hikey/sched-pipe/ops_per_sec | 47721 -> 47899 ops/sec"), "{text}");
    succeeds(&format!("{command} --check {path}"));
    fs::write(&document, text.replacen("47721", "47722", 1)).unwrap();
    refuses(&format!("{command} --check {path}"), &["notes.md:2", "edited by hand"]);
    fs::write(&document, "").unwrap();
    refuses(&format!("{command} --update {path}"), &["no place for the tables of asym-prev-first"]);
    refuses(&format!("{TINY} --update {path}"), &["--row leaves rows out"]);
}

/// Every estimate of hikey960, up and down.
#[test]
fn a_row_tells_what_it_hangs_on() {
    let command = "reproduce asym-prev-first --quick --row hikey960/sched-pipe/ops --sensitivity --sensitivity-seeds 1 --no-store";
    let result = json(&format!("{command} --format json"));
    let row = &result["sensitivity"]["rows"][0];
    let [low, high] = [0, 1].map(|end| row["range_pct"][end].as_f64().unwrap());
    let ours = row["ours_pct"].as_f64().unwrap();
    assert!(low < ours && ours < high, "{row}");
    assert!(row["tried"].as_u64().unwrap() > 40, "{row}");
    let movers: Vec<_> = row["most"].as_array().unwrap().iter().map(|m| m["figure"].as_str().unwrap()).collect();
    assert!(
        movers.iter().any(|figure| figure.starts_with("costs.refill_kib")),
        "the refill carries this change: {row}"
    );
    refuses("reproduce asym-prev-first --sensitivity-seeds 3", &["--sensitivity"]);
    refuses(
        "reproduce asym-prev-first --sensitivity --sensitivity-rows hakcbench --no-store",
        &["no judged row", "hakcbench"],
    );
}
