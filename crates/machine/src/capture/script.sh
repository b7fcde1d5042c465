#!/bin/sh
# Makes a tarball of what `fairground machine capture` reads of a machine: topology, caches, clocks, capacities and idle
# states from sysfs, the energy model from debugfs, which root alone may read, and /proc/cpuinfo.
#
#   sh capture.sh [TARBALL [SYSFS]]
#
# TARBALL is machine.tar.gz unless named, SYSFS what is mounted on /sys. Runs under any POSIX shell, needs cat, mkdir, rm
# and tar, and gzip if there is one. Changes nothing but the tarball and, while it runs, TARBALL.d beside it.

tarball=${1:-machine.tar.gz}
sysfs=${2:-/sys}

case $tarball in
/*) ;;
*) tarball=$PWD/$tarball ;;
esac

fail() {
	echo "capture: $1" >&2
	exit 1
}

cd "$sysfs" || fail "there is no directory $sysfs"
[ -d devices/system/cpu ] || fail "$sysfs is not a sysfs tree: it has no devices/system/cpu"
work=$tarball.d
mkdir "$work" || fail "cannot make $work; name a tarball where you may write"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$work/sys"

taken=0

# take DIRS FILES: copies these files of all directories that match.
take() {
	found=
	for dir in $1; do
		[ -d "$dir" ] || continue
		mkdir -p "$work/sys/$dir"
		for file in $2; do
			[ -f "$dir/$file" ] || continue
			if cat "$dir/$file" >"$work/sys/$dir/$file" 2>/dev/null; then
				found=yes
				taken=$((taken + 1))
			else
				rm -f "$work/sys/$dir/$file"
				echo "capture: cannot read $dir/$file" >&2
			fi
		done
	done
	[ -n "$found" ] || echo "capture: nothing to read in $1" >&2
}

#FILES

cd "$work" || fail "cannot enter $work"
tar -cf all.tar * || fail "cannot pack with tar"
packed=all.tar
if ! command -v gzip >/dev/null; then
	echo "capture: no gzip, the tarball is not compressed" >&2
elif gzip -c all.tar >all.tar.gz; then
	packed=all.tar.gz
else
	fail "cannot pack with gzip"
fi
# Whole or not at all: a full disk leaves nothing.
if ! cat "$packed" >"$tarball"; then
	[ -f "$tarball" ] && rm -f "$tarball"
	fail "cannot write $tarball"
fi
echo "$tarball: $taken files"
