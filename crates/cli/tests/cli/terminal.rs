//! Control characters of inputs never reach a terminal.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::pty::{openpty, Winsize};

/// Turns text red, overwrites the line, rings, and writes the title of the window.
const EVIL: &str = "\u{1b}[31m\r\u{7}\u{1b}]0;title\u{7}\u{9b}2J";

/// Runs the command in `dir`; what it printed, and its exit code.
fn printed<S: AsRef<OsStr>>(dir: &Path, words: &[S]) -> (String, i32) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairground"));
    let output = command.args(words).current_dir(dir).output().expect("the binary runs");
    let bytes = [output.stdout, output.stderr].concat();
    (String::from_utf8(bytes).expect("UTF-8"), output.status.code().expect("not killed"))
}

/// Runs it and checks what is printed; `shown` is part of it.
fn is_printable<S: AsRef<OsStr>>(dir: &Path, words: &[S], code: i32, shown: &str) {
    let (text, ended) = printed(dir, words);
    let bad: Vec<char> = text.chars().filter(|c| c.is_control() && *c != '\n').collect();
    assert!(bad.is_empty(), "{bad:?} in {text:?}");
    assert_eq!(ended, code, "{text}");
    assert!(text.contains(shown), "no {shown:?} in {text}");
}

#[test]
fn names_of_files_are_printed_without_control_characters() {
    let dir = tempfile::tempdir().unwrap();
    let name = format!("m{}.toml", EVIL.replace('/', ""));
    is_printable(dir.path(), &["machine", "check", &format!("./{name}")], 2, "m?[31m");
    fs::write(dir.path().join(&name), "name = 3\n").unwrap();
    is_printable(dir.path(), &["machine", "check", &format!("./{name}")], 2, "m?[31m");
    is_printable(dir.path(), &["stats", "latency", &format!("./{name}")], 2, "m?[31m");
    is_printable(dir.path(), &["run", &name, "sched-pipe", "--nope"], 2, "--nope");
    is_printable(dir.path(), &["machine", &format!("--{EVIL}")], 2, "unexpected argument");
}

#[test]
fn source_lines_of_errors_are_printed_without_control_characters() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: String| fs::write(dir.path().join(name), text).unwrap();
    file("m.toml", format!("name = \"x\" # {EVIL}\ntitle = 3 # {EVIL}\n"));
    is_printable(dir.path(), &["machine", "check", "m.toml"], 2, "?[31m");
    file("w.json", format!("{{ \"tasks\": {{ \"{EVIL}\": {{ \"rnu\": }} }} }}"));
    is_printable(dir.path(), &["run", "hikey960", "w.json", "--sched", "fair:v6.12"], 2, "?[31m");
    file("x.toml", format!("[experiment]\nname = \"{EVIL}\"\n"));
    let (text, _) = printed(dir.path(), &["sweep", "x.toml"]);
    assert!(!text.contains(['\u{1b}', '\r', '\u{7}', '\u{9b}']), "{text:?}");
}

#[test]
fn titles_of_machines_are_printed_without_control_characters() {
    let dir = tempfile::tempdir().unwrap();
    let (machine, _) = printed(dir.path(), &["machine", "show", "hikey", "--toml"]);
    let title = machine.lines().find(|line| line.starts_with("title = ")).expect("a title");
    let evil = machine.replace(title, "title = \"evil \\u001b[31m\\u0007\"");
    fs::write(dir.path().join("m.toml"), evil).unwrap();
    for words in [&["machine", "show", "m.toml"][..], &["machine", "check", "m.toml"]] {
        let (text, _) = printed(dir.path(), words);
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{text:?}");
    }
}

#[test]
fn names_of_tasks_in_tables_are_printed_without_control_characters() {
    let dir = tempfile::tempdir().unwrap();
    let line = |time: &str, what: &str| format!("a{EVIL}-7 [000] d..2. {time}: {what}\n");
    let comm = format!("b{}", EVIL.replace('\r', ""));
    let text = [
        line("1.000000", &format!("sched_waking: comm={comm} pid=9 prio=120 target_cpu=000")),
        line("1.000001", &format!("sched_wakeup: comm={comm} pid=9 prio=120 target_cpu=000")),
        line(
            "1.000002",
            &format!("sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm={comm} next_pid=9 next_prio=120"),
        ),
    ];
    fs::write(dir.path().join("t.txt"), text.concat()).unwrap();
    is_printable(dir.path(), &["stats", "latency", "t.txt"], 0, "b?[31m");
    is_printable(dir.path(), &["stats", "latency", "t.txt", "--format", "csv"], 0, "b?[31m");
}

/// What the command prints on a terminal of so many columns.
fn on_terminal(columns: u16, words: &[&str]) -> String {
    let size = Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(Some(&size), None).expect("a terminal");
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairground"));
    let mut child = command.args(words).stdout(terminal.slave).stderr(Stdio::null()).spawn().expect("the binary runs");
    // Its end of the terminal is closed here, so that the last byte is followed by an error.
    drop(command);
    let (mut master, mut bytes) = (File::from(terminal.master), Vec::new());
    let _ = master.read_to_end(&mut bytes);
    assert!(child.wait().expect("awaited").success());
    String::from_utf8(bytes).expect("UTF-8").replace('\r', "")
}

#[test]
fn the_table_of_a_comparison_fits_the_terminal() {
    let words = "compare hikey960 sched-pipe:loops=50 --base fair:v5.9 --test fair:v5.11 --seeds 2 --doubt 0";
    let words: Vec<&str> = words.split(' ').collect();
    let table = |text: &str| -> Vec<String> {
        let lines = text.lines().skip_while(|line| !line.starts_with("metric "));
        lines.take_while(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    let (narrow, wide) = (table(&on_terminal(80, &words)), table(&on_terminal(120, &words)));
    assert!(narrow.iter().all(|line| line.chars().count() <= 80), "{narrow:#?}");
    assert_eq!(narrow.len() - 1, 2 * (wide.len() - 1), "{narrow:#?}");
    assert_eq!(table(&printed(Path::new("."), &words).0), wide, "without a terminal there are 110 columns");
}
