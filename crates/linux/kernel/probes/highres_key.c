// SPDX-License-Identifier: GPL-2.0-only
/* v7.1: a static key says that timers have a high resolution. */
#include <linux/hrtimer.h>

struct static_key_false *ks_probe = &hrtimer_highres_enabled_key;
