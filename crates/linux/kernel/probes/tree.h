/* SPDX-License-Identifier: GPL-2.0-only */
/* The scheduler's private types. */
#include <linux/mmu_context.h>
#include <linux/sched/cputime.h>
#include <linux/cpufreq.h>
#include <linux/cpuidle.h>
#include <../kernel/sched/sched.h>
