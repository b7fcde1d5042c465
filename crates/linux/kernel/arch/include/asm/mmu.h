/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_MMU_H
#define _ASM_SIM_MMU_H

typedef struct {
	unsigned long end_brk;
} mm_context_t;

#endif
