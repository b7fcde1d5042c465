/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_SPINLOCK_TYPES_H
#define _ASM_SIM_SPINLOCK_TYPES_H

typedef struct {
	unsigned int held;
} arch_spinlock_t;

typedef struct {
	int readers;	/* -1: held for writing */
} arch_rwlock_t;

#define __ARCH_SPIN_LOCK_UNLOCKED { 0 }
#define __ARCH_RW_LOCK_UNLOCKED { 0 }

#endif
