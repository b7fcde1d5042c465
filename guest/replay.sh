#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Plays the recorded scenarios that are stable with a scheduler of Fairground, and says where it decides otherwise than the
# booted kernel did, with the state that kernel had (of seed 1).
# Usage: guest/replay.sh RELEASE SCHEDULER [MACHINE...]
# RELEASE: a folder of guest/recorded. FAIRGROUND: the program, otherwise what tests/build.sh builds.
# Fails if less than 98 % without load or 90 % of the loaded ones are decided as the booted kernel did.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/qemu.sh"
recorded=$here/recorded/${1:?a release of guest/recorded} scheduler=${2:?a scheduler}
[ -d "$recorded" ] || {
	echo "guest/replay.sh: nothing is recorded for $1; recorded: $(cd "$here/recorded" && echo *)" >&2
	exit 2
}
shift 2
fairground=$("$here/../tests/build.sh")
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

# NUMBER CPU of the placements of sleepers and children.
choices() {
	awk '/fairground_decision/ && match($0, /comm=(sleeper|child)[0-9]+-fork/) {
		who = substr($0, RSTART, RLENGTH); wanted = who ~ /child/ ? "kind=fork" : "kind=wake"
		if (!index($0, wanted)) next
		gsub(/[^0-9]/, "", who)
		match($0, / cpu=[0-9]+ /); print who, substr($0, RSTART + 5, RLENGTH - 6)
	}' "$work/trace.txt"
}

for machine in "$@"; do
	"$here/machine.sh" "$machine" >"$work/machine.toml"
	"$here/workload.sh" "$machine" >"$work/session.json"
	"$fairground" run "$work/machine.toml" "$work/session.json" --sched "$scheduler" \
		--trace "$work/trace.txt" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
	choices >"$work/choices"
	stable "$machine" >"$work/stable"
	grep -v '^#' "$here/scenarios.txt" | awk -v machine="$machine" -v scheduler="$scheduler" '
		FILENAME == ARGV[1] { got[$1] = $2; next }
		FILENAME == ARGV[2] {
			k = $1 " " $2 " " $3 " " $4; cpu[k] = $5
			state[k] = $0; sub(/^[^ ]+ [^ ]+ [^ ]+ [^ ]+ [^ ]+ /, "", state[k]); next
		}
		{
			k = $1 " " $2 " " $3 " " $4; number = n++
			if (!(k in cpu)) next
			load = $2 == "0x00" ? "without load" : "loaded"
			all[load]++; same[load] += got[number] == cpu[k]
			if (got[number] != cpu[k])
				printf "  %s: kernel %s (%s), %s %s\n", k, cpu[k], state[k], scheduler, got[number]
		}
		END {
			printf "%s: %d of %d without load, %d of %d loaded\n", machine, same["without load"],
				all["without load"], same["loaded"], all["loaded"]
		}' "$work/choices" "$work/stable" - | tee -a "$work/said"
done
awk '/ of .* without load/ { idle_same += $2; idle += $4; loaded_same += $7; loaded += $9 }
	END {
		printf "all: %d of %d without load, %d of %d loaded\n", idle_same, idle, loaded_same, loaded
		exit idle_same < 0.98 * idle || loaded_same < 0.9 * loaded
	}' "$work/said"
