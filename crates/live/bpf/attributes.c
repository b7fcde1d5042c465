/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel says of a task: where it may run, its class and weight, its clamps and those of its cgroup. */

/* Minimum and maximum of an array of struct uclamp_se, and, as FG_TASK_ASKED_*, which of them somebody set. */
static inline u32 read_clamps(struct fg_clamps *clamps, const void *uclamp)
{
	const struct uclamp_se *se = 0;
	u32 words[2], user_defined[2];

	/* 7.3's verifier does not follow a pointer into such an array. */
	bpf_probe_read_kernel(words, sizeof(words), uclamp);
	clamps->min = (u32)BITS_OF(words[0], se->value);
	clamps->max = (u32)BITS_OF(words[1], se->value);
	user_defined[0] = (u32)BITS_OF(words[0], se->user_defined);
	user_defined[1] = (u32)BITS_OF(words[1], se->user_defined);
	return (user_defined[0] ? FG_TASK_ASKED_MIN : 0) | (user_defined[1] ? FG_TASK_ASKED_MAX : 0);
}

/* What the cgroup of p allows: cpu.uclamp.min and .max, there and around it. Root group and autogroups allow all. 1: it has changed. */
static inline u32 read_group_clamps(struct live_task *t, struct task_struct *p)
{
	struct fg_clamps allowed = { .min = 0, .max = FG_CAPACITY_SCALE };
	u32 changed, restricted = 0;

	if (is_in_cgroup(p) && HAS_MEMBER(p->sched_task_group->uclamp)) {
		struct task_group *tg = p->sched_task_group;

		read_clamps(&allowed, &tg->uclamp);
		restricted = 1;
	}
	changed = t->group_clamps.min != allowed.min || t->group_clamps.max != allowed.max || t->has_group_clamps != restricted;
	t->group_clamps = allowed;
	t->has_group_clamps = restricted;
	/* sched_uclamp_used */
	if (changed && (allowed.min || allowed.max != FG_CAPACITY_SCALE))
		head()->sys->uclamp_used = 1;
	return changed;
}

#if FG_MASK_WORDS == 1
static inline void read_cpus(struct fg_mask *cpus, const struct cpumask *mask)
{
	cpus->bits[0] = mask->bits[0];
}
#else
/* The kernel's set may have more or fewer words than the policy's. A function, so that they are not on the stack of the placement. */
static noinline void read_cpus(struct fg_mask *cpus, const struct cpumask *mask)
{
	u64 words[FG_MASK_WORDS] = { 0 };

	bpf_probe_read_kernel(words, SIZE_OF(struct cpumask) < sizeof(words) ? SIZE_OF(struct cpumask) : sizeof(words), mask);
	for (u32 k = 0; k < FG_MASK_WORDS; k++)
		cpus->bits[k] = words[k];
}
#endif

/* The attributes of p as the kernel has them now. 1: set_attributes() is to follow, for a clamp has changed. */
static inline u32 read_attributes(struct live_task *t, struct task_struct *p)
{
	u32 flags = p->flags, changed = 0;

	t->pid = p->pid;
	t->fg.policy = (u8)p->policy;
	t->fg.nice = p->static_prio - DEFAULT_PRIO;
	t->fg.nr_allowed = (u32)p->nr_cpus_allowed;
	read_cpus(&t->fg.allowed, p->cpus_ptr);
	t->fg.flags &= ~(u32)(FG_TASK_EXITING | FG_TASK_PERCPU_KTHREAD);
	if (flags & PF_EXITING)
		t->fg.flags |= FG_TASK_EXITING;
	if ((flags & PF_KTHREAD) && t->fg.nr_allowed == 1)
		t->fg.flags |= FG_TASK_PERCPU_KTHREAD;
	if (HAS_MEMBER(p->uclamp_req)) {
		struct fg_clamps request;
		u32 asked = read_clamps(&request, &p->uclamp_req), before = t->fg.flags;

		t->fg.flags = (before & ~(u32)(FG_TASK_ASKED_MIN | FG_TASK_ASKED_MAX)) | asked;
		changed = t->fg.uclamp_req_min != request.min || t->fg.uclamp_req_max != request.max || t->fg.flags != before;
		t->fg.uclamp_req_min = request.min;
		t->fg.uclamp_req_max = request.max;
		changed |= read_group_clamps(t, p);
		/* sched_uclamp_used: on from the first request of a task on. RT tasks have a minimum without one. */
		if (p->prio >= MAX_RT_PRIO && (t->fg.uclamp_req_min || t->fg.uclamp_req_max != FG_CAPACITY_SCALE))
			head()->sys->uclamp_used = 1;
	} else {
		t->fg.uclamp_req_max = FG_CAPACITY_SCALE;
	}
	return changed;
}
