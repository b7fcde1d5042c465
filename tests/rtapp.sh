#!/usr/bin/env bash
# The examples of Debian's package rt-app: each runs on two machines, or is refused by name. What comes of each is to
# be what the table in docs/workload.md says: as rt-app 1.0 reads `suspend`, for which they were written, and on the
# first machine also as its newest source does.
#
#   tests/rtapp.sh             compares
#   tests/rtapp.sh --print     prints the table's rows instead
#
# Exit code 77: there are no examples, and they cannot be downloaded.
set -euo pipefail
cd "$(dirname "$0")/.."
machines="hikey960 rpi5"
sched=fair:v6.12
limit=120 # s for a run

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Packages may have been installed without their documents, as in containers.
examples=/usr/share/doc/rt-app/examples
if [ ! -d $examples ]; then
	chmod 755 "$work"
	(cd "$work" && apt-get download -qq rt-app && dpkg -x rt-app_*.deb package) >/dev/null 2>&1 ||
		{ echo "the examples of Debian's package rt-app cannot be downloaded"; exit 77; }
	examples=$work/package$examples
fi

fairground=$(tests/build.sh)

# outcome FILE MACHINE OPTIONS: what comes of a second of it, in a few words.
outcome() {
	local code=0 warnings
	timeout $limit "$fairground" run "$2" "$1:duration=1$3" --sched $sched >"$work/out" 2>"$work/err" || code=$?
	case $code in
	0)
		warnings=$(grep -c '^warning: ' "$work/err" || true)
		case $warnings in
		0) echo "runs" ;;
		1) echo "runs, 1 warning" ;;
		*) echo "runs, $warnings warnings" ;;
		esac
		;;
	2) sed -n "s|^.*$(basename "$1"):\([0-9]*\):[0-9]*: \(.*\)|refused, line \1: \2|p" "$work/err" | head -n 1 ;;
	1)
		if grep -q deadlock "$work/err"; then echo "ends early: all threads wait for ever"
		else echo "FAILED: $(tail -n 1 "$work/err")"; fi
		;;
	*) echo "FAILED with $code: $(tail -n 1 "$work/err")" ;;
	esac
}

rows() {
	local file machine row
	(cd "$examples" && find . -name '*.json' | sed 's|^\./||' | LC_ALL=C sort) | while read -r file; do
		row="| \`$file\` |"
		for machine in $machines; do
			row+=" $(outcome "$examples/$file" "$machine" ,named-suspend) |"
		done
		echo "$row $(outcome "$examples/$file" "${machines%% *}" "") |"
	done
}

rows >"$work/rows"
if [ "${1:-}" = --print ]; then
	cat "$work/rows"
	exit
fi
sed -n '/^<!-- examples -->$/,/^<!-- end -->$/ s/^| `/&/p' docs/workload.md >"$work/documented"
if ! diff "$work/documented" "$work/rows"; then
	echo "rtapp: the table of docs/workload.md says otherwise; tests/rtapp.sh --print prints it as it is"
	exit 1
fi
grep -q runs "$work/rows" || { echo "rtapp: no example runs"; exit 1; }
! grep FAILED "$work/rows"
echo "rtapp: $(grep -c runs "$work/rows") examples run on $machines, $(grep -c refused "$work/rows") are refused"
