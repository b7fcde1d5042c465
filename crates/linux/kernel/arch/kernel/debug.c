// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a debug build checks beside what every build does: the tree's own checks of spinlocks and lists, and what lockdep
 * promises of locks: whoever asserts one holds it, a pinned one is not released, none is taken again, and two are not
 * taken in both orders. A class is a key with a subclass, as in lockdep. Interrupts are not followed.
 *
 * One thread runs all CPUs and leaves no critical section in between, so there is one list of what is held.
 */
#include "sim.h"
#include <linux/debug_locks.h>
#include <linux/mutex.h>

#ifdef CONFIG_DEBUG_SPINLOCK
int debug_locks = 1;
int debug_locks_silent;

int debug_locks_off(void)
{
	return 1;
}

#include "../../../kernel/locking/spinlock_debug.c"
#endif

#ifdef CONFIG_DEBUG_LIST
#include "../../../lib/list_debug.c"
#endif

#ifdef CONFIG_LOCKDEP

/* The most classes that are told apart; lockdep knows 8192. Beyond that the order is not checked. */
#define MAX_CLASSES 256
/* The most locks that are held at a time, as in lockdep. */
#define MAX_HELD 48

struct lock_order {
	const void *key;
	unsigned int subclass;
	const char *name;
	DECLARE_BITMAP(after, MAX_CLASSES);	/* classes that were taken while one of this was held */
};

struct held {
	struct lockdep_map *map;
	int class;				/* in classes; -1: not to be checked */
	int read;				/* 0 for writing, 1 for reading, 2 for reading where recursion is allowed */
	unsigned int pins;
};

static struct lock_order classes[MAX_CLASSES];
static int nr_classes;
static struct held held[MAX_HELD];
static int nr_held;

struct lock_class_key __lockdep_no_validate__;
/* From v6.12 on. */
struct lock_class_key ks_no_track asm("__lockdep_no_track__");

/* Those of RCU's readers. Who is in no RCU reader is not checked. */
#define RCU_MAP(map) struct lockdep_map map = { .name = #map }
RCU_MAP(rcu_lock_map);
RCU_MAP(rcu_bh_lock_map);
RCU_MAP(rcu_sched_lock_map);
RCU_MAP(rcu_callback_map);

#define RCU_HELD(name) int ks_##name(void) asm(#name); int ks_##name(void) { return 1; }
RCU_HELD(rcu_read_lock_held)
RCU_HELD(rcu_read_lock_bh_held)
RCU_HELD(rcu_read_lock_sched_held)
RCU_HELD(rcu_read_lock_any_held)
RCU_HELD(debug_lockdep_rcu_enabled)

static const char *name_of(const struct lockdep_map *map)
{
	return map->name ? map->name : "a lock without a name";
}

/* The number of a class; -1 if it is not to be checked. */
static int class_of(const struct lockdep_map *map, unsigned int subclass)
{
	/* A static lock is its own key. */
	const void *key = map->key ? (const void *)map->key : (const void *)map;
	int i;

	if (key == &__lockdep_no_validate__ || key == &ks_no_track)
		return -1;
	for (i = 0; i < nr_classes; i++)
		if (classes[i].key == key && classes[i].subclass == subclass)
			return i;
	if (i == MAX_CLASSES)
		return -1;
	classes[i] = (struct lock_order){ .key = key, .subclass = subclass, .name = name_of(map) };
	return nr_classes++;
}

/* Whether one of class to was taken while one of class from was held, or while one was that was taken so. */
static bool comes_after(int from, int to, unsigned long *seen)
{
	int next;

	if (from == to)
		return true;
	if (test_and_set_bit(from, seen))
		return false;
	for_each_set_bit(next, classes[from].after, MAX_CLASSES)
		if (comes_after(next, to, seen))
			return true;
	return false;
}

/* class is taken while outer is held. */
static void check_order(int outer, int class)
{
	DECLARE_BITMAP(seen, MAX_CLASSES) = { 0 };
	char text[200];

	if (test_bit(class, classes[outer].after))
		return;
	if (comes_after(class, outer, seen)) {
		snprintf(text, sizeof(text), "%s is taken while %s is held; before, they were taken in the other order",
			 classes[class].name, classes[outer].name);
		ks_lock_fault(text);
	}
	set_bit(class, classes[outer].after);
}

/* To try deadlocks with nothing; a reader of RCU neither. */
void lock_acquire(struct lockdep_map *map, unsigned int subclass, int trylock, int read, int check,
		  struct lockdep_map *nest_lock, unsigned long ip)
{
	int class = read == 2 || !check ? -1 : class_of(map, subclass), i;
	char text[160];

	for (i = nr_held - 1; i >= 0 && class >= 0 && !trylock && !nest_lock; i--) {
		if (held[i].class == class && !(held[i].read && read)) {
			snprintf(text, sizeof(text), "%s is taken while another one of its class is held", name_of(map));
			ks_lock_fault(text);
		}
		if (held[i].class >= 0)
			check_order(held[i].class, class);
	}
	if (nr_held == MAX_HELD)
		ks_lock_fault("more locks are held at a time than can be followed");
	held[nr_held++] = (struct held){ .map = map, .class = class, .read = read };
}

static struct held *find_held(const struct lockdep_map *map)
{
	int i;

	for (i = nr_held - 1; i >= 0; i--)
		if (held[i].map == map)
			return &held[i];
	return NULL;
}

void lock_release(struct lockdep_map *map, unsigned long ip)
{
	struct held *at = find_held(map);
	char text[160];

	if (!at || at->pins) {
		snprintf(text, sizeof(text), "%s is released that is %s", name_of(map), at ? "pinned" : "not held");
		ks_lock_fault(text);
	}
	nr_held--;
	memmove(at, at + 1, (char *)&held[nr_held] - (char *)at);
}

int lock_is_held_type(const struct lockdep_map *map, int read)
{
	struct held *at = find_held(map);

	return at && (read < 0 || !!at->read == !!read);
}

void lock_set_class(struct lockdep_map *map, const char *name, struct lock_class_key *key, unsigned int subclass,
		    unsigned long ip)
{
	struct held *at = find_held(map);

	map->key = key;
	map->name = name;
	if (at)
		at->class = class_of(map, subclass);
}

void lock_downgrade(struct lockdep_map *map, unsigned long ip)
{
	struct held *at = find_held(map);

	if (at)
		at->read = 1;
}

struct pin_cookie lock_pin_lock(struct lockdep_map *map)
{
	struct held *at = find_held(map);

	if (at)
		at->pins++;
	return (struct pin_cookie){ .val = 1 };
}

void lock_repin_lock(struct lockdep_map *map, struct pin_cookie cookie)
{
	lock_pin_lock(map);
}

void lock_unpin_lock(struct lockdep_map *map, struct pin_cookie cookie)
{
	struct held *at = find_held(map);

	if (!at || !at->pins)
		ks_lock_fault("a lock is unpinned that is not pinned");
	at->pins--;
}

void lockdep_init_map_type(struct lockdep_map *map, const char *name, struct lock_class_key *key, int subclass,
			   u8 inner, u8 outer, u8 lock_type)
{
	*map = (struct lockdep_map){ .name = name, .key = key };
	map->wait_type_inner = inner;
	map->wait_type_outer = outer;
	map->lock_type = lock_type;
}

/* A lock that is made anew, or whose memory is freed, is not held. */
void debug_check_no_locks_freed(const void *from, unsigned long len)
{
	char text[160];
	int i;

	for (i = 0; i < nr_held; i++) {
		if ((const void *)held[i].map < from || (const void *)held[i].map >= from + len)
			continue;
		snprintf(text, sizeof(text), "%s is freed or made anew while it is held", name_of(held[i].map));
		ks_lock_fault(text);
	}
}

/* Beside the message of a bug, which ends the run. */
void debug_show_all_locks(void)
{
}

void debug_show_held_locks(struct task_struct *task)
{
}

bool read_lock_is_recursive(void)
{
	return false;
}

void lockdep_init_task(struct task_struct *task)
{
	task->lockdep_depth = 0;
}

void lockdep_register_key(struct lock_class_key *key)
{
}

void lockdep_unregister_key(struct lock_class_key *key)
{
}

void lockdep_rcu_suspicious(const char *file, const int line, const char *s)
{
	WARN(1, "%s:%d: %s", file, line, s);
}

#endif /* CONFIG_LOCKDEP */
