//! Writing fitted and measured figures into the text of a machine file.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use crate::{Figure, FitParam, Machine, NewFigure, NewValue, Source, SourceClass};

/// `text` with `figures` of `[costs]` fitted to `cell`; all other text stays as it is. Text that is not TOML is
/// returned unchanged.
pub(crate) fn refitted(text: &str, figures: &[(FitParam, f64)], cell: &str) -> String {
    let Ok(mut document) = text.parse::<DocumentMut>() else { return text.into() };
    for (free, value) in figures {
        let costs = document.entry("costs").or_insert(Item::Table(Table::new()));
        let (item, unit, value) = match free {
            FitParam::Scale => (&mut costs["scale"], "factor", Value::from(*value)),
            FitParam::Soft(kind) => (&mut costs["soft"][kind.name()], "ns", whole_or_not(*value)),
            FitParam::Line(distance) => (&mut costs["line"][distance.name()], "ns", whole_or_not(value.round())),
            FitParam::Message(distance) => (&mut costs["message"][distance.name()], "ns", whole_or_not(value.round())),
            FitParam::MessageLines => (&mut costs["message_lines"], "lines", whole_or_not(*value)),
        };
        let mut figure = InlineTable::new();
        figure.insert(unit, value);
        figure.insert("source", format!("fitted: {cell}").into());
        *item = toml_edit::value(figure);
    }
    document.to_string()
}

/// `text`, which describes `machine`, with these figures stated anew; all other text stays as it is. Sources get tags of their own,
/// M1, M2 and so on, unless the file cites the same text already. A table that holds such times is made if it is missing.
pub(crate) fn restated(text: &str, machine: &Machine, figures: &[NewFigure]) -> String {
    let Ok(mut document) = text.parse::<DocumentMut>() else { return text.into() };
    for new in figures {
        let source = match &new.source {
            Source::Estimate(reason) => format!("estimate: {reason}"),
            Source::Fitted(cell) => format!("fitted: {cell}"),
            Source::Published(class, full) => tag_of(&mut document, *class, full),
        };
        let (way, key) = way(machine, &new.path);
        let Some(item) = place(document.as_table_mut(), &way, &key) else { continue };
        if let ("opps", NewValue::List(mw)) = (&*key, &new.value) {
            let _ = set_powers(item, mw, source, new.spread);
            continue;
        }
        let mut figure = InlineTable::new();
        figure.insert(new.unit, written(&new.value));
        figure.insert("source", source.into());
        figure.insert("spread", new.spread.into());
        *item = toml_edit::value(figure);
    }
    document.to_string()
}

/// A table on the way from the top of the file to a figure.
enum Step {
    Table(String),
    /// Of an array of tables.
    Entry(&'static str, usize),
}

/// The way to the table that has the figure at `path`, and its key there. Names of core types and idle states may have dots in
/// them.
fn way(machine: &Machine, path: &str) -> (Vec<Step>, String) {
    let tables = |names: &[&str]| names.iter().map(|name| Step::Table((*name).into())).collect();
    for of in &machine.cpu_types {
        if path.strip_prefix("cpu_type.").and_then(|rest| rest.strip_prefix(&*of.name)) == Some(".smt_throughput") {
            return (tables(&["cpu_type", &of.name]), "smt_throughput".into());
        }
        for state in &of.idle_states {
            let section = format!("cpu_type.{}.idle.{}.", of.name, state.name);
            if let Some(key) = path.strip_prefix(&section) {
                return (tables(&["cpu_type", &of.name, "idle", &state.name]), key.into());
            }
        }
    }
    // Each entry of the file states this of itself, in order.
    for (array, always) in [("cache", "size"), ("freq_domain", "transition")] {
        let of_entry = path.strip_prefix(array).and_then(|rest| rest.strip_prefix('['));
        if let Some((entry, key)) = of_entry.and_then(|rest| rest.split_once("].")) {
            let (begin, end, own) = (format!("{array}["), format!("].{always}"), format!("{array}[{entry}].{always}"));
            let is_one = |figure: &&Figure| figure.path.starts_with(&begin) && figure.path.ends_with(&end);
            let index = machine.figures.iter().filter(is_one).position(|figure| figure.path == own);
            return (vec![Step::Entry(array, index.unwrap_or(usize::MAX))], key.into());
        }
    }
    let mut names: Vec<&str> = path.split('.').collect();
    let key = names.pop().unwrap_or_default().to_owned();
    (tables(&names), key)
}

/// The figure at the end of this way; tables that are missing are made.
fn place<'a>(mut table: &'a mut dyn TableLike, way: &[Step], key: &str) -> Option<&'a mut Item> {
    for step in way {
        table = match step {
            Step::Table(name) => {
                if table.get(name).is_none() {
                    table.insert(name, Item::Table(Table::new()));
                }
                table.get_mut(name)?.as_table_like_mut()?
            }
            Step::Entry(name, index) => match table.get_mut(name)? {
                Item::ArrayOfTables(entries) => entries.get_mut(*index)?,
                item => item.as_array_mut()?.get_mut(*index)?.as_inline_table_mut()?,
            },
        };
    }
    if table.get(key).is_none() {
        table.insert(key, Item::Value(Value::from(0)));
    }
    // In place: what stands above the key stays.
    table.get_mut(key)
}

/// The tag of a source, which is added if the file does not cite it yet.
fn tag_of(document: &mut DocumentMut, class: SourceClass, full: &str) -> String {
    let sources = document.entry("sources").or_insert(Item::Table(Table::new()));
    let Some(sources) = sources.as_table_like_mut() else { return String::new() };
    let is_same = |item: &Item| {
        let cited = item.as_table_like();
        let text = |key: &str| cited.and_then(|cited| cited.get(key)).and_then(Item::as_str);
        (text("text"), text("class")) == (Some(full), Some(class.name()))
    };
    if let Some((tag, _)) = sources.iter().find(|(_, item)| is_same(item)) {
        return tag.into();
    }
    let tag = (1..).map(|n| format!("M{n}")).find(|tag| sources.get(tag).is_none()).unwrap_or_default();
    let mut cited = InlineTable::new();
    cited.insert("text", full.into());
    cited.insert("class", class.name().into());
    sources.insert(&tag, toml_edit::value(cited));
    tag
}

/// Sets the powers of running CPUs in a table of operating points, mW in the order of its rows. A table of another length stays.
fn set_powers(item: &mut Item, mw: &[f64], source: String, spread: f64) -> Option<()> {
    let table = item.as_table_like_mut()?;
    let columns = table.get("columns")?.as_array()?;
    let of_unit = |unit: &str| columns.iter().position(|name| name.as_str() == Some(unit));
    let in_watts = || of_unit("W").map(|column| (column, 1e-3));
    let (column, factor) = of_unit("mW").map(|column| (column, 1.0)).or_else(in_watts)?;
    let rows = table.get_mut("rows")?.as_array_mut()?;
    if rows.len() != mw.len() || rows.iter().any(|row| row.as_array().is_none_or(|cells| cells.len() <= column)) {
        return None;
    }
    for (row, mw) in rows.iter_mut().filter_map(Value::as_array_mut).zip(mw) {
        row.replace(column, whole_or_not(mw * factor));
    }
    table.insert("source", toml_edit::value(source));
    table.insert("spread", toml_edit::value(spread));
    Some(())
}

fn written(value: &NewValue) -> Value {
    match value {
        NewValue::Number(number) => whole_or_not(*number),
        NewValue::List(numbers) => Value::from(numbers.iter().map(|number| whole_or_not(*number)).collect::<Array>()),
    }
}

/// A number without a point where it needs none.
fn whole_or_not(number: f64) -> Value {
    if number == number.trunc() {
        Value::from(number as i64)
    } else {
        Value::from(number)
    }
}

#[cfg(test)]
mod tests {
    use crate::{FitParam, Machine, NewFigure, NewValue, SoftCost, Source, SourceClass};

    fn changed<'a>(old: &'a str, new: &'a str) -> Vec<&'a str> {
        assert_eq!(old.lines().count(), new.lines().count());
        old.lines().zip(new.lines()).filter(|(a, b)| a != b).map(|(_, b)| b).collect()
    }

    #[test]
    fn a_fit_touches_the_scale_and_nothing_else() {
        let text = crate::preset_text("hikey960").unwrap();
        let cell = "000/cell/base and more words";
        let new = Machine::refitted("x.toml", text, &[(FitParam::Scale, 0.75)], cell).unwrap();
        let lines = changed(text, &new);
        assert_eq!(lines.len(), 1);
        assert!(
            lines[0].starts_with("scale = { factor = 0.75, source = \"fitted: 000/cell/base and more words\" }"),
            "{lines:?}"
        );
        let machine = Machine::from_toml("x.toml", &new).unwrap();
        assert_eq!(machine.costs.scale, 0.75);
        let scale = machine.figures.iter().find(|f| f.path == "costs.scale").unwrap();
        assert_eq!(scale.source, Source::Fitted(cell.into()));
    }

    #[test]
    fn costs_that_share_a_cell_are_written_together() {
        let text = crate::preset_text("hikey").unwrap();
        let [send, recv] = [SoftCost::SockSend, SoftCost::SockRecv].map(FitParam::Soft);
        let new = Machine::refitted("x.toml", text, &[(send, 4096.0), (recv, 3351.5)], "002/cell/base").unwrap();
        assert_eq!(
            changed(text, &new),
            [
                "sock_send = { ns = 4096, source = \"fitted: 002/cell/base\" }",
                "sock_recv = { ns = 3351.5, source = \"fitted: 002/cell/base\" }",
            ]
        );
        let costs = Machine::from_toml("x.toml", &new).unwrap().costs;
        assert_eq!((costs.fit_value(send), costs.fit_value(recv)), (4096.0, 3351.5));
    }

    #[test]
    fn a_cost_by_distance_is_written_in_whole_ns() {
        let text = crate::preset_text("hikey").unwrap();
        let line = FitParam::Line(crate::Distance::Node);
        let new = Machine::refitted("x.toml", text, &[(line, 301.6)], "002/cell/base").unwrap();
        assert_eq!(changed(text, &new), ["node = { ns = 302, source = \"fitted: 002/cell/base\" }"]);
        let message = FitParam::Message(crate::Distance::Node);
        let table = "\n[costs.message]\nllc = { ns = 0, source = \"estimate: x\" }\nnode = { ns = 9, source = \"estimate: x\" }\n";
        let text = text.to_owned() + table;
        let new = Machine::refitted("x.toml", &text, &[(message, 620.0)], "002/cell/base").unwrap();
        assert_eq!(Machine::from_toml("x.toml", &new).unwrap().costs.message_ns[3..5], [0, 620]);
    }

    fn measured(path: &str, ns: f64) -> NewFigure {
        let source = Source::Published(SourceClass::Measured, "a day's rounds".into());
        NewFigure { path: path.into(), value: ns.into(), unit: "ns", source, spread: 1.07 }
    }

    #[test]
    fn measured_times_are_stated_with_their_source_and_spread() {
        let text = crate::preset_text("epyc-7742-2p").unwrap();
        let machine = Machine::from_toml("x.toml", text).unwrap();
        let shared = machine.figures.iter().rfind(|figure| figure.path.ends_with("].refill_kib")).unwrap();
        let paths = ["costs.soft.pick", "costs.ipi.llc", "cpu_type.Zen2.idle.C2.wake", "refill.memory_kib.node"];
        let mut new: Vec<NewFigure> = paths.iter().map(|path| measured(path, 123.0)).collect();
        new.push(measured(&shared.path, 123.0));
        new.push(NewFigure { source: Source::Estimate("a part".into()), ..measured("costs.soft.syscall", 71.5) });
        let stated = Machine::restated("x.toml", text, &new).unwrap();
        let again = Machine::from_toml("x.toml", &stated).unwrap();
        for figure in &new {
            let found = again.figures.iter().find(|found| found.path == figure.path).unwrap();
            assert_eq!((&found.source, found.spread), (&figure.source, Some(1.07)), "{}", figure.path);
            let NewValue::Number(ns) = figure.value else { panic!("{figure:?}") };
            assert_eq!(found.value, format!("{ns} ns"), "{}", figure.path);
        }
        // One source for all five; what stood above the figures stays.
        assert_eq!(stated.matches("a day's rounds").count(), 1);
        let comments = |text: &str| text.lines().filter(|line| line.trim_start().starts_with('#')).count();
        assert_eq!(comments(&stated), comments(text));
        assert_eq!(again.figures.len(), machine.figures.len());
    }

    /// The name of a core type may have dots in it.
    #[test]
    fn a_throughput_for_each_thread_is_stated_as_a_list() {
        let text = crate::preset_text("thunderx2-224").unwrap().replace("cpu_type.Vulcan", "cpu_type.\"Vulcan.2\"");
        let path = "cpu_type.Vulcan.2.smt_throughput";
        let new = NewFigure { value: NewValue::List(vec![1.0, 1.5, 1.7, 1.7]), unit: "ratio", ..measured(path, 0.0) };
        let stated = Machine::restated("x.toml", &text, &[new]).unwrap();
        let machine = Machine::from_toml("x.toml", &stated).unwrap();
        assert_eq!(machine.cpu_types[0].smt_throughput, [1000, 1500, 1700, 1700]);
        let figure = machine.figures.iter().find(|figure| figure.path == path).unwrap();
        assert_eq!((figure.value.as_str(), figure.spread), ("1 1.5 1.7 1.7", Some(1.07)));
    }

    #[test]
    fn a_clock_is_found_by_its_first_cpus() {
        let text = crate::preset_text("hikey960").unwrap();
        let machine = Machine::from_toml("x.toml", text).unwrap();
        let transitions = || machine.figures.iter().filter(|figure| figure.path.ends_with("].transition"));
        assert!(transitions().count() > 1);
        for figure in transitions() {
            let stated = Machine::restated("x.toml", text, &[measured(&figure.path, 4321.0)]).unwrap();
            let again = Machine::from_toml("x.toml", &stated).unwrap();
            let is_new = |domain: &&crate::FreqDomain| domain.transition_ns == 4321;
            let cpus: Vec<String> = again.freq_domains.iter().filter(is_new).map(|of| of.cpus.to_string()).collect();
            assert_eq!(figure.path, format!("freq_domain[{}].transition", cpus[0]));
        }
    }

    #[test]
    fn powers_of_operating_points_are_set_in_their_rows() {
        let preset = crate::preset_text("epyc-7742-2p").unwrap();
        for (text, unit) in [(preset.to_owned(), 1.0), (preset.replace("[\"MHz\", \"mW\"]", "[\"MHz\", \"W\"]"), 1e-3)]
        {
            let machine = Machine::from_toml("x.toml", &text).unwrap();
            let path = machine.figures.iter().find(|figure| figure.path.ends_with("].opps")).unwrap().path.clone();
            let mw = vec![700.0, 1000.0, 1250.5, 3600.0];
            let new = NewFigure { value: NewValue::List(mw.clone()), unit: "mW", ..measured(&path, 0.0) };
            let stated = Machine::restated("x.toml", &text, std::slice::from_ref(&new)).unwrap();
            let again = Machine::from_toml("x.toml", &stated).unwrap();
            let now: Vec<f64> = again.freq_domains[0].opps.iter().map(|opp| opp.active_mw).collect();
            assert!(now.iter().zip(&mw).all(|(now, mw)| (now - mw).abs() < 1e-6), "{now:?}, a unit of {unit}");
            let figure = again.figures.iter().find(|figure| figure.path == path).unwrap();
            assert_eq!((&figure.source, figure.spread), (&new.source, Some(1.07)));
            // Of another length: it stays.
            let short = NewFigure { value: NewValue::List(vec![1.0]), ..new };
            let stated = Machine::restated("x.toml", &text, &[short]).unwrap();
            assert_eq!(Machine::from_toml("x.toml", &stated).unwrap().freq_domains, machine.freq_domains);
        }
    }

    #[test]
    fn a_table_that_is_missing_is_made() {
        let text = crate::preset_text("hikey").unwrap();
        let new: Vec<NewFigure> =
            ["llc", "node"].iter().map(|d| measured(&format!("costs.line_read.{d}"), 40.0)).collect();
        let stated = Machine::restated("x.toml", text, &new).unwrap();
        let machine = Machine::from_toml("x.toml", &stated).unwrap();
        assert_eq!(machine.costs.line_read(crate::Distance::Node), 40);
        // Half of a table is none.
        assert!(Machine::restated("x.toml", text, &new[..1]).is_err());
    }

    #[test]
    fn rescaling_turns_what_a_fit_may_turn() {
        use crate::SoftCost::{Probe, Syscall};
        let mut costs = Machine::preset("hikey").unwrap().costs;
        let before = (costs.soft(Syscall) / costs.scale, costs.soft(Probe));
        costs.rescale(2.0);
        assert!((costs.soft(Syscall) / before.0 - 2.0).abs() < 1e-12, "{}", costs.soft(Syscall));
        assert_eq!(costs.soft(Probe), before.1);
        assert_eq!(costs.scale, 2.0);
    }
}
