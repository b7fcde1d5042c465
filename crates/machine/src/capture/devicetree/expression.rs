//! Numbers of a device tree source: literals, and expressions in parentheses.

use super::super::CaptureError;
use super::lex::{Lexer, UNPACK};

/// How deep parentheses and operators may be nested.
const MAX_NESTING: u32 = 64;

/// What is expected where a number is.
const NUMBER: &str = "a number such as 12, 0x0c or 'c', or an expression in parentheses";

/// Binary operators; of those that begin alike the longest first. The higher the number, the tighter they bind.
const OPERATORS: [(&str, u32); 18] = [
    ("||", 1),
    ("&&", 2),
    ("<<", 8),
    (">>", 8),
    ("<=", 7),
    (">=", 7),
    ("==", 6),
    ("!=", 6),
    ("|", 3),
    ("^", 4),
    ("&", 5),
    ("<", 7),
    (">", 7),
    ("+", 9),
    ("-", 9),
    ("*", 10),
    ("/", 10),
    ("%", 10),
];

/// Takes a number: a literal or, in parentheses, an expression of 64 bits.
pub(super) fn number(lexer: &mut Lexer) -> Result<u64, CaptureError> {
    unary(lexer, 0, false)
}

/// An expression whose operators bind at least so tightly.
fn expression(lexer: &mut Lexer, least: u32, nesting: u32) -> Result<u64, CaptureError> {
    let mut left = unary(lexer, nesting, true)?;
    while let Some((operator, level)) = OPERATORS.iter().find(|(operator, _)| lexer.sees(operator)) {
        if *level < least {
            return Ok(left);
        }
        lexer.take(operator)?;
        let right = expression(lexer, level + 1, nesting + 1)?;
        left = applied(operator, left, right)
            .ok_or_else(|| lexer.fault("a division by zero", "an expression that has a value"))?;
    }
    if least == 0 && lexer.take("?")? {
        let then = expression(lexer, 0, nesting + 1)?;
        lexer.need(":", "of a condition")?;
        let otherwise = expression(lexer, 0, nesting + 1)?;
        return Ok(if left != 0 { then } else { otherwise });
    }
    Ok(left)
}

fn applied(operator: &str, left: u64, right: u64) -> Option<u64> {
    let shift = u32::try_from(right).unwrap_or(u32::MAX);
    Some(match operator {
        "||" => u64::from(left != 0 || right != 0),
        "&&" => u64::from(left != 0 && right != 0),
        "|" => left | right,
        "^" => left ^ right,
        "&" => left & right,
        "==" => u64::from(left == right),
        "!=" => u64::from(left != right),
        "<" => u64::from(left < right),
        ">" => u64::from(left > right),
        "<=" => u64::from(left <= right),
        ">=" => u64::from(left >= right),
        "<<" => left.checked_shl(shift).unwrap_or(0),
        ">>" => left.checked_shr(shift).unwrap_or(0),
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        "*" => left.wrapping_mul(right),
        "/" => left.checked_div(right)?,
        _ => left.checked_rem(right)?,
    })
}

/// A literal, what is in parentheses, or inside them one with a sign.
fn unary(lexer: &mut Lexer, nesting: u32, is_inside: bool) -> Result<u64, CaptureError> {
    if nesting > MAX_NESTING {
        return Err(lexer.fault("an expression nested too deeply", format!("at most {MAX_NESTING} deep")));
    }
    if lexer.take("(")? {
        let value = expression(lexer, 0, nesting + 1)?;
        lexer.need(")", "at the end of an expression")?;
        return Ok(value);
    }
    if is_inside {
        for (sign, of) in [("-", u64::wrapping_neg as fn(u64) -> u64), ("~", |n| !n), ("!", |n| u64::from(n == 0))] {
            if lexer.take(sign)? {
                return unary(lexer, nesting + 1, true).map(of);
            }
        }
    }
    if lexer.sees("'") {
        return character(lexer);
    }
    literal(lexer)
}

fn character(lexer: &mut Lexer) -> Result<u64, CaptureError> {
    lexer.bump();
    let byte = match lexer.bump() {
        Some('\\') => escaped(lexer)?,
        Some(c) if c.is_ascii() => c as u8,
        _ => return Err(lexer.unexpected(NUMBER)),
    };
    lexer.need("'", "after one character")?;
    Ok(u64::from(byte))
}

/// What follows a backslash, in characters and strings.
pub(super) fn escaped(lexer: &mut Lexer) -> Result<u8, CaptureError> {
    let c = lexer.bump().ok_or_else(|| lexer.fault("the source ends", "a character after the backslash"))?;
    let named = [('n', b'\n'), ('t', b'\t'), ('r', b'\r'), ('a', 7), ('b', 8), ('f', 12), ('v', 11)];
    if let Some((_, byte)) = named.into_iter().find(|(name, _)| *name == c) {
        return Ok(byte);
    }
    let (digits, radix) = match c {
        'x' => (lexer.run(|c| c.is_ascii_hexdigit()).to_string(), 16),
        '0'..='7' => (format!("{c}{}", lexer.run(|c| ('0'..='7').contains(&c))), 8),
        c if c.is_ascii() => return Ok(c as u8),
        _ => return Err(lexer.fault(format!("found `\\{c}`"), "an ASCII character after the backslash")),
    };
    u8::from_str_radix(&digits, radix).map_err(|_| lexer.fault(format!("found `\\{digits}`"), "a byte"))
}

fn literal(lexer: &mut Lexer) -> Result<u64, CaptureError> {
    let word = match lexer.peek() {
        Some(c) if c.is_ascii_alphanumeric() || c == '_' => lexer.run(|c| c.is_ascii_alphanumeric() || c == '_'),
        _ => return Err(lexer.unexpected(NUMBER)),
    };
    if !word.starts_with(|c: char| c.is_ascii_digit()) {
        let problem = format!("found `{word}`, which may be a macro");
        return Err(lexer.fault(problem, format!("{NUMBER}, in {UNPACK}")));
    }
    let digits = word.trim_end_matches(['u', 'U', 'l', 'L']);
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let value = match hex {
        Some(hex) => u64::from_str_radix(hex, 16),
        None if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8),
        None => digits.parse(),
    };
    let value = value.map_err(|_| lexer.fault(format!("found `{word}`"), format!("{NUMBER}, of at most 64 bits")))?;
    lexer.space()?;
    Ok(value)
}
