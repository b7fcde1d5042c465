"""``fairground sweep``, also ``python -m fairground.sweeps``.

Exit codes are the command's: 0 done, 1 a run failed or results cannot be kept, 2 bad usage or bad input; and 130 after
Ctrl-C, as a shell reports it.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from .._fairground import InputError, allow_library, printable
from .errors import StoreRefused, SweepError

if TYPE_CHECKING:
    from .sweep import Sweep

#: Failures that are printed one by one.
FAILURES_SHOWN = 10


def main(words: Sequence[str] | None = None) -> int:
    """Run the command with these arguments, by default those of the command line. Returns the exit code."""
    options = _parser().parse_args(words)
    warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}", sys.stderr)
    if options.allow_library:
        allow_library()
    try:
        _check(options)
        return _end(options, _swept(options))
    except (InputError, StoreRefused) as error:
        return complain(error, 2)
    except (SweepError, OSError, ImportError) as error:
        return complain(error, 1)
    except KeyboardInterrupt:
        print("stopped; finished runs are kept; the same command continues from there", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fairground sweep",
        description="Carries out an experiment: many runs over machines, workloads, schedulers, features and figures.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="experiment file (TOML)")
    parser.add_argument(
        "--store",
        metavar="DIR",
        help="keep the result of each run here and begin where an earlier command stopped [default: sweeps/NAME in "
        "$FAIRGROUND_CACHE, $XDG_CACHE_HOME/fairground or ~/.cache/fairground]",
    )
    parser.add_argument(
        "--jobs", metavar="N", type=_count, help="threads to run on; results do not depend on it [default: all CPUs]"
    )
    parser.add_argument("--dask", metavar="ADDRESS", help="run on the workers of this Dask scheduler instead")
    parser.add_argument(
        "--allow-library", action="store_true", help="let linux:PATH load libraries that were not built here"
    )
    parser.add_argument("--yes", action="store_true", help="more than 1,000,000 runs are meant")
    parser.add_argument("--retry", action="store_true", help="run again what failed before")
    parser.add_argument(
        "--status",
        action="store_true",
        help="run nothing: show the results so far; another command may write meanwhile",
    )
    parser.add_argument("--output", metavar="FILE", type=Path, help="write the table to FILE, .parquet or .csv")
    parser.add_argument(
        "--report", metavar="FILE", type=Path, help="write effects, indices and regressions to FILE, .html"
    )
    return parser


def _count(word: str) -> int:
    count = int(word) if word.isascii() and word.isdigit() else 0
    if count == 0:
        raise argparse.ArgumentTypeError("expected a whole number from 1 on")
    return count


def _check(options: argparse.Namespace) -> None:
    """Refuse before the first run what would fail after the last."""
    for option, endings in (("output", (".parquet", ".csv")), ("report", (".html",))):
        path: Path | None = getattr(options, option)
        if path is None:
            continue
        if path.suffix not in endings and not (path.exists() and not path.is_file()):
            raise InputError(f"--{option} {path}: expected a name that ends in {' or '.join(endings)}")
        if not os.access(path if path.exists() else path.parent, os.W_OK) or path.is_dir():
            raise InputError(f"--{option} {path}: it cannot be written there")
    if options.report is not None:
        missing = [name for name in ("matplotlib", "pandas", "scipy") if importlib.util.find_spec(name) is None]
        if missing:
            raise InputError(f"--report takes {' and '.join(missing)}: pip install 'fairground[report]'")


def _swept(options: argparse.Namespace) -> Sweep:
    from .sweep import look, sweep

    if options.status:
        return look(options.file, options.store, options.yes)
    return sweep(options.file, options.store, options.jobs, options.dask, options.yes, retry=options.retry)


def _end(options: argparse.Namespace, swept: Sweep) -> int:
    if options.output is not None:
        swept.write(options.output)
    if options.report is not None:
        swept.report(options.report)
    counts = [f"{len(swept.table)} of {swept.experiment.size} runs"]
    counts += [f"{len(swept.failures)} failed"] if len(swept.failures) else []
    counts += [f"{swept.left} left"] if swept.left else []
    say(f"{swept.experiment.name}: {', '.join(counts)}", sys.stdout)
    for run in swept.failures.slice(0, FAILURES_SHOWN).to_pylist():
        message = run.pop("message")
        say(f"run failed: {', '.join(f'{name} {value}' for name, value in run.items())}: {message}", sys.stderr)
    if len(swept.failures) > FAILURES_SHOWN:
        print(f"and {len(swept.failures) - FAILURES_SHOWN} more", file=sys.stderr)
    return 1 if len(swept.failures) else 0


def say(text: str, file: TextIO) -> None:
    """Print text that may contain control characters from inputs."""
    print(printable(text), file=file)


def complain(error: BaseException, code: int) -> int:
    """Print an error as the command does. Returns `code`."""
    text = str(error).rstrip()
    say(text if text.startswith("  x ") else f"  x {text}", sys.stderr)
    return code
