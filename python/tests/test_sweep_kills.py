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


def test_kills_lose_only_runs_in_work(tmp_path):
    kills, seed = int(os.environ.get("FAIRGROUND_KILLS", "5")), os.environ.get("SEED", "1")
    when = random.Random(seed)
    alone = bytes_of(sweep(EXPERIMENT, tmp_path / "alone", jobs=2), tmp_path)
    (tmp_path / "0").mkdir()
    began = time.monotonic()
    subprocess.run(program(PROGRAM, tmp_path / "0"), check=True)
    whole = time.monotonic() - began
    folder, age, killed = tmp_path / "0", 0, 0
    while killed < kills:
        if len(lines(folder / "kept")) == 200:
            # It was done: begin anew, so that kills find stores of all ages.
            age += 1
            folder = tmp_path / str(age)
            folder.mkdir()
        before, done = len(lines(folder / "begun")), set(lines(folder / "kept"))
        process = subprocess.Popen(program(PROGRAM, folder))
        try:
            code = process.wait(when.uniform(0, whole))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            code = process.wait()
        again = done & set(lines(folder / "begun")[before:])
        assert not again, f"{len(again)} runs were done twice (SEED={seed}, kill {killed})"
        if code == 0:
            assert bytes_of(sweep(EXPERIMENT, folder / "store"), tmp_path) == alone, f"SEED={seed}, kill {killed}"
        else:
            assert code == -signal.SIGKILL
            killed += 1
    subprocess.run(program(PROGRAM, folder), check=True)
    assert bytes_of(sweep(EXPERIMENT, folder / "store"), tmp_path) == alone, f"SEED={seed}"
    left = [path.name for path in (folder / "store").iterdir()]
    assert sorted(left) == ["index.sqlite", "lock", "parts"]
