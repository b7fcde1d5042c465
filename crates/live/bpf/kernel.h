/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the programs need of a kernel's types and functions, by name. CO-RE finds the members of its structs where that
 * kernel has them, so that one object serves all releases and no kernel is needed to build it.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include "fg.h"

#define SEC(name) __attribute__((section(name), used))
/* All else is hidden, so that the verifier follows calls to it instead of taking it for an interface. */
#define VISIBLE __attribute__((visibility("default")))
#define KFUNC extern VISIBLE __attribute__((section(".ksyms")))
/* One that some releases lack. */
#define WEAK_KFUNC extern VISIBLE __attribute__((weak, section(".ksyms")))

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct cpumask {
	unsigned long bits[1];
};

struct sched_ext_entity {
	unsigned int flags;
	unsigned long long slice;
};

struct uclamp_se {
	unsigned int value : 11;
	unsigned int user_defined : 1;
};

struct autogroup;

struct cgroup_subsys_state {
	u64 serial_nr;
};

struct cfs_bandwidth {
	long long period;
	u64 quota;
	u64 burst;
};

struct task_group {
	struct cgroup_subsys_state css;
	struct task_group *parent;
	unsigned long shares;
	int idle;
	struct autogroup *autogroup;
	struct uclamp_se uclamp[2];
	struct cfs_bandwidth cfs_bandwidth;
};

struct task_struct {
	int pid;
	unsigned int flags;
	unsigned int policy;
	int prio;
	int static_prio;
	int nr_cpus_allowed;
	unsigned short migration_disabled;
	const struct cpumask *cpus_ptr;
	struct sched_ext_entity scx;
	struct uclamp_se uclamp_req[2];
	struct uclamp_se uclamp[2];
	struct task_group *sched_task_group;
	char comm[16];
};

struct hrtimer {
	void *function;
};

struct tick_sched {
	unsigned long flags;
	struct hrtimer sched_timer;
};

struct sched_avg {
	unsigned long util_avg;
};

struct rq {
	struct task_struct *stop;
	struct sched_avg avg_rt;
	struct sched_avg avg_dl;
	struct sched_avg avg_irq;
};

struct irqtime {
	u64 total;
};

struct scx_init_task_args {
	_Bool fork;
};

enum scx_exit_kind {
	SCX_EXIT_NONE
};

struct scx_exit_info {
	enum scx_exit_kind kind;
	long long exit_code;
	const char *reason;
	char *msg;
	char *dump;
};

#pragma clang attribute pop

/* Members of a struct sched_ext_ops that are used, as libbpf finds them: by their names. */
struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*tick)(struct task_struct *p);
	_Bool (*yield)(struct task_struct *from, struct task_struct *to);
	void (*runnable)(struct task_struct *p, u64 enq_flags);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, _Bool runnable);
	void (*quiescent)(struct task_struct *p, u64 deq_flags);
	void (*set_weight)(struct task_struct *p, u32 weight);
	void (*set_cpumask)(struct task_struct *p, const struct cpumask *cpumask);
	void (*update_idle)(s32 cpu, _Bool idle);
	void (*cpu_release)(s32 cpu, void *args);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	void (*exit_task)(struct task_struct *p, void *args);
	void (*enable)(struct task_struct *p);
	void (*disable)(struct task_struct *p);
	void (*dump_cpu)(void *ctx, s32 cpu, _Bool idle);
	void (*dump_task)(void *ctx, struct task_struct *p);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	u64 flags;
	u32 timeout_ms;
	char name[128];
};

/* Values of the kernel's enumerations that have not changed since v6.12. */
#define PF_EXITING 0x4
#define PF_KTHREAD 0x200000
#define SCX_TASK_QUEUED 1
#define SCX_SLICE_INF (~0ull)
#define SCX_SLICE_DFL 20000000ull /* ns */
#define SCX_DSQ_LOCAL ((1ull << 63) | 2)
#define SCX_ENQ_WAKEUP 1
#define SCX_DEQ_SLEEP 1
#define SCX_KICK_PREEMPT 2
#define SCX_ENQ_LAST (1ull << 41)
#define SCX_OPS_ENQ_LAST (1ull << 1)
#define SCX_OPS_ENQ_EXITING (1ull << 2)
#define DEFAULT_PRIO 120
#define MAX_RT_PRIO 100
#define TS_FLAG_STOPPED 2
#define NO_QUOTA (~0ull)
#define ENOENT 2
#define EBUSY 16
#define CLOCK_MONOTONIC 1

struct bpf_spin_lock {
	u32 val;
};

struct bpf_timer {
	u64 opaque[2];
} __attribute__((aligned(8)));

/* Helpers, by their numbers. */
static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static unsigned long long (*bpf_ktime_get_ns)(void) = (void *)5;
static unsigned int (*bpf_get_prandom_u32)(void) = (void *)7;
static unsigned int (*bpf_get_smp_processor_id)(void) = (void *)8;
static long (*bpf_probe_read_kernel)(void *dst, u32 size, const void *from) = (void *)113;
static long (*bpf_probe_read_kernel_str)(void *dst, u32 size, const void *from) = (void *)115;
static long (*bpf_spin_lock)(struct bpf_spin_lock *lock) = (void *)93;
static long (*bpf_spin_unlock)(struct bpf_spin_lock *lock) = (void *)94;
static void *(*bpf_ringbuf_reserve)(void *ringbuf, u64 size, u64 flags) = (void *)131;
static void (*bpf_ringbuf_submit)(void *data, u64 flags) = (void *)132;
static void *(*bpf_per_cpu_ptr)(const void *per_cpu, u32 cpu) = (void *)153;
static void *(*bpf_this_cpu_ptr)(const void *per_cpu) = (void *)154;
static long (*bpf_timer_init)(struct bpf_timer *timer, void *map, u64 flags) = (void *)169;
static long (*bpf_timer_set_callback)(struct bpf_timer *timer, void *callback) = (void *)170;
static long (*bpf_timer_start)(struct bpf_timer *timer, u64 ns, u64 flags) = (void *)171;
static long (*bpf_timer_cancel)(struct bpf_timer *timer) = (void *)172;
static struct task_struct *(*bpf_get_current_task_btf)(void) = (void *)158;
static void *(*bpf_task_storage_get)(void *map, struct task_struct *p, void *value, u64 flags) = (void *)156;

#define BPF_LOCAL_STORAGE_GET_F_CREATE 1
#define BPF_RB_NO_WAKEUP 1
#define BPF_RB_FORCE_WAKEUP 2

/* An iterator over a queue: the kernel's, opaque. */
struct bpf_iter_scx_dsq {
	u64 opaque[6];
} __attribute__((aligned(8)));

KFUNC int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags);
KFUNC struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it);
KFUNC void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it);

KFUNC s32 scx_bpf_create_dsq(u64 dsq_id, s32 node);
KFUNC s32 scx_bpf_task_cpu(const struct task_struct *p);
KFUNC void scx_bpf_kick_cpu(s32 cpu, u64 flags);
KFUNC u32 scx_bpf_reenqueue_local(void);
KFUNC void scx_bpf_error_bstr(char *fmt, unsigned long long *data, u32 data__sz);
KFUNC void scx_bpf_dump_bstr(char *fmt, unsigned long long *data, u32 data__sz);
KFUNC u32 scx_bpf_cpuperf_cur(s32 cpu);
KFUNC void scx_bpf_cpuperf_set(s32 cpu, u32 perf);

/* Variables that each CPU has: null in a kernel that was built without them, or whose BTF has no variables. */
#define WEAK_PER_CPU extern VISIBLE __attribute__((weak, section(".ksyms"))) const
WEAK_PER_CPU struct tick_sched tick_cpu_sched;
WEAK_PER_CPU struct rq runqueues;
WEAK_PER_CPU struct irqtime cpu_irqtime; /* CONFIG_IRQ_TIME_ACCOUNTING */
/* Capacity that limits of its clock take: of the hardware's own (CONFIG_GENERIC_ARCH_TOPOLOGY), and of cpufreq's (CONFIG_CPU_FREQ). */
WEAK_PER_CPU unsigned long hw_pressure;
WEAK_PER_CPU unsigned long cpufreq_pressure;

/* v6.13 gave them other names. */
WEAK_KFUNC void scx_bpf_dispatch(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags);
WEAK_KFUNC void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags);
WEAK_KFUNC void scx_bpf_dispatch_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime, u64 enq_flags);
WEAK_KFUNC void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime, u64 enq_flags);
WEAK_KFUNC _Bool scx_bpf_dispatch_from_dsq(struct bpf_iter_scx_dsq *it__iter, struct task_struct *p, u64 dsq_id,
					   u64 enq_flags);
WEAK_KFUNC _Bool scx_bpf_dispatch_vtime_from_dsq(struct bpf_iter_scx_dsq *it__iter, struct task_struct *p, u64 dsq_id,
						 u64 enq_flags);
WEAK_KFUNC _Bool scx_bpf_dsq_move_vtime(struct bpf_iter_scx_dsq *it__iter, struct task_struct *p, u64 dsq_id,
					u64 enq_flags);
WEAK_KFUNC void scx_bpf_dispatch_from_dsq_set_vtime(struct bpf_iter_scx_dsq *it__iter, u64 vtime);
WEAK_KFUNC void scx_bpf_dsq_move_set_vtime(struct bpf_iter_scx_dsq *it__iter, u64 vtime);
WEAK_KFUNC _Bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it__iter, struct task_struct *p, u64 dsq_id, u64 enq_flags);

/* Whether this kernel has it: known when the object is loaded. */
#define KSYM_EXISTS(name) (!!(name))

/* Bytes of a struct of this kernel. */
#define SIZE_OF(type) __builtin_preserve_type_info(*(type *)0, 1)

/* Whether a struct of this kernel has a member. */
#define HAS_MEMBER(place) __builtin_preserve_field_info(place, 2)

/*
 * The value of a member of some bits, in the 4 bytes of its struct that have been read: BPF_FIELD_LSHIFT_U64, then BPF_FIELD_RSHIFT_U64.
 * For little-endian, and members that are stored in 4 bytes.
 */
#define BITS_OF(word, place)                                                                                           \
	((u64)(word) << __builtin_preserve_field_info(place, 4) >> __builtin_preserve_field_info(place, 5))

#endif
