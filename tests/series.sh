#!/usr/bin/env bash
# Series of our own on a kernel tree, to try `fairground review` and `fairground bisect` with: each edits by the names of functions
# what the list has changed at one time or another, and no kernel text is kept here.
#
#   tests/series.sh TREE DIR     copies what of TREE (v6.12) such a review needs to DIR, as a git tree with a branch
#                                for each series, and DIR.NAME.mbox beside it
#
# wakeup     1 a comment; 2 an idle previous CPU is not preferred; 3 nor is the recently used one
# balance    1 a file that is not compiled; 2 no newly idle balancing; 3 a breath after each task that is looked at (loop_break = 1)
# energy     1 tasks fit up to all of a CPU; 2 a comment; 3 no energy-aware wakeups
# planted    1 and 3 test what is never so; 2 a regression on hikey960 alone, where capacities differ and four CPUs share a cache: an idle
#            previous CPU is not preferred; 4 a local is named otherwise
# nothing    1 to 3 comments and blanks
# broken     1 does not compile; 2 mends it; 3 loops for ever in the balancer of machines with several nodes
set -euo pipefail
source "$(dirname "$0")/edits.sh"
[ $# = 2 ] || { echo "usage: tests/series.sh TREE DIR" >&2; exit 2; }
tree=$(realpath "$1") dir=$(realpath -m "$2")
[ -e "$tree/kernel/sched/fair.c" ] || { echo "series: $1 is not a kernel tree" >&2; exit 2; }
[ ! -e "$dir" ] || { echo "series: $2 is there already" >&2; exit 2; }

# The sources of drivers and of other architectures are not read; their Kconfig files are.
mkdir -p "$dir"
(cd "$tree" && tar -cf - --exclude='./.git' --exclude='./drivers/*.[ch]' --exclude='./sound/*.[ch]' --exclude='./fs/*.[ch]' --exclude='./net/*.[ch]' \
	--exclude='./arch/*.[chS]' --exclude='./Documentation/*/*' --exclude='./tools/testing/*' .) | tar -xf - -C "$dir"
cd "$dir"
git init -q -b base .
git add -f -A .
git commit -qm base

branch wakeup
comment select_idle_sibling 'The order of the candidates matters.'
patch 'say that the order of candidates matters'
edit $fair 's/^\tif (prev != target \&\& cpus_share_cache(prev, target) \&\&$/\tif (0 \&\& prev != target \&\& cpus_share_cache(prev, target) \&\&/'
patch 'do not prefer an idle previous CPU'
edit $fair 's/^\tif (recent_used_cpu != prev \&\&$/\tif (0 \&\& recent_used_cpu != prev \&\&/'
patch 'do not look at the recently used CPU'

branch balance
edit kernel/sched/psi.c '1i /* Made by tests/series.sh. */'
patch 'touch what is not compiled'
edit $fair '/^static int sched_balance_newidle(.*)$/,/^{/s/^{/{\n\tif (1)\n\t\treturn 0;/'
patch 'do not balance when a CPU becomes idle'
edit $fair 's/^\t\t\.loop_break\t= SCHED_NR_MIGRATE_BREAK,$/\t\t.loop_break\t= 1,/'
patch 'take a breath after each task that is looked at'

branch energy
edit $fair 's/((cap) \* 1280 < (max) \* 1024)/((cap) * 1024 < (max) * 1024)/'
patch 'let tasks fit up to all of a CPU'
comment find_energy_efficient_cpu 'Called with the lock of the domains held.'
patch 'say what is held'
edit $fair 's/^\t\tif (!is_rd_overutilized(this_rq()->rd)) {$/\t\tif (0 \&\& !is_rd_overutilized(this_rq()->rd)) {/'
patch 'do not ask for energy in wakeups'

branch planted
first wake_wide 'if (!p)\n\t\treturn 0;'
patch 'test what is never so in wake_wide'
edit $fair 's/^\tif (prev != target \&\& cpus_share_cache(prev, target) \&\&$/\tif (!(sched_asym_cpucap_active() \&\& per_cpu(sd_llc_size, target) == 4) \&\&\n\t    prev != target \&\& cpus_share_cache(prev, target) \&\&/'
patch 'do not prefer an idle previous CPU in pairs of small caches'
first find_energy_efficient_cpu 'if (prev_cpu < 0)\n\t\treturn -1;'
patch 'test what is never so in find_energy_efficient_cpu'
edit $fair '/^static int wake_wide(/,/^}/s/\bslave\b/follower/g'
patch 'rename a local'

branch nothing
for name in wake_wide wake_cap select_idle_cpu select_idle_smt select_idle_sibling; do
	grep -q "^\([a-z].*[ *]\)\?$name([^;]*\$" $fair && comment $name "A word on $name." && patch "say a word on $name" || true
done

branch broken
first wake_wide 'this does not compile;'
patch 'break the build'
edit $fair '/^\tthis does not compile;$/d'
edit $fair 's/^\tif (recent_used_cpu != prev \&\&$/\tif (0 \&\& recent_used_cpu != prev \&\&/'
patch 'mend it, and do not look at the recently used CPU'
edit $fair '/^static bool .*update_sd_pick_busiest(\|^static inline void update_sd_lb_stats(/,/^{/s/^{/{\n\twhile (env->sd->flags \& SD_NUMA)\n\t\tcpu_relax();\n/'
patch 'wait for nodes'

git checkout -qf base
for series in wakeup balance energy planted nothing broken; do
	git format-patch -q --stdout --cover-letter --cover-from-description=none -v2 base..$series >"$dir.$series.mbox"
	echo "$series: $(git rev-list --count base..$series) patches"
done
