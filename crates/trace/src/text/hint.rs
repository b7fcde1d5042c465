//! Hints for lines that are not events.

use super::digits;

/// What to do about it.
pub fn hint(found: &str) -> &'static str {
    match found {
        f if is_latency_format(f) => {
            "CPU and flags are one word, as in latency format: `echo 0 > options/latency-format` before the trace is read, \
             `trace-cmd report` without -l"
        }
        f if is_counted(f) => {
            "the time has no fraction, as of a clock that does not count ns (counter, x86-tsc): `echo global > trace_clock` \
             before the recording, or `trace-cmd record -C global`"
        }
        _ => "traces are text as `fairground run --trace`, `trace-cmd report`, `perf script` or the kernel write it",
    }
}

/// Whether a line has the latency format's flags before the time: `0dNh2. 100.000001:`.
fn is_latency_format(text: &str) -> bool {
    let mut pairs = text.split_whitespace().zip(text.split_whitespace().skip(1));
    pairs.any(|(word, time)| is_cpu_and_flags(word) && time.starts_with(|c: char| c.is_ascii_digit()))
}

/// `0dNh2.`: the first flag is whether interrupts are off, and three or more follow.
fn is_cpu_and_flags(word: &str) -> bool {
    let flags = word.trim_start_matches(|c: char| c.is_ascii_digit());
    let of_flags = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '#');
    flags.len() < word.len()
        && flags.starts_with(['d', 'D', 'b', 'B', 'X', '.'])
        && (4..=6).contains(&flags.len())
        && flags.chars().all(of_flags)
}

/// `[000] d..2. 123456789012:`, with flags or without.
fn is_counted(text: &str) -> bool {
    let is_cpu =
        |word: &&str| word.strip_prefix('[').and_then(|w| w.strip_suffix(']')).is_some_and(|cpu| digits(cpu).is_some());
    let is_count = |word: &str| word.strip_suffix(':').is_some_and(|count| digits(count).is_some());
    text.split_whitespace().skip_while(|word| !is_cpu(word)).skip(1).take(2).any(is_count)
}
