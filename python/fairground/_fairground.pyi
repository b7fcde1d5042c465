"""What the compiled half offers. ``fairground`` is what users import."""

from os import PathLike
from typing import Any, TypeAlias, TypedDict, final

import pandas
import polars
import pyarrow

__all__ = [
    "Comparison",
    "Counterfactual",
    "Difference",
    "Explanation",
    "InputError",
    "Machine",
    "Reproduction",
    "Run",
    "RunFailed",
    "Stopper",
    "Table",
    "Workload",
    "__version__",
    "build_kernel",
    "change",
    "code",
    "compare",
    "explain_difference",
    "explain_placements",
    "features",
    "hardware",
    "kernels",
    "load_study",
    "machines",
    "page_style",
    "presets",
    "read_study",
    "reproduce_rows",
    "run",
    "run_spec",
    "serve_worker",
    "spec_metrics",
    "what_if",
]

__version__: str

class InputError(ValueError): ...
class RunFailed(RuntimeError): ...

class _Options(TypedDict):
    hz: int | None
    governor: str
    idle_governor: str
    sysctl: dict[str, int]
    ambient: float | None

class _Events(TypedDict):
    why: bool
    util_events: bool
    rtapp_marks: bool

class _ReproduceOptions(TypedDict):
    mail: str
    rows: list[str]
    seeds: int | None
    quick: bool
    full_length: bool
    attribute_costs: bool
    each_feature: bool

#: A study as JSON, and what it names: texts of machines, contents of workloads, kernels.
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
class Stopper:
    def __new__(cls) -> Stopper: ...
    def watch(self) -> None: ...
    def set(self) -> None: ...

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
    def failures(self) -> Table: ...
    @property
    def notes(self) -> list[str]: ...
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
    scheds: list[str],
    seeds: int,
    jobs: int,
    options: _Options,
) -> Comparison: ...
def reproduce_rows(options: _ReproduceOptions, jobs: int, store: bool | str | PathLike[str]) -> Reproduction: ...
def explain_placements(
    given: Run | str | PathLike[str], task: str | None, at: int | None, cpu: int | None
) -> Explanation: ...
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
    jobs: int | None,
) -> tuple[str, bool]: ...
def machines() -> list[str]: ...
def hardware(given: str | dict[str, Any] | Machine) -> dict[str, Any]: ...
def code() -> str: ...
def run_spec(spec: str, content: dict[str, Any]) -> tuple[list[tuple[str, float]], str, list[str], str | None]: ...
def spec_metrics(spec: str, content: dict[str, Any]) -> list[tuple[str, str, str]]: ...
def load_study(path: str | PathLike[str]) -> _Checked: ...
def read_study(
    content: dict[str, Any],
    directory: str | PathLike[str],
    machines: dict[str, str],
    workloads: dict[str, bytes],
) -> _Checked: ...
def change(
    base: list[float], test: list[float], better: str
) -> tuple[float, list[float] | None, float | None, list[float] | None, bool | None]: ...
def page_style() -> str: ...
def presets() -> Table: ...
def features() -> Table: ...
def serve_worker() -> None: ...
