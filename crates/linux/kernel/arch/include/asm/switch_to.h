/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_SWITCH_TO_H
#define _ASM_SIM_SWITCH_TO_H

#include <asm/current.h>

/* Tasks have no stacks to switch: only current changes. */
#define switch_to(prev, next, last)	\
do {					\
	(last) = (prev);		\
	ks_current = (next);		\
} while (0)

#endif
