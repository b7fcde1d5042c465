/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_MMU_CONTEXT_H
#define _ASM_SIM_MMU_CONTEXT_H

#include <linux/mm_types.h>
#include <linux/sched.h>
#if __has_include(<asm-generic/nommu_context.h>)
#include <asm-generic/nommu_context.h>
#else
#include <asm-generic/mmu_context.h>
#endif

#endif
