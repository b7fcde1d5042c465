/* SPDX-License-Identifier: GPL-2.0-only */
/* The break-even deadline of mail 001 (spec 5.5): what is recorded, and which idle CPU of a group it picks. */
#include "kit.h"

#define US 1000ull

/* Package 1, CPUs 4 to 7, is where a child of the busy package 0 goes. */
static void machine(u32 break_even)
{
	kit_init(8);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 4);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT, 125, 8);
	kit_finish();
	sys.feat.value[FG_BREAK_EVEN] = break_even;
	kit_busy_range(0, 3);
}

static void enter(u32 cpu, s32 index, u64 exit_us, u64 residency_us, u64 now)
{
	struct fg_idle_state state = { index, 0, exit_us * US, residency_us * US };

	fg_set_idle_state(&sys, &cpus[cpu], &state, now);
}

static void leave(u32 cpu)
{
	struct fg_idle_state none = { -1, 0, 0, 0 };

	fg_set_idle_state(&sys, &cpus[cpu], &none, 0);
}

static s32 fork_goes_to(void)
{
	struct fg_task p = kit_task(1, 0);

	p.flags = FG_TASK_NEW;
	return kit_wake(&p, 0, FG_WF_FORK).cpu;
}

TEST(deadline_is_now_plus_exit_latency_or_residency)
{
	machine(FG_BREAK_EVEN_LATENCY);
	enter(4, 1, 50, 200, 1000 * US);
	CHECK_EQ(cpus[4].break_even, 1050 * US);
	sys.feat.value[FG_BREAK_EVEN] = FG_BREAK_EVEN_RESIDENCY;
	enter(4, 1, 50, 200, 1000 * US);
	CHECK_EQ(cpus[4].break_even, 1200 * US);
	/* it outlives the state */
	leave(4);
	CHECK_EQ(cpus[4].idle_state, -1);
	CHECK_EQ(cpus[4].break_even, 1200 * US);
}

TEST(first_posting_keeps_a_state_that_is_over)
{
	machine(FG_BREAK_EVEN_LATENCY);
	sys.feat.value[FG_BREAK_EVEN_NULLBUG] = 1;
	enter(4, 1, 50, 200, 0);
	leave(4);
	CHECK_EQ(cpus[4].idle_state, 1);
	enter(4, 2, 500, 2000, 7);
	CHECK_EQ(cpus[4].idle_state, 2);
}

/*
 * It shows where a CPU idles and is in no state yet, or not any more: ranked by its stamp, newest first, against a CPU in a
 * shallow state; but as long as it seems to be in the deep one that one comes first.
 */
TEST(first_posting_judges_a_cpu_by_a_state_that_is_over)
{
	for (u32 v1 = 0; v1 < 2; v1++) {
		machine(FG_BREAK_EVEN_LATENCY);
		sys.feat.value[FG_BREAK_EVEN_NULLBUG] = (u8)v1;
		kit_busy_range(6, 7);
		enter(4, 1, 50, 200, 0);
		enter(5, 2, 500, 2000, 0);
		cpus[4].idle_stamp = 10;
		cpus[5].idle_stamp = 20;
		leave(5);
		CHECK_EQ(fork_goes_to(), v1 ? 4 : 5);
	}
}

static void enter_power_down(u32 cpu, u64 now)
{
	enter(cpu, 2, 500, 0, now);
}

/* The mail's first example: three CPUs powered down and one that only stopped its clock: that one, for it wakes up first. */
TEST(shallowest_of_the_mails_four_cpus)
{
	machine(FG_BREAK_EVEN_RESIDENCY);
	enter_power_down(4, 1234);
	enter_power_down(5, 4321);
	enter_power_down(6, 3421);
	enter(7, 0, 1, 0, 9876);
	CHECK_EQ(fork_goes_to(), 7);
}

/*
 * The second: all powered down. Its text names the CPU with 4321, which is a slip: its rule is the earliest deadline, 1234.
 * The same whichever of them has it.
 */
TEST(earliest_deadline_of_the_mails_four_cpus)
{
	static const u64 deadline[] = { 1234, 4321, 3421, 9876 };

	for (u32 first = 0; first < 4; first++) {
		machine(FG_BREAK_EVEN_RESIDENCY);
		for (u32 i = 0; i < 4; i++) {
			enter_power_down(4 + (first + i) % 4, deadline[i]);
			cpus[4 + (first + i) % 4].idle_stamp = 1 + i;
		}
		CHECK_EQ(fork_goes_to(), 4 + first);
		/* without the patch the one that idles since last */
		sys.feat.value[FG_BREAK_EVEN] = FG_BREAK_EVEN_OFF;
		CHECK_EQ(fork_goes_to(), 4 + (first + 3) % 4);
	}
	/* of equal ones the first, and a deeper state does not come in */
	machine(FG_BREAK_EVEN_RESIDENCY);
	enter(4, 3, 900, 0, 10);
	for (u32 c = 5; c < 8; c++)
		enter_power_down(c, 1234);
	CHECK_EQ(fork_goes_to(), 5);
}

/* The vector of spec 11.1: one state, entered at 10, 20, 30 and 40 us. Both readings add the same to each. */
TEST(cpus_in_one_state_go_by_when_they_entered_it)
{
	static const s32 goes_to[] = { 7, 4, 4 };

	for (u32 reading = FG_BREAK_EVEN_OFF; reading <= FG_BREAK_EVEN_RESIDENCY; reading++) {
		machine(reading);
		for (u32 c = 4; c < 8; c++) {
			enter(c, 1, 50, 200, (c - 3) * 10 * US);
			cpus[c].idle_stamp = (c - 3) * 10 * US;
		}
		CHECK_EQ(fork_goes_to(), goes_to[reading]);
	}
}

/* Groups of one CPU: which of them is taken is decided before states are looked at. */
TEST(one_cache_sees_no_effect)
{
	for (u32 reading = FG_BREAK_EVEN_OFF; reading <= FG_BREAK_EVEN_RESIDENCY; reading++) {
		kit_init(8);
		kit_level(FG_LEVEL_MC, SD_MC, 117, 8);
		kit_finish();
		sys.feat.value[FG_BREAK_EVEN] = (u8)reading;
		kit_busy(0);
		for (u32 c = 1; c < 8; c++)
			enter(c, 1, 50, 200, (8 - c) * 10 * US);
		CHECK_EQ(fork_goes_to(), 1);
	}
}

TEST(shallower_state_comes_before_any_deadline)
{
	machine(FG_BREAK_EVEN_LATENCY);
	for (u32 c = 4; c < 7; c++)
		enter(c, 2, 500, 2000, c);
	enter(7, 0, 1, 1, 1 << 30);
	CHECK_EQ(fork_goes_to(), 7);
}

/* They differ only where one latency goes with two residencies. 4: 10 + 50, 10 + 900; 5: 20 + 50, 20 + 200. */
TEST(the_two_readings_part_on_unequal_residencies)
{
	machine(FG_BREAK_EVEN_LATENCY);
	kit_busy_range(6, 7);
	enter(4, 1, 50, 900, 10 * US);
	enter(5, 1, 50, 200, 20 * US);
	CHECK_EQ(fork_goes_to(), 4);
	sys.feat.value[FG_BREAK_EVEN] = FG_BREAK_EVEN_RESIDENCY;
	enter(4, 1, 50, 900, 10 * US);
	enter(5, 1, 50, 200, 20 * US);
	CHECK_EQ(fork_goes_to(), 5);
}

/*
 * A CPU without a state is still ranked by its stamp, against that of the CPU that was best by latency: one that won by
 * its deadline has left the stamp as it was.
 */
TEST(stamps_rank_only_cpus_without_a_state)
{
	machine(FG_BREAK_EVEN_LATENCY);
	enter(4, 1, 50, 0, 900);
	enter(5, 1, 50, 0, 100);
	cpus[4].idle_stamp = 10;
	cpus[5].idle_stamp = 1000;
	kit_busy(7);
	cpus[6].idle_stamp = 9;
	CHECK_EQ(fork_goes_to(), 5);
	cpus[6].idle_stamp = 500;
	CHECK_EQ(fork_goes_to(), 6);
}

int main(void)
{
	RUN(deadline_is_now_plus_exit_latency_or_residency);
	RUN(first_posting_keeps_a_state_that_is_over);
	RUN(first_posting_judges_a_cpu_by_a_state_that_is_over);
	RUN(shallowest_of_the_mails_four_cpus);
	RUN(earliest_deadline_of_the_mails_four_cpus);
	RUN(cpus_in_one_state_go_by_when_they_entered_it);
	RUN(one_cache_sees_no_effect);
	RUN(shallower_state_comes_before_any_deadline);
	RUN(the_two_readings_part_on_unequal_residencies);
	RUN(stamps_rank_only_cpus_without_a_state);
	return test_report();
}
