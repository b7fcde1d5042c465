//! There is one kernel a process, so each test that boots one runs itself again as a child.

use std::process::{Command, Output};

/// Set in the child.
const CHILD: &str = "FAIRGROUND_HOST_TEST_CHILD";

/// Runs `body` in a process of its own, which is this test again; `None` in that process.
pub fn in_child(test: &str, body: impl FnOnce()) -> Option<Output> {
    if std::env::var_os(CHILD).is_some() {
        body();
        return None;
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]).env(CHILD, "1");
    Some(child.output().unwrap())
}

/// The same for a body that must end well; shows its lines that begin with `=`.
pub fn alone(test: &str, body: impl FnOnce()) {
    let Some(output) = in_child(test, body) else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().filter(|l| l.starts_with('=')).for_each(|l| println!("{l}"));
}
