# tree: 6.12
# file: kernel/sched/fair.c
# places: 3
# scheduler: fair:debian-TREE-cls-select
# shape: clustered
#
# Only the level is left: previous and recent CPU may be of another cluster, and target's is not scanned first.
s/^\(\t*if (.*\)static_branch_unlikely(&sched_cluster_active)\( ||\|) {\)$/\1false\2/
