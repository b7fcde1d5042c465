//! The model in a page, with all that shows it. The frame of the page is that of all pages (`fairground_lab::page`).

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use miniz_oxide::deflate::compress_to_vec;

use crate::model::Model;

/// The script: `FairgroundView.mount(element, bytes)`, with the bytes of [`Model::to_bytes`] as ArrayBuffer or Uint8Array.
pub const SCRIPT: &str = concat!(include_str!("../assets/model.js"), include_str!("../assets/view.js"));

/// The style of what the script makes. It uses the colours of the page, if it has some.
pub const STYLE: &str = include_str!("../assets/view.css");

/// miniz's level: 9 is a third slower for 2 % less.
const LEVEL: u8 = 6;

/// The body of a page that shows the model. The model is in it as base64 of raw DEFLATE, which has no character of HTML; browsers unpack it
/// with DecompressionStream (since 2023).
pub fn page_body(model: &Model) -> String {
    let packed = STANDARD.encode(compress_to_vec(&model.to_bytes(), LEVEL));
    format!(
        "<div id=\"view\"><noscript>This page needs JavaScript.</noscript></div>\n\
         <script type=\"text/plain\" id=\"model\">{packed}</script>\n\
         <script>\n{SCRIPT}FairgroundView.mountPacked(document.getElementById(\"view\"), document.getElementById(\"model\"));\n</script>\n"
    )
}
