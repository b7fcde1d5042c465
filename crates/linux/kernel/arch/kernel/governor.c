// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads and observes the tree's schedutil. Included after the tree's build_utility.c, where its private types are
 * visible. watch_update() replaces each CPU's update_util callback and reports the calls to the host's observer.
 */

typedef void update_util_fn(struct update_util_data *data, u64 time, unsigned int flags);

static DEFINE_PER_CPU(update_util_fn *, tree_update);

static void watch_update(struct update_util_data *data, u64 time, unsigned int flags)
{
	int cpu = container_of(data, struct sugov_cpu, update_util)->cpu;

	ks_show_if(governing, cpu, flags & SCHED_CPUFREQ_IOWAIT ? FG_FREQUENCY_IOWAIT : 0);
	ks_asked_khz = 0;
	per_cpu(tree_update, cpu)(data, time, flags);
	ks_show_if(governed, cpu, ks_asked_khz);
}

/* The tree's schedutil, which is static since v6.16. */
struct cpufreq_governor *ks_governor(void)
{
	return &schedutil_gov;
}

void ks_watch_governor(int cpu)
{
	struct update_util_data *data = &per_cpu(sugov_cpu, cpu).update_util;

	per_cpu(tree_update, cpu) = data->func;
	data->func = watch_update;
}

s32 ks_read_governor(s32 cpu, struct fg_sugov *to)
{
	const struct sugov_policy *from = per_cpu(sugov_cpu, cpu).sg_policy;

	if (!from)
		return KS_NONE;
	to->delay = from->freq_update_delay_ns;
	to->last_change = from->last_freq_update_time;
	to->raw_khz = from->cached_raw_freq;
	to->khz = from->next_freq;
	to->max_khz = from->policy->max;
	to->shared = policy_is_shared(from->policy);
	to->limits_changed = from->limits_changed;
	to->need_update = from->need_freq_update;
	return 0;
}

void ks_read_governor_cpu(s32 cpu, struct fg_cpu *to)
{
	const struct sugov_cpu *from = &per_cpu(sugov_cpu, cpu);

	to->sugov_cpu.last_update = from->last_update;
	to->sugov_cpu.iowait_boost = from->iowait_boost;
	to->sugov_cpu.iowait_pending = from->iowait_boost_pending;
#ifdef KS_HAS_EFFECTIVE_PERF
	to->sugov_cpu.min = from->bw_min;
#endif
#ifdef CONFIG_NO_HZ_COMMON
	to->sugov_cpu.idle_calls = from->saved_idle_calls;
	to->idle_calls = tick_nohz_get_idle_calls_cpu(cpu);
#endif
}
