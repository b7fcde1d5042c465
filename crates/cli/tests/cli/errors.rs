use super::{fairground, files, refuses};

#[test]
fn unknown_names_suggest_the_nearest() {
    refuses("compare hikey690 sched-pipe", &["hikey690", "did you mean `hikey960`"]);
    refuses("compare hikey960 sched-pip", &["sched-pip", "did you mean `sched-pipe`"]);
    refuses("compare hikey960 sched-pipe:lops=3", &["lops", "loops"]);
    refuses("reproduce 007", &["007", "000"]);
    refuses("run nowhere/x.toml sched-pipe --sched fair:v5.9", &["nowhere/x.toml"]);
    refuses("compare hikey960 sched-pipe --format jsno", &["jsno", "did you mean json"]);
    refuses("compare hikey960 sched-pipe --fail-if ops_per_sce<0", &["ops_per_sce", "did you mean ops_per_sec"]);
}

#[test]
fn schedulers_are_refused_by_name() {
    refuses("run hikey sched-pipe --sched linux:v6.12", &["linux:v6.12", "real kernel"]);
    refuses("run hikey sched-pipe --sched v5.9", &["v5.9", "fair:PRESET"]);
    refuses("run hikey sched-pipe --sched cfs:v5.9", &["cfs", "fair:v5.9"]);
    refuses("run hikey sched-pipe --sched fair:v5.9+asym-prev-frist", &["asym-prev-frist"]);
}

#[test]
fn senseless_numbers_are_refused() {
    refuses("compare hikey sched-pipe --seeds 0", &["--seeds"]);
    refuses("compare hikey sched-pipe --jobs 0", &["--jobs"]);
    refuses("compare hikey sched-pipe --hz 123", &["--hz", "250"]);
    refuses("compare hikey sched-pipe --fail-if ops_per_sec", &["no comparison"]);
    refuses("bench --seconds 0", &["--seconds"]);
}

#[test]
fn a_file_that_cannot_be_written_is_known_before_the_work() {
    refuses("compare hikey sched-pipe --output nowhere/at/all.txt", &["cannot write nowhere/at/all.txt"]);
    refuses("run hikey sched-pipe --sched fair:v5.9 --trace nowhere/at/all.txt", &["cannot write"]);
}

#[test]
fn a_refused_command_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("x.txt");
    refuses(&format!("compare hikey sched-pip --output {}", out.display()), &["sched-pip"]);
    assert!(files(dir.path()).is_empty());
}

#[test]
fn commands_that_are_not_there_do_not_pretend() {
    let help = fairground("--help").stdout;
    for absent in ["explain", "stats", "calibrate", "kernel", "import", "export"] {
        assert!(!help.contains(&format!("\n  {absent} ")), "{help}");
        refuses(absent, &["unrecognized subcommand"]);
    }
}

#[test]
fn errors_are_plain_where_they_are_piped() {
    let message = fairground("compare hikey690 sched-pipe").stderr;
    assert!(message.is_ascii() && !message.contains('\x1b'), "{message}");
}
