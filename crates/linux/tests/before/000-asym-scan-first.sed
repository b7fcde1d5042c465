# tree: 6.1
# file: kernel/sched/fair.c
# places: 1
# scheduler: fair:debian-6.1.192-asym-prev-first
# shape: three-capacities
#
# The scan of the asymmetric domain comes before everything else, and has the last word. What later lines say of
# fitting CPUs stays: it concerns symmetric islands only, which exist in cpusets and nowhere in a test.
/^static int select_idle_sibling(struct task_struct \*p, int prev, int target)$/,/^}$/ {
	/lockdep_assert_irqs_disabled();/ a\
	if (static_branch_unlikely(&sched_asym_cpucapacity)) {\
		struct sched_domain *asym = rcu_dereference(per_cpu(sd_asym_cpucapacity, target));\
\
		if (asym) {\
			int found = select_idle_capacity(p, asym, target);\
\
			return found < 0 ? target : found;\
		}\
	}
}
