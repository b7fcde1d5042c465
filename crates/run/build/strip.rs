//! Source text without the parts that no result depends on: comments, tests, layout.

/// A Rust source without comments and tests.
#[derive(Debug, PartialEq, Eq)]
pub struct Stripped {
    /// Its tokens, one per line.
    pub text: String,
    /// Modules in separate files that are compiled for tests only: `#[cfg(test)] mod NAME;`.
    pub test_modules: Vec<String>,
    /// String literals that are paths out of a directory: `../../policy`.
    pub paths: Vec<String>,
}

/// Strips a Rust source of comments and of items under `#[cfg(test)]`.
pub fn rust(source: &str) -> Stripped {
    let mut tokens = Lexer { text: source, at: 0 }.collect::<Vec<&str>>();
    let test_modules = remove_tests(&mut tokens);
    let leads_up = |token: &&&str| token.starts_with("\"../") && token.len() > 2;
    let paths = tokens.iter().filter(leads_up).map(|token| token[1..token.len() - 1].to_owned()).collect();
    Stripped { text: tokens.join("\n"), test_modules, paths }
}

/// Strips a C source of comments. Lines stay lines, for the preprocessor.
pub fn c(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut bare = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &source[at..];
        let length = match bytes[at] {
            b'/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with("/*") => rest[2..].find("*/").map_or(rest.len(), |end| end + 4),
            quote @ (b'"' | b'\'') => {
                let length = quoted(rest, quote);
                bare.extend_from_slice(&bytes[at..at + length]);
                at += length;
                continue;
            }
            other => {
                bare.push(other);
                at += 1;
                continue;
            }
        };
        bare.push(b' ');
        at += length;
    }
    let bare = String::from_utf8_lossy(&bare);
    let lines = bare.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Strips a Cargo manifest of comments and of the dependencies of tests.
pub fn manifest(source: &str) -> String {
    let mut of_tests = false;
    let mut left = Vec::new();
    for line in source.lines().map(str::trim) {
        if line.starts_with('[') {
            of_tests = line.contains("dev-dependencies") || line == "[[test]]" || line == "[[bench]]";
        }
        if !of_tests && !line.is_empty() && !line.starts_with('#') {
            left.push(line);
        }
    }
    left.join("\n")
}

/// Length in bytes of a literal that begins with `quote`, with both quotes; the whole text if the literal does not end.
fn quoted(text: &str, quote: u8) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Splits a Rust source into tokens; skips comments and blanks.
struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Lexer<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            let rest = &self.text[self.at..];
            let first = rest.chars().next()?;
            if first.is_whitespace() {
                self.at += first.len_utf8();
            } else if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                self.at += block_comment(rest);
            } else {
                let length = token(rest, first);
                self.at += length;
                return Some(&rest[..length]);
            }
        }
    }
}

/// Length in bytes of a block comment, which may contain others.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// Length in bytes of the token at the start of `text`.
fn token(text: &str, first: char) -> usize {
    let word = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    match first {
        '"' => quoted(text, b'"'),
        '\'' => character_or_lifetime(text),
        _ if word > 0 => match (&text[..word], &text[word..]) {
            ("r" | "br" | "cr", rest) if rest.starts_with(['"', '#']) => raw_string(text, word),
            ("b" | "c", rest) if rest.starts_with('"') => word + quoted(rest, b'"'),
            ("b", rest) if rest.starts_with('\'') => word + quoted(rest, b'\''),
            _ => word,
        },
        _ => first.len_utf8(),
    }
}

/// Length of a raw string, `r##"..."##`. An identifier like `r#type` is split into several tokens, which is no problem.
fn raw_string(text: &str, prefix: usize) -> usize {
    let hashes = text[prefix..].bytes().take_while(|b| *b == b'#').count();
    let begin = prefix + hashes;
    if !text[begin..].starts_with('"') {
        return prefix;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    text[begin + 1..].find(&end).map_or(text.len(), |found| begin + 1 + found + end.len())
}

/// Length of a character, `'a'` or `'\n'`, else of a lifetime, `'a`.
fn character_or_lifetime(text: &str) -> usize {
    let mut chars = text[1..].char_indices();
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), _) => quoted(text, b'\''),
        (Some(_), Some((second, '\''))) => 1 + second + 1,
        _ => 1 + text[1..].find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len() - 1),
    }
}

/// Removes each item under `#[cfg(test)]`. Returns the names of the modules among them that are in separate files.
fn remove_tests(tokens: &mut Vec<&str>) -> Vec<String> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut modules = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if !tokens[at..].starts_with(&MARK) {
            at += 1;
            continue;
        }
        let mut item = at + MARK.len();
        while tokens.get(item) == Some(&"#") {
            item += 1 + group(&tokens[item + 1..]);
        }
        let end = item + item_length(&tokens[item..]);
        if let Some(module) =
            tokens[item..end].iter().position(|token| *token == "mod").filter(|_| tokens[end - 1] == ";")
        {
            modules.extend(tokens.get(item + module + 1).map(|name| (*name).to_owned()));
        }
        tokens.drain(at..end);
    }
    modules
}

/// Number of tokens of the bracketed group at the start of `tokens`; 1 if there is none.
fn group(tokens: &[&str]) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth <= 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// Whether an item ends with a semicolon, also after braces: `use a::{b, c};`.
fn ends_by_semicolon(tokens: &[&str]) -> bool {
    let visibility = match tokens {
        ["pub", "(", ..] => 1 + group(&tokens[1..]),
        ["pub", ..] => 1,
        _ => 0,
    };
    match &tokens[visibility.min(tokens.len())..] {
        ["const", next, ..] => !["fn", "unsafe", "async", "extern"].contains(next),
        [first, ..] => ["use", "static", "let", "type"].contains(first),
        [] => false,
    }
}

/// Number of tokens of an item, up to its semicolon or its block; of a field or an arm, up to its comma.
fn item_length(tokens: &[&str]) -> usize {
    const ITEMS: [&str; 17] = [
        "pub",
        "mod",
        "fn",
        "impl",
        "struct",
        "enum",
        "use",
        "const",
        "static",
        "type",
        "trait",
        "unsafe",
        "async",
        "extern",
        "macro_rules",
        "let",
        "union",
    ];
    let is_item = tokens.first().is_some_and(|first| ITEMS.contains(first));
    let ends_by_semicolon = ends_by_semicolon(tokens);
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at] {
            ";" => return at + 1,
            "," if !is_item => return at + 1,
            "}" | ")" | "]" => return at,
            "{" if is_item && !ends_by_semicolon => return at + group(&tokens[at..]),
            "(" | "[" | "{" => at += group(&tokens[at..]),
            _ => at += 1,
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: &str) -> String {
        rust(source).text.replace('\n', " ")
    }

    #[test]
    fn comments_and_layout_do_not_change_the_text() {
        let plain = text("fn f() { g(\"a // b\", 'x'); }");
        assert_eq!(plain, "fn f ( ) { g ( \"a // b\" , 'x' ) ; }");
        assert_eq!(text("/// doc\nfn f() {\n\t// why\n g(\"a // b\", /* a /* nested */ one */ 'x'); }"), plain);
        assert_ne!(text("fn f() { g(\"a / b\", 'x'); }"), plain);
    }

    #[test]
    fn literals_hide_what_is_in_them() {
        for literal in [r####"r#"a " // b"#"####, r#""\" // b""#, "b\"// b\"", "r\"\\\"", "br##\"# \" \"# //\"##"] {
            assert_eq!(text(&format!("{literal} + 1")), format!("{literal} + 1"));
        }
        assert_eq!(text("'\\'' '\"' 'a 'static '/' // gone"), "'\\'' '\"' 'a 'static '/'");
        assert_eq!(text("x<'a>('b', \"c\")"), "x < 'a > ( 'b' , \"c\" )");
        assert_eq!(text("r#type + é"), "r # type + é");
    }

    #[test]
    fn code_that_only_tests_have_does_not_change_the_text() {
        for tests in [
            "#[cfg(test)] mod tests { use super::*; fn f() { if a { b } } }",
            "#[cfg(test)] pub(crate) use a::{b, c};",
            "#[cfg(test)] pub const fn f() {}",
            "#[cfg(test)] #[allow(dead_code)] pub(crate) fn helper<A, B>(x: [u8; 3]) -> u8 { 1 }",
            "#[cfg(test)] use a::{b, c};",
            "#[cfg(test)] const X: [u8; 2] = [1, 2];",
            "#[cfg(test)]\nimpl A { fn b(); }",
            "#[cfg(test)] mod tests;",
        ] {
            assert_eq!(text(&format!("fn a() {{}} {tests} fn z() {{}}")), "fn a ( ) { } fn z ( ) { }", "{tests}");
        }
        assert_eq!(text("struct A { #[cfg(test)] a: B<C>, d: E }"), "struct A { d : E }");
        assert_eq!(text("enum A { #[cfg(test)] B }"), "enum A { }");
        assert_eq!(text("#[cfg(not(test))] fn a() {}"), "# [ cfg ( not ( test ) ) ] fn a ( ) { }");
        assert_eq!(rust("#[cfg(test)] mod kit; mod plain; #[cfg(test)] mod inline {}").test_modules, ["kit"]);
    }

    #[test]
    fn paths_that_lead_up_are_told() {
        let found = rust("include_str!(\"../../machines/a.toml\"); join(\"../policy\"); \"a/../b\"; // \"../c\"").paths;
        assert_eq!(found, ["../../machines/a.toml", "../policy"]);
    }

    #[test]
    fn c_keeps_its_lines_and_loses_its_comments() {
        assert_eq!(
            c("#define A \"/* s */\" /* b\n c */\n\n\tint  x; // y\nchar c = '\"';"),
            "#define A \"/* s */\"\nint x;\nchar c = '\"';"
        );
        assert_eq!(c("int a; /* does not end"), "int a;");
    }

    #[test]
    fn a_manifest_loses_what_tests_depend_on() {
        let text = "[dependencies]\n# why\na = 1\n\n[dev-dependencies]\nb = 2\n[features]\nc = []\n";
        assert_eq!(manifest(text), "[dependencies]\na = 1\n[features]\nc = []");
    }
}
