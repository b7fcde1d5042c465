// SPDX-License-Identifier: GPL-2.0-only
/* v6.13: a timer gets its function when it is set up. */
#include <linux/hrtimer.h>

void (*ks_probe)(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *), clockid_t clock,
		 enum hrtimer_mode mode) = hrtimer_setup;
