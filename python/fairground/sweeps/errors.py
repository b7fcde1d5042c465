"""Errors that end a sweep early. Finished runs are kept, and a later start goes on from there."""

from .._fairground import CannotKeep, StoreRefused, SweepError

__all__ = ["CannotKeep", "RunLost", "StoreRefused", "StoreWarning", "SweepError"]


class RunLost(SweepError):
    """The process of a run was killed by another process, or could not be started. The run has no result."""


class StoreWarning(UserWarning):
    """A part of a store was damaged. The message names it, and its runs are made again."""
