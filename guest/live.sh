#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The policy schedules two guests, one with clocks and an energy model: starts `fairground live` there, records, plays workloads, changes a
# feature, compares two sets of features, clamps a cgroup, limits a clock beside a deadline task, suspends the machine, takes a CPU away, ends
# it in three ways, gives cgroups weights and a quota. Nothing may stall, the command's policy has to decide as the kernel's did, and the
# kernel's fair class has to be in charge afterwards. Before that a guest has to accept the programs as they are built for 512 CPUs.
# Usage: guest/live.sh BUILD		BUILD: what guest/build.sh --live wrote
#
# While a program computes, QEMU 7.2 with -icount leaves CPUs of higher numbers without a turn: FAIRGROUND_QEMU names a newer one
# (newer_qemu.sh). What computes for long comes after the scheduler's end all the same.
#
# The command is built for arm64 as a static program, with libelf of BUILD. What the guests printed is in BUILD/live-MACHINE.log.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/qemu.sh"
build=$(cd "${1:?what guest/build.sh wrote}" && pwd)
root=$build/live-root
target=aarch64-unknown-linux-gnu
tree=$here/..

fail() {
	echo "live.sh: $(cat "$build/release"): $*; all of it is in $build/live-*.log" >&2
	exit 1
}

# cross_build NAME: the command as a program for arm64, BUILD/NAME.
cross_build() {
	local tools=$build/cross
	mkdir -p "$tools"
	printf '#!/bin/sh\nexec clang-19 --target=aarch64-linux-gnu -fuse-ld=lld "$@"\n' >"$tools/cc"
	chmod +x "$tools/cc"
	rustup target add $target >/dev/null 2>&1 || { echo "live.sh: rustup has no $target"; exit 77; }
	(cd "$tree" && env CC_aarch64_unknown_linux_gnu="$tools/cc" AR_aarch64_unknown_linux_gnu=llvm-ar-19 \
		CFLAGS_aarch64_unknown_linux_gnu="-I$build/arm64/root/usr/include -Wno-unused-command-line-argument" \
		CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER="$tools/cc" \
		CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS="-C target-feature=+crt-static -C link-arg=-L$build/arm64/root/usr/lib/aarch64-linux-gnu" \
		LIBBPF_SYS_LIBRARY_PATH="$build/arm64/root/usr/lib/aarch64-linux-gnu" \
		cargo build --quiet --config profile.dev.debug=0 --target $target -p fairground-cli --features live-static)
	llvm-strip-19 -o "$build/$1" "${CARGO_TARGET_DIR:-$tree/target}/$target/debug/fairground"
}

# commands RELEASE [CLOCKS]: for guest/commands.c. CLOCKS: sysfs's folder of a cpufreq policy, whose clock is limited for a while.
commands() {
	local start="&/fairground live start --sched fair:v$1 --hz 250"
	# Of the kernel: whether a scheduler runs, and how many it has started.
	local state=/sys/kernel/sched_ext/state starts=/sys/kernel/sched_ext/enable_seq tracing=/sys/kernel/debug/tracing
	cat <<-EOF
	/fairground live check
	$start
	await $state enabled
	&/fairground live record -o /trace.txt --why
	/fairground play sched-pipe:loops=200 --rounds 1
	/fairground play hackbench:groups=2,loops=20,pipe --rounds 1
	/fairground live set +ilb-one-of
	/fairground play schbench:runtime=1 --rounds 1
	stop 2
	/fairground live ab sched-pipe:loops=100 --base fair:v$1 --test fair:v$1+ilb-one-of --rounds 2
	write /sys/fs/cgroup/cgroup.subtree_control +cpu
	mkdir /sys/fs/cgroup/clamped
	write /sys/fs/cgroup/clamped/cpu.uclamp.min 60
	write /sys/fs/cgroup/clamped/cgroup.procs 0
	/fairground live record -o /clamped.txt -- /fairground play /one.json --rounds 1
	write /sys/fs/cgroup/cgroup.procs 0
	${2:+write $2/scaling_max_freq 1421000}
	&deadline 3000 10000
	/fairground play /one.json --rounds 1
	/fairground live status
	stop 9
	${2:+write $2/scaling_max_freq 2362000}
	&/fairground play /hog.json --rounds 1
	/fairground play /one.json --rounds 1
	write $tracing/events/sched_ext/sched_ext_dump/enable 1
	write /sys/class/rtc/rtc0/wakealarm +5
	write /sys/power/state freeze
	write /proc/sysrq-trigger D
	await /sys/power/suspend_stats/success 1
	await $state enabled
	print $tracing/trace
	stop 9
	/fairground play sched-pipe:loops=200 --rounds 1
	write /sys/devices/system/cpu/cpu7/online 0
	await $starts 2
	write /sys/devices/system/cpu/cpu7/online 1
	await $starts 3
	await $state enabled
	/fairground live status
	/fairground play sched-pipe:loops=200 --rounds 1
	stop 2
	await $state disabled
	$start
	await $state enabled
	stop 15
	await $state disabled
	$start
	await $state enabled
	stop 9
	await $state disabled
	/fairground play sched-pipe:loops=200 --rounds 1
	/fairground stats latency /trace.txt
	/fairground explain /trace.txt
	/fairground explain /clamped.txt --task one-0
	EOF
}

# all_ended NAME ENDS: of BUILD/live-NAME.log; all commands ended with 0, but for those that were killed, which ended by their signals.
all_ended() {
	local log=$build/live-$1.log ends
	[ "$(grep -c '^= ' "$log")" = "$(grep -c '^[^&]' "$root/commands")" ] || fail "$1: not all commands ended"
	ends=$(grep '^= ' "$log" | grep -vx '= 0' | tr '\n' ' ')
	[ "$ends" = "$2" ] || fail "$1: programs ended with $ends"
	! grep -q 'kernel ended the scheduler' "$log" || fail "$1: the kernel ended the scheduler"
}

# boot MACHINE: what it prints goes to BUILD/live-MACHINE.log, and is judged.
boot() {
	local log=$build/live-$1.log placed
	guest_boot "$1" "$build" live "" | tr -d '\r' >"$log" || fail "$1: the guest did not end"
	all_ended "$1" "= -9 = -9 = -9 "
	grep -Eq 'rounds for CPUs without tick asked for, [1-9]' "$log" || fail "$1: no idle CPU balanced for the others"
	# Without cpuidle the kernel stops the tick of an idle CPU when it has come once.
	grep -Eq '[1-9][0-9]*  ticks of idle CPUs, [1-9]' "$log" || fail "$1: no tick of an idle CPU found a domain due"
	placed=$(sed -n 's/^the command.s policy, asked again on the same state: \([0-9]*\) of \([0-9]*\) alike$/\1 \2/p' "$log" | head -n 1)
	[ "${placed% *}" = "${placed#* }" ] && [ "${placed% *}" -gt 500 ] || fail "$1: $placed placements alike"
	# A deadline task of 30 % of a CPU; its signal stays for a while where it was before.
	awk '/^capacity of all CPUs/ { gsub(/[,;]/, ""); deadline = $16; interrupts = $18; exit } END { exit !(deadline > 200 && deadline < 600 && interrupts > 0) }' "$log" ||
		fail "$1: $(grep -m 1 '^capacity of all' "$log"), with a deadline task of 307"
	# After a suspension, in which the kernel tells the scheduler of no idle CPU: whether each is idle, by the kernel and by the policy.
	awk '/ curr=/ { idle = / curr=swapper/ } /policy: current/ { all++; idled += idle; wrong += idle != (/idle 1/ ? 1 : 0) }
		END { exit !(all == 8 && idled > 2 && !wrong) }' "$log" || fail "$1: the policy does not know which CPUs are idle after a suspension"
	echo "$(cat "$build/release"), $1: ${placed% *} placements recorded, the command's policy decides alike; no stall; the fair class is in charge"
}

# initramfs PROGRAM FILE...: what a guest has that carries out the commands that are piped in.
initramfs() {
	rm -rf "$root"
	mkdir -p "$root"/{proc,sys,dev}
	cp "$build/commands" "$root/init"
	cp "$build/$1" "$root/fairground"
	shift
	[ $# = 0 ] || cp "$@" "$root/"
	cat >"$root/commands"
	(cd "$root" && find . | LC_ALL=C sort | cpio -o -H newc --quiet --reproducible | gzip -n1) >"$build/live.gz"
}

# Three threads share a CPU: one in each of two cgroups within one that has a weight of 300, then 100, then a quota of 20 % of a CPU, and one
# in a cgroup of 100. As shares were before v7.3, where a group with two threads has more.
cgroups() {
	local log=$build/live-cgroups.log groups="a/x a/y b" usage="" group parts
	for group in $groups; do usage+="print /sys/fs/cgroup/$group/cpu.stat"$'\n'; done
	{
		cat <<-EOF
		&/fairground live start --sched fair:v7.3-group-shares --hz 250
		await /sys/kernel/sched_ext/state enabled
		write /sys/fs/cgroup/cgroup.subtree_control +cpu
		mkdir /sys/fs/cgroup/a
		write /sys/fs/cgroup/a/cgroup.subtree_control +cpu
		write /sys/fs/cgroup/a/cpu.weight 300
		EOF
		for group in $groups; do
			cat <<-EOF
			mkdir /sys/fs/cgroup/$group
			write /sys/fs/cgroup/$group/cgroup.procs 0
			&/fairground play /hog.json --rounds 1
			EOF
		done
		# Each first measures how fast a CPU works: in the first two pauses all have.
		cat <<-EOF
		write /sys/fs/cgroup/cgroup.procs 0
		/fairground play /pause.json --rounds 1
		/fairground play /pause.json --rounds 1
		$usage/fairground play /pause.json --rounds 1
		${usage}write /sys/fs/cgroup/a/cpu.weight 100
		/fairground play /pause.json --rounds 1
		${usage}write /sys/fs/cgroup/a/cpu.max 20000
		/fairground play /pause.json --rounds 1
		${usage}write /sys/fs/cgroup/a/cpu.max max
		/fairground play /pause.json --rounds 1
		${usage}stop 9
		stop 9
		stop 9
		stop 2
		EOF
	} | initramfs fairground "$here"/workloads/{hog,pause}.json
	guest_boot symmetric "$build" live "" | tr -d '\r' >"$log" || fail "cgroups: the guest did not end"
	all_ended cgroups "= -9 = -9 = -9 "
	# Percent of what all three had, between one look and the next.
	parts=$(awk '/^usage_usec/ {
			i = n++ % 3; had[i] = $2 - last[i]; last[i] = $2
			if (n > 3 && n % 3 == 0) { all = had[0] + had[1] + had[2]; if (all) printf "%.0f %.0f %.0f\n", 100 * had[0] / all, 100 * had[1] / all, 100 * had[2] / all }
		}' "$log")
	echo "$(cat "$build/release"), cgroups: $groups had $(sed -n 1p <<<"$parts") % of a CPU with 300 for a, $(sed -n 2p <<<"$parts") with 100," \
		"$(sed -n 3p <<<"$parts") with a quota of 20, $(sed -n 4p <<<"$parts") without it again"
	awk 'function off(part, wanted) { return part < wanted - 3 || part > wanted + 3 }
		NR == 1 { bad += off($1, 37.5) + off($2, 37.5) + off($3, 25) }
		NR == 2 || NR == 4 { bad += off($1, 25) + off($2, 25) + off($3, 50) }
		NR == 3 { bad += off($1, 10) + off($2, 10) + off($3, 80) }
		END { exit NR != 4 || bad > 0 }' <<<"$parts" || fail "cgroups: threads had $parts % of a CPU"
}

# The verifier's word on the programs for 512 CPUs. No guest has so many.
check_512() {
	local log=$build/live-512.log
	echo "/fairground live check" | initramfs fairground-512
	guest_boot symmetric "$build" live "" | tr -d '\r' >"$log" || fail "512 CPUs: the guest did not end"
	grep -qx '= 0' "$log" || fail "512 CPUs: the kernel refuses the programs"
	awk -v release="$(cat "$build/release")" '/ live_/ && !all++ { print release ", 512 CPUs: the verifier follows " $1 " instructions of " $4 " at most" }' "$log"
}

FAIRGROUND_LIVE_CPUS=512 cross_build fairground-512
cross_build fairground
check_512
release=$(cut -d- -f1 "$build/release")
commands "$release" | initramfs fairground "$here"/workloads/{one,hog}.json
boot symmetric
commands "$release" /sys/devices/system/cpu/cpufreq/policy4 | initramfs fairground "$here"/workloads/{one,hog}.json
boot eas
# Four CPUs of 1024 were limited to 1421 of 2362 MHz: 408 each.
awk '/^capacity of all CPUs/ { gsub(/[,;]/, ""); whole = $5; left = $9; limits = $NF; exit }
	END { exit !(limits == 4 * 408 && left > 0 && left <= whole - limits) }' "$build/live-eas.log" ||
	fail "eas: $(grep -m 1 '^capacity of all' "$build/live-eas.log"), with limits of 1632"
grep -q 'find_energy_efficient_cpu' "$build/live-eas.log" || fail "eas: no placement was energy-aware"
# A cgroup with cpu.uclamp.min 60: CPUs 0 to 3 have 446 of 1024. Placements where they should be, and all.
clamped=$(awk '/^\$ .*explain \/clamped/ { on = 1 } on && / wake / { all++; fits += / -> [4-7] / } END { print fits + 0, all + 0 }' "$build/live-eas.log")
echo "$(cat "$build/release"), eas: ${clamped% *} of ${clamped#* } placements of a clamped cgroup's task on CPUs that fit"
[ "${clamped#* }" -gt 20 ] && [ "${clamped% *}" -gt $((${clamped#* } * 9 / 10)) ] || fail "eas: $clamped placements of a clamped cgroup on CPUs that fit"
cgroups
