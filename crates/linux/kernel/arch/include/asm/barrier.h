/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_BARRIER_H
#define _ASM_SIM_BARRIER_H

/* One thread runs all CPUs, so a compiler barrier is enough. */
#define mb() barrier()
#define __smp_mb() barrier()
#define __smp_rmb() barrier()
#define __smp_wmb() barrier()

#include <asm-generic/barrier.h>

#endif
