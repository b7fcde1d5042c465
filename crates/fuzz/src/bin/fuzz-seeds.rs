//! Writes the seeds and the dictionary of every parser to `DIR/PARSER/seeds/` and `DIR/PARSER/words.dict`, and prints the
//! names of the parsers. `tests/fuzz.sh` gives them to libFuzzer.

use std::path::Path;

use fairground_fuzz::targets;

fn main() -> std::io::Result<()> {
    let Some(dir) = std::env::args_os().nth(1) else {
        eprintln!("usage: fuzz-seeds DIR");
        std::process::exit(2);
    };
    for target in targets() {
        let dir = Path::new(&dir).join(target.name);
        std::fs::create_dir_all(dir.join("seeds"))?;
        std::fs::write(dir.join("words.dict"), target.dictionary())?;
        for (n, seed) in (target.seeds)().iter().enumerate() {
            std::fs::write(dir.join("seeds").join(n.to_string()), seed)?;
        }
        println!("{}", target.name);
    }
    Ok(())
}
