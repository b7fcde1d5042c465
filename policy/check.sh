#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Builds the policy the three ways it must build, checks its format, and runs its tests as clang instruments them with
# sanitizers.
# Usage: policy/check.sh [--full]	--full: also without sanitizers, and with gcc
# ("one FOLDER FILE COMPILER plain|sanitised": this test only, which is how it calls itself in parallel)
set -eu
cd "$(dirname "$0")"

# One test built one way: FILE COMPILER plain|sanitised.
one_test() {
	name=$(basename "$1" .c)
	flags="-std=gnu11 -g -Wall -Wextra -Werror -Wno-unused-function"
	case $3 in
	plain) flags="$flags -O2" ;;
	sanitised) flags="$flags -O0 -fsanitize=address,undefined -fno-sanitize-recover=all" ;;
	esac
	# What a test does not call need not be compiled: half of the time.
	[ $2 != gcc ] || flags="$flags -fwhole-program"
	$2 $flags "$1" -o "$out/$name-$2-$3"
	status=0
	verdict=$("$out/$name-$2-$3" 2>&1) || status=$?
	echo "$name, $2, $3: $verdict"
	return $status
}
if [ "${1:-}" = one ]; then
	out=$2
	one_test "$3" "$4" "$5"
	exit
fi

case ${1:-} in
"") ways="clang:sanitised" ;;
--full) ways="gcc:plain gcc:sanitised clang:plain clang:sanitised" ;;
*) echo "policy/check.sh: no $1; without a word, or: --full" >&2; exit 2 ;;
esac
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

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
# A chain of calls has 512 bytes in a kernel of today. The deepest here (a slow-path choice, group statistics and their
# notes) may take more: the verifier has the last word, and guest/check.sh asks it. This only keeps single frames from
# growing unseen.
"$bpf_clang" -target bpf -mcpu=v3 -O2 -Wall -Werror -Wframe-larger-than=352 -c policy.c -o "$out/policy-bpf.o"
# Symbol 0 of every object is undefined and nameless.
undefined=$(readelf -Ws "$out/policy-bpf.o" | awk '$7 == "UND" && $8 != "" { print $8 }')
if [ -n "$undefined" ]; then
	echo "policy/check.sh: bpf: calls outside the policy: $undefined" >&2
	exit 1
fi
echo "build bpf: clean"

# A test that main() does not RUN would pass unseen.
names() { sed -n "s/^[[:space:]]*$1(\([A-Za-z0-9_]*\)).*/\1/p" "$2" | sort; }
for test in tests/*.c; do
	[ "$(names TEST "$test")" = "$(names RUN "$test")" ] && continue
	echo "policy/check.sh: $test: TEST and RUN name different tests" >&2
	exit 1
done

for test in tests/*.c; do
	for way in $ways; do echo "one $out $test ${way%:*} ${way#*:}"; done
done | xargs -P "$(nproc)" -n 5 ./check.sh
