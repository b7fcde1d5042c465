"""Ctrl-C at a moment that does not depend on the machine's speed."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def interrupted(when: Callable[[], bool]) -> Iterator[None]:
    """Runs a block that would take hours, and sends SIGINT to this process once ``when()`` is true.

    The block must raise KeyboardInterrupt.
    """
    over = threading.Event()

    def interrupt() -> None:
        while not over.wait(0.05):
            if when():
                os.kill(os.getpid(), signal.SIGINT)
                return

    thread = threading.Thread(target=interrupt)
    # A shell that starts tests in the background has them ignore SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            thread.start()
            yield
    finally:
        over.set()
        thread.join()
        signal.signal(signal.SIGINT, before)


def used_cpu(seconds: float) -> Callable[[], bool]:
    """True once this process has used so much CPU time from now on: what it computes is then under way."""
    began = time.process_time()
    return lambda: time.process_time() - began > seconds
