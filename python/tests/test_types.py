"""Types: what is compiled is what the stub says, and the package keeps to it."""

import subprocess
import sys
from pathlib import Path

import fairground


def checked(*arguments):
    root = Path(__file__).parents[2]
    return subprocess.run([sys.executable, "-m", *arguments], cwd=root, check=False, capture_output=True, text=True)


def test_the_stub_has_every_public_name_with_its_parameters(tmp_path):
    """What stands in the stub alone are shapes of dicts, which exist for checkers only."""
    allowed = tmp_path / "allowed"
    allowed.write_text("fairground._fairground._.*\n")
    found = checked(
        "mypy.stubtest",
        "fairground._fairground",
        "--mypy-config-file=pyproject.toml",
        f"--allowlist={allowed}",
        "--ignore-unused-allowlist",
    )
    assert found.returncode == 0, found.stdout


def test_the_package_keeps_to_its_types():
    found = checked("mypy")
    assert found.returncode == 0, found.stdout


def test_everything_public_is_explained():
    for name in fairground.__all__:
        thing = getattr(fairground, name)
        assert name in ("__commit__", "__version__") or thing.__doc__, name
