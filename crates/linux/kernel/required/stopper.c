// SPDX-License-Identifier: GPL-2.0-only
/* works of stoppers: struct cpu_stop_work */
#include "../probes/tree.h"
#include <linux/stop_machine.h>

struct cpu_stop_work ks_work = { .fn = NULL, .arg = NULL, .done = NULL };
