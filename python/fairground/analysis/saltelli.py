"""Sensitivity indices of Saltelli's design: two samples A and B, and for each axis A with this axis from B."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._fairground import InputError
from .grid import Indices
from .pairs import Figures, complete

#: Figures in a set of resamples, at most: bounds the memory of intervals.
RESAMPLED_MAX = 10_000_000


@dataclass(frozen=True)
class Arrangement:
    """Places in design order of A and B, ``(samples,)``, and of A with each axis from B, ``(axes, samples)``."""

    a: NDArray[np.intp]
    b: NDArray[np.intp]
    ab: NDArray[np.intp]


def arrangement(points: NDArray[Any]) -> Arrangement | None:
    """How the points, ``(points, axes)`` in design order, are arranged; None where they are no such design.

    Sample by sample (A, AB of each axis, if need be BA of each axis, B) or matrix by matrix (A, B, AB of each axis).
    """
    count, axes = points.shape
    for found in _possible(count, axes):
        if all(_is_crossed(points, found, axis) for axis in range(axes)):
            return found
    return None


def _possible(count: int, axes: int) -> list[Arrangement]:
    place = np.arange(count)
    found = []
    for step in (axes + 2, 2 * axes + 2):
        if count and count % step == 0:
            rows = place.reshape(-1, step).T
            found.append(Arrangement(rows[0], rows[-1], rows[1 : axes + 1]))
    if count and count % (axes + 2) == 0:
        rows = place.reshape(axes + 2, -1)
        found.append(Arrangement(rows[0], rows[1], rows[2:]))
    return found


def _is_crossed(points: NDArray[Any], of: Arrangement, axis: int) -> bool:
    expected = points[of.a].copy()
    expected[:, axis] = points[of.b, axis]
    return bool((points[of.ab[axis]] == expected).all())


def indices(of: Arrangement, figures: Figures) -> Indices:
    """Of the figures of the points in design order, ``(points, seeds)``.

    Sample points of which a run failed are left out with all that is crossed with them.

    Raises
    ------
    InputError
        Nearly all samples are incomplete.
    """
    rows = np.vstack([of.a, of.ab, of.b])
    samples, seeds = complete(np.asarray(~np.isnan(figures[rows]).any(axis=0)))
    if len(samples) < 2:
        raise InputError("fewer than two samples of this design are complete: no indices can be estimated")
    kept = figures[rows[:, samples]][:, :, seeds]
    means = kept.mean(axis=2)
    variance = float(np.var(means[[0, -1]]))
    axes = len(of.ab)
    if variance <= (1e-12 * np.abs(means).max()) ** 2:
        nothing = np.full(axes, np.nan)
        found = (nothing, (nothing, nothing), nothing, (nothing, nothing), np.nan)
    else:
        found = _estimated(means, _noise(kept) / variance, axes)
    return Indices(
        *found,
        method="saltelli",
        points=rows[:, samples].size,
        seeds=len(seeds),
        seeds_left_out=figures.shape[1] - len(seeds),
        points_left_out=len(of.a) - len(samples),
    )


def _noise(kept: Figures) -> Figures:
    """What the seeds add to half the mean square of AB - A, for each axis; NaN with one seed."""
    seeds = kept.shape[2]
    if seeds == 1:
        return np.full(kept.shape[0] - 2, np.nan)
    return np.asarray((kept[1:-1] - kept[0]).var(axis=2, ddof=1).mean(axis=1) / (2 * seeds))


def _estimated(means: Figures, noise: Figures, axes: int) -> tuple[Any, ...]:
    """SALib's estimates of ``means``, ``(A, AB of each axis, B; samples)``; noise is taken out of the total indices."""
    try:
        from SALib.analyze import sobol
    except ImportError:
        raise ImportError("indices of this design take SALib: pip install 'fairground[report]'") from None

    problem = {"num_vars": axes, "names": [str(axis) for axis in range(axes)], "bounds": [[0, 1]] * axes}
    resamples = int(np.clip(RESAMPLED_MAX // means.shape[1], 50, 1000))
    with warnings.catch_warnings():
        # Resamples may be constant where figures nearly are.
        warnings.simplefilter("ignore")
        found = sobol.analyze(problem, means.T.ravel(), calc_second_order=False, num_resamples=resamples, seed=1)
    first, reach = np.array(found["S1"]), np.array(found["S1_conf"])
    total, total_reach = np.array(found["ST"]), np.array(found["ST_conf"])
    total = total - np.nan_to_num(noise)
    return first, (first - reach, first + reach), total, (total - total_reach, total + total_reach), float(noise.mean())
