"""Part files of a store: finished runs, many to a Parquet file.

A part has a row for each run: ``run.key``, ``run.hash``, ``run.notes``, ``run.wall_ns``, then a float64 column for each
figure that any of its runs has. Its name is the SHA-256 of its bytes, so that damage is seen before anything is read.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

#: Ends the names of files that are being written.
HALF = ".half"
#: Ends the names of parts.
ENDING = ".parquet"
#: Follows the names of parts that were found damaged and put aside.
DAMAGED = ".damaged"
#: Columns that are no figures. Names of figures have no dots.
OWN = (
    ("run.key", pa.binary(32)),
    ("run.hash", pa.string()),
    ("run.notes", pa.list_(pa.string())),
    ("run.wall_ns", pa.int64()),
)


def pack(outcome: Any) -> str:
    """What a run gave, as the index keeps it until it moves to a part: JSON."""
    kept = {"hash": outcome.hash, "notes": list(outcome.notes), "wall_ns": outcome.wall_ns, "metrics": outcome.metrics}
    return json.dumps(kept, sort_keys=True, separators=(",", ":"))


def seal(key: bytes, text: str) -> str:
    """A text with a checksum in front, over the key under which it is kept too."""
    return hashlib.sha256(key + text.encode()).hexdigest() + text


def unseal(key: bytes, sealed: str) -> str | None:
    """The text that was sealed under this key; None if it was damaged, or sealed under another."""
    text = sealed[64:]
    return text if seal(key, text) == sealed else None


def table(runs: Iterable[tuple[bytes, str]]) -> pa.Table:
    """Runs as a part has them, from their keys and what :func:`pack` made of them."""
    keys: list[bytes] = []
    outcomes: list[dict[str, Any]] = []
    for key, packed in runs:
        keys.append(key)
        outcomes.append(json.loads(packed))
    own = [keys, *([outcome[name] for outcome in outcomes] for name in ("hash", "notes", "wall_ns"))]
    columns = {name: pa.array(values, of) for (name, of), values in zip(OWN, own)}
    for metric in sorted({name for outcome in outcomes for name in outcome["metrics"]}):
        values = [outcome["metrics"].get(metric) for outcome in outcomes]
        columns[metric] = pa.array(values, pa.float64())
    return pa.table(columns)


def write(folder: Path, part: pa.Table) -> str:
    """Writes a part, whole or not at all: it has its name only when its bytes are on the disk.

    Returns
    -------
    str
        The file's name.

    Raises
    ------
    OSError
        Nothing is left of it then.
    """
    import pyarrow.parquet

    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(part, sink)
    data = sink.getvalue().to_pybytes()
    name = hashlib.sha256(data).hexdigest() + ENDING
    write_whole(folder / name, data)
    return name


def write_whole(path: Path, data: bytes) -> None:
    """A file that appears under its name with all of its bytes, on the disk, or not at all."""
    half = path.with_name(path.name + HALF)
    try:
        with open(half, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(half, path)
    except BaseException:
        half.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def is_part(name: str) -> bool:
    """Whether a file of this name is a part, and not somebody else's."""
    return re.fullmatch(r"[0-9a-f]{64}" + re.escape(ENDING), name) is not None


def damage(path: Path) -> str | None:
    """What is wrong with a part, in words; None if it is as it was written.

    Raises
    ------
    OSError
        It cannot be read now. That says nothing of what it holds.
    """
    digest = hashlib.sha256()
    if path.is_symlink():
        return "it is a symbolic link"
    try:
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except FileNotFoundError:
        return "it is gone"
    return None if digest.hexdigest() + ENDING == path.name else "its checksum is another"


def read(path: Path) -> pa.Table:
    """A part that is not damaged."""
    import pyarrow.parquet

    return pyarrow.parquet.ParquetFile(path).read()


def keys(path: Path) -> Iterator[bytes]:
    """The keys of a part's runs, row by row."""
    import pyarrow.parquet

    yield from (key.as_py() for key in pyarrow.parquet.ParquetFile(path).read(columns=["run.key"])["run.key"])
