"""The number of runs in a batch."""

from __future__ import annotations

import math

# Target duration of a batch: Dask's overhead per task is some milliseconds, and a dying worker loses about this much.
TARGET_NS = 1_000_000_000
LARGEST = 250
# A batch is at most this many times as large as the one before: the first runs may be shorter than later ones.
GROWTH = 4


class BatchSizer:
    """Estimates the duration of a run, and from it the number of runs that last about a second."""

    def __init__(self) -> None:
        self._mean_ns = 0.0
        self._largest = 1

    def note(self, runs: int, wall_ns: int) -> None:
        """`runs` of one batch took `wall_ns` together."""
        mean = wall_ns / runs
        self._mean_ns = (self._mean_ns + mean) / 2 if self._mean_ns else mean
        self._largest = min(LARGEST, max(self._largest, runs * GROWTH))

    def size(self, left: int | None, threads: int) -> int:
        """Runs of the next batch.

        Parameters
        ----------
        left : int or None
            Runs not handed out yet, if known. The last batches get smaller, so that all threads end together.
        threads : int
            Threads of all workers.
        """
        size = self._largest
        if self._mean_ns:
            size = min(size, max(1, round(TARGET_NS / self._mean_ns)))
        if left is not None:
            size = min(size, math.ceil(left / (2 * threads)))
        return max(1, size)
