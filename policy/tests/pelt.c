/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals against the published check values and against a slow model of our own. */
#include "kit.h"

typedef unsigned __int128 u128;

static u128 isqrt128(u128 v)
{
	u128 r = 0;

	for (int b = 63; b >= 0; b--) {
		u128 t = r | (u128)1 << b;

		if (t * t <= v)
			r = t;
	}
	return r;
}

/* y^(32/2^k) scaled by 2^63, by repeated roots of one half. */
static u64 y_power(u32 n)
{
	u128 root = (u128)1 << 62; /* 1/2 */
	u128 r = (u128)1 << 63;

	if (n >= 32)
		return y_power(n - 32) / 2;
	for (u32 bit = 16; bit; bit /= 2) {
		root = isqrt128(root << 63);
		if (n & bit)
			r = (r * root) >> 63;
	}
	return (u64)r;
}

TEST(table_is_the_power_of_y)
{
	for (u32 i = 1; i < 32; i++) {
		u64 want = (u64)(((u128)0xffffffff * y_power(i)) >> 63);

		CHECK(pelt_inverse[i] == want);
	}
}

TEST(decay_halves_each_32_periods_and_ends)
{
	CHECK_EQ(fg_decay_load(1000, 0), 999); /* entry 0 loses a unit */
	CHECK_EQ(fg_decay_load(1ull << 40, 32), (1ull << 39) - 128);
	CHECK_EQ(fg_decay_load(~0ull, 2015), 1);
	CHECK_EQ(fg_decay_load(47742, 2016), 0);
	CHECK_EQ(fg_decay_load(~0ull, 2017), 0);
	CHECK_EQ(fg_decay_load(~0ull, 1000000), 0);
}

TEST(check_values_of_the_spec)
{
	static const u32 ms[] = { 4, 8, 16, 32, 50, 64, 100, 200 };
	static const u32 util[] = { 81, 156, 288, 495, 659, 751, 894, 1008 };
	struct fg_avg sa;
	u32 next = 0;

	memset(&sa, 0, sizeof(sa));
	for (u32 t = 1; t <= 200; t++) {
		if (fg_pelt_update(&sa, t * 1000000ull, 1, 1, 1))
			fg_pelt_averages(&sa, 1024);
		if (t == ms[next]) {
			CHECK_EQ(sa.util_avg, util[next]);
			next++;
		}
	}
	for (u32 t = 201; t <= 3000; t++) {
		if (fg_pelt_update(&sa, t * 1000000ull, 1, 1, 1))
			fg_pelt_averages(&sa, 1024);
	}
	CHECK(sa.util_avg == 1023 || sa.util_avg == 1024);
	CHECK(sa.load_avg == 1023 || sa.load_avg == 1024);
}

TEST(blocked_signal_halves_in_32_periods)
{
	struct fg_avg sa;

	memset(&sa, 0, sizeof(sa));
	sa.util_avg = 800;
	sa.util_sum = 800ull * PELT_MIN_DIVIDER;
	pelt_decay_blocked(&sa, 32 * 1024 * 1024, 1024);
	CHECK(sa.util_avg == 399 || sa.util_avg == 400);
}

/* Random busy and idle stretches; the model keeps 2^24 fractions and decays one period at a time. */
TEST(random_pattern_follows_the_slow_model)
{
	u64 seed = 1, now = 0, frac = 0, y = y_power(1);
	u128 sum = 0; /* of us, scaled by 2^24 */
	struct fg_avg sa;
	u32 worst = 0;

	memset(&sa, 0, sizeof(sa));
	for (u32 step = 0; step < 20000; step++) {
		u64 us, busy;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		us = (seed >> 33) % ((seed >> 60) == 0 ? 40000 : 3000);
		busy = (seed >> 20) & 1;
		now += us << 10;
		for (u64 left = us; left;) {
			u64 part = left < 1024 - frac ? left : 1024 - frac;

			if (busy)
				sum += (u128)part << 24;
			frac += part;
			left -= part;
			if (frac == 1024) {
				frac = 0;
				sum = (sum * y) >> 63;
			}
		}
		if (fg_pelt_update(&sa, now, busy, 1, 1)) {
			u64 model = (u64)((sum << 10) >> 24) / (PELT_MIN_DIVIDER + frac);
			u64 diff;

			fg_pelt_averages(&sa, 1);
			diff = model > sa.util_avg ? model - sa.util_avg : sa.util_avg - model;
			if (diff > worst)
				worst = (u32)diff;
		}
		CHECK_EQ(sa.period_contrib, frac);
		CHECK(sa.util_avg <= 1024);
	}
	CHECK(worst <= 2);
}

TEST(time_going_back_only_moves_the_reference)
{
	struct fg_avg sa;

	memset(&sa, 0, sizeof(sa));
	sa.last_update = 5000000;
	sa.util_sum = 12345;
	CHECK_EQ(fg_pelt_update(&sa, 4000000, 1, 1, 1), 0);
	CHECK_EQ(sa.last_update, 4000000);
	CHECK_EQ(sa.util_sum, 12345);
}

TEST(clock_pelt_runs_at_capacity_times_frequency_and_catches_up_idle)
{
	struct fg_cpu *rq;

	kit_init(1);
	rq = &cpus[0];
	kit_busy(0);
	rq->cpu_capacity_orig = 512;
	rq->freq_scale = 512;
	fg_update_rq_clock(&sys, rq, 1024000, 0);
	CHECK_EQ(rq->clock_task, 1024000);
	CHECK_EQ(rq->clock_pelt, 256000);
	/* interrupts stop clock_task */
	fg_update_rq_clock(&sys, rq, 2048000, 24000);
	CHECK_EQ(rq->clock, 2048000);
	CHECK_EQ(rq->clock_task, 2024000);
	kit_idle(0);
	fg_update_rq_clock(&sys, rq, 3000000, 24000);
	CHECK_EQ(rq->clock_pelt, rq->clock_task);
	/* not at the maximum: the catch-up is real idle time */
	fg_enter_idle(&sys, rq);
	CHECK_EQ(rq->lost_idle_time, 0);
}

TEST(a_full_signal_loses_no_time_to_idle)
{
	struct fg_cpu *rq;

	kit_init(1);
	rq = &cpus[0];
	rq->clock = rq->clock_task = 2000000;
	rq->clock_pelt = 500000;
	rq->cfs.util_sum = ((u64)PELT_MIN_DIVIDER << 10) - LOAD_AVG_MAX - 1;
	fg_enter_idle(&sys, rq);
	CHECK_EQ(rq->lost_idle_time, 0);
	CHECK_EQ(rq->clock_pelt, 2000000);
	rq->clock_pelt = 500000;
	rq->rt.util_sum = 1;
	fg_enter_idle(&sys, rq);
	CHECK_EQ(rq->lost_idle_time, 1500000);
	CHECK_EQ(rq->idle_stamp, 2000000);
}

TEST(new_tasks_take_half_of_what_is_left)
{
	struct fg_task p[3];

	kit_init(1);
	for (u32 i = 0; i < 3; i++) {
		p[i] = kit_task(i, 0);
		p[i].flags = FG_TASK_NEW;
		fg_post_init_util(&sys, &cpus[0], &p[i]);
		CHECK_EQ(p[i].avg.load_avg, 1024);
		CHECK_EQ(p[i].avg.util_avg, 512u >> i);
		CHECK_EQ(p[i].avg.runnable_avg, 512u >> i);
	}
	CHECK_EQ(cpus[0].cfs.util_avg, 512 + 256 + 128);
	/* v6.12: the ratio of the queue counts */
	sys.feat.value[FG_NEWTASK_W1024] = 0;
	cpus[0].cfs.util_avg = 10;
	cpus[0].cfs.load_avg = 2047;
	p[0] = kit_task(0, 0);
	fg_post_init_util(&sys, &cpus[0], &p[0]);
	CHECK_EQ(p[0].avg.util_avg, 5);
}

/* Enqueue, run, sleep, wake elsewhere: what one queue loses is what the other gets. */
TEST(a_task_takes_its_averages_along)
{
	struct fg_task p;

	kit_init(2);
	p = kit_task(1, 0);
	p.flags = FG_TASK_NEW;
	fg_post_init_util(&sys, &cpus[0], &p);
	fg_enqueue_entity(&sys, &cpus[0], &p, FG_ENQUEUE_INITIAL);
	cpus[0].curr_is_idle = 0;
	fg_set_next_entity(&sys, &cpus[0], &p, 1);
	for (u64 t = 1; t <= 20; t++) {
		fg_update_rq_clock(&sys, &cpus[0], t * 1000000, 0);
		fg_update_curr(&sys, &cpus[0], 0);
		fg_entity_tick(&sys, &cpus[0], 0);
	}
	CHECK_EQ(p.sum_exec, 20000000);
	CHECK(p.avg.util_avg > 512);
	fg_dequeue_entity(&sys, &cpus[0], &p, FG_DEQUEUE_SLEEP);
	fg_put_prev_entity(&sys, &cpus[0], &p);
	cpus[0].curr_is_idle = 1;
	CHECK_EQ(cpus[0].est_enqueued, 0);
	CHECK_EQ(p.est.enqueued, p.avg.util_avg | 1);
	CHECK_EQ(cpus[0].h_nr_running, 0);
	/* blocked load stays behind */
	CHECK(cpus[0].cfs.util_avg >= p.avg.util_avg);

	fg_migrate_task(&sys, &cpus[0], &p);
	CHECK_EQ(cpus[0].removed_util, p.avg.util_avg);
	p.cpu = 1;
	fg_update_rq_clock(&sys, &cpus[1], 21000000, 0);
	fg_enqueue_entity(&sys, &cpus[1], &p, FG_ENQUEUE_WAKEUP | FG_ENQUEUE_MIGRATED);
	CHECK_EQ(cpus[1].cfs.util_avg, p.avg.util_avg);
	CHECK_EQ(cpus[1].est_enqueued, p.est.enqueued | 1);
	CHECK(!(p.flags & FG_TASK_MIGRATED));
	fg_update_rq_clock(&sys, &cpus[0], 21000000, 0);
	CHECK(fg_update_blocked_averages(&sys, &cpus[0]) == (cpus[0].cfs.load_avg || cpus[0].cfs.util_avg));
	CHECK(cpus[0].cfs.util_avg <= 1);

	/* and back while runnable */
	fg_dequeue_entity(&sys, &cpus[1], &p, FG_DEQUEUE_MOVE);
	CHECK_EQ(cpus[1].cfs.util_avg, 0);
	CHECK_EQ(cpus[1].cfs.load_avg, 0);
	fg_enqueue_entity(&sys, &cpus[0], &p, 0);
	CHECK(cpus[0].cfs.util_avg >= p.avg.util_avg);
}

/* CPU 0 has been idle since 40 ms, its clock was not updated since, and 32 more ms have passed: half of everything. */
TEST(a_task_woken_away_from_an_idle_cpu_ages_by_the_time_its_clock_stood)
{
	struct fg_task p;

	for (u32 on = 0; on < 2; on++) {
		kit_init(2);
		sys.feat.value[FG_MIGRATE_LAG] = (u8)on;
		fg_update_rq_clock(&sys, &cpus[0], 40 * 1024 * 1024, 0);
		cpus[0].cfs.last_update = 40 * 1024 * 1024;
		p = kit_task(1, 0);
		kit_util(&p, 400);
		p.avg.last_update = 40 * 1024 * 1024;
		fg_migrate_task(&sys, &cpus[0], &p);
		fg_migrate_lag(&sys, &cpus[0], &p, 72 * 1024 * 1024);
		CHECK_EQ(cpus[0].removed_util, 400);
		CHECK_EQ(p.avg.util_avg, on ? 199 : 400);
	}

	/* Busy, or with a queue that is younger than the clock says: as it is. */
	for (u32 busy = 0; busy < 2; busy++) {
		cpus[0].curr_is_idle = !busy;
		cpus[0].cfs.last_update = busy ? 40 * 1024 * 1024 : 41 * 1024 * 1024;
		p = kit_task(1, 0);
		kit_util(&p, 400);
		p.avg.last_update = cpus[0].cfs.last_update;
		fg_migrate_task(&sys, &cpus[0], &p);
		fg_migrate_lag(&sys, &cpus[0], &p, 72 * 1024 * 1024);
		CHECK_EQ(p.avg.util_avg, 400);
	}
}

TEST(blocked_load_decays_to_nothing)
{
	u64 now = 0;
	u32 rounds = 0;

	kit_init(1);
	cpus[0].cfs.util_avg = cpus[0].cfs.load_avg = cpus[0].cfs.runnable_avg = 1024;
	cpus[0].cfs.util_sum = cpus[0].cfs.runnable_sum = 1024ull * PELT_MIN_DIVIDER;
	cpus[0].cfs.load_sum = 1024ull * PELT_MIN_DIVIDER;
	cpus[0].has_blocked_load = 1;
	do {
		now += 32000000;
		fg_update_rq_clock(&sys, &cpus[0], now, 0);
	} while (fg_update_blocked_averages(&sys, &cpus[0]) && ++rounds < 100);
	CHECK(rounds < 15);
	CHECK_EQ(cpus[0].has_blocked_load, 0);
}

TEST(rt_irq_and_thermal_signals_lower_the_capacity)
{
	struct fg_task rt;

	kit_init(1);
	kit_busy(0);
	rt = kit_task(1, 0);
	rt.policy = FG_SCHED_FIFO;
	cpus[0].curr = &rt;
	cpus[0].thermal_pressure = 100;
	for (u64 t = 1; t <= 1000; t++) {
		fg_update_rq_clock(&sys, &cpus[0], t * 1000000, t * 250000);
		fg_update_rt(&sys, &cpus[0], 1);
		fg_update_thermal(&sys, &cpus[0]);
	}
	CHECK(cpus[0].rt.util_avg >= 1015);
	CHECK(cpus[0].thermal.load_avg >= 98 && cpus[0].thermal.load_avg <= 100);
	CHECK(cpus[0].irq.util_avg > 230 && cpus[0].irq.util_avg < 280);
	CHECK_EQ(fg_scale_capacity(&sys, &cpus[0]), 1);
	cpus[0].rt.util_avg = 200;
	cpus[0].thermal.load_avg = 100;
	cpus[0].irq.util_avg = 256;
	CHECK_EQ(fg_scale_capacity(&sys, &cpus[0]), (1024 - 300) * (1024 - 256) / 1024);
	sys.feat.value[FG_THERMAL_IN_CAP] = 0;
	CHECK_EQ(fg_scale_capacity(&sys, &cpus[0]), (1024 - 200) * (1024 - 256) / 1024);
	cpus[0].irq.util_avg = 1024;
	CHECK_EQ(fg_scale_capacity(&sys, &cpus[0]), 1);
}

TEST(estimates_are_odd_until_v512)
{
	struct fg_task p;

	kit_init(1);
	p = kit_task(1, 0);
	CHECK_EQ(fg_task_util_est(&sys, &p), 1);
	sys.feat.value[FG_EST_LSB] = 0;
	CHECK_EQ(fg_task_util_est(&sys, &p), 0);
}

TEST(the_estimate_rises_at_once_and_falls_by_quarters)
{
	struct fg_task p;

	kit_init(1);
	sys.feat.value[FG_EST_LSB] = 0;
	p = kit_task(1, 0);
	p.avg.util_avg = 400;
	util_est_update(&sys, &cpus[0], &p);
	CHECK_EQ(p.est.enqueued, 400);
	CHECK_EQ(p.est.ewma, 400);
	/* not updated since: skipped */
	p.avg.util_avg = 100;
	util_est_update(&sys, &cpus[0], &p);
	CHECK_EQ(p.est.enqueued, 400);
	p.flags = 0;
	util_est_update(&sys, &cpus[0], &p);
	CHECK_EQ(p.est.enqueued, 100);
	CHECK_EQ(p.est.ewma, 325);
	CHECK_EQ(fg_task_util_est(&sys, &p), 325);
	/* a fall below 10 changes nothing; up to v5.12 not even the last value */
	p.flags = 0;
	p.avg.util_avg = 316;
	sys.feat.value[FG_EST_LSB] = 1;
	util_est_update(&sys, &cpus[0], &p);
	CHECK_EQ(p.est.enqueued, 100);
	sys.feat.value[FG_EST_LSB] = 0;
	util_est_update(&sys, &cpus[0], &p);
	CHECK_EQ(p.est.enqueued, 316);
	CHECK_EQ(p.est.ewma, 325);
	/* without fastup a rise moves the average by a quarter */
	sys.feat.value[FG_UTIL_EST] = FG_UTIL_EST_EWMA;
	p.flags = 0;
	p.avg.util_avg = 725;
	util_est_update(&sys, &cpus[0], &p);
	CHECK_EQ(p.est.enqueued, 725);
	CHECK_EQ(p.est.ewma, 425);
	/* more than the CPU has */
	p.flags = 0;
	cpus[0].cpu_capacity_orig = 500;
	p.avg.util_avg = 600;
	util_est_update(&sys, &cpus[0], &p);
	CHECK_EQ(p.est.enqueued, 725);
}

/* Attach makes the sums from the averages with the queue's divider; detach takes the same amounts off. */
TEST(attach_and_detach_are_exact)
{
	struct fg_task p;
	struct fg_avg *cfs;
	u64 divider = PELT_MIN_DIVIDER + 500;

	kit_init(1);
	cfs = &cpus[0].cfs;
	cfs->period_contrib = 500;
	cfs->last_update = 1 << 20;
	p = kit_task(1, 0);
	p.weight = 512;
	p.avg.load_avg = 256;
	p.avg.util_avg = 300;
	p.avg.runnable_avg = 400;
	attach_entity_load_avg(&cpus[0], &p);
	CHECK_EQ(p.avg.period_contrib, 500);
	CHECK_EQ(p.avg.last_update, 1 << 20);
	CHECK_EQ(p.avg.load_sum, divider / 2);
	CHECK_EQ(cfs->load_sum, 512 * (divider / 2));
	CHECK_EQ(cfs->util_sum, 300 * divider);
	CHECK_EQ(cfs->runnable_sum, 400 * divider);
	CHECK_EQ(cfs->load_avg, 256);
	CHECK_EQ(cfs->util_avg, 300);
	CHECK_EQ(cfs->runnable_avg, 400);
	detach_entity_load_avg(&sys, &cpus[0], &p);
	CHECK_EQ(cfs->load_sum, 0);
	CHECK_EQ(cfs->util_sum, 0);
	CHECK_EQ(cfs->runnable_sum, 0);
	CHECK_EQ(cfs->load_avg, 0);
	CHECK_EQ(cfs->util_avg, 0);
	CHECK_EQ(cfs->runnable_avg, 0);
	/* an entity without load still has a sum to divide by */
	p.avg.load_avg = 0;
	attach_entity_load_avg(&cpus[0], &p);
	CHECK_EQ(p.avg.load_sum, 1);
}

/* A queue with that average of each kind and this sum for each unit of it, and a task that has 100 there. */
static struct fg_task of_queue(u32 kind, u64 avg, u64 sum_of_one)
{
	struct fg_avg *cfs = &cpus[0].cfs;
	struct fg_task p;

	kit_init(1);
	sys.feat.value[FG_PELT_SUM] = (u8)kind;
	cfs->period_contrib = 500;
	cfs->load_avg = cfs->util_avg = cfs->runnable_avg = avg;
	cfs->load_sum = cfs->util_sum = cfs->runnable_sum = avg * sum_of_one;
	p = kit_task(1, 0);
	p.weight = 100;
	p.avg.load_avg = p.avg.util_avg = p.avg.runnable_avg = 100;
	p.avg.load_sum = PELT_MIN_DIVIDER + 500;
	p.avg.util_sum = p.avg.runnable_sum = 100 * (PELT_MIN_DIVIDER + 500);
	return p;
}

/*
 * Of 300 go 100. What is left of sums that were in step is in step, whoever makes it; of sums that were short by 1000 a unit: as much as
 * is left, what the averages say, or what they need at least.
 */
TEST(what_leaves_with_a_task_leaves_the_sums_that_a_release_has)
{
	const u64 divider = PELT_MIN_DIVIDER + 500;
	const u64 left[2][3] = { { 200 * divider, 200 * divider, 200 * divider },
				 { 200 * divider - 300000, 200 * divider, 200ull * PELT_MIN_DIVIDER } };

	for (u32 i = 0; i < 6; i++) {
		u32 is_short = i / 3, kind = i % 3;
		struct fg_task p = of_queue(kind, 300, divider - is_short * 1000);
		const struct fg_avg *cfs = &cpus[0].cfs;

		detach_entity_load_avg(&sys, &cpus[0], &p);
		CHECK_EQ(cfs->load_avg, 200);
		CHECK_EQ(cfs->util_avg, 200);
		CHECK_EQ(cfs->runnable_avg, 200);
		CHECK_EQ(cfs->load_sum, left[is_short][kind]);
		CHECK_EQ(cfs->util_sum, left[is_short][kind]);
		CHECK_EQ(cfs->runnable_sum, left[is_short][kind]);
	}
}

/* 5.10 stable: sums are made anew, but of utilization removed by wakeups elsewhere the queue keeps what its average needs. */
TEST(removed_utilization_keeps_the_floor_where_other_sums_are_made_anew)
{
	const u64 divider = PELT_MIN_DIVIDER + 500;
	const struct fg_avg *cfs = &cpus[0].cfs;
	struct fg_task p = of_queue(FG_PELT_SUM_AVERAGE_FLOOR, 300, divider - 1000);

	cpus[0].removed_load = cpus[0].removed_util = cpus[0].removed_runnable = 100;
	apply_removed(&sys, &cpus[0]);
	CHECK_EQ(cfs->util_avg, 200);
	CHECK_EQ(cfs->load_sum, 200 * divider);
	CHECK_EQ(cfs->runnable_sum, 200 * divider);
	CHECK_EQ(cfs->util_sum, 200ull * PELT_MIN_DIVIDER);
	detach_entity_load_avg(&sys, &cpus[0], &p);
	CHECK_EQ(cfs->util_sum, 100 * divider);
}

/* A weight that changes takes the old load off in the same way, and puts the new one on: 100 go and 200 come. */
TEST(a_reweighted_tasks_load_leaves_the_floor)
{
	struct fg_task p = of_queue(FG_PELT_SUM_FLOOR, 300, PELT_MIN_DIVIDER - 500);

	p.avg.period_contrib = 500;
	p.nice = 5;
	fg_set_load_weight(&p);
	u32 weight = p.weight;
	p.weight = 100;
	fg_reweight_task(&sys, &cpus[0], &p);
	CHECK_EQ(p.weight, weight);
	CHECK_EQ(cpus[0].cfs.load_avg, 200 + weight);
	CHECK_EQ(cpus[0].cfs.load_sum, 200ull * PELT_MIN_DIVIDER + (u64)weight * (PELT_MIN_DIVIDER + 500));
}

/* The floor is taken in 32 bits. What three tasks of nice -20 leave of the load of 177622 when one of 100 goes: 2^32 less. */
TEST(a_very_large_load_loses_what_is_above_32_bits)
{
	const u64 divider = PELT_MIN_DIVIDER + 500;
	struct fg_task p = of_queue(FG_PELT_SUM_FLOOR, 2 * 88761 + 100, divider);

	detach_entity_load_avg(&sys, &cpus[0], &p);
	CHECK_EQ(cpus[0].cfs.load_avg, 2 * 88761);
	CHECK_EQ(cpus[0].cfs.load_sum, 2 * 88761 * divider - (1ull << 32));
}

TEST(removed_averages_go_off_once)
{
	struct fg_task p;
	struct fg_avg *cfs;
	u64 divider = PELT_MIN_DIVIDER + 500;

	const u64 util_left[] = { 190 * divider, 200 * divider, 200ull * PELT_MIN_DIVIDER };

	for (u32 kind = 0; kind < 3; kind++) {
		kit_init(1);
		sys.feat.value[FG_PELT_SUM] = (u8)kind;
		cfs = &cpus[0].cfs;
		cfs->period_contrib = 500;
		cfs->load_avg = 1000;
		cfs->util_avg = 300;
		cfs->runnable_avg = 400;
		cfs->load_sum = 1000 * divider;
		/* the sum is a bit short, as after rounding */
		cfs->util_sum = 290 * divider;
		cfs->runnable_sum = 400 * divider;
		p = kit_task(1, 0);
		p.exec_start = 7;
		p.avg.load_avg = 600;
		p.avg.util_avg = 100;
		p.avg.runnable_avg = 150;
		fg_migrate_task(&sys, &cpus[0], &p);
		CHECK_EQ(p.exec_start, 0);
		CHECK_EQ(cpus[0].removed_nr, 1);
		for (u32 again = 0; again < 2; again++) {
			update_cfs_rq_load_avg(&sys, &cpus[0]);
			CHECK_EQ(cfs->load_avg, 400);
			CHECK_EQ(cfs->load_sum, 400 * divider);
			CHECK_EQ(cfs->util_avg, 200);
			/* v5.14: what the average says; v5.17: never below what it needs at least */
			CHECK_EQ(cfs->util_sum, util_left[kind]);
			CHECK_EQ(cfs->runnable_avg, 250);
			CHECK_EQ(cfs->runnable_sum, 250 * divider);
			cpus[0].removed_nr = again == 0;
		}
		/* a child that never ran has nothing here and its vruntime is relative already */
		p = kit_task(2, 0);
		p.flags = FG_TASK_NEW;
		p.vruntime = 5;
		cpus[0].fair.min_vruntime = 3;
		fg_migrate_task(&sys, &cpus[0], &p);
		CHECK_EQ(p.vruntime, 5);
		CHECK_EQ(cpus[0].removed_nr, 0);
	}
}

/* Waiting, running, asleep; under RT; and what the queue itself counts. */
TEST(who_runs_and_who_waits)
{
	struct fg_task p, rt;
	struct fg_cpu *rq;

	kit_init(1);
	rq = &cpus[0];
	p = kit_task(1, 0);
	p.on_rq = 1;
	p.flags = FG_TASK_EST_CURRENT;
	rt = kit_task(2, 0);
	rt.policy = FG_SCHED_FIFO;
	rq->curr = &rt;
	rq->curr_is_idle = 0;
	rq->fair.load_weight = 1024;
	rq->h_nr_running = 1;
	rq->nr_running = 2;
	/* it waits behind an RT task: runnable, not running; one fair task, other classes do not count */
	rq->clock_pelt = 64ull << 20;
	update_load_avg(&sys, rq, &p);
	CHECK(p.avg.load_avg > 700 && p.avg.runnable_avg > 700);
	CHECK_EQ(p.avg.util_avg, 0);
	CHECK_EQ(rq->cfs.util_avg, 0);
	CHECK(rq->cfs.runnable_avg > 700 && rq->cfs.runnable_avg < 1025);
	CHECK_EQ(p.flags, 0);
	/* runs */
	rq->curr = &p;
	rq->clock_pelt = 128ull << 20;
	update_load_avg(&sys, rq, &p);
	CHECK(p.avg.util_avg > 700 && rq->cfs.util_avg > 700);
	/* off the queue it neither waits nor runs, current or not; time lost to idle does not pass for signals */
	p.on_rq = 0;
	rq->clock_pelt += 32ull << 20;
	rq->lost_idle_time = 32ull << 20;
	rt.avg = p.avg;
	update_load_avg(&sys, rq, &p);
	CHECK_EQ(p.avg.util_avg, rt.avg.util_avg);
	rq->clock_pelt += 32ull << 20;
	update_load_avg(&sys, rq, &p);
	CHECK(p.avg.util_avg <= (rt.avg.util_avg + 1) / 2 && p.avg.runnable_avg <= (rt.avg.runnable_avg + 1) / 2);
}

TEST(births_meet_a_queue_that_is_up_to_date)
{
	struct fg_task p;

	kit_init(1);
	cpus[0].cfs.util_avg = 512;
	cpus[0].cfs.util_sum = 512ull * PELT_MIN_DIVIDER;
	cpus[0].clock_pelt = 32ull << 20;
	p = kit_task(1, 0);
	p.flags = FG_TASK_NEW;
	fg_post_init_util(&sys, &cpus[0], &p);
	/* its own from the old value, joined with the decayed one */
	CHECK_EQ(p.avg.util_avg, 256);
	CHECK(cpus[0].cfs.util_avg >= 511 && cpus[0].cfs.util_avg <= 512);
	CHECK_EQ(p.avg.last_update, 32ull << 20);
	/* an RT task joins nothing */
	kit_init(1);
	p = kit_task(1, 0);
	p.policy = FG_SCHED_RR;
	fg_post_init_util(&sys, &cpus[0], &p);
	CHECK_EQ(p.avg.util_avg, 512);
	CHECK_EQ(cpus[0].cfs.util_avg, 0);
}

TEST(interrupts_heat_and_deadlines_in_the_passes)
{
	struct fg_cpu *rq;
	struct fg_task rt;
	u64 full = 0;

	/* half the speed by capacity and by frequency: a quarter of the pressure */
	for (u32 slow = 0; slow < 2; slow++) {
		kit_init(1);
		kit_busy(0);
		rq = &cpus[0];
		rq->cpu_capacity_orig = slow ? 512 : 1024;
		rq->freq_scale = slow ? 512 : 1024;
		for (u64 t = 1; t <= 500; t++)
			fg_update_rq_clock(&sys, rq, t * 1000000, t * 400000);
		if (slow)
			CHECK(rq->irq.util_avg * 4 > full - 40 && rq->irq.util_avg * 4 < full + 40);
		full = rq->irq.util_avg;
	}
	/* an interrupt not over yet counts later, and only once */
	kit_init(1);
	rq = &cpus[0];
	fg_update_rq_clock(&sys, rq, 1000000, 3000000);
	CHECK_EQ(rq->clock_task, 0);
	CHECK_EQ(rq->prev_irq_ns, 1000000);
	fg_update_rq_clock(&sys, rq, 3500000, 3000000);
	CHECK_EQ(rq->clock_task, 500000);

	/* the blocked pass: rt runs on while an RT task is current, all others decay; heat by clock_task */
	kit_init(1);
	rq = &cpus[0];
	rt = kit_task(1, 0);
	rt.policy = FG_SCHED_FIFO;
	rq->curr = &rt;
	rq->dl.util_avg = rq->irq.util_avg = 500;
	rq->dl.util_sum = rq->irq.util_sum = 500ull * PELT_MIN_DIVIDER;
	rq->thermal_pressure = 100;
	rq->clock = rq->clock_task = 64ull << 20;
	rq->clock_pelt = 32ull << 20;
	CHECK_EQ(fg_update_blocked_averages(&sys, rq), 1);
	CHECK(rq->rt.util_avg > 500 && rq->rt.util_avg < 520);
	CHECK(rq->dl.util_avg == 250 || rq->dl.util_avg == 249);
	CHECK(rq->irq.util_avg == 125 || rq->irq.util_avg == 124);
	CHECK(rq->thermal.load_avg > 70);
	/* deadline tasks take capacity, and count for a full signal, like RT ones */
	rq->rt.util_avg = rq->irq.util_avg = rq->thermal.load_avg = 0;
	CHECK_EQ(fg_scale_capacity(&sys, rq), 1024 - rq->dl.util_avg);
	rq->clock_pelt += 32ull << 20;
	fg_update_dl(&sys, rq, 1);
	CHECK(rq->dl.util_avg >= 633 && rq->dl.util_avg <= 638);
	rq->clock_pelt += 32ull << 20;
	fg_update_dl(&sys, rq, 0);
	CHECK(rq->dl.util_avg >= 315 && rq->dl.util_avg <= 319);
	rq->clock_pelt -= 64ull << 20;
	rq->rt.util_sum = 0;
	rq->dl.util_sum = ((u64)PELT_MIN_DIVIDER << 10) - LOAD_AVG_MAX;
	rq->lost_idle_time = 0;
	fg_enter_idle(&sys, rq);
	CHECK_EQ(rq->lost_idle_time, 32ull << 20);
	/* interrupts take their share of what is there, here half of 512 */
	rq->dl.util_avg = 0;
	rq->cpu_capacity_orig = 512;
	rq->irq.util_avg = 256;
	CHECK_EQ(fg_scale_capacity(&sys, rq), 256);
}

TEST(estimates_at_their_edges)
{
	struct fg_task p;

	kit_init(1);
	p = kit_task(1, 0);
	p.est.enqueued = p.est.ewma = 411;
	/* 402 is stored as 403, and 411 - 403 is noise */
	p.avg.util_avg = 402;
	util_est_update(&sys, &cpus[0], &p);
	CHECK_EQ(p.est.enqueued, 411);
	/* 401 is exactly ten less: no noise */
	p.avg.util_avg = 400;
	util_est_update(&sys, &cpus[0], &p);
	CHECK_EQ(p.est.enqueued, 401);
	CHECK_EQ(p.est.ewma, (3 * 411 + 401) / 4);
	/* a rise from 410 to 410 | 1 is one */
	p = kit_task(1, 0);
	p.est.ewma = p.avg.util_avg = 410;
	util_est_update(&sys, &cpus[0], &p);
	CHECK_EQ(p.est.enqueued, 411);
	CHECK_EQ(p.est.ewma, 411);
	/* exactly what the CPU has may be learned from */
	p = kit_task(1, 0);
	p.est.ewma = 800;
	p.avg.util_avg = cpus[0].cpu_capacity_orig = 500;
	util_est_update(&sys, &cpus[0], &p);
	CHECK_EQ(p.est.enqueued, 501);
	/* a queue's estimate is of what every reader sees, and never above the CPU */
	p = kit_task(1, 0);
	util_est_enqueue(&sys, &cpus[0], &p);
	CHECK_EQ(cpus[0].est_enqueued, 1);
	cpus[0].est_enqueued = 501;
	CHECK_EQ(fg_cpu_util(&cpus[0]), 500);
}

/* Enqueue adds a task's load, dequeue takes it off, sleepers do not count; only where a feature asks. */
TEST(queued_load_comes_and_goes_with_the_tasks)
{
	struct fg_task p, q;
	struct fg_cpu *rq;

	kit_init(1);
	kit_preset_v54();
	rq = &cpus[0];
	p = kit_task(1, 0);
	p.flags = FG_TASK_NEW;
	fg_post_init_util(&sys, rq, &p);
	CHECK_EQ(rq->queued.load_avg, 0);
	fg_enqueue_entity(&sys, rq, &p, FG_ENQUEUE_INITIAL);
	/* a new task brings its weight */
	CHECK_EQ(rq->queued.load_avg, 1024);
	CHECK_EQ(rq->queued.load_sum, 1024 * p.avg.load_sum);
	q = kit_task(2, 0);
	q.weight = 335; /* nice 5 */
	q.flags = FG_TASK_NEW;
	fg_post_init_util(&sys, rq, &q);
	fg_enqueue_entity(&sys, rq, &q, FG_ENQUEUE_INITIAL);
	CHECK_EQ(rq->queued.load_avg, 1024 + 335);
	fg_dequeue_entity(&sys, rq, &p, FG_DEQUEUE_SLEEP);
	CHECK_EQ(rq->queued.load_avg, 335);
	CHECK_EQ(rq->queued.load_sum, 335 * q.avg.load_sum);
	/* all of it is still here */
	CHECK_EQ(rq->cfs.load_avg, 1024 + 335);
	/* moved away: gone from both */
	fg_dequeue_entity(&sys, rq, &q, FG_DEQUEUE_MOVE);
	CHECK_EQ(rq->queued.load_avg, 0);
	CHECK_EQ(rq->cfs.load_avg, 1024);
	/* never below nothing */
	rq->queued.load_avg = rq->queued.load_sum = 5;
	dequeue_runnable_load_avg(&sys, rq, &p);
	CHECK_EQ(rq->queued.load_avg, 0);
	CHECK_EQ(rq->queued.load_sum, 0);

	/* v5.7 has none; either of the two that read it is enough */
	for (u32 reader = 0; reader < 3; reader++) {
		kit_init(1);
		sys.feat.value[FG_LB_P06] = reader != 1;
		sys.feat.value[FG_LB_P09] = reader != 2;
		p = kit_task(1, 0);
		p.flags = FG_TASK_NEW;
		fg_post_init_util(&sys, rq, &p);
		fg_enqueue_entity(&sys, rq, &p, FG_ENQUEUE_INITIAL);
		CHECK_EQ(rq->queued.load_avg, reader ? 1024 : 0);
		fg_update_rq_clock(&sys, rq, 100 << 20, 0);
		update_cfs_rq_load_avg(&sys, rq);
		CHECK_EQ(rq->queued.last_update, reader ? 100 << 20 : 0);
	}
}

/* The load of the queued tasks at rq's clock, each brought up to it on a copy. */
static u64 sum_of_queued(const struct fg_cpu *rq, const struct fg_task *p, u32 nr)
{
	u64 sum = 0;

	for (u32 i = 0; i < nr; i++) {
		struct fg_avg sa = p[i].avg;

		if (!p[i].on_rq || p[i].cpu != rq->id)
			continue;
		fg_pelt_update(&sa, rq_clock_pelt(rq), 1, 1, rq->curr == &p[i]);
		sum += p[i].weight * sa.load_sum;
	}
	return sum / pelt_divider(&rq->cfs);
}

/* By more than rounding: a hundredth, or a unit a task. */
static u32 differ(u64 a, u64 b)
{
	u64 more = a > b ? a : b, diff = a > b ? a - b : b - a;

	return diff > more / 100 + 6;
}

TEST(queued_load_is_the_sum_of_the_queued_tasks)
{
	static const u32 weights[] = { 1024, 15, 335, 3121, 3, 9548 };
	struct fg_task p[6];
	u64 seed = 5, now = 0;
	u32 blocked = 0;

	kit_init(2);
	kit_preset_v54();
	cpus[1].cpu_capacity_orig = 462;
	for (u32 i = 0; i < 6; i++) {
		p[i] = kit_task(i, i % 2);
		p[i].weight = weights[i];
		p[i].flags = FG_TASK_NEW;
	}
	for (u32 step = 0; step < 20000; step++) {
		struct fg_task *t;
		struct fg_cpu *rq;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		now += (seed >> 33) % ((seed >> 58) == 0 ? 60000000 : 3000000);
		t = &p[(seed >> 25) % 6];
		for (u32 c = 0; c < 2; c++) {
			fg_update_rq_clock(&sys, &cpus[c], now, 0);
			fg_update_curr(&sys, &cpus[c], 0);
		}
		rq = &cpus[t->cpu];
		if (!t->on_rq) {
			u32 flags = t->flags & FG_TASK_NEW ? FG_ENQUEUE_INITIAL : FG_ENQUEUE_WAKEUP;

			if (flags == FG_ENQUEUE_INITIAL)
				fg_post_init_util(&sys, rq, t);
			/* every other time on the other CPU */
			if (flags == FG_ENQUEUE_WAKEUP && (seed >> 21 & 1)) {
				fg_migrate_task(&sys, rq, t);
				t->cpu = !t->cpu;
				rq = &cpus[t->cpu];
				flags |= FG_ENQUEUE_MIGRATED;
			}
			fg_enqueue_entity(&sys, rq, t, flags);
			if (rq->curr_is_idle) {
				fg_set_next_entity(&sys, rq, t, 1);
				rq->curr_is_idle = 0;
			}
		} else if (seed >> 21 & 1) {
			fg_dequeue_entity(&sys, rq, t, FG_DEQUEUE_SLEEP);
			if (rq->curr == t) {
				fg_put_prev_entity(&sys, rq, t);
				for (u32 i = 0; i < 6; i++) {
					if (!rq->curr && p[i].on_rq && p[i].cpu == rq->id)
						fg_set_next_entity(&sys, rq, &p[i], 1);
				}
				rq->curr_is_idle = !rq->curr;
			}
		} else {
			fg_entity_tick(&sys, rq, 0);
		}
		for (u32 c = 0; c < 2; c++) {
			struct fg_avg *queued = &cpus[c].queued;
			u64 want, sum, period = queued->last_update >> 20;

			update_cfs_rq_load_avg(&sys, &cpus[c]);
			want = sum_of_queued(&cpus[c], p, 6);
			sum = queued->load_sum / pelt_divider(queued);
			CHECK(!differ(sum, want));
			/* a period ended: the average says the same */
			if (queued->last_update >> 20 != period)
				CHECK_EQ(queued->load_avg, sum);
			CHECK_EQ(cpus[c].queued.period_contrib, cpus[c].cfs.period_contrib);
			blocked += cpus[c].cfs.load_avg > 2 * want + 100;
		}
		if (test_bad)
			return;
	}
	/* it is something else than all load */
	CHECK(blocked > 1000);
}

static u32 learn_v68(struct fg_task *p, u32 util, u32 runnable)
{
	p->flags = 0;
	p->avg.util_avg = util;
	p->avg.runnable_avg = runnable;
	util_est_update(&sys, &cpus[0], p);
	CHECK_EQ(fg_task_util_est(&sys, p), p->est.ewma > util ? p->est.ewma : util);
	return p->est.ewma;
}

TEST(from_v68_on_the_estimate_is_one_value_that_waiting_does_not_lower)
{
	struct fg_task p;

	kit_init(1);
	cpus[0].cpu_capacity_orig = 500;
	sys.feat.value[FG_EST_LSB] = 0;
	sys.feat.value[FG_UTIL_EST] = FG_UTIL_EST_V68;
	sys.feat.value[FG_EST_OVERCAP] = 1;
	p = kit_task(1, 0);
	/* up at once, whatever the CPU has */
	CHECK_EQ(learn_v68(&p, 600, 600), 600);
	CHECK_EQ(p.flags, FG_TASK_EST_CURRENT);
	/* not down from more than the CPU has, and that is not learned: the next dequeue tries again */
	CHECK_EQ(learn_v68(&p, 501, 501), 600);
	CHECK_EQ(p.flags, 0);
	/* v6.16 does not ask: (4 x 600 - 99) / 4 */
	sys.feat.value[FG_EST_OVERCAP] = 0;
	CHECK_EQ(learn_v68(&p, 501, 501), 575);
	CHECK_EQ(p.flags, FG_TASK_EST_CURRENT);
	sys.feat.value[FG_EST_OVERCAP] = 1;
	p.est.ewma = 600;
	/* (4 x 600 - 200) / 4 = 550, (4 x 550 - 150) / 4 = 512.5 */
	CHECK_EQ(learn_v68(&p, 400, 410), 550);
	CHECK_EQ(learn_v68(&p, 400, 410), 512);
	/* 400 + 10 < 411: it waited. 512 - 503 is noise. Both are learned from */
	CHECK_EQ(learn_v68(&p, 400, 411), 512);
	CHECK_EQ(p.flags, FG_TASK_EST_CURRENT);
	CHECK_EQ(learn_v68(&p, 503, 503), 512);
	CHECK_EQ(p.flags, FG_TASK_EST_CURRENT);
	cpus[0].cpu_capacity_orig = 1024;
	CHECK_EQ(learn_v68(&p, 502, 502), 509);
	CHECK_EQ(learn_v68(&p, 479, 479), 501);
	/* a small rise is one */
	CHECK_EQ(learn_v68(&p, 509, 509), 509);
	/* not updated since: skipped */
	p.avg.util_avg = 100;
	util_est_update(&sys, &cpus[0], &p);
	CHECK_EQ(p.est.ewma, 509);
	CHECK_EQ(p.est.enqueued, 0);
}

/* With pelt-lost-idle the clock catches up when the idle task gets the CPU, not when a search for work begins. */
TEST(lost_idle_time_counts_where_the_idle_task_takes_over)
{
	for (u8 on = 0; on < 2; on++) {
		struct fg_cpu *rq;

		kit_init(1);
		sys.feat.value[FG_PELT_LOST_IDLE] = on;
		rq = &cpus[0];
		rq->clock = rq->clock_task = 2000000;
		rq->clock_pelt = 500000;
		rq->cfs.util_sum = ((u64)PELT_MIN_DIVIDER << 10) - LOAD_AVG_MAX;
		fg_enter_idle(&sys, rq);
		CHECK_EQ(rq->idle_stamp, 2000000);
		CHECK_EQ(rq->lost_idle_time, on ? 0 : 1500000);
		CHECK_EQ(rq->clock_pelt, on ? 500000 : 2000000);
		fg_set_next_idle(&sys, rq);
		CHECK_EQ(rq->lost_idle_time, 1500000);
		CHECK_EQ(rq->clock_pelt, 2000000);
	}
}

/* An eighth of the way from 1 ms to 0.2 ms; without a stamp from 1 ms to 3 s, and no more than two migration costs. */
TEST(an_idle_time_without_a_stamp_counts_from_the_beginning_of_the_clock)
{
	static const u64 stamps[] = { 2999800000, 0, 0 }, expected[] = { 900000, 400000, 1000000 };

	for (u32 i = 0; i < 3; i++) {
		struct fg_cpu *rq;

		kit_init(1);
		sys.hz = 250;
		sys.feat.value[FG_AVG_IDLE_NOSTAMP] = i == 2;
		rq = &cpus[0];
		rq->clock = 3000000000;
		rq->idle_stamp = stamps[i];
		rq->avg_idle = i ? 400000 : 1000000;
		rq->max_idle_balance_cost = FG_MIGRATION_COST;
		fg_wake_from_idle(&sys, rq);
		CHECK_EQ(rq->avg_idle, expected[i]);
		CHECK_EQ(rq->idle_stamp, 0);
	}
}

int main(void)
{
	RUN(table_is_the_power_of_y);
	RUN(decay_halves_each_32_periods_and_ends);
	RUN(check_values_of_the_spec);
	RUN(blocked_signal_halves_in_32_periods);
	RUN(random_pattern_follows_the_slow_model);
	RUN(time_going_back_only_moves_the_reference);
	RUN(clock_pelt_runs_at_capacity_times_frequency_and_catches_up_idle);
	RUN(a_full_signal_loses_no_time_to_idle);
	RUN(new_tasks_take_half_of_what_is_left);
	RUN(a_task_takes_its_averages_along);
	RUN(a_task_woken_away_from_an_idle_cpu_ages_by_the_time_its_clock_stood);
	RUN(blocked_load_decays_to_nothing);
	RUN(rt_irq_and_thermal_signals_lower_the_capacity);
	RUN(estimates_are_odd_until_v512);
	RUN(the_estimate_rises_at_once_and_falls_by_quarters);
	RUN(attach_and_detach_are_exact);
	RUN(what_leaves_with_a_task_leaves_the_sums_that_a_release_has);
	RUN(removed_utilization_keeps_the_floor_where_other_sums_are_made_anew);
	RUN(a_reweighted_tasks_load_leaves_the_floor);
	RUN(a_very_large_load_loses_what_is_above_32_bits);
	RUN(removed_averages_go_off_once);
	RUN(who_runs_and_who_waits);
	RUN(births_meet_a_queue_that_is_up_to_date);
	RUN(interrupts_heat_and_deadlines_in_the_passes);
	RUN(estimates_at_their_edges);
	RUN(queued_load_comes_and_goes_with_the_tasks);
	RUN(queued_load_is_the_sum_of_the_queued_tasks);
	RUN(from_v68_on_the_estimate_is_one_value_that_waiting_does_not_lower);
	RUN(lost_idle_time_counts_where_the_idle_task_takes_over);
	RUN(an_idle_time_without_a_stamp_counts_from_the_beginning_of_the_clock);
	return test_report();
}
