//! Pages of HTML without external files: no script, no font, no picture. All pages that Fairground writes, here and in
//! Python, have this frame and style.

/// The style sheet of all pages.
pub const STYLE: &str = include_str!("page.css");

/// What a page with a script may do: run that script, and ask for nothing.
const NO_REQUESTS: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
    script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n";

/// A whole page. `title` is plain text; `heading` and `body` are HTML, and each line of `body` ends with a newline.
pub fn page(title: &str, heading: &str, body: &str) -> String {
    framed(title, ["", "", ""], heading, body)
}

/// A page as wide as the window, whose body has a script, with `style` beside that of all pages. Browsers refuse its requests.
pub fn page_with_script(title: &str, style: &str, heading: &str, body: &str) -> String {
    framed(title, [NO_REQUESTS, style, " class=\"wide\""], heading, body)
}

fn framed(title: &str, [head, style, class]: [&str; 3], heading: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{head}\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<link rel=\"icon\" href=\"data:,\">\n\
         <style>\n{STYLE}{style}</style>\n</head>\n<body{class}>\n<h1>{heading}</h1>\n{body}</body>\n</html>\n",
        escaped(title)
    )
}

/// Escapes text for use in an element or an attribute.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_text_is_escaped() {
        let page = page("a<b & \"c\"", "<em>h</em>", "<p>x</p>\n");
        assert!(page.contains("<title>a&lt;b &amp; &quot;c&quot;</title>"), "{page}");
        assert!(page.ends_with("<h1><em>h</em></h1>\n<p>x</p>\n</body>\n</html>\n"), "{page}");
    }
}
