#!/usr/bin/env bash
# The command as one static program that can be copied to a board: for x86-64 and arm64, with musl, built by zig's C
# compiler, which carries the headers of both. Then what it does there: a run is the same as that of the command for this
# machine, workloads are played, and what a static program cannot do is refused. The program of the other architecture runs
# under qemu-user.
#
#   tests/static.sh [TARGET...]     x86_64 and aarch64 unless some are named
#
# Programs end up in target/static/TARGET/fairground. Exit code 77: zig, a target or qemu-user is not there and cannot be
# installed.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || set -- x86_64 aarch64
venv=target/python
[ -x $venv/bin/pip ] || python3 -m venv $venv || exit 77
$venv/bin/python -c 'import ziglang' 2>/dev/null && [ -x $venv/bin/cargo-zigbuild ] ||
	$venv/bin/pip install -q 'cargo-zigbuild>=0.20,<1' 'ziglang>=0.13,<0.16' || exit 77
PATH=$PWD/$venv/bin:$PATH
FAIRGROUND=$(tests/build.sh)
tree=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "static.sh: $*" >&2
	exit 1
}

# try_program CPU COMMAND...: what the users of a board need, away from this tree.
try_program() {
	local cpu=$1 machine workload run code=0
	shift
	cd "$work"
	for machine in hikey960 kunpeng920; do
		run=(run $machine hackbench:groups=1,loops=20 --sched fair:v6.12 --format json)
		"$FAIRGROUND" "${run[@]}" | grep '^ *"hash"' >here
		"$@" "${run[@]}" | grep '^ *"hash"' >there
		cmp here there || fail "$cpu: another run on $machine"
	done
	local workloads=(sched-pipe:loops=200 hackbench:groups=1,loops=5)
	# qemu-user 7.2 aborts where a process that was forked from one with several threads creates a thread.
	[ $# != 1 ] || workloads+=("$tree/workloads/ping-pong.json" schbench:runtime=0.1 sched-pipe:loops=200,threads)
	for workload in "${workloads[@]}"; do
		"$@" play "$workload" --rounds 1 --format json >played || fail "$cpu: $workload was not played"
		grep -q '"ended": "complete"' played || fail "$cpu: $workload did not come to its end"
	done
	echo '{ "tasks": { "t": { "process": "p", "loop": 3, "execve": 1, "run": 10 } } }' >exec.json
	"$@" play exec.json --rounds 1 >played 2>error || code=$?
	if [ $# != 1 ]; then
		# qemu-user gives the program to this machine's kernel.
		[ $code = 0 ] || grep -q '(Exec): Exec format error' error || fail "$cpu: execve: code $code, $(cat error)"
	else
		[ $code = 0 ] || fail "$cpu: execve: code $code, $(cat error)"
		: >library.so
		code=0
		"$@" --allow-library run hikey960 sched-pipe:loops=20 --sched linux:"$work/library.so" 2>error || code=$?
		[ $code = 1 ] || fail "$cpu: linux: code $code, $(cat error)"
		tr -s ' |\n' ' ' <error | grep -q 'this command is a static program' || fail "$cpu: linux: $(cat error)"
	fi
	cd - >/dev/null
}

for cpu; do
	[ "$cpu" = "$(uname -m)" ] || command -v qemu-"$cpu" >/dev/null || { echo "there is no qemu-$cpu"; exit 77; }
	rustup target add "$cpu-unknown-linux-musl" >/dev/null 2>&1 || { echo "there is no Rust for $cpu with musl"; exit 77; }
	cargo zigbuild --quiet --release --target "$cpu-unknown-linux-musl" -p fairground-cli
	mkdir -p "target/static/$cpu"
	cp "${CARGO_TARGET_DIR:-target}/$cpu-unknown-linux-musl/release/fairground" "target/static/$cpu/"
	program=$PWD/target/static/$cpu/fairground
	readelf -ld "$program" >"$work/headers"
	! grep -E 'INTERP|NEEDED' "$work/headers" || fail "$cpu: it asks for an interpreter or a library"
	case $cpu in
	"$(uname -m)") try_program "$cpu" "$program" ;;
	*) try_program "$cpu" qemu-"$cpu" "$program" ;;
	esac
	echo "$cpu: $(stat -c %s "$program") bytes"
done
