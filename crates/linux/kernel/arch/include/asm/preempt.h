/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_PREEMPT_H
#define _ASM_SIM_PREEMPT_H

#include <asm-generic/preempt.h>

/* Nobody schedules in the middle of a call of the host: it is told, and calls schedule() when the call is over. */
#define should_resched(offset) false
#define __preempt_count_dec_and_test() ({ __preempt_count_sub(1); false; })

#endif
