/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * schedutil (spec 8.1). CPU 0 has a clock of its own and capacity 1024; CPUs 1 and 2 share one and have 512. Both clocks
 * go at 500, 1000, 1500 and 2000 MHz. HZ is 250: a tick is 4 ms.
 */
#include "kit.h"
#include "random.h"

#define MS 1000000ull
#define NR_OPPS 4

static struct fg_opp opps[NR_OPPS];
static struct fg_em ems[2];
static struct fg_sugov clocks[2];
static struct fg_cpu *rq;

static void versions_54(void)
{
	memset(sys.feat.value, 0, FG_MAX_FEATURES);
}

static void versions_511(void)
{
	versions_54();
	sys.feat.value[FG_FREQ_HOLD] = FG_FREQ_HOLD_V511;
	sys.feat.value[FG_FREQ_LIMITS_COUNT] = 1;
	sys.feat.value[FG_FREQ_AFTER_ALL] = 1;
}

static void versions_61(void)
{
	versions_511();
	sys.feat.value[FG_FREQ_HOLD] = FG_FREQ_HOLD_V518;
	sys.feat.value[FG_FREQ_UTIL_MARGIN] = 1;
	sys.feat.value[FG_FREQ_MOVE_ONCE] = 1;
	sys.feat.value[FG_EST_LEAVES_FIRST] = 1;
	sys.feat.value[FG_IOWAIT_CLAMP] = 1;
}

/* Of stable 6.12: FREQ_LIMITS_COUNT is gone there. */
static void versions_612(void)
{
	versions_61();
	sys.feat.value[FG_FREQ_HOLD] = FG_FREQ_HOLD_V66;
	sys.feat.value[FG_FREQ_LIMITS_COUNT] = 0;
	sys.feat.value[FG_FREQ_PERF_V2] = 1;
	sys.feat.value[FG_FREQ_SOON] = 1;
	sys.feat.value[FG_UCLAMP_LATE] = 1;
}

static void set_up(void (*versions)(void), u64 transition)
{
	kit_init(3);
	sys.hz = 250;
	versions();
	memset(clocks, 0, sizeof(clocks));
	memset(ems, 0, sizeof(ems));
	memset(opps, 0, sizeof(opps));
	for (u32 i = 0; i < NR_OPPS; i++)
		opps[i].khz = 500000 * (i + 1);
	for (u32 c = 0; c < 3; c++) {
		struct fg_em *em = &ems[c != 0];

		mask_set(&em->span, (s32)c);
		em->opps = opps;
		em->nr_opps = NR_OPPS;
		cpus[c].cpu_capacity_orig = c ? 512 : 1024;
		cpus[c].sugov = &clocks[c != 0];
	}
	for (u32 i = 0; i < 2; i++) {
		clocks[i].em = &ems[i];
		fg_sugov_start(&sys, &clocks[i], transition);
		/* They have been running for a while. */
		clocks[i].limits_changed = 0;
	}
	rq = &cpus[0];
}

/* rq has this utilization at this time, and its clock is considered. What it is to run at, 0: as it does. */
static u32 asked(struct fg_cpu *cpu, u64 now, u64 util)
{
	struct fg_sugov *sg = cpu->sugov;

	cpu->clock = now;
	cpu->cfs.util_avg = util;
	cpu->idle_calls++;
	cpufreq_update_util(&sys, cpu, 0);
	if (!sg->asked)
		return 0;
	sg->asked = 0;
	return sg->khz;
}

/* The same of a CPU that did not idle since. */
static u32 asked_busy(struct fg_cpu *cpu, u64 now, u64 util)
{
	cpu->idle_calls--;
	return asked(cpu, now, util);
}

TEST(the_first_request_is_made_whatever_the_utilization_is)
{
	set_up(versions_612, 1000);
	CHECK_EQ(asked(rq, 100 * MS, 1), 500000);
	CHECK_EQ(asked(rq, 200 * MS, 1), 0);
}

/* One that runs keeps its distance, here 10 ms, from time 0 as well. */
TEST(a_governor_that_has_just_started_waits_for_nothing)
{
	set_up(versions_61, 1000000);
	CHECK_EQ(asked(rq, MS, 100), 0);
	fg_sugov_start(&sys, rq->sugov, 1000000);
	CHECK_EQ(asked(rq, MS, 100), 500000);
	CHECK_EQ(asked(rq, 2 * MS, 1024), 0);
}

/* 2000 MHz * 1.25 * 410 / 1024 is 1001 MHz, but 1.25 * 410 without its half is 512. */
TEST(headroom_of_the_clock_or_of_the_utilization)
{
	set_up(versions_54, 1000);
	CHECK_EQ(asked(rq, 100 * MS, 409), 1000000);
	CHECK_EQ(asked(rq, 200 * MS, 410), 1500000);
	set_up(versions_61, 1000);
	CHECK_EQ(asked(rq, 100 * MS, 410), 1000000);
	CHECK_EQ(asked(rq, 200 * MS, 411), 1500000);
	set_up(versions_612, 1000);
	CHECK_EQ(asked(rq, 100 * MS, 410), 1000000);
	CHECK_EQ(asked(rq, 200 * MS, 411), 1500000);
}

TEST(more_than_80_percent_is_the_top)
{
	set_up(versions_612, 1000);
	CHECK_EQ(asked(rq, 100 * MS, 614), 1500000);
	CHECK_EQ(asked(rq, 200 * MS, 616), 2000000);
	CHECK_EQ(asked(rq, 300 * MS, 1024), 0);
}

/* A minimum of half the scale: 1000 MHz, or with headroom 1250. */
TEST(clamps_have_headroom_up_to_v67)
{
	set_up(versions_61, 1000);
	sys.uclamp_used = 1;
	rq->uclamp[FG_UCLAMP_MIN].value = 512;
	CHECK_EQ(asked(rq, 100 * MS, 10), 1500000);
	set_up(versions_612, 1000);
	sys.uclamp_used = 1;
	rq->uclamp[FG_UCLAMP_MIN].value = 512;
	CHECK_EQ(asked(rq, 100 * MS, 10), 1000000);
	rq->uclamp[FG_UCLAMP_MIN].value = 0;
	rq->uclamp[FG_UCLAMP_MAX].value = 512;
	CHECK_EQ(asked(rq, 200 * MS, 900), 0);
}

TEST(what_waits_raises_the_clock_from_v65_on)
{
	set_up(versions_612, 1000);
	rq->cfs.runnable_avg = 900;
	CHECK_EQ(asked(rq, 100 * MS, 100), 500000);
	sys.feat.value[FG_RUNNABLE_BOOST] = 1;
	CHECK_EQ(asked(rq, 200 * MS, 100), 2000000);
}

TEST(a_transition_time_says_how_often_a_clock_may_change)
{
	set_up(versions_61, 5000);
	CHECK_EQ(clocks[0].delay, 5 * MS);
	set_up(versions_61, 300000);
	CHECK_EQ(clocks[0].delay, 10 * MS);
	set_up(versions_61, 0);
	CHECK_EQ(clocks[0].delay, 1 * MS);
	set_up(versions_612, 300001);
	CHECK_EQ(clocks[0].delay, 451000);
	set_up(versions_612, 0);
	CHECK_EQ(clocks[0].delay, 1 * MS);
}

TEST(changes_keep_their_distance)
{
	set_up(versions_61, 5000);
	CHECK_EQ(asked(rq, 100 * MS, 900), 2000000);
	CHECK_EQ(asked(rq, 105 * MS - 1, 100), 0);
	CHECK_EQ(asked(rq, 105 * MS, 100), 500000);
	/* What did not change the clock does not count. */
	CHECK_EQ(asked(rq, 111 * MS, 110), 0);
	CHECK_EQ(asked(rq, 111 * MS + 1, 900), 2000000);
	/* The clock of another CPU may be behind. */
	CHECK_EQ(asked(rq, 111 * MS, 100), 0);
}

TEST(of_a_shared_clock_the_busiest_cpu_counts)
{
	set_up(versions_612, 1000);
	/* 200 of 512, with headroom 250: 977 MHz. */
	CHECK_EQ(asked(&cpus[1], 100 * MS, 200), 1000000);
	CHECK_EQ(asked(&cpus[2], 200 * MS, 400), 2000000);
	/* CPU 2 has not been heard of for a second. */
	CHECK_EQ(asked(&cpus[1], 1200 * MS, 10), 0);
	cpus[2].cfs.util_avg = 0;
	CHECK_EQ(asked(&cpus[1], 1300 * MS, 10), 500000);
	CHECK_EQ(clocks[0].khz, 0);
}

TEST(the_clock_of_a_busy_cpu_is_not_slowed_down)
{
	void (*versions[])(void) = { versions_54, versions_511, versions_61, versions_612 };

	for (u32 v = 0; v < 4; v++) {
		set_up(versions[v], 1000);
		CHECK_EQ(asked(rq, 100 * MS, 900), 2000000);
		CHECK_EQ(asked_busy(rq, 200 * MS, 100), 0);
		/* The same utilization is computed again, not taken for one that was asked for. */
		CHECK_EQ(asked(rq, 300 * MS, 100), 500000);
		CHECK_EQ(asked_busy(rq, 400 * MS, 900), 2000000);
		/* A shared clock has no such hold. */
		CHECK_EQ(asked(&cpus[1], 100 * MS, 500), 2000000);
		CHECK_EQ(asked_busy(&cpus[1], 200 * MS, 100), 500000);
	}
}

/* From v5.11 on what was held goes back to what was computed before, so that a return to it asks nothing. */
TEST(what_was_computed_before_a_hold_is_remembered)
{
	set_up(versions_54, 1000);
	asked(rq, 100 * MS, 900);
	asked_busy(rq, 200 * MS, 100);
	CHECK_EQ(clocks[0].raw_khz, 0);
	set_up(versions_511, 1000);
	asked(rq, 100 * MS, 900);
	asked_busy(rq, 200 * MS, 100);
	CHECK_EQ(clocks[0].raw_khz, 2500000ull * 900 / 1024);
}

TEST(a_maximum_clamp_slows_a_busy_cpu_down_from_v518_on)
{
	void (*versions[])(void) = { versions_511, versions_61, versions_612 };
	u32 want[] = { 0, 1500000, 1000000 };

	for (u32 v = 0; v < 3; v++) {
		set_up(versions[v], 1000);
		CHECK_EQ(asked(rq, 100 * MS, 900), 2000000);
		sys.uclamp_used = 1;
		rq->uclamp[FG_UCLAMP_MAX].value = 512;
		CHECK_EQ(asked_busy(rq, 200 * MS, 900), want[v]);
		/* Not one that wants less than the clamp anyway. */
		set_up(versions[v], 1000);
		CHECK_EQ(asked(rq, 100 * MS, 900), 2000000);
		sys.uclamp_used = 1;
		rq->uclamp[FG_UCLAMP_MAX].value = 512;
		CHECK_EQ(asked_busy(rq, 200 * MS, 100), 0);
	}
}

TEST(new_limits_are_heeded_at_once)
{
	void (*versions[])(void) = { versions_54, versions_61, versions_612 };

	for (u32 v = 0; v < 3; v++) {
		set_up(versions[v], 1000000);
		CHECK_EQ(asked(rq, 100 * MS, 900), 2000000);
		fg_sugov_limits(&clocks[0], 1700000);
		CHECK_EQ(asked(rq, 100 * MS + 1, 900), 1500000);
		fg_sugov_limits(&clocks[0], 0);
		CHECK_EQ(asked(rq, 100 * MS + 2, 900), 500000);
		fg_sugov_limits(&clocks[0], 5000000);
		CHECK_EQ(asked(rq, 100 * MS + 3, 900), 2000000);
		/* The same limits again change nothing. */
		fg_sugov_limits(&clocks[0], 2000000);
		CHECK_EQ(asked(rq, 100 * MS + 4, 100), 0);
	}
}

/* The clock runs at 500 MHz, and may do so. Whether the next change has to wait is what differs. */
TEST(limits_that_change_nothing_count_as_a_change_or_not)
{
	void (*versions[])(void) = { versions_54, versions_61, versions_612 };
	u32 want[] = { 1500000, 0, 1500000 };

	for (u32 v = 0; v < 3; v++) {
		set_up(versions[v], 10000);
		CHECK_EQ(asked(rq, 100 * MS, 100), 500000);
		fg_sugov_limits(&clocks[0], 1500000);
		asked(rq, 120 * MS, 100);
		CHECK_EQ(asked(rq, 120 * MS + 1000, 900), want[v]);
	}
}

/* Vector 17: the same as before is asked for once more after new limits, or not; a second time it is not. */
TEST(what_new_limits_leave_as_it_is_may_be_asked_for_again)
{
	for (u32 counts = 0; counts < 2; counts++) {
		set_up(versions_612, 1000);
		sys.feat.value[FG_FREQ_LIMITS_COUNT] = (u8)counts;
		CHECK_EQ(asked(rq, 100 * MS, 100), 500000);
		fg_sugov_limits(&clocks[0], 1500000);
		CHECK_EQ(asked(rq, 200 * MS, 100), counts ? 500000 : 0);
		CHECK_EQ(asked(rq, 300 * MS, 100), 0);
	}
}

/* A busy CPU, and its clock must go down to 1000 MHz: v5.11 to v6.5 ask for what they had. */
TEST(new_limits_end_a_hold_or_not)
{
	void (*versions[])(void) = { versions_54, versions_61, versions_612 };
	u32 want[] = { 1000000, 2000000, 1000000 };

	for (u32 v = 0; v < 3; v++) {
		set_up(versions[v], 1000);
		CHECK_EQ(asked(rq, 100 * MS, 900), 2000000);
		fg_sugov_limits(&clocks[0], 1000000);
		CHECK_EQ(asked_busy(rq, 200 * MS, 900), want[v]);
	}
}

TEST(inefficient_points_are_passed_over_if_the_limits_allow)
{
	set_up(versions_612, 1000);
	opps[1].inefficient = 1;
	CHECK_EQ(asked(rq, 100 * MS, 400), 1500000);
	fg_sugov_limits(&clocks[0], 1000000);
	CHECK_EQ(asked(rq, 200 * MS, 400), 1000000);
}

TEST(rt_tasks_run_at_the_top_as_long_as_nobody_uses_clamps)
{
	struct fg_task p;

	set_up(versions_612, 1000);
	p = kit_task(1, 0);
	p.policy = FG_SCHED_FIFO;
	CHECK_EQ(asked(rq, 100 * MS, 0), 0);
	rq->clock = 200 * MS;
	fg_enqueue_rt(&sys, rq, &p);
	CHECK_EQ(rq->rt_nr_running, 1);
	CHECK_EQ(clocks[0].khz, 2000000);
	rq->clock = 300 * MS;
	rq->idle_calls++;
	fg_dequeue_rt(&sys, rq, &p);
	CHECK_EQ(rq->rt_nr_running, 0);
	CHECK_EQ(clocks[0].khz, 500000);
}

/* ---- boost after I/O ------------------------------------------------------------------------------------------- */

/* A task is back from I/O at this time; the boost that is in force then. */
static u32 back_from_io(u64 now)
{
	rq->clock = now;
	rq->idle_calls++;
	cpufreq_update_util(&sys, rq, FG_FREQUENCY_IOWAIT);
	return rq->sugov_cpu.iowait_boost;
}

TEST(each_return_from_io_doubles_the_boost)
{
	u32 want[] = { 128, 256, 512, 1024, 1024 };

	set_up(versions_612, 100000);
	for (u32 i = 0; i < 5; i++)
		CHECK_EQ(back_from_io((100 + i) * MS), want[i]);
	CHECK_EQ(clocks[0].khz, 2000000);
	/* No task comes back from I/O: half at each look, and 0 below 128. */
	CHECK_EQ(asked(rq, 105 * MS, 0), 1500000);
	CHECK_EQ(rq->sugov_cpu.iowait_boost, 512);
	CHECK_EQ(asked(rq, 106 * MS, 0), 1000000);
	CHECK_EQ(asked(rq, 107 * MS, 0), 500000);
	CHECK_EQ(rq->sugov_cpu.iowait_boost, 128);
	CHECK_EQ(asked(rq, 108 * MS, 0), 0);
	CHECK_EQ(rq->sugov_cpu.iowait_boost, 0);
}

/* 150 us between two looks. */
TEST(between_two_looks_it_doubles_once)
{
	set_up(versions_612, 100000);
	CHECK_EQ(back_from_io(100 * MS), 128);
	CHECK_EQ(back_from_io(100 * MS + 10), 256);
	CHECK_EQ(back_from_io(100 * MS + 20), 256);
	CHECK_EQ(back_from_io(100 * MS + 160000), 256);
	CHECK_EQ(back_from_io(100 * MS + 320000), 512);
}

TEST(a_quiet_tick_ends_the_boost)
{
	set_up(versions_612, 100000);
	CHECK_EQ(back_from_io(100 * MS), 128);
	CHECK_EQ(back_from_io(101 * MS), 256);
	CHECK_EQ(back_from_io(105 * MS), 512);
	CHECK_EQ(back_from_io(109 * MS + 1), 128);
	asked(rq, 114 * MS, 0);
	CHECK_EQ(rq->sugov_cpu.iowait_boost, 0);
}

TEST(the_boost_is_of_the_cpus_capacity)
{
	set_up(versions_612, 100000);
	cpus[1].clock = 100 * MS;
	cpus[1].sugov_cpu.iowait_boost = 256;
	cpus[1].sugov_cpu.last_update = 100 * MS;
	cpufreq_update_util(&sys, &cpus[1], FG_FREQUENCY_IOWAIT);
	/* 512 of 1024 is 256 here; 320 of 512 is 1250 MHz. */
	CHECK_EQ(clocks[1].khz, 1500000);
}

TEST(the_boost_keeps_to_a_maximum_clamp_from_v518_on)
{
	void (*versions[])(void) = { versions_511, versions_61, versions_612 };
	u32 want[] = { 2000000, 1000000, 1000000 };

	for (u32 v = 0; v < 3; v++) {
		set_up(versions[v], 1000);
		sys.uclamp_used = 1;
		rq->uclamp[FG_UCLAMP_MAX].value = 400;
		rq->sugov_cpu.iowait_boost = 512;
		rq->sugov_cpu.last_update = 100 * MS;
		back_from_io(100 * MS);
		CHECK_EQ(clocks[0].khz, want[v]);
	}
}

/* What is computed, before an operating point is chosen: a minimum of 800 on a CPU of 512 is 512. */
TEST(a_minimum_above_the_capacity_is_the_capacity)
{
	set_up(versions_61, 1000);
	sys.uclamp_used = 1;
	cpus[1].clock = 100 * MS;
	cpus[1].uclamp[FG_UCLAMP_MIN].value = 800;
	cpufreq_update_util(&sys, &cpus[1], 0);
	CHECK_EQ(clocks[1].raw_khz, 2500000);
}

/* ---- what deadline servers were promised ------------------------------------------------------------------------ */

TEST(a_promise_is_a_minimum_without_headroom)
{
	set_up(versions_612, 1000);
	rq->dl_bw = 512;
	rq->clock = 100 * MS;
	cpufreq_update_util(&sys, rq, 0);
	CHECK_EQ(clocks[0].khz, 1000000);
	CHECK_EQ(rq->sugov_cpu.min, 512);
}

TEST(a_new_promise_is_heeded_at_once)
{
	set_up(versions_612, 1000000);
	rq->cfs.util_avg = 100;
	rq->clock = 100 * MS;
	cpufreq_update_util(&sys, rq, 0);
	CHECK_EQ(clocks[0].khz, 500000);
	rq->clock += 1000;
	rq->cfs.util_avg = 700;
	CHECK_EQ(cpufreq_update_util(&sys, rq, 0), FG_FREQUENCY_SOON);
	rq->dl_bw = 51;
	CHECK_EQ(cpufreq_update_util(&sys, rq, 0), FG_FREQUENCY_ASKED);
	CHECK_EQ(clocks[0].khz, 2000000);
	/* It is known by now. */
	rq->clock += 1000;
	rq->cfs.util_avg = 0;
	CHECK_EQ(cpufreq_update_util(&sys, rq, 0), FG_FREQUENCY_SOON);
}

/* ---- when it is asked ------------------------------------------------------------------------------------------ */

/* The clocks of rq stand at ms; the signals were last updated right at the beginning. */
static void time_is(struct fg_cpu *cpu, u64 now)
{
	cpu->clock = cpu->clock_task = cpu->clock_pelt = now;
}

/* A task with this utilization and no estimate, awake on no queue. */
static struct fg_task runnable(u32 util)
{
	struct fg_task p = kit_task(1, 0);

	kit_util(&p, util);
	p.est.enqueued = p.est.ewma = 0;
	p.flags = FG_TASK_MIGRATED;
	return p;
}

TEST(a_task_that_arrives_raises_the_clock_and_takes_it_along)
{
	struct fg_task p;

	set_up(versions_612, 1000);
	p = runnable(900);
	time_is(rq, 100 * MS);
	fg_enqueue_entity(&sys, rq, &p, 0);
	CHECK_EQ(clocks[0].khz, 2000000);
	time_is(rq, 110 * MS);
	rq->idle_calls++;
	fg_dequeue_entity(&sys, rq, &p, FG_DEQUEUE_MOVE);
	CHECK_EQ(clocks[0].khz, 500000);
	CHECK_EQ(clocks[0].last_change, 110 * MS);
}

/* While it moves away its utilization decays to 800: up to v6.0 the governor sees that, and then the rest. */
TEST(of_a_move_the_governor_hears_once_or_twice)
{
	struct fg_task p;

	for (u32 once = 0; once < 2; once++) {
		set_up(versions_612, 100000);
		sys.feat.value[FG_FREQ_MOVE_ONCE] = once;
		p = runnable(900);
		time_is(rq, 100 * MS);
		fg_enqueue_entity(&sys, rq, &p, 0);
		/* It leaves without having run, much later. */
		time_is(rq, 120 * MS);
		rq->idle_calls++;
		fg_dequeue_entity(&sys, rq, &p, FG_DEQUEUE_MOVE);
		/* Still 583 after 20 ms, with headroom 728: 1500 MHz, and no second change so soon. */
		CHECK_EQ(clocks[0].khz, once ? 500000 : 1500000);
	}
}

TEST(a_sleepers_estimate_has_left_when_the_governor_hears)
{
	struct fg_task p;

	for (u32 first = 0; first < 2; first++) {
		set_up(versions_612, 1000);
		sys.feat.value[FG_EST_LEAVES_FIRST] = first;
		p = runnable(100);
		p.est.enqueued = p.est.ewma = 900;
		time_is(rq, 100 * MS);
		fg_enqueue_entity(&sys, rq, &p, FG_ENQUEUE_WAKEUP);
		CHECK_EQ(clocks[0].khz, 2000000);
		time_is(rq, 120 * MS);
		rq->idle_calls++;
		fg_dequeue_entity(&sys, rq, &p, FG_DEQUEUE_SLEEP);
		CHECK_EQ(clocks[0].khz, first ? 500000 : 2000000);
		CHECK_EQ(rq->est_enqueued, 0);
	}
}

TEST(clamps_join_before_or_after_the_governor_hears)
{
	struct fg_task p;

	for (u32 late = 0; late < 2; late++) {
		set_up(versions_612, 1000);
		sys.feat.value[FG_UCLAMP_LATE] = late;
		sys.uclamp_used = 1;
		p = runnable(100);
		p.uclamp_min = 1024;
		time_is(rq, 100 * MS);
		fg_enqueue_entity(&sys, rq, &p, FG_ENQUEUE_WAKEUP);
		CHECK_EQ(clocks[0].khz, late ? 500000 : 2000000);
		CHECK_EQ(rq->uclamp[FG_UCLAMP_MIN].value, 1024);
	}
}

TEST(a_wakeup_after_io_is_heard_of_first)
{
	struct fg_task p;

	set_up(versions_612, 1000);
	p = runnable(10);
	time_is(rq, 100 * MS);
	fg_enqueue_entity(&sys, rq, &p, FG_ENQUEUE_WAKEUP | FG_ENQUEUE_IOWAIT);
	CHECK_EQ(rq->sugov_cpu.iowait_boost, 128);
}

/* An idle CPU has RT utilization left; of the fair class nothing changes in the first period. */
TEST(blocked_averages_are_heard_of_when_all_are_up_to_date)
{
	for (u32 all = 0; all < 2; all++) {
		set_up(versions_612, 1000);
		sys.feat.value[FG_FREQ_AFTER_ALL] = all;
		rq->rt.util_avg = 900;
		rq->rt.util_sum = 900ull * PELT_MIN_DIVIDER;
		rq->cfs.util_avg = 100;
		rq->cfs.util_sum = 100ull * PELT_MIN_DIVIDER;
		time_is(rq, 100 * MS);
		fg_update_blocked_averages(&sys, rq);
		/* After 100 ms less than an eighth of both is left. */
		CHECK_EQ(clocks[0].khz, all ? 500000 : 2000000);
	}
}

/* ---- whatever happens ------------------------------------------------------------------------------------------ */

TEST(requests_are_operating_points_within_the_limits)
{
	void (*versions[])(void) = { versions_54, versions_511, versions_61, versions_612 };
	u64 last[2], now;

	for (u32 v = 0; v < 4; v++) {
		set_up(versions[v], 2000);
		opps[2].inefficient = v & 1;
		now = 100 * MS;
		last[0] = last[1] = 0;
		for (u32 i = 0; i < 100000; i++) {
			struct fg_cpu *cpu = &cpus[rnd(3)];
			struct fg_sugov *sg = cpu->sugov;
			u32 limited = rnd(50) == 0, khz, before = sg->khz;

			now += rnd(3 * MS);
			if (limited)
				fg_sugov_limits(sg, rnd(2500000));
			limited = sg->limits_changed;
			cpu->rt.util_avg = rnd(200);
			if (rnd(4) == 0)
				cpu->idle_calls--;
			khz = asked(cpu, now, rnd(1100));
			if (!khz)
				continue;
			CHECK(khz % 500000 == 0 && khz >= 500000);
			/* To v6.5 a hold may outlast new limits; the clock keeps to them by itself. */
			CHECK(khz <= sg->max_khz || khz == before);
			CHECK(limited || now - last[cpu != rq] >= sg->delay);
			last[cpu != rq] = now;
		}
	}
}

/* A promise counts as changed limits or, with freq-dl, only lets the clock be set; what follows is the same. */
TEST(a_promise_is_no_change_of_limits_since_v616)
{
	for (u8 on = 0; on < 2; on++) {
		set_up(versions_612, 1000000);
		sys.feat.value[FG_FREQ_DL] = on;
		rq->cfs.util_avg = 100;
		rq->clock = 100 * MS;
		rq->dl_bw = 51;
		CHECK_EQ(cpufreq_update_util(&sys, rq, 0), FG_FREQUENCY_ASKED);
		CHECK_EQ(clocks[0].need_update, 0);
		CHECK_EQ(clocks[0].limits_changed, 0);
		/* A request that is left over, as of a driver that wants to hear of limits. */
		rq->clock += 1000;
		clocks[0].need_update = 1;
		CHECK_EQ(cpufreq_update_util(&sys, rq, 0), on ? FG_FREQUENCY_SAME : FG_FREQUENCY_SOON);
		CHECK_EQ(clocks[0].need_update, !on);
	}
}

int main(void)
{
	RUN(the_first_request_is_made_whatever_the_utilization_is);
	RUN(a_governor_that_has_just_started_waits_for_nothing);
	RUN(headroom_of_the_clock_or_of_the_utilization);
	RUN(more_than_80_percent_is_the_top);
	RUN(clamps_have_headroom_up_to_v67);
	RUN(what_waits_raises_the_clock_from_v65_on);
	RUN(a_transition_time_says_how_often_a_clock_may_change);
	RUN(changes_keep_their_distance);
	RUN(of_a_shared_clock_the_busiest_cpu_counts);
	RUN(the_clock_of_a_busy_cpu_is_not_slowed_down);
	RUN(what_was_computed_before_a_hold_is_remembered);
	RUN(a_maximum_clamp_slows_a_busy_cpu_down_from_v518_on);
	RUN(new_limits_are_heeded_at_once);
	RUN(limits_that_change_nothing_count_as_a_change_or_not);
	RUN(what_new_limits_leave_as_it_is_may_be_asked_for_again);
	RUN(new_limits_end_a_hold_or_not);
	RUN(inefficient_points_are_passed_over_if_the_limits_allow);
	RUN(rt_tasks_run_at_the_top_as_long_as_nobody_uses_clamps);
	RUN(each_return_from_io_doubles_the_boost);
	RUN(between_two_looks_it_doubles_once);
	RUN(a_quiet_tick_ends_the_boost);
	RUN(the_boost_is_of_the_cpus_capacity);
	RUN(the_boost_keeps_to_a_maximum_clamp_from_v518_on);
	RUN(a_minimum_above_the_capacity_is_the_capacity);
	RUN(a_promise_is_a_minimum_without_headroom);
	RUN(a_new_promise_is_heeded_at_once);
	RUN(a_task_that_arrives_raises_the_clock_and_takes_it_along);
	RUN(of_a_move_the_governor_hears_once_or_twice);
	RUN(a_sleepers_estimate_has_left_when_the_governor_hears);
	RUN(clamps_join_before_or_after_the_governor_hears);
	RUN(a_wakeup_after_io_is_heard_of_first);
	RUN(blocked_averages_are_heard_of_when_all_are_up_to_date);
	RUN(requests_are_operating_points_within_the_limits);
	RUN(a_promise_is_no_change_of_limits_since_v616);
	return test_report();
}
