#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Unpacks the QEMU of Debian's backports into FOLDER, beside the installed one, and prints a program that starts it. Nothing is installed.
# Usage: guest/newer_qemu.sh FOLDER
#
# For guests with a scheduler of ours: QEMU 7.2 of Debian 12 with -icount leaves CPUs behind one that computes without a turn (docs/live.md).
# What booted kernels decided is recorded with the installed QEMU (recorded/), and is compared with that.
set -euo pipefail
mkdir -p "${1:?a folder}"
folder=$(cd "$1" && pwd)
program=$folder/qemu

if [ ! -x "$program" ]; then
	. /etc/os-release
	site=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $VERSION_CODENAME" | head -n 1)
	[ -n "$site" ] || { echo "newer_qemu.sh: apt has no archive of $VERSION_CODENAME" >&2; exit 1; }
	mkdir -p "$folder"/{lists/partial,cache/archives/partial,root}
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site $VERSION_CODENAME-backports main" >"$folder/sources.list"
	apt() {
		apt-get -qq -o Dir::Etc::sourcelist="$folder/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$folder/lists" \
			-o Dir::Cache="$folder/cache" -o APT::Sandbox::User=root "$@" >&2
	}
	apt update
	(cd "$folder" && apt download qemu-system-arm qemu-system-data)
	for package in "$folder"/*.deb; do dpkg-deb -x "$package" "$folder/root"; done
	printf '#!/bin/sh\nexec "%s/root/usr/bin/qemu-system-aarch64" -L "%s/root/usr/share/qemu" "$@"\n' "$folder" "$folder" >"$folder/qemu.new"
	chmod +x "$folder/qemu.new"
	"$folder/qemu.new" --version >/dev/null
	mv "$folder/qemu.new" "$program"
fi
echo "$program"
