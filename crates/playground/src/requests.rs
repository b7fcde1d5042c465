//! Questions of a page, and their answers.
//!
//! A question is a JSON object with the key `ask`; an answer is one with the key `error`, or with what was asked for. An error is
//! the text that the command prints: what is wrong, where, and the nearest valid name.

use fairground_lab::tables::{documents, drawn_rows, legend, printable, rows, zeros, Format, HEAD};
use fairground_machine::{preset_text, Machine};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use serde::Deserialize;
use serde_json::{json, Value};

use crate::catalog::catalog;
use crate::input::{Input, InputError};
use crate::link;
use crate::session::{Made, Session, SIDES};

/// Columns of an error's text.
const WIDTH: usize = 100;

/// The questions.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase", deny_unknown_fields)]
enum Question {
    /// What can be chosen.
    Catalog,
    /// The input of a link's fragment.
    Decode { fragment: String },
    /// The fragment of an input.
    Encode { input: Input },
    /// Text and figures of the machine of an input.
    Machine { input: Input },
    /// Begins the runs of an input; ends those of the last.
    Open { input: Input },
    /// Makes one run of the base, with any seed.
    Run { input: Input, seed: u64 },
    /// Makes the next run.
    Next,
    /// What the runs that were made say.
    Report,
    /// The placements of the first seed, base against test.
    Rules,
    /// The model of the first runs for `FairgroundView.mount`, as [`Playground::bytes`].
    View,
}

/// Answers questions; holds the runs of the last input that was opened.
#[derive(Default)]
pub struct Playground {
    session: Option<Session>,
    /// What the last question for a view made.
    pub bytes: Vec<u8>,
}

impl Playground {
    /// The answer to a question, both JSON.
    pub fn answer(&mut self, question: &str) -> String {
        let answer = match serde_json::from_str(question) {
            Ok(question) => self.reply(question),
            Err(error) => Err(format!("the question is damaged: {error}")),
        };
        answer.unwrap_or_else(|error| json!({ "error": printable(error.trim_end()) })).to_string()
    }

    fn reply(&mut self, question: Question) -> Result<Value, String> {
        match question {
            Question::Catalog => catalog().map_err(text),
            Question::Decode { fragment } => Ok(json!({ "input": link::decode(&fragment).map_err(text)? })),
            Question::Encode { input } => Ok(json!({ "fragment": link::encode(&input) })),
            Question::Machine { input } => machine(&input).map_err(text),
            Question::Open { input } => {
                self.session = None;
                let session = self.session.insert(Session::open(input).map_err(text)?);
                Ok(json!({ "runs": session.runs(), "warnings": session.warnings }))
            }
            Question::Run { input, seed } => {
                let outcome = Session::open(input).map_err(text)?.run_of_base(seed);
                Ok(json_of(&Made { side: SIDES[0], seed, draw: 0, outcome }))
            }
            Question::Next => {
                let session = self.session()?;
                let run = session.next_run().map_or(Value::Null, |made| json_of(&made));
                Ok(json!({ "run": run, "made": session.made(), "runs": session.runs() }))
            }
            Question::Report => {
                let report = self.session()?.report().map_err(text)?;
                let comparison = documents(&report).pop().unwrap_or_default();
                let table = report.comparisons.last().map(|comparison| {
                    json!({ "head": HEAD, "rows": rows(comparison), "zeros": zeros(&[comparison]), "drawn": drawn_rows(comparison) })
                });
                let (text, legend) = (Format::Own.render(&report), legend(&report));
                Ok(json!({ "comparison": comparison, "table": table, "text": text, "legend": legend }))
            }
            Question::Rules => {
                let differing = self.session()?.differing().map_err(text)?;
                let rules: Value = serde_json::from_str(&differing.json()).unwrap_or_default();
                Ok(json!({ "rules": rules, "text": differing.text() }))
            }
            Question::View => {
                self.bytes = self.session()?.view().map_err(text)?;
                Ok(json!({ "bytes": self.bytes.len() }))
            }
        }
    }

    fn session(&mut self) -> Result<&mut Session, String> {
        self.session.as_mut().ok_or_else(|| "nothing has been opened".into())
    }
}

/// The machine of all sides, as its file and as a list of figures.
fn machine(input: &Input) -> Result<Value, InputError> {
    let machine = input.machine_of_all()?;
    let figures: Vec<Value> = machine
        .figures
        .iter()
        .map(|figure| json!({ "path": figure.path, "value": figure.value, "source": figure.source.to_string() }))
        .collect();
    let stated = input.machine_file.as_deref().or_else(|| preset_text(input.machine_name()));
    let text = stated.map_or_else(|| Machine::to_toml(&machine), str::to_owned);
    Ok(
        json!({ "name": machine.name, "title": machine.title, "cpus": machine.nr_cpus(), "text": text, "figures": figures }),
    )
}

fn json_of(made: &Made) -> Value {
    let Made { side, seed, draw, outcome } = made;
    let hash = outcome.as_ref().map_or(Value::Null, |report| format!("{:032x}", report.hash).into());
    let error = outcome.as_ref().err().map_or(Value::Null, |error| error.trim_end().into());
    json!({ "side": side, "seed": seed, "draw": draw, "hash": hash, "error": error })
}

/// An error as the command prints it where there is no terminal.
fn text(error: impl Diagnostic) -> String {
    let mut out = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::none()).with_width(WIDTH);
    match handler.render_report(&mut out, &error) {
        Ok(()) => out,
        Err(_) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(changes: Value) -> Value {
        let mut input = json!({
            "version": 1, "machine": "hikey960", "workload": "sched-pipe:loops=50", "base": "fair:v5.9",
            "test": "fair:v5.9+asym-prev-first", "seeds": 2, "draws": 0,
        });
        changes.as_object().unwrap().iter().for_each(|(key, value)| input[key] = value.clone());
        input
    }

    fn ask(playground: &mut Playground, question: Value) -> Value {
        serde_json::from_str(&playground.answer(&question.to_string())).unwrap()
    }

    fn refused(changes: Value) -> String {
        let answer = ask(&mut Playground::default(), json!({ "ask": "open", "input": input(changes) }));
        answer["error"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    #[test]
    fn runs_are_made_one_by_one_and_reported_as_compare_does() {
        let mut playground = Playground::default();
        let opened = ask(&mut playground, json!({ "ask": "open", "input": input(json!({ "draws": 1 })) }));
        assert_eq!(opened["runs"], 6, "{opened}");
        let made: Vec<Value> = (0..6).map(|_| ask(&mut playground, json!({ "ask": "next" }))["run"].clone()).collect();
        let order: Vec<_> = made
            .iter()
            .map(|run| (run["side"].as_str().unwrap(), run["seed"].as_u64(), run["draw"].as_u64()))
            .collect();
        let at = |side, seed, draw| (side, Some(seed), Some(draw));
        assert_eq!(order[..3], [at("base", 1, 0), at("test", 1, 0), at("base", 2, 0)]);
        assert_eq!(order[4..], [at("base", 1, 1), at("test", 1, 1)]);
        assert_eq!(ask(&mut playground, json!({ "ask": "next" }))["run"], Value::Null);
        let report = ask(&mut playground, json!({ "ask": "report" }));
        let metrics = report["comparison"]["metrics"].as_array().unwrap();
        assert!(metrics.iter().any(|m| m["name"] == "ops_per_sec" && m["model"]["draws"] == 1), "{report}");
        let text = report["text"].as_str().unwrap();
        for rows in [&report["table"]["rows"], &report["table"]["drawn"]] {
            let cells = rows[0].as_array().unwrap().iter().map(|cell| cell.as_str().unwrap());
            // Our own layout says in one line which metrics are better when they are higher.
            let cells = cells.filter(|cell| !["higher", "lower"].contains(cell));
            let words: Vec<&str> = cells.flat_map(str::split_whitespace).collect();
            assert!(text.lines().any(|line| line.split_whitespace().eq(words.iter().copied())), "{words:?}: {text}");
        }
        assert_eq!(report["comparison"]["runs"][0]["base_hash"], made[0]["hash"]);
        let rules = ask(&mut playground, json!({ "ask": "rules" }));
        assert!(rules["rules"]["rules"].as_array().unwrap().iter().any(|rule| rule["shift"] != 0), "{rules}");
        assert!(ask(&mut playground, json!({ "ask": "view" }))["bytes"].as_u64() > Some(1000));
        assert!(playground.bytes.starts_with(b"FGVIEW1"));
        let model = String::from_utf8_lossy(&playground.bytes);
        for asked in [r#""asked":{"label":"fair:v5.9+asym-prev-first""#, r#""asked":{"label":"fair:v5.9""#] {
            assert!(model.contains(asked), "{asked}");
        }
        let again = ask(&mut playground, json!({ "ask": "run", "input": input(json!({})), "seed": 2 }));
        assert_eq!(again["hash"], made[2]["hash"]);
    }

    #[test]
    fn mistakes_have_the_messages_of_the_command() {
        for (changes, message) in [
            (json!({ "machine": "hikey96" }), "did you mean `hikey960`?"),
            (json!({ "machine": "/etc/passwd" }), "unknown machine"),
            (json!({ "machine_file": "format = 2" }), "format"),
            (json!({ "workload": "sched-pip" }), "did you mean `sched-pipe`?"),
            (json!({ "workload": "x.json", "workload_file": "{ \"tasks\": { " }), "x.json:1"),
            (json!({ "base": "fair:v5.9+asym-prev-frist" }), "did you mean `asym-prev-"),
            (json!({ "test": "linux:mine" }), "linux:mine"),
            (json!({ "settings": [["goverour", "schedutil"]] }), "did you mean `governor`?"),
            (json!({ "figures": [["costs.none", 1.0]] }), "has no figure costs.none"),
            (json!({ "seeds": 65 }), "seeds: 65 is more than 64"),
            (json!({ "seeds": 0 }), "seeds: 0, expected 1 to 64"),
            (json!({ "version": 2 }), "version 2"),
            (json!({ "surprise": 1 }), "unknown field `surprise`"),
        ] {
            let found = refused(changes.clone());
            assert!(found.contains(message), "{changes}: {found}");
        }
    }

    #[test]
    fn a_figure_is_shown_and_replaced() {
        let mut playground = Playground::default();
        let shown = ask(&mut playground, json!({ "ask": "machine", "input": input(json!({})) }));
        let path = shown["figures"][0]["path"].as_str().unwrap().to_owned();
        let hash = |playground: &mut Playground, changes| {
            ask(playground, json!({ "ask": "open", "input": input(changes) }));
            ask(playground, json!({ "ask": "next" }))["run"]["hash"].clone()
        };
        assert!(!path.is_empty());
        let stated = hash(&mut playground, json!({}));
        assert_ne!(stated, hash(&mut playground, json!({ "figures": [["costs.scale", 3.0]] })));
        assert_eq!(stated, hash(&mut playground, json!({ "machine_file": shown["text"] })));
    }
}
