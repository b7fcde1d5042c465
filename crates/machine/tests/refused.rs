//! One case per way in which a machine file can be wrong: the message names file, line and key, and helps.

use fairground_machine::{preset_text, ControllerGains, Distance, Machine, ThermalGovernor};
use miette::Diagnostic;

/// The preset `name` with `from` replaced by `to`, once.
fn edited(name: &str, from: &str, to: &str) -> String {
    let text = preset_text(name).expect("a preset");
    assert!(text.contains(from), "{from:?} is not in {name}");
    text.replacen(from, to, 1)
}

/// Loads `text` as `m.toml` and gives message and help, in one line each.
fn refusal(text: &str) -> String {
    let error = Machine::from_toml("m.toml", text).expect_err("this text should be refused");
    let label = error.labels().and_then(|mut l| l.next()).expect("a label");
    assert!(label.offset() + label.len() <= text.len());
    format!("{error}\n{}", error.help().map(|h| h.to_string()).unwrap_or_default())
}

/// The edit is refused at the line where `at` stands, with all of `parts` in message and help.
#[track_caller]
fn refused(name: &str, from: &str, to: &str, at: &str, parts: &[&str]) {
    let text = edited(name, from, to);
    let line = 1 + text.lines().position(|l| l.contains(at)).unwrap_or_else(|| panic!("no line with {at:?}"));
    let message = refusal(&text);
    assert!(message.starts_with(&format!("m.toml:{line}:")), "line {line}: {message}");
    for part in parts {
        assert!(message.contains(part), "no {part:?} in: {message}");
    }
}

#[test]
fn unknown_keys_suggest_the_nearest() {
    refused("hikey", "llcs =", "llc =", "llc =", &["`topology.llc`", "unknown key", "did you mean `llcs`?"]);
    refused("hikey", "residency =", "residancy =", "residancy", &["idle.WFI.residancy", "`residency`?"]);
    refused("hikey", "[costs.ipi]", "[costs.ipis]", "costs.ipis", &["`costs.ipis`", "did you mean `ipi`?"]);
    refused("hikey", "pipe_write =", "pipe_wirte =", "pipe_wirte", &["`costs.soft.pipe_wirte`", "`pipe_write`?"]);
    refused("hikey", "[costs]", "[termal]\n[costs]", "[termal]", &["`termal`", "expected format, name"]);
}

#[test]
fn missing_keys_are_named() {
    refused("hikey", "cpus = 8\n", "", "[topology]", &["missing key `cpus`", "`topology` needs `cpus`"]);
    refused("hikey", "pick =", "# pick =", "[costs.soft]", &["`costs.soft`", "missing key `pick`"]);
    refused("hikey", "name =", "# name", "# HiKey", &["missing key `name`"]);
    refused("hikey", "format =", "# format =", "# HiKey", &["missing key `format`", "format = 1"]);
}

#[test]
fn wrong_types_say_what_was_expected() {
    refused(
        "hikey",
        "cpus = 8",
        "cpus = \"8\"",
        "cpus = \"8\"",
        &["`topology.cpus`", "expected an integer, found a string"],
    );
    refused(
        "hikey",
        "{ us = 500,",
        "{ us = \"500\",",
        "\"500\"",
        &["transition.us`", "expected a number, found a string"],
    );
    refused(
        "hikey",
        "{ us = 500, source = \"K: clock-latency\" }",
        "500",
        "= 500",
        &["expected a table, found an integer"],
    );
    refused("hikey", "llcs = \"4 cpus\"", "llcs = 4", "llcs = 4", &["`topology.llcs`", "expected groups of CPUs"]);
    refused("hikey", "scope = \"cluster\"", "scope = \"clutser\"", "clutser", &["unknown scope", "`cluster`?"]);
    refused("hikey", "scope = \"cluster\"", "polling = 1", "polling = 1", &["expected true or false"]);
    let scatter = "wake_scatter = { factor = 0.5, source = \"K\" }";
    refused("hikey", "scope = \"cluster\"", scatter, "factor", &["a scatter of 0.5", "to 10"]);
    let late = "late = { us = 100, source = \"K\" }";
    refused("hikey", "scope = \"cluster\"", late, "late =", &["one of `late` and `late_share` alone", "state both"]);
    let share = format!("{late}\nlate_share = {{ factor = 1.5, source = \"K\" }}");
    refused("hikey", "scope = \"cluster\"", &share, "factor", &["a share of 1.5", "expected 0 to 1"]);
}

#[test]
fn figures_need_unit_and_source() {
    refused("hikey", "{ us = 500,", "{ sec = 500,", "sec = 500", &["unknown unit `sec`", "expected ns, us, ms"]);
    refused("hikey", "{ us = 500,", "{ us = 500, ns = 1,", "ns = 1", &["a second number"]);
    refused("hikey", "{ us = 500,", "{ ", "transition = {", &["without number", "ns, us, ms"]);
    refused("hikey", ", source = \"K: clock-latency\"", "", "us = 500", &["missing key `source`", "estimate: reason"]);
    refused("hikey", "\"K: clock-latency\"", "\"Q: x\"", "\"Q: x\"", &["unknown source `Q`", "expected K"]);
    refused(
        "hikey",
        "[sources]",
        "[sources]\nfitted = \"x\"",
        "fitted = ",
        &["`sources.fitted`", "cannot be a source tag"],
    );
}

#[test]
fn only_free_costs_may_be_fitted() {
    let fit = "source = \"fitted: mail 000, hikey960 baseline\"";
    let message = refusal(&edited("hikey", "source = \"K: clock-latency\"", fit));
    assert!(message.contains("transition.source`: this figure may not be fitted"), "{message}");
    let probe = preset_text("hikey").and_then(|t| t.lines().find(|l| l.starts_with("probe ="))).expect("a line");
    let message = refusal(&edited("hikey", probe, &format!("probe = {{ ns = 1, {fit} }}")));
    assert!(message.contains("`costs.soft.probe.source`: this figure may not be fitted"), "{message}");
    let scale = preset_text("hikey").and_then(|t| t.lines().find(|l| l.starts_with("scale ="))).expect("a line");
    refused("hikey", scale, "scale = { factor = 1.1, source = \"fitted\" }", "scale =", &["a fit without its cell"]);
    let machine = Machine::from_toml("m", &edited("hikey", scale, &format!("scale = {{ factor = 2.0, {fit} }}")));
    let (fitted, plain) = (machine.expect("a fit of the scale"), Machine::preset("hikey").expect("a preset"));
    use fairground_machine::SoftCost::*;
    assert_eq!(fitted.costs.soft(Syscall), 2.0 * (plain.costs.soft(Syscall) / plain.costs.scale).round());
    for kind in [Probe, GroupCpu, Migrate, Tick, Balance] {
        assert_eq!(fitted.costs.soft(kind), plain.costs.soft(kind));
    }
    assert!(Machine::from_toml("m", &fitted.to_toml()).is_ok_and(|again| again == fitted));
}

#[test]
fn figures_out_of_range() {
    refused("hikey", "{ us = 500,", "{ us = -500,", "-500", &["-500 is negative"]);
    refused("hikey", "{ us = 500,", "{ us = nan,", "nan", &["NaN is not a valid figure", "finite"]);
    refused("hikey", "{ us = 500,", "{ us = inf,", "inf", &["inf is not a valid figure"]);
    refused("hikey", "{ us = 500,", "{ ms = 9223372036854775807,", "92233", &["too much", "at most 3600000 ms"]);
    refused("hikey", "{ us = 500,", "{ ms = 99999999999999999999,", "99999", &["m.toml"]);
    refused("hikey", "{ us = 500,", "{ us = 1e300,", "1e300", &["too much"]);
    refused("rpi5", "factor = 1.0", "factor = 0", "factor = 0", &["`costs.scale`", "expected 0.001 to 1000"]);
}

#[test]
fn numbers_of_cpus() {
    for n in ["0", "1025", "-1"] {
        let to = format!("cpus = {n}");
        refused("hikey", "cpus = 8", &to, &to, &["`topology.cpus`", "expected 1 to 1024 CPUs"]);
    }
}

#[test]
fn groups_must_be_made_of_cpus_that_exist() {
    let llcs = r#"llcs = ["0-3", "4-7"]"#;
    refused("hikey960", llcs, r#"llcs = ["0-3", "4-8"]"#, "4-8", &["`topology.llcs[1]`", "no CPU 8", "0 to 7"]);
    refused("hikey960", llcs, r#"llcs = ["0-3", "4-x"]"#, "4-x", &["`4-x` is not a CPU list"]);
    refused("hikey960", llcs, r#"llcs = ["0-7", ""]"#, "0-7\", ", &["an empty group"]);
    refused("hikey960", llcs, r#"llcs = "al""#, "\"al\"", &["did you mean `all`?"]);
    refused("hikey960", llcs, r#"llcs = "3 cpus""#, "3 cpus", &["8 cpus do not come out even", "a divisor of 8"]);
    refused("hikey960", llcs, r#"llcs = "0 cpus""#, "0 cpus", &["do not come out even"]);
    refused("hikey960", llcs, r#"llcs = "2 croes""#, "2 croes", &["unknown level `croes`", "`core`?"]);
    let cores = "cores = { threads = 2, apart = 128 }";
    refused("epyc-7742-2p", cores, "cores = { threads = 3, apart = 128 }", "cores =", &["do not divide into blocks"]);
}

#[test]
fn a_cpu_in_two_groups_or_in_none() {
    let llcs = r#"llcs = ["0-3", "4-7"]"#;
    refused("hikey960", llcs, r#"llcs = ["0-4", "4-7"]"#, "0-4", &["`topology.llcs`", "CPU 4 is in two llcs"]);
    refused("hikey960", llcs, r#"llcs = ["0-3", "4-6"]"#, "4-6", &["CPU 7 is in no llc"]);
    let clusters = edited("hikey960", "[[cluster]]\ncpus = \"0-3\"", "[[cluster]]\ncpus = \"0-4\"");
    assert!(refusal(&clusters).contains("`cluster[1].cpus`: CPU 4 is in two clusters"));
    let clusters = edited("hikey960", "[[cluster]]\ncpus = \"0-3\"", "[[cluster]]\ncpus = \"1-3\"");
    assert!(refusal(&clusters).contains("`cluster`: CPU 0 is in no cluster"));
    let clocks = edited("hikey960", "[[freq_domain]]\ncpus = \"0-3\"", "[[freq_domain]]\ncpus = \"0-4\"");
    assert!(refusal(&clocks).contains("CPU 4 is in two frequency domains"));
    let types = edited("hikey960", "[cpu_type.Cortex-A53]\ncpus = \"0-3\"", "[cpu_type.Cortex-A53]\ncpus = \"0-2\"");
    assert!(refusal(&types).contains("`cpu_type`: CPU 3 is in no cpu_type"));
}

/// Entries that each make a group per CPU must not fill the memory before they are found to overlap.
#[test]
fn endless_entries_are_cut_short() {
    let cluster = "[[cluster]]\ncpus = \"1 cpu\"\nactive = { mW = 1, source = \"estimate\" }\nidle = { mW = 1, source = \"estimate\" }\n";
    let text = Machine::symmetric(1024).to_toml() + &cluster.repeat(5000);
    assert!(refusal(&text).contains("CPU 0 is in two clusters"));
}

#[test]
fn levels_that_cross() {
    let llcs = "llcs = \"4 cpus\"";
    refused(
        "hikey",
        llcs,
        r#"cores = ["0-4", "5-7"]
llcs = ["0-3", "4-7"]"#,
        "llcs =",
        &["`topology.llcs`", "core 0-4 crosses the border of a llc"],
    );
    let split = "packages = [\"0-3\", \"4-7\"]\nllcs = [\"0-2\", \"3-7\"]";
    refused("hikey", llcs, split, "packages =", &["`topology.packages`", "llc 3-7 crosses the border of a package"]);
    let cluster = "[[cluster]]\ncpus = \"1 llc\"";
    refused("hikey", cluster, "[[cluster]]\ncpus = [\"0-1\", \"2-7\"]", "\"2-7\"", &["`cluster[0].cpus`", "crosses"]);
    let shared = "[[cluster]]\nshares_cache = true\ncpus = \"all\"";
    refused("hikey", cluster, shared, "cpus = \"all\"", &["cluster 0-7 crosses the border of a llc"]);
    let packages = "llcs = \"4 cpus\"\npackages = \"4 cpus\"";
    let text = edited("hikey", llcs, packages).replacen(cluster, "[[cluster]]\ncpus = \"all\"", 1);
    assert!(refusal(&text).contains("cluster 0-7 crosses the border of a package"));
}

#[test]
fn node_distances() {
    let slit = "[[10, 32], [32, 10]]";
    let case = |to: &str, parts: &[&str]| refused("epyc-7742-2p", slit, to, "distances =", parts);
    case("[[10, 32]]", &["`topology.distances.slit[0]`", "expected 2 rows of 2"]);
    case("[[10, 32], [32]]", &["slit[1]`", "expected 2 rows of 2"]);
    case("[]", &["expected 2 rows of 2"]);
    case("[[11, 32], [32, 11]]", &["node 0 to node 0 is 11", "10 from itself"]);
    case("[[10, 10], [10, 10]]", &["node 0 to node 1 is 10"]);
    case("[[10, 32], [33, 10]]", &["0 to 1 is 32, but 1 to 0 is 33", "symmetric"]);
    case("[[10, 300], [300, 10]]", &["300 is out of range", "10 to 254"]);
    let text = preset_text("epyc-7742-2p").expect("a preset");
    let line = text.lines().find(|l| l.starts_with("distances =")).expect("a line");
    refused("epyc-7742-2p", line, "", "[topology]", &["missing key `distances`"]);
}

#[test]
fn operating_points() {
    let row = "[533, 28.7],";
    refused(
        "hikey960",
        row,
        "[1000, 28.7],",
        "[999,",
        &["opps.rows[1]`", "OPPs out of order: 999000 kHz after 1000000"],
    );
    refused("hikey960", row, "[533],", "[533],", &["1 values for 2 columns"]);
    refused("hikey960", row, "[0, 1],", "[0, 1]", &["0 is not a valid frequency"]);
    refused("hikey960", row, "[0.0001, 1],", "[0.0001", &["is not a valid frequency", "whole kHz"]);
    refused("hikey960", row, "[533, 1e12],", "1e12", &["too much"]);
    refused(
        "hikey960",
        "[\"MHz\", \"mW\"]",
        "[\"mHz\", \"mW\"]",
        "mHz",
        &["unknown column `mHz`", "did you mean `MHz`?"],
    );
    refused("hikey960", "[\"MHz\", \"mW\"]", "[\"MHz\", \"kHz\"]", "\"kHz\"", &["one frequency and one power"]);
    let text = edited("hikey960", "rows = [\n", "rows = []\nunused = [\n");
    assert!(refusal(&text).contains("unknown key `unused`"));
}

#[test]
fn capacities() {
    let a53 = "efficiency = { dmips_per_mhz = 592, source = \"K: capacity-dmips-mhz\" }";
    refused(
        "hikey960",
        "dmips_per_mhz = 592",
        "dmips_per_mhz = 0",
        "[cpu_type.Cortex-A53]",
        &["CPU 0 has zero capacity"],
    );
    refused("hikey960", a53, "", "[cpu_type.Cortex-A53]", &["neither `capacity` nor `efficiency`"]);
    let given = |n: &str| format!("capacity = {{ of_1024 = {n}, source = \"K\" }}");
    refused("hikey960", a53, &given("0"), "of_1024 = 0", &["`cpu_type.Cortex-A53.capacity`", "1 to 1024"]);
    refused("hikey960", a53, &given("1025"), "of_1024 = 1025", &["too much", "at most 1024"]);
    refused("hikey960", a53, &given("1.5"), "of_1024 = 1.5", &["a whole number"]);
    let both = format!("{a53}\n{}", given("462"));
    refused("hikey960", a53, &both, "of_1024 = 462", &["both `capacity` and `efficiency`"]);
    let low = edited("hikey", "of_1024 = 1024", "of_1024 = 500");
    assert!(refusal(&low).contains("the largest capacity is 500"));
    let rows = |rows: &str| format!("capacity = {{ rows = {rows}, source = \"K\" }}");
    refused("hikey960", a53, &rows("[[\"0-2\", 462]]"), "rows = [[", &["CPU 3 has no capacity"]);
    refused("hikey960", a53, &rows("[[\"0-4\", 462]]"), "rows = [[", &["4 not of this type"]);
    refused("hikey960", a53, &rows("[[\"0-3\", 0]]"), "rows = [[", &["0 is out of range"]);
    refused("hikey960", a53, &rows("[[\"0-3\"]]"), "rows = [[", &["not a pair of CPUs"]);
}

#[test]
fn smt_throughput() {
    let ratio = "ratio = [1.0, 1.25]";
    let case = |to: &str, part: &str| refused("epyc-7742-2p", ratio, to, to, &["smt_throughput.ratio", part]);
    case("ratio = [1.0]", "1 throughputs for 2 threads");
    case("ratio = [0.5, 1.25]", "out of order");
    case("ratio = [1.0, 0.9]", "out of order");
    case("ratio = [1.0, 1e9]", "up to 16");
    let text = preset_text("epyc-7742-2p").expect("a preset");
    let line = text.lines().find(|l| l.starts_with("smt_throughput")).expect("a line");
    let message = refusal(&text.replacen(line, "", 1));
    assert!(message.contains("missing key `smt_throughput`") && message.contains("2 threads"), "{message}");
}

#[test]
fn idle_states_out_of_order() {
    let sleep = "residency = { us = 1000,";
    let parts =
        ["`cpu_type.Cortex-A53.idle.cluster-sleep`", "out of order", "`cpu-sleep` comes before `cluster-sleep`"];
    refused("hikey", sleep, "residency = { us = 3000,", "idle.cluster-sleep]", &parts);
    refused(
        "hikey",
        "exit_latency = { us = 950",
        "exit_latency = { us = 9500",
        "idle.cluster-sleep]",
        &["exit latency 1500000 ns after"],
    );
    let early = "idle.cpu-sleep]\nscope = \"cluster\"";
    let text = edited("hikey", "idle.cpu-sleep]", early).replacen(
        "idle.cluster-sleep]\nscope = \"cluster\"",
        "idle.cluster-sleep]",
        1,
    );
    assert!(refusal(&text).contains("a state of the CPU alone after `cpu-sleep` of the cluster"));
    let first = "idle.WFI]\nscope = \"cluster\"";
    refused("hikey", "idle.WFI]", first, "idle.WFI]", &["the first idle state is one of the cluster"]);
    let base = Machine::symmetric(1).to_toml();
    let idle = base.find("\n[cpu_type.equal.idle.WFI]").expect("an idle state");
    let costs = base.find("\n[costs]").expect("costs");
    let none = format!("{}idle = {{}}\n{}", &base[..idle], &base[costs..]);
    assert!(refusal(&none).contains("`cpu_type.equal.idle`: no idle state"));
}

#[test]
fn without_a_cpuidle_driver_each_cpu_goes_deeper_by_itself() {
    let two = "cpuidle = false\n\n[cpu_type.Cortex-A53.idle.WFI]";
    let parts = ["without a cpuidle driver", "draws another power than the first", "the same `power` and `transition`"];
    refused("hikey", "\n[cpu_type.Cortex-A53.idle.WFI]", two, "[cpu_type.Cortex-A53.idle.cpu-sleep]", &parts);
    let word = two.replace("false", "0");
    refused("hikey", "\n[cpu_type.Cortex-A53.idle.WFI]", &word, "cpuidle = 0", &["expected true or false"]);
}

#[test]
fn a_distance_that_occurs_needs_a_price() {
    let text = preset_text("hikey").expect("a preset");
    let line = text.lines().find(|l| l.starts_with("node = { ns = 280")).expect("a line");
    refused("hikey", line, "", "[costs.line]", &["`costs.line`", "missing key `node`"]);
}

#[test]
fn duplicate_names_are_refused_where_the_second_stands() {
    let message = refusal(&edited("hikey", "[costs]", "[cpu_type.Cortex-A53]\n[costs]"));
    assert!(message.contains("m.toml:") && message.contains("Cortex-A53"), "{message}");
    refused("hikey", "cpus = 8", "cpus = 8\ncpus = 9", "cpus = 9", &["duplicate key `cpus`"]);
    refused("hikey", "[sources]", "[sources]\nK = \"x\"", "K = { text", &["duplicate key `K`"]);
}

#[test]
fn a_doubt_that_cannot_be_is_refused() {
    let of = |spread: &str| format!("source = \"estimate: lmbench exec less fork; factor 2\", spread = {spread} }}");
    let exec = "source = \"estimate: lmbench exec less fork; factor 2\" }";
    for (spread, problem) in [("0.9", "a spread of 0.9"), ("11", "a spread of 11"), ("\"x\"", "expected a number")] {
        refused("hikey960", exec, &of(spread), "exec = {", &["costs.soft.exec.spread", problem]);
    }
    let told = "residency = { us = 1, source = \"PSCI\"";
    refused("hikey960", told, &format!("{told}, spread = 2"), told, &["never drawn", "leave `spread` out"]);
    let class = |text: &str| text.replace("declared", "declred");
    let k = preset_text("hikey960").unwrap().lines().find(|line| line.starts_with("K = ")).unwrap();
    refused("hikey960", k, &class(k), "K = {", &["sources.K.class", "unknown class `declred`", "`declared`"]);
    refused("hikey960", k, "K = { text = \"x\" }", "K = {", &["missing key `class`"]);
    refused("hikey960", k, "K = 7", "K = 7", &["expected a string or a table, found an integer"]);
}

#[test]
fn formats_from_elsewhere() {
    refused(
        "hikey",
        "format = 1",
        "format = 2\nnews = 1",
        "format = 2",
        &["`format`", "unsupported format 2", "format 1"],
    );
    refused("hikey", "format = 1", "format = \"1\"", "format = \"1\"", &["expected an integer"]);
    refused("hikey", "[sources]", "[sources", "[sources", &["m.toml"]);
    refused("hikey", "name = \"hikey\"", "name = \"hi key\"", "hi key", &["`name`", "is not a valid name"]);
}

#[test]
fn files_that_cannot_be_read() {
    let dir = tempfile::tempdir().expect("a directory");
    let missing = dir.path().join("none.toml");
    let message = Machine::find(&missing.to_string_lossy()).expect_err("no file").to_string();
    assert!(message.starts_with("cannot read machine file `"), "{message}");
    assert!(message.ends_with("none.toml`: there is no such file"), "{message}");
    let message = Machine::load(dir.path()).expect_err("a directory").to_string();
    assert!(message.starts_with("cannot read machine file `"), "{message}");
    let path = dir.path().join("endless.toml");
    std::fs::File::create(&path).and_then(|f| f.set_len((16 << 20) + 1)).expect("a file");
    let message = Machine::load(&path).expect_err("too large").to_string();
    assert!(message.ends_with("endless.toml` is larger than 16 MiB"), "{message}");
    let path = dir.path().join("latin1.toml");
    std::fs::write(&path, b"format = 1\ntitle = \"\xe9\"\n").expect("a file");
    let message = Machine::load(&path).expect_err("not UTF-8").to_string();
    assert!(message.contains("latin1.toml:2: not UTF-8: byte 20"), "{message}");
}

#[test]
fn names_that_are_not_presets() {
    for (name, help) in [("hikey690", "did you mean `hikey960`?"), ("zzz", "expected hikey960, hikey, rpi5")] {
        let error = Machine::find(name).expect_err("no machine");
        assert_eq!(error.to_string(), format!("unknown machine `{name}`: no preset and no file of that name"));
        let found = error.help().map(|h| h.to_string()).unwrap_or_default();
        assert!(found.contains(help), "{found}");
    }
}

#[test]
fn a_path_is_found_where_it_stands() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("mine.toml");
    std::fs::write(&path, preset_text("rpi5").expect("a preset")).expect("a file");
    let machine = Machine::find(&path.to_string_lossy()).expect("a machine");
    assert!(machine == Machine::preset("rpi5").expect("a preset"));
}

#[test]
fn votes_name_clocks_and_operating_points_that_are_there() {
    let on = "on = \"0-3\"";
    refused("pixel6", on, "on = \"0-2\"", "0-2", &["`vote[0].on`", "no clock is that of CPUs 0-2", "0-3 | 4-5 | 6-7"]);
    refused("pixel6", on, "on = \"4-5\"", "on = \"4-5\"", &["a clock that votes on itself"]);
    refused("pixel6", "[799, 930]", "[800, 930]", "[800, 930]", &["no operating point of 800000 kHz", "799000"]);
    refused("pixel6", "[799, 930]", "[799, 300]", "[799, 300]", &["votes out of order", "both clocks to rise"]);
    let twice = "from = \"4-5\"\non = \"0-3\" # twice";
    refused("pixel6", "from = \"6-7\"\non = \"0-3\"", twice, "# twice", &["a second vote between the same clocks"]);
}

#[test]
fn a_clock_that_votes_is_not_voted_on() {
    let chain = "from = \"6-7\"\non = \"4-5\" # chain";
    refused("pixel6", "from = \"6-7\"\non = \"0-3\"", chain, "# chain", &["a clock that votes and is voted on"]);
}

#[test]
fn heat_flows_between_nodes_that_are_there_in_steps_that_are_short_enough() {
    refused("pixel6", "[\"big\", \"soc\"]", "[\"bog\", \"soc\"]", "bog", &["no node `bog`", "did you mean `big`?"]);
    refused("pixel6", "[\"big\", \"soc\"]", "[\"soc\", \"soc\"]", "[\"soc\", \"soc\"]", &["to itself"]);
    refused("pixel6", "step = { ms = 10", "step = { ms = 30000", "ms = 30000", &["the step is too long"]);
    refused("pixel6", "step = { ms = 10", "step = { ms = 30", "ms = 30", &["zone `BIG` looks in between steps"]);
    refused("pixel6", "J_per_K = 60", "J_per_K = 0", "J_per_K = 0,", &["0 is too little"]);
    refused("pixel6", "cpus = \"4-5\"\ncapacity", "cpus = \"3-5\"\ncapacity", "3-5", &["heat `little` already"]);
}

#[test]
fn a_thermal_governor_has_the_figures_of_its_kind() {
    let governor = "governor = \"power-allocator\"";
    refused("pixel6", governor, "governor = \"step-wise\"", "switch_on", &["`switch_on` with a step-wise governor"]);
    refused("pixel6", governor, "governor = \"bang-bang\"", "bang-bang", &["unknown governor `bang-bang`"]);
    refused("pixel6", "switch_on = { C = 70", "switch_on = { C = 95", "C = 95", &["no sooner than where it steers to"]);
    refused("pixel6", "cools = [{ cpus = \"6-7\" }]", "cools = [{ cpus = \"6\" }]", "\"6\"", &["no clock is that"]);
}

#[test]
fn constants_of_a_controller_are_read_and_written_or_refused() {
    let k_pu = "k_pu = { mW_per_K = 60, source = \"PX\" }\n";
    let machine = Machine::from_toml("m", &edited("pixel6", k_pu, "")).expect("a machine");
    let governor = machine.thermal.as_ref().map(|thermal| thermal.zones[0].governor);
    let Some(ThermalGovernor::PowerAllocator { gains, .. }) = governor else { panic!("{governor:?}") };
    let (k_po, k_i, i_max_mw) = (Some(60.0), Some(50.0), Some(2048.0));
    let stated = ControllerGains { k_po, k_pu: None, k_i, i_max_mw, integral_cutoff_mc: Some(10_000) };
    assert_eq!(gains, stated);
    assert_eq!(Machine::from_toml("m", &machine.to_toml()).expect("what was written"), machine);
    refused("pixel6", k_pu, &k_pu.replace("mW_per_K", "mW"), "mW = 60", &["unknown unit `mW`", "mW_per_K, W_per_K"]);
    let trips =
        "governor = \"step-wise\"\ntrip = { C = 90, source = \"PX\" }\nhysteresis = { C = 2, source = \"PX\" }\n";
    let text = preset_text("pixel6").expect("a preset");
    let (from, to) = (text.find("governor = ").expect("a governor"), text.find("k_po = ").expect("a gain"));
    let text = format!("{}{trips}{}", &text[..from], &text[to..]);
    assert!(refusal(&text).contains("`k_po` with a step-wise governor"), "{}", refusal(&text));
}

#[test]
fn a_clock_may_change_in_slots_and_report_another_time() {
    let old = "transition = { us = 300,";
    let new = "slot = { ms = 1, source = \"estimate: x\" }\nreported = { us = 5, source = \"estimate: x\" }\n";
    let text = edited("hikey960", old, &format!("{new}{old}"));
    let machine = Machine::from_toml("m", &text).expect("a machine");
    let [slow, plain] = [0, 1].map(|domain| &machine.freq_domains[domain]);
    assert_eq!((slow.changed_at(1), slow.changed_at(1_000_000)), (1_300_000, 1_300_000));
    assert_eq!((slow.reported_transition_ns(), plain.reported_transition_ns()), (5_000, 300_000));
    assert_eq!((plain.changed_at(1), slow.changed_at(u64::MAX)), (300_001, u64::MAX));
    assert_eq!(Machine::from_toml("m", &machine.to_toml()).expect("what was written"), machine);
    assert!(machine.describe().contains("changes begin every 1000 us"));
    refused("hikey960", old, &format!("{}{old}", new.replace("slot", "slots")), "slots =", &["did you mean `slot`?"]);
}

#[test]
fn a_link_and_messages_are_read_and_written_or_refused() {
    let scale = preset_text("hikey").and_then(|t| t.lines().find(|l| l.starts_with("scale ="))).expect("a line");
    let link = |rate: &str| format!("link = {{ {rate}, source = \"estimate: x\" }}\n{scale}");
    let near = "[costs.message]\nllc = { ns = 7, source = \"estimate: x\" }\n";
    let far = "node = { us = 0.6, source = \"estimate: x\" }\n";
    let with = |text: &str| edited("hikey", scale, &link("MB_per_s = 6400")) + "\n" + text;
    let machine = Machine::from_toml("m", &with(&format!("{near}{far}"))).expect("a machine");
    let costs = &machine.costs;
    assert_eq!((costs.link_gb_per_s, &costs.message_ns[2..6]), (Some(6.4), &[0, 7, 600, 600][..]));
    assert_eq!(Machine::from_toml("m", &machine.to_toml()).expect("what was written"), machine);
    let lines = format!("message_lines = {{ lines = 21.5, source = \"fitted: cell\" }}\n{scale}");
    let read =
        "[costs.line_read]\nllc = { ns = 8, source = \"estimate: x\" }\nnode = { ns = 80, source = \"estimate: x\" }\n";
    let machine = Machine::from_toml("m", &(edited("hikey", scale, &lines) + "\n" + read)).expect("a machine");
    assert_eq!((machine.costs.message_lines, machine.costs.line_read_ns), (21.5, Some([0, 0, 0, 8, 80, 80, 80])));
    assert_eq!(Machine::from_toml("m", &machine.to_toml()).expect("what was written"), machine);
    assert!(machine.describe().contains("21.5 lines read beyond its data"));
    let (next, socket) = (read.replace("line_read", "line_next"), read.replace("line_read", "socket_message"));
    let machine =
        Machine::from_toml("m", &(edited("hikey", scale, scale) + "\n" + &next + &socket)).expect("a machine");
    let expected = [0, 0, 0, 8, 80, 80, 80];
    assert_eq!((machine.costs.socket_message_ns, machine.costs.line_next_ns), (expected, Some(expected)));
    assert_eq!(machine.costs.data_lines(Distance::Llc, 4), machine.costs.line_read(Distance::Llc) + 3 * 8);
    assert_eq!(Machine::from_toml("m", &machine.to_toml()).expect("what was written"), machine);
    refused("hikey", scale, &lines.replace("21.5", "2000"), "lines = 2000", &["too much", "at most 1000 lines"]);
    refused("hikey", scale, &lines.replace("lines = 21", "line = 21"), "line = 21", &["unknown unit", "`lines`"]);
    let fitted = read.replacen("estimate: x", "fitted: cell", 1);
    assert!(refusal(&(edited("hikey", scale, scale) + "\n" + &fitted)).contains("may not be fitted"));
    assert!(refusal(&with("[costs.line_red]\n")).contains("did you mean `line_read`?"));
    refused("hikey", scale, &link("GB_per_s = 0"), "link =", &["a link of 0 GB/s", "left out: no limit"]);
    assert!(refusal(&with(near)).contains("missing key `node`"));
}

#[test]
fn caches_lie_within_each_other_and_have_a_size() {
    let own = "cpus = \"1 core\"\nsize";
    let (all, llc) = ("cpus = \"all\"\nsize", "cpus = \"1 llc\"\nsize");
    let message = refusal(&edited("hikey", own, llc));
    assert!(message.contains("two caches of CPUs 0-3 alone") && message.contains("as one"), "{message}");
    let message = refusal(&edited("hikey", own, all));
    assert!(
        message.contains("CPUs 0-3 after that of CPUs 0-7") && message.contains("nearer caches first"),
        "{message}"
    );
    let none = edited("hikey", own, "cpus = []\nsize");
    assert!(refusal(&none).contains("no group of CPUs"), "{}", refusal(&none));
    let nested = edited("hikey", own, "cpus = [\"0\", \"1-3\", \"0-7\"]\nsize");
    assert!(refusal(&nested).contains("two caches of CPUs 0-3 in one entry"), "{}", refusal(&nested));
    refused("hikey", "KiB = 32,", "KiB = 0,", "KiB = 0", &["a cache of no size", "1 KiB or more"]);
    refused("hikey", "KiB = 32,", "KB = 32,", "KB = 32", &["unknown unit `KB`", "did you mean `KiB`?"]);
    refused("hikey", "KiB = 32,", "MiB = 5000,", "MiB = 5000", &["5000 MiB is too much", "at most 4096 MiB"]);
    refused(
        "hikey",
        "modified = { factor = 0.25",
        "modified = { factor = 2",
        "factor = 2",
        &["a share of 2", "0 to 1"],
    );
}

#[test]
fn every_cpu_has_a_cache_and_what_is_behind_the_caches_is_stated() {
    let text = edited("rpi5", "cpus = \"1 core\"\nsize", "cpus = \"0-1\"\nsize");
    let text = text.replace("cpus = \"all\"\nsize", "cpus = \"0-2\"\nsize");
    assert!(refusal(&text).contains("CPU 3 has no cache"), "{}", refusal(&text));
    let text = preset_text("rpi5").expect("a preset");
    let (without, _) = text.split_once("\n[refill]").expect("prices of memory");
    assert!(refusal(without).contains("missing key `refill`"), "{}", refusal(without));
    refused("rpi5", "node = { ns = 693", "remote = { ns = 693", "memory_kib", &["missing key `node`"]);
}
