//! Loads machines by name or file, and writes them.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::MachineError;
use crate::suggest;
use crate::{file, FitParam, Machine, MachineSpec, NewFigure, Perturbation, Warning};

/// Name and text of each preset.
const PRESETS: [(&str, &str); 17] = [
    ("hikey960", include_str!("../../../machines/hikey960.toml")),
    ("hikey", include_str!("../../../machines/hikey.toml")),
    ("rpi5", include_str!("../../../machines/rpi5.toml")),
    ("juno-r2", include_str!("../../../machines/juno-r2.toml")),
    ("epyc-7742-2p", include_str!("../../../machines/epyc-7742-2p.toml")),
    ("synquacer", include_str!("../../../machines/synquacer.toml")),
    ("synquacer-acpi", include_str!("../../../machines/synquacer-acpi.toml")),
    ("thunderx2-224", include_str!("../../../machines/thunderx2-224.toml")),
    ("kunpeng920", include_str!("../../../machines/kunpeng920.toml")),
    ("altra-q80", include_str!("../../../machines/altra-q80.toml")),
    ("pixel6", include_str!("../../../machines/pixel6.toml")),
    ("pixel6-cluster-llc", include_str!("../../../machines/pixel6-cluster-llc.toml")),
    ("rb5", include_str!("../../../machines/rb5.toml")),
    ("sdm845", include_str!("../../../machines/sdm845.toml")),
    ("apple-m1", include_str!("../../../machines/apple-m1.toml")),
    ("alder-lake", include_str!("../../../machines/alder-lake.toml")),
    ("synthetic-1024", include_str!("../../../machines/synthetic-1024.toml")),
];

/// The names of the machines that come with the program.
pub fn presets() -> impl Iterator<Item = &'static str> + Clone {
    PRESETS.iter().map(|(name, _)| *name)
}

/// The text of a preset's file, to copy and edit.
pub fn preset_text(name: &str) -> Option<&'static str> {
    PRESETS.iter().find(|(preset, _)| *preset == name).map(|(_, text)| *text)
}

/// Largest file that is read, MiB. The greatest table there can be, distances of 1024 nodes, takes about 5.
const MAX_FILE_MIB: u64 = 16;

impl Machine {
    /// Reads a machine from TOML; `name` stands for the file in errors.
    ///
    /// # Errors
    /// [`MachineError::Invalid`] with the place of the first fault.
    pub fn from_toml(name: &str, text: &str) -> Result<Machine, MachineError> {
        Ok(file::load(name, text)?)
    }

    /// Reads and checks a machine file.
    ///
    /// # Errors
    /// If the file cannot be read, is not UTF-8, or does not describe a valid machine.
    pub fn load(path: impl AsRef<Path>) -> Result<Machine, MachineError> {
        let path = path.as_ref();
        Machine::from_toml(&path.display().to_string(), &Machine::read(path)?)
    }

    /// The text of a file of at most 16 MiB, not yet parsed: [`Machine::from_toml`] takes it.
    ///
    /// # Errors
    /// If the file cannot be read or is not UTF-8.
    pub fn read(path: &Path) -> Result<String, MachineError> {
        let unreadable = |cause| MachineError::Unreadable { path: path.into(), cause };
        let limit = MAX_FILE_MIB << 20;
        let mut bytes = Vec::new();
        File::open(path).and_then(|f| f.take(limit + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
        if bytes.len() as u64 > limit {
            return Err(MachineError::TooLarge { path: path.into(), limit_mib: MAX_FILE_MIB });
        }
        String::from_utf8(bytes).map_err(|e| {
            let offset = e.utf8_error().valid_up_to();
            let line = 1 + e.as_bytes()[..offset].iter().filter(|b| **b == b'\n').count();
            MachineError::NotUtf8 { path: path.into(), line, offset }
        })
    }

    /// A machine that comes with the program, see [`presets`].
    ///
    /// # Errors
    /// [`MachineError::Unknown`] with the nearest name.
    pub fn preset(name: &str) -> Result<Machine, MachineError> {
        let text = preset_text(name)
            .ok_or_else(|| MachineError::Unknown { name: name.into(), help: suggest(name, presets()) })?;
        Machine::from_toml(&preset_file(name), text)
    }

    /// A preset by name, else a file by path. A name with a `/` or ending in `.toml` is always a path.
    ///
    /// # Errors
    /// As [`Machine::preset`] and [`Machine::load`]; [`MachineError::Whole`] where CPUs are named behind an `@`, which
    /// [`MachineSpec`] takes.
    pub fn find(name_or_path: &str) -> Result<Machine, MachineError> {
        if let MachineSpec { name, subset: Some(subset) } = MachineSpec::parse(name_or_path) {
            return Err(MachineError::Whole { name: name.into(), subset: subset.into() });
        }
        match is_file(name_or_path) {
            true => Machine::load(name_or_path),
            false => Machine::preset(name_or_path),
        }
    }

    /// As [`Machine::find`], with its warnings ([`Machine::check`]), each with the line that it is about.
    ///
    /// # Errors
    /// As [`Machine::find`].
    pub fn find_checked(name_or_path: &str) -> Result<(Machine, Vec<Warning>), MachineError> {
        let machine = Machine::find(name_or_path)?;
        let (file, text) = match is_file(name_or_path) {
            true => (name_or_path.to_owned(), Machine::read(Path::new(name_or_path))?),
            false => (preset_file(name_or_path), preset_text(name_or_path).unwrap_or_default().to_owned()),
        };
        let (_, lines) = file::load_with_lines(&file, &text)?;
        let mut warnings = machine.check();
        warnings.iter_mut().for_each(|warning| warning.locate(&file, &lines));
        Ok((machine, warnings))
    }

    /// This machine as the text of a file. Loading it gives the same machine, sources included; comments and the tags
    /// of sources are not kept.
    pub fn to_toml(&self) -> String {
        file::write(self).0
    }

    /// The text of a machine file with `figures` fitted to a published cell; all else, comments too, is kept.
    ///
    /// # Errors
    /// If the text does not describe a valid machine.
    pub fn refitted(name: &str, text: &str, figures: &[(FitParam, f64)], cell: &str) -> Result<String, MachineError> {
        Machine::from_toml(name, text)?;
        Ok(file::refitted(text, figures, cell))
    }

    /// The text of a machine file with times stated anew: value, source and spread of each; all else, comments too, is kept.
    ///
    /// # Errors
    /// If the text does not describe a valid machine, before or after.
    pub fn restated(name: &str, text: &str, figures: &[NewFigure]) -> Result<String, MachineError> {
        let machine = Machine::from_toml(name, text)?;
        let stated = file::restated(text, &machine, figures);
        Machine::from_toml(name, &stated)?;
        Ok(stated)
    }

    /// This machine with one figure changed, in the unit in which the file states it. `path` is one of
    /// [`Machine::figures`]. Figures that are derived from it change with it. Throughputs of threads are several
    /// numbers, which only a factor can change. `None` if there is no such figure, or if it is not a magnitude: an
    /// arrangement, a distance between nodes, clocks.
    ///
    /// # Errors
    /// If a machine file with this value is refused, e.g. because idle states are then out of order.
    pub fn perturbed(&self, path: &str, turn: Perturbation) -> Result<Option<Machine>, MachineError> {
        let (mut machine, met) = file::load_turned(&self.name, &self.to_toml(), Some((path, turn)))?;
        machine.restate_figures();
        Ok(met.then_some(machine))
    }

    /// Brings [`Machine::figures`] in line with the machine after changes in code: values are restated, sources kept,
    /// figures without one become estimates.
    pub fn restate_figures(&mut self) {
        self.figures = file::write(self).1;
    }
}

/// What messages call the file of a preset.
fn preset_file(name: &str) -> String {
    format!("machines/{name}.toml")
}

/// Whether [`Machine::find`] takes this for the path of a file.
pub(crate) fn is_file(name: &str) -> bool {
    let is_path = name.contains('/') || name.ends_with(".toml");
    is_path || (preset_text(name).is_none() && Path::new(name).is_file())
}

#[cfg(test)]
mod tests {
    use crate::{Machine, Perturbation, SoftCost, Source};

    #[test]
    fn a_turned_figure_is_the_only_one_that_moves() {
        let machine = Machine::preset("thunderx2-224").unwrap();
        let turned = machine.perturbed("costs.soft.pick", Perturbation::Times(1.5)).unwrap().unwrap();
        let ratio = turned.costs.soft(SoftCost::Pick) / machine.costs.soft(SoftCost::Pick);
        assert!((ratio - 1.5).abs() < 1e-12, "{ratio}");
        let moved: Vec<&str> =
            turned.figures.iter().filter(|f| !machine.figures.contains(f)).map(|f| f.path.as_str()).collect();
        assert_eq!(moved, ["costs.soft.pick"]);
    }

    /// hikey960 states its cost of a wakeup in ns, its transitions in us.
    #[test]
    fn a_figure_is_turned_to_a_value_in_the_unit_of_the_file() {
        let machine = Machine::preset("hikey960").unwrap();
        let turned = |path: &str, to: f64| machine.perturbed(path, Perturbation::To(to));
        let cheap = turned("costs.soft.wakeup", 100.0).unwrap().unwrap();
        assert_eq!(cheap.costs.soft(SoftCost::Wakeup), 100.0 * machine.costs.scale);
        let slow = turned("freq_domain[0-3].transition", 700.0).unwrap().unwrap();
        assert_eq!(slow.freq_domains[0].transition_ns, 700_000);
        assert_eq!(slow.freq_domains[1], machine.freq_domains[1]);
        assert!(turned("costs.soft.wakeup", 1e30).unwrap_err().to_string().contains("too much"));
        assert!(turned("costs.soft.wakeup", -1.0).unwrap_err().to_string().contains("not a valid figure"));
        assert!(turned("costs.soft.wakeup", f64::NAN).is_err());
        let threads = Machine::preset("thunderx2-224")
            .unwrap()
            .perturbed("cpu_type.Vulcan.smt_throughput", Perturbation::To(1.2));
        assert_eq!(threads.unwrap(), None, "several figures have no one value");
    }

    /// Of 1, 1.42, 1.65 and 1.86 the first is what the others are of: 1 + 0.42 x 1.2 = 1.504, and so on.
    #[test]
    fn throughput_of_threads_is_turned_above_one() {
        let machine = Machine::preset("thunderx2-224").unwrap();
        let turned = machine.perturbed("cpu_type.Vulcan.smt_throughput", Perturbation::Times(1.2)).unwrap().unwrap();
        assert_eq!(turned.cpu_types[0].smt_throughput, [1000, 1504, 1780, 2032]);
    }

    /// Every estimate of every preset can be turned, is refused with a reason, or is not a magnitude.
    #[test]
    fn figures_that_are_not_magnitudes_are_reported() {
        let machine = Machine::preset("hikey960").unwrap();
        for path in ["topology.distances", "costs.soft.no-such"] {
            assert_eq!(machine.perturbed(path, Perturbation::Times(1.3)).unwrap(), None, "{path}");
        }
        for preset in crate::presets() {
            let machine = Machine::preset(preset).unwrap();
            let estimates = machine.figures.iter().filter(|f| matches!(f.source, Source::Estimate(_)));
            for figure in estimates.filter(|f| f.path.starts_with("costs.")) {
                assert!(
                    machine.perturbed(&figure.path, Perturbation::Times(1.3)).unwrap().is_some(),
                    "{preset} {}",
                    figure.path
                );
            }
        }
    }
}
