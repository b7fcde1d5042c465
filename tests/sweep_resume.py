"""How long a sweep of many runs takes to find that all, or all but a few, are on record, and how much memory that takes.

    python tests/sweep_resume.py [--runs 100000]

Runs are made up, so that nothing but design, keys and store is measured. Prints, for each start, seconds and the growth of
the process's greatest memory.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

from fairground.sweeps.experiment import Experiment
from fairground.sweeps.spec import Inputs, Outcome, RunSpec
from fairground.sweeps.store import Store
from fairground.sweeps.sweep import sweep


class MadeUp:
    """Says at once what a run could have given; counts what it was asked for."""

    def __init__(self) -> None:
        self.asked = 0

    def outcomes(
        self, work: Iterator[tuple[str, RunSpec]], inputs: Inputs
    ) -> Generator[tuple[str, Outcome], None, None]:
        for key, spec in work:
            self.asked += 1
            yield key, made_up(key, spec)


def made_up(key: str, spec: RunSpec) -> Outcome:
    return Outcome({f"figure_{i}": spec.seed + i / 8 for i in range(20)}, key[:32], (), None, 1)


def measured(what: str, act: Callable[[], Any]) -> Any:
    """What `act` gives, with its costs told."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = act()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"{what:32} {time.monotonic() - began:7.2f} s  {grown / 1024:7.1f} MiB more", flush=True)
    return result


def record(experiment: Experiment, path: Path) -> None:
    """Puts all runs on record."""
    with Store.open(path) as store:
        for spec in experiment.specs():
            key = spec.key(experiment.inputs)
            store.record(key, made_up(key, spec))
        store.pack()


def wanted(experiment: Experiment, path: Path) -> int:
    """How many runs are not on record."""
    with Store.open(path) as store:
        store.want(spec.key(experiment.inputs) for spec in experiment.specs())
        return len(store.missing())


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
        assert measured("found to be on record", lambda: wanted(experiment, path)) == 0
        swept = measured("found, and their table", lambda: sweep(experiment, path, client=executor))
        assert (len(swept.table), executor.asked) == (experiment.size, 0)


if __name__ == "__main__":
    main()
