/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The deadline server of fair tasks (spec-new 2.9). On each CPU it lets fair tasks run before RT tasks, 50 ms in a second, but only if
 * they do not come to as much without it: it waits until the last time at which the rest still fits into the period
 * (zero laxity).
 *
 *	stopped		a first fair task: waiting; or running, if it ran when it stopped and may go on
 *	waiting		timer, at deadline - runtime: running; fair tasks ran by themselves: the timer moves; they used up the
 *			runtime: another period; v619, idleness did: the same once, and then the timer stops it
 *	running		runtime used up: refilling; nothing to run: stopped
 *	refilling	timer, at deadline: running; fair tasks run by themselves: waiting
 *
 * In flags: waiting is ACTIVE | THROTTLED | ARMED, refilling ACTIVE | THROTTLED | RUNNING, running ACTIVE | RUNNING, stopped none, but
 * for RUNNING.
 *
 * DEVIATION: the kernel's timer expires while no RT task is there, too, and may wake an idle CPU for nothing. Here the
 * caller has no timer then, and what it would have done is made up for at the next look (server_catch_up).
 *
 * DEVIATION: up to v6.16 a server that runs counts in nr_running; schedutil knows nothing of what it is promised (fg_cpu.dl_bw).
 */
#include "sched.h"

#define SERVER_RUNTIME 50000000ll
#define SERVER_PERIOD FG_NSEC_PER_SEC
/* Its part of a CPU, of 2^20 (dl_density). */
#define SERVER_DENSITY_SHIFT 20
#define SERVER_DENSITY (((u64)SERVER_RUNTIME << SERVER_DENSITY_SHIFT) / SERVER_PERIOD)
/* A timer that waits is not moved for less than this, ns. */
#define SERVER_MIN_RES 1000000ull
/* A timer is not set if it should have expired so long ago, ns. */
#define TIMER_PAST 1000ull
/* Overflow is computed in units of 2^10 ns (DL_SCALE). */
#define DL_SCALE 10

static u32 has_server(const struct fg_sys *sys)
{
	return feat(sys, FG_FAIR_SERVER) != FG_FAIR_SERVER_OFF;
}

/* Since v6.19 idle time is charged by the idle class, as fair tasks charge theirs. */
static u32 idle_class_charges(const struct fg_sys *sys)
{
	return feat(sys, FG_FAIR_SERVER) == FG_FAIR_SERVER_V619;
}

static u32 clock_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

static u64 zero_laxity(const struct fg_server *s)
{
	return s->deadline - (u64)s->runtime;
}

fg_bool fg_server_runs(const struct fg_cpu *rq)
{
	return (rq->server.flags & (FG_SERVER_ACTIVE | FG_SERVER_THROTTLED)) == FG_SERVER_ACTIVE;
}

void fg_server_init(struct fg_cpu *rq)
{
	rq->server.runtime = SERVER_RUNTIME;
	rq->server.deadline = SERVER_PERIOD;
}

/* start_dl_timer. 0: it should have expired before now. */
static u32 start_server_timer(struct fg_server *s, u64 now)
{
	u64 at = s->flags & FG_SERVER_ARMED ? zero_laxity(s) : s->deadline;

	if (!clock_before(now, at + TIMER_PAST))
		return 0;
	if (!s->expires)
		s->expires = at;
	return 1;
}

/* replenish_dl_new_period */
static void begin_period(struct fg_server *s, u64 now)
{
	s->deadline = now + SERVER_PERIOD;
	s->runtime = SERVER_RUNTIME;
	if (!(s->flags & FG_SERVER_RUNNING))
		s->flags |= FG_SERVER_THROTTLED | FG_SERVER_ARMED;
}

/* dl_entity_overflow: what is left of runtime is more than the server's part of what is left of the period. */
static u32 server_overflows(const struct fg_server *s, u64 now)
{
	u64 left = (SERVER_PERIOD >> DL_SCALE) * (u64)(s->runtime >> DL_SCALE);
	u64 right = ((s->deadline - now) >> DL_SCALE) * (u64)(SERVER_RUNTIME >> DL_SCALE);

	return clock_before(right, left);
}

/* replenish_dl_entity: it runs from now on. */
static void replenish_server(struct fg_server *s, u64 now)
{
	if ((s->flags & FG_SERVER_ARMED) && server_overflows(s, now)) {
		s->deadline = now + SERVER_PERIOD;
		s->runtime = SERVER_RUNTIME;
	}
	if (s->runtime <= 0) {
		u64 periods = (u64)-s->runtime / (u64)SERVER_RUNTIME + 1;

		s->deadline += periods * SERVER_PERIOD;
		s->runtime += (s64)periods * SERVER_RUNTIME;
	}
	if (clock_before(s->deadline, now))
		begin_period(s, now);
	s->flags &= ~(u32)(FG_SERVER_THROTTLED | FG_SERVER_ARMED);
}

/* update_dl_entity, of a server that starts: it keeps what it has left of its period, unless that is too much by now. */
static void resume_period(const struct fg_sys *sys, struct fg_server *s, u64 now)
{
	u32 over = clock_before(s->deadline, now);

	if (!over && !server_overflows(s, now)) {
		if (!(s->flags & FG_SERVER_RUNNING))
			s->flags |= FG_SERVER_ARMED | FG_SERVER_THROTTLED;
		return;
	}
	if (!over && (s->flags & FG_SERVER_RUNNING) && feat(sys, FG_SERVER_REVISED)) {
		s->runtime = (s64)((s->deadline - now) * SERVER_DENSITY >> SERVER_DENSITY_SHIFT);
		return;
	}
	/* v6.19: it waits again. Before, one that ran when it stopped came at once. */
	if (feat(sys, FG_FAIR_SERVER) >= FG_FAIR_SERVER_V618)
		s->flags &= ~(u32)FG_SERVER_RUNNING;
	begin_period(s, now);
}

/* dl_scaled_delta_exec: up to v6.16 time counts by what the CPU gets done in it. */
static s64 server_time(const struct fg_sys *sys, const struct fg_cpu *rq, u64 delta)
{
	if (feat(sys, FG_FAIR_SERVER) != FG_FAIR_SERVER_V612)
		return (s64)delta;
	return (s64)((delta * rq->freq_scale / FG_CAPACITY_SCALE) * rq->cpu_capacity_orig / FG_CAPACITY_SCALE);
}

/* update_curr_dl_se: fair tasks ran for delta ns until now, or with idle nothing did. 1: that ends the turn of the server. */
static u32 charge_server(const struct fg_sys *sys, struct fg_cpu *rq, u64 delta, u64 now, u32 idle)
{
	struct fg_server *s = &rq->server;

	if (!delta)
		return 0;
	s->runtime -= server_time(sys, rq, delta);
	if (!idle)
		s->flags &= ~(u32)FG_SERVER_IDLE;
	if (s->runtime > 0)
		return 0;
	if (!(s->flags & FG_SERVER_THROTTLED)) {
		s->flags |= FG_SERVER_THROTTLED;
		if (start_server_timer(s, now))
			return 1;
		if (feat(sys, FG_FAIR_SERVER) == FG_FAIR_SERVER_V612) {
			replenish_server(s, now);
		} else {
			begin_period(s, now);
			start_server_timer(s, now);
		}
		return 1;
	}
	/* It has seen nothing but idleness for a period already, and stops when its timer expires. */
	if (idle && (s->flags & FG_SERVER_IDLE)) {
		s->runtime = 0;
		return 0;
	}
	s->flags &= ~(u32)FG_SERVER_RUNNING;
	s->expires = 0;
	begin_period(s, now);
	if (idle)
		s->flags |= FG_SERVER_IDLE;
	start_server_timer(s, now);
	return 0;
}

/* update_curr_idle (v6.19) and dl_server_update_idle_time: idle time until now, at task of clock_task. */
static void charge_idle(const struct fg_sys *sys, struct fg_cpu *rq, u64 now, u64 task)
{
	struct fg_server *s = &rq->server;
	u64 delta = pos_sub(task, s->idle_since);

	if (idle_class_charges(sys)) {
		s->idle_since += delta;
		if (s->flags & FG_SERVER_ACTIVE)
			charge_server(sys, rq, delta, now, idle_rq(rq));
		return;
	}
	if (s->runtime < 0)
		return;
	s->idle_since += delta;
	s->runtime -= server_time(sys, rq, delta);
	if (s->runtime < 0) {
		s->flags &= ~(u32)FG_SERVER_RUNNING;
		s->runtime = 0;
	}
}

void fg_server_stop(struct fg_cpu *rq)
{
	rq->server.expires = 0;
	rq->server.asked = 0;
	rq->server.flags &= FG_SERVER_RUNNING;
}

/* dl_server_timer, that expired at then. 1: the server runs. */
static u32 server_timer(struct fg_cpu *rq, u64 then, u64 now)
{
	struct fg_server *s = &rq->server;

	if (!(s->flags & FG_SERVER_THROTTLED))
		return 0;
	if (s->flags & FG_SERVER_IDLE) {
		fg_server_stop(rq);
		return 0;
	}
	if (s->flags & FG_SERVER_ARMED) {
		/* Fair tasks have run meanwhile, and the rest fits in later. */
		if (clock_before(now, zero_laxity(s) - SERVER_MIN_RES)) {
			u64 by = zero_laxity(s) - now;

			if (!s->expires)
				s->expires = then + (pos_sub(now, then) / by + 1) * by;
			return 0;
		}
		s->flags |= FG_SERVER_RUNNING;
	}
	replenish_server(s, now);
	return 1;
}

fg_bool fg_server_timer(const struct fg_sys *sys, struct fg_cpu *rq)
{
	u64 then = rq->server.expires;

	rq->server.expires = 0;
	if (idle_class_charges(sys) && rq->curr_is_idle)
		charge_idle(sys, rq, rq->clock, rq->clock_task);
	return server_timer(rq, then, rq->clock);
}

/*
 * The timer expires in the middle of the last ran ns, which are not charged yet, or of idle time. Since v6.19 it looks after
 * what came before it is charged. ran: of fair tasks. Returns what is left of that.
 */
global_func u64 expire_in_time(const struct fg_sys *sys state_arg, struct fg_cpu *rq state_arg, u64 ran)
{
	struct fg_server *s = &rq->server;
	u64 then = s->expires, since = rq->clock - then, part = 0;

	s->expires = 0;
	if (idle_class_charges(sys) && rq->curr_is_idle) {
		charge_idle(sys, rq, then, pos_sub(rq->clock_task, since));
	} else if (idle_class_charges(sys)) {
		part = pos_sub(ran, since);
		charge_server(sys, rq, part, then, 0);
	}
	server_timer(rq, then, then);
	return ran - part;
}

/* Nobody looks after more than so many expiries: each takes the server on by most of a period. */
#define MAX_EXPIRIES 256

/*
 * What the timer would have done by now, while no RT task was there. ran: fair tasks have run for so many ns up to now that are not
 * charged yet; any: there are fair tasks, so that a server that runs has something to run. Returns what of ran is left to charge.
 */
static noinline u64 server_catch_up(const struct fg_sys *sys, struct fg_cpu *rq, u64 ran, u32 any)
{
	struct fg_server *s = &rq->server;

	if (rq->rt_nr_running)
		return ran;
	for (u32 i = 0; can_loop(i, MAX_EXPIRIES) && s->expires && s->expires <= rq->clock; i++) {
		ran = expire_in_time(sys, rq, ran);
		if (!any && fg_server_runs(rq))
			fg_server_stop(rq);
	}
	return ran;
}

/* dl_server_update: a fair task ran for delta ns, which end now. 1: RT tasks come first again. */
global_func host_noinline u32 server_ran(const struct fg_sys *sys state_arg, struct fg_cpu *rq state_arg, u64 delta)
{
	if (rq->server.expires <= rq->clock)
		delta = server_catch_up(sys, rq, delta, 1);
	return charge_server(sys, rq, delta, rq->clock, 0) && rq->rt_nr_running;
}

/* dl_server_start: rq had no fair task and has one. nr_running does not count it yet. */
static void server_start(const struct fg_sys *sys, struct fg_cpu *rq)
{
	struct fg_server *s = &rq->server;

	if (!has_server(sys))
		return;
	server_catch_up(sys, rq, 0, 0);
	if (rq->curr_is_idle && (idle_class_charges(sys) ? !(s->flags & FG_SERVER_ACTIVE) : !rq->nr_running))
		charge_idle(sys, rq, rq->clock, rq->clock_task);
	s->flags &= ~(u32)FG_SERVER_IDLE;
	if (s->flags & FG_SERVER_ACTIVE)
		return;
	s->flags |= FG_SERVER_ACTIVE;
	resume_period(sys, s, rq->clock);
	if (s->flags & FG_SERVER_THROTTLED)
		start_server_timer(s, rq->clock);
	s->asked = is_rt(rq->curr);
}

/* Fair tasks have left rq. */
static void server_left(const struct fg_sys *sys, struct fg_cpu *rq)
{
	if (!rq->h_nr_running && feat(sys, FG_FAIR_SERVER) == FG_FAIR_SERVER_V612)
		fg_server_stop(rq);
}

/* Idle time until now. */
static void server_idled(const struct fg_sys *sys, struct fg_cpu *rq)
{
	server_catch_up(sys, rq, 0, 0);
	charge_idle(sys, rq, rq->clock, rq->clock_task);
}

void fg_put_prev_idle(const struct fg_sys *sys, struct fg_cpu *rq)
{
	if (has_server(sys))
		server_idled(sys, rq);
}

void fg_idle_tick(const struct fg_sys *sys, struct fg_cpu *rq)
{
	fg_update_thermal(sys, rq);
	if (idle_class_charges(sys) && rq->curr_is_idle)
		server_idled(sys, rq);
}
