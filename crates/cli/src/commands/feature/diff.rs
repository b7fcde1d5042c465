//! `fairground feature diff`.

use std::fmt::Write;

use fairground_fair::{feature_diff, FeatureChange, Features};
use serde_json::{json, Value};

use super::{changes, read};
use crate::error::Failure;

/// Name and version of the schema.
const SCHEMA: &str = "fairground-feature-diff-1";

/// Two sets of features.
pub struct FeatureDiff {
    base: Features,
    test: Features,
}

/// Reads the two names.
pub fn find(base: &str, test: &str) -> Result<FeatureDiff, Failure> {
    Ok(FeatureDiff { base: read(base)?, test: read(test)? })
}

impl FeatureDiff {
    pub fn text(&self) -> String {
        let mut out = format!("base  {}\ntest  {}\n", self.base, self.test);
        for note in self.notes() {
            let _ = writeln!(out, "note  {note}");
        }
        let rows = feature_diff(&self.base, &self.test);
        if rows.is_empty() {
            return out + "\nno feature differs\n";
        }
        let width = |title: &str, of: fn(&FeatureChange) -> &str| {
            rows.iter().map(|row| of(row).len()).max().unwrap_or(0).max(title.len())
        };
        let name = width("feature", |row| row.feature.name);
        let (base, test) = (width("base", |row| row.base), width("test", |row| row.test));
        let _ = writeln!(out, "\n{:name$}  {:base$}  {:test$}  changed by", "feature", "base", "test");
        for row in &rows {
            let ready = if row.feature.ready { "" } else { "; not ready: no effect yet" };
            let _ = writeln!(out, "{:name$}  {:base$}  {:test$}  {row}{ready}", row.feature.name, row.base, row.test);
        }
        out
    }

    pub fn document(&self) -> Value {
        let row = |row: &FeatureChange| {
            json!({
                "name": row.feature.name,
                "base": row.base,
                "test": row.test,
                "ready": row.feature.ready,
                "changes": changes(&row.releases),
                "text": row.feature.text,
            })
        };
        json!({
            "schema": SCHEMA,
            "base": self.base.to_string(),
            "test": self.test.to_string(),
            "notes": self.notes(),
            "features": feature_diff(&self.base, &self.test).iter().map(row).collect::<Vec<_>>(),
        })
    }

    /// What is known of names that are no presets. Which features are not ready is said of each.
    fn notes(&self) -> Vec<String> {
        [&self.base, &self.test].into_iter().filter_map(Features::stands_for_note).collect()
    }
}
