/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rules a placement can end with, named as the tables of the behaviour specification:
 * FG_RULE(id, name, text)
 */
FG_RULE(NONE, "none", "no rule applied")

/* The entry: spec 3. */
FG_RULE(ONLY_CPU, "only-cpu", "affinity allows a single CPU")
FG_RULE(FALLBACK, "fallback", "the chosen CPU is not allowed or not active: first one that is, own node first")
FG_RULE(STAY_PREV, "stay-prev", "no domain balances this request: the previous CPU stays")

FG_RULE(CURRENT_CPU, "current-cpu", "the waker asked for its own CPU")

/* The slow path: spec 5. */
FG_RULE(SLOW_PREV, "slow-prev", "no CPU of the domain is allowed: the previous CPU stays")
FG_RULE(FORK_LOCAL, "fork-local", "no group is idler than the parent's: the child starts on the parent's CPU")
FG_RULE(FORK_IDLEST, "fork-idlest", "the child starts on the idlest CPU of the idlest group")
FG_RULE(EXEC_LOCAL, "exec-local", "no group is idler than the caller's: exec stays")
FG_RULE(EXEC_IDLEST, "exec-idlest", "exec moves to the idlest CPU of the idlest group")
FG_RULE(WAKE_LOCAL, "wake-local", "slow wakeup: no group is idler than the waker's")
FG_RULE(WAKE_IDLEST, "wake-idlest", "slow wakeup: the idlest CPU of the idlest group")

/* Energy-aware wakeups: spec 7.6. */
FG_RULE(FEEC_SYNC, "F0", "energy: the waker is about to leave its CPU to the task, which fits there")
FG_RULE(FEEC_TRIVIAL, "F1", "energy: the task uses nothing, so the previous CPU keeps it")
FG_RULE(FEEC_NEGATIVE, "F2", "energy: an estimate is below that without the task, so the previous CPU keeps it")
FG_RULE(FEEC_NONE, "F3", "energy: no CPU has room for the task, so the previous one keeps it")
FG_RULE(FEEC_FIT, "F4", "energy: the CPU that fits best, for the previous one does not fit as well")
FG_RULE(FEEC_ENERGY, "F5", "energy: the CPU where the task costs least")
FG_RULE(FEEC_CAP, "F6", "energy: no CPU gives the minimum asked for, and this one comes closer than the previous one")
FG_RULE(FEEC_MARGIN, "F7", "energy: another CPU costs less, but not by 6 % of all, so the previous one keeps it")
FG_RULE(FEEC_PREV, "F8", "energy: nowhere does the task cost less than on the previous CPU")

/* The fast path before mail 000: spec 4.1. */
FG_RULE(B1, "B1", "asymmetric machine: first free CPU that fits, else the free one that comes closest, else target")
FG_RULE(B2, "B2", "target is free")
FG_RULE(B3, "B3", "the previous CPU shares target's cache and is free")
FG_RULE(B4, "B4", "woken by a per-CPU kthread on the previous CPU")
FG_RULE(B5, "B5", "the recently used CPU shares target's cache and is free")
FG_RULE(B6, "B6", "target has no cache domain to search")
FG_RULE(B7, "B7", "a core of the LLC with all threads idle")
FG_RULE(B7C, "B7c", "an idle CPU of target's cluster, in mail 004's posted loop")
FG_RULE(B8, "B8", "a free CPU of the LLC")
FG_RULE(B9, "B9", "a free thread of target's core")
FG_RULE(B9P, "B9p", "a free thread of the previous CPU's core")
FG_RULE(B10, "B10", "no free CPU found: target")

/* The fast path after mail 000: spec 4.2. */
FG_RULE(A1, "A1", "target is free, and fits where capacities differ")
FG_RULE(A2, "A2", "the previous CPU shares target's cache, is free, and fits where capacities differ")
FG_RULE(A3, "A3", "woken by a per-CPU kthread on the previous CPU")
FG_RULE(A4, "A4", "the recently used CPU shares target's cache, is free, and fits where capacities differ")
FG_RULE(A5, "A5", "asymmetric machine: first free CPU that fits, else the free one that comes closest, else target")
FG_RULE(A6, "A6", "target has no cache domain to search")
FG_RULE(A7, "A7", "a core of the LLC with all threads idle")
FG_RULE(A7C, "A7c", "an idle CPU of target's cluster, in mail 004's posted loop")
FG_RULE(A8, "A8", "a free CPU of the LLC")
FG_RULE(A9, "A9", "a free thread of target's core")
FG_RULE(A9P, "A9p", "a free thread of the previous CPU's core")
FG_RULE(A10, "A10", "no free CPU found: target")

/* The fast path with clusters as they landed: spec 4.4. */
FG_RULE(C1, "C1", "target is free, and fits where capacities differ")
FG_RULE(C2, "C2", "the previous CPU in target's cluster (else cache) is free, and fits where capacities differ")
FG_RULE(C3, "C3", "woken by a per-CPU kthread on the previous CPU")
FG_RULE(C4, "C4", "the recently used CPU in target's cluster (else cache) is free, and fits where capacities differ")
FG_RULE(C5, "C5", "asymmetric machine: first free CPU that fits, else the free one that comes closest, else target")
FG_RULE(C6, "C6", "target has no cache domain to search")
FG_RULE(C7, "C7", "a free thread of the previous CPU's core")
FG_RULE(C8I, "C8i", "a core of the LLC with all threads idle")
FG_RULE(C8C, "C8c", "a free CPU or an idle core of target's cluster")
FG_RULE(C8, "C8", "a free CPU of the LLC")
FG_RULE(C9, "C9", "no free CPU found nearer: the previous one, free in another cluster of the LLC")
FG_RULE(C10, "C10", "no free CPU found nearer: the recently used one, free in another cluster of the LLC")
FG_RULE(C11, "C11", "no free CPU found: target")
