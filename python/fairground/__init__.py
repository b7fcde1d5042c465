"""A proving ground for the task placement of Linux's fair scheduler.

Name a machine you may not own, a workload, and two schedulers:

>>> import fairground as fg
>>> comparison = fg.compare("hikey960", "sched-pipe:loops=1000,threads", "fair:v5.9", "fair:v5.9+asym-prev-first", seeds=2)
>>> comparison.table.to_pandas().query("metric == 'ops_per_sec'").improvement_pct.iloc[0] > 0
True

Machines, workloads and schedulers are what the ``fairground`` command takes: names, files, or dicts with the same keys
and the same messages. Results are :class:`Table`, which pyarrow and polars take without a copy, and pandas too.
"""

from ._fairground import (
    Comparison,
    InputError,
    Machine,
    Run,
    RunFailed,
    Table,
    Workload,
    __version__,
    features,
    machines,
    presets,
)
from ._fairground import compare as _compare
from ._fairground import run as _run

__all__ = [
    "Comparison",
    "InputError",
    "Machine",
    "Run",
    "RunFailed",
    "Table",
    "Workload",
    "__version__",
    "compare",
    "features",
    "machines",
    "presets",
    "run",
]


def _options(hz, governor, idle_governor, sysctl, ambient):
    return {
        "hz": hz,
        "governor": governor,
        "idle_governor": idle_governor,
        "sysctl": dict(sysctl or {}),
        "ambient": ambient,
    }


def run(
    machine,
    workload,
    sched,
    *,
    seed=1,
    events=False,
    why=False,
    util_events=False,
    rtapp_marks=False,
    hz=None,
    governor="performance",
    idle_governor="menu",
    sysctl=None,
    ambient=None,
):
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
        Of all random draws, 0 to 2**64 - 1.
    events : bool
        Keep the events of the run: ``Run.events``.
    why : bool
        With the reasons of every placement among them, as the event ``fairground_why``.
    util_events : bool
        With what load tracking says of tasks and CPUs among them, as LISA's events ``sched_pelt_se`` and ``sched_pelt_cfs``.
    rtapp_marks : bool
        With what the threads of an rt-app file say among them: ``rtapp_task``, ``rtapp_loop``, ``rtapp_stats``.
    hz : int, optional
        Ticks per second: 100, 250, 300 or 1000. Default: a kernel's own, else 250.
    governor : {"performance", "powersave", "schedutil"}
        Who chooses frequencies.
    idle_governor : {"menu", "teo"}
        Who chooses idle states.
    sysctl : dict of str to int, optional
        Limits of utilization clamps, 0 to 1024, by the names of their files.
    ambient : float, optional
        Temperature around the machine, degrees Celsius. Default: the machine file's.

    Returns
    -------
    Run
        Its figures by name (``run["ops_per_sec"]``), as a table (``run.metrics``), and its events.

    Raises
    ------
    InputError
        Something given is not understood or does not fit; also a ``ValueError``.
    RunFailed
        The run began and failed.
    """
    options = _options(hz, governor, idle_governor, sysctl, ambient)
    more = {"why": bool(why), "util_events": bool(util_events), "rtapp_marks": bool(rtapp_marks)}
    kept = more if events or any(more.values()) else None
    return _run(machine, workload, sched, seed, kept, options)


def compare(
    machine,
    workload,
    base,
    test,
    *,
    seeds=8,
    jobs=None,
    hz=None,
    governor="performance",
    idle_governor="menu",
    sysctl=None,
    ambient=None,
):
    """Compare schedulers on a machine under a workload, paired over seeds 1 to ``seeds``.

    Parameters
    ----------
    base : str
        Scheduler to compare against.
    test : str or list of str
        Schedulers under test.
    seeds : int
        Pairs of runs.
    jobs : int, optional
        Threads to run on; results do not depend on it. Default: one for each CPU.

    All else as in :func:`run`. A run that fails is listed in ``Comparison.failures`` and leaves the others alone.

    Returns
    -------
    Comparison
        ``str(comparison)`` is what the command prints; ``comparison.table`` and ``comparison.runs`` are tables.
    """
    tests = [test] if isinstance(test, str) else list(test)
    options = _options(hz, governor, idle_governor, sysctl, ambient)
    return _compare(machine, workload, [base, *tests], seeds, jobs or 0, options)
