/* SPDX-License-Identifier: GPL-2.0-only */
/* Observes picks from CFS run queues. Included after the tree's fair.c. */

/* Within a reported pick_eevdf(), which in some trees calls __pick_eevdf(). */
static bool picking;

static bool pick_is_watched(void)
{
	return ks_host->picking && ks_host->picked && !picking;
}

static void show_picking(struct cfs_rq *cfs_rq, bool protect)
{
	ks_host->picking(ks_host->self, cpu_of(rq_of(cfs_rq)), queue_group(cfs_rq), protect);
}

static struct sched_entity *show_pick(struct cfs_rq *cfs_rq, struct sched_entity *se)
{
	ks_host->picked(ks_host->self, cpu_of(rq_of(cfs_rq)), entity_number(se));
	return se;
}

#ifdef KS_HAS_SE_DEADLINE
static struct sched_entity *hook_pick_eevdf_1(const char *caller, struct cfs_rq *cfs_rq)
{
	bool watched = pick_is_watched();
	struct sched_entity *se;

	if (!watched)
		return tree_pick_eevdf_1(cfs_rq);
	show_picking(cfs_rq, 1);
	picking = true;
	se = tree_pick_eevdf_1(cfs_rq);
	picking = false;
	return show_pick(cfs_rq, se);
}

static struct sched_entity *hook_pick_eevdf_2(const char *caller, struct cfs_rq *cfs_rq, bool protect)
{
	if (!pick_is_watched())
		return tree_pick_eevdf_2(cfs_rq, protect);
	show_picking(cfs_rq, protect);
	return show_pick(cfs_rq, tree_pick_eevdf_2(cfs_rq, protect));
}

static struct sched_entity *hook___pick_eevdf_2(const char *caller, struct cfs_rq *cfs_rq, bool protect)
{
	if (!pick_is_watched())
		return tree___pick_eevdf_2(cfs_rq, protect);
	show_picking(cfs_rq, protect);
	return show_pick(cfs_rq, tree___pick_eevdf_2(cfs_rq, protect));
}
#else
static struct sched_entity *hook_pick_next_entity(const char *caller, struct cfs_rq *cfs_rq,
						  struct sched_entity *curr)
{
	if (!pick_is_watched())
		return tree_pick_next_entity(cfs_rq, curr);
	show_picking(cfs_rq, 1);
	return show_pick(cfs_rq, tree_pick_next_entity(cfs_rq, curr));
}
#endif
