#!/usr/bin/env bash
# The Python package: its tests. Exit code 77: there is no pip, or it reaches no packages.
#
#   tests/python.sh            what every change must pass: of the build that all tests share, with few packages
#   tests/python.sh --full     installed with pip as a user would, with all that it can use: its types, all tests, notebooks,
#                              farms, and the commands of pages with sweeps
#   tests/python.sh FILE...    these tests alone, as with --full
#
# FAIRGROUND_VENV is where packages are installed, target/python unless it is set: what runs beside other tests has a place of its own.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=${FAIRGROUND_VENV:-target/python}
if [ ! -x $venv/bin/pip ]; then
	rm -rf $venv
	python3 -m venv $venv || exit 77
fi
export FAIRGROUND
FAIRGROUND=$(tests/build.sh)

if [ $# = 0 ]; then
	# pip takes seconds to find out that nothing is missing.
	$venv/bin/python -c 'import pandas, polars, pyarrow, pytest, scipy' 2>/dev/null ||
		$venv/bin/pip install -q 'pandas>=2.1' 'polars>=1.3' 'pyarrow>=16' 'pytest>=8' 'scipy>=1.15' || exit 77
	tests/package.sh target/package
	# What these need is large, or long.
	left_out=()
	for name in analysis farm notebooks sweep_kills types; do left_out+=("--ignore=python/tests/test_$name.py"); done
	PYTHONPATH=$PWD/target/package $venv/bin/pytest -q python/tests "${left_out[@]}"
	exit
fi
[ "$1" != --full ] || shift

$venv/bin/pip install -q 'maturin>=1.9,<2' || exit 77
$venv/bin/pip install -q '.[test]'
# With files: their tests alone.
$venv/bin/pytest -q "$@"
[ $# = 0 ] || exit 0
$venv/bin/python -m doctest docs/python.md
# Pages that show sweeps.
for page in $(grep -l '^fairground sweep' docs/*.md); do
	dir=$(mktemp -d)
	PATH=$PWD/$venv/bin:$PATH FAIRGROUND_PYTHON=$PWD/$venv/bin/python tests/docs.sh "$page" "$dir"
	rm -r "$dir"
done
