#!/usr/bin/env bash
# The pages in a real browser: no error on the console, no request. The scoreboard and a comparison at two widths and in print,
# a view as its reader uses it (tests/page_view.mjs).
#
#   tests/page.sh [DIR]    pictures and the printed page stay in DIR
set -euo pipefail
cd "$(dirname "$0")/.."

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
keep=$(realpath "${1:-$dir}")
fairground=$(tests/build.sh)
sides=(hikey960 sched-pipe:loops=100 --base fair:v5.9 --test fair:v5.9+asym-prev-first)
"$fairground" reproduce asym-prev-first --quick --no-store --format html --output "$dir/page.html"
"$fairground" compare "${sides[@]}" --seeds 6 --doubt 19 --no-store --format html --output "$dir/comparison.html"
"$fairground" view "${sides[@]}" --output "$dir/view.html"
"$fairground" view thunderx2-224 hackbench:groups=1,loops=5 --base fair:v5.9 --test fair:v5.16 --output "$dir/many.html"
# Every 0.1 s, a thread with the name of a harmful element wakes another one, which runs at once.
for at in {0..9}; do
	[ $((at % 2)) = 0 ] && state=(a 7 b 9) || state=(b 9 a 7)
	name='<img src=x onerror=window.ran=1>'
	thread="$name${state[0]}-${state[1]} [000] 1.${at}00000000"
	echo "$thread: sched_wakeup: comm=$name${state[2]} pid=${state[3]} prio=120 target_cpu=000"
	echo "$thread: sched_switch: prev_comm=$name${state[0]} prev_pid=${state[1]} prev_prio=120 prev_state=S ==> next_comm=$name${state[2]} next_pid=${state[3]} next_prio=120"
done >"$dir/hostile.txt"
"$fairground" view "$dir/hostile.txt" --from 0.2 --to 0.6 --output "$dir/hostile.html"

# Nothing in the pages names another place.
for page in page comparison; do
	if grep -oE '(src|href)="[^#"][^"]*"|url\([^)]*\)|@import|<script' "$dir/$page.html" | grep -v '^href="data:,"$'; then
		echo "page: $page refers to something outside of itself"
		exit 1
	fi
done

browser=(timeout 120 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$dir/profile"
	--enable-logging=stderr --log-level=0)

# quiet PAGE WIDTH PICTURE: whether the console stays empty and the page requests nothing. The browser's own services
# make requests too, but not for the page.
quiet() {
	"${browser[@]}" --log-net-log="$dir/net.json" --window-size="$2",2400 --screenshot="$3" "file://$1" 2>"$dir/log"
	[ -s "$3" ] || { echo "page: no picture at $2 px"; exit 1; }
	! grep -q ':CONSOLE[(:]' "$dir/log" && ! grep -q '"network_isolation_key":"file:' "$dir/net.json"
}

# The check itself: a page with a fault, and one that asks for a picture.
echo '<script>nothing()</script>' >"$dir/faulty.html"
echo '<img src="http://example.invalid/x.png">' >"$dir/asking.html"
for bad in faulty asking; do
	if quiet "$dir/$bad.html" 390 "$dir/bad.png"; then
		echo "page: the check does not see what is wrong with a $bad page"
		exit 1
	fi
done

for page in page comparison; do
	for width in 390 1200; do
		quiet "$dir/$page.html" $width "$keep/$page-$width.png" || {
			echo "page: $page is not quiet at $width px"
			grep ':CONSOLE' "$dir/log" || true
			exit 1
		}
	done
	"${browser[@]}" --no-pdf-header-footer --print-to-pdf="$keep/$page.pdf" "file://$dir/$page.html" 2>"$dir/log"
	[ -s "$keep/$page.pdf" ] || { echo "page: $page does not print"; exit 1; }
done
echo "page: scoreboard and comparison are quiet at 390 and 1200 px, and print"
timeout 300 node tests/page_view.mjs "$dir/view.html" "$dir/hostile.html" "$dir/many.html" "$keep"
