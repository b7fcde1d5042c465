# tree: 6.1
# file: kernel/sched/fair.c
# places: 1
# scheduler: fair:debian-6.1.192-ufc-thermal
# shape: three-capacities
#
# A boosted task is compared with what the CPU could do if it were cool.
/^static inline int util_fits_cpu(/,/^}$/ s/ - arch_scale_thermal_pressure(cpu);/;/
