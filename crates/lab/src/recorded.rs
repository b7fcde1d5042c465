//! The settings of a recorded run, from the head of one of our traces.

use fairground_fair::Features;
use fairground_run::run_config::RunConfig;
use fairground_trace::RunHead;

/// The scheduler that ran, if the trace names one of ours, else that of the newest release.
pub fn recorded_sched(head: &RunHead) -> String {
    let ours = head.meta("sched").filter(|sched| sched.starts_with("fair:"));
    Features::full_name(ours.unwrap_or("fair:")).into_owned()
}

/// The tick rate, the governors, the limit of idle states and the draw of the run; the defaults where the trace does not state them.
pub fn recorded_config(head: &RunHead) -> RunConfig {
    let mut config = RunConfig::default();
    let noted = [
        ("hz: ", "hz"),
        ("governor: ", "governor"),
        ("idle governor: ", "idle_governor"),
        ("idle limit: ", "idle_limit"),
        ("draw: ", "draw"),
    ];
    for (note, setting) in noted {
        // A head that was edited may have any text.
        let _ = head.note(note).map(|text| config.set_text(setting, text));
    }
    config
}

#[cfg(test)]
mod tests {
    use fairground_run::run_config::notes;
    use fairground_sim::{Config, Governor, IdleGovernor};
    use fairground_trace::Reader;

    use super::*;

    fn head(meta: &str, notes: &[String]) -> RunHead {
        let line =
            |text: String| format!("          <...>-0     [000] .....     0.000000: tracing_mark_write: {text}\n");
        let notes = notes.iter().map(|note| line(format!("fairground_note: {note}")));
        let text: String = std::iter::once(line(format!("fairground_meta: {meta}"))).chain(notes).collect();
        RunHead::read(&mut Reader::new("trace", text.as_bytes())).unwrap()
    }

    #[test]
    fn the_settings_of_a_run_are_read_as_its_notes_say_them() {
        let governor = Governor::Userspace("0-3=999MHz,4-7=1421MHz".parse().unwrap());
        let idle = IdleGovernor::Teo;
        let config = Config { hz: 1000, governor, idle, latency_limit_ns: 12_500, draw: 7, ..Config::default() };
        let head = head("sched=fair:v5.11", &notes(&config));
        assert_eq!(recorded_sched(&head), "fair:v5.11");
        let read = recorded_config(&head);
        assert_eq!((read.hz, read.governor, read.idle), (Some(1000), config.governor, config.idle));
        assert_eq!((read.idle_limit_ns, read.draw), (Some(12_500), 7));
    }

    #[test]
    fn what_a_head_does_not_say_is_as_by_default() {
        let head = head("sched=linux:mine", &["governor: ondemand".into()]);
        assert_eq!(recorded_sched(&head), Features::newest().to_string());
        let (read, default) = (recorded_config(&head), RunConfig::default());
        assert_eq!((read.hz, read.governor, read.idle), (default.hz, default.governor, default.idle));
    }
}
