// SPDX-License-Identifier: GPL-2.0-only
/* v7.1: a timer is a linked node of its queue, and has a mark instead of a state. */
#include <linux/hrtimer.h>

struct timerqueue_linked_node *ks_probe(struct hrtimer *timer);
struct timerqueue_linked_node *ks_probe(struct hrtimer *timer)
{
	return &timer->node;
}
