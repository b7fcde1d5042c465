"""Kernels: schedulers built from source trees, ``linux:NAME``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from os import PathLike

from . import _fairground
from ._fairground import InputError, Table


def kernels() -> Table:
    """List the kernels that are built.

    Returns
    -------
    Table
        One row each: ``sched`` (``linux:NAME``), ``release``, ``hz`` (ticks per second), ``nr_cpus`` (at most),
        ``tree``, ``tree_changed`` (since it was built), ``built_s`` (seconds since 1970), ``compiler``, ``key`` (equal
        keys, equal libraries), ``library``, ``library_bytes``, ``warnings`` (what of the tree is not in the library, a
        line each), ``failed`` (why the last build failed, if the library is of the build before, else empty). Warns of
        kernels that cannot be used.
    """
    table, problems = _fairground.kernels()
    for problem in problems:
        warnings.warn(problem, stacklevel=2)
    return table


def kernel_build(
    tree: str | PathLike[str],
    *,
    name: str | None = None,
    config: str | PathLike[str] | None = None,
    options: dict[str, str] | None = None,
    debug: bool = False,
    jobs: int | None = None,
) -> str:
    """Build the scheduler of a kernel's source tree; does nothing if it is built and the tree unchanged.

    Other Python threads go on meanwhile. Ctrl-C ends the build and all processes it has started, and keeps an earlier
    build.

    Parameters
    ----------
    tree : path
        Top directory of a Linux source tree; it is only read.
    name : str, optional
        Build ``linux:NAME``. Default: the tree's release, e.g. ``v6.12.117``.
    config : path, optional
        A kernel's ``.config``: its options of the scheduler are used.
    options : dict of str to str, optional
        Options that override the ``.config``, e.g. ``{"CONFIG_HZ": "1000"}``.
    debug : bool, optional
        Also check locks, lists and sleeping in atomic context: what is wrong ends the run with the reason.
    jobs : int, optional
        Parallel jobs. Default: as many as CPUs.

    Returns
    -------
    str
        ``"linux:NAME"``, the name of the scheduler.

    Raises
    ------
    InputError
        The tree cannot be built; the message is the command's.
    """
    if jobs is not None and jobs < 1:
        raise InputError("jobs: expected 1 or more")
    arguments = {
        "tree": os.fspath(tree),
        "name": name,
        "config": None if config is None else os.fspath(config),
        "set": [f"{option}={value}" for option, value in (options or {}).items()],
        "debug": debug,
        "jobs": jobs,
    }
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    # A new session, so that make and the compilers can be killed with it.
    process = subprocess.Popen(
        [sys.executable, "-m", "fairground._build"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
        text=True,
    )
    try:
        answer, errors = process.communicate(json.dumps(arguments))
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    if process.returncode != 0:
        raise InputError(errors.strip() or f"the build ended with {process.returncode}")
    return f"linux:{json.loads(answer)}"
