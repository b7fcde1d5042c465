#!/usr/bin/env bash
# Executes the commands that README.md and docs/*.md show in ```sh blocks, each file in a directory of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

cargo build --quiet --release -p fairground-cli
PATH=$(realpath "${CARGO_TARGET_DIR:-target}")/release:$PATH
ran=0
for page in README.md docs/*.md; do
	script=$(awk '/^```sh$/ {on = 1; next} /^```/ {on = 0} on' "$page")
	[ -n "$script" ] || continue
	dir=$(mktemp -d)
	ln -s "$root"/{machines,workloads,Cargo.toml,Cargo.lock,crates,policy,published} "$dir"/
	echo "$page"
	# `cargo run` in a page means the program just built.
	if ! (cd "$dir" && bash -euo pipefail -c "${script//cargo run --release --/fairground}" >"$dir/out" 2>&1); then
		tail -n 20 "$dir/out"
		echo "docs: a command of $page failed"
		exit 1
	fi
	rm -r "$dir"
	ran=$((ran + 1))
done
[ $ran -gt 0 ] || { echo "docs: no page shows a command"; exit 1; }
echo "docs: the commands of $ran pages ran"
