//! The tools that built-ins repeat, and rt-app: their command lines, and where their figures stand in what they print.

use fairground_machine::Machine;

use super::{hackbench, Builtin};
use crate::error::WorkloadError;
use crate::options::Options;
use crate::program::{Object, Op, Workload};

/// The tools, by the names of their programs.
pub const TOOLS: [&str; 3] = ["perf", "hackbench", RT_APP];

/// The tool whose files [`Workload::from_file_content`] reads.
const RT_APP: &str = "rt-app";

/// A tool with its arguments, which does what a built-in with its options does, or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    /// Name of the program.
    pub program: &'static str,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// What it prints; `None`: no figure.
    pub figure: Option<ToolFigure>,
    /// Operations that it does: its loops; 0 without a figure.
    pub ops: u64,
}

/// The figure that a tool prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolFigure {
    /// Time of an operation, us, before the word `usecs/op`.
    UsPerOp,
    /// Time of all, s, behind `Total time:` or `Time:`.
    Seconds,
}

impl Original {
    /// What runs the file at `path`, which was read as `workload`, as rt-app does; `None` if `tool` is another, or if the file has
    /// words that rt-app does not know and that change what its threads do.
    pub fn of_file(path: &str, workload: &Workload, tool: &str) -> Option<Original> {
        let is_ours = |object: &Object| matches!(object, Object::Pipe { .. } | Object::Socket { .. });
        let is_step_of_ours = |op: &Op| matches!(op, Op::Exec | Op::WaitChild | Op::WaitChildren);
        let mut steps = workload.tasks.iter().flat_map(|task| task.program.iter());
        let several = workload.start.iter().any(|start| start.process != workload.start[0].process);
        let knows = !several && !workload.objects.iter().any(is_ours) && !steps.any(is_step_of_ours);
        let arguments = vec![path.to_owned()];
        (tool == RT_APP && knows).then_some(Original { program: RT_APP, arguments, figure: None, ops: 0 })
    }
}

impl Builtin {
    /// What `tool`, one of [`TOOLS`], is to be called with to do what this built-in does with `options`; `None` if it
    /// cannot do that. Where the tool creates its first task is left to whoever runs it.
    ///
    /// # Errors
    /// If the options are not valid.
    pub fn original(&self, options: &str, tool: &str, machine: &Machine) -> Result<Option<Original>, WorkloadError> {
        let options = Options::parse(self.name, self.options, options, machine, None)?;
        Ok(match (self.name, tool) {
            ("sched-pipe", "perf") => Some(sched_pipe(&options)),
            ("messaging", "perf") => Some(messaging(&options)),
            ("hackbench", "perf") if hackbench::is_as_messaging(&options) => Some(messaging(&options)),
            ("hackbench", "hackbench") => Some(hackbench_tool(&options)),
            _ => None,
        })
    }
}

fn sched_pipe(options: &Options) -> Original {
    let loops = options.int("loops");
    let mut arguments = words(&["bench", "sched", "pipe", "-l", &loops.to_string()]);
    arguments.extend(options.is_given("threads").then(|| "-T".into()));
    Original { program: "perf", arguments, figure: Some(ToolFigure::UsPerOp), ops: loops as u64 }
}

fn messaging(options: &Options) -> Original {
    let (groups, loops) = (options.int("groups"), options.int("loops") / options.int("scale"));
    let mut arguments = words(&["bench", "sched", "messaging", "-g", &groups.to_string(), "-l", &loops.to_string()]);
    arguments.extend(options.is_given("pipe").then(|| "-p".into()));
    arguments.extend(options.is_given("threads").then(|| "-t".into()));
    Original { program: "perf", arguments, figure: Some(ToolFigure::Seconds), ops: loops as u64 }
}

fn hackbench_tool(options: &Options) -> Original {
    let loops = options.int("loops") / options.int("scale");
    let mut arguments = Vec::new();
    for (flag, value) in
        [("-g", options.int("groups")), ("-l", loops), ("-s", options.int("bytes")), ("-f", options.int("fds"))]
    {
        arguments.extend([flag.to_owned(), value.to_string()]);
    }
    arguments.extend(options.is_given("pipe").then(|| "-p".into()));
    arguments.push(if options.is_given("threads") { "-T" } else { "-P" }.into());
    Original { program: "hackbench", arguments, figure: Some(ToolFigure::Seconds), ops: loops as u64 }
}

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|word| (*word).to_owned()).collect()
}

impl ToolFigure {
    /// The figure in what the tool printed, as ns of all `ops`; `None` if it is not there.
    pub fn ns(self, printed: &str, ops: u64) -> Option<u64> {
        let words: Vec<&str> = printed.split_whitespace().collect();
        let number = match self {
            ToolFigure::UsPerOp => words.windows(2).find(|pair| pair[1] == "usecs/op")?[0],
            ToolFigure::Seconds => words.windows(2).find(|pair| ["time:", "Time:"].contains(&pair[0]))?[1],
        };
        let number: f64 = number.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0)?;
        Some(match self {
            ToolFigure::UsPerOp => (number * 1e3 * ops as f64).round() as u64,
            ToolFigure::Seconds => (number * 1e9).round() as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::small_machine;

    fn command(spec: &str, tool: &str) -> Option<String> {
        let (name, options) = spec.split_once(':').unwrap_or((spec, ""));
        let original = Builtin::by_name(name).unwrap().original(options, tool, &small_machine(4)).unwrap();
        original.map(|o| format!("{} {}", o.program, o.arguments.join(" ")))
    }

    #[test]
    fn tools_are_called_with_the_options_of_the_built_in() {
        for (spec, tool, expected) in [
            ("sched-pipe:loops=5,threads", "perf", Some("perf bench sched pipe -l 5 -T")),
            ("messaging:groups=2,loops=40,scale=1/4,pipe", "perf", Some("perf bench sched messaging -g 2 -l 10 -p")),
            ("hackbench:groups=3", "perf", Some("perf bench sched messaging -g 3 -l 100")),
            ("hackbench:bytes=8,threads", "hackbench", Some("hackbench -g 10 -l 100 -s 8 -f 20 -T")),
            ("hackbench:bytes=8", "perf", None),
            ("schbench", "perf", None),
        ] {
            assert_eq!(command(spec, tool).as_deref(), expected, "{spec} {tool}");
        }
    }

    #[test]
    fn files_in_its_own_words_are_run_by_rt_app() {
        let of = |tasks: &str, tool: &str| {
            let text = format!(r#"{{ "tasks": {{ {tasks} }} }}"#);
            let read = Workload::from_file_content("a.json", "", text.as_bytes(), &small_machine(4));
            Original::of_file("dir/a.json", &read.unwrap().0, tool)
        };
        let own = r#""t": { "loop": 2, "stamp": "s", "run": 10, "sample": { "ref": "s" }, "fork": "u" }, "u": { "instance": 0, "loop": 1, "run": 1 }"#;
        let arguments = vec!["dir/a.json".into()];
        assert_eq!(of(own, "rt-app"), Some(Original { program: "rt-app", arguments, figure: None, ops: 0 }));
        assert_eq!(of(own, "perf"), None);
        for ours in [
            r#""t": { "loop": 1, "pipe_write": { "ref": "p", "bytes": 1 }, "pipe_read": { "ref": "p", "bytes": 1 } }"#,
            r#""t": { "process": "p", "loop": 1, "run": 1 }, "u": { "loop": 1, "run": 1 }"#,
            r#""t": { "process": "p", "loop": 1, "execve": 1 }"#,
        ] {
            assert_eq!(of(ours, "rt-app"), None, "{ours}");
        }
    }

    #[test]
    fn figures_are_found_in_what_tools_print() {
        let pipe =
            "# Executed 1000 pipe operations\n\n Total time: 0.003 [sec]\n\n  3.595000 usecs/op\n  278164 ops/sec\n";
        assert_eq!(ToolFigure::UsPerOp.ns(pipe, 1000), Some(3_595_000));
        assert_eq!(ToolFigure::Seconds.ns("     Total time: 0.162 [sec]\n", 7), Some(162_000_000));
        assert_eq!(ToolFigure::Seconds.ns("Running in process mode\nTime: 1.5\n", 7), Some(1_500_000_000));
        for bad in ["", "Time:", "Time: x", "Time: -1", "Time: inf"] {
            assert_eq!(ToolFigure::Seconds.ns(bad, 1), None, "{bad}");
        }
    }
}
