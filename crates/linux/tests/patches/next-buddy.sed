# tree: 6.12
# file: kernel/sched/features.h
# places: 1
# row: left check_preempt_wakeup_fair: next
# run: hikey960 schbench:runtime=0.2
# diff: ^  check_preempt_wakeup_fair: next of CPU .*: test -1 to [0-9]*, base does not change it there$
# diff: ^ *0 .*pick: pick_next_entity: next buddy (buddy)$
#
# The woken task runs next.
s/^SCHED_FEAT(NEXT_BUDDY, false)$/SCHED_FEAT(NEXT_BUDDY, true)/
