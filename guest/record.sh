#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Plays scenarios.txt on every guest with five seeds and writes one file a guest, see README.md.
# Usage: guest/record.sh BUILD [FOLDER]
#        guest/record.sh --check BUILD [FOLDER]	plays them again: of the same kernel and program every byte is the
#						same, of others no stable scenario ends elsewhere
#        guest/record.sh --verdicts BUILD	the policy as a BPF program: accepted, and the same verdicts
#        guest/record.sh --live BUILD PROGRAM	plays them with the kernel's own fair class, and with the policy scheduling
#						the same guest (fair:debian-RELEASE), and says which stable
#						scenarios end elsewhere. BUILD is of build.sh --live; PROGRAM: BUILD/fairground, which
#						live.sh builds; FAIRGROUND_QEMU as there, FAIRGROUND_SEEDS=1 plays one seed
# BUILD is what guest/build.sh wrote; FOLDER is guest/recorded/RELEASE unless given.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/qemu.sh"
seeds="1 2 3 4 5"
columns=kind,hogs,prev,waker,seed,cpu,waker_cpu,slept_us,woken_us,task_load,task_util,recent_cpu,waker_flips
columns+=,wakee_flips,nr_running,load_avg,util_avg,avg_idle_us,capacity,nr_idle_scan,nr_busy_cpus

# One guest with one seed: play MACHINE SEED BUILD TO
if [ "${1:-}" = play ]; then
	guest_boot "$2" "$4" play "seed=$3" "$3" >"$5/$2-$3.log"
	grep -qa "^# played $(grep -c '^[a-z]' "$here/scenarios.txt")" "$5/$2-$3.log" || {
		echo "guest/record.sh: $2, seed $3: not all scenarios were played; its console:" >&2
		tail -n 20 "$5/$2-$3.log" >&2
		exit 1
	}
	exit
fi

if [ "${1:-}" = --verdicts ]; then
	states=20000
	said=$(guest_boot symmetric "${2:?what guest/build.sh wrote}" verdicts "verdicts=$states" | tr -d '\r' | grep -a '^# ')
	echo "$(cat "$2/release"): ${said//$'\n'/; }"
	grep -q "^# $states verdicts are the same" <<<"$said"
	exit
fi

check=no live=no
[ "${1:-}" != --check ] || { check=yes; shift; }
[ "${1:-}" != --live ] || { live=yes seeds=${FAIRGROUND_SEEDS:-$seeds}; shift; }
build=$(cd "${1:?what guest/build.sh wrote}" && pwd)
release=$(cat "$build/release")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# play_all BUILD TO: a file of rows for each guest.
play_all() {
	local machine seed
	for machine in $(guest_machines); do
		for seed in $seeds; do echo "play $machine $seed $1 $2"; done
	done | nice xargs -P "$(nproc)" -L 1 "$here/record.sh"
	for machine in $(guest_machines); do
		{
			echo "$columns"
			for seed in $seeds; do tr -d '\r' <"$2/$machine-$seed.log" | sed -n 's/^@//p'; done
		} >"$2/$machine.csv"
	done
}

# live_build PROGRAM TO: the same guests, in which PROGRAM starts its scheduler before the scenarios are played.
live_build() {
	local root=$2/root
	mkdir -p "$root"/{proc,sys,dev}
	ln -s "$build"/Image "$build"/*.dtb "$2/"
	cp "$build/commands" "$root/init"
	cp "$build/play" "$build/watch.bpf.o" "$build/scenarios" "$root/"
	cp "$1" "$root/fairground"
	printf '%s\n' "&/fairground live start --sched fair:debian-$release --hz 250" \
		"await /sys/kernel/sched_ext/state enabled" /play >"$root/commands"
	(cd "$root" && find . | LC_ALL=C sort | cpio -o -H newc --quiet --reproducible | gzip -n1) >"$2/play.gz"
}

# The scenarios with the same answer in all seeds, and that answer.
stable() {
	awk -F, -v seeds="$(wc -w <<<"$seeds")" '
		NR == 1 { next }
		{ k = $1 " " $2 " " $3 " " $4 }
		!(k in cpu) { cpu[k] = $6; order[++nr] = k }
		$6 == cpu[k] { same[k]++ }
		END { for (i = 1; i <= nr; i++) if (same[order[i]] == seeds) print order[i], cpu[order[i]] }
	' "$1"
}

# The recording and these rows, together: scenarios that are stable in both and end on another CPU.
others() { join -j 1 <(keyed "$1") <(keyed "$2") | awk '$2 != $3 { gsub("/", " ", $1); print $1 ": " $2 ", now " $3 }'; }
keyed() { stable "$1" | awk '{ print $1 "/" $2 "/" $3 "/" $4, $5 }' | LC_ALL=C sort; }

if [ $live = yes ]; then
	program=$(realpath "${2:?the command as a static program for arm64}")
	mkdir "$work/live-build" "$work/own" "$work/live"
	live_build "$program" "$work/live-build"
	play_all "$build" "$work/own"
	play_all "$work/live-build" "$work/live"
	for machine in $(guest_machines); do
		! grep -qa 'kernel ended the scheduler' "$work/live/$machine"-*.log || { echo "guest/record.sh: $machine: the kernel ended the scheduler" >&2; exit 1; }
		own=$work/own/$machine.csv ours=$work/live/$machine.csv
		echo "$release, $machine: stable with the kernel's class $(stable "$own" | wc -l), with ours $(stable "$ours" | wc -l), with both" \
			"$(join -j 1 <(keyed "$own") <(keyed "$ours") | wc -l), of these end elsewhere $(others "$own" "$ours" | grep -c .)"
		others "$own" "$ours" | sed 's/^/  kind hogs prev waker: /'
	done
	exit
fi
folder=${2:-$here/recorded/$release}
play_all "$build" "$work"

# What is emulated, of a recipe.
emulated() { grep -E '^(Image|play.gz|QEMU|icount) ' "$1"; }

if [ $check = yes ]; then
	[ -d "$folder" ] || { echo "guest/record.sh: nothing is recorded for $release" >&2; exit 1; }
	status=0 same=no
	! cmp -s <(emulated "$folder/recipe.txt") <(emulated "$build/recipe.txt") || same=yes
	for machine in $(guest_machines); do
		if [ $same = yes ]; then
			cmp "$folder/$machine.csv" "$work/$machine.csv" && echo "$release, $machine: the same rows" || status=1
			continue
		fi
		recorded=$(stable "$folder/$machine.csv" | wc -l)
		both=$(join -j 1 <(keyed "$folder/$machine.csv") <(keyed "$work/$machine.csv") | wc -l)
		other=$(others "$folder/$machine.csv" "$work/$machine.csv")
		echo "$release, $machine: $recorded recorded scenarios are stable, $both of them here too, $(grep -c . <<<"$other") end elsewhere"
		[ -z "$other" ] || { sed 's/^/  kind hogs prev waker: /' <<<"$other"; status=1; }
	done
	exit $status
fi

mkdir -p "$folder"
cp "$work"/*.csv "$folder/"
cp "$build/recipe.txt" "$folder/recipe.txt"
for machine in $(guest_machines); do
	echo "$machine: $(stable "$folder/$machine.csv" | wc -l) of $(grep -c '^[a-z]' "$here/scenarios.txt") scenarios are stable"
done
