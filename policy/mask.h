/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sets of CPUs. Everything goes word by word and stops at the number of CPUs there are, so that a small machine pays
 * for one word of the sixteen.
 */
#ifndef FG_MASK_H
#define FG_MASK_H

#include "fg.h"

/*
 * Loops over lists and sets of which the BPF verifier knows nothing, so it cannot see that they end. There it counts the
 * turns itself, up to millions. can_loop(i, limit) is for loops that have a bound of their own, against broken lists:
 * turn i of at most limit; it takes the place of the bound, for with both the verifier would follow each turn. A may_goto must
 * not go to the instruction after it, so another one follows.
 */
#ifdef __bpf__
#define can_loop(i, limit)                                                                                             \
	({                                                                                                             \
		__label__ spent, go_on;                                                                                \
		u32 more = ((void)(i), 1);                                                                             \
		__asm__ volatile goto("may_goto %l[spent]; goto +0" : : : : spent);                                    \
		goto go_on;                                                                                            \
	spent:                                                                                                         \
		more = 0;                                                                                              \
	go_on:;                                                                                                        \
		more;                                                                                                  \
	})
#else
#define can_loop(i, limit) ((i) < (limit))
#endif

static inline u32 mask_test(const struct fg_mask *m, s32 cpu)
{
	u32 c = (u32)cpu;

	if (c >= FG_NR_CPUS)
		return 0;
	return (u32)(m->bits[c / 64] >> (c % 64)) & 1;
}

static inline void mask_set(struct fg_mask *m, s32 cpu)
{
	u32 c = (u32)cpu;

	if (c < FG_NR_CPUS)
		m->bits[c / 64] |= 1ull << (c % 64);
}

static inline void mask_clear(struct fg_mask *m, s32 cpu)
{
	u32 c = (u32)cpu;

	if (c < FG_NR_CPUS)
		m->bits[c / 64] &= ~(1ull << (c % 64));
}

/* Of sets of many words the verifier would follow each word for each caller. */
#if defined(__bpf__) && FG_MASK_WORDS > 1
#define mask_search global_func
#else
#define mask_search static inline
#endif

/* First member of a and b in [from, limit), else limit. limit is at most FG_NR_CPUS. */
mask_search u32 mask_next_and(const struct fg_mask *a state_arg, const struct fg_mask *b state_arg, u32 from, u32 limit)
{
	u32 k = from / 64;
	u64 skip = ~0ull << (from % 64);

	for (; k < FG_MASK_WORDS && k * 64 < limit; k++) {
		u64 w = a->bits[k] & b->bits[k] & skip;

		if (w) {
			u32 c = k * 64 + (u32)__builtin_ctzll(w);

			return c < limit ? c : limit;
		}
		skip = ~0ull;
	}
	return limit;
}

static inline u32 mask_intersects(const struct fg_mask *a, const struct fg_mask *b, u32 nr_cpus)
{
	return mask_next_and(a, b, 0, nr_cpus) < nr_cpus;
}

/* Every member of a is one of b. */
mask_search u32 mask_subset(const struct fg_mask *a state_arg, const struct fg_mask *b state_arg, u32 nr_cpus)
{
	for (u32 k = 0; k < FG_MASK_WORDS && k * 64 < nr_cpus; k++) {
		if (a->bits[k] & ~b->bits[k])
			return 0;
	}
	return 1;
}

/*
 * wrap(S, k) of spec 0: ids rising from start, then from 0 up to start. The caller walks with
 *
 *	struct mask_wrap it = mask_wrap_begin(start, nr_cpus);
 *	while (mask_wrap_next(&it, a, b)) ... it.cpu ...
 */
struct mask_wrap {
	u32 cpu; /* current member */
	u32 pos; /* next id to look at */
	u32 limit; /* end of this leg */
	u32 again; /* end of the second leg, 0 once on it */
};

static inline struct mask_wrap mask_wrap_begin(s32 start, u32 nr_cpus)
{
	u32 first = (u32)start < nr_cpus ? (u32)start : 0;
	struct mask_wrap it = { 0, first, nr_cpus, first };

	return it;
}

static inline u32 mask_wrap_next(struct mask_wrap *it, const struct fg_mask *a, const struct fg_mask *b)
{
	u32 c;

	if (!can_loop(0, 1))
		return 0;
	c = mask_next_and(a, b, it->pos, it->limit);
	if (c >= it->limit && it->again) {
		it->pos = 0;
		it->limit = it->again;
		it->again = 0;
		c = mask_next_and(a, b, 0, it->limit);
	}
	if (c >= it->limit)
		return 0;
	it->cpu = c;
	it->pos = c + 1;
	return 1;
}

#define for_each_cpu_and(cpu, a, b, nr)                                                                                \
	for ((cpu) = mask_next_and(a, b, 0, nr); can_loop(0, 1) && (cpu) < (nr);                                       \
	     (cpu) = mask_next_and(a, b, (cpu) + 1, nr))

#define for_each_cpu(cpu, m, nr) for_each_cpu_and(cpu, m, m, nr)

/*
 * The same for sums over many CPUs, which read each word of the sets once: not to be left by break, and the sets stay as
 * they are. Where the verifier watches it is the loop above, which it knows.
 */
#ifdef __bpf__
#define for_every_cpu_and for_each_cpu_and
#else
#define for_every_cpu_and(cpu, a, b, nr)                                                                               \
	for (u32 cpu##_at = 0; cpu##_at < FG_MASK_WORDS && cpu##_at * 64 < (nr); cpu##_at++)                           \
		for (u64 cpu##_word = (a)->bits[cpu##_at] & (b)->bits[cpu##_at];                                       \
		     cpu##_word && ((cpu) = cpu##_at * 64 + (u32)__builtin_ctzll(cpu##_word)) < (nr);                  \
		     cpu##_word &= cpu##_word - 1)
#endif

#define for_every_cpu(cpu, m, nr) for_every_cpu_and(cpu, m, m, nr)

#endif
