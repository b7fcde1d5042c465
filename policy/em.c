/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The energy model of a clock: what busy time costs at each of its operating points (spec 8.2). Power is that of a CPU that
 * never idles, and a slower one needs longer for the same work:
 *
 *	milliwatt	to v5.14	power / speed, speed as part of the top frequency, from whole milliwatts
 *	scaled		v5.15		the same with three more decimal places behind it
 *	microwatt	v6.0		the same from whole microwatts
 *	performance	v6.9		10 * power / performance, which has the size of the CPU in it
 */
#include "sched.h"

#define MICROWATTS 1000 /* of a milliwatt */

static u64 busy_cost(const struct fg_sys *sys, const struct fg_opp *opp, u64 top_khz)
{
	u64 khz = nonzero(opp->khz);

	switch (feat(sys, FG_EM_COST)) {
	case FG_EM_COST_MILLIWATT:
		return top_khz * (opp->power / MICROWATTS) / khz;
	case FG_EM_COST_SCALED:
		return top_khz * (opp->power / MICROWATTS * MICROWATTS) / khz;
	case FG_EM_COST_MICROWATT:
		return top_khz * opp->power / khz;
	}
	return 10 * opp->power / nonzero(opp->performance);
}

void fg_em_init(const struct fg_sys *sys, struct fg_em *em, u32 orig)
{
	u64 top_khz = em->opps[em->nr_opps - 1].khz, least = ~0ull;

	for (u32 i = em->nr_opps; can_loop(i, ~0u) && i-- > 0;) {
		struct fg_opp *opp = &em->opps[i];

		opp->performance = (u32)((u64)orig * opp->khz / nonzero(top_khz));
		opp->cost = busy_cost(sys, opp, top_khz);
		opp->inefficient = feat(sys, FG_EM_EFFICIENT) && opp->cost >= least;
		least = min_u64(least, opp->cost);
	}
}
