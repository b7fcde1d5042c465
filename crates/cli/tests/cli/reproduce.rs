use super::{fairground, json};

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
    assert_eq!(fairground("reproduce 001").code, 2);
}
