/* SPDX-License-Identifier: GPL-2.0-only */
/* What bpf/wake.bpf.c is asked: the arguments of fg_select_task_rq() as addresses of user space. */
#ifndef WAKE_H
#define WAKE_H

struct wake_question {
	unsigned long long sys;
	unsigned long long p;
	unsigned long long w;
	unsigned long long v;
};

#endif
