//! The place of an instruction in a built kernel's source.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};

/// In the places of the scheduler's own sources.
const SCHED: &str = "(kernel/sched/";

/// `FUNCTION (FILE:LINE)` of an instruction of a library that is open in this process; `None` if it is unknown. Runs
/// addr2line, which is installed where kernels are built.
pub fn of(library: &File, offset: u64) -> Option<String> {
    parse(&addr2line(library, offset)?)
}

fn addr2line(library: &File, offset: u64) -> Option<String> {
    // The child opens it through our process: it does not inherit the descriptor.
    let path = format!("/proc/{}/fd/{}", std::process::id(), library.as_raw_fd());
    let mut command = Command::new("addr2line");
    command.args(["-f", "-i", "-e", &path, &format!("{offset:#x}")]).env("LC_ALL", "C");
    let out = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// The call in the scheduler's sources that led to a fault, and its caller, of the offsets of all calls on the way, the
/// innermost first. Locks and the like lie between it and the fault.
pub fn of_calls(library: &File, offsets: &[u64]) -> Option<String> {
    let call = |offset: &u64| parse(from_scheduler(&addr2line(library, *offset)?));
    first_in_scheduler(offsets.iter().filter_map(call))
}

/// addr2line's output from the first place in the scheduler's C files on: what lies before is inlined from a header, as
/// kmalloc() and raw_spin_rq_lock() are. All of it if there is no such place.
fn from_scheduler(output: &str) -> &str {
    let is_place =
        |text: &str| text.lines().nth(1).is_some_and(|place| place.contains("/kernel/sched/") && place.contains(".c:"));
    let mut rest = output;
    while !rest.is_empty() && !is_place(rest) {
        rest = rest.splitn(3, '\n').nth(2).unwrap_or_default();
    }
    if rest.is_empty() {
        output
    } else {
        rest
    }
}

fn first_in_scheduler(places: impl Iterator<Item = String>) -> Option<String> {
    let places: Vec<String> = places.filter(|place| place.contains(SCHED)).take(2).collect();
    (!places.is_empty()).then(|| places.join(", from "))
}

/// Reads addr2line's output: pairs of lines, function and place, the innermost inlined function first.
fn parse(output: &str) -> Option<String> {
    let lines: Vec<&str> = output.lines().collect();
    let (inner, place) = (lines.first()?, lines.get(1)?);
    let outer = lines[..lines.len() - 1].last()?;
    if *inner == "??" {
        return None;
    }
    // Paths go through the build's directories. Compilers add suffixes to the names of partitions and copies.
    let plain = |function: &str| function.split('.').next().unwrap_or_default().to_owned();
    let place = place.rsplit("../").next()?.split(" (").next()?;
    Some(match inner == outer {
        true => format!("{} ({place})", plain(inner)),
        false => format!("{} within {} ({place})", plain(inner), plain(outer)),
    })
}

#[cfg(test)]
mod tests {
    use super::{first_in_scheduler, from_scheduler, parse};

    #[test]
    fn an_inlined_function_is_shown_with_the_function_that_contains_it() {
        let output = "cpu_util\n./build/../arch/sim/kernel/../../../kernel/sched/fair.c:7001\n\
                    select_task_rq_fair.cold\n./build/../kernel/sched/fair.c:8600 (discriminator 2)\n";
        assert_eq!(parse(output).unwrap(), "cpu_util within select_task_rq_fair (kernel/sched/fair.c:7001)");
        let output = "tick\n./build/../kernel/sched/fair.c:8 (discriminator 2)\n";
        assert_eq!(parse(output).unwrap(), "tick (kernel/sched/fair.c:8)");
    }

    #[test]
    fn the_place_of_a_call_is_the_first_in_the_schedulers_sources() {
        let found = |places: &[&str]| first_in_scheduler(places.iter().map(|place| place.to_string()));
        let lock = "arch_spin_lock within _raw_spin_lock (arch/include/asm/spinlock.h:24)";
        let (fair, core) = ("fair (kernel/sched/fair.c:1)", "core (kernel/sched/core.c:2)");
        let expected = "fair (kernel/sched/fair.c:1), from core (kernel/sched/core.c:2)";
        assert_eq!(found(&[lock, fair, core, core]).as_deref(), Some(expected));
        assert_eq!(found(&[lock, core]).as_deref(), Some(core));
        assert_eq!(found(&[lock]), None);
    }

    #[test]
    fn a_call_that_is_inlined_from_a_header_is_that_of_the_scheduler() {
        let output = "kmalloc\n./build/../include/linux/slab.h:8\nfair.part.0\n./build/../kernel/sched/fair.c:7\n\
                    core\n./build/../kernel/sched/core.c:6\n";
        assert_eq!(parse(from_scheduler(output)).unwrap(), "fair within core (kernel/sched/fair.c:7)");
        let output = "raw_spin_rq_lock\n./build/../kernel/sched/sched.h:8\nfair\n./build/../kernel/sched/fair.c:7\n";
        assert_eq!(parse(from_scheduler(output)).unwrap(), "fair (kernel/sched/fair.c:7)");
        let output = "kmalloc\n./build/../include/linux/slab.h:8\n";
        assert_eq!(from_scheduler(output), output);
        assert_eq!(from_scheduler(""), "");
    }

    #[test]
    fn an_unknown_place_is_none() {
        assert_eq!(parse("??\n??:0\n"), None);
        assert_eq!(parse(""), None);
    }
}
