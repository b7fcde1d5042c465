"""The connection to a Dask scheduler, which is restored when the scheduler is lost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import SweepError

if TYPE_CHECKING:
    from distributed import Client

# A scheduler that does not answer within this time, s, is taken for absent.
ANSWER_S = 10.0

# A distributed.Future, whose methods have no types.
Future: TypeAlias = Any


class FarmError(SweepError):
    """The farm cannot continue. Outcomes of finished runs have been delivered."""


class ConnectionLost(Exception):
    """The scheduler does not answer, or another one answers at its address."""


def _dask() -> Any:
    try:
        import distributed
    except ImportError as missing:
        raise FarmError("runs on many machines need Dask: pip install 'fairground[farm]'") from missing
    return distributed


def _by_name(function: str) -> Callable[..., tuple[Any, str | None]]:
    """Calls a function of :mod:`.worker` where it is carried out. Returns its result, and else why there is none.

    Dask sends what is defined within a function as its code. By reference, a worker without this package would end in
    reading its orders, instead of saying what it lacks, and a scheduler would need the package too. An exception that
    does not survive the way here would be waited for forever: it goes as words.
    """
    module = f"{__package__}.worker"

    def fairground_call(*arguments: Any) -> tuple[Any, str | None]:
        import importlib

        try:
            return getattr(importlib.import_module(module), function)(*arguments), None
        except Exception as why:  # noqa: BLE001 (reported as text, whatever it is)
            return None, f"{type(why).__name__}: {why}"

    return fairground_call


class Connection:
    """A client of a scheduler.

    Parameters
    ----------
    scheduler : str or distributed.Client
        Address, as ``"tcp://10.0.0.1:8786"``, or a client. A client that was given is never closed here.
    patience : float
        How long to wait for a scheduler that was lost, s.
    """

    def __init__(self, scheduler: str | Client, patience: float) -> None:
        self._dask = _dask()
        self._patience = patience
        self._own = False
        self.client: Any = scheduler
        self._security = self._dask.Security()
        if isinstance(scheduler, str):
            self.address = scheduler
            try:
                self._connect()
            except ConnectionLost as why:
                raise FarmError(f"no Dask scheduler answers at {scheduler}: {why}") from why
            return
        if not isinstance(self.client, self._dask.Client):
            given = type(scheduler).__name__
            raise FarmError(f"expected the address of a Dask scheduler or a dask.distributed.Client, found {given}")
        if self.client.status != "running" or self.client.asynchronous:
            state = "asynchronous" if self.client.asynchronous else self.client.status
            raise FarmError(f"the Dask client given is {state}: expected one that is running and not asynchronous")
        self.address = self.client.scheduler.address
        self._security = self.client.security

    def _connect(self) -> None:
        """Create a client. First check that a scheduler answers: a Client that fails to start cannot close."""
        try:
            with ThreadPoolExecutor(1) as apart:  # a notebook's thread has a loop of its own
                apart.submit(asyncio.run, asyncio.wait_for(self._greet(), ANSWER_S)).result()
            self.client = self._dask.Client(
                self.address,
                timeout=ANSWER_S,
                security=self._security,
                set_as_default=False,
                asynchronous=False,
                name="fairground-sweep",
            )
        except (TimeoutError, asyncio.TimeoutError) as why:
            raise ConnectionLost(f"nothing that it understands within {ANSWER_S:.0f} s") from why
        except Exception as why:  # whatever listens there may answer anything
            raise ConnectionLost(str(why) or type(why).__name__) from why
        self._own = True

    async def _greet(self) -> None:
        arguments = self._security.get_connection_args("client")
        async with self._dask.rpc(self.address, timeout=ANSWER_S, connection_args=arguments) as scheduler:
            identity = await scheduler.identity()
        if identity.get("type") != "Scheduler":
            raise ValueError(f"what answers is a {identity.get('type')}")

    def threads(self) -> dict[str, int]:
        """Threads of each worker, by its address."""
        if self.client.status != "running":
            raise ConnectionLost
        try:
            return dict(self.client.nthreads(callback_timeout=ANSWER_S))
        except (OSError, TimeoutError, asyncio.TimeoutError, RuntimeError) as gone:
            raise ConnectionLost from gone

    def submit(self, function: str, *arguments: Any, workers: list[str]) -> Future:
        """A call of a function of :mod:`.worker` on one of these workers; two equal calls are two.

        The result that comes of it is a pair: what the function returned, and why it returned nothing.
        """
        import dask

        if self.client.status != "running":
            raise ConnectionLost
        try:
            # Inputs are sent on purpose, once to each worker.
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "4 GiB"}):
                return self.client.submit(
                    _by_name(function), *arguments, workers=workers, allow_other_workers=False, pure=False
                )
        except Exception as failed:
            if self.client.status != "running":
                raise ConnectionLost from failed
            raise

    def restore(self) -> None:
        """Connect to the scheduler that now has the address.

        Raises
        ------
        FarmError
            None has come back within the patience.
        """
        self.close()
        deadline = time.monotonic() + self._patience
        while True:
            try:
                self._connect()
                return
            except ConnectionLost as why:
                if time.monotonic() >= deadline:
                    raise FarmError(
                        f"the Dask scheduler at {self.address} was lost and has not come back within "
                        f"{self._patience:.0f} s; what had finished is kept, and a new start goes on from there"
                    ) from why
            time.sleep(min(1.0, self._patience))

    def close(self) -> None:
        """Close the connection if it was made here."""
        if self._own:
            self.client.close(timeout=1)
            self._own = False
