"""How a sweep can end early. Whatever was finished is kept, and a later start goes on from there."""


class SweepError(RuntimeError):
    """A sweep that cannot go on, or cannot begin."""


class StoreRefused(SweepError):
    """A directory that cannot be used as a store: in use by another process, of a newer program, or something else."""


class CannotKeep(SweepError):
    """A store that takes no more results, or cannot read what it has, because the disk is full as a rule. What it took stays."""


class RunLost(SweepError):
    """A run whose process was ended by somebody else, or could not be started. Nothing is recorded of it."""


class StoreWarning(UserWarning):
    """Something in a store was damaged. It is named, and what it held is made again."""
