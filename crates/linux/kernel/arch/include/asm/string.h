/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_STRING_H
#define _ASM_SIM_STRING_H
/* memcpy() and the like are libc's: the library runs in a process of the host. */
#endif
