/* SPDX-License-Identifier: GPL-2.0-only */
/* RT tasks on a run queue, as far as clamps and clocks go: everything else about them is the caller's. */
#include "sched.h"

void fg_enqueue_rt(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	server_catch_up(sys, rq, 0, rq->h_nr_running);
	if (!feat(sys, FG_UCLAMP_LATE))
		fg_uclamp_rq_inc(sys, rq, p);
	rq->rt_nr_running++;
	cpufreq_update_util(sys, rq, 0);
	if (feat(sys, FG_UCLAMP_LATE))
		fg_uclamp_rq_inc(sys, rq, p);
}

void fg_dequeue_rt(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	fg_uclamp_rq_dec(sys, rq, p);
	rq->rt_nr_running--;
	cpufreq_update_util(sys, rq, 0);
}
