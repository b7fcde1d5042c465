# tree: 6.1 6.12
# with: 004-loop
# file: kernel/sched/topology.c
# places: 1
# scheduler: fair:debian-TREE-cls-domain+cls-select=loop
# shape: clustered
#
# The loop alone: clusters are no domains.
/^\t{ cpu_clustergroup_mask, cpu_cluster_flags, SD_INIT_NAME(CLS) },$/ d
