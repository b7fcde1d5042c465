"""Runs and machines as objects of Arm's kit LISA (``lisa-linux`` 3.1.0), without a file between.

    from lisa.trace import MockTraceParser, Trace

    run = fg.run(machine, workload, sched, events=True, util_events=True, rtapp_marks=True)
    trace = Trace(parser=MockTraceParser(frames(run)), plat_info=plat_info(machine))
    trace.ana.tasks.df_tasks_runtime()

:func:`frames` needs pandas, :func:`platform` nothing, :func:`plat_info` and :func:`energy_model` need LISA.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, TypeAlias

from ._fairground import InputError, hardware

if TYPE_CHECKING:
    import pandas

    from ._fairground import Machine, Run

__all__ = ["energy_model", "frames", "plat_info", "platform"]

#: A machine as the compiled half describes it.
Board: TypeAlias = dict[str, Any]

# Types of fields in LISA's parsers, unless _WIDTHS_OF has another for an event.
_WIDTHS = {
    "__cpu": "uint32",
    "__pid": "uint32",
    "pid": "uint32",
    "prio": "int16",
    "target_cpu": "uint16",
    "orig_cpu": "uint16",
    "dest_cpu": "uint16",
    "success": "bool",
    "prev_pid": "uint32",
    "prev_prio": "int16",
    "prev_state": "uint16",
    "next_pid": "uint32",
    "next_prio": "int16",
    "cpu_id": "uint16",
    "cpu": "uint16",
    "load": "uint16",
    "util": "uint16",
    "rbl_load": "uint16",
    "update_time": "uint64",
    "enqueued": "uint16",
    "ewma": "uint16",
    "util_avg": "uint16",
    "uclamp_avg": "uint16",
    "uclamp_min": "uint16",
    "uclamp_max": "uint16",
}
_WIDTHS_OF = {
    "cpu_idle": {"state": "int64"},
    "cpu_frequency": {"state": "uint32"},
    "sched_pelt_se": {"pid": "int32"},
    "sched_util_est_se": {"pid": "int32"},
}

# Names of fields in the kernel's binary format, where our table has those of its text format.
_RENAMED = {"sched_process_fork": {"comm": "parent_comm", "pid": "parent_pid"}}

# Fields that LISA does not read.
_LEFT_OUT = {"sched_wakeup": ["success"]}

# Order of the events of one instant on a CPU: causes before effects. All others come last.
_ORDER = [
    "cpu_frequency",
    "sched_process_fork",
    "sched_process_exec",
    "cpu_idle",
    "sched_waking",
    "fairground_why",
    "fairground_decision",
    "sched_migrate_task",
    "sched_wakeup_new",
    "sched_wakeup",
    "sched_process_exit",
    "sched_switch",
]


def frames(run: Run) -> dict[str, pandas.DataFrame]:
    """The events of a run, as LISA's parsers return them.

    Parameters
    ----------
    run : Run
        A run of :func:`fairground.run` with ``events=True``; with ``util_events=True`` for load tracking, with
        ``rtapp_marks=True`` for the marks of rt-app's threads.

    Returns
    -------
    dict of str to pandas.DataFrame
        One frame for each kind of event. Index ``Time``, float64, seconds, rising and unique over all frames; columns
        ``__cpu``, ``__pid`` and ``__comm`` of the task that ran there, and the event's own. LISA finds
        ``userspace@rtapp_loop`` as ``rtapp_loop``. No task is renamed in a run: the frame ``task_rename``, which LISA
        needs, has one row that changes no name.

    Raises
    ------
    InputError
        The run has kept no events.
    """
    if not run.events:
        raise InputError("this run has kept no events: give fairground.run events=True")
    raw = {name: table.to_pandas() for name, table in sorted(run.events.items())}
    times = _times(raw)
    made = {name: _frame(name, frame, times[name]) for name, frame in raw.items()}
    return {**made, "task_rename": _no_renames(min(of[0] for of in times.values()))}


def platform(machine: Machine | str | dict[str, Any], *, hz: int = 250, release: str | None = None) -> dict[str, Any]:
    """The description of a board that LISA needs, as plain data: keys and shapes of its ``PlatformInfo``.

    Parameters
    ----------
    machine : str, dict or Machine
        As in :func:`fairground.run`.
    hz : int
        Ticks per second of its kernel.
    release : str, optional
        Output of ``uname -r`` on it, such as ``"6.12.117"``.

    Returns
    -------
    dict
        ``name``, ``os``, ``cpus-count``, ``numa-nodes-count``, ``cpu-capacities`` (of 1024), ``freq-domains``, ``freqs``
        (kHz, rising), ``rtapp`` (ns of one of its loops, which counts as 1 us of the largest CPU), ``kernel`` (``config``
        and ``version`` as text). Values that a machine file does not have, such as the instruction set, are left out.
    """
    board = hardware(machine)
    capacity = _capacities(board)
    kernel: dict[str, Any] = {"config": {"CONFIG_HZ": hz}}
    if release is not None:
        kernel["version"] = release
    return {
        "name": board["name"],
        "os": "linux",
        "cpus-count": len(capacity),
        "numa-nodes-count": board["nodes"],
        "cpu-capacities": {"writeable": False, "orig": capacity},
        "rtapp": {"calib": {cpu: 1000 * 1024 // of for cpu, of in capacity.items()}},
        "freq-domains": [domain["cpus"] for domain in board["freq_domains"]],
        "freqs": {cpu: [opp["khz"] for opp in _opps(board, cpu)] for cpu in capacity},
        "kernel": kernel,
    }


def plat_info(machine: Machine | str | dict[str, Any], *, hz: int = 250, release: str | None = None) -> Any:
    """:func:`platform` and :func:`energy_model` as LISA's own object.

    Returns
    -------
    lisa.platforms.platinfo.PlatformInfo
    """
    _lisa()
    from devlib.target import KernelVersion, TypedKernelConfig
    from lisa.platforms.platinfo import PlatformInfo

    conf = platform(machine, hz=hz, release=release)
    config = "".join(f"{key}={value}\n" for key, value in conf["kernel"]["config"].items())
    conf["kernel"]["config"] = TypedKernelConfig.from_str(config)
    if "version" in conf["kernel"]:
        conf["kernel"]["version"] = KernelVersion(conf["kernel"]["version"])
    return PlatformInfo(conf={**conf, "nrg-model": energy_model(machine)})


def energy_model(machine: Machine | str | dict[str, Any]) -> Any:
    """The machine's powers as LISA estimates energy: CPUs and their clusters by operating point, and idle states.

    It has no costs of transitions, no heat, and no static power of supplies.

    Returns
    -------
    lisa.energy_model.EnergyModel
        Powers in mW.
    """
    _lisa()
    from lisa.energy_model import EnergyModel, EnergyModelRoot, PowerDomain

    board = hardware(machine)
    clusters = board["clusters"]
    return EnergyModel(
        root_node=EnergyModelRoot(children=[_cluster_node(board, cluster) for cluster in clusters]),
        root_power_domain=PowerDomain(idle_states=[], children=[_power_domain(board, c["cpus"]) for c in clusters]),
        freq_domains=[domain["cpus"] for domain in board["freq_domains"]],
    )


def _lisa() -> None:
    try:
        import lisa  # noqa: F401
    except ImportError:
        raise ImportError("this needs LISA: install lisa-linux, release 3.1.0") from None


def _times(by_event: dict[str, pandas.DataFrame]) -> dict[str, Any]:
    """Times of each event in s, in the order of its rows. Rows of the same ns are ordered by CPU, as trace-cmd does.
    Each of them is later than the one before by the smallest step of a float.
    """
    import numpy

    names = sorted(by_event, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))
    lengths = [len(by_event[name]) for name in names]
    times = numpy.concatenate([by_event[name]["time_ns"] for name in names])
    order = numpy.lexsort((numpy.concatenate([by_event[name]["__cpu"] for name in names]), times))
    ordered = times[order]
    place = numpy.arange(len(ordered))
    first = numpy.maximum.accumulate(numpy.where(numpy.diff(ordered, prepend=-1) != 0, place, 0))
    seconds = ordered / 1e9
    unique = numpy.empty(len(ordered))
    unique[order] = seconds + (place - first) * numpy.spacing(seconds)
    return dict(zip(names, numpy.split(unique, numpy.cumsum(lengths)[:-1]), strict=True))


def _frame(event: str, raw: pandas.DataFrame, times: Any) -> pandas.DataFrame:
    import pandas

    widths = {**_WIDTHS, **_WIDTHS_OF.get(event, {})}
    columns = {name: _fitting(raw[name], widths.get(name)) for name in raw.columns if name != "time_ns"}
    # The idle task ran there: trace-cmd's name for it.
    idle = columns["__pid"] == 0
    columns["__comm"] = columns["__comm"].astype("object").mask(idle, "<idle>").astype("category")
    frame = pandas.DataFrame(columns).rename(columns=_RENAMED.get(event, {}))
    frame.index = pandas.Index(times, name="Time")
    return frame.sort_index().drop(columns=_LEFT_OUT.get(event, []))


def _fitting(column: pandas.Series, width: str | None) -> pandas.Series:
    """The column in LISA's type, unless a value does not fit, for example the load of a thread of nice -20."""
    if width is None:
        return column
    narrow = column.astype(width)
    return narrow if width == "bool" or (narrow == column).all() else column


def _no_renames(start: float) -> pandas.DataFrame:
    """LISA needs ``task_rename``, and fails without a row of it. In this row the idle task keeps its name."""
    import pandas

    row = {"__cpu": 0, "__pid": 0, "__comm": "<idle>", "pid": 0, "oldcomm": "swapper/0", "newcomm": "swapper/0"}
    frame = pandas.DataFrame(row, index=pandas.Index([start], name="Time"))
    return frame.astype({name: "category" if isinstance(value, str) else "uint32" for name, value in row.items()})


def _capacities(board: Board) -> dict[int, int]:
    return {number: cpu["capacity"] for number, cpu in enumerate(board["cpus"])}


def _opps(board: Board, cpu: int) -> list[dict[str, Any]]:
    opps: list[dict[str, Any]] = board["freq_domains"][board["cpus"][cpu]["freq_domain"]]["opps"]
    return opps


def _idle_states(board: Board, cpu: int) -> list[dict[str, Any]]:
    states: list[dict[str, Any]] = board["idle_states"][board["cpus"][cpu]["type"]]
    return states


def _cpu_node(board: Board, cpu: int) -> Any:
    from lisa.energy_model import ActiveState, EnergyModelNode

    opps, capacity = _opps(board, cpu), board["cpus"][cpu]["capacity"]
    top = opps[-1]["khz"]
    active = [(opp["khz"], ActiveState(capacity=capacity * opp["khz"] // top, power=opp["mw"])) for opp in opps]
    idle = [(state["name"], state["mw"]) for state in _idle_states(board, cpu)]
    return EnergyModelNode(cpu=cpu, active_states=OrderedDict(active), idle_states=OrderedDict(idle))


def _cluster_node(board: Board, cluster: dict[str, Any]) -> Any:
    from lisa.energy_model import ActiveState, EnergyModelNode

    first = cluster["cpus"][0]
    active = [(opp["khz"], ActiveState(power=cluster["active"])) for opp in _opps(board, first)]
    idle = [(s["name"], cluster["idle"] if s["cluster"] else cluster["active"]) for s in _idle_states(board, first)]
    children = [_cpu_node(board, cpu) for cpu in cluster["cpus"]]
    return EnergyModelNode(active_states=OrderedDict(active), idle_states=OrderedDict(idle), children=children)


def _power_domain(board: Board, cpus: list[int]) -> Any:
    from lisa.energy_model import PowerDomain

    def names(cpu: int, cluster: bool) -> list[str]:
        return [state["name"] for state in _idle_states(board, cpu) if state["cluster"] == cluster]

    leaves = [PowerDomain(cpu=cpu, idle_states=names(cpu, False)) for cpu in cpus]
    return PowerDomain(idle_states=names(cpus[0], True), children=leaves)
