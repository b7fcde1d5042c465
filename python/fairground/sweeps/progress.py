"""Progress of a sweep. It is shown on terminals only."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from typing_extensions import Self

#: Seconds between two looks of the line.
REDRAW_S = 0.1
#: Seconds over which the rate is taken.
WINDOW_S = 30.0


class Progress:
    """One line on standard error with numbers of done and failed runs, rate and time left. It is erased when closed.

    Parameters
    ----------
    total : int
        Runs of the sweep.
    done : int
        Of these, on record before it began.
    """

    def __init__(self, total: int, done: int, stream: TextIO | None = None) -> None:
        self.total = total
        self.done = done
        self.failed = 0
        self._stream = stream or sys.stderr
        self._shown = self._stream.isatty()
        self._lock = threading.Lock()
        # Samples of the last WINDOW_S seconds: time, and number of runs done by then.
        self._looks: deque[tuple[float, int]] = deque([(time.monotonic(), done)])

    def step(self, failed: bool = False) -> None:
        """Count a run that ended. Any thread may call this."""
        with self._lock:
            self.done += 1
            self.failed += failed
            now = time.monotonic()
            if self._shown and now - self._looks[-1][0] >= REDRAW_S:
                while now - self._looks[0][0] > WINDOW_S and len(self._looks) > 1:
                    self._looks.popleft()
                self._draw(self.line(now))
                self._looks.append((now, self.done))

    def line(self, now: float) -> str:
        """The text to show at this time."""
        then, before = self._looks[0]
        rate = (self.done - before) / max(now - then, 1e-9)
        failed = f", {self.failed} failed" if self.failed else ""
        left = f", {duration((self.total - self.done) / rate)} left" if rate else ""
        return f"{self.done} of {self.total} runs{failed}, {rate:.3g}/s{left}"

    def _draw(self, line: str) -> None:
        width = shutil.get_terminal_size().columns
        self._stream.write(f"\r\x1b[K{line[: width - 1]}")
        self._stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._shown:
            self._draw("")


def duration(seconds: float) -> str:
    """A time as text.

    >>> duration(0.2), duration(75), duration(7300), duration(200000)
    ('1 s', '1 min 15 s', '2 h 1 min', '2 d 7 h')
    """
    whole = max(1, round(seconds))
    for name, length, smaller, part in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= length:
            rest = whole % length // part
            return f"{whole // length} {name}" + (f" {rest} {smaller}" if rest else "")
    return f"{whole} s"
