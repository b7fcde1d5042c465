/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_SMP_H
#define _ASM_SIM_SMP_H

#ifndef __ASSEMBLY__
#include <linux/cpumask.h>

/* The CPU whose code runs. */
extern int ks_cpu;
#define raw_smp_processor_id() ks_cpu

/* Two spellings: the generic name changed, and one of them is used by any tree. */
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
