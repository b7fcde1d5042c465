//! An input as the fragment of a link: its JSON, deflated, with the checksum of zlib, in the letters of base64url. The checksum tells a
//! link that was damaged on its way from one that means something else.

use base64::prelude::{Engine, BASE64_URL_SAFE_NO_PAD};
use miette::Diagnostic;
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use thiserror::Error;

use crate::input::{Input, FILE_MAX};

/// Most letters of a fragment.
pub const LETTERS_MAX: usize = 1 << 20;

/// Most bytes of the JSON in it: two files, whose quotes and line ends are written as two letters.
const JSON_MAX: usize = 4 * FILE_MAX;

/// Level of compression; higher ones gain nothing on a few kilobytes.
const LEVEL: u8 = 9;

/// Why a fragment is no input.
#[derive(Debug, Error, Diagnostic)]
pub enum LinkError {
    /// It is too long.
    #[error("the link is damaged: {found} letters after the #, and no link has more than {LETTERS_MAX}")]
    TooLong {
        /// Number of its letters.
        found: usize,
    },
    /// A letter, or the last letters, cannot be.
    #[error("the link is damaged: {0}")]
    #[diagnostic(help("a link consists of letters, digits, - and _ after its #; copy it whole"))]
    Letters(base64::DecodeError),
    /// It cannot be inflated.
    #[error("the link is damaged: it cannot be unpacked, or is larger than {JSON_MAX} bytes")]
    #[diagnostic(help("copy it whole, from its first letter to its last"))]
    Packed,
    /// What is in it is no input.
    #[error("the link is damaged, or of another version: {0}")]
    Json(serde_json::Error),
}

/// The fragment of an input, without the `#`.
pub fn encode(input: &Input) -> String {
    // Strings, and numbers, of which those that are not finite are written as null: this cannot fail.
    pack(&serde_json::to_vec(input).unwrap_or_default())
}

/// The fragment of an input's JSON.
pub fn pack(json: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(compress_to_vec_zlib(json, LEVEL))
}

/// The input of a fragment. Whether it can run is not checked.
///
/// # Errors
/// If it is damaged, or larger than any input.
pub fn decode(fragment: &str) -> Result<Input, LinkError> {
    if fragment.len() > LETTERS_MAX {
        return Err(LinkError::TooLong { found: fragment.len() });
    }
    let packed = BASE64_URL_SAFE_NO_PAD.decode(fragment).map_err(LinkError::Letters)?;
    let json = decompress_to_vec_zlib_with_limit(&packed, JSON_MAX).map_err(|_| LinkError::Packed)?;
    serde_json::from_slice(&json).map_err(LinkError::Json)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn input() -> Input {
        Input {
            version: 1,
            machine: "hikey960".into(),
            machine_file: None,
            figures: vec![("costs.migrate".into(), 0.5)],
            workload: "sched-pipe:loops=100".into(),
            workload_file: None,
            base: "fair:v5.9".into(),
            test: Some("fair:v5.9+asym-prev-first".into()),
            settings: vec![("governor".into(), "schedutil".into())],
            seeds: 8,
            draws: 0,
        }
    }

    #[test]
    fn a_link_is_read_as_it_is_written() {
        let fragment = encode(&input());
        assert!(fragment.len() < 300, "{fragment}");
        assert_eq!(decode(&fragment).unwrap(), input());
    }

    #[test]
    fn what_inflates_without_end_is_refused() {
        let bomb = pack(&vec![b' '; 64 << 20]);
        assert!(matches!(decode(&bomb), Err(LinkError::Packed)));
        assert!(matches!(decode(&"A".repeat(LETTERS_MAX + 1)), Err(LinkError::TooLong { .. })));
    }

    proptest! {
        #[test]
        fn a_mutated_link_is_read_or_refused(at in 0usize..300, letter in any::<char>(), cut in any::<bool>()) {
            let mut letters: Vec<char> = encode(&input()).chars().collect();
            let at = at % letters.len();
            if cut { letters.truncate(at) } else { letters[at] = letter }
            let fragment: String = letters.into_iter().collect();
            if let Ok(input) = decode(&fragment) {
                let _ = input.find();
            }
        }
    }
}
