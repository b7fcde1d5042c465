"""Pairs of runs, and what their differences show.

Runs that differ in some axes only are laid out in an array: one dimension for the levels of each of these axes, then one
for the points (combinations of all other axes) and one for the seeds. The unit of all statistics is the seed. Points of
one seed share its random draws and are not independent, so that figures are first averaged over the points and
then compared over the seeds, in the way and with the code of ``fairground compare``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import _fairground
from .._fairground import InputError
from .runs import Axis, Metric, Runs, counted

if TYPE_CHECKING:
    import pandas

#: Below this many seeds nothing is called significant, nor insignificant.
SIGNIFICANT_SEEDS_MIN = 6

#: Share of a figure below which a difference is rounding.
ROUNDING = 1e-12

Figures = NDArray[np.float64]


@dataclass(frozen=True)
class Change:
    """Test against base over the seeds: means, their difference, and the improvement.

    Attributes
    ----------
    base, test : float
        Means, in the metric's unit.
    diff, diff_low, diff_high : float
        Mean of test minus base and its 95 % interval, in the metric's unit; NaN where it is not known.
    improvement_pct, low, high : float
        The same in percent of the base's mean, positive is better; NaN where it is not known.
    significant : bool or None
        The interval excludes zero; None below 6 seeds.
    better, worse : int
        Pairs in which test is better, and worse.
    pairs, seeds, left_out : int
        Pairs, the seeds they come from, and pairs left out to give each seed the same points.
    """

    base: float
    test: float
    diff: float
    diff_low: float
    diff_high: float
    improvement_pct: float
    low: float
    high: float
    significant: bool | None
    better: int
    worse: int
    pairs: int
    seeds: int
    left_out: int


def points(runs: Runs, metric: Metric) -> tuple[pandas.DataFrame, Figures]:
    """The points, and the figures of a metric there.

    Returns
    -------
    pandas.DataFrame
        A row for each point in order of appearance, a column for each axis.
    numpy.ndarray
        Shape ``(points, seeds)``, seeds in ascending order; NaN where there is no figure.
    """
    places = runs.places
    values = runs.frame[metric.name].to_numpy()
    figures = np.full((len(places.heads), places.seeds), np.nan)
    figures[places.point, places.seed] = values
    if not np.array_equal(figures[places.point, places.seed], values, equal_nan=True):
        raise InputError(
            f"metric {metric.name}: two runs have the same axes and seed and other figures; "
            "the column that distinguishes them is not an axis"
        )
    return places.heads, figures


def spread(runs: Runs, metric: Metric, moved: Sequence[Axis]) -> Figures:
    """The figures of a metric by level of the moved axes, place and seed.

    Returns
    -------
    numpy.ndarray
        Shape ``(levels of each moved axis..., places, seeds)``, a place being a combination of all other axes; NaN where
        there is no run. Places that lack what a comparison takes, two levels of each moved axis, are left out.
    """
    import pandas

    heads, figures = points(runs, metric)
    others = [axis.name for axis in runs.axes if axis not in moved]
    place = heads.groupby(others, sort=False, dropna=False).ngroup() if others else pandas.Series(0, index=heads.index)
    keep = (place.groupby(place).transform("size") >= 2 ** len(moved)).to_numpy()
    place, kept = pandas.factorize(place[keep].to_numpy())
    codes = [pandas.Index(axis.levels).get_indexer(heads.loc[keep, axis.name]) for axis in moved]
    out = np.full((*(len(axis.levels) for axis in moved), len(kept), figures.shape[1]), np.nan)
    where = (*codes, place)
    out[where] = figures[keep]
    return out


def complete(present: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The points and seeds of a block without gaps.

    Where a run failed, its point or its seed is left out, whichever lacks the larger share of its pairs, until nothing is
    missing.

    Parameters
    ----------
    present : numpy.ndarray of bool
        Shape ``(points, seeds)``.
    """
    points, seeds = np.asarray(present.any(axis=1)), np.asarray(present.any(axis=0))
    gaps = ~present & points[:, None] & seeds
    by_point, by_seed = gaps.sum(axis=1), gaps.sum(axis=0)
    while by_point.any():
        point, seed = int(by_point.argmax()), int(by_seed.argmax())
        # A point lacks a share of the seeds that are left, a seed one of the points.
        if by_point[point] * points.sum() >= by_seed[seed] * seeds.sum():
            points[point] = False
            by_seed -= gaps[point] & seeds
            by_point[point] = 0
        else:
            seeds[seed] = False
            by_point -= gaps[:, seed] & points
            by_seed[seed] = 0
    return np.flatnonzero(points), np.flatnonzero(seeds)


def block(*figures: Figures) -> tuple[list[Figures], int]:
    """The same points and seeds of several arrays ``(points, seeds)``, without gaps, and how many pairs were left out."""
    present = ~np.isnan(figures[0])
    for other in figures[1:]:
        present &= ~np.isnan(other)
    kept = np.ix_(*complete(present))
    return [one[kept] for one in figures], int(present.sum()) - figures[0][kept].size


def change(base: Figures, test: Figures, better: str) -> Change | None:
    """Test against base, both ``(points, seeds)``; None where no pair of runs is complete."""
    (base, test), left_out = block(base, test)
    if base.size == 0:
        return None
    base_by_seed, test_by_seed = base.mean(axis=0), test.mean(axis=0)
    # Where means differ by rounding only, there is no difference.
    equal = np.isclose(base_by_seed, test_by_seed, rtol=ROUNDING, atol=0)
    test_by_seed = np.where(equal, base_by_seed, test_by_seed)
    diff, diff_ci, improvement, ci, significant = _fairground.change(
        base_by_seed.tolist(), test_by_seed.tolist(), better
    )
    gain = (test - base) * (1 if better == "higher" else -1)
    low, high = diff_ci or (np.nan, np.nan)
    return Change(
        base=_mean(base),
        test=_mean(test),
        diff=diff,
        diff_low=low,
        diff_high=high,
        improvement_pct=np.nan if improvement is None else improvement,
        low=ci[0] if ci else np.nan,
        high=ci[1] if ci else np.nan,
        significant=significant,
        better=int((gain > 0).sum()),
        worse=int((gain < 0).sum()),
        pairs=base.size,
        seeds=base.shape[1],
        left_out=left_out,
    )


def _mean(figures: Figures) -> float:
    """Equal figures are their own mean: rounding must not move it."""
    first = float(figures.flat[0])
    return first if bool((figures == first).all()) else float(figures.mean())


def notes(seeds: Sequence[int], left_out: int) -> list[str]:
    """Notes on results over these numbers of seeds, with `left_out` pairs left out."""
    lines = []
    if seeds and min(seeds) == 1:
        lines.append("one seed: no interval, nothing is significant")
    elif seeds and min(seeds) < SIGNIFICANT_SEEDS_MIN:
        lines.append(f"{min(seeds)} seeds: below {SIGNIFICANT_SEEDS_MIN} nothing is called significant")
    if left_out:
        lines.append(f"{counted(left_out, 'pair')} left out: of a point or a seed that is not complete")
    return lines
