/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_IO_H
#define _ASM_SIM_IO_H

#include <linux/types.h>

/* There are no devices. */
#define readb(a) 0
#define readw(a) 0
#define readl(a) 0
#define readq(a) 0
#define writeb(v, a) ((void)(v))
#define writew(v, a) ((void)(v))
#define writel(v, a) ((void)(v))
#define writeq(v, a) ((void)(v))
#define virt_to_phys(a) ((unsigned long)(a))
#define phys_to_virt(a) ((void *)(unsigned long)(a))

#endif
