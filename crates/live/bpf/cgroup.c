/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cgroups and their weights (cpu.weight), for policies in which the tasks of all groups compete in one queue (flat-pick): a task's fg_tg
 * follows its cgroup. Cgroup ops are not used: they tell nothing of autogroups, and a task that wakes up has to be looked up in any case.
 * Each wakeup looks at the group that the task is in. So a group is known here as long as it has tasks, groups within it, or load that they left.
 *
 * DEVIATION: a task that is moved to another cgroup while it sleeps counts in the former one until it wakes up. cpu.idle counts as it
 * was when the group became known. Autogroups count as the root group; what is more than LIVE_GROUP_DEPTHS deep, and what finds none of
 * the LIVE_GROUPS of its depth free, counts as in the group around it.
 *
 * DEVIATION: the load of a group over all CPUs has no lock. What two CPUs change at the same time is lost until sum_groups().
 */

/*
 * arena.py takes a pointer that is loaded from memory for an arena's, unless CO-RE loads it. This keeps the compiler from making
 * one plain load of two such loads, before a loop and in it.
 */
#define KERNEL_POINTER(at) __asm__ volatile("" : "+r"(at))

/* p->sched_task_group is there, and it is a cgroup. A function that returned it, or null, would return an arena's null (arena.py). */
static inline u32 is_in_cgroup(struct task_struct *p)
{
	struct task_group *tg;

	if (!HAS_MEMBER(p->sched_task_group))
		return 0;
	tg = p->sched_task_group;
	return tg && tg->parent && !(HAS_MEMBER(tg->autogroup) && tg->autogroup);
}

/* The number of the cgroup of p, which no other has or will have; 0: the root group. */
static inline u64 cgroup_key(struct task_struct *p)
{
	return is_in_cgroup(p) ? p->sched_task_group->css.serial_nr : 0;
}

/* Guards what says which groups there are: of live_group key, around, users and is_ready; nr_groups; sys->nr_tgs. */
struct bpf_spin_lock groups_lock SEC(".data.groups_lock");

/* A number that no cgroup has. */
#define NO_CGROUP (~0ull)

/* A user of g is gone. */
global_func u32 drop_group(GROUP)
{
	bpf_spin_lock(&groups_lock);
	g->users--;
	bpf_spin_unlock(&groups_lock);
	return 0;
}

/* All of g but its group. Blocked averages of other CPUs may be brought up to date meanwhile. */
global_func u32 clear_group_cpu(struct fg_tg_cpu *g state_arg)
{
	u64 *words = (u64 *)&g->group + 1;

	for (u32 i = 0; can_loop(i, 1 << 10) && i < sizeof(*g) / sizeof(u64) - 1; i++)
		words[i] = 0;
	return 0;
}

/* g, which was just claimed, becomes the group that `made` describes. */
static inline void make_group(struct live_group *g, const struct live_cgroup *made, u32 depth)
{
	struct live_head *h = head();
	struct fg_tg *tg = g->tg;
	u32 nr_cpus = h->sys->nr_cpus;

	for (u32 cpu = 0; can_loop(cpu, FG_NR_CPUS) && cpu < nr_cpus; cpu++)
		clear_group_cpu(&tg->cpus[cpu]);
	tg->parent = g->around ? g->around->tg : 0;
	tg->depth = depth;
	tg->idle = made->idle;
	tg->shares = made->shares;
	tg->load_avg = 0;
	tg->runnable_avg = 0;
	__builtin_memset(&tg->bandwidth, 0, sizeof(tg->bandwidth));
	fg_tg_init(h->sys, tg);
	join_throttled(h->sys, tg);
}

/*
 * c->held is the group of this cgroup, one level within around (null: the root group), with a user more, the caller. Null: all groups
 * of this depth are known as others, or another CPU is just making it.
 */
global_func u32 hold_group(struct live_cpu *c state_arg, const struct live_cgroup *wanted state_arg,
			   struct live_group *around state_arg, u32 depth)
{
	struct live_head *h = head();
	/* Of one depth, for blocked averages are updated from within to without. */
	struct live_group *all = &h->groups[(LIVE_GROUP_DEPTHS - 1 - depth % LIVE_GROUP_DEPTHS) * LIVE_GROUPS];
	struct live_group *found = 0, *unused = 0;

	bpf_spin_lock(&groups_lock);
	for (u32 i = 0; i < LIVE_GROUPS; i++) {
		struct live_group *g = &all[i];

		if (g->key == wanted->key) {
			found = g;
			break;
		}
		if (!unused && !g->key)
			unused = g;
	}
	if (found) {
		unused = 0;
		if (found->is_ready)
			found->users++;
		else
			found = 0;
	}
	if (unused) {
		unused->key = wanted->key;
		unused->around = around;
		unused->users = 1;
		unused->is_ready = 0;
		if (around)
			around->users++;
		h->nr_groups++;
	}
	bpf_spin_unlock(&groups_lock);
	c->held = unused ? unused : found;
	if (!unused)
		return 0;
	make_group(unused, wanted, depth);
	bpf_spin_lock(&groups_lock);
	unused->is_ready = 1;
	/* Blocked averages of groups are brought up to date from now on. */
	h->sys->nr_tgs = ALL_GROUPS;
	bpf_spin_unlock(&groups_lock);
	return 0;
}

/* The quota of a cgroup of the kernel: 0 if it has none. */
static inline void read_quota(struct live_cgroup *to, struct task_group *tg)
{
	to->quota = 0;
	to->period = 0;
	to->burst = 0;
	if (!HAS_MEMBER(tg->cfs_bandwidth) || tg->cfs_bandwidth.quota == NO_QUOTA)
		return;
	to->quota = tg->cfs_bandwidth.quota;
	to->period = (u64)tg->cfs_bandwidth.period;
	to->burst = tg->cfs_bandwidth.burst;
}

/*
 * The cgroups that p is in, from the innermost on, into the chain of a CPU; of more than it has room for the outer ones. Their number is
 * in memory, for the verifier would follow each that it could be.
 */
static inline void read_cgroups(struct live_cpu *c, struct task_struct *p)
{
	struct task_group *tg;

	c->nr_cgroups = 0;
	if (!is_in_cgroup(p))
		return;
	tg = p->sched_task_group;
	KERNEL_POINTER(tg);
	for (; can_loop(c->nr_cgroups, FG_MAX_TG_DEPTH) && tg && tg->parent; c->nr_cgroups++) {
		struct live_cgroup *at = &c->cgroups[c->nr_cgroups % LIVE_GROUP_DEPTHS];

		at->key = tg->css.serial_nr;
		at->shares = HAS_MEMBER(tg->shares) ? tg->shares : NICE_0_SHARES;
		at->idle = HAS_MEMBER(tg->idle) ? (u32)tg->idle : 0;
		read_quota(at, tg);
		tg = tg->parent;
		KERNEL_POINTER(tg);
	}
}

/* c->held is the group of the innermost cgroup of c's chain that has one, with a user more. Null: none has one. */
global_func u32 hold_innermost(struct live_cpu *c state_arg)
{
	struct live_group *inner = 0;
	u64 nr = c->nr_cgroups;

	for (u32 depth = 0; can_loop(depth, LIVE_GROUP_DEPTHS) && depth < LIVE_GROUP_DEPTHS && depth < nr; depth++) {
		struct live_cgroup *at = &c->cgroups[(nr - 1 - depth) % LIVE_GROUP_DEPTHS];
		struct live_group *g;

		hold_group(c, at, inner, depth);
		g = c->held;
		if (!g)
			break;
		/* What is within it uses it now. */
		if (inner)
			drop_group(inner);
		g->tg->shares = at->shares;
		follow_quota(g, at);
		inner = g;
	}
	c->held = inner;
	return 0;
}

/* t, which is not queued, leaves the averages of its group and is in g (null: the root group) from now on. The caller was a user of g. */
global_func u32 change_group(SLOT, GROUP, u64 now)
{
	struct live_group *former = t->group;

	if (former)
		drop_group(former);
	if (g == former)
		return 0;
	if (!is_detached(&t->fg))
		leave_behind(t, now);
	t->group = g;
	t->fg.tg = g ? g->tg : 0;
	return 0;
}

/* The weights and quotas of the cgroups that p is in, at least one, as they are now. */
static inline void follow_cgroups(struct live_task *t, struct task_struct *p)
{
	struct live_cgroup *now = &head()->cpus[bpf_get_smp_processor_id()].cgroups[0];
	struct task_group *at = p->sched_task_group;
	struct live_group *g = t->group;

	KERNEL_POINTER(at);
	for (u32 i = 0; can_loop(i, FG_MAX_TG_DEPTH) && i < t->beneath && at; i++) {
		at = at->parent;
		KERNEL_POINTER(at);
	}
	for (u32 i = 0; can_loop(i, LIVE_GROUP_DEPTHS) && g && at; i++) {
		if (HAS_MEMBER(at->shares))
			g->tg->shares = at->shares;
		read_quota(now, at);
		follow_quota(g, now);
		g = g->around;
		at = at->parent;
		KERNEL_POINTER(at);
	}
}

/* p, which is not queued, is in the group of its cgroup from now on. */
static noinline void join_cgroup(struct live_task *t, struct task_struct *p)
{
	struct live_head *h = head();
	u32 depth, cpu = bpf_get_smp_processor_id();
	u64 key = cgroup_key(p), now = bpf_ktime_get_ns();
	struct live_cpu *c;

	if (!h->groups || t->fg.on_rq)
		return;
	if (t->cgroup == key) {
		if (key)
			follow_cgroups(t, p);
		return;
	}
	c = &h->cpus[cpu];
	read_cgroups(c, p);
	hold_innermost(c);
	change_group(t, c->held, now);
	depth = t->fg.tg ? t->fg.tg->depth + 1 : 0;
	t->beneath = (u32)c->nr_cgroups - depth;
	if (depth == c->nr_cgroups || depth == LIVE_GROUP_DEPTHS) {
		t->cgroup = key;
		return;
	}
	/* There was no group for it. It looks again at its next wakeup. */
	if (t->cgroup != NO_CGROUP)
		c->ungrouped++;
	t->cgroup = NO_CGROUP;
}

/* 1: nothing is in g, nor has left a trace. */
static inline u32 is_group_gone(const struct live_group *g)
{
	return g->key && g->is_ready && !g->users && !g->tg->load_avg && !g->tg->runnable_avg;
}

/* A g in which nothing is may become another one. */
global_func u32 forget_group(GROUP)
{
	struct live_head *h = head();

	bpf_spin_lock(&groups_lock);
	if (is_group_gone(g)) {
		if (g->around)
			g->around->users--;
		g->key = 0;
		h->nr_groups--;
		if (!h->nr_groups)
			h->sys->nr_tgs = 0;
	}
	bpf_spin_unlock(&groups_lock);
	return 0;
}

/* The load of g anew, from its parts on all CPUs. */
global_func u32 sum_load(GROUP)
{
	u32 nr_cpus = head()->sys->nr_cpus;
	u64 load = 0, runnable = 0;

	for (u32 cpu = 0; can_loop(cpu, FG_NR_CPUS) && cpu < nr_cpus; cpu++) {
		load += g->tg->cpus[cpu].contribution;
		runnable += g->tg->cpus[cpu].runnable_contribution;
	}
	g->tg->load_avg = load;
	g->tg->runnable_avg = runnable;
	return 0;
}

/* The loads of all groups of one depth anew, of another depth each time; those that are gone are forgotten. */
static noinline void sum_groups(void)
{
	struct live_head *h = head();
	struct live_group *all = &h->groups[h->summed++ % LIVE_GROUP_DEPTHS * LIVE_GROUPS];

	for (u32 i = 0; can_loop(i, LIVE_GROUPS) && i < LIVE_GROUPS; i++) {
		struct live_group *g = &all[i];

		if (!g->key || !g->is_ready)
			continue;
		sum_load(g);
		if (is_group_gone(g))
			forget_group(g);
	}
}
