//! Texts from outside, made plain, and stored once: those of steps differ in little but their numbers.

use std::collections::BTreeMap;

/// Stands for a number in a text. No plain text has it.
pub(crate) const NUMBER: char = '\u{1}';

/// Digits of a number that is taken out of its text: JavaScript's numbers hold them.
const DIGITS_MAX: usize = 15;

/// A text without control characters and without characters that change the direction of writing.
pub(crate) fn plain(text: &str) -> String {
    let is_plain = |c: char| {
        !c.is_control() && !matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if is_plain(c) { c } else { '?' }).collect()
}

/// Texts by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts {
    numbers: BTreeMap<String, usize>,
    /// In the order of their numbers.
    pub texts: Vec<String>,
}

impl Texts {
    /// The number of a text, whose numbers are taken out and given to `take`.
    pub fn number(&mut self, text: &str, mut take: impl FnMut(u64)) -> u64 {
        let mut form = String::with_capacity(text.len());
        let mut digits = String::new();
        for c in plain(text).chars().chain([NUMBER]) {
            if c.is_ascii_digit() {
                digits.push(c);
                continue;
            }
            match digits.parse() {
                // With a zero in front it would come back shorter.
                Ok(value) if digits.len() <= DIGITS_MAX && (digits.len() == 1 || !digits.starts_with('0')) => {
                    form.push(NUMBER);
                    take(value);
                }
                _ => form.push_str(&digits),
            }
            digits.clear();
            form.push(c);
        }
        // The end that was added.
        form.pop();
        self.word(form)
    }

    /// The number of a text as it is.
    pub fn word(&mut self, text: String) -> u64 {
        if let Some(number) = self.numbers.get(&text) {
            return *number as u64;
        }
        self.numbers.insert(text.clone(), self.texts.len());
        self.texts.push(text);
        self.texts.len() as u64 - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text with its numbers, as the script makes it.
    fn filled(text: &str, mut numbers: impl Iterator<Item = u64>) -> String {
        let fill = |c: char| if c == NUMBER { numbers.next().unwrap().to_string() } else { c.to_string() };
        text.chars().map(fill).collect()
    }

    #[test]
    fn a_text_comes_back_with_its_numbers() {
        let mut texts = Texts::default();
        for text in ["CPU 5 fits: 12 of 462", "", "7", "a007b0c", "12345678901234567890 ns", "-1.50", "x 9"] {
            let mut numbers = Vec::new();
            let number = texts.number(text, |value| numbers.push(value));
            assert_eq!(filled(&texts.texts[number as usize], numbers.into_iter()), text);
        }
    }

    #[test]
    fn texts_that_differ_in_numbers_are_one() {
        let mut texts = Texts::default();
        let numbers: Vec<u64> =
            ["CPU 5 is idle", "CPU 12 is idle", "CPU 5 is busy"].map(|t| texts.number(t, |_| ())).into();
        assert_eq!((numbers, texts.texts.len()), (vec![0, 0, 1], 2));
    }

    #[test]
    fn what_controls_a_terminal_or_turns_text_round_is_replaced() {
        assert_eq!(plain("a\u{1b}[2Jb\u{202e}c</script>\n\u{1}"), "a?[2Jb?c</script>??");
    }
}
