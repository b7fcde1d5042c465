// SPDX-License-Identifier: GPL-2.0-only
/* v6.13: hrtimer_setup() sets a timer's function. */
#include <linux/hrtimer.h>

void (*ks_probe)(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *), clockid_t clock,
		 enum hrtimer_mode mode) = hrtimer_setup;
