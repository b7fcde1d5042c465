#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Builds the policy the three ways it must build, checks its format, and runs its tests, plain and sanitised.
# Usage: policy/check.sh [build directory]
set -eu
cd "$(dirname "$0")"
out=${1:-$(mktemp -d)}
mkdir -p "$out"

bpf_clang=${BPF_CLANG:-clang-19}
clang_format=${CLANG_FORMAT:-clang-format-19}
need() {
	command -v "$1" >/dev/null || { echo "policy/check.sh: needs $1" >&2; exit 1; }
}
for tool in gcc clang nm readelf "$bpf_clang" "$clang_format"; do need "$tool"; done

"$clang_format" --dry-run -Werror ./*.c ./*.h tests/*.c tests/*.h
echo "format: clean"

for cc in gcc clang; do
	$cc -std=c11 -O2 -Wall -Wextra -Werror -ffreestanding -c policy.c -o "$out/policy-$cc.o"
	# Neither libc nor what compilers like to call behind one's back (memcpy, memset, __udivti3).
	undefined=$(nm -u "$out/policy-$cc.o")
	if [ -n "$undefined" ]; then
		echo "policy/check.sh: $cc: calls outside the policy: $undefined" >&2
		exit 1
	fi
	echo "build $cc: clean"
done
# A chain of calls has 512 bytes; the deepest is a choice of CPU and one frame below it.
"$bpf_clang" -target bpf -mcpu=v3 -O2 -Wall -Werror -Wframe-larger-than=352 -c policy.c -o "$out/policy-bpf.o"
# Symbol 0 of every object is undefined and nameless.
undefined=$(readelf -Ws "$out/policy-bpf.o" | awk '$7 == "UND" && $8 != "" { print $8 }')
if [ -n "$undefined" ]; then
	echo "policy/check.sh: bpf: calls outside the policy: $undefined" >&2
	exit 1
fi
echo "build bpf: clean"

flags="-std=gnu11 -g -Wall -Wextra -Werror -Wno-unused-function"
for test in tests/*.c; do
	name=$(basename "$test" .c)
	for cc in gcc clang; do
		$cc $flags -O2 "$test" -o "$out/$name-$cc"
		printf '%s, %s: ' "$name" "$cc"
		"$out/$name-$cc"
		$cc $flags -O1 -fsanitize=address,undefined -fno-sanitize-recover=all "$test" -o "$out/$name-$cc-san"
		printf '%s, %s, sanitised: ' "$name" "$cc"
		"$out/$name-$cc-san"
	done
done
