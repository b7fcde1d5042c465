#!/usr/bin/env bash
# Tests that start processes or send signals, and ./test itself, again and again: what fails once in a while shows here.
#
#   tests/repeat.sh processes [TIMES]    tests with processes and signals, 50 times beside four busy processes
#   tests/repeat.sh whole [TIMES]        ./test, 10 times
#
# target/repeat/KIND.log has a line for each repetition that has ended, with the commit. After an interruption the same
# command goes on with what is left for this commit. The output of a failed repetition is kept beside the log.
set -euo pipefail
cd "$(dirname "$0")/.."

kind=${1:-}
case $kind in
processes) times=${2:-50} busy=4 ;;
whole) times=${2:-10} busy=0 ;;
*) echo "repeat.sh: a kind is missing: processes or whole" >&2; exit 2 ;;
esac
[ -z "$(git status --porcelain)" ] || echo "repeat.sh: uncommitted changes are part of what is tested"
commit=$(git rev-parse --short HEAD)
out=target/repeat
log=$out/$kind.log
mkdir -p "$out"
touch "$log"

whole() { ./test; }

# Leaves out the tests that cannot run here, and names them.
processes() {
	cargo test --quiet --workspace --exclude fairground-bench --exclude fairground-live --test worker &&
		cargo test --quiet --workspace --exclude fairground-bench --exclude fairground-live --test cli -- worker:: interrupt &&
		cargo test --quiet --workspace --exclude fairground-bench --exclude fairground-live --test host &&
		tests/resume.sh 3 || return
	if [ -x target/python/bin/pytest ] && target/python/bin/python -c 'import distributed' 2>/dev/null; then
		tests/package.sh target/package &&
			SEED=$RANDOM PYTHONPATH=target/package target/python/bin/pytest -q python/tests/test_sweep.py \
				python/tests/test_sweep_kills.py python/tests/test_farm.py
	else
		echo "SKIPPED: the tests of sweeps and farms; ./test package installs what they need"
	fi
}

export FAIRGROUND
FAIRGROUND=$(tests/build.sh)
load=()
trap '[ ${#load[@]} = 0 ] || kill "${load[@]}"' EXIT
for ((i = 0; i < busy; i++)); do
	while :; do :; done &
	load+=($!)
done

ended() { grep -c "^$commit $1" "$log" || true; }

while [ "$(ended '')" -lt "$times" ]; do
	n=$(($(ended '') + 1)) start=$SECONDS verdict=ok
	$kind >"$out/now" 2>&1 || verdict=FAILED
	[ $verdict = ok ] || mv "$out/now" "$out/$kind-$commit-$n.out"
	echo "$commit $verdict $n after $((SECONDS - start)) s" | tee -a "$log"
done
echo "repeat: $kind at $commit: $(ended ok) passed, $(ended FAILED) failed"
[ "$(ended FAILED)" = 0 ]
