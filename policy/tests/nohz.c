/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUs without a tick and who balances for them: spec 6.10. */
#include "kit.h"

/* What a kick to balance is for. */
#define FULL_KICK (FG_NOHZ_STATS_KICK | FG_NOHZ_BALANCE_KICK)

static void machine(void)
{
	kit_init(8);
	kit_capacity(0, 3, 462);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 4);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT, 125, 8);
	kit_finish();
}

/* A busy CPU in the big LLC, with one idle CPU whose tick is stopped. */
static struct fg_cpu *kick_machine(void)
{
	machine();
	kit_busy_range(0, 7);
	kit_idle(5);
	mask_set(&sys.nohz_idle, 5);
	sys.nohz_nr_cpus = 1;
	sys.nohz_next_balance = 100;
	llcs[4].nr_busy_cpus = 1;
	return &cpus[6];
}

TEST(nohz_kick)
{
	struct fg_cpu *rq = kick_machine();

	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), 0);
	/* statistics only */
	sys.nohz_has_blocked = 1;
	sys.nohz_next_blocked = 99;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 99), 0);
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), FG_NOHZ_STATS_KICK);
	/* two tasks, if it is time */
	rq->nr_running = 2;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 99), 0);
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), FULL_KICK);
	/* no idle CPU to kick, none to kick for */
	rq->idle_balance = 1;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), 0);
	rq->idle_balance = 0;
	sys.nohz_nr_cpus = 0;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), 0);

	rq = kick_machine();
	rq->cpu_capacity = 875; /* * 117 < 102400 */
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), FULL_KICK);
	rq->cpu_capacity = 876;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), 0);
	/* reduced capacity is a reason only for a fair task */
	rq->cpu_capacity = 875;
	rq->h_nr_running = 0;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), 0);
	rq->h_nr_running = 1;
	rq->cpu_capacity = 876;
	/* another busy CPU of the LLC */
	llcs[4].nr_busy_cpus = 2;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), FULL_KICK);
	/* a preferred CPU idles */
	llcs[4].nr_busy_cpus = 1;
	rq->sd->flags |= FG_SD_ASYM_PACKING;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), FULL_KICK);
	CHECK_EQ(fg_nohz_kick(&sys, &cpus[4], 100), 0);
}

TEST(nohz_kick_on_asymmetric_machines_is_for_misfits)
{
	struct fg_cpu *rq = kick_machine();

	rq->sd_asym_cpucapacity = rq->sd->parent;
	llcs[4].nr_busy_cpus = 3;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), 0);
	/* a misfit on a CPU of full size goes nowhere better */
	rq->misfit_task_load = 1;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), 0);
	rq->cpu_capacity_orig = rq->cpu_capacity = 1000;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), FULL_KICK);
	/* it does if the CPU has lost much, by the asymmetric domain's measure: 930 * 110 < 102400 < 931 * 110 */
	rq->cpu_capacity_orig = 1024;
	rq->sd_asym_cpucapacity->imbalance_pct = 110;
	rq->cpu_capacity = 931;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), 0);
	rq->cpu_capacity = 930;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), FULL_KICK);
	rq->misfit_task_load = 0;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), 0);
	/* v6.10: a task marked as misfit may use a bigger CPU */
	sys.feat.value[FG_MAX_ALLOWED_CAP] = 1;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), 0);
	rq->cpu_capacity = 1024;
	rq->misfit_task_load = 1;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), FULL_KICK);
}

TEST(the_set_of_cpus_without_a_tick)
{
	machine();
	CHECK_EQ(cpus[5].llc->nr_busy_cpus, 4);
	fg_nohz_balance_enter_idle(&sys, &cpus[5]);
	CHECK_EQ(cpus[5].tick_stopped, 1);
	CHECK_EQ(cpus[5].has_blocked_load, 1);
	CHECK_EQ(sys.nohz_has_blocked, 1);
	CHECK_EQ(sys.nohz_idle.bits[0], 0x20);
	CHECK_EQ(sys.nohz_nr_cpus, 1);
	CHECK_EQ(cpus[5].llc->nr_busy_cpus, 3);
	/* again, after an idle tick: only its blocked load is news */
	cpus[5].has_blocked_load = sys.nohz_has_blocked = 0;
	fg_nohz_balance_enter_idle(&sys, &cpus[5]);
	CHECK_EQ(cpus[5].has_blocked_load, 1);
	CHECK_EQ(sys.nohz_has_blocked, 1);
	CHECK_EQ(sys.nohz_nr_cpus, 1);
	CHECK_EQ(cpus[5].llc->nr_busy_cpus, 3);
	/* an idle tick leaves it where it is, a busy one takes it back */
	fg_update_idle_balance(&cpus[5]);
	fg_nohz_balancer_kick(&sys, &cpus[5], 0);
	CHECK_EQ(sys.nohz_nr_cpus, 1);
	kit_busy(5);
	fg_update_idle_balance(&cpus[5]);
	fg_nohz_balancer_kick(&sys, &cpus[5], 0);
	CHECK_EQ(cpus[5].tick_stopped, 0);
	CHECK_EQ(sys.nohz_idle.bits[0], 0);
	CHECK_EQ(sys.nohz_nr_cpus, 0);
	CHECK_EQ(cpus[5].llc->nr_busy_cpus, 4);
	/* an isolated CPU has nothing to balance */
	cpus[6].sd = 0;
	fg_nohz_balance_enter_idle(&sys, &cpus[6]);
	CHECK_EQ(sys.nohz_nr_cpus, 0);
}

TEST(the_first_idle_cpu_balances_for_all)
{
	machine();
	for (u32 c = 2; c < 5; c++)
		fg_nohz_balance_enter_idle(&sys, &cpus[c]);
	sys.nohz_next_balance = 100;
	CHECK_EQ(fg_kick_ilb(&sys, &cpus[6], FG_NOHZ_STATS_KICK, 200), 2);
	CHECK_EQ(sys.nohz_next_balance, 100);
	CHECK_EQ(fg_kick_ilb(&sys, &cpus[6], FULL_KICK, 200), 2);
	CHECK_EQ(sys.nohz_next_balance, 201);
	/* not itself, nor one that got work since its tick stopped */
	CHECK_EQ(fg_kick_ilb(&sys, &cpus[2], FG_NOHZ_STATS_KICK, 200), 3);
	cpus[3].ttwu_pending = 1;
	CHECK_EQ(fg_kick_ilb(&sys, &cpus[2], FG_NOHZ_STATS_KICK, 200), 4);
	kit_busy(4);
	CHECK_EQ(fg_kick_ilb(&sys, &cpus[2], FG_NOHZ_STATS_KICK, 200), -1);
}

TEST(blocked_load_once_a_jiffy)
{
	machine();
	cpus[1].last_blocked = 100;
	CHECK_EQ(fg_nohz_stats_due(&cpus[1], 101), 0);
	cpus[1].has_blocked_load = 1;
	CHECK_EQ(fg_nohz_stats_due(&cpus[1], 101), 1);
	CHECK_EQ(fg_nohz_stats_due(&cpus[1], 100), 0);
}

TEST(a_round_for_all_idle_cpus)
{
	struct fg_balance_walk w = { .jiffies = 1000, .kind = FG_CPU_IDLE };

	machine();
	sys.nohz_has_blocked = 1;
	fg_nohz_idle_begin(&sys, FULL_KICK, &w);
	CHECK_EQ(sys.nohz_has_blocked, 0);
	cpus[2].next_balance = 1000;
	cpus[3].next_balance = 1001;
	CHECK_EQ(fg_nohz_idle_cpu(&cpus[2], FG_NOHZ_STATS_KICK, &w), 0);
	CHECK_EQ(fg_nohz_idle_cpu(&cpus[2], FULL_KICK, &w), 1);
	cpus[2].next_balance = 1016;
	fg_nohz_idled_cpu(&cpus[2], &w);
	CHECK_EQ(w.blocked, 0);
	cpus[3].has_blocked_load = 1;
	CHECK_EQ(fg_nohz_idle_cpu(&cpus[3], FULL_KICK, &w), 0);
	fg_nohz_idled_cpu(&cpus[3], &w);
	fg_nohz_idle_others_end(&sys, &w);
	CHECK_EQ(sys.nohz_next_balance, 1001);
	CHECK_EQ(fg_nohz_idle_self(&cpus[1], FULL_KICK, &w), 1);
	/* 32 ms are 8 jiffies; CPU 3 still has something that decays */
	fg_nohz_idle_end(&sys, FULL_KICK, &w);
	CHECK_EQ(sys.nohz_next_blocked, 1008);
	CHECK_EQ(sys.nohz_has_blocked, 1);
}

TEST(a_round_without_others_says_nothing_of_their_turn)
{
	struct fg_balance_walk w = { .jiffies = 1000, .kind = FG_CPU_IDLE };

	machine();
	sys.nohz_next_balance = 1234;
	fg_nohz_idle_begin(&sys, FG_NOHZ_STATS_KICK, &w);
	fg_nohz_idle_others_end(&sys, &w);
	CHECK_EQ(sys.nohz_next_balance, 1234);
	cpus[1].has_blocked_load = 1;
	CHECK_EQ(fg_nohz_idle_self(&cpus[1], FG_NOHZ_STATS_KICK, &w), 0);
	CHECK_EQ(w.blocked, 1);
	/* cut short: what is left is not known */
	fg_nohz_idle_abort(&sys, FG_NOHZ_STATS_KICK);
	CHECK_EQ(sys.nohz_has_blocked, 1);
	/* newly idle, its own averages are not looked at */
	w.kind = FG_CPU_NEWLY_IDLE;
	fg_nohz_idle_begin(&sys, FG_NOHZ_STATS_KICK, &w);
	fg_nohz_idle_self(&cpus[1], FG_NOHZ_STATS_KICK, &w);
	fg_nohz_idle_end(&sys, FG_NOHZ_STATS_KICK, &w);
	CHECK_EQ(sys.nohz_has_blocked, 0);
}

/* v5.16: a tick that stops adds a turn that nohz_next_balance does not include yet. */
TEST(a_stopped_tick_asks_for_the_next_turn)
{
	struct fg_balance_walk w = { .jiffies = 50, .kind = FG_CPU_IDLE };
	struct fg_cpu *rq = kick_machine();

	sys.nohz_next_blocked = 100;
	fg_nohz_balance_enter_idle(&sys, &cpus[3]);
	CHECK_EQ(fg_nohz_kick(&sys, rq, 50), 0);
	sys.feat.value[FG_NOHZ_NEXT_KICK] = 1;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 50), FG_NOHZ_TURN_KICK);
	/* it comes on top of what else is due */
	CHECK_EQ(fg_nohz_kick(&sys, rq, 101), FG_NOHZ_TURN_KICK | FG_NOHZ_STATS_KICK);
	rq->nr_running = 2;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 101), FG_NOHZ_TURN_KICK | FULL_KICK);
	rq->nr_running = 1;
	/* who is woken for it puts no balance off */
	kit_idle(3);
	CHECK_EQ(fg_kick_ilb(&sys, rq, FG_NOHZ_TURN_KICK, 50), 3);
	CHECK_EQ(sys.nohz_next_balance, 100);

	/* The round finds CPU 3's turn, balances nothing and leaves blocked load as it is. */
	fg_nohz_idle_begin(&sys, FG_NOHZ_TURN_KICK, &w);
	CHECK_EQ(fg_nohz_kick(&sys, rq, 50), 0);
	cpus[3].next_balance = 40;
	CHECK_EQ(fg_nohz_idle_cpu(&cpus[3], FG_NOHZ_TURN_KICK, &w), 0);
	fg_nohz_idled_cpu(&cpus[3], &w);
	fg_nohz_idle_others_end(&sys, &w);
	fg_nohz_idle_end(&sys, FG_NOHZ_TURN_KICK, &w);
	CHECK_EQ(w.blocked, 0);
	CHECK_EQ(sys.nohz_next_balance, 40);
	CHECK_EQ(sys.nohz_has_blocked, 1);
	CHECK_EQ(sys.nohz_next_blocked, 100);

	/* Another idle tick of a stopped CPU changes nothing; a round that does not collect turns clears no request. */
	fg_nohz_balance_enter_idle(&sys, &cpus[3]);
	CHECK_EQ(fg_nohz_kick(&sys, rq, 30), 0);
	fg_nohz_balance_enter_idle(&sys, &cpus[2]);
	fg_nohz_idle_begin(&sys, FULL_KICK, &w);
	CHECK_EQ(fg_nohz_kick(&sys, rq, 30), FG_NOHZ_TURN_KICK);
	/* nor does one that is cut short, and that has promised no statistics */
	fg_nohz_idle_begin(&sys, FG_NOHZ_TURN_KICK, &w);
	fg_nohz_idle_abort(&sys, FG_NOHZ_TURN_KICK);
	CHECK_EQ(fg_nohz_kick(&sys, rq, 30), FG_NOHZ_TURN_KICK);
	CHECK_EQ(sys.nohz_has_blocked, 0);
}

TEST(a_newly_idle_cpu_looks_at_the_others_if_it_has_the_time)
{
	machine();
	sys.nohz_has_blocked = 1;
	sys.nohz_next_blocked = 100;
	cpus[0].avg_idle = 500000;
	CHECK_EQ(fg_nohz_newidle_due(&sys, &cpus[0], 99, 0), 0);
	CHECK_EQ(fg_nohz_newidle_due(&sys, &cpus[0], 100, 0), 1);
	/* after a balance that found nothing only where that has not looked itself */
	CHECK_EQ(fg_nohz_newidle_due(&sys, &cpus[0], 100, 1), 1);
	CHECK_EQ(fg_newidle_stats(&sys), 0);
	sys.feat.value[FG_NEWIDLE_STATS] = 1;
	CHECK_EQ(fg_nohz_newidle_due(&sys, &cpus[0], 100, 1), 0);
	CHECK_EQ(fg_nohz_newidle_due(&sys, &cpus[0], 100, 0), 1);
	CHECK_EQ(fg_newidle_stats(&sys), 1);
	cpus[0].avg_idle = 499999;
	CHECK_EQ(fg_nohz_newidle_due(&sys, &cpus[0], 100, 0), 0);
	cpus[0].avg_idle = 500000;
	sys.nohz_has_blocked = 0;
	CHECK_EQ(fg_nohz_newidle_due(&sys, &cpus[0], 100, 0), 0);
	sys.nohz_has_blocked = 1;
	cpus[0].sd = 0;
	CHECK_EQ(fg_nohz_newidle_due(&sys, &cpus[0], 100, 0), 0);
}

TEST(a_domain_with_all_idle_cpus_puts_the_next_look_off)
{
	machine();
	fg_nohz_balance_enter_idle(&sys, &cpus[5]);
	fg_nohz_stats_end(&sys, cpus[4].sd, 0, 100);
	CHECK_EQ(sys.nohz_next_blocked, 0);
	fg_nohz_stats_end(&sys, cpus[4].sd, 1, 100);
	CHECK_EQ(sys.nohz_next_blocked, 108);
	/* one of them is elsewhere */
	fg_nohz_balance_enter_idle(&sys, &cpus[0]);
	fg_nohz_stats_end(&sys, cpus[4].sd, 1, 200);
	CHECK_EQ(sys.nohz_next_blocked, 108);
	fg_nohz_stats_end(&sys, cpus[4].sd->parent, 1, 200);
	CHECK_EQ(sys.nohz_next_blocked, 208);
}

/* CPUs 2 and 3 are a core, as are 4 and 5. */
TEST(a_cpu_of_an_idle_core_balances_for_all_since_v73)
{
	for (u8 on = 0; on < 2; on++) {
		machine();
		sys.smt_key = 1;
		sys.feat.value[FG_ILB_IDLE_CORE] = on;
		for (u32 c = 2; c < 6; c++) {
			memset(&cpus[c].core, 0, sizeof(cpus[c].core));
			mask_set(&cpus[c].core, (s32)(c & ~1u));
			mask_set(&cpus[c].core, (s32)(c | 1u));
			fg_nohz_balance_enter_idle(&sys, &cpus[c]);
		}
		kit_busy(3);
		CHECK_EQ(fg_kick_ilb(&sys, &cpus[6], FG_NOHZ_STATS_KICK, 200), on ? 4 : 2);
		/* no core is idle: the first that is */
		kit_busy(5);
		CHECK_EQ(fg_kick_ilb(&sys, &cpus[6], FG_NOHZ_STATS_KICK, 200), 2);
	}
}

/* Domains that were built again count every CPU as busy, until its tick stops the next time. */
TEST(busy_cpus)
{
	machine();
	llcs[4].nr_busy_cpus = 4;
	fg_nohz_balance_enter_idle(&sys, &cpus[5]);
	CHECK_EQ(llcs[4].nr_busy_cpus, 3);
	CHECK_EQ(sys.nohz_nr_cpus, 1);
	fg_nohz_balance_exit_idle(&sys, &cpus[5]);
	CHECK_EQ(llcs[4].nr_busy_cpus, 4);
	fg_nohz_balance_enter_idle(&sys, &cpus[5]);
	llcs[4].nr_busy_cpus = 4;
	cpus[5].counted_idle = 0;
	fg_nohz_balance_exit_idle(&sys, &cpus[5]);
	CHECK_EQ(llcs[4].nr_busy_cpus, 4);
	CHECK_EQ(sys.nohz_nr_cpus, 0);
	/* one that goes offline does not take part */
	mask_clear(&sys.active, 5);
	fg_nohz_balance_enter_idle(&sys, &cpus[5]);
	CHECK_EQ(sys.nohz_nr_cpus, 0);
	CHECK_EQ(llcs[4].nr_busy_cpus, 4);
}

int main(void)
{
	RUN(nohz_kick);
	RUN(nohz_kick_on_asymmetric_machines_is_for_misfits);
	RUN(the_set_of_cpus_without_a_tick);
	RUN(the_first_idle_cpu_balances_for_all);
	RUN(blocked_load_once_a_jiffy);
	RUN(a_round_for_all_idle_cpus);
	RUN(a_round_without_others_says_nothing_of_their_turn);
	RUN(a_stopped_tick_asks_for_the_next_turn);
	RUN(a_newly_idle_cpu_looks_at_the_others_if_it_has_the_time);
	RUN(a_domain_with_all_idle_cpus_puts_the_next_look_off);
	RUN(a_cpu_of_an_idle_core_balances_for_all_since_v73);
	RUN(busy_cpus);
	return test_report();
}
