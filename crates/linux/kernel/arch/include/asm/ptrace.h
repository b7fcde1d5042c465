/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_PTRACE_H
#define _ASM_SIM_PTRACE_H

#include <uapi/asm/ptrace.h>

#ifndef __ASSEMBLY__
#define user_mode(regs) 1
#define instruction_pointer(regs) 0UL
#define user_stack_pointer(regs) 0UL
#define profile_pc(regs) 0UL
#define arch_has_single_step() 0
#define regs_return_value(regs) 0L
#define is_syscall_success(regs) 1
#define current_pt_regs() ((struct pt_regs *)NULL)
#endif

#endif
