#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds the guest from Debian's kernel source, plays all scenarios again, and asks the verifier about the policy.
# Usage: guest/check.sh [FOLDER]		where tree and build are kept, target/guest unless given
# Ends with 77 where it cannot be done: tools are missing, or the apt tree is newer than what is recorded.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$here/../target/guest}
packages="linux-source-6.12 xz-utils flex bison bc libelf-dev libssl-dev dwarves bpftool clang-19 llvm-19 lld-19 cpio
	python3 device-tree-compiler qemu-system-arm libc6-dev-arm64-cross libgcc-12-dev-arm64-cross"

missing=()
for package in $packages; do dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package"); done
if [ ${#missing[@]} -gt 0 ]; then
	[ "$(id -u)" = 0 ] || { echo "guest/check.sh: install as root: ${missing[*]}"; exit 77; }
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
tarball=/usr/src/linux-source-6.12.tar.xz
if ! cmp -s <(stat -c '%s %Y' $tarball) "$folder/unpacked"; then
	rm -rf "$folder/tree"
	mkdir "$folder/tree"
	tar -xf $tarball -C "$folder/tree" --strip-components 1
	stat -c '%s %Y' $tarball >"$folder/unpacked"
fi

nice "$here/build.sh" "$folder/tree" "$folder/build"
"$here/record.sh" --verdicts "$folder/build"
release=$(cat "$folder/build/release")
[ -d "$here/recorded/$release" ] || { echo "nothing is recorded for $release: record it with guest/record.sh"; exit 77; }
"$here/record.sh" --check "$folder/build"
