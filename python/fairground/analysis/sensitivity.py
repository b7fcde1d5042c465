"""Which axes a metric hangs on: Sobol's first-order and total indices.

The first-order index of an axis is the share of the variance that goes when only this axis is fixed; its total index
is the share that stays when all others are. Their difference is what the axis does together with others. Where there is
no interaction both sorts add up to the same: to 1, less the share of noise. Where there is, the first-order indices add up
to less than that, and the total ones to more.

Shares are of the variance of the points' means over the seeds. What seeds add to it by chance is estimated and taken
out of the indices, so that an axis that does nothing has an index near 0, of either sign, however noisy the metric.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._fairground import InputError
from . import grid, saltelli
from .pairs import Figures, points
from .runs import Axis, Metric, Runs

if TYPE_CHECKING:
    import pandas

COLUMNS = ["axis", "first", "first_low", "first_high", "total", "total_low", "total_high"]


def sensitivity(table: Any, metric: str) -> pandas.DataFrame:
    """First-order and total sensitivity indices of each axis that varies.

    An axis that does not vary has no row. Of a full grid the variance is split exactly, and the intervals are over
    the seeds (jackknife). Of a design ``"saltelli"`` the indices are SALib's estimates, with intervals over the
    design's points. Other designs do not allow it.

    Parameters
    ----------
    table : Sweep or table
        Runs with their axes; see :func:`label`. A design ``"saltelli"`` with failed runs takes the sweep itself, because
        its table does not say where a run is missing.
    metric : str
        The figure that is looked at.

    Returns
    -------
    pandas.DataFrame
        ``axis``; ``first``, ``total``: shares, 0 to 1 but for errors of estimation, each with a 95 % interval (``_low``,
        ``_high``), NaN where it is not known. ``attrs`` has ``method`` (``"grid"`` or ``"saltelli"``), ``noise`` (the
        share of the variance that is due to seeds; NaN with one seed), ``points``, ``seeds`` and ``notes``.

    Raises
    ------
    InputError
        There is no such metric, the design does not allow it, or too many runs failed.
    """
    import pandas

    runs = Runs.of(table)
    of = runs.metric(metric)
    axes = [axis for axis in runs.axes if runs.frame[axis.name].nunique(dropna=False) > 1]
    if not axes:
        raise InputError("no axis varies: there is nothing to share the variance of")
    found = _indices(runs, of, axes)
    rows = np.column_stack([found.first, *found.first_ci, found.total, *found.total_ci])
    frame = pandas.DataFrame(rows, columns=COLUMNS[1:])
    frame.insert(0, "axis", [axis.name for axis in axes])
    frame.attrs.update(method=found.method, noise=found.noise, points=found.points, seeds=found.seeds)
    frame.attrs["notes"] = found.notes()
    return frame


def _indices(runs: Runs, metric: Metric, axes: list[Axis]) -> grid.Indices:
    """By the method that the points allow."""
    names = [axis.name for axis in axes]
    heads, figures = points(runs, metric)
    order = _order(runs)
    distinct = (heads if order is None else order)[names].drop_duplicates()
    if runs.design != "saltelli" and len(distinct) == math.prod(distinct.nunique(dropna=False)):
        return grid.indices(distinct, _at(distinct, heads[names], figures))
    arranged = None if order is None else _arranged(order, names)
    if order is None or arranged is None:
        raise InputError(_refusal(runs, distinct, order is None))
    return saltelli.indices(arranged, _at(order, heads, figures))


def _arranged(order: pandas.DataFrame, varying: list[str]) -> saltelli.Arrangement | None:
    """Crossed in the axes that vary; the design may have a place for those that do not, or none."""
    whole = saltelli.arrangement(order.to_numpy(object))
    if whole is None:
        return saltelli.arrangement(order[varying].to_numpy(object))
    return replace(whole, ab=whole.ab[order.columns.get_indexer(varying)])


def _order(runs: Runs) -> pandas.DataFrame | None:
    """The points in design order, repeated ones repeated; None where the table lacks runs and the missing ones are unknown."""
    import pandas

    names = [axis.name for axis in runs.axes]
    if runs.planned:
        return pandas.DataFrame(list(runs.planned), columns=names)
    rows = runs.frame[names].reset_index(drop=True)
    order = rows.iloc[:: runs.seeds].reset_index(drop=True)
    repeated = order.loc[order.index.repeat(runs.seeds)].reset_index(drop=True)
    return order if rows.equals(repeated) else None


def _at(order: pandas.DataFrame, heads: pandas.DataFrame, figures: Figures) -> Figures:
    """The figures at these points, ``(points, seeds)``; NaN at those of which every run failed."""
    place = {point: i for i, point in enumerate(heads.itertuples(index=False, name=None))}
    rows = np.array([place.get(point, -1) for point in order.itertuples(index=False, name=None)])
    return np.where((rows >= 0)[:, None], figures[rows], np.nan)


def _refusal(runs: Runs, distinct: pandas.DataFrame, unknown: bool) -> str:
    if runs.design == "saltelli" and unknown:
        return (
            "runs of this table are missing, or its seeds are not innermost: in design order all runs of a point stand "
            "together; give the sweep itself"
        )
    levels = " x ".join(str(count) for count in distinct.nunique(dropna=False))
    design = f", of design {runs.design!r}" if runs.design else ""
    return (
        'sensitivity indices take a full grid, or points of design = "saltelli": '
        f"these are {len(distinct)} points of {levels} levels{design}"
    )
