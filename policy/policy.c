/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The policy as one translation unit: every helper is static, every fg_ function is a question of fg.h. What a file
 * uses stands above it.
 */
#include "sched.h"

#include "features.c"

/* signals */
#include "pelt.c"
#include "pelt_group.c"
#include "clock.c"
#include "uclamp.c"
#include "util.c"
#include "capacity.c"
#include "frequency.c"
#include "em.c"
#include "schedutil.c"

/* run queue */
#include "server.c"
#include "rt.c"
#include "idle.c"
#include "cache.c"
#include "vruntime.c"
#include "cfs.c"
#include "eevdf.c"
#include "group.c"
#include "bandwidth.c"
#include "fair.c"

/* placement */
#include "wake.c"
#include "idle_core.c"
#include "idle_capacity.c"
#include "idle_scan.c"
#include "idle_sibling.c"
#include "slow_type.c"
#include "slow_load.c"
#include "slow.c"
#include "energy.c"
#include "feec.c"
#include "select.c"

/* balance */
#include "balance.c"
#include "lb_asym.c"
#include "lb_begin.c"
#include "lb_cache.c"
#include "lb_stats.c"
#include "lb_amount.c"
#include "lb_ring.c"
#include "lb_busiest.c"
#include "lb_old.c"
#include "lb_queue.c"
#include "lb_detach.c"
#include "lb_after.c"
#include "nohz.c"
