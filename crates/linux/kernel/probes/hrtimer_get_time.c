// SPDX-License-Identifier: GPL-2.0-only
/* struct hrtimer_clock_base has a function that reads its clock. */
#include <linux/hrtimer.h>

ktime_t ks_probe(struct hrtimer_clock_base *base);
ktime_t ks_probe(struct hrtimer_clock_base *base)
{
	return base->get_time();
}
