// SPDX-License-Identifier: GPL-2.0-only
/*
 * The policy as a scheduler of sched_ext: policy.c as it is, its state in an arena, and the sequences of policy/fg.h as
 * the kernel calls for them.
 *
 *	kernel (ext.c)		here				the policy
 *	select_cpu		place				fg_select_task_rq, fg_commit_*
 *	runnable, enqueue	join; into the queue		fg_migrate_task, fg_post_init_util, fg_enqueue_entity; preempt?
 *	dispatch		who runs next			fg_update_curr, fg_pick_entity
 *	running			take				fg_set_next_entity
 *	stopping		put back, or note that it left	fg_update_curr, fg_put_prev_entity
 *	quiescent		leave				fg_dequeue_entity
 *	tick			charge, preempt?		fg_update_curr, fg_entity_tick
 *	update_idle							fg_set_next_idle, ...
 *	(an idle CPU's tick)	balance due?			fg_rebalance_due
 *
 * Each CPU has a queue of its own (a DSQ, its id is the CPU's number; quota.c has a second one), in the order that the policy's caller keeps: by
 * vruntime with CFS, by deadline with EEVDF. A slice never ends by itself: the tick and wakeups set it to 0 when the
 * policy says so.
 *
 * The kernel calls with the run queue of the task locked, but for select_cpu, so most of the state of a CPU is written by one
 * caller at a time, as in fair.c. What placements read of other CPUs may be just changing, as there.
 *
 * DEVIATION: what a task leaves behind on its former CPU (removed_load and the like), the state of other CPUs that balancing
 * writes, and what the tick of an RT or deadline task writes are written without a lock. An update that meets another one may be lost; the signals decay.
 */
#include "policy.c"

#include "kernel.h"
#include "live.h"

/* As libbpf reads maps: numbers are sizes of arrays. The loader sets the size and the address of the arena. */
struct {
	int (*type)[33]; /* BPF_MAP_TYPE_ARENA */
	int (*map_flags)[1 << 10]; /* BPF_F_MMAPABLE */
	int (*max_entries)[1];
} arena VISIBLE SEC(".maps");

/* The ADDRESS of a task's live_task. */
struct {
	int (*type)[29]; /* BPF_MAP_TYPE_TASK_STORAGE */
	int (*map_flags)[1]; /* BPF_F_NO_PREALLOC */
	int *key;
	u64 *value;
} task_slots VISIBLE SEC(".maps");

char LICENSE[] VISIBLE SEC("license") = "GPL";

/* Where the arena's live_head is: the loader sets it. */
const volatile u64 head_address VISIBLE SEC(".rodata.live") = 0;

/* Why the kernel ended the scheduler, for the loader to read. kind: enum scx_exit_kind, 0: it runs. */
struct {
	s64 kind;
	s64 code;
	char reason[128];
	char message[1024];
	char dump[32768]; /* what the kernel says of its run queues and tasks */
} ended VISIBLE SEC(".bss.ended");

/* Something lies in it as soon as `ended` is written: the loader sleeps until then. */
struct {
	int (*type)[27]; /* BPF_MAP_TYPE_RINGBUF */
	int (*max_entries)[1 << 16]; /* bytes: a page at least */
} end VISIBLE SEC(".maps");

/*
 * A number that user space takes for a pointer, as the pointer that it is here, and back. A pointer in a register is the
 * lower half of user space's; the rest is added when it is stored in the arena. So an ADDRESS is a number below 2^32. It is a u64
 * all the same: the kernel computes with such registers in 32 bits, where a conversion of u32 to u64 is no valid instruction.
 */
#define STATE(number) ((void *)(void __attribute__((address_space(1))) *)(number))
#define ADDRESS(pointer) ((u64)(pointer))
/* A program uses the arena if it names it. */
#define USES_ARENA __asm__ volatile("" : : "r"(&arena))
#define TASK(number) ((struct task_struct *)(number))
#define OP(name) VISIBLE SEC("struct_ops/" #name)
#define SLEEPABLE_OP(name) VISIBLE SEC("struct_ops.s/" #name)

static inline struct live_head *head(void)
{
	return STATE(head_address);
}

/* The slot of p; null: the scheduler does not know it. */
static inline struct live_task *slot_of(struct task_struct *p)
{
	u64 *slot = bpf_task_storage_get(&task_slots, p, 0, 0);

	if (!slot || !*slot) {
		head()->cpus[bpf_get_smp_processor_id()].unknown++;
		return 0;
	}
	return STATE(*slot);
}

/* ---- queues ----------------------------------------------------------------------------------------------------- */

/* What a queue is ordered by. */
static inline u64 order_key(const struct fg_sys *sys, const struct fg_task *p)
{
	return is_eevdf(sys) ? p->deadline : p->vruntime;
}

static inline void insert(struct task_struct *p, u64 dsq, u64 key, u64 enq_flags)
{
	if (KSYM_EXISTS(scx_bpf_dsq_insert_vtime))
		scx_bpf_dsq_insert_vtime(p, dsq, SCX_SLICE_INF, key, enq_flags);
	else
		scx_bpf_dispatch_vtime(p, dsq, SCX_SLICE_INF, key, enq_flags);
}

/* Of this CPU, ahead of all queues: for a task of which the policy knows nothing. */
static inline void insert_local(struct task_struct *p, u64 enq_flags)
{
	if (KSYM_EXISTS(scx_bpf_dsq_insert))
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);
	else
		scx_bpf_dispatch(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);
}

static inline u32 move_to_local(struct bpf_iter_scx_dsq *it, struct task_struct *p)
{
	if (KSYM_EXISTS(scx_bpf_dsq_move))
		return scx_bpf_dsq_move(it, p, SCX_DSQ_LOCAL, 0);
	return scx_bpf_dispatch_from_dsq(it, p, SCX_DSQ_LOCAL, 0);
}

/* Into the queue of another CPU, with the key that it has. */
static inline u32 move_to_queue(struct bpf_iter_scx_dsq *it, struct task_struct *p, u32 cpu)
{
	if (KSYM_EXISTS(scx_bpf_dsq_move_vtime))
		return scx_bpf_dsq_move_vtime(it, p, cpu, 0);
	return scx_bpf_dispatch_vtime_from_dsq(it, p, cpu, 0);
}

/* The same with this key. */
static inline u32 move_with_key(struct bpf_iter_scx_dsq *it, struct task_struct *p, u32 cpu, u64 key)
{
	if (KSYM_EXISTS(scx_bpf_dsq_move_set_vtime))
		scx_bpf_dsq_move_set_vtime(it, key);
	else
		scx_bpf_dispatch_from_dsq_set_vtime(it, key);
	return move_to_queue(it, p, cpu);
}

#define for_each_queued(p, cpu, it)                                                                                    \
	for (struct task_struct *p = (bpf_iter_scx_dsq_new(&(it), cpu, 0), bpf_iter_scx_dsq_next(&(it))); p;           \
	     p = bpf_iter_scx_dsq_next(&(it)))

/*
 * Of the queue of a CPU, and of beside if that is not null, which is about to join it: what a pick chooses from besides
 * the current task, see fg_pick_entity(). Writes first and second of the CPU's live_cpu.
 */
static noinline void read_queue(u32 cpu, struct live_task *beside)
{
	const struct fg_sys *sys = head()->sys;
	struct live_cpu *c = &head()->cpus[cpu];
	const struct fg_cpu *rq = cpu_rq(sys, cpu);
	struct live_task *ineligible = 0;
	u32 eevdf = is_eevdf(sys);
	struct bpf_iter_scx_dsq it;

	c->first = 0;
	c->second = 0;
	for_each_queued(p, cpu, it)
	{
		struct live_task *t = slot_of(p);

		/* One on its way here is still accounted elsewhere, and one that just left is still listed. */
		if (!t || (u32)t->fg.cpu != cpu || !t->fg.on_rq)
			continue;
		if (eevdf && !entity_eligible(&rq->fair, &t->fg)) {
			ineligible = ineligible ? ineligible : t;
			continue;
		}
		if (!c->first) {
			c->first = &t->fg;
			if (eevdf)
				break;
		} else {
			c->second = &t->fg;
			break;
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
	/* The average also counts tasks on their way to other CPUs: it may be that none of the others is eligible. */
	if (!c->first && ineligible)
		c->first = &ineligible->fg;
	if (!beside || (eevdf && !entity_eligible(&rq->fair, &beside->fg)))
		return;
	if (!c->first || vruntime_before(order_key(sys, &beside->fg), order_key(sys, c->first))) {
		c->second = c->first;
		c->first = &beside->fg;
	}
}

#include "calls.c"
/* Of CFS alone the charge asks for the leftmost task, as min_vruntime follows it: the queue is walked for no other. */
static inline struct fg_task *leftmost(struct fg_cpu *rq)
{
	if (is_eevdf(head()->sys))
		return 0;
	read_queue((u32)rq->id, 0);
	return head()->cpus[(u32)rq->id].first;
}

#include "record.c"
#include "balance.c"

/* ---- tasks ------------------------------------------------------------------------------------------------------ */

#include "quota.c"
#include "cgroup.c"
#include "attributes.c"
#include "cpu.c"
#include "watchdog.c"

/* Guards head()->free and the list that begins there. An arena has no atomic operations on CPUs without LSE. */
struct bpf_spin_lock slots_lock SEC(".data.slots_lock");

/* The ADDRESS of a free slot, which is the caller's now. */
static inline u64 claim_slot(void)
{
	struct live_head *h = head();
	struct live_task *t;

	bpf_spin_lock(&slots_lock);
	t = h->free;
	if (t)
		h->free = t->next_free;
	else
		h->refused++;
	bpf_spin_unlock(&slots_lock);
	return ADDRESS(t);
}

static inline void release_slot(struct live_task *t)
{
	struct live_head *h = head();

	bpf_spin_lock(&slots_lock);
	t->next_free = h->free;
	h->free = t;
	bpf_spin_unlock(&slots_lock);
}

SLEEPABLE_OP(init_task) int live_init_task(unsigned long long *ctx)
{
	struct task_struct *p = TASK(ctx[0]);
	u64 address, *slot;
	struct live_task *t;

	USES_ARENA;
	slot = bpf_task_storage_get(&task_slots, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!slot)
		return -12;
	address = claim_slot();
	if (!address)
		return -12;
	t = STATE(address);
	t->woken = 0;
	t->flags = 0;
	t->cgroup = 0;
	t->group = 0;
	__builtin_memset(&t->fg, 0, sizeof(t->fg));
	t->fg.id = ((u32)address - (u32)ADDRESS(head()->tasks)) / (u32)sizeof(*t);
	t->fg.flags = FG_TASK_NEW;
	t->fg.cpu = scx_bpf_task_cpu(p);
	t->fg.recent_used = t->fg.cpu;
	read_attributes(t, p);
	set_attributes(t);
	*slot = address;
	return 0;
}

/* A sleeper that is no task of ours any more: its averages are to decay where it slept. */
static inline void leave_if_attached(struct live_task *t)
{
	if (!t->fg.on_rq && !is_detached(&t->fg))
		leave_behind(t, bpf_ktime_get_ns());
}

OP(exit_task) int live_exit_task(unsigned long long *ctx)
{
	u64 *slot = bpf_task_storage_get(&task_slots, TASK(ctx[0]), 0, 0);
	struct live_task *t;

	USES_ARENA;
	if (!slot || !*slot)
		return 0;
	t = STATE(*slot);
	*slot = 0;
	dequeue_above(cpu_rq(head()->sys, (u32)t->fg.cpu), t);
	leave_if_attached(t);
	if (t->group)
		drop_group(t->group);
	release_slot(t);
	return 0;
}

OP(enable) int live_enable(unsigned long long *ctx)
{
	struct live_task *t = slot_of(TASK(ctx[0]));

	USES_ARENA;
	if (!t)
		return 0;
	/* It may have been an RT or a deadline task. */
	dequeue_above(cpu_rq(head()->sys, (u32)t->fg.cpu), t);
	read_attributes(t, TASK(ctx[0]));
	set_attributes(t);
	join_cgroup(t, TASK(ctx[0]));
	return 0;
}

/* It leaves the fair class. */
OP(disable) int live_disable(unsigned long long *ctx)
{
	struct live_task *t = slot_of(TASK(ctx[0]));

	USES_ARENA;
	if (t)
		leave_if_attached(t);
	return 0;
}

OP(set_weight) int live_set_weight(unsigned long long *ctx)
{
	struct task_struct *p = TASK(ctx[0]);
	struct live_task *t = slot_of(p);

	USES_ARENA;
	if (!t)
		return 0;
	if (read_attributes(t, p))
		set_clamps(t);
	reweight(cpu_rq(head()->sys, (u32)t->fg.cpu), t);
	return 0;
}

OP(set_cpumask) int live_set_cpumask(unsigned long long *ctx)
{
	struct live_task *t = slot_of(TASK(ctx[0]));
	const struct cpumask *mask = (const struct cpumask *)ctx[1];

	USES_ARENA;
	if (!t)
		return 0;
	read_cpus(&t->fg.allowed, mask);
	t->fg.nr_allowed = (u32)TASK(ctx[0])->nr_cpus_allowed;
	set_attributes(t);
	return 0;
}

/* ---- wakeups ---------------------------------------------------------------------------------------------------- */

OP(select_cpu) int live_select_cpu(unsigned long long *ctx)
{
	struct live_task *t = slot_of(TASK(ctx[0]));
	s32 prev = (s32)ctx[1], cpu;
	u32 flags = (u32)ctx[2] & (FG_WF_FORK | FG_WF_TTWU | FG_WF_SYNC | FG_WF_CURRENT_CPU);
	u32 this_cpu = bpf_get_smp_processor_id();
	u64 now = bpf_ktime_get_ns();

	USES_ARENA;
	if (!t)
		return prev;
	if (read_attributes(t, TASK(ctx[0])))
		set_attributes(t);
	join_cgroup(t, TASK(ctx[0]));
	if (flags & FG_WF_FORK) {
		fork_on(t, this_cpu);
		t->flags |= LIVE_FORKED;
	}
	cpu = place(t, prev, this_cpu, flags, now);
	commit(t, this_cpu, bpf_ktime_get_ns() - now);
	tell_decision(TASK(ctx[0]), t, this_cpu, prev, flags);
	return cpu;
}

/* A t that is runnable joins the queue of the CPU that it is on now: clock up to date. wakes: FG_ENQUEUE_*. */
static inline __attribute__((always_inline)) void join(struct fg_cpu *rq, struct live_task *t, u32 wakes, u64 now)
{
	t->fg.flags &= ~(u32)FG_TASK_THROTTLED;
	if (t->fg.flags & FG_TASK_NEW) {
		/* The kernel places a task that may use one CPU only by itself. */
		if (!(t->flags & LIVE_FORKED))
			fork_on(t, (u32)rq->id);
		t->fg.cpu = rq->id;
		start_utilization(rq, t);
		wakes = FG_ENQUEUE_INITIAL;
	} else if (t->fg.cpu != rq->id) {
		/* With averages that it took along it was moved while it was runnable. */
		if (!(t->fg.flags & FG_TASK_MIGRATED))
			leave_behind(t, now);
		if (wakes)
			wakes |= FG_ENQUEUE_MIGRATED;
		t->fg.cpu = rq->id;
	}
	charge(rq, leftmost(rq));
	enqueue_entity(rq, t, wakes);
}

/*
 * A task changes its CPU while it is queued: the kernel does not call quiescent and runnable then. It has the run queue of
 * the old CPU locked here, so the task leaves that now; it joins the new one when the kernel next calls for it there.
 */
VISIBLE SEC("tp_btf/sched_migrate_task") int live_migrate_task(unsigned long long *ctx)
{
	u64 *slot = bpf_task_storage_get(&task_slots, TASK(ctx[0]), 0, 0);
	u32 to = (u32)ctx[1];
	struct live_task *t;
	struct fg_cpu *rq;

	USES_ARENA;
	tell_migration(TASK(ctx[0]), (u64)(u32)scx_bpf_task_cpu(TASK(ctx[0])), to);
	if (!slot || !*slot)
		return 0;
	t = STATE(*slot);
	/* It counts on the other CPU when it gets that: the run queue there may not be locked. */
	dequeue_above(cpu_rq(head()->sys, (u32)t->fg.cpu), t);
	if (!t->fg.on_rq)
		return 0;
	rq = cpu_rq(head()->sys, (u32)t->fg.cpu);
	update_clock(rq, bpf_ktime_get_ns());
	/* DEVIATION: a queue may be locked here, so CFS charges nobody and leaves min_vruntime as it is. */
	if (is_eevdf(head()->sys))
		charge(rq, 0);
	dequeue_entity(rq, t, FG_DEQUEUE_MOVE);
	if (is_eevdf(head()->sys))
		update_min_vruntime(rq, 0);
	return 0;
}

OP(runnable) int live_runnable(unsigned long long *ctx)
{
	struct task_struct *p = TASK(ctx[0]);
	struct live_task *t = slot_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	u32 wakes = ctx[1] & SCX_ENQ_WAKEUP ? FG_ENQUEUE_WAKEUP : 0;
	u64 now = bpf_ktime_get_ns();
	struct fg_cpu *rq;

	USES_ARENA;
	if (!t)
		return 0;
	rq = cpu_rq(head()->sys, (u32)cpu);
	t->woken = wakes ? now : 0;
	/*
	 * A task that is queued is taken out while its attributes change. Where a task may run on one CPU only, its wakeup comes here without
	 * ops.select_cpu.
	 */
	if ((!wakes || p->nr_cpus_allowed == 1 || p->migration_disabled) && read_attributes(t, p))
		set_attributes(t);
	join_cgroup(t, p);
	update_clock(rq, now);
	join(rq, t, wakes, now);
	/* A task that has slept may bring a clamp along. */
	tell_utilization(rq, wakes != 0);
	return 0;
}

OP(enqueue) int live_enqueue(unsigned long long *ctx)
{
	struct task_struct *p = TASK(ctx[0]);
	struct live_task *t = slot_of(p);
	s32 cpu = scx_bpf_task_cpu(p), target = -1;
	struct live_cpu *c;
	struct fg_cpu *rq;

	USES_ARENA;
	if (!t) {
		insert_local(p, ctx[1]);
		return 0;
	}
	t->queued = bpf_ktime_get_ns();
	c = &head()->cpus[(u32)cpu];
	rq = cpu_rq(head()->sys, (u32)cpu);
	/* One that was moved while it waited apart joins the new CPU first. */
	if ((t->fg.flags & FG_TASK_THROTTLED) && t->fg.cpu == cpu && is_throttled(rq, t)) {
		insert(p, APART(cpu), 0, ctx[1]);
		return 0;
	}
	if (!t->fg.on_rq) {
		u64 now = bpf_ktime_get_ns();

		update_clock(rq, now);
		join(rq, t, 0, now);
	}
	/* One that is put back was just tested by the pick. */
	if (rq->curr && rq->curr != &t->fg) {
		u32 rule;

		read_queue((u32)cpu, t);
		rule = check_preempt(rq, t, c->first, 0);
		tell_pick(rq, t, LIVE_TESTED, rule);
		if (fg_preempts(rule) == FG_PREEMPT_YES)
			scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	} else if (rq->active_balance && p == bpf_get_current_task_btf()) {
		/* It leaves the CPU that is here: a switch follows, which announces it. */
		target = push_target(rq, t, may_migrate(p), bpf_ktime_get_ns());
	}
	insert(p, target < 0 ? (u32)cpu : (u32)target, order_key(head()->sys, &t->fg), ctx[1]);
	if (target >= 0) {
		c = &head()->cpus[bpf_get_smp_processor_id()];
		announce_pushed(c);
		c->pushed_to = (u32)target + 1;
	} else if (ctx[1] & SCX_ENQ_LAST) {
		scx_bpf_kick_cpu(cpu, 0);
	}
	return 0;
}

/* ---- the CPU ---------------------------------------------------------------------------------------------------- */

/* The queued task whose slot has this ADDRESS runs next. */
static noinline u32 run_next(u32 cpu, u64 address)
{
	struct bpf_iter_scx_dsq it;
	u32 found = 0;

	for_each_queued(p, cpu, it)
	{
		u64 *slot = bpf_task_storage_get(&task_slots, p, 0, 0);

		if (slot && *slot == address) {
			found = move_to_local(&it, p);
			break;
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
	return found;
}

/* The passes that are due before a pick. */
static inline void balance_before_pick(struct live_cpu *c, struct fg_cpu *rq, u64 now)
{
	u32 kick;

	if (c->rebalance) {
		c->rebalance = 0;
		c->walk.jiffies = clock_jiffies(head()->sys, now);
		update_blocked(rq, c->walk.jiffies);
		rebalance_domains(c, rq->id, fg_rebalance_kind(rq));
	}
	kick = c->kicked;
	c->kicked = 0;
	/* A CPU that is not idle any more is not for it. */
	if (kick && idle_rq(rq))
		nohz_idle_balance(c, rq->id, kick, now);
}

/* Takes what was moved here, if anything was. */
static inline u32 take_what_came(struct live_cpu *c, struct fg_cpu *rq)
{
	u32 taken;

	if (!c->incoming)
		return 0;
	c->incoming = 0;
	rq->ttwu_pending = 0;
	taken = take_incoming((u32)rq->id);
	/* There may be more, or one could not be taken just now. */
	if (taken != INCOMING_NONE)
		c->incoming = 1;
	if (taken == INCOMING_STAYS)
		scx_bpf_kick_cpu(rq->id, 0);
	return taken == INCOMING_TAKEN;
}

/* 1: the CPU has something to run: what was moved here, if anything was, or what the policy picks, which may be prev. */
static noinline u32 choose(struct live_cpu *c, struct fg_cpu *rq, struct task_struct *prev)
{
	u32 cpu = (u32)rq->id;

	c->way = LIVE_WAY_CAME;
	if (take_what_came(c, rq))
		return 1;
	c->way = LIVE_WAY_NONE;
	read_queue(cpu, 0);
	if (!pick(rq))
		return 0;
	tell_pick(rq, (struct live_task *)c->next, LIVE_PICKED, c->pick_rule);
	/* The current task goes on, unless it is to be pushed away: then it is put back, which moves it. */
	if (c->next == rq->curr) {
		c->way = LIVE_WAY_STAYS;
		/* Put back, 6.18 would leave it in the kernel's own queue, and the CPU idle. */
		if (prev && rq->active_balance && !may_migrate(prev))
			rq->active_balance = 0;
		if (prev && !rq->active_balance)
			prev->scx.slice = SCX_SLICE_INF;
		return 1;
	}
	/* Another CPU may have taken it in between. */
	c->way = run_next(cpu, ADDRESS(c->next)) ? LIVE_WAY_PICKED : LIVE_WAY_LOST;
	if (c->way == LIVE_WAY_LOST)
		scx_bpf_kick_cpu((s32)cpu, 0);
	return 1;
}

OP(dispatch) int live_dispatch(unsigned long long *ctx)
{
	u32 cpu = (u32)ctx[0], changed = 0;
	struct task_struct *prev = TASK(ctx[1]);
	u64 now = bpf_ktime_get_ns();
	struct live_cpu *c;
	struct fg_cpu *rq;

	USES_ARENA;
	if (cpu >= head()->sys->nr_cpus)
		return 0;
	rq = cpu_rq(head()->sys, cpu);
	c = &head()->cpus[cpu];
	update_clock(rq, now);
	charge_above(c, rq);
	charge(rq, leftmost(rq));
	if (c->refilled) {
		c->refilled = 0;
		share_out(c, rq);
		come_back(c, rq);
		changed = 1;
	}
	if ((prev && leave_throttled(c, rq, prev)) || changed)
		tell_utilization(rq, 0);
	balance_before_pick(c, rq, now);
	if (choose(c, rq, prev))
		return 0;
	if (rq->curr_is_idle) {
		if (c->idle_tick == LIVE_TICK_CAME)
			c->idle_tick = LIVE_TICK_RESTARTED;
		return 0;
	}
	newidle_balance(c, rq, now);
	/* The run queue was unlocked while tasks were moved: there may be some of its own now. */
	choose(c, rq, prev);
	return 0;
}

OP(running) int live_running(unsigned long long *ctx)
{
	struct task_struct *p = TASK(ctx[0]);
	struct live_task *t = slot_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	u64 now = bpf_ktime_get_ns();
	struct live_cpu *c;
	struct fg_cpu *rq;

	USES_ARENA;
	if (!t)
		return 0;
	rq = cpu_rq(head()->sys, (u32)cpu);
	c = &head()->cpus[(u32)cpu];
	update_clock(rq, now);
	if (rq->curr_is_idle)
		leave_idle(rq);
	if (!t->fg.on_rq)
		join(rq, t, 0, now);
	set_next_entity(rq, t);
	/* DEVIATION: the task that was to be pushed has left by itself, or cannot. The stopper would look for another one. */
	rq->active_balance = 0;
	if (t->fg.flags & FG_TASK_THROTTLE_WORK)
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	c->switches++;
	if (t->woken && now > t->woken) {
		c->waits++;
		c->waited += now - t->woken;
		if (now - t->woken > c->longest_wait) {
			c->longest_wait = now - t->woken;
			c->longest_waiter = (u64)t->pid;
			c->longest_until = now;
		}
	}
	t->woken = 0;
	return 0;
}

OP(stopping) int live_stopping(unsigned long long *ctx)
{
	struct task_struct *p = TASK(ctx[0]);
	struct live_task *t = slot_of(p);
	struct fg_cpu *rq;

	USES_ARENA;
	/* Of one whose group is throttled all this was done when it left. */
	if (!t || (t->fg.flags & FG_TASK_THROTTLED))
		return 0;
	rq = cpu_rq(head()->sys, (u32)scx_bpf_task_cpu(p));
	update_clock(rq, bpf_ktime_get_ns());
	charge(rq, leftmost(rq));
	ask_timer(t);
	/* Who goes to sleep is dequeued first, as the current task: quiescent follows. */
	if (ctx[1])
		put_prev_entity(rq, t);
	else
		t->flags |= LIVE_STOPPED;
	return 0;
}

OP(quiescent) int live_quiescent(unsigned long long *ctx)
{
	struct task_struct *p = TASK(ctx[0]);
	struct live_task *t = slot_of(p);
	struct fg_cpu *rq;
	/* DEVIATION: the kernel forgets who sleeps, so that none stays queued with a debt (DELAY_DEQUEUE). */
	u32 flags = ctx[1] & SCX_DEQ_SLEEP ? FG_DEQUEUE_SLEEP | FG_DEQUEUE_SPECIAL : FG_DEQUEUE_MOVE;

	USES_ARENA;
	if (!t || !t->fg.on_rq)
		return 0;
	rq = cpu_rq(head()->sys, (u32)t->fg.cpu);
	update_clock(rq, bpf_ktime_get_ns());
	dequeue_entity(rq, t, flags);
	ask_timer(t);
	update_min_vruntime(rq, leftmost(rq));
	if (t->flags & LIVE_STOPPED) {
		put_prev_entity(rq, t);
		t->flags &= ~(u32)LIVE_STOPPED;
	}
	tell_utilization(rq, 0);
	return 0;
}

OP(tick) int live_tick(unsigned long long *ctx)
{
	struct task_struct *p = TASK(ctx[0]);
	struct live_task *t = slot_of(p);
	u32 cpu = (u32)scx_bpf_task_cpu(p), rule, ticked, disabled = p->migration_disabled;
	u64 now = bpf_ktime_get_ns();
	struct fg_cpu *rq = cpu_rq(head()->sys, cpu);
	struct fg_task *left;
	struct live_cpu *c;

	USES_ARENA;
	if (t && t->fg.tg && t->cgroup == cgroup_key(p))
		follow_cgroups(t, p);
	update_clock(rq, now);
	read_limits(rq);
	left = leftmost(rq);
	rule = charge(rq, left);
	ticked = entity_tick(rq, left);
	rule = rule ? rule : ticked;
	if (rule && rq->curr)
		tell_pick(rq, (struct live_task *)rq->curr, LIVE_SLICE_ENDED, rule);
	tell_utilization(rq, 1);
	c = &head()->cpus[cpu];
	c->runs_above = 0;
	c->ticks++;
	if (c->ticked && now - c->ticked > c->longest_tickless)
		c->longest_tickless = now - c->ticked;
	c->ticked = now;
	/* The remote tick of nohz_full disables nothing for p. */
	if (cpu == bpf_get_smp_processor_id() && disabled < head()->own_disable)
		head()->own_disable = disabled;
	if (balance_due(c, rq, now))
		c->rebalance = 1;
	if (t)
		ask_timer(t);
	if (rule || c->rebalance || c->incoming || c->refilled || rq->active_balance || (t && t->fg.flags & FG_TASK_THROTTLE_WORK))
		p->scx.slice = 0;
	watch_queues(now);
	return 0;
}

/* sched_yield() */
OP(yield) int live_yield(unsigned long long *ctx)
{
	struct task_struct *p = TASK(ctx[0]);
	struct fg_cpu *rq = cpu_rq(head()->sys, (u32)scx_bpf_task_cpu(p));

	USES_ARENA;
	/* To a certain task: the kernel's fair class does that by a buddy. */
	if (ctx[1])
		return 0;
	update_clock(rq, bpf_ktime_get_ns());
	charge(rq, leftmost(rq));
	yield_current(rq);
	p->scx.slice = 0;
	return 0;
}

OP(update_idle) int live_update_idle(unsigned long long *ctx)
{
	struct fg_cpu *rq = cpu_rq(head()->sys, (u32)ctx[0]);
	struct live_cpu *c = &head()->cpus[(u32)ctx[0]];

	USES_ARENA;
	update_clock(rq, bpf_ktime_get_ns());
	if (!ctx[1]) {
		leave_idle(rq);
		return 0;
	}
	/* 7.3 repeats it after a bypass. */
	if (!rq->curr_is_idle)
		goes_idle(c, rq);
	if (c->refilled)
		scx_bpf_kick_cpu((s32)ctx[0], 0);
	/* Those that are still accounted here may be on their way to other CPUs. One in the queue would wait for ever. */
	if (rq->h_nr_running)
		read_queue((u32)ctx[0], 0);
	if (rq->h_nr_running && c->first) {
		if (c->way < LIVE_WAYS)
			c->idled_early[c->way]++;
		scx_bpf_kick_cpu((s32)ctx[0], 0);
	}
	return 0;
}

/* A task of a higher class has the CPU: what was chosen for it waits elsewhere. */
OP(cpu_release) int live_cpu_release(unsigned long long *ctx)
{
	(void)ctx;
	scx_bpf_reenqueue_local();
	return 0;
}

/* ---- start and end ---------------------------------------------------------------------------------------------- */

SLEEPABLE_OP(init) int live_init(unsigned long long *ctx)
{
	u32 nr;

	(void)ctx;
	USES_ARENA;
	nr = head()->sys->nr_cpus;
	for (u32 cpu = 0; can_loop(cpu, FG_NR_CPUS) && cpu < nr; cpu++) {
		s32 error = scx_bpf_create_dsq(cpu, -1);

		if (error)
			return error;
		read_limits(cpu_rq(head()->sys, cpu));
	}
	return init_quotas(nr);
}

OP(exit) int live_exit(unsigned long long *ctx)
{
	struct scx_exit_info *info = (struct scx_exit_info *)ctx[0];
	u64 *kind;

	stop_timer();
	bpf_probe_read_kernel_str(ended.reason, sizeof(ended.reason), info->reason);
	bpf_probe_read_kernel_str(ended.message, sizeof(ended.message), info->msg);
	bpf_probe_read_kernel_str(ended.dump, sizeof(ended.dump), info->dump);
	ended.code = info->exit_code;
	ended.kind = info->kind;
	kind = bpf_ringbuf_reserve(&end, sizeof(*kind), 0);
	if (kind) {
		*kind = ended.kind;
		bpf_ringbuf_submit(kind, BPF_RB_FORCE_WAKEUP);
	}
	return 0;
}

#include "dump.c"

SEC(".struct_ops.link") struct sched_ext_ops fairground VISIBLE = {
	.select_cpu = (void *)live_select_cpu,
	.enqueue = (void *)live_enqueue,
	.dispatch = (void *)live_dispatch,
	.tick = (void *)live_tick,
	.yield = (void *)live_yield,
	.runnable = (void *)live_runnable,
	.running = (void *)live_running,
	.stopping = (void *)live_stopping,
	.quiescent = (void *)live_quiescent,
	.set_weight = (void *)live_set_weight,
	.set_cpumask = (void *)live_set_cpumask,
	.update_idle = (void *)live_update_idle,
	.cpu_release = (void *)live_cpu_release,
	.init_task = (void *)live_init_task,
	.exit_task = (void *)live_exit_task,
	.enable = (void *)live_enable,
	.disable = (void *)live_disable,
	.dump_cpu = (void *)live_dump_cpu,
	.dump_task = (void *)live_dump_task,
	.init = (void *)live_init,
	.exit = (void *)live_exit,
	.flags = SCX_OPS_ENQ_EXITING | SCX_OPS_ENQ_LAST,
	.timeout_ms = 30000,
	.name = "fairground",
};
