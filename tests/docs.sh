#!/usr/bin/env bash
# Executes the commands that README.md, docs/*.md and docs/reproduction/*.md show in ```sh blocks, each file in a directory of its own.
#
#   tests/docs.sh              all but docs/kernel.md, which wants a kernel tree beside it, and pages with sweeps, which want
#                              the Python package: tests/python.sh
#   tests/docs.sh PAGE DIR     one page, in this directory
set -euo pipefail
limit=1800 # s for a page, as a bound
cd "$(dirname "$0")/.."
root=$PWD

# What pages call `cargo run` is what tests run. That it means the command, and no other program of the workspace, is for
# tests/fresh.sh to find out.
PATH=$(dirname "$(tests/build.sh)"):$PATH

# page PAGE DIR: in DIR, which gets the data of the repository.
page() {
	local script
	script=$(awk '/^```sh$/ {on = 1; next} /^```/ {on = 0} on' "$1")
	ln -s "$root"/{machines,workloads,Cargo.toml,Cargo.lock,crates,policy,published} "$2"/
	echo "$1"
	# `cargo run` in a page means the program just built.
	(cd "$2" && timeout $limit bash -euo pipefail -c "${script//cargo run --release --/fairground}" >"$2/out" 2>&1) && return
	local code=$?
	tail -n 20 "$2/out"
	[ $code = 124 ] && echo "docs: the commands of $1 took more than $limit s" || echo "docs: a command of $1 failed"
	exit 1
}

if [ $# = 2 ]; then
	page "$1" "$2"
	exit
fi
ran=0
for file in README.md docs/*.md docs/reproduction/*.md; do
	[ "$file" != docs/kernel.md ] && grep -q '^```sh$' "$file" && ! grep -q '^fairground sweep' "$file" || continue
	dir=$(mktemp -d)
	page "$file" "$dir"
	rm -r "$dir"
	ran=$((ran + 1))
done
[ $ran -gt 0 ] || { echo "docs: no page shows a command"; exit 1; }
echo "docs: the commands of $ran pages ran"
