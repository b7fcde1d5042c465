//! Which decisions a series changes: on each machine one run of before and after, and where they part.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use fairground_lab::explain::{Differing, Parted};
use fairground_lab::stats::Verdict;
use fairground_run::experiment::{run_facts, Experiment, Outputs, Stop, Trace, TraceFormat, TraceHead};
use fairground_run::run_config;
use fairground_trace::dat;

use crate::matrix::Cell;
use crate::measure::{Judged, Means, Measured, Measurements};
use crate::stages::Stages;

/// The decisions of one machine.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The cell whose decisions are shown.
    pub cell: Cell,
    /// Seed of both runs.
    pub seed: u64,
    /// Stages: before and after.
    pub stages: [usize; 2],
    /// Schedulers: before and after.
    pub scheds: [String; 2],
    /// Where they part, or why that is not known.
    pub parted: Result<Parted, String>,
    /// Traces of before and after, relative to the answer: text, Perfetto, trace.dat; or why they could not be written. `None`: they
    /// were not asked for.
    pub traces: Option<Result<[[String; 3]; 2], String>>,
}

impl Explained {
    /// Commands that show the same.
    pub fn commands(&self) -> Vec<String> {
        let names = ["before.txt", "after.txt"];
        let run = |(sched, name): (&String, &str)| {
            let options = self.cell.options.iter().map(|option| format!(" {option}")).collect::<String>();
            let (machine, workload) = (&self.cell.machine, &self.cell.workload);
            format!(
                "fairground run {machine} {workload} --sched {sched}{options} --seed {} --trace {name} --why",
                self.seed
            )
        };
        let mut commands: Vec<String> = self.scheds.iter().zip(names).map(run).collect();
        commands.push("fairground diff before.txt after.txt".into());
        commands
    }
}

/// Explains the largest change of each machine whose runs differ: a regression before a gain, a change that is better or worse
/// before another; of a change that is attributed, the patch with the largest part.
pub fn explain(stages: &Stages, measured: &Measurements, means: &Means, dir: Option<&Path>) -> Vec<Explained> {
    let mut machines: Vec<&str> = Vec::new();
    for cell in &measured.cells {
        if !machines.contains(&cell.cell.machine.as_str()) {
            machines.push(&cell.cell.machine);
        }
    }
    let mut explained = Vec::new();
    for machine in machines {
        let Some((at, judged)) = choose(measured, machine) else { continue };
        if means.stop.load(std::sync::atomic::Ordering::Relaxed) {
            break;
        }
        let last = measured.cells[at].last;
        let attributed = judged.and_then(|judged| judged.attributed().first().map(|share| share.stage));
        let share = attributed.or_else(|| only_one(&measured.cells[at]));
        let [before, after] = share.map_or([0, last], |stage| [stage - 1, stage]);
        let seed = first_differing(&measured.cells[at], before, after);
        let experiments = [before, after].map(|stage| &*measured.ready[at].stages[stage]);
        let scheds = [before, after].map(|stage| stages.stages[stage].sched.clone());
        let mut one = of_pair(experiments, &measured.cells[at].cell, [before, after], scheds, seed, means);
        if let Some(dir) = dir {
            one.traces = Some(traces(&one, experiments, means.stop, dir));
        }
        explained.push(one);
    }
    explained
}

/// The decisions of two stages in a cell, with this seed.
pub(crate) fn of_pair(
    experiments: [&Experiment; 2],
    cell: &Cell,
    stages: [usize; 2],
    scheds: [String; 2],
    seed: u64,
    means: &Means,
) -> Explained {
    let parted = part(experiments, cell, &scheds, seed, means);
    Explained { cell: cell.clone(), seed, stages, scheds, parted, traces: None }
}

/// The cell of a machine to be explained, and its row.
fn choose<'a>(measured: &'a Measurements, machine: &str) -> Option<(usize, Option<&'a Judged>)> {
    let of_machine =
        || measured.cells.iter().enumerate().filter(|(_, cell)| cell.cell.machine == machine && !cell.identical);
    let largest = |verdict: Verdict| {
        let rows = of_machine().flat_map(|(at, cell)| cell.rows.iter().map(move |judged| (at, judged)));
        let size = |judged: &Judged| judged.row.change.improvement_pct.map_or(f64::INFINITY, f64::abs);
        let of_verdict = rows.filter(|(_, judged)| judged.row.change.verdict == verdict);
        of_verdict.max_by(|a, b| size(a.1).total_cmp(&size(b.1)))
    };
    let judged = largest(Verdict::Worse).or_else(|| largest(Verdict::Better));
    let any = || of_machine().find(|(_, cell)| cell.pairs > 0).map(|(at, _)| (at, None));
    judged.map(|(at, judged)| (at, Some(judged))).or_else(any)
}

/// The only stage of a cell that makes another run; `None` if there are several.
fn only_one(cell: &Measured) -> Option<usize> {
    let mut reaching = (1..=cell.last).filter(|stage| cell.reaches(*stage) != Some(false));
    reaching.next().filter(|_| reaching.next().is_none())
}

/// The first seed with which both stages ran and differ; the first of all if none does.
fn first_differing(cell: &Measured, before: usize, after: usize) -> u64 {
    let hashes = cell.hashes.get(before).zip(cell.hashes.get(after));
    let differs = hashes
        .and_then(|(before, after)| before.iter().zip(after).position(|(b, a)| b.is_some() && a.is_some() && b != a));
    differs.and_then(|at| cell.seeds.get(at)).or(cell.seeds.first()).copied().unwrap_or(1)
}

fn head(cell: &Cell, experiment: &Experiment, sched: &str, seed: u64, format: TraceFormat) -> TraceHead {
    let meta = run_facts([&cell.machine, &cell.workload, sched], seed, None);
    TraceHead { format, meta, notes: run_config::notes(&experiment.config), why: true, marks: None }
}

fn part(
    experiments: [&Experiment; 2],
    cell: &Cell,
    scheds: &[String; 2],
    seed: u64,
    means: &Means,
) -> Result<Parted, String> {
    let record = |side: usize| {
        let head = head(cell, experiments[side], &scheds[side], seed, TraceFormat::Recording);
        experiments[side].recorded(0, seed, head, means.stop).map_err(|error| format!("{}: {error}", scheds[side]))
    };
    let (before, after) = (record(0)?, record(1)?);
    let names = ["before", "after"].map(str::to_owned);
    let [name_before, name_after] = names;
    let differing = Differing::of(&(name_before, &before.recording), &(name_after, &after.recording));
    let differing = differing.map_err(|error| error.to_string())?;
    Ok(Parted::new(&differing))
}

/// Writes the traces of both runs below `dir`. Returns their names.
fn traces(
    explained: &Explained,
    experiments: [&Experiment; 2],
    stop: &Stop,
    dir: &Path,
) -> Result<[[String; 3]; 2], String> {
    let folder = dir.join("traces");
    fs::create_dir_all(&folder).map_err(|e| format!("cannot create {}: {e}", folder.display()))?;
    let Explained { cell, scheds, seed, .. } = explained;
    let plain: String =
        cell.machine.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    let mut names: Vec<[String; 3]> = Vec::new();
    for (side, word) in ["before", "after"].into_iter().enumerate() {
        let name = |end: &str| format!("traces/{plain}-{word}.{end}");
        let files = [name("txt"), name("perfetto-trace"), name("dat")];
        for (name, format) in files.iter().zip([TraceFormat::Text, TraceFormat::Perfetto]) {
            let head = head(cell, experiments[side], &scheds[side], *seed, format);
            write_whole(&dir.join(name), |file| {
                let outputs = Outputs { trace: Some(Trace { head, file }), logs: None };
                let ran = experiments[side].write(0, *seed, outputs, stop.into());
                ran.outcome.map_err(|e| e.to_string())?;
                ran.trace.map_err(|e| e.to_string())
            })?;
        }
        to_dat(dir, &files, experiments[side].machine.nr_cpus())?;
        names.push(files);
    }
    names.try_into().map_err(|_| "two sides have two traces".into())
}

/// A file that is there whole or not at all.
fn write_whole(path: &Path, write: impl FnOnce(File) -> Result<(), String>) -> Result<(), String> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = Path::new(&part);
    let fail = |e: std::io::Error| e.to_string();
    let written = File::create(part).map_err(fail).and_then(write).and_then(|()| fs::rename(part, path).map_err(fail));
    written.map_err(|cause| {
        // That it could not be written matters more than that its beginning cannot be removed.
        let _ = fs::remove_file(part);
        format!("cannot write {}: {cause}", path.display())
    })
}

/// Makes a trace.dat of the text of a trace.
fn to_dat(dir: &Path, [text, _, to]: &[String; 3], nr_cpus: usize) -> Result<(), String> {
    let (text, to) = (dir.join(text), dir.join(to));
    write_whole(&to, |out| {
        let fail = |e: std::io::Error| e.to_string();
        let text = File::open(&text).map_err(fail)?;
        // Its pages are kept in a file without a name.
        let pages_path = to.with_extension("pages");
        let pages =
            File::options().read(true).write(true).create(true).truncate(true).open(&pages_path).map_err(fail)?;
        fs::remove_file(&pages_path).map_err(fail)?;
        dat::write(BufReader::new(text), nr_cpus, &pages, out).map(drop).map_err(|e| e.to_string())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use fairground_run::worker::Workers;

    use super::*;
    use crate::matrix::Matrix;
    use crate::measure::measure;

    /// Names below a directory, sorted.
    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).into_iter().flatten();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn traces_are_written_whole_or_not_at_all_and_decisions_stay() {
        let stages = Stages::of_features("fair:v5.9+asym-prev-first").unwrap();
        let stop = Stop::default();
        let means =
            Means { jobs: 2, store: None, stop: &stop, progress: &|_| (), workers: Workers::default(), farm: None };
        let cell = Cell {
            machine: "hikey960".into(),
            workload: "sched-pipe:loops=20".into(),
            config: Default::default(),
            options: Vec::new(),
            metrics: None,
        };
        let matrix = Matrix { name: "test".into(), seeds: 2, first_seed: 1, draws: 0, cells: vec![cell] };
        let measured = measure(&stages, &matrix, None, &means).unwrap();

        let dir = tempfile::tempdir().unwrap();
        let found = explain(&stages, &measured, &means, Some(dir.path()));
        assert!(found[0].parted.is_ok() && found[0].traces.as_ref().unwrap().is_ok(), "{:?}", found[0].traces);
        let ends =
            ["after.dat", "after.perfetto-trace", "after.txt", "before.dat", "before.perfetto-trace", "before.txt"];
        assert_eq!(names(&dir.path().join("traces")), ends.map(|end| format!("hikey960-{end}")));

        // A directory in the place of a trace: it cannot be written, and what decisions changed is known all the same.
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("traces/hikey960-before.txt/in-the-way")).unwrap();
        let found = explain(&stages, &measured, &means, Some(dir.path()));
        let problem = found[0].traces.as_ref().unwrap().as_ref().unwrap_err();
        assert!(problem.contains("hikey960-before.txt") && found[0].parted.is_ok(), "{problem}");
        assert_eq!(names(&dir.path().join("traces")), ["hikey960-before.txt"]);

        let dir = tempfile::tempdir().unwrap();
        stop.store(true, Ordering::Relaxed);
        let experiments = [0, 1].map(|stage| &*measured.ready[0].stages[stage]);
        assert!(traces(&found[0], experiments, &stop, dir.path()).is_err());
        assert_eq!(names(&dir.path().join("traces")), [""; 0]);
    }
}
