# tree: 6.12
# file: kernel/sched/features.h
# places: 1
# row: pick protected
# run: hikey960 schbench:runtime=0.2
# diff: current task protected (wake-protected)$
# diff: ^      by check_preempt_wakeup_fair: unexplained, the woken task preempts (preempt-unexplained)$
#
# A slice that began may be interrupted.
s/^SCHED_FEAT(RUN_TO_PARITY, true)$/SCHED_FEAT(RUN_TO_PARITY, false)/
