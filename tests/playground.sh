#!/usr/bin/env bash
# The playground: its runs are those of the command, hash by hash; its page in headless Chromium; its size.
#
#   tests/playground.sh [DIR]    pictures stay in DIR
#
# Exit code 77: Rust's target wasm32-unknown-unknown is not there and cannot be installed.
set -euo pipefail
cd "$(dirname "$0")/.."

rustup target add wasm32-unknown-unknown >/dev/null 2>&1 || { echo "there is no Rust for wasm32-unknown-unknown"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/other"
echo "of somebody else" >"$dir/other/index.html"
if playground/build.sh "$dir/other" 2>/dev/null || [ "$(ls "$dir/other")" != index.html ]; then
	echo "playground: the build writes into a folder of other files"
	exit 1
fi
playground/build.sh "$dir/page"

# What a server sends: every file compressed.
size=$(for file in "$dir"/page/*; do gzip -9 -c "$file" | wc -c; done | awk '{ sum += $1 } END { print sum }')
echo "playground: $size bytes compressed"
[ "$size" -le $((5 << 20)) ] || { echo "playground: more than 5 MiB"; exit 1; }

node tests/playground/hashes.mjs "$dir/page"
node tests/playground/page.mjs "$dir/page" ${1:+--pictures "$(realpath "$1")"}
