# tree: 6.12
# file: kernel/sched/fair.c
# places: 1
# row: left update_sd_lb_stats: overutilized
# governor: schedutil
#
# A task fits up to 90 % of the capacity, not 80 %.
/^#define fits_capacity(cap, max)/ s/1280/1138/
