#!/usr/bin/env bash
# Same inputs, same bytes: twice, with any number of jobs, in workers, from the store; and in a debug and a release build.
#
#   tests/determinism.sh                          our scheduler, one build
#   tests/determinism.sh --release [KERNEL...]    a debug and a release build; of the built kernels of these names, if any
#   tests/determinism.sh KERNEL...                one build, with these kernels
set -euo pipefail
cd "$(dirname "$0")/.."

debug=$(tests/build.sh)
release=$debug
if [ "${1:-}" = --release ]; then
	shift
	cargo build --quiet --release -p fairground-cli
	release=$(realpath "${CARGO_TARGET_DIR:-target}")/release/fairground
fi

cases=0
same() { # same WHAT A B
	cases=$((cases + 1))
	[ "$2" = "$3" ] && return
	echo "NOT THE SAME: $1"
	diff <(echo "$2") <(echo "$3") | head -n 10
	exit 1
}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

for kernel in "$@"; do
	for line in "hikey960 sched-pipe:loops=1000,threads" "epyc-7742-2p periodic:tasks=300,duty=15,duration=1"; do
		args=(compare $line --base fair:v6.12 --test "linux:$kernel" --seeds 3 --doubt 0 --no-store --format json)
		one=$("$release" "${args[@]}" --jobs 1)
		same "$line linux:$kernel, twice" "$one" "$("$release" "${args[@]}" --jobs 1)"
		for jobs in 2 8; do
			same "$line linux:$kernel, --jobs 1 and $jobs" "$one" "$("$debug" "${args[@]}" --jobs $jobs)"
		done
	done
	args=(run hikey960 periodic:tasks=12,duty=30,duration=0.3 --sched "linux:$kernel" --format json)
	# The hash of all events alone: with --why a note is added, on whose rules the reasons are.
	hash=$("$release" "${args[@]}" | grep '^ *"hash"')
	same "linux:$kernel traced" "$hash" "$("$release" "${args[@]}" --trace "$dir/trace.txt" --why | grep '^ *"hash"')"
	first=$(cksum <"$dir/trace.txt")
	"$debug" "${args[@]}" --trace "$dir/trace.txt" --why >/dev/null
	same "traces of linux:$kernel" "$first" "$(cksum <"$dir/trace.txt")"
done
if [ $# -gt 0 ]; then
	echo "determinism: $cases comparisons, all the same"
	exit
fi

# Every built-in workload and every preset of schedulers appears in some line.
while read -r machine workload sched more; do
	args=(run "$machine" "$workload" --sched "$sched" --seed 7 --format json $more)
	first=$("$release" "${args[@]}")
	same "$machine $workload $sched, twice" "$first" "$("$debug" "${args[@]}")"
done <<'LINES'
hikey960     sched-pipe:loops=2000,threads        fair:v5.9
hikey960     sched-pipe:loops=2000,threads        fair:v5.9+asym-prev-first
hikey960     sched-pipe:loops=1000,processes      fair:v5.11
hikey        sched-pipe:loops=2000,threads        fair:v5.9
rpi5         periodic:tasks=12,duty=30,duration=1 fair:v5.11
hikey        hackbench:groups=2,loops=100         fair:v5.9
epyc-7742-2p messaging:groups=4,loops=20,pipe     fair:v6.12
hikey960     schbench:runtime=2                   fair:v5.9
hikey        adrestia:loops=500,threads=3,periodic fair:v5.11
epyc-7742-2p dbench:clients=40,duration=0.1       fair:v6.12
hikey        shell8:duration=1,copies=2           fair:v5.9
hikey960     fork-burst:bursts=10                 fair:v5.11
hikey960     geekbench5:scale=1/50,gap=50         fair:v5.11
hikey960     jankbench:duration=2                 fair:v6.1
kunpeng920   kbuild:files=40                      fair:v6.12
hikey960     oltp:duration=0.2                    fair:v6.12
hikey960     server:duration=0.2                  fair:v6.12
hikey960     uclamp-micro:duration=1              fair:v6.12
juno-r2      periodic:tasks=20,duty=20,duration=1 fair:v5.9
epyc-7742-2p periodic:tasks=300,duty=15,duration=1 fair:v5.11
hikey960     workloads/little-and-big.json        fair:v5.11
hikey        workloads/ping-pong.json             fair:v5.9
juno-r2      workloads/rt-app-tour.json           fair:v5.11
hikey960     sched-pipe:loops=1000,threads        fair:v5.4
hikey960     periodic:tasks=12,duty=30,duration=1 fair:v5.5
hikey960     periodic:tasks=12,duty=30,duration=1 fair:v5.6
juno-r2      periodic:tasks=20,duty=20,duration=1 fair:v5.7
hikey960     sched-pipe:loops=1000,threads        fair:v5.10
epyc-7742-2p periodic:tasks=300,duty=15,duration=1 fair:v5.16
juno-r2      periodic:tasks=20,duty=20,duration=1 fair:v6.1
hikey960     workloads/little-and-big.json        fair:v6.2
rpi5         periodic:tasks=12,duty=30,duration=1 fair:v6.3
epyc-7742-2p periodic:tasks=300,duty=15,duration=1 fair:v6.7
epyc-7742-2p periodic:tasks=300,duty=15,duration=1 fair:v6.12
juno-r2      workloads/rt-app-tour.json           fair:v6.12
hikey960     sched-pipe:loops=1000,threads        fair:debian-6.1.192
hikey960     sched-pipe:loops=1000,threads        fair:debian-6.12.117
hikey960     workloads/throttled.json             fair:v5.11+ufc+ufc-thermal+misfit-unlink
hikey960     workloads/clamped.json               fair:v6.3+uclamp-buckets=20
hikey960     periodic:tasks=12,duty=30,duration=1 fair:v6.12 --governor schedutil
juno-r2      workloads/rt-app-tour.json           fair:v5.4 --governor schedutil
hikey960     periodic:tasks=12,duty=30,duration=1 fair:v6.12 --governor userspace:0-3=999MHz,4-7=1421MHz
juno-r2      workloads/rt-app-tour.json           fair:v6.12 --idle-limit 100
hikey960     sched-pipe:loops=1000,threads        fair:v5.9 --draw 7
epyc-7742-2p dbench:clients=40,duration=0.05      fair:v6.12 --draw 18446744073709551615
LINES

# Traces with their reasons, and the reports made from them.
args=(run hikey960 periodic:tasks=12,duty=30,duration=0.3 --sched fair:v5.11 --format json)
hash=$("$release" "${args[@]}")
for build in release debug; do
	same "a run without and with --why ($build)" "$hash" "$("${!build}" "${args[@]}" --trace "$dir/why.txt" --why)"
	[ -f "$dir/first.txt" ] || cp "$dir/why.txt" "$dir/first.txt"
	same "traces with --why ($build)" "$(cksum <"$dir/first.txt")" "$(cksum <"$dir/why.txt")"
	for words in "explain" "explain --by task" "explain --at 0.1" "whatif" "whatif --sched fair:v6.12 --nth 50" "stats latency"; do
		first=$("$release" ${words} "$dir/first.txt")
		same "$words ($build)" "$first" "$("${!build}" ${words} "$dir/first.txt")"
	done
done

# Pages of two runs, and of the trace of one.
"$release" view hikey960 sched-pipe:loops=100,threads --base fair:v5.9 --test fair:v5.11 --output "$dir/view.html"
first=$(cksum <"$dir/view.html")
"$debug" view hikey960 sched-pipe:loops=100,threads --base fair:v5.9 --test fair:v5.11 --output "$dir/view.html"
same "a view of two runs" "$first" "$(cksum <"$dir/view.html")"
"$release" view "$dir/first.txt" --ask fair:v6.12 --output "$dir/view.html"
first=$(cksum <"$dir/view.html")
"$debug" view "$dir/first.txt" --ask fair:v6.12 --output "$dir/view.html"
same "a view of a trace" "$first" "$(cksum <"$dir/view.html")"

args=(compare hikey960 sched-pipe:loops=1000,threads --base fair:v5.9 --test fair:v5.9+asym-prev-first --seeds 5 --doubt 5 --no-store --format json)
one=$("$release" "${args[@]}" --jobs 1)
for jobs in 2 8; do
	same "--jobs 1 and $jobs" "$one" "$("$release" "${args[@]}" --jobs $jobs)"
done
"$release" "${args[@]}" --check-determinism >/dev/null
page=("${args[@]:0:${#args[@]}-1}" html)
first=$("$release" "${page[@]}" --jobs 1)
same "a page of a comparison, --jobs 1 and 8" "$first" "$("$debug" "${page[@]}" --jobs 8)"
# A mail of several tests and other seeds; what a project file says is the command line that it stands for.
mail=(compare hikey960 sched-pipe:loops=500,threads --base fair:v5.9 --test fair:v5.11 --test fair:v6.12 --seeds 3-8 --doubt 3 --no-store --format mail)
first=$("$release" "${mail[@]}" --jobs 1)
same "a mail, --jobs 1 and 8" "$first" "$("$debug" "${mail[@]}" --jobs 8)"
printf "machine = 'hikey960'\n[compare]\nbase = 'fair:v5.9'\ntest = ['fair:v5.11', 'fair:v6.12']\nseeds = '3-8'\ndoubt = 3\nformat = 'mail'\n" >"$dir/fairground.toml"
same "a mail by fairground.toml" "$(sed '/^\$/,$d' <<<"$first")" "$(cd "$dir" && "$debug" compare sched-pipe:loops=500,threads --no-store | sed '/^\$/,$d')"
rm "$dir/fairground.toml"
for shell in bash zsh fish; do
	same "completions of $shell" "$("$release" completions $shell)" "$("$debug" completions $shell)"
done
same "the man page" "$("$release" man)" "$("$debug" man)"
# Seeds that are added one look after another, alone and beside those in a store.
added=(compare hikey960 sched-pipe:loops=1000,threads --base fair:v5.9 --test fair:v5.9+asym-prev-first --format json)
added+=(--metrics wakeup_latency_mean_us --until 0.01)
until=$("$release" "${added[@]}" --seeds 20 --no-store --jobs 1)
same "--until, --jobs 1 and 8" "$until" "$("$debug" "${added[@]}" --seeds 20 --no-store --jobs 8)"
"$debug" "${added[@]}" --seeds 12 --store "$dir/until" >/dev/null
same "--until, with some runs in the store" "$until" "$("$release" "${added[@]}" --seeds 20 --store "$dir/until")"

# Runs in worker processes give the same as runs in this process.
same "here and in workers" "$one" "$("$release" "${args[@]}" --in-worker)"

# A review of features, and a bisection.
printf '[[block]]\nmachines = ["hikey960", "rpi5"]\nworkloads = ["sched-pipe:loops=300"]\n' >"$dir/matrix.toml"
args=(review --features fair:v5.9+wa-prev-idle+asym-prev-first --matrix "$dir/matrix.toml" --seeds 6 --doubt 3 --no-store --format json)
one=$("$release" "${args[@]}" --jobs 1)
same "review, --jobs 1 and 8" "$one" "$("$debug" "${args[@]}" --jobs 8)"
args=(bisect --features fair:v5.9..fair:v5.11 --machine hikey960 --workload sched-pipe:loops=300 --threshold 10 --no-store --format json)
same "bisect, --jobs 1 and 8" "$("$release" "${args[@]}" --jobs 1)" "$("$debug" "${args[@]}" --jobs 8)"

# The table of a grid.
printf 'experiment = { name = "g", seeds = 2 }\nfixed = { machine = "hikey960", sched = "fair:v6.12", workload = "sched-pipe:loops=100" }\n' >"$dir/grid.toml"
printf 'axes = { settings = { governor = ["schedutil", "userspace:0-3=999000,4-7=1421000"], idle_limit = [100, 5000] } }\n' >>"$dir/grid.toml"
for ending in csv json; do
	"$release" sweep "$dir/grid.toml" --store "$dir/grid-1" --jobs 1 --output "$dir/one.$ending" >/dev/null
	"$debug" sweep "$dir/grid.toml" --store "$dir/grid-8" --jobs 8 --output "$dir/eight.$ending" >/dev/null
	same "a grid's $ending, --jobs 1 and 8" "$(cat "$dir/one.$ending")" "$(cat "$dir/eight.$ending")"
done

# The scoreboard, run at once, and in two parts of which the second finds the first on record.
args=(reproduce all --quick --row asym-prev-first/ --row hikey/sched-pipe --format json)
one=$("$release" "${args[@]}" --no-store --jobs 1)
for jobs in 2 8; do
	same "reproduce, --jobs 1 and $jobs" "$one" "$("$debug" "${args[@]}" --no-store --jobs $jobs)"
	"$debug" reproduce asym-prev-first --quick --row hikey960 --store "$dir/store-$jobs" >/dev/null
	same "reproduce resumed, --jobs $jobs" "$one" "$("$release" "${args[@]}" --store "$dir/store-$jobs" --jobs $jobs)"
	same "reproduce from its store, --jobs $jobs" "$one" "$("$release" "${args[@]}" --store "$dir/store-$jobs" --jobs 1)"
done

# Draws that base cells weigh, run at once, and with those of a store.
args=(calibrate hikey960 --posterior --draws 16 --seeds 2)
one=$("$release" "${args[@]}" --no-store --jobs 1)
same "calibrate --posterior, --jobs 1 and 8" "$one" "$("$debug" "${args[@]}" --no-store --jobs 8)"
"$debug" calibrate hikey960 --posterior --draws 4 --seeds 2 --store "$dir/posterior" >/dev/null
same "calibrate --posterior, with some runs in the store" "$one" "$("$release" "${args[@]}" --store "$dir/posterior")"

# Over draws, at once and with draws added to those of a store.
args=(reproduce all --quick --row hikey960/sched-pipe/ops --format json)
one=$("$release" "${args[@]}" --doubt 4 --no-store --jobs 1)
same "reproduce --doubt, --jobs 1 and 8" "$one" "$("$debug" "${args[@]}" --doubt 4 --no-store --jobs 8)"
"$debug" "${args[@]}" --doubt 2 --store "$dir/drawn" >/dev/null
same "reproduce --doubt resumed" "$one" "$("$release" "${args[@]}" --doubt 4 --store "$dir/drawn")"

# This machine, where it shows itself.
if [ -e /sys/devices/system/cpu/online ]; then
	first=$("$release" machine capture 2>/dev/null)
	same "machine capture, twice" "$first" "$("$debug" machine capture 2>/dev/null)"
	# What is played differs each time; what is made of it does not.
	# On a busy machine a thread may have no turn in a round, and its cell is left out: then validate has no row, and exits with 1.
	args=(validate --only nice-all --quick --seconds 0.05 --rounds 3 --doubt 4 --out "$dir/validate" --no-store)
	FAIRGROUND_STATE=$dir/state "$release" "${args[@]}" >/dev/null || [ $? = 1 ]
	for layout in json html; do
		one=$("$release" "${args[@]}" --no-play --format $layout --jobs 1) || [ $? = 1 ]
		other=$("$debug" "${args[@]}" --no-play --format $layout --jobs 8) || [ $? = 1 ]
		same "validate $layout, --jobs 1 and 8" "$one" "$other"
	done
else
	echo "SKIPPED: machine capture, /sys shows no CPUs"
fi
echo "determinism: $((cases + 1)) comparisons, all the same"
