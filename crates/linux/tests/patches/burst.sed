# tree: 6.12
# file: kernel/sched/fair.c
# places: 1
# row: left task_tick_fair: vruntime
# run: hikey960 schbench:runtime=0.2
# diff: ^  task_tick_fair: vruntime of [a-z].*: base .* to .*, test .* to 
#
# A penalty on long bursts, as burst-oriented schedulers have one: the longer a task has had the CPU, the more virtual time it
# pays.
/^static void update_curr(/,/^}$/ s/^\tcurr->vruntime += calc_delta_fair(delta_exec, curr);$/&\n\tcurr->vruntime += calc_delta_fair(delta_exec, curr) * fls64((curr->sum_exec_runtime - curr->prev_sum_exec_runtime) >> 19) \/ 8;/
