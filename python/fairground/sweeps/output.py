"""Tables as files: the same bytes for the same table."""

import os
from pathlib import Path

import pyarrow as pa

#: Ends the names of files that are being written.
HALF = ".half"

#: Rows that a file holds together; fixed, so that bytes depend on the table alone.
ROWS_PER_GROUP = 1 << 16


def parquet_bytes(table: pa.Table) -> bytes:
    """As a Parquet file."""
    import pyarrow.parquet

    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink, row_group_size=ROWS_PER_GROUP)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def csv_bytes(table: pa.Table) -> bytes:
    """The table as CSV with a line of names; a missing figure is empty."""
    import pyarrow.csv

    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(table, sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def write(path: Path, data: bytes) -> None:
    """Write to a file, whole or not at all. If it is not a regular file (a pipe, ``/dev/stdout``), write directly."""
    if path.exists() and not path.is_file():
        with open(path, "wb") as file:
            file.write(data)
    else:
        write_whole(path, data)


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
