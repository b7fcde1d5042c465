#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds the guest from a kernel tree, which is only read: kernel, BPF library and programs, init, device trees.
# Usage: guest/build.sh [--live [--x86]] TREE OUT		OUT is kept: a second call builds what changed
# --live: the kernel of live.sh, with live.config. --x86: for x86-64, with x86.config, and without what only recordings need
#
# Debian 12: flex bison bc libelf-dev dwarves bpftool clang-19 llvm-19 lld-19 cpio python3 device-tree-compiler
# qemu-system-arm libc6-dev-arm64-cross libgcc-12-dev-arm64-cross. libelf and zlib for arm64 are fetched by apt into OUT.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/qemu.sh"
. "$here/packages.sh"
live=no x86=no
[ "${1:-}" != --live ] || { live=yes; shift; }
[ "${1:-}" != --x86 ] || { x86=yes; shift; }
tree=$(cd "${1:?a kernel tree}" && pwd)
mkdir -p "${2:?a folder to build in}"
out=$(cd "$2" && pwd)
arch=arm64 image=arch/arm64/boot/Image libraries=$out/arm64/root/usr/lib/aarch64-linux-gnu
cross="clang-19 --target=aarch64-linux-gnu"
if [ $x86 = yes ]; then
	arch=x86_64 image=arch/x86/boot/bzImage libraries=/usr/lib/x86_64-linux-gnu
	cross="clang-19 --target=x86_64-linux-gnu"
fi
# vmlinux.h has structs within structs by their tag alone where a kernel has (7.x).
bpf="clang-19 -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_arm64 -Wall -Werror -fms-extensions -Wno-microsoft-anon-tag"

for tool in flex bison bc pahole bpftool clang-19 ld.lld-19 llvm-ar-19 llc-19 cpio python3 dtc qemu-system-aarch64; do
	command -v $tool >/dev/null || { echo "guest/build.sh: needs $tool" >&2; exit 1; }
done

# The same bytes, whoever builds and when.
export KBUILD_BUILD_TIMESTAMP=2026-01-01 KBUILD_BUILD_USER=fairground KBUILD_BUILD_HOST=guest
kbuild() { make -s -C "$tree" O="$out/kernel" ARCH=$arch LLVM=-19 RUSTC=false "$@"; }

# The lines of kernel.config that count for the tree's release, and instead of some those of live.config and x86.config.
options() {
	local release more=()
	[ $live = no ] || more+=("$here/live.config")
	[ $x86 = no ] || more+=("$here/x86.config")
	release=$(kbuild kernelversion)
	awk -v release="$release" '
		function option(line) { return match(line, /CONFIG_[A-Z0-9_]+/) ? substr(line, RSTART, RLENGTH) : "" }
		/^(# )?CONFIG/ { last[option($0)] = NR }
		{ line[NR] = $0 }
		END { for (i = 1; i <= NR; i++) if (line[i] !~ /^(# )?CONFIG/ || last[option(line[i])] == i) print line[i] }
	' <(counting_options "$release") "${more[@]}"
}

# counting_options RELEASE
counting_options() {
	awk -v release="$1" '
		function number(text,   part) { split(text, part, "."); return part[1] * 1000 + part[2] }
		BEGIN { counts = 1 }
		/^# (since|until) / { counts = $2 == "since" ? number(release) >= number($3) : number(release) <= number($3); next }
		counts' "$here/kernel.config"
}

kernel() {
	local option
	mkdir -p "$out/kernel"
	options >"$out/wanted.config"
	if ! cmp -s "$out/wanted.config" "$out/kernel.config"; then
		kbuild tinyconfig
		(cd "$tree" && scripts/kconfig/merge_config.sh -O "$out/kernel" -m "$out/kernel/.config" \
			"$out/wanted.config" >/dev/null)
		kbuild olddefconfig
		cp "$out/wanted.config" "$out/kernel.config"
	fi
	grep '^CONFIG' "$out/wanted.config" | while read -r option; do
		grep -qx "$option" "$out/kernel/.config" ||
			{ echo "guest/build.sh: this tree has not $option of guest/kernel.config" >&2; exit 1; }
	done
	kbuild -j"$(nproc)" "${image##*/}" 2>&1 | grep -v 'resolve_btfids: unresolved symbol' || true
	cp "$out/kernel/$image" "$out/Image"
	kbuild kernelrelease >"$out/release"
}

foreign_libraries() {
	[ ! -e "$out/arm64/done" ] || return 0
	unpack "$out/arm64" "$(codename)" arm64 libelf-dev zlib1g-dev
	touch "$out/arm64/done"
}

# The tree's own libbpf: Debian's is too old for arenas.
bpf_library() {
	local lib=$tree/tools/lib/bpf to=$out/libbpf
	[ ! -e "$to/libbpf.a" ] || return 0
	mkdir -p "$to/include/bpf"
	grep -o '[a-z0-9_]*\.o' "$lib/Build" | sed 's/\.o$//' |
		xargs -P "$(nproc)" -I{} $cross -O2 -D_LARGEFILE64_SOURCE \
		-D_FILE_OFFSET_BITS=64 -I"$tree/tools/include" -I"$tree/tools/include/uapi" -I"$lib" \
		-I"$out/arm64/root/usr/include" -c "$lib/{}.c" -o "$to/{}.o"
	cp "$lib"/*.h "$to/include/bpf/"
	python3 -B "$tree/scripts/bpf_doc.py" --header --file "$tree/include/uapi/linux/bpf.h" \
		>"$to/include/bpf/bpf_helper_defs.h"
	llvm-ar-19 rcs "$to/libbpf.a" "$to"/*.o
}

programs() {
	local policy=$here/../policy small="-DFG_NR_CPUS=64 -DFG_MASK_WORDS=1"
	bpftool btf dump file "$out/kernel/vmlinux" format c >"$out/vmlinux.h"
	$bpf -I"$out" -I"$out/libbpf/include" -c "$here/bpf/watch.bpf.c" -o "$out/watch.bpf.o"
	$bpf $small -fvisibility=hidden -iquote "$policy" -S -emit-llvm "$here/bpf/wake.bpf.c" -o "$out/wake.ll"
	python3 "$here/../crates/live/bpf/arena.py" <"$out/wake.ll" >"$out/wake-arena.ll"
	llc-19 -march=bpf -mcpu=v3 -filetype=obj "$out/wake-arena.ll" -o "$out/wake.bpf.o"
	program "$here/init.c" -o "$out/play"
	program "$here/commands.c" -o "$out/commands"
	program $small -iquote "$policy" "$here/verdicts.c" -Wl,-T,"$here/arena.ld" -o "$out/verdicts"
}

# program OPTION...: a program that a guest runs as init.
program() {
	$cross -O2 -Wall -Wextra -Werror -Wno-unused-function -static -fuse-ld=lld -s -I"$out/libbpf/include" "$@" \
		"$out/libbpf/libbpf.a" -L"$libraries" -lelf -lz
}

# initramfs PROGRAM FILE...: what a guest has that runs PROGRAM.
initramfs() {
	local root=$out/initramfs name=$1
	shift
	rm -rf "$root"
	mkdir -p "$root"/{proc,sys,dev}
	cp "$out/$name" "$root/init"
	cp "$@" "$root/"
	find "$root" -exec touch -h -d 2026-01-01 {} +
	(cd "$root" && find . | LC_ALL=C sort | cpio -o -H newc --quiet --reproducible | gzip -n9) >"$out/$name.gz"
}

# What a recording was made with.
recipe() {
	echo "kernel $(cat "$out/release")"
	echo "kernel.config sha256 $(sha256sum <"$here/kernel.config" | cut -d' ' -f1)"
	echo ".config sha256 $(sha256sum <"$out/kernel/.config" | cut -d' ' -f1)"
	for file in kernel/sched/fair.c kernel/sched/core.c kernel/sched/topology.c kernel/sched/pelt.c; do
		echo "$file sha256 $(sha256sum <"$tree/$file" | cut -d' ' -f1)"
	done
	qemu-system-aarch64 --version | head -n 1
	clang-19 --version | head -n 1
	for file in Image play.gz; do echo "$file sha256 $(sha256sum <"$out/$file" | cut -d' ' -f1)"; done
	echo "icount shift 3 (8 ns an instruction), seeds 1 to 5"
}

kernel
[ $x86 = yes ] || foreign_libraries
bpf_library
if [ $x86 = yes ]; then
	program "$here/commands.c" -o "$out/commands"
	exit
fi
programs
grep '^[a-z]' "$here/scenarios.txt" >"$out/scenarios"
initramfs play "$out/watch.bpf.o" "$out/scenarios"
initramfs verdicts "$out/wake.bpf.o"
machines=$(guest_machines)
[ $live = no ] || machines="$machines $(live_machines)"
for machine in $machines; do "$here/devicetree.sh" "$machine" "$out/$machine.dtb"; done
recipe >"$out/recipe.txt"
