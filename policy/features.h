/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every deviation between kernel versions and every patch under discussion, one entry each:
 * FG_FEATURE(id, name, values, mail, since, ready, text)
 *   values  "" for a switch (0 or 1), else the words for 0, 1, 2 ... separated by |
 *   mail    the mail that discusses it, by its slug (docs/spec/mails.md), or "-"
 *   since   release that has it by default; "<=vX" for a quirk that ended with vX, "-" for what never landed
 *   ready   1 if there is code for it: in the policy, or in crates/fair for what only shapes domains (its topology) or
 *           carries a decision out
 *           (fg_feature_ready() knows single values)
 * The presets in crates/fair say which value each release has.
 *
 * A preset keeps its values of features that are not ready: they describe the release and take effect when their code
 * arrives. To ask for one explicitly (+name, -name, name=value) is an error as long as fg_feature_ready() says 0.
 */

/* Owned by a mail: spec 10.1. */
FG_FEATURE(ASYM_SCAN, "asym-scan", "", "asym-prev-first", "v5.7", 1,
	   "wakeups on asymmetric machines scan for an idle CPU that fits instead of taking the slow path")
FG_FEATURE(ASYM_PREV_FIRST, "asym-prev-first", "", "asym-prev-first", "v5.10", 1,
	   "try target, previous and recent CPU with a capacity test before the asymmetric scan")
FG_FEATURE(ASYM_CHECK_SCOPE, "asym-check-scope", "llc|asym", "asym-prev-first", "-", 1,
	   "how far the early previous/recent checks reach: the target's LLC or its asymmetric domain")
FG_FEATURE(BREAK_EVEN, "break-even", "off|exit-latency|target-residency", "break-even", "-", 1,
	   "rank equally deep idle CPUs of a group by their break-even deadline")
FG_FEATURE(BREAK_EVEN_NULLBUG, "break-even-nullbug", "fixed|v1", "break-even", "-", 1,
	   "v1 leaves a stale idle state visible after the CPU woke")
FG_FEATURE(LB_P01, "lb-p01", "", "lb-rework", "v5.5", 1, "asym packing decided while picking the busiest group")
FG_FEATURE(LB_P02, "lb-p02", "", "lb-rework", "v5.5", 1, "sum_nr_running becomes sum_h_nr_running; no effect")
FG_FEATURE(LB_P03, "lb-p03", "", "lb-rework", "v5.5", 1, "small imbalances are no longer forced")
FG_FEATURE(LB_P04, "lb-p04", "", "lb-rework", "v5.5", 1, "load balance by group type and kind of migration")
FG_FEATURE(LB_P05, "lb-p05", "", "lb-rework", "v5.5", 1, "groups count the tasks of all classes")
FG_FEATURE(LB_P06, "lb-p06", "", "lb-rework", "v5.5", 1,
	   "load balance uses load with blocked load instead of runnable load")
FG_FEATURE(LB_P07, "lb-p07", "", "lb-rework", "v5.5", 1, "tasks spread evenly while nothing is overloaded")
FG_FEATURE(LB_P08, "lb-p08", "", "lb-rework", "v5.5", 1, "misfit tasks are selected by utilization")
FG_FEATURE(LB_P09, "lb-p09", "", "lb-rework", "v5.5", 1, "the wakeup path uses load instead of runnable load")
FG_FEATURE(LB_P10, "lb-p10", "", "lb-rework", "v5.5", 1, "find_idlest_group compares one load metric")
FG_FEATURE(LB_P11, "lb-p11", "", "lb-rework", "v5.5", 1, "find_idlest_group decides by group type")
FG_FEATURE(UFC, "ufc", "", "misfit-unlink", "v6.2", 1,
	   "util_fits_cpu: clamps are compared without the 80 % margin (takes the place of uclamp-fit)")
FG_FEATURE(UFC_THERMAL, "ufc-thermal", "", "misfit-unlink", "v6.2", 1, "util_fits_cpu subtracts thermal pressure")
FG_FEATURE(
	CAP_INVERSION, "cap-inversion", "", "misfit-unlink", "v6.2", 1,
	"a CPU throttled below another performance domain counts as that small; only in v6.2, needs energy awareness")
/*
 * The merged patch is misfit-unlink, which means all of its parts. For ablation
 * the parts are asked for one by one without it: -misfit-unlink+mu-tristate+mu-sic is the patch with neither mu-ou nor
 * the rest. Code whose part is off treats -1 as v6.2 treats 0: it does not fit. All parts need mu-tristate.
 */
FG_FEATURE(MISFIT_UNLINK, "misfit-unlink", "", "misfit-unlink", "v6.3", 1,
	   "fits but not the requested minimum: misfit without being overutilized")
FG_FEATURE(MU_TRISTATE, "mu-tristate", "", "misfit-unlink", "-", 1, "part of misfit-unlink: util_fits_cpu answers -1")
FG_FEATURE(MU_GATE, "mu-gate", "", "misfit-unlink", "-", 1,
	   "part of misfit-unlink: misfit is balanced before the EAS gate")
FG_FEATURE(MU_OU, "mu-ou", "", "misfit-unlink", "-", 1, "part of misfit-unlink: -1 is not overutilized")
FG_FEATURE(MU_FEEC, "mu-feec", "", "misfit-unlink", "-", 1, "part of misfit-unlink: find_energy_efficient_cpu ranks -1")
FG_FEATURE(MU_SIC, "mu-sic", "", "misfit-unlink", "-", 1, "part of misfit-unlink: select_idle_capacity ranks -1")
FG_FEATURE(CLS_DOMAIN, "cls-domain", "", "cluster-level", "v5.16", 1, "clusters are a domain level")
FG_FEATURE(CLS_SELECT, "cls-select", "none|loop|levels|landed", "cluster-level", "v6.7", 1,
	   "idle CPUs of the target's cluster are tried first")
FG_FEATURE(LEVELS_NR, "levels-nr", "llc|cluster", "cluster-level", "-", 1,
	   "weight that the budget of cls-select=levels is made from")

/* Versions, placement: spec 10.2. */
FG_FEATURE(WAKE_CAP, "wake-cap", "", "-", "<=v5.6", 1,
	   "a task too big for waker and previous CPU takes the slow path (implies asym-balance-wake)")
FG_FEATURE(PERCPU_KTHREAD, "percpu-kthread", "", "-", "v5.6", 1, "a task woken by a per-CPU kthread stays with it")
FG_FEATURE(KTHREAD_FIT, "kthread-fit", "", "-", "v5.17", 1,
	   "the per-CPU kthread rule needs task context and a fitting CPU")
FG_FEATURE(SI_FIRST, "si-first", "", "-", "v5.6", 1, "a CPU with only SCHED_IDLE tasks is taken at once")
FG_FEATURE(WA_PREV_IDLE, "wa-prev-idle", "", "-", "v5.11", 1, "wake_affine keeps an idle previous CPU")
FG_FEATURE(WAKE_CURRENT_CPU, "wake-current-cpu", "", "-", "v6.6", 1,
	   "a waker can ask for its wakee to run where it does itself")
FG_FEATURE(
	WAKE_LIST, "wake-list", "llc|on-cpu|idle", "-", "v5.8", 1,
	"which CPUs enqueue a wakeup themselves: those behind another cache; the task's own that it is just leaving; "
	"and idle ones")
FG_FEATURE(RECENT_PREV, "recent-prev", "", "-", "v5.14", 1,
	   "recent_used becomes prev whenever the recent check is reached; the waker's is left alone")
FG_FEATURE(SIS_MODE, "sis-mode", "prop54|prop|prop-aged|util", "-", "v4.13", 1, "what limits the LLC scan")
FG_FEATURE(SIS_MERGED, "sis-merged", "", "-", "v5.12", 1, "idle-core and idle-CPU scan are one loop")
FG_FEATURE(CORE_PROBE_LEFT, "core-probe-left", "", "-", "v6.9", 1,
	   "of a busy core the merged scan remembers a thread of the LLC only, not any allowed one")
FG_FEATURE(SIS_SMT_PREV, "sis-smt-prev", "", "-", "v5.13", 1,
	   "the SMT scan looks at prev's core before the LLC scan instead of target's after it")
FG_FEATURE(SMT_IN_LLC, "smt-in-llc", "", "-", "v5.10", 1, "select_idle_smt takes only siblings inside the LLC domain")
FG_FEATURE(SMT_NOT_SELF, "smt-not-self", "", "-", "v6.1", 1,
	   "select_idle_smt leaves out the CPU whose siblings it looks at")
FG_FEATURE(SCAN_NEXT, "scan-next", "", "-", "v5.15", 1, "the LLC scan starts after target")
FG_FEATURE(CAPSCAN_NEXT, "capscan-next", "", "-", "v6.3", 1, "the asymmetric scan starts after target; up to v6.5")
FG_FEATURE(FIG_WITHOUT_P, "fig-without-p", "", "-", "v5.5", 1,
	   "find_idlest_group leaves the task out of all statistics")
FG_FEATURE(FIG_WEIGHT_FIX, "fig-weight-fix", "", "-", "v5.6", 1, "find_idlest_group knows the weight of a group")
FG_FEATURE(FIG_AVGLOAD_FIX, "fig-avgload-fix", "", "-", "v5.7", 1,
	   "find_idlest_group computes avg_load for busy groups, not for the others")
FG_FEATURE(FIG_UTIL_TIE, "fig-util-tie", "", "-", "v5.9", 1, "equally idle groups are ranked by utilization")
FG_FEATURE(FIG_ALLOWED, "fig-allowed", "", "-", "v6.19", 1,
	   "find_idlest_group looks only at the CPUs of a group that the task may use (6.1 and 6.12 stable)")
FG_FEATURE(FIG_WRAP, "fig-wrap", "", "-", "<=v5.4", 1, "find_idlest_group adds to an infinite local load and wraps")

FG_FEATURE(SI_NOT_FOR_IDLE, "si-not-for-idle", "", "-", "v7.1", 1,
	   "a CPU with only SCHED_IDLE tasks is free for other tasks only")
FG_FEATURE(ASYM_CORE, "asym-core", "", "-", "v7.2", 1,
	   "early checks on asymmetric machines take a thread only if its core is idle")
FG_FEATURE(ASYM_RANK, "asym-rank", "", "-", "v7.2", 1, "the scan by capacity prefers idle cores")
FG_FEATURE(ASYM_BUDGET, "asym-budget", "", "-", "v7.2", 1, "the scan by capacity keeps to nr_idle_scan")
FG_FEATURE(BALANCE_SHARED, "balance-shared", "", "-", "v7.2", 1,
	   "CPUs of an asymmetric domain share has_idle_cores and nr_busy_cpus")
FG_FEATURE(LLC_PHYS, "llc-phys", "", "-", "v7.2", 1, "CPUs of one cache in different partitions share it")

/* Versions, capacity and signals: spec 10.2. */
FG_FEATURE(UCLAMP_FIT, "uclamp-fit", "", "-", "v5.6", 1, "capacity tests use the clamped utilization")
FG_FEATURE(UCLAMP_IDLE_OWN, "uclamp-idle-own", "", "-", "v5.14", 1,
	   "the clamps an idle CPU remembers do not join those of a task whose frequency is asked for")
FG_FEATURE(UCLAMP_KEY, "uclamp-key", "", "-", "v5.9", 1, "clamps are counted only after the first request of one")
FG_FEATURE(UCLAMP_PROTECT, "uclamp-protect", "", "-", "v5.14", 1,
	   "a group's minimum is the least its tasks get; before, the most, and what those get that ask for nothing")
FG_FEATURE(UCLAMP_REINC, "uclamp-reinc", "", "-", "v5.16", 1,
	   "a queue whose only task changes its clamps is not marked idle by that")
FG_FEATURE(UCLAMP_NR_BUCKETS, "uclamp-buckets", "5|20", "-", "-", 1,
	   "parts of the scale in which a run queue counts clamps (CONFIG_UCLAMP_BUCKETS_COUNT)")
FG_FEATURE(THERMAL_IN_CAP, "thermal-in-cap", "", "-", "v5.7", 1,
	   "thermal pressure lowers the capacity left for fair tasks")
FG_FEATURE(
	HW_PRESSURE, "hw-pressure", "", "-", "v6.10", 1,
	"capacity is reduced by hardware and cpufreq pressure first (takes the place of thermal-in-cap, ufc-thermal)")
FG_FEATURE(PINNED_NO_MISFIT, "pinned-no-misfit", "", "-", "v5.11", 1, "a task with one allowed CPU is no misfit")
FG_FEATURE(MAX_ALLOWED_CAP, "max-allowed-cap", "", "-", "v6.10", 1,
	   "a task on the biggest CPU its affinity allows is no misfit")
FG_FEATURE(OU_EAS_ONLY, "ou-eas-only", "", "-", "v6.10", 1,
	   "CPUs are marked overutilized only where wakeups are energy-aware")
FG_FEATURE(UTIL_EST, "util-est", "ewma|fastup|v68", "-", "v5.5", 1, "how the utilization estimate learns")
FG_FEATURE(EST_LSB, "est-lsb", "", "-", "<=v5.12", 1, "bit 0 of the estimate is a flag, so estimates are odd")
FG_FEATURE(EST_STALE, "est-stale", "", "-", "v6.12", 1,
	   "a sleeper's estimate learns before its utilization takes in the time since its last update")
FG_FEATURE(NEWTASK_W1024, "newtask-w1024", "", "-", "<=v6.8", 1,
	   "the initial utilization of a task uses a weight 1024 times too large")
FG_FEATURE(
	PELT_SUM, "pelt-sum", "own|average|floor|average-floor", "-", "v5.14", 1,
	"when averages leave a queue its sums lose as much; or are made anew from the averages; or keep what those "
	"need; or are made anew, but the utilization of tasks that woke elsewhere keeps what is needed (5.10 stable)")
FG_FEATURE(MIGRATE_LAG, "migrate-lag", "", "-", "v6.0", 1,
	   "a task woken away from an idle CPU decays for the time that CPU's clock stood")
FG_FEATURE(RUNNABLE_BOOST, "runnable-boost", "", "-", "v6.5", 1,
	   "what waits counts as utilization where a clock or a queue to take from is chosen")
FG_FEATURE(FEEC, "feec", "margin|margin515|delta|tri", "-", "v5.0", 1,
	   "how the energy-aware wakeup decides; tri is delta with the ranking of mu-feec")
FG_FEATURE(FEEC_ZERO_SPARE, "feec-zero-spare", "", "-", "v6.7", 1,
	   "a CPU without spare capacity can be the candidate for an energy-aware wakeup")
FG_FEATURE(FEEC_STALE_UCLAMP, "feec-stale-uclamp", "", "-", "v6.3", 1,
	   "an energy-aware wakeup takes an idle CPU to have the clamps of the one before it in its performance domain")
FG_FEATURE(FEEC_TRIVIAL, "feec-trivial", "estimate|clamped|minimum", "-", "v6.2", 1,
	   "which task is too small for an energy-aware wakeup: by its estimate, clamped, or if it asks for no minimum")
FG_FEATURE(FEEC_NEGATIVE, "feec-negative", "", "-", "v5.14", 1,
	   "an energy-aware wakeup stays if an estimate with the task is below that without; else it is a huge cost")
FG_FEATURE(FEEC_SYNC, "feec-sync", "", "-", "-", 1,
	   "a sync waker alone on a CPU that fits has its wakee there before energy is asked for (Android)")
FG_FEATURE(FEEC_PREV_SPARE, "feec-prev-spare", "", "-", "v6.2", 1,
	   "energy is asked for a CPU only if it has more to spare than the previous one on the same clock")
FG_FEATURE(FEEC_SPARE_WRAP, "feec-spare-wrap", "", "-", "<=v5.9", 1,
	   "a CPU that fits by its maximum and has less than nothing to spare is taken to have the most")
FG_FEATURE(EM_COST, "em-cost", "milliwatt|scaled|microwatt|performance", "-", "v5.15", 1,
	   "what the cost of an operating point is computed from, and how exactly")
FG_FEATURE(
	EM_EFFICIENT, "em-efficient", "", "-", "v5.16", 1,
	"operating points that cost no less than a faster one are passed over, by schedutil and by estimates of energy")
FG_FEATURE(EAS_COMPLEXITY, "eas-complexity", "", "-", "<=v6.6", 1,
	   "no energy-aware wakeups with too many clocks, CPUs and operating points")
FG_FEATURE(EAS_FIRST_CPU, "eas-first-cpu", "", "-", "<=v6.6", 1,
	   "wakeups are energy-aware if the first CPU of a partition has a domain with all capacities, not any CPU")

FG_FEATURE(EST_OVERCAP, "est-overcap", "", "-", "<=v6.15", 1,
	   "a sleeper that used more than its CPU has teaches its estimate nothing")
FG_FEATURE(RUNNABLE_DELAYED, "runnable-delayed", "", "-", "v6.12", 1,
	   "delayed sleepers are not counted in the runnable time of their queue (6.12.8)")
FG_FEATURE(EST_DELAYED, "est-delayed", "", "-", "v6.16", 1,
	   "a delayed sleeper that leaves the class has taken its estimate along already, and learns no more")
FG_FEATURE(BOOST_EXACT, "boost-exact", "", "-", "v7.2", 1,
	   "runnable-boost adds what the task has of runnable time, not of utilization")
FG_FEATURE(PELT_LOST_IDLE, "pelt-lost-idle", "", "-", "v6.18", 1, "lost idle time counts whenever the CPU goes idle")
FG_FEATURE(FREQ_DL, "freq-dl", "", "-", "v6.15", 1, "more deadline bandwidth asks for a frequency as changed limits do")

/* Versions, schedutil: spec 8.1. */
FG_FEATURE(FREQ_PERF_V2, "freq-perf-v2", "", "-", "v6.8", 1, "no frequency headroom on clamps")
FG_FEATURE(FREQ_UTIL_MARGIN, "freq-util-margin", "", "-", "v5.14", 1,
	   "a clock's headroom is taken of the utilization, not of its highest frequency: rounding differs")
FG_FEATURE(FREQ_HOLD, "freq-hold", "v54|v511|v518|v66", "-", "v5.11", 1,
	   "a clock of one CPU that never idled is not slowed down: not after new limits; then always; but not if a "
	   "maximum "
	   "clamp binds; nor after new limits")
FG_FEATURE(FREQ_LIMITS_COUNT, "freq-limits-count", "", "-", "v5.10", 1,
	   "after new limits a clock counts as just set even if it stays as it is (not in 6.1 and 6.12 stable)")
FG_FEATURE(FREQ_SOON, "freq-soon", "", "-", "v6.10", 1,
	   "a clock is set at most every 1.5 transition times, not every thousand or 10 ms")
FG_FEATURE(FREQ_AFTER_ALL, "freq-after-all", "", "-", "v5.5", 1,
	   "the governor hears of changed utilization once, after all signals were updated")
FG_FEATURE(FREQ_MOVE_ONCE, "freq-move-once", "", "-", "v6.1", 1,
	   "of a runnable task that moves away the governor hears only when its utilization is gone")
FG_FEATURE(EST_LEAVES_FIRST, "est-leaves-first", "", "-", "v5.12", 1,
	   "a task's estimate leaves the queue before the governor hears of its dequeue")
FG_FEATURE(UCLAMP_LATE, "uclamp-late", "", "-", "v6.12", 1,
	   "a task's clamps join those of the queue after it was enqueued and the governor heard of it")
FG_FEATURE(IOWAIT_CLAMP, "iowait-clamp", "", "-", "v5.18", 1, "the boost after I/O keeps to the clamps")

/* Versions, balance: spec 10.2, 6.8. */
FG_FEATURE(IMB_PCT_117, "imb-pct-117", "", "-", "v5.10", 1, "default imbalance_pct 117 instead of 125")
FG_FEATURE(BUSY_FACTOR_16, "busy-factor-16", "", "-", "v5.10", 1, "busy CPUs balance 16 times less often, not 32")
FG_FEATURE(SI_BALANCE, "si-balance", "", "-", "v5.6", 1,
	   "a CPU with only SCHED_IDLE tasks balances as often as an idle one, at once when it comes to that")
FG_FEATURE(BUSY_MINUS1, "busy-minus1", "", "-", "v5.10", 1, "busy balance intervals are a jiffy shorter")
FG_FEATURE(LLC_SPREAD, "llc-spread", "", "-", "v5.10", 1, "inside an LLC spare capacity is filled by task count")
FG_FEATURE(LOAD_SHIFT, "load-shift", "", "-", "v5.10", 1, "failures halve the load a task may have to be moved")
FG_FEATURE(SMT_NEVER_HOT, "smt-never-hot", "", "-", "v5.10", 1, "moves between siblings ignore cache heat")
FG_FEATURE(FAILED_RELAX, "failed-relax", "", "-", "v5.5", 1,
	   "after failures tasks with too much load may move; to v5.9")
FG_FEATURE(SPARE_TIE, "spare-tie", "", "-", "v5.6", 1, "of equally idle groups the one with more tasks is busier")
FG_FEATURE(RUNNABLE_CLASS, "runnable-class", "", "-", "v5.7", 1, "runnable time can make a group overloaded")
FG_FEATURE(UTIL_SKIP_SINGLE, "util-skip-single", "", "-", "v5.7", 1,
	   "queues with one task are no source of utilization")
FG_FEATURE(LB_AVG_GUARD, "lb-avg-guard", "", "-", "v5.7", 1, "nothing moves to a group as loaded as the source")
FG_FEATURE(NUMA_IMB, "numa-imb", "none|pair|quarter|llc", "-", "v5.6", 1, "imbalance between nodes that is left alone")
FG_FEATURE(ACTIVE_LB_TASK, "active-lb-task", "", "-", "v5.12", 1,
	   "repeated failures start active balance only for tasks")
FG_FEATURE(ASYM_CAP_FULL, "asym-cap-full", "", "-", "v5.14", 1,
	   "asymmetric domains are told from those with all capacities")
FG_FEATURE(CAP_GREATER, "cap-greater", "", "-", "v5.14", 1, "groups are compared with a 5 % capacity margin")
FG_FEATURE(LOAD_FLOOR, "load-floor", "", "-", "v5.7", 1, "a task counts as load 1 at least when load is moved")
FG_FEATURE(LB_KTHREAD, "lb-kthread", "", "-", "v5.12", 1, "a per-CPU kthread is no reason to take a queue for pinned")
FG_FEATURE(QUEUE_FAIR, "queue-fair", "", "-", "v5.14", 1, "a queue with no fair task, but blocked load, is no source")
FG_FEATURE(ASYM_PRIO, "asym-prio", "cpu|smt|core", "-", "v5.16", 1,
	   "where asymmetric packing goes by CPU, heeds busy siblings, or asks for idle cores")
FG_FEATURE(MISFIT_LARGER, "misfit-larger", "", "-", "v6.9", 1,
	   "of groups with equally large misfit tasks the first is busier, not the last")
FG_FEATURE(ASYM_EARLY, "asym-early", "", "-", "v7.2", 1,
	   "a group of clearly bigger CPUs where nothing waits is never busiest (6.1 and 6.12 stable)")
FG_FEATURE(MISFIT_CORE, "misfit-core", "", "-", "v7.2", 1,
	   "only a CPU whose siblings idle pulls misfit tasks (6.1 and 6.12 stable)")
FG_FEATURE(NEWIDLE_COST, "newidle-cost", "", "-", "v5.16", 1,
	   "newly idle balancing needs as much idle time as it has cost lately, not always 0.5 ms")
FG_FEATURE(NEWIDLE_ONE, "newidle-one", "", "-", "v5.4", 1,
	   "newly idle balancing takes one task at most, as kernels do that are built to be preempted")
FG_FEATURE(NEWIDLE_STATS, "newidle-stats", "", "-", "<=v5.11", 1,
	   "newly idle balancing brings the idle CPUs it looks at up to date; later only a round over all of them does")
FG_FEATURE(NEWIDLE_PENDING, "newidle-pending", "", "-", "v5.15", 1,
	   "a CPU that runs dry does not balance while a remote wakeup is on its way, nor takes that for idle time")
FG_FEATURE(
	ILB_ONE_OF, "ilb-one-of", "", "-", "v5.12", 1,
	"who balances for all idle CPUs is one of them, and a pass of its own does not bring their next turn forward")
FG_FEATURE(NOHZ_NEXT_KICK, "nohz-next-kick", "", "-", "v5.16", 1,
	   "after a tick stopped the next busy one wakes an idle CPU, if only to find out whose turn to balance comes "
	   "first")
FG_FEATURE(NEWIDLE_FAIL, "newidle-fail", "none|bump|random|rate", "-", "v6.17", 1,
	   "newidle balancing that pulls nothing: counts as more expensive; is tried in proportion to its success; and "
	   "whenever it was rarely tried lately (random also in 6.1 and 6.12 stable)")
FG_FEATURE(REDUCED_CAP, "reduced-cap", "", "-", "v6.0", 1, "a single task on a CPU of reduced capacity is pulled away")
FG_FEATURE(SWB_NR, "swb-nr", "", "-", "v6.0", 1, "newly idle balance ends when the CPU got tasks")
FG_FEATURE(LOAD_NOWRAP, "load-nowrap", "", "-", "v6.3", 1, "a group above the average load pulls no load")
FG_FEATURE(GROUP_FLAGS, "group-flags", "", "-", "v6.6", 1,
	   "groups of the domain above a removed one take over the flags of the one below")
FG_FEATURE(GROUPS_WITHIN, "groups-within", "", "-", "v5.13", 1,
	   "a NUMA group that would reach beyond its domain is one of a level below")
FG_FEATURE(SMT_BALANCE, "smt-balance", "", "-", "v6.6", 1, "idle cores pull from busy siblings")
FG_FEATURE(SIB_RATIO, "sib-ratio", "", "-", "v6.6", 1, "sibling groups share tasks in proportion to cores")
FG_FEATURE(SWB_CORE, "swb-core", "", "-", "v6.6", 1, "a CPU of an idle core balances first")
FG_FEATURE(PSIB_BUSIEST, "psib-busiest", "", "-", "v6.7", 1, "prefer-sibling is read from the busiest group")
FG_FEATURE(UTIL_SHIFT, "util-shift", "", "-", "v6.7", 1, "failures halve the utilization a task may have to be moved")
FG_FEATURE(MISFIT_NO_BACKOFF, "misfit-no-backoff", "", "-", "v6.10", 1,
	   "failed misfit balance does not lengthen the interval")

FG_FEATURE(NR_RUNNABLE, "nr-runnable", "", "-", "v6.14", 1, "load balancing does not count delayed sleepers")
FG_FEATURE(DELAYED_STAY, "delayed-stay", "", "-", "v6.14", 1, "delayed sleepers move only with load")
FG_FEATURE(INELIGIBLE_STAY, "ineligible-stay", "", "-", "v6.14", 1,
	   "a task that is not eligible moves to a busy CPU only after a failure")
FG_FEATURE(AVG_IDLE_ANY, "avg-idle-any", "", "-", "v7.0", 1, "avg_idle is updated whenever the idle task is replaced")
FG_FEATURE(AVG_IDLE_NOSTAMP, "avg-idle-nostamp", "", "-", "<=v7.2", 1,
	   "without an idle stamp avg_idle jumps to its limit (v7.0 to v7.2)")
FG_FEATURE(WEIGHT_IN_MAP, "weight-in-map", "", "-", "v7.1", 1, "intervals count the CPUs of a partition")
FG_FEATURE(OVERLOAD_NEEDS_OU, "overload-needs-ou", "", "-", "v7.1", 1,
	   "with energy-aware wakeups a group is overloaded only with an overutilized CPU")
FG_FEATURE(MISFIT_HELPFUL, "misfit-helpful", "", "-", "v7.3", 1,
	   "misfit tasks count only for a CPU that is clearly bigger")
FG_FEATURE(SRC_BUSY_CORE, "src-busy-core", "", "-", "v7.3", 1,
	   "a single task next to a busy sibling may move to a CPU that is not bigger")
FG_FEATURE(ASYM_PREFER_SIBLING, "asym-prefer-sibling", "", "-", "v7.3", 1,
	   "the level below an asymmetric domain prefers siblings")
FG_FEATURE(ILB_IDLE_CORE, "ilb-idle-core", "", "-", "v7.3", 1,
	   "who balances for all idle CPUs is on an idle core if there is one")
FG_FEATURE(INTERVAL_RESET, "interval-reset", "", "-", "v7.3", 1,
	   "a pass that found imbalance resets the interval, whether it pushes or not")
FG_FEATURE(ALB_GONE, "alb-gone", "", "-", "v7.3", 1, "no active balance for a task that has left its queue")
FG_FEATURE(SCHED_CACHE, "sched-cache", "", "-", "v7.2", 1,
	   "load balancing gathers the threads of a process behind one cache")
FG_FEATURE(CACHE_ASYM, "cache-asym", "", "-", "v7.3", 1, "sched-cache leaves tasks that need a bigger CPU alone")
FG_FEATURE(CACHE_ALB, "cache-alb", "", "-", "v7.3", 1,
	   "active balance of sched-cache takes only tasks that prefer the cache")
FG_FEATURE(CACHE_RUNNABLE, "cache-runnable", "", "-", "v7.3", 1, "sched-cache does not count delayed sleepers")
FG_FEATURE(CACHE_PACKING, "cache-packing", "", "-", "-", 1, "sched-cache yields to asymmetric packing (7.3.4)")

/* Versions, run queue: spec 9. */
FG_FEATURE(RQ, "rq", "cfs|eevdf|eevdf612", "-", "v2.6.23", 1, "the run queue of fair tasks")
FG_FEATURE(BASE_SLICE, "base-slice", "", "-", "v5.13", 1,
	   "a slice of CFS is never shorter than the minimum granularity")
FG_FEATURE(IDLE_SLICE, "idle-slice", "", "-", "v5.16", 1,
	   "with CFS a SCHED_IDLE task beside others has a shorter minimum slice, and less credit for its sleep")
FG_FEATURE(SLICE_700, "slice-700", "", "-", "v6.15", 1, "the base slice of EEVDF is 0.70 ms, not 0.75 (6.12 stable)")
FG_FEATURE(SYNC_DELAYED, "sync-delayed", "", "-", "v6.15", 1,
	   "a sync waker is alone on its CPU if all others there are delayed sleepers (6.12 stable)")
FG_FEATURE(PICK_BUDDY, "pick-buddy", "", "-", "v6.14", 1,
	   "with EEVDF a task group whose task sleeps within its slice may use up the rest of it (6.12 stable)")
FG_FEATURE(TG_EMPTY_KEEPS, "tg-empty-keeps", "", "-", "v6.13", 1,
	   "a task group keeps the weight it has on a CPU when its last task there falls asleep (6.12 stable)")
FG_FEATURE(TG_LOAD_RATE, "tg-load-rate", "", "-", "v6.7", 1,
	   "what a CPU adds to a task group's load changes once a millisecond at most")
FG_FEATURE(
	TG_LOAD_SUM, "tg-load-sum", "", "-", "v5.13", 1,
	"when a task group's load changes because tasks come or go the sum of its CPU follows the average, like those "
	"of utilization and runnable time, and not the group's sum")
FG_FEATURE(NEXT_BUDDY, "next-buddy", "", "-", "-", 1,
	   "with EEVDF a woken task is the next buddy, as with sched_feat NEXT_BUDDY up to v6.18")
FG_FEATURE(YIELD_FORFEIT, "yield-forfeit", "", "-", "v6.18", 1,
	   "with EEVDF who yields pays for the rest of its slice, unless it is in debt (6.12 stable)")
FG_FEATURE(
	IDLE_REWEIGHT, "idle-reweight", "", "-", "v6.11", 1,
	"a task that becomes SCHED_IDLE is reweighted at once, its load and its lag, like any other (also 6.1 stable)")
FG_FEATURE(REWEIGHT, "reweight", "lag|place|place-self-out|exact", "-", "v6.13", 1,
	   "how a queued group keeps its lag when its weight changes: as it is; placed anew with itself counted; "
	   "without; or exactly")
FG_FEATURE(LAG_CLAMP, "lag-clamp", "own|queue", "-", "v7.0", 1,
	   "lag is limited by the own slice of a task, or by the longest one of its queue")
FG_FEATURE(WEIGHT_BITS, "weight-bits", "10|20", "-", "v7.1", 1,
	   "averages of virtual time use weights with 10 or 20 fractional bits")
FG_FEATURE(DELAY_LAG, "delay-lag", "", "-", "v7.1", 1, "a delayed sleeper owes no more than when it fell asleep")
FG_FEATURE(DELAY_CHARGE, "delay-charge", "", "-", "v7.2", 1,
	   "the current task is charged before a delayed sleeper wakes where it is queued")
FG_FEATURE(PROTECT, "protect", "parity|vprot|vprot-inelig", "-", "v6.17", 1,
	   "what was picked is protected for its slice; for the shortest one of the queue; or while it is eligible, "
	   "where there is a shorter one")
FG_FEATURE(PROTECT_FIRST, "protect-first", "", "-", "v7.0", 1,
	   "protection begins at a pick only, and changes with the weight")
FG_FEATURE(SHRINK, "shrink", "none|short|failed|always", "-", "v6.17", 1,
	   "which wakeups that do not preempt shorten the protection of the current task")
FG_FEATURE(FORK_NO_PREEMPT, "fork-no-preempt", "", "-", "v6.19", 1, "a new task preempts only with a shorter slice")
FG_FEATURE(BUDDY_IN_WAKE, "buddy-in-wake", "", "-", "v6.19", 1, "a wakee does not preempt while the buddy is eligible")
FG_FEATURE(BUDDY_PROTECT, "buddy-protect", "", "-", "v7.1", 1,
	   "a wakee with a shorter slice is not held up by the buddy")
FG_FEATURE(WAKE_PICK_DEQUEUE, "wake-pick-dequeue", "", "-", "v7.1", 1,
	   "a delayed sleeper that the test of a wakeup comes upon is dequeued")
FG_FEATURE(SHORT_EAGER, "short-eager", "", "-", "v7.3", 1, "an eligible wakee with a shorter slice preempts")
FG_FEATURE(SHORT_BUDDY, "short-buddy", "", "-", "v7.3", 1,
	   "a wakee with a shorter slice that preempts is the next buddy")
FG_FEATURE(WAKE_TEST_ALWAYS, "wake-test-always", "", "-", "v7.3", 1,
	   "a wakeup is tested although a reschedule is pending: it may shorten the protection")
FG_FEATURE(MIN_SLICE_UP, "min-slice-up", "", "-", "v6.15", 1,
	   "a group passes a change of its shortest slice on at once")
FG_FEATURE(HRTICK, "hrtick", "off|ran|deadline", "-", "-", 1,
	   "a timer ends slices between ticks: by the time that a task has run, or by its deadline (x86 and riscv from "
	   "v7.1 on)")
FG_FEATURE(PREEMPT_MODEL, "preempt-model", "full|lazy", "-", "v7.0", 1,
	   "fair tasks are preempted at once, or when their CPU next leaves the kernel")
FG_FEATURE(FLAT_PICK, "flat-pick", "", "-", "v7.3", 1, "tasks of all groups compete in one queue")
FG_FEATURE(GROUP_SHARES, "group-shares", "smp|up|concur|max|tasks", "-", "v7.3", 1,
	   "what part of its shares a group has on a CPU")
FG_FEATURE(TG_DECAYED, "tg-decayed", "", "-", "v6.18", 1, "a group is kept until its contribution to the load is 0")
FG_FEATURE(TG_RATE_CLOCK, "tg-rate-clock", "", "-", "v7.2", 0,
	   "the contributions of groups go by the clock of the queue")
FG_FEATURE(THROTTLE, "throttle", "group|task|task-early", "-", "v6.18", 1,
	   "a group without quota stops at once, or each of its tasks on its return to user mode")
FG_FEATURE(PROXY, "proxy", "off|local|migrate", "-", "-", 0,
	   "who waits for a mutex lends its place to the owner (CONFIG_SCHED_PROXY_EXEC)")
FG_FEATURE(FAIR_SERVER, "fair-server", "off|v612|v617|v618|v619", "-", "v6.12", 1,
	   "fair tasks come before RT tasks for 50 ms in a second, unless they had as much anyway; when that server "
	   "stops, and "
	   "what it is charged for, as the release has it")
FG_FEATURE(SERVER_REVISED, "server-revised", "", "-", "v7.0", 1,
	   "a deadline server that stopped while it ran goes on with its part of what is left of the period")
