/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_PROCESSOR_H
#define _ASM_SIM_PROCESSOR_H

#include <linux/compiler.h>
#include <asm/ptrace.h>

#define TASK_SIZE (1UL << 47)
#define STACK_TOP TASK_SIZE
#define STACK_TOP_MAX TASK_SIZE
#define TASK_UNMAPPED_BASE (TASK_SIZE / 3)

#ifndef __ASSEMBLY__

struct task_struct;

/* Tasks have neither a kernel stack nor registers: schedule() returns with the next task as current. */
struct thread_struct {
	int none;
};

#define INIT_THREAD { 0 }
#define task_pt_regs(task) ((struct pt_regs *)NULL)
#define KSTK_EIP(task) 0UL
#define KSTK_ESP(task) 0UL
#define cpu_relax() barrier()

static inline void start_thread(struct pt_regs *regs, unsigned long pc, unsigned long sp)
{
}

/* Of the architecture in trees up to v5.15. */
unsigned long get_wchan(struct task_struct *p);

static inline unsigned long __get_wchan(struct task_struct *p)
{
	return 0;
}

#endif
#endif
