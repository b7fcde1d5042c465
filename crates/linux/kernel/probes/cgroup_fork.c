// SPDX-License-Identifier: GPL-2.0-only
/* v5.17: a fork has two steps, sched_fork() and sched_cgroup_fork() with struct kernel_clone_args. */
#include "tree.h"
#include <linux/sched/task.h>

void ks_probe(struct task_struct *p, struct kernel_clone_args *args);
void ks_probe(struct task_struct *p, struct kernel_clone_args *args)
{
	sched_fork(0, p);
	sched_cgroup_fork(p, args);
	sched_post_fork(p);
}
