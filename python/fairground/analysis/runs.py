"""The columns of a table of runs: its axes, its metrics, and which direction of each metric is better."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._fairground import InputError, nearest

if TYPE_CHECKING:
    import pandas
    import pyarrow

#: Key of the schema's metadata that describes axes and metrics.
KEY = b"fairground"

#: A numeric axis with more levels is looked at as a range: its trend, not each of its levels.
LEVELS_MAX = 64

#: Columns of the answers beside those of axes, and what figures are computed in: no names for axes.
RESERVED = frozenset(
    "seed metric verdict axis base level base_mean level_mean mean means diff diff_low diff_high improvement "
    "improvement_pct change low high better worse significant effect_size p p_adjusted pairs seeds left_out "
    "size sum count message self".split()
)

Level = Any


@dataclass(frozen=True)
class Axis:
    """An axis: a column that varies from point to point.

    Attributes
    ----------
    name : str
        Name of its column.
    kind : str
        ``"machine"``, ``"workload"``, ``"sched"``, ``"feature"``, ``"option"``, ``"figure"``, ``"setting"``, or
        ``""`` if not given.
    levels : tuple
        Its values, the base first. Empty: drawn from a range.
    numeric : bool
        Its values are numbers, or off and on.
    """

    name: str
    kind: str
    levels: tuple[Level, ...]
    numeric: bool


@dataclass(frozen=True)
class Metric:
    """A figure of each run: its name, its unit, and whether ``"higher"`` or ``"lower"`` is better."""

    name: str
    unit: str
    better: str

    @property
    def sign(self) -> float:
        """+1 where more is better, -1 where less is."""
        return 1.0 if self.better == "higher" else -1.0


@dataclass(frozen=True)
class Places:
    """The points in order of appearance, a row each and a column for each axis; and of each run its point and its seed."""

    heads: pandas.DataFrame
    point: NDArray[np.intp]
    seed: NDArray[np.intp]
    seeds: int


@dataclass(frozen=True)
class Runs:
    """Runs with their axes and metrics, one row for each run.

    Attributes
    ----------
    frame : pandas.DataFrame
        A column for each axis, ``seed``, and one for each metric, float64, NaN where a run has none.
    axes : tuple of Axis
        In the order of the experiment.
    metrics : dict of str to Metric
        By name, sorted.
    name : str
        Of the experiment, or ``""``.
    design : str
        ``"grid"``, ``"random"``, ``"sobol"``, ``"saltelli"``, or ``""`` if not given.
    seeds : int
        Seeds that were planned at each point.
    planned : tuple of tuple
        Values of the axes at each point in design order; empty where only the table is known.
    failures : tuple of dict
        Runs that failed: their axes, ``seed`` and ``message``.
    left : int
        Runs that have not been made yet.
    """

    frame: pandas.DataFrame
    axes: tuple[Axis, ...]
    metrics: dict[str, Metric]
    name: str = ""
    design: str = ""
    seeds: int = 1
    planned: tuple[tuple[Level, ...], ...] = ()
    failures: tuple[dict[str, Any], ...] = ()
    left: int = 0

    @staticmethod
    def of(given: Any) -> Runs:
        """Read a sweep, or a table that describes its axes: one of a sweep, or one from :func:`label`."""
        if isinstance(given, Runs):
            return given
        if hasattr(given, "table") and hasattr(given, "experiment"):
            return _of_sweep(given)
        return _of_table(_arrow(given))

    @cached_property
    def places(self) -> Places:
        """Where each run stands, by point and seed."""
        import pandas

        heads = self.frame[[axis.name for axis in self.axes]]
        point = heads.groupby(list(heads), sort=False, dropna=False).ngroup().to_numpy()
        seed, seeds = pandas.factorize(self.frame["seed"].to_numpy(), sort=True)
        return Places(heads[~heads.duplicated()].reset_index(drop=True), point, seed, len(seeds))

    def axis(self, name: str) -> Axis:
        """The axis of that name.

        Raises
        ------
        InputError
            There is none; the nearest is named.
        """
        found: Axis = _named("axis", name, {axis.name: axis for axis in self.axes})
        return found

    def metric(self, name: str) -> Metric:
        """The metric of that name.

        Raises
        ------
        InputError
            There is none; the nearest is named.
        """
        found: Metric = _named("metric", name, self.metrics)
        return found

    def level(self, axis: Axis, level: Level) -> Level:
        """That level of an axis, as it stands in the table; of a switch also as ``off`` or ``on``.

        Raises
        ------
        InputError
            The axis has no such level; the nearest is named.
        """
        values = axis.levels or tuple(self.frame[axis.name].unique().tolist())
        if level in values:
            return level
        named = {str(value): value for value in values}
        if str(level) in named:
            return named[str(level)]
        return _named(f"level of axis {axis.name}", str(level), {word(value): value for value in values})


def counted(count: int, word: str) -> str:
    """``1 seed``, ``2 seeds``."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def word(level: Level) -> str:
    """A level for readers: switches are off and on, whole numbers have no point."""
    if isinstance(level, bool | np.bool_):
        return "on" if level else "off"
    return f"{level:g}" if isinstance(level, float) else str(level)


def label(
    table: Any,
    axes: Sequence[str] | Mapping[str, Sequence[Level]],
    metrics: Mapping[str, str | tuple[str, str]],
    design: str = "",
) -> pyarrow.Table:
    """Label the columns of any table as axes and metrics, for the functions of this package.

    Parameters
    ----------
    table : pandas.DataFrame, pyarrow.Table, polars.DataFrame or fairground.Table
        One row for each run; a column ``seed`` if there are several of one point.
    axes : sequence of str, or mapping of str to sequence
        Columns that vary; with their levels, the base first, or none for what was drawn from a range. Default levels: those
        of the table in order of appearance.
    metrics : mapping of str to str or (str, str)
        Figures: ``"higher"`` or ``"lower"`` is better, or the unit and that.
    design : {"", "grid", "random", "sobol", "saltelli"}
        How the points were chosen.

    Returns
    -------
    pyarrow.Table
        The same rows; the schema's metadata describe axes and metrics.

    Raises
    ------
    InputError
        A column is missing or has the wrong type, an axis has a name that a column of the answers has, or a level stands
        twice; or several runs have the same axes and there is no ``seed``.
    """
    arrow = _arrow(table)
    if isinstance(axes, str):
        raise InputError(f"axes: expected a list of columns such as [{axes!r}], not the text {axes!r}")
    levels = axes if isinstance(axes, Mapping) else {name: None for name in axes}
    if not levels:
        raise InputError("axes: name at least one column that varies")
    for name in [*levels, *metrics]:
        _named("column", name, {column: column for column in arrow.column_names})
    for name, values in levels.items():
        _check_axis(name, values, metrics)
    if "seed" in metrics:
        raise InputError("metric seed: the column distinguishes the runs of one point, it is not a figure")
    described = {
        "axes": [{"name": name, "kind": "", "levels": None if v is None else list(v)} for name, v in levels.items()],
        "metrics": {name: _unit_and_better(name, of) for name, of in metrics.items()},
        "design": design,
    }
    metadata = {**(arrow.schema.metadata or {}), KEY: json.dumps(described, sort_keys=True).encode()}
    labelled = arrow.replace_schema_metadata(metadata)
    _of_table(labelled)
    return labelled


def _check_axis(name: str, levels: Sequence[Level] | None, metrics: Mapping[str, Any]) -> None:
    if name in metrics:
        raise InputError(f"{name} is named as an axis and as a metric")
    if name in RESERVED:
        raise InputError(f"axis {name}: answers have a column of that name, give the axis another")
    if isinstance(levels, str):
        raise InputError(f"axis {name}: expected a list of levels, not the text {levels!r}")
    for place, level in enumerate(levels or ()):
        if level in list(levels or ())[:place]:
            raise InputError(f"axis {name}: level {word(level)} stands twice")


def _unit_and_better(name: str, of: str | tuple[str, str]) -> dict[str, str]:
    unit, better = ("", of) if isinstance(of, str) else of
    if better not in ("higher", "lower"):
        raise InputError(f"metric {name}: expected higher or lower, not {better!r}")
    return {"unit": unit, "better": better}


def _arrow(given: Any) -> pyarrow.Table:
    import pyarrow

    if isinstance(given, pyarrow.Table):
        return given
    if hasattr(given, "iloc"):
        return pyarrow.Table.from_pandas(given, preserve_index=False)
    if hasattr(given, "__arrow_c_stream__"):
        return pyarrow.table(given)
    raise InputError(f"expected a sweep or a table, not {type(given).__name__}")


def _of_sweep(sweep: Any) -> Runs:
    runs = _of_table(_arrow(sweep.table))
    rows = itertools.islice(sweep.experiment.rows(), None, None, runs.seeds)
    # In the types of the table: a level that is not a number is text.
    planned = (
        tuple(value if axis.numeric else str(value) for axis, value in zip(runs.axes, row, strict=True)) for row in rows
    )
    failures = _arrow(sweep.failures).to_pylist()
    return replace(runs, planned=tuple(planned), failures=tuple(failures), left=getattr(sweep, "left", 0))


def _of_table(arrow: pyarrow.Table) -> Runs:
    described = json.loads((arrow.schema.metadata or {}).get(KEY, b"{}"))
    if not described:
        raise InputError("this table does not describe its axes and metrics: add them with fairground.analysis.label")
    names = [axis["name"] for axis in described["axes"]]
    columns = [*names, *(["seed"] if "seed" in arrow.column_names else [])]
    metrics = {name: Metric(name, of["unit"], of["better"]) for name, of in sorted(described["metrics"].items())}
    present = [name for name in metrics if name in arrow.column_names]
    frame = arrow.select([*columns, *present]).to_pandas()
    for name in present:
        frame[name] = _figures(name, frame[name])
    if "seed" not in frame:
        if frame.drop_duplicates().duplicated(names).any():
            raise InputError("a column `seed` is missing: several runs have the same axes and other figures")
        frame.insert(len(names), "seed", 0)
    axes = tuple(_axis(axis, frame[axis["name"]]) for axis in described["axes"])
    seeds = described.get("seeds") or frame["seed"].nunique()
    known = {name: metrics[name] for name in present}
    return Runs(frame, axes, known, described.get("name", ""), described.get("design", ""), seeds)


def _figures(name: str, column: pandas.Series) -> pandas.Series:
    """The column as float64; a value that is not finite becomes NaN."""
    try:
        values = column.astype("float64")
    except (TypeError, ValueError):
        raise InputError(f"metric {name}: expected numbers") from None
    return values.where(np.isfinite(values))


def _axis(described: dict[str, Any], column: pandas.Series) -> Axis:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    seen = column.drop_duplicates().tolist()
    numeric = bool(is_bool_dtype(column) or is_numeric_dtype(column))
    if described.get("levels") is not None:
        levels = tuple(described["levels"])
    elif "low" in described or (numeric and len(seen) > LEVELS_MAX):
        levels = ()
    else:
        levels = tuple(seen)
    if levels:
        unknown = [value for value in seen if value not in levels]
        if unknown:
            raise InputError(f"axis {described['name']}: the table has {unknown[0]!r}, which is none of its levels")
    return Axis(described["name"], described.get("kind", ""), levels, numeric)


def _named(what: str, name: str, known: Mapping[str, Any]) -> Any:
    if name in known:
        return known[name]
    near = nearest(name, list(known))
    hint = f", did you mean {near}?" if near else f"; there are {', '.join(known)}"
    raise InputError(f"no {what} {name!r}{hint}")
