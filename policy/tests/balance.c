/* SPDX-License-Identifier: GPL-2.0-only */
/* When balancing happens and what it refreshes: spec 1.8, 6.1, 6.2, 6.9; and the feature table. */
#include "kit.h"

static u32 ours(struct fg_domain *sd, s32 cpu, u32 kind)
{
	struct fg_balance b;

	b.sd = sd;
	b.this_cpu = cpu;
	b.kind = kind;
	fg_balance_begin(&sys, &b);
	return fg_should_we_balance(&sys, &b);
}

static void machine(void)
{
	kit_init(8);
	kit_capacity(0, 3, 462);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 4);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT, 125, 8);
	kit_finish();
}

TEST(intervals)
{
	struct fg_domain *mc, *pkg;

	machine();
	mc = cpus[0].sd;
	pkg = mc->parent;
	/* HZ 250: ms to jiffies rounds up */
	CHECK_EQ(fg_balance_interval(&sys, mc, 0), 1);
	CHECK_EQ(fg_balance_interval(&sys, mc, 1), 32);
	CHECK_EQ(fg_balance_interval(&sys, pkg, 0), 2);
	sys.feat.value[FG_BUSY_MINUS1] = 1;
	pkg->busy_factor = 16;
	CHECK_EQ(fg_balance_interval(&sys, pkg, 1), 31);
	mc->balance_interval = 5;
	CHECK_EQ(fg_balance_interval(&sys, mc, 0), 2);
	/* at most a tenth of a second for each CPU, at least one jiffy */
	mc->balance_interval = 100000;
	CHECK_EQ(fg_balance_interval(&sys, mc, 1), 200);
	CHECK_EQ(group_capacity_interval(&sys, mc), 200);
	mc->balance_interval = 0;
	CHECK_EQ(fg_balance_interval(&sys, mc, 1), 1);
}

TEST(group_capacities_of_the_local_group)
{
	struct fg_domain *mc, *pkg;

	machine();
	mc = cpus[1].sd;
	pkg = mc->parent;
	cpus[1].rt.util_avg = 62;
	fg_update_group_capacity(&sys, mc, &cpus[1], 7);
	CHECK_EQ(cpus[1].cpu_capacity, 400);
	CHECK_EQ(mc->groups->capacity, 400);
	CHECK_EQ(mc->groups->min_capacity, 400);
	CHECK_EQ(pkg->groups->capacity, 4 * 462);
	fg_update_group_capacity(&sys, pkg, &cpus[1], 7);
	CHECK_EQ(pkg->groups->capacity, 400 + 3 * 462);
	CHECK_EQ(pkg->groups->min_capacity, 400);
	CHECK_EQ(pkg->groups->max_capacity, 462);
	CHECK_EQ(cpus[5].sd->parent->groups->capacity, 4096);
	/* overlapping children: by CPUs, whatever their groups say */
	mc->flags |= FG_SD_OVERLAP;
	mc->groups->capacity = 7;
	fg_update_group_capacity(&sys, pkg, &cpus[1], 7);
	CHECK_EQ(pkg->groups->capacity, 400 + 3 * 462);
	mc->flags &= ~(u32)FG_SD_OVERLAP;
	/* never 0 */
	cpus[1].rt.util_avg = 1024;
	fg_update_group_capacity(&sys, mc, &cpus[1], 7);
	CHECK_EQ(mc->groups->capacity, 1);
}

TEST(one_cpu_of_a_group_balances)
{
	struct fg_domain *pkg;

	machine();
	pkg = cpus[0].sd->parent;
	kit_busy_range(0, 7);
	CHECK_EQ(ours(pkg, 0, FG_CPU_NOT_IDLE), 1);
	CHECK_EQ(ours(cpus[1].sd->parent, 1, FG_CPU_NOT_IDLE), 0);
	kit_idle(2);
	CHECK_EQ(ours(pkg, 0, FG_CPU_NOT_IDLE), 0);
	CHECK_EQ(ours(cpus[2].sd->parent, 2, FG_CPU_IDLE), 1);
	CHECK_EQ(ours(cpus[3].sd->parent, 3, FG_CPU_IDLE), 0);
	CHECK_EQ(ours(cpus[3].sd->parent, 3, FG_CPU_NEWLY_IDLE), 1);
	sys.active.bits[0] &= ~4ull;
	CHECK_EQ(ours(cpus[2].sd->parent, 2, FG_CPU_IDLE), 0);
	CHECK_EQ(ours(cpus[2].sd->parent, 2, FG_CPU_NEWLY_IDLE), 0);
	CHECK_EQ(ours(pkg, 0, FG_CPU_NOT_IDLE), 1);
}

/* MC of 4 CPUs: 1 jiffy idle, 32 busy; PKG of 8: 2 and 64. */
static struct fg_balance_walk walk(u32 kind)
{
	struct fg_balance_walk w = { .jiffies = 1000, .kind = kind };

	machine();
	sys.nohz_next_balance = 5000;
	return w;
}

TEST(group_capacities_are_always_due_but_newly_idle)
{
	struct fg_domain *mc;

	machine();
	mc = cpus[1].sd;
	fg_update_group_capacity(&sys, mc->parent, &cpus[1], 100);
	/* 8 ms are 2 jiffies */
	CHECK_EQ(mc->parent->groups->next_update, 102);
	CHECK_EQ(fg_group_capacity_due(mc->parent, FG_CPU_NEWLY_IDLE, 101), 0);
	CHECK_EQ(fg_group_capacity_due(mc->parent, FG_CPU_NEWLY_IDLE, 102), 1);
	CHECK_EQ(fg_group_capacity_due(mc->parent, FG_CPU_NOT_IDLE, 101), 1);
	CHECK_EQ(fg_group_capacity_due(mc->parent, FG_CPU_IDLE, 101), 1);
}

TEST(a_busy_cpu_walks_its_domains)
{
	struct fg_balance_walk w = walk(FG_CPU_NOT_IDLE);
	struct fg_domain *mc = cpus[0].sd, *pkg = mc->parent;

	kit_busy(0);
	mc->last_balance = 968;
	mc->next_decay = 1000;
	mc->max_newidle_lb_cost = 2560;
	pkg->last_balance = 937;
	pkg->next_decay = 999;
	pkg->max_newidle_lb_cost = 512000;

	fg_rebalance_begin(&sys, &cpus[0], &w);
	CHECK_EQ(w.busy, 1);
	CHECK_EQ(w.next_balance, 1000 + 60 * 250);
	/* due at 968 + 32; balanced: the next time in 256 ms */
	CHECK_EQ(fg_rebalance_domain(&sys, mc, &w), FG_BALANCE_NOW);
	mc->balance_interval *= 2;
	fg_rebalanced_domain(&sys, mc, &w, 1);
	CHECK_EQ(mc->last_balance, 1000);
	CHECK_EQ(w.next_balance, 1064);
	/* due at 937 + 64; a second is over, 512000 * 253 / 256 */
	CHECK_EQ(fg_rebalance_domain(&sys, pkg, &w), FG_BALANCE_SKIP);
	CHECK_EQ(mc->max_newidle_lb_cost, 2560);
	CHECK_EQ(pkg->max_newidle_lb_cost, 506000);
	CHECK_EQ(pkg->next_decay, 1250);
	CHECK_EQ(pkg->last_balance, 937);
	fg_rebalance_end(&sys, &cpus[0], &w);
	CHECK_EQ(cpus[0].next_balance, 1001);
	CHECK_EQ(cpus[0].max_idle_balance_cost, 2560 + 506000);
	CHECK_EQ(sys.nohz_next_balance, 5000);
}

TEST(the_costs_of_a_cpu_are_at_least_half_a_millisecond)
{
	struct fg_balance_walk w = walk(FG_CPU_IDLE);

	cpus[0].max_idle_balance_cost = 900000;
	fg_rebalance_begin(&sys, &cpus[0], &w);
	cpus[0].sd->next_decay = 1000;
	cpus[0].sd->max_newidle_lb_cost = 1000;
	fg_rebalance_domain(&sys, cpus[0].sd, &w);
	fg_rebalance_end(&sys, &cpus[0], &w);
	/* nothing decayed, nothing to renew */
	CHECK_EQ(cpus[0].max_idle_balance_cost, 900000);
	cpus[0].sd->next_decay = 999;
	fg_rebalance_domain(&sys, cpus[0].sd, &w);
	fg_rebalance_end(&sys, &cpus[0], &w);
	CHECK_EQ(cpus[0].max_idle_balance_cost, 500000);
}

TEST(who_is_not_to_balance_stops_there)
{
	struct fg_balance_walk w = walk(FG_CPU_IDLE);
	struct fg_domain *mc = cpus[1].sd, *pkg = mc->parent;

	mc->next_decay = pkg->next_decay = 1000;
	mc->last_balance = 999;
	fg_rebalance_begin(&sys, &cpus[1], &w);
	CHECK_EQ(w.busy, 0);
	CHECK_EQ(fg_rebalance_domain(&sys, mc, &w), FG_BALANCE_NOW);
	fg_rebalanced_domain(&sys, mc, &w, 0);
	CHECK_EQ(mc->last_balance, 1000);
	CHECK_EQ(fg_rebalance_domain(&sys, pkg, &w), FG_BALANCE_STOP);
	/* but goes on for the costs, whatever is due */
	pkg->next_decay = 999;
	CHECK_EQ(fg_rebalance_domain(&sys, pkg, &w), FG_BALANCE_SKIP);
	CHECK_EQ(w.need_decay, 1);
	fg_rebalance_end(&sys, &cpus[1], &w);
	CHECK_EQ(cpus[1].next_balance, 1001);
	/* idle CPUs get their turn from the nohz balancer */
	CHECK_EQ(sys.nohz_next_balance, 1001);
}

TEST(who_pulled_something_is_busy_from_then_on)
{
	struct fg_balance_walk w = walk(FG_CPU_IDLE);

	sys.feat.value[FG_SI_BALANCE] = 1;
	fg_rebalance_begin(&sys, &cpus[0], &w);
	/* for another CPU */
	fg_rebalance_again(&sys, &cpus[0], &w);
	CHECK_EQ(w.kind, FG_CPU_IDLE);
	CHECK_EQ(w.busy, 0);
	kit_sched_idle(0);
	fg_rebalance_again(&sys, &cpus[0], &w);
	CHECK_EQ(w.kind, FG_CPU_NOT_IDLE);
	CHECK_EQ(w.busy, 0);
	kit_busy(0);
	fg_rebalance_again(&sys, &cpus[0], &w);
	CHECK_EQ(w.kind, FG_CPU_NOT_IDLE);
	CHECK_EQ(w.busy, 1);
}

/* Costs of the lower domain decay, those of the upper one do not. */
TEST(since_v516_the_last_domain_says_whether_costs_are_renewed)
{
	for (u32 measured = 0; measured <= 1; measured++) {
		struct fg_balance_walk w = walk(FG_CPU_IDLE);
		struct fg_domain *mc = cpus[0].sd, *pkg = mc->parent;

		sys.feat.value[FG_NEWIDLE_COST] = (u8)measured;
		mc->next_decay = 999;
		pkg->next_decay = 1000;
		cpus[0].max_idle_balance_cost = 900000;
		fg_rebalance_begin(&sys, &cpus[0], &w);
		fg_rebalance_domain(&sys, mc, &w);
		fg_rebalance_domain(&sys, pkg, &w);
		fg_rebalance_end(&sys, &cpus[0], &w);
		CHECK_EQ(cpus[0].max_idle_balance_cost, measured ? 900000 : 500000);
	}
}

TEST(sched_idle_tasks_do_not_make_a_cpu_busy)
{
	struct fg_balance_walk w = walk(FG_CPU_NOT_IDLE);

	kit_sched_idle(0);
	cpus[0].next_balance = 2000;
	/* up to v5.5 they do */
	fg_rebalance_begin(&sys, &cpus[0], &w);
	CHECK_EQ(w.busy, 1);
	fg_dequeue_next_balance(&sys, &cpus[0], 0, 1000);
	CHECK_EQ(cpus[0].next_balance, 2000);
	sys.feat.value[FG_SI_BALANCE] = 1;
	fg_rebalance_begin(&sys, &cpus[0], &w);
	CHECK_EQ(w.busy, 0);
	/* the last ordinary task left: due at once */
	fg_dequeue_next_balance(&sys, &cpus[0], 1, 1000);
	CHECK_EQ(cpus[0].next_balance, 2000);
	fg_dequeue_next_balance(&sys, &cpus[0], 0, 1000);
	CHECK_EQ(cpus[0].next_balance, 1000);
	CHECK_EQ(fg_rebalance_due(&cpus[0], 999), 0);
	CHECK_EQ(fg_rebalance_due(&cpus[0], 1000), 1);
	kit_busy(0);
	fg_dequeue_next_balance(&sys, &cpus[0], 0, 900);
	CHECK_EQ(cpus[0].next_balance, 1000);
}

TEST(the_kind_is_that_of_the_last_tick)
{
	machine();
	CHECK_EQ(fg_update_idle_balance(&cpus[0]), 1);
	kit_busy(0);
	CHECK_EQ(fg_rebalance_kind(&cpus[0]), FG_CPU_IDLE);
	CHECK_EQ(fg_update_idle_balance(&cpus[0]), 0);
	CHECK_EQ(fg_rebalance_kind(&cpus[0]), FG_CPU_NOT_IDLE);
}

/* A look by cpu, even if another CPU balances the domain; level as for kit_look(). */
static void look(u32 cpu, u32 level)
{
	struct fg_balance b = kit_look(cpu, level, FG_CPU_NEWLY_IDLE);

	CHECK(b.rule != FG_BALANCE_RULE_NONE && b.rule != FG_BALANCE_RULE_NOT_OURS);
	CHECK_EQ(b.group_cpus, cpus[cpu].sd[level].weight);
}

TEST(root_status)
{
	machine();
	kit_busy_range(0, 7);
	root.overload = 1;
	root.overutilized = 1;
	/* only the top domain takes flags back */
	look(4, 0);
	CHECK_EQ(root.overload, 1);
	CHECK_EQ(root.overutilized, 1);
	look(4, 1);
	CHECK_EQ(root.overload, 0);
	CHECK_EQ(root.overutilized, 0);
	/* 820 * 1280 >= 1024 * 1024; two tasks are the top domain's business */
	cpus[5].cfs.util_avg = 819;
	cpus[6].nr_running = 2;
	look(4, 0);
	CHECK_EQ(root.overutilized, 0);
	cpus[5].cfs.util_avg = 820;
	look(4, 0);
	CHECK_EQ(root.overload, 0);
	CHECK_EQ(root.overutilized, 1);
	look(4, 1);
	CHECK_EQ(root.overload, 1);
	CHECK_EQ(root.overutilized, 1);
}

/* At 117 %: mean 512 is (512 * 117)^2 / 10240000 = 350 of 1024 busy, 674 * 4 / 1024 = 2.6; mean 875 leaves 1 of 1024. */
TEST(scans_of_the_cache_go_as_far_as_it_idles)
{
	static const struct {
		u32 util, kind, expected;
	} v[] = {
		{ 0, FG_CPU_IDLE, 4 },	 { 512, FG_CPU_IDLE, 2 },  { 512, FG_CPU_NOT_IDLE, 2 },
		{ 875, FG_CPU_IDLE, 0 }, { 1024, FG_CPU_IDLE, 0 }, { 512, FG_CPU_NEWLY_IDLE, 9 },
	};

	for (u32 i = 0; i < 6; i++) {
		kit_init(5);
		kit_level(FG_LEVEL_MC, SD_MC, 117, 4);
		kit_finish();
		sys.feat.value[FG_SIS_MODE] = FG_SIS_UTIL;
		cpus[4].cfs.util_avg = 1024;
		for (u32 c = 0; c < 4; c++)
			cpus[c].cfs.util_avg = v[i].util;
		llcs[0].nr_idle_scan = 9;
		kit_look(0, 0, v[i].kind);
		CHECK_EQ(llcs[0].nr_idle_scan, v[i].expected);
	}
	/* not from a part of it, nor without SIS_UTIL */
	llcs[0].nr_idle_scan = 9;
	cpus[0].sd_llc_size = 5;
	kit_look(0, 0, FG_CPU_IDLE);
	cpus[0].sd_llc_size = 4;
	sys.feat.value[FG_SIS_MODE] = FG_SIS_PROP_AGED;
	kit_look(0, 0, FG_CPU_IDLE);
	CHECK_EQ(llcs[0].nr_idle_scan, 9);
}

TEST(a_wakeup_on_its_way_spares_newly_idle_balancing)
{
	kit_init(1);
	cpus[0].clock = 5000;
	cpus[0].idle_stamp = 0;
	cpus[0].ttwu_pending = 1;
	sys.feat.value[FG_NEWIDLE_PENDING] = 1;
	CHECK_EQ(fg_newidle_spared(&sys, &cpus[0]), 1);
	fg_enter_idle(&sys, &cpus[0]);
	CHECK_EQ(cpus[0].idle_stamp, 0);
	cpus[0].ttwu_pending = 0;
	CHECK_EQ(fg_newidle_spared(&sys, &cpus[0]), 0);
	fg_enter_idle(&sys, &cpus[0]);
	CHECK_EQ(cpus[0].idle_stamp, 5000);
	sys.feat.value[FG_NEWIDLE_PENDING] = 0;
	cpus[0].ttwu_pending = 1;
	cpus[0].clock = 6000;
	CHECK_EQ(fg_newidle_spared(&sys, &cpus[0]), 0);
	fg_enter_idle(&sys, &cpus[0]);
	CHECK_EQ(cpus[0].idle_stamp, 6000);
}

/* Up to v5.11 the pass of an idle CPU may move the turn of all forward, never back; that of a busy CPU does not. */
TEST(an_idle_pass_brings_the_turn_of_all_forward)
{
	static const struct {
		u32 kind, one_of;
		u64 before, after;
	} v[] = {
		{ FG_CPU_IDLE, 0, 900, 700 },
		{ FG_CPU_IDLE, 0, 500, 500 },
		{ FG_CPU_IDLE, 1, 900, 900 },
		{ FG_CPU_NOT_IDLE, 0, 900, 900 },
	};

	for (u32 i = 0; i < 4; i++) {
		struct fg_balance_walk w = { .kind = v[i].kind, .next_balance = 700, .update_next_balance = 1 };

		kit_init(1);
		sys.feat.value[FG_ILB_ONE_OF] = (u8)v[i].one_of;
		sys.nohz_next_balance = v[i].before;
		fg_rebalance_end(&sys, &cpus[0], &w);
		CHECK_EQ(sys.nohz_next_balance, v[i].after);
		CHECK_EQ(cpus[0].next_balance, 700);
	}
}

/* A fair task beside an RT task waits as well. */
TEST(the_second_task_of_a_cpu_is_an_overload)
{
	for (u32 rt = 0; rt < 2; rt++) {
		struct fg_task p;

		kit_init(1);
		p = kit_task(1, 0);
		cpus[0].nr_running = cpus[0].rt_nr_running = rt;
		fg_enqueue_entity(&sys, &cpus[0], &p, FG_ENQUEUE_WAKEUP);
		CHECK_EQ(root.overload, rt);
	}
}

TEST(a_misfit_of_another_group_is_an_overload)
{
	machine();
	kit_busy_range(0, 7);
	cpus[0].misfit_task_load = 1;
	look(4, 1);
	CHECK_EQ(root.overload, 0);
	for (u32 c = 0; c < 8; c++)
		cpus[c].sd[1].flags |= FG_SD_ASYM_CPUCAPACITY;
	look(4, 1);
	CHECK_EQ(root.overload, 1);
	/* seen from its own group, or once its CPU idles, it is none */
	look(1, 1);
	CHECK_EQ(root.overload, 0);
	kit_idle(0);
	look(4, 1);
	CHECK_EQ(root.overload, 0);
}

TEST(newidle_gate)
{
	struct fg_balance_walk w = walk(0);

	fg_newidle_begin(&sys, &w);
	CHECK_EQ(w.kind, FG_CPU_NEWLY_IDLE);
	CHECK_EQ(w.next_balance, 1250);
	root.overload = 1;
	cpus[0].avg_idle = 500000;
	CHECK_EQ(fg_newidle_gate(&sys, &cpus[0], &w), 1);
	CHECK_EQ(w.next_balance, 1250);
	/* passed over; the lowest domain's turn is an idle interval after its last */
	cpus[0].sd->last_balance = 1100;
	cpus[0].avg_idle = 499999;
	CHECK_EQ(fg_newidle_gate(&sys, &cpus[0], &w), 0);
	CHECK_EQ(w.next_balance, 1101);
	cpus[0].avg_idle = 500000;
	root.overload = 0;
	CHECK_EQ(fg_newidle_gate(&sys, &cpus[0], &w), 0);
	root.overload = 1;
	cpus[0].rd = 0;
	CHECK_EQ(fg_newidle_gate(&sys, &cpus[0], &w), 0);
	cpus[0].sd = 0;
	CHECK_EQ(fg_newidle_gate(&sys, &cpus[0], &w), 0);
}

TEST(newidle_gate_by_measured_cost)
{
	struct fg_balance_walk w = walk(0);
	struct fg_domain *mc = cpus[0].sd;

	sys.feat.value[FG_NEWIDLE_COST] = 1;
	fg_newidle_begin(&sys, &w);
	root.overload = 1;
	mc->max_newidle_lb_cost = 3000;
	cpus[0].avg_idle = 3000;
	CHECK_EQ(fg_newidle_gate(&sys, &cpus[0], &w), 1);
	cpus[0].avg_idle = 2999;
	CHECK_EQ(fg_newidle_gate(&sys, &cpus[0], &w), 0);
	/* a new maximum stands for a second: jiffies 1000 + 250 */
	mc->next_decay = 999;
	fg_newidled_domain(&sys, mc, &cpus[0], &w, 5120);
	CHECK_EQ(mc->max_newidle_lb_cost, 5120);
	CHECK_EQ(mc->next_decay, 1250);
	fg_newidled_domain(&sys, mc, &cpus[0], &w, 10);
	CHECK_EQ(mc->max_newidle_lb_cost, 5120);
	/* then cheaper passes wear it down: 5120 * 253 / 256 */
	w.jiffies = 1251;
	fg_newidled_domain(&sys, mc, &cpus[0], &w, 10);
	CHECK_EQ(mc->max_newidle_lb_cost, 5060);
	cpus[0].sd = 0;
	CHECK_EQ(fg_newidle_gate(&sys, &cpus[0], &w), 1);
}

TEST(newly_idle_as_far_as_the_idle_time_pays)
{
	struct fg_balance_walk w = walk(0);
	struct fg_domain *mc = cpus[0].sd, *pkg = mc->parent;

	cpus[0].avg_idle = 1000000;
	cpus[0].next_balance = 1200;
	mc->last_balance = pkg->last_balance = 1000;
	mc->max_newidle_lb_cost = 600000;
	pkg->max_newidle_lb_cost = 300001;
	fg_newidle_begin(&sys, &w);
	CHECK_EQ(fg_newidle_domain(&sys, mc, &cpus[0], &w), FG_BALANCE_NOW);
	fg_newidled_domain(&sys, mc, &cpus[0], &w, 700000);
	CHECK_EQ(mc->max_newidle_lb_cost, 700000);
	CHECK_EQ(w.next_balance, 1001);
	/* 700000 + 300001 is more than the CPU will idle */
	CHECK_EQ(fg_newidle_domain(&sys, pkg, &cpus[0], &w), FG_BALANCE_STOP);
	pkg->max_newidle_lb_cost = 300000;
	CHECK_EQ(fg_newidle_domain(&sys, pkg, &cpus[0], &w), FG_BALANCE_NOW);
	pkg->flags &= ~(u32)FG_SD_BALANCE_NEWIDLE;
	CHECK_EQ(fg_newidle_domain(&sys, pkg, &cpus[0], &w), FG_BALANCE_SKIP);
	/* what is remembered is the highest cost */
	fg_newidled_domain(&sys, pkg, &cpus[0], &w, 1000);
	CHECK_EQ(pkg->max_newidle_lb_cost, 300000);
	fg_newidle_end(&cpus[0], &w);
	CHECK_EQ(cpus[0].max_idle_balance_cost, 701000);
	CHECK_EQ(cpus[0].next_balance, 1001);
	/* pulled in, never put off */
	w.next_balance = 1100;
	w.cost = 0;
	fg_newidle_end(&cpus[0], &w);
	CHECK_EQ(cpus[0].max_idle_balance_cost, 701000);
	CHECK_EQ(cpus[0].next_balance, 1001);
}

/* An interval of 8 ms, 2 jiffies, when the pass comes to the domain; what it pulls makes it one of 4. */
TEST(since_v516_newidle_goes_by_the_interval_it_found)
{
	for (u32 measured = 0; measured <= 1; measured++) {
		struct fg_balance_walk w = walk(0);
		struct fg_domain *mc = cpus[0].sd;

		sys.feat.value[FG_NEWIDLE_COST] = (u8)measured;
		cpus[0].avg_idle = 1000000;
		mc->last_balance = 1000;
		mc->balance_interval = 8;
		fg_newidle_begin(&sys, &w);
		CHECK_EQ(fg_newidle_domain(&sys, mc, &cpus[0], &w), FG_BALANCE_NOW);
		mc->balance_interval = 4;
		fg_newidled_domain(&sys, mc, &cpus[0], &w, 1000);
		CHECK_EQ(w.next_balance, measured ? 1002 : 1001);
	}
}

TEST(features_say_what_they_can)
{
	CHECK_EQ(fg_feature_ready(FG_ASYM_PREV_FIRST, 0), 1);
	CHECK_EQ(fg_feature_ready(FG_ASYM_PREV_FIRST, 1), 1);
	CHECK_EQ(fg_feature_ready(FG_ASYM_PREV_FIRST, 2), 0);
	CHECK_EQ(fg_feature_ready(FG_LB_P04, 1), 1);
	CHECK_EQ(fg_feature_ready(FG_PELT_SUM, FG_PELT_SUM_FLOOR), 1);
	CHECK_EQ(fg_feature_ready(FG_FEEC, FG_FEEC_TRI), 1);
	CHECK_EQ(fg_feature_ready(FG_FEEC, FG_FEEC_TRI + 1), 0);
	CHECK_EQ(fg_feature_ready(FG_FEEC_TRIVIAL, FG_FEEC_TRIVIAL_MINIMUM + 1), 0);
	CHECK_EQ(fg_feature_ready(FG_EM_COST, FG_EM_COST_PERFORMANCE + 1), 0);
	CHECK_EQ(fg_feature_ready(FG_ASYM_PRIO, FG_ASYM_PRIO_CORE), 1);
	CHECK_EQ(fg_feature_ready(FG_ASYM_PRIO, FG_ASYM_PRIO_CORE + 1), 0);
	/* what shapes domains only */
	CHECK_EQ(fg_feature_ready(FG_CLS_DOMAIN, 1), 1);
	CHECK_EQ(fg_feature_ready(FG_ASYM_CAP_FULL, 1), 1);
	CHECK_EQ(fg_feature_ready(FG_SIS_MODE, FG_SIS_UTIL), 1);
	CHECK_EQ(fg_feature_ready(FG_SIS_MODE, FG_SIS_UTIL + 1), 0);
	CHECK_EQ(fg_feature_ready(FG_CLS_SELECT, FG_CLS_LANDED), 1);
	CHECK_EQ(fg_feature_ready(FG_CLS_SELECT, FG_CLS_LANDED + 1), 0);
	CHECK_EQ(fg_feature_ready(FG_RQ, FG_RQ_EEVDF612), 1);
	CHECK_EQ(fg_feature_ready(FG_RQ, FG_RQ_EEVDF612 + 1), 0);
	CHECK_EQ(fg_feature_ready(FG_NR_FEATURES, 0), 0);
	CHECK(FG_NR_FEATURES <= FG_MAX_FEATURES);
}

int main(void)
{
	RUN(intervals);
	RUN(group_capacities_of_the_local_group);
	RUN(one_cpu_of_a_group_balances);
	RUN(group_capacities_are_always_due_but_newly_idle);
	RUN(a_busy_cpu_walks_its_domains);
	RUN(the_costs_of_a_cpu_are_at_least_half_a_millisecond);
	RUN(who_is_not_to_balance_stops_there);
	RUN(who_pulled_something_is_busy_from_then_on);
	RUN(since_v516_the_last_domain_says_whether_costs_are_renewed);
	RUN(sched_idle_tasks_do_not_make_a_cpu_busy);
	RUN(the_kind_is_that_of_the_last_tick);
	RUN(root_status);
	RUN(scans_of_the_cache_go_as_far_as_it_idles);
	RUN(a_wakeup_on_its_way_spares_newly_idle_balancing);
	RUN(an_idle_pass_brings_the_turn_of_all_forward);
	RUN(the_second_task_of_a_cpu_is_an_overload);
	RUN(a_misfit_of_another_group_is_an_overload);
	RUN(newidle_gate);
	RUN(newidle_gate_by_measured_cost);
	RUN(newly_idle_as_far_as_the_idle_time_pays);
	RUN(since_v516_newidle_goes_by_the_interval_it_found);
	RUN(features_say_what_they_can);
	return test_report();
}
