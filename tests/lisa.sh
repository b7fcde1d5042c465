#!/usr/bin/env bash
# Checks our traces with LISA 3.1.0, Arm's kit for tests of the kernel's energy-aware placement. LISA writes the rt-app
# file of its test OneSmallTask for one of our machines. We run it under the right policy and under a misled one. LISA's
# test must pass the first and fail the second. LISA must count the same events in trace.dat as our text has, and must
# give the same answers for trace.dat and for the frames that the Python package makes of the same run.
#
#   tests/lisa.sh                 makes an environment, which takes a minute or more and 1 GB, and removes it
#   tests/lisa.sh ENVIRONMENT     a directory for it, made if it is not there, and kept
#
# $FAIRGROUND is the command and $FAIRGROUND_PACKAGE a directory with the package in it; both are built otherwise.
#
# Exit code 77: LISA cannot be installed.
set -euo pipefail
cd "$(dirname "$0")/.."
machines="hikey960 juno-r2 pixel6"
fairground=$(tests/build.sh)
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT
venv=${1:-$dir/venv}

# Releases of packages with which 3.1.0 works: it is of 2023, and requires no particular ones.
if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -c 'import lisa.trace' 2>/dev/null; then
	python3 -m venv "$venv" || { echo "lisa: python3 makes no environment"; exit 77; }
	"$venv/bin/pip" install --quiet lisa-linux==3.1.0 nest_asyncio 'numpy<2' 'pandas<2.2' 'scipy<1.14' 'pyarrow<17' \
		'holoviews<1.19' 'bokeh<3.5' 'panel<1.5' || { echo "lisa: pip cannot install it"; exit 77; }
fi

# Put the package where LISA's interpreter finds it.
if [ -z "${FAIRGROUND_PACKAGE:-}" ]; then
	FAIRGROUND_PACKAGE=$dir/package
	tests/package.sh "$FAIRGROUND_PACKAGE"
fi
export PYTHONPATH=$FAIRGROUND_PACKAGE

referee() { "$venv/bin/python" tests/lisa/referee.py "$@"; }

# fail WHAT
fail() { echo "lisa: $machine: $1" >&2; exit 1; }

# run MACHINE NAME: runs the test's file; writes trace.dat in the directory NAME, and the text NAME.txt.
run() {
	local trace
	mkdir "$work/$2"
	for trace in "$2/trace.dat" "$2.txt"; do
		"$fairground" run "$1" "$work/small.json" --sched fair:v6.12 --governor schedutil --rtapp-marks --util-events \
			--trace "$work/$trace" >"$work/out" 2>"$work/err" || fail "$(tail -n 3 "$work/err")"
	done
}

# check NAME VERDICT...: LISA's counts of events are those of our text, and its verdicts are these.
check() {
	local event count verdict
	while read -r _ _ event count; do
		event=${event%:}
		[ "$(grep -c " $event: " "$work/$1.txt" || true)" = "$count" ] || fail "LISA has $count $event of $1"
	done < <(grep "^$1: events " "$work/verdicts")
	for verdict in "${@:2}"; do
		grep -q "^$1: $verdict " "$work/verdicts" || fail "$1: not $verdict"
	done
}

for machine in $machines; do
	work=$dir/$machine
	mkdir "$work"
	referee prepare "$machine" "$work"
	run "$machine" right
	run "$work/misled.toml" wrong
	referee judge "$machine" "$work/right" "$work/wrong" >"$work/verdicts"
	sed "s/^/lisa: $machine, /" "$work/verdicts"
	check right 'test_noisy_tasks: PASSED' 'test_task_placement: PASSED' 'test_slack: PASSED'
	check wrong 'test_noisy_tasks: PASSED' 'test_task_placement: FAILED'
	"$venv/bin/python" tests/lisa/doors.py "$machine" "$work/small.json" "$work/right/trace.dat" >"$work/doors" ||
		fail "$(cat "$work/doors")"
	sed "s/^/lisa: $machine, /" "$work/doors"
done
echo "lisa: OneSmallTask passes the right policy and fails the misled one on $machines;" \
	"the frames of a run are its trace.dat"
