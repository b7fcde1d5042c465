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
	ks_show(picking, cpu_of(rq_of(cfs_rq)), queue_group(cfs_rq), protect);
}

static struct sched_entity *show_pick(struct cfs_rq *cfs_rq, struct sched_entity *se)
{
	ks_show(picked, cpu_of(rq_of(cfs_rq)), entity_number(se));
	return se;
}

#ifdef KS_HAS_SE_DEADLINE
/* pick_next_entity() has been reported, and has not called pick_eevdf() yet. */
static bool begun;

static bool pick_begins(struct cfs_rq *cfs_rq, bool protect)
{
	if (!pick_is_watched())
		return false;
	if (!begun)
		show_picking(cfs_rq, protect);
	begun = false;
	return true;
}

static struct sched_entity *hook_pick_eevdf_1(const char *caller, struct cfs_rq *cfs_rq)
{
	struct sched_entity *se;

	if (!pick_begins(cfs_rq, 1))
		return tree_pick_eevdf_1(cfs_rq);
	picking = true;
	se = tree_pick_eevdf_1(cfs_rq);
	picking = false;
	return show_pick(cfs_rq, se);
}

static struct sched_entity *hook_pick_eevdf_2(const char *caller, struct cfs_rq *cfs_rq, bool protect)
{
	if (!pick_begins(cfs_rq, protect))
		return tree_pick_eevdf_2(cfs_rq, protect);
	return show_pick(cfs_rq, tree_pick_eevdf_2(cfs_rq, protect));
}

static struct sched_entity *hook___pick_eevdf_2(const char *caller, struct cfs_rq *cfs_rq, bool protect)
{
	if (!pick_begins(cfs_rq, protect))
		return tree___pick_eevdf_2(cfs_rq, protect);
	return show_pick(cfs_rq, tree___pick_eevdf_2(cfs_rq, protect));
}

#ifndef KS_HAS_SE_H_LOAD
static bool next_begins(struct cfs_rq *cfs_rq)
{
	begun = pick_is_watched();
	if (begun)
		show_picking(cfs_rq, 1);
	return begun;
}

/* It was the buddy, unless pick_eevdf() was asked, which has been reported. */
static struct sched_entity *show_next(struct cfs_rq *cfs_rq, struct sched_entity *se)
{
	if (begun)
		show_pick(cfs_rq, se);
	begun = false;
	return se;
}

static struct sched_entity *hook_pick_next_entity_1(const char *caller, struct cfs_rq *cfs_rq)
{
	if (!next_begins(cfs_rq))
		return tree_pick_next_entity_1(cfs_rq);
	return show_next(cfs_rq, tree_pick_next_entity_1(cfs_rq));
}

static struct sched_entity *hook_pick_next_entity_2(const char *caller, struct rq *rq, struct cfs_rq *cfs_rq)
{
	if (!next_begins(cfs_rq))
		return tree_pick_next_entity_2(rq, cfs_rq);
	return show_next(cfs_rq, tree_pick_next_entity_2(rq, cfs_rq));
}
#endif
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

/* ---- what makes an entity the current one ----------------------------------------------------------------------- */

/* Where the tree's set_next_task_fair() protects the task after this call, watch.c reports the step. */
static bool set_next_begins(struct cfs_rq *cfs_rq, struct sched_entity *se, u32 kind, struct ks_step *step)
{
	struct rq *rq = rq_of(cfs_rq);

#ifdef KS_HAS_SE_H_LOAD
	return false;
#endif
	if (!ks_host->stepping || cfs_rq != &rq->cfs)
		return false;
	*step = (struct ks_step){ .cpu = cpu_of(rq), .task = buddy_number(se), .kind = kind };
	ks_show(stepping, step);
	return true;
}

static void hook_set_next_entity_2(const char *caller, struct cfs_rq *cfs_rq, struct sched_entity *se)
{
	struct ks_step step;
	bool watched = set_next_begins(cfs_rq, se, KS_STEP_SET_NEXT, &step);

	tree_set_next_entity_2(cfs_rq, se);
	if (watched)
		ks_show_if(stepped, &step);
}

static void hook_set_next_entity_3(const char *caller, struct cfs_rq *cfs_rq, struct sched_entity *se, bool first)
{
	struct ks_step step;
	bool watched = set_next_begins(cfs_rq, se, first ? KS_STEP_SET_NEXT : KS_STEP_SET_AGAIN, &step);

	tree_set_next_entity_3(cfs_rq, se, first);
	if (watched)
		ks_show_if(stepped, &step);
}
