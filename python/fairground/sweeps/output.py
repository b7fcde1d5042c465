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
    """The table as CSV with a line of names; a missing figure is empty. No cell is a formula (:func:`_inert`)."""
    import pyarrow.csv

    columns = [_inert(column) for column in table.columns]
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(pa.table(columns, names=[_inert_text(name) for name in table.column_names]), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _inert(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column; of texts, each as :func:`_inert_text`."""
    if not pa.types.is_string(column.type):
        return column
    encoded = column.combine_chunks().dictionary_encode()
    texts = [_inert_text(text) for text in encoded.dictionary.to_pylist()]
    return pa.chunked_array(
        [pa.DictionaryArray.from_arrays(encoded.indices, pa.array(texts, pa.string())).cast(pa.string())]
    )


def _inert_text(text: str) -> str:
    """With a ``'`` in front if a spreadsheet would run it as a formula, as in the CSV of the command."""
    if not text.startswith(("=", "+", "-", "@", "\t", "\r")):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


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
