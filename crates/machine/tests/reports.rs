//! Reports and warnings about a machine that loads.

use std::io::Write;

use fairground_machine::{preset_text, presets, Machine, Warning};

/// Warnings about a changed hikey960, but those about its fit, which no change of a cost leaves as it is.
fn checks(change: impl FnOnce(&mut Machine)) -> Vec<String> {
    let mut machine = Machine::preset("hikey960").expect("a preset");
    change(&mut machine);
    let of_fits = |warning: &&Warning| warning.message.starts_with("fitted to");
    machine.check().iter().filter(|warning| !of_fits(warning)).map(|w| w.to_string()).collect()
}

/// kunpeng920's operating points say `clock x voltage^2`, by which power for each MHz cannot fall. epyc-7742-2p's 1 us for
/// a change of the clock is remembered; all others' are 50 us or more.
#[test]
fn presets_raise_no_suspicion_but_where_it_is_right() {
    let right = [("kunpeng920", "freq_domain[0-23].opps"), ("epyc-7742-2p", "freq_domain[0,128].transition")];
    for name in presets() {
        let warnings = Machine::preset(name).expect("a preset").check();
        let wrong: Vec<_> = warnings.iter().filter(|warning| !right.contains(&(name, warning.key.as_str()))).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
    }
}

/// Warnings about a preset's file with some text replaced, and the path of the file, which messages begin with.
fn changed(preset: &str, changes: &[(&str, &str)]) -> Vec<String> {
    let mut text = preset_text(preset).expect("a preset").to_owned();
    for (old, new) in changes {
        assert_eq!(text.matches(old).count(), 1, "{old}");
        text = text.replace(old, new);
    }
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile().expect("a file");
    file.write_all(text.as_bytes()).expect("a file");
    let path = file.path().to_str().expect("a path in UTF-8").to_owned();
    let (_, warnings) = Machine::find_checked(&path).expect("a machine");
    let line = |old: &str| preset_text(preset).and_then(|text| text.lines().position(|line| line.contains(old)));
    let places: Vec<usize> = changes.iter().filter_map(|(old, _)| line(old)).collect();
    for warning in &warnings {
        let (of, line) = warning.place.as_ref().expect("a place");
        assert!(
            *of == path && (warning.key == "costs.scale" || places.iter().any(|place| line.abs_diff(*place + 1) <= 15)),
            "{warning}: {places:?}"
        );
    }
    warnings.iter().map(|warning| warning.to_string().replacen(&path, "FILE", 1)).collect()
}

/// Whether each of `parts` is in the warning of the same number, and there are no others.
fn are(warnings: &[String], parts: &[&str]) {
    let met = warnings.len() == parts.len() && warnings.iter().zip(parts).all(|(warning, part)| warning.contains(part));
    assert!(met, "{warnings:#?}\nexpected {parts:#?}");
}

#[test]
fn mistakes_in_a_unit_are_seen() {
    // Microwatts for milliwatts.
    are(
        &changed("hikey960", &[("[1844, 245.4]", "[1844, 245400]")]),
        &[
            "FILE:33: `freq_domain[0-3].opps`: 133 mW/MHz at 1844000 kHz after 0.11 mW/MHz at 1709000 kHz, a jump; expected at most",
            "CPU 0 of capacity 462 draws 245400 mW at its top clock, CPU 4 of capacity 1024 only 1571.9 mW; expected no more",
            "`freq_domain[0-3].opps`: 133 mW/MHz at the top clock, ",
        ],
    );
    // Microseconds for nanoseconds; the fit of the scale is then no more.
    let syscall = changed("hikey960", &[("syscall = { ns = 241", "syscall = { us = 241")]);
    are(
        &syscall,
        &[
            "`costs.soft.syscall`: 569242 clocks of the fastest CPU, 1163 times the median of 17 presets",
            "`costs.scale`: fitted to",
        ],
    );
    assert!(syscall[0].contains("expected 49 to 4896 clocks"), "{syscall:?}");
    assert!(syscall[1].contains("with other figures: costs.soft.syscall are not hikey960's"), "{syscall:?}");
    // 12 W of an L2.
    are(
        &changed("hikey960", &[("active = { mW = 12,", "active = { mW = 12000,")]),
        &["`cluster[0-3].active`: 12.2 of the power of its CPUs at their top clocks, "],
    );
    are(&changed("rpi5", &[("pick = { ns = ", "pick = { us = ")]), &["`costs.soft.pick`: "]);
}

#[test]
fn a_scale_out_of_place_is_seen() {
    let scale = changed("hikey960", &[("scale = { factor = 0.5545", "scale = { factor = 631.1")]);
    are(
        &scale,
        &[
            "`costs.scale`: 631, 631 times the median of 17 presets (1); expected 0.1 to 10",
            "`costs.scale`: 631 does not give",
        ],
    );
    assert!(scale[1].contains("asym-prev-first/hikey960/sched-pipe/ops_per_sec/base"), "{scale:?}");
    assert!(scale[1].contains("hikey960's, whose fit is 0.5545"), "{scale:?}");
    // A little off is no outlier, and still no fit.
    are(
        &changed("hikey960", &[("scale = { factor = 0.5545", "scale = { factor = 0.7")]),
        &["`costs.scale`: 0.7 does not give the cell it is fitted to"],
    );
}

#[test]
fn a_fit_is_believed_where_it_may_hold() {
    // Another machine with a fit of its own, and one whose power is another.
    are(
        &changed(
            "hikey960",
            &[
                ("scale = { factor = 0.5545", "scale = { factor = 0.7"),
                ("syscall = { ns = 241", "syscall = { ns = 341"),
            ],
        ),
        &[],
    );
    are(&changed("hikey960", &[("[1844, 245.4]", "[1844, 255.4]")]), &[]);
    are(&changed("hikey960", &[("name = \"hikey960\"", "name = \"mine\"")]), &[]);
}

#[test]
fn little_cores_stronger_than_big_ones_draw_too_little() {
    are(
        &changed("hikey960", &[("dmips_per_mhz = 592", "dmips_per_mhz = 5920")]),
        &["`freq_domain[4-7].opps`: CPU 4 of capacity 226 draws 1571.9 mW", "`costs.scale`: fitted to"],
    );
}

#[test]
fn suspicious_figures_are_named() {
    let expect = |change: fn(&mut Machine), warning: &str| assert_eq!(checks(change), [warning]);
    expect(|m| m.clusters[0].idle_mw = 13.0, "`cluster[0-3].idle`: a cluster that draws more idle than active");
    expect(
        |m| m.clusters[1].shares_cache = true,
        "`cluster[4-7].shares_cache`: the cluster is its last-level cache: not a level of its own",
    );
    expect(
        |m| m.freq_domains[1].opps[4].active_mw = 1100.0,
        "`freq_domain[4-7].opps`: 2362000 kHz draws no more than 2112000 kHz",
    );
    expect(
        |m| m.cpu_types[0].idle_states[1].power_mw = 6.0,
        "`cpu_type.Cortex-A53.idle.cpu-sleep.power`: draws more than the shallower `WFI`",
    );
    expect(
        |m| m.cpu_types[0].idle_states[0].power_mw = 30.0,
        "`cpu_type.Cortex-A53.idle.WFI.power`: idle draws 30 mW, running at the lowest OPP 28.7 mW",
    );
    expect(
        |m| {
            let wfi = &mut m.cpu_types[1].idle_states[0];
            (wfi.wake_ns, wfi.target_residency_ns) = (1001, 2000);
        },
        "`cpu_type.Cortex-A73.idle.WFI.wake`: wake latency exceeds the exit latency that the kernel sees",
    );
    expect(
        |m| m.cpu_types[1].idle_states[0].target_residency_ns = 199,
        "`cpu_type.Cortex-A73.idle.WFI.residency`: pays off sooner than it can be left",
    );
    expect(|m| m.costs.soft_ns[0] = 0.0, "`costs.soft.syscall`: work that costs nothing");
    expect(|m| m.costs.message_ns[3] = 5, "`costs.message.node`: 0 ns is less than the 5 ns of the nearer `llc`");
    expect(|m| m.costs.line_ns[4] = 59, "`costs.line.node`: 59 ns is less than the 60 ns of the nearer `llc`");
    expect(
        |m| m.figures[0].source = fairground_machine::Source::Estimate(String::new()),
        "`topology`: an estimate without a reason",
    );
}

#[test]
fn smt_that_gains_more_than_cores_is_suspicious() {
    let mut machine = Machine::preset("epyc-7742-2p").expect("a preset");
    machine.cpu_types[0].smt_throughput[1] = 2001;
    let of_threads = |warning: &&Warning| warning.key.ends_with("smt_throughput");
    let warnings: Vec<String> = machine.check().iter().filter(of_threads).map(|w| w.to_string()).collect();
    assert_eq!(warnings, ["`cpu_type.Zen2.smt_throughput`: thread 2 gains more than a core of its own"]);
}

#[test]
fn types_that_share_a_cluster_power_down_are_suspicious() {
    // The big core's idle states do not go with the little core's clock, which is warned of too.
    let of_clusters = |change: fn(&mut Machine)| {
        let found = checks(change).into_iter();
        found.filter(|warning| warning.starts_with("`cluster[")).collect::<Vec<_>>()
    };
    assert_eq!(
        of_clusters(|m| m.cpus[0].cpu_type = 1),
        Vec::<String>::new(),
        "both have cluster-sleep, as the third state"
    );
    let found = of_clusters(|m| {
        m.cpus[0].cpu_type = 1;
        m.cpu_types[1].idle_states.remove(1);
    });
    assert_eq!(found, ["`cluster[0-3].cpus`: core types whose cluster states differ share one cluster's power-down"]);
}

#[test]
fn a_description_has_every_level_figure_and_source() {
    let machine = Machine::preset("hikey960").expect("a preset");
    let text = machine.describe();
    for part in [
        "hikey960: HiKey960",
        "clusters     2  0-3 | 4-7",
        "0-3: Cortex-A53, capacity 462",
        "999       250       70.3",
        "cluster-sleep  cluster      280    1450    3700    3500",
        "fitted: asym-prev-first/hikey960/sched-pipe/ops_per_sec/base",
        "Linux 6.12.117, arch/arm64/boot/dts/hisilicon/hi3660.dtsi: idle-states",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    assert!(machine.figures.iter().all(|f| text.contains(&f.path)));
}
