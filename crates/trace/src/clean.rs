//! Words of somebody else's, fit to be shown and written on.

/// Adds what somebody else wrote: no control characters but ends of lines, if they are wanted, and none that is none.
pub fn push_clean(text: &mut String, bytes: &[u8], lines: bool) {
    let plain = |b: &u8| (b' '..=b'~').contains(b) || (*b == b'\n' && lines);
    match std::str::from_utf8(bytes) {
        Ok(words) if bytes.iter().all(plain) => text.push_str(words),
        _ => {
            let words = String::from_utf8_lossy(bytes);
            text.extend(words.chars().map(|c| if c.is_control() && !(c == '\n' && lines) { '?' } else { c }));
        }
    }
}
