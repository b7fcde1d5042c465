#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Plays the recorded scenarios that are stable with a scheduler of Fairground, and says where it decides otherwise than the
# booted kernel did, with the state that kernel had (of seed 1).
# Usage: guest/replay.sh SCHEDULER [MACHINE...]		FAIRGROUND: the program, otherwise that of target/release
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/qemu.sh"
fairground=${FAIRGROUND:-$here/../target/release/fairground}
recorded=$here/recorded/6.12.117
scheduler=$1
shift
[ $# -gt 0 ] || set -- $(guest_machines)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# KIND HOGS PREV WAKER CPU, and seed 1's nr_running, load_avg and nr_idle_scan, of stable scenarios.
stable() {
	awk -F, 'NR == 1 { next }
		{ k = $1 " " $2 " " $3 " " $4 }
		$5 == 1 { order[++n] = k; cpu[k] = $6; state[k] = "nr " $15 ", load " $16 ", nr_idle_scan " $20 }
		$6 == cpu[k] { same[k]++ }
		END { for (i = 1; i <= n; i++) if (same[order[i]] == 5) print order[i], cpu[order[i]], state[order[i]] }
	' "$recorded/$1.csv"
}

# The last placement of the wakee or child.
choice() {
	local who=sleeper
	[ "$1" != fork ] || who=child
	awk -v who="comm=$who-fork" '/fairground_decision/ && index($0, who) {
		match($0, / cpu=[0-9]+ /); cpu = substr($0, RSTART + 5, RLENGTH - 6)
	} END { print cpu }' "$work/trace.txt"
}

for machine in "$@"; do
	"$here/machine.sh" "$machine" >"$work/machine.toml"
	idle=0 idle_same=0 loaded=0 loaded_same=0
	while read -r kind hogs prev waker cpu state; do
		"$here/workload.sh" "$machine" "$kind" "$hogs" "$prev" "$waker" >"$work/scenario.json"
		"$fairground" run "$work/machine.toml" "$work/scenario.json" --sched "$scheduler" \
			--trace "$work/trace.txt" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
		got=$(choice "$kind")
		if [ "$hogs" = 0x00 ]; then
			idle=$((idle + 1)) idle_same=$((idle_same + (got == cpu)))
		else
			loaded=$((loaded + 1)) loaded_same=$((loaded_same + (got == cpu)))
		fi
		[ "$got" = "$cpu" ] || echo "  $kind $hogs $prev $waker: kernel $cpu ($state), $scheduler $got"
	done < <(stable "$machine")
	echo "$machine: $idle_same of $idle without load, $loaded_same of $loaded loaded"
done
