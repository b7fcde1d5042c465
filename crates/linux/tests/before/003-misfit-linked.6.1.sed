# tree: 6.1
# file: kernel/sched/fair.c
# places: 1
# scheduler: fair:debian-6.1.192-misfit-unlink
# shape: three-capacities
#
# Yes or no, as before: below the requested minimum a CPU must reach it, the biggest excepted.
/^static inline int util_fits_cpu(/,/^}$/ s/^\tuclamp_min = min(uclamp_min, uclamp_max);$/&\
\tif (util < uclamp_min \&\& capacity_orig != SCHED_CAPACITY_SCALE)\
\t\treturn fits \&\& uclamp_min <= capacity_orig_thermal;\
\treturn fits;/
