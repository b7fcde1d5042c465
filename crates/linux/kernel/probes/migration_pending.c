// SPDX-License-Identifier: GPL-2.0-only
/* v5.11: a task can disable its migration, and a change of its affinity then waits. */
#include "tree.h"

int ks_probe(struct task_struct *p);
int ks_probe(struct task_struct *p)
{
	return p->migration_pending ? p->migration_disabled : 0;
}
