/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_STRING_H
#define _ASM_SIM_STRING_H
/* The host's libc has the same functions. */
#endif
