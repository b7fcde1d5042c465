#!/usr/bin/env bash
# Builds the playground: a folder that any web server serves, and that a browser opens from a disk or a file share.
#
#   playground/build.sh [--dev] [DIR]    into DIR [default: target/playground]; --dev: the profile that tests share
#
# DIR is made, or is empty, or was written by this script; other files in it stay.
#
# Needs Rust's target wasm32-unknown-unknown and clang-19, which compiles the policy for it.
set -euo pipefail
cd "$(dirname "$0")/.."

profile=release
[ "${1:-}" != --dev ] || { profile=dev; shift; }
out=${1:-target/playground}
if [ -n "$(ls -A "$out" 2>/dev/null)" ] && ! grep -q '^const FAIRGROUND_MODULE = ' "$out/module.js" 2>/dev/null; then
	echo "playground: expected an empty folder or an earlier playground, found other files in $out" >&2
	exit 1
fi
target=wasm32-unknown-unknown
export CC_wasm32_unknown_unknown=${CC_wasm32_unknown_unknown:-clang-19} AR_wasm32_unknown_unknown=${AR_wasm32_unknown_unknown:-llvm-ar-19}

# The stack is that of a thread of the command; a run may not take more memory than a page can have.
cargo rustc --quiet -p fairground-playground --lib --crate-type cdylib --target $target --profile $profile -- \
	-C link-arg=-zstack-size=4194304 -C link-arg=--max-memory=2147483648 -C strip=symbols
built=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/$target
[ $profile = dev ] && built=$built/debug || built=$built/release

mkdir -p "$out"
new=$(mktemp -d "${out%/}.XXXXXX")
trap 'rm -rf "$new"' EXIT
cp playground/{index.html,style.css,page.js,tour.js,worker.js,offline.js} crates/view/assets/view.css "$new"
# As SCRIPT of crates/view.
cat crates/view/assets/{model,view}.js >"$new/view.js"
cp crates/lab/src/page.css "$new/common.css"
# A page from a disk may read scripts, and no other file: the module is one, compressed, as text.
{
	printf 'const FAIRGROUND_MODULE = "'
	gzip -9 -n <"$built/fairground_playground.wasm" | base64 -w 0
	printf '";\n'
} >"$new/module.js"
# What was kept for offline use is replaced when anything has changed.
version=$(cd "$new" && cat -- * | sha256sum | cut -c1-16)
sed -i "s/@VERSION@/$version/" "$new/offline.js"
mv -f "$new"/* "$out"
