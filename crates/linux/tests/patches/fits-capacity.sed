# tree: 6.12
# file: kernel/sched/fair.c
# places: 1
# row: wake F5
# governor: schedutil
#
# A task fits up to 90 % of the capacity, not 80 %.
/^#define fits_capacity(cap, max)/ s/1280/1138/
