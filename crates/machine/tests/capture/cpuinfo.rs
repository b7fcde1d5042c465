//! Names of cores and models from `/proc/cpuinfo`.

use super::kit::Sysfs;

const XEON: &str = "Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz";

fn x86(cpu: u32, model: &str, flags: &str) -> String {
    format!("processor\t: {cpu}\nvendor_id\t: GenuineIntel\nmodel name\t: {model}\nflags\t\t: fpu {flags}\n\n")
}

fn arm(cpu: u32, part: &str) -> String {
    format!("processor\t: {cpu}\nBogoMIPS\t: 3.84\nCPU implementer\t: 0x41\nCPU part\t: {part}\n\n")
}

fn tree(text: &str) -> Sysfs {
    let tree = Sysfs::new("0-3");
    tree.put("proc/cpuinfo", text);
    tree
}

fn types(tree: &Sysfs) -> Vec<String> {
    tree.capture().machine.cpu_types.into_iter().map(|of| of.name).collect()
}

#[test]
fn a_model_names_cores_and_title() {
    let text: String = (0..4).map(|cpu| x86(cpu, XEON, "sse")).collect();
    let captured = tree(&text).capture();
    assert_eq!(captured.machine.cpu_types[0].name, "Intel-Xeon-Gold-6230");
    assert_eq!(captured.machine.title, format!("A machine, {XEON}, 4 CPUs, captured from sysfs"));
    assert!(
        captured.notes.iter().any(|note| note.contains("this machine is Intel-Xeon-Gold-6230, x86")),
        "{:?}",
        captured.notes
    );
    assert!(!captured.notes.iter().any(|note| note.contains("hypervisor")));
}

#[test]
fn a_virtual_machine_is_called_one() {
    let text: String = (0..4).map(|cpu| x86(cpu, XEON, "hypervisor sse")).collect();
    let notes = tree(&text).capture().notes;
    assert!(notes.iter().any(|note| note.contains("hypervisor: this is a virtual machine")), "{notes:?}");
}

#[test]
fn arm_cores_go_by_implementer_and_part_unless_sysfs_has_them() {
    let text: String = (0..4).map(|cpu| arm(cpu, if cpu < 2 { "0xd03" } else { "0xd09" })).collect();
    let tree = tree(&text);
    assert_eq!(types(&tree), ["Cortex-A53", "Cortex-A73"]);
    tree.put_each("0-1", "regs/identification/midr_el1", "0x00000000410fd083");
    assert_eq!(types(&tree), ["Cortex-A72", "Cortex-A73"]);
}

#[test]
fn what_is_not_understood_is_left_alone_or_refused() {
    assert_eq!(types(&tree("")), types(&Sysfs::new("0-3")));
    assert_eq!(types(&tree("no colon\n: :\n\nprocessor : 99999\nmodel name : x\n")), types(&Sysfs::new("0-3")));
    tree(&arm(0, "zz\u{1b}")).refused("proc/cpuinfo", &["found `zz\\u{1b}`", "hexadecimal"]);
    tree(&"x".repeat(5 << 20)).refused("proc/cpuinfo", &["at most 4096 KiB"]);
}

#[test]
fn control_characters_of_a_model_are_escaped_and_long_names_cut() {
    let model = format!("Evil\u{1b}[2J\u{202e} {}", "y".repeat(3000));
    let machine = tree(&x86(0, &model, "")).capture().machine;
    assert!(
        !machine.title.contains(['\u{1b}', '\u{202e}']) && machine.title.chars().count() < 120,
        "{}",
        machine.title
    );
    let name = &machine.cpu_types[0].name;
    assert!(
        name.starts_with("Evil")
            && name.len() <= 64
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)),
        "{name}"
    );
}

/// Beside a tree called `sys`, as in a tarball of `/`; not beside one of another name.
#[test]
fn the_file_is_beside_a_tree_that_is_called_sys() {
    let text: String = (0..4).map(|cpu| x86(cpu, XEON, "")).collect();
    let root = |name: &str| {
        let tree = Sysfs::new("0");
        for cpu in 0..4 {
            tree.put_dir(&format!("{name}/devices/system/cpu/cpu{cpu}"));
        }
        tree.put(&format!("{name}/devices/system/cpu/online"), "0-3");
        tree.put("proc/cpuinfo", &text);
        let from = tree.root().join(name);
        let captured = super::archives::capture_file(&from).expect("a machine");
        captured.machine.cpu_types[0].name.clone()
    };
    assert_eq!(root("sys"), "Intel-Xeon-Gold-6230");
    assert_ne!(root("copy"), "Intel-Xeon-Gold-6230");
}
