// SPDX-License-Identifier: GPL-2.0-only
/* Workqueues: a work item runs at the end of the host's call. Its users need only that it runs without their locks. */
#include "sim.h"
#include <linux/workqueue.h>

static LIST_HEAD(works);

bool queue_work_on(int cpu, struct workqueue_struct *wq, struct work_struct *work)
{
	if (!list_empty(&work->entry))
		return false;
	list_add_tail(&work->entry, &works);
	return true;
}

void ks_run_works(void)
{
	while (!list_empty(&works)) {
		struct work_struct *work = list_first_entry(&works, struct work_struct, entry);

		list_del_init(&work->entry);
		work->func(work);
	}
}
