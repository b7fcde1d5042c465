#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The same workload under the same policy, in a guest (`fairground live`) and simulated: placements and balance passes by rule, migrations,
# placements by CPU, side by side. The mails that change more than sched-pipe shows are among them, before and after.
# Usage: guest/beside.sh BUILD [CASE...]		BUILD: what guest/build.sh --live wrote, and the command built by guest/live.sh
#
# What things cost in a guest is one factor of what they cost on hikey960, fitted to sched-pipe, which runs at 3,265 operations a second there
# under the live scheduler, and simulated at 3,350. CPUs of a guest share one stream of instructions (guest/workloads), which no
# machine file says. Sleepers do not stay queued in a guest (docs/live.md), so the presets of v6.12 have rq=eevdf. What the guests printed is in
# BUILD/beside-CASE.log.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/qemu.sh"
build=$(cd "${1:?what guest/build.sh wrote}" && pwd)
shift
fairground=${FAIRGROUND:-$here/../target/debug/fairground}

# case, machine, "states" for a second idle state, workload, its threads, schedulers
CASES="
periodic	symmetric	-	periodic.json	big,small	fair:v6.12+rq=eevdf
energy		eas		-	periodic.json	big,small	fair:v6.12+rq=eevdf
pipe		symmetric	-	sched-pipe:loops=1000,threads	sched-pipe	fair:v6.12+rq=eevdf
rt-app		symmetric	-	rt-app-tour.json	ticker,worker,collector,parent,child	fair:v6.12+rq=eevdf
little-and-big	eas	-	little-and-big.json	small,growing	fair:v6.12+rq=eevdf
hackbench	symmetric	-	hackbench:groups=1,loops=20,pipe	hackbench-send,hackbench-recv	fair:v6.12+rq=eevdf
cluster-level	clustered	-	hackbench:groups=1,fds=2,loops=1000,pipe	hackbench-send,hackbench-recv	fair:v6.6 fair:v6.6+cls-select=landed
lb-rework	nodes		-	hogs.json	hog	fair:v5.4 fair:v5.5
misfit-unlink	eas		-	clamped.json	decode,small	fair:misfit-unlink-ufc fair:misfit-unlink-patched-v4
break-even	symmetric	states	hackbench:groups=1,loops=5,pipe	hackbench,hackbench-send,hackbench-recv,fairground	fair:v5.9 fair:v5.9+break-even=target-residency
"

fail() {
	echo "beside.sh: $*" >&2
	exit 1
}

# commands WORKLOAD SCHED...: for guest/commands.c
commands() {
	local state=/sys/kernel/sched_ext/state workload=$1 sched
	shift
	for sched in "$@"; do
		cat <<-EOF
		&/fairground live start /machine.toml --sched $sched --hz 250
		await $state enabled
		/fairground live record /machine.toml -o /trace.txt --events-only -- /fairground play $workload --rounds 1
		print /trace.txt
		stop 2
		await $state disabled
		EOF
	done
}

# run CASE MACHINE STATES WORKLOAD THREADS SCHED...
run() {
	local case=$1 machine=$2 states=${3#-} workload=$4 threads=$5 root=$build/beside-root log=$build/beside-$1.log sched folder n=0
	shift 5
	rm -rf "$root"
	mkdir -p "$root"/{proc,sys,dev}
	cp "$build/commands" "$root/init"
	cp "$build/fairground" "$root/"
	"$here/machine.sh" "$machine" $states |
		sed 's/^scale = .*/scale = { factor = 57, source = "fitted: sched-pipe in a guest under live" }/' >"$root/machine.toml"
	for folder in "$here/workloads" "$here/../workloads"; do
		[ ! -f "$folder/$workload" ] || { cp "$folder/$workload" "$root/"; workload=/$workload; break; }
	done
	commands "$workload" "$@" >"$root/commands"
	(cd "$root" && find . | LC_ALL=C sort | cpio -o -H newc --quiet --reproducible | gzip -n1) >"$build/beside.gz"
	guest_boot "$machine" "$build" beside "" | tr -d '\r' >"$log" || fail "$case: the guest did not end; $log"
	for sched in "$@"; do
		n=$((n + 1))
		(cd "$root" && "$fairground" run machine.toml "${workload#/}" --sched "$sched" --governor schedutil --hz 250 --seed 1 --why \
			--trace "simulated-$n.txt" --quiet >/dev/null)
		python3 "$here/beside.py" "$log" $n "$root/simulated-$n.txt" "$threads" "$(guest_line "$machine" | awk '{ print $3 }')" "$case, $machine, $sched"
	done
}

while read -r case rest; do
	[ -n "$case" ] || continue
	[ $# = 0 ] || [[ " $* " = *" $case "* ]] || continue
	# shellcheck disable=SC2086
	run "$case" $rest
done <<<"$CASES"
