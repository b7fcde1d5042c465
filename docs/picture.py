#!/usr/bin/env python3
"""Draws docs/picture.svg, the picture of README.md: a compare table and the two schedules behind it, of real runs.

    docs/picture.py [FAIRGROUND] > docs/picture.svg

FAIRGROUND is the command, `fairground` without it. The same command gives the same bytes on any machine.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

MACHINE, WORKLOAD = "hikey960", "sched-pipe:loops=50000,threads"
SCHEDS = {"before": "fair:v5.9", "after": "fair:v5.9+asym-prev-first"}
METRICS = ["ops_per_sec", "migrations_per_op", "wakeup_latency_p99_us", "energy_j"]
BEGIN_US, LENGTH_US = 2740, 62
COLORS = {"sched-pipe-0": "#2b6cb0", "sched-pipe-1": "#dd8e2a"}

LEFT, WIDTH, LANE, HEAD, GAP = 66, 900, 24, 26, 34
SWITCH = re.compile(r"\[(\d+)\] (\d+)\.(\d{9}): sched_switch: .*next_comm=(\S+)")


def run(*args):
    return subprocess.run(args, check=True, capture_output=True, text=True).stdout


def slices(trace):
    """(CPU, task, begin, end) in us, of what ran in the window."""
    running, out = {}, []
    for line in trace.splitlines():
        found = SWITCH.search(line)
        if not found:
            continue
        cpu, us, task = int(found[1]), int(found[2]) * 1e6 + int(found[3]) / 1e3, found[4]
        before, begin = running.get(cpu, (None, 0))
        if before in COLORS and us > BEGIN_US and begin < BEGIN_US + LENGTH_US:
            out.append((cpu, before, max(begin, BEGIN_US), min(us, BEGIN_US + LENGTH_US)))
        running[cpu] = (task, us)
    return out


def x(us):
    return LEFT + (us - BEGIN_US) / LENGTH_US * (WIDTH - LEFT - 10)


def panel(title, ran, cpus, top):
    """A lane for each CPU, a box for each stay of a task on it."""
    out = [f'<text x="0" y="{top + 14}" font-weight="bold">{title}</text>']
    for lane, cpu in enumerate(cpus):
        y = top + HEAD + lane * LANE
        out.append(f'<text x="0" y="{y + 15}">CPU {cpu}</text>')
        out.append(f'<rect x="{LEFT}" y="{y}" width="{WIDTH - LEFT - 10}" height="{LANE - 4}" fill="#e5e7eb" rx="2"/>')
        for _, task, begin, end in (one for one in ran if one[0] == cpu):
            width = max(x(end) - x(begin), 1)
            out.append(
                f'<rect x="{x(begin):.1f}" y="{y}" width="{width:.1f}" height="{LANE - 4}" '
                f'fill="{COLORS[task]}" rx="1"><title>{task}, {end - begin:.2f} us</title></rect>'
            )
    return out


def table(result, top):
    """The rows of the comparison, each figure right under its heading."""
    ends = [(0, "start"), (320, "end"), (480, "end"), (620, "end"), (WIDTH - 10, "end")]

    def line(cells, y, weight):
        return [
            f'<text x="{at}" y="{y}" text-anchor="{anchor}" font-weight="{weight}">{cell}</text>'
            for cell, (at, anchor) in zip(cells, ends, strict=True)
        ]

    out = line(["metric", "before", "after", "better by", "95 % interval"], top, "bold")
    known = {metric["name"]: metric for metric in result["metrics"]}
    for number, name in enumerate(METRICS, 1):
        metric = known[name]
        low, high = metric["ci95"]
        cells = [
            f"{name} ({metric['unit']})",
            f"{metric['base']['mean']:,.6g}",
            f"{metric['test']['mean']:,.6g}",
            f"{metric['improvement_pct']:+.2f} %",
            f"{low:+.2f} % .. {high:+.2f} %",
        ]
        out += line(cells, top + number * 20, "normal")
    return out


def main():
    command = sys.argv[1] if len(sys.argv) > 1 else "fairground"
    ends = ["--base", SCHEDS["before"], "--test", SCHEDS["after"]]
    wanted = ["--metrics", ",".join(METRICS), "--seeds", "8", "--format", "json"]
    result = json.loads(run(command, "compare", MACHINE, WORKLOAD, *ends, *wanted))
    result = result[0] if isinstance(result, list) else result
    ran = {}
    with tempfile.TemporaryDirectory() as folder:
        for when, sched in SCHEDS.items():
            file = Path(folder) / when
            run(command, "run", MACHINE, "sched-pipe:loops=1000,threads", "--sched", sched, "--trace", str(file))
            ran[when] = slices(file.read_text())
    cpus = sorted({cpu for stays in ran.values() for cpu, *_ in stays})
    tall = HEAD + len(cpus) * LANE
    rows, top = [], 24
    for when, sched in SCHEDS.items():
        moves = sum(a[0] != b[0] for task in COLORS for a, b in pairs([s for s in ran[when] if s[1] == task]))
        rows += panel(f"{sched}: {moves} migrations in {LENGTH_US} us", ran[when], cpus, top)
        top += tall + 8
    legend = LEFT
    for task, color in COLORS.items():
        rows.append(f'<rect x="{legend}" y="{top}" width="12" height="12" fill="{color}"/>')
        rows.append(f'<text x="{legend + 18}" y="{top + 11}">{task}</text>')
        legend += 130
    title = f"{WORKLOAD} on {MACHINE}, 8 seeds: {SCHEDS['before']} against {SCHEDS['after']}"
    height = top + GAP + 20 + len(METRICS) * 20 + 10
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-12 -12 {WIDTH + 24} {height + 24}" '
        f'font-family="sans-serif" font-size="13">\n<title>{title}</title>\n'
        f'<rect x="-12" y="-12" width="{WIDTH + 24}" height="{height + 24}" fill="#fff"/>'
    )
    print(f'<text x="0" y="8" font-size="15" font-weight="bold">{title}</text>')
    print("\n".join(rows + table(result, top + GAP + 10)))
    print("</svg>")


def pairs(stays):
    stays = sorted(stays, key=lambda stay: stay[2])
    return zip(stays, stays[1:], strict=False)


if __name__ == "__main__":
    main()
