/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_TIMEX_H
#define _ASM_SIM_TIMEX_H

typedef unsigned long cycles_t;
#define get_cycles() 0UL

#endif
