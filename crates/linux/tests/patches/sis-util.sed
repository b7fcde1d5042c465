# tree: 6.12
# file: kernel/sched/fair.c
# places: 1
# row: left update_idle_cpu_scan: nr_idle_scan
# run: kunpeng920 schbench:runtime=0.1
# diff: ^  update_idle_cpu_scan: nr_idle_scan of CPU .*: base 0 to .*, test 0 to 
#
# SIS_UTIL scans half as many CPUs.
/^static void update_idle_cpu_scan(/,/^}$/ s/^\ty = SCHED_CAPACITY_SCALE - tmp;$/\ty = (SCHED_CAPACITY_SCALE - tmp) \/ 2;/
