"""Published rows from Python."""

import subprocess

import fairground as fg
import pytest
from interrupts import interrupted, used_cpu
from printed import without_command


def test_rows_are_those_of_the_command(command, tmp_path):
    """One run of each serves both: the store is the same."""
    store = tmp_path / "store"
    ours = fg.reproduce("asym-prev-first", rows="hikey960/sched-pipe", quick=True, store=store)
    words = [command, "reproduce", "asym-prev-first", "--row", "hikey960/sched-pipe", "--quick", "--store", str(store)]
    for format, text in {"text": str(ours), "markdown": ours.to_markdown(), "json": ours.to_json()}.items():
        printed = subprocess.run([*words, "--format", format], check=True, capture_output=True, text=True)
        assert without_command(text) == without_command(printed.stdout)
        assert "command: fairground reproduce" in printed.stdout or '"command": "fairground reproduce' in printed.stdout
    assert ours.to_html().startswith("<!DOCTYPE html>")
    table = ours.table.to_pandas()
    assert len(table) > 0 and table.id.str.contains("hikey960/sched-pipe").all()
    run = table[table.n.notna()]
    assert (run.n == 3).all() and run.hit.isna().all() and ours.score == (0, 0)
    assert ((run.ci95_lo <= run.improvement_pct) & (run.improvement_pct <= run.ci95_hi)).all()
    assert not ours.failed and any(store.iterdir())


def test_rows_over_draws_are_those_of_the_command(command, tmp_path):
    store = tmp_path / "store"
    ours = fg.reproduce("asym-prev-first", rows="hikey/sched-pipe/ops", quick=True, doubt=19, store=store)
    words = [command, "reproduce", "asym-prev-first", "--row", "hikey/sched-pipe/ops", "--quick", "--doubt", "19"]
    printed = subprocess.run([*words, "--store", str(store)], check=True, capture_output=True, text=True)
    assert without_command(str(ours)) == without_command(printed.stdout)
    row = ours.table.to_pandas().iloc[0]
    assert row.model_draws == 19 and row.model_ci90_lo <= row.model_median_pct <= row.model_ci90_hi


@pytest.mark.parametrize(
    "given, words",
    [
        ({"mail": "999"}, "999"),
        ({"mail": "asym-prev-first", "rows": "nothing-like-it"}, "no published row"),
        ({"mail": "asym-prev-first", "seeds": 0}, "1000000"),
        ({"mail": "asym-prev-first", "doubt": -1}, "100000"),
        ({"mail": "asym-prev-first", "quick": True, "seeds": 3}, "quick"),
        ({"mail": "asym-prev-first", "jobs": -1}, "jobs"),
    ],
)
def test_what_cannot_be_repeated_is_named(given, words):
    with pytest.raises(fg.InputError, match=words):
        fg.reproduce(**given, store=False)


def test_an_interrupt_ends_it_and_keeps_what_was_done(tmp_path):
    with interrupted(when=used_cpu(2)):
        fg.reproduce("lb-rework", store=tmp_path)
    kept = [file for file in tmp_path.rglob("*") if file.is_file()]
    # A run that was cut short has no result.
    assert all(b"stopped" not in file.read_bytes() for file in kept)
