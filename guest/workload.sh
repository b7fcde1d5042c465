#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# All scenarios of scenarios.txt as one workload for `fairground run`, with the timeline of init.c: one after the other,
# since what one leaves behind (nr_idle_scan, who idled last) decides in the next. The sleeper or child of scenario N, from
# 0, is sleeperN or childN. All CPUs first have a little to do: a kernel that has just booted has never balanced, and
# takes its caches for too busy to be searched until it has.
# Usage: guest/workload.sh MACHINE
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/qemu.sh"
machine=$1
capacities=$(awk '{ print $2 }' <<<"$(guest_line "$machine")")
IFS=, read -ra capacity <<<"$capacities"
nr=${#capacity[@]}
all=$(seq -s, 0 $((nr - 1)))
period=720000 # us: 220 ms of a scenario, 500 ms of quiet

phase() { printf '\t\t\t"%s" : { "cpus" : [%s], %s },\n' "$1" "$2" "$3"; }

# The guest's CPUs are equally fast, whatever their capacity: so much CPU time there is less work on a small CPU here.
work() { echo $(($1 * capacity[$2] / 1024)); }

# What the controller does for scenario N.
conduct() {
	local n=$1 kind=$2 hogs=$3 prev=$4 waker=$5 cpu
	phase "quiet$n" 0 "\"timer\" : { \"ref\" : \"session\", \"period\" : $period }, \"sleep\" : 6000"
	for ((cpu = 1; cpu < nr; cpu++)); do phase "round$n.$cpu" "$cpu" '"sleep" : 6000'; done
	phase "start$n" "$waker" "\"sleep\" : $((100000 - 6000 * nr))"
	# Hogs rise with their CPU, as init.c starts them.
	for ((cpu = 0; cpu < nr; cpu++)); do
		(((hogs >> cpu) & 1)) && phase "start$n.hog$cpu" "$cpu" "\"fork\" : \"hog$n.$cpu\""
	done
	[ "$kind" = fork ] || phase "start$n.sleeper" "$prev" "\"fork\" : \"sleeper$n\""
	phase "start$n.waker" "$waker" "\"fork\" : \"waker$n\""
	phase "end$n" "$waker" '"sleep" : 220000'
}

# Those whom it starts. A hog computes until the scenario is over.
play() {
	local n=$1 kind=$2 hogs=$3 prev=$4 waker=$5 cpu waits wakes
	for ((cpu = 0; cpu < nr; cpu++)); do
		(((hogs >> cpu) & 1)) && printf '\t\t"hog%s.%s" : { "instance" : 0, "cpus" : [%s], "loop" : 220, "run" : %s },\n' \
			"$n" "$cpu" "$cpu" "$(work 1000 "$cpu")"
	done
	case $kind in
	futex) waits="\"sem_wait\" : \"gate$n\"" wakes="\"cpus\" : [$waker], \"sem_post\" : \"gate$n\"" ;;
	pipe) waits="\"pipe_read\" : { \"ref\" : \"gate$n\", \"bytes\" : 1 }"
		wakes="\"cpus\" : [$waker], \"pipe_write\" : { \"ref\" : \"gate$n\", \"bytes\" : 1 }" ;;
	fork) wakes="\"cpus\" : [$all], \"fork\" : \"child$n\""
		printf '\t\t"child%s" : { "instance" : 0, "loop" : 1, "cpus" : [%s], "run" : 1 },\n' "$n" "$all" ;;
	*) echo "guest/scenarios.txt: kind is futex, pipe or fork, not $kind" >&2; exit 2 ;;
	esac
	if [ "$kind" != fork ]; then
		printf '\t\t"sleeper%s" : { "instance" : 0, "cpus" : [%s], "loop" : 1, "phases" : {\n' "$n" "$prev"
		phase burst "$prev" "\"run\" : $(work 2000 "$prev")"
		phase sleep "$all" "$waits"
		printf '\t\t} },\n'
	fi
	printf '\t\t"waker%s" : { "instance" : 0, "cpus" : [%s], "loop" : 1, "phases" : {\n' "$n" "$waker"
	phase wait "$waker" '"sleep" : 200000'
	printf '\t\t\t"wake" : { %s },\n\t\t} },\n' "$wakes"
}

mapfile -t scenarios < <(grep -v '^#' "$here/scenarios.txt")
printf '{\n\t"tasks" : {\n\t\t"controller" : { "loop" : 1, "phases" : {\n'
# shellcheck disable=SC2086 # words of a scenario
for n in "${!scenarios[@]}"; do conduct "$n" ${scenarios[n]}; done
printf '\t\t} },\n'
for ((cpu = 0; cpu < nr; cpu++)); do
	printf '\t\t"warm%s" : { "cpus" : [%s], "loop" : 60, "run" : %s, "sleep" : 4500 },\n' \
		"$cpu" "$cpu" "$(work 1500 "$cpu")"
done
# shellcheck disable=SC2086
for n in "${!scenarios[@]}"; do play "$n" ${scenarios[n]}; done
printf '\t},\n\t"global" : { "duration" : %s, "calibration" : "CPU%s" },\n}\n' \
	$(((${#scenarios[@]} + 1) * period / 1000000 + 1)) $((nr - 1))
