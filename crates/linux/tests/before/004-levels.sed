# tree: 6.1 6.12
# with: 004-not-landed
# file: kernel/sched/fair.c
# places: 1
# scheduler: fair:debian-TREE+cls-select=levels
# shape: clustered
#
# Each domain below the cache and above the core is scanned first and then left out, all on one budget. What a find has
# cost is counted by what follows, which has nothing left to scan.
/^static int select_idle_cpu(struct task_struct \*p, struct sched_domain \*sd, bool has_idle_core, int target)$/,/^}$/ {
	/^\tfor_each_cpu_wrap(cpu, cpus, target + 1) {$/ {
		i\
	struct sched_domain *level;\
\
	for_each_domain(target, level) {\
		if (level == sd)\
			break;\
		if (level->flags & SD_SHARE_CPUCAPACITY)\
			continue;\
		for_each_cpu_wrap(cpu, sched_domain_span(level), target + 1) {\
			if (!cpumask_test_cpu(cpu, cpus))\
				continue;\
			if (has_idle_core) {\
				i = select_idle_core(p, cpu, cpus, &idle_cpu);\
				if ((unsigned int)i < nr_cpumask_bits)\
					return i;\
				continue;\
			}\
			if (--nr <= 0)\
				return -1;\
			idle_cpu = __select_idle_cpu(cpu, p);\
			if ((unsigned int)idle_cpu < nr_cpumask_bits)\
				break;\
		}\
		if (!has_idle_core && (unsigned int)idle_cpu < nr_cpumask_bits)\
			cpumask_clear(cpus);\
		else\
			cpumask_andnot(cpus, cpus, sched_domain_span(level));\
	}\

	}
}
