# tree: 6.1
# file: kernel/sched/fair.c
# places: 5
# scheduler: fair:debian-6.1.192+cls-select=levels+sis-mode=prop-aged+levels-nr=cluster
# shape: clustered
#
# As 004-levels, where the budget comes from what scans cost and from the size of the lowest level that is scanned.
/^static int select_idle_cpu(struct task_struct \*p, struct sched_domain \*sd, bool has_idle_core, int target)$/,/^}$/ {
	s/^\tu64 time = 0;$/&\
	unsigned int budget_weight = sd->span_weight;\
	struct sched_domain *lowest;/
	/^\tcpumask_and(cpus, sched_domain_span(sd), p->cpus_ptr);$/ a\
\
	for_each_domain(target, lowest) {\
		if (lowest->flags & SD_SHARE_CPUCAPACITY)\
			continue;\
		if (lowest->flags & SD_SHARE_PKG_RESOURCES)\
			budget_weight = lowest->span_weight;\
		break;\
	}
	s/^\t\tspan_avg = sd->span_weight \* avg_idle;$/\t\tspan_avg = budget_weight * avg_idle;/
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
