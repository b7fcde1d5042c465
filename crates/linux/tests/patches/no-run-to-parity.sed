# tree: 6.12
# file: kernel/sched/features.h
# places: 1
# row: pick protected
#
# A slice that began may be interrupted.
s/^SCHED_FEAT(RUN_TO_PARITY, true)$/SCHED_FEAT(RUN_TO_PARITY, false)/
