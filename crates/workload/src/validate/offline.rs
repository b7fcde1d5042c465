//! Checks when CPUs are offline.

use fairground_machine::{CpuMask, Machine};

use super::{Problem, MAX_TIME_NS};
use crate::program::{OfflineSpan, Workload, FIRST_OFFLINE_NS};

/// Checks each span beside those before it, and that nothing is bound to its CPUs.
pub(super) fn check(w: &Workload, machine: &Machine) -> Result<(), Problem> {
    for (i, span) in w.offline.iter().enumerate() {
        offline_span(span, &w.offline[..i], machine)?;
    }
    bound_offline(w)
}

/// Checks that nothing of the workload is bound to CPUs that go offline.
pub(crate) fn bound_offline(w: &Workload) -> Result<(), Problem> {
    for span in &w.offline {
        if let Some(task) = w.tasks.iter().find(|t| t.kthread_cpu.is_some_and(|cpu| span.cpus.test(cpu))) {
            let what = format!("where `{}` is a kernel thread of one CPU", task.name);
            return Err(bad(
                span,
                what,
                "kernel threads that park with their CPU are not modelled: bind it to another",
            ));
        }
        if let Some(irq) = w.irqs.iter().find(|irq| span.cpus.test(irq.cpu)) {
            let what = format!("where the interrupts of `{}` come", irq.name);
            return Err(bad(span, what, "interrupts that move away are not modelled: let them come on another CPU"));
        }
    }
    Ok(())
}

fn bad(span: &OfflineSpan, what: String, help: &'static str) -> Problem {
    Problem::BadOffline { cpus: Box::new(span.cpus), what, help }
}

/// Checks a span by itself and beside those before it.
pub(crate) fn offline_span(span: &OfflineSpan, before: &[OfflineSpan], machine: &Machine) -> Result<(), Problem> {
    let all = machine.all_cpus();
    if span.cpus.is_empty() || !span.cpus.is_subset(&all) {
        let what = format!("on a machine with CPUs {all}");
        return Err(bad(span, what, "choose CPUs of this machine, or another machine"));
    }
    if span.from_ns < FIRST_OFFLINE_NS {
        let what = format!("at {} us, before {} us", span.from_ns / 1000, FIRST_OFFLINE_NS / 1000);
        return Err(bad(span, what, "threads come into being within the first tick: begin later"));
    }
    if u128::from(span.to_ns.unwrap_or(span.from_ns)) > MAX_TIME_NS {
        return Err(bad(span, "beyond the longest time".into(), "choose earlier times"));
    }
    if span.to_ns.is_some_and(|to| to <= span.from_ns) {
        let what = format!("from {} to {} us", span.from_ns / 1000, span.to_ns.unwrap_or(0) / 1000);
        return Err(bad(span, what, "let it end after it begins, or leave `to` out"));
    }
    if let Some(other) = before.iter().find(|other| other.cpus.intersects(&span.cpus) && meet(other, span)) {
        let what = format!("when {} of them already are", other.cpus.and(&span.cpus));
        return Err(bad(span, what, "let the CPU come online before it goes offline again"));
    }
    // The most are offline where one of them begins.
    let spans = || before.iter().chain([span]);
    let offline_at = |at| spans().filter(|s| contains(s, at)).fold(CpuMask::EMPTY, |all, s| all.or(&s.cpus));
    match spans().any(|s| offline_at(s.from_ns) == all) {
        false => Ok(()),
        true => Err(bad(span, "when all others already are".into(), "leave one CPU online")),
    }
}

/// Whether the span contains this time; its end counts too, since CPUs come online then at the earliest.
fn contains(span: &OfflineSpan, at: u64) -> bool {
    span.from_ns <= at && span.to_ns.is_none_or(|to| at <= to)
}

fn meet(a: &OfflineSpan, b: &OfflineSpan) -> bool {
    contains(a, b.from_ns) || contains(b, a.from_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::small_machine;

    fn span(cpus: &str, from_ms: u64, to_ms: Option<u64>) -> OfflineSpan {
        let ns = |ms| ms * 1_000_000;
        OfflineSpan { cpus: CpuMask::parse_list(cpus).unwrap(), from_ns: ns(from_ms), to_ns: to_ms.map(ns) }
    }

    fn refusal(spans: &[OfflineSpan]) -> String {
        let (last, before) = spans.split_last().unwrap();
        offline_span(last, before, &small_machine(4)).map_or_else(|problem| problem.to_string(), |()| "none".into())
    }

    #[test]
    fn cpus_and_times_must_make_sense() {
        assert_eq!(refusal(&[span("1-3", 10, None)]), "none");
        assert_eq!(refusal(&[span("", 10, None)]), "CPUs  go offline on a machine with CPUs 0-3");
        assert_eq!(refusal(&[span("3-4", 10, None)]), "CPUs 3-4 go offline on a machine with CPUs 0-3");
        assert_eq!(refusal(&[span("1", 9, None)]), "CPUs 1 go offline at 9000 us, before 10000 us");
        assert_eq!(refusal(&[span("1", 20, Some(20))]), "CPUs 1 go offline from 20000 to 20000 us");
    }

    #[test]
    fn a_cpu_goes_offline_once_it_is_online() {
        let first = span("0-1", 20, Some(30));
        assert_eq!(refusal(&[first.clone(), span("1", 31, None)]), "none");
        assert_eq!(refusal(&[first.clone(), span("2", 25, None)]), "none");
        for (from, to) in [(30, None), (20, Some(40)), (10, None), (22, Some(23))] {
            let found = refusal(&[first.clone(), span("1-2", from, to)]);
            assert_eq!(found, "CPUs 1-2 go offline when 1 of them already are");
        }
    }

    #[test]
    fn one_cpu_stays_online() {
        assert_eq!(refusal(&[span("0-3", 20, Some(30))]), "CPUs 0-3 go offline when all others already are");
        let spans = [span("0-1", 20, Some(30)), span("2", 15, Some(25))];
        assert_eq!(refusal(&spans), "none");
        let more = |from| [spans.as_slice(), &[span("3", from, None)]].concat();
        assert_eq!(refusal(&more(12)), "CPUs 3 go offline when all others already are");
        assert_eq!(refusal(&more(25)), "CPUs 3 go offline when all others already are");
        assert_eq!(refusal(&more(26)), "none");
    }
}
