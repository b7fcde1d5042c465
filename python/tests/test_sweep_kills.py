"""A sweep that is killed at random instants ends with the bytes of one that was left alone.

And no run that was on record is done again. ``FAIRGROUND_KILLS`` says how often to kill, ``SEED`` when.
"""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

from fairground.sweeps.sweep import sweep
from sweeping import bytes_of, pipes, program

EXPERIMENT = pipes(experiment={"name": "pipes", "seeds": 50})

#: Carries the experiment out in packs of 16 runs. Two logs grow line by line: runs that were begun, and runs of which the
#: sweep had said that they are on record, which it has when it comes back for the next.
PROGRAM = f"""
    import os, sys
    from fairground.sweeps import store
    from fairground.sweeps.engine import Local
    from fairground.sweeps.sweep import sweep

    folder = sys.argv[1]
    begun, kept = (os.open(f"{{folder}}/{{name}}", os.O_CREAT | os.O_APPEND | os.O_WRONLY) for name in ("begun", "kept"))

    class Logged(Local):
        def outcomes(self, work, inputs):
            def logged():
                for key, spec in work:
                    os.write(begun, f"{{key}}\\n".encode())
                    yield key, spec

            for key, outcome in super().outcomes(logged(), inputs):
                yield key, outcome
                os.write(kept, f"{{key}}\\n".encode())

    store.RUNS_PER_PART = 16
    sweep({EXPERIMENT!r}, folder + "/store", client=Logged(2))
"""


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def killed(line: list[str], begun: Path, when: random.Random) -> bool:
    """Starts a program and kills it, if it does not end before.

    One time in four before it has got far, else some milliseconds after it has begun up to sixty more runs.
    """
    early = when.random() < 0.25
    delay, more = (when.uniform(0, 2.0), 0) if early else (when.uniform(0, 0.02), when.randrange(1, 60))
    goal = len(lines(begun)) + more
    process = subprocess.Popen(line)
    while len(lines(begun)) < goal and process.poll() is None:
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
            before, kept = len(lines(folder / "begun")), set(lines(folder / "kept"))
            done = not killed(program(PROGRAM, folder), folder / "begun", when)
            left -= not done
            again = kept & set(lines(folder / "begun")[before:])
            assert not again, f"{len(again)} runs were done twice (SEED={seed}, {left} kills left)"
        subprocess.run(program(PROGRAM, folder), check=True)
        assert bytes_of(sweep(EXPERIMENT, folder / "store"), tmp_path) == alone, f"SEED={seed}, {left} kills left"
        assert sorted(path.name for path in (folder / "store").iterdir()) == ["index.sqlite", "lock", "parts"]
        age += 1
