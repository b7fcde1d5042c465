"""The notebooks run as they are, and print what they are kept with.

UPDATE_NOTEBOOKS=1 keeps what they print now.
"""

import copy
import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))

# Seconds that a cell may take, on a machine that does other things too.
CELL_TIMEOUT = 900


def executed(notebook):
    """A copy that has been run, in the interpreter that runs the tests, without its figures."""
    notebook = copy.deepcopy(notebook)
    client = NotebookClient(notebook, timeout=CELL_TIMEOUT, kernel_name="python3", coalesce_streams=True)
    client.execute()
    for number, cell in enumerate(code_cells(notebook)):
        cell.outputs = [output for output in cell.outputs if not is_figure(output)]
        cell.execution_count = number + 1
        cell.metadata = {}
    return notebook


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def is_figure(output):
    """These differ from one release of a library to the next."""
    return any(kind.startswith("image/") for kind in output.get("data", {}))


def text_of(notebook):
    return nbformat.writes(notebook, version=4) + "\n"


def printed(notebook):
    return [[output.get("text") or output.get("data") for output in cell.outputs] for cell in code_cells(notebook)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_is_kept_with(path):
    kept = nbformat.read(path, as_version=4)
    now = executed(kept)
    if os.environ.get("UPDATE_NOTEBOOKS"):
        path.write_text(text_of(now))
    assert printed(now) == printed(kept)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_ends_with_what_it_claims(path):
    last = code_cells(nbformat.read(path, as_version=4))[-1]
    assert last.source.count("assert ") >= 3


def test_all_of_them_are_here():
    assert [path.stem for path in NOTEBOOKS] == ["cluster-level", "patch-judged", "tutorial", "uclamp-tuned"]
