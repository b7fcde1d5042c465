"""Sweeps: many runs over machines, workloads, schedulers, features and figures, and what they say together."""

from .experiment import Axis, Experiment
from .spec import Inputs, Kernel, Outcome, RunSpec

__all__ = ["Axis", "Experiment", "Inputs", "Kernel", "Outcome", "RunSpec"]
