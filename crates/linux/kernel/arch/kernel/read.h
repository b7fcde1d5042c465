/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions of read.c for the table in calls.c. */
#ifndef KS_READ_H
#define KS_READ_H

#include "read_avg.h"

void ks_read_task(s32 task, struct fg_task *to);
void ks_read_cpu(s32 cpu, struct fg_cpu *to);
extern const struct ks_read ks_reader;

#endif
