//! Trees with files gone or garbled: a machine that its own file describes, or an error that names the place.

use std::fs;

use fairground_machine::{CaptureError, Machine};
use proptest::prelude::*;

use super::kit::Sysfs;
use super::trees;

/// What other files of sysfs say, and what none does.
const TEXTS: [&str; 17] = [
    "",
    "0",
    "-1",
    "1",
    "65535",
    "4294967295",
    "18446744073709551615",
    "0-1023",
    "0-3",
    "3-1",
    "0,2,4,6",
    "1 2 3",
    "<not supported>",
    "0x7",
    "\u{0}",
    "WFI",
    "1024\n1024",
];

fn garbage() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::sample::select(&TEXTS[..]).prop_map(|text| text.as_bytes().to_vec()),
        any::<i64>().prop_map(|number| number.to_string().into_bytes()),
        (0u64..5_000_000).prop_map(|number| number.to_string().into_bytes()),
        any::<Vec<u8>>(),
    ]
}

/// What may happen to a file.
#[derive(Clone, Debug)]
enum Harm {
    Gone,
    DirectoryGone,
    Garbled(Vec<u8>),
}

fn harm() -> impl Strategy<Value = Harm> {
    prop_oneof![Just(Harm::Gone), Just(Harm::DirectoryGone), garbage().prop_map(Harm::Garbled)]
}

fn tree(which: usize) -> Sysfs {
    [trees::big_little, trees::smt, trees::two_nodes, trees::minimal][which]()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 2 + 1))]

    #[test]
    fn harmed_trees_give_a_machine_or_an_error_that_names_the_place(
        which in 0..4usize,
        harms in prop::collection::vec((any::<prop::sample::Index>(), harm()), 1..12),
    ) {
        let tree = tree(which);
        let files = tree.files();
        for (at, harm) in harms {
            let path = &files[at.index(files.len())];
            // An earlier harm may have taken the file along with its directory.
            let _ = match &harm {
                Harm::Gone => fs::remove_file(path),
                Harm::DirectoryGone => fs::remove_dir_all(path.parent().unwrap_or(path)),
                Harm::Garbled(bytes) => fs::write(path, bytes),
            };
        }
        match tree.try_capture() {
            Ok(captured) => {
                let text = captured.to_toml();
                let again = Machine::from_toml("captured.toml", &text).map_err(|e| TestCaseError::fail(e.to_string()))?;
                prop_assert_eq!(again, captured.machine);
            }
            Err(CaptureError::Name { .. }) => prop_assert!(false, "the name is right"),
            Err(error) => prop_assert!(error.to_string().contains(&tree.root().display().to_string()), "{}", error),
        }
    }
}
