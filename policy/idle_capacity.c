/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUs of different capacity: which of them fit p, and the scan for an idle one (spec 4, 4.6). */
#include "select.h"

/* The look at whether p fits cpu. */
static u32 probe_fits(const struct select_ctx *s, s32 cpu)
{
	u64 capacity = rq_of(s, cpu)->cpu_capacity;
	u32 fits = fits_capacity(s->util, capacity);

	note(s, fits ? FG_NOTE_FITS : FG_NOTE_TOO_SMALL, cpu, s->util, capacity);
	return fits;
}

/* fit(c) of spec 4: only once mail 000 is in, and only where asymmetric machines exist at all. */
static u32 asym_fits(const struct select_ctx *s, s32 cpu)
{
	if (!s->sys->asym_key || !feat(s->sys, FG_ASYM_PREV_FIRST))
		return 1;
	return probe_fits(s, cpu);
}

/* First free CPU of sd that fits p; without one, the free CPU with most capacity (spec 4.6). */
static s32 select_idle_capacity(const struct select_ctx *s, const struct fg_domain *sd)
{
	struct mask_wrap it = mask_wrap_begin(s->target, s->sys->nr_cpus);
	u64 best_cap = 0;
	s32 best = -1;

	while (mask_wrap_next(&it, &sd->span, &s->p->allowed)) {
		u64 cap = cpu_rq(s->sys, it.cpu)->cpu_capacity;

		if (!probe_free(s, (s32)it.cpu))
			continue;
		if (probe_fits(s, (s32)it.cpu))
			return (s32)it.cpu;
		if (cap > best_cap) {
			best_cap = cap;
			best = (s32)it.cpu;
		}
	}
	return best;
}
