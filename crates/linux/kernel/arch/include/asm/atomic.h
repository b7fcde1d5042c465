/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_ATOMIC_H
#define _ASM_SIM_ATOMIC_H

#include <linux/types.h>
#include <asm/barrier.h>
#include <asm/cmpxchg.h>

/* Tells trees up to v5.12 that the functions below are named arch_atomic_*, as in all later ones. */
#define ARCH_ATOMIC

/* One thread runs all CPUs, so plain arithmetic is atomic. The tree derives every other atomic_* from these. */
#define KS_ATOMIC_VOID(prefix, type, num, name, op)			\
static __always_inline void prefix##_##name(num i, type *v)		\
{									\
	v->counter = (v->counter) op i;					\
}

#define KS_ATOMIC_RETURN(prefix, type, num, name, op)			\
static __always_inline num prefix##_##name##_return(num i, type *v)	\
{									\
	return v->counter = (v->counter) op i;				\
}

#define KS_ATOMIC_FETCH(prefix, type, num, name, op)			\
static __always_inline num prefix##_fetch_##name(num i, type *v)	\
{									\
	num old = v->counter;						\
									\
	v->counter = old op i;						\
	return old;							\
}

#define KS_ATOMIC(prefix, type, num)					\
static __always_inline num prefix##_read(const type *v)			\
{									\
	return *(const volatile num *)&v->counter;			\
}									\
static __always_inline void prefix##_set(type *v, num i)		\
{									\
	*(volatile num *)&v->counter = i;				\
}									\
static __always_inline num prefix##_xchg(type *v, num new)		\
{									\
	return arch_xchg(&v->counter, new);				\
}									\
static __always_inline num prefix##_cmpxchg(type *v, num old, num new)	\
{									\
	return arch_cmpxchg(&v->counter, old, new);			\
}									\
KS_ATOMIC_VOID(prefix, type, num, add, +)				\
KS_ATOMIC_VOID(prefix, type, num, sub, -)				\
KS_ATOMIC_VOID(prefix, type, num, and, &)				\
KS_ATOMIC_VOID(prefix, type, num, or, |)				\
KS_ATOMIC_VOID(prefix, type, num, xor, ^)				\
KS_ATOMIC_RETURN(prefix, type, num, add, +)				\
KS_ATOMIC_RETURN(prefix, type, num, sub, -)				\
KS_ATOMIC_FETCH(prefix, type, num, add, +)				\
KS_ATOMIC_FETCH(prefix, type, num, sub, -)				\
KS_ATOMIC_FETCH(prefix, type, num, and, &)				\
KS_ATOMIC_FETCH(prefix, type, num, or, |)				\
KS_ATOMIC_FETCH(prefix, type, num, xor, ^)

KS_ATOMIC(arch_atomic, atomic_t, int)
KS_ATOMIC(arch_atomic64, atomic64_t, s64)

/* The tree tests these macros before it defines a fallback. */
#define arch_atomic_xchg arch_atomic_xchg
#define arch_atomic_cmpxchg arch_atomic_cmpxchg
#define arch_atomic_add_return arch_atomic_add_return
#define arch_atomic_sub_return arch_atomic_sub_return
#define arch_atomic_fetch_add arch_atomic_fetch_add
#define arch_atomic_fetch_sub arch_atomic_fetch_sub
#define arch_atomic_fetch_and arch_atomic_fetch_and
#define arch_atomic_fetch_or arch_atomic_fetch_or
#define arch_atomic_fetch_xor arch_atomic_fetch_xor
#define arch_atomic64_xchg arch_atomic64_xchg
#define arch_atomic64_cmpxchg arch_atomic64_cmpxchg
#define arch_atomic64_add_return arch_atomic64_add_return
#define arch_atomic64_sub_return arch_atomic64_sub_return
#define arch_atomic64_fetch_add arch_atomic64_fetch_add
#define arch_atomic64_fetch_sub arch_atomic64_fetch_sub
#define arch_atomic64_fetch_and arch_atomic64_fetch_and
#define arch_atomic64_fetch_or arch_atomic64_fetch_or
#define arch_atomic64_fetch_xor arch_atomic64_fetch_xor
#define ATOMIC64_INIT(i) { (i) }

#endif
