//! Power by the number of CPUs that are busy, at each speed that can be set.
//!
//! Two kinds of meters are read, where the kernel has them and this user may: RAPL, a counter of energy for each package and for parts
//! of it, and those of hwmon, which are whatever the board has. A meter does not tell one core from another: none, one, two CPUs and so
//! on up to all compute, one of each core, and a line through these powers has what each CPU adds, and a rest.

use std::hint::black_box;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fairground_host::{number, read, Host};
use fairground_machine::{CpuId, CpuMask, Machine};
use fairground_play::set_affinity;

use crate::clocks::{path_of, Clock};
use crate::estimate::{error_of, median};
use crate::knobs::Knobs;
use crate::smt::step;

/// How long power is read, after so long with as many CPUs busy.
const WINDOW: Duration = Duration::from_millis(200);
const LEAD: Duration = Duration::from_millis(20);
/// How often meters of power are read meanwhile.
const EVERY: Duration = Duration::from_millis(5);
/// How long a clock has to come to its speed.
const SETTLES: Duration = Duration::from_millis(20);
/// Rounds in which power is read.
const ROUNDS: usize = 5;
const ROUNDS_MIN: usize = 3;
/// Up to so many CPUs each number is tried, and up to so many speeds; of more only some.
const EACH_CPU: usize = 8;
const EACH_SPEED: usize = 8;
const SPEEDS: usize = 5;
/// The spread of the class `measured`, and that of an estimate.
const AGAIN: f64 = 1.1;
const UNSETTLED: f64 = 1.6;
/// Steps of a CPU that is busy between two looks at whether it is to stop.
const STEPS: u32 = 1000;

/// The power that a meter shows.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerReading {
    /// Name of the meter.
    pub meter: String,
    /// The speed that was asked for, kHz; `None`: as the governor has it.
    pub khz: Option<u64>,
    /// CPUs that computed.
    pub busy: usize,
    /// Median over rounds, mW.
    pub mw: f64,
    /// Its standard error, relative.
    pub error: f64,
    /// Rounds that it is of.
    pub samples: usize,
}

/// A line through the powers of a meter at one speed.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerFit {
    /// Name of the meter.
    pub meter: String,
    /// As [`PowerReading::khz`].
    pub khz: Option<u64>,
    /// What a CPU that computes adds to one that is idle, mW.
    pub cpu_mw: f64,
    /// What is left without any, mW.
    pub rest_mw: f64,
    /// Within what factor two thirds of what `cpu_mw` may be lie.
    pub spread: f64,
    /// Whether that is better known than an estimate.
    pub settled: bool,
}

/// Powers of all operating points of a clock, for the machine file.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerFigure {
    /// Path of the table in the machine file.
    pub path: String,
    /// What the machine has before, mW of one running CPU.
    pub before_mw: Vec<f64>,
    /// What came out, mW of one running CPU.
    pub mw: Vec<f64>,
    /// Within what factor two thirds of what they may be lie.
    pub spread: f64,
}

/// What was measured of power.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Powers {
    /// By meter, speed and number of busy CPUs.
    pub readings: Vec<PowerReading>,
    /// By meter and speed.
    pub fits: Vec<PowerFit>,
    /// What is written; none unless all operating points of the clock were measured.
    pub figure: Option<PowerFigure>,
    /// What a reader of these must know.
    pub notes: Vec<String>,
}

/// The meter whose powers are those of the CPUs, and of all else in their packages.
const PACKAGES: &str = "RAPL packages";

#[derive(Clone, Debug, PartialEq, Eq)]
struct Meter {
    name: String,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// Counters of energy, uJ, which are summed; each with the greatest that it shows before it begins again at 0.
    Energy(Vec<(PathBuf, Option<u64>)>),
    /// A power, uW.
    Power(PathBuf),
}

/// The meters that can be read, and why others cannot.
fn meters(host: &Host) -> (Vec<Meter>, Vec<String>) {
    let (mut meters, mut missing): (Vec<Meter>, Vec<String>) = (Vec::new(), Vec::new());
    let is_readable = |path: &Path, missing: &mut Vec<String>| {
        let is_readable = number(path).is_some();
        if !is_readable {
            missing.push(format!("energy: {} cannot be read by this user, or has no number", path.display()));
        }
        is_readable
    };
    let name_of = |dir: &Path| read(&dir.join("name")).map_or_else(|| "unnamed".into(), |name| name.trim().to_owned());
    let mut zones: Vec<String> = entries(&host.path("sys/class/powercap"));
    zones.retain(|zone| zone.starts_with("intel-rapl:"));
    let mut packages = Vec::new();
    for zone in &zones {
        let dir = host.path(&format!("sys/class/powercap/{zone}"));
        let path = dir.join("energy_uj");
        if !is_readable(&path, &mut missing) {
            continue;
        }
        let counter = (path, number(&dir.join("max_energy_range_uj")));
        let name = name_of(&dir);
        let within = zone.rsplit_once(':').filter(|(above, _)| zones.iter().any(|zone| zone == above));
        match within {
            None if name.starts_with("package") => packages.push(counter),
            None => meters.push(Meter { name: format!("RAPL {name}"), kind: Kind::Energy(vec![counter]) }),
            Some((above, _)) => {
                let above = name_of(&host.path(&format!("sys/class/powercap/{above}")));
                meters.push(Meter { name: format!("RAPL {above} {name}"), kind: Kind::Energy(vec![counter]) });
            }
        }
    }
    if !packages.is_empty() {
        meters.insert(0, Meter { name: PACKAGES.into(), kind: Kind::Energy(packages) });
    }
    for n in host.numbered("sys/class/hwmon", "hwmon") {
        let dir = host.path(&format!("sys/class/hwmon/hwmon{n}"));
        for file in entries(&dir) {
            let Some(channel) = file.strip_suffix("_input").or_else(|| file.strip_suffix("_average")) else { continue };
            let is_energy = channel.starts_with("energy") && file.ends_with("_input");
            // Of a power that has both, what it is now.
            let is_second = file.ends_with("_average") && dir.join(format!("{channel}_input")).exists();
            if !(is_energy || channel.starts_with("power")) || is_second || !is_readable(&dir.join(&file), &mut missing)
            {
                continue;
            }
            let label = read(&dir.join(format!("{channel}_label"))).map(|label| label.trim().to_owned());
            let name = format!("hwmon{n} {} {}", name_of(&dir), label.unwrap_or_else(|| channel.into()));
            let path = dir.join(&file);
            let kind = if is_energy { Kind::Energy(vec![(path, None)]) } else { Kind::Power(path) };
            meters.push(Meter { name, kind });
        }
    }
    if meters.is_empty() && missing.is_empty() {
        let [rapl, hwmon] = ["sys/class/powercap", "sys/class/hwmon"].map(|dir| host.path(dir).display().to_string());
        missing.push(format!("energy: there are neither {rapl}/intel-rapl:* nor meters of power or energy in {hwmon}"));
    }
    (meters, missing)
}

/// Names of the entries of a directory, in order.
fn entries(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// Energy that a counter has counted, which goes up to `most` and begins again; `None` if it went back and nobody says where it does.
fn counted(before: u64, after: u64, most: Option<u64>) -> Option<u64> {
    match after.checked_sub(before) {
        Some(counted) => Some(counted),
        None => most?.checked_sub(before)?.checked_add(after),
    }
}

/// Reads meters for a while: the mean power of each, mW; `None` where one could not be read.
fn watch(meters: &[Meter], window: Duration) -> Vec<Option<f64>> {
    let counters = |meter: &Meter| match &meter.kind {
        Kind::Energy(files) => files.iter().map(|(path, _)| number(path)).collect(),
        Kind::Power(_) => Vec::new(),
    };
    let begin = Instant::now();
    let before: Vec<Vec<Option<u64>>> = meters.iter().map(counters).collect();
    let mut powers: Vec<Vec<f64>> = vec![Vec::new(); meters.len()];
    loop {
        for (meter, powers) in meters.iter().zip(&mut powers) {
            if let Kind::Power(path) = &meter.kind {
                powers.extend(number(path).map(|uw| uw as f64 / 1000.0));
            }
        }
        let left = window.saturating_sub(begin.elapsed());
        if left.is_zero() {
            break;
        }
        std::thread::sleep(left.min(EVERY));
    }
    let after: Vec<Vec<Option<u64>>> = meters.iter().map(counters).collect();
    let us = begin.elapsed().as_micros().max(1) as f64;
    let mean = |i: usize| match &meters[i].kind {
        Kind::Power(_) => (!powers[i].is_empty()).then(|| powers[i].iter().sum::<f64>() / powers[i].len() as f64),
        Kind::Energy(files) => {
            let each = files.iter().zip(before[i].iter().zip(&after[i]));
            let uj: Option<Vec<u64>> = each.map(|((_, most), (a, b))| counted((*a)?, (*b)?, *most)).collect();
            uj.map(|uj| 1000.0 * uj.iter().map(|uj| *uj as f64).sum::<f64>() / us)
        }
    };
    (0..meters.len()).map(mean).collect()
}

/// Numbers of busy CPUs that are tried, of `all`.
fn numbers(all: usize) -> Vec<usize> {
    if all <= EACH_CPU {
        return (0..=all).collect();
    }
    let doubled = std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|n| *n < all);
    std::iter::once(0).chain(doubled).chain([all]).collect()
}

/// Of these speeds all, or some from the first to the last.
fn some_of(khz: &[u64]) -> Vec<u64> {
    match khz.len() {
        n if n <= EACH_SPEED => khz.to_vec(),
        n => (0..SPEEDS).map(|i| khz[i * (n - 1) / (SPEEDS - 1)]).collect(),
    }
}

/// Meters, and what they are read at.
pub struct Energy<'k, 'a> {
    meters: Vec<Meter>,
    here: CpuId,
    /// One of each core, those that are measured first.
    cpus: Vec<CpuId>,
    /// Of these CPUs, each once; none where a speed cannot be set.
    clocks: Vec<Clock<'k, 'a>>,
    speeds: Vec<Option<u64>>,
    /// By speed, number of busy CPUs and meter: of each round, mW.
    rounds: Vec<Vec<Vec<Vec<f64>>>>,
    done: usize,
}

impl<'k, 'a> Energy<'k, 'a> {
    /// The meters of this machine, with the CPUs of `allowed` that are as the CPU `here`; why others are missing.
    pub fn prepare(
        knobs: &'k Knobs<'a>,
        machine: &Machine,
        here: CpuId,
        allowed: &CpuMask,
    ) -> (Option<Self>, Vec<String>) {
        let (meters, missing) = meters(knobs.host);
        if meters.is_empty() {
            return (None, missing);
        }
        let of = |cpu: CpuId| &machine.cpus[cpu as usize];
        let known = |core: &CpuMask| core.and(allowed).iter().find(|cpu| (*cpu as usize) < machine.nr_cpus());
        let is_alike = |cpu: &CpuId| of(*cpu).cpu_type == of(here).cpu_type && *cpu != here;
        let others = machine.cores.iter().filter(|core| !core.test(here)).filter_map(known).filter(is_alike);
        let cpus: Vec<CpuId> = std::iter::once(here).chain(others).collect();
        let clocks: Result<Vec<Clock>, String> = cpus.iter().map(|cpu| Clock::find(knobs, *cpu)).collect();
        // Why not, the figure of the clock says.
        let mut clocks = clocks.unwrap_or_default();
        clocks.dedup_by(|next, clock| next.is_of(clock));
        let least = clocks.iter().map(|clock| clock.khz()[0]).max().unwrap_or(u64::MAX);
        let most = clocks.iter().map(|clock| clock.khz()[1]).min().unwrap_or(0);
        let opps = machine.freq_domain_of(here).opps.iter().map(|opp| u64::from(opp.khz));
        let khz: Vec<u64> = opps.filter(|khz| (least..=most).contains(khz)).collect();
        let speeds = match khz.is_empty() {
            true => vec![None],
            false => some_of(&khz).into_iter().map(Some).collect(),
        };
        let none = vec![vec![vec![Vec::new(); meters.len()]; numbers(cpus.len()).len()]; speeds.len()];
        (Some(Energy { meters, here, cpus, clocks, speeds, rounds: none, done: 0 }), missing)
    }

    /// Reads all meters at each speed with each number of busy CPUs, in the first rounds; ends early if `stop` is set.
    ///
    /// # Errors
    /// If a speed cannot be set, or a CPU not be kept busy.
    pub fn round(&mut self, stop: &AtomicBool) -> Result<(), String> {
        if self.done >= ROUNDS {
            return Ok(());
        }
        self.done += 1;
        let read = self.read_all(stop);
        if self.speeds == [None] {
            return read;
        }
        // Each, whatever becomes of the others.
        self.clocks.iter().map(Clock::release).fold(read, Result::and)
    }

    fn read_all(&mut self, stop: &AtomicBool) -> Result<(), String> {
        for (s, khz) in self.speeds.iter().enumerate() {
            if let Some(khz) = khz {
                self.clocks.iter().try_for_each(|clock| clock.request(*khz))?;
                std::thread::sleep(SETTLES);
            }
            for (n, busy) in numbers(self.cpus.len()).into_iter().enumerate() {
                if stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                let meters = &self.meters;
                let powers = while_busy(&self.cpus[..busy], || watch(meters, WINDOW)).map_err(|e| e.to_string())?;
                for (rounds, mw) in self.rounds[s][n].iter_mut().zip(powers) {
                    rounds.extend(mw);
                }
            }
        }
        Ok(())
    }

    /// What all rounds say.
    pub fn powers(&self, machine: &Machine) -> Powers {
        let mut powers = Powers::default();
        for (m, meter) in self.meters.iter().enumerate() {
            for (s, khz) in self.speeds.iter().enumerate() {
                let mut line = Vec::new();
                for (busy, rounds) in numbers(self.cpus.len()).into_iter().zip(&self.rounds[s]) {
                    let rounds = &rounds[m];
                    if rounds.is_empty() {
                        continue;
                    }
                    let mw = median(rounds);
                    let error = error_of(rounds, mw.max(1e-3));
                    let (meter, khz, samples) = (meter.name.clone(), *khz, rounds.len());
                    line.push(PowerReading { meter, khz, busy, mw, error, samples });
                }
                powers.fits.extend(fit(&line));
                powers.readings.append(&mut line);
            }
        }
        if !powers.readings.is_empty() {
            powers.notes.push(
                "a meter does not tell CPUs apart: what each adds and a rest are those of a line through its powers, and idle CPUs \
                 are in the rest"
                    .into(),
            );
        }
        match self.figure(machine, &powers.fits) {
            Ok(figure) => powers.figure = Some(figure),
            Err(why) => powers.notes.push(format!("powers of operating points stay as they are: {why}")),
        }
        powers
    }

    /// Powers of running CPUs for the file.
    fn figure(&self, machine: &Machine, fits: &[PowerFit]) -> Result<PowerFigure, String> {
        if !self.meters.iter().any(|meter| meter.name == PACKAGES) {
            return Err("no meter is known to be that of the CPUs".into());
        }
        let opps = &machine.freq_domain_of(self.here).opps;
        if opps.iter().any(|opp| opp.model_mw.is_some() || opp.wfi_mw.is_some() || opp.static_mw != 0.0) {
            return Err("their table has powers of other kinds, too, which belong together".into());
        }
        let path = path_of(machine, self.here, "opps");
        if path.is_empty() {
            return Err("the file does not state them".into());
        }
        // Beyond an idle CPU, which is in its deepest state.
        let idle_mw = machine.idle_states(self.here).last().map_or(0.0, |state| state.power_mw);
        let (mut mw, mut spread) = (Vec::new(), AGAIN);
        for opp in opps {
            let is_of = |fit: &&PowerFit| {
                let is_speed = fit.khz.map_or(opps.len() == 1, |khz| khz == u64::from(opp.khz));
                fit.meter == PACKAGES && fit.settled && is_speed
            };
            let fit = fits.iter().find(is_of).ok_or_else(|| format!("that at {} kHz is not measured", opp.khz))?;
            mw.push((fit.cpu_mw + idle_mw).round());
            spread = fit.spread.max(spread);
        }
        Ok(PowerFigure { path, before_mw: opps.iter().map(|opp| opp.active_mw).collect(), mw, spread })
    }
}

/// The line through the powers of one meter at one speed; `None` with fewer than two.
fn fit(line: &[PowerReading]) -> Option<PowerFit> {
    let first = line.first().filter(|_| line.len() > 1)?;
    let n = line.len() as f64;
    let mean = |of: fn(&PowerReading) -> f64| line.iter().map(of).sum::<f64>() / n;
    let (busy, mw) = (mean(|reading| reading.busy as f64), mean(|reading| reading.mw));
    let width: f64 = line.iter().map(|reading| (reading.busy as f64 - busy).powi(2)).sum();
    let cpu_mw = line.iter().map(|reading| (reading.busy as f64 - busy) * (reading.mw - mw)).sum::<f64>() / width;
    let rest_mw = mw - cpu_mw * busy;
    let off = |reading: &PowerReading| reading.mw - rest_mw - cpu_mw * reading.busy as f64;
    let misfit = line.iter().map(|reading| off(reading).powi(2)).sum::<f64>() / (n - 2.0).max(1.0);
    let noise = line.iter().map(|reading| (reading.error * reading.mw).powi(2)).sum::<f64>() / n;
    let error = ((misfit + noise) / width).sqrt() / cpu_mw.max(1e-3);
    let samples = line.iter().map(|reading| reading.samples).min().unwrap_or(0);
    let (meter, khz, spread) = (first.meter.clone(), first.khz, error.min(2.3).hypot(AGAIN.ln()).exp());
    let settled = samples >= ROUNDS_MIN && cpu_mw > 0.0 && spread < UNSETTLED;
    Some(PowerFit { meter, khz, cpu_mw, rest_mw, spread, settled })
}

/// Does something while these CPUs compute.
fn while_busy<T>(cpus: &[CpuId], act: impl FnOnce() -> T) -> io::Result<T> {
    let is_over = AtomicBool::new(false);
    let compute = |cpu: CpuId| -> io::Result<()> {
        set_affinity(&CpuMask::single(cpu))?;
        let mut x = 1;
        while !is_over.load(Ordering::Relaxed) {
            (0..STEPS).for_each(|_| _ = step(&mut x));
        }
        black_box(x);
        Ok(())
    };
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        let mut failure = None;
        for cpu in cpus {
            let compute = &compute;
            match std::thread::Builder::new().spawn_scoped(scope, move || compute(*cpu)) {
                Ok(thread) => threads.push(thread),
                Err(error) => failure = Some(error),
            }
        }
        let done = match failure {
            Some(error) => Err(error),
            None => {
                std::thread::sleep(LEAD);
                Ok(act())
            }
        };
        is_over.store(true, Ordering::Relaxed);
        let failed = |_| Err(io::Error::other("a thread that computes has failed"));
        let ended = threads.into_iter().map(|thread| thread.join().unwrap_or_else(failed)).fold(Ok(()), Result::and);
        ended.and(done)
    })
}

#[cfg(test)]
mod tests {
    use fairground_machine::Opp;

    use super::*;
    use crate::knobs::testing::Laid;

    const ZONE: &str = "sys/class/powercap/intel-rapl:";

    /// Two packages, one with a part, and a board's meters.
    fn laid() -> Laid {
        let zone = |zone: &str, file: &str| format!("{ZONE}{zone}/{file}");
        let files = [
            (zone("0", "name"), "package-0\n"),
            (zone("0", "energy_uj"), "1000\n"),
            (zone("0", "max_energy_range_uj"), "262143328850\n"),
            (zone("0:0", "name"), "core\n"),
            (zone("0:0", "energy_uj"), "500\n"),
            (zone("1", "name"), "package-1\n"),
            (zone("1", "energy_uj"), "2000\n"),
            (zone("2", "name"), "psys\n"),
            (zone("2", "energy_uj"), "3000\n"),
            ("sys/class/hwmon/hwmon0/name".into(), "coretemp\n"),
            ("sys/class/hwmon/hwmon0/temp1_input".into(), "41000\n"),
            ("sys/class/hwmon/hwmon1/name".into(), "ina226\n"),
            ("sys/class/hwmon/hwmon1/power1_input".into(), "2500000\n"),
            ("sys/class/hwmon/hwmon1/power1_label".into(), "VDD_CPU\n"),
            ("sys/class/hwmon/hwmon1/power1_average".into(), "1\n"),
            ("sys/class/hwmon/hwmon1/energy2_input".into(), "77\n"),
        ];
        Laid::out(&files.iter().map(|(path, text)| (&**path, *text)).collect::<Vec<_>>())
    }

    #[test]
    fn meters_are_found_by_name() {
        let laid = laid();
        let (found, missing) = meters(&laid.host);
        let names: Vec<&str> = found.iter().map(|meter| &*meter.name).collect();
        let expected =
            ["RAPL packages", "RAPL package-0 core", "RAPL psys", "hwmon1 ina226 energy2", "hwmon1 ina226 VDD_CPU"];
        assert_eq!(names, expected);
        assert!(missing.is_empty(), "{missing:?}");
        let Kind::Energy(packages) = &found[0].kind else { panic!("{found:?}") };
        assert_eq!(packages.iter().map(|(_, most)| *most).collect::<Vec<_>>(), [Some(262_143_328_850), None]);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let (found, missing) = meters(&Laid::out(&[]).host);
        assert!(found.is_empty() && missing.len() == 1 && missing[0].contains("there are neither"), "{missing:?}");
        let laid = laid();
        laid.write(&format!("{ZONE}1/energy_uj"), "");
        std::fs::remove_file(laid.dir.path().join(format!("{ZONE}0:0/energy_uj"))).unwrap();
        let (found, missing) = meters(&laid.host);
        assert_eq!((found.len(), missing.len()), (4, 2));
        assert!(missing.iter().any(|missing| missing.contains("rapl:1/energy_uj cannot be read")), "{missing:?}");
    }

    #[test]
    fn a_counter_begins_again_at_its_greatest() {
        assert_eq!(counted(100, 350, None), Some(250));
        assert_eq!(counted(900, 50, Some(1000)), Some(150));
        assert_eq!(counted(900, 50, None), None, "nobody says where");
        assert_eq!(counted(2000, 50, Some(1000)), None, "beyond its greatest");
        assert_eq!(counted(0, u64::MAX, Some(1)), Some(u64::MAX));
    }

    /// Files that stand still: no energy, and the power that they have.
    #[test]
    fn meters_are_read_for_a_while() {
        let laid = laid();
        let (found, _) = meters(&laid.host);
        let powers = watch(&found, Duration::ZERO);
        assert_eq!(powers, [Some(0.0), Some(0.0), Some(0.0), Some(0.0), Some(2500.0)]);
        std::fs::remove_file(laid.dir.path().join("sys/class/hwmon/hwmon1/power1_input")).unwrap();
        std::fs::remove_file(laid.dir.path().join(format!("{ZONE}1/energy_uj"))).unwrap();
        let powers = watch(&found, Duration::ZERO);
        assert_eq!(powers, [None, Some(0.0), Some(0.0), Some(0.0), None]);
    }

    #[test]
    fn few_cpus_and_speeds_are_tried_each_many_in_part() {
        assert_eq!((numbers(1), numbers(3)), (vec![0, 1], vec![0, 1, 2, 3]));
        assert_eq!(numbers(48), [0, 1, 2, 4, 8, 16, 32, 48]);
        assert_eq!(numbers(64), [0, 1, 2, 4, 8, 16, 32, 64]);
        assert_eq!(some_of(&[1, 2, 3]), [1, 2, 3]);
        assert_eq!(some_of(&(0..17).collect::<Vec<_>>()), [0, 4, 8, 12, 16]);
    }

    fn line(mw: &[f64], error: f64) -> Vec<PowerReading> {
        let reading = |(busy, mw): (usize, &f64)| PowerReading {
            meter: PACKAGES.into(),
            khz: None,
            busy,
            mw: *mw,
            error,
            samples: 7,
        };
        mw.iter().enumerate().map(reading).collect()
    }

    #[test]
    fn a_line_has_what_each_cpu_adds_and_a_rest() {
        let straight = fit(&line(&[5000.0, 7000.0, 9000.0], 0.002)).unwrap();
        assert!((straight.cpu_mw - 2000.0).abs() < 1e-6 && (straight.rest_mw - 5000.0).abs() < 1e-6, "{straight:?}");
        assert!(straight.settled && straight.spread < 1.12, "{straight:?}");
        let noisy = fit(&line(&[5000.0, 7000.0, 9000.0], 0.3)).unwrap();
        assert!(!noisy.settled && noisy.spread > straight.spread, "{noisy:?}");
        assert!(!fit(&line(&[5000.0, 4000.0], 0.002)).unwrap().settled, "less with a busy CPU");
        assert_eq!((fit(&line(&[5000.0], 0.1)), fit(&[])), (None, None));
    }

    /// One clock that does not change: its one operating point is what is measured.
    #[test]
    fn operating_points_are_written_if_all_are_measured() {
        let laid = laid();
        let knobs = Knobs::new(&laid.host, Ok(&laid.keeper));
        let mut machine = Machine::symmetric(2);
        machine.restate_figures();
        let (energy, missing) = Energy::prepare(&knobs, &machine, 0, &CpuMask::first_n(2));
        let mut energy = energy.unwrap();
        assert_eq!((energy.cpus.clone(), energy.speeds.clone(), missing.len()), (vec![0, 1], vec![None], 0));
        assert_eq!(energy.powers(&machine).readings, []);
        for (n, mw) in [5000.0, 7000.0, 9000.0].into_iter().enumerate() {
            energy.rounds[0][n][0] = vec![mw; 5];
        }
        let powers = energy.powers(&machine);
        let opps = machine.freq_domains[0].opps.len();
        if opps == 1 {
            let figure = powers.figure.unwrap();
            let idle_mw = machine.cpu_types[0].idle_states.last().unwrap().power_mw;
            assert_eq!(figure.mw, [(2000.0 + idle_mw).round()]);
        } else {
            assert!(powers.notes.iter().any(|note| note.contains("is not measured")), "{:?}", powers.notes);
        }
        assert_eq!(powers.readings.len(), 3);
        // Of tables with more than these powers nothing is replaced.
        machine.freq_domains[0].opps[0].static_mw = 1.0;
        assert_eq!(energy.powers(&machine).figure, None);
    }

    /// Two CPUs whose links lead to one directory of cpufreq.
    #[test]
    fn a_clock_of_several_cpus_is_recorded_once() {
        let laid = laid();
        for (file, text) in [("scaling_min_freq", "1000"), ("scaling_max_freq", "2000")] {
            let path = laid.dir.path().join("sys/devices/system/cpu/cpufreq/policy0").join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        for cpu in 0..2 {
            let dir = laid.dir.path().join(format!("sys/devices/system/cpu/cpu{cpu}"));
            std::fs::create_dir_all(&dir).unwrap();
            std::os::unix::fs::symlink("../cpufreq/policy0", dir.join("cpufreq")).unwrap();
        }
        let mut machine = Machine::symmetric(2);
        let first = machine.freq_domains[0].opps[0].clone();
        machine.freq_domains[0].opps = [1000, 1500, 2000, 2500].map(|khz| Opp { khz, ..first.clone() }).to_vec();
        let knobs = Knobs::new(&laid.host, Ok(&laid.keeper));
        let mut energy = Energy::prepare(&knobs, &machine, 0, &CpuMask::first_n(2)).0.unwrap();
        assert_eq!((energy.clocks.len(), energy.cpus.len()), (1, 2));
        assert_eq!(energy.speeds, [Some(1000), Some(1500), Some(2000)], "within the limits");
        // Ended before the first reading: the speed is asked for, and given back.
        energy.round(&AtomicBool::new(true)).unwrap();
        let file = |name: &str| laid.text(&format!("sys/devices/system/cpu/cpufreq/policy0/{name}"));
        assert_eq!([file("scaling_min_freq"), file("scaling_max_freq")], ["1000", "2000"]);
        assert_eq!(std::fs::read_to_string(laid.record()).unwrap().lines().count(), 3, "a head and two files");
        let powers = energy.powers(&machine);
        assert!(powers.notes.iter().any(|note| note.contains("stay as they are: that at 1000 kHz")), "{powers:?}");
    }

    #[test]
    fn a_machine_without_meters_has_no_powers() {
        let laid = Laid::out(&[]);
        let knobs = Knobs::new(&laid.host, Ok(&laid.keeper));
        let (energy, missing) = Energy::prepare(&knobs, &Machine::symmetric(2), 0, &CpuMask::first_n(2));
        assert!(energy.is_none() && missing.len() == 1);
    }

    #[test]
    fn cpus_compute_until_it_is_done() {
        let allowed = fairground_play::affinity().unwrap();
        let cpus: Vec<CpuId> = allowed.iter().take(2).collect();
        assert_eq!(while_busy(&cpus, || 7).unwrap(), 7);
        let nowhere = fairground_machine::NR_CPUS as CpuId - 1;
        if !allowed.test(nowhere) {
            assert!(while_busy(&[cpus[0], nowhere], || 7).is_err());
        }
    }
}
