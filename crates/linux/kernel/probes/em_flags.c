// SPDX-License-Identifier: GPL-2.0-only
/* v5.16: an energy model marks inefficient operating points. */
#include "tree.h"
#include <linux/energy_model.h>

unsigned long ks_probe(struct em_perf_state *state);
unsigned long ks_probe(struct em_perf_state *state)
{
	return state->flags & EM_PERF_STATE_INEFFICIENT;
}
