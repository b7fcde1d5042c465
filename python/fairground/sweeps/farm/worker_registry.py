"""The workers that may be given work: those with our program and the inputs."""

from __future__ import annotations

import time
import warnings

from .connection import Connection, Future
from .worker import InputBundle, Program

# Inputs are sent to this many workers at a time: the scheduler holds a copy for each.
ASKED_AT_ONCE = 8
# A refused worker is asked again after this time, s: another may have started at its address.
REFUSED_S = 30.0


class FarmWarning(UserWarning):
    """A worker of a farm gets no work."""


class WorkerRegistry:
    """The workers of a farm: present, asked, admitted or refused.

    Attributes
    ----------
    admitted : dict of str to int
        Threads of each worker that may be given work, by its address.
    refused : dict of str to str
        Reasons why workers get no work, by their addresses.
    asked : dict of str to Future
        Workers that have not answered yet.
    ever_admitted : bool
        Whether there has been a worker that could be given work.
    """

    def __init__(self, inputs: InputBundle) -> None:
        self.admitted: dict[str, int] = {}
        self.refused: dict[str, str] = {}
        self.asked: dict[str, Future] = {}
        self.ever_admitted = False
        self._threads: dict[str, int] = {}
        self._refused_at: dict[str, float] = {}
        self._inputs = inputs
        self._program = Program.here()

    def meet(self, connection: Connection, threads: dict[str, int]) -> list[tuple[str, Future]]:
        """Forget workers that have left, and ask new ones. Returns these with the futures of their answers."""
        self._threads = threads
        for address in self.asked.keys() - threads.keys():
            self.asked.pop(address).release()
        for known in (self.admitted, self.refused):
            for address in known.keys() - threads.keys():
                del known[address]
        new = [at for at in threads if not (at in self.admitted or at in self.asked or self._refused_lately(at))]
        program = (self._program.version, self._program.code)
        for address in new[: ASKED_AT_ONCE - len(self.asked)]:
            inputs = self._inputs
            self.asked[address] = connection.submit("admit", program, inputs.digest, inputs.content, workers=[address])
        return [(address, self.asked[address]) for address in new if address in self.asked]

    def answer(self, address: str, program: tuple[str, str]) -> None:
        """Record the program that the worker at `address` reports."""
        theirs = Program(*program)
        if theirs == self._program:
            self.refused.pop(address, None)
            self.admitted[address] = self._threads[address]
            self.ever_admitted = True
        else:
            self.refuse(address, f"it has {theirs}, this is {self._program}")

    def refuse(self, address: str, why: str) -> None:
        """Give no work to this worker."""
        if self.refused.get(address) != why:
            warnings.warn(FarmWarning(f"the worker {address} gets no work: {why}"), stacklevel=2)
        self.refused[address] = why
        self._refused_at[address] = time.monotonic()

    def _refused_lately(self, address: str) -> bool:
        return address in self.refused and time.monotonic() - self._refused_at[address] < REFUSED_S

    def forget(self, address: str) -> None:
        """The process at `address` is not the one that was admitted."""
        self.admitted.pop(address, None)

    def clear(self) -> None:
        """Forget all workers."""
        self.admitted.clear()
        self.refused.clear()
        self.asked.clear()
