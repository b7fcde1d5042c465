#!/usr/bin/env bash
# Validations that are killed while they change this machine leave nothing changed after `validate --restore`.
#
#   tests/validate_kills.sh [KILLS]    number of kills, 50 by default
#
# Needs root, and cgroups or CPUs that can go offline: without, it says so and exits with 77. CPUs go offline for moments.
set -euo pipefail
cd "$(dirname "$0")/.."
kills=${1:-50}
[ "$(id -u)" = 0 ] || { echo "SKIPPED: only root may change what is restored"; exit 77; }
fairground=$(FAIRGROUND=${FAIRGROUND:-} tests/build.sh)
dir=$(mktemp -d)
export FAIRGROUND_STATE=$dir/state
# Bound to one CPU: its mask is what a CPU that goes offline takes with it.
last=$(grep -o '[0-9]*$' /sys/devices/system/cpu/online)
taskset -c "$last" sleep 100000 &
bound=$!
trap 'kill $bound 2>/dev/null; "$fairground" validate --restore >/dev/null 2>&1; rm -rf "$dir"' EXIT
SEED=${SEED:-$$}
RANDOM=$SEED

# What can be changed, and is to be as before.
state() {
	grep . /sys/devices/system/cpu/online /sys/devices/system/cpu/cpu*/online 2>/dev/null || true
	find /sys/fs/cgroup -name 'cpuset.cpus' -exec grep -H . {} + 2>/dev/null | sort || true
	find /sys/fs/cgroup -name 'fairground-validate*' || true
	grep . /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || true
	for file in base_slice_ns migration_cost_ns preempt features; do grep -H . "/sys/kernel/debug/sched/$file" 2>/dev/null || true; done
	grep -H . /proc/sys/kernel/sched_* || true
	grep Cpus_allowed_list "/proc/$bound/status"
}

knobs=()
for half in learn judged; do
	list=$("$fairground" validate --list --system --half "$half" |
		awk '/^  [a-z]/ {knob = $1; sub("/.*", "", knob); here[knob] = 1} /not here:/ {here[knob] = 0}
			END {for (k in here) if (here[k] && k ~ /^(cgroup|cpuset|cpus-offline|autogroup|base-slice|migration-cost|preemption|wakeup-|ttwu)/) print k}' |
		sort | paste -sd,)
	[ -z "$list" ] || knobs+=("$half $list")
done
[ ${#knobs[@]} -gt 0 ] || { echo "SKIPPED: nothing can be changed on this machine"; exit 77; }
before=$(state)
caught=0
for ((i = 1; i <= kills; i++)); do
	read -r half list <<<"${knobs[$((i % ${#knobs[@]}))]}"
	"$fairground" validate --half "$half" --only "$list" --system --rounds 1000 --seconds 0.05 --out "$dir/out-$half" >/dev/null 2>"$dir/err" &
	running=$!
	# The first pass is mostly calibration; every fifth kill falls into it.
	[ $((i % 5)) = 0 ] || sleep 2
	sleep "$(printf '0.%03d' $((RANDOM % 1000)))"
	kill -9 $running 2>/dev/null || { echo "validate_kills: it ended by itself"; cat "$dir/err"; exit 1; }
	wait $running 2>/dev/null || true
	[ ! -e "$FAIRGROUND_STATE/restore.jsonl" ] || caught=$((caught + 1))
	"$fairground" validate --restore >"$dir/restored"
	after=$(state)
	[ "$after" = "$before" ] || {
		echo "validate_kills: changed after kill $i (SEED=$SEED):"
		diff <(echo "$before") <(echo "$after")
		exit 1
	}
done
[ $caught -gt 0 ] || { echo "validate_kills: no kill caught a change that was not taken back yet (SEED=$SEED)"; exit 1; }
# SIGTERM: it restores by itself.
read -r half list <<<"${knobs[0]}"
"$fairground" validate --half "$half" --only "$list" --system --rounds 1000 --seconds 0.05 --out "$dir/out-$half" >/dev/null 2>"$dir/err" &
running=$!
sleep 1.5
kill -TERM $running
code=0
wait $running || code=$?
[ $code = 143 ] || { echo "validate_kills: after SIGTERM it ended with $code"; cat "$dir/err"; exit 1; }
[ "$(state)" = "$before" ] && [ ! -e "$FAIRGROUND_STATE/restore.jsonl" ] || { echo "validate_kills: changed after SIGTERM"; exit 1; }
echo "validate_kills: as before after $kills kills, of which $caught left something to restore (SEED=$SEED)"
