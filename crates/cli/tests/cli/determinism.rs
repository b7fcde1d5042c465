use super::{json, succeeds};

#[test]
fn the_number_of_jobs_does_not_matter() {
    let words = "compare hikey960 sched-pipe:loops=200,threads --base fair:v5.9 --test fair:v5.11 --seeds 5 --format json --jobs";
    let one = succeeds(&format!("{words} 1"));
    assert_eq!(one, succeeds(&format!("{words} 2")));
    assert_eq!(one, succeeds(&format!("{words} 8")));
}

#[test]
fn runs_repeat_and_seeds_differ() {
    let hash = |seed| json(&format!("run hikey sched-pipe:loops=100 --sched fair:v5.9 --seed {seed} --format json"));
    assert_eq!(hash(7), hash(7));
    assert_ne!(hash(7)["hash"], hash(8)["hash"]);
}

#[test]
fn determinism_can_be_checked() {
    succeeds("compare hikey sched-pipe:loops=100 --base fair:v5.9 --test fair:v5.11 --seeds 2 --check-determinism");
    succeeds("run hikey sched-pipe:loops=100 --sched fair:v5.9 --check-determinism");
}

#[test]
fn regrets_do_not_depend_on_the_number_of_jobs_but_on_the_seed() {
    let words = "regret juno-r2 --states 4 --tasks 3 --clamps --format json";
    let one = succeeds(&format!("{words} --jobs 1"));
    assert_eq!(one, succeeds(&format!("{words} --jobs 3")));
    assert_ne!(one, succeeds(&format!("{words} --jobs 1 --seed 2")));
}
