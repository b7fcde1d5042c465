//! Sets `FAIRGROUND_COMMIT`, which results and `--version` name.

use std::path::Path;

#[path = "../lab/build/commit.rs"]
mod commit;

fn main() {
    commit::set(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
}
