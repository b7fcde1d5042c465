# tree: 6.12
# file: kernel/sched/fair.c
# places: 4
# scheduler: fair:debian-6.12.117+cls-select=loop
# shape: clustered
#
# What landed is taken out: previous and recent CPU of another cluster, and the scan of target's.
s/^\(\t*if (.*\)static_branch_unlikely(&sched_cluster_active)\( ||\|) {\)$/\1false\2/
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
