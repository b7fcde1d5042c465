# tree: 6.1 6.12
# with: 004-not-landed
# file: kernel/sched/fair.c
# places: 1
# scheduler: fair:debian-TREE+cls-select=loop
# shape: clustered
#
# Any idle CPU of target's cluster first, without a budget, and not at all where cores have threads.
/^static int select_idle_sibling(struct task_struct \*p, int prev, int target)$/,/^}$/ {
	/^\ti = select_idle_cpu(p, sd, has_idle_core, target);$/ i\
	if (!sched_smt_active()) {\
		for_each_cpu_wrap(i, cpu_clustergroup_mask(target), target) {\
			if (cpumask_test_cpu(i, p->cpus_ptr) && available_idle_cpu(i))\
				return i;\
		}\
	}
}
