"""Who carries out the runs of a sweep.

An :class:`Executor` takes work as it needs it and gives outcomes as they come. It knows neither store nor design: the
sweep (sweep.py) gives it only what is missing, and records what it gives.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from .._fairground import Stopper

if TYPE_CHECKING:
    from .spec import Inputs, Outcome, RunSpec

#: Runs that are handed over for each thread: one that runs and one that waits.
AHEAD = 2


class Executor(Protocol):
    """Carries out runs."""

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


class Local:
    """Threads of this process: the compiled half lets them run beside each other.

    Runs of kernels happen in worker processes, one for each thread.

    Parameters
    ----------
    jobs : int, optional
        Threads. Default: one for each CPU that this process may use.
    """

    def __init__(self, jobs: int | None = None) -> None:
        if jobs is not None and jobs < 1:
            raise ValueError(f"jobs {jobs}: expected 1 or more")
        self.jobs = jobs or len(os.sched_getaffinity(0))

    def outcomes(
        self, work: Iterator[tuple[str, RunSpec]], inputs: Inputs
    ) -> Generator[tuple[str, Outcome], None, None]:
        """See :meth:`Executor.outcomes`. Ctrl-C ends the runs under way, and what was finished still comes."""
        stopper = Stopper()
        pool = ThreadPoolExecutor(self.jobs, thread_name_prefix="fairground", initializer=stopper.watch)
        running: dict[Future[Outcome], str] = {}
        try:
            while True:
                for key, spec in islice(work, AHEAD * self.jobs - len(running)):
                    running[pool.submit(spec.run, inputs)] = key
                if not running:
                    return
                done = wait(running, return_when=FIRST_COMPLETED).done
                yield from _finished({future: running.pop(future) for future in done})
        except GeneratorExit:
            raise
        except BaseException:
            stopper.set()
            pool.shutdown(cancel_futures=True)
            yield from _whole(running)
            raise
        finally:
            stopper.set()
            pool.shutdown(cancel_futures=True)


def _finished(done: dict[Future[Outcome], str]) -> Iterator[tuple[str, Outcome]]:
    """Outcomes, then the first exception if there is any."""
    yield from _whole(done)
    for future in done:
        future.result()


def _whole(ended: dict[Future[Outcome], str]) -> Iterator[tuple[str, Outcome]]:
    """Outcomes of those that ended by themselves."""
    for future, key in ended.items():
        if not future.cancelled() and future.exception() is None:
            yield key, future.result()
