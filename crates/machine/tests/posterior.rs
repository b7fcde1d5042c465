//! Draws of presets that base cells weigh.

use fairground_machine::{presets, Draw, DrawLaw, FileError, Machine, Posterior, EFFECTIVE_MIN};

const HEAD: &str = "# Draws.\n# machine: board\n# figures: 00\n# effective: 131.4\n# cell: a/base; published 1\n";

fn parsed(text: &str) -> Result<Posterior, Box<FileError>> {
    Posterior::parse("board.tsv", text, "board")
}

fn refused(text: &str) -> String {
    let error = parsed(text).unwrap_err();
    format!("{error}; {}", error.help.clone().unwrap_or_default())
}

#[test]
fn rows_are_repeated_from_the_first_draw_on() {
    let text = format!("{HEAD}costs.soft.exec\tlines\n0.5000\t-1.2500\n2.0000\t0.0000\n");
    let posterior = parsed(&text).unwrap();
    assert_eq!((posterior.len(), posterior.cells, posterior.effective), (2, 1, 131.4));
    assert_eq!(posterior.names().collect::<Vec<_>>(), ["costs.soft.exec", "lines"]);
    let of =
        |draw: u64| ["costs.soft.exec", "lines", "costs.soft.fork"].map(|name| posterior.deviation(Draw(draw), name));
    assert_eq!(of(1), [Some(0.5), Some(-1.25), None]);
    assert_eq!((of(2), of(3), of(4)), ([Some(2.0), Some(0.0), None], of(1), of(2)));
    assert_eq!(of(0), [None; 3]);
}

#[test]
fn what_is_wrong_is_named_with_line_and_key() {
    let of = |rows: &str| refused(&format!("{HEAD}{rows}"));
    let is = |found: String, parts: [&str; 3]| parts.iter().for_each(|part| assert!(found.contains(part), "{found}"));
    is(of("a\tb\n1\tx\n"), ["board.tsv:7:3: `b`: is \"x\"", "standard deviations", "-8 to 8"]);
    is(of("a\tb\n1\t2\n1\n"), ["board.tsv:8:1: has 1 numbers", "expected 2", "tabs"]);
    is(of("a\tb\n1\t9\n"), ["`b`: is \"9\"", "7:3", ""]);
    is(of("a\tb\n1\tNaN\n"), ["`b`: is \"NaN\"", "7:3", ""]);
    is(of("a\ta\n1\t2\n"), ["board.tsv:6:3: `a`: name 2 is there twice", "", ""]);
    is(of("a\tb\n"), ["has no draw", "board.tsv:7:1", ""]);
    is(of(""), ["name 1 is empty", "board.tsv:6:1", ""]);
    is(refused("# machin: board\na\n1\n"), ["`machine`: is missing in the head", "did you mean `machin`?", ""]);
    is(refused(&HEAD.replace("board", "boar")), ["board.tsv:2:12: `machine`: is \"boar\"", "expected board", ""]);
    is(refused(&HEAD.replace("131.4", "99")), ["board.tsv:4:14: `effective`: is \"99\"", "at least 100", "more runs"]);
    is(refused(&HEAD.replace("131.4", "many")), ["`effective`: is \"many\"", "", ""]);
    is(refused(""), ["`machine`: is missing", "nothing is expected", ""]);
}

/// Each is for the figures that the preset has today, or has to be made again or removed.
#[test]
fn recorded_posteriors_are_of_their_presets() {
    for name in presets() {
        let machine = Machine::preset(name).unwrap();
        let Some(posterior) = Posterior::recorded(&machine).unwrap() else { continue };
        assert_eq!(posterior.figures, machine.figures_hash(), "machines/posterior/{name}.tsv");
        assert!(posterior.effective >= EFFECTIVE_MIN && posterior.cells > 0 && !posterior.is_empty());
        // Its draws come from there, each of them a machine; a changed machine has others.
        let names: Vec<&str> = posterior.names().collect();
        let law = machine.draw_law().unwrap();
        assert_eq!(law.posterior(), Some(&posterior));
        for draw in (1..=posterior.len() as u64).map(Draw) {
            assert!(names.iter().all(|n| Some(law.deviation(draw, n)) == posterior.deviation(draw, n)));
            machine.drawn(draw).unwrap_or_else(|e| panic!("{name} draw {}: {e}", draw.0));
        }
        let mut changed = machine.clone();
        changed.costs.rescale(machine.costs.scale * 1.01);
        let law = changed.draw_law().unwrap();
        assert!(law.posterior().is_none() && law.words().contains("other values"), "{}", law.words());
    }
}

#[test]
fn the_hash_of_figures_is_of_what_draws_depend_on() {
    let text = fairground_machine::preset_text("hikey").unwrap();
    let hash = |text: &str| Machine::from_toml("m.toml", text).unwrap().figures_hash();
    let plain = hash(text);
    assert_eq!(hash(&text.replace("title = \"", "title = \"My ")), plain);
    assert_eq!(hash(&text.replace("estimate: ", "estimate: thought: ")), plain);
    assert_ne!(hash(&text.replace("name = \"hikey\"", "name = \"mine\"")), plain);
    let machine = Machine::preset("hikey").unwrap();
    let mut changed = machine.clone();
    changed.costs.line_ns[3] += 1;
    assert_ne!(changed.figures_hash(), machine.figures_hash(), "a change in code counts, restated or not");
    let wider = text.replacen("source = \"estimate", "spread = 1.23, source = \"estimate", 1);
    assert_ne!(hash(&wider), plain);
}

/// Fits take no part: a scale that was fitted is exact, and software costs have a common error again.
#[test]
fn the_prior_of_evidence_is_as_if_nothing_was_fitted() {
    let machine = Machine::preset("hikey960").unwrap();
    let law = DrawLaw::before_fits(&machine);
    assert!(law.names().contains("software costs") && !law.names().contains("costs.scale"));
    let factors = law.factors_by(|name| f64::from(u8::from(name == "software costs")));
    let moved: Vec<&str> = factors.keys().map(String::as_str).collect();
    assert!(
        moved.contains(&"costs.soft.wakeup") && moved.iter().all(|path| path.starts_with("costs.soft.")),
        "{moved:?}"
    );
    // 1.4 ^ sqrt(1/2)
    assert!((factors["costs.soft.wakeup"] - 1.2686).abs() < 1e-3, "{}", factors["costs.soft.wakeup"]);
    assert_eq!(law.factors_by(|_| 0.0).len(), 0);
}
