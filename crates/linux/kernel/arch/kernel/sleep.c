// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where code may sleep, and what it would sleep on. Nothing sleeps here: a mutex that is held is a deadlock, as its holder
 * does not run before the call of the host has returned. What would sleep in atomic context in a kernel ends the run.
 *
 * The functions have other types, and some other names, from tree to tree; so they are defined by their symbols.
 */
#include "sim.h"

unsigned int ks_locks_held;

/* what: the function that may sleep. */
void ks_may_sleep(const char *what)
{
	char text[160];

	if (system_state == SYSTEM_BOOTING)
		return;
	if (ks_locks_held)
		snprintf(text, sizeof(text), "%s while %u spinlock%s held", what, ks_locks_held,
			 ks_locks_held == 1 ? " is" : "s are");
	else if (preempt_count() & (HARDIRQ_MASK | SOFTIRQ_MASK))
		snprintf(text, sizeof(text), "%s in an interrupt", what);
	else
		return;
	ks_fault(KS_FAULT_SLEEP, text);
}

/* An allocation with these flags. A debug build minds where. */
void ks_may_alloc(unsigned int flags)
{
	if (IS_ENABLED(CONFIG_DEBUG_ATOMIC_SLEEP) && gfpflags_allow_blocking((__force gfp_t)flags))
		ks_may_sleep("an allocation that may sleep");
}

/* ---- mutexes: the owner is the struct's first member in all trees ------------------------------------------------ */

struct ks_mutex {
	struct task_struct *owner;
};

/* Of the tree's struct, for who asserts that a mutex is held. The order of mutexes is not checked: hence as if tried. */
#define MAP(m) (&((struct mutex *)(m))->dep_map)

static void take(struct ks_mutex *m)
{
	if (m->owner == current)
		ks_lock_fault("a mutex is locked that its owner holds already");
	if (m->owner)
		ks_lock_fault("a mutex is locked that another task holds");
	m->owner = current;
	mutex_acquire(MAP(m), 0, 1, _RET_IP_);
}

#define LOCK(type, result, name)			\
	type ks_##name(struct ks_mutex *m) asm(#name);	\
	type ks_##name(struct ks_mutex *m)		\
	{						\
		ks_may_sleep(#name "()");		\
		take(m);				\
		return result;				\
	}

LOCK(void, , mutex_lock)
LOCK(void, , mutex_lock_nested)
LOCK(void, , _mutex_lock_nest_lock)
LOCK(int, 0, mutex_lock_interruptible)
LOCK(int, 0, mutex_lock_interruptible_nested)
LOCK(int, 0, mutex_lock_killable)
LOCK(int, 0, mutex_lock_killable_nested)
LOCK(int, 0, _mutex_lock_killable)

int ks_mutex_trylock(struct ks_mutex *m) asm("mutex_trylock");
int ks_mutex_trylock(struct ks_mutex *m)
{
	if (m->owner)
		return 0;
	take(m);
	return 1;
}

/* From v6.17 on, if lockdep is on. */
int ks_mutex_trylock_nested(struct ks_mutex *m) asm("_mutex_trylock_nest_lock") __alias(mutex_trylock);

bool ks_mutex_is_locked(struct ks_mutex *m) asm("mutex_is_locked");
bool ks_mutex_is_locked(struct ks_mutex *m)
{
	return m->owner;
}

void ks_mutex_unlock(struct ks_mutex *m) asm("mutex_unlock");
void ks_mutex_unlock(struct ks_mutex *m)
{
	if (!m->owner)
		ks_lock_fault("a mutex is unlocked that is not held");
	m->owner = NULL;
	mutex_release(MAP(m), _RET_IP_);
}

#define INIT(name)						\
	void ks_##name(struct ks_mutex *m) asm(#name);		\
	void ks_##name(struct ks_mutex *m)			\
	{							\
		m->owner = NULL;				\
	}

INIT(__mutex_init)
INIT(mutex_init_generic)
INIT(mutex_init_lockdep)
INIT(mutex_destroy)

/* ---- semaphores: never contended, not counted --------------------------------------------------------------------- */

#define SLEEPS(name)				\
	long ks_##name(void) asm(#name);	\
	long ks_##name(void)			\
	{					\
		ks_may_sleep(#name "()");	\
		return 0;			\
	}

SLEEPS(down_read)
SLEEPS(down_write)
SLEEPS(percpu_down_write)
SLEEPS(synchronize_rcu)
