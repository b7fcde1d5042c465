/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the tree's sched.h and its .c files: looks at run queues are counted, interrupt time is the host's. */
#ifndef KS_LOOKS_H
#define KS_LOOKS_H

#include "sim.h"

#undef cpu_rq
#define cpu_rq(cpu) ks_look(cpu)

#ifdef CONFIG_IRQ_TIME_ACCOUNTING
#define irq_time_read(cpu) ks_call(irq_time, cpu)
#endif

#endif
