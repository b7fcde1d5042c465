//! What can be chosen, from the registries that the command lists.

use fairground_fair::{features, FairError, Preset, PRESETS};
use fairground_machine::{presets, Machine, MachineError};
use fairground_run::run_config::SETTINGS;
use fairground_workload::builtins;
use serde_json::{json, Value};

/// Names and contents of the workload files of the repository that stand for themselves.
const FILES: [(&str, &str); 10] = [
    ("clamped.json", include_str!("../../../workloads/clamped.json")),
    ("cpusets.json", include_str!("../../../workloads/cpusets.json")),
    ("hotplug.json", include_str!("../../../workloads/hotplug.json")),
    ("interrupts.json", include_str!("../../../workloads/interrupts.json")),
    ("little-and-big.json", include_str!("../../../workloads/little-and-big.json")),
    ("measured.json", include_str!("../../../workloads/measured.json")),
    ("ping-pong.json", include_str!("../../../workloads/ping-pong.json")),
    ("quotas.json", include_str!("../../../workloads/quotas.json")),
    ("rt-app-tour.json", include_str!("../../../workloads/rt-app-tour.json")),
    ("throttled.json", include_str!("../../../workloads/throttled.json")),
];

/// Machines, workloads, presets, features and settings.
///
/// # Errors
/// If a machine of the program cannot be read, which a test excludes.
pub fn catalog() -> Result<Value, MachineError> {
    let machine = |name| {
        let machine = Machine::preset(name)?;
        Ok(json!({ "name": name, "title": machine.title, "cpus": machine.nr_cpus() }))
    };
    let machines = presets().map(machine).collect::<Result<Vec<Value>, MachineError>>()?;
    let option = |o: &fairground_workload::OptionInfo| json!({ "name": o.name, "default": o.default, "meaning": o.meaning, "expected": o.kind.expected() });
    let workloads: Vec<Value> = builtins()
        .iter()
        .map(|b| {
            let options: Vec<Value> = b.options.iter().map(option).collect();
            json!({ "name": b.name, "title": b.title, "measures": b.measures, "misleads": b.misleads, "options": options })
        })
        .collect();
    let files: Vec<Value> = FILES.iter().map(|(name, text)| json!({ "name": name, "text": text })).collect();
    let preset = |p: &Preset| json!({ "name": p.name, "text": p.text, "values": values(p.name).unwrap_or_default() });
    let features: Vec<Value> = features()
        .iter()
        .map(|f| {
            json!({ "name": f.name, "values": f.values, "since": f.since, "mail": f.mail, "ready": f.ready, "text": f.text })
        })
        .collect();
    let settings: Vec<Value> = SETTINGS.iter().map(|s| json!({ "name": s.name, "words": s.words })).collect();
    Ok(json!({
        "machines": machines,
        "workloads": workloads,
        "files": files,
        "presets": PRESETS.iter().map(preset).collect::<Vec<Value>>(),
        "newest": Preset::newest().name,
        "features": features,
        "settings": settings,
    }))
}

/// The value of each feature in a preset, in the order of the table of features.
fn values(preset: &str) -> Result<Vec<u8>, FairError> {
    let of = fairground_fair::Features::parse(&format!("fair:{preset}"))?;
    Ok((0..features().len()).map(|id| of.get(id)).collect())
}
