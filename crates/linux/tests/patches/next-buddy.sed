# tree: 6.12
# file: kernel/sched/features.h
# places: 1
# row: left check_preempt_wakeup_fair: next
#
# The woken task runs next.
s/^SCHED_FEAT(NEXT_BUDDY, false)$/SCHED_FEAT(NEXT_BUDDY, true)/
