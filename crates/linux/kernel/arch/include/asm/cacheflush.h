/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_CACHEFLUSH_H
#define _ASM_SIM_CACHEFLUSH_H

#include <asm-generic/cacheflush.h>

#endif
