// SPDX-License-Identifier: GPL-2.0-only
/* Clock bases of timers say how to read their clock. */
#include <linux/hrtimer.h>

ktime_t ks_probe(struct hrtimer_clock_base *base);
ktime_t ks_probe(struct hrtimer_clock_base *base)
{
	return base->get_time();
}
