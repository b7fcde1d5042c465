//! Writing a fitted figure into the text of a machine file.

use toml_edit::{value, DocumentMut, InlineTable, Item, Table};

/// `text` with `costs.scale` fitted to `cell`; everything else stays to the letter. Text that is no TOML is returned
/// as it is.
pub(crate) fn refitted(text: &str, scale: f64, cell: &str) -> String {
    let Ok(mut document) = text.parse::<DocumentMut>() else { return text.into() };
    let mut figure = InlineTable::new();
    figure.insert("factor", scale.into());
    figure.insert("source", format!("fitted: {cell}").into());
    let costs = document.entry("costs").or_insert(Item::Table(Table::new()));
    costs["scale"] = value(figure);
    document.to_string()
}

#[cfg(test)]
mod tests {
    use crate::{Machine, Source};

    #[test]
    fn a_fit_touches_the_scale_and_nothing_else() {
        let text = crate::preset_text("hikey960").unwrap();
        let new = Machine::refitted("x.toml", text, 0.75, "000/cell/base and more words").unwrap();
        let differing: Vec<_> = text.lines().zip(new.lines()).filter(|(a, b)| a != b).collect();
        assert_eq!(differing.len(), 1);
        assert!(differing[0]
            .1
            .starts_with("scale = { factor = 0.75, source = \"fitted: 000/cell/base and more words\" }"));
        let machine = Machine::from_toml("x.toml", &new).unwrap();
        assert_eq!(machine.costs.scale, 0.75);
        let scale = machine.figures.iter().find(|f| f.path == "costs.scale").unwrap();
        assert_eq!(scale.source, Source::Fitted("000/cell/base and more words".into()));
    }

    #[test]
    fn rescaling_turns_what_a_fit_may_turn() {
        use crate::SoftCost::{Probe, Syscall};
        let mut costs = Machine::preset("hikey").unwrap().costs;
        let before = (costs.soft(Syscall) / costs.scale, costs.soft(Probe));
        costs.rescale(2.0);
        assert_eq!((costs.soft(Syscall), costs.soft(Probe)), (before.0 * 2.0, before.1));
        assert_eq!(costs.scale, 2.0);
    }
}
