#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The policy schedules a guest that changes all the time: forks and exits, affinity, cpusets, CPUs that go offline and come back, RT
# and SCHED_BATCH tasks, weights of tasks, weights and quotas of cgroups (which count with v7.3). The kernel may not end the scheduler for a fault, and no task may stop to run. Then the scheduler is
# started STARTS times, and ended by SIGKILL KILLS times.
# Usage: guest/soak.sh BUILD PROGRAM [MINUTES [STARTS [KILLS]]]		30 minutes, 100 and 50 unless given
# BUILD: what guest/build.sh --live wrote, for arm64 or --x86; PROGRAM: the command for it, static
#
# arm64 runs in virtual time, which a busy host does not disturb; FAIRGROUND_QEMU as in live.sh. x86-64 runs in real time:
# FAIRGROUND_ACCEL=kvm runs it on KVM instead of by emulation. Where the host takes a CPU of the guest away for seconds, the task that
# ran there is charged all of them. One of little weight then waits for that time multiplied by the weights beside it, and the watchdog
# may end the scheduler for that: "went without one for up to" in the guest's last lines tells.
# It needs busybox-static. What the guest printed is in BUILD/soak.log.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/qemu.sh"
. "$here/packages.sh"
build=$(cd "${1:?what guest/build.sh wrote}" && pwd)
program=$(realpath "${2:?the command as a static program}")
minutes=${3:-30} starts=${4:-100} kills=${5:-50}

fail() {
	echo "soak.sh: $(cat "$build/release"): $*; all of it is in $build/soak.log" >&2
	exit 1
}

# What the guest does: sh of busybox.
script() {
	cat <<-'END'
	export PATH=/bin
	/bin/busybox --install -s /bin
	mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
	mount -t bpf bpf /sys/fs/bpf; mount -t cgroup2 cgroup /sys/fs/cgroup
	export HOME=/tmp
	state() { cat /sys/kernel/sched_ext/state; }
	await() { local i=0; while [ "$(state)" != "$1" ]; do i=$((i + 1)); [ $i -lt 3000 ] || { echo "FAIL: not $1"; return 1; }; usleep 100000; done; }
	start() { /fairground live start --sched $SCHED --hz 250 2>>/tmp/err >>/tmp/out & pid=$!; }
	hog() { while :; do :; done; }
	# nested NAME: something runs in a cgroup six deep, which is removed then.
	nested() {
		local dir=/sys/fs/cgroup/$1 level
		for level in 1 2 3 4 5; do mkdir $dir; echo +cpu >$dir/cgroup.subtree_control; dir=$dir/in; done
		mkdir $dir
		echo 1000 10000 >/sys/fs/cgroup/$1/in/in/cpu.max
		sh -c "echo \$\$ >$dir/cgroup.procs; usleep 1000; sh -c 'usleep 1000'; true"
		for level in 1 2 3 4 5 6; do rmdir $dir || echo "FAIL: $dir stays"; dir=${dir%/in}; done
	}
	ran() { set -- $(cat /proc/$1/stat); echo $((${14} + ${15})); }
	nr=$(nproc)
	all=$(printf %x $(((1 << nr) - 1)))

	start; soak=$pid
	await enabled || poweroff -f
	for i in 1 2 3 4; do hog & hogs="$hogs $!"; done
	echo +cpuset +cpu >/sys/fs/cgroup/cgroup.subtree_control
	mkdir /sys/fs/cgroup/some /sys/fs/cgroup/other
	end=$(($(date +%s) + MINUTES * 60)) rounds=0
	while [ $(date +%s) -lt $end ]; do
		rounds=$((rounds + 1))
		for i in 1 2 3 4 5 6 7 8 9 10; do true & done
		sh -c 'for i in 1 2 3 4 5; do sh -c "usleep 1000"; done' &
		for hog in $hogs; do
			case $((rounds % 5)) in
			0) taskset -p $(printf %x $((1 << (rounds / 5 % nr)))) $hog >/dev/null ;;
			1) taskset -p $all $hog >/dev/null ;;
			2) renice $((rounds % 20 - 10)) -p $hog >/dev/null ;;
			3) echo $hog >/sys/fs/cgroup/some/cgroup.procs ;;
			4) echo $hog >/sys/fs/cgroup/$([ $((rounds % 2)) = 0 ] || echo other/)cgroup.procs ;;
			esac
		done
		echo $((rounds % 2))-$((rounds % 2 + 2)) >/sys/fs/cgroup/some/cpuset.cpus
		echo $((1 + rounds % 13 * 50)) >/sys/fs/cgroup/some/cpu.weight
		case $((rounds % 3)) in
		0) echo max >/sys/fs/cgroup/some/cpu.max ;;
		1) echo 10000 50000 >/sys/fs/cgroup/some/cpu.max ;;
		2) echo 150000 100000 >/sys/fs/cgroup/some/cpu.max ;;
		esac
		[ $((rounds % 5)) != 0 ] || nested n$rounds &
		[ $((rounds % 7)) != 0 ] || { /fairground play --yes /rt.json --rounds 1 >/tmp/rt 2>&1 || echo "FAIL: $(tail -n 1 /tmp/rt)"; } &
		if [ $((rounds % 20)) = 0 ]; then
			cpu=$((1 + rounds / 20 % (nr - 1)))
			echo 0 >/sys/devices/system/cpu/cpu$cpu/online
			sleep 1
			echo 1 >/sys/devices/system/cpu/cpu$cpu/online
			await enabled || break
		fi
		usleep 300000
		[ $((rounds % 50)) != 0 ] || for hog in $hogs; do
			taskset -p $all $hog >/dev/null
			renice 0 -p $hog >/dev/null
			before=$(ran $hog); sleep 3; [ $(ran $hog) -gt $before ] || echo "FAIL: $hog does not run"
		done
		[ $((rounds % 10)) != 0 ] || echo "after round $rounds: $(cut -d' ' -f1 /proc/uptime) s"
		kill -0 $soak 2>/dev/null || { echo "FAIL: the command has ended"; break; }
	done
	for hog in $hogs; do kill -0 $hog || echo "FAIL: $hog is gone"; done
	/fairground live status >/tmp/status || echo "FAIL: no status"
	cat /tmp/status
	! grep 'there was no room' /tmp/status || echo "FAIL: groups of removed cgroups stay"
	kill -TERM $soak; wait $soak; code=$?
	echo "rounds $rounds, ended with $code"
	[ $code = 0 ] || echo "FAIL: the command ended with $code"
	await disabled
	kill $hogs
	grep -c 'starting anew' /tmp/err | sed 's/^/starts after hotplug: /'
	grep -v -e 'starting anew' -e '^fairground schedules' -e '^note:' /tmp/err
	! grep -q 'triggered exit' /tmp/out || tail -n 300 /tmp/out

	# Evenly mixed: a run that is cut short has some of both.
	ends=0 kills=0 ended=0 killed=0
	while [ $((ends + kills)) -lt $((STARTS + KILLS)) ]; do
		start
		if [ $kills -lt KILLS ] && [ $((kills * STARTS)) -lt $((ends * KILLS)) ] || [ $ends -ge STARTS ]; then
			kills=$((kills + 1))
			await enabled && { kill -KILL $pid; wait $pid; await disabled; } && killed=$((killed + 1))
		else
			ends=$((ends + 1))
			await enabled && kill -TERM $pid && wait $pid && await disabled && ended=$((ended + 1))
		fi
		[ $(((ends + kills) % 10)) != 0 ] || echo "after $ends starts and $kills kills: $ended and $killed as they should, $(cut -d' ' -f1 /proc/uptime) s"
	done 2>/dev/null
	echo "starts $ended"
	echo "kills $killed"
	sync; poweroff -f
	END
}

# arm64_busybox: for a guest of another processor than this machine.
arm64_busybox() {
	local folder=$build/busybox
	[ -x "$folder/root/bin/busybox" ] || unpack "$folder" "$(codename)" arm64 busybox-static
	echo "$folder/root/bin/busybox"
}

# boot: in virtual time if BUILD has a device tree.
boot() {
	if [ -e "$build/symmetric.dtb" ]; then
		guest_boot symmetric "$build" soak "rdinit=/bin/sh -- /init"
		return
	fi
	timeout --foreground -k 5 $((minutes * 60 + (starts + kills) * 60 + 600)) qemu-system-x86_64 -M pc -accel "${FAIRGROUND_ACCEL:-tcg,thread=multi}" \
		-cpu max,-arch-capabilities -smp 4 -m 2048 -nodefaults -no-reboot -nographic -serial stdio -monitor none \
		-kernel "$build/Image" -initrd "$build/soak.gz" -append "console=ttyS0 quiet panic=-1 rdinit=/bin/sh -- /init" </dev/null
}

busybox=/bin/busybox
[ ! -e "$build/symmetric.dtb" ] || busybox=$(arm64_busybox)
[ -x "$busybox" ] || fail "there is no $busybox (Debian package busybox-static)"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{bin,proc,sys,dev,tmp}
cp "$busybox" "$root/bin/busybox"
ln -s busybox "$root/bin/sh"
cp "$program" "$root/fairground"
cp "$here/workloads/rt.json" "$root/"
{ script | sed "s/MINUTES/$minutes/; s/STARTS/$starts/g; s/KILLS/$kills/g; s/\$SCHED/fair:v$(cut -d- -f1 "$build/release")/"; } >"$root/init"
chmod +x "$root/init"
(cd "$root" && find . | LC_ALL=C sort | cpio -o -H newc --quiet | gzip -n1) >"$build/soak.gz"
boot | stdbuf -o0 tr -d '\r' >"$build/soak.log" || fail "the guest did not end"
! grep -q FAIL "$build/soak.log" || fail "$(grep -m 1 FAIL "$build/soak.log")"
for wanted in "starts $starts" "kills $kills"; do grep -qx "$wanted" "$build/soak.log" || fail "not \"$wanted\""; done
grep -E '^(rounds|starts|kills)|went without one|times a task had waited' "$build/soak.log"
