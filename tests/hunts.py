#!/usr/bin/env python3
"""Hunts on pairs that are drawn by hash, one after another.

    tests/hunts.py OUT [--pairs N] [--minutes M] [--jobs J] [--machine NAME]...

Pair k, from 1, is of two presets if k is odd, and of a preset with and without a feature if k is even. Presets and features are in the
order of `fairground feature list`. The base is the preset at sha256("hunt k base") modulo their number, the other preset is at
sha256("hunt k test"), the feature at sha256("hunt k feature"). A pair that the command refuses, or of one preset with itself, is
passed over; k goes on until there are N. Answers are kept as OUT/K.json with the files of what was confirmed in OUT/K, and one that is
there is not made again. Prints a row for each pair. FAIRGROUND names the command, by default the one on the path.
"""

import argparse
import hashlib
import json
import os
import subprocess
from pathlib import Path

FAIRGROUND = os.environ.get("FAIRGROUND", "fairground")


def main() -> None:
    parser = argparse.ArgumentParser(description="Hunts on pairs that are drawn by hash.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--machine", action="append")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    matrix = args.out / "matrix.toml"
    machines = args.machine or ["hikey960", "kunpeng920", "epyc-7742-2p", "pixel6"]
    matrix.write_text(f'[[block]]\nmachines = {json.dumps(machines)}\nworkloads = ["sched-pipe"]\n')
    known = json.loads(subprocess.check_output([FAIRGROUND, "feature", "list", "--format", "json"]))
    done, k = 0, 0
    while done < args.pairs:
        k += 1
        if (pair := drawn(known, k)) and (answer := hunt(args, matrix, k, pair)):
            done += 1
            print(row(k, pair, answer), flush=True)


def drawn(known: dict, k: int) -> str | None:
    """The pair as `review --features` takes it; none if both are the same."""

    def of(what: str, items: list) -> dict:
        return items[int(hashlib.sha256(f"hunt {k} {what}".encode()).hexdigest(), 16) % len(items)]

    base = of("base", known["presets"])["name"]
    if k % 2 == 1:
        test = of("test", known["presets"])["name"]
        return None if test == base else f"fair:{base}..fair:{test}"
    feature = of("feature", known["features"])
    if feature["presets"].get(base, "0") == (feature["values"] or ["0"])[0]:
        return f"fair:{base}+{feature['name']}"
    return f"fair:{base}-{feature['name']}"


def hunt(args: argparse.Namespace, matrix: Path, k: int, pair: str) -> dict | None:
    """What the command answers; none if it refuses the pair."""
    kept = args.out / f"{k}.json"
    if not kept.exists():
        words = ["review", "--features", pair, "--matrix", matrix, "--hunt", args.minutes, "--jobs", args.jobs, "--no-store"]
        words += ["--format", "json", "--output", kept, "--dir", args.out / str(k)]
        ran = subprocess.run([FAIRGROUND, *map(str, words)], capture_output=True, text=True)
        if ran.returncode == 2:
            return None
        if ran.returncode not in (0, 1):
            raise SystemExit(f"{pair}: {ran.stderr}")
    return json.loads(kept.read_text())


def row(k: int, pair: str, answer: dict) -> str:
    findings = answer["findings"]
    confirmed = [finding for finding in findings if finding["confirmed"]]
    lines = [f"{k}\t{pair}\tpoints {answer['points']}\tfindings {len(findings)}\tconfirmed {len(confirmed)}"]
    for finding in confirmed:
        change = finding["smallest_change"] or finding["on_other_seeds"]
        lines.append(f"\t{change['improvement_pct']:+.2f} %\t{finding['metric']}\t{finding['smallest']}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
