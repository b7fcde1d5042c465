#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The policy schedules a guest: starts `fairground live` there, plays workloads, changes a feature, ends it in three ways. Nothing
# may stall, and the kernel's fair class has to be in charge afterwards.
# Usage: guest/live.sh BUILD		BUILD: what guest/build.sh wrote
#
# The command is built for arm64 as a static program, with libelf of BUILD. What the guest printed is in BUILD/live.log.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/qemu.sh"
build=$(cd "${1:?what guest/build.sh wrote}" && pwd)
target=aarch64-unknown-linux-gnu
tree=$here/..

fail() {
	echo "live.sh: $(cat "$build/release"): $*; all of it is in $build/live.log" >&2
	exit 1
}

# The command as a program for arm64.
cross_build() {
	local tools=$build/cross
	mkdir -p "$tools"
	printf '#!/bin/sh\nexec clang-19 --target=aarch64-linux-gnu -fuse-ld=lld "$@"\n' >"$tools/cc"
	chmod +x "$tools/cc"
	rustup target add $target >/dev/null 2>&1 || { echo "live.sh: rustup has no $target"; exit 77; }
	(cd "$tree" && env CC_aarch64_unknown_linux_gnu="$tools/cc" AR_aarch64_unknown_linux_gnu=llvm-ar-19 \
		CFLAGS_aarch64_unknown_linux_gnu="-I$build/arm64/usr/include -Wno-unused-command-line-argument" \
		CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER="$tools/cc" \
		CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS="-C target-feature=+crt-static -C link-arg=-L$build/arm64/usr/lib/aarch64-linux-gnu" \
		LIBBPF_SYS_LIBRARY_PATH="$build/arm64/usr/lib/aarch64-linux-gnu" \
		cargo build --quiet --config profile.dev.debug=0 --target $target -p fairground-cli --features live-static)
	llvm-strip-19 -o "$build/fairground" "${CARGO_TARGET_DIR:-$tree/target}/$target/debug/fairground"
}

# commands RELEASE: for guest/commands.c
commands() {
	local start="&/fairground live start --sched fair:v$1 --hz 250" state=/sys/kernel/sched_ext/state
	cat <<-EOF
	$start
	await $state enabled
	/fairground play sched-pipe:loops=200 --rounds 1
	/fairground play hackbench:groups=2,loops=20,pipe --rounds 1
	/fairground live set +asym-prev-first
	/fairground play schbench:runtime=1 --rounds 1
	/fairground live status
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
	EOF
}

cross_build
root=$build/live-root
rm -rf "$root"
mkdir -p "$root"/{proc,sys,dev}
cp "$build/commands" "$root/init"
cp "$build/fairground" "$root/"
commands "$(cut -d- -f1 "$build/release")" >"$root/commands"
(cd "$root" && find . | LC_ALL=C sort | cpio -o -H newc --quiet --reproducible | gzip -n1) >"$build/live.gz"
guest_boot symmetric "$build" live "" | tr -d '\r' >"$build/live.log" || fail "the guest did not end"

# What was killed ends by its signal, all else with 0.
ends=$(grep '^= ' "$build/live.log" | tr '\n' ' ' || true)
[ "$ends" = "= 0 = 0 = 0 = 0 = 0 = 0 = 0 = 0 = 0 = 0 = 0 = 0 = -9 = 0 = 0 " ] || fail "programs ended with: $ends"
! grep -q 'kernel ended the scheduler' "$build/live.log" || fail "the kernel ended the scheduler"
placed=$(grep -m 1 -o '^[0-9]* placements' "$build/live.log" | cut -d' ' -f1 || true)
[ "${placed:-0}" -gt 500 ] || fail "$placed placements"
echo "$(cat "$build/release"): $placed placements, no stall; ended three times, and the fair class is in charge"
