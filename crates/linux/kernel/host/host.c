// SPDX-License-Identifier: GPL-2.0-only
/* Kernel functions implemented with libc: memory, messages, fatal errors. Does not include kernel headers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "format.h"
#include "ks.h"

extern const struct ks_host *ks_host;

/* The most return addresses that are reported, and the most stack that is searched for them. */
#define FRAMES 12
#define STACK_MAX (256 * 1024)

/*
 * The return addresses of this function's callers, by the frame pointers that both sides are compiled with. A frame lies
 * above the one before: code that overwrites its stack ends the walk.
 */
static u32 walk(u64 *frames)
{
	void **at = __builtin_frame_address(0), **start = at;
	u32 n = 0;

	while (n < FRAMES && at[1]) {
		void **next = at[0];

		frames[n++] = (u64)(unsigned long)at[1];
		if (next <= at || (char *)next - (char *)start > STACK_MAX || (unsigned long)next % sizeof(void *))
			break;
		at = next;
	}
	return n;
}

_Noreturn static void fault(u32 kind, const char *what)
{
	u64 frames[FRAMES];

	if (ks_host)
		ks_host->fault(ks_host->self, kind, what, frames, walk(frames));
	abort();
}

_Noreturn void ks_fault(u32 kind, const char *what);
_Noreturn void ks_fault(u32 kind, const char *what)
{
	fault(kind, what);
}

/* ---- messages --------------------------------------------------------------------------------------------------- */

#define LINE 512

static void print(u32 level, u32 warn, const char *text)
{
	char line[LINE];
	size_t n = strcspn(text, "\n");

	snprintf(line, sizeof(line), "%.*s", (int)n, text);
	if (ks_host && n)
		ks_host->print(ks_host->self, level, warn, line);
}

/* The last message of level "error" or worse. */
static char last_error[LINE];

static void print_fmt(const char *fmt, va_list args)
{
	char text[LINE];
	u32 level = 4;

	/* KERN_SOH and a digit. */
	if (fmt[0] == 1 && fmt[1]) {
		level = fmt[1] >= '0' && fmt[1] <= '7' ? (u32)(fmt[1] - '0') : level;
		fmt += 2;
	}
	ks_format(text, sizeof(text), fmt, args);
	/* What follows a report of a bug are details of it. */
	if (level <= 3 && (!strncmp(text, "BUG: ", 5) || strncmp(last_error, "BUG: ", 5)))
		snprintf(last_error, sizeof(last_error), "%s", text);
	print(level, 0, text);
}

#define PRINT(name)				\
	int name(const char *fmt, ...);		\
	int name(const char *fmt, ...)		\
	{					\
		va_list args;			\
						\
		va_start(args, fmt);		\
		print_fmt(fmt, args);		\
		va_end(args);			\
		return 0;			\
	}

/* Up to v5.14 and later. */
PRINT(printk)
PRINT(_printk)
PRINT(printk_deferred)
PRINT(_printk_deferred)

/* dev_err() and the like. The device, one for each CPU, is not printed. */
#define DEV_PRINT(name, level)				\
	void name(const void *dev, const char *fmt, ...);	\
	void name(const void *dev, const char *fmt, ...)	\
	{							\
		char text[LINE];				\
		va_list args;					\
								\
		(void)dev;					\
		va_start(args, fmt);				\
		ks_format(text, sizeof(text), fmt, args);		\
		va_end(args);					\
		print(level, 0, text);				\
	}

DEV_PRINT(_dev_err, 3)
DEV_PRINT(_dev_warn, 4)
DEV_PRINT(_dev_info, 6)

static const char *from_tree(const char *file)
{
	const char *at = strstr(file, "kernel/sched/");

	return at ? at : file;
}

void warn_slowpath_fmt(const char *file, int line, unsigned int taint, const char *fmt, ...);
void warn_slowpath_fmt(const char *file, int line, unsigned int taint, const char *fmt, ...)
{
	char text[LINE], what[LINE / 2] = "";
	va_list args;

	(void)taint;
	if (fmt) {
		va_start(args, fmt);
		ks_format(what, sizeof(what), fmt, args);
		va_end(args);
	}
	snprintf(text, sizeof(text), "WARNING at %s:%d %s", from_tree(file), line, what);
	print(4, 1, text);
}

void __warn_printk(const char *fmt, ...);
void __warn_printk(const char *fmt, ...)
{
	char text[LINE];
	va_list args;

	va_start(args, fmt);
	ks_format(text, sizeof(text), fmt, args);
	va_end(args);
	print(4, 1, text);
}

void ks_bug(const char *file, int line, const char *function);
void ks_bug(const char *file, int line, const char *function)
{
	char text[LINE];

	snprintf(text, sizeof(text), "BUG at %s:%d %s()", from_tree(file), line, function);
	fault(KS_FAULT_BUG, text);
}

void panic(const char *fmt, ...);
void panic(const char *fmt, ...)
{
	char text[LINE];
	va_list args;

	va_start(args, fmt);
	ks_format(text, sizeof(text), fmt, args);
	va_end(args);
	text[strcspn(text, "\n")] = 0;
	fault(KS_FAULT_PANIC, text);
}

/* The kernel's debugging code taints the kernel after it has reported a bug that it survives. */
int add_taint(void);
int add_taint(void)
{
	char text[LINE];
	const char *what = last_error[0] ? last_error : "no message";

	if (!strncmp(what, "BUG: ", 5))
		what += 5;
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(what, "\n"), what);
	fault(KS_FAULT_BUG, text);
}

void check_panic_on_warn(const char *origin);
void check_panic_on_warn(const char *origin)
{
	(void)origin;
	add_taint();
}

void ks_lock_fault(const char *what);
void ks_lock_fault(const char *what)
{
	fault(KS_FAULT_LOCK, what);
}

void ks_stub(const char *symbol);
void ks_stub(const char *symbol)
{
	fault(KS_FAULT_STUB, symbol);
}

/* ---- memory: always zeroed, so __GFP_ZERO and all other flags can be ignored ------------------------------------ */

void *ks_reserve(unsigned long size);
void *ks_reserve(unsigned long size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		fault(KS_FAULT_HOST, "out of memory");
	return p;
}

static void *zalloc(size_t size)
{
	size_t align = size >= 64 ? 64 : 16;
	void *p = aligned_alloc(align, (size + align - 1) / align * align + (size ? 0 : align));

	if (!p)
		fault(KS_FAULT_HOST, "out of memory");
	return memset(p, 0, size);
}

/* Stands for struct kmem_cache. */
struct cache {
	size_t size;
};

void ks_may_alloc(unsigned int flags);	/* arch/kernel/sleep.c: ends a debug build's run if it may not */

static void *zalloc_with(size_t size, unsigned int flags)
{
	ks_may_alloc(flags);
	return zalloc(size);
}

/* Names from v5.4 on. Further arguments (node, caller) are ignored. */
#define ALLOC(name) void *name(size_t size, unsigned int flags); \
	void *name(size_t size, unsigned int flags) { return zalloc_with(size, flags); }
ALLOC(__kmalloc)
ALLOC(__kmalloc_noprof)
ALLOC(__kmalloc_node)
ALLOC(__kmalloc_node_noprof)
ALLOC(__kmalloc_large_noprof)
ALLOC(__kmalloc_large_node_noprof)
ALLOC(kmalloc_large)
ALLOC(kmalloc_large_node)
ALLOC(kmalloc_order)
ALLOC(__kmalloc_node_track_caller)
ALLOC(__kmalloc_node_track_caller_noprof)

/* Flags are elsewhere, or there are none. */
#define ALLOC_ANY(name) void *name(size_t size); void *name(size_t size) { return zalloc(size); }
ALLOC_ANY(kvmalloc_node)
ALLOC_ANY(kvmalloc_node_noprof)
ALLOC_ANY(__kvmalloc_node_noprof)
ALLOC_ANY(vmalloc)
ALLOC_ANY(vzalloc)
ALLOC_ANY(vmalloc_noprof)
ALLOC_ANY(vzalloc_noprof)

void *devm_kmalloc(void *device, size_t size, unsigned int flags);
void *devm_kmalloc(void *device, size_t size, unsigned int flags)
{
	(void)device;
	return zalloc_with(size, flags);
}

/* Allocators whose first argument is a cache, and whose last is the size. */
#define ALLOC_AT(name, ...) void *name(void *cache, unsigned int flags, ##__VA_ARGS__, size_t size); \
	void *name(void *cache, unsigned int flags, ##__VA_ARGS__, size_t size)	\
	{									\
		(void)cache;							\
		return zalloc_with(size, flags);				\
	}
ALLOC_AT(kmalloc_trace)
ALLOC_AT(__kmalloc_cache_noprof)
ALLOC_AT(kmem_cache_alloc_trace)
ALLOC_AT(kmalloc_node_trace, int node)
ALLOC_AT(__kmalloc_cache_node_noprof, int node)
ALLOC_AT(kmem_cache_alloc_node_trace, int node)

#define ALLOC_CACHE(name) void *name(struct cache *c, unsigned int flags); \
	void *name(struct cache *c, unsigned int flags) { return zalloc_with(c->size, flags); }
ALLOC_CACHE(kmem_cache_alloc)
ALLOC_CACHE(kmem_cache_alloc_noprof)
ALLOC_CACHE(kmem_cache_alloc_node)
ALLOC_CACHE(kmem_cache_alloc_node_noprof)

void *ks_new_cache(size_t size);
void *ks_new_cache(size_t size)
{
	struct cache *c = zalloc(sizeof(*c));

	c->size = size;
	return c;
}

void *kmem_cache_create(const char *name, unsigned int size);
void *kmem_cache_create(const char *name, unsigned int size)
{
	(void)name;
	return ks_new_cache(size);
}

void *__kmem_cache_create_args(const char *name, unsigned int size);
void *__kmem_cache_create_args(const char *name, unsigned int size)
{
	(void)name;
	return ks_new_cache(size);
}

void kfree(const void *p);
void kfree(const void *p)
{
	free((void *)p);
}

void kvfree(const void *p);
void kvfree(const void *p)
{
	free((void *)p);
}

void kmem_cache_free(void *cache, void *p);
void kmem_cache_free(void *cache, void *p)
{
	(void)cache;
	free(p);
}

void *kmemdup(const void *from, size_t size);
void *kmemdup(const void *from, size_t size)
{
	return memcpy(zalloc(size), from, size);
}

void *kmemdup_noprof(const void *from, size_t size);
void *kmemdup_noprof(const void *from, size_t size)
{
	return kmemdup(from, size);
}

void *kstrdup(const char *s);
void *kstrdup(const char *s)
{
	return s ? memcpy(zalloc(strlen(s) + 1), s, strlen(s) + 1) : NULL;
}

/* kmalloc() of a constant size passes an entry of this table to an allocator above. Larger than that of any tree. */
void *kmalloc_caches[64 * 32];
