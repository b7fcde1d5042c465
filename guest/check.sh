#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# For each series of kernels that is recorded: builds the guest from Debian's kernel source, plays all scenarios again, and
# asks the verifier about the policy. With --live: the policy schedules each of them (guest/live.sh).
# Usage: guest/check.sh [--live] [FOLDER]		where trees and builds are kept, target/guest unless given
# A series is 6.12 of recorded/6.12.117. Its source is Debian's package, which is installed if apt has it, or a tree below
# the directory FAIRGROUND_TREES. Without either the series is skipped.
# Ends with 77 if nothing could be compared: tools are missing, or every source is missing or not the one recorded.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
live=no
[ "${1:-}" != --live ] || { live=yes; shift; }
folder=${1:-$here/../target/guest}
packages="xz-utils flex bison bc libelf-dev libssl-dev dwarves bpftool clang-19 llvm-19 lld-19 cpio python3
	device-tree-compiler qemu-system-arm libc6-dev-arm64-cross libgcc-12-dev-arm64-cross zlib1g-dev make pkg-config"

install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null; }

missing=()
for package in $packages; do dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package"); done
if [ ${#missing[@]} -gt 0 ]; then
	[ "$(id -u)" = 0 ] || { echo "guest/check.sh: install as root: ${missing[*]}"; exit 77; }
	install "${missing[@]}"
fi

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

if [ $live = yes ] && [ -z "${FAIRGROUND_QEMU:-}" ]; then
	FAIRGROUND_QEMU=$("$here/newer_qemu.sh" "$folder/qemu") || { echo "note: with the installed QEMU"; FAIRGROUND_QEMU=qemu-system-aarch64; }
	export FAIRGROUND_QEMU
fi

# unpacked SERIES: the tree of Debian's package, unpacked once for each version of it. Fails without the package.
unpacked() {
	local tarball=/usr/src/linux-source-$1.tar.xz tree=$folder/tree-$1
	if [ ! -e "$tarball" ] && [ "$(id -u)" = 0 ] && apt-cache show "linux-source-$1" >/dev/null 2>&1; then
		install "linux-source-$1" || return 1
	fi
	[ -e "$tarball" ] || return 1
	if ! cmp -s <(stat -c '%s %Y' "$tarball") "$tree.from"; then
		rm -rf "$tree" "$tree.from"
		mkdir "$tree"
		tar -xf "$tarball" -C "$tree" --strip-components 1 || return 1
		stat -c '%s %Y' "$tarball" >"$tree.from"
	fi
	echo "$tree"
}

# in_trees SERIES: the first tree below FAIRGROUND_TREES that is of this series.
in_trees() {
	local tree
	[ -n "${FAIRGROUND_TREES:-}" ] || return 1
	for tree in "$FAIRGROUND_TREES"/*/; do
		[ -e "$tree/kernel/sched/fair.c" ] || continue
		[ "$(sed -n 's/^VERSION = //p' "$tree/Makefile").$(sed -n 's/^PATCHLEVEL = //p' "$tree/Makefile")" = "$1" ] || continue
		echo "$tree"
		return
	done
	return 1
}

status=77
for one in $(find "$here/recorded" -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | sed 's/\.[^.]*$//' | sort -uV); do
	tree=$(unpacked "$one") || tree=$(in_trees "$one") || {
		echo "SKIPPED: there is no source of $one: install linux-source-$one, or name trees by FAIRGROUND_TREES"
		continue
	}
	build=$folder/build-$one
	if [ $live = yes ]; then
		build=$folder/live-$one
		nice "$here/build.sh" --live "$tree" "$build"
		"$here/live.sh" "$build"
		status=0
		continue
	fi
	nice "$here/build.sh" "$tree" "$build"
	"$here/record.sh" --verdicts "$build"
	release=$(cat "$build/release")
	[ -d "$here/recorded/$release" ] || {
		echo "SKIPPED: nothing is recorded for $release: record it with guest/record.sh"
		continue
	}
	"$here/record.sh" --check "$build"
	status=0
done
exit $status
