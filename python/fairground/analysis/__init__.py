"""Answers from a sweep's table: effects, interactions, sensitivity, regressions, figures and a report.

Every function takes a sweep, its table, or any table whose axes and metrics :func:`label` tells:

>>> import fairground as fg
>>> from fairground import analysis
>>> rows = [
...     {"sched": sched, "groups": groups, "seed": seed, "time_s": fg.run("hikey960", load, sched, seed=seed)["time_s"]}
...     for sched in ("fair:v6.12", "fair:v7.3")
...     for groups in (1, 2)
...     for load in [f"hackbench:groups={groups},loops=10"]
...     for seed in (1, 2)
... ]
>>> import pandas
>>> table = analysis.label(pandas.DataFrame(rows), axes=["sched", "groups"], metrics={"time_s": ("s", "lower")})
>>> analysis.effects(table, "time_s", "groups")[["axis", "base", "level", "pairs"]].values.tolist()
[['groups', 1, 2, 4]]

Positive always means better. The unit of all statistics is the seed.
"""

try:
    import numpy  # noqa: F401
    import pandas  # noqa: F401
    import scipy  # noqa: F401
except ImportError as missing:
    raise ImportError(f"fairground.analysis takes {missing.name}: pip install 'fairground[report]'") from missing

from . import figures
from .effects import effects
from .interactions import interactions
from .regressions import regressions
from .report import report
from .runs import Axis, Metric, Runs, label
from .sensitivity import sensitivity
from .trends import trends

__all__ = [
    "Axis",
    "Metric",
    "Runs",
    "effects",
    "figures",
    "interactions",
    "label",
    "regressions",
    "report",
    "sensitivity",
    "trends",
]
