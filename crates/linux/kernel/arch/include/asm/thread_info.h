/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_THREAD_INFO_H
#define _ASM_SIM_THREAD_INFO_H

#define THREAD_SIZE_ORDER 0
#define THREAD_SIZE 4096

#ifndef __ASSEMBLY__

struct thread_info {
	unsigned long flags;
	unsigned long syscall_work;
	unsigned int cpu;
	int preempt_count;
};

#define INIT_THREAD_INFO(tsk) { .preempt_count = INIT_PREEMPT_COUNT }

#endif

#define TIF_SIGPENDING 0
#define TIF_NEED_RESCHED 1
#define TIF_NOTIFY_SIGNAL 2
#define TIF_NOTIFY_RESUME 3
#define TIF_SYSCALL_TRACE 4
#define TIF_RESTORE_SIGMASK 5
#define TIF_MEMDIE 6
#define TIF_UPROBE 7
#define TIF_PATCH_PENDING 8
#ifdef CONFIG_ARCH_HAS_PREEMPT_LAZY
#define TIF_NEED_RESCHED_LAZY 9
#define _TIF_NEED_RESCHED_LAZY (1 << TIF_NEED_RESCHED_LAZY)
#endif
/* TIF_POLLING_NRFLAG is not defined: an idle CPU does not poll and needs an IPI to wake up. */

#define _TIF_SIGPENDING (1 << TIF_SIGPENDING)
#define _TIF_NEED_RESCHED (1 << TIF_NEED_RESCHED)
#define _TIF_NOTIFY_SIGNAL (1 << TIF_NOTIFY_SIGNAL)
#define _TIF_NOTIFY_RESUME (1 << TIF_NOTIFY_RESUME)
#define _TIF_UPROBE (1 << TIF_UPROBE)
#define _TIF_PATCH_PENDING (1 << TIF_PATCH_PENDING)

#endif
