//! Writing fitted figures into the text of a machine file.

use toml_edit::{DocumentMut, InlineTable, Item, Table, Value};

use crate::FitParam;

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
    use crate::{FitParam, Machine, SoftCost, Source};

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
