#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Conditions of docs/scenarios.md, asked of a kernel that the policy schedules: records small tasks and utilization floors in the guest eas, and
# the same with tasks that are bound to a large CPU, or ask for no floor, where the conditions must not hold.
# Usage: guest/lisa.sh BUILD		BUILD: what guest/build.sh --live wrote, and the command built by guest/live.sh
# SCHED names another policy than that of the kernel's release. The traces are in BUILD/lisa.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/qemu.sh"
build=$(cd "${1:?what guest/build.sh wrote}" && pwd)
sched=${SCHED:-fair:v$(cut -d- -f1 "$build/release" | cut -d. -f1-2)}
root=$build/lisa-root to=$build/lisa

# record TRACE WORKLOAD
record() {
	echo "/fairground live record -o /$1.txt --events-only -- /fairground play /$2.json --rounds 1"
	echo "print /$1.txt"
}

commands() {
	local state=/sys/kernel/sched_ext/state
	echo "&/fairground live start --sched $sched --hz 250"
	echo "await $state enabled"
	record one-small-right one-small
	record three-small-right three-small
	# A clock that does not change is in no trace.
	for first in 0 4; do echo "print /sys/devices/system/cpu/cpufreq/policy$first/scaling_cur_freq"; done
	record floors-right floors
	record one-small-wrong one-small-bound
	record three-small-wrong three-small-bound
	record floors-wrong no-floors
	echo "stop 2"
}

rm -rf "$root" "$to"
mkdir -p "$root"/{proc,sys,dev} "$to"
cp "$build/commands" "$root/init"
cp "$build/fairground" "$here"/workloads/{one-small,three-small,floors}.json "$root/"
for workload in one-small three-small; do sed 's/"loop"/"cpus": [4], &/' "$here/workloads/$workload.json" >"$root/$workload-bound.json"; done
sed 's/"util_min": [0-9]*, //' "$here/workloads/floors.json" >"$root/no-floors.json"
commands >"$root/commands"
(cd "$root" && find . | LC_ALL=C sort | cpio -o -H newc --quiet --reproducible | gzip -n1) >"$build/lisa.gz"
guest_boot eas "$build" lisa "" | tr -d '\r' >"$to/log" || { echo "lisa.sh: the guest did not end; $to/log" >&2; exit 1; }
! grep '^= ' "$to/log" | grep -qvx '= 0' || { echo "lisa.sh: a command failed; $to/log" >&2; exit 1; }
"$here/machine.sh" eas >"$to/machine.toml"
awk -v to="$to" '/^\$ print / { n = split($3, part, "/"); file = to "/" (part[n] == "scaling_cur_freq" ? part[n - 1] : part[n]); next } /^= / { file = "" } file { print >file }' "$to/log"
cd "$here/.." && FAIRGROUND_RECORDED=$to cargo test --quiet -p fairground-lab --test lisa_like recorded -- --ignored --nocapture
