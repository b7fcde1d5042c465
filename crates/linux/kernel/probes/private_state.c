// SPDX-License-Identifier: GPL-2.0-only
/* v5.14: the new name of task_struct.state. */
#include "tree.h"

unsigned int ks_probe(struct task_struct *p);
unsigned int ks_probe(struct task_struct *p)
{
	return p->__state;
}
