// SPDX-License-Identifier: GPL-2.0-only
/* stopper tasks: sched_set_stop_task() and struct cpu_stop_work */
#include "../probes/tree.h"
#include <linux/stop_machine.h>

void (*ks_probe)(int cpu, struct task_struct *stop) = sched_set_stop_task;
struct cpu_stop_work ks_work = { .fn = NULL, .arg = NULL, .done = NULL };
