"""Runs of a sweep as plain data: what determines one, its key, and what it gave.

A :class:`RunSpec` names machine, workload and scheduler. What it names and the program does not have is content, kept in
:class:`Inputs` by name: so a run can be carried out on another computer, and its key does not depend on names of files.

>>> spec = RunSpec(machine="hikey960", workload="sched-pipe:loops=100,threads", sched="fair:v5.9", seed=3)
>>> spec.run(Inputs()).metrics["ops_per_sec"] > 0
True
>>> RunSpec.from_json(spec.to_json()) == spec
True
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .. import _fairground
from .._fairground import Outcome
from .errors import RunLost

#: JSON of one form alone.
CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True)
class Kernel:
    """A built kernel.

    Parameters
    ----------
    library : bytes
        Its shared object.
    built_with : (int, int), optional
        CONFIG_HZ (ticks per second) and CONFIG_NR_CPUS, where they are on record.
    """

    library: bytes = field(repr=False)
    built_with: tuple[int, int] | None = None


@dataclass(frozen=True)
class Inputs:
    """Content of the files and kernels that runs name, by name.

    Parameters
    ----------
    machines : mapping of str to str
        Texts of machine files.
    workloads : mapping of str to bytes
        Contents of workload files: rt-app's grammar, recordings.
    kernels : mapping of str to Kernel
        Built kernels; a name is what follows ``linux:``.
    """

    machines: Mapping[str, str] = field(default_factory=dict)
    workloads: Mapping[str, bytes] = field(default_factory=dict)
    kernels: Mapping[str, Kernel] = field(default_factory=dict)

    @cached_property
    def digests(self) -> dict[str, dict[str, str]]:
        """SHA-256 of each content, 64 hex digits, by kind (``machines``, ``workloads``, ``kernels``) and name."""
        built = {name: CANONICAL.encode(kernel.built_with).encode() for name, kernel in self.kernels.items()}
        return {
            "machines": {name: sha256(text.encode()) for name, text in self.machines.items()},
            "workloads": {name: sha256(content) for name, content in self.workloads.items()},
            "kernels": {name: sha256(built[name] + b"\0" + self.kernels[name].library) for name in self.kernels},
        }

    @cached_property
    def compiled(self) -> _fairground.Inputs:
        """The inputs as an object of the compiled half, which caches what it looks up in them."""
        kernels = {name: (kernel.library, kernel.built_with) for name, kernel in self.kernels.items()}
        return _fairground.Inputs(dict(self.machines), dict(self.workloads), kernels)

    def run(self, key: str, text: str) -> Outcome:
        """Make a run, the JSON of a :class:`RunSpec`; `key` is its key."""
        return RunSpec.from_json(text).run(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"machines": self.machines, "workloads": self.workloads, "kernels": self.kernels}


@dataclass(frozen=True)
class RunSpec:
    """Everything that determines a run, but the content of the files that it names.

    Parameters
    ----------
    machine : str
        A preset or an input, with the CPUs to which the workload is bound (``"kunpeng920@node0"``).
    workload : str
        A built-in or an input, with options (``"hackbench:groups=4"``).
    sched : str
        ``"fair:PRESET+feature-feature"``, or ``"linux:NAME"`` of an input.
    seed : int
        Of all random draws, 0 to 2**64 - 1.
    figures : tuple of (str, str, float)
        Figures of the machine that are turned: path in its file, ``"to"`` (in the unit of the file) or ``"times"``, value.
    options : tuple of (str, str or int or float)
        Settings by name: ``hz``, ``governor``, ``idle_governor``, ``idle_limit`` (microseconds), ``ambient``
        (degrees Celsius), ``draw``, limits of clamps.
    """

    machine: str
    workload: str
    sched: str
    seed: int = 1
    figures: tuple[tuple[str, str, float], ...] = ()
    options: tuple[tuple[str, str | int | float], ...] = ()

    def to_json(self) -> str:
        """The spec as JSON: keys sorted, no spaces."""
        return CANONICAL.encode(
            {
                "figures": self.figures,
                "machine": self.machine,
                "options": self.options,
                "sched": self.sched,
                "seed": self.seed,
                "workload": self.workload,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> RunSpec:
        """Read the output of :meth:`to_json`."""
        data = json.loads(text)
        data["figures"] = tuple(tuple(figure) for figure in data["figures"])
        data["options"] = tuple(tuple(option) for option in data["options"])
        return cls(**data)

    def key(self, inputs: Inputs) -> str:
        """Key of all that determines the result: machine, workload, scheduler and settings by content, seed, program.

        32 hex digits, the key under which every command keeps the same run.

        Raises
        ------
        InputError
            A content that it names is not among the inputs.
        """
        return inputs.compiled.key(self.to_json())

    def run(self, inputs: Inputs) -> Outcome:
        """Make the run. If it cannot begin, or fails, the outcome holds the message; this is not an exception.

        Raises
        ------
        InputError
            A content that it names is not among the inputs.
        RunLost
            Its process was killed by another process, or could not be started: this is not an outcome of the run.
        """
        try:
            return inputs.compiled.run(self.to_json())
        except ChildProcessError as error:
            raise RunLost(
                f"a run was lost and is not recorded, start again to go on: {self.to_json()}: {error}"
            ) from None


#: Hash of the sources that figures come from: two programs with the same give the same runs.
CODE: str = _fairground.code()


def sha256(content: bytes) -> str:
    """SHA-256 of a content, 64 hex digits."""
    return hashlib.sha256(content).hexdigest()
