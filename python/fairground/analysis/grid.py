"""Sensitivity indices of a full grid: its variance, split exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._fairground import InputError
from .pairs import Figures
from .runs import counted

if TYPE_CHECKING:
    import pandas


#: Below this many samples of Saltelli's design a note warns.
FEW_SAMPLES = 128


@dataclass(frozen=True)
class Indices:
    """First-order and total indices, each of shape ``(axes,)`` with the ends of its interval.

    ``noise`` is the share of the variance that is due to seeds; NaN where that is not known.
    """

    first: Figures
    first_ci: tuple[Figures, Figures]
    total: Figures
    total_ci: tuple[Figures, Figures]
    noise: float
    method: str
    points: int
    seeds: int
    seeds_left_out: int = 0
    points_left_out: int = 0

    def notes(self) -> list[str]:
        """Notes on the indices."""
        lines = []
        if not np.isfinite(self.first).all():
            lines.append("the metric is constant: there is no variance to share")
        elif self.seeds == 1:
            lines.append("one seed: what it does by chance counts as interaction of axes")
        else:
            lines.append(f"seeds make {100 * self.noise:.1f} % of the variance of the means")
        samples = self.points // (len(self.first) + 2)
        if self.method == "saltelli" and samples < FEW_SAMPLES:
            lines.append(
                f"{counted(samples, 'sample')}: below {FEW_SAMPLES} neither indices nor intervals are to be trusted"
            )
        if np.isnan(self.first_ci[0]).all():
            lines.append(f"{counted(self.seeds, 'seed')}: no interval")
        if self.seeds_left_out:
            lines.append(f"{counted(self.seeds_left_out, 'seed')} left out: runs failed")
        if self.points_left_out:
            lines.append(f"{counted(self.points_left_out, 'sample')} left out: runs failed")
        return lines


def indices(heads: pandas.DataFrame, figures: Figures) -> Indices:
    """Of a grid's points ``heads`` (a column for each axis) and their figures, ``(points, seeds)``.

    Seeds of which a run failed are left out.

    Raises
    ------
    InputError
        There is no seed of which all runs of the grid completed.
    """
    import pandas

    codes = [pandas.factorize(heads[name])[0] for name in heads]
    shape = tuple(int(code.max()) + 1 for code in codes)
    cells = np.full((figures.shape[1], *shape), np.nan)
    where = (slice(None), *codes)
    cells[where] = figures.T
    whole = ~np.isnan(cells.reshape(len(cells), -1)).any(axis=1)
    if not whole.any():
        raise InputError("there is no seed of which all runs of the grid completed: their variance cannot be split")
    cells = cells[whole]
    found, noise = split(cells)
    low, high = _jackknife(cells, found)
    count = len(shape)
    return Indices(
        first=found[:count],
        first_ci=(low[:count], high[:count]),
        total=found[count:],
        total_ci=(low[count:], high[count:]),
        noise=noise,
        method="grid",
        points=int(np.prod(shape)),
        seeds=len(cells),
        seeds_left_out=int((~whole).sum()),
    )


def split(cells: Figures) -> tuple[Figures, float]:
    """First-order indices, then total ones, and the share of noise.

    Parameters
    ----------
    cells : numpy.ndarray
        Shape ``(seeds, levels of each axis...)``.
    """
    axes = range(1, cells.ndim)
    mean = cells.mean(axis=0)
    variance = float(mean.var())
    # A variance below the rounding of its mean is none.
    if variance <= (1e-12 * np.abs(mean).max()) ** 2:
        return np.full(2 * len(axes), np.nan), np.nan
    centred = cells - cells.mean(axis=tuple(axes), keepdims=True)
    first = [_power(centred.mean(axis=tuple(a for a in axes if a != axis))) for axis in axes]
    total = [_power(centred - centred.mean(axis=axis, keepdims=True)) for axis in axes]
    noise = 1 - _power(centred) / variance if len(cells) > 1 else np.nan
    return np.array([*first, *total]) / variance, noise


def _power(parts: Figures) -> float:
    """Mean square of the part of the variance that all seeds have in common.

    The product of two different seeds' parts has no contribution of either's noise; the mean over all pairs of seeds is
    (sum squared - sum of squares) / (seeds x (seeds - 1)). One seed: its square, noise and all.
    """
    seeds, parts = len(parts), parts.reshape(len(parts), -1)
    if seeds == 1:
        return float((parts**2).mean())
    return float((parts.sum(axis=0) ** 2 - (parts**2).sum(axis=0)).mean() / (seeds * (seeds - 1)))


def _jackknife(cells: Figures, found: Figures) -> tuple[Figures, Figures]:
    """95 % intervals from leaving out one seed after the other; NaN below three seeds."""
    from scipy import stats

    seeds = len(cells)
    if seeds < 3:
        return np.full_like(found, np.nan), np.full_like(found, np.nan)
    without = np.array([split(np.delete(cells, seed, axis=0))[0] for seed in range(seeds)])
    pseudo = seeds * found - (seeds - 1) * without
    reach = stats.t.ppf(0.975, seeds - 1) * pseudo.std(axis=0, ddof=1) / np.sqrt(seeds)
    return found - reach, found + reach
