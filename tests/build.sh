#!/usr/bin/env bash
# Builds what the tests need, once and in one way, and prints where the command is: all crates but the benchmarks, with their
# tests and the Python package. What a single crate is built with depends on which others are built beside it, so nothing
# that tests run is built in another way.
#
#   FAIRGROUND=$(tests/build.sh)
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${FAIRGROUND:-}" ]; then
	cargo build --quiet --workspace --exclude fairground-bench --exclude fairground-live --all-targets >&2
	FAIRGROUND=$(realpath "${CARGO_TARGET_DIR:-target}")/debug/fairground
fi
echo "$FAIRGROUND"
