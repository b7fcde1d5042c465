"""Who carries out the runs of a sweep.

Without more the compiled half does, on threads of this process (:meth:`fairground.sweeps.Store.carry_out`): it records each
run as it ends. An :class:`Executor` does it elsewhere.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .._fairground import Outcome
    from .spec import Inputs, RunSpec


class Executor(Protocol):
    """Carries out runs elsewhere, a farm for example.

    It takes work as it needs it and gives outcomes as they come. It knows neither store nor design: the sweep gives it
    only what is missing, and records what it gives.
    """

    def outcomes(
        self, work: Iterator[tuple[str, RunSpec]], inputs: Inputs
    ) -> Generator[tuple[str, Outcome], None, None]:
        """Carries out the runs of `work`.

        Parameters
        ----------
        work : iterator of (str, RunSpec)
            Keys and runs, each key once. Taken in the caller's thread, a bounded number ahead of what is given.
        inputs : Inputs
            What the runs need besides.

        Yields
        ------
        (str, Outcome)
            In any order. A run that fails is an outcome too; an exception is trouble with the executor itself, and
            comes after the outcomes of what was finished. Closing the iterator ends what is under way.
        """
        ...
