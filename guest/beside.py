"""What a guest and a simulation of it decided, side by side: see beside.sh.

Usage: beside.py LOG N SIMULATED THREADS CLUSTER TITLE

LOG has the traces of a guest, the N-th is meant; SIMULATED is the trace of a run. THREADS: names of threads, less -NUMBER at the end,
with commas between; placements of others do not count. CLUSTER: CPUs of a cluster.
"""

import re
import sys
from collections import Counter

EVENT = re.compile(r"^(\S.*)-\d+ +\[(\d+)\].*? \d+\.\d+: (?:print: (?:tracing_mark_write: )?)?(\w+): (.*)$")
FIELD = re.compile(r"(\w+)=(.*?)(?= \w+=|$)")


def traces(path):
    """The lines of each trace that is printed in a log."""
    inside, found = False, []
    for line in open(path, errors="replace"):
        if line.startswith("$ print "):
            inside = True
            found.append([])
        elif line.startswith("= "):
            inside = False
        elif inside:
            found[-1].append(line.rstrip("\n"))
    return found


class Counts:
    """What a trace counts for the threads that are meant."""

    def __init__(self, lines, threads, cluster):
        self.placed, self.passes, self.cpus, self.migrations = Counter(), Counter(), Counter(), 0
        self.by_tasks = self.near = 0
        # Placed by a fork and not queued yet: a simulation notes sched_migrate_task for that, a kernel does not.
        forked = set()
        for line in lines:
            event = EVENT.match(line)
            if not event:
                continue
            name, fields = event[3], dict(FIELD.findall(event[4]))
            if name == "fairground_balance":
                self.passes[f"{fields['kind']} {fields['rule']}"] += 1
            elif re.sub(r"(-\d+)+$", "", fields.get("comm", "")) not in threads:
                continue
            elif name == "fairground_decision":
                self.placed[f"{fields['kind']} {fields['rule']}"] += 1
                self.cpus[f"CPU {int(fields['cpu'])}"] += 1
                if fields["kind"] == "fork":
                    forked.add(fields["pid"])
                if fields["kind"] == "wake" and event[1] != "<idle>":
                    self.by_tasks += 1
                    self.near += int(event[2]) // cluster == int(fields["cpu"]) // cluster
            elif name == "sched_wakeup_new":
                forked.discard(fields["pid"])
            elif name == "sched_migrate_task" and fields["pid"] not in forked:
                self.migrations += 1

    def near_share(self):
        return f"{100 * self.near / max(1, self.by_tasks):.0f} % ({self.near} of {self.by_tasks})"


def table(title, live, simulated):
    """Two counters as shares, and how far they are apart in points."""
    sums = [max(1, sum(counts.values())) for counts in (live, simulated)]
    print(f"  {title:32} {'live':>7} {'%':>6} {'simul.':>7} {'%':>6} {'points':>7}")
    for key in sorted(set(live) | set(simulated), key=lambda key: (-live[key], key)):
        shares = [100 * counts[key] / of for counts, of in zip((live, simulated), sums)]
        print(f"  {key:32} {live[key]:7} {shares[0]:6.1f} {simulated[key]:7} {shares[1]:6.1f} {shares[0] - shares[1]:+7.1f}")


def main():
    log, n, simulated, threads, cluster, title = sys.argv[1:]
    found = traces(log)
    if len(found) < int(n):
        sys.exit(f"{log}: expected {n} traces, found {len(found)}")
    threads = set(threads.split(","))
    live = Counts(found[int(n) - 1], threads, int(cluster))
    other = Counts(open(simulated).read().split("\n"), threads, int(cluster))
    print(f"{title}: migrations {live.migrations} live, {other.migrations} simulated")
    print(f"  wakeups by tasks that stay in the waker's cluster: {live.near_share()} live, {other.near_share()} simulated")
    for what in ("placed", "passes", "cpus"):
        table({"placed": "placements", "passes": "balance passes", "cpus": "placements by CPU"}[what], *(getattr(c, what) for c in (live, other)))
    print()


main()
