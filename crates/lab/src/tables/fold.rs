//! Text as a mailing list has it: ASCII, in lines of a width.

use std::borrow::Cow;
use std::fmt::Write;

/// Text in ASCII: quotes, dashes and `±` in its forms, what has none a `?`. Ends of lines stay, other control characters do
/// not.
pub fn ascii(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| (' '..='~').contains(&c) || c == '\n';
    if text.chars().all(is_plain) {
        return text.into();
    }
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => plain.push(' '),
            '\u{2018}' | '\u{2019}' => plain.push('\''),
            '\u{201c}' | '\u{201d}' => plain.push('"'),
            '\u{2013}' | '\u{2014}' => plain.push('-'),
            '\u{b1}' => plain.push_str("+-"),
            c => plain.push(if is_plain(c) { c } else { '?' }),
        }
    }
    plain.into()
}

/// Appends one paragraph behind `begin`, in lines of at most `width` columns; those after the first are indented by
/// `indent`. A longer word has a line of its own.
pub fn fold(out: &mut String, width: usize, begin: &str, indent: usize, text: &str) {
    wrap(out, width, begin, indent, &ascii(text));
}

/// The same without a change of characters.
pub fn wrap(out: &mut String, width: usize, begin: &str, indent: usize, text: &str) {
    let mut line = begin.to_owned();
    let mut empty = line.len();
    let columns = |text: &str| text.chars().count();
    for word in text.split_whitespace() {
        if line.len() > empty && columns(&line) + 1 + columns(word) > width {
            let _ = writeln!(out, "{}", line.trim_end());
            (line, empty) = (" ".repeat(indent), indent);
        }
        if line.len() > empty {
            line.push(' ');
        }
        line.push_str(word);
    }
    let _ = writeln!(out, "{}", line.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_ascii_is_replaced() {
        assert_eq!(ascii("a\u{2019}b \u{e9}\u{1b}[0m 1 \u{b1} 2\n"), "a'b ??[0m 1 +- 2\n");
    }

    #[test]
    fn lines_keep_to_the_width_behind_their_indent() {
        let mut out = String::new();
        fold(&mut out, 10, "* ", 4, "one two three extraordinary four");
        assert_eq!(out, "* one two\n    three\n    extraordinary\n    four\n");
    }
}
