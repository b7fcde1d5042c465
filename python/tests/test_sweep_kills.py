"""A sweep that is killed at random instants ends with the bytes of one that was left alone.

And no run that was on record is done again. ``FAIRGROUND_KILLS`` says how often to kill, ``SEED`` when.
"""

import os
import random
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

from fairground.sweeps.sweep import sweep
from sweeping import bytes_of, pipes, program

EXPERIMENT = pipes(experiment={"name": "pipes", "seeds": 50})

#: Carries the experiment out. A log grows by a line for each run that was reported to the sweep as ended: it was on
#: record then.
PROGRAM = f"""
    import os, sys
    from fairground.sweeps import progress, sweep

    kept = os.open(sys.argv[1] + "/kept", os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    class Logged(progress.Progress):
        def step(self, failed=False):
            os.write(kept, b"run\\n")
            super().step(failed)

    sweep.Progress = Logged
    sweep.sweep({EXPERIMENT!r}, sys.argv[1] + "/store", jobs=2)
"""


def lines(path: Path) -> int:
    return len(path.read_text().splitlines()) if path.exists() else 0


def on_record(store: Path) -> dict[bytes, bytes]:
    """Results by their keys, to the byte; how long a run has taken is among them."""
    try:
        with closing(sqlite3.connect(f"file:{store}/results.sqlite?mode=ro", uri=True)) as index:
            return dict(index.execute("SELECT key, content FROM entries JOIN results USING (id)"))
    except sqlite3.OperationalError:
        return {}


def killed(line: list[str], kept: Path, when: random.Random) -> bool:
    """Starts a program and kills it, if it does not end before.

    One time in four before it has got far, else some milliseconds after it has made up to sixty more runs.
    """
    early = when.random() < 0.25
    delay, more = (when.uniform(0, 2.0), 0) if early else (when.uniform(0, 0.02), when.randrange(1, 60))
    goal = lines(kept) + more
    process = subprocess.Popen(line)
    while lines(kept) < goal and process.poll() is None:
        time.sleep(0.002)
    time.sleep(delay)
    process.kill()
    code = process.wait()
    assert code in (0, -signal.SIGKILL)
    return code != 0


def test_kills_lose_only_runs_in_work(tmp_path):
    kills, seed = int(os.environ.get("FAIRGROUND_KILLS", "5")), os.environ.get("SEED", "1")
    when = random.Random(seed)
    alone = bytes_of(sweep(EXPERIMENT, tmp_path / "alone", jobs=2), tmp_path)
    age, left = 0, kills
    while left:
        # A store of its own, which is killed until the sweep is done: kills find stores of all ages.
        folder = tmp_path / str(age)
        folder.mkdir()
        done = False
        while left and not done:
            before = on_record(folder / "store")
            done = not killed(program(PROGRAM, folder), folder / "kept", when)
            left -= not done
            after = on_record(folder / "store")
            assert before.items() <= after.items(), f"runs were done twice (SEED={seed}, {left} kills left)"
            assert len(after) >= lines(folder / "kept"), f"runs are lost (SEED={seed}, {left} kills left)"
        subprocess.run(program(PROGRAM, folder), check=True)
        assert bytes_of(sweep(EXPERIMENT, folder / "store"), tmp_path) == alone, f"SEED={seed}, {left} kills left"
        assert sorted(path.name for path in (folder / "store").iterdir()) == ["lock", "results.sqlite"]
        age += 1
