"""Whether two axes together do more, or less, than the sum of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from .pairs import ROUNDING, Change, Figures, block, change, notes, spread
from .runs import Axis, Metric, Runs

if TYPE_CHECKING:
    import pandas


def interactions(table: Any, metric: str, axes: Sequence[str] | None = None) -> pandas.DataFrame:
    """Differences of differences: what two levels change together beyond the sum of what each changes alone.

    Parameters
    ----------
    table : Sweep or table
        Runs with their axes; see :func:`label`.
    metric : str
        The figure that is looked at.
    axes : sequence of str, optional
        Axes of which each pair is looked at. Default: all that have levels.

    Returns
    -------
    pandas.DataFrame
        A row for each pair of axes and of their levels but the first: ``axis_a``, ``level_a``, ``axis_b``, ``level_b``;
        ``only_a_pct``, ``only_b_pct``, ``both_pct``: what each alone and both together improve, in percent of the mean
        with neither; ``diff``, ``diff_low``, ``diff_high``: the difference of differences in the metric's unit with its
        95 % interval over the seeds; ``interaction_pct``, ``low``, ``high``: the same in percent of the mean with neither,
        positive: better together; ``significant``, ``seeds``, ``pairs``, ``left_out``.

    Raises
    ------
    InputError
        There is no such axis or metric.
    """
    import pandas

    runs = Runs.of(table)
    of = runs.metric(metric)
    moved = [runs.axis(name) for name in axes] if axes is not None else list(runs.axes)
    pairs = combinations([axis for axis in moved if len(axis.levels) > 1], 2)
    rows = [row for a, b in pairs for row in _pair(runs, of, a, b)]
    frame = pandas.DataFrame(rows, columns=COLUMNS).astype({"significant": "boolean"})
    frame.attrs["notes"] = notes(frame["seeds"].tolist(), int(frame["left_out"].sum()))
    return frame


COLUMNS = ["axis_a", "level_a", "axis_b", "level_b", "only_a_pct", "only_b_pct", "both_pct"]
COLUMNS += [
    "diff",
    "diff_low",
    "diff_high",
    "interaction_pct",
    "low",
    "high",
    "significant",
    "seeds",
    "pairs",
    "left_out",
]


def _pair(runs: Runs, metric: Metric, a: Axis, b: Axis) -> Iterator[dict[str, Any]]:
    """Each level of one axis with each of the other, the first of each being the base."""
    figures = spread(runs, metric, [a, b])
    for i, level_a in enumerate(a.levels[1:], 1):
        for j, level_b in enumerate(b.levels[1:], 1):
            corners, left_out = block(figures[0, 0], figures[i, 0], figures[0, j], figures[i, j])
            neither, only_a, only_b, both = corners
            # What both would give if they added up is what they are compared with.
            added = only_a + only_b - neither
            rounding = ROUNDING * np.maximum(np.abs(only_a), np.abs(only_b))
            added = np.where(np.abs(both - added) <= rounding, both, added)
            found = change(added, both, metric.better)
            if found:
                place = {"axis_a": a.name, "level_a": level_a, "axis_b": b.name, "level_b": level_b}
                yield {**place, **_figures(found, corners, metric), "left_out": left_out}


def _figures(found: Change, corners: Sequence[Figures], metric: Metric) -> dict[str, Any]:
    neither, only_a, only_b, both = (float(corner.mean()) for corner in corners)

    def percent(diff: float) -> float:
        """Of the mean with neither; positive is better."""
        if diff == 0:
            return 0.0
        return metric.sign * diff / abs(neither) * 100 if neither else np.nan

    ends = sorted((percent(found.diff_low), percent(found.diff_high)))
    return {
        "only_a_pct": percent(only_a - neither),
        "only_b_pct": percent(only_b - neither),
        "both_pct": percent(both - neither),
        "diff": found.diff,
        "diff_low": found.diff_low,
        "diff_high": found.diff_high,
        "interaction_pct": percent(found.diff),
        "low": ends[0],
        "high": ends[1],
        "significant": found.significant,
        "seeds": found.seeds,
        "pairs": found.pairs,
    }
