"""The store of sweeps: the one that the commands have, in Python. What it does with damage is tested in crates/run."""

import errno
import json
import os
import pickle
import subprocess
import sys
import textwrap
from itertools import repeat

import pytest
from fairground import _fairground
from fairground.sweeps import Inputs, Outcome, RunSpec, Store
from fairground.sweeps.errors import CannotKeep, StoreRefused

SPEC = RunSpec("hikey960", "sched-pipe:loops=10,threads", "fair:v5.9")
INPUTS = Inputs()


@pytest.fixture(scope="module")
def outcome():
    return SPEC.run(INPUTS)


def keys(seeds, *specs):
    """Of runs with seeds 1 to `seeds` of each spec."""
    return INPUTS.compiled.keys(iter([spec.to_json() for spec in specs or (SPEC,)]), seeds)


def test_what_is_recorded_is_there_and_the_rest_is_missing(tmp_path, outcome):
    five = keys(5)
    with Store(tmp_path) as store:
        store.put(five[0], outcome)
        store.put(five[3], outcome)
        store.put(five[2], Outcome.failure("task 7 lost"))
    with Store(tmp_path) as store:
        assert (len(store), store.warnings) == (3, [])
        assert store.missing(five) == [1, 4]
        results = store.results(five)
        assert results.failures == [(2, "task 7 lost")] and results.damaged == []
        table = results.table.to_pyarrow()
        assert table["run.position"].to_pylist() == [0, 3]
        assert table["run.hash"].to_pylist() == [outcome.hash] * 2
        assert table["ops_per_sec"].to_pylist() == [outcome.metrics["ops_per_sec"]] * 2
        assert results.metrics["ops_per_sec"] == ("ops/s", "higher")
        found = store.get(five[0])
        assert (found.metrics, found.hash, found.wall_ns) == (outcome.metrics, outcome.hash, outcome.wall_ns)
        assert store.get(five[2]).failed == "task 7 lost" and store.get(five[1]) is None
        store.forget(five, [2])
        assert store.missing(five) == [1, 2, 4]


def test_a_key_is_that_of_its_run(tmp_path):
    three = keys(3)
    assert [three[n] for n in range(3)] == [RunSpec(**{**vars(SPEC), "seed": n}).key(INPUTS) for n in (1, 2, 3)]
    assert len(three) == 3 and len(three[0]) == 32
    with pytest.raises(IndexError):
        three[3]
    with Store(tmp_path) as store, pytest.raises(_fairground.InputError, match="is not a key"):
        store.get("another")


def test_a_key_that_is_asked_for_twice_is_missing_once_and_found_twice(tmp_path, outcome):
    twice = keys(2, SPEC, SPEC)
    with Store(tmp_path) as store:
        assert store.missing(twice) == [0, 1]
        store.put(twice[0], outcome)
        assert store.results(twice).table.to_pyarrow()["run.position"].to_pylist() == [0, 2]


def test_runs_with_other_figures_share_a_table(tmp_path, outcome):
    other = RunSpec("hikey960", "hackbench:groups=1,loops=2", "fair:v5.9")
    both = keys(1, SPEC, other)
    with Store(tmp_path) as store:
        store.put(both[0], outcome)
        store.put(both[1], other.run(INPUTS))
        table = store.results(both).table.to_pyarrow()
    assert table["ops_per_sec"].to_pylist()[1] is None
    assert any(column.null_count == 1 and column[0].as_py() is None for column in table.columns)


def test_a_limit_has_no_result(tmp_path):
    with Store(tmp_path) as store, pytest.raises(_fairground.InputError, match="has no result"):
        store.put(keys(1)[0], Outcome.limited("it took more than 60 s of CPU time"))


def test_readers_see_what_a_writer_has_recorded_so_far(tmp_path, outcome):
    three = keys(3)
    with pytest.raises(StoreRefused, match="is not a store"):
        Store(tmp_path, read_only=True)
    with Store(tmp_path) as writer, Store(tmp_path, read_only=True) as reader:
        writer.put(three[1], outcome)
        assert reader.missing(three) == [0, 2]
        writer.keep_document("points", "[1]")
        assert reader.document("points") == "[1]" and reader.document("others") is None
        with pytest.raises(CannotKeep, match="readonly"):
            reader.put(three[0], outcome)


def test_a_store_goes_to_one_file_and_from_there_to_another(tmp_path, outcome):
    three = keys(3)
    with Store(tmp_path / "a") as store:
        store.put(three[0], outcome)
        store.put(three[1], outcome)
        assert store.export_to(tmp_path / "file") == 2
    with Store(tmp_path / "b") as store:
        store.put(three[1], outcome)
        assert store.import_from(tmp_path / "file") == 1
        assert store.missing(three) == [2]


def test_a_store_that_is_closed_is_refused(tmp_path):
    with Store(tmp_path) as store:
        pass
    with pytest.raises(_fairground.InputError, match="closed"):
        len(store)


def test_what_is_no_store_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreRefused, match="file"):
        Store(tmp_path / "file")
    (tmp_path / "before" / "parts").mkdir(parents=True)
    with pytest.raises(StoreRefused, match=r"earlier fairground \(index.sqlite and parts/\).*: name another directory"):
        Store(tmp_path / "before")
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(StoreRefused, match="symbolic link"):
        Store(tmp_path / "link")


def test_outcomes_travel_under_checksums(outcome):
    done = list(zip(map(keys(4).__getitem__, range(4)), repeat(outcome)))
    content = _fairground.pack_outcomes([*done, ("0" * 32, Outcome.limited("too long"))])
    there = _fairground.unpack_outcomes(content)
    assert [key for key, _ in there] == [key for key, _ in done]
    assert all(came.metrics == outcome.metrics and came.hash == outcome.hash for _, came in there)
    assert len(content) < 4 * len(json.dumps(outcome.metrics)) + 14_000, "what figures mean travels once"
    for damaged in (content[:-1], content[:-9] + b"x" + content[-8:]):
        with pytest.raises(_fairground.InputError, match="outcomes of runs are damaged"):
            _fairground.unpack_outcomes(damaged)


def test_inputs_travel_without_what_was_looked_up():
    inputs = Inputs(machines={"mine": ""})
    assert inputs.compiled is inputs.compiled
    assert pickle.loads(pickle.dumps(inputs)) == inputs


#: Records results until the store takes no more, says how many it took, and why it took no more.
FILL = """
    import resource, sys
    from fairground.sweeps import Inputs, RunSpec, Store
    from fairground.sweeps.errors import CannotKeep

    spec = RunSpec("hikey960", "sched-pipe:loops=10,threads", "fair:v5.9")
    keys = Inputs().compiled.keys(iter([spec.to_json()]), 100_000)
    outcome, limit = spec.run(Inputs()), int(sys.argv[2])
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        with Store(sys.argv[1]) as store:
            for n in range(100_000):
                store.put(keys[n], outcome)
    except CannotKeep as error:
        print(n, error)
"""


def filled(path, limit):
    line = [sys.executable, "-c", textwrap.dedent(FILL), str(path), str(limit)]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=300)


def goes_on(path, ended, outcome):
    """All results that the store reported as stored are there, and with room it stores more."""
    taken, words = ended.stdout.split(" ", 1)
    assert int(taken) > 100
    assert "earlier results are kept" in words, words
    all_keys = keys(int(taken) + 1)
    with Store(path) as store:
        assert store.missing(all_keys) in ([], [int(taken)])
        assert store.results(all_keys).damaged == []
        store.put(all_keys[int(taken)], outcome)
        assert store.missing(all_keys) == []


def test_a_limit_of_file_size_leaves_all_that_was_recorded(tmp_path, outcome):
    goes_on(tmp_path, filled(tmp_path, 2_000_000), outcome)


def test_a_disk_that_fills_leaves_all_that_was_recorded(tmp_path, outcome):
    """ENOSPC, on a disk of two megabytes that is then made larger."""
    mounted = ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(tmp_path)]
    if subprocess.run(mounted, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        ended = filled(tmp_path, 0)
        assert "full" in ended.stdout or os.strerror(errno.ENOSPC) in ended.stdout
        subprocess.run(["mount", "-o", "remount,size=100m", str(tmp_path)], check=True)
        goes_on(tmp_path, ended, outcome)
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
