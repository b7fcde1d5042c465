// SPDX-License-Identifier: GPL-2.0-only
/* one queue for remote calls and wakeups (v5.8): __smp_call_single_queue() and sched_ttwu_pending() */
#include "../probes/tree.h"
#include "../../kernel/sched/smp.h"

void (*ks_queue)(int cpu, struct llist_node *node) = __smp_call_single_queue;
void (*ks_pending)(void *arg) = sched_ttwu_pending;
