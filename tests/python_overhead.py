"""What a call from Python costs beside the command, and what two at once cost beside one; ratios, nothing is judged.

    FAIRGROUND=target/release/fairground target/python/bin/python tests/python_overhead.py

Each measurement is repeated, both ways in turn, and its least and its median are shown: on a busy machine look at the
least, and at user time, which others do not lengthen much.
"""

import os
import resource
import statistics
import subprocess
import sys
import threading
import time

import fairground as fg

REPEATS = 7
MACHINE, SCHED = "hikey960", "fair:v6.12"


def user(who: int) -> float:
    return resource.getrusage(who).ru_utime


def timed(act, who):
    """Wall and user time, s."""
    wall, cpu = time.perf_counter(), user(who)
    act()
    return time.perf_counter() - wall, user(who) - cpu


def long_enough() -> str:
    """A workload whose run takes about a second here."""
    loops = 10_000
    took = timed(lambda: fg.run(MACHINE, f"sched-pipe:loops={loops},threads", SCHED), resource.RUSAGE_SELF)[1]
    return f"sched-pipe:loops={max(1, round(loops / took))},threads"


def two_at_once(run) -> None:
    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def show(what: str, ours: list, theirs: list) -> None:
    for name, part in (("wall", 0), ("user", 1)):
        of = [[sample[part] for sample in samples] for samples in (ours, theirs)]
        least = min(of[0]) / min(of[1])
        median = statistics.median(of[0]) / statistics.median(of[1])
        print(f"{what:<28} {name:<5} least {least:6.3f}   median {median:6.3f}   ({min(of[1]):.3f} s)")


def main() -> None:
    command = os.environ.get("FAIRGROUND") or sys.exit("set FAIRGROUND to the command")
    workload = long_enough()

    def call() -> None:
        fg.run(MACHINE, workload, SCHED)

    def run() -> None:
        subprocess.run([command, "run", MACHINE, workload, "--sched", SCHED], check=True, stdout=subprocess.DEVNULL)

    calls, runs, pairs = [], [], []
    for _ in range(REPEATS):
        calls.append(timed(call, resource.RUSAGE_SELF))
        runs.append(timed(run, resource.RUSAGE_CHILDREN))
        pairs.append(timed(lambda: two_at_once(call), resource.RUSAGE_SELF))
    print(f"{MACHINE}, {workload}, {SCHED}; {REPEATS} times, ratios")
    show("a call to the command", calls, runs)
    show("two calls at once to one", pairs, calls)


if __name__ == "__main__":
    main()
