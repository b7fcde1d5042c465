"""Everything against one base: what got worse and what got better, by how strong the evidence is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._fairground import InputError
from .pairs import ROUNDING, Figures, points
from .runs import Metric, Runs, counted

if TYPE_CHECKING:
    import pandas

#: From improvements, ``(comparisons, seeds)``, NaN where a pair is missing, to p, ``(comparisons,)``.
Judge = Callable[[Figures], Figures]


def regressions(
    table: Any,
    base: Mapping[str, Any],
    *,
    metrics: Sequence[str] | None = None,
    test: str = "t",
    correction: str = "holm",
    alpha: float = 0.05,
) -> pandas.DataFrame:
    """Compare every point, metric by metric, with the point that has the base's levels, paired over the seeds.

    Parameters
    ----------
    table : Sweep or table
        Runs with their axes; see :func:`label`.
    base : mapping of str to level
        Levels that are the base: ``{"sched": "fair:v6.12"}``. Axes that are not named are the same on both sides.
    metrics : sequence of str, optional
        Figures that are compared. Default: all that vary.
    test : {"t", "wilcoxon", "permutation"}
        Student's t of the differences; Wilcoxon's signed ranks; or changed signs, which with n seeds gives no p below
        2**(1 - n). Differences without any spread are judged by changed signs always.
    correction : {"holm", "bh"}
        What the adjusted p bounds over all comparisons: the chance of one false finding (Holm), or the share of false ones
        among the findings (Benjamini and Hochberg; metrics of one run hang together, mostly in the way this one allows).
    alpha : float
        A finding is an adjusted p of at most this, 0 to 1.

    Returns
    -------
    pandas.DataFrame
        A row for each comparison, the smallest p first: ``verdict`` (``"worse"``, ``"better"`` or ``"undecided"``),
        ``metric``, the axes of the point; ``base_mean`` and ``mean`` in the metric's unit; ``improvement_pct`` in percent
        of base, positive is better, with Student's 95 % interval ``low`` to ``high``; ``effect_size``: mean improvement
        over its standard deviation (Cohen's d of pairs; NaN without spread); ``p``, ``p_adjusted``; ``seeds``: pairs. With
        one pair nothing can be tested, p is NaN.

    Raises
    ------
    InputError
        There is no such axis, level, metric, test or correction, no point has the base's levels, or ``alpha`` is not from
        0 to 1.
    """
    import pandas

    runs = Runs.of(table)
    judge = _chosen("test", test, TESTS)
    adjust = _chosen("correction", correction, CORRECTIONS)
    if not 0 <= alpha <= 1:
        raise InputError(f"alpha: expected a chance from 0 to 1, not {alpha!r}")
    levels = {name: runs.level(runs.axis(name), level) for name, level in base.items()}
    if not levels:
        raise InputError("base: name the levels to compare with, such as {'sched': 'fair:v6.12'}")
    names = list(metrics) if metrics is not None else [name for name in runs.metrics if varies(runs, name)]
    partner = _partners(runs, levels)
    parts = [_compared(runs, runs.metric(name), partner, judge) for name in names]
    columns = ["verdict", "metric", *(axis.name for axis in runs.axes), *FIGURES]
    frame = pandas.concat(parts, ignore_index=True) if parts else pandas.DataFrame(columns=columns)
    frame = frame.reindex(columns=columns)
    tested = frame["p"].notna()
    frame["p_adjusted"] = np.nan
    frame.loc[tested, "p_adjusted"] = adjust(frame.loc[tested, "p"].to_numpy(float))
    sign = np.sign(frame["improvement"].astype(float))
    found = tested & (frame["p_adjusted"] <= alpha) & (sign != 0)
    frame["verdict"] = np.where(found, np.where(sign > 0, "better", "worse"), "undecided")
    # Ties, as of differences without spread, by how large they are.
    frame["size"] = -frame["improvement_pct"].astype(float).abs().fillna(np.inf)
    frame = frame.sort_values(["p", "size"], kind="stable", ignore_index=True).drop(columns=["size", "improvement"])
    frame.attrs["notes"] = _notes(frame, int(tested.sum()), correction, alpha)
    return frame


FIGURES = [
    "base_mean",
    "mean",
    "improvement",
    "improvement_pct",
    "low",
    "high",
    "effect_size",
    "p",
    "p_adjusted",
    "seeds",
]


def varies(runs: Runs, metric: str) -> bool:
    """Some runs give another figure than others."""
    return bool(runs.frame[metric].nunique() > 1)


def _partners(runs: Runs, base: dict[str, Any]) -> NDArray[np.intp]:
    """Of each point the one that it is compared with: itself with the base's levels; -1 where that did not run."""
    heads = runs.places.heads
    if not (heads[list(base)] == list(base.values())).all(axis=1).any():
        raise InputError("no point has the base's levels " + ", ".join(f"{k} = {v}" for k, v in base.items()))
    place = {point: i for i, point in enumerate(heads.itertuples(index=False, name=None))}
    wanted = heads.assign(**base)[list(heads)].itertuples(index=False, name=None)
    partner = np.array([place.get(point, -1) for point in wanted])
    partner[partner == np.arange(len(heads))] = -1
    return partner


def _compared(runs: Runs, metric: Metric, partner: NDArray[np.intp], judge: Judge) -> pandas.DataFrame:
    """Each point against its partner, where both have a figure for at least one seed."""
    heads, figures = points(runs, metric)
    gain = metric.sign * (figures - figures[partner])
    tested = np.flatnonzero((partner >= 0) & ~np.isnan(gain).all(axis=1))
    both = ~np.isnan(gain[tested])
    frame = heads.iloc[tested].reset_index(drop=True)
    base_side, test_side = (np.where(both, side[tested], np.nan) for side in (figures[partner], figures))
    return frame.assign(metric=metric.name, **_figures(base_side, test_side, gain[tested], judge))


def _figures(base: Figures, test: Figures, gain: Figures, judge: Judge) -> dict[str, Figures]:
    """Of sides and improvements, each ``(comparisons, seeds)``, NaN where a pair is missing."""
    from scipy import stats

    seeds = (~np.isnan(gain)).sum(axis=1)
    mean, whole = np.nanmean(gain, axis=1), np.nanmean(base, axis=1)
    spread = np.full_like(mean, np.nan)
    several = seeds > 1
    spread[several] = np.nanstd(gain[several], axis=1, ddof=1)
    size = np.nanmax(np.abs(np.concatenate([base, test], axis=1)), axis=1) if len(gain) else mean
    spread[spread <= ROUNDING * size] = 0
    # Sides that differ by rounding only, and by the same with each seed, do not differ.
    mean = np.where(~(spread > 0) & (np.abs(mean) <= ROUNDING * size), 0.0, mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = stats.t.ppf(0.975, seeds - 1) * spread / np.sqrt(seeds)
        percent = np.where(whole == 0, np.nan, 100 / np.abs(whole))
        effect_size = np.where(spread > 0, mean / spread, np.nan)
    still = (mean == 0) & (reach == 0)
    return {
        "base_mean": whole,
        "mean": np.nanmean(test, axis=1),
        "improvement": mean,
        "improvement_pct": np.where(mean == 0, 0, mean * percent),
        "low": np.where(still, 0, (mean - reach) * percent),
        "high": np.where(still, 0, (mean + reach) * percent),
        "effect_size": effect_size,
        "p": _p(gain, mean, spread, seeds, judge),
        "seeds": seeds,
    }


def _p(gain: Figures, mean: Figures, spread: Figures, seeds: NDArray[np.intp], judge: Judge) -> Figures:
    p = np.where(mean == 0, 1, 2.0 ** (1 - seeds))
    p[seeds < 2] = np.nan
    spread_out = np.flatnonzero(spread > 0)
    p[spread_out] = judge(gain[spread_out])
    return p


def _student(gain: Figures) -> Figures:
    from scipy import stats

    # Written out: scipy's own goes through rows with gaps one by one.
    seeds = (~np.isnan(gain)).sum(axis=1)
    t = np.nanmean(gain, axis=1) / (np.nanstd(gain, axis=1, ddof=1) / np.sqrt(seeds))
    return np.asarray(2 * stats.t.sf(np.abs(t), seeds - 1))


def _wilcoxon(gain: Figures) -> Figures:
    from scipy import stats

    return np.array([stats.wilcoxon(row[~np.isnan(row)]).pvalue for row in gain])


def _permutation(gain: Figures) -> Figures:
    """Of the mean under changed signs: all of them up to 13 seeds, then 9,999 drawn ones."""
    from scipy import stats

    def judged(row: Figures) -> float:
        drawn = {"permutation_type": "samples", "n_resamples": 9999, "vectorized": True, "rng": 1}
        return float(stats.permutation_test((row[~np.isnan(row)],), np.mean, **drawn).pvalue)

    return np.array([judged(row) for row in gain])


def _holm(p: Figures) -> Figures:
    """Holm's step-down: each p times the number of those not smaller, never less than one before it."""
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(steps, 1)
    return adjusted


def _benjamini_hochberg(p: Figures) -> Figures:
    from scipy import stats

    return np.asarray(stats.false_discovery_control(p)) if len(p) else p


TESTS: dict[str, Judge] = {"t": _student, "wilcoxon": _wilcoxon, "permutation": _permutation}
CORRECTIONS: dict[str, Callable[[Figures], Figures]] = {"holm": _holm, "bh": _benjamini_hochberg}


def _chosen(what: str, name: str, known: Mapping[str, Any]) -> Any:
    if name not in known:
        raise InputError(f"{what}: expected {' or '.join(known)}, not {name!r}")
    return known[name]


def _notes(frame: pandas.DataFrame, tested: int, correction: str, alpha: float) -> list[str]:
    method = {"holm": "Holm", "bh": "Benjamini and Hochberg"}[correction]
    lines = [f"{counted(tested, 'comparison')}, corrected by {method} at {alpha:g}"] if tested else []
    alone = int((frame["seeds"] == 1).sum())
    if alone:
        lines.append(f"{counted(alone, 'comparison')} with one seed: nothing can be tested")
    return lines
