// SPDX-License-Identifier: GPL-2.0-only
/* v5.16, 5.10 and 5.15 stable: sched_post_fork() puts a new task into its group. Later sched_cgroup_fork() does. */
#include "tree.h"
#include <linux/sched/task.h>

void (*ks_probe)(struct task_struct *p, struct kernel_clone_args *args) = sched_post_fork;
