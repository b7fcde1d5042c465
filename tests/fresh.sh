#!/usr/bin/env bash
# As a new user: a clean clone, README's first command with an empty target directory, and a machine with a typo.
set -euo pipefail
cd "$(dirname "$0")/.."

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
git clone --quiet . "$dir/fairground"
cd "$dir/fairground"
unset CARGO_TARGET_DIR

start=$SECONDS
cargo run --release --quiet -- compare hikey960 sched-pipe:loops=200000 --base fair:v5.9 --test fair:v5.9+asym-prev-first
echo "first table after $((SECONDS - start)) s, build included"

sed 's/^name = .*/&\ntitel = "typo"/' machines/hikey960.toml >mine.toml
if cargo run --release --quiet -- run mine.toml sched-pipe:loops=100 --sched fair:v5.9 2>error.txt; then
	echo "a machine with an unknown key was accepted"
	exit 1
fi
cat error.txt
grep -q titel error.txt && grep -q 'title' error.txt

example=/usr/share/doc/rt-app/examples/tutorial/example1.json
if [ -f $example ]; then
	cargo run --release --quiet -- run hikey960 $example --sched fair:v5.11
else
	echo "SKIPPED: Debian's rt-app package is not installed"
fi
