"""What tests of sweeps share: an experiment of short runs, and a program that carries it out."""

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

#: 2 workloads, 2 schedulers, 5 seeds: 20 runs of milliseconds.
PIPES: dict[str, Any] = {
    "experiment": {"name": "pipes", "seeds": 5},
    "fixed": {"machine": "hikey960"},
    "axes": {
        "workload": ["sched-pipe:loops=20,threads", "sched-pipe:loops=40,threads"],
        "sched": ["fair:v5.9", "fair:v6.12"],
    },
}

#: The same as a file.
PIPES_FILE = """
[experiment]
name = "pipes"
seeds = 5
[fixed]
machine = "hikey960"
[axes]
workload = ["sched-pipe:loops=20,threads", "sched-pipe:loops=40,threads"]
sched = ["fair:v5.9", "fair:v6.12"]
"""


def pipes(**changes: Any) -> dict[str, Any]:
    """:data:`PIPES` with other tables."""
    return {**PIPES, **changes}


class Serial:
    """An executor: carries the work out run by run."""

    def outcomes(self, work: Any, inputs: Any) -> Any:
        for key, spec in work:
            yield key, spec.run(inputs)


def program(text: str, *words: object) -> "list[str]":
    """The command that runs a program of a test."""
    return [sys.executable, "-c", textwrap.dedent(text), *map(str, words)]


def command(*words: object, **options: Any) -> "subprocess.CompletedProcess[str]":
    """``python -m fairground.sweeps`` with these words."""
    line = [sys.executable, "-m", "fairground.sweeps", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=300, **options)


def bytes_of(swept: Any, folder: Path) -> bytes:
    """The table as it is written, and the failures."""
    swept.write(folder / "table.parquet")
    return (folder / "table.parquet").read_bytes() + repr(swept.failures.to_pylist()).encode()
