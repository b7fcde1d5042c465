"""How a metric goes with an axis of numbers: its slope, and whether it goes one way at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _fairground
from .pairs import Figures, block, notes, spread
from .runs import Axis, Metric, Runs

if TYPE_CHECKING:
    import pandas


def trends(table: Any, metric: str) -> pandas.DataFrame:
    """Slope and rank correlation of a metric along each axis of numbers; off and on count as 0 and 1.

    Where every level ran with the same other axes and seed, as in a grid, there is a slope for each such block, and the
    mean of them is given with its 95 % interval over the seeds. Otherwise, as in a random design, a line is fitted
    through all points (means over their seeds), with the interval of that fit.

    Parameters
    ----------
    table : Sweep or table
        Runs with their axes; see :func:`label`.
    metric : str
        The figure that is looked at.

    Returns
    -------
    pandas.DataFrame
        ``axis``; ``slope``, ``low`` and ``high``: in the metric's unit per unit of the axis, with the 95 % interval;
        ``rank``: Spearman's correlation, -1 to 1; ``n``: seeds of blocks or points of a fit; ``kind``: ``"blocks"`` or
        ``"fit"``. What cannot be said is NaN.

    Raises
    ------
    InputError
        There is no such metric.
    """
    import pandas

    runs = Runs.of(table)
    of = runs.metric(metric)
    rows = [
        {"axis": axis.name, **(_blocks(runs, of, axis) or _fit(runs, of, axis))}
        for axis in runs.axes
        if axis.numeric and runs.frame[axis.name].nunique() > 1
    ]
    frame = pandas.DataFrame(rows, columns=["axis", "slope", "low", "high", "rank", "n", "kind"])
    frame.attrs["notes"] = notes([n for n, kind in zip(frame["n"], frame["kind"], strict=True) if kind == "blocks"], 0)
    return frame


def _blocks(runs: Runs, metric: Metric, axis: Axis) -> dict[str, Any] | None:
    """Over blocks in which every level ran; None where there is no such block."""
    if not axis.levels:
        return None
    levels = np.array(axis.levels, float)
    figures, _ = block(*spread(runs, metric, [axis]))
    if figures[0].size == 0:
        return None
    stacked = np.stack(figures)
    centred = levels - levels.mean()
    # From the first level on: what is the same at all levels has no slope, not even one of rounding.
    slopes = np.tensordot(centred / (centred**2).sum(), stacked - stacked[0], axes=1).mean(axis=0)
    slope, ci, *_ = _fairground.change([0.0] * len(slopes), slopes.tolist(), "higher")
    low, high = ci or (np.nan, np.nan)
    means = stacked.mean(axis=2)
    rank = _ranks(levels[:, None], means).mean()
    return {"slope": slope, "low": low, "high": high, "rank": rank, "n": len(slopes), "kind": "blocks"}


def _fit(runs: Runs, metric: Metric, axis: Axis) -> dict[str, Any]:
    """A line through all points."""
    from scipy import stats

    names = [one.name for one in runs.axes]
    frame = runs.frame.dropna(subset=[metric.name])
    points = frame.groupby(names, sort=False, dropna=False)[metric.name].mean().reset_index()
    x, y = points[axis.name].to_numpy(float), points[metric.name].to_numpy(float)
    if len(x) < 3 or np.ptp(x) == 0:
        return {"slope": np.nan, "low": np.nan, "high": np.nan, "rank": np.nan, "n": len(x), "kind": "fit"}
    line = stats.linregress(x, y)
    reach = stats.t.ppf(0.975, len(x) - 2) * line.stderr
    found = {"slope": line.slope, "low": line.slope - reach, "high": line.slope + reach}
    return {**found, "rank": float(_ranks(x[:, None], y[:, None])[0]), "n": len(x), "kind": "fit"}


def _ranks(x: Figures, y: Figures) -> Figures:
    """Spearman's correlation of each column of ``y`` with ``x``; 0 of what does not move."""
    from scipy import stats

    ranks = [stats.rankdata(values, axis=0) for values in (x, y)]
    p, q = (one - one.mean(axis=0) for one in ranks)
    spread = np.sqrt((p**2).sum(axis=0) * (q**2).sum(axis=0))
    return np.asarray(np.divide((p * q).sum(axis=0), spread, out=np.zeros(q.shape[1]), where=spread > 0))
