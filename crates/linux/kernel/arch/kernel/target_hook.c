// SPDX-License-Identifier: GPL-2.0-only
/* Observes the choice of a wakeup's target. Included after the tree's fair.c, see target_hook.h. */

static int hook_wake_affine(const char *caller, struct sched_domain *sd, struct task_struct *p, int this_cpu,
			    int prev_cpu, int sync)
{
	int target = tree_wake_affine(sd, p, this_cpu, prev_cpu, sync);

	ks_show_if(targeted, target);
	return target;
}
