/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_CMPXCHG_H
#define _ASM_SIM_CMPXCHG_H

#include <linux/types.h>

/* One thread runs all CPUs, so a plain read, test and write is atomic. */
#define arch_xchg(ptr, new)						\
({									\
	__typeof__(ptr) __xp = (ptr);					\
	__typeof__(*(ptr)) __xo = *__xp;				\
	*(volatile __typeof__(*(ptr)) *)__xp = (__typeof__(*(ptr)))(new);	\
	__xo;								\
})

#define arch_cmpxchg(ptr, old, new)					\
({									\
	__typeof__(ptr) __cp = (ptr);					\
	__typeof__(*(ptr)) __co = *(volatile __typeof__(*(ptr)) *)__cp;	\
	if (__co == (__typeof__(*(ptr)))(old))				\
		*(volatile __typeof__(*(ptr)) *)__cp = (__typeof__(*(ptr)))(new);	\
	__co;								\
})

#define arch_cmpxchg_local arch_cmpxchg
#define arch_cmpxchg64 arch_cmpxchg
#define arch_cmpxchg64_local arch_cmpxchg

#endif
