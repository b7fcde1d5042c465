# tree: 6.12
# file: kernel/sched/fair.c
# places: 1
# row: left update_idle_cpu_scan: nr_idle_scan
#
# SIS_UTIL scans half as many CPUs.
/^static void update_idle_cpu_scan(/,/^}$/ s/^\ty = SCHED_CAPACITY_SCALE - tmp;$/\ty = (SCHED_CAPACITY_SCALE - tmp) \/ 2;/
