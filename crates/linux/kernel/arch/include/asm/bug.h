/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_BUG_H
#define _ASM_SIM_BUG_H

#ifndef __ASSEMBLY__
void ks_bug(const char *file, int line, const char *function) __attribute__((noreturn, cold));
#define HAVE_ARCH_BUG
#define BUG() ks_bug(__FILE__, __LINE__, __func__)
#endif

#include <asm-generic/bug.h>

#endif
