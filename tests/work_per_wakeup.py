#!/usr/bin/env python3
"""Counts what one wakeup costs the host, by part of the program: the table of docs/speed.md.

    tests/work_per_wakeup.py PROGRAM [ROW...]       rows of `fairground bench`, by default W8, W8-eas and W128

PROGRAM is an optimized build with line tables (`cargo build --release`). Needs valgrind. A row runs twice under callgrind, for
different virtual times; the difference is divided by the wakeups in it, so start-up does not count. Instructions are exact.
Misses are of valgrind's model: first-level caches and branches of a simple CPU, the last level as large as the host's.

An inlined function counts where it is written. Code of the standard libraries counts where it is called from.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

# Virtual seconds of the two runs.
RUNS = {"W8": (1, 4), "W8-why": (1, 4), "W8-eas": (1, 4), "W128": (0.1, 0.4), "W224": (0.1, 0.4), "W1024": (0.1, 0.2)}

# The first pattern that matches a file's path names its part.
PARTS = [
    ("events", r"sim/src/engine/queue\.rs"),
    ("observers", r"sim/src/(checkers|misplacement|metrics|hist|hash)\.rs|sim/src/engine/(measure|sample|report|duration_meter)\.rs"),
    ("engine", r"crates/(sim|workload|machine|run|lab)/"),
    ("PELT and clocks", r"policy/(pelt\w*|clock|schedutil|frequency)\.[ch]|fair/src/world/governor\.rs"),
    ("balance", r"policy/(lb\w*|balance\w*|nohz)\.[ch]|fair/src/(sequence/balance/|world/(balance|sums)\.rs)"),
    ("decision", r"policy/(select|wake|idle\w*|slow\w*|energy|feec|em|util|uclamp|capacity|mask)\.[ch]"
                 r"|fair/src/(scheduler/place\.rs|world/(wake|energy)\.rs)"),
    ("accounting", r"policy/|crates/fair/|fairground-fair-"),
]
OTHER = "libraries"
COUNTS = ["instructions", "I1 misses", "D1 misses", "last-level misses", "branch misses"]


def part_of(path):
    return next((part for part, pattern in PARTS if re.search(pattern, path)), None)


def columns(events):
    """How the events of callgrind add up to COUNTS."""
    add = lambda *names: [events.index(name) for name in names]
    return [add("Ir"), add("I1mr"), add("D1mr", "D1mw"), add("ILmr", "DLmr", "DLmw"), add("Bcm", "Bim")]


def costs(lines):
    """The counts of a callgrind profile, by part."""
    files, total, where = {}, Counter(), []
    file = inlined = ""
    called = False
    for line in lines:
        if m := re.match(r"(c?f[lie])=\((\d+)\)(?: (.*))?$", line):
            name = files.setdefault(m[2], m[3] or "")
            if m[1] == "fl":
                file = inlined = name
            elif m[1] in ("fi", "fe"):
                inlined = name
        elif line.startswith("events:"):
            where = columns(line.split()[1:])
        elif line.startswith("calls="):
            called = True
        elif line[:1] in tuple("0123456789+-*"):
            if called:
                # What the callee cost is counted there.
                called = False
                continue
            numbers = [int(n) for n in line.split()[1:]]
            part = part_of(inlined) or part_of(file) or OTHER
            for count, of in zip(COUNTS, where):
                total[part, count] += sum(numbers[i] for i in of if i < len(numbers))
    return total


def profile(program, row, seconds):
    """Wakeups and costs of one run."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", "--cache-sim=yes", "--branch-sim=yes", f"--callgrind-out-file={out}",
             program, "bench", "--row", row, "--virtual-seconds", str(seconds)],
            capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"{row}: {run.stderr.strip()[-500:]}")
        with out.open() as lines:
            return json.loads(run.stdout)["wakeups"], costs(line.rstrip("\n") for line in lines)


def table(program, row):
    (less, base), (more, whole) = (profile(program, row, seconds) for seconds in RUNS[row])
    wakeups = more - less
    whole.subtract(base)
    parts = [part for part, _ in PARTS] + [OTHER]
    print(f"\n{row}, per wakeup:\n\n| part | " + " | ".join(COUNTS) + " |\n|---|" + "---:|" * len(COUNTS))
    for name, members in [(part, [part]) for part in parts] + [("all", parts)]:
        sums = [sum(whole[member, count] for member in members) / wakeups for count in COUNTS]
        print(f"| {name} | {sums[0]:,.0f} | " + " | ".join(f"{n:,.1f}" for n in sums[1:]) + " |")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    rows = sys.argv[2:] or ["W8", "W8-eas", "W128"]
    if unknown := [row for row in rows if row not in RUNS]:
        sys.exit(f"no row {unknown[0]!r}: there are {', '.join(RUNS)}")
    for row in rows:
        table(sys.argv[1], row)


if __name__ == "__main__":
    main()
