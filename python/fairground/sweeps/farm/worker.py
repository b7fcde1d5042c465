"""Functions that workers of a farm execute: report their program, receive a sweep's inputs once, run batches.

Workers call these functions as the tasks that :mod:`fairground.sweeps.farm` submits.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from ... import __version__, _fairground
from ..._fairground import Outcome
from ..engine import Run, RunInputs
from ..spec import CODE

# A batch begins no further run after this time: runs much longer than those before them come back one by one.
BATCH_LIMIT_NS = 3_000_000_000

# A process keeps the inputs of this many sweeps: a farm may serve several at a time.
_KEPT = 8
_inputs: OrderedDict[str, RunInputs] = OrderedDict()

#: What has come of a batch: results as bytes, and the messages of runs that a limit has ended, by their keys.
BatchResult = tuple[bytes, list[tuple[str, str]]]


@dataclass(frozen=True)
class Program:
    """All of a program that a run's figures depend on."""

    version: str
    code: str

    @classmethod
    def here(cls) -> Program:
        """The program of this process."""
        return cls(__version__, CODE)

    def __str__(self) -> str:
        return f"fairground {self.version} with code {self.code[:12]}"


@dataclass(frozen=True)
class InputBundle:
    """Inputs on their way to a worker: bytes, and a digest to name them by."""

    digest: str
    content: bytes

    @classmethod
    def from_inputs(cls, inputs: RunInputs) -> InputBundle:
        # With the program: a process may serve several, and what another made of the same contents is not ours.
        digests = json.dumps([__version__, CODE, inputs.digests], sort_keys=True)
        return cls(hashlib.sha256(digests.encode()).hexdigest(), pickle.dumps(inputs))


def admit(theirs: tuple[str, str], digest: str, content: bytes) -> tuple[str, str]:
    """Take a sweep's inputs, if its program is the one of this process.

    Parameters
    ----------
    theirs : tuple of str
        Version and code of the program that has the sweep.
    digest : str
        Name of the inputs.
    content : bytes
        A :class:`InputBundle`'s.

    Returns
    -------
    tuple of str
        Version and code of the program here. Where they differ, the inputs were not looked at.
    """
    here = Program.here()
    if Program(*theirs) == here:
        _inputs[digest] = pickle.loads(content)
        while len(_inputs) > _KEPT:
            _inputs.popitem(last=False)
    return here.version, here.code


def batch_of(work: Sequence[tuple[str, Run]]) -> bytes:
    """Runs as a worker takes them: a line each, its key and its JSON."""
    return "\n".join(f"{key} {spec.to_json()}" for key, spec in work).encode()


def run_batch(digest: str, batch: bytes) -> tuple[str, BatchResult | None]:
    """Run a batch, one run after the other.

    Returns
    -------
    tuple of str and BatchResult or None
        Address of the worker, and what has come of the runs. The last ones may be missing where the runs were longer
        than thought. None: this process was not admitted, as it is not the one that was.
    """
    from distributed import get_worker

    address = get_worker().address
    inputs = _inputs.get(digest)
    if inputs is None:
        return address, None
    began = time.monotonic_ns()
    done: list[tuple[str, Outcome]] = []
    for line in batch.decode().split("\n"):
        if done and time.monotonic_ns() - began > BATCH_LIMIT_NS:
            break
        key, text = line.split(" ", 1)
        done.append((key, inputs.run(key, text)))
    limited = [(key, outcome.failed or "") for key, outcome in done if not outcome.is_result]
    return address, (_fairground.pack_outcomes(done), limited)


def outcomes_of(result: BatchResult) -> list[tuple[str, Outcome]]:
    """What :func:`run_batch` returned, as keys and outcomes."""
    content, limited = result
    return [*_fairground.unpack_outcomes(content), *((key, Outcome.limited(message)) for key, message in limited)]
