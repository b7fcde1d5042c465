# tree: 6.1
# file: kernel/sched/fair.c
# places: 2
# scheduler: fair:debian-6.1.192+cls-select=levels+sis-mode=prop-aged
# shape: clustered
#
# As 004-levels, where the budget comes from what scans cost and from the size of the cache.
/^static int select_idle_cpu(struct task_struct \*p, struct sched_domain \*sd, bool has_idle_core, int target)$/,/^}$/ {
	/^\tfor_each_cpu_wrap(cpu, cpus, target + 1) {$/ {
		i\
	struct sched_domain *level;\
\
	for_each_domain(target, level) {\
		if (level == sd || !(level->flags & SD_SHARE_PKG_RESOURCES))\
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
			if (!--nr)\
				return -1;\
			idle_cpu = __select_idle_cpu(cpu, p);\
			if ((unsigned int)idle_cpu < nr_cpumask_bits)\
				break;\
		}\
		/* Found: nothing is left to scan, and what the scan has cost is counted below. */\
		if (!has_idle_core && (unsigned int)idle_cpu < nr_cpumask_bits)\
			cpumask_clear(cpus);\
		else\
			cpumask_andnot(cpus, cpus, sched_domain_span(level));\
	}\

	}
}
# --- kernel/sched/features.h
s/^SCHED_FEAT(SIS_PROP, false)$/SCHED_FEAT(SIS_PROP, true)/
s/^SCHED_FEAT(SIS_UTIL, true)$/SCHED_FEAT(SIS_UTIL, false)/
