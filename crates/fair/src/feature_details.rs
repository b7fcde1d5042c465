//! Where each feature acts: the kernel's functions, the section of the behaviour specification that describes it, and
//! whether it shows in a run.

/// Where a feature acts and where it is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureDetails {
    /// Functions of the kernel that the feature changes, with spaces between: the one that decides first.
    pub functions: &'static str,
    /// Section that describes it: `spec 4.3` is one of docs/spec/placement.md, `spec-new 2.1` of
    /// docs/spec/placement-new.md.
    pub spec: &'static str,
    /// Whether it shows in a run.
    pub visible: Visible,
}

/// Whether a feature shows in a run, as marked in docs/spec/placement-new.md. placement.md has no such marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visible {
    /// With a default configuration.
    Yes,
    /// Only where a run has this.
    Only(&'static str),
    /// The specification does not say.
    Unmarked,
}

use Visible::{Only, Unmarked, Yes};

impl FeatureDetails {
    /// Page and section of the specification: `docs/spec/placement.md`, `4.3`.
    pub fn page(&self) -> (&'static str, &'static str) {
        match self.spec.split_once(' ') {
            Some(("spec-new", section)) => ("docs/spec/placement-new.md", section),
            Some((_, section)) => ("docs/spec/placement.md", section),
            None => ("docs/spec/placement.md", self.spec),
        }
    }

    /// Whether the feature shows in a run, in words; `None` if the specification does not say.
    pub fn shows(&self) -> Option<String> {
        match self.visible {
            Visible::Yes => Some("with a default configuration".into()),
            Visible::Only(with) => Some(format!("only with {with}")),
            Visible::Unmarked => None,
        }
    }
}

/// Feature, functions, section, visibility; in the order of policy/features.h.
type Row = (&'static str, &'static str, &'static str, Visible);

#[rustfmt::skip]
const DETAILS: &[Row] = &[
    ("asym-scan",            "select_idle_sibling select_idle_capacity", "spec 4.1", Unmarked),
    ("asym-prev-first",      "select_idle_sibling select_idle_capacity", "spec 4.2", Unmarked),
    ("asym-check-scope",     "select_idle_sibling", "spec 4.2", Unmarked),
    ("break-even",           "find_idlest_group_cpu sched_idle_set_state", "spec 5.5", Unmarked),
    ("break-even-nullbug",   "sched_idle_set_state", "spec 5.5", Unmarked),
    ("lb-p01",               "find_busiest_group", "spec 6.7", Unmarked),
    ("lb-p02",               "update_sg_lb_stats", "spec 6.7", Unmarked),
    ("lb-p03",               "fix_small_imbalance calculate_imbalance", "spec 6.7", Unmarked),
    ("lb-p04",               "calculate_imbalance find_busiest_group update_sd_pick_busiest detach_tasks", "spec 6.7", Unmarked),
    ("lb-p05",               "update_sg_lb_stats", "spec 6.7", Unmarked),
    ("lb-p06",               "update_sg_lb_stats find_busiest_queue detach_tasks", "spec 6.7", Unmarked),
    ("lb-p07",               "calculate_imbalance find_busiest_group", "spec 6.7", Unmarked),
    ("lb-p08",               "detach_tasks calculate_imbalance", "spec 6.7", Unmarked),
    ("lb-p09",               "wake_affine_weight find_idlest_group find_idlest_group_cpu", "spec 6.7", Unmarked),
    ("lb-p10",               "find_idlest_group", "spec 6.7", Unmarked),
    ("lb-p11",               "find_idlest_group", "spec 6.7", Unmarked),
    ("ufc",                  "util_fits_cpu task_fits_cpu cpu_overutilized", "spec 7.1", Unmarked),
    ("ufc-thermal",          "util_fits_cpu", "spec 7.1", Unmarked),
    ("cap-inversion",        "update_cpu_capacity util_fits_cpu", "spec 7.1", Unmarked),
    ("misfit-unlink",        "util_fits_cpu select_idle_capacity find_energy_efficient_cpu find_busiest_group", "spec 7.1", Unmarked),
    ("mu-tristate",          "util_fits_cpu", "spec 7.1", Unmarked),
    ("mu-gate",              "find_busiest_group", "spec 7.3", Unmarked),
    ("mu-ou",                "cpu_overutilized", "spec 7.5", Unmarked),
    ("mu-feec",              "find_energy_efficient_cpu", "spec 7.6", Unmarked),
    ("mu-sic",               "select_idle_capacity", "spec 4.6", Unmarked),
    ("cls-domain",           "build_sched_domains", "spec 1.1", Unmarked),
    ("cls-select",           "select_idle_sibling select_idle_cpu", "spec 4.7", Unmarked),
    ("levels-nr",            "select_idle_cpu", "spec 4.7", Unmarked),

    ("wake-cap",             "wake_cap select_task_rq_fair", "spec 3.3", Unmarked),
    ("percpu-kthread",       "select_idle_sibling", "spec 4.1", Unmarked),
    ("kthread-fit",          "select_idle_sibling", "spec 4.3", Unmarked),
    ("si-first",             "select_idle_cpu find_idlest_group_cpu", "spec 5.4", Unmarked),
    ("wa-prev-idle",         "wake_affine_idle", "spec 3.4", Unmarked),
    ("wake-current-cpu",     "select_task_rq_fair", "spec 10.4", Unmarked),
    ("wake-list",            "ttwu_queue_wakelist", "spec 10.4", Unmarked),
    ("recent-prev",          "select_idle_sibling", "spec 4.3", Unmarked),
    ("sis-mode",             "select_idle_cpu", "spec 4.5", Unmarked),
    ("sis-merged",           "select_idle_cpu", "spec 4.3", Unmarked),
    ("core-probe-left",      "select_idle_core", "spec 10.4", Unmarked),
    ("sis-smt-prev",         "select_idle_sibling select_idle_smt", "spec 4.3", Unmarked),
    ("smt-in-llc",           "select_idle_smt", "spec 10.4", Unmarked),
    ("smt-not-self",         "select_idle_smt", "spec 10.4", Unmarked),
    ("scan-next",            "select_idle_cpu", "spec 4.3", Unmarked),
    ("capscan-next",         "select_idle_capacity", "spec 4.6", Unmarked),
    ("fig-without-p",        "find_idlest_group update_sg_wakeup_stats", "spec 5.3", Unmarked),
    ("fig-weight-fix",       "update_sg_wakeup_stats", "spec 5.3", Unmarked),
    ("fig-avgload-fix",      "update_sg_wakeup_stats", "spec 5.3", Unmarked),
    ("fig-util-tie",         "update_pick_idlest", "spec 5.3", Unmarked),
    ("fig-allowed",          "update_sg_wakeup_stats", "spec-new 4", Only("affinity")),
    ("fig-wrap",             "find_idlest_group", "spec 5.2", Unmarked),
    ("si-not-for-idle",      "choose_idle_cpu select_idle_cpu find_idlest_group_cpu", "spec-new 4", Only("SCHED_IDLE wakees")),
    ("asym-core",            "asym_fits_cpu select_idle_sibling", "spec-new 4", Only("unequal CPUs with SMT")),
    ("asym-rank",            "select_idle_capacity", "spec-new 4.1", Only("unequal CPUs with SMT")),
    ("asym-budget",          "select_idle_capacity", "spec-new 4.1", Only("unequal CPUs")),
    ("balance-shared",       "test_idle_cores update_idle_cpu_scan nohz_balancer_kick", "spec-new 7.2", Only("unequal CPUs")),
    ("llc-phys",             "update_top_cache_domain cpus_share_cache", "spec-new 4", Only("partitions")),

    ("uclamp-fit",           "task_fits_capacity uclamp_task_util", "spec 7.1", Unmarked),
    ("uclamp-idle-own",      "uclamp_rq_util_with", "spec 10.4", Unmarked),
    ("uclamp-key",           "uclamp_rq_inc", "spec 10.4", Unmarked),
    ("uclamp-protect",       "uclamp_tg_restrict", "spec 10.4", Unmarked),
    ("uclamp-reinc",         "uclamp_rq_reinc_id", "spec 10.4", Unmarked),
    ("uclamp-buckets",       "uclamp_bucket_id", "spec 10.4", Unmarked),
    ("thermal-in-cap",       "scale_rt_capacity", "spec 2.7", Unmarked),
    ("hw-pressure",          "scale_rt_capacity get_actual_cpu_capacity", "spec 2.7", Unmarked),
    ("pinned-no-misfit",     "update_misfit_status", "spec 7.4", Unmarked),
    ("max-allowed-cap",      "update_misfit_status", "spec 7.4", Unmarked),
    ("ou-eas-only",          "update_overutilized_status", "spec 10.4", Unmarked),
    ("util-est",             "util_est_update", "spec 2.6", Unmarked),
    ("est-lsb",              "util_est_update", "spec 2.6", Unmarked),
    ("est-stale",            "dequeue_task_fair util_est_update", "spec-new 8.1", Yes),
    ("newtask-w1024",        "post_init_entity_util_avg", "spec 2.5", Unmarked),
    ("pelt-sum",             "update_cfs_rq_load_avg detach_entity_load_avg", "spec 10.4", Unmarked),
    ("migrate-lag",          "migrate_se_pelt_lag", "spec 10.4", Unmarked),
    ("runnable-boost",       "cpu_util", "spec 2.7", Unmarked),
    ("feec",                 "find_energy_efficient_cpu compute_energy", "spec 7.6", Unmarked),
    ("feec-zero-spare",      "find_energy_efficient_cpu", "spec 7.6", Unmarked),
    ("feec-stale-uclamp",    "find_energy_efficient_cpu", "spec 10.4", Unmarked),
    ("feec-trivial",         "find_energy_efficient_cpu", "spec 10.4", Unmarked),
    ("feec-negative",        "find_energy_efficient_cpu", "spec 10.4", Unmarked),
    ("feec-sync",            "find_energy_efficient_cpu", "spec 10.4", Unmarked),
    ("feec-prev-spare",      "find_energy_efficient_cpu", "spec 10.4", Unmarked),
    ("feec-spare-wrap",      "find_energy_efficient_cpu", "spec 10.4", Unmarked),
    ("em-cost",              "em_cpu_energy em_create_perf_table", "spec 10.4", Unmarked),
    ("em-efficient",         "em_create_perf_table em_cpu_energy", "spec 10.4", Unmarked),
    ("eas-complexity",       "build_perf_domains", "spec 10.4", Unmarked),
    ("eas-first-cpu",        "build_perf_domains", "spec 10.4", Unmarked),
    ("est-overcap",          "util_est_update", "spec-new 8.1", Only("CPUs of little capacity")),
    ("runnable-delayed",     "__update_load_avg_cfs_rq se_update_runnable", "spec-new 8.1", Yes),
    ("est-delayed",          "enqueue_task_fair dequeue_task_fair", "spec-new 8.1", Only("delayed sleepers that become real-time")),
    ("boost-exact",          "cpu_util", "spec-new 8.1", Yes),
    ("pelt-lost-idle",       "set_next_task_idle update_idle_rq_clock_pelt", "spec-new 8.1", Only("CPUs that run at full utilization before they idle")),
    ("freq-dl",              "ignore_dl_rate_limit", "spec-new 8.2", Only("deadline tasks")),

    ("freq-perf-v2",         "effective_cpu_util sugov_effective_cpu_perf", "spec 8.1", Unmarked),
    ("freq-util-margin",     "get_next_freq", "spec 10.4", Unmarked),
    ("freq-hold",            "sugov_update_single_freq", "spec 10.4", Unmarked),
    ("freq-limits-count",    "sugov_update_next_freq", "spec-new 8.2", Unmarked),
    ("freq-soon",            "cpufreq_policy_transition_delay_us", "spec 10.4", Unmarked),
    ("freq-after-all",       "cfs_rq_util_change", "spec 10.4", Unmarked),
    ("freq-move-once",       "dequeue_entity update_load_avg", "spec 10.4", Unmarked),
    ("est-leaves-first",     "dequeue_task_fair util_est_dequeue", "spec 10.4", Unmarked),
    ("uclamp-late",          "enqueue_task uclamp_rq_inc", "spec-new 8.1", Only("utilization clamps")),
    ("iowait-clamp",         "sugov_iowait_apply", "spec 10.4", Unmarked),

    ("imb-pct-117",          "sd_init", "spec 6.8", Unmarked),
    ("busy-factor-16",       "sd_init", "spec 6.8", Unmarked),
    ("si-balance",           "sched_balance_domains dequeue_task_fair", "spec 10.4", Unmarked),
    ("busy-minus1",          "get_sd_balance_interval", "spec 6.8", Unmarked),
    ("llc-spread",           "calculate_imbalance", "spec 6.8", Unmarked),
    ("load-shift",           "detach_tasks", "spec 6.8", Unmarked),
    ("smt-never-hot",        "task_hot", "spec 6.8", Unmarked),
    ("failed-relax",         "detach_tasks", "spec 6.4", Unmarked),
    ("spare-tie",            "update_sd_pick_busiest", "spec 6.3", Unmarked),
    ("runnable-class",       "group_is_overloaded group_has_capacity", "spec 6.3", Unmarked),
    ("util-skip-single",     "find_busiest_queue", "spec 6.4", Unmarked),
    ("lb-avg-guard",         "calculate_imbalance", "spec 6.4", Unmarked),
    ("numa-imb",             "adjust_numa_imbalance find_idlest_group calculate_imbalance", "spec 6.4", Unmarked),
    ("active-lb-task",       "need_active_balance imbalanced_active_balance", "spec 6.5", Unmarked),
    ("asym-cap-full",        "asym_cpu_capacity_classify", "spec 1.7", Unmarked),
    ("cap-greater",          "update_sd_pick_busiest find_busiest_queue", "spec 6.4", Unmarked),
    ("load-floor",           "detach_tasks", "spec 10.4", Unmarked),
    ("lb-kthread",           "can_migrate_task", "spec 10.4", Unmarked),
    ("queue-fair",           "find_busiest_queue", "spec 10.4", Unmarked),
    ("asym-prio",            "sched_asym asym_smt_can_pull_tasks", "spec 10.4", Unmarked),
    ("misfit-larger",        "update_sd_pick_busiest", "spec 10.4", Unmarked),
    ("asym-early",           "update_sd_pick_busiest", "spec-new 5.5", Only("unequal CPUs")),
    ("misfit-core",          "update_sg_lb_stats", "spec-new 5.5", Only("unequal CPUs with SMT")),
    ("newidle-cost",         "newidle_balance update_newidle_cost", "spec 6.9", Unmarked),
    ("newidle-one",          "detach_tasks", "spec 10.4", Unmarked),
    ("newidle-stats",        "newidle_balance update_nohz_stats", "spec 10.4", Unmarked),
    ("newidle-pending",      "newidle_balance", "spec 10.4", Unmarked),
    ("ilb-one-of",           "_nohz_idle_balance", "spec 10.4", Unmarked),
    ("nohz-next-kick",       "nohz_balancer_kick", "spec 10.4", Unmarked),
    ("newidle-fail",         "sched_balance_newidle update_newidle_stats", "spec-new 5.2", Yes),
    ("reduced-cap",          "update_sg_lb_stats", "spec 6.3", Unmarked),
    ("swb-nr",               "should_we_balance", "spec 6.2", Unmarked),
    ("load-nowrap",          "calculate_imbalance", "spec 6.4", Unmarked),
    ("group-flags",          "cpu_attach_domain", "spec 10.4", Unmarked),
    ("groups-within",        "build_overlap_sched_groups find_descended_sibling", "spec 10.4", Unmarked),
    ("smt-balance",          "smt_balance find_busiest_group", "spec 6.3", Unmarked),
    ("sib-ratio",            "sibling_imbalance", "spec 6.4", Unmarked),
    ("swb-core",             "should_we_balance", "spec 6.2", Unmarked),
    ("psib-busiest",         "find_busiest_group update_sd_lb_stats", "spec 6.4", Unmarked),
    ("util-shift",           "detach_tasks", "spec 6.4", Unmarked),
    ("misfit-no-backoff",    "sched_balance_rq", "spec 6.5", Unmarked),
    ("nr-runnable",          "update_sg_lb_stats sched_balance_find_src_rq", "spec-new 5.1", Yes),
    ("delayed-stay",         "can_migrate_task", "spec-new 5.1", Yes),
    ("ineligible-stay",      "can_migrate_task task_is_ineligible_on_dst_cpu", "spec-new 5.1", Yes),
    ("avg-idle-any",         "put_prev_task_idle update_rq_avg_idle", "spec-new 5.2", Yes),
    ("avg-idle-nostamp",     "update_rq_avg_idle", "spec-new 5.2", Yes),
    ("weight-in-map",        "sd_init get_sd_balance_interval", "spec-new 5.3", Only("partitions")),
    ("overload-needs-ou",    "group_is_overloaded update_sg_lb_stats", "spec-new 5.4", Only("energy-aware wakeups")),
    ("misfit-helpful",       "update_sg_lb_stats", "spec-new 5.5", Only("unequal CPUs")),
    ("src-busy-core",        "sched_balance_find_src_rq", "spec-new 5.5", Only("unequal CPUs with SMT or clusters")),
    ("asym-prefer-sibling",  "sd_init", "spec-new 5.5", Only("unequal CPUs")),
    ("ilb-idle-core",        "find_new_ilb", "spec-new 5.6", Only("SMT")),
    ("interval-reset",       "sched_balance_rq", "spec-new 5.3", Yes),
    ("alb-gone",             "sched_balance_rq", "spec-new 5.3", Yes),
    ("sched-cache",          "account_mm_sched task_tick_cache can_migrate_llc", "spec-new 6", Only("several last-level caches")),
    ("cache-asym",           "task_misfits_asym_cpu", "spec-new 6.3", Only("several last-level caches and unequal CPUs")),
    ("cache-alb",            "active_load_balance_llc_cpu_stop migrate_llc_task_wrong_dst", "spec-new 6.4", Only("several last-level caches")),
    ("cache-runnable",       "set_delayed clear_delayed", "spec-new 6.1", Only("several last-level caches")),
    ("cache-packing",        "can_migrate_llc_task llc_balance need_active_balance", "spec-new 6.4", Only("several last-level caches and asymmetric packing")),

    ("rq",                   "pick_next_task_fair pick_eevdf place_entity", "spec 9", Unmarked),
    ("base-slice",           "sched_slice", "spec 10.4", Unmarked),
    ("idle-slice",           "sched_slice place_entity", "spec 9.1", Unmarked),
    ("slice-700",            "update_sysctl", "spec-new 2.4", Yes),
    ("sync-delayed",         "wake_affine_idle", "spec-new 4", Yes),
    ("pick-buddy",           "pick_next_entity", "spec-new 2.2", Yes),
    ("next-buddy",           "check_preempt_wakeup_fair set_next_buddy", "spec-new 2.3", Yes),
    ("tg-empty-keeps",       "update_cfs_group", "spec-new 3.3", Only("task groups")),
    ("tg-load-rate",         "update_tg_load_avg", "spec 10.4", Unmarked),
    ("tg-load-sum",          "update_tg_cfs_load", "spec 10.4", Unmarked),
    ("yield-forfeit",        "yield_task_fair", "spec-new 1.6", Only("yielding tasks")),
    ("idle-reweight",        "set_load_weight reweight_task", "spec 10.4", Unmarked),
    ("reweight",             "reweight_entity", "spec-new 1.1", Yes),
    ("lag-clamp",            "update_entity_lag entity_lag", "spec-new 1.2", Yes),
    ("weight-bits",          "avg_vruntime entity_eligible", "spec-new 1.3", Yes),
    ("delay-lag",            "set_delayed update_entity_lag requeue_delayed_entity", "spec-new 1.5", Yes),
    ("delay-charge",         "requeue_delayed_entity enqueue_task_fair", "spec-new 1.5", Yes),
    ("protect",              "set_protect_slice protect_slice pick_eevdf", "spec-new 2.1", Yes),
    ("protect-first",        "set_next_entity", "spec-new 2.1", Only("changed parameters of a running task")),
    ("shrink",               "update_protect_slice", "spec-new 2.3", Yes),
    ("fork-no-preempt",      "wakeup_preempt_fair", "spec-new 2.3", Yes),
    ("buddy-in-wake",        "pick_eevdf wakeup_preempt_fair", "spec-new 2.2", Yes),
    ("buddy-protect",        "pick_eevdf wakeup_preempt_fair", "spec-new 2.2", Only("unequal slices")),
    ("wake-pick-dequeue",    "wakeup_preempt_fair pick_next_entity", "spec-new 2.3", Yes),
    ("short-eager",          "wakeup_preempt_fair", "spec-new 2.3", Only("unequal slices")),
    ("short-buddy",          "wakeup_preempt_fair set_next_buddy", "spec-new 2.3", Only("unequal slices")),
    ("wake-test-always",     "wakeup_preempt_fair", "spec-new 2.3", Yes),
    ("min-slice-up",         "dequeue_entities enqueue_task_fair", "spec-new 2.4", Only("task groups with slices of their own")),
    ("hrtick",               "hrtick_start_fair hrtick", "spec-new 2.5", Yes),
    ("preempt-model",        "resched_curr_lazy sched_tick", "spec-new 2.6", Yes),
    ("flat-pick",            "pick_next_task_fair enqueue_task_fair", "spec-new 3.1", Only("task groups")),
    ("group-shares",         "calc_group_shares", "spec-new 3.2", Only("task groups")),
    ("tg-decayed",           "cfs_rq_is_decayed", "spec-new 3.3", Only("task groups")),
    ("tg-rate-clock",        "update_tg_load_avg", "spec-new 3.2", Only("task groups")),
    ("throttle",             "throttle_cfs_rq throttle_cfs_rq_work", "spec-new 3.4", Only("cpu.max")),
    ("proxy",                "find_proxy_task", "spec-new 2.8", Only("CONFIG_SCHED_PROXY_EXEC and mutexes")),
    ("fair-server",          "dl_server_start dl_server_stop fair_server_pick_task", "spec-new 2.9", Only("real-time load")),
    ("server-revised",       "update_dl_entity update_dl_revised_wakeup", "spec-new 2.9", Only("real-time load")),
];

/// Why there is no code for a feature that is not ready, as a clause.
const NOT_READY: [(&str, &str); 2] = [
    (
        "tg-rate-clock",
        "the clock of the queue and the current time are apart by what an operation of the scheduler has taken so far, of \
         which the policy knows nothing; all presets go by the clock of the queue",
    ),
    (
        "proxy",
        "it takes CONFIG_SCHED_PROXY_EXEC, which is off in every preset, and mutexes of the kernel, on which no thread of a \
         workload waits",
    ),
];

/// Why the feature of this name is not ready, as a clause; `None` if it is.
pub fn why_not_ready(name: &str) -> Option<&'static str> {
    NOT_READY.iter().find(|row| row.0 == name).map(|row| row.1)
}

/// Where the feature of this name acts and where it is described; `None` if there is no such feature.
pub fn feature_details(name: &str) -> Option<FeatureDetails> {
    let row = DETAILS.iter().find(|row| row.0 == name)?;
    Some(FeatureDetails { functions: row.1, spec: row.2, visible: row.3 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features;

    #[test]
    fn every_feature_has_a_row_and_every_row_a_feature() {
        let rows: Vec<&str> = DETAILS.iter().map(|row| row.0).collect();
        let missing: Vec<&str> = features().iter().map(|f| f.name).filter(|name| !rows.contains(name)).collect();
        let unknown: Vec<&&str> = rows.iter().filter(|name| features().iter().all(|f| f.name != **name)).collect();
        let none: (Vec<&str>, Vec<&&str>) = (Vec::new(), Vec::new());
        assert_eq!((missing, unknown), none, "features without a row, rows without a feature");
        assert_eq!(rows.len(), features().len(), "a row twice");
    }

    #[test]
    fn what_is_not_ready_says_why() {
        for feature in features() {
            assert_eq!(why_not_ready(feature.name).is_none(), feature.ready, "{}", feature.name);
        }
        assert!(NOT_READY.iter().all(|(name, _)| features().iter().any(|f| f.name == *name)));
    }

    /// What the specification of later releases describes says whether it shows in a run.
    #[test]
    fn what_came_after_v6_12_says_whether_it_shows() {
        for (name, functions, spec, visible) in DETAILS {
            assert!(!functions.is_empty() && spec.starts_with("spec"), "{name}");
            let marked = spec.starts_with("spec-new") && *name != "freq-limits-count";
            assert_eq!(*visible != Unmarked, marked, "{name}");
        }
    }
}
