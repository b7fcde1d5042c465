/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_SMP_H
#define _ASM_SIM_SMP_H

#ifndef __ASSEMBLY__
#include <linux/cpumask.h>

/* The CPU on which the host's call runs, see cpu.c. */
extern int ks_cpu;
#define raw_smp_processor_id() ks_cpu

/* The generic function was renamed to arch_smp_send_reschedule(); a tree calls one of the two. */
void smp_send_reschedule(int cpu);
void arch_smp_send_reschedule(int cpu);
void arch_send_call_function_single_ipi(int cpu);
void arch_send_call_function_ipi_mask(const struct cpumask *mask);

static inline int hard_smp_processor_id(void)
{
	return ks_cpu;
}

#endif
#endif
