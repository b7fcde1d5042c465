# tree: 6.1 6.12
# file: kernel/sched/fair.c
# places: 5
# scheduler: fair:debian-TREE+break-even=exit-latency
# shape: two-nodes-equal-exits
#
# Equally deep idle CPUs of a group are ranked by the deadline that the run queue remembers, not by their time stamps.
s/^\tunsigned int min_exit_latency = UINT_MAX;$/&\n\tu64 first_to_pay = U64_MAX;/
s/^\t\t\t\tmin_exit_latency = idle->exit_latency;$/&\n\t\t\t\tfirst_to_pay = rq->break_even;/
/^\t\t\t} else if ((!idle || idle->exit_latency == min_exit_latency) &&$/ i\
\t\t\t} else if (idle) {\
\t\t\t\tif (idle->exit_latency == min_exit_latency && rq->break_even < first_to_pay) {\
\t\t\t\t\tfirst_to_pay = rq->break_even;\
\t\t\t\t\tshallowest_idle_cpu = i;\
\t\t\t\t}
#
# --- kernel/sched/sched.h
s/^\tstruct cpuidle_state\t*\*idle_state;$/&\n\tu64\t\t\tbreak_even;/
s/^\trq->idle_state = idle_state;$/&\n\tif (idle_state)\n\t\trq->break_even = ktime_get_ns() + idle_state->exit_latency_ns;/
