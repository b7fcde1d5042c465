//! `/proc/cpuinfo`: what cores are called where sysfs does not say it, the model's name, and whether a hypervisor is below.
//!
//! It is beside the sysfs tree: in `proc` of the tree's directory, or beside it where that is called `sys`, as `/proc` is beside
//! `/sys`.

use std::collections::BTreeMap;

use crate::{CpuId, NR_CPUS};

use super::cpus::Cpus;
use super::kinds::{arm_core, Isa};
use super::tree::{shortened, Tree};
use super::{CaptureError, Notes};

/// The file in the directory of processes.
pub(super) const FILE: &str = "cpuinfo";

/// The most characters of a model's name.
const MAX_NAME: usize = 64;

/// Words of model names that tell no cores apart.
const NOISE: [&str; 4] = ["CPU", "Processor", "processor", "Core"];

/// What the file says.
#[derive(Default)]
pub(super) struct CpuInfo {
    /// Name of the core by the kernel's id of the CPU.
    cores: BTreeMap<CpuId, String>,
    /// Names of models, in order of appearance, each once; control characters as escapes.
    pub models: Vec<String>,
    pub isa: Option<Isa>,
    /// Whether a hypervisor is below.
    pub is_virtual: bool,
}

impl CpuInfo {
    /// Reads the file beside a sysfs tree; nothing where it is missing.
    pub fn read(sysfs: &Tree, notes: &mut Notes) -> Result<CpuInfo, CaptureError> {
        for tree in sysfs.processes() {
            if let Some(text) = tree.text(FILE)? {
                return CpuInfo::parse(&tree, &text, notes);
            }
        }
        Ok(CpuInfo::default())
    }

    fn parse(tree: &Tree, text: &str, notes: &mut Notes) -> Result<CpuInfo, CaptureError> {
        let mut info = CpuInfo::default();
        for block in text.split("\n\n") {
            let fields: Vec<(&str, &str)> = block
                .lines()
                .filter_map(|line| line.split_once(':'))
                .map(|(key, value)| (key.trim(), value.trim()))
                .collect();
            let field = |name: &str| fields.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
            info.is_virtual |= field("flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
            let model = field("model name").filter(|model| !model.is_empty()).map(printable);
            let arm = match (field("CPU implementer"), field("CPU part")) {
                (Some(implementer), Some(part)) => Some((hex(tree, implementer)?, hex(tree, part)?)),
                _ => None,
            };
            match (arm, field("vendor_id")) {
                (Some(_), _) => info.isa = Some(Isa::Arm64),
                (None, Some(_)) => info.isa = info.isa.or(Some(Isa::X86)),
                (None, None) => {}
            }
            // Words before a number follow in files of 32-bit Arm: `Processor : ARMv7`.
            let cpu =
                field("processor").and_then(|cpu| cpu.parse::<CpuId>().ok()).filter(|cpu| (*cpu as usize) < NR_CPUS);
            let known = arm.and_then(|(implementer, part)| arm_core(implementer, part));
            let name = known.map(str::to_owned).or_else(|| model.as_deref().and_then(core_of_model));
            if let (Some(cpu), Some(name)) = (cpu, name) {
                info.cores.insert(cpu, name);
            }
            info.models.extend(model.filter(|model| !info.models.contains(model) && info.models.len() < NR_CPUS));
        }
        if info.is_virtual {
            notes.add(
                "/proc/cpuinfo has the flag hypervisor: this is a virtual machine; topology, caches, clocks and idle states are what the \
                 hypervisor shows",
            );
        }
        Ok(info)
    }

    /// The name of a CPU's core.
    pub fn core_name(&self, cpus: &Cpus, cpu: CpuId) -> Option<String> {
        self.cores.get(&cpus.kernel_id(cpu)).cloned()
    }
}

fn hex(tree: &Tree, text: &str) -> Result<u64, CaptureError> {
    let number = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    number.ok_or_else(|| tree.garbled(FILE, format!("found `{}`", shortened(text)), "a hexadecimal number, 0x..."))
}

/// A name with single spaces, control characters as escapes, cut to [`MAX_NAME`] characters.
fn printable(model: &str) -> String {
    let words = model.split_whitespace().collect::<Vec<_>>().join(" ");
    words.escape_debug().flat_map(|c| Some(c).filter(|c| *c != '\\')).take(MAX_NAME).collect()
}

/// The name of a core type of a model: `Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz` is Intel-Xeon-Gold-6230.
fn core_of_model(model: &str) -> Option<String> {
    let bare = model.replace("(R)", "").replace("(TM)", "").replace("(r)", "").replace("(tm)", "");
    let before = bare.split(" @ ").next().unwrap_or_default();
    let is_count = |word: &str| word.ends_with("-Core");
    let words = before.split_whitespace().filter(|word| !NOISE.contains(word) && !is_count(word));
    let plain =
        words.map(|word| word.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).collect::<String>());
    let name = plain.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
    Some(name).filter(|name| !name.is_empty())
}
