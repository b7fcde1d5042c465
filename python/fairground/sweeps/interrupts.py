"""Delays Ctrl-C to a point between two runs."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held_back() -> Iterator[None]:
    """Delays Ctrl-C to the end of the block."""
    if threading.current_thread() is not threading.main_thread():
        # Python interrupts only its main thread.
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        # None: the handler is not Python code.
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
        if came:
            signal.raise_signal(signal.SIGINT)
