#!/usr/bin/env python3
"""Builds kernel trees, compares each with fair: on three machines, and prints a table of the releases.

    tests/trees.py [--speed] [--agree N] [--work DIR] [TREE...]

Without TREE: each package linux-source-N.N that is installed, and each tree below the directory FAIRGROUND_TREES if that is
set. A release passes if it builds, and if no run of `fairground compare` on hikey960, kunpeng920 and epyc-7742-2p fails; a
WARN of the kernel ends its run. The last line names the newest release that passes. Exit status 1: a tree does not pass.

    --speed     also the speed of the simulation, as rows of `fairground bench`: simulated seconds per second of host CPU,
                with that of fair: for comparison, which the load of the host moves alike. A release build makes the runs.
    --agree N   also `fairground kernel agree --balance --picks` on these machines with N wakeups, against the preset that
                stands for the release
    --work DIR  caches and unpacked packages are kept there [default: target/kernels]

Each tree is built in an empty cache, so that the time is that of a whole build. FAIRGROUND names the command; without it
tests/build.sh builds it.
"""

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
import unittest
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Machine, workload, further options; both sides are run with seed 1.
COMPARED = [
    ("hikey960", "sched-pipe:loops=2000", []),
    ("hikey960", "periodic:tasks=12,duty=25,duration=0.5", ["--governor", "schedutil"]),
    ("kunpeng920", "hackbench:groups=4,loops=20", []),
    ("kunpeng920", "periodic:tasks=200,duty=30,duration=0.3", []),
    ("epyc-7742-2p", "hackbench:groups=8,loops=10", []),
    ("epyc-7742-2p", "periodic:tasks=600,duty=15,duration=0.2", []),
]

# What `bench` measures: on 8 and on 224 CPUs.
ROWS = ["W8", "W224"]


@dataclass
class Release:
    """What became of one tree."""

    tree: Path
    release: str = "?"
    build_s: float | None = None
    build_cpu_s: float = 0.0
    warnings: list[str] = field(default_factory=list)
    warns: int = 0
    failures: list[str] = field(default_factory=list)
    speeds: list[str] = field(default_factory=list)
    agreed: list[str] = field(default_factory=list)

    @property
    def passes(self):
        return not self.failures

    @property
    def number(self):
        """To sort by: 6.12.117 comes after 6.2."""
        return [int(part) for part in re.findall(r"\d+", self.release)]


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip())
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--agree", type=int, metavar="N")
    parser.add_argument(
        "--work", type=Path, default=Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "kernels"
    )
    parser.add_argument("trees", nargs="*", type=Path)
    args = parser.parse_args()
    work = args.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    command = fairground(args.speed)
    trees = args.trees or [*of_packages(work), *of_directory(os.environ.get("FAIRGROUND_TREES"))]
    if not trees:
        sys.exit(
            "trees.py: no package linux-source-N.N is installed, and FAIRGROUND_TREES names no directory with trees"
        )
    releases = [one(command, tree, work, args) for tree in trees]
    releases.sort(key=lambda release: release.number)
    print("\n".join(table(releases, args)))
    for release in releases:
        for text in release.warnings:
            print(f"{release.release}: warning: {text}")
        for text in release.failures:
            print(f"{release.release}: {text}")
    print(newest(releases))
    return 0 if all(release.passes for release in releases) else 1


def fairground(release):
    """Path of the command. Speed is that of a release build."""
    if release:
        subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "fairground-cli"], cwd=ROOT, check=True)
        return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "release/fairground"
    if "FAIRGROUND" in os.environ:
        return Path(os.environ["FAIRGROUND"])
    built = subprocess.run(["tests/build.sh"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return Path(built.stdout.strip())


def of_packages(work):
    """The trees of Debian's packages that are installed."""
    archives = sorted(Path("/usr/src").glob("linux-source-*.tar.xz"))
    names = [
        found[1] for archive in archives if (found := re.fullmatch(r"linux-source-(\d+\.\d+)\.tar\.xz", archive.name))
    ]
    for name in names:
        unpacked = subprocess.run([ROOT / "tests/unpack.sh", name, work], check=True, stdout=subprocess.PIPE, text=True)
        yield Path(unpacked.stdout.strip())


def of_directory(directory):
    """The trees that lie side by side in a directory."""
    if directory:
        yield from sorted(tree for tree in Path(directory).iterdir() if (tree / "kernel/sched").is_dir())


def one(command, tree, work, args):
    """Builds a tree and tries it."""
    found = Release(tree)
    cache = work / "cache-of-trees"
    shutil.rmtree(cache, ignore_errors=True)
    environment = {**os.environ, "FAIRGROUND_CACHE": str(cache)}

    def run(*words):
        words = [str(command), *map(str, words)]
        return subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)

    begun, cpu_before = time.monotonic(), cpu_of_children()
    built = run("kernel", "build", tree, "--name", "tree")
    found.release = released(tree)
    if built.returncode != 0:
        found.failures.append(f"does not build: {said(built.stderr)}")
        print(f"--- {found.release}: does not build", flush=True)
        return found
    found.build_s, found.build_cpu_s = time.monotonic() - begun, cpu_of_children() - cpu_before
    kernel = json.loads(run("kernel", "list", "--format", "json").stdout)["kernels"][0]
    found.release, found.warnings = kernel["release"], kernel["warnings"]
    print(f"--- {found.release}: built in {found.build_s:.0f} s", flush=True)
    for machine, workload, more in COMPARED:
        sides = ["--base", "fair:", "--test", "linux:tree", "--seeds", "1", "--no-store"]
        note(found, f"{machine} {workload}", run("compare", machine, workload, *more, *sides))
    if args.speed and found.passes:
        for row in ROWS:
            ours, theirs = (
                run("bench", "--row", row, "--seconds", "3", "--sched", sched) for sched in ("fair:", "linux:tree")
            )
            found.speeds.append(speed(ours.stdout, theirs.stdout))
    if args.agree and found.passes:
        machines = [word for machine in dict.fromkeys(line[0] for line in COMPARED) for word in ("--machine", machine)]
        counted = ["--balance", "--picks", "--decisions", args.agree, "--format", "json"]
        judged = run("kernel", "agree", "tree", *machines, *counted)
        found.agreed = agreement(judged.stdout) if judged.stdout else [said(judged.stderr)]
    return found


def cpu_of_children():
    """CPU time of all processes that have ended, s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def released(tree):
    """The release that a tree's Makefile states, as far as it can be read."""
    try:
        head = (tree / "Makefile").read_text(errors="replace")[:2000]
    except OSError:
        return tree.name
    numbers = re.findall(r"(?m)^(?:VERSION|PATCHLEVEL|SUBLEVEL) *= *(\d+)", head)
    return ".".join(numbers) or tree.name


def note(found, what, ran):
    """Adds what a comparison says of the kernel: a WARN ends its run."""
    if ran.returncode != 0:
        found.warns += "the kernel warns" in ran.stderr
        found.failures.append(f"{what}: {said(ran.stderr)}")


def said(stderr):
    """The first line of an error that says something."""
    lines = [re.sub(r"^\s*[x×]\s+", "", line).strip() for line in stderr.splitlines()]
    return next((line for line in lines if line), "no message")


def speed(ours, theirs):
    """Simulated seconds per second of host CPU, and how much of fair:'s that is."""
    ours, theirs = (json.loads(text)["sim_s_per_cpu_s"] for text in (ours, theirs))
    return f"{theirs:.3g} ({theirs / ours:.2f})"


def agreement(text):
    """Preset, wakeups with forks and execs, picks, and balance passes with pushes."""
    report = json.loads(text)
    kinds = report["kinds"]

    def share(*names):
        n = sum(kinds[name]["n"] for name in names if name in kinds)
        alike = sum(kinds[name]["agree"] for name in names if name in kinds)
        if n == 0:
            return "-"
        return f"all of {n}" if alike == n else f"{100 * alike / n:.3f} % of {n}"

    failed = [f"{len(report['failures'])} runs failed"] if report["failures"] else []
    return [report["preset"], share("wake", "fork", "exec"), share("pick"), share("balance"), *failed]


def table(releases, args):
    """Lines of a table in Markdown."""
    titles = ["release", "build", "of CPU time", "WARN", "compare"]
    titles += [f"{row} (of fair:)" for row in ROWS] if args.speed else []
    titles += ["preset", "wakeups, forks, execs alike", "picks", "passes and pushes"] if args.agree else []
    yield f"| {' | '.join(titles)} |"
    yield f"|{'---|' * len(titles)}"
    for release in releases:
        built = "fails" if release.build_s is None else f"{release.build_s:.0f} s"
        row = [
            release.release,
            built,
            f"{release.build_cpu_s:.0f} s",
            str(release.warns),
            "passes" if release.passes else "FAILS",
        ]
        row += (release.speeds or ["-"] * len(ROWS)) if args.speed else []
        row += (release.agreed or ["-"] * 4) if args.agree else []
        yield f"| {' | '.join(row)} |"


def newest(releases):
    """Which release is the newest that passes."""
    passing = [release for release in releases if release.passes]
    if not passing:
        return "no release passes"
    newest = max(passing, key=lambda release: release.number)
    return f"newest release that passes: {newest.release} ({len(passing)} of {len(releases)} pass)"


class Reading(unittest.TestCase):
    """What is read of the command's output."""

    def test_the_newest_release_goes_by_numbers_and_passes(self):
        releases = [Release(Path(name), name) for name in ("6.2.1", "6.12.117", "7.3.4")]
        self.assertEqual(newest(releases), "newest release that passes: 7.3.4 (3 of 3 pass)")
        releases[2].failures.append("does not build: x")
        self.assertEqual(newest(releases), "newest release that passes: 6.12.117 (2 of 3 pass)")

    def test_a_warning_of_the_kernel_fails_a_release(self):
        found = Release(Path("x"))
        note(
            found,
            "a run",
            subprocess.CompletedProcess([], 1, "", "  x the kernel warns: WARNING at kernel/sched/fair.c:1\n"),
        )
        self.assertEqual((found.warns, found.passes), (1, False))
        self.assertEqual(found.failures, ["a run: the kernel warns: WARNING at kernel/sched/fair.c:1"])

    def test_agreement_is_counted_over_kinds(self):
        kinds = {"wake": {"n": 10, "agree": 9}, "fork": {"n": 10, "agree": 10}, "pick": {"n": 4, "agree": 4}}
        text = json.dumps({"preset": "fair:v6.12", "kinds": kinds, "failures": []})
        self.assertEqual(agreement(text), ["fair:v6.12", "95.000 % of 20", "all of 4", "-"])


if __name__ == "__main__":
    if (
        not unittest.TextTestRunner(verbosity=0)
        .run(unittest.defaultTestLoader.loadTestsFromTestCase(Reading))
        .wasSuccessful()
    ):
        sys.exit(1)
    sys.exit(main())
