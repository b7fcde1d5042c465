"""Pictures of answers, drawn by matplotlib: the same bytes for the same answers.

Colours are those of the pages that Fairground writes (``crates/lab/src/page.css``), so that a report can put the
reader's light or dark ones in their place.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from .._fairground import InputError, page_style
from .pairs import Figures, points
from .runs import Axis, Metric, Runs, word

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Widths are those of a page's column, inches at 72 points.
WIDTH = 8.6
#: Height of a line with its bar, inches.
LANE = 0.34
#: More lines than this are not drawn: they would not be read.
LANES_MAX = 60

#: Characters of a line's name.
NAME_MAX = 48

#: Markers of lines in one plot: distinct in form, not in colour alone.
MARKS = "osD^vPX*"


@contextmanager
def _style() -> Iterator[None]:
    """Fixed sizes, our colours, and ids that depend on nothing but the picture; whatever the user has set."""
    try:
        from matplotlib import style
    except ImportError:
        raise ImportError("figures take matplotlib: pip install 'fairground[report]'") from None

    colours = palette()
    ink = {name: colours["ink"] for name in ("text.color", "axes.labelcolor", "xtick.color", "ytick.color")}
    paper = {name: colours["paper"] for name in ("figure.facecolor", "axes.facecolor")}
    lines = {
        "axes.edgecolor": colours["soft"],
        "grid.color": colours["rule"],
        "axes.grid": True,
        "axes.axisbelow": True,
    }
    fixed = {"svg.hashsalt": "fairground", "svg.fonttype": "none", "font.size": 10, "text.parse_math": False}
    with style.context(["default", {**ink, **paper, **lines, **fixed}]):
        yield


class Picture:
    """A figure that notebooks show as SVG.

    Attributes
    ----------
    figure : matplotlib.figure.Figure
        To be changed or saved in other formats.
    title : str
        Text that describes the picture for readers who cannot see it.
    """

    def __init__(self, figure: Figure, title: str) -> None:
        self.figure = figure
        self.title = title

    def svg(self) -> str:
        """The picture as SVG, without date or version."""
        text = io.StringIO()
        with _style():
            self.figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None, "Title": self.title})
        return text.getvalue()

    def _repr_svg_(self) -> str:
        return self.svg()


def palette() -> dict[str, str]:
    """Colours of light pages by name: ``paper``, ``ink``, ``soft``, ``rule``, ``band``, ``hit``, ``miss``."""
    light = page_style().partition("}")[0]
    return dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6});", light))


@_style()
def effects(frame: pandas.DataFrame, title: str = "Effects") -> Picture:
    """The improvement of each level with its interval, from :func:`fairground.analysis.effects`.

    Raises
    ------
    InputError
        There is nothing to draw.
    """
    apart = [name for name in frame.columns[1 : frame.columns.get_loc("base")]]
    known = frame[frame["improvement_pct"].notna()]
    shown = known[:LANES_MAX]
    names = [
        f"{row['axis']}: {word(row['base'])} → {word(row['level'])}"
        + "".join(f", {name} {word(row[name])}" for name in apart)
        for _, row in shown.iterrows()
    ]
    label = "improvement, percent of base (right is better)" + _beyond(known)
    return _lanes(shown, names, "improvement_pct", label, title)


@_style()
def interactions(frame: pandas.DataFrame, title: str = "Interactions") -> Picture:
    """What pairs of levels do beyond their sum, from :func:`fairground.analysis.interactions`.

    Raises
    ------
    InputError
        There is nothing to draw.
    """
    known = frame[frame["interaction_pct"].notna()]
    shown = known[:LANES_MAX]
    names = [
        f"{row['axis_a']} {word(row['level_a'])} × {row['axis_b']} {word(row['level_b'])}"
        for _, row in shown.iterrows()
    ]
    return _lanes(
        shown, names, "interaction_pct", "beyond the sum of both, percent of neither (right is better)", title
    )


@_style()
def interaction(table: Any, metric: str, axis: str, by: str) -> Picture:
    """Means of a metric along one axis, a line for each level of another: lines that are not parallel interact.

    Raises
    ------
    InputError
        There is no such axis or metric, or an axis has no levels.
    """
    runs, of = _asked(table, metric)
    along, apart = _levelled(runs, axis), _levelled(runs, by)
    means = _means(runs, of, along, apart)
    figure, axes = _blank(4.2)
    colours = [palette()[name] for name in ("ink", "hit", "miss", "soft")]
    for i, level in enumerate(apart.levels):
        colour = colours[i % len(colours)]
        axes.plot(
            range(len(along.levels)),
            means[:, i],
            marker=MARKS[i % len(MARKS)],
            color=colour,
            label=_short(f"{by} {word(level)}"),
        )
    axes.set_xticks(range(len(along.levels)), [_short(word(level)) for level in along.levels])
    axes.set_xlabel(axis)
    axes.set_ylabel(_with_unit(of))
    axes.legend(frameon=False)
    return Picture(figure, f"{metric} by {axis} and {by}")


@_style()
def sensitivity(frame: pandas.DataFrame, title: str = "Sensitivity") -> Picture:
    """First-order and total indices as bars, from :func:`fairground.analysis.sensitivity`."""
    colours = palette()
    figure, axes = _blank(0.9 + 2 * LANE * len(frame))
    place = np.arange(len(frame))
    for shift, index, colour in ((-0.2, "first", "hit"), (0.2, "total", "soft")):
        values = frame[index].to_numpy(float)
        axes.barh(place + shift, np.nan_to_num(values), 0.36, color=colours[colour], label=f"{index} index")
        ends = frame[[f"{index}_low", f"{index}_high"]].to_numpy(float)
        known = np.isfinite(ends).all(axis=1)
        axes.hlines((place + shift)[known], *ends[known].T, color=colours["ink"], linewidth=1.5)
    axes.set_yticks(place, frame["axis"].tolist())
    axes.invert_yaxis()
    axes.set_xlabel("share of the variance, with 95 % interval")
    axes.legend(frameon=False)
    return Picture(figure, title)


@_style()
def heat_map(table: Any, metric: str, x: str, y: str) -> Picture:
    """Means of a metric over two axes.

    Raises
    ------
    InputError
        There is no such axis or metric, or an axis has no levels.
    """
    runs, of = _asked(table, metric)
    across, down = _levelled(runs, x), _levelled(runs, y)
    means = _means(runs, of, down, across)
    figure, axes = _blank(1.2 + LANE * len(down.levels))
    # Darker is better.
    edges = (np.arange(len(across.levels) + 1) - 0.5, np.arange(len(down.levels) + 1) - 0.5)
    image = axes.pcolormesh(*edges, np.ma.masked_invalid(means), cmap="Blues" if of.sign > 0 else "Blues_r")
    axes.invert_yaxis()
    axes.set_xticks(range(len(across.levels)), [_short(word(level)) for level in across.levels])
    axes.set_yticks(range(len(down.levels)), [_short(word(level)) for level in down.levels])
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(False)
    _numbers(axes, means, image)
    return Picture(figure, f"{_with_unit(of)} over {x} and {y}")


@_style()
def distribution(table: Any, metric: str, axis: str) -> Picture:
    """How a metric is distributed at each level of an axis: a box from quarter to quarter, the median, and all runs.

    Raises
    ------
    InputError
        There is no such axis or metric, or the axis has no levels.
    """
    runs, of = _asked(table, metric)
    along = _levelled(runs, axis)
    column = runs.frame[axis]
    groups = [runs.frame.loc[column == level, metric].dropna().to_numpy() for level in along.levels]
    colours = palette()
    figure, axes = _blank(0.9 + 1.4 * LANE * len(groups))
    line = {"color": colours["ink"]}
    lines: dict[str, Any] = {"boxprops": line, "whiskerprops": line, "capprops": line}
    lines["medianprops"] = {"color": colours["miss"]}
    axes.boxplot(groups, orientation="horizontal", showfliers=False, **lines)
    for place, values in enumerate(groups, 1):
        # Beside the box, each at a height of its own, without chance.
        heights = place + 0.3 + 0.12 * (np.arange(len(values)) % 3) / 3
        axes.plot(values, heights, ".", color=colours["hit"], markersize=3)
    axes.set_yticks(range(1, len(groups) + 1), [_short(word(level)) for level in along.levels])
    axes.invert_yaxis()
    axes.set_xlabel(_with_unit(of))
    axes.set_ylabel(axis)
    return Picture(figure, f"{metric} by {axis}")


def _short(name: str) -> str:
    """A name that leaves room for what is drawn: its beginning and its end."""
    half = NAME_MAX // 2
    return name if len(name) <= NAME_MAX else f"{name[:half]}…{name[-half:]}"


def _beyond(known: pandas.DataFrame) -> str:
    """Note on the figure that not all is drawn."""
    return f"; the first {LANES_MAX} of {len(known)}" if len(known) > LANES_MAX else ""


def _lanes(shown: pandas.DataFrame, names: list[str], value: str, label: str, title: str) -> Picture:
    """One line of text for each row, a mark at its value, and a bar over its interval."""
    if shown.empty:
        raise InputError(f"{title}: there is nothing to draw")
    colours = palette()
    figure, axes = _blank(0.9 + LANE * len(shown))
    axes.axvline(0, color=colours["soft"], linewidth=1.2)
    # Unknown below six seeds.
    significant = shown["significant"].fillna(False).astype(bool)
    for place, ((_, row), sure) in enumerate(zip(shown.iterrows(), significant, strict=True)):
        colour = colours["soft"] if not sure else colours["hit"] if row[value] > 0 else colours["miss"]
        if np.isfinite(row["low"]):
            axes.hlines(place, row["low"], row["high"], color=colour, linewidth=2)
        axes.plot(row[value], place, "o", color=colour, markerfacecolor=colour if sure else colours["paper"])
    axes.set_yticks(range(len(names)), [_short(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel(label, loc="right")
    return Picture(figure, title)


def _numbers(axes: Axes, means: Figures, image: Any) -> None:
    """Each cell's figure, readable on its colour."""
    for (row, column), value in np.ndenumerate(means):
        if np.isfinite(value):
            red, green, blue, _ = image.cmap(image.norm(value))
            dark = 0.3 * red + 0.6 * green + 0.1 * blue < 0.5
            # No colours of the palette: they stand on the map's, whatever the page's are.
            axes.text(column, row, f"{value:.4g}", ha="center", va="center", color="#fefefe" if dark else "#010101")


def _asked(table: Any, metric: str) -> tuple[Runs, Metric]:
    runs = Runs.of(table)
    return runs, runs.metric(metric)


def _levelled(runs: Runs, name: str) -> Axis:
    axis = runs.axis(name)
    if not axis.levels:
        raise InputError(f"axis {name} is a range: it has no levels to draw")
    return axis


def _means(runs: Runs, metric: Metric, a: Axis, b: Axis) -> Figures:
    """Raw means over all runs, ``(levels of a, levels of b)``; NaN where nothing ran.

    Where runs are missing, cells are of other points and seeds: unlike in effects, nothing is paired.
    """
    heads, figures = points(runs, metric)
    known = ~np.isnan(figures)
    heads = heads.assign(sum=np.where(known, figures, 0).sum(axis=1), count=known.sum(axis=1))
    sums = heads.groupby([a.name, b.name])[["sum", "count"]].sum()
    cells = sums.reindex([(i, j) for i in a.levels for j in b.levels])
    with np.errstate(invalid="ignore"):
        means = cells["sum"].to_numpy(float) / cells["count"].to_numpy(float)
    return np.asarray(means.reshape(len(a.levels), len(b.levels)))


def _with_unit(metric: Metric) -> str:
    return f"{metric.name}, {metric.unit}" if metric.unit else metric.name


def _blank(height: float) -> tuple[Figure, Axes]:
    """A figure of its own, without matplotlib's global state."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes
