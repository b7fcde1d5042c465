/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rows of the fast path. Three tables name them: B before mail 000 (spec 4.1), A after it (4.2), C since clusters
 * landed (4.4). What several versions try has a row of its own even where only one table names it.
 */
#ifndef FG_IDLE_ROWS_H
#define FG_IDLE_ROWS_H

#include "select.h"

enum sibling_row {
	ROW_TARGET,
	ROW_PREV,
	ROW_KTHREAD,
	ROW_RECENT,
	ROW_CAPACITY,
	ROW_NO_LLC,
	ROW_PREV_CORE,
	ROW_IDLE_CORE,
	ROW_CLUSTER_LOOP,
	ROW_CLUSTER,
	ROW_LLC,
	ROW_TARGET_CORE,
	ROW_PREV_AFF,
	ROW_RECENT_AFF,
	ROW_NOTHING,
};

/* In table B, A, C; crates/fair refuses features that would need a name that is not there. */
static const u16 row_names[][3] = {
	[ROW_TARGET] = { FG_RULE_B2, FG_RULE_A1, FG_RULE_C1 },
	[ROW_PREV] = { FG_RULE_B3, FG_RULE_A2, FG_RULE_C2 },
	[ROW_KTHREAD] = { FG_RULE_B4, FG_RULE_A3, FG_RULE_C3 },
	[ROW_RECENT] = { FG_RULE_B5, FG_RULE_A4, FG_RULE_C4 },
	[ROW_CAPACITY] = { FG_RULE_B1, FG_RULE_A5, FG_RULE_C5 },
	[ROW_NO_LLC] = { FG_RULE_B6, FG_RULE_A6, FG_RULE_C6 },
	[ROW_PREV_CORE] = { FG_RULE_B9P, FG_RULE_A9P, FG_RULE_C7 },
	[ROW_IDLE_CORE] = { FG_RULE_B7, FG_RULE_A7, FG_RULE_C8I },
	[ROW_CLUSTER_LOOP] = { FG_RULE_B7C, FG_RULE_A7C, FG_RULE_NONE },
	[ROW_CLUSTER] = { FG_RULE_NONE, FG_RULE_NONE, FG_RULE_C8C },
	[ROW_LLC] = { FG_RULE_B8, FG_RULE_A8, FG_RULE_C8 },
	[ROW_TARGET_CORE] = { FG_RULE_B9, FG_RULE_A9, FG_RULE_NONE },
	[ROW_PREV_AFF] = { FG_RULE_NONE, FG_RULE_NONE, FG_RULE_C9 },
	[ROW_RECENT_AFF] = { FG_RULE_NONE, FG_RULE_NONE, FG_RULE_C10 },
	[ROW_NOTHING] = { FG_RULE_B10, FG_RULE_A10, FG_RULE_C11 },
};

static inline u32 clusters_landed(const struct select_ctx *s)
{
	return feat(s->sys, FG_CLS_SELECT) == FG_CLS_LANDED;
}

/* From here on this row is tried; it is the rule that decided if the placement ends before the next. */
static inline void try_row(struct select_ctx *s, enum sibling_row row)
{
	u32 table = clusters_landed(s) ? 2 : feat(s->sys, FG_ASYM_PREV_FIRST) != 0;

	s->row = row_names[row][table];
	s->v->rule = s->row;
}

/* For rows that go by the version: a look at whether p may have cpu, which until v5.5 has to be idle. */
static inline u32 probe_takes(const struct select_ctx *s, s32 cpu, u32 wants_idle)
{
	return wants_idle ? probe_idle(s, cpu) : probe_free(s, cpu);
}

#endif
