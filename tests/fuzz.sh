#!/usr/bin/env bash
# Fuzzes the parsers of files from outside with libFuzzer, guided by coverage.
#
#   tests/fuzz.sh [INPUTS [PARSER...]]    500000 inputs for each of all parsers, by default
#
# Builds crates/fuzz with the coverage counters that cargo-fuzz asks for; stable Rust has them. Inputs that reach new code
# are kept in target/fuzz/PARSER/corpus, where the next run goes on. An input that a parser does not survive is written to
# target/fuzz/PARSER/found-* and fails the script; put it into crates/fuzz/found/PARSER with the fix.
set -euo pipefail
cd "$(dirname "$0")/.."
inputs=${1:-500000}
shift || true

command -v c++ >/dev/null || { echo "fuzz: there is no C++ compiler, which libFuzzer needs"; exit 77; }
dir=$(realpath "${CARGO_TARGET_DIR:-target}")/fuzz
host=$(rustc -vV | sed -n 's/^host: //p')
counters="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
counters+=" -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 --cfg fuzzing"
# Only what --target names is built with the counters: not build scripts and macros. Overflow panics, as in tests.
RUSTFLAGS="$counters" CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true \
	cargo build --release --quiet -p fairground-fuzz --features libfuzzer --bin fuzz-parser --target "$host" --target-dir "$dir/build"
fuzzer=$dir/build/$host/release/fuzz-parser
known=$("$(dirname "$(tests/build.sh)")/fuzz-seeds" "$dir")

failed=0
for parser in ${*:-$known}; do
	grep -qx "$parser" <<<"$known" || { echo "fuzz: no parser $parser; expected one of" $known >&2; exit 2; }
	mkdir -p "$dir/$parser/corpus"
	log=$dir/$parser/log
	known_bad=() # found before
	[ ! -d "crates/fuzz/found/$parser" ] || known_bad=("crates/fuzz/found/$parser")
	begin=$SECONDS
	if FUZZ_PARSER=$parser "$fuzzer" -runs="$inputs" -seed=1 -timeout=10 -rss_limit_mb=2048 \
		-dict="$dir/$parser/words.dict" -artifact_prefix="$dir/$parser/found-" \
		"$dir/$parser/corpus" "$dir/$parser/seeds" "${known_bad[@]}" >"$log" 2>&1; then
		echo "$parser: $(grep $'\tDONE' "$log" | sed 's/^#//; s/\t/ /g') ($((SECONDS - begin)) s)"
	else
		failed=1
		echo "$parser: not survived; the input and the cause:"
		tail -n 30 "$log"
	fi
done
exit $failed
