/* SPDX-License-Identifier: GPL-2.0-only */
/* The deadline server of fair tasks: its state machine, and what each release does differently. */
#include "group_kit.h"

#define RUNTIME (50 * MS)
#define PERIOD (1000 * MS)
#define WAITING (FG_SERVER_ACTIVE | FG_SERVER_THROTTLED | FG_SERVER_ARMED)

static struct fg_server *const server = &cpus[1].server;
static struct fg_task task, hog;

static struct fg_task fair_task(void)
{
	struct fg_task p = { .weight = FG_NICE_0_LOAD, .avg.last_update = START };

	return p;
}

static void begin_server(u8 value)
{
	begin_rq(kit_preset_v612, FG_RQ_EEVDF612);
	sys.feat.value[FG_FAIR_SERVER] = value;
	memset(server, 0, sizeof(*server));
	fg_server_init(rq);
	server->idle_since = START;
	rq->cpu_capacity_orig = rq->freq_scale = FG_CAPACITY_SCALE;
	task = fair_task();
	hog = (struct fg_task){ .policy = FG_SCHED_FIFO, .rt_prio = 1 };
	rq->curr = 0;
	rq->curr_is_idle = 1;
}

static void pass(u64 ns)
{
	rq->clock += ns;
	rq->clock_task += ns;
	rq->clock_pelt += ns;
}

static void begin_rt(void)
{
	fg_enqueue_rt(&sys, rq, &hog);
	rq->nr_running++;
	if (rq->curr_is_idle)
		fg_put_prev_idle(&sys, rq);
	rq->curr_is_idle = 0;
	rq->curr = &hog;
}

/* The fair task becomes current, whatever was so before. */
static void run(void)
{
	rq->curr_is_idle = 0;
	fg_set_next_entity(&sys, rq, &task, 1);
}

static u32 charge(u64 ns)
{
	pass(ns);
	return fg_update_curr(&sys, rq, 0);
}

static void sleep(void)
{
	fg_dequeue_entity(&sys, rq, &task, FG_DEQUEUE_SLEEP | FG_DEQUEUE_SPECIAL);
	fg_put_prev_entity(&sys, rq, &task);
	rq->curr = &hog;
}

/* The fair task waits beside an RT task until the server runs it. */
static void begin_running(u8 value)
{
	begin_server(value);
	begin_rt();
	enqueue(&task);
	pass(950 * MS);
	CHECK_EQ(fg_server_timer(&sys, rq), 1);
	run();
}

TEST(without_the_feature_nothing_starts)
{
	begin_server(FG_FAIR_SERVER_OFF);
	begin_rt();
	enqueue(&task);
	CHECK_EQ(server->flags, 0);
	CHECK_EQ(server->expires, 0);
	CHECK_EQ(fg_server_runs(rq), 0);
	CHECK_EQ(fg_feature_ready(FG_FAIR_SERVER, FG_FAIR_SERVER_V619), 1);
	CHECK_EQ(fg_feature_ready(FG_FAIR_SERVER, FG_FAIR_SERVER_V619 + 1), 0);
}

TEST(it_waits_until_its_runtime_just_fits_into_the_period)
{
	begin_server(FG_FAIR_SERVER_V612);
	begin_rt();
	enqueue(&task);
	CHECK_EQ(server->flags, WAITING);
	CHECK_EQ(server->deadline, START + PERIOD);
	CHECK_EQ(server->expires, START + PERIOD - RUNTIME);
	CHECK_EQ(server->asked, 1);
	CHECK_EQ(fg_server_runs(rq), 0);

	/* By then all of the runtime is too much for what is left of the period: another one begins. */
	pass(950 * MS);
	CHECK_EQ(fg_server_timer(&sys, rq), 1);
	CHECK_EQ(fg_server_runs(rq), 1);
	CHECK_EQ(server->deadline, START + 1950 * MS);
	CHECK_EQ(server->runtime, RUNTIME);
	CHECK_EQ(server->expires, 0);
}

TEST(a_start_without_an_rt_task_asks_for_nothing)
{
	begin_server(FG_FAIR_SERVER_V612);
	enqueue(&task);
	CHECK_EQ(server->flags, WAITING);
	CHECK_EQ(server->asked, 0);
}

TEST(its_turn_ends_with_its_runtime_until_the_deadline)
{
	begin_running(FG_FAIR_SERVER_V617);
	CHECK_EQ(charge(49 * MS), FG_PICK_RULE_NONE);
	CHECK_EQ(charge(3 * MS), FG_PICK_RULE_SERVER);
	CHECK_EQ(fg_server_runs(rq), 0);
	CHECK_EQ(server->runtime, -(s64)(2 * MS));
	CHECK_EQ(server->expires, START + 1950 * MS);

	/* What it took in advance it lacks later, and it does not wait again. */
	fg_put_prev_entity(&sys, rq, &task);
	rq->curr = &hog;
	pass(948 * MS);
	CHECK_EQ(fg_server_timer(&sys, rq), 1);
	CHECK_EQ(fg_server_runs(rq), 1);
	CHECK_EQ(server->runtime, 48 * MS);
	CHECK_EQ(server->deadline, START + 2950 * MS);
}

TEST(more_than_a_period_taken_in_advance_costs_two)
{
	begin_running(FG_FAIR_SERVER_V617);
	charge(100 * MS);
	rq->curr = &hog;
	pass(900 * MS);
	CHECK_EQ(fg_server_timer(&sys, rq), 1);
	CHECK_EQ(server->runtime, RUNTIME);
	CHECK_EQ(server->deadline, START + 3950 * MS);

	/* So late that the next period is over, too. */
	begin_running(FG_FAIR_SERVER_V617);
	charge(51 * MS);
	rq->curr = &hog;
	pass(2500 * MS);
	CHECK_EQ(fg_server_timer(&sys, rq), 1);
	CHECK_EQ(fg_server_runs(rq), 1);
	CHECK_EQ(server->deadline, rq->clock + PERIOD);
	CHECK_EQ(server->runtime, RUNTIME);
}

/* Beyond the deadline there is no time to wait for. */
TEST(a_turn_that_ends_after_the_deadline_begins_a_period)
{
	begin_running(FG_FAIR_SERVER_V617);
	pass(996 * MS);
	task.exec_start = rq->clock_task;
	CHECK_EQ(charge(55 * MS), FG_PICK_RULE_SERVER);
	CHECK_EQ(fg_server_runs(rq), 0);
	CHECK_EQ(server->deadline, rq->clock + PERIOD);
	CHECK_EQ(server->runtime, RUNTIME);
	CHECK_EQ(server->expires, server->deadline);

	begin_running(FG_FAIR_SERVER_V612);
	pass(996 * MS);
	task.exec_start = rq->clock_task;
	CHECK_EQ(charge(55 * MS), FG_PICK_RULE_SERVER);
	CHECK_EQ(fg_server_runs(rq), 1);
	CHECK_EQ(server->deadline, START + 2950 * MS);
	CHECK_EQ(server->runtime, 45 * MS);
}

TEST(what_fair_tasks_run_by_themselves_moves_the_timer)
{
	begin_server(FG_FAIR_SERVER_V617);
	enqueue(&task);
	run();
	charge(20 * MS);
	CHECK_EQ(server->runtime, 30 * MS);
	CHECK_EQ(server->expires, START + 950 * MS);
	fg_put_prev_entity(&sys, rq, &task);
	begin_rt();
	pass(930 * MS);
	CHECK_EQ(fg_server_timer(&sys, rq), 0);
	CHECK_EQ(server->expires, START + 970 * MS);
	CHECK_EQ(server->flags, WAITING);
	pass(20 * MS);
	CHECK_EQ(fg_server_timer(&sys, rq), 1);
	CHECK_EQ(server->flags, FG_SERVER_ACTIVE | FG_SERVER_RUNNING);
	CHECK_EQ(server->runtime, RUNTIME);
	CHECK_EQ(server->deadline, START + 1970 * MS);
}

/* A late timer is moved on from when it was to expire. */
TEST(a_late_timer_keeps_its_step)
{
	begin_server(FG_FAIR_SERVER_V617);
	enqueue(&task);
	run();
	charge(20 * MS);
	fg_put_prev_entity(&sys, rq, &task);
	begin_rt();
	pass(935 * MS);
	CHECK_EQ(fg_server_timer(&sys, rq), 0);
	CHECK_EQ(server->expires, START + 965 * MS);
}

TEST(less_than_a_millisecond_does_not_move_it)
{
	for (u64 ran = MS - 100000; ran <= MS + 100000; ran += 200000) {
		begin_server(FG_FAIR_SERVER_V617);
		enqueue(&task);
		run();
		charge(ran);
		fg_put_prev_entity(&sys, rq, &task);
		begin_rt();
		pass(950 * MS - ran);
		CHECK_EQ(fg_server_timer(&sys, rq), ran < MS);
	}
}

TEST(all_of_the_runtime_by_themselves_begins_a_period)
{
	begin_server(FG_FAIR_SERVER_V617);
	enqueue(&task);
	run();
	CHECK_EQ(charge(30 * MS), FG_PICK_RULE_NONE);
	CHECK_EQ(charge(30 * MS), FG_PICK_RULE_NONE);
	CHECK_EQ(server->flags, WAITING);
	CHECK_EQ(server->runtime, RUNTIME);
	CHECK_EQ(server->deadline, START + 60 * MS + PERIOD);
	CHECK_EQ(server->expires, START + 60 * MS + PERIOD - RUNTIME);
}

/* The RT task is gone when the server has used up its runtime: it waits from the start again. */
TEST(a_refilling_server_without_an_rt_task_waits_again)
{
	begin_running(FG_FAIR_SERVER_V617);
	fg_dequeue_rt(&sys, rq, &hog);
	CHECK_EQ(charge(51 * MS), FG_PICK_RULE_NONE);
	CHECK_EQ(server->flags, FG_SERVER_ACTIVE | FG_SERVER_THROTTLED | FG_SERVER_RUNNING);
	charge(MS);
	CHECK_EQ(server->flags, WAITING);
	CHECK_EQ(server->deadline, rq->clock + PERIOD);
}

TEST(up_to_v6_16_time_counts_by_what_gets_done)
{
	begin_server(FG_FAIR_SERVER_V612);
	rq->freq_scale = 512;
	rq->cpu_capacity_orig = 256;
	enqueue(&task);
	run();
	charge(40 * MS);
	CHECK_EQ(server->runtime, 45 * MS);

	begin_server(FG_FAIR_SERVER_V617);
	rq->freq_scale = 512;
	enqueue(&task);
	run();
	charge(40 * MS);
	CHECK_EQ(server->runtime, 10 * MS);
}

TEST(up_to_v6_16_it_stops_when_the_last_task_leaves)
{
	begin_running(FG_FAIR_SERVER_V612);
	sleep();
	CHECK_EQ(server->flags, FG_SERVER_RUNNING);

	begin_running(FG_FAIR_SERVER_V617);
	sleep();
	CHECK_EQ(server->flags, FG_SERVER_ACTIVE | FG_SERVER_RUNNING);
	/* The pick finds nothing. */
	fg_server_stop(rq);
	CHECK_EQ(server->flags, FG_SERVER_RUNNING);
}

/* It ran for ms, and slept for ms. */
static void restart(u8 value, u64 ran, u64 slept)
{
	begin_running(value);
	charge(ran * MS);
	sleep();
	fg_server_stop(rq);
	pass(slept * MS);
	enqueue(&task);
}

TEST(a_short_sleep_costs_nothing)
{
	for (u8 value = FG_FAIR_SERVER_V612; value <= FG_FAIR_SERVER_V619; value++) {
		restart(value, 10, 100);
		CHECK_EQ(fg_server_runs(rq), 1);
		CHECK_EQ(server->runtime, 40 * MS);
		CHECK_EQ(server->deadline, START + 1950 * MS);
	}
}

TEST(up_to_v6_18_a_server_that_ran_comes_at_once)
{
	restart(FG_FAIR_SERVER_V617, 1, 500);
	CHECK_EQ(fg_server_runs(rq), 1);
	CHECK_EQ(server->runtime, RUNTIME);
	CHECK_EQ(server->deadline, rq->clock + PERIOD);

	restart(FG_FAIR_SERVER_V618, 1, 500);
	CHECK_EQ(server->flags, WAITING);
	CHECK_EQ(server->expires, rq->clock + PERIOD - RUNTIME);
}

TEST(server_revised_leaves_its_part_of_the_period)
{
	begin_server(FG_FAIR_SERVER_V618);
	sys.feat.value[FG_SERVER_REVISED] = 1;
	begin_rt();
	enqueue(&task);
	pass(950 * MS);
	fg_server_timer(&sys, rq);
	run();
	charge(MS);
	sleep();
	fg_server_stop(rq);
	pass(499 * MS);
	enqueue(&task);
	CHECK_EQ(fg_server_runs(rq), 1);
	/* 52428 of 2^20 of the half second that is left. */
	CHECK_EQ(server->runtime, 24999618);
	CHECK_EQ(server->deadline, START + 1950 * MS);

	/* After the deadline it waits like others. */
	sleep();
	fg_server_stop(rq);
	pass(600 * MS);
	enqueue(&task);
	CHECK_EQ(server->flags, WAITING);
}

/* It has waited all the time: what is left of the period may do. */
TEST(a_server_that_did_not_run_keeps_its_period)
{
	begin_server(FG_FAIR_SERVER_V612);
	rq->curr_is_idle = 0;
	enqueue(&task);
	run();
	charge(30 * MS);
	sleep();
	CHECK_EQ(server->flags, 0);
	pass(300 * MS);
	begin_rt();
	enqueue(&task);
	CHECK_EQ(server->flags, WAITING);
	CHECK_EQ(server->deadline, START + PERIOD);
	CHECK_EQ(server->expires, START + 980 * MS);
}

static void idle(u64 ms)
{
	rq->curr = 0;
	rq->curr_is_idle = 1;
	fg_set_next_idle(&sys, rq);
	pass(ms * MS);
}

/* A task that ran for 10 ms sleeps for some ms, while the CPU idles. */
static void begin_idle(u8 value, u64 ms)
{
	begin_server(value);
	enqueue(&task);
	run();
	charge(10 * MS);
	sleep();
	idle(ms);
}

TEST(up_to_v6_18_idle_time_counts_when_it_ends)
{
	begin_idle(FG_FAIR_SERVER_V617, 25);
	fg_idle_tick(&sys, rq);
	CHECK_EQ(server->runtime, 40 * MS);
	fg_put_prev_idle(&sys, rq);
	CHECK_EQ(server->runtime, 15 * MS);
	/* Counted once. */
	fg_put_prev_idle(&sys, rq);
	CHECK_EQ(server->runtime, 15 * MS);

	begin_idle(FG_FAIR_SERVER_V617, 60);
	enqueue(&task);
	CHECK_EQ(server->runtime, 0);
	CHECK_EQ(server->deadline, START + PERIOD);
}

TEST(from_v6_19_on_idle_time_begins_periods)
{
	begin_idle(FG_FAIR_SERVER_V619, 25);
	fg_idle_tick(&sys, rq);
	CHECK_EQ(server->runtime, 15 * MS);
	pass(5 * MS);
	fg_idle_tick(&sys, rq);
	CHECK_EQ(server->runtime, 10 * MS);
	pass(15 * MS);
	fg_idle_tick(&sys, rq);
	CHECK_EQ(server->runtime, RUNTIME);
	CHECK_EQ(server->flags, WAITING | FG_SERVER_IDLE);
	CHECK_EQ(server->expires, START + 55 * MS + PERIOD - RUNTIME);
	/* Another runtime of idleness begins none. */
	pass(70 * MS);
	fg_idle_tick(&sys, rq);
	CHECK_EQ(server->runtime, 0);
	CHECK_EQ(server->deadline, START + 55 * MS + PERIOD);
	/* A task ends that. */
	enqueue(&task);
	CHECK_EQ(server->flags, WAITING);

	/* So does an RT task. */
	begin_idle(FG_FAIR_SERVER_V619, 45);
	fg_idle_tick(&sys, rq);
	CHECK_EQ(server->flags, WAITING | FG_SERVER_IDLE);
	pass(MS);
	begin_rt();
	CHECK_EQ(server->flags, WAITING);

	/* Without one it stops by its timer, which charges first. */
	begin_idle(FG_FAIR_SERVER_V619, 940);
	CHECK_EQ(server->expires, START + 950 * MS);
	CHECK_EQ(fg_server_timer(&sys, rq), 0);
	CHECK_EQ(server->flags, 0);
}

/* Nobody had a timer: what it would have done is made up for. */
TEST(a_timer_that_passed_while_the_cpu_idled_has_stopped_it)
{
	begin_idle(FG_FAIR_SERVER_V617, 1500);
	begin_rt();
	CHECK_EQ(server->flags, 0);
	CHECK_EQ(server->deadline, START + 1960 * MS);

	begin_idle(FG_FAIR_SERVER_V619, 1500);
	begin_rt();
	CHECK_EQ(server->flags, 0);
	CHECK_EQ(server->expires, 0);

	begin_idle(FG_FAIR_SERVER_V619, 1500);
	fg_idle_tick(&sys, rq);
	CHECK_EQ(server->flags, 0);

	/* Idleness has used up the runtime of the period that the timer began. */
	begin_idle(FG_FAIR_SERVER_V617, 1500);
	enqueue(&task);
	CHECK_EQ(server->flags, WAITING);
	CHECK_EQ(server->deadline, START + 1960 * MS);
	CHECK_EQ(server->runtime, 0);
}

TEST(the_first_period_begins_with_the_machine)
{
	begin_server(FG_FAIR_SERVER_V617);
	rq->clock = rq->clock_task = 0;
	enqueue(&task);
	CHECK_EQ(server->flags, WAITING);
	CHECK_EQ(server->expires, PERIOD - RUNTIME);
}

TEST(a_timer_that_passed_while_a_task_ran_made_the_server_run)
{
	/* 960 ms in which no time counts, as if the CPU had been taken away. */
	begin_server(FG_FAIR_SERVER_V617);
	enqueue(&task);
	run();
	pass(960 * MS);
	task.exec_start = rq->clock_task;
	charge(MS);
	CHECK_EQ(server->flags, FG_SERVER_ACTIVE | FG_SERVER_RUNNING);
	CHECK_EQ(server->deadline, START + 1950 * MS);
	CHECK_EQ(server->runtime, 49 * MS);

	/* Later releases charge what came before the timer first, and that may move it. */
	begin_server(FG_FAIR_SERVER_V619);
	enqueue(&task);
	run();
	pass(935 * MS);
	task.exec_start = rq->clock_task;
	charge(20 * MS);
	CHECK_EQ(server->flags, WAITING);
	CHECK_EQ(server->runtime, 30 * MS);
	CHECK_EQ(server->expires, START + 965 * MS);
}

int main(void)
{
	RUN(without_the_feature_nothing_starts);
	RUN(it_waits_until_its_runtime_just_fits_into_the_period);
	RUN(a_start_without_an_rt_task_asks_for_nothing);
	RUN(its_turn_ends_with_its_runtime_until_the_deadline);
	RUN(more_than_a_period_taken_in_advance_costs_two);
	RUN(a_turn_that_ends_after_the_deadline_begins_a_period);
	RUN(what_fair_tasks_run_by_themselves_moves_the_timer);
	RUN(a_late_timer_keeps_its_step);
	RUN(less_than_a_millisecond_does_not_move_it);
	RUN(all_of_the_runtime_by_themselves_begins_a_period);
	RUN(a_refilling_server_without_an_rt_task_waits_again);
	RUN(up_to_v6_16_time_counts_by_what_gets_done);
	RUN(up_to_v6_16_it_stops_when_the_last_task_leaves);
	RUN(a_short_sleep_costs_nothing);
	RUN(up_to_v6_18_a_server_that_ran_comes_at_once);
	RUN(server_revised_leaves_its_part_of_the_period);
	RUN(a_server_that_did_not_run_keeps_its_period);
	RUN(up_to_v6_18_idle_time_counts_when_it_ends);
	RUN(from_v6_19_on_idle_time_begins_periods);
	RUN(a_timer_that_passed_while_the_cpu_idled_has_stopped_it);
	RUN(the_first_period_begins_with_the_machine);
	RUN(a_timer_that_passed_while_a_task_ran_made_the_server_run);
	return test_report();
}
