#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A scenario as a workload for `fairground run`, with the timeline of init.c. t0 is 1.2 s after the start: a kernel that has
# just booted has never balanced, and takes its caches for too busy to be searched until it has (nr_idle_scan), so all CPUs
# first have a little to do for a while.
# Usage: guest/workload.sh MACHINE KIND HOGS PREV WAKER		as in scenarios.txt and in the recorded files
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/qemu.sh"
machine=$1 kind=$2 hogs=$3 prev=$4 waker=$5
capacities=$(awk '{ print $2 }' <<<"$(guest_line "$machine")")
IFS=, read -ra capacity <<<"$capacities"
nr=${#capacity[@]}
all=$(seq -s, 0 $((nr - 1)))

# Hogs rise with their CPU, as init.c starts them.
hog_cpus=()
for ((cpu = 0; cpu < nr; cpu++)); do (((hogs >> cpu) & 1)) && hog_cpus+=("$cpu"); done

# The guest's CPUs are equally fast, whatever their capacity: 2 ms there is less work on a small CPU here.
burst=$((2000 * capacity[prev] / 1024))

case $kind in
futex) waits='"sem_wait" : "gate"' wakes='"sem_post" : "gate"' ;;
pipe) waits='"pipe_read" : { "ref" : "gate", "bytes" : 1 }' wakes='"pipe_write" : { "ref" : "gate", "bytes" : 1 }' ;;
fork) waits='' wakes="\"cpus\" : [$all], \"fork\" : \"child\"" ;;
*) echo "guest/workload.sh: kind is futex, pipe or fork, not $kind" >&2; exit 2 ;;
esac

phase() { printf '\t\t\t"%s" : { "cpus" : [%s], %s },\n' "$1" "$2" "$3"; }

echo '{'
printf '\t"tasks" : {\n\t\t"controller" : { "loop" : 1, "phases" : {\n'
phase round0 0 '"sleep" : 1100000'
for ((cpu = 1; cpu < nr; cpu++)); do phase "round$cpu" "$cpu" '"sleep" : 6000'; done
phase start "$waker" "\"sleep\" : $((100000 - 6000 * (nr - 1)))"
for cpu in "${hog_cpus[@]}"; do phase "start_hog$cpu" "$cpu" "\"fork\" : \"hog$cpu\""; done
[ "$kind" = fork ] || phase start_sleeper "$prev" '"fork" : "sleeper"'
phase start_waker "$waker" '"fork" : "waker"'
phase end "$waker" '"sleep" : 220000'
printf '\t\t} },\n'
for ((cpu = 0; cpu < nr; cpu++)); do
	printf '\t\t"warm%s" : { "cpus" : [%s], "loop" : 60, "run" : %s, "sleep" : 4500 },\n' \
		"$cpu" "$cpu" $((1500 * capacity[cpu] / 1024))
done
for cpu in "${hog_cpus[@]}"; do
	printf '\t\t"hog%s" : { "instance" : 0, "cpus" : [%s], "loop" : -1, "run" : 1000 },\n' "$cpu" "$cpu"
done
if [ "$kind" = fork ]; then
	printf '\t\t"child" : { "instance" : 0, "loop" : 1, "cpus" : [%s], "run" : 1 },\n' "$all"
else
	printf '\t\t"sleeper" : { "instance" : 0, "cpus" : [%s], "loop" : 1, "phases" : {\n' "$prev"
	phase burst "$prev" "\"run\" : $burst"
	phase sleep "$all" "$waits"
	printf '\t\t} },\n'
fi
printf '\t\t"waker" : { "instance" : 0, "cpus" : [%s], "loop" : 1, "phases" : {\n' "$waker"
phase wait "$waker" '"sleep" : 200000'
[ "$kind" = fork ] || wakes="\"cpus\" : [$waker], $wakes"
printf '\t\t\t"wake" : { %s },\n\t\t} },\n\t},\n' "$wakes"
printf '\t"global" : { "duration" : 2, "calibration" : "CPU%s" },\n}\n' $((nr - 1))
