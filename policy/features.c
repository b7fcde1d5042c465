/* SPDX-License-Identifier: GPL-2.0-only */
/* Which features, and which values of them, there is code for: the one answer, for the topology of crates/fair too. */
#include "sched.h"

static u32 feature_has_code(u32 id)
{
	switch (id) {
#define FG_FEATURE(id, name, values, mail, since, ready, text)                                                         \
	case FG_##id:                                                                                                  \
		return ready;
#include "features.h"
#undef FG_FEATURE
	}
	return 0;
}

u32 fg_feature_ready(u32 id, u32 value)
{
	if (!feature_has_code(id))
		return 0;
	switch (id) {
	case FG_BREAK_EVEN:
		return value <= FG_BREAK_EVEN_RESIDENCY;
	case FG_SIS_MODE:
		return value <= FG_SIS_UTIL;
	case FG_WAKE_LIST:
		return value <= FG_WAKE_LIST_IDLE;
	case FG_CLS_SELECT:
		return value <= FG_CLS_LANDED;
	case FG_UTIL_EST:
		return value <= FG_UTIL_EST_V68;
	case FG_PELT_SUM:
		return value <= FG_PELT_SUM_AVERAGE_FLOOR;
	case FG_NUMA_IMB:
		return value <= FG_NUMA_IMB_LLC;
	case FG_ASYM_PRIO:
		return value <= FG_ASYM_PRIO_CORE;
	case FG_FEEC:
		return value <= FG_FEEC_TRI;
	case FG_FEEC_TRIVIAL:
		return value <= FG_FEEC_TRIVIAL_MINIMUM;
	case FG_EM_COST:
		return value <= FG_EM_COST_PERFORMANCE;
	case FG_FREQ_HOLD:
		return value <= FG_FREQ_HOLD_V66;
	case FG_NEWIDLE_FAIL:
		return value <= FG_NEWIDLE_RATE;
	case FG_PROTECT:
		return value <= FG_PROTECT_INELIGIBLE;
	case FG_SHRINK:
		return value <= FG_SHRINK_ALWAYS;
	case FG_REWEIGHT:
		return value <= FG_REWEIGHT_EXACT;
	case FG_HRTICK:
		return value <= FG_HRTICK_DEADLINE;
	case FG_GROUP_SHARES:
		return value <= FG_GROUP_SHARES_TASKS;
	case FG_THROTTLE:
		return value <= FG_THROTTLE_EARLY;
	case FG_FAIR_SERVER:
		return value <= FG_FAIR_SERVER_V619;
	case FG_RQ:
		return value <= FG_RQ_EEVDF612;
	}
	return value <= 1;
}
