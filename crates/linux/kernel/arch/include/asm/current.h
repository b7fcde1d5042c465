/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_CURRENT_H
#define _ASM_SIM_CURRENT_H

#ifndef __ASSEMBLY__
struct task_struct;
extern struct task_struct *ks_current;
#define get_current() ks_current
#define current ks_current
#endif

#endif
