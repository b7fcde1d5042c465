//! From names, files and text to machines, and back.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::{suggest, MachineError};
use crate::{file, FreeCost, Machine};

/// Name and text of each preset.
const PRESETS: [(&str, &str); 15] = [
    ("hikey960", include_str!("../../../machines/hikey960.toml")),
    ("hikey", include_str!("../../../machines/hikey.toml")),
    ("rpi5", include_str!("../../../machines/rpi5.toml")),
    ("juno-r2", include_str!("../../../machines/juno-r2.toml")),
    ("epyc-7742-2p", include_str!("../../../machines/epyc-7742-2p.toml")),
    ("synquacer", include_str!("../../../machines/synquacer.toml")),
    ("synquacer-acpi", include_str!("../../../machines/synquacer-acpi.toml")),
    ("thunderx2-224", include_str!("../../../machines/thunderx2-224.toml")),
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

    /// Reads a machine file.
    ///
    /// # Errors
    /// If the file cannot be read, is not UTF-8, or describes no machine.
    pub fn load(path: impl AsRef<Path>) -> Result<Machine, MachineError> {
        let path = path.as_ref();
        let unreadable = |cause| MachineError::Unreadable { path: path.into(), cause };
        let limit = MAX_FILE_MIB << 20;
        let mut bytes = Vec::new();
        File::open(path).and_then(|f| f.take(limit + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
        if bytes.len() as u64 > limit {
            return Err(MachineError::TooLarge { path: path.into(), limit_mib: MAX_FILE_MIB });
        }
        let text = String::from_utf8(bytes).map_err(|e| {
            let offset = e.utf8_error().valid_up_to();
            let line = 1 + e.as_bytes()[..offset].iter().filter(|b| **b == b'\n').count();
            MachineError::NotUtf8 { path: path.into(), line, offset }
        })?;
        Machine::from_toml(&path.display().to_string(), &text)
    }

    /// A machine that comes with the program, see [`presets`].
    ///
    /// # Errors
    /// [`MachineError::Unknown`] with the nearest name.
    pub fn preset(name: &str) -> Result<Machine, MachineError> {
        let text = preset_text(name)
            .ok_or_else(|| MachineError::Unknown { name: name.into(), help: suggest(name, presets()) })?;
        Machine::from_toml(&format!("machines/{name}.toml"), text)
    }

    /// A preset by name, else a file by path. A name with a `/` or ending in `.toml` is always a path.
    ///
    /// # Errors
    /// As [`Machine::preset`] and [`Machine::load`].
    pub fn find(name_or_path: &str) -> Result<Machine, MachineError> {
        let is_path = name_or_path.contains('/') || name_or_path.ends_with(".toml");
        if !is_path && (preset_text(name_or_path).is_some() || !Path::new(name_or_path).is_file()) {
            return Machine::preset(name_or_path);
        }
        Machine::load(name_or_path)
    }

    /// This machine as the text of a file. Loading it gives the same machine, sources included; comments and the tags
    /// of sources are not kept.
    pub fn to_toml(&self) -> String {
        file::write(self).0
    }

    /// The text of a machine file with `figures` fitted to a published cell; all else, comments too, is kept.
    ///
    /// # Errors
    /// If the text describes no machine.
    pub fn refitted(name: &str, text: &str, figures: &[(FreeCost, f64)], cell: &str) -> Result<String, MachineError> {
        Machine::from_toml(name, text)?;
        Ok(file::refitted(text, figures, cell))
    }

    /// Brings [`Machine::figures`] in line with the machine after changes in code: values are restated, sources kept,
    /// figures without one become estimates.
    pub fn restate_figures(&mut self) {
        self.figures = file::write(self).1;
    }
}
