"""Sweeps: many runs over machines, workloads, schedulers, features and figures, and what they say together."""

from .._fairground import Outcome, Store
from .engine import Executor
from .errors import CannotKeep, StoreRefused, StoreWarning, SweepError
from .experiment import Axis, Experiment
from .spec import Inputs, Kernel, RunSpec
from .sweep import Sweep, look

__all__ = [
    "Axis",
    "CannotKeep",
    "Executor",
    "Experiment",
    "Inputs",
    "Kernel",
    "Outcome",
    "RunSpec",
    "Store",
    "StoreRefused",
    "StoreWarning",
    "Sweep",
    "SweepError",
    "look",
]
