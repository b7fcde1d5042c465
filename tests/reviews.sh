#!/usr/bin/env bash
# Series of patches on Debian's 6.12, reviewed as a user does it: from a range, a mailbox and patch files, on a farm, and bisected.
# Exit code 77: all but the farm, as there is no pip, or it reaches no packages.
set -euo pipefail
cd "$(dirname "$0")/.."
FAIRGROUND=$(tests/build.sh)
kernels=$(realpath -m "${CARGO_TARGET_DIR:-target}")/kernels
mkdir -p "$kernels"
tree=$(tests/unpack.sh 6.12 "$kernels")
work=$(mktemp -d -p "$kernels")
trap 'rm -rf "$work"' EXIT
export FAIRGROUND_CACHE=$work/cache
tests/series.sh "$tree" "$work/tree"
root=$PWD
cd "$work"

cat >small.toml <<'END'
seeds = 8
draws = 0
[[block]]
machines = ["hikey960", "kunpeng920"]
workloads = ["sched-pipe:loops=200"]
END

fail() {
	echo "reviews.sh: $1" >&2
	cat "$work/$2" >&2
	exit 1
}

# review FILE WHAT...: the answer on a series goes to FILE, the exit code to the caller.
review() { "$FAIRGROUND" review tree "${@:2}" --matrix small.toml >"$1"; }

# without_origin FILE: an answer without what says where its series comes from.
without_origin() { sed -e 1d -e '/^  series: /d' -e '/^  base: /d' -e '/^  \$ fairground review /d' "$1"; }

# has FILE LINE...: the answer has these lines.
has() {
	local line
	for line in "${@:2}"; do
		grep -qxF -- "$line" "$1" || fail "$1 lacks \"$line\":" "$1"
	done
}

echo "--- comments and blanks"
review nothing base..nothing
has nothing "same code: nothing that runs differs, and nothing was run."

echo "--- a regression on one machine, in patch 2 of 4"
review range base..planted
has range "of 4 rows, 2 worse and 0 better." "  sched-pipe:loops=200 on kunpeng920" "       same code"
[ "$(grep -c '^    by 2/4 -[0-9.]* %' range)" = 2 ] || fail "the rows are not by 2/4 alone:" range

echo "--- the same from a mailbox"
review mailbox tree.planted.mbox
has mailbox "tree.planted.mbox: v2, 4 patches; left out: its cover letter"
cmp <(without_origin range) <(without_origin mailbox) || fail "range and mailbox differ:" mailbox

echo "--- a patch that does not compile, from files"
git -C tree format-patch -q -o "$work/patches" base..broken
code=0
review broken patches/*.patch 2>words || code=$?
[ $code = 1 ] || fail "a broken patch ends with $code:" broken
has broken "       does not compile: compiling failed:" "  2/3  sched/fair: mend it, and do not look at the recently used CPU" "  sched-pipe:loops=200 on hikey960, kunpeng920"
has words "some patches or runs failed: the answer names them"

echo "--- bisected"
"$FAIRGROUND" bisect tree base..planted --machine hikey960 --workload sched-pipe:loops=200 --threshold -10 >bisected
has bisected "first beyond it: 2/4 sched/fair: do not prefer an idle previous CPU in pairs of small caches"

echo "--- on a farm"
farm=0
(cd "$root" && FAIRGROUND_VENV=$kernels/python FAIRGROUND_SERIES=$work/tree tests/python.sh python/tests/test_farm.py -k 'farm_has_the_answer and patches') || farm=$?
[ $farm = 0 ] || [ $farm = 77 ] || exit $farm

echo "--- a file that changes while its kernel is built"
# By the compiler, which stands in the path.
mkdir bin
cat >bin/gcc <<END
#!/bin/sh
echo "extern int edited_\$\$;" >>"$work/plain/kernel/sched/pelt.c"
exec $(command -v gcc) "\$@"
END
chmod +x bin/gcc
git -C tree format-patch -q -o "$work/wakeup" base..wakeup
git -C tree worktree add -q --detach "$work/plain" base
code=0
PATH=$work/bin:$PATH "$FAIRGROUND" review plain wakeup/0003-*.patch --matrix small.toml >changed 2>words || code=$?
[ $code = 2 ] && grep -q 'pelt\.c was edited while' words || fail "a tree that changes is reviewed ($code):" words
exit $farm
