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
	fg_set_next_entity(&sys, &cpus[0], &p);
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
	RUN(blocked_load_decays_to_nothing);
	RUN(rt_irq_and_thermal_signals_lower_the_capacity);
	RUN(estimates_are_odd_until_v512);
	RUN(the_estimate_rises_at_once_and_falls_by_quarters);
	return test_report();
}
