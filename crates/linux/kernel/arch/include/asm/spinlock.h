/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_SPINLOCK_H
#define _ASM_SIM_SPINLOCK_H

#include <linux/compiler.h>
#include <asm/spinlock_types.h>

/*
 * One thread runs all CPUs and never switches CPUs within a critical section, so a lock is never contended. To find a
 * lock held is a deadlock.
 */
void ks_lock_fault(const char *what) __attribute__((noreturn, cold));

/* Locks of all kinds below that are held. Who holds one must not sleep. */
extern unsigned int ks_locks_held;

#define arch_spin_is_locked(l) ((l)->held != 0)
#define arch_spin_is_contended(l) 0
#define arch_spin_value_unlocked(l) ((l).held == 0)

static __always_inline void arch_spin_lock(arch_spinlock_t *l)
{
	if (unlikely(l->held))
		ks_lock_fault("a spinlock is taken that is already held");
	l->held = 1;
	ks_locks_held++;
}

static __always_inline int arch_spin_trylock(arch_spinlock_t *l)
{
	if (l->held)
		return 0;
	l->held = 1;
	ks_locks_held++;
	return 1;
}

static __always_inline void arch_spin_unlock(arch_spinlock_t *l)
{
	if (unlikely(!l->held))
		ks_lock_fault("a spinlock is released that is not held");
	l->held = 0;
	ks_locks_held--;
}

static __always_inline void arch_read_lock(arch_rwlock_t *l)
{
	if (unlikely(l->readers < 0))
		ks_lock_fault("a rwlock is taken for reading that is held for writing");
	l->readers++;
	ks_locks_held++;
}

static __always_inline void arch_write_lock(arch_rwlock_t *l)
{
	if (unlikely(l->readers))
		ks_lock_fault("a rwlock is taken for writing that is already held");
	l->readers = -1;
	ks_locks_held++;
}

static __always_inline int arch_read_trylock(arch_rwlock_t *l)
{
	return l->readers < 0 ? 0 : (l->readers++, ks_locks_held++, 1);
}

static __always_inline int arch_write_trylock(arch_rwlock_t *l)
{
	return l->readers ? 0 : (l->readers = -1, ks_locks_held++, 1);
}

static __always_inline void arch_read_unlock(arch_rwlock_t *l)
{
	if (unlikely(l->readers <= 0))
		ks_lock_fault("a rwlock is released that is not held for reading");
	l->readers--;
	ks_locks_held--;
}

static __always_inline void arch_write_unlock(arch_rwlock_t *l)
{
	if (unlikely(l->readers != -1))
		ks_lock_fault("a rwlock is released that is not held for writing");
	l->readers = 0;
	ks_locks_held--;
}

#endif
