#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What a placement takes, by the kernel's own class (select_task_rq_fair) and by the policy in its place (select_task_rq_scx): guest
# instructions, median and quartiles, for sched-pipe and hackbench.
# Usage: guest/placement.sh BUILD [MACHINE]		BUILD: what guest/build.sh --live wrote, and the command built by guest/live.sh
#
# The kernel's function_graph tracer says how long each call took, by the CPU's counter. In a guest of -icount that is instructions: 8 ns each,
# counted in steps of two. Its own part is that of an empty function, arch_cpu_idle_exit, traced in the same run, and is taken off.
# Interrupts are off in both functions, but another CPU may get its turn within a call, and its instructions count: hence quartiles.
# What the guest printed is in BUILD/placement-MACHINE.log.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/qemu.sh"
build=$(cd "${1:?what guest/build.sh wrote}" && pwd)
machine=${2:-symmetric}
log=$build/placement-$machine.log
tracing=/sys/kernel/debug/tracing
NS_AN_INSTRUCTION=8

fail() {
	echo "placement.sh: $*" >&2
	exit 1
}

# commands RELEASE: for guest/commands.c
commands() {
	local state=/sys/kernel/sched_ext/state workload
	workloads() {
		for workload in sched-pipe:loops=1000 hackbench:groups=2,loops=20,pipe; do
			cat <<-EOF
			write $tracing/trace 0
			write $tracing/tracing_on 1
			/fairground play $workload --rounds 1
			write $tracing/tracing_on 0
			print $tracing/trace
			EOF
		done
	}
	cat <<-EOF
	write $tracing/tracing_on 0
	write $tracing/buffer_size_kb 4096
	write $tracing/current_tracer function_graph
	EOF
	workloads
	cat <<-EOF
	&/fairground live start --sched fair:v$1 --hz 250
	await $state enabled
	EOF
	workloads
	cat <<-EOF
	stop 2
	await $state disabled
	EOF
}

# quartiles FUNCTION: of what is piped in, traces in which it takes so many us.
quartiles() {
	sed -n "s/^.* \([0-9.]*\) us .* $1();.*/\1/p" | sort -n |
		awk -v ns=$NS_AN_INSTRUCTION '{ value[NR] = $1 * 1000 / ns } END { if (NR) printf "%d %d %d %d\n", NR, value[int((NR + 3) / 4)], value[int((NR + 1) / 2)], value[int((3 * NR + 3) / 4)] }'
}

# The trace of the N-th workload.
trace() {
	awk -v n="$1" '/^\$ print / { at++; next } /^= / { if (at == n) exit } at == n' "$log"
}

root=$build/placement-root
rm -rf "$root"
mkdir -p "$root"/{proc,sys,dev}
cp "$build/commands" "$root/init"
cp "$build/fairground" "$root/"
commands "$(cut -d- -f1 "$build/release")" >"$root/commands"
(cd "$root" && find . | LC_ALL=C sort | cpio -o -H newc --quiet --reproducible | gzip -n1) >"$build/placement.gz"
guest_boot "$machine" "$build" placement "ftrace_filter=select_task_rq_fair,select_task_rq_scx,arch_cpu_idle_exit" |
	tr -d '\r' >"$log" || fail "the guest did not end; $log"

figures=$(quartiles arch_cpu_idle_exit <"$log")
[ -n "$figures" ] || fail "no arch_cpu_idle_exit in the traces; $log"
read -r _ _ empty _ <<<"$figures"
echo "$(cat "$build/release"), $machine: the tracer takes $empty instructions a call, which are taken off"
printf '%-12s %-20s %8s %8s %8s %8s\n' workload function calls quarter median quarter
for n in 1 2 3 4; do
	workload=sched-pipe function=select_task_rq_fair
	[ $((n % 2)) = 1 ] || workload=hackbench
	[ $n -le 2 ] || function=select_task_rq_scx
	figures=$(trace $n | quartiles $function)
	[ -n "$figures" ] || fail "no $function in the trace of $workload; $log"
	read -r calls low middle high <<<"$figures"
	printf '%-12s %-20s %8d %8d %8d %8d\n' $workload $function "$calls" $((low - empty)) $((middle - empty)) $((high - empty))
done
