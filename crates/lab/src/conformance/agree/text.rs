//! The report as text.

use std::fmt::Write;

use comfy_table::{presets, CellAlignment, Table};
use fairground_linux::conformance::{PeltTally, Tally};
use serde_json::Value;

use super::report::{ConformanceReport, FoundDisagreement, MachineResult, ROW_MIN};
use crate::tables::finish;

/// Limit of notes shown for one decision.
const NOTES_MAX: usize = 24;

impl ConformanceReport {
    /// A table by machine, kind and rule, then the disagreements.
    pub fn text(&self) -> String {
        let mut out = format!("linux:{} ({}) against {}, seed {}\n", self.kernel, self.release, self.preset, self.seed);
        for sheet in &self.sheets {
            let _ = write!(out, "\n{}", heading(sheet));
            out.push_str(&rows(&sheet.tally));
            out.push_str(&pelt(&sheet.pelt));
        }
        if self.sheets.len() > 1 {
            let _ = write!(out, "\nall: {} machines\n{}", self.sheets.len(), rows(&self.tally()));
            out.push_str(&pelt(&self.pelt()));
        }
        let thin = self.sheets.iter().any(|sheet| !sheet.thin_rows().is_empty());
        if thin {
            let _ = writeln!(out, "\nfew: under {ROW_MIN} decisions; more come with a larger --decisions");
        }
        for (sheet, found) in self.disagreements() {
            let _ = write!(out, "\n{}", disagreement(sheet, found));
        }
        if !self.notes.is_empty() {
            out.push('\n');
            self.notes.iter().for_each(|note| out.push_str(&format!("note: {note}\n")));
        }
        out
    }
}

fn heading(sheet: &MachineResult) -> String {
    let mut out = format!("{}: {}; {} runs\n", sheet.machine.name, sheet.machine.title, sheet.runs);
    if let Some(first) = sheet.topology.first() {
        let _ = writeln!(out, "  domains differ in {} places, the first: {first}", sheet.topology.len());
    }
    out
}

fn rows(tally: &Tally) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(["kind", "rule", "decisions", "alike", "%", ""]);
    for (kind, of) in tally.kinds() {
        let row = |rule: &str, n: u64, agree: u64, percent: f64, said: String| {
            [kind.word().into(), rule.into(), n.to_string(), agree.to_string(), format!("{percent:.3}"), said]
        };
        let said = match of.not_observable {
            0 => String::new(),
            n => format!("{n} not observable"),
        };
        table.add_row(row("", of.all.n, of.all.agree, of.all.percent(), said));
        for (rule, count) in &of.rules {
            let said = if count.n < ROW_MIN { "few" } else { "" };
            table.add_row(row(&kind.rule_title(rule), count.n, count.agree, count.percent(), said.into()));
        }
    }
    (2..5).filter_map(|n| table.column_mut(n).map(|c| c.set_cell_alignment(CellAlignment::Right))).for_each(drop);
    finish(&mut table)
}

fn pelt(tally: &PeltTally) -> String {
    match tally.total() {
        (0, _) => String::new(),
        (n, agree) => format!("  pelt: {n} steps, {} differ\n", n - agree),
    }
}

/// Both choices, the reasons of ours, and both CPUs in the kernel's state.
fn disagreement(sheet: &MachineResult, found: &FoundDisagreement) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (said, case) = (&found.said, &found.said["case"]);
    let mut out = format!("{} {} seed {}: {}\n", sheet.machine.name, found.workload, found.seed, text(&said["text"]));
    for key in ["placing", "picking", "balancing", "pushing", "governing"] {
        if let Some(question) = case.get(key) {
            let _ = writeln!(out, "  asked: {question}");
        }
    }
    let notes: Vec<String> = case["ours"]["why"].as_array().into_iter().flatten().map(text).collect();
    notes.iter().take(NOTES_MAX).for_each(|note| out.push_str(&format!("  ours: {note}\n")));
    if notes.len() > NOTES_MAX {
        let _ = writeln!(out, "  ours: and {} more notes", notes.len() - NOTES_MAX);
    }
    if case.get("placing").is_some() {
        for (whose, chosen) in [("kernel", &case["kernel"]), ("ours", &case["ours"]["chosen"])] {
            let cpu = chosen.as_u64().and_then(|cpu| case["cpus"].get(cpu as usize));
            let _ = cpu.map(|cpu| writeln!(out, "  cpu{chosen}, {whose}: {cpu}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::sheets;

    #[test]
    fn rows_stand_by_machine_and_what_differs_below() {
        let text = sheets().text();
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        assert_eq!(lines[0], "linux:mine (6.12.117) against fair:debian-6.12.117, seed 7");
        assert_eq!(lines[2], "one-llc: 8 equal CPUs; 1 runs");
        assert!(lines[3].ends_with("the first: cpu0 domain 0: span: kernel 0-1, ours 0"), "{text}");
        let words = |n: usize| lines[n].split_whitespace().collect::<Vec<_>>();
        assert_eq!(words(5), ["wake", "603", "602", "99.834"]);
        assert_eq!(words(6), ["wake", "select_idle_sibling:", "target", "(C1)", "600", "599", "99.833"]);
        assert_eq!(words(7), ["wake", "select_idle_cpu:", "idle", "CPU", "(C8)", "3", "3", "100.000", "few"]);
        for part in [
            "one-llc mix seed 7: wake: kernel 0, ours 1 by C1",
            "ours: C1: cpu1 is idle",
            "cpu0, kernel: {\"nr_running\":2}",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(text.ends_with("note: 6.12.118 has no preset\n"));
    }
}
