/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_IRQFLAGS_H
#define _ASM_SIM_IRQFLAGS_H

#define ARCH_IRQ_DISABLED 1UL
#define ARCH_IRQ_ENABLED 0UL

#ifndef __ASSEMBLY__
extern unsigned long ks_irqs_off;

static inline unsigned long arch_local_save_flags(void)
{
	return ks_irqs_off;
}

static inline void arch_local_irq_restore(unsigned long flags)
{
	ks_irqs_off = flags;
}

#include <asm-generic/irqflags.h>
#endif

#endif
