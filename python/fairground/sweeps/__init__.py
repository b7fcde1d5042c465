"""Sweeps: many runs over machines, workloads, schedulers, features and figures, and what they say together."""

from .engine import Executor, Local
from .errors import CannotKeep, StoreRefused, StoreWarning, SweepError
from .experiment import Axis, Experiment
from .spec import Inputs, Kernel, Outcome, RunSpec
from .store import Store
from .sweep import Sweep, look

__all__ = [
    "Axis",
    "CannotKeep",
    "Executor",
    "Experiment",
    "Inputs",
    "Kernel",
    "Local",
    "Outcome",
    "RunSpec",
    "Store",
    "StoreRefused",
    "StoreWarning",
    "Sweep",
    "SweepError",
    "look",
]
