//! How long a clock takes to change.
//!
//! A thread on the CPU does a short piece of work over and over and notes when each piece ends. Meanwhile another speed is asked for, by
//! cpufreq: with the governor `userspace`, or by moving the limits of whatever governor there is. The change is where pieces begin to
//! take about as long as they do at the end. Up and down are measured in each round; what was set before is set again after it.

use std::hint::black_box;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fairground_host::{number, read};
use fairground_machine::{CpuId, CpuMask, FreqDomain, Machine};
use fairground_play::set_affinity;

use crate::estimate::{error_of, median};
use crate::knobs::Knobs;
use crate::smt::step;

/// Steps of a piece of work: one to five us.
const STEPS: u32 = 800;
/// How long pieces are timed before the request and after it; a clock that has not changed by then is not followed.
const BEFORE: Duration = Duration::from_millis(5);
const AFTER: Duration = Duration::from_millis(40);
/// How long a clock has to come to its first speed.
const SETTLES: Duration = Duration::from_millis(20);
/// Most pieces of one change.
const PIECES: usize = 1 << 16;
/// The factor by which speeds must differ for a change to be seen.
const DIFFERS: f64 = 1.1;
/// Of so many pieces from the change on so many have the new speed: one or two may be interrupted.
const OF_NEXT: usize = 8;
const ARE_NEW: usize = 6;
/// The spread of the class `measured`, that of an estimate, and rounds that are needed.
const AGAIN: f64 = 1.1;
const UNSETTLED: f64 = 1.6;
const ROUNDS_MIN: usize = 3;

/// The time of a change of a clock.
#[derive(Clone, Debug, PartialEq)]
pub struct ClockFigure {
    /// Its path in the machine file; empty if the file states none for this clock.
    pub path: String,
    /// What the machine has before, ns.
    pub before_ns: f64,
    /// The middle of up and down, less the half of a slot, for which changes wait, ns.
    pub ns: f64,
    /// Median time upwards and downwards from the request until the speed has changed, ns.
    pub up_down_ns: [f64; 2],
    /// The speeds between which it changed, kHz.
    pub khz: [u64; 2],
    /// Within what factor two thirds of what it may be lie.
    pub spread: f64,
    /// Rounds that it is of.
    pub samples: usize,
    /// Whether it is known better than an estimate, and is written.
    pub settled: bool,
}

/// How a speed is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Way {
    /// `scaling_setspeed`, with the governor `userspace`; what governor and, if that is it, speed were. With another governor the
    /// kernel takes no speed: then giving back the governor takes back the speed, too.
    Speed { governor: String, khz: Option<String> },
    /// `scaling_min_freq` and `scaling_max_freq`, whose ends these are.
    Limits,
}

/// The clock of a CPU.
pub struct Clock<'k, 'a> {
    knobs: &'k Knobs<'a>,
    cpu: CpuId,
    dir: PathBuf,
    way: Way,
    /// The limits that its user has set, kHz: they are not left.
    khz: [u64; 2],
    /// By round, upwards and downwards, ns.
    rounds: [Vec<f64>; 2],
    /// Requests that no speed followed.
    unseen: usize,
}

impl<'k, 'a> Clock<'k, 'a> {
    /// The clock of `cpu`, if its speed can be set.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn find(knobs: &'k Knobs<'a>, cpu: CpuId) -> Result<Self, String> {
        let link = knobs.host.path(&format!("sys/devices/system/cpu/cpu{cpu}/cpufreq"));
        // Of CPUs with one clock the link leads to one directory, whose files are to be recorded once.
        let dir = link.canonicalize().unwrap_or(link);
        let limit = |file: &str| {
            let path = dir.join(file);
            if !path.exists() {
                return Err(format!("there is no {}", path.display()));
            }
            number(&path).ok_or_else(|| format!("{}: expected a number of kHz", path.display()))
        };
        let khz = [limit("scaling_min_freq")?, limit("scaling_max_freq")?];
        if khz[0] >= khz[1] {
            return Err(format!("{} and scaling_max_freq leave it one speed", dir.join("scaling_min_freq").display()));
        }
        let text = |file: &str| read(&dir.join(file)).unwrap_or_default().trim().to_owned();
        let has_userspace = text("scaling_available_governors").split_whitespace().any(|word| word == "userspace");
        let refusal = |files: [&str; 2]| files.iter().find_map(|file| knobs.refusal(&dir.join(file)));
        let way = if has_userspace && refusal(["scaling_governor", "scaling_setspeed"]).is_none() {
            let governor = text("scaling_governor");
            let khz = (governor == "userspace").then(|| text("scaling_setspeed"));
            Way::Speed { governor, khz }
        } else if let Some(refusal) = refusal(["scaling_min_freq", "scaling_max_freq"]) {
            return Err(refusal);
        } else if number(&dir.join("cpuinfo_max_freq")).is_some_and(|most| most != khz[1]) {
            // The file shows what is in force, thermal limits among it. Written back, that would be its user's limit for ever.
            let [most, of] = ["scaling_max_freq", "cpuinfo_max_freq"].map(|file| dir.join(file));
            return Err(format!("{} is not {}: what limits it could not be restored", most.display(), of.display()));
        } else {
            Way::Limits
        };
        Ok(Clock { knobs, cpu, dir, way, khz, rounds: Default::default(), unseen: 0 })
    }

    /// Whether it is the clock of another CPU, too.
    pub fn is_of(&self, other: &Clock) -> bool {
        self.dir == other.dir
    }

    /// The least and the greatest speed that can be asked for, kHz.
    pub fn khz(&self) -> [u64; 2] {
        self.khz
    }

    /// Asks for a speed within the limits, and no other.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn request(&self, khz: u64) -> Result<(), String> {
        let set = |file: &str, text: &str| self.knobs.set(&self.dir.join(file), text);
        let text = khz.to_string();
        match &self.way {
            Way::Speed { khz: Some(_), .. } => set("scaling_setspeed", &text),
            Way::Speed { khz: None, .. } => {
                set("scaling_governor", "userspace")?;
                self.knobs.put(&self.dir.join("scaling_setspeed"), &text)
            }
            // Kernels refuse a least speed above the greatest. No write that changes nothing: each takes its time.
            Way::Limits => {
                let [least, most] = ["scaling_min_freq", "scaling_max_freq"];
                let is_so = |file: &str| number(&self.dir.join(file)) == Some(khz);
                let is_above = number(&self.dir.join(most)).is_some_and(|most| khz > most);
                let order = if is_above { [most, least] } else { [least, most] };
                order.into_iter().filter(|file| !is_so(file)).try_for_each(|file| set(file, &text))
            }
        }
    }

    /// Sets what was set before.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn release(&self) -> Result<(), String> {
        let set = |file: &str, text: &str| self.knobs.set(&self.dir.join(file), text);
        match &self.way {
            Way::Speed { khz: Some(khz), .. } => set("scaling_setspeed", khz),
            Way::Speed { governor, khz: None } => set("scaling_governor", governor),
            Way::Limits => {
                set("scaling_max_freq", &self.khz[1].to_string())?;
                set("scaling_min_freq", &self.khz[0].to_string())
            }
        }
    }

    /// Measures a change upwards and one downwards: some tenths of a second.
    ///
    /// # Errors
    /// If a speed cannot be asked for, or the CPU not be used.
    pub fn round(&mut self) -> Result<(), String> {
        let measured = self.up_and_down();
        // Whatever happened: if this fails too, the record still has it.
        self.release()?;
        for (rounds, ns) in self.rounds.iter_mut().zip(measured?) {
            match ns {
                Some(ns) => rounds.push(ns),
                None => self.unseen += 1,
            }
        }
        Ok(())
    }

    fn up_and_down(&self) -> Result<[Option<f64>; 2], String> {
        let [low, high] = self.khz;
        self.request(low)?;
        std::thread::sleep(SETTLES);
        let timed = |khz: u64| {
            let (pieces, asked) = watched(self.cpu, || self.request(khz))?;
            Ok::<_, String>(change_after(&pieces, asked))
        };
        Ok([timed(high)?, timed(low)?])
    }

    /// The figure of `machine`; why there is none.
    ///
    /// # Errors
    /// If no change was seen, or none in one direction.
    pub fn figure(&self, machine: &Machine) -> Result<ClockFigure, String> {
        let samples = self.rounds[0].len().min(self.rounds[1].len());
        if samples == 0 {
            let ([low, high], cpu, unseen) = (self.khz, self.cpu, self.unseen);
            return Err(format!(
                "of {unseen} changes between {low} and {high} kHz none changed the speed of CPU {cpu}"
            ));
        }
        let domain = machine.freq_domain_of(self.cpu);
        let wait = domain.slot_ns as f64 / 2.0;
        let [up, down] = [0, 1].map(|way| median(&self.rounds[way]));
        let [up_own, down_own] = [up, down].map(|ns| (ns - wait).max(1.0));
        let error = error_of(&self.rounds[0], up).hypot(error_of(&self.rounds[1], down));
        let spread = (error / 2.0).hypot((up_own / down_own).ln() / 2.0).hypot(AGAIN.ln()).exp();
        Ok(ClockFigure {
            path: path_of(machine, self.cpu, "transition"),
            before_ns: domain.transition_ns as f64,
            ns: (up_own * down_own).sqrt().round(),
            up_down_ns: [up, down],
            khz: self.khz,
            spread,
            samples,
            settled: samples >= ROUNDS_MIN && spread < UNSETTLED,
        })
    }
}

/// The path of a figure of the clock of `cpu`: of equal clocks in a row the first speaks for all, as their entry in the file does.
/// Empty if the file states none.
pub fn path_of(machine: &Machine, cpu: CpuId, key: &str) -> String {
    let index = machine.cpus[cpu as usize].freq_domain as usize;
    let all = &machine.freq_domains;
    let is_alike = |i: &usize| {
        let nobody = CpuMask::EMPTY;
        let content = |domain: &FreqDomain| FreqDomain { cpus: nobody, ..domain.clone() };
        content(&all[*i]) == content(&all[index])
    };
    let path = |i: usize| format!("freq_domain[{}].{key}", all[i].cpus);
    let is_stated = |path: &String| machine.figures.iter().any(|figure| figure.path == *path);
    (0..=index).rev().filter(is_alike).map(path).find(is_stated).unwrap_or_default()
}

/// When a piece of work ended, and how long it took, ns.
type Piece = (f64, f64);

/// Pieces of work on `cpu` before and after a request, and when it was made, ns.
fn watched(cpu: CpuId, request: impl FnOnce() -> Result<(), String>) -> Result<(Vec<Piece>, f64), String> {
    let is_over = AtomicBool::new(false);
    let epoch = Instant::now();
    let now = || epoch.elapsed().as_nanos() as f64;
    let work = || -> io::Result<Vec<Piece>> {
        set_affinity(&CpuMask::single(cpu))?;
        let mut pieces = Vec::with_capacity(PIECES);
        let mut begin = now();
        while pieces.len() < PIECES && !is_over.load(Ordering::Relaxed) {
            let mut x = black_box(1);
            (0..STEPS).for_each(|_| _ = step(&mut x));
            black_box(x);
            let end = now();
            pieces.push((end, end - begin));
            begin = end;
        }
        Ok(pieces)
    };
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().spawn_scoped(scope, work).map_err(|error| error.to_string())?;
        std::thread::sleep(BEFORE);
        let asked = now();
        let done = request();
        if done.is_ok() {
            std::thread::sleep(AFTER);
        }
        is_over.store(true, Ordering::Relaxed);
        let pieces = worker.join().map_err(|_| "a thread that measures has failed".to_owned())?;
        done?;
        Ok((pieces.map_err(|error| format!("CPU {cpu}: {error}"))?, asked))
    })
}

/// How long after `asked` pieces begin to take as long as the last quarter of them does, ns. `None` if that is as long as before.
fn change_after(pieces: &[Piece], asked: f64) -> Option<f64> {
    let split = pieces.iter().position(|(end, _)| *end > asked)?;
    let ns = |pieces: &[Piece]| median(&pieces.iter().map(|(_, ns)| *ns).collect::<Vec<_>>());
    let after = &pieces[split..];
    let (old, new) = (ns(&pieces[..split]), ns(&after[after.len() - after.len() / 4..]));
    if old <= 0.0 || new <= 0.0 || (new / old).ln().abs() < DIFFERS.ln() {
        return None;
    }
    let middle = (old * new).sqrt();
    let is_new = |(_, ns): &Piece| (*ns > middle) == (new > middle);
    let changes = |next: &[Piece]| is_new(&next[0]) && next.iter().filter(|piece| is_new(piece)).count() >= ARE_NEW;
    let first = after.windows(OF_NEXT).find(|next| changes(next))?;
    let (end, took) = first[0];
    Some((end - took - asked).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::testing::Laid;

    const DIR: &str = "sys/devices/system/cpu/cpu0/cpufreq";

    fn file(name: &str) -> String {
        format!("{DIR}/{name}")
    }

    fn laid(files: &[(&str, &str)]) -> Laid {
        let files: Vec<(String, &str)> = files.iter().map(|(name, text)| (file(name), *text)).collect();
        let boot = ("proc/sys/kernel/random/boot_id", "one\n");
        Laid::out(&files.iter().map(|(path, text)| (&**path, *text)).chain([boot]).collect::<Vec<_>>())
    }

    const LIMITS: [(&str, &str); 2] = [("scaling_min_freq", "800000\n"), ("scaling_max_freq", "3000000\n")];

    #[test]
    fn a_speed_is_asked_for_by_the_governor_userspace_if_there_is_one() {
        let laid = laid(&[
            LIMITS[0],
            LIMITS[1],
            ("scaling_available_governors", "schedutil userspace performance\n"),
            ("scaling_governor", "schedutil\n"),
            ("scaling_setspeed", "<unsupported>\n"),
        ]);
        let knobs = Knobs::new(&laid.host, Ok(&laid.keeper));
        let clock = Clock::find(&knobs, 0).unwrap();
        assert_eq!(clock.khz, [800_000, 3_000_000]);
        clock.request(3_000_000).unwrap();
        let now = || (laid.text(&file("scaling_governor")), laid.text(&file("scaling_setspeed")));
        assert_eq!(now(), ("userspace".into(), "3000000".into()));
        clock.release().unwrap();
        assert_eq!(now().0, "schedutil");
        clock.request(800_000).unwrap();
        drop(clock);
        // With a governor of its own the kernel takes no speed, so none may be written back.
        let record = std::fs::read_to_string(laid.record()).unwrap();
        assert!(record.contains("scaling_governor") && !record.contains("scaling_setspeed"), "{record}");
        knobs.undo().unwrap();
        assert_eq!(now().0, "schedutil");
    }

    #[test]
    fn else_by_its_limits() {
        let laid = laid(&[LIMITS[0], LIMITS[1], ("scaling_available_governors", "performance powersave\n")]);
        let knobs = Knobs::new(&laid.host, Ok(&laid.keeper));
        let clock = Clock::find(&knobs, 0).unwrap();
        assert_eq!(clock.way, Way::Limits);
        let now = || [0, 1].map(|i| laid.text(&file(LIMITS[i].0)));
        for khz in ["3000000", "800000"] {
            clock.request(khz.parse().unwrap()).unwrap();
            assert_eq!(now(), [khz, khz]);
        }
        clock.release().unwrap();
        assert_eq!(now(), ["800000", "3000000"]);
        clock.request(800_000).unwrap();
        drop(clock);
        std::mem::forget(knobs);
        laid.keeper.restore().unwrap();
        assert_eq!(now(), ["800000", "3000000"]);
    }

    #[test]
    fn a_speed_that_was_set_by_hand_is_set_again() {
        let laid = laid(&[
            LIMITS[0],
            LIMITS[1],
            ("scaling_available_governors", "userspace\n"),
            ("scaling_governor", "userspace\n"),
            ("scaling_setspeed", "1200000\n"),
        ]);
        let knobs = Knobs::new(&laid.host, Ok(&laid.keeper));
        let clock = Clock::find(&knobs, 0).unwrap();
        clock.request(3_000_000).unwrap();
        clock.release().unwrap();
        assert_eq!(laid.text(&file("scaling_setspeed")), "1200000");
        clock.request(3_000_000).unwrap();
        drop(clock);
        knobs.undo().unwrap();
        assert_eq!(laid.text(&file("scaling_setspeed")), "1200000");
        assert_eq!(laid.text(&file("scaling_governor")), "userspace");
    }

    #[test]
    fn why_no_speed_can_be_set_is_named() {
        let why = |laid: &Laid| {
            let knobs = Knobs::new(&laid.host, Ok(&laid.keeper));
            let found = Clock::find(&knobs, 0).map(|_| ());
            found.unwrap_err()
        };
        assert!(why(&laid(&[])).contains("there is no"));
        assert!(why(&laid(&[LIMITS[0], (LIMITS[1].0, "fast\n")])).contains("scaling_max_freq: expected a number"));
        assert!(why(&laid(&[LIMITS[0], (LIMITS[1].0, "800000\n")])).contains("leave it one speed"));
        let protected = laid(&LIMITS);
        protected.protect(&file("scaling_max_freq"));
        assert!(why(&protected).contains("scaling_max_freq cannot be written"));
        let hot = laid(&[LIMITS[0], LIMITS[1], ("cpuinfo_max_freq", "3400000\n")]);
        assert!(why(&hot).contains("what limits it could not be restored"));
    }

    /// Pieces of 2 us up to `at`, of 1 us from there on, one of each hundred interrupted for 10 us.
    fn pieces(at: f64, until: f64) -> Vec<Piece> {
        let (mut end, mut pieces) = (0.0, Vec::new());
        while end < until {
            let ns = if end < at { 2_000.0 } else { 1_000.0 } + if pieces.len() % 100 == 50 { 10_000.0 } else { 0.0 };
            end += ns;
            pieces.push((end, ns));
        }
        pieces
    }

    #[test]
    fn the_change_is_where_pieces_begin_to_take_as_long_as_at_the_end() {
        let up = pieces(1_500_000.0, 4_000_000.0);
        let after = change_after(&up, 1_000_000.0).unwrap();
        assert!((after - 500_000.0).abs() < 5_000.0, "{after}");
        let down: Vec<Piece> =
            up.iter().map(|(end, ns)| (*end, 3_000.0 - ns.min(2_000.0) + (ns - 2_000.0).max(0.0))).collect();
        let after = change_after(&down, 1_000_000.0).unwrap();
        assert!((after - 500_000.0).abs() < 5_000.0, "{after}");
        assert_eq!(change_after(&pieces(9e9, 4e6), 1e6), None, "the speed is the same");
        assert_eq!(change_after(&pieces(1e6, 2e6), 3e6), None, "nothing after the request");
        assert_eq!(change_after(&[], 0.0), None);
        assert_eq!(change_after(&[(10.0, 10.0), (20.0, 1.0)], 15.0), None);
    }

    #[test]
    fn a_request_that_is_refused_ends_the_thread_that_watches() {
        let cpu = fairground_play::affinity().unwrap().first().unwrap();
        assert!(watched(cpu, || Ok(())).is_ok());
        assert_eq!(watched(cpu, || Err("refused".into())), Err("refused".into()));
        let nowhere = fairground_machine::NR_CPUS as CpuId - 1;
        if !fairground_play::affinity().unwrap().test(nowhere) {
            assert!(watched(nowhere, || Ok(())).unwrap_err().starts_with("CPU 1023: "));
        }
    }

    /// This machine's clock follows no file of a temporary directory.
    #[test]
    fn a_clock_that_does_not_follow_is_no_figure() {
        let laid = laid(&LIMITS);
        let knobs = Knobs::new(&laid.host, Ok(&laid.keeper));
        let cpu = fairground_play::affinity().unwrap().first().unwrap();
        let mut clock = Clock { cpu, ..Clock::find(&knobs, 0).unwrap() };
        let machine = Machine::symmetric(cpu as usize + 1);
        assert!(clock.figure(&machine).unwrap_err().contains("of 0 changes between 800000 and 3000000 kHz"));
        clock.unseen = 6;
        clock.rounds[0] = vec![1.0; 3];
        assert!(clock.figure(&machine).unwrap_err().contains("of 6 changes"));
        std::fs::remove_file(laid.dir.path().join(file("scaling_min_freq"))).unwrap();
        assert!(clock.round().unwrap_err().contains("scaling_min_freq"));
    }

    #[test]
    fn a_slot_is_no_part_of_a_change() {
        let laid = laid(&LIMITS);
        let knobs = Knobs::new(&laid.host, Ok(&laid.keeper));
        let machine = Machine::preset("epyc-7742-2p").unwrap();
        let mut clock = Clock::find(&knobs, 0).unwrap();
        clock.rounds = [vec![880_000.0; 9], vec![920_000.0; 9]];
        let figure = clock.figure(&machine).unwrap();
        assert!((figure.ns - 399_500.0).abs() < 1_000.0 && figure.settled, "{figure:?}");
        assert_eq!((figure.before_ns, figure.up_down_ns), (360_000.0, [880_000.0, 920_000.0]));
        assert!(machine.figures.iter().any(|of| of.path == figure.path), "{figure:?}");
        clock.rounds = [vec![510_000.0; 9], vec![920_000.0; 9]];
        assert!(!clock.figure(&machine).unwrap().settled);
    }
}
