"""How long a sweep of many runs takes to find that all, or all but a few, are on record, and how much memory that takes.

    python tests/sweep_resume.py [--runs 100000]

Results are made up, so that nothing but design, keys and store is measured. Prints, for each start, seconds and the growth of
the process's greatest memory.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fairground.sweeps import Experiment, Inputs, Outcome, RunSpec, Store
from fairground.sweeps.sweep import sweep


class MadeUp:
    """Counts the runs that it is asked for, and says at once what one of them gave."""

    def __init__(self) -> None:
        self.asked = 0

    def outcomes(self, work: Iterator[tuple[str, RunSpec]], inputs: Inputs) -> Any:
        for key, spec in work:
            self.asked += 1
            yield key, spec.run(inputs)


def measured(what: str, act: Callable[[], Any]) -> Any:
    """The result of `act`. Prints its costs."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = act()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"{what:32} {time.monotonic() - began:7.2f} s  {grown / 1024:7.1f} MiB more", flush=True)
    return result


def record(experiment: Experiment, path: Path) -> None:
    """Puts all runs on record."""
    outcome: Outcome = next(experiment.specs()).run(experiment.inputs)
    keys = experiment.keys()
    with Store(path) as store:
        for position in range(len(keys)):
            store.put(keys[position], outcome)


def missing(experiment: Experiment, path: Path) -> int:
    """How many runs are not on record."""
    with Store(path) as store:
        return len(store.missing(experiment.keys()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100_000)
    runs = parser.parse_args().runs
    content = {
        "experiment": {"name": "resumed", "seeds": runs // 4},
        "fixed": {"machine": "hikey960"},
        "axes": {"workload": ["sched-pipe:threads", "hackbench"], "sched": ["fair:v5.9", "fair:v6.12"]},
    }
    experiment, executor = Experiment.from_dict(content), MadeUp()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        print(f"{experiment.size} runs")
        measured("all are recorded", lambda: record(experiment, path))
        assert measured("found to be on record", lambda: missing(experiment, path)) == 0
        swept = measured("found, and their table", lambda: sweep(experiment, path, client=executor))
        assert (len(swept.table), executor.asked) == (experiment.size, 0)


if __name__ == "__main__":
    main()
