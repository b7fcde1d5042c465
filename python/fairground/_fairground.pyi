"""Interface of the compiled half of the package. Users import ``fairground``."""

from collections.abc import Callable, Iterator
from os import PathLike
from types import TracebackType
from typing import Any, TypeAlias, TypedDict, final

import pandas
import polars
import pyarrow

__all__ = [
    "CannotKeep",
    "Comparison",
    "Counterfactual",
    "Difference",
    "Explanation",
    "InputError",
    "Inputs",
    "Machine",
    "Outcome",
    "PickExplanation",
    "Reproduction",
    "Results",
    "Run",
    "RunFailed",
    "RunKeys",
    "Store",
    "StoreRefused",
    "SweepError",
    "Table",
    "Workload",
    "__commit__",
    "__version__",
    "build_kernel",
    "allow_library",
    "change",
    "code",
    "compare",
    "explain_difference",
    "explain_picks",
    "explain_placements",
    "feature_diff",
    "features",
    "hardware",
    "html_page",
    "kernels",
    "load_sweep_file",
    "machines",
    "nearest",
    "pack_outcomes",
    "page_style",
    "printable",
    "presets",
    "read_sweep_file",
    "reproduce_rows",
    "run",
    "serve_worker",
    "unpack_outcomes",
    "what_if",
]

__commit__: str
__version__: str

class InputError(ValueError): ...
class RunFailed(RuntimeError): ...
class SweepError(RuntimeError): ...
class StoreRefused(SweepError): ...
class CannotKeep(SweepError): ...

class _Options(TypedDict):
    hz: int | None
    governor: str
    idle_governor: str
    idle_limit: float | None
    sysctl: dict[str, int]
    ambient: float | None
    draw: int

class _Events(TypedDict):
    why: bool
    util_events: bool
    rtapp_marks: bool

class _ReproduceOptions(TypedDict):
    mail: str
    rows: list[str]
    seeds: int | None
    doubt: int
    quick: bool
    full_length: bool
    attribute_costs: bool
    each_feature: bool

#: A sweep as JSON, and what it names: texts of machines, contents of workloads, kernels.
_Checked: TypeAlias = tuple[str, dict[str, str], dict[str, bytes], dict[str, tuple[bytes, tuple[int, int] | None]]]

@final
class Table:
    """Rows and named columns, shape (num_rows, len(column_names)); any library takes it that knows Arrow's C stream."""

    @property
    def num_rows(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def to_pyarrow(self) -> pyarrow.Table: ...
    def to_pandas(self) -> pandas.DataFrame: ...
    def to_polars(self) -> polars.DataFrame: ...

@final
class Machine:
    def __new__(cls, given: str | dict[str, Any]) -> Machine: ...
    @property
    def name(self) -> str: ...
    @property
    def nr_cpus(self) -> int: ...
    def to_toml(self) -> str: ...
    def to_dict(self) -> dict[str, Any]: ...

@final
class Workload:
    def __new__(cls, given: str | dict[str, Any], machine: str | dict[str, Any] | Machine) -> Workload: ...
    @property
    def name(self) -> str: ...
    @property
    def warnings(self) -> list[str]: ...

@final
class Inputs:
    """Content of the files and kernels that runs name. A run is the JSON of a :class:`fairground.sweeps.RunSpec`."""

    def __new__(
        cls,
        machines: dict[str, str],
        workloads: dict[str, bytes],
        kernels: dict[str, tuple[bytes, tuple[int, int] | None]],
    ) -> Inputs: ...
    def key(self, spec: str) -> str: ...
    def keys(self, specs: Iterator[str], seeds: int) -> RunKeys: ...
    def provenance(self, specs: Iterator[str]) -> Table: ...
    def run(self, spec: str) -> Outcome: ...

@final
class Columns:
    """Columns by content: JSON of machine, workload, scheduler and settings, and the name of a kernel's library."""

    def __new__(cls, columns: dict[str, tuple[str, str | None]], libraries: dict[str, bytes]) -> Columns: ...
    def run(self, column: str, seed: int, key: str) -> Outcome: ...

@final
class RunKeys:
    """The keys of the runs of a sweep, at positions from 0; 32 hex digits each."""

    def __len__(self) -> int: ...
    def __getitem__(self, position: int, /) -> str: ...

@final
class Outcome:
    """Outcome of a run.

    Attributes
    ----------
    metrics : dict of str to float
        Figures by name; empty if it failed.
    hash : str
        Hash of its event stream, 32 hex digits; empty if it failed.
    notes : list of str
        Notes of the run itself, without its settings.
    failed : str, optional
        Message of the failure.
    wall_ns : int
        Wall time, ns. Not part of the result.
    is_result : bool
        False if a limit of time or memory has ended it: such an outcome is not stored.
    """

    @staticmethod
    def failure(message: str) -> Outcome: ...
    @staticmethod
    def limited(message: str) -> Outcome: ...
    @property
    def metrics(self) -> dict[str, float]: ...
    @property
    def hash(self) -> str: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def failed(self) -> str | None: ...
    @property
    def wall_ns(self) -> int: ...
    @property
    def is_result(self) -> bool: ...

@final
class Results:
    """Stored results of the runs of a sweep.

    Attributes
    ----------
    table : Table
        A row for each run that ended well, by position: ``run.position`` (uint64), ``run.hash`` (text), then the figures
        by name, sorted, float64; null where a run has none.
    failures : list of (int, str)
        Positions and messages of the runs that failed, ascending.
    metrics : dict of str to (str, str)
        Unit and better end (``higher`` or ``lower``) of figures, by name.
    notes : list of str
        Notes of the runs that ended well, each once, sorted.
    damaged : list of (int, str)
        Positions of damaged results, ascending, and messages.
    """

    @property
    def table(self) -> Table: ...
    @property
    def failures(self) -> list[tuple[int, str]]: ...
    @property
    def metrics(self) -> dict[str, tuple[str, str]]: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def damaged(self) -> list[tuple[int, str]]: ...

@final
class Store:
    """A directory of results of runs, as the commands keep them. Any number of processes may use it.

    Use it as a context manager, or :meth:`close` it.

    Parameters
    ----------
    path : path
        Directory; created if it does not exist, unless `read_only`.
    read_only : bool
        Only read results; other processes may write meanwhile.

    Raises
    ------
    StoreRefused
        It is a store of another version, is not a store, or cannot be written.
    CannotKeep
        The disk is full.
    """

    def __new__(cls, path: str | PathLike[str], *, read_only: bool = False) -> Store: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def read_only(self) -> bool: ...
    def close(self) -> None: ...
    def __enter__(self) -> Store: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...
    def __len__(self) -> int: ...
    def get(self, key: str) -> Outcome | None: ...
    def put(self, key: str, outcome: Outcome) -> None: ...
    def missing(self, keys: RunKeys) -> list[int]: ...
    def results(self, keys: RunKeys) -> Results: ...
    def forget(self, keys: RunKeys, positions: list[int]) -> None: ...
    def document(self, name: str) -> str | None: ...
    def keep_document(self, name: str, text: str) -> None: ...
    def export_to(self, path: str | PathLike[str]) -> int: ...
    def import_from(self, path: str | PathLike[str]) -> int: ...
    def carry_out(
        self, inputs: Inputs, columns: list[tuple[str, list[int]]], jobs: int, progress: Callable[[], None]
    ) -> tuple[int, list[tuple[int, int, str]], bool]: ...

@final
class Run:
    @property
    def machine(self) -> str: ...
    @property
    def workload(self) -> str: ...
    @property
    def sched(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def hash(self) -> str: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def metrics(self) -> Table: ...
    @property
    def events(self) -> dict[str, Table]: ...
    @property
    def tasks(self) -> Table: ...
    @property
    def cpus(self) -> Table: ...
    @property
    def idle_states(self) -> Table: ...
    @property
    def frequencies(self) -> Table: ...
    def __getitem__(self, metric: str, /) -> float: ...

@final
class Comparison:
    @property
    def table(self) -> Table: ...
    @property
    def runs(self) -> Table: ...
    @property
    def doubt(self) -> Table: ...
    @property
    def failures(self) -> Table: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def identical(self) -> list[str]: ...
    def render(self, format: str = "own") -> str: ...

@final
class Reproduction:
    @property
    def table(self) -> Table: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def score(self) -> tuple[int, int]: ...
    @property
    def failed(self) -> bool: ...
    def to_html(self) -> str: ...
    def to_markdown(self) -> str: ...
    def to_json(self) -> str: ...

@final
class Explanation:
    @property
    def decisions(self) -> Table: ...
    @property
    def reasons(self) -> Table: ...
    @property
    def rules(self) -> Table: ...
    @property
    def notes(self) -> list[str]: ...

@final
class PickExplanation:
    @property
    def picks(self) -> Table: ...
    @property
    def rules(self) -> Table: ...
    @property
    def notes(self) -> list[str]: ...

@final
class Counterfactual:
    @property
    def rules(self) -> Table: ...
    @property
    def wakeups(self) -> Table: ...
    @property
    def notes(self) -> list[str]: ...

@final
class Difference:
    @property
    def pairs(self) -> int: ...
    @property
    def agree(self) -> int: ...
    @property
    def agree_before(self) -> int: ...
    @property
    def rules(self) -> Table: ...
    @property
    def first(self) -> Table: ...
    @property
    def pick_pairs(self) -> int: ...
    @property
    def pick_agree(self) -> int: ...
    @property
    def pick_rules(self) -> Table: ...
    @property
    def first_pick(self) -> Table: ...
    @property
    def left(self) -> Table: ...

def run(
    machine: str | dict[str, Any] | Machine,
    workload: str | dict[str, Any] | Workload,
    sched: str,
    seed: int,
    events: _Events | None,
    options: _Options,
) -> Run: ...
def compare(
    machine: str | dict[str, Any] | Machine,
    workload: str | dict[str, Any] | Workload,
    sides: list[str],
    sched: str | None,
    metrics: str,
    seeds: int,
    doubt: int,
    screen: bool,
    jobs: int,
    store: bool | str | PathLike[str],
    options: _Options,
) -> Comparison: ...
def reproduce_rows(options: _ReproduceOptions, jobs: int, store: bool | str | PathLike[str]) -> Reproduction: ...
def explain_placements(
    given: Run | str | PathLike[str], task: str | None, at: int | None, cpu: int | None
) -> Explanation: ...
def explain_picks(
    given: Run | str | PathLike[str], task: str | None, at: int | None, cpu: int | None
) -> PickExplanation: ...
def explain_difference(base: Run | str | PathLike[str], test: Run | str | PathLike[str]) -> Difference: ...
def what_if(
    trace: str | PathLike[str],
    machine: str | dict[str, Any] | Machine | None,
    sched: str | None,
    schedutil: bool | None,
    hz: int | None,
    task: str | None,
    at: int | None,
    cpu: int | None,
    nth: int | None,
) -> Counterfactual: ...
def kernels() -> tuple[Table, list[str]]: ...
def build_kernel(
    tree: str | PathLike[str],
    name: str | None,
    config: str | PathLike[str] | None,
    set: list[str],
    debug: bool,
    jobs: int | None,
) -> tuple[str, bool]: ...
def machines() -> list[str]: ...
def hardware(given: str | dict[str, Any] | Machine) -> dict[str, Any]: ...
def code() -> str: ...
def pack_outcomes(outcomes: list[tuple[str, Outcome]]) -> bytes: ...
def unpack_outcomes(content: bytes) -> list[tuple[str, Outcome]]: ...
def load_sweep_file(path: str | PathLike[str]) -> _Checked: ...
def read_sweep_file(
    content: dict[str, Any],
    directory: str | PathLike[str],
    machines: dict[str, str],
    workloads: dict[str, bytes],
) -> _Checked: ...
def change(
    base: list[float], test: list[float], better: str
) -> tuple[float, list[float] | None, float | None, list[float] | None, bool | None]: ...
def allow_library() -> None: ...
def nearest(name: str, valid: list[str]) -> str | None: ...
def printable(text: str) -> str: ...
def page_style() -> str: ...
def html_page(title: str, heading: str, body: str) -> str: ...
def presets() -> Table: ...
def features() -> Table: ...
def feature_diff(base: str, test: str) -> Table: ...
def serve_worker() -> None: ...
