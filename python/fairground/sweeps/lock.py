"""One writer for each store."""

import fcntl
import os
import socket
from contextlib import suppress
from pathlib import Path

from .errors import StoreRefused


class Lock:
    """The right to write into a store, held until :meth:`release` or the end of the process, however it ends.

    The lock is the kernel's, on an open file; what stands in the file only tells others who holds it.

    Raises
    ------
    StoreRefused
        Another process holds it (its id is named), or the file system knows no locks.
    """

    def __init__(self, store: Path) -> None:
        path = store / "lock"
        self._file: int | None = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._file, 200, 0).decode(errors="replace").strip() or "another process"
            self.release()
            raise StoreRefused(
                f"{store} is in use by {holder}: wait for its end, end it, or name another store"
            ) from None
        except OSError as error:
            self.release()
            raise StoreRefused(f"{path} cannot be locked ({error.strerror}): name a store on a local disk") from None
        # It only tells others: a full disk takes no words, and the lock is held all the same.
        with suppress(OSError):
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)

    def release(self) -> None:
        """Lets others write."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
