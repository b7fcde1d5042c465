#!/usr/bin/env bash
# The Python package, installed from this tree as a user would with all that it can use, its layout, its types and its tests.
# Exit code 77: there is no pip, or it reaches no packages.
#
#   tests/python.sh [FILE...]    all tests and pages, or these tests alone
set -euo pipefail
cd "$(dirname "$0")/.."

venv=target/python
if [ ! -x $venv/bin/pip ]; then
	rm -rf $venv
	python3 -m venv $venv || exit 77
fi
# Whether packages can be had at all is known before anything is built.
$venv/bin/pip install -q 'maturin>=1.9,<2' 'ruff>=0.9' || exit 77
$venv/bin/ruff format --check --quiet
$venv/bin/ruff check --quiet
cargo build --release --quiet -p fairground-cli
$venv/bin/pip install -q '.[test]'
fairground=$(realpath "${CARGO_TARGET_DIR:-target}")/release/fairground
# With files: their tests alone.
FAIRGROUND=$fairground $venv/bin/pytest -q "$@"
[ $# = 0 ] || exit 0
$venv/bin/python -m doctest docs/python.md
# Pages that show sweeps.
for page in $(grep -l '^fairground sweep' docs/*.md); do
	dir=$(mktemp -d)
	PATH=$PWD/$venv/bin:$PATH FAIRGROUND_PYTHON=$PWD/$venv/bin/python tests/docs.sh "$page" "$dir"
	rm -r "$dir"
done
