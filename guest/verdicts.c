// SPDX-License-Identifier: GPL-2.0-only
/*
 * The verifier's word on the policy, and proof that what it accepts decides as everywhere else: the same random states,
 * in the same memory, shown to the program in the kernel and to the policy as compiled for this CPU. The only program
 * of its guest: the one that plays scenarios (init.c) stays the same, byte for byte, whatever becomes of the policy.
 *
 * All of the state, the test kit's statics, lies in a section of its own. The BPF arena is mapped over
 * that section, so that its addresses and the pointers within are those of user space.
 */
#include <stdio.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "boot.h"
#include "bpf/wake.h"

#define PAGE 4096

/* arena.ld */
extern char arena_start[], arena_end[];

#pragma clang section bss = "arena"

#include "tests/random.h"

static struct fg_task task;
static struct fg_wake wake;
static struct fg_why why;
static struct fg_why why_bpf;
static struct fg_verdict verdict;
static struct fg_verdict verdict_bpf;

#pragma clang section bss = ""

static int load(struct bpf_object *obj)
{
	struct bpf_map *arena = bpf_object__find_map_by_name(obj, "arena");
	long pages = (arena_end - arena_start) / PAGE;

	if (!arena || pages <= 0)
		return -1;
	bpf_map__set_max_entries(arena, pages);
	bpf_map__set_map_extra(arena, (unsigned long)arena_start);
	if (bpf_object__load(obj))
		return -1;
	/* Pages come into being when user space touches them; what a program writes to one that is not there is lost. */
	memset(arena_start, 0, pages * PAGE);
	return 0;
}

static void random_version(void)
{
	static void (*const preset[])(void) = { kit_preset_v54, kit_preset_v59, kit_preset_v511, kit_preset_v516,
						kit_preset_v61, kit_preset_v67, kit_preset_v612 };

	preset[rnd(sizeof(preset) / sizeof(preset[0]))]();
	if (rnd(6) == 0)
		random_old_version();
}

static void random_question(void)
{
	static const u32 flags[] = { FG_WF_TTWU, FG_WF_TTWU | FG_WF_SYNC, FG_WF_FORK, FG_WF_EXEC };

	random_state();
	task = random_task();
	random_capacity_tests(&task);
	wake.this_cpu = (s32)rnd(sys.nr_cpus);
	wake.current = cpus[wake.this_cpu].curr;
	wake.now = 1000000;
	wake.flags = flags[rnd(4)];
	if (wake.flags == FG_WF_FORK)
		task.flags = FG_TASK_NEW;
	for (u32 c = 0; c < sys.nr_cpus; c++) {
		if (cpus[c].llc)
			cpus[c].llc->nr_idle_scan = rnd(10);
	}
}

/* Every other one also why. */
static int ask_both(int prog, u32 asks_why)
{
	struct wake_question q = { (u64)&sys, (u64)&task, (u64)&wake, (u64)&verdict_bpf };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &q, .ctx_size_in = sizeof(q));

	why.nr = why_bpf.nr = 0;
	memset(&verdict, 0, sizeof(verdict));
	memset(&verdict_bpf, 0xff, sizeof(verdict_bpf));
	wake.why = asks_why ? &why : 0;
	fg_select_task_rq(&sys, &task, &wake, &verdict);
	wake.why = asks_why ? &why_bpf : 0;
	if (bpf_prog_test_run_opts(prog, &opts) || opts.retval)
		return -1;
	return memcmp(&verdict, &verdict_bpf, sizeof(verdict)) || why.nr != why_bpf.nr ||
	       memcmp(why.note, why_bpf.note, why.nr * sizeof(why.note[0]));
}

/* Asks both about so many random states, and prints how it went. */
static void check_verdicts(int states)
{
	struct bpf_object *obj = bpf_object__open("/wake.bpf.o");
	u32 rules[FG_NR_RULES] = { 0 }, seen = 0;
	int prog, i;

	if (!obj || load(obj)) {
		printf("# the verifier does not accept wake.bpf.o\n");
		return;
	}
	printf("# the verifier accepts wake.bpf.o\n");
	prog = bpf_program__fd(bpf_object__find_program_by_name(obj, "decide"));
	for (i = 0; i < states; i++) {
		if (i % 20 == 0) {
			random_machine();
			random_version();
		}
		random_question();
		if (ask_both(prog, rnd(2))) {
			printf("# state %d: cpu %d by rule %u, in BPF cpu %d by rule %u\n", i, verdict.cpu,
			       verdict.rule, verdict_bpf.cpu, verdict_bpf.rule);
			return;
		}
		seen += !rules[verdict.rule]++;
	}
	printf("# %d verdicts are the same, ending with %u rules\n", states, seen);
}

int main(void)
{
	mount_all();
	check_verdicts(number("verdicts"));
	turn_off();
	return 1;
}
