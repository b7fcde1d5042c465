"""What Dask adds to a sweep: the same runs in two threads here, and on two workers of one thread, in turns.

    python tests/farm_overhead.py [--runs 40] [--loops 700] [--turns 3]

Prints, for each turn, the ratio of wall times and the ratio of CPU times, of which the second does not depend on what
else the machine does. The length of a run is printed too: choose ``--loops`` so that it is what is to be measured.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
from fairground.sweeps.engine import Executor
from fairground.sweeps.farm import Farm
from fairground.sweeps.spec import Inputs, Outcome, RunSpec

sys.path.insert(0, str(Path(__file__).parents[1] / "python/tests"))
from cluster import Cluster


def work(runs: int, loops: int) -> Iterator[tuple[str, RunSpec]]:
    for seed in range(runs):
        spec = RunSpec("hikey960", f"hackbench:groups=4,loops={loops}", "fair:v6.12", seed=seed)
        yield spec.key(Inputs()), spec


class Threads:
    """Threads of this process: the compiled half lets them run beside each other."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs

    def outcomes(
        self, work: Iterator[tuple[str, RunSpec]], inputs: Inputs
    ) -> Generator[tuple[str, Outcome], None, None]:
        with ThreadPoolExecutor(self.jobs) as pool:
            yield from pool.map(lambda item: (item[0], item[1].run(inputs)), work)


def cpu_s() -> float:
    """User and system time of this process and all that it started."""
    here = psutil.Process()
    times = [process.cpu_times() for process in [here, *here.children(recursive=True)]]
    return sum(time.user + time.system for time in times)


def timed(executor: Executor, runs: int, loops: int) -> tuple[float, float, float]:
    """Wall time, CPU time, and the mean length of a run, s."""
    wall, cpu = time.monotonic(), cpu_s()
    outcomes = [outcome for _, outcome in executor.outcomes(work(runs, loops), Inputs())]
    assert len(outcomes) == runs and not any(outcome.failed for outcome in outcomes)
    mean = statistics.mean(outcome.wall_ns for outcome in outcomes) / 1e9
    return time.monotonic() - wall, cpu_s() - cpu, mean


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option, default in (("runs", 40), ("loops", 700), ("turns", 3)):
        parser.add_argument(f"--{option}", type=int, default=default)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder), workers=2)
        try:
            executors = {"local": Threads(2), "farm": Farm(cluster.address)}
            for _ in range(options.turns):
                found = {name: timed(executor, options.runs, options.loops) for name, executor in executors.items()}
                for name, (wall, cpu, mean) in found.items():
                    print(f"{name:6} wall {wall:7.2f} s  cpu {cpu:7.2f} s  a run {mean:.3f} s", end="  ")
                ratios = [farm / local for farm, local in zip(found["farm"], found["local"], strict=True)]
                print(f"ratio wall {ratios[0]:.3f} cpu {ratios[1]:.3f}", flush=True)
        finally:
            cluster.close()


if __name__ == "__main__":
    main()
