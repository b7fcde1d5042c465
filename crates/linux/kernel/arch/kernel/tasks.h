/* SPDX-License-Identifier: GPL-2.0-only */
/* Task numbers of the host. */
#ifndef KS_TASKS_H
#define KS_TASKS_H

struct task_struct;

struct task_struct *ks_task(int number);	/* faults if there is none */
int ks_task_number(const struct task_struct *p);	/* KS_NONE: NULL, an idle task or a stopper */

#endif
