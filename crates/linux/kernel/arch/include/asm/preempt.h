/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_PREEMPT_H
#define _ASM_SIM_PREEMPT_H

#include <asm-generic/preempt.h>

/*
 * The kernel never preempts during a call of the host. ks_leave() reports need_resched to the host, which calls
 * schedule() after the call.
 */
#define should_resched(offset) false
#define __preempt_count_dec_and_test() ({ __preempt_count_sub(1); false; })

#endif
