#!/usr/bin/env bash
# A scoreboard that is killed at random points and started again has the same bytes as one that ran without a kill.
#
#   tests/resume.sh [KILLS]    number of kills, 3 by default
set -euo pipefail
cd "$(dirname "$0")/.."
kills=${1:-3}

fairground=$(tests/build.sh)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Ninety runs of milliseconds, in one thread: a kill finds them half done.
RANDOM=${SEED:=$$}
rows=(reproduce all --quick --row asym-prev-first/ --row hikey/sched-pipe --attribute-costs --jobs 1)
start=$(date +%s%N)
"$fairground" "${rows[@]}" --no-store --format html --output "$dir/alone.html"
took=$((($(date +%s%N) - start) / 1000000))

# Each kill falls on a store of its own age: what is left by one is what the next begins with.
for ((i = 1; i <= kills; i++)); do
	"$fairground" "${rows[@]}" --store "$dir/store" --format html --output "$dir/resumed.html" &
	process=$!
	point=$((RANDOM % (took + 1)))
	sleep "$(printf '%d.%03d' $((point / 1000)) $((point % 1000)))"
	kill -9 $process 2>/dev/null || true
	wait $process 2>/dev/null || true
	kept=$(du -k "$dir/store" 2>/dev/null | cut -f1)
	echo "kill $i of $kills after $point of $took ms: ${kept:-0} KiB of results kept"
	if [ -e "$dir/resumed.html" ]; then
		# The command had finished before the kill: start again from an empty store.
		cmp "$dir/alone.html" "$dir/resumed.html" || { echo "resume: other bytes (SEED=$SEED)"; exit 1; }
		rm -r "$dir/resumed.html" "$dir/store"
	fi
done

"$fairground" "${rows[@]}" --store "$dir/store" --format html --output "$dir/resumed.html"
cmp "$dir/alone.html" "$dir/resumed.html" || { echo "resume: other bytes after $kills kills (SEED=$SEED)"; exit 1; }
left=$(find "$dir" -name '*-wal' -o -name '.fairground-*' -newer "$dir/resumed.html" | wc -l)
[ "$left" = 0 ] || { echo "resume: $left unfinished files are left by a run that ended"; exit 1; }

# A damaged result is named, and its run is made again.
python3 - "$dir/store/results.sqlite" <<'END'
import sqlite3
import sys

(content,) = sqlite3.connect(sys.argv[1]).execute("SELECT content FROM results ORDER BY id LIMIT 1").fetchone()
# A long content goes on in another page of the file, but its beginning is in one piece. A page that was split may have an old copy.
begins = content[:64]
with open(sys.argv[1], "r+b") as file:
    pages = file.read()
    file.seek(0)
    file.write(pages.replace(begins, begins[:32] + b"damage" + begins[38:]))
END
"$fairground" "${rows[@]}" --store "$dir/store" --format html --output "$dir/mended.html" 2>"$dir/errors"
cmp "$dir/alone.html" "$dir/mended.html" || { echo "resume: other bytes after damage"; exit 1; }
grep -q results.sqlite "$dir/errors" || { echo "resume: the damaged result is not named"; exit 1; }
"$fairground" "${rows[@]}" --store "$dir/store" --format html --output "$dir/mended.html" 2>"$dir/errors"
cmp "$dir/alone.html" "$dir/mended.html" || { echo "resume: other bytes after it was mended"; exit 1; }
[ ! -s "$dir/errors" ] || { echo "resume: what was damaged was not made again"; exit 1; }
echo "resume: same bytes after $kills kills and after damage (SEED=$SEED)"
