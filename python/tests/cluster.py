"""A Dask cluster on loopback for tests: a scheduler and workers as processes of their own, which end with the test."""

import contextlib
import os
import signal
import subprocess
import sys
import time

from distributed import Client

# Preloads of workers import from here.
TESTS = os.path.dirname(__file__)


class Cluster:
    """A scheduler, and what is started to work for it.

    Whatever happens to the test, a scheduler without work ends by itself, and so do workers without a scheduler.
    """

    def __init__(self, directory, workers=0, port=0, nanny=False):
        self.directory = directory
        self.processes = []
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", str(port), "--idle-timeout", "300")
        self.address = self._address()
        if workers:
            self.start_workers(workers, nanny=nanny)

    def _start(self, kind, *arguments):
        name = f"{kind}-{len(self.processes)}"
        with open(self.directory / f"{name}.log", "wb") as log:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    f"distributed.cli.dask_{kind}",
                    *arguments,
                    "--dashboard-address",
                    "127.0.0.1:0",
                ],
                cwd=self.directory,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [TESTS, os.environ.get("PYTHONPATH")]))},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        process.log = self.directory / f"{name}.log"
        self.processes.append(process)
        return process

    def _address(self):
        mark = "Scheduler at:"
        for _ in range(3000):
            found = [line for line in self.scheduler.log.read_text().splitlines() if mark in line]
            if found:
                return found[0].split(mark)[1].strip()
            assert self.scheduler.poll() is None, self.scheduler.log.read_text()
            time.sleep(0.1)
        raise AssertionError(f"the scheduler has not begun: {self.scheduler.log.read_text()}")

    @property
    def port(self):
        return int(self.address.rpartition(":")[2])

    def start_workers(self, number, preload=None, nanny=False):
        """Start `number` workers of one thread each, and wait for them.

        `preload` is Python that they execute first, a `nanny` starts them again when they are killed.
        """
        there = len(self.pids())
        for _ in range(number):
            self._start_worker(preload, nanny)
        with self.client() as client:
            client.wait_for_workers(there + number, timeout=300)

    def _start_worker(self, preload, nanny):
        arguments = [self.address, "--host", "127.0.0.1", "--nthreads", "1", "--memory-limit", "0"]
        arguments += ["--death-timeout", "300", "--local-directory", str(self.directory)]
        arguments += [] if nanny else ["--no-nanny"]
        if preload:
            arguments += ["--preload", preload]
        self._start("worker", *arguments)

    def client(self):
        return Client(self.address, set_as_default=False)

    def pids(self):
        """Processes of the workers, in the order of their addresses."""
        with self.client() as client:
            return [pid for _, pid in sorted(client.run(os.getpid, on_error="ignore").items())]

    def kill_worker(self, draw):
        """SIGKILL one of the workers, which its nanny then starts again; `draw` (random.Random) chooses it."""
        while not (pids := self.pids()):
            time.sleep(0.1)
        os.kill(draw.choice(pids), signal.SIGKILL)

    def stop_scheduler(self):
        self.scheduler.kill()
        self.scheduler.wait()

    def close(self):
        """End all of it at once: each process has a group of its own, with what it started."""
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in self.processes:
            process.wait()
