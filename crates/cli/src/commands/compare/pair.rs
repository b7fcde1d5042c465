//! A pair of runs of a comparison, made again with its events: the rules that moved, and its traces.

use std::path::{Path, PathBuf};

use fairground_lab::comparison::Settings;
use fairground_lab::explain::{Differing, Parted};
use fairground_lab::provenance::command_line;
use fairground_lab::sides::Sides;
use fairground_lab::tables::PairShown;
use fairground_run::experiment::{run_facts, Outputs, Trace, TraceFormat, TraceHead};
use fairground_run::run_config;
use fairground_trace::Recording;

use crate::error::{run_failed, Failure};
use crate::output::{stop_on_signals, OutputFile};

/// Where traces are written, and how the page names that place.
pub struct Links {
    directory: PathBuf,
    link: String,
}

impl Links {
    /// Makes the directory. Links are relative to the page's file, if they can be.
    pub fn create(directory: &Path, page: Option<&Path>) -> Result<Links, Failure> {
        std::fs::create_dir_all(directory)
            .map_err(|e| run_failed(format!("cannot create {}: {}", directory.display(), e.kind())))?;
        let beside = page.and_then(Path::parent).unwrap_or(Path::new(""));
        let whole = |path: &Path| match path.as_os_str().is_empty() {
            true => Path::new(".").canonicalize().ok(),
            false => path.canonicalize().ok(),
        };
        let (from, to) = (whole(beside), whole(directory));
        let relative = from.zip(to.clone()).and_then(|(from, to)| to.strip_prefix(from).ok().map(Path::to_path_buf));
        let link = match relative {
            Some(relative) => relative.display().to_string(),
            None => to.map_or_else(String::new, |to| format!("file://{}", to.display())),
        };
        Ok(Links { directory: directory.to_owned(), link })
    }

    fn link(&self, name: &str) -> String {
        let path = if self.link.is_empty() { name.to_owned() } else { format!("{}/{name}", self.link) };
        // What would end a path in a link, or begin something else.
        path.replace('%', "%25").replace('?', "%3F").replace('#', "%23").replace(' ', "%20")
    }
}

/// Makes the pair of base and of the test of this number, from 1. What fails is said in its place: the comparison is made already.
pub fn show(sides: &Sides, number: usize, seed: u64, links: Option<&Links>) -> PairShown {
    let named = sides.named();
    let record = |side: usize| -> Result<Recording, String> {
        let head = head(sides, &named[side].settings, side, seed, TraceFormat::Recording);
        let recorded = sides.experiments[side].recorded(0, seed, head, &stop_on_signals());
        recorded.map(|recorded| recorded.recording).map_err(|error| format!("{}: {error}", named[side].name))
    };
    let parted = record(0).and_then(|base| Ok((base, record(number)?))).and_then(|(base, test)| {
        let differing = Differing::of(&("base".to_owned(), &base), &("test".to_owned(), &test));
        differing.map(|differing| Parted::new(&differing)).map_err(|error| error.to_string())
    });
    let (mut traces, mut traces_problem) = (Vec::new(), None);
    for (side, word) in links.iter().flat_map(|_| [(0, "base"), (number, "test")]) {
        let Some(links) = links else { continue };
        let name = format!("{word}-{number}.perfetto-trace");
        let head = head(sides, &named[side].settings, side, seed, TraceFormat::Perfetto);
        match write_trace(sides, side, seed, head, &links.directory.join(&name)) {
            Ok(()) => traces.push((format!("{word} ({name})"), links.link(&name))),
            Err(failure) => traces_problem = Some(format!("{name}: {}", failure.words())),
        }
    }
    let command = command(sides, &named[0].settings, number, seed);
    PairShown { seed, parted, traces, traces_problem, command }
}

fn write_trace(sides: &Sides, side: usize, seed: u64, head: TraceHead, path: &Path) -> Result<(), Failure> {
    let output = OutputFile::create(path)?;
    let trace = Some(Trace { head, file: output.descriptor()? });
    let ran = sides.experiments[side].write(0, seed, Outputs { trace, logs: None }, (&stop_on_signals()).into());
    ran.outcome.map_err(run_failed)?;
    ran.trace.map_err(|e| run_failed(format!("cannot write {}: {e}", path.display())))?;
    output.finish()
}

fn head(sides: &Sides, settings: &Settings, side: usize, seed: u64, format: TraceFormat) -> TraceHead {
    let names = ["machine", "workload", "sched"].map(|name| settings.get(name).unwrap_or_default());
    let experiment = &sides.experiments[side];
    let notes = run_config::notes(&experiment.config);
    TraceHead { format, meta: run_facts(names, seed, None), notes, why: true, marks: None }
}

/// `fairground view` of the pair.
fn command(sides: &Sides, base: &Settings, number: usize, seed: u64) -> String {
    let [machine, workload] = ["machine", "workload"].map(|name| base.get(name).unwrap_or_default().to_owned());
    let words = ["fairground", "view", &machine, &workload, "--base", &sides.typed(0), "--test", &sides.typed(number)];
    let rest = ["--seed", &seed.to_string(), "-o", "view.html"];
    command_line(&words.into_iter().chain(rest).map(Into::into).collect::<Vec<_>>())
}
