// SPDX-License-Identifier: GPL-2.0-only
/*
 * High-resolution timers. Each CPU has one queue, whose earliest expiry is reported to the host. A timer fires on the
 * CPU where it was started.
 */
#include "sim.h"
#if __has_include(<linux/hrtimer_bases.h>)
#include <linux/hrtimer_bases.h>
#endif

/* Queues of timers, and the mark of a timer that is in one. */
#ifdef KS_HAS_TIMER_LINKED
typedef struct timerqueue_linked_node timer_node;
#define queue_init_head timerqueue_linked_init_head
#define queue_init timerqueue_linked_init
#define queue_first timerqueue_linked_first
#define queue_add timerqueue_linked_add
#define queue_del timerqueue_linked_del
#define mark_queued(timer, queued) WRITE_ONCE((timer)->is_queued, queued)
#else
typedef struct timerqueue_node timer_node;
#define queue_init_head timerqueue_init_head
#define queue_init timerqueue_init
#define queue_first timerqueue_getnext
#define queue_add timerqueue_add
#define queue_del timerqueue_del
#define mark_queued(timer, queued) \
	WRITE_ONCE((timer)->state, (queued) ? HRTIMER_STATE_ENQUEUED : HRTIMER_STATE_INACTIVE)
#endif

#ifdef KS_HAS_HIGHRES_KEY
struct static_key_false hrtimer_highres_enabled_key = STATIC_KEY_FALSE_INIT;
#endif

DEFINE_PER_CPU(struct hrtimer_cpu_base, hrtimer_bases);
unsigned int hrtimer_resolution = 1;

static struct hrtimer_clock_base *base_of(int cpu)
{
	return &per_cpu(hrtimer_bases, cpu).clock_base[HRTIMER_BASE_MONOTONIC];
}

static int cpu_of_base(struct hrtimer_clock_base *base)
{
	return base->cpu_base->cpu;
}

ktime_t ktime_get(void)
{
	return ns_to_ktime(ks_clock());
}

void ks_init_timers(void)
{
	unsigned int cpu;

#ifdef KS_HAS_HIGHRES_KEY
	static_branch_enable(&hrtimer_highres_enabled_key);
#endif
	for (cpu = 0; cpu < ks_nr_cpus; cpu++) {
		struct hrtimer_cpu_base *cpu_base = &per_cpu(hrtimer_bases, cpu);

		cpu_base->cpu = cpu;
		cpu_base->hres_active = 1;
		base_of(cpu)->cpu_base = cpu_base;
		queue_init_head(&base_of(cpu)->active);
#ifdef KS_HAS_HRTIMER_GET_TIME
		base_of(cpu)->get_time = ktime_get;
#endif
	}
}

static void tell(struct hrtimer_clock_base *base)
{
	timer_node *first = queue_first(&base->active);

	ks_call(timer, cpu_of_base(base), first ? ktime_to_ns(first->expires) : ~0ULL);
}

static void enqueue(struct hrtimer *timer, struct hrtimer_clock_base *base)
{
	timer_node *was = queue_first(&base->active);

	timer->base = base;
	mark_queued(timer, true);
	queue_add(&base->active, &timer->node);
	if (queue_first(&base->active) != was)
		tell(base);
}

static void dequeue(struct hrtimer *timer)
{
	struct hrtimer_clock_base *base = timer->base;
	timer_node *was = queue_first(&base->active);

	queue_del(&base->active, &timer->node);
	mark_queued(timer, false);
	if (was == &timer->node)
		tell(base);
}

static void init(struct hrtimer *timer)
{
	memset(timer, 0, sizeof(*timer));
	timer->base = base_of(ks_cpu);
	queue_init(&timer->node);
}

void hrtimer_init(struct hrtimer *timer, clockid_t clock, enum hrtimer_mode mode)
{
	init(timer);
}

#ifdef KS_HAS_HRTIMER_SETUP
void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *), clockid_t clock,
		   enum hrtimer_mode mode)
{
	init(timer);
	ACCESS_PRIVATE(timer, function) = function;
}

void ks_setup_on_stack(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *), clockid_t clock,
		       enum hrtimer_mode mode) asm("hrtimer_setup_on_stack") __alias(hrtimer_setup);
#endif

ktime_t ks_cb_get_time(const struct hrtimer *timer) asm("hrtimer_cb_get_time");
ktime_t ks_cb_get_time(const struct hrtimer *timer)
{
	return ktime_get();
}

void hrtimer_start_range_ns(struct hrtimer *timer, ktime_t time, u64 delta, const enum hrtimer_mode mode)
{
	if (hrtimer_is_queued(timer))
		dequeue(timer);
	if (mode & HRTIMER_MODE_REL)
		time = ktime_add_safe(time, ktime_get());
	hrtimer_set_expires_range_ns(timer, time, delta);
	enqueue(timer, base_of(ks_cpu));
}

int hrtimer_try_to_cancel(struct hrtimer *timer)
{
	if (timer->base->running == timer)
		return -1;
	if (!hrtimer_is_queued(timer))
		return 0;
	dequeue(timer);
	return 1;
}

int hrtimer_cancel(struct hrtimer *timer)
{
	return hrtimer_try_to_cancel(timer);
}

bool hrtimer_active(const struct hrtimer *timer)
{
	return hrtimer_is_queued((struct hrtimer *)timer) || timer->base->running == timer;
}

ktime_t __hrtimer_get_remaining(const struct hrtimer *timer, bool adjust)
{
	return ktime_sub(timer->node.expires, ktime_get());
}

/* Moves the expiry past now in steps of interval. Returns the number of steps. */
u64 hrtimer_forward(struct hrtimer *timer, ktime_t now, ktime_t interval)
{
	s64 late = ktime_to_ns(ktime_sub(now, hrtimer_get_expires(timer)));
	u64 step = max_t(u64, interval, hrtimer_resolution), steps;

	if (late < 0 || WARN_ON(hrtimer_is_queued(timer)))
		return 0;
	steps = div64_u64(late, step) + 1;
	hrtimer_add_expires_ns(timer, step * steps);
	return steps;
}

/* hrtimers_cpu_dying() */
void ks_move_timers(int from, int to)
{
	struct hrtimer_clock_base *base = base_of(from);
	timer_node *node;

	while ((node = queue_first(&base->active))) {
		struct hrtimer *timer = container_of(node, struct hrtimer, node);

		queue_del(&base->active, node);
		enqueue(timer, base_of(to));
	}
	tell(base);
}

void ks_timer(int cpu)
{
	struct hrtimer_clock_base *base = base_of(cpu);
	u64 now;

	ks_enter_irq(cpu);
	now = ks_clock();
	for (;;) {
		timer_node *node = queue_first(&base->active);
		struct hrtimer *timer = container_of(node, struct hrtimer, node);
		enum hrtimer_restart restart;

		if (!node || ktime_to_ns(timer->_softexpires) > now)
			break;
		queue_del(&base->active, node);
		mark_queued(timer, false);
		base->running = timer;
		restart = ACCESS_PRIVATE(timer, function)(timer);
		base->running = NULL;
		if (restart != HRTIMER_NORESTART && !hrtimer_is_queued(timer))
			enqueue(timer, base);
	}
	tell(base);
	ks_leave_irq();
}
