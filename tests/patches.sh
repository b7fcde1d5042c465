#!/usr/bin/env bash
# The referee finds patches: each script of crates/linux/tests/patches edits a copy of a 6.12 tree, and the row that its head
# names must be among those that `kernel agree --against` calls changed; without a patch no row is. Then `diff` must explain
# a patch by the picks that differ.
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
	"$FAIRGROUND" kernel agree "$1" --against "$2" --balance --picks --governor "$3" --decisions 3000 \
		--shape hikey960 --format json | python3 -c '
import json, sys
for row in json.load(sys.stdin)["against"]["rows"]:
    if row["changed"]:
        print(row["kind"], row["rule"])'
}
for script in crates/linux/tests/patches/*.sed; do
	name=$(basename "$script" .sed)
	crates/linux/tests/before/edit "$(realpath "$script")" "$tree" "$work/$name"
	"$FAIRGROUND" kernel build "$work/$name" --name "patches-$name"
	governor=$(head governor "$script")
	rows=$(changed "patches-$name" patches-base "${governor:-performance}")
	echo "$name: ${rows//$'\n'/; }"
	grep -qxF "$(head row "$script")" <<<"$rows" || { echo "patches.sh: $name does not show in the row $(head row "$script")"; exit 1; }
done

# The same by diff: both traces say why tasks were picked.
for kernel in patches-base patches-next-buddy patches-no-run-to-parity; do
	"$FAIRGROUND" run hikey960 schbench:runtime=0.2 --sched "linux:$kernel" --trace "$work/$kernel.txt" --why >/dev/null
done
"$FAIRGROUND" diff "$work/patches-base.txt" "$work/patches-next-buddy.txt" | tee "$work/diff"
grep -q '^ *0 .*pick: pick_next_entity: next buddy (buddy)$' "$work/diff"
"$FAIRGROUND" diff "$work/patches-base.txt" "$work/patches-no-run-to-parity.txt" | tee "$work/diff"
# Our policy would have kept the protected task.
grep -q '^ *0 .*: pick_next_task_fair: unexplained (unexplained)$' "$work/diff"
