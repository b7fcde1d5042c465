//! Where in a built kernel's source an instruction comes from.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};

/// `FUNCTION (FILE:LINE)` of an instruction of a library that is open here; none if that cannot be told. Asks
/// addr2line, which is there where a kernel was built.
pub fn of(library: &File, offset: u64) -> Option<String> {
    // The child finds it by our number: its own are others.
    let path = format!("/proc/{}/fd/{}", std::process::id(), library.as_raw_fd());
    let mut command = Command::new("addr2line");
    command.args(["-f", "-i", "-e", &path, &format!("{offset:#x}")]).env("LC_ALL", "C");
    let out = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    told(&String::from_utf8_lossy(&out.stdout))
}

/// From pairs of lines, function and place, the innermost of what was inlined first.
fn told(said: &str) -> Option<String> {
    let lines: Vec<&str> = said.lines().collect();
    let (inner, place) = (lines.first()?, lines.get(1)?);
    let outer = lines[..lines.len() - 1].last()?;
    if *inner == "??" {
        return None;
    }
    // Paths go through the build's directories; compilers' partitions and copies of a function are the function.
    let plain = |function: &str| function.split('.').next().unwrap_or_default().to_owned();
    let place = place.rsplit("../").next()?.split(" (").next()?;
    Some(match inner == outer {
        true => format!("{} ({place})", plain(inner)),
        false => format!("{} within {} ({place})", plain(inner), plain(outer)),
    })
}

#[cfg(test)]
mod tests {
    use super::told;

    #[test]
    fn an_inlined_function_is_told_with_the_one_it_is_in() {
        let said = "cpu_util\n./build/../arch/sim/kernel/../../../kernel/sched/fair.c:7001\n\
                    select_task_rq_fair.cold\n./build/../kernel/sched/fair.c:8600 (discriminator 2)\n";
        assert_eq!(told(said).unwrap(), "cpu_util within select_task_rq_fair (kernel/sched/fair.c:7001)");
        let said = "tick\n./build/../kernel/sched/fair.c:8 (discriminator 2)\n";
        assert_eq!(told(said).unwrap(), "tick (kernel/sched/fair.c:8)");
    }

    #[test]
    fn nothing_is_told_of_what_is_not_known() {
        assert_eq!(told("??\n??:0\n"), None);
        assert_eq!(told(""), None);
    }
}
