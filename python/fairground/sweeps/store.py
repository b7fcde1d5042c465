"""Results of runs, kept as they are made: a sweep that is killed begins again where it was.

A store is a directory::

    index.sqlite     what is on record: keys, and where the results are
    parts/*.parquet  results, many runs to a file (see parts.py)
    lock             who writes

1. A finished run is committed to the index at once, with its figures (table ``fresh``).
2. Every :data:`RUNS_PER_PART` runs, and at the end of a sweep, ``fresh`` is emptied into a part. The part is written
   under another name, synced and renamed; then one transaction points its runs at it (``kept``) and drops ``fresh``.
3. On opening, halves of files are removed, and parts that the index does not know are taken up: a kill between rename
   and transaction left them, or the index was lost.

Texts in the index carry a checksum over their key and themselves, parts are named by theirs, and what the index says of
parts is compared with the keys in them: a result is that of the run that asks for it, or it is named as damaged and made
again. No link is followed, and no name that stands in an index is used unless it is that of a part.

So a process that is killed loses nothing that was finished. For the machine's own death, a loss of power, everything is
synced once in :data:`SYNC_S`: to wait for the disk after each run would make short runs several times as long.

Failures are results too (``failures``): the same code would fail again. They can be forgotten on request.

One process writes (lock.py). Any number may read meanwhile: each sees the store as it was at one instant.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import time
import warnings
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from . import parts
from .errors import CannotKeep, StoreRefused, StoreWarning
from .lock import Lock

if TYPE_CHECKING:
    from typing_extensions import Self

#: Version of the layout, in the index's ``user_version``.
FORMAT = 2
#: Marks an index as ours, in its ``application_id``.
APPLICATION = 0x46475354
#: Runs that the index holds before they move to a part.
RUNS_PER_PART = 1000
#: Seconds between two syncs of the index.
SYNC_S = 1.0
#: What the system says where there is no room.
FULL = (errno.ENOSPC, errno.EDQUOT)
#: Characters of a failure's message that are kept.
MESSAGE_MAX = 10_000

SCHEMA = """
CREATE TABLE parts (id INTEGER PRIMARY KEY, file TEXT NOT NULL UNIQUE);
CREATE TABLE kept (key BLOB PRIMARY KEY, part INTEGER NOT NULL REFERENCES parts, row INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE fresh (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, outcome TEXT NOT NULL);
CREATE TABLE failures (key BLOB PRIMARY KEY, message TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (name TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
"""

#: What is wanted of a store, this connection's own.
WANTED = "CREATE TEMP TABLE wanted (position INTEGER PRIMARY KEY, key BLOB NOT NULL)"

MISSING = """
SELECT MIN(position) FROM wanted
WHERE NOT EXISTS (SELECT 1 FROM kept WHERE kept.key = wanted.key)
  AND NOT EXISTS (SELECT 1 FROM fresh WHERE fresh.key = wanted.key)
  AND NOT EXISTS (SELECT 1 FROM failures WHERE failures.key = wanted.key)
GROUP BY key ORDER BY 1
"""


class Damaged(Exception):
    """An index that SQLite cannot read."""


class Store:
    """A directory of results; see the head of this module.

    Use it as a context manager, or :meth:`close` it.
    """

    def __init__(self, path: Path, db: sqlite3.Connection, lock: Lock | None) -> None:
        self.path = path
        self._db = db
        self._lock = lock
        self._synced = time.monotonic()
        self._fresh = 0
        # Parts that a reader has found damaged; a writer forgets such at once.
        self._unread: set[int] = set()

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, read_only: bool = False) -> Store:
        """Opens a store, or begins one.

        Parameters
        ----------
        path : path
            Directory; made if it is not there.
        read_only : bool
            Look at what is on record, whoever writes meanwhile.

        Raises
        ------
        StoreRefused
            It is in use, of a newer version, no store, or cannot be written.
        CannotKeep
            The disk is full.
        """
        path = Path(path)
        _refuse_links(path)
        if read_only:
            return cls(path, _connect_to_read(path), None)
        try:
            (path / "parts").mkdir(parents=True, exist_ok=True)
            lock = Lock(path)
        except OSError as error:
            if error.errno in FULL:
                raise CannotKeep(f"cannot begin the store {path}: {error.strerror}") from None
            raise StoreRefused(f"cannot keep results in {path}: {error.strerror}") from None
        try:
            return cls._to_write(path, lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def _to_write(cls, path: Path, lock: Lock) -> Store:
        index = path / "index.sqlite"
        try:
            db = _connect_to_write(index)
        except Damaged as damage:
            for ending in ("", "-wal", "-shm"):
                if (old := path / f"index.sqlite{ending}").exists():
                    old.replace(path / f"index.sqlite.damaged{ending}")
            db = _connect_to_write(index)
            warnings.warn(
                f"{index} is damaged ({damage}) and was put aside as {index.name}.damaged; "
                "what parts hold is taken up again, the rest is made again",
                StoreWarning,
                stacklevel=4,
            )
        store = cls(path, db, lock)
        try:
            with store._guarded():
                store._put_in_order()
                store._fresh = db.execute("SELECT COUNT(*) FROM fresh").fetchone()[0]
        except BaseException:
            db.close()
            raise
        return store

    @property
    def read_only(self) -> bool:
        """Whether nothing can be put on record."""
        return self._lock is None

    def close(self) -> None:
        """Lets go of the directory. What was recorded stays."""
        self._db.close()
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # What is on record.

    def want(self, keys: Iterable[str]) -> None:
        """Says what the store is asked for from now on: keys, 64 hex digits each, at positions from 0.

        They are streamed to a temporary table on disk, and parts that hold any of them are checked. A part that is
        damaged is named in a :class:`StoreWarning`, and its runs are no longer on record.
        """
        with self._guarded(), self._transaction():
            self._db.execute("DROP TABLE IF EXISTS wanted")
            self._db.execute(WANTED)
            rows = ((position, bytes.fromhex(key)) for position, key in enumerate(keys))
            self._db.executemany("INSERT INTO wanted VALUES (?, ?)", rows)
        self._check_texts()
        self._check_parts()

    def missing(self) -> array[int]:
        """Positions of what is wanted and not on record, ascending; the first for keys that are wanted twice."""
        with self._guarded():
            return array("Q", (position for (position,) in self._db.execute(MISSING)))

    def results(self) -> Iterator[pa.Table]:
        """What is wanted and on record, part by part.

        Yields
        ------
        pyarrow.Table
            ``run.position``, ``run.hash``, ``run.notes``, ``run.wall_ns``, then the figures, float64; positions in no order.
        """
        kept = (
            "SELECT part, file, row, position FROM wanted JOIN kept USING (key) JOIN parts ON id = part ORDER BY 1, 3"
        )
        fresh = "SELECT key, outcome, position FROM wanted JOIN fresh USING (key)"
        with self._guarded(), self._snapshot():
            for (part, file), rows in groupby(self._db.execute(kept), key=lambda row: row[:2]):
                where = [row[2:] for row in rows]
                if part not in self._unread:
                    whole = self._read(file)
                    yield _placed(whole.take([row for row, _ in where]), [position for _, position in where])
            cursor = self._db.execute(fresh)
            while some := cursor.fetchmany(RUNS_PER_PART):
                whole = [(key, text, at) for key, sealed, at in some if (text := parts.unseal(key, sealed)) is not None]
                yield _placed(parts.table(row[:2] for row in whole), [row[2] for row in whole])

    def _read(self, file: str) -> pa.Table:
        path = self.path / "parts" / file
        try:
            if not parts.is_part(file):
                raise OSError("the index names what is no part")
            return parts.read(path)
        except (OSError, pa.ArrowException) as error:
            raise StoreRefused(
                f"{path} was damaged meanwhile ({error}): start again to have its runs made again"
            ) from error

    def failures(self) -> list[tuple[int, str]]:
        """Positions and messages of what is wanted and failed, ascending."""
        with self._guarded():
            found = self._db.execute(
                "SELECT position, key, message FROM wanted JOIN failures USING (key) ORDER BY 1"
            ).fetchall()
        texts = ((position, parts.unseal(key, sealed)) for position, key, sealed in found)
        return [(position, text) for position, text in texts if text is not None]

    def document(self, name: str) -> str | None:
        """A text that was kept with the results."""
        with self._guarded():
            found = self._db.execute("SELECT text FROM documents WHERE name = ?", (name,)).fetchone()
        return str(found[0]) if found else None

    # Putting on record.

    def record(self, key: str, outcome: Any) -> None:
        """Puts a run's outcome on record, at once. What is on record already stays as it was.

        Raises
        ------
        CannotKeep
            The disk is full. Everything recorded before stays.
        """
        name = bytes.fromhex(key)
        with self._guarded():
            self._sync_now_and_then()
            with self._transaction():
                if outcome.failed is not None:
                    message = parts.seal(name, outcome.failed[:MESSAGE_MAX])
                    self._db.execute("INSERT OR REPLACE INTO failures VALUES (?, ?)", (name, message))
                else:
                    self._db.execute(
                        "INSERT OR IGNORE INTO fresh (key, outcome) "
                        "SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM kept WHERE key = ?1)",
                        (name, parts.seal(name, parts.pack(outcome))),
                    )
                    self._fresh += 1
        if self._fresh >= RUNS_PER_PART:
            self.pack()

    def pack(self) -> None:
        """Moves runs from the index to a part.

        Raises
        ------
        CannotKeep
            The disk is full. They stay in the index.
        """
        with self._guarded():
            sealed = self._db.execute("SELECT key, outcome FROM fresh ORDER BY id").fetchall()
            if not sealed:
                return
            fresh = [(key, text) for key, outcome in sealed if (text := parts.unseal(key, outcome)) is not None]
            file = parts.write(self.path / "parts", parts.table(fresh)) if fresh else None
            with self._transaction():
                if file is not None:
                    self._add_part(file, (key for key, _ in fresh))
                self._db.execute("DELETE FROM fresh")
            self._fresh = 0

    def keep_document(self, name: str, text: str) -> None:
        """Keeps a text with the results. One that is there already stays as it is."""
        with self._guarded(), self._transaction():
            self._db.execute("INSERT OR IGNORE INTO documents VALUES (?, ?)", (name, text))

    def forget_failures(self) -> None:
        """What is wanted and failed is no longer on record."""
        with self._guarded(), self._transaction():
            self._db.execute("DELETE FROM failures WHERE key IN (SELECT key FROM wanted)")

    # Order in the house.

    def _check_texts(self) -> None:
        """Drops what is wanted and was damaged in the index: it is no longer on record."""
        damaged = []
        with self._guarded():
            for table, column in (("fresh", "outcome"), ("failures", "message")):
                rows = self._db.execute(f"SELECT key, {column} FROM {table} JOIN wanted USING (key)").fetchall()
                damaged += [(table, key) for key, sealed in rows if parts.unseal(key, sealed) is None]
            if damaged and not self.read_only:
                with self._transaction():
                    for table, key in damaged:
                        self._db.execute(f"DELETE FROM {table} WHERE key = ?", (key,))
        if damaged:
            warnings.warn(
                f"{self.path / 'index.sqlite'}: {len(damaged)} results are damaged; their runs are made again",
                StoreWarning,
                stacklevel=3,
            )

    def _check_parts(self) -> None:
        """Looks for damage in the parts that are wanted."""
        with self._guarded():
            wanted = self._db.execute(
                "SELECT DISTINCT id, file FROM wanted JOIN kept USING (key) JOIN parts ON id = part ORDER BY id"
            ).fetchall()
        for part, file in wanted:
            path = self.path / "parts" / file
            with self._guarded():
                damage = parts.damage(path) if parts.is_part(file) else "its name is not that of a part"
                damage = damage or self._misplaced(part, path)
            if damage:
                self._forget(part, file)
                warnings.warn(f"{path} is damaged ({damage}); its runs are made again", StoreWarning, stacklevel=3)

    def _misplaced(self, part: int, path: Path) -> str | None:
        """Whether a run that is wanted is said to be where another one is."""
        rows = self._db.execute("SELECT row, key FROM wanted JOIN kept USING (key) WHERE part = ?", (part,)).fetchall()
        there = list(parts.keys(path))
        wrong = any(not 0 <= row < len(there) or there[row] != key for row, key in rows)
        return "the index takes its runs for others" if wrong else None

    def _forget(self, part: int, file: str) -> None:
        if self.read_only:
            self._unread.add(part)
            return
        with self._guarded():
            with self._transaction():
                self._db.execute("DELETE FROM kept WHERE part = ?", (part,))
                self._db.execute("DELETE FROM parts WHERE id = ?", (part,))
            if parts.is_part(file):
                _put_aside(self.path / "parts" / file)

    def _put_in_order(self) -> None:
        """Removes halves of parts, and takes up parts that the index does not know. Other files are left alone."""
        known = {file for (file,) in self._db.execute("SELECT file FROM parts")}
        for path in sorted((self.path / "parts").iterdir()):
            if path.name.endswith(parts.HALF) and parts.is_part(path.name.removesuffix(parts.HALF)):
                path.unlink(missing_ok=True)
            elif parts.is_part(path.name) and path.name not in known:
                self._take_up(path)

    def _take_up(self, path: Path) -> None:
        if damage := parts.damage(path):
            _put_aside(path)
            warnings.warn(f"{path} is damaged ({damage}) and was put aside", StoreWarning, stacklevel=6)
            return
        with self._transaction():
            self._add_part(path.name, parts.keys(path))
            self._db.execute("DELETE FROM fresh WHERE key IN (SELECT key FROM kept)")

    def _add_part(self, file: str, keys: Iterable[bytes]) -> None:
        """Points runs at a part: those that point at none yet."""
        part = self._db.execute("INSERT INTO parts (file) VALUES (?)", (file,)).lastrowid
        rows = ((key, part, row) for row, key in enumerate(keys))
        self._db.executemany("INSERT OR IGNORE INTO kept VALUES (?, ?, ?)", rows)

    def _sync_now_and_then(self) -> None:
        """The next commit waits for the disk if the last one that did is long ago; it takes all before it along."""
        due = time.monotonic() - self._synced >= SYNC_S
        self._db.execute(f"PRAGMA synchronous = {'FULL' if due else 'NORMAL'}")
        if due:
            self._synced = time.monotonic()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All of it or nothing."""
        self._db.execute("BEGIN" if self.read_only else "BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            # SQLite may have rolled back by itself.
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """The store as it is now, whatever others write meanwhile."""
        self._db.execute("BEGIN")
        try:
            yield
        finally:
            self._db.execute("COMMIT")

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Says in words what SQLite and the file system complain of."""
        try:
            yield
        except (sqlite3.OperationalError, OSError) as error:
            cause = _cause(error) if isinstance(error, OSError) else str(error)
            if self.read_only:
                raise StoreRefused(f"cannot read the store {self.path}: {cause}") from error
            raise CannotKeep(
                f"the store {self.path} takes no more results: {cause}. What was finished before is kept; "
                "when that is mended, start again to go on"
            ) from error
        except sqlite3.DatabaseError as error:
            raise StoreRefused(
                f"{self.path / 'index.sqlite'} is damaged ({error}): start again to have it mended from the parts"
            ) from error


def _refuse_links(path: Path) -> None:
    """A store's files are its own: what is written to them goes nowhere else.

    Raises
    ------
    StoreRefused
        The directory or a file in it is a link.
    """
    for name in ("", "lock", "parts", *(f"index.sqlite{ending}" for ending in ("", "-wal", "-shm", "-journal"))):
        try:
            status = (path / name).lstat()
        except OSError:
            continue
        if stat.S_ISLNK(status.st_mode):
            raise StoreRefused(f"{path / name} is a symbolic link: name the directory itself, or remove the link")
        if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            raise StoreRefused(
                f"{path / name} has another name elsewhere (a hard link): copy it, or name another store"
            )


def _put_aside(part: Path) -> None:
    """A damaged part gets a name under which it is not read any more; what can be had of it can still be had."""
    with suppress(FileNotFoundError):
        part.replace(part.with_name(part.name + parts.DAMAGED))


def _cause(error: OSError) -> str:
    """What the system says, and of which file."""
    said = error.strerror or str(error)
    return f"{said}: {error.filename}" if error.filename else said


def _placed(table: pa.Table, positions: list[int]) -> pa.Table:
    """A part's rows with their positions instead of their keys."""
    return table.set_column(0, "run.position", pa.array(positions, pa.uint64()))


def _connect_to_write(index: Path) -> sqlite3.Connection:
    """Opens the index, or makes it."""
    db = sqlite3.connect(index, isolation_level=None, timeout=60)
    try:
        _check_version(db, index)
        if problem := _problem(db):
            raise Damaged(problem)
        db.execute("PRAGMA journal_mode = WAL")
        if db.execute("PRAGMA user_version").fetchone()[0] == 0:
            # In one transaction: an index has all of its tables or none.
            db.executescript(
                f"BEGIN IMMEDIATE; {SCHEMA} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}; COMMIT;"
            )
        return db
    except sqlite3.OperationalError as error:
        db.close()
        kind = CannotKeep if "full" in str(error) else StoreRefused
        raise kind(f"cannot keep results in {index.parent}: {error}") from None
    except sqlite3.DatabaseError as error:
        db.close()
        raise Damaged(str(error)) from None
    except BaseException:
        db.close()
        raise


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """Opens the index of a store that somebody else may write to."""
    index = path / "index.sqlite"
    if not index.exists():
        raise StoreRefused(f"{path} is no store: it has no index.sqlite")
    # A store at rest in a directory where nobody may write: SQLite would want to put its shared memory beside it.
    at_rest = not os.access(path, os.W_OK) and not index.with_name("index.sqlite-wal").exists()
    uri = f"{index.absolute().as_uri()}?mode=ro{'&immutable=1' if at_rest else ''}"
    try:
        db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=60)
        if not _check_version(db, index):
            raise StoreRefused(f"{path} is no store: its index is empty")
        return db
    except sqlite3.DatabaseError as error:
        raise StoreRefused(f"cannot read {index}: {error}") from None


def _check_version(db: sqlite3.Connection, index: Path) -> bool:
    """Whether the index has been made.

    Raises
    ------
    StoreRefused
        It is somebody else's, or a newer program's.
    """
    application, version = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    if application == APPLICATION and version > FORMAT:
        raise StoreRefused(
            f"the store {index.parent} is of version {version}, and this program knows version {FORMAT}: "
            "use a newer fairground, or name another store"
        )
    if application == APPLICATION and version < FORMAT:
        raise StoreRefused(
            f"the store {index.parent} is of version {version}, of an earlier fairground: name another store, or remove "
            "this one, and its runs are made again"
        )
    if application == APPLICATION and version == FORMAT:
        return True
    if db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
        raise StoreRefused(f"{index} is a database of something else: name another store")
    return False


def _problem(db: sqlite3.Connection) -> str | None:
    """What is wrong with an index as a whole, in SQLite's words."""
    (first,) = db.execute("PRAGMA quick_check(1)").fetchone()
    return None if first == "ok" else first.splitlines()[0]
