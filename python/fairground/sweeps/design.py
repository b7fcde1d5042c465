"""Which points of the space of an experiment are run.

A point has one coordinate for each axis, from 0 up to but not including 1; :func:`between` says which value of a range that
is. Points of a design other than the grid come from scipy. They are drawn once and kept with the sweep (``Experiment.to_json``): a
library that draws others one day does not change a sweep that has begun.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from .._fairground import InputError

#: Digits of numbers that are drawn from a range: enough to tell levels apart, and the same on all computers.
DIGITS = 6

#: A point.
Point = tuple[float, ...]


def drawn(design: str, axes: int, points: int, draw: int) -> list[Point]:
    """The points of a design, in its order.

    Parameters
    ----------
    design : {"random", "sobol", "saltelli"}
        A Latin hypercube, a scrambled Sobol sequence, or one of pairs of points, to be :func:`arranged`.
    axes : int
        Coordinates of a point.
    points : int
        How many, or how many pairs.
    draw : int
        Which draw.

    Returns
    -------
    list of tuple of float
        In [0, 1); a pair is one tuple of ``2 * axes``.

    Raises
    ------
    InputError
        scipy is not installed.
    """
    qmc = _qmc()
    if design == "random":
        return _rows(qmc.LatinHypercube(axes, rng=draw).random(points))
    if design == "sobol":
        return _rows(qmc.Sobol(axes, scramble=True, rng=draw).random(points))
    return _rows(qmc.Sobol(2 * axes, scramble=True, rng=draw).random(points))


def arranged(pair: Point) -> Iterator[Point]:
    """Saltelli's arrangement of a pair A, B: A, then A with one coordinate of B for each axis in turn, then B.

    That is what ``SALib.analyze.sobol`` takes without second order.
    """
    axes = len(pair) // 2
    a, b = pair[:axes], pair[axes:]
    yield a
    for i in range(axes):
        yield a[:i] + b[i : i + 1] + a[i + 1 :]
    yield b


def _rows(points: Any) -> list[Point]:
    # A coordinate that rounds to 1 would be beyond the last level.
    below = math.nextafter(1.0, 0.0)
    return [tuple(min(float(x), below) for x in row) for row in points]


def _qmc() -> Any:
    try:
        from scipy.stats import qmc
    except ImportError as error:
        raise InputError(
            "designs other than the grid need scipy 1.15 or later, which is not installed: pip install 'fairground[sweep]'"
        ) from error
    return qmc


def between(low: float, high: float, log: bool, whole: bool, x: float) -> int | float:
    """The value of a range at a coordinate.

    Parameters
    ----------
    low, high : float
        The ends, both included.
    log : bool
        Spread evenly by ratio.
    whole : bool
        Whole numbers, each with an equal part (by ratio: a part by its ratio to the next).
    x : float
        In [0, 1).

    Returns
    -------
    int or float
        Of a range that is not whole, in six digits.
    """
    top = high + 1 if whole else high
    at = low * math.exp(x * math.log(top / low)) if log else low + x * (top - low)
    if whole:
        # A value just below a whole number by a last bit is that number.
        return int(min(max(math.floor(at + 1e-9), low), high))
    return min(max(float(f"{at:.{DIGITS}g}"), low), high)
