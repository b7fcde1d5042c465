"""All answers of a sweep as one page."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._fairground import InputError, __commit__, __version__, code
from . import figures
from .effects import effects
from .interactions import interactions
from .page import Column, Page, number, percent
from .regressions import regressions, varies
from .runs import Axis, Runs, counted, word
from .sensitivity import sensitivity
from .trends import trends

if TYPE_CHECKING:
    import pandas

#: Metrics that get a section of their own by default.
METRICS_MAX = 12
#: Rows of a table; what is beyond is counted.
ROWS_MAX = 60
#: Machines, workloads and settings that the page names.
MADE_FROM_MAX = 8

RULE = (
    "Positive is better, in percent of base, with a 95 % interval over the seeds: all points of a seed share its random "
    "draws, so that a seed is one witness, however many points there are."
)


def report(
    table: Any,
    path: str | os.PathLike[str],
    *,
    metrics: Sequence[str] | None = None,
    base: Mapping[str, Any] | None = None,
    title: str | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Write one page of HTML that needs nothing else: the same bytes for the same table and program.

    Parameters
    ----------
    table : Sweep or table
        Runs with their axes; see :func:`label`.
    path : path
        The file; what is there is replaced.
    metrics : sequence of str, optional
        Figures that have a section. Default: the 12 whose change against the base has the strongest evidence.
    base : mapping of str to level, optional
        What everything is compared with. Default: the first scheduler; without such an axis all features off; else the
        first level of the first axis that has levels. If no run has the default's levels, as may be in a random design,
        nothing is ranked and a note says so.
    title : str, optional
        Default: the experiment's name.
    notes : sequence of str
        More to be said at the end, after what the sweep notes.

    Raises
    ------
    InputError
        There is no such metric or level, or no run.
    """
    runs = Runs.of(table)
    if runs.frame.empty:
        raise InputError("there is no completed run to report on")
    page = Page(title or runs.name or "Answers")
    against = dict(base) if base is not None else _base(runs)
    judged, said = _judged(runs, against, base is None) if against else (None, [])
    shown = [runs.metric(name).name for name in metrics] if metrics is not None else _strongest(runs, judged)
    _experiment(page, runs)
    page.contents("Metrics", [(f"metric-{name}", name) for name in shown])
    if judged is not None:
        said += _ranked(page, runs, judged, against)
    for name in shown:
        said += _section(page, runs, name)
    _failures(page, runs)
    left = [name for name in runs.metrics if name not in shown]
    if left:
        said.append(f"metrics without a section here: {', '.join(left)}")
    page.heading("Notes")
    page.bullets([*dict.fromkeys([*said, *getattr(table, "notes", ()), *notes]), _made_by(), *_made_from(table)])
    Path(path).write_text(page.html(), encoding="utf-8", newline="\n")


def _made_by() -> str:
    """The program, as below the tables of the command."""
    return f"made by: fairground {__version__} ({__commit__}), program {code()[:12]}"


def _made_from(table: Any) -> Iterator[str]:
    """The command, if there was one, and machines, workloads, kernels and settings of a sweep's runs."""
    from ..sweeps import Sweep

    if not isinstance(table, Sweep):
        return
    made = table.provenance()

    def different(*names: str) -> list[tuple[str, ...]]:
        return list(dict.fromkeys(zip(*(made[name].to_pylist() for name in names), strict=True)))

    named = {
        "command": [command for (command,) in different("command")],
        "machines": [f"{content[:12]} ({figures})" for content, figures in different("machine_hash", "figures")],
        "workloads": [
            f"{content[:12]} ({count} estimates)" for content, count in different("workload_hash", "workload_estimates")
        ],
        "kernels": [content[:12] for (content,) in different("kernel_hash")],
        "settings": [settings for (settings,) in different("settings")],
    }
    for what, values in named.items():
        shown = [value for value in values if value]
        if shown:
            more = f"; and {len(shown) - MADE_FROM_MAX} more" if len(shown) > MADE_FROM_MAX else ""
            yield f"{what}: {'; '.join(shown[:MADE_FROM_MAX])}{more}"


def _base(runs: Runs) -> dict[str, Any]:
    levelled = [axis for axis in runs.axes if len(axis.levels) > 1]
    scheds = [axis for axis in levelled if axis.kind == "sched" or axis.name == "sched"]
    chosen = scheds[:1] or [axis for axis in levelled if axis.kind == "feature"] or levelled[:1]
    return {axis.name: axis.levels[0] for axis in chosen}


def _judged(runs: Runs, base: dict[str, Any], chosen: bool) -> tuple[pandas.DataFrame | None, list[str]]:
    """All points against the base. If the base is our choice and no point has its levels: no result, and a note."""
    try:
        return regressions(runs, base), []
    except InputError as refused:
        if not chosen:
            raise
        return None, [f"nothing is ranked: {refused}"]


def _strongest(runs: Runs, judged: pandas.DataFrame | None) -> list[str]:
    ranked = [] if judged is None else list(dict.fromkeys(judged["metric"]))
    others = [name for name in runs.metrics if name not in ranked and varies(runs, name)]
    return [*ranked, *others][:METRICS_MAX]


def _experiment(page: Page, runs: Runs) -> None:
    import pandas

    points = len(runs.places.heads)
    design = f", design {runs.design}" if runs.design else ""
    page.paragraph(
        f"{counted(len(runs.frame), 'run')} of {counted(points, 'point')} with {counted(runs.places.seeds, 'seed')}{design}; "
        f"{counted(len(runs.failures), 'run')} failed" + (f", {runs.left} not made yet." if runs.left else ".")
    )
    page.paragraph(RULE)
    rows = [{"name": axis.name, "kind": axis.kind or "-", "levels": _levels(runs, axis)} for axis in runs.axes]
    page.table(
        "Axes", pandas.DataFrame(rows), [Column("name", "axis"), Column("kind", "kind"), Column("levels", "levels")]
    )


def _levels(runs: Runs, axis: Axis) -> str:
    if axis.levels:
        return ", ".join(word(level) for level in axis.levels)
    column = runs.frame[axis.name]
    return f"{number(float(column.min()))} to {number(float(column.max()))}"


def _ranked(page: Page, runs: Runs, judged: pandas.DataFrame, base: dict[str, Any]) -> list[str]:
    """What got worse and what got better, apart."""
    page.heading("What got worse, what got better", "ranked")
    against = ", ".join(f"{name} = {word(level)}" for name, level in base.items())
    page.paragraph(f"Every point and metric against {against}, by strength of evidence (Student's t of pairs).")
    if not judged["p"].notna().any():
        page.paragraph(
            "Nothing can be tested: no point ran with the base's levels and all else equal, in two seeds or more.",
            "soft",
        )
        return list(judged.attrs["notes"])
    axes = [Column(axis.name, axis.name) for axis in runs.axes]
    columns = [
        Column("metric", "metric"),
        *axes,
        Column("means", "base → here"),
        Column("change", "change"),
        Column("p", "p"),
        Column("p_adjusted", "p, corrected"),
    ]
    for verdict in ("worse", "better"):
        found = judged[judged["verdict"] == verdict]
        if found.empty:
            page.paragraph(f"Nothing is {verdict} beyond chance.", "soft")
            continue
        head = found.head(ROWS_MAX)
        means = [f"{number(b)} → {number(m)}{_unit(runs, n)}" for n, b, m in _each(head, "metric", "base_mean", "mean")]
        change = [percent(*three) for three in _each(head, "improvement_pct", "low", "high")]
        shown = head.assign(
            means=means, change=change, **{name: head[name].map("{:.2g}".format) for name in ("p", "p_adjusted")}
        )
        page.table(_counted(verdict.capitalize(), found), shown, columns)
    return list(judged.attrs["notes"])


def _section(page: Page, runs: Runs, metric: str) -> list[str]:
    """One metric: effects, trends, interactions and indices. Returns the notes."""
    of = runs.metric(metric)
    page.heading(metric, f"metric-{metric}")
    page.paragraph(f"{of.unit + ', ' if of.unit else ''}{of.better} is better.", "soft")
    if not varies(runs, metric):
        page.paragraph("It is the same in all runs.", "soft")
        return []
    found = [_effects(page, runs, metric), _trends(page, runs, metric), _interactions(page, runs, metric)]
    said = [note for one in found for note in one]
    try:
        indices = sensitivity(runs, metric)
    except InputError as refused:
        page.paragraph(f"No sensitivity indices: {refused}.", "soft")
        return said
    page.picture(figures.sensitivity(indices, f"{metric}: sensitivity indices"))
    first = [_with_ends(*three) for three in _each(indices, "first", "first_low", "first_high")]
    total = [_with_ends(*three) for three in _each(indices, "total", "total_low", "total_high")]
    columns = [Column("axis", "axis"), Column("first", "alone"), Column("total", "with others")]
    page.table("Shares of the variance", indices.assign(first=first, total=total), columns)
    page.paragraph("; ".join(indices.attrs["notes"]) + ".", "soft")
    return said


def _effects(page: Page, runs: Runs, metric: str) -> list[str]:
    found = effects(runs, metric)
    if found.empty:
        page.paragraph("No two levels of an axis ran with all else equal.", "soft")
        return []
    if found["improvement_pct"].notna().any():
        page.picture(figures.effects(found, f"{metric}: effects"))
    head = found.head(ROWS_MAX)
    rows = head.assign(
        what=[f"{word(base)} → {word(level)}" for base, level in _each(head, "base", "level")],
        means=[
            f"{number(base)} → {number(mean)}{_unit(runs, metric)}"
            for base, mean in _each(head, "base_mean", "level_mean")
        ],
        change=[percent(*three) for three in _each(head, "improvement_pct", "low", "high")],
        signs=[f"{better} / {worse} of {pairs}" for better, worse, pairs in _each(head, "better", "worse", "pairs")],
    )
    columns = [Column("axis", "axis"), Column("what", "levels"), Column("means", "means"), Column("change", "change")]
    page.table(_counted("Effects", found), rows, [*columns, Column("signs", "better / worse pairs")])
    return list(found.attrs["notes"])


def _trends(page: Page, runs: Runs, metric: str) -> list[str]:
    found = trends(runs, metric)
    if found.empty:
        return []
    slope = [_with_ends(*three) for three in _each(found, "slope", "low", "high")]
    per = _unit(runs, metric).strip() or "unit of the metric"
    columns = [
        Column("axis", "axis"),
        Column("slope", f"{per} per unit of the axis"),
        Column("rank", "rank correlation"),
    ]
    page.table("Trends", found.assign(slope=slope), columns)
    return list(found.attrs["notes"])


def _interactions(page: Page, runs: Runs, metric: str) -> list[str]:
    found = interactions(runs, metric)
    if found.empty:
        return []
    size = found["interaction_pct"].abs().fillna(0)
    ranked = found.assign(size=size).sort_values(["significant", "size"], ascending=False, kind="stable")
    head = ranked.head(ROWS_MAX)
    if head["interaction_pct"].notna().any():
        page.picture(figures.interactions(head.head(20), f"{metric}: interactions"))
    both = [f"{a} {word(i)} × {b} {word(j)}" for a, i, b, j in _each(head, "axis_a", "level_a", "axis_b", "level_b")]
    rows = head.assign(
        what=both,
        alone=[f"{percent(a)} and {percent(b)}" for a, b in _each(head, "only_a_pct", "only_b_pct")],
        both=[percent(value) for value in head["both_pct"]],
        beyond=[percent(*three) for three in _each(head, "interaction_pct", "low", "high")],
    )
    columns = [Column("what", "levels"), Column("alone", "each alone"), Column("both", "both")]
    page.table(_counted("Interactions", found), rows, [*columns, Column("beyond", "beyond the sum")])
    return list(found.attrs["notes"])


def _failures(page: Page, runs: Runs) -> None:
    import pandas

    if not runs.failures:
        return
    page.heading("Runs that failed", "failures")
    found = pandas.DataFrame(list(runs.failures))
    columns = [Column(axis.name, axis.name) for axis in runs.axes if axis.name in found]
    page.table(
        _counted("Failures", found), found.head(ROWS_MAX), [*columns, Column("seed", "seed"), Column("message", "why")]
    )


def _each(frame: pandas.DataFrame, *names: str) -> list[tuple[Any, ...]]:
    return list(frame[list(names)].itertuples(index=False, name=None))


def _counted(caption: str, rows: pandas.DataFrame) -> str:
    return caption if len(rows) <= ROWS_MAX else f"{caption}: the first {ROWS_MAX} of {len(rows)}"


def _unit(runs: Runs, metric: str) -> str:
    unit = runs.metric(metric).unit
    return f" {unit}" if unit else ""


def _with_ends(value: float, low: float, high: float) -> str:
    ends = "" if math.isnan(low) else f" [{number(low)}, {number(high)}]"
    return f"{number(value)}{ends}"
