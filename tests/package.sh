#!/usr/bin/env bash
# The Python package as tests import it, of the build that all tests share.
#
#   tests/package.sh DIR    puts it into DIR, which is removed and created again
set -euo pipefail
cd "$(dirname "$0")/.."
built=$(dirname "$(tests/build.sh)")
rm -rf "$1"
mkdir -p "$1"
cp -r python/fairground "$1"
cp "$built/lib_fairground.so" "$1/fairground/_fairground.abi3.so"
