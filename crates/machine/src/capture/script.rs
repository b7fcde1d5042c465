//! The shell script that collects the files that a capture reads into a tarball.

use super::files::FILES;

/// The script, but for what it takes.
const TEMPLATE: &str = include_str!("script.sh");

/// The line of the template where the files go.
const HERE: &str = "#FILES\n";

/// A script for a POSIX shell that copies the files of a machine that [`capture`](super::capture()) reads into a
/// tarball, from which they are captured elsewhere. It needs no root, and says what it could not read.
pub fn capture_script() -> String {
    let mut lines = String::new();
    for (dir, files) in FILES {
        lines.push_str(&format!("take '{}' '{files}'\n", dir.replace('#', "[0-9]*")));
    }
    TEMPLATE.replace(HERE, &lines)
}
