use super::{fairground, json, refuses, succeeds};

/// One seed: nothing is scored, but every row stands there with its keys.
#[test]
fn every_row_of_mail_000_is_shown() {
    let result = json("reproduce 000 --seeds 1 --format json");
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
    let result = json("reproduce 000 --row hikey/ --seeds 1 --format json");
    let ids: Vec<_> = result["rows"].as_array().unwrap().iter().map(|r| r["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["000/hikey/sched-pipe/migrations", "000/hikey/sched-pipe/ops_per_sec"]);
    refuses("reproduce 000 --row hackbench", &["hackbench", "000/hikey960/sched-pipe/migrations and so on"]);
}

/// One feature parts test from base: it carries the whole change.
#[test]
fn a_row_is_taken_apart_by_its_features() {
    let command = "reproduce 000 --row hikey960/sched-pipe/ops --seeds 2 --each-feature";
    let row = &json(&format!("{command} --format json"))["rows"][0];
    let piece = &row["features"][0];
    assert_eq!(piece["feature"], "asym-prev-first");
    let whole = row["ours"]["improvement_pct"].as_f64().unwrap();
    for key in ["adds", "carries"] {
        assert!((piece[key]["mean"].as_f64().unwrap() - whole).abs() < 1e-9, "{row}");
    }
    assert_eq!((row["features"].as_array().unwrap().len(), piece["without_pct"].as_f64()), (1, Some(0.0)));
    assert!(succeeds(command).contains("asym-prev-first  000/hikey960/sched-pipe/ops_per_sec +"));
}
