//! Whether two versions of a source mean the same to a compiler: all but comments and blanks is alike.
//!
//! Makefiles and files of Kconfig have other comments, and blanks that count: there any byte is code.

use std::path::Path;

/// Whether both contents of the file `path` are the same code. What only a preprocessor could tell (`__LINE__`) does not count.
pub fn is_same(path: &str, a: &[u8], b: &[u8]) -> bool {
    let is_c = Path::new(path).extension().is_some_and(|end| end == "c" || end == "h");
    a == b || is_c && bare(a) == bare(b)
}

/// A source without comments, with one blank or line end for each run of them.
fn bare(source: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(source.len());
    let mut at = 0;
    // A line end matters to directives alone; there it is kept.
    let mut in_directive = false;
    while at < source.len() {
        let rest = &source[at..];
        match rest[0] {
            b'\\' if rest.get(1) == Some(&b'\n') => {
                blank(&mut out);
                at += 2;
            }
            b'/' if rest.get(1) == Some(&b'/') => {
                at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            }
            b'/' if rest.get(1) == Some(&b'*') => {
                let end = rest.windows(2).skip(2).position(|pair| pair == b"*/").map_or(rest.len(), |end| end + 4);
                blank(&mut out);
                at += end;
            }
            quote @ (b'"' | b'\'') => {
                let length = literal(rest, quote);
                out.extend(&rest[..length]);
                at += length;
            }
            b'\n' => {
                if in_directive {
                    trim(&mut out);
                    out.push(b'\n');
                    in_directive = false;
                } else {
                    blank(&mut out);
                }
                at += 1;
            }
            byte if byte.is_ascii_whitespace() => {
                blank(&mut out);
                at += 1;
            }
            byte => {
                if byte == b'#' && starts_line(source, at) {
                    trim(&mut out);
                    out.push(b'\n');
                    in_directive = true;
                }
                out.push(byte);
                at += 1;
            }
        }
    }
    trim(&mut out);
    out
}

fn blank(out: &mut Vec<u8>) {
    if !out.last().is_none_or(u8::is_ascii_whitespace) {
        out.push(b' ');
    }
}

fn trim(out: &mut Vec<u8>) {
    while out.last().is_some_and(u8::is_ascii_whitespace) {
        out.pop();
    }
}

fn starts_line(source: &[u8], at: usize) -> bool {
    source[..at].iter().rev().take_while(|byte| **byte != b'\n').all(u8::is_ascii_whitespace)
}

/// Length of a string or character with its quotes.
fn literal(text: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            b'\n' => return at,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "#define A 1 \\\n\t+ 2\n/* what */\nint f(int x)\n{\n\treturn x; // done\n}\n";

    #[test]
    fn comments_and_blanks_are_no_code() {
        for same in [
            SOURCE.replace("/* what */", "/* something\n * else\n */"),
            SOURCE.replace("// done", ""),
            SOURCE.replace("\treturn", "\n\n        return"),
            SOURCE.replace("\\\n\t+ 2", "+ 2 /* three */"),
            format!("// SPDX\n\n{SOURCE}"),
        ] {
            assert!(is_same("k/f.c", SOURCE.as_bytes(), same.as_bytes()), "{same}");
        }
    }

    #[test]
    fn all_else_is_code() {
        for (from, to) in [
            ("return x", "return  y"),
            ("return x", "returnx"),
            ("+ 2\n", "+ 2 int g;\n"),
            ("#define A", "#undef A"),
            ("// done", "\"// done\""),
        ] {
            let other = SOURCE.replace(from, to);
            assert!(!is_same("k/f.c", SOURCE.as_bytes(), other.as_bytes()), "{other}");
        }
        let (a, b) = ("f(\"/* a */\");", "f(\"/* b */\");");
        assert!(!is_same("f.h", a.as_bytes(), b.as_bytes()));
        assert!(is_same("f.c", b"", b"/* unclosed") && is_same("f.c", b"'", b"' "));
    }

    #[test]
    fn makefiles_and_kconfig_have_no_comments_of_c() {
        let (a, b) = ("obj-y += arch/*/a.o\nobj-y += a.o\n", "obj-y += arch/*/a.o\nobj-y += b.o\n");
        for path in ["kernel/sched/Makefile", "init/Kconfig", "kernel/sched/Kconfig.c.in", "scripts/x.sh"] {
            assert!(!is_same(path, a.as_bytes(), b.as_bytes()), "{path}");
            assert!(is_same(path, a.as_bytes(), a.as_bytes()), "{path}");
        }
    }
}
