"""Experiments: axes, their levels, and the points of that space to run.

An experiment comes of a file (TOML, docs/sweeps.md) or of a dict with the same keys, and all of it is looked up before
anything runs: a level that names nothing is refused with its place and the nearest name.

>>> experiment = Experiment.from_dict({
...     "experiment": {"name": "pipes", "seeds": 2},
...     "fixed": {"machine": "hikey960", "workload": "sched-pipe:loops=100,threads"},
...     "axes": {"sched": ["fair:v5.9"], "features": {"asym-prev-first": [False, True]}},
... })
>>> experiment.size
4
>>> [spec.sched for spec in experiment.specs()][1:3]
['fair:v5.9-asym-prev-first', 'fair:v5.9+asym-prev-first']
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike, fspath
from typing import Any

from .. import _fairground
from .._fairground import InputError, Machine, RunKeys
from .design import Point, arranged, between, drawn
from .spec import CANONICAL, Inputs, Kernel, RunSpec

#: A grid with more runs must be confirmed.
CONFIRM_ABOVE = 1_000_000

#: What an axis takes at a point, and what it adds to the name of scheduler or workload.
Choice = tuple[Any, str]


@dataclass(frozen=True)
class Axis:
    """An axis of an experiment.

    Parameters
    ----------
    name : str
        As the column of tables: ``machine``, ``workload``, ``sched``, or the name of a feature, an option, a figure or a
        setting.
    kind : {"machine", "workload", "sched", "feature", "option", "figure", "setting"}
        What it varies.
    levels : tuple, optional
        What it takes; none if it has a range.
    low, high : float, optional
        Ends of its range, both included.
    log : bool
        The range is spread evenly by ratio.
    whole : bool
        Of the range, whole numbers alone.
    way : {"to", "times"}, optional
        How a figure is turned.
    pieces : tuple of str
        What each level adds to the name of scheduler or workload.
    """

    name: str
    kind: str
    levels: tuple[Any, ...] | None = None
    low: float | None = None
    high: float | None = None
    log: bool = False
    whole: bool = False
    way: str | None = None
    pieces: tuple[str, ...] = ()

    def at(self, x: float) -> Choice:
        """The level at a coordinate in [0, 1): levels have equal parts of it."""
        if self.levels is not None:
            return self._choices[min(int(x * len(self.levels)), len(self.levels) - 1)]
        assert self.low is not None and self.high is not None
        value = between(self.low, self.high, self.log, self.whole, x)
        if self.kind != "option":
            return value, ""
        # Options have six decimals at most.
        value = value if self.whole else round(value, 6)
        text = str(value) if self.whole else f"{value:.6f}".rstrip("0").rstrip(".")
        return value, f"{self.name}={text}"

    def ends(self) -> tuple[Choice, ...]:
        """All levels; for a range the first and the last."""
        return self._choices if self.levels is not None else (self.at(0.0), self.at(math.nextafter(1.0, 0.0)))

    @cached_property
    def _choices(self) -> tuple[Choice, ...]:
        levels = self.levels or ()
        return tuple(zip(levels, self.pieces or ("",) * len(levels), strict=True))


@dataclass(frozen=True)
class Experiment:
    """Runs over a space of axes. Create it by :meth:`load` or :meth:`from_dict`.

    Parameters
    ----------
    name : str
        Its name.
    design : {"grid", "random", "sobol", "saltelli"}
        How points are chosen.
    points : int, optional
        How many; none for a grid, which has all. Saltelli's arrangement makes ``len(axes) + 2`` of each.
    draw : int
        Which draw of them.
    seeds : int
        Runs at each point, with seeds 1 to ``seeds``.
    fixed : dict of str to str
        What does not vary of ``machine``, ``workload`` and ``sched``.
    settings : tuple of (str, str or int or float)
        Settings that do not vary.
    axes : tuple of Axis
        What varies.
    inputs : Inputs
        What is named and does not come with the program.
    drawn : tuple of tuple of float, optional
        Points that were drawn before; None: they are drawn at their first use.
    """

    name: str
    design: str
    points: int | None
    draw: int
    seeds: int
    fixed: dict[str, str]
    settings: tuple[tuple[str, str | int | float], ...]
    axes: tuple[Axis, ...]
    inputs: Inputs
    drawn: tuple[Point, ...] | None = None

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Experiment:
        """Read an experiment file; names of files in it are relative to it.

        Raises
        ------
        InputError
            It cannot be read, or names something that there is not.
        """
        return cls._of(*_fairground.load_sweep_file(fspath(path)))

    @classmethod
    def from_dict(
        cls,
        content: Mapping[str, Any],
        *,
        directory: str | PathLike[str] = ".",
        machines: Mapping[str, Any] | None = None,
        workloads: Mapping[str, Any] | None = None,
    ) -> Experiment:
        """Read a dict with the keys of an experiment file.

        Parameters
        ----------
        content : dict
            What the file would say.
        directory : path
            What names of files are relative to.
        machines : dict of str to (dict or Machine), optional
            Machines that `content` may name besides presets and files.
        workloads : dict of str to dict, optional
            Workloads in rt-app's grammar that it may name.

        Raises
        ------
        InputError
            It names something that there is not.
        """
        texts = {name: _machine_text(given) for name, given in (machines or {}).items()}
        contents = {name: json.dumps(given, indent=1).encode() for name, given in (workloads or {}).items()}
        return cls._of(*_fairground.read_sweep_file(dict(content), fspath(directory), texts, contents))

    @classmethod
    def _of(
        cls,
        plan: str,
        machines: dict[str, str],
        workloads: dict[str, bytes],
        kernels: dict[str, tuple[bytes, tuple[int, int] | None]],
    ) -> Experiment:
        built = {name: Kernel(library, built_with) for name, (library, built_with) in kernels.items()}
        return cls.from_json(plan, Inputs(machines, workloads, built))

    @classmethod
    def from_json(cls, text: str, inputs: Inputs) -> Experiment:
        """Read the output of :meth:`to_json`, with the same inputs."""
        plan = json.loads(text)
        drawn = plan.get("drawn")
        return cls(
            name=plan["name"],
            design=plan["design"],
            points=plan["points"],
            draw=plan["draw"],
            seeds=plan["seeds"],
            fixed=plan["fixed"],
            settings=tuple((name, value) for name, value in plan["settings"]),
            axes=tuple(_axis(axis) for axis in plan["axes"]),
            inputs=inputs,
            drawn=None if drawn is None else tuple(tuple(point) for point in drawn),
        )

    def to_json(self) -> str:
        """The experiment as JSON, with the points of its design, without inputs' contents; sorted keys, no spaces."""
        plan: dict[str, Any] = {
            "name": self.name,
            "design": self.design,
            "points": self.points,
            "draw": self.draw,
            "seeds": self.seeds,
            "fixed": self.fixed,
            "settings": self.settings,
            "axes": [_plain(axis) for axis in self.axes],
            "inputs": self.inputs.digests,
        }
        if self.design != "grid":
            plan["drawn"] = self._points
        return CANONICAL.encode(plan)

    def with_points(self, drawn: tuple[Point, ...]) -> Experiment:
        """This experiment with points that were drawn before, as in ``drawn`` of :meth:`to_json`."""
        return replace(self, drawn=tuple(tuple(point) for point in drawn))

    @property
    def size(self) -> int:
        """Number of runs."""
        if self.design == "grid":
            return self.seeds * math.prod(len(axis.levels or ()) for axis in self.axes)
        return self.seeds * (self.points or 0) * (len(self.axes) + 2 if self.design == "saltelli" else 1)

    def ensure_size(self, confirmed: bool = False) -> None:
        """Refuse a size that is probably a mistake.

        Raises
        ------
        InputError
            There are more than 1,000,000 runs and it is not `confirmed`.
        """
        if self.size > CONFIRM_ABOVE and not confirmed:
            raise InputError(
                f"experiment {self.name} has {self.size:,} runs, more than {CONFIRM_ABOVE:,}: "
                "give --yes (confirm=True) if it is meant, or leave levels or seeds out"
            )

    @cached_property
    def _points(self) -> tuple[Point, ...]:
        if self.drawn is not None:
            return self.drawn
        return tuple(drawn(self.design, len(self.axes), self.points or 0, self.draw))

    def _choices(self) -> Iterator[tuple[Choice, ...]]:
        """The values of the axes at each point."""
        if self.design == "grid":
            return itertools.product(*(axis.ends() for axis in self.axes))
        points = iter(self._points)
        if self.design == "saltelli":
            points = itertools.chain.from_iterable(map(arranged, points))
        return (tuple(axis.at(x) for axis, x in zip(self.axes, point, strict=True)) for point in points)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The values of the axes of each run, in the order of :meth:`specs`."""
        for choices in self._choices():
            values = tuple(value for value, _ in choices)
            yield from itertools.repeat(values, self.seeds)

    def specs(self) -> Iterator[RunSpec]:
        """All runs in the order of the design, seeds innermost."""
        for point in self.points_specs():
            for seed in range(1, self.seeds + 1):
                yield replace(point, seed=seed)

    def points_specs(self) -> Iterator[RunSpec]:
        """The first run of each point."""
        return (RunSpec(**self._parts(choices)) for choices in self._choices())

    def keys(self) -> RunKeys:
        """The keys of all runs, in the order of :meth:`specs`."""
        return self.inputs.compiled.keys((spec.to_json() for spec in self.points_specs()), self.seeds)

    def _parts(self, choices: tuple[Choice, ...]) -> dict[str, Any]:
        """The parts that the runs at a point have in common."""
        names, options, figures, settings = dict(self.fixed), [], [], list(self.settings)
        features = ""
        for axis, (value, piece) in zip(self.axes, choices, strict=True):
            if axis.kind == "feature":
                features += piece
            elif axis.kind == "option":
                options.append(piece)
            elif axis.kind == "figure":
                figures.append((axis.name, axis.way, float(value)))
            elif axis.kind == "setting":
                settings.append((axis.name, value))
            else:
                names[axis.kind] = value
        return {
            "machine": names["machine"],
            "workload": self._with_options(names["workload"], [piece for piece in options if piece]),
            "sched": names["sched"] + features,
            # By name: experiments that list them in another order share their runs.
            "figures": tuple(sorted(figures)),
            "options": tuple(sorted(settings)),
        }

    def _with_options(self, workload: str, options: list[str]) -> str:
        if not options:
            return workload
        bare = workload in self.inputs.workloads or ":" not in workload
        return f"{workload}{':' if bare else ','}{','.join(options)}"


def _machine_text(given: Any) -> str:
    machine: Machine = given if isinstance(given, Machine) else Machine(given)
    return str(machine.to_toml())


def _plain(axis: Axis) -> dict[str, Any]:
    plain: dict[str, Any] = {"name": axis.name, "kind": axis.kind, "way": axis.way, "pieces": axis.pieces}
    if axis.levels is not None:
        return plain | {"levels": axis.levels}
    return plain | {"range": {"low": axis.low, "high": axis.high, "log": axis.log, "whole": axis.whole}}


def _axis(plain: dict[str, Any]) -> Axis:
    kept = {"name": plain["name"], "kind": plain["kind"], "way": plain["way"], "pieces": tuple(plain["pieces"])}
    if "levels" in plain:
        return Axis(**kept, levels=tuple(plain["levels"]))
    return Axis(**kept, **plain["range"])
