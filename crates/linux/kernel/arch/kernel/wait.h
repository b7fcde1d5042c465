/* SPDX-License-Identifier: GPL-2.0-only */
/* Included before the tree's core.c: where it would sleep until a stopper is done, it calls ks_wait(), see wait.c. */
#ifndef KS_WAIT_H
#define KS_WAIT_H

#include <linux/completion.h>
#include <linux/wait_bit.h>

void ks_wait(void);
void ks_wait_for_completion(struct completion *x);

#define wait_for_completion ks_wait_for_completion
#undef wait_var_event
#define wait_var_event(var, condition)	\
do {					\
	while (!(condition))		\
		ks_wait();		\
} while (0)

#endif
