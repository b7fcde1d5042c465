/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Weights of cgroups (cpu.weight), for policies in which the tasks of all groups compete in one queue (flat-pick): a task's fg_tg
 * follows its cgroup. The kernel tells the scheduler of no cgroup that it makes or removes; each wakeup looks at the one that the task is in.
 * So a group is known here as long as it has tasks, or load that they left.
 *
 * DEVIATION: a task that is moved to another cgroup while it sleeps counts in the former one until it wakes up. cpu.idle counts as it
 * was when the group became known. Autogroups count as the root group.
 */

/* The kernel's pointer in a register: loads of a loop stay apart from what was loaded before, by which arena.py knows them. */
#define KERNEL_POINTER(at) __asm__ volatile("" : "+r"(at))

/* p->sched_task_group is there, and it is a cgroup. No function returns it: null is an arena's null (arena.py). */
static inline u32 is_in_cgroup(struct task_struct *p)
{
	struct task_group *tg;

	if (!HAS_MEMBER(p->sched_task_group))
		return 0;
	tg = p->sched_task_group;
	return tg && tg->parent && !(HAS_MEMBER(tg->autogroup) && tg->autogroup);
}

/* The address of the cgroup of p, 0: the root group. */
static inline u64 cgroup_key(struct task_struct *p)
{
	return is_in_cgroup(p) ? (u64)p->sched_task_group : 0;
}

/* Guards head()->groups but for ->tg. */
struct bpf_spin_lock groups_lock SEC(".data.groups_lock");

/* An address that no cgroup has. */
#define NO_CGROUP (~0ull)
#define GROUP struct live_group *g state_arg

/* A user of g is gone. */
global_func u32 drop_group(GROUP)
{
	bpf_spin_lock(&groups_lock);
	g->users--;
	bpf_spin_unlock(&groups_lock);
	return 0;
}

/* Makes g, which has no users, the group that `made` describes. */
static inline void make_group(struct live_group *g, const struct live_cgroup *made, u32 depth)
{
	struct live_head *h = head();
	struct fg_tg *tg = g->tg;
	u64 *words = (u64 *)tg->cpus;
	u32 nr = h->sys->nr_cpus * (u32)(sizeof(struct fg_tg_cpu) / sizeof(u64));

	for (u32 i = 0; can_loop(i, 1 << 20) && i < nr; i++)
		words[i] = 0;
	tg->parent = g->around ? g->around->tg : 0;
	tg->depth = depth;
	tg->idle = made->idle;
	tg->shares = made->shares;
	tg->load_avg = 0;
	tg->runnable_avg = 0;
	fg_tg_init(h->sys, tg);
}

/*
 * c->held is the group of this cgroup, one level within around (null: the root group), with a user more, the caller. Null: all groups
 * of this depth have users or load, or another CPU is just making it.
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

		if (g->key == wanted->key && g->around == around) {
			found = g;
			break;
		}
		if (!unused && (!g->key || (!g->users && !g->tg->load_avg && !g->tg->runnable_avg)))
			unused = g;
	}
	if (found && !found->is_ready) {
		found = 0;
		unused = 0;
	}
	if (found) {
		found->users++;
		unused = 0;
	}
	if (unused) {
		if (unused->key && unused->around)
			unused->around->users--;
		unused->key = wanted->key;
		unused->around = around;
		unused->users = 1;
		unused->is_ready = 0;
		if (around)
			around->users++;
	}
	bpf_spin_unlock(&groups_lock);
	c->held = unused ? unused : found;
	if (!unused)
		return 0;
	make_group(unused, wanted, depth);
	h->sys->nr_tgs = LIVE_GROUP_DEPTHS * LIVE_GROUPS;
	bpf_spin_lock(&groups_lock);
	unused->is_ready = 1;
	bpf_spin_unlock(&groups_lock);
	return 0;
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

		at->key = (u64)tg;
		at->shares = HAS_MEMBER(tg->shares) ? tg->shares : NICE_0_SHARES;
		at->idle = HAS_MEMBER(tg->idle) ? (u32)tg->idle : 0;
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
		inner = g;
	}
	c->held = inner;
	return 0;
}

/* t, which is not queued, leaves the averages of its group and is in g (null: the root group) from now on. */
global_func u32 change_group(SLOT, GROUP, u64 now)
{
	struct live_group *former = t->group;

	if (!is_detached(&t->fg))
		leave_behind(t, now);
	if (former)
		drop_group(former);
	t->group = g;
	t->fg.tg = g ? g->tg : 0;
	return 0;
}

/* The weights of the cgroups that p is in, at least one, as they are now. */
static inline void follow_weights(struct live_task *t, struct task_struct *p)
{
	struct task_group *at = p->sched_task_group;
	struct fg_tg *tg = t->fg.tg;

	if (!HAS_MEMBER(at->shares))
		return;
	KERNEL_POINTER(at);
	for (u32 i = 0; can_loop(i, LIVE_GROUP_DEPTHS) && tg && at; i++) {
		tg->shares = at->shares;
		tg = tg->parent;
		at = at->parent;
		KERNEL_POINTER(at);
	}
}

/* p, which is not queued, is in the group of its cgroup from now on. */
static noinline void join_cgroup(struct live_task *t, struct task_struct *p)
{
	struct live_head *h = head();
	u32 cpu = bpf_get_smp_processor_id();
	u64 key = cgroup_key(p), now = bpf_ktime_get_ns();
	struct live_cpu *c;

	if (!h->groups || t->fg.on_rq)
		return;
	if (t->cgroup == key) {
		if (key)
			follow_weights(t, p);
		return;
	}
	c = &h->cpus[cpu];
	read_cgroups(c, p);
	hold_innermost(c);
	change_group(t, c->held, now);
	t->cgroup = key;
	/* It is in a group around its own: it looks again at its next wakeup. */
	if (c->nr_cgroups && (!t->fg.tg || t->fg.tg->depth + 1 != c->nr_cgroups)) {
		t->cgroup = NO_CGROUP;
		c->ungrouped++;
	}
}

/* The loads of all groups anew: CPUs that change one at the same time may lose a part. */
static noinline void sum_groups(void)
{
	struct live_head *h = head();
	u32 nr_cpus = h->sys->nr_cpus;

	for (u32 i = 0; can_loop(i, FG_MAX_TGS) && i < h->sys->nr_tgs; i++) {
		struct live_group *g = &h->groups[i];
		u64 load = 0, runnable = 0;

		if (!g->key || !g->is_ready)
			continue;
		for (u32 cpu = 0; can_loop(cpu, FG_NR_CPUS) && cpu < nr_cpus; cpu++) {
			load += g->tg->cpus[cpu].contribution;
			runnable += g->tg->cpus[cpu].runnable_contribution;
		}
		g->tg->load_avg = load;
		g->tg->runnable_avg = runnable;
	}
}
