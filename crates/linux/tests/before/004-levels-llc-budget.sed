# tree: 6.1
# with: 004-levels
# file: kernel/sched/features.h
# places: 1
# scheduler: fair:debian-TREE+cls-select=levels+sis-mode=prop-aged
# shape: clustered
#
# The budget comes from what scans cost and from the size of the cache.
s/^SCHED_FEAT(SIS_PROP, false)$/SCHED_FEAT(SIS_PROP, true)/
s/^SCHED_FEAT(SIS_UTIL, true)$/SCHED_FEAT(SIS_UTIL, false)/
