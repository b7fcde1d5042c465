//! Played rounds, and the file that keeps them.
//!
//! The rounds go over the whole matrix again and again: in each *pass* every intervention is played once, base and test one
//! right after the other, base first in one pass and test first in the next (ABBA). So what disturbs the machine for a
//! minute hits one pair of each intervention, not ten of one, and a drift within a pair turns its sign from pass to pass.
//!
//! A pair is a line of JSON, appended when both rounds are done. A command that is interrupted goes on where the file ends;
//! a line that a kill cut off is removed.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fairground_host::host::{GroupFile, Hierarchy};
use fairground_host::{Changes, Host, Keeper, RestoreError, SystemSetting};
use fairground_machine::{CpuId, CpuMask};
use fairground_play::{check, Ended, Player, Round, RoundError, RoundOptions, Surroundings};
use fairground_run::key::workload_hash;
use fairground_run::metrics::own_metric_values;
use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::base::rivals;
use crate::matrix::{Intervention, Side};

const SCHEMA: &str = "fairground-validate-rounds-1";
/// Time beyond that of a round after which it is ended.
const GRACE: Duration = Duration::from_secs(30);

/// How long before a round its rivals begin.
const RIVALS_AHEAD: Duration = Duration::from_millis(50);

/// What all rounds of a file have in common. Those of another machine, kernel or length do not go together with them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Name and version of the schema.
    pub schema: String,
    /// Hash of the machine as it is captured here, whatever file predictions are made with.
    pub machine: String,
    /// Release of the kernel.
    pub kernel: String,
    /// CPUs that workloads could use.
    pub cpus: String,
    /// Length of a round, s.
    pub seconds: f64,
}

impl Head {
    /// The head of rounds on this machine.
    pub fn new(machine: String, kernel: String, cpus: &CpuMask, seconds: f64) -> Head {
        Head { schema: SCHEMA.into(), machine, kernel, cpus: cpus.to_string(), seconds }
    }
}

/// What a round of one side gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Played {
    /// Figures of the workload, by name.
    pub values: BTreeMap<String, f64>,
    /// Share of the CPUs' time that a hypervisor took, percent; `None` if unknown.
    pub steal_pct: Option<f64>,
    /// Share of the CPUs' time in which others ran, percent; `None` if unknown.
    pub others_pct: Option<f64>,
}

impl Played {
    fn new(side: &Side, round: &Round) -> Played {
        let values = own_metric_values(&side.workload, &round.metrics);
        Played {
            values: values.into_iter().map(|v| (v.metric.name, v.value)).filter(|(_, v)| v.is_finite()).collect(),
            steal_pct: round.steal_pct,
            // Rivals are others too.
            others_pct: round.others_pct.filter(|_| side.rivals == 0),
        }
    }

    /// Whether other programs and a hypervisor took at most this share of the CPUs' time, percent, as far as it is known.
    fn is_quiet(&self, pct: f64) -> bool {
        self.steal_pct.unwrap_or(0.0) + self.others_pct.unwrap_or(0.0) <= pct
    }
}

/// Base and test, played one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// Name of the intervention.
    pub intervention: String,
    /// Number of the pass, from 0.
    pub pass: u32,
    /// Hash of both sides: what the intervention was when it was played.
    pub sides: String,
    /// When it was done, s since 1970.
    pub at: u64,
    /// Without the change.
    pub base: Played,
    /// With it.
    pub test: Played,
}

impl Pair {
    /// Whether other programs and a hypervisor took at most this share of the CPUs' time in both rounds, percent.
    pub fn is_quiet(&self, pct: f64) -> bool {
        self.base.is_quiet(pct) && self.test.is_quiet(pct)
    }

    /// Base and test of a figure, if both rounds have it.
    pub fn of(&self, metric: &str) -> Option<(f64, f64)> {
        Some((*self.base.values.get(metric)?, *self.test.values.get(metric)?))
    }
}

/// Why rounds cannot be kept or read.
#[derive(Debug, Error, Diagnostic)]
pub enum RoundsError {
    /// The file cannot be read or written.
    #[error("cannot {doing} {path}: {cause}")]
    File {
        /// What was tried.
        doing: &'static str,
        /// The file or directory.
        path: String,
        /// The system's reason.
        cause: io::Error,
    },
    /// A line is not what this program writes.
    #[error("{path}, line {line}: {problem}")]
    #[diagnostic(help("expected what `fairground validate` writes; name another folder with --out"))]
    Invalid {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// The rounds are of something else.
    #[error("{path} has rounds of {what} {theirs}; this is {what} {ours}")]
    #[diagnostic(help("name another folder with --out, or remove this one"))]
    Other {
        /// The file.
        path: String,
        /// What differs.
        what: &'static str,
        /// Of the file.
        theirs: String,
        /// Of this command.
        ours: String,
    },
    /// The machine could not be changed or restored.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Restore(#[from] RestoreError),
}

/// A file of rounds, to which more are appended.
pub struct RoundsFile {
    path: PathBuf,
    file: File,
    pairs: Vec<Pair>,
}

impl RoundsFile {
    /// Opens the file of a folder, which are made if they are not there.
    ///
    /// # Errors
    /// If it cannot be used, is no such file, or has rounds of something else than `head`.
    pub fn open(dir: &Path, head: &Head) -> Result<RoundsFile, RoundsError> {
        let path = dir.join("rounds.jsonl");
        let fail = |doing, path: &Path| {
            let path = path.display().to_string();
            move |cause| RoundsError::File { doing, path, cause }
        };
        std::fs::create_dir_all(dir).map_err(fail("make", dir))?;
        let open = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path);
        let mut file = open.map_err(fail("open", &path))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(fail("read", &path))?;
        // What does not end in a newline was cut off.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let pairs = read_rounds(&path, &bytes[..whole], head)?;
        file.set_len(whole as u64).map_err(fail("write", &path))?;
        file.seek(SeekFrom::End(0)).map_err(fail("write", &path))?;
        let mut rounds = RoundsFile { path, file, pairs: pairs.unwrap_or_default() };
        if whole == 0 {
            rounds.append(head)?;
        }
        Ok(rounds)
    }

    fn append(&mut self, line: &impl Serialize) -> Result<(), RoundsError> {
        let text = serde_json::to_string(line).unwrap_or_default() + "\n";
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|cause| RoundsError::File { doing: "write", path: self.path.display().to_string(), cause })
    }

    /// Appends a pair.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, pair: Pair) -> Result<(), RoundsError> {
        self.append(&pair)?;
        self.pairs.push(pair);
        Ok(())
    }

    /// The pairs of an intervention as it is now, by pass.
    pub fn of<'a>(&'a self, intervention: &'a Intervention) -> impl Iterator<Item = &'a Pair> {
        let sides = sides_hash(intervention);
        self.pairs.iter().filter(move |pair| pair.intervention == intervention.name && pair.sides == sides)
    }

    /// Whether this pass of an intervention is there.
    fn has(&self, intervention: &Intervention, pass: u32) -> bool {
        self.of(intervention).any(|pair| pair.pass == pass)
    }

    /// Number of pairs that are of no intervention as it is now.
    pub fn stale(&self, all: &[Intervention]) -> usize {
        let now: BTreeMap<&str, String> = all.iter().map(|i| (i.name.as_str(), sides_hash(i))).collect();
        self.pairs.iter().filter(|pair| now.get(pair.intervention.as_str()) != Some(&pair.sides)).count()
    }
}

/// The pairs of a file; `None` if it is empty.
fn read_rounds(path: &Path, bytes: &[u8], head: &Head) -> Result<Option<Vec<Pair>>, RoundsError> {
    let shown = path.display().to_string();
    let invalid = |line: usize, problem: String| RoundsError::Invalid { path: shown.clone(), line, problem };
    let text = std::str::from_utf8(bytes).map_err(|e| invalid(1, e.to_string()))?;
    let mut lines = text.lines().enumerate();
    let Some((_, first)) = lines.next() else { return Ok(None) };
    let theirs: Head = serde_json::from_str(first).map_err(|e| invalid(1, e.to_string()))?;
    let seconds = |head: &Head| format!("{} s", head.seconds);
    for (what, theirs, ours) in [
        ("schema", theirs.schema.clone(), head.schema.clone()),
        ("kernel", theirs.kernel.clone(), head.kernel.clone()),
        ("CPUs", theirs.cpus.clone(), head.cpus.clone()),
        ("rounds of", seconds(&theirs), seconds(head)),
        ("machine", theirs.machine.clone(), head.machine.clone()),
    ] {
        if theirs != ours {
            return Err(RoundsError::Other { path: shown, what, theirs, ours });
        }
    }
    let pair = |(i, line): (usize, &str)| serde_json::from_str(line).map_err(|e| invalid(i + 1, e.to_string()));
    lines.map(pair).collect::<Result<_, _>>().map(Some)
}

/// A hash of what both sides do.
fn sides_hash(intervention: &Intervention) -> String {
    let side = |side: &Side| format!("{} {:?} {}", workload_hash(&side.workload), side.system, side.rivals);
    let both = format!("{} / {}", side(&intervention.base), side(&intervention.test));
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(both.as_bytes()))
}

/// Why an intervention has no rounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Name of the intervention, `KNOB/WORKLOAD`.
    pub intervention: String,
    /// Number of its cells.
    pub cells: usize,
    /// The reason.
    pub reason: String,
}

/// Why an intervention cannot be played on these CPUs; `None` if nothing is known that keeps it.
pub fn refusal(host: &Host, cpus: &CpuMask, intervention: &Intervention) -> Option<String> {
    let played = |side: &Side| {
        let groups = side.workload.groups.len();
        check(&side.workload, cpus, true, groups).err().map(|refusal| {
            let help = Diagnostic::help(&refusal).map(|help| format!(" ({help})")).unwrap_or_default();
            format!("{refusal}{help}")
        })
    };
    [&intervention.base, &intervention.test]
        .into_iter()
        .find_map(|side| host.refusal(&side.system, &side.workload.groups).or_else(|| played(side)))
}

/// Plays interventions.
pub struct Plays<'a> {
    /// This machine.
    pub host: &'a Host,
    /// Takes changes of the machine back.
    pub keeper: &'a Keeper,
    /// CPUs that workloads may use.
    pub cpus: CpuMask,
    /// The fastest of them, on which work is calibrated.
    pub fastest: CpuId,
    /// Passes over the matrix.
    pub passes: u32,
    /// Length of a round.
    pub length: Duration,
    /// Ends the rounds once it is true.
    pub stop: &'a AtomicBool,
}

/// How [`Plays::carry_out`] ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Interventions that failed as they were played, with the reason.
    pub failed: Vec<Skipped>,
    /// The user stopped it.
    pub stopped: bool,
}

impl Plays<'_> {
    /// Plays what `file` lacks of `interventions`, and appends it. Calls `progress` with pairs done and pairs in all.
    ///
    /// # Errors
    /// If a pair cannot be kept, or the machine not be restored.
    pub fn carry_out(
        &self,
        interventions: &[&Intervention],
        file: &mut RoundsFile,
        progress: &dyn Fn(usize, usize),
    ) -> Result<Outcome, RoundsError> {
        let all = interventions.len() * self.passes as usize;
        let mut done = 0;
        let mut players: BTreeMap<&str, [SidePlayer; 2]> = BTreeMap::new();
        let mut outcome = Outcome { failed: Vec::new(), stopped: false };
        for pass in 0..self.passes {
            for intervention in interventions {
                if self.stop.load(Ordering::Relaxed) {
                    return Ok(Outcome { stopped: true, ..outcome });
                }
                let name = intervention.name.as_str();
                let has_failed = outcome.failed.iter().any(|failed| failed.intervention == name);
                if !has_failed && !file.has(intervention, pass) {
                    if !players.contains_key(name) {
                        match self.players(intervention) {
                            Ok(both) => _ = players.insert(name, both),
                            Err(reason) => outcome.failed.push(failed(intervention, reason)),
                        }
                    }
                    match players.get(name).map(|both| self.pair(intervention, both, pass)) {
                        Some(Ok(Some(pair))) => file.add(pair)?,
                        Some(Ok(None)) => return Ok(Outcome { stopped: true, ..outcome }),
                        Some(Err(PairError::Failed(reason))) => outcome.failed.push(failed(intervention, reason)),
                        Some(Err(PairError::Restore(error))) => return Err(error.into()),
                        None => {}
                    }
                }
                done += 1;
                progress(done, all);
            }
        }
        Ok(outcome)
    }

    fn players(&self, intervention: &Intervention) -> Result<[SidePlayer; 2], String> {
        let player = |side: &Side| SidePlayer::new(self, side);
        Ok([player(&intervention.base)?, player(&intervention.test)?])
    }

    /// Both rounds; `None`: the user stopped them.
    fn pair(
        &self,
        intervention: &Intervention,
        players: &[SidePlayer; 2],
        pass: u32,
    ) -> Result<Option<Pair>, PairError> {
        let order = if pass % 2 == 0 { [0, 1] } else { [1, 0] };
        let sides = [&intervention.base, &intervention.test];
        let mut played: [Option<Played>; 2] = [None, None];
        for at in order {
            match self.round(sides[at], &players[at], u64::from(pass) + 1)? {
                Some(round) => played[at] = Some(Played::new(sides[at], &round)),
                None => return Ok(None),
            }
        }
        let [Some(base), Some(test)] = played else { return Ok(None) };
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let (intervention, sides) = (intervention.name.clone(), sides_hash(intervention));
        Ok(Some(Pair { intervention, pass, sides, at, base, test }))
    }

    /// A round of a side, with the machine as it needs it; `None`: the user stopped it.
    fn round(&self, side: &Side, player: &SidePlayer, seed: u64) -> Result<Option<Round>, PairError> {
        let limit = self.length + GRACE;
        let options = RoundOptions { seed, limit, count_migrations: false };
        let play = || player.play(&options, self.stop).map_err(|e| PairError::Failed(e.to_string()));
        let round = if side.system.is_empty() && player.groups.is_empty() {
            play()?
        } else {
            let mut changes = self.keeper.begin().map_err(PairError::Restore)?;
            let prepared = self.prepare(side, player, &mut changes);
            // What the kernel refuses concerns this intervention; what cannot be taken back concerns all.
            let round = prepared.map_err(|e| PairError::Failed(e.to_string())).and_then(|()| play());
            changes.undo().map_err(PairError::Restore)?;
            round?
        };
        match round.ended {
            Ended::Complete => Ok(Some(round)),
            Ended::Interrupted => Ok(None),
            Ended::TimedOut => Err(PairError::Failed(format!("a round was ended after {} s", limit.as_secs()))),
        }
    }

    fn prepare(&self, side: &Side, player: &SidePlayer, changes: &mut Changes) -> Result<(), RestoreError> {
        for (hierarchy, group) in &player.groups {
            changes.make_group(hierarchy, group)?;
        }
        side.system.iter().try_for_each(|setting| match setting {
            SystemSetting::Offline(cpus) => changes.take_offline(self.host, cpus),
            SystemSetting::Autogroup(enabled) => changes.set_autogroup(self.host, *enabled),
            SystemSetting::Debugfs { file, value } => changes.set_debugfs(self.host, file, value),
        })
    }
}

/// Why there is no pair.
enum PairError {
    /// The intervention cannot be played.
    Failed(String),
    /// The machine is not as it was.
    Restore(RestoreError),
}

fn failed(intervention: &Intervention, reason: String) -> Skipped {
    Skipped { intervention: intervention.name.clone(), cells: intervention.metrics.len(), reason }
}

/// A side that can be played, with the cgroups that are made for each of its rounds.
struct SidePlayer {
    player: Player,
    /// Those that compete with it from another session.
    rivals: Option<Player>,
    groups: Vec<(Hierarchy, GroupFile)>,
}

impl SidePlayer {
    fn new(plays: &Plays, side: &Side) -> Result<SidePlayer, String> {
        let (mut groups, mut members) = (Vec::new(), Vec::new());
        for (i, group) in side.workload.groups.iter().enumerate() {
            let made = plays.host.cgroups(group, &format!("fairground-validate-{}-{i}", std::process::id()))?;
            members.push(made.iter().map(|(_, group)| group.dir.join("cgroup.procs")).collect());
            groups.extend(made);
        }
        let own_session = side.rivals > 0;
        let player = |workload, surroundings| {
            Player::within(workload, &plays.cpus, plays.fastest, true, surroundings).map_err(|e| e.to_string())
        };
        let alone = Surroundings { own_session, ..Surroundings::default() };
        let rivals = own_session.then(|| player(rivals(side.rivals), alone)).transpose()?;
        let surroundings = Surroundings { own_session, groups: members };
        Ok(SidePlayer { player: player(side.workload.clone(), surroundings)?, rivals, groups })
    }

    /// A round, beside its rivals if it has any.
    fn play(&self, options: &RoundOptions, stop: &AtomicBool) -> Result<Round, RoundError> {
        let Some(rivals) = &self.rivals else { return self.player.round(options, stop) };
        let over = AtomicBool::new(false);
        let longer = RoundOptions { limit: options.limit + GRACE, ..*options };
        std::thread::scope(|scope| {
            let beside = scope.spawn(|| rivals.round(&longer, &over));
            std::thread::sleep(RIVALS_AHEAD);
            let round = self.player.round(options, stop);
            over.store(true, Ordering::Relaxed);
            let failed = || RoundError::Supervisor(io::Error::other("the thread of the rivals has failed"));
            beside.join().map_err(|_| failed())?.and(round)
        })
    }
}

#[cfg(test)]
mod tests {
    use fairground_machine::Machine;

    use super::*;
    use crate::base::Shape;
    use crate::matrix::matrix;

    fn head(kernel: &str) -> Head {
        Head::new("m".into(), kernel.into(), &CpuMask::first_n(2), 0.3)
    }

    fn interventions() -> Vec<Intervention> {
        let machine = Machine::symmetric(2);
        matrix(&Shape { machine: &machine, cpus: 2, seconds: 0.05 }, &CpuMask::first_n(2)).unwrap()
    }

    fn pair(intervention: &Intervention, pass: u32) -> Pair {
        let played = |v: f64| Played { values: [("x".to_owned(), v)].into(), steal_pct: Some(0.1), others_pct: None };
        let (name, sides) = (intervention.name.clone(), sides_hash(intervention));
        Pair { intervention: name, pass, sides, at: 7, base: played(0.1 + 0.2), test: played(2.0) }
    }

    #[test]
    fn a_cut_file_goes_on_after_its_last_whole_line() {
        let dir = tempfile::tempdir().unwrap();
        let all = interventions();
        let mut file = RoundsFile::open(dir.path(), &head("6.18")).unwrap();
        (0..2).for_each(|pass| file.add(pair(&all[0], pass)).unwrap());
        let path = dir.path().join("rounds.jsonl");
        let whole = std::fs::read(&path).unwrap();
        // At every length: nothing that was whole is lost, and what follows is appended to it.
        for length in 0..=whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let mut cut = RoundsFile::open(dir.path(), &head("6.18")).unwrap();
            let lines = whole[..length].iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(cut.of(&all[0]).count(), lines.saturating_sub(1), "{length}");
            for pass in 0..2 {
                if !cut.has(&all[0], pass) {
                    cut.add(pair(&all[0], pass)).unwrap();
                }
            }
            assert_eq!(std::fs::read(&path).unwrap(), whole, "{length}");
        }
    }

    #[test]
    fn rounds_of_another_kernel_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        drop(RoundsFile::open(dir.path(), &head("6.18")).unwrap());
        let Err(error) = RoundsFile::open(dir.path(), &head("6.19")) else { panic!("it is taken") };
        assert!(error.to_string().contains("has rounds of kernel 6.18; this is kernel 6.19"), "{error}");
        std::fs::write(dir.path().join("rounds.jsonl"), "{}\n").unwrap();
        let Err(error) = RoundsFile::open(dir.path(), &head("6.18")) else { panic!("it is taken") };
        assert!(error.to_string().contains("rounds.jsonl, line 1"), "{error}");
    }

    #[test]
    fn a_pair_is_quiet_if_both_rounds_are() {
        let quiet = pair(&interventions()[0], 0);
        let busy = Played { others_pct: Some(20.0), ..quiet.test.clone() };
        assert!(quiet.is_quiet(0.1) && !quiet.is_quiet(0.05));
        let mixed = Pair { test: busy, ..quiet };
        assert!(mixed.is_quiet(20.1) && !mixed.is_quiet(20.0), "steal counts too");
    }

    #[test]
    fn rounds_of_an_intervention_that_has_changed_do_not_count() {
        let dir = tempfile::tempdir().unwrap();
        let mut all = interventions();
        let mut file = RoundsFile::open(dir.path(), &head("6.18")).unwrap();
        file.add(pair(&all[0], 0)).unwrap();
        assert_eq!((file.of(&all[0]).count(), file.stale(&all)), (1, 0));
        all[0].test.workload.tasks[0].timer_slack_ns = 1;
        assert_eq!((file.of(&all[0]).count(), file.stale(&all)), (0, 1));
    }

    /// Really played, and gone on with.
    #[test]
    fn passes_turn_the_order_and_what_is_there_is_not_played_again() {
        let dir = tempfile::tempdir().unwrap();
        let all = interventions();
        let chosen: Vec<&Intervention> = all.iter().filter(|i| i.name == "timer-slack/short").collect();
        let cpus = fairground_play::affinity().unwrap();
        let host = Host::new(Path::new("/"), false);
        let keeper = Keeper::hold(&dir.path().join("state"), &host).unwrap();
        let stop = AtomicBool::new(false);
        let fastest = cpus.first().unwrap();
        let plays = |passes| Plays {
            host: &host,
            keeper: &keeper,
            cpus,
            fastest,
            passes,
            length: Duration::from_millis(50),
            stop: &stop,
        };
        let mut file = RoundsFile::open(dir.path(), &head("6.18")).unwrap();
        let outcome = plays(1).carry_out(&chosen, &mut file, &|_, _| ()).unwrap();
        assert_eq!(outcome, Outcome { failed: vec![], stopped: false });
        let first: Vec<Pair> = file.of(chosen[0]).cloned().collect();
        assert_eq!(first.len(), 1);
        assert!(first[0].base.values["nap_mean_us"] >= 300.0, "{first:?}");
        drop(file);
        let mut file = RoundsFile::open(dir.path(), &head("6.18")).unwrap();
        plays(2).carry_out(&chosen, &mut file, &|_, _| ()).unwrap();
        let both: Vec<&Pair> = file.of(chosen[0]).collect();
        assert_eq!((both.len(), both[0]), (2, &first[0]));
        stop.store(true, Ordering::Relaxed);
        assert!(plays(3).carry_out(&chosen, &mut file, &|_, _| ()).unwrap().stopped);
        assert_eq!(file.of(chosen[0]).count(), 2, "half a pair is none");
    }
}
