// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel functions that do nothing here, and data of which only the address is taken. Semaphores are never
 * contended, because their holders do not sleep (arch/kernel/sleep.c has what takes them); there is no cgroup accounting, no user space, no debugger.
 * A tree uses only some of these.
 */

#define NOTHING(name) long name(void); long name(void) { return 0; }
#define YES(name) long name(void); long name(void) { return 1; }
/* Larger than any of the objects that it stands for. */
#define BLOB(name) __attribute__((aligned(64))) char name[16384];

NOTHING(__init_rwsem)
NOTHING(up_read)
NOTHING(up_write)
NOTHING(__percpu_down_read)
NOTHING(percpu_up_write)
NOTHING(cpus_read_lock)
NOTHING(cpus_read_unlock)
NOTHING(lockdep_assert_cpus_held)
NOTHING(__local_bh_enable_ip)
NOTHING(__local_bh_disable_ip)
NOTHING(__rcu_read_lock)
NOTHING(__rcu_read_unlock)
NOTHING(rcu_read_unlock_strict)
NOTHING(rcu_all_qs)
NOTHING(rcu_note_context_switch)
NOTHING(rcu_momentary_dyntick_idle)
NOTHING(rcu_momentary_eqs)

NOTHING(__cgroup_account_cputime)
NOTHING(__cgroup_account_cputime_field)
NOTHING(cgroup_task_dead)
NOTHING(dump_stack)
NOTHING(mem_dump_obj)
NOTHING(print_worker_info)
NOTHING(print_stop_info)
NOTHING(show_stack)
NOTHING(show_regs)
YES(___ratelimit)
YES(__printk_ratelimit)
NOTHING(__do_once_start)
NOTHING(__do_once_done)
NOTHING(prandom_seed_full_state)

NOTHING(__mmdrop)
NOTHING(put_task_stack)
YES(set_kthread_struct)
NOTHING(kthread_set_per_cpu)
NOTHING(wq_worker_running)
NOTHING(wq_worker_sleeping)
NOTHING(wq_worker_tick)
NOTHING(cap_task_setscheduler)
NOTHING(idle_thread_set_boot_cpu)

/* cpufreq, sysfs and debugfs around governors and energy models. */
NOTHING(cpufreq_disable_fast_switch)
NOTHING(cpufreq_driver_test_flags)
NOTHING(cpufreq_driver_has_adjust_perf)
YES(have_governor_per_policy)
NOTHING(get_governor_parent_kobj)
NOTHING(kobject_init_and_add)
NOTHING(kobject_put)
NOTHING(debugfs_create_dir)
NOTHING(debugfs_create_file)
NOTHING(debugfs_create_file_full)
NOTHING(debugfs_create_ulong)
NOTHING(debugfs_lookup_and_remove)
/* Numbers of energy models, in trees since v6.19; only their netlink messages show them. */
NOTHING(ida_alloc_range)
NOTHING(ida_free)
/* Sizes of caches, since v7.2: not known yet, as in a kernel that boots. They bound which processes cache-aware balancing
 * gathers in a cache, and tasks here have no address space, so it gathers none. */
NOTHING(get_cpu_cacheinfo_llc)
/* The energy model queues a check for CPUs that come online later; here all are online. */
NOTHING(queue_delayed_work_on)
NOTHING(delayed_work_timer_fn)

_Bool static_key_initialized = 1;
_Bool cpuhp_tasks_frozen;
int oops_in_progress;
BLOB(init_cred)
BLOB(init_files)
BLOB(init_fs)
BLOB(init_nsproxy)
BLOB(init_stack)
BLOB(init_struct_pid)
BLOB(init_ucounts)
BLOB(init_user_ns)
BLOB(init_uts_ns)
BLOB(root_user)
BLOB(cpu_subsys)
BLOB(governor_sysfs_ops)
void *system_wq, *system_percpu_wq;
char __lock_text_start[1], __lock_text_end[1];
char __sched_text_start[1], __sched_text_end[1];
char __cpuidle_text_start[1], __cpuidle_text_end[1];
