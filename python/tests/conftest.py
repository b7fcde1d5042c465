import os
import shutil
import signal

import pytest

# A shell starts what it puts into the background with SIGINT ignored, and tests of interrupts would then wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def command():
    """The `fairground` command of the same tree: $FAIRGROUND, else the one on the path."""
    found = os.environ.get("FAIRGROUND") or shutil.which("fairground")
    if not found:
        pytest.fail("set FAIRGROUND to the command that the package is to be compared with")
    return found
