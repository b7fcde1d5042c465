/* SPDX-License-Identifier: GPL-2.0-only */
/* Copies a sched_avg to an fg_avg. */
#ifndef KS_READ_AVG_H
#define KS_READ_AVG_H

#include <linux/sched.h>

/* ks.h has members named current. */
#pragma push_macro("current")
#undef current
#include "ks.h"
#pragma pop_macro("current")

static inline void read_avg(const struct sched_avg *from, struct fg_avg *to)
{
	to->last_update = from->last_update_time;
	to->load_sum = from->load_sum;
	to->runnable_sum = from->runnable_sum;
	to->util_sum = from->util_sum;
	to->load_avg = from->load_avg;
	to->runnable_avg = from->runnable_avg;
	to->util_avg = from->util_avg;
	to->period_contrib = from->period_contrib;
}

#endif
