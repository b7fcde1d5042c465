# tree: 6.12
# file: kernel/sched/fair.c
# places: 1
# row: left update_sd_lb_stats: overutilized
# governor: schedutil
# run: hikey960 periodic:tasks=6,periods=10,duty=40,duration=0.5 --governor=schedutil
# diff: ^  task_tick_fair: misfit_task_load of CPU .*: base 0 to [1-9].*, test does not change it there$
# diff: ^base, of the CPU that test chooses: .*does not fit: utilization [0-9]*, capacity 462$
#
# A task fits up to 90 % of the capacity, not 80 %.
/^#define fits_capacity(cap, max)/ s/1280/1138/
