"""How a sweep can end early. Whatever was finished is kept, and a later start goes on from there."""

from .._fairground import CannotKeep, StoreRefused, SweepError

__all__ = ["CannotKeep", "RunLost", "StoreRefused", "StoreWarning", "SweepError"]


class RunLost(SweepError):
    """A run whose process was ended by somebody else, or could not be started. Nothing is recorded of it."""


class StoreWarning(UserWarning):
    """Something in a store was damaged. It is named, and what it held is made again."""
