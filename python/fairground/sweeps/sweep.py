"""A sweep: an experiment, carried out as far as its store does not have it yet.

The same experiment gives the same table, to the byte, whoever ran it, wherever, in whatever order and after however many
interruptions: the table is made of the store, in the order of the design.
"""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa

from .engine import Executor, Local
from .experiment import Axis, Experiment
from .interrupts import held_back
from .output import csv_bytes, parquet_bytes, write
from .progress import Progress
from .spec import RunSpec
from .store import Store

if TYPE_CHECKING:
    import pandas

#: Key of the schema's metadata that tells axes and metrics.
TOLD = b"fairground"


def sweep(
    experiment: Experiment | str | os.PathLike[str] | Mapping[str, Any],
    store: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    client: Any = None,
    confirm: bool = False,
    *,
    retry: bool = False,
) -> Sweep:
    """Carry out an experiment, or what is missing of it.

    Parameters
    ----------
    experiment : Experiment, path or dict
        What to run: an object, a file, or a dict with the keys of a file.
    store : path, optional
        Directory that keeps results as they are made. Default: ``sweeps/NAME`` in the user's cache.
    jobs : int, optional
        Threads to run on; results do not depend on it. Default: one for each CPU.
    client : distributed.Client, str or Executor, optional
        Run on the workers of this Dask scheduler instead; or on whatever carries out runs (engine.py).
    confirm : bool
        More than 1,000,000 runs are meant.
    retry : bool
        Run again what failed before.

    Returns
    -------
    Sweep
        Runs that failed are listed in it and leave the others alone.

    Raises
    ------
    InputError
        The experiment is not understood, or too large and not confirmed.
    SweepError
        The store is refused, the disk is full, or nobody is left to run on. What was finished is kept.
    KeyboardInterrupt
        Ctrl-C. What was finished is kept.
    """
    experiment = _understood(experiment)
    experiment.ensure_size(confirm)
    with Store.open(store or default_store(experiment.name)) as kept:
        experiment = _with_its_points(experiment, kept)
        kept.want(spec.key(experiment.inputs) for spec in experiment.specs())
        if retry:
            kept.forget_failures()
        if missing := kept.missing():
            _carry_out(experiment, kept, missing, _executor(jobs, client))
        return Sweep._of(experiment, kept)


def look(
    experiment: Experiment | str | os.PathLike[str] | Mapping[str, Any],
    store: str | os.PathLike[str] | None = None,
    confirm: bool = False,
) -> Sweep:
    """What is on record of an experiment, while somebody carries it out or later. Runs nothing, changes nothing.

    Parameters and errors are those of :func:`sweep`.
    """
    experiment = _understood(experiment)
    experiment.ensure_size(confirm)
    with Store.open(store or default_store(experiment.name), read_only=True) as kept:
        experiment = _with_its_points(experiment, kept)
        kept.want(spec.key(experiment.inputs) for spec in experiment.specs())
        return Sweep._of(experiment, kept)


@dataclass(frozen=True)
class Sweep:
    """What an experiment gave.

    Attributes
    ----------
    experiment : Experiment
        What was run.
    table : pyarrow.Table
        One row for each run that ended well, in the order of the design: the axes by their names (text, float64 or bool),
        ``seed`` (uint64), ``hash`` of the event stream (text), then all figures by their names, sorted, float64, null
        where a run has none. A figure that is named like an axis has ``_`` behind its name.
    failures : pyarrow.Table
        One row for each run that failed: the axes, ``seed``, ``message``.
    left : int
        Runs that are not on record yet.
    notes : tuple of str
        What must be said of runs, each once, sorted.
    """

    experiment: Experiment
    table: pa.Table
    failures: pa.Table
    left: int
    notes: tuple[str, ...]

    @classmethod
    def _of(cls, experiment: Experiment, store: Store) -> Sweep:
        """All that the store has of it."""
        ended, notes = _ended(store)
        positions = ended["run.position"].to_pylist()
        failed = store.failures()
        table = _table(experiment, ended, positions)
        failures = _columns(experiment, [position for position, _ in failed])
        failures["message"] = pa.array([message for _, message in failed], pa.string())
        return cls(experiment, table, pa.table(failures), experiment.size - len(positions) - len(failed), notes)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a file, whole or not at all: Parquet, or CSV if its name ends in ``.csv``.

        Raises
        ------
        OSError
            It cannot be written; what was there stays.
        """
        as_bytes = csv_bytes if os.fspath(path).endswith(".csv") else parquet_bytes
        write(Path(path), as_bytes(self.table))

    def to_pandas(self) -> pandas.DataFrame:
        """The table for pandas."""
        return self.table.to_pandas()

    def effects(self, metric: str, **options: Any) -> Any:
        """What each level of each axis changes: :func:`fairground.analysis.effects`."""
        from ..analysis import effects

        return effects(self, metric, **options)

    def report(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write one page of HTML with all answers: :func:`fairground.analysis.report`."""
        from ..analysis import report

        report(self, path, **{"notes": self.notes, **options})

    def __repr__(self) -> str:
        parts = [f"{len(self.table)} of {self.experiment.size} runs"]
        parts += [f"{len(self.failures)} failed"] if len(self.failures) else []
        parts += [f"{self.left} left"] if self.left else []
        return f"<fairground.Sweep {self.experiment.name}: {', '.join(parts)}>"


def default_store(name: str) -> Path:
    """Where the results of an experiment are kept if nobody says where: in the cache that the command has too."""
    if cache := os.environ.get("FAIRGROUND_CACHE"):
        root = Path(cache)
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fairground"
    return root / "sweeps" / (quote(name, safe=" ") or "unnamed")


def _understood(experiment: Experiment | str | os.PathLike[str] | Mapping[str, Any]) -> Experiment:
    if isinstance(experiment, Experiment):
        return experiment
    if isinstance(experiment, Mapping):
        return Experiment.from_dict(experiment)
    return Experiment.load(experiment)


def _executor(jobs: int | None, client: Any) -> Executor:
    if client is None:
        return Local(jobs)
    if hasattr(client, "outcomes"):
        executor: Executor = client
        return executor
    from .farm import Farm

    return Farm(client)


def _with_its_points(experiment: Experiment, store: Store) -> Experiment:
    """The experiment with the points that its first start drew.

    A library that draws may draw otherwise one day; a sweep that was begun goes on with what it began with.
    """
    drawn = json.loads(experiment.to_json()).get("drawn")
    if drawn is None:
        return experiment
    # All that a draw depends on: more seeds or other levels keep the points.
    draw = [experiment.design, len(experiment.axes), experiment.points, experiment.draw]
    name = "points of " + json.dumps(draw)
    if experiment.drawn is None and (before := store.document(name)) is not None:
        return experiment.with_points(json.loads(before))
    if not store.read_only:
        store.keep_document(name, json.dumps(drawn))
    return experiment


def _carry_out(experiment: Experiment, store: Store, missing: array[int], executor: Executor) -> None:
    """Runs what is missing, and records each run as it comes."""
    outcomes = executor.outcomes(_work(experiment, iter(missing)), experiment.inputs)
    with Progress(experiment.size, experiment.size - len(missing)) as progress:
        try:
            for key, outcome in outcomes:
                with held_back():
                    store.record(key, outcome)
                    progress.step(outcome.failed is not None)
        finally:
            outcomes.close()
    store.pack()


def _work(experiment: Experiment, missing: Iterator[int]) -> Iterator[tuple[str, RunSpec]]:
    """The runs at these positions with their keys."""
    wanted = next(missing, None)
    for position, spec in enumerate(experiment.specs()):
        if position == wanted:
            yield spec.key(experiment.inputs), spec
            wanted = next(missing, None)


def _ended(store: Store) -> tuple[pa.Table, tuple[str, ...]]:
    """Positions, hashes and figures of the runs that ended well, by position; and their notes."""
    notes: set[str] = set()
    tables = [pa.table({"run.position": pa.array([], pa.uint64()), "run.hash": pa.array([], pa.string())})]
    for some in store.results():
        notes.update(note for of_run in some["run.notes"].to_pylist() for note in of_run)
        tables.append(some.drop_columns(["run.notes", "run.wall_ns"]))
    ended = pa.concat_tables(tables, promote_options="default").sort_by("run.position")
    # A part has the figures of all of its runs, those of other experiments among them.
    figures = [name for name in ended.column_names[2:] if ended[name].null_count < len(ended)]
    return ended.select(["run.position", "run.hash", *figures]), tuple(sorted(notes))


def _table(experiment: Experiment, ended: pa.Table, positions: list[int]) -> pa.Table:
    columns = _columns(experiment, positions)
    columns["hash"] = ended["run.hash"]
    told = {}
    for metric in sorted(ended.column_names[2:]):
        name = metric
        while name in columns:
            name += "_"
        # In one piece: what the table is written to must not depend on the parts it was read from.
        columns[name] = ended[metric].combine_chunks()
        told[name] = experiment.metrics.get(metric, {"unit": "", "better": "lower"})
    about = {
        "name": experiment.name,
        "design": experiment.design,
        "seeds": experiment.seeds,
        "axes": [_told(axis) for axis in experiment.axes],
        "metrics": told,
    }
    metadata = {TOLD: json.dumps(about, sort_keys=True).encode()}
    return pa.table(columns).combine_chunks().replace_schema_metadata(metadata)


def _columns(experiment: Experiment, positions: list[int]) -> dict[str, Any]:
    """The axes and the seeds of the runs at these positions, ascending."""
    wanted = iter(positions)
    rows = []
    position = next(wanted, None)
    for at, row in enumerate(experiment.rows()):
        if position is None:
            break
        if at == position:
            rows.append(row)
            position = next(wanted, None)
    columns: dict[str, Any] = {}
    for i, axis in enumerate(experiment.axes):
        of = _type(axis)
        values = (row[i] for row in rows)
        columns[axis.name] = pa.array([str(v) if of == pa.string() else v for v in values], of)
    columns["seed"] = pa.array([at % experiment.seeds + 1 for at in positions], pa.uint64())
    return columns


def _type(axis: Axis) -> pa.DataType:
    levels = axis.levels
    if levels is not None and all(isinstance(level, bool) for level in levels):
        return pa.bool_()
    if levels is None or all(isinstance(level, int | float) and not isinstance(level, bool) for level in levels):
        return pa.float64()
    return pa.string()


def _told(axis: Axis) -> dict[str, Any]:
    about: dict[str, Any] = {"name": axis.name, "kind": axis.kind}
    if axis.levels is None:
        return {**about, "low": axis.low, "high": axis.high, "log": axis.log}
    of = _type(axis)
    return {**about, "levels": [str(v) if of == pa.string() else v for v in axis.levels]}
