/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stands for the tree's build_utility.c, which came in v5.18. Before, each of its parts is an object of its own, under
 * the options that are tested here.
 */
#include "../../../kernel/sched/clock.c"
#include "../../../kernel/sched/loadavg.c"
#include "../../../kernel/sched/completion.c"
#include "../../../kernel/sched/swait.c"
#include "../../../kernel/sched/wait_bit.c"
#include "../../../kernel/sched/wait.c"
#include "../../../kernel/sched/cpupri.c"
#include "../../../kernel/sched/stop_task.c"
#include "../../../kernel/sched/topology.c"
#ifdef CONFIG_CPU_FREQ
#include "../../../kernel/sched/cpufreq.c"
#endif
#ifdef CONFIG_CPU_FREQ_GOV_SCHEDUTIL
#undef pr_fmt	/* The file defines its own. */
#include "../../../kernel/sched/cpufreq_schedutil.c"
#endif
#ifdef CONFIG_SCHED_DEBUG
#include "../../../kernel/sched/debug.c"
#endif
#ifdef CONFIG_SCHEDSTATS
#include "../../../kernel/sched/stats.c"
#endif
#ifdef CONFIG_SCHED_CORE
#include "../../../kernel/sched/core_sched.c"
#endif
#ifdef CONFIG_CGROUP_CPUACCT
#include "../../../kernel/sched/cpuacct.c"
#endif
#ifdef CONFIG_PSI
#include "../../../kernel/sched/psi.c"
#endif
#ifdef CONFIG_MEMBARRIER
#include "../../../kernel/sched/membarrier.c"
#endif
#ifdef CONFIG_CPU_ISOLATION
#include "../../../kernel/sched/isolation.c"
#endif
#ifdef CONFIG_SCHED_AUTOGROUP
#include "../../../kernel/sched/autogroup.c"
#endif
