#!/usr/bin/env bash
# tests/unpack.sh RELEASE DIR: unpacks Debian's package linux-source-RELEASE below DIR, once for each version of the
# package, and prints the directory of the tree. Sources that no scheduler is made of stay in the archive. Two may do so
# at once.
set -euo pipefail
source=linux-source-$1
mkdir -p "$2"
version=$(dpkg-query -W -f '${Version}' "$source")
dir=$2/$source-${version//[^A-Za-z0-9.]/-}
if [ ! -d "$dir" ]; then
	find "$2" -mindepth 1 -maxdepth 1 -name "$source-*" ! -path "$dir" -exec rm -rf {} +
	work=$(mktemp -d -p "$2")
	tar -xJf "/usr/src/$source.tar.xz" -C "$work" --anchored \
		--exclude="$source/"{drivers,sound,fs,net,arch,crypto,samples}'/*.[chS]' \
		--exclude="$source/arch/*.dts*" --exclude="$source/tools/*" \
		--exclude="$source/Documentation/*."{rst,txt,yaml,svg}
	mv -T "$work/$source" "$dir" 2>/dev/null || [ -d "$dir" ]
	rm -rf "$work"
fi
echo "$dir"
