"""Runs that a command of ours asks for by content, on the workers of a Dask cluster.

The command (``fairground review --dask``) writes a plan to standard input: columns, which are a machine, a workload, a scheduler and
settings as content, with keys and seeds of the runs that its store lacks. Each result goes into the store as soon as it is there, and
a line to standard output. Exit codes: 0 done, 1 the farm failed, 2 bad input, and 130 after SIGTERM.
"""

from __future__ import annotations

import json
import signal
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ... import _fairground
from ..._fairground import InputError, Outcome
from ..command import complain, say
from ..errors import RunLost, SweepError
from ..spec import CANONICAL, CODE, sha256
from . import Farm


@dataclass(frozen=True)
class ColumnRun:
    """A run of a column, by the column's name; ``what`` names machine, workload and scheduler for messages."""

    column: str
    seed: int
    what: str

    def to_json(self) -> str:
        """The run as JSON: keys sorted, no spaces."""
        return CANONICAL.encode({"column": self.column, "seed": self.seed, "what": self.what})


@dataclass(frozen=True)
class ColumnInputs:
    """Columns and the libraries of their kernels.

    Parameters
    ----------
    columns : mapping of str to (str, str or None)
        JSON of a column's machine, workload, scheduler and settings, and the name of its library.
    libraries : mapping of str to bytes
        Shared objects of kernels.
    """

    columns: Mapping[str, tuple[str, str | None]]
    libraries: Mapping[str, bytes]

    @cached_property
    def digests(self) -> dict[str, Any]:
        """SHA-256 of each content, 64 hex digits, by kind and name."""
        columns = {name: [sha256(text.encode()), library] for name, (text, library) in self.columns.items()}
        return {"columns": columns, "libraries": {name: sha256(code) for name, code in self.libraries.items()}}

    @cached_property
    def compiled(self) -> _fairground.Columns:
        """The columns as an object of the compiled half, which keeps what it has made of them."""
        return _fairground.Columns(dict(self.columns), dict(self.libraries))

    def __getstate__(self) -> dict[str, Any]:
        return {"columns": self.columns, "libraries": self.libraries}

    def run(self, key: str, text: str) -> Outcome:
        """Make the run of this key: the JSON of a :class:`ColumnRun`.

        Raises
        ------
        InputError
            The run here would be another one: its key differs.
        RunLost
            Its process was killed by another process, or could not be started: this is not an outcome of the run.
        """
        run = json.loads(text)
        try:
            return self.compiled.run(run["column"], run["seed"], key)
        except ChildProcessError as error:
            raise RunLost(f"a run was lost: {run['what']} seed {run['seed']}: {error}") from None


def make_columns(scheduler: str) -> int:
    """Make the runs of the plan on standard input. Returns the exit code."""
    # The command ends us so: an interrupt of a terminal reaches it alone.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}", sys.stderr)
    try:
        # The command's own: UTF-8 under every locale.
        plan = json.load(sys.stdin.buffer)
        if plan["code"] != CODE:
            raise InputError(
                f"the package of {sys.executable} was built from other sources than this command: install the same release of both"
            )
        inputs, work = _read(plan["columns"])
        with _fairground.Store(Path(plan["store"])) as store:
            for key, outcome in Farm(scheduler).outcomes(work, inputs):
                if outcome.is_result:
                    store.put(key, outcome)
                    print(flush=True)
    except InputError as error:
        return complain(error, 2)
    except (SweepError, OSError) as error:
        return complain(error, 1)
    except KeyboardInterrupt:
        return 130
    return 0


def _read(columns: list[dict[str, Any]]) -> tuple[ColumnInputs, Iterator[tuple[str, ColumnRun]]]:
    """Inputs and runs of a plan."""
    libraries: dict[str, bytes] = {}
    names: dict[str, str] = {}
    content: dict[str, tuple[str, str | None]] = {}
    work: list[tuple[str, ColumnRun]] = []
    for number, column in enumerate(columns):
        path = column["library"]
        if path is not None and path not in names:
            code = Path(path).read_bytes()
            names[path] = sha256(code)
            libraries[names[path]] = code
        name = str(number)
        content[name] = (json.dumps(column["spec"]), names.get(path))
        work += [(key, ColumnRun(name, seed, column["what"])) for key, seed in column["runs"]]
    return ColumnInputs(content, libraries), iter(work)
