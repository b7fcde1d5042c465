//! What `compare --format json` printed, as far as its runs can be made again.

use std::path::Path;

use fairground_lab::sides::SideSpec;
use fairground_lab::tables::SCHEMA;
use fairground_machine::why_unread;
use miette::Diagnostic;
use serde_json::Value;
use thiserror::Error;

use crate::error::Failure;

/// The file is not a comparison, or its runs cannot be named.
#[derive(Debug, Error, Diagnostic)]
#[error("{file}: {problem}")]
#[diagnostic(help("{help}"))]
struct Unusable {
    file: String,
    problem: String,
    help: String,
}

/// A pair of runs of a comparison.
pub struct Saved {
    pub machine: String,
    pub workload: String,
    pub sides: Vec<SideSpec>,
    pub seed: u64,
    /// Hashes of their events.
    pub hashes: Option<[String; 2]>,
}

impl Saved {
    /// Reads the pair with this seed, else the first, of the comparison with this test, else of the first.
    pub fn read(path: &Path, test: Option<&str>, seed: Option<u64>) -> Result<Saved, Failure> {
        let file = path.display().to_string();
        let unusable = |problem: String, help: &str| -> Failure {
            Unusable { file: file.clone(), problem, help: help.to_owned() }.into()
        };
        let text = std::fs::read_to_string(path)
            .map_err(|e| unusable(format!("cannot be read: {}", why_unread(&e)), "name a file"))?;
        let expected =
            "expected what `fairground compare --format json` prints; for a workload: fairground view MACHINE WORKLOAD";
        let value: Value = serde_json::from_str(&text).map_err(|e| unusable(format!("not JSON: {e}"), expected))?;
        let documents = match value {
            Value::Array(several) => several,
            one => vec![one],
        };
        if documents.is_empty() || documents.iter().any(|document| document["schema"] != SCHEMA) {
            return Err(unusable(format!("no document of the schema {SCHEMA}"), expected));
        }
        let names: Vec<&str> = documents.iter().filter_map(|document| document["test"].as_str()).collect();
        let found = documents.iter().find(|document| test.is_none_or(|test| document["test"] == test));
        let found = found.ok_or_else(|| {
            unusable(
                format!("no comparison with --test {}", test.unwrap_or_default()),
                &format!("it has {}", names.join(", ")),
            )
        })?;
        let setting = |side: &str, name: &str| found[side][name].as_str().map(str::to_owned);
        let named =
            |name| setting("base_settings", name).ok_or_else(|| unusable(format!("no base_settings.{name}"), expected));
        let (machine, workload) = (named("machine")?, named("workload")?);
        let side = |key: &str, option: &'static str| -> Result<SideSpec, Failure> {
            let settings = found[key].as_object().ok_or_else(|| unusable(format!("no {key}"), expected))?;
            let own: Vec<(&str, &str)> = settings
                .iter()
                .filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
                .filter(|(name, value)| *value != "none" && !(*name == "machine" && *value == machine))
                .filter(|(name, value)| !(*name == "workload" && *value == workload))
                .collect();
            Ok(SideSpec::of_settings(option, &own)?)
        };
        let sides = vec![side("base_settings", "--base")?, side("test_settings", "--test")?];
        let pairs = found["runs"].as_array().map_or(&[][..], Vec::as_slice);
        let pair = pairs.iter().find(|pair| seed.is_none_or(|seed| pair["seed"].as_u64() == Some(seed)));
        let seed = seed.or_else(|| pair?["seed"].as_u64()).unwrap_or(1);
        let hash = |pair: &Value, key: &str| pair[key].as_str().unwrap_or_default().to_owned();
        let hashes = pair.map(|pair| [hash(pair, "base_hash"), hash(pair, "test_hash")]);
        Ok(Saved { machine, workload, sides, seed, hashes })
    }
}
