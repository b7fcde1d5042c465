#!/usr/bin/env bash
# The referee finds patches: each script of crates/linux/tests/patches edits a copy of a 6.12 tree, and the row that its head
# names must be among those that `kernel agree --against` calls changed, which `--fail-if` says by its exit code. Then `diff`
# must say why a run of the copy differs from one of the tree, by the lines that the head names.
#
#   tests/patches.sh TREE      FAIRGROUND (the command) and FAIRGROUND_CACHE may be set
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# = 1 ] || { echo "patches.sh: expected a kernel tree" >&2; exit 2; }
tree=$(realpath "$1")
FAIRGROUND=$(tests/build.sh)
work=$(mktemp -d -p "$(dirname "$tree")")
trap 'rm -rf "$work"' EXIT
head() { sed -n "s/^# $1: //p" "$2" | sed 1q; }

"$FAIRGROUND" kernel build "$tree" --name patches-base
# Each row is `KIND RULE`.
changed() {
	local status=0
	"$FAIRGROUND" kernel agree "$1" --against "$2" --balance --picks --governor "$3" --decisions 3000 \
		--shape hikey960 --fail-if 'changed>0' --format json >"$work/report" || status=$?
	[ $status = 3 ] || { echo "patches.sh: $1 --fail-if changed>0 ended with $status, expected 3" >&2; exit 1; }
	python3 -c '
import json, sys
against = json.load(sys.stdin)["against"]
if not against["parted"]["found"]:
    sys.exit("patches.sh: no run of the two kernels parts")
for row in against["rows"]:
    if row["changed"]:
        print(row["kind"], row["rule"])' <"$work/report"
}
# traced KERNEL MACHINE WORKLOAD [OPTION...]: its trace with reasons.
traced() {
	local kernel=$1 machine=$2 load=$3
	shift 3
	"$FAIRGROUND" run "$machine" "$load" --sched "linux:$kernel" "$@" --trace "$work/$kernel.txt" --why >/dev/null
}
for script in crates/linux/tests/patches/*.sed; do
	name=$(basename "$script" .sed)
	crates/linux/tests/before/edit "$(realpath "$script")" "$tree" "$work/$name"
	"$FAIRGROUND" kernel build "$work/$name" --name "patches-$name"
	governor=$(head governor "$script")
	rows=$(changed "patches-$name" patches-base "${governor:-performance}")
	echo "$name: ${rows//$'\n'/; }"
	grep -qxF "$(head row "$script")" <<<"$rows" || { echo "patches.sh: $name does not show in the row $(head row "$script")"; exit 1; }
	for kernel in patches-base "patches-$name"; do
		# shellcheck disable=SC2046  # machine, workload and options are words
		traced "$kernel" $(head run "$script")
	done
	"$FAIRGROUND" diff "$work/patches-base.txt" "$work/patches-$name.txt" >"$work/diff"
	while read -r line; do
		grep -q -- "$line" "$work/diff" || { cat "$work/diff"; echo "patches.sh: diff does not explain $name: no line $line"; exit 1; }
	done < <(sed -n 's/^# diff: //p' "$script")
done
