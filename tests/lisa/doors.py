"""Compares LISA 3.1.0's results for a trace.dat that the command wrote and for the frames of the same run in Python.

    tests/lisa/doors.py MACHINE WORKLOAD TRACE.dat

TRACE.dat is of WORKLOAD, a file of rt-app's, on MACHINE under `fair:v6.12` with schedutil, seed 1, with `--util-events
--rtapp-marks`. Every event must have the same columns, widths and rows; every analysis of LISA's must give the same
figures, or ask for the same event that we do not have. A line says how many of each; what differs is named, exit 1.
"""

import inspect
import logging
import sys
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import fairground
import numpy
import pandas
import renames
from fairground.lisa import frames, plat_info
from lisa.trace import MissingTraceEventError, MockTraceParser, TaskID, Trace

# What LISA says of each, by its name within `trace.ana`: arguments of one call. `task` and `cluster` are filled in.
CALLS = [
    ("tasks.cpus_of_tasks", {"tasks": ["task"]}),
    ("tasks.df_tasks_wakeups", {}),
    ("tasks.df_top_wakeup", {"min_wakeups": 10}),
    ("tasks.df_rt_tasks", {"min_prio": 200}),
    ("tasks.df_tasks_states", {}),
    ("tasks.df_task_states", {"task": "task"}),
    ("tasks.df_tasks_runtime", {}),
    ("tasks.df_task_total_residency", {"task": "task"}),
    ("tasks.df_tasks_total_residency", {}),
    ("tasks.df_task_activation", {"task": "task"}),
    ("latency.df_latency_wakeup", {"task": "task"}),
    ("latency.df_latency_preemption", {"task": "task"}),
    ("latency.df_activations", {"task": "task"}),
    ("latency.df_runtimes", {"task": "task"}),
    ("idle.df_cpus_idle", {}),
    ("idle.df_cpu_idle", {"cpu": 0}),
    ("idle.signal_cpu_active", {"cpu": 0}),
    ("idle.signal_cluster_active", {"cluster": "cluster"}),
    ("idle.df_cpus_wakeups", {}),
    ("idle.df_cpu_idle_state_residency", {"cpu": 0}),
    ("idle.df_cluster_idle_state_residency", {"cluster": "cluster"}),
    ("frequency.df_cpus_frequency", {}),
    ("frequency.df_cpu_frequency", {"cpu": 0}),
    ("frequency.df_cpu_frequency_residency", {"cpu": 0}),
    ("frequency.df_domain_frequency_residency", {"cpu": 0}),
    ("frequency.df_cpu_frequency_transitions", {"cpu": 0}),
    ("frequency.df_cpu_frequency_transition_rate", {"cpu": 0}),
    ("frequency.get_average_cpu_frequency", {"cpu": 0}),
    ("load_tracking.df_cpus_signal", {"signal": "util"}),
    ("load_tracking.df_cpus_signal", {"signal": "load"}),
    ("load_tracking.df_cpus_signal", {"signal": "enqueued"}),
    ("load_tracking.df_cpus_signal", {"signal": "capacity"}),
    ("load_tracking.df_tasks_signal", {"signal": "util"}),
    ("load_tracking.df_tasks_signal", {"signal": "load"}),
    ("load_tracking.df_tasks_signal", {"signal": "required_capacity"}),
    ("load_tracking.df_tasks_signal", {"signal": "enqueued"}),
    ("load_tracking.df_tasks_signal", {"signal": "ewma"}),
    ("load_tracking.df_task_signal", {"task": "task", "signal": "util"}),
    ("load_tracking.df_top_big_tasks", {"util_threshold": 100, "min_samples": 10}),
    ("status.df_overutilized", {}),
    ("rta.df_rtapp_main", {}),
    ("rta.df_rtapp_event", {}),
    ("rta.df_rtapp_task", {}),
    ("rta.df_rtapp_loop", {}),
    ("rta.df_rtapp_stats", {"task": "task"}),
    ("rta.df_phases", {"task": "task"}),
    ("rta.df_rtapp_phases_start", {}),
    ("rta.df_rtapp_phases_end", {}),
    ("rta.df_rtapp_phase_start", {"task": "task"}),
    ("rta.task_phase_windows", {"task": "task"}),
    ("cpus.df_context_switches", {}),
]

# Events that a run does not have. LISA's analyses of these fail.
LACKING = {"sched_cpu_capacity", "sched_overutilized", "userspace@rtapp_main", "userspace@rtapp_event"}


def comparable(values):
    """Strings as text, numbers unchanged."""
    return values.astype("str") if values.dtype.name in ("category", "string", "object") else values


def same_frame(ours, theirs, widths):
    """A description of the first difference; None if there is none."""
    if set(ours.columns) != set(theirs.columns):
        return f"columns {list(ours.columns)}, of trace.dat {list(theirs.columns)}"
    if len(ours) != len(theirs):
        return f"{len(ours)} rows, of trace.dat {len(theirs)}"
    if ours.index.dtype.kind == "f" and not numpy.allclose(ours.index, theirs.index, rtol=0, atol=1e-10):
        return "other times"
    for name in ours.columns:
        a, b = ours[name], theirs[name]
        if widths and a.dtype != b.dtype and a.dtype.name != "category":
            return f"{name} is {a.dtype}, of trace.dat {b.dtype}"
        a, b = comparable(a).to_numpy(), comparable(b).to_numpy()
        close = a.dtype.kind in "fiub" and b.dtype.kind in "fiub"
        equal = numpy.isclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True) if close else a == b
        if not equal.all():
            row = int(numpy.argmin(equal))
            return f"{name} of row {row} at {ours.index[row]} is {a[row]}, of trace.dat {b[row]}"
    return None


def same(ours, theirs, widths=False):
    """As :func:`same_frame`, for any result of LISA's."""
    if isinstance(ours, pandas.Series):
        return same_frame(ours.to_frame("value"), theirs.to_frame("value"), widths)
    if isinstance(ours, pandas.DataFrame):
        return same_frame(ours, theirs, widths)
    close = numpy.isclose(ours, theirs, rtol=1e-9) if isinstance(ours, float) else ours == theirs
    return None if close else f"{ours}, of trace.dat {theirs}"


def windows(phases):
    """Phases of a task, as a table."""
    return pandas.DataFrame([(phase.id, phase.start, phase.end) for phase in phases], columns=["id", "start", "end"])


def analysed(trace, name, arguments):
    """LISA's result, or the events that it misses."""
    analysis, call = name.split(".")
    try:
        answer = getattr(getattr(trace.ana, analysis), call)(**arguments)
        return windows(answer) if inspect.isgenerator(answer) else answer, set()
    except MissingTraceEventError as missing:
        return None, {event for event in LACKING if event in str(missing)} or {str(missing)}


def events_differ(ours, theirs):
    for event in sorted(ours):
        if event == "task_rename" or event.startswith("fairground_"):
            continue
        # LISA infers the types of events that it does not know from the values in the trace.
        is_mark = event.startswith("rtapp_")
        widths = not is_mark and event not in ("sched_process_exit", "sched_process_fork")
        if found := same(ours[event], theirs.df_event(f"userspace@{event}" if is_mark else event), widths):
            yield f"{event}: {found}"


def answers(trace, fill):
    return [analysed(trace, name, {key: fill(value) for key, value in given.items()}) for name, given in CALLS]


def answers_differ(ours, theirs, counts):
    for (name, arguments), (a, lacks), (b, also) in zip(CALLS, ours, theirs):
        shown = f"{name}({', '.join(map(str, arguments.values()))})"
        if lacks or also:
            counts["lack"] += 1
            if lacks != also or not lacks <= LACKING:
                yield f"{shown}: misses {lacks or 'nothing'}, of trace.dat {also or 'nothing'}"
        elif found := same(a, b):
            yield f"{shown}: {found}"
        else:
            counts["same"] += 1


def main():
    machine, workload, path = sys.argv[1:]
    kept = {"events": True, "util_events": True, "rtapp_marks": True}
    run = fairground.run(machine, workload, "fair:v6.12", governor="schedutil", **kept)
    info = plat_info(machine, release="6.12.117")
    made = frames(run)
    trace = Trace(parser=MockTraceParser(made), plat_info=info)
    first = made["sched_process_fork"].iloc[0]
    task, cluster = TaskID(pid=first.child_pid, comm=first.child_comm), info["freq-domains"][0]
    known = {"task": task, "cluster": cluster}

    def fill(value):
        return [task] if value == ["task"] else known.get(value, value) if isinstance(value, str) else value

    ours = answers(trace, fill)
    renames.allow_none()
    theirs = Trace(path, plat_info=info)
    counts = {"same": 0, "lack": 0}
    wrong = [*events_differ(made, theirs), *answers_differ(ours, answers(theirs, fill), counts)]
    print("doors:", counts["same"], "answers the same,", counts["lack"], "want events that a run does not have")
    for line in wrong:
        print("doors:", line)
    sys.exit(1 if wrong else 0)


main()
