# tree: 6.1
# with: 004-levels-llc-budget
# file: kernel/sched/fair.c
# places: 3
# scheduler: fair:debian-TREE+cls-select=levels+sis-mode=prop-aged+levels-nr=cluster
# shape: clustered
#
# The budget comes from the size of the lowest level that is scanned instead.
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
}
