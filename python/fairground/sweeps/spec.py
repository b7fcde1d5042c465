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
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .. import _fairground
from .._fairground import InputError, RunFailed
from .errors import RunLost

#: Kernels are named so, and the path or the name follows.
KERNEL = "linux:"

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

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all of it, 64 hex digits."""
        return hashlib.sha256(CANONICAL.encode(self.built_with).encode() + b"\0" + self.library).hexdigest()


@dataclass(frozen=True)
class Inputs:
    """What runs name and the program does not have, by name.

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
        return {
            "machines": {name: _sha256(text.encode()) for name, text in self.machines.items()},
            "workloads": {name: _sha256(content) for name, content in self.workloads.items()},
            "kernels": {name: kernel.digest for name, kernel in self.kernels.items()},
        }

    def of(self, spec: RunSpec) -> dict[str, Any]:
        """The contents that a run names, as its carrier takes them.

        Raises
        ------
        InputError
            A content that is missing here.
        """
        machine, _ = _split(spec.machine, "@", self.machines)
        workload, _ = _split(spec.workload, ":", self.workloads)
        kernel = self._kernel(spec.sched)
        if machine is None and "/" in spec.machine:
            raise InputError(f"machine {spec.machine!r} is not among the inputs of this run")
        if workload is None and ("/" in spec.workload.split(":")[0] or spec.workload.endswith(".json")):
            raise InputError(f"workload {spec.workload!r} is not among the inputs of this run")
        return {
            "machine": None if machine is None else self.machines[machine],
            "workload": None if workload is None else (workload, self.workloads[workload]),
            "library": None if kernel is None else kernel.library,
            "built_with": None if kernel is None else kernel.built_with,
        }

    def _kernel(self, sched: str) -> Kernel | None:
        if not sched.startswith(KERNEL):
            return None
        kernel = self.kernels.get(sched[len(KERNEL) :])
        if kernel is None:
            raise InputError(f"scheduler {sched!r}: its kernel is not among the inputs of this run")
        return kernel

    def named(self, spec: RunSpec) -> tuple[str, str, str]:
        """Machine, workload and scheduler of a run with the digests of contents in place of their names."""
        machine, cpus = _split(spec.machine, "@", self.machines)
        workload, options = _split(spec.workload, ":", self.workloads)
        kernel = self._kernel(spec.sched)
        digests = self.digests
        return (
            spec.machine if machine is None else f"sha256:{digests['machines'][machine]}{cpus}",
            spec.workload if workload is None else f"sha256:{digests['workloads'][workload]}{options}",
            spec.sched if kernel is None else f"{KERNEL}sha256:{kernel.digest}",
        )


@dataclass(frozen=True)
class Outcome:
    """What a run gave.

    Parameters
    ----------
    metrics : dict of str to float
        Figures by name; empty if it failed.
    hash : str
        Of its event stream, 32 hex digits; empty if it failed.
    notes : tuple of str
        What must be said of it.
    failed : str, optional
        Why there are no figures.
    wall_ns : int
        How long it took, ns. No part of any result.
    """

    metrics: dict[str, float]
    hash: str
    notes: tuple[str, ...]
    failed: str | None
    wall_ns: int


@dataclass(frozen=True)
class RunSpec:
    """All that determines a run but the content of what it names.

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
        Circumstances by name: ``hz``, ``governor``, ``idle_governor``, ``ambient`` (degrees Celsius), limits of clamps.
    """

    machine: str
    workload: str
    sched: str
    seed: int = 1
    figures: tuple[tuple[str, str, float], ...] = ()
    options: tuple[tuple[str, str | int | float], ...] = ()

    def to_json(self) -> str:
        """As JSON: keys sorted, no spaces."""
        return self._json(self.machine, self.workload, self.sched)

    def _json(self, machine: str, workload: str, sched: str) -> str:
        return CANONICAL.encode(
            {
                "figures": self.figures,
                "machine": machine,
                "options": self.options,
                "sched": sched,
                "seed": self.seed,
                "workload": workload,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> RunSpec:
        """Of what :meth:`to_json` gave."""
        data = json.loads(text)
        data["figures"] = tuple(tuple(figure) for figure in data["figures"])
        data["options"] = tuple(tuple(option) for option in data["options"])
        return cls(**data)

    def key(self, inputs: Inputs) -> str:
        """Of everything that determines the bytes of this run: itself, contents, the program. 64 hex digits.

        Raises
        ------
        InputError
            A kernel that is not among the inputs.
        """
        return _sha256(f"{CODE} {self._json(*inputs.named(self))}".encode())

    def run(self, inputs: Inputs) -> Outcome:
        """Carry it out. What keeps it from being made or from ending well is its outcome, and no exception.

        Raises
        ------
        InputError
            A content that it names is not among the inputs.
        RunLost
            Its process was ended by somebody else, or could not be started: that is no outcome of the run.
        """
        contents = inputs.of(self)
        began = time.monotonic_ns()
        try:
            figures, digest, notes, failed = _fairground.run_spec(self.to_json(), contents)
        except RunFailed as error:
            figures, digest, notes, failed = [], "", [], str(error)
        except ChildProcessError as error:
            raise RunLost(
                f"a run was lost and is not recorded, start again to go on: {self.to_json()}: {error}"
            ) from None
        return Outcome(dict(figures), digest, tuple(notes), failed, time.monotonic_ns() - began)

    def metrics(self, inputs: Inputs) -> dict[str, dict[str, str]]:
        """What it reports: ``unit`` and ``better`` (``higher`` or ``lower``) by the names of its figures.

        Raises
        ------
        InputError
            A machine or workload that is not understood.
        """
        found = _fairground.spec_metrics(self.to_json(), inputs.of(self))
        return {name: {"unit": unit, "better": better} for name, unit, better in found}


#: Hash of the sources that figures come from: two programs with the same give the same runs.
CODE: str = _fairground.code()


def _split(spec: str, mark: str, names: Mapping[str, Any]) -> tuple[str | None, str]:
    """The input that `spec` names, and what stands behind it from `mark` on; none if it names no input."""
    if spec in names:
        return spec, ""
    name, found, rest = spec.rpartition(mark)
    return (name, found + rest) if found and name in names else (None, "")


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
