//! CPU identification: architecture, and the names of Arm cores.

use crate::{CpuId, Machine};

use super::cpus::Cpus;
use super::idle::State;
use super::tree::Tree;
use super::CaptureError;

/// Implementer and part number of MIDR_EL1 (Linux, arch/arm64/include/asm/cputype.h).
const ARM_CORES: [(u64, u64, &str); 30] = [
    (0x41, 0xd03, "Cortex-A53"),
    (0x41, 0xd04, "Cortex-A35"),
    (0x41, 0xd05, "Cortex-A55"),
    (0x41, 0xd07, "Cortex-A57"),
    (0x41, 0xd08, "Cortex-A72"),
    (0x41, 0xd09, "Cortex-A73"),
    (0x41, 0xd0a, "Cortex-A75"),
    (0x41, 0xd0b, "Cortex-A76"),
    (0x41, 0xd0c, "Neoverse-N1"),
    (0x41, 0xd0d, "Cortex-A77"),
    (0x41, 0xd40, "Neoverse-V1"),
    (0x41, 0xd41, "Cortex-A78"),
    (0x41, 0xd44, "Cortex-X1"),
    (0x41, 0xd46, "Cortex-A510"),
    (0x41, 0xd47, "Cortex-A710"),
    (0x41, 0xd48, "Cortex-X2"),
    (0x41, 0xd49, "Neoverse-N2"),
    (0x41, 0xd4b, "Cortex-A78C"),
    (0x41, 0xd4c, "Cortex-X1C"),
    (0x41, 0xd4d, "Cortex-A715"),
    (0x41, 0xd4e, "Cortex-X3"),
    (0x41, 0xd4f, "Neoverse-V2"),
    (0x41, 0xd80, "Cortex-A520"),
    (0x41, 0xd81, "Cortex-A720"),
    (0x41, 0xd82, "Cortex-X4"),
    (0x41, 0xd8e, "Neoverse-N3"),
    (0x42, 0x516, "ThunderX2"),
    (0x43, 0x0af, "ThunderX2"),
    (0x48, 0xd01, "TaiShan-v110"),
    (0xc0, 0xac3, "Ampere-1"),
];

/// A file of each CPU that Arm alone has.
const MIDR: &str = "regs/identification/midr_el1";

/// Instruction sets whose machines differ in what system calls, interrupts and idle exits cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Isa {
    Arm64,
    X86,
}

impl Isa {
    pub fn name(self) -> &'static str {
        match self {
            Isa::Arm64 => "arm64",
            Isa::X86 => "x86",
        }
    }

    /// Of a machine that files describe: by the names of its idle states, `WFI` on Arm and C-states on x86.
    pub fn from_machine(machine: &Machine) -> Option<Isa> {
        let states = machine.cpu_types.iter().flat_map(|of| &of.idle_states);
        states.map(|state| state.name.as_str()).find_map(|name| match name {
            "WFI" => Some(Isa::Arm64),
            _ => is_c_state(name).then_some(Isa::X86),
        })
    }

    /// Of a tree: as `modalias` says, else by a file that only Arm has, else by the idle states. C-states alone say
    /// nothing: drivers of Exynos call theirs C1 and C2. Those of x86 have descriptions of ACPI or MWAIT, or a state POLL
    /// before them, which Arm has not.
    pub fn from_tree(tree: &Tree, cpus: &Cpus, states: &[State]) -> Result<Option<Isa>, CaptureError> {
        let modalias = modalias(tree)?;
        if modalias.starts_with("cpu:type:x86") {
            return Ok(Some(Isa::X86));
        } else if modalias.starts_with("cpu:type:aarch64") {
            return Ok(Some(Isa::Arm64));
        }
        for cpu in cpus.iter() {
            if tree.text(&format!("{}/{MIDR}", cpus.dir(cpu)))?.is_some() {
                return Ok(Some(Isa::Arm64));
            }
        }
        let begins = |words: &[&str]| states.iter().any(|state| words.iter().any(|word| state.desc.starts_with(word)));
        if begins(&["ARM"]) || states.iter().any(|state| state.name == "WFI") {
            return Ok(Some(Isa::Arm64));
        }
        let polls = states.iter().any(|state| state.is_polling) && states.iter().any(|state| is_c_state(&state.name));
        Ok((begins(&["MWAIT", "ACPI"]) || polls).then_some(Isa::X86))
    }
}

/// Whether an idle state is called as those of x86, C1 and so on.
fn is_c_state(name: &str) -> bool {
    name.strip_prefix('C').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn modalias(tree: &Tree) -> Result<String, CaptureError> {
    Ok(tree.text("devices/system/cpu/modalias")?.unwrap_or_default())
}

/// Whether the CPUs are AMD's or Hygon's Zen, where the kernel sets node_reclaim_distance to 32
/// (arch/x86/kernel/cpu/amd.c and hygon.c): `ven` and `fam` of modalias are hexadecimal.
pub(super) fn is_zen(tree: &Tree) -> Result<bool, CaptureError> {
    let modalias = modalias(tree)?;
    let Some((_, model)) = modalias.split_once("ven") else { return Ok(false) };
    let (vendor, rest) = model.split_once("fam").unwrap_or((model, ""));
    let family = rest.split_once("mod").map_or(rest, |(family, _)| family);
    let hex = |digits: &str| u32::from_str_radix(digits, 16).unwrap_or(0);
    Ok(matches!(hex(vendor), 2 | 9) && hex(family) >= 0x17)
}

/// The name of a CPU's core, where it is an Arm core that is known by name.
pub(super) fn core_name(tree: &Tree, cpus: &Cpus, cpu: CpuId) -> Result<Option<String>, CaptureError> {
    let Some(midr) = tree.hex(&format!("{}/{MIDR}", cpus.dir(cpu)))? else { return Ok(None) };
    let (implementer, part) = (midr >> 24 & 0xff, midr >> 4 & 0xfff);
    Ok(arm_core(implementer, part).map(str::to_owned))
}

/// The name of the Arm core with this implementer and part number, if it is known.
pub(super) fn arm_core(implementer: u64, part: u64) -> Option<&'static str> {
    ARM_CORES.iter().find(|(i, p, _)| (*i, *p) == (implementer, part)).map(|(.., name)| *name)
}

/// The name of a core that a device tree calls so, less the vendor: as it is written here if it is known.
pub(super) fn canonical_core_name(name: &str) -> String {
    let known = ARM_CORES.iter().find(|(.., known)| known.eq_ignore_ascii_case(name));
    known.map_or(name, |(.., known)| known).into()
}
