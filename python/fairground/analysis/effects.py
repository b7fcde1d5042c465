"""What each level of an axis changes, against the axis's base level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from .._fairground import InputError
from .pairs import Change, change, notes, spread
from .runs import Axis, Metric, Runs

if TYPE_CHECKING:
    import pandas

#: Columns of the figures of a change.
FIGURES = tuple(Change.__dataclass_fields__)


def effects(table: Any, metric: str, axis: str | None = None, *, by: Sequence[str] = ()) -> pandas.DataFrame:
    """What each level of an axis changes against its first, all other axes and the seed being equal.

    Parameters
    ----------
    table : Sweep or table
        Runs with their axes; see :func:`label`.
    metric : str
        The figure that is looked at.
    axis : str, optional
        One axis. Default: each that has levels; what was drawn from a range is in :func:`trends`.
    by : sequence of str
        Axes that split the table: one row for each level, instead of the mean over them.

    Returns
    -------
    pandas.DataFrame
        A row for each axis and level but the first: ``axis``, ``base`` and ``level``, the axes of ``by``, and the fields
        of :class:`Change` under the names ``base_mean``, ``level_mean``, ``diff`` and so on. ``improvement_pct`` is in
        percent of the base's mean, positive is better, with its 95 % interval ``low`` to ``high`` over the seeds.
        ``attrs["notes"]`` has what must be said beside.

    Raises
    ------
    InputError
        There is no such axis or metric, or ``by`` has the axis itself.
    """
    import pandas

    runs = Runs.of(table)
    of = runs.metric(metric)
    told_apart = [runs.axis(name) for name in by]
    apart = [one.name for one in told_apart]
    if axis in apart:
        raise InputError(f"by: {axis} is the axis that changes and cannot split the table; name other axes")
    moved = [runs.axis(axis)] if axis else [one for one in runs.axes if one.name not in apart]
    rows = [
        {"axis": one.name, **here, "base": one.levels[0], "level": level, **_figures(found)}
        for one in moved
        for here, part in _parts(runs, apart)
        for level, found in _levels(part, of, one)
    ]
    columns = ["axis", *apart, "base", "level", *(_renamed(name) for name in FIGURES)]
    frame = pandas.DataFrame(rows, columns=columns).astype({"significant": "boolean"})
    frame.attrs["notes"] = notes(frame["seeds"].tolist(), int(frame["left_out"].sum()))
    return frame


def _parts(runs: Runs, by: Sequence[str]) -> Iterator[tuple[dict[str, Any], Runs]]:
    """The runs of each combination of levels of the axes ``by``, in order of appearance."""
    if not by:
        yield {}, runs
        return
    for values, frame in runs.frame.groupby(list(by), sort=False):
        yield dict(zip(by, values, strict=True)), replace(runs, frame=frame)


def _levels(runs: Runs, metric: Metric, axis: Axis) -> Iterator[tuple[Any, Change]]:
    """Each level but the first that has pairs with it."""
    if len(axis.levels) < 2:
        return
    figures = spread(runs, metric, [axis])
    for place, level in enumerate(axis.levels[1:], 1):
        found = change(figures[0], figures[place], metric.better)
        if found:
            yield level, found


def _figures(found: Change) -> dict[str, Any]:
    return {_renamed(name): value for name, value in asdict(found).items()}


def _renamed(name: str) -> str:
    return {"base": "base_mean", "test": "level_mean"}.get(name, name)
