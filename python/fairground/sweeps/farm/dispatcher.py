"""The dispatcher of one sweep: runs that wait, batches under way, and outcomes."""

from __future__ import annotations

import itertools
import queue
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..._fairground import Outcome
from ..engine import Run, RunInputs
from .batch_sizer import BatchSizer
from .connection import ANSWER_S, Connection, ConnectionLost, FarmError, Future
from .worker import InputBundle, batch_of, outcomes_of
from .worker_registry import WorkerRegistry

# Batches for each thread: one that runs, one that waits behind it, and one that is on its way.
DEPTH = 3
# Time between two checks of the workers, s.
LOOK_S = 1.0
# After this many runs in a row that kill workers or whose results cannot be fetched, the farm itself is at fault.
HOPELESS = 8

Work = tuple[str, Run]


@dataclass
class Batch:
    """Runs that were handed out together, and the workers that may run them."""

    work: dict[str, Run]
    future: Future
    workers: frozenset[str]
    alone: bool


class Dispatcher:
    """Hands out the runs of a sweep and collects their outcomes.

    A run waits, is in a batch, or is suspected of having killed its worker. Each run of a batch is either yielded or
    put back into its queue, also if the batch fails.
    """

    def __init__(self, connection: Connection, work: Iterator[Work], inputs: RunInputs, patience: float) -> None:
        self._connection = connection
        self._patience = patience
        self._source = work
        self._exhausted = False
        self._waiting: deque[Work] = deque()
        self._suspects: deque[Work] = deque()
        self._guilty: list[str] = []
        self._inputs = InputBundle.from_inputs(inputs)
        self._registry = WorkerRegistry(self._inputs)
        self._batch_sizer = BatchSizer()
        self._batches: dict[str, Batch] = {}
        self._done: queue.SimpleQueue[tuple[str | None, Future]] = queue.SimpleQueue()
        self._unfetched = 0
        self._looked = -LOOK_S
        self._last_manned = time.monotonic()

    def outcomes(self) -> Iterator[tuple[str, Outcome]]:
        """Run everything, and yield the outcomes as they come back."""
        while self._fill() or self._batches or self._suspects:
            try:
                self._look()
                self._hand_out()
                yield from self._collect()
            except ConnectionLost:
                self.recall()
                self._registry.clear()
                self._connection.restore()
                self._last_manned = time.monotonic()
        if self._guilty:
            raise FarmError(_accusation(self._guilty))

    def recall(self) -> None:
        """Take back all runs in progress."""
        for future in self._registry.asked.values():
            future.release()
        for batch in list(self._batches.values()):
            self._put_back(batch)

    def _fill(self) -> bool:
        """Take as much work ahead as the workers need soon. Returns whether any run waits."""
        ahead = max(1, self._threads()) * self._batch_sizer.size(None, 1)
        if not self._exhausted and len(self._waiting) <= ahead:
            taken = list(itertools.islice(self._source, ahead))
            self._exhausted = len(taken) < ahead
            self._waiting.extend(taken)
        return bool(self._waiting)

    def _threads(self) -> int:
        return sum(self._registry.admitted.values())

    # Workers

    def _look(self) -> None:
        """Update the list of workers, once a second."""
        now = time.monotonic()
        if now - self._looked < LOOK_S:
            return
        self._looked = now
        present = self._connection.threads()
        for address, future in self._registry.meet(self._connection, present):
            self._notify(future, address)
        for batch in list(self._batches.values()):
            if not batch.workers & present.keys():
                self._put_back(batch)
        if self._registry.admitted:
            self._last_manned = now
        else:
            self._check_hope(now)

    def _check_hope(self, now: float) -> None:
        """No worker may be given work: raise an error if waiting is pointless or took too long."""
        refused = self._registry.refused
        waited = now - self._last_manned
        hopeless = refused and not self._registry.ever_admitted
        if waited < (min(ANSWER_S, self._patience) if hopeless else self._patience):
            return
        if refused:
            listed = "; ".join(f"{address}: {why}" for address, why in itertools.islice(sorted(refused.items()), 5))
            raise FarmError(
                f"the Dask scheduler at {self._connection.address} has no worker that can be used: {listed}"
            )
        more = f"; {len(self._registry.asked)} have not answered" if self._registry.asked else ""
        raise FarmError(f"the Dask scheduler at {self._connection.address} has had no worker for {waited:.0f} s{more}")

    # Work

    def _hand_out(self) -> None:
        """Keep all threads busy for some seconds."""
        while self._registry.admitted and len(self._batches) < DEPTH * self._threads():
            if any(batch.alone for batch in self._batches.values()):
                return
            if self._fill():
                left = len(self._waiting) if self._exhausted else None
                size = min(self._batch_sizer.size(left, self._threads()), len(self._waiting))
                self._start(self._waiting, size, alone=False)
            elif self._suspects and not self._batches:
                self._start(self._suspects, 1, alone=True)
            else:
                return

    def _start(self, waiting: deque[Work], size: int, alone: bool) -> None:
        """Hand out the first `size` runs that wait."""
        work = list(itertools.islice(waiting, size))
        workers = list(self._registry.admitted)
        future = self._connection.submit("run_batch", self._inputs.digest, batch_of(work), workers=workers)
        for _ in work:
            waiting.popleft()
        self._batches[future.key] = Batch(dict(work), future, frozenset(workers), alone)
        self._notify(future, None)

    def _notify(self, future: Future, worker: str | None) -> None:
        """Make :meth:`_collect` receive `future` when it is done: a batch, or the answer of a worker."""
        done = self._done
        future.add_done_callback(lambda finished: done.put((worker, finished)))

    def _put_back(self, batch: Batch) -> None:
        """Hand out the remaining runs of a batch again."""
        self._batches.pop(batch.future.key, None)
        batch.future.release()
        (self._suspects if batch.alone else self._waiting).extendleft(reversed(batch.work.items()))

    # Results

    def _collect(self) -> Iterator[tuple[str, Outcome]]:
        """Wait a moment for a future to finish, and process all that have finished."""
        try:
            worker, future = self._done.get(timeout=LOOK_S)
            while True:
                if worker is not None:
                    self._answered(worker, future)
                elif future.key in self._batches:
                    yield from self._take(self._batches[future.key])
                    self._hand_out()
                worker, future = self._done.get_nowait()
        except queue.Empty:
            return

    def _answered(self, address: str, future: Future) -> None:
        """Process the answer of a worker: whether it may be given work."""
        if self._registry.asked.get(address) is not future:
            return
        del self._registry.asked[address]
        result, error = self._fetch(future)
        if error is not None:
            self._registry.refuse(address, error)
        elif result is not None:
            self._registry.answer(address, result)

    def _take(self, batch: Batch) -> Iterator[tuple[str, Outcome]]:
        """Process the end of a batch: take its outcomes, or put its runs back."""
        result, error = self._fetch(batch.future)
        if error is not None:
            self._suspect(batch, error)
            return
        if result is None:
            self._put_back(batch)
            return
        worker, content = result
        if content is None:
            self._registry.forget(worker)
            self._put_back(batch)
            return
        outcomes = [(key, outcome) for key, outcome in outcomes_of(content) if key in batch.work]
        self._batch_sizer.note(len(outcomes), sum(outcome.wall_ns for _, outcome in outcomes))
        for key, _ in outcomes:
            del batch.work[key]
        self._put_back(batch)
        yield from outcomes

    def _fetch(self, future: Future) -> tuple[Any, str | None]:
        """Result or error of a task that is done; neither if it was lost on its way."""
        try:
            if future.status == "error":
                return None, str(future.exception(timeout=ANSWER_S))
            if future.status == "finished":
                result: tuple[Any, str | None] = future.result(timeout=ANSWER_S)
                self._unfetched = 0
                return result
        except Exception as lost:
            self._unfetched += 1
            if self._unfetched >= HOPELESS:
                why = f"{self._unfetched} results in a row could not be fetched from the workers"
                raise FarmError(
                    f"{why} of the Dask scheduler at {self._connection.address}; the last: {lost!r}"
                ) from lost
        return None, None

    def _suspect(self, batch: Batch, error: str) -> None:
        """A batch has killed its workers, or made them fail: run its runs one by one, when all others are done."""
        if batch.alone:
            self._guilty += [f"{spec.to_json()}: {error}" for spec in batch.work.values()]
            batch.work.clear()
            if len(self._guilty) >= HOPELESS:
                raise FarmError(_accusation(self._guilty))
        batch.alone = True
        self._put_back(batch)


def _accusation(guilty: list[str]) -> str:
    what = "1 run does not end on any worker and is" if len(guilty) == 1 else f"{len(guilty)} runs do not end and are"
    return f"{what} not recorded:\n" + "\n".join(guilty)
