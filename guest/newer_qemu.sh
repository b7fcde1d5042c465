#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Unpacks the QEMU of Debian's backports into FOLDER, beside the installed one, and prints a program that starts it.
# Usage: guest/newer_qemu.sh FOLDER
#
# For guests with a scheduler of ours: QEMU 7.2 of Debian 12 with -icount leaves CPUs behind one that computes without a turn (docs/live.md).
# What booted kernels decided is recorded with the installed QEMU (recorded/), and is compared with that.
set -euo pipefail
. "$(cd "$(dirname "$0")" && pwd)/packages.sh"
mkdir -p "${1:?a folder}"
folder=$(cd "$1" && pwd)
program=$folder/qemu

if [ ! -x "$program" ]; then
	unpack "$folder" "$(codename)-backports" "$(dpkg --print-architecture)" qemu-system-arm qemu-system-data
	printf '#!/bin/sh\nexec "%s/root/usr/bin/qemu-system-aarch64" -L "%s/root/usr/share/qemu" "$@"\n' "$folder" "$folder" >"$folder/qemu.new"
	chmod +x "$folder/qemu.new"
	"$folder/qemu.new" --version >/dev/null
	mv "$folder/qemu.new" "$program"
fi
echo "$program"
