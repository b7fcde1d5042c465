"""Runs on the workers of a Dask cluster.

What travels: inputs once to each worker, runs as their specs in batches of about a second, results back as the store has them, under checksums.
A worker gets work only after it has shown that it runs our program (:mod:`.worker_registry`). Dask repeats a batch
elsewhere when its worker dies; a batch that Dask gives up, because each worker that had it died, is split, and its runs
are tried alone at the end (:mod:`.dispatcher`). If the scheduler is lost, the sweep waits for it (:mod:`.connection`)
and submits again what was under way.

A sweep's results do not depend on any of this: a run is a function of its spec and the inputs.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

from ..._fairground import Outcome
from ..engine import Run, RunInputs
from .connection import Connection, FarmError
from .dispatcher import Dispatcher
from .worker_registry import FarmWarning

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["Farm", "FarmError", "FarmWarning"]


class Farm:
    """Runs a sweep on the workers of a Dask cluster.

    Parameters
    ----------
    scheduler : str or distributed.Client
        Address of its scheduler, as ``"tcp://10.0.0.1:8786"``, or a client that is connected to it.
    patience : float
        How long to wait for workers when there is none, and for a scheduler that was lost, s.

    Raises
    ------
    FarmError
        Dask is not installed, or no scheduler answers within 10 s.
    """

    def __init__(self, scheduler: str | Client, *, patience: float = 60.0) -> None:
        self._scheduler = scheduler
        self._patience = patience
        Connection(scheduler, patience).close()

    def outcomes(
        self, work: Iterator[tuple[str, Run]], inputs: RunInputs
    ) -> Generator[tuple[str, Outcome], None, None]:
        """Run all of `work`, in any order.

        Closing the iterator, or Ctrl-C, takes back what has not begun; a batch that runs ends within some seconds and
        is forgotten.

        Parameters
        ----------
        work : iterator of (str, Run)
            Runs by their keys; taken as they are needed, some seconds ahead.
        inputs : RunInputs
            What the runs need.

        Yields
        ------
        (str, Outcome)
            Key and outcome of a run that has finished.

        Warns
        -----
        FarmWarning
            A worker gets no work, as its program is another.

        Raises
        ------
        FarmError
            No scheduler or worker is left, or some runs kill the workers that they run on: these are named after all
            others have been done.
        """
        connection = Connection(self._scheduler, self._patience)
        dispatcher = Dispatcher(connection, work, inputs, self._patience)
        try:
            yield from dispatcher.outcomes()
        finally:
            dispatcher.recall()
            connection.close()
