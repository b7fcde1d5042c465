#!/usr/bin/env bash
# How many planted regressions `fairground review` finds, and what it says of series that do nothing, or next to nothing.
#
#   tests/planted.sh DIR OUT [OPTIONS]   DIR: a tree made by tests/series.sh. Adds branches planted-01 to -20, quiet-01 to -20 and slight-01 to -20, reviews each
#                                        with these options (--matrix tests/planted.toml without any), and keeps the answers in OUT; answers that are
#                                        there are kept. Prints a line for each series and the sums.
#
# A series has four patches. Of a planted one, one patch is a regression and three do nothing; of a quiet one, all four do nothing: they
# compile to other code that decides alike, name a local otherwise, or say a word in a comment. Each of the four patches of a slight one
# changes a time by a nanosecond or some millionths, or throws the dice of newly idle balancing otherwise: runs differ from some moment on,
# and none is better for it. Which of these a series has is drawn by hash. A planted patch is *attributed* if a row is better or worse by it, and each row
# by another patch is a *false attribution*.
#
# FAIRGROUND is the program, by default the one on the path; ONLY a pattern of branches.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
source "$here/edits.sh"
[ $# -ge 2 ] || { echo "usage: tests/planted.sh DIR OUT [OPTIONS]" >&2; exit 2; }
dir=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
shift 2
fairground=${FAIRGROUND:-fairground}
[ $# -gt 0 ] || set -- --matrix "$here/planted.toml"
[ -e "$dir/$fair" ] || { echo "planted: $dir is not a tree of tests/series.sh" >&2; exit 2; }
cd "$dir"

# swap ONE TWO: exchanges two lines of fair.c that follow each other.
swap() { edit $fair "/$1/{N;/$2/s/^\(.*\)\n\(.*\)\$/\2\n\1/}"; }
# apart TYPE FUNCTION: keeps the compiler from inlining.
apart() { edit $fair "s/^\($1\( inline\)\?\) $2(/\1 noinline $2(/;/^$1\( inline\)\?\$/{N;s/\n$2(/ noinline\n$2(/}"; }

# What each planted patch does. Where it stands in its series follows from its number: 2, 3, 4, 1, 2, ...
planted=(core-scan no-scan no-capacity-scan skip-prev fits-always take-any pull-always wide-always fork-local fork-first idle-threshold no-misfit
	hot-always no-newidle energy-margin energy-most fits-quarter one-node no-preempt no-cluster)
plant() {
	case $1 in
	core-scan) first select_idle_core 'if (core >= 0)\n\t\treturn -1;' ;;
	no-scan) first select_idle_cpu 'if (target >= 0)\n\t\treturn -1;' ;;
	no-capacity-scan) first select_idle_capacity 'if (target >= 0)\n\t\treturn -1;' ;;
	skip-prev) edit $fair 's/^\tif (prev != target \&\& cpus_share_cache(prev, target) \&\&$/\tif (0 \&\& prev != target \&\& cpus_share_cache(prev, target) \&\&/' ;;
	fits-always) first asym_fits_cpu 'if (cpu >= 0)\n\t\treturn true;' ;;
	take-any) edit $fair '/^select_idle_capacity(/,/^}/s/if (fits > 0)/if (fits >= 0)/' ;;
	pull-always) first wake_affine 'if (this_cpu >= 0)\n\t\treturn this_cpu;' ;;
	wide-always) first wake_wide 'if (p)\n\t\treturn 1;' ;;
	fork-local) first sched_balance_find_dst_group 'if (this_cpu >= 0)\n\t\treturn NULL;' ;;
	fork-first) first sched_balance_find_dst_group_cpu 'if (this_cpu >= 0)\n\t\treturn cpumask_first_and(sched_group_span(group), p->cpus_ptr);' ;;
	idle-threshold) edit $fair 's/local->idle_cpus <= (busiest->idle_cpus + 1)/local->idle_cpus <= (busiest->idle_cpus + 16)/' ;;
	no-misfit) first check_misfit_status 'if (rq)\n\t\treturn false;'
		edit $fair '/^static inline void update_misfit_status(struct task_struct \*p, struct rq \*rq)$/,/^{/s/^{/{\n\tif (rq)\n\t\treturn;/' ;;
	hot-always) first task_hot 'if (env)\n\t\treturn 1;' ;;
	no-newidle) first sched_balance_newidle 'if (this_rq)\n\t\treturn 0;' ;;
	energy-margin) edit $fair 's/((best_fits > 0) \&\& (best_delta < prev_delta))/((best_fits > 0) \&\& (best_delta < prev_delta \/ 2))/' ;;
	energy-most) edit $fair 's/(cur_delta >= best_delta))$/(cur_delta <= best_delta))/' ;;
	fits-quarter) edit $fair 's/((cap) \* 1280 < (max) \* 1024)/((cap) * 4096 < (max) * 1024)/' ;;
	one-node) first adjust_numa_imbalance 'if (imbalance)\n\t\treturn 0;' ;;
	no-preempt) first check_preempt_wakeup_fair 'if (p)\n\t\treturn;' ;;
	no-cluster) edit $fair 's/^\t\tif (sg->flags \& SD_CLUSTER) {$/\t\tif (0 \&\& sg->flags \& SD_CLUSTER) {/' ;;
	esac
}

# What does nothing.
idle=(never-wide never-energy swap-wide apart-idle apart-load apart-capacity apart-wakee apart-hot swap-stats swap-total swap-weight apart-room
	apart-overload count-scan unlikely-wide rename-wide flip-weight flip-idle half-flips comment-sibling)
do_nothing() {
	case $1 in
	never-wide) first wake_wide 'if (!p)\n\t\treturn 0;' ;;
	never-energy) first find_energy_efficient_cpu 'if (prev_cpu < 0)\n\t\treturn -1;' ;;
	swap-wide) edit $fair 's/if (\(slave\|follower\) < factor || master < \(slave\|follower\) \* factor)/if (master < \1 * factor || \1 < factor)/' ;;
	apart-idle) apart 'static int' wake_affine_idle ;;
	apart-load) apart 'static unsigned long' cpu_load ;;
	apart-capacity) apart 'static unsigned long' capacity_of ;;
	apart-wakee) apart 'static void' record_wakee ;;
	apart-hot) apart 'static int' task_hot ;;
	swap-stats) swap 'sgs->group_load += cpu_load_without' 'sgs->group_util += cpu_util_without' ;;
	swap-total) swap 'sds->total_load += sgs->group_load' 'sds->total_capacity += sgs->group_capacity' ;;
	swap-weight) edit $fair '/^\tsgs->group_capacity = group->sgc->capacity;$/{N;N;s/^\(.*\)\n\(.*\)\n\(.*\)$/\3\n\2\n\1/}' ;;
	apart-room) apart 'static inline bool' group_has_capacity ;;
	apart-overload) apart 'static inline bool' group_is_overloaded ;;
	count-scan) first select_idle_cpu 'static unsigned long scans;\n\n\tWRITE_ONCE(scans, scans + 1);\n' ;;
	unlikely-wide) edit $fair 's/^\tif (master < \(slave\|follower\))$/\tif (unlikely(master < \1))/' ;;
	rename-wide) edit $fair '/^static int wake_wide(/,/^}/s/\bslave\b/follower/g' ;;
	flip-weight) edit $fair 's/return this_eff_load < prev_eff_load ? this_cpu : nr_cpumask_bits;/return prev_eff_load <= this_eff_load ? nr_cpumask_bits : this_cpu;/' ;;
	flip-idle) edit $fair 's/return available_idle_cpu(prev_cpu) ? prev_cpu : this_cpu;/return !available_idle_cpu(prev_cpu) ? this_cpu : prev_cpu;/' ;;
	half-flips) edit $fair 's/current->wakee_flips >>= 1;/current->wakee_flips = current->wakee_flips - (current->wakee_flips + 1) \/ 2;/' ;;
	comment-sibling) comment select_idle_sibling 'The order of the candidates matters.' ;;
	esac
}

# What changes runs of Debian's 6.12.117 without an effect. A dice that is thrown otherwise is as even as before.
slight=(slice-longer slice-shorter hot-longer place-later deadline-later renewed-later charge-more lag-wider cost-more dice-inverted dice-mixed
	dice-high)
change_slightly() {
	case $1 in
	slice-longer) edit $fair '/sysctl_sched_base_slice\t/s/= \(700000\|699999\)ULL/= 700001ULL/' ;;
	slice-shorter) edit $fair '/sysctl_sched_base_slice\t/s/= 70000[01]ULL/= 699999ULL/' ;;
	hot-longer) edit $fair '/sysctl_sched_migration_cost\t/s/500000UL/500001UL/' ;;
	place-later) edit $fair 's/se->vruntime = vruntime - lag;/se->vruntime = vruntime - lag + 1;/' ;;
	deadline-later) edit $fair 's/se->deadline = se->vruntime + vslice;/se->deadline = se->vruntime + vslice + 1;/' ;;
	renewed-later) edit $fair '/^static bool update_deadline(/,/^}/s/+ calc_delta_fair(se->slice, se);/+ calc_delta_fair(se->slice, se) + 1;/' ;;
	charge-more) edit $fair 's/curr->vruntime += calc_delta_fair(delta_exec, curr);/curr->vruntime += calc_delta_fair(delta_exec, curr) + 1;/' ;;
	lag-wider) edit $fair 's/return clamp(vlag, -limit, limit);/return clamp(vlag, -limit - 1, limit + 1);/' ;;
	cost-more) edit $fair 's/avg_idle < curr_cost + sd->max_newidle_lb_cost/avg_idle < curr_cost + 1 + sd->max_newidle_lb_cost/' ;;
	dice-inverted) edit $fair 's/sched_rng()/~sched_rng()/' ;;
	dice-mixed) edit $fair 's/sched_rng()/(sched_rng() ^ 0x155)/' ;;
	dice-high) edit $fair 's/sched_rng()/(sched_rng() >> 7)/' ;;
	esac
}

# drawn SEED COUNT NAME...: so many of the names, by hash.
drawn() {
	local seed=$1 count=$2 name
	shift 2
	for name in "$@"; do printf '%s %s\n' "$(printf '%s %s' "$seed" "$name" | sha256sum | cut -c1-16)" "$name"; done |
		LC_ALL=C sort | head -n "$count" | cut -d' ' -f2
}

# make SERIES: its branch.
make() {
	local number=$((10#${1##*-})) names=() regression="" at
	if [ "${1%-*}" = slight ]; then
		mapfile -t names < <(drawn "$1" 4 "${slight[@]}")
	else
		mapfile -t names < <(drawn "$1" 4 "${idle[@]}")
	fi
	if [ "${1%-*}" = planted ]; then
		regression=${planted[$((number - 1))]} at=$((number % 4))
		names[at]=$regression
	fi
	git checkout -qfB making base
	for name in "${names[@]}"; do
		if [ "${1%-*}" = slight ]; then change_slightly "$name"; elif [ "$name" = "$regression" ]; then plant "$name"; else do_nothing "$name"; fi
		patch "$name"
	done
	# A branch is there whole or not at all.
	git branch -qm making "$1"
	git checkout -qf base
}

# One line for each answer: what was worse or better, by which patches, and on which machines.
judge() {
	python3 - "$1" "$2" <<'END'
import json, sys
series, answer = sys.argv[1], json.load(open(sys.argv[2]))
planted = series.startswith("planted")
here = None if not planted else 1 + int(series[-2:]) % 4
rows = [(cell, row) for cell in answer["cells"] for row in cell["rows"] if row["verdict"] in ("better", "worse")]
worse = [cell["machine"] for cell, row in rows if row["verdict"] == "worse"]
named, other = [], []
for cell, row in rows:
    patches = [n for share in row["shares"] if share["attributed"] for n in share["patches"]]
    # A series with one patch that changes code has no shares: all is by it.
    if not row["shares"]:
        patches = answer["stages"][cell["stage"]]["patches"]
    named += [cell["machine"]] * (here in patches)
    other += [cell["machine"]] * any(n != here for n in patches)
# A patch without a stage of its own is the same code; a cell is reached if its runs differ.
reached = sorted({cell["machine"] for cell in answer["cells"] if not cell["identical"]})
title = "-" if not planted else answer["patches"][here - 1]["title"].split(": ")[-1]
fate = lambda patch: patch["fate"]["fate"] if isinstance(patch["fate"], dict) else patch["fate"]
same = sum(fate(patch) == "same_code" for patch in answer["patches"])
print(series, title, f"patch {here or '-'}", f"same-code {same}", f"rows {len(rows)}", f"worse {len(worse)}", f"attributed {len(named)}", f"false {len(other)}",
      "worse-on", ",".join(sorted(set(worse))) or "-", "reaches", ",".join(reached) or "-", "failed", len(answer["failed"]), sep="\t")
END
}

for number in {01..20}; do
	for kind in planted quiet slight; do
		series=$kind-$number
		[[ $series == ${ONLY:-*} ]] || continue
		git rev-parse -q --verify "$series" >/dev/null || make "$series"
		if [ ! -e "$out/$series.json" ]; then
			"$fairground" review "$dir" "base..$series" "$@" --format json --output "$out/$series.json" </dev/null 2>"$out/$series.log" ||
				[ $? = 1 ] || { echo "planted: $series: $(tail -3 "$out/$series.log")" >&2; continue; }
		fi
		judge "$series" "$out/$series.json"
	done
done | tee "$out/summary.txt"
awk -F'\t' '{ kind = substr($1, 1, index($1, "-") - 1); n[kind]++; split($6, w, " "); split($7, a, " "); split($8, f, " ")
	found[kind] += w[2] > 0; by[kind] += a[2] > 0; other[kind] += f[2] > 0; rows[kind] += f[2] }
	END { for (kind in n) printf "%s: %d series, %d with a worse row, %d attributed to the planted patch, %d with a false attribution (%d rows)\n",
		kind, n[kind], found[kind], by[kind], other[kind], rows[kind] }' "$out/summary.txt"
