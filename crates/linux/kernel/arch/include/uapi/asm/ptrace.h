/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
#ifndef _UAPI_ASM_SIM_PTRACE_H
#define _UAPI_ASM_SIM_PTRACE_H

#ifndef __ASSEMBLY__
struct pt_regs {
	unsigned long none;
};
#endif

#endif
