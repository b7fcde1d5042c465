"""A sweep: makes the runs of an experiment that its store does not have yet.

The same experiment gives the same table, to the byte, on any computer, in any order of runs and after any number of
interruptions: the table is made from the store, in the order of the design.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from .._fairground import Results, RunKeys, Store
from .engine import Executor
from .errors import RunLost, StoreRefused, StoreWarning
from .experiment import Axis, Experiment
from .interrupts import held_back
from .output import csv_bytes, parquet_bytes, write
from .progress import Progress
from .spec import RunSpec

if TYPE_CHECKING:
    import pandas

#: Key of the schema's metadata that describes axes and metrics.
METADATA_KEY = b"fairground"
#: Least number of runs that are passed to the compiled half at a time.
RUNS_AT_ONCE = 1000
#: The same for each thread.
RUNS_PER_THREAD = 64

#: Messages of runs without a result, by position: a limit has ended them, and the next start makes them again.
WithoutResult = dict[int, str]


def sweep(
    experiment: Experiment | str | os.PathLike[str] | Mapping[str, Any],
    store: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    client: Any = None,
    confirm: bool = False,
    *,
    retry: bool = False,
) -> Sweep:
    """Make the missing runs of an experiment.

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
        The store is refused, the disk is full, or no worker is left. Finished runs are kept.
    KeyboardInterrupt
        Ctrl-C. Finished runs are kept.
    """
    experiment = _as_experiment(experiment)
    experiment.ensure_size(confirm)
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs {jobs}: expected 1 or more")
    with _open_store(store or default_store(experiment.name)) as kept:
        experiment = _with_drawn_points(experiment, kept)
        keys = experiment.keys()
        if retry:
            kept.forget(keys, [position for position, _ in kept.results(keys).failures])
        if client is None:
            found = _complete(kept, keys, lambda missing: _carry_out_here(experiment, kept, missing, jobs))
        else:
            executor = _executor(client)
            found = _complete(kept, keys, lambda missing: _carry_out(experiment, kept, keys, missing, executor))
        return Sweep._from_results(experiment, *found)


def look(
    experiment: Experiment | str | os.PathLike[str] | Mapping[str, Any],
    store: str | os.PathLike[str] | None = None,
    confirm: bool = False,
) -> Sweep:
    """The stored results of an experiment, also while another process runs it. Runs nothing, changes nothing.

    Parameters and errors are those of :func:`sweep`.
    """
    experiment = _as_experiment(experiment)
    experiment.ensure_size(confirm)
    with _open_store(store or default_store(experiment.name), read_only=True) as kept:
        experiment = _with_drawn_points(experiment, kept)
        results = kept.results(experiment.keys())
        _warn(what for _, what in results.damaged)
        return Sweep._from_results(experiment, results, {})


@dataclass(frozen=True)
class Sweep:
    """Results of an experiment.

    Attributes
    ----------
    experiment : Experiment
        The experiment.
    table : pyarrow.Table
        One row for each run that ended well, in the order of the design: the axes by their names (text, float64 or bool),
        ``seed`` (uint64), ``hash`` of the event stream (text), then all figures by their names, sorted, float64, null
        where a run has none. A figure that is named like an axis has ``_`` behind its name.
    failures : pyarrow.Table
        One row for each run that failed: the axes, ``seed``, ``message``. Runs that a limit has ended are among those of
        the start that made them, and not on record: the next start makes them again.
    left : int
        Runs that were not made yet.
    notes : tuple of str
        Notes of the runs, each once, sorted.
    """

    experiment: Experiment
    table: pa.Table
    failures: pa.Table
    left: int
    notes: tuple[str, ...]
    #: The run of each row of the table, by its position in the design, ascending.
    _positions: pa.Array = field(repr=False, compare=False)

    @classmethod
    def _from_results(cls, experiment: Experiment, results: Results, without_result: WithoutResult) -> Sweep:
        """The sweep of these stored results; `without_result`: the runs of this start that have none."""
        ended = results.table.to_pyarrow()
        table = _table(experiment, ended, results.metrics)
        positions = ended["run.position"].combine_chunks()
        failed = sorted([*results.failures, *without_result.items()])
        failures = _columns(experiment, [position for position, _ in failed])
        failures["message"] = pa.array([message for _, message in failed], pa.string())
        left = experiment.size - len(table) - len(failed)
        return cls(experiment, table, pa.table(failures), left, tuple(results.notes), positions)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a file, whole or not at all: Parquet, or CSV if its name ends in ``.csv``.

        CSV has the columns of :meth:`provenance` too.

        Raises
        ------
        OSError
            It cannot be written; what was there stays.
        """
        is_csv = os.fspath(path).endswith(".csv")
        write(Path(path), csv_bytes(self._with_provenance()) if is_csv else parquet_bytes(self.table))

    def provenance(self) -> pa.Table:
        """What the runs of the table were made by and from: a row for each, columns of text as dictionaries.

        ``version``, ``commit`` and ``program_hash`` are of this package; ``machine_hash``, ``workload_hash`` and
        ``kernel_hash`` (empty for ``fair:``) of contents; ``settings`` has ``NAME=VALUE`` with spaces between; ``figures``
        counts those of the machine by source, ``workload_estimates`` the estimates in the workload; ``command`` is empty
        unless the command started this.
        """
        at = pc.divide(self._positions, pa.scalar(self.experiment.seeds, pa.uint64()))
        wanted = at.unique()
        is_wanted = set(wanted.to_pylist())
        specs = enumerate(self.experiment.points_specs())
        texts = (spec.to_json() for point, spec in specs if point in is_wanted)
        made = self.experiment.inputs.compiled.provenance(texts).to_pyarrow()
        return made.take(pc.index_in(at, wanted))

    def _with_provenance(self) -> pa.Table:
        table, made = self.table, self.provenance()
        for name, column in zip(made.column_names, made.columns, strict=True):
            while name in table.column_names:
                name += "_"
            table = table.append_column(name, column.cast(pa.string()))
        return table

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
    """The default store of an experiment: in the cache directory, which the command uses too."""
    if cache := os.environ.get("FAIRGROUND_CACHE"):
        root = Path(cache)
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fairground"
    return root / "sweeps" / (quote(name, safe=" ") or "unnamed")


def _as_experiment(experiment: Experiment | str | os.PathLike[str] | Mapping[str, Any]) -> Experiment:
    if isinstance(experiment, Experiment):
        return experiment
    if isinstance(experiment, Mapping):
        return Experiment.from_dict(experiment)
    return Experiment.load(experiment)


def _executor(client: Any) -> Executor:
    if hasattr(client, "outcomes"):
        executor: Executor = client
        return executor
    from .farm import Farm

    return Farm(client)


def _open_store(path: str | os.PathLike[str], *, read_only: bool = False) -> Store:
    store = Store(path, read_only=read_only)
    _warn(store.warnings)
    return store


def _warn(texts: Iterable[str]) -> None:
    for text in texts:
        warnings.warn(text, StoreWarning, stacklevel=4)


def _with_drawn_points(experiment: Experiment, store: Store) -> Experiment:
    """The experiment with the points that its first start drew.

    Another version of a library may draw other points; a sweep that was begun goes on with its first points.
    """
    drawn = json.loads(experiment.to_json()).get("drawn")
    if drawn is None:
        return experiment
    # Everything that a draw depends on: more seeds or other levels keep the points.
    draw = [experiment.design, len(experiment.axes), experiment.points, experiment.draw]
    name = "points of " + json.dumps(draw)
    if experiment.drawn is None and (before := store.document(name)) is not None:
        return experiment.with_points(json.loads(before))
    if not store.read_only:
        store.keep_document(name, json.dumps(drawn))
    return experiment


def _complete(
    store: Store, keys: RunKeys, carry_out: Callable[[list[int]], WithoutResult]
) -> tuple[Results, WithoutResult]:
    """Makes missing results, replaces damaged ones, and returns all; in three attempts at most."""
    without_result: WithoutResult = {}
    for _ in range(3):
        if missing := store.missing(keys):
            without_result = carry_out(missing)
        results = store.results(keys)
        if not results.damaged:
            return results, without_result
        _warn(f"{what}; its run is made again" for _, what in results.damaged)
        store.forget(keys, [position for position, _ in results.damaged])
    raise StoreRefused(f"the store does not keep what is put there: {results.damaged[0][1]}")


def _carry_out_here(experiment: Experiment, store: Store, missing: list[int], jobs: int | None) -> WithoutResult:
    """Makes the missing runs on threads of this process. Each is stored as soon as it ends."""
    at_once = max(RUNS_AT_ONCE, RUNS_PER_THREAD * (jobs or os.cpu_count() or 1))
    without_result: WithoutResult = {}
    with Progress(experiment.size, experiment.size - len(missing)) as progress:
        for columns in _chunks(_by_point(experiment, missing), at_once):
            given = [(spec.to_json(), seeds) for _, spec, seeds in columns]
            failed, without, lost = store.carry_out(experiment.inputs.compiled, given, jobs or 0, progress.step)
            if lost:
                column, seed, message = without[0]
                spec = replace(columns[column][1], seed=seed)
                raise RunLost(f"a run was lost and is not recorded, start again to go on: {spec.to_json()}: {message}")
            progress.failed += failed + len(without)
            for column, seed, message in without:
                without_result[columns[column][0] * experiment.seeds + seed - 1] = message
    return without_result


#: A point, its first run, and the seeds of its runs that are missing.
Column = tuple[int, RunSpec, list[int]]


def _by_point(experiment: Experiment, missing: list[int]) -> Iterator[Column]:
    """The runs at these positions, which ascend, by their points."""
    points = groupby(missing, key=lambda position: position // experiment.seeds)
    specs = enumerate(experiment.points_specs())
    for point, positions in points:
        spec = next(spec for at, spec in specs if at == point)
        yield point, spec, [position % experiment.seeds + 1 for position in positions]


def _chunks(columns: Iterator[Column], runs: int) -> Iterator[list[Column]]:
    """The runs of :func:`_by_point`, in parts of about this many runs."""
    chunk: list[Column] = []
    held = 0
    for point, spec, seeds in columns:
        for at in range(0, len(seeds), runs):
            some = seeds[at : at + runs]
            chunk.append((point, spec, some))
            held += len(some)
            if held >= runs:
                yield chunk
                chunk, held = [], 0
    if chunk:
        yield chunk


def _carry_out(
    experiment: Experiment, store: Store, keys: RunKeys, missing: list[int], executor: Executor
) -> WithoutResult:
    """Makes the missing runs by an executor. Stores each outcome as it comes."""
    positions = {keys[position]: position for position in missing}
    outcomes = executor.outcomes(_work(experiment, keys, missing), experiment.inputs)
    without_result: WithoutResult = {}
    with Progress(experiment.size, experiment.size - len(missing)) as progress:
        try:
            for key, outcome in outcomes:
                with held_back():
                    if outcome.is_result:
                        store.put(key, outcome)
                    else:
                        without_result[positions[key]] = outcome.failed or ""
                    progress.step(outcome.failed is not None)
        finally:
            outcomes.close()
    return without_result


def _work(experiment: Experiment, keys: RunKeys, missing: list[int]) -> Iterator[tuple[str, RunSpec]]:
    """The runs at these positions with their keys."""
    for point, spec, seeds in _by_point(experiment, missing):
        for seed in seeds:
            yield keys[point * experiment.seeds + seed - 1], replace(spec, seed=seed)


def _table(experiment: Experiment, ended: pa.Table, about_metrics: Mapping[str, tuple[str, str]]) -> pa.Table:
    """The table of the runs that ended well. `about_metrics`: unit and direction of each figure."""
    columns = _columns(experiment, ended["run.position"].to_pylist())
    columns["hash"] = ended["run.hash"]
    metrics = {}
    for metric, (unit, better) in sorted(about_metrics.items()):
        name = metric
        while name in columns:
            name += "_"
        columns[name] = ended[metric].cast(pa.float64())
        metrics[name] = {"unit": unit, "better": better}
    about = {
        "name": experiment.name,
        "design": experiment.design,
        "seeds": experiment.seeds,
        "axes": [_axis_metadata(axis) for axis in experiment.axes],
        "metrics": metrics,
    }
    metadata = {METADATA_KEY: json.dumps(about, sort_keys=True).encode()}
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
        of = _arrow_type(axis)
        values = (row[i] for row in rows)
        columns[axis.name] = pa.array([str(v) if of == pa.string() else v for v in values], of)
    columns["seed"] = pa.array([at % experiment.seeds + 1 for at in positions], pa.uint64())
    return columns


def _arrow_type(axis: Axis) -> pa.DataType:
    levels = axis.levels
    if levels is not None and all(isinstance(level, bool) for level in levels):
        return pa.bool_()
    if levels is None or all(isinstance(level, int | float) and not isinstance(level, bool) for level in levels):
        return pa.float64()
    return pa.string()


def _axis_metadata(axis: Axis) -> dict[str, Any]:
    about: dict[str, Any] = {"name": axis.name, "kind": axis.kind}
    if axis.levels is None:
        return {**about, "low": axis.low, "high": axis.high, "log": axis.log}
    of = _arrow_type(axis)
    return {**about, "levels": [str(v) if of == pa.string() else v for v in axis.levels]}
