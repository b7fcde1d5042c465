"""A proving ground for the task placement of Linux's fair scheduler.

Name a machine you may not own, a workload, and two schedulers:

>>> import fairground as fg
>>> comparison = fg.compare("hikey960", "sched-pipe:loops=1000,threads", "fair:v5.9", "fair:v5.9+asym-prev-first", seeds=2)
>>> comparison.table.to_pandas().query("metric == 'ops_per_sec'").improvement_pct.iloc[0] > 0
True

Machines, workloads and schedulers are what the ``fairground`` command takes: names, files, or dicts with the same keys
and the same messages. Results are :class:`Table`, which pyarrow and polars take without a copy, and pandas too.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from ._fairground import (
    Comparison,
    Counterfactual,
    Difference,
    Explanation,
    InputError,
    Machine,
    PickExplanation,
    Reproduction,
    Run,
    RunFailed,
    Table,
    Workload,
    __commit__,
    __version__,
    feature_diff,
    features,
    machines,
    presets,
)
from ._fairground import compare as _compare
from ._fairground import explain_difference as _explain_difference
from ._fairground import explain_picks as _explain_picks
from ._fairground import explain_placements as _explain_placements
from ._fairground import reproduce_rows as _reproduce_rows
from ._fairground import run as _run
from ._fairground import what_if as _what_if
from .kernel import kernel_build, kernels

if TYPE_CHECKING:
    from ._fairground import _Events, _Options, _ReproduceOptions
    from .sweeps import Experiment
    from .sweeps.sweep import Sweep, sweep

__all__ = [
    "Comparison",
    "Counterfactual",
    "Difference",
    "Experiment",
    "Explanation",
    "InputError",
    "Machine",
    "PickExplanation",
    "Reproduction",
    "Run",
    "RunFailed",
    "Sweep",
    "Table",
    "Workload",
    "__commit__",
    "__version__",
    "compare",
    "diff",
    "explain",
    "explain_picks",
    "feature_diff",
    "features",
    "kernel_build",
    "kernels",
    "machines",
    "presets",
    "reproduce",
    "run",
    "sweep",
    "whatif",
]

GovernorName = Literal["performance", "powersave", "schedutil"]
IdleGovernorName = Literal["menu", "teo"]


def __getattr__(name: str) -> Any:
    """Load sweeps at their first use: they import pyarrow, which takes longer than many a run."""
    if name == "Experiment":
        from .sweeps import Experiment

        return Experiment
    if name in ("Sweep", "sweep"):
        from .sweeps import sweep as sweeping

        return getattr(sweeping, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _options(
    hz: int | None,
    governor: str,
    idle_governor: str,
    idle_limit: float | None,
    sysctl: dict[str, int] | None,
    ambient: float | None,
    draw: int,
) -> _Options:
    return {
        "hz": hz,
        "governor": governor,
        "idle_governor": idle_governor,
        "idle_limit": idle_limit,
        "sysctl": dict(sysctl or {}),
        "ambient": ambient,
        "draw": draw,
    }


def run(
    machine: str | dict[str, Any] | Machine,
    workload: str | dict[str, Any] | Workload,
    sched: str,
    *,
    seed: int = 1,
    events: bool = False,
    why: bool = False,
    util_events: bool = False,
    rtapp_marks: bool = False,
    hz: int | None = None,
    governor: str = "performance",
    idle_governor: IdleGovernorName = "menu",
    idle_limit: float | None = None,
    sysctl: dict[str, int] | None = None,
    ambient: float | None = None,
    draw: int = 0,
) -> Run:
    """Run one scheduler once.

    Parameters
    ----------
    machine : str, dict or Machine
        A preset (``"pixel6"``, ``"kunpeng920@node0"``), a machine file, or a dict with the keys of one.
    workload : str, dict or Workload
        A built-in with options (``"hackbench:groups=4"``), an rt-app file, or a dict with the keys of one.
    sched : str
        ``"fair:PRESET+feature-feature"`` or ``"linux:NAME"``.
    seed : int
        Seed of all random draws, 0 to 2**64 - 1.
    events : bool
        Keep the events of the run: ``Run.events``, ``Run.tasks``, ``Run.cpus``, ``Run.idle_states``,
        ``Run.frequencies``, and :func:`explain`. They are held in memory, some 100 bytes each.
    why : bool
        Keep the reasons of every placement too, as the event ``fairground_why``. A kernel gives no reasons: under a
        kernel they are those of our policy, which decides beside it.
    hz : int, optional
        Ticks per second: 100, 250, 300 or 1000. Default: a kernel's own, else 250.
    governor : {"performance", "powersave", "schedutil"} or str
        Frequency governor; ``"userspace:1421MHz"`` and ``"userspace:0-3=999MHz,4-7=1421MHz"`` hold clocks.
    idle_governor : {"menu", "teo"}
        Idle governor.
    idle_limit : float, optional
        Idle states with a longer exit latency than this, microseconds, are off. Default: all are on.
    sysctl : dict of str to int, optional
        Limits of utilization clamps, 0 to 1024, by the names of their files.
    ambient : float, optional
        Ambient temperature, degrees Celsius. Default: that of the machine file.
    draw : int
        Draw of the figures in doubt of machine and workload, 0 to 2**64 - 1; 0: as they are stated. The same number is
        the same draw everywhere.

    Returns
    -------
    Run
        Its figures by name (``run["ops_per_sec"]``), as a table (``run.metrics``), and its events.

    Raises
    ------
    InputError
        An argument is invalid, or does not fit the others; also a ``ValueError``.
    RunFailed
        The run began and failed.
    """
    options = _options(hz, governor, idle_governor, idle_limit, sysctl, ambient, draw)
    more: _Events = {"why": bool(why), "util_events": bool(util_events), "rtapp_marks": bool(rtapp_marks)}
    kept = more if events or any(more.values()) else None
    return _run(machine, workload, sched, seed, kept, options)


def compare(
    machine: str | dict[str, Any] | Machine,
    workload: str | dict[str, Any] | Workload,
    base: str,
    test: str | list[str],
    *,
    sched: str | None = None,
    metrics: str = "all",
    seeds: int = 8,
    doubt: int = 0,
    screen: bool = False,
    jobs: int | None = None,
    store: bool | str | PathLike[str] | None = True,
    hz: int | None = None,
    governor: str = "performance",
    idle_governor: IdleGovernorName = "menu",
    idle_limit: float | None = None,
    sysctl: dict[str, int] | None = None,
    ambient: float | None = None,
    draw: int = 0,
) -> Comparison:
    """Compare two sides, paired over seeds 1 to ``seeds``: schedulers, workloads, machines, governors, sysctls.

    Parameters
    ----------
    base : str
        What to compare with: one setting or several with spaces between, each a scheduler or ``NAME=VALUE`` with
        ``machine``, ``workload``, ``sched``, ``hz``, ``governor``, ``idle_governor``, ``idle_limit``, ``ambient``, ``draw``
        or a limit of clamps (``"fair:v5.9"``, ``"fair:v6.12 governor=schedutil"``). The arguments of this function set the rest.
    test : str or list of str
        One side or several to compare with the base, in the form of ``base``.
    sched : str, optional
        Scheduler of the sides that do not name one.
    metrics : str
        ``"all"``, ``"usual"`` for those that the command shows, or names with commas between. The more metrics are
        judged together, the stronger the evidence that each needs: the command, with its usual ones, may judge otherwise.
    seeds : int
        Pairs of runs.
    doubt : int
        Draws of the figures in doubt on which both sides are run too, each with a seed of its own; 19 at least for a 90 %
        interval. The command takes 20 unless it is told otherwise.
    screen : bool
        Run both sides on some hundred draws more, a twentieth as long, and say which figures carry the doubt of the first
        metric: ``Comparison.doubt``. A workload that is no name of a built-in runs as it is.
    jobs : int, optional
        Threads to run on; results do not depend on it. Default: one for each CPU.
    store : bool or path, optional
        Directory in which results of runs are stored, and from which stored results are read (that of a sweep, for
        example); or ``True`` for the one that ``fairground compare`` uses. ``False`` or ``None`` stores nothing.

    The other parameters are those of :func:`run`. ``Comparison.failures`` lists the runs that fail; the others go on.

    Returns
    -------
    Comparison
        ``str(comparison)`` is what the command prints; ``comparison.table`` and ``comparison.runs`` are tables.
    """
    tests = [test] if isinstance(test, str) else list(test)
    options = _options(hz, governor, idle_governor, idle_limit, sysctl, ambient, draw)
    where = False if store is None else store
    return _compare(machine, workload, [base, *tests], sched, metrics, seeds, doubt, screen, jobs or 0, where, options)


def reproduce(
    mail: str = "all",
    *,
    rows: str | list[str] | None = None,
    seeds: int | None = None,
    doubt: int = 0,
    quick: bool = False,
    full_length: bool = False,
    attribute_costs: bool = False,
    each_feature: bool = False,
    jobs: int | None = None,
    store: bool | str | PathLike[str] | None = True,
) -> Reproduction:
    """Run published rows and compare our values with theirs.

    Parameters
    ----------
    mail : str
        ``"asym-prev-first"``, ``"break-even"``, ``"lb-rework"``, ``"misfit-unlink"``, ``"cluster-level"`` or ``"all"``; the numbers
        ``"000"`` to ``"004"`` work too.
    rows : str or list of str, optional
        Only the rows with one of these in their ids, e.g. ``"hackbench"``.
    seeds : int, optional
        Pairs of runs per row; rows are scored from 8 on. Default: 8, or as many as a row needs.
    doubt : int
        Draws of the figures in doubt on which both sides of each row are run too, each with a seed of its own; 19 at least
        for a 90 % interval.
    quick : bool
        A first look: 3 seeds, a quarter of each row's length; nothing is scored.
    full_length : bool
        Every row at the mail's own length; some are shortened otherwise.
    attribute_costs : bool
        Also attribute each row's change to cost terms, by runs with each term switched off.
    each_feature : bool
        Also split each row's change by the features between base and test.
    jobs : int, optional
        Threads to run on; results do not depend on it. Default: one for each CPU.
    store : bool or path, optional
        Directory in which results of runs are stored, and from which stored results are read; or ``True`` for the one
        that ``fairground reproduce`` uses. ``False`` or ``None`` stores nothing. An interrupt loses the runs in
        progress.

    Returns
    -------
    Reproduction
        ``str(reproduction)`` is what the command prints; ``reproduction.table`` has one row for each published row.
    """
    options: _ReproduceOptions = {
        "mail": mail,
        "rows": [rows] if isinstance(rows, str) else list(rows or []),
        "seeds": seeds,
        "doubt": doubt,
        "quick": quick,
        "full_length": full_length,
        "attribute_costs": attribute_costs,
        "each_feature": each_feature,
    }
    return _reproduce_rows(options, jobs or 0, False if store is None else store)


def explain(
    run: Run | str | PathLike[str],
    task: str | None = None,
    at: float | None = None,
    cpu: int | None = None,
) -> Explanation:
    """Explain placements: the rule that decided each, and its reasons.

    Parameters
    ----------
    run : Run or path
        A run with its events (``events=True``, or ``why=True`` for reasons), or a trace of ``fairground run``.
    task : str, optional
        Only placements of this task: its name, pid, or ``name-pid``.
    at : float, optional
        Only the first placement at this time or after it, seconds.
    cpu : int, optional
        Only placements onto this CPU.

    Returns
    -------
    Explanation
        ``str(explanation)`` is what the command prints; ``explanation.decisions`` has one row for each placement,
        ``explanation.reasons`` one for each look that led to it.
    """
    return _explain_placements(run, task, None if at is None else round(at * 1e9), cpu)


def explain_picks(
    run: Run | str | PathLike[str],
    task: str | None = None,
    at: float | None = None,
    cpu: int | None = None,
) -> PickExplanation:
    """Explain picks: why fair tasks run, preempt or wait, or have to leave the CPU.

    Parameters
    ----------
    run : Run or path
        A run with reasons (``why=True``), or a trace of ``fairground run --why``.
    task : str, optional
        Only picks of this task: its name, pid, or ``name-pid``.
    at : float, optional
        Only the first pick at this time or after it, seconds.
    cpu : int, optional
        Only picks on this CPU.

    Returns
    -------
    PickExplanation
        ``str(explanation)`` is what ``fairground explain --picks`` prints; ``explanation.picks`` has one row for each pick,
        with lag, deadline and protection of the task and of the current one, ``explanation.rules`` counts by rule.
    """
    return _explain_picks(run, task, None if at is None else round(at * 1e9), cpu)


def whatif(
    trace: str | PathLike[str],
    sched: str | None = None,
    *,
    machine: str | dict[str, Any] | Machine | None = None,
    governor: GovernorName | None = None,
    hz: int | None = None,
    task: str | None = None,
    at: float | None = None,
    cpu: int | None = None,
    nth: int | None = None,
) -> Counterfactual:
    """For each wakeup of a trace, compute where a scheduler would have put the task, and how sure that is.

    Parameters
    ----------
    trace : path
        Any trace with ``sched_switch``, ``sched_waking`` and ``sched_wakeup``, a kernel's or one of ``fairground run``.
    sched : str, optional
        ``fair:...``. Without: the scheduler that ran, if the trace says so and it was ours, else the newest release.
    machine : str, dict or Machine, optional
        The machine that was recorded. Without: as the trace says, if it is ours.
    governor : str, optional
        What set the clocks. Without: as the trace says, if it is ours, else ``performance``.
    hz : int, optional
        Ticks per second of the recorded kernel. Without: as the trace says, if it is ours, else 250.
    task : str, optional
        Only wakeups of this task, each in a row: its name, pid, or ``name-pid``.
    at : float, optional
        Only the first wakeup at this time or after it, seconds, with its reasons.
    cpu : int, optional
        Only wakeups that the scheduler would have put onto this CPU.
    nth : int, optional
        Only the n-th of these wakeups, counted from 1, with its reasons.

    Returns
    -------
    Counterfactual
        ``str(counterfactual)`` is what the command prints; ``counterfactual.rules`` has one row for each rule,
        ``counterfactual.wakeups`` one for each wakeup of a task.
    """
    schedutil = None if governor is None else governor == "schedutil"
    return _what_if(trace, machine, sched, schedutil, hz, task, None if at is None else round(at * 1e9), cpu, nth)


def diff(base: Run | str | PathLike[str], test: Run | str | PathLike[str]) -> Difference:
    """Compare the placements of two runs: the same task's n-th wakeup, fork or exec in each.

    Parameters
    ----------
    base, test : Run or path
        As in :func:`explain`.

    Returns
    -------
    Difference
        ``str(difference)`` is what the command prints; ``difference.rules`` has the shift of decisions by rule,
        ``difference.first`` the first pair that chooses different CPUs. ``difference.pick_rules`` and
        ``difference.first_pick`` are the same of picks; ``difference.left`` has the values that two kernels first leave
        otherwise.
    """
    return _explain_difference(base, test)
