"""The notebooks run as they are, and print and draw what they are kept with.

UPDATE_NOTEBOOKS=1 keeps what they print and draw now, and the pictures of notebooks/*.svg.
"""

import copy
import os
import re
from pathlib import Path

import matplotlib
import nbformat
import pytest
from nbclient import NotebookClient

HERE = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(HERE.glob("*.ipynb"))

# Pictures that README shows: the first of a notebook.
SHOWN = ["cluster-level", "uclamp-tuned"]

PICTURE = "image/svg+xml"

# Seconds that a cell may take, on a machine that does other things too.
CELL_TIMEOUT = 900

# Pictures have the same bytes each time, but for the release of matplotlib: text stays text, and nothing is drawn by chance.
DRAWING = [
    "--InlineBackend.figure_formats={'svg'}",
    "--InlineBackend.rc={'svg.hashsalt': 'fairground', 'svg.fonttype': 'none'}",
    "--InlineBackend.print_figure_kwargs={'bbox_inches': 'tight', 'metadata': {'Date': None}}",
]


def executed(notebook):
    """A copy that has been run, in the interpreter that runs the tests."""
    notebook = copy.deepcopy(notebook)
    client = NotebookClient(
        notebook, timeout=CELL_TIMEOUT, kernel_name="python3", coalesce_streams=True, extra_arguments=DRAWING
    )
    client.execute()
    for number, cell in enumerate(code_cells(notebook)):
        cell.execution_count = number + 1
        cell.metadata = {}
        for output in filter(is_picture, cell.outputs):
            output.data = {PICTURE: output.data[PICTURE]}
    notebook.metadata["matplotlib"] = matplotlib.__version__
    return notebook


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def is_picture(output):
    return PICTURE in output.get("data", {})


def text_of(notebook):
    return nbformat.writes(notebook, version=4) + "\n"


def printed(notebook):
    """What each cell prints."""
    said = [[output for output in cell.outputs if not is_picture(output)] for cell in code_cells(notebook)]
    return [[output.get("text") or output.get("data") for output in outputs] for outputs in said]


def pictures(notebook):
    """The pictures of all cells, as SVG."""
    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    return [output.data[PICTURE] for output in outputs if is_picture(output)]


def words(picture):
    """The texts of a picture, which all releases of matplotlib write alike: names, and the numbers on its axes."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_and_draws_what_it_is_kept_with(path):
    kept = nbformat.read(path, as_version=4)
    now = executed(kept)
    if os.environ.get("UPDATE_NOTEBOOKS"):
        path.write_text(text_of(now))
        if path.stem in SHOWN:
            path.with_suffix(".svg").write_text(pictures(now)[0])
    assert printed(now) == printed(kept)
    assert [words(picture) for picture in pictures(now)] == [words(picture) for picture in pictures(kept)]
    if kept.metadata.get("matplotlib") == matplotlib.__version__:
        assert pictures(now) == pictures(kept)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_pictures_with_words(path):
    drawn = pictures(nbformat.read(path, as_version=4))
    assert drawn and all(len(words(picture)) > 5 for picture in drawn)


@pytest.mark.parametrize("name", SHOWN)
def test_pictures_of_readme_are_those_of_the_notebooks(name):
    notebook = nbformat.read(HERE / f"{name}.ipynb", as_version=4)
    assert (HERE / f"{name}.svg").read_text() == pictures(notebook)[0]
    assert f"(notebooks/{name}.svg)" in (HERE.parent / "README.md").read_text()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_ends_with_what_it_claims(path):
    last = code_cells(nbformat.read(path, as_version=4))[-1]
    assert last.source.count("assert ") >= 3


def test_all_of_them_are_here():
    assert [path.stem for path in NOTEBOOKS] == ["cluster-level", "patch-judged", "tutorial", "uclamp-tuned"]
