// SPDX-License-Identifier: GPL-2.0-only
/* v7.2.9: cache-aware scheduling keeps the statistics of a process in a struct of its own, not in the mm_struct. */
#include "tree.h"
#include <linux/sched/task.h>

#ifndef CONFIG_SCHED_CACHE
#error "cache-aware scheduling is off"
#endif

unsigned long ks_probe(struct task_struct *p, struct mm_struct *mm);
unsigned long ks_probe(struct task_struct *p, struct mm_struct *mm)
{
	struct sched_cache_group *group = sched_cache_group_get(mm->sched_cache_grp);

	sched_cache_exec_mmap(p, mm);
	sched_cache_exit_mm(p);
	return group->nr_running_avg + p->preferred_llc + cpu_rq(0)->nr_pref_llc_running;
}
