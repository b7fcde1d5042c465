"""Results of a sweep are kept, whatever happens to who keeps them."""

import errno
import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from fairground.sweeps import parts as store_parts
from fairground.sweeps import store as stores
from fairground.sweeps.errors import CannotKeep, StoreRefused, StoreWarning
from fairground.sweeps.lock import Lock
from fairground.sweeps.store import Store

#: What a program of a test begins with: a store, and outcomes that are told apart by a figure.
PROGRAM = """
import hashlib, os, signal, sys
from types import SimpleNamespace
from fairground.sweeps import store as stores
from fairground.sweeps.errors import CannotKeep
from fairground.sweeps.store import Store

def key(n):
    return hashlib.sha256(str(n).encode()).hexdigest()

def outcome(n):
    return SimpleNamespace(metrics={"n": float(n)}, hash=f"{n:032x}", notes=("a note",), failed=None, wall_ns=7)
"""


def key(n: int) -> str:
    return hashlib.sha256(str(n).encode()).hexdigest()


def outcome(n: int, metrics: dict[str, float] | None = None) -> SimpleNamespace:
    return SimpleNamespace(
        metrics=metrics or {"n": float(n)}, hash=f"{n:032x}", notes=("a note",), failed=None, wall_ns=7
    )


def failure(message: str) -> SimpleNamespace:
    return SimpleNamespace(metrics={}, hash="", notes=(), failed=message, wall_ns=7)


def run(program: str, *words: object, **options: object) -> "subprocess.CompletedProcess[str]":
    code = PROGRAM + textwrap.dedent(program)
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        **options,
    )


def recorded(store: Store, runs: int) -> dict[int, float]:
    """Figures that are on record of runs 0 to `runs` - 1, by position."""
    store.want(key(n) for n in range(runs))
    tables = [table.select(["run.position", "n"]) for table in store.results()]
    rows = pa.concat_tables(tables).to_pylist() if tables else []
    assert len({row["run.position"] for row in rows}) == len(rows), "a run is there twice"
    return {row["run.position"]: row["n"] for row in rows}


def parts(path: Path) -> list[Path]:
    return sorted((path / "parts").iterdir())


def test_what_is_recorded_is_there_and_the_rest_is_missing(tmp_path):
    """Three of five runs are recorded, one of them failed; another start finds them, packed or not."""
    with Store.open(tmp_path) as store:
        for n in (0, 3):
            store.record(key(n), outcome(n))
        store.record(key(2), failure("task 7 lost"))
    for pack in (False, True):
        with Store.open(tmp_path) as store:
            if pack:
                store.pack()
            assert recorded(store, 5) == {0: 0.0, 3: 3.0}
            assert store.missing().tolist() == [1, 4]
            assert store.failures() == [(2, "task 7 lost")]
    assert len(parts(tmp_path)) == 1


def test_runs_with_other_figures_share_a_part(tmp_path):
    with Store.open(tmp_path) as store:
        store.record(key(0), outcome(0, {"fps": 60.0}))
        store.record(key(1), outcome(1, {"ops": float("inf"), "n": -0.0}))
        store.pack()
        store.want([key(1), key(0)])
        (table,) = store.results()
    rows = {row["run.position"]: row for row in table.to_pylist()}
    assert (rows[1]["fps"], rows[1]["ops"], rows[0]["ops"]) == (60.0, None, float("inf"))
    assert str(rows[0]["n"]) == "-0.0"
    assert rows[0]["run.hash"] == f"{1:032x}" and rows[0]["run.notes"] == ["a note"]


def test_a_key_that_is_wanted_twice_is_missing_once_and_found_twice(tmp_path):
    with Store.open(tmp_path) as store:
        store.want([key(5), key(1), key(5), key(1)])
        assert store.missing().tolist() == [0, 1]
        store.record(key(5), outcome(5))
        (table,) = store.results()
        assert sorted(table["run.position"].to_pylist()) == [0, 2]


def test_the_index_is_emptied_into_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(stores, "RUNS_PER_PART", 10)
    with Store.open(tmp_path) as store:
        for n in range(25):
            store.record(key(n), outcome(n))
        assert recorded(store, 25) == {n: float(n) for n in range(25)}
    assert len(parts(tmp_path)) == 2
    index = sqlite3.connect(tmp_path / "index.sqlite")
    assert [index.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in ("kept", "fresh")] == [20, 5]


def test_a_run_that_comes_twice_is_kept_once(tmp_path):
    """A worker was thought dead, its run was made again, and both results came."""
    with Store.open(tmp_path) as store:
        store.record(key(0), outcome(0))
        store.record(key(0), outcome(0))
        store.pack()
        store.record(key(0), outcome(0))
        assert recorded(store, 1) == {0: 0.0}


def test_failures_are_forgotten_on_request(tmp_path):
    with Store.open(tmp_path) as store:
        for n in range(3):
            store.record(key(n), failure("out of time"))
        store.want([key(1)])
        store.forget_failures()
        store.want(key(n) for n in range(3))
        assert store.missing().tolist() == [1]


def test_a_second_writer_is_refused_with_the_first_ones_id(tmp_path):
    with Store.open(tmp_path):
        with pytest.raises(StoreRefused, match=f"in use by process {os.getpid()} on "):
            Store.open(tmp_path)
        refused = run("Store.open(sys.argv[1])", tmp_path)
        assert f"process {os.getpid()}" in refused.stderr
    Store.open(tmp_path).close()


def test_a_lock_that_a_dead_process_left_refuses_nobody(tmp_path):
    died = run("store = Store.open(sys.argv[1]); os.kill(os.getpid(), signal.SIGKILL)", tmp_path)
    assert died.returncode == -signal.SIGKILL
    assert (tmp_path / "lock").read_text().startswith("process ")
    Store.open(tmp_path).close()


def test_a_disk_that_takes_no_words_about_the_lock_does_not_matter(tmp_path, monkeypatch):
    """Who holds it cannot be written down; it is held, and let go of, all the same."""
    with monkeypatch.context() as patched:
        patched.setattr(
            os, "pwrite", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left on device"))
        )
        first = Lock(tmp_path)
    with pytest.raises(StoreRefused, match="in use by another process"):
        Lock(tmp_path)
    first.release()
    Lock(tmp_path).release()


def test_readers_see_what_a_writer_has_recorded_so_far(tmp_path):
    """Before and behind the packing, while the writer goes on."""
    with Store.open(tmp_path) as writer, Store.open(tmp_path, read_only=True) as reader:
        for n in range(3):
            writer.record(key(n), outcome(n))
        assert recorded(reader, 5) == {0: 0.0, 1: 1.0, 2: 2.0}
        writer.pack()
        writer.record(key(3), outcome(3))
        assert sorted(recorded(reader, 5)) == [0, 1, 2, 3]
        with pytest.raises(StoreRefused, match="readonly"):
            reader.record(key(4), outcome(4))


def test_a_store_at_rest_is_read_where_nobody_may_write(tmp_path, monkeypatch):
    with Store.open(tmp_path) as store:
        store.record(key(0), outcome(0))
    before = sorted(path.name for path in tmp_path.iterdir())
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with Store.open(tmp_path, read_only=True) as store:
        assert recorded(store, 1) == {0: 0.0}
        assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize("read_only", [False, True])
def test_a_store_of_a_newer_version_is_refused_by_name(tmp_path, read_only):
    Store.open(tmp_path).close()
    index = sqlite3.connect(tmp_path / "index.sqlite")
    index.execute(f"PRAGMA user_version = {stores.FORMAT + 1}")
    index.close()
    with pytest.raises(
        StoreRefused, match=f"of version {stores.FORMAT + 1}.*knows version {stores.FORMAT}: use a newer"
    ):
        Store.open(tmp_path, read_only=read_only)


def test_what_is_no_store_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreRefused, match="cannot keep results in .*file"):
        Store.open(tmp_path / "file")
    with pytest.raises(StoreRefused, match="is no store"):
        Store.open(tmp_path, read_only=True)
    other = sqlite3.connect(tmp_path / "index.sqlite")
    other.execute("CREATE TABLE recipes (name TEXT)")
    other.close()
    with pytest.raises(StoreRefused, match="database of something else"):
        Store.open(tmp_path)


def test_halves_are_removed_and_whole_parts_are_taken_up(tmp_path):
    """Kills in the middle of a part's writing, and between its rename and the index: nothing is lost or doubled."""
    with Store.open(tmp_path) as store:
        store.record(key(0), outcome(0))
    died = run(
        """
        with Store.open(sys.argv[1]) as store:
            store.record(key(1), outcome(1))
            store._add_part = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
            store.pack()
        """,
        tmp_path,
    )
    assert died.returncode == -signal.SIGKILL
    assert len(parts(tmp_path)) == 1
    (tmp_path / "parts" / f"{key(2)}.parquet.half").write_text("half")
    with Store.open(tmp_path) as store:
        assert len(parts(tmp_path)) == 1
        assert recorded(store, 2) == {0: 0.0, 1: 1.0}


def test_files_that_are_not_ours_stay_as_they_are(tmp_path):
    """Somebody keeps his own tables beside the parts."""
    others = {name: tmp_path / "parts" / name for name in ("mine.parquet", "mine.parquet.half", "notes")}
    Store.open(tmp_path).close()
    for name, path in others.items():
        path.write_text(name)
    with Store.open(tmp_path) as store:
        assert recorded(store, 1) == {}
    assert {name: path.read_text() for name, path in others.items()} == {name: name for name in others}


def test_damaged_parts_are_put_aside_when_the_index_was_lost(tmp_path):
    """They are named, and what can be had of them can still be had."""
    with Store.open(tmp_path) as store:
        for n in range(2):
            store.record(key(n), outcome(n))
            store.pack()
    victim = parts(tmp_path)[0]
    os.truncate(victim, 50)
    half = victim.read_bytes()
    (tmp_path / "index.sqlite").unlink()
    with pytest.warns(StoreWarning, match=f"{victim.name} is damaged .* put aside"):
        store = Store.open(tmp_path)
    with store:
        assert len(recorded(store, 2)) == 1
    assert victim.with_name(victim.name + ".damaged").read_bytes() == half


@pytest.mark.parametrize("read_only", [False, True])
def test_a_part_that_cannot_be_read_now_is_not_damaged(tmp_path, monkeypatch, read_only):
    """Too many open files, a right that is missing, a disk that stammers: that passes, and thousand runs are not made again."""
    with Store.open(tmp_path) as store:
        store.record(key(0), outcome(0))
        store.pack()
    (part,) = parts(tmp_path)
    with monkeypatch.context() as patched, Store.open(tmp_path, read_only=read_only) as store:
        patched.setattr(store_parts, "open", busy, raising=False)
        with pytest.raises(StoreRefused if read_only else CannotKeep, match=f"Too many open files: .*{part.name}"):
            recorded(store, 1)
    with Store.open(tmp_path) as store:
        assert recorded(store, 1) == {0: 0.0}


def busy(path, *_):
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), path)


@pytest.mark.parametrize("harm", ["truncated", "changed", "gone"])
def test_a_damaged_part_is_named_and_its_runs_are_made_again(tmp_path, harm):
    with Store.open(tmp_path) as store:
        for n in range(4):
            store.record(key(n), outcome(n))
            if n % 2:
                store.pack()
        store.want([key(0)])
        (file,) = {
            row[0] for row in store._db.execute("SELECT file FROM parts JOIN kept ON id = part JOIN wanted USING (key)")
        }
    victim = tmp_path / "parts" / file
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    {
        "truncated": lambda: os.truncate(victim, 50),
        "changed": lambda: victim.write_bytes(data),
        "gone": victim.unlink,
    }[harm]()
    with Store.open(tmp_path, read_only=True) as reader, pytest.warns(StoreWarning, match=file):
        assert recorded(reader, 4) == {2: 2.0, 3: 3.0}
    with Store.open(tmp_path) as store:
        with pytest.warns(StoreWarning, match=file):
            assert recorded(store, 4) == {2: 2.0, 3: 3.0}
        assert store.missing().tolist() == [0, 1]
        assert not victim.exists()
        assert victim.with_name(file + ".damaged").exists() == (harm != "gone")
        store.record(key(0), outcome(0))
        store.record(key(1), outcome(1))
        store.pack()
        assert recorded(store, 4) == {n: float(n) for n in range(4)}


@pytest.mark.parametrize("harm", ["head", "page", "empty", "gone"])
def test_a_damaged_index_is_named_and_mended_from_the_parts(tmp_path, harm):
    """Twenty runs are in a part, one is in the index only: that one is lost."""
    with Store.open(tmp_path) as store:
        for n in range(20):
            store.record(key(n), outcome(n))
        store.pack()
        store.record(key(20), outcome(20))
    index = tmp_path / "index.sqlite"
    data = bytearray(index.read_bytes())
    if harm == "gone":
        index.unlink()
    elif harm == "empty":
        os.truncate(index, 0)
    else:
        begin = 0 if harm == "head" else 4096
        data[begin : begin + 4000] = bytes(4000) if harm == "head" else b"\xff" * 4000
        index.write_bytes(data)
    if harm in ("head", "page"):
        with pytest.warns(StoreWarning, match=r"index\.sqlite is damaged"):
            store = Store.open(tmp_path)
        assert (tmp_path / "index.sqlite.damaged").read_bytes() == bytes(data)
    else:
        store = Store.open(tmp_path)
    with store:
        assert recorded(store, 21) == {n: float(n) for n in range(20)}
        assert store.missing().tolist() == [20]


#: Records runs until the store takes no more, says how many it took, and why it took no more.
FILL = """
import resource
try:
    with Store.open(sys.argv[1]) as store:
        stores.RUNS_PER_PART = 500
        free, limit = map(int, sys.argv[2:])
        for n in range(100_000):
            if n == free:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            if n == free and limit == 6_000:
                store.pack()
            store.record(key(n), outcome(n))
except CannotKeep as error:
    print(n, error)
"""


def goes_on(path: Path, filled: "subprocess.CompletedProcess[str]") -> None:
    """All that the store said it took is there, and with room it takes more."""
    taken, words = filled.stdout.split(" ", 1)
    assert int(taken) > 100
    assert "takes no more results" in words and "start again" in words
    with Store.open(path) as store:
        found = recorded(store, int(taken) + 1)
        assert set(range(int(taken))) <= set(found)
        assert all(path.suffix == ".parquet" for path in parts(path))
        store.record(key(-1), outcome(1))
        store.pack()
        assert recorded(store, int(taken) + 1) == found


@pytest.mark.parametrize("limit", [6_000, 2_000_000], ids=["while a part is written", "while a run is recorded"])
def test_a_limit_of_file_size_leaves_all_that_was_recorded(tmp_path, limit):
    """EFBIG: a part of 300 runs is larger than 6,000 bytes; the index grows beyond 2,000,000 at some time."""
    goes_on(tmp_path, run(FILL, tmp_path, 300 if limit == 6_000 else 0, limit))


def test_a_store_is_not_begun_on_a_full_disk(tmp_path, monkeypatch):
    """That is the disk's fault and not the user's: exit code 1."""
    monkeypatch.setattr(Path, "mkdir", lambda *_, **__: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left")))
    with pytest.raises(CannotKeep, match="cannot begin the store .*: No space left"):
        Store.open(tmp_path / "store")


def test_a_disk_that_fills_leaves_all_that_was_recorded(tmp_path):
    """ENOSPC, on a disk of one megabyte that is then made larger."""
    mounted = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(tmp_path)]
    if subprocess.run(mounted, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        filled = run(FILL, tmp_path, -1, 0)
        assert "full" in filled.stdout or "No space left" in filled.stdout
        subprocess.run(["mount", "-o", "remount,size=100m", str(tmp_path)], check=True)
        goes_on(tmp_path, filled)
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.parametrize("name", ["lock", "index.sqlite", "index.sqlite-wal", "parts"])
def test_no_link_is_followed(tmp_path, name):
    """A file of the store is a link to one outside: the store is refused, and that file stays as it was."""
    outside = tmp_path / "outside"
    outside.write_text("what nobody may touch")
    store = tmp_path / "store"
    store.mkdir()
    (store / name).symlink_to(outside)
    with pytest.raises(StoreRefused, match=f"{name} is a symbolic link"):
        Store.open(store)
    (store / name).unlink()
    if name != "parts":
        os.link(outside, store / name)
        with pytest.raises(StoreRefused, match="hard link"):
            Store.open(store)
    assert outside.read_text() == "what nobody may touch"
    (tmp_path / "elsewhere").symlink_to(store)
    with pytest.raises(StoreRefused, match="name the directory itself"):
        Store.open(tmp_path / "elsewhere")


def test_a_forged_name_of_a_part_moves_no_file(tmp_path):
    outside = tmp_path / "outside.parquet"
    outside.write_text("what nobody may touch")
    with Store.open(tmp_path / "store") as store:
        for n in range(3):
            store.record(key(n), outcome(n))
        store.pack()
    index = sqlite3.connect(tmp_path / "store" / "index.sqlite")
    with index:
        index.execute("UPDATE parts SET file = '../../outside.parquet'")
    index.close()
    with Store.open(tmp_path / "store") as store:
        with pytest.warns(StoreWarning, match="its name is not that of a part"):
            store.want(key(n) for n in range(3))
        assert list(store.missing()) == [0, 1, 2]
    assert outside.read_text() == "what nobody may touch"


@pytest.mark.parametrize(
    "swap",
    [
        "UPDATE fresh SET outcome = (SELECT outcome FROM fresh o WHERE o.id = 3 - fresh.id) WHERE id IN (1, 2)",
        "UPDATE fresh SET outcome = replace(outcome, '0.0', '9.0')",
        "UPDATE kept SET row = 1 - row WHERE row IN (0, 1)",
        "UPDATE kept SET row = 7",
        "UPDATE failures SET message = message || '!'",
    ],
)
def test_a_result_of_another_run_is_served_to_nobody(tmp_path, swap):
    """The index is changed behind the store's back: what is served is right or is made again, and somebody says so."""
    with Store.open(tmp_path) as store:
        for n in range(4):
            store.record(key(n), outcome(n))
        store.record(key(4), failure("no"))
        if "kept" in swap:
            store.pack()
    index = sqlite3.connect(tmp_path / "index.sqlite")
    with index:
        assert index.execute(swap).rowcount > 0
    index.close()
    with Store.open(tmp_path) as store:
        with pytest.warns(StoreWarning, match="made again"):
            found = recorded(store, 5)
        assert all(value == n for n, value in found.items())
        assert store.failures() in ([], [(4, "no")])
        assert len(store.missing()) == 5 - len(found) - len(store.failures()) > 0


def test_a_store_of_an_earlier_version_is_refused(tmp_path):
    Store.open(tmp_path).close()
    index = sqlite3.connect(tmp_path / "index.sqlite")
    index.execute("PRAGMA user_version = 1")
    index.close()
    with pytest.raises(StoreRefused, match=r"of version 1, of an earlier fairground: name another store, or remove"):
        Store.open(tmp_path)
