#!/usr/bin/env bash
# Executes the commands that pages show in ```sh blocks, each page in a directory of its own.
#
#   tests/docs.sh              docs/*.md, but for kernel.md and conformance.md, which want a kernel tree, and pages with sweeps,
#                              which want the Python package: tests/python.sh
#   tests/docs.sh --full       README.md and docs/reproduction/*.md, whose runs are long, with a release build
#   tests/docs.sh PAGE DIR     one page, in this directory, where another page may have run
set -euo pipefail
limit=1800 # s for a page, as a bound
cd "$(dirname "$0")/.."
root=$PWD

pages=(docs/*.md)
if [ "${1:-}" = --full ]; then
	pages=(README.md docs/reproduction/*.md)
	# What README calls `cargo run` must mean the command and no other program of the workspace.
	cargo run --quiet --release -- --version >/dev/null
	FAIRGROUND=$(realpath "${CARGO_TARGET_DIR:-target}")/release/fairground
fi
PATH=$(dirname "$(FAIRGROUND=${FAIRGROUND:-} tests/build.sh)"):$PATH

# commands PAGE
commands() { awk '/^```sh$/ {on = 1; next} /^```/ {on = 0} on' "$1"; }

# page PAGE DIR: in DIR, which gets the data of the repository.
page() {
	local script
	script=$(commands "$1")
	ln -sfn "$root"/{machines,workloads,Cargo.toml,Cargo.lock,crates,policy,published} "$2"/
	echo "$1"
	# `cargo run` in a page means the program just built.
	(cd "$2" && timeout --foreground $limit bash -euo pipefail -c "${script//cargo run --release --/fairground}" >"$2/out" 2>&1) && return
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
for file in "${pages[@]}"; do
	[[ ! $file =~ /(kernel|conformance).md$ ]] && grep -q '^```sh$' "$file" && ! commands "$file" | grep -q '^fairground sweep' || continue
	dir=$(mktemp -d)
	page "$file" "$dir"
	rm -r "$dir"
	ran=$((ran + 1))
done
[ $ran -gt 0 ] || { echo "docs: no page shows a command"; exit 1; }
echo "docs: the commands of $ran pages ran"
