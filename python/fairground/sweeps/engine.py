"""Execution of the runs of a sweep.

By default the compiled half makes the runs, on threads of this process (:meth:`fairground.sweeps.Store.carry_out`), and
stores each when it ends. An :class:`Executor` makes them elsewhere.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .._fairground import Outcome
    from .spec import Inputs, RunSpec


class Run(Protocol):
    """A run as data."""

    def to_json(self) -> str:
        """The run on one line."""
        ...


class RunInputs(Protocol):
    """What runs need beside what they say themselves."""

    @property
    def digests(self) -> Mapping[str, Any]:
        """Hashes of all content, as JSON."""
        ...

    def run(self, key: str, text: str) -> Outcome:
        """Make the run that :meth:`Run.to_json` gave as `text`."""
        ...


class Executor(Protocol):
    """Makes runs elsewhere, for example on a farm.

    It takes work as it needs it, and yields outcomes as they come. It uses neither store nor design: the sweep passes
    the missing runs, and stores the outcomes.
    """

    def outcomes(
        self, work: Iterator[tuple[str, RunSpec]], inputs: Inputs
    ) -> Generator[tuple[str, Outcome], None, None]:
        """Make the runs of `work`.

        Parameters
        ----------
        work : iterator of (str, RunSpec)
            Keys and runs, each key once. Taken in the caller's thread, a bounded number ahead of what is given.
        inputs : Inputs
            Content of the files and kernels that the runs name.

        Yields
        ------
        (str, Outcome)
            Outcomes in any order. A run that fails has an outcome too. An exception is a failure of the executor
            itself, and comes after the outcomes of the finished runs. Closing the iterator ends the runs in progress.
        """
        ...
