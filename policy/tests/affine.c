/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether a wakeup looks around waker and previous CPU, and around which: wake_wide, wake_affine, wake_cap (spec 3.3, 3.4). */
#include "kit.h"

TEST(a_sync_waker_heavier_than_its_queue_decides_alone)
{
	struct fg_task p;

	kit_two_llcs(125);
	p = kit_task(1, 4);
	p.avg.load_avg = 1000;
	cpus[0].nr_running = 2;
	cpus[0].cfs.load_avg = 100;
	cpus[4].cfs.load_avg = 1000;
	/* a waker of 200 * 100 / 101 = 198 on a queue of 100; weighed it would be (100 - 198 + 999) * 100 > 1 * 112 */
	filler[0].avg.load_avg = 200;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).target, 0);
	/* 101 * 100 / 101 = 100: no heavier, (100 - 100 + 999) * 100 > 112 */
	filler[0].avg.load_avg = 101;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).target, 4);
}

/* What p and the waker weigh is their share of the queue, load * L / (L + 1). */
TEST(tasks_weigh_their_share_of_the_queue)
{
	struct fg_task p;

	kit_two_llcs(125);
	p = kit_task(1, 4);
	p.avg.load_avg = 512;
	cpus[4].cfs.load_avg = 1000;
	/* 512 * 1000 / 1001 = 511: (36 + 511) * 100 = 54700 < 489 * 112 = 54768; with 512: 54800 > 54656 */
	cpus[0].cfs.load_avg = 36;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 0);
	cpus[0].cfs.load_avg = 37;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 4);
	/* the waker: (1000 - 511) * 100 = 48900 > 436 * 112 = 48832; with 512: 48800 */
	p.avg.load_avg = 0;
	cpus[0].nr_running = 2;
	cpus[0].cfs.load_avg = 1000;
	filler[0].avg.load_avg = 512;
	cpus[4].cfs.load_avg = 436;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).target, 4);
	cpus[4].cfs.load_avg = 437;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).target, 0);
}

/* Until 002/P09 what is queued counts, without what sleeps. */
TEST(p09_weighs_load_instead_of_runnable_load)
{
	struct fg_task p;

	kit_two_llcs(125);
	p = kit_task(1, 4);
	cpus[0].cfs.load_avg = 5000;
	cpus[0].queued.load_avg = 100;
	cpus[4].cfs.load_avg = 200;
	cpus[4].queued.load_avg = 200;
	/* 5000 * 100 > 200 * 112 */
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 4);
	/* 100 * 100 < 200 * 112 */
	sys.feat.value[FG_LB_P09] = 0;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 0);
	/* prev by the same measure */
	cpus[4].queued.load_avg = 89;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 4);
	/* p, asleep, is not in prev's queue and may weigh more than all of it */
	p.avg.load_avg = 1000;
	cpus[0].queued.load_avg = 0;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 4);
}

/* Four little and four big CPUs as v5.4 sees them: both levels balance on wakeups. */
static void little_big(u32 little)
{
	kit_init(8);
	kit_preset_v54();
	kit_capacity(0, 3, little);
	kit_level(FG_LEVEL_MC, (SD_MC | FG_SD_BALANCE_WAKE) & ~FG_SD_PREFER_SIBLING, 117, 4);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT | FG_SD_BALANCE_WAKE | FG_SD_ASYM_CPUCAPACITY, 125, 8);
	kit_finish();
}

static u32 slow(const struct fg_task *p, u32 this_cpu)
{
	u32 rule = kit_wake(p, this_cpu, FG_WF_TTWU).rule;

	return rule == FG_RULE_WAKE_IDLEST || rule == FG_RULE_WAKE_LOCAL || rule == FG_RULE_SLOW_PREV;
}

TEST(a_task_too_big_for_both_cpus_takes_the_slow_path)
{
	struct fg_task p;
	struct fg_verdict v;

	little_big(462);
	p = kit_task(1, 0);
	/* 370 * 1280 = 473600 against 462 * 1024 = 473088 */
	p.avg.util_avg = 370;
	v = kit_wake(&p, 1, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 4);
	CHECK_EQ(v.rule, FG_RULE_WAKE_IDLEST);
	CHECK_EQ(v.writes, FG_W_SYNC | FG_W_RECORD);
	p.avg.util_avg = 369;
	v = kit_wake(&p, 1, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 0);
	CHECK_EQ(v.rule, FG_RULE_B2);
	CHECK_EQ(v.writes, FG_W_SYNC | FG_W_RECORD | FG_W_WAKER_RECENT);
	/* the estimate counts as well */
	p.est.enqueued = 371;
	CHECK(slow(&p, 1));
	/* one little CPU of the two is enough, two big ones are not */
	CHECK(slow(&p, 4));
	p.cpu = 5;
	CHECK(slow(&p, 1));
	CHECK(!slow(&p, 4));
	/* v5.7 */
	sys.feat.value[FG_WAKE_CAP] = 0;
	CHECK(!slow(&p, 1));
}

TEST(capacities_an_eighth_apart_are_worth_the_slow_path)
{
	struct fg_task p;

	for (u32 little = 896; little < 898; little++) {
		little_big(little);
		p = kit_task(1, 0);
		p.avg.util_avg = 900;
		/* 1024 - 896 = 1024 >> 3 */
		CHECK_EQ(slow(&p, 1), little == 896);
	}
	/* the biggest CPU of the waker's partition counts */
	little_big(462);
	CHECK(slow(&p, 1));
	root.max_cpu_capacity = 527; /* 527 - 462 = 527 >> 3 */
	CHECK(slow(&p, 1));
	root.max_cpu_capacity = 526;
	CHECK(!slow(&p, 1));
	/* nor anything where all are equal */
	root.max_cpu_capacity = 1024;
	sys.asym_key = 0;
	CHECK(!slow(&p, 1));
}

TEST(wake_cap_looks_at_what_is_left_of_the_utilization)
{
	struct fg_task p;

	little_big(462);
	p = kit_task(1, 0);
	p.avg.util_avg = 600;
	p.avg.util_sum = 600ull * PELT_MIN_DIVIDER;
	CHECK(slow(&p, 1));
	/* half of it 32 periods later */
	cpus[0].cfs.last_update = 32ull << 20;
	CHECK(!slow(&p, 1));
	/* v5.6: as its clamps say */
	p.uclamp_min = 600;
	sys.uclamp_used = 1;
	CHECK(!slow(&p, 1));
	sys.feat.value[FG_UCLAMP_FIT] = 1;
	CHECK(slow(&p, 1));
	p.uclamp_min = 0;
	p.uclamp_max = 100;
	cpus[0].cfs.last_update = 0;
	CHECK(!slow(&p, 1));
}

/* Where domains balance on wakeups, whatever is not affine goes there. */
TEST(wide_wakers_and_forbidden_cpus_lead_to_the_slow_path)
{
	struct fg_task p;
	struct fg_verdict v;

	little_big(462);
	p = kit_task(1, 0);
	kit_busy(1);
	filler[1].wakee_flips = 100;
	p.wakee_flips = 5;
	CHECK(slow(&p, 1));
	filler[1].wakee_flips = 0;
	CHECK(!slow(&p, 1));
	kit_allow(&p, 2, 7);
	v = kit_wake(&p, 1, FG_WF_TTWU);
	CHECK(v.rule == FG_RULE_WAKE_IDLEST);
	CHECK(v.cpu >= 2);
	/* on other machines they take the fast path from prev */
	for (u32 c = 0; c < 8; c++)
		for (struct fg_domain *sd = cpus[c].sd; sd; sd = sd->parent)
			sd->flags &= ~(u32)FG_SD_BALANCE_WAKE;
	CHECK(!slow(&p, 1));
}

TEST(slow_wakeups_that_lead_nowhere)
{
	struct fg_task p;
	struct fg_verdict v;

	/* no room anywhere and the same load: the waker's CPU */
	little_big(462);
	p = kit_task(1, 0);
	p.avg.util_avg = 400;
	for (u32 c = 0; c < 8; c++) {
		kit_busy(c);
		cpus[c].cfs.load_avg = cpus[c].queued.load_avg = cpus[c].cpu_capacity;
		cpus[c].cfs.util_avg = 1024;
	}
	v = kit_wake(&p, 1, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 1);
	CHECK_EQ(v.rule, FG_RULE_WAKE_LOCAL);
	/* none of the domain is allowed: prev, which is in another partition */
	kit_init(8);
	kit_preset_v54();
	kit_level(FG_LEVEL_MC, SD_MC | FG_SD_BALANCE_WAKE | FG_SD_ASYM_CPUCAPACITY, 117, 4);
	kit_finish();
	p = kit_task(1, 6);
	kit_allow(&p, 6, 7);
	v = kit_wake(&p, 1, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 6);
	CHECK_EQ(v.rule, FG_RULE_SLOW_PREV);
}

TEST(wake_affine_idle)
{
	struct fg_task p;

	kit_two_llcs(125);
	p = kit_task(1, 1);
	/* interrupt on an idle CPU: prev if idle, else this */
	kit_idle(0);
	kit_idle(1);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 1);
	kit_busy(1);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 0);
	/* a sync waker alone on its CPU */
	kit_busy(0);
	p.cpu = 4;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).target, 0);
	cpus[0].cfs.load_avg = 4096;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 4);
	/* one that is exiting does not sleep for p */
	filler[0].flags = FG_TASK_EXITING;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).target, 4);
	/* v5.11: an idle prev keeps its task, however loaded it was */
	kit_idle(4);
	cpus[0].cfs.load_avg = 0;
	cpus[4].cfs.load_avg = 4096;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 0);
	sys.feat.value[FG_WA_PREV_IDLE] = 1;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 4);
}

/* 100 at this against prev's load times the bias: 108, 112, 105 are the largest values of this that still lose. */
TEST(wake_affine_weight_bias)
{
	static const u32 v[][2] = { { 117, 108 }, { 125, 112 }, { 110, 105 } };
	struct fg_task p;

	for (u32 i = 0; i < 3; i++) {
		kit_two_llcs(v[i][0]);
		p = kit_task(1, 4);
		cpus[4].cfs.load_avg = 10000;
		cpus[0].cfs.load_avg = v[i][1] * 100 - 1;
		CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 0);
		cpus[0].cfs.load_avg++;
		CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 4);
		/* with sync equality suffices */
		cpus[0].nr_running = 2;
		CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).target, 0);
	}
}

TEST(wake_affine_weight_takes_the_sync_waker_away)
{
	struct fg_task p;

	kit_two_llcs(125);
	p = kit_task(1, 4);
	p.avg.load_avg = 1024;
	cpus[0].nr_running = 2;
	cpus[0].cfs.load_avg = 2048;
	cpus[4].cfs.load_avg = 2048;
	filler[0].avg.load_avg = 1024;
	/* 2048 + 1023 against 1025: stays; minus the waker 1025 + 1023 against 1025: stays still */
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 4);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).target, 4);
	filler[0].avg.load_avg = 2040;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).target, 0);
	/* more than there is: this at once */
	filler[0].avg.load_avg = 4096;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).target, 0);
}

/* Load over capacity: two CPUs equally loaded, one with half the capacity left. */
TEST(wake_affine_weighs_load_by_capacity)
{
	struct fg_task p;

	kit_two_llcs(125);
	p = kit_task(1, 4);
	cpus[0].cfs.load_avg = cpus[4].cfs.load_avg = 1000;
	cpus[4].cpu_capacity = 512;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 0);
	cpus[4].cpu_capacity = 1024;
	cpus[0].cpu_capacity = 512;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 4);
	/* p's share of a queue with little load of its own is smaller than its load_avg: 512 of 1 is 256 */
	kit_two_llcs(125);
	p.avg.load_avg = 512;
	cpus[4].cfs.load_avg = 1;
	cpus[0].cfs.load_avg = 0;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 4);
	CHECK_EQ(task_h_load(&cpus[4], &p, 512, 0), 256);
	/* a waker as heavy as its queue does not decide alone: 1 + 0 against 0 with its one for sync */
	kit_two_llcs(125);
	p.avg.load_avg = 0;
	cpus[0].nr_running = 2;
	filler[0].avg.load_avg = 1000;
	cpus[0].cfs.load_avg = task_h_load(&cpus[0], &p, 1000, 0);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).target, 0);
}

TEST(h_load_is_renewed_once_a_jiffy)
{
	struct fg_task p;
	struct fg_wake w;
	struct fg_verdict v;

	/* prev has 400 when it is first asked for in this jiffy: 500 * 400 / 401 = 498 */
	kit_two_llcs(125);
	p = kit_task(1, 4);
	p.avg.load_avg = 500;
	p.avg.last_update = 1;
	cpus[0].nr_running = cpus[4].nr_running = 2;
	cpus[0].curr_is_idle = cpus[4].curr_is_idle = 0;
	cpus[0].cfs.load_avg = cpus[4].cfs.load_avg = 400;
	w = (struct fg_wake){ 0, 8000000, 0, FG_WF_TTWU, 0 };
	fg_select_task_rq(&sys, &p, &w, &v);
	fg_commit_select(&sys, &p, 0, &w, &v, 0);
	CHECK_EQ(cpus[4].h_load, 400);
	CHECK_EQ(task_h_load(&cpus[4], &p, 500, 2), 498);
	/* and 1600 later in it: 500 * 400 / 1601 = 124; the next jiffy sees 500 * 1600 / 1601 = 499 */
	cpus[4].cfs.load_avg = 1600;
	CHECK_EQ(task_h_load(&cpus[4], &p, 500, 2), 124);
	CHECK_EQ(task_h_load(&cpus[4], &p, 500, 3), 499);
}

TEST(wide_wakers_leave_the_task_where_it_was)
{
	struct fg_task p;
	struct fg_wake w;
	struct fg_verdict v;

	kit_two_llcs(125);
	p = kit_task(1, 4);
	p.wakee_flips = 4;
	filler[0].wakee_flips = 16;
	filler[0].last_wakee = 2;
	v = kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC);
	CHECK_EQ(v.target, 4);
	CHECK_EQ(v.writes & FG_W_WAKER_RECENT, 0);
	/* 15 < 4 * 4 */
	filler[0].wakee_flips = 15;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).target, 0);
	/* the record of this very wakeup counts: another wakee than the last */
	filler[0].last_wakee = 9;
	v = kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC);
	CHECK_EQ(v.target, 4);
	CHECK_EQ(filler[0].wakee_flips, 15);
	CHECK_EQ(filler[0].last_wakee, 9);
	w = (struct fg_wake){ &filler[0], 1000000, 0, FG_WF_TTWU, 0 };
	fg_commit_select(&sys, &p, &filler[0], &w, &v, 0);
	CHECK_EQ(filler[0].wakee_flips, 16);
	CHECK_EQ(filler[0].last_wakee, 2);
	/* halved after a second */
	w.now = 1000000001;
	fg_commit_select(&sys, &p, &filler[0], &w, &v, 0);
	CHECK_EQ(filler[0].wakee_flips, 8);
	/* the idle task is a waker too */
	fg_commit_select(&sys, &p, 0, &w, &v, 0);
	CHECK_EQ(cpus[0].idle_wakee_flips, 1);
}

TEST(flips_decay_after_more_than_a_second)
{
	struct fg_task p, waker;
	struct fg_wake w;

	kit_init(2);
	p = kit_task(1, 0);
	waker = kit_task(2, 0);
	waker.wakee_flips = 8;
	waker.last_wakee = p.id + 1;
	w = (struct fg_wake){ &waker, 1000000000, 0, FG_WF_TTWU, 0 };
	record_wakee(&sys, &waker, &p, &w);
	CHECK_EQ(waker.wakee_flips, 8);
	w.now = 1000000001;
	record_wakee(&sys, &waker, &p, &w);
	CHECK_EQ(waker.wakee_flips, 4);
	w.now = 2000000001;
	record_wakee(&sys, &waker, &p, &w);
	CHECK_EQ(waker.wakee_flips, 4);
	w.now = 2000000002;
	record_wakee(&sys, &waker, &p, &w);
	CHECK_EQ(waker.wakee_flips, 2);
}

int main(void)
{
	RUN(a_sync_waker_heavier_than_its_queue_decides_alone);
	RUN(tasks_weigh_their_share_of_the_queue);
	RUN(p09_weighs_load_instead_of_runnable_load);
	RUN(a_task_too_big_for_both_cpus_takes_the_slow_path);
	RUN(capacities_an_eighth_apart_are_worth_the_slow_path);
	RUN(wake_cap_looks_at_what_is_left_of_the_utilization);
	RUN(wide_wakers_and_forbidden_cpus_lead_to_the_slow_path);
	RUN(slow_wakeups_that_lead_nowhere);
	RUN(wake_affine_idle);
	RUN(wake_affine_weight_bias);
	RUN(wake_affine_weight_takes_the_sync_waker_away);
	RUN(wake_affine_weighs_load_by_capacity);
	RUN(h_load_is_renewed_once_a_jiffy);
	RUN(wide_wakers_leave_the_task_where_it_was);
	RUN(flips_decay_after_more_than_a_second);
	return test_report();
}
