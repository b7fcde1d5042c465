/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Quotas of cgroups (cpu.max), for policies with flat-pick and throttle=task-early. The policy charges groups, throttles them and shares
 * out what is in their pools (policy/bandwidth.c). Here are the timer that fills the pools, and the tasks that are to leave:
 *
 *	group throttled -> its current task marked -> kicked -> dispatch: off the queue -> enqueue: waits apart -> refilled, kicked ->
 *	dispatch: back
 *
 * They wait in a second queue of their CPU, at which no pick and no pass looks.
 *
 * DEVIATION: a marked task leaves at its next switch, tick or dispatch, the kernel's on its return to user mode. So it may hold a lock of
 * the kernel meanwhile, as with throttle=group.
 *
 * DEVIATION: pools have no lock. What two CPUs take at the same time may be counted once, until the next period.
 *
 * DEVIATION: a change of cpu.max is seen by the next tick or wakeup of a task of the group; while all are throttled, at the next period.
 */

/* The queue of a CPU in which tasks of throttled groups wait. */
#define APART(cpu) (FG_NR_CPUS + (u64)(cpu))

/* The timer of all groups: it expires when the first of their periods ends. */
struct quota_timer {
	struct bpf_timer timer;
};

struct {
	int (*type)[2]; /* BPF_MAP_TYPE_ARRAY */
	int (*max_entries)[1];
	u32 *key;
	struct quota_timer *value;
} quota_timers VISIBLE SEC(".maps");

/* Sets the timer, unless it expires earlier anyway. 0: it could not be set. */
static noinline u32 set_timer(u64 at, u64 now)
{
	u32 key = 0;
	struct quota_timer *timer = bpf_map_lookup_elem(&quota_timers, &key);
	struct live_head *h = head();

	if (!timer)
		return 0;
	if (h->timer_at && h->timer_at <= at) {
		if (h->timer_at > now)
			return 1;
		/* It is about to expire, or is lost. */
		at = now;
	}
	h->timer_at = at;
	if (!bpf_timer_start(&timer->timer, at > now ? at - now : 1, 0))
		return 1;
	h->timer_at = 0;
	return 0;
}

/* The group of t, or one around it, is throttled on rq. */
static inline u32 is_throttled(const struct fg_cpu *rq, const struct live_task *t)
{
	struct fg_tg *tg = t->fg.tg;

	for (u32 i = 0; can_loop(i, LIVE_GROUP_DEPTHS) && tg; i++) {
		if (tg->cpus[(u32)rq->id].throttled)
			return 1;
		tg = tg->parent;
	}
	return 0;
}

/*
 * The CPU on which g was throttled first looks for what it may have of the pool, and then lets the next one look. One that runs an RT or
 * deadline task looks when that leaves it; the others do not wait for it. Without a quota nobody waits for anybody.
 */
global_func u32 kick_throttled(GROUP)
{
	struct live_head *h = head();
	struct fg_tg *tg = g->tg;
	u32 nr_cpus = h->sys->nr_cpus;

	/* In memory, or the verifier would follow each turn. */
	g->first_seq = 0;
	for (u32 cpu = 0; can_loop(cpu, FG_NR_CPUS) && cpu < nr_cpus; cpu++) {
		u64 seq = tg->cpus[cpu].throttled_seq;

		if (!seq)
			continue;
		if (h->cpus[cpu].runs_above || !tg->bandwidth.quota) {
			h->cpus[cpu].refilled = 1;
			scx_bpf_kick_cpu((s32)cpu, SCX_KICK_PREEMPT);
			continue;
		}
		if (g->first_seq && g->first_seq < seq)
			continue;
		g->first_seq = seq;
		g->first_cpu = cpu;
	}
	if (!g->first_seq)
		return 0;
	h->cpus[g->first_cpu].refilled = 1;
	scx_bpf_kick_cpu((s32)g->first_cpu, SCX_KICK_PREEMPT);
	return 0;
}

/* g has this quota from now on, 0: none. */
global_func u32 set_quota(GROUP, u64 quota, u64 period, u64 burst)
{
	const struct fg_sys *sys = head()->sys;
	struct fg_bandwidth *b = &g->tg->bandwidth;

	if (feat(sys, FG_THROTTLE) != FG_THROTTLE_EARLY || (quota && !period))
		return 0;
	b->quota = quota;
	b->period = period;
	b->burst = burst;
	if (!quota) {
		b->period_active = 0;
		b->slack_active = 0;
	}
	fg_tg_start_bandwidth(sys, g->tg, bpf_ktime_get_ns());
	kick_throttled(g);
	return 0;
}

/* g gets the quota that its cgroup has now, if that is another one. */
static inline void follow_quota(struct live_group *g, const struct live_cgroup *now)
{
	const struct fg_bandwidth *b = &g->tg->bandwidth;

	if (now->quota != b->quota || (now->quota && (now->period != b->period || now->burst != b->burst)))
		set_quota(g, now->quota, now->period, now->burst);
}

/* sync_throttle of a group that was just made: where the group around it is throttled it is, too, and its signals stand. */
static inline void join_throttled(const struct fg_sys *sys, struct fg_tg *tg)
{
	struct fg_tg *around = tg->parent;

	for (u32 cpu = 0; can_loop(cpu, FG_NR_CPUS) && around && cpu < sys->nr_cpus; cpu++) {
		struct fg_tg_cpu *g = &tg->cpus[cpu];

		g->throttle_count = around->cpus[cpu].throttle_count;
		g->pelt_clock_throttled = g->throttle_count != 0;
		g->throttled_clock_pelt = rq_clock_pelt(cpu_rq(sys, cpu));
	}
}

/* The timer is set if a group that t is in has asked for it. */
static inline void ask_timer(struct live_task *t)
{
	struct fg_tg *tg = t->fg.tg;

	for (u32 i = 0; can_loop(i, LIVE_GROUP_DEPTHS) && tg; i++) {
		struct fg_bandwidth *b = &tg->bandwidth;

		if (b->asked) {
			u64 first = b->slack_active && b->slack_expires < b->expires ? b->slack_expires : b->expires;

			b->asked = !set_timer(first, bpf_ktime_get_ns());
		}
		tg = tg->parent;
	}
}

/* What of g is due at now; head()->next_refill is not after its next expiry. */
global_func u32 refill(GROUP, u64 now)
{
	struct live_head *h = head();
	struct fg_bandwidth *b = &g->tg->bandwidth;
	u32 nr_cpus = h->sys->nr_cpus, is_due = 0, nr = 0;

	if (!b->period_active)
		return 0;
	/* Counted anew, for CPUs count without a lock. */
	for (u32 cpu = 0; can_loop(cpu, FG_NR_CPUS) && cpu < nr_cpus; cpu++)
		nr += g->tg->cpus[cpu].throttled;
	b->nr_throttled = nr;
	if (fg_period_forward(b, now))
		is_due = fg_period_begin(b);
	if (b->slack_active && now >= b->slack_expires)
		is_due |= fg_slack_due(b, now);
	if (is_due)
		kick_throttled(g);
	if (b->period_active && b->expires < h->next_refill)
		h->next_refill = b->expires;
	if (b->slack_active && b->slack_expires < h->next_refill)
		h->next_refill = b->slack_expires;
	return 0;
}

#define NEVER (~0ull)

static int quota_timer_expired(void *map, u32 *key, struct quota_timer *timer)
{
	struct live_head *h = head();
	u64 now = bpf_ktime_get_ns();

	(void)map;
	(void)key;
	(void)timer;
	h->timer_at = 0;
	h->next_refill = NEVER;
	/* Counted in memory, or the verifier would follow each turn. */
	for (h->looked = 0; can_loop(h->looked, ALL_GROUPS) && h->looked < ALL_GROUPS; h->looked++) {
		struct live_group *g = &h->groups[h->looked];

		if (g->key && g->is_ready && g->tg->bandwidth.quota)
			refill(g, now);
	}
	if (h->next_refill != NEVER)
		set_timer(h->next_refill, now);
	return 0;
}

/* When the scheduler starts, for the first time or anew. */
static inline s32 init_quotas(u32 nr_cpus)
{
	u32 key = 0;
	struct quota_timer *timer;
	long failed;

	if (!head()->groups)
		return 0;
	timer = bpf_map_lookup_elem(&quota_timers, &key);
	if (!timer)
		return -ENOENT;
	failed = bpf_timer_init(&timer->timer, &quota_timers, CLOCK_MONOTONIC);
	if (failed && failed != -EBUSY)
		return (s32)failed;
	bpf_timer_set_callback(&timer->timer, (void *)quota_timer_expired);
	for (u32 cpu = 0; can_loop(cpu, FG_NR_CPUS) && cpu < nr_cpus; cpu++) {
		s32 error = scx_bpf_create_dsq(APART(cpu), -1);

		if (error)
			return error;
	}
	return 0;
}

/* When the scheduler ends: no callback meets the arena while the loader fills it anew. */
static inline void stop_timer(void)
{
	u32 key = 0;
	struct quota_timer *timer = bpf_map_lookup_elem(&quota_timers, &key);

	if (timer)
		bpf_timer_cancel(&timer->timer);
}

/*
 * The current task p leaves the queue of rq, clock up to date and charged, if it is marked and its group is throttled; 1: it has.
 * Kernel threads never return to user mode. One whose migration is disabled would be put on the CPU at once again (ext.c): it keeps
 * the mark.
 */
static inline u32 leave_throttled(struct live_cpu *c, struct fg_cpu *rq, struct task_struct *p)
{
	struct live_task *t = (struct live_task *)rq->curr;

	if (!t || !(t->fg.flags & FG_TASK_THROTTLE_WORK) || !may_migrate(p))
		return 0;
	t->fg.flags &= ~(u32)FG_TASK_THROTTLE_WORK;
	if (!t->fg.on_rq || (p->flags & (PF_KTHREAD | PF_EXITING)) || !is_throttled(rq, t))
		return 0;
	dequeue_entity(rq, t, FG_DEQUEUE_SLEEP | FG_DEQUEUE_SPECIAL);
	update_min_vruntime(rq, leftmost(rq));
	put_prev_entity(rq, t);
	t->fg.flags |= FG_TASK_THROTTLED;
	ask_timer(t);
	p->scx.slice = 0;
	c->throttled++;
	return 1;
}

/* g, which is throttled on rq, takes what it may of its pool, and goes on if that is enough. */
global_func u32 unthrottle(GROUP, RQ)
{
	struct fg_tg *tg = g->tg;

	if (fg_tg_hand_out(rq, tg))
		fg_tg_unthrottle(head()->sys, rq, tg);
	if (tg->bandwidth.runtime && tg->bandwidth.quota)
		kick_throttled(g);
	return 0;
}

/* Groups that are throttled on rq go on as far as their pools have something. */
static inline void share_out(struct live_cpu *c, struct fg_cpu *rq)
{
	struct live_head *h = head();

	for (c->looked = 0; can_loop(c->looked, ALL_GROUPS) && c->looked < ALL_GROUPS; c->looked++) {
		struct live_group *g = &h->groups[c->looked];

		if (g->key && g->is_ready && g->tg->cpus[(u32)rq->id].throttled)
			unthrottle(g, rq);
	}
}

/* next of c is a task that waits apart on rq, and whose groups go on. 0: there is none. */
static noinline u32 find_returning(struct live_cpu *c, const struct fg_cpu *rq)
{
	struct bpf_iter_scx_dsq it;

	c->next = 0;
	for_each_queued(p, APART(rq->id), it)
	{
		struct live_task *t = slot_of(p);

		if (t && (t->fg.flags & FG_TASK_THROTTLED) && !is_throttled(rq, t)) {
			c->next = &t->fg;
			break;
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
	return c->next != 0;
}

/* The task whose slot has this ADDRESS goes from there into the queue of its CPU. */
static noinline void move_back(u32 cpu, u64 address, u64 key)
{
	struct bpf_iter_scx_dsq it;

	for_each_queued(p, APART(cpu), it)
	{
		u64 *slot = bpf_task_storage_get(&task_slots, p, 0, 0);

		if (slot && *slot == address) {
			move_with_key(&it, p, cpu, key);
			break;
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
}

/* Tasks whose groups go on come back into the queue of rq, clock up to date and its current task charged. */
static inline void come_back(struct live_cpu *c, struct fg_cpu *rq)
{
	for (u32 i = 0; can_loop(i, 1 << 20); i++) {
		struct live_task *t;

		if (!find_returning(c, rq))
			break;
		t = (struct live_task *)c->next;
		t->fg.flags &= ~(u32)FG_TASK_THROTTLED;
		t->queued = bpf_ktime_get_ns();
		enqueue_entity(rq, t, FG_ENQUEUE_WAKEUP);
		move_back((u32)rq->id, ADDRESS(t), order_key(head()->sys, &t->fg));
	}
}
