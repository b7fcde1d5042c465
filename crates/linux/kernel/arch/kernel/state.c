// SPDX-License-Identifier: GPL-2.0-only
/* Global state that the scheduler reads and other parts of a kernel define: CPU and node masks, NOHZ, randomness. */
#include "sim.h"
#include <linux/kernel.h>
#include <linux/nodemask.h>
#include <linux/mm.h>
#include <linux/sched/nohz.h>

struct cpumask __cpu_possible_mask, __cpu_present_mask, __cpu_online_mask, __cpu_active_mask, __cpu_dying_mask;
atomic_t __num_online_cpus;
unsigned int nr_cpu_ids = NR_CPUS;

#define MASK_1(n) [(n) + 1][0] = 1UL << (n)
#define MASK_4(n) MASK_1(n), MASK_1((n) + 1), MASK_1((n) + 2), MASK_1((n) + 3)
#define MASK_16(n) MASK_4(n), MASK_4((n) + 4), MASK_4((n) + 8), MASK_4((n) + 12)

/* As in kernel/cpu.c: row n + 1 starts with bit n, and the words before it are zero. */
const unsigned long cpu_bit_bitmap[BITS_PER_LONG + 1][BITS_TO_LONGS(NR_CPUS)] = {
	MASK_16(0), MASK_16(16), MASK_16(32), MASK_16(48),
};

const DECLARE_BITMAP(cpu_all_bits, NR_CPUS) = { [0 ... BITS_TO_LONGS(NR_CPUS) - 1] = ~0UL };

nodemask_t node_states[NR_NODE_STATES];
unsigned int nr_node_ids = 1;
unsigned int nr_online_nodes = 1;
/* Weak: in trees up to v5.13 the scheduler has it. */
int __weak node_reclaim_distance = RECLAIM_DISTANCE;
DEFINE_PER_CPU(int, numa_node);

/* Protects lists of tasks that are not kept here. Code that walks them takes it all the same. */
DEFINE_RWLOCK(tasklist_lock);

enum system_states system_state = SYSTEM_BOOTING;
struct mm_struct init_mm;
DEFINE_PER_CPU(struct pt_regs *, __irq_regs);

/* The scheduler takes only the addresses of these. */
DEFINE_PER_CPU(struct task_struct *, ksoftirqd);
DEFINE_PER_CPU(struct cpuidle_device *, cpuidle_devices);

void set_cpu_online(unsigned int cpu, bool online)
{
	if (online && !cpumask_test_and_set_cpu(cpu, &__cpu_online_mask))
		atomic_inc(&__num_online_cpus);
	else if (!online && cpumask_test_and_clear_cpu(cpu, &__cpu_online_mask))
		atomic_dec(&__num_online_cpus);
}

/* ---- CPUs whose tick is stopped ---------------------------------------------------------------------------------- */

static DEFINE_PER_CPU(bool, tick_is_stopped);

#ifdef CONFIG_NO_HZ_COMMON
bool tick_nohz_tick_stopped(void)
{
	return __this_cpu_read(tick_is_stopped);
}

bool tick_nohz_tick_stopped_cpu(int cpu)
{
	return per_cpu(tick_is_stopped, cpu);
}
#endif

/* How often the CPU stopped its tick on going idle. schedutil takes a CPU that never does for busy. */
static DEFINE_PER_CPU(unsigned long, idle_calls);

#ifdef CONFIG_NO_HZ_COMMON
unsigned long tick_nohz_get_idle_calls_cpu(int cpu)
{
	return per_cpu(idle_calls, cpu);
}
#endif

void ks_tick_stopped(s32 cpu, u32 stopped)
{
	bool was;

	ks_enter(cpu);
	was = __this_cpu_read(tick_is_stopped);
	__this_cpu_write(tick_is_stopped, stopped);
	if (stopped)
		__this_cpu_inc(idle_calls);
	if (stopped && !was)
		nohz_balance_enter_idle(cpu);
	ks_leave();
}

/* tick_cancel_sched_timer(): a CPU that comes online begins with its tick. */
void ks_forget_tick(int cpu)
{
	per_cpu(tick_is_stopped, cpu) = false;
}

/* ---- random numbers: one sequence from the machine's seed -------------------------------------------------------- */

static u64 random_state;

void ks_seed_random(u64 seed)
{
	random_state = seed;
}

/* splitmix64 */
static u64 draw(void)
{
	u64 z = random_state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

u32 get_random_u32(void)
{
	return draw();
}

u64 get_random_u64(void)
{
	return draw();
}

u32 __get_random_u32_below(u32 ceil)
{
	return mul_u32_u32(get_random_u32(), ceil) >> 32;
}

void get_random_bytes(void *buf, size_t len)
{
	u8 *to = buf;

	while (len--)
		*to++ = draw();
}
