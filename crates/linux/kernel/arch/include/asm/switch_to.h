/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_SWITCH_TO_H
#define _ASM_SIM_SWITCH_TO_H

#include <asm/current.h>

/* There are no stacks to switch: from here on the code runs in the name of the next task. */
#define switch_to(prev, next, last)	\
do {					\
	(last) = (prev);		\
	ks_current = (next);		\
} while (0)

#endif
