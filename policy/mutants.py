#!/usr/bin/env python3
"""Whether the tests of the policy notice a feature that is stuck at one of its values.

    policy/mutants.py [--all] [FEATURE...]

For each visible feature (crates/fair/src/feature_details.rs) and each of its values (features.h) the tests in tests/*.c run
with a policy in which the feature always reads as this value: a mutant. At least one test has to fail, by a comparison that
comes out otherwise with the other value. Tests of random machines (*fuzz.c) are left out.

    --all       also the mutants that were killed, each with the first test that failed
    FEATURE...  only these

Exit status 1: a mutant survives; a feature that only crates/fair reads is named by no test there; nothing reads a feature
that is ready. Features without code are left out. Needs clang; about a minute on two cores.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

POLICY = Path(__file__).resolve().parent
FAIR = POLICY.parent / "crates" / "fair"

FEATURE = re.compile(
    r'FG_FEATURE\(\s*(?P<id>\w+),\s*"(?P<name>[^"]+)",\s*"(?P<values>[^"]*)",\s*"[^"]*",\s*"[^"]*",\s*(?P<ready>[01]),'
)
DETAILS = re.compile(r'^ *\("([^"]+)", *"[^"]*", *"[^"]*", *(\w+)', re.MULTILINE)

# The function by which all of the policy reads features, and what takes its place.
READ = "\treturn sys->feat.value[id];"
READ_MUTANT = "\treturn (u32)id == fg_mutant_id ? fg_mutant_value : sys->feat.value[id];"
READER = "static inline u32 feat("
MUTANT_C = """#include <stdlib.h>
unsigned fg_mutant_id = ~0u, fg_mutant_value;
__attribute__((constructor)) static void mutate(void)
{
	const char *id = getenv("FG_MUTANT_ID"), *value = getenv("FG_MUTANT_VALUE");

	if (!id || !value)
		return;
	fg_mutant_id = (unsigned)atoi(id);
	fg_mutant_value = (unsigned)atoi(value);
}
"""
# A mutant may run for ever.
TIMEOUT_S = 60


@dataclass
class Feature:
    """A row of features.h."""

    number: int
    id: str
    name: str
    values: list[str]
    ready: bool

    def is_read_by_policy(self, sources):
        return re.search(rf"\bfeat\([^()]*,\s*FG_{self.id}\)", sources) is not None

    def is_named_in(self, rust):
        return re.search(rf'\bFG_{self.id}\b|[+"-]{self.name}(?![\w-])', rust) is not None


def visible_features():
    """Those that show in a run, in the order of features.h."""
    rows = FEATURE.finditer((POLICY / "features.h").read_text())
    shows = dict(DETAILS.findall((FAIR / "src" / "feature_details.rs").read_text()))
    visible = []
    for number, row in enumerate(rows):
        if row["name"] not in shows:
            sys.exit(f"policy/mutants.py: {row['name']} has no row in crates/fair/src/feature_details.rs that is understood")
        if shows[row["name"]] in ("Yes", "Only"):
            values = row["values"].split("|") if row["values"] else ["off", "on"]
            visible.append(Feature(number, row["id"], row["name"], values, row["ready"] == "1"))
    return visible


def text_of(folder, pattern, without=()):
    return "\n".join(path.read_text() for path in sorted(folder.glob(pattern)) if path.name not in without)


def copy_policy(folder):
    """The policy and its tests, with a feat() that can be told what to answer."""
    for path in POLICY.glob("*.[ch]"):
        shutil.copy(path, folder)
    shutil.copytree(POLICY / "tests", folder / "tests")
    header = folder / "sched.h"
    text = header.read_text()
    if text.count(READ) != 1 or text.count(READER) != 1:
        sys.exit("policy/mutants.py: feat() of sched.h is not as expected: see READ and READER here")
    text = text.replace(READ, READ_MUTANT).replace(READER, f"extern u32 fg_mutant_id, fg_mutant_value;\n{READER}")
    header.write_text(text)
    (folder / "mutant.c").write_text(MUTANT_C)


class Tests:
    """The tests in a folder made by copy_policy(), built once."""

    def __init__(self, folder, pool):
        self.folder = folder
        self.pool = pool
        self.sources = {
            path.stem: path.read_text() for path in sorted((folder / "tests").glob("*.c")) if "fuzz" not in path.stem
        }
        for errors in pool.map(self._build, self.sources):
            if errors:
                sys.exit(f"policy/mutants.py: a test does not compile:\n{errors}")

    def _build(self, test):
        # Optimizing takes longer than all runs of a test, but for those that compare with a model.
        optimize = "-O1" if "model" in test else "-O0"
        command = ["clang", "-std=gnu11", optimize, "-w", f"tests/{test}.c", "mutant.c", "-o", test]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True).stderr

    def _fails(self, test, number=None, value=None):
        mutant = {} if number is None else {"FG_MUTANT_ID": str(number), "FG_MUTANT_VALUE": str(value)}
        try:
            run = subprocess.run(
                [self.folder / test], env={**os.environ, **mutant}, capture_output=True, timeout=TIMEOUT_S
            )
        except subprocess.TimeoutExpired:
            return True
        return run.returncode != 0

    def failing(self):
        """Those that fail as they are."""
        return [test for test, fails in zip(self.sources, self.pool.map(self._fails, self.sources)) if fails]

    def killer_of(self, feature, value):
        """The first test that fails with feature stuck at this value; None: it survives."""

        # Those that set the feature come first. What compares with a model takes longest.
        def rank(test):
            return f"FG_{feature.id}" not in self.sources[test], "model" in test, test

        return next((test for test in sorted(self.sources, key=rank) if self._fails(test, feature.number, value)), None)

    def survivors(self, features, show_all):
        """One line for each mutant that no test notices."""
        mutants = [(feature, value) for feature in features for value in range(len(feature.values))]
        lines = []
        for (feature, value), killer in zip(mutants, self.pool.map(lambda mutant: self.killer_of(*mutant), mutants)):
            mutant = f"{feature.name}={feature.values[value]}"
            if killer is None:
                lines.append(f"{mutant} survives: no test in policy/tests needs another value")
            elif show_all:
                print(f"{mutant}: {killer}", flush=True)
        return lines


def wanted_features(names):
    features = visible_features()
    unknown = sorted(set(names) - {feature.name for feature in features})
    if unknown:
        sys.exit(f"policy/mutants.py: not a visible feature: {' '.join(unknown)}")
    return [feature for feature in features if not names or feature.name in names]


def without_policy(features):
    """What is wrong with features that the policy does not read."""
    # Which release has a feature is no decision.
    rust = text_of(FAIR / "src", "**/*.rs", without=("timeline.rs", "presets.rs", "features.rs", "feature_details.rs"))
    tests = text_of(FAIR / "tests", "**/*.rs")
    lines = []
    for feature in features:
        if f"FG_{feature.id}" not in rust:
            lines.append(f"{feature.name} is ready, but nothing reads it")
        elif not feature.is_named_in(tests):
            lines.append(f"{feature.name} is decided in crates/fair/src, but no test in crates/fair/tests names it")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="also the mutants that were killed")
    parser.add_argument("features", nargs="*", metavar="FEATURE", help="only these")
    arguments = parser.parse_args()

    ready = [feature for feature in wanted_features(arguments.features) if feature.ready]
    sources = text_of(POLICY, "*.[ch]")
    read = [feature for feature in ready if feature.is_read_by_policy(sources)]
    others = [feature for feature in ready if feature not in read]
    wrong = without_policy(others)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        copy_policy(Path(folder))
        tests = Tests(Path(folder), pool)
        failing = tests.failing()
        if failing:
            sys.exit(f"policy/mutants.py: without a mutant these fail: {' '.join(failing)}")
        wrong += tests.survivors(read, arguments.all)
    print("\n".join(wrong), end="\n" if wrong else "")
    mutants = sum(len(feature.values) for feature in read)
    print(f"{mutants} mutants of {len(read)} features; not read by the policy: {' '.join(f.name for f in others) or 'none'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
