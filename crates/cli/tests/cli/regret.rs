//! `fairground regret`.

use super::{json, refuses, succeeds};

#[test]
fn the_four_forms_are_compared_unless_schedulers_are_named() {
    let document = json("regret hikey960 --states 5 --tasks 3 --format json");
    assert_eq!(document["schema"], "fairground-regret-1");
    assert_eq!(document["states"], 5);
    let scheds = document["scheds"].as_array().unwrap();
    assert_eq!(scheds.len(), 4);
    for sched in scheds {
        let wakeups = sched["wakeups"].as_u64().unwrap();
        let by_rule: u64 = sched["rules"].as_array().unwrap().iter().map(|r| r["wakeups"].as_u64().unwrap()).sum();
        assert!(wakeups > 0 && wakeups == by_rule, "{sched}");
        assert!(sched["all"]["model"]["max"].as_f64() >= sched["all"]["model"]["p50"].as_f64(), "{sched}");
    }
    let named = json("regret hikey960 --states 2 --sched fair:v6.1 --format json");
    assert_eq!(named["scheds"][0]["sched"], "fair:v6.1");
    assert_eq!(named["scheds"].as_array().unwrap().len(), 1);
}

#[test]
fn the_text_names_measures_and_rules() {
    let text = succeeds("regret juno-r2 --states 6 --sched fair:v6.12");
    for part in ["model best", "power best", "F8", "states    6 of 1 to 6 steady tasks, seed 1", "unfit"] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
}

#[test]
fn what_cannot_be_tried_or_priced_is_refused() {
    refuses("regret epyc-7742-2p", &["epyc-7742-2p has 256 CPUs", "8 at most"]);
    refuses("regret rpi5 --sched fair:v6.12+nonsense", &["nonsense"]);
    refuses("regret hikey960 --tasks 7", &["7"]);
}
