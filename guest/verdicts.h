/* SPDX-License-Identifier: GPL-2.0-only */
/* The policy as BPF against the policy as it is compiled for the CPU, see verdicts.c. */
#ifndef VERDICTS_H
#define VERDICTS_H

/* Loads bpf/wake.bpf.c and asks both about so many random states. Prints how it went; 0: all the same. */
int check_verdicts(int states);

#endif
