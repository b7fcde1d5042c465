"""Makes LISA accept traces without task_rename: our runs rename no task, but LISA reports the event as not recorded."""

from lisa.trace import MissingTraceEventError, Trace
from pandas import DataFrame, Series


def allow_none():
    """From now on, LISA reads a trace without task_rename as one in which no task is renamed."""
    real = Trace.df_event

    def df_event(self, event, **kwargs):
        try:
            return real(self, event, **kwargs)
        except MissingTraceEventError:
            if event != "task_rename":
                raise
            columns = {"__cpu": "uint32", "pid": "uint32", "oldcomm": "object", "newcomm": "object"}
            frame = DataFrame({name: Series(dtype=dtype) for name, dtype in columns.items()})
            frame.index = frame.index.astype("float64")
            frame.index.name = "Time"
            return frame

    Trace.df_event = df_event
