"""Runs LISA 3.1.0 on our traces: its parser, its load-tracking tables, its placement test.

    tests/lisa/referee.py prepare MACHINE DIR           DIR/small.json: the test's rt-app file for this machine;
                                                        DIR/misled.toml: the machine with powers upside down, for a
                                                        policy that is wrong
    tests/lisa/referee.py judge MACHINE DIR...          the test's verdicts on each DIR/trace.dat

A verdict is a line: the name of DIR, the check, LISA's result, the figures. tests/lisa.sh makes the runs and has the
expected verdicts. `fairground.lisa` describes the machine for LISA: clocks, capacities, powers, idle states. Its energy
model has no costs of transitions and no heat.
"""

import json
import logging
import os
import sys
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import renames
from fairground import Machine
from fairground.lisa import plat_info
from lisa.tests.scheduler.eas_behaviour import OneSmallTask
from lisa.trace import Trace
from lisa.wlgen.rta import RTAConf

# Marks of rt-app that the test needs.
MARKS = ["task", "loop", "stats"]


def profile(machine, out):
    info = plat_info(machine)
    conf = RTAConf.from_profile(OneSmallTask.get_rtapp_profile(info), plat_info=info, trace_events=MARKS)
    with open(out, "w", encoding="ascii") as file:
        json.dump(dict(conf), file, indent=4)


def mislead(machine, out):
    """Every operating point but those of the largest CPUs costs more than the fastest of these."""
    info = plat_info(machine)
    capacity = info["cpu-capacities"]["orig"]
    clocks = info["freqs"][max(capacity, key=capacity.get)]
    board = Machine(machine).to_dict()
    tables = [domain["opps"] for domain in board["freq_domain"]]
    khz, mw = tables[0]["columns"].index("kHz"), tables[0]["columns"].index("mW")
    wrong = 10 * max(row[mw] for table in tables for row in table["rows"])
    for table in tables:
        if [row[khz] for row in table["rows"]] != list(clocks):
            table["rows"] = [[*row[:mw], row[mw] + wrong, *row[mw + 1 :]] for row in table["rows"]]
    with open(out, "w", encoding="utf-8") as file:
        file.write(Machine(board).to_toml())


def judge(machine, directory):
    info = plat_info(machine)
    trace = Trace(f"{directory}/trace.dat", plat_info=info)
    name = os.path.basename(directory)

    def report(what, verdict, *figures):
        print(f"{name}: {what}: {verdict}", *figures)

    for event in ["sched_switch", "sched_wakeup", "sched_waking", "cpu_frequency", "cpu_idle", "sched_pelt_se"]:
        report(f"events {event}", len(trace.df_event(event)))
    signals = trace.ana.load_tracking.df_tasks_signal("util")
    small = signals[signals["comm"].str.startswith("small")]
    report("util", round(float(small["util"].max())), "of 1024 at most in", len(small), "signals")
    bundle = OneSmallTask(directory, info)
    for test in (bundle.test_noisy_tasks, bundle.test_task_placement, bundle.test_slack):
        arguments = {"noise_threshold_pct": 1} if "noisy" in test.__name__ else {}
        result = test(**arguments)
        report(test.__name__, result.result.name, {name: str(metric) for name, metric in result.metrics.items()})


def main():
    command, machine, *places = sys.argv[1:]
    if command == "prepare":
        profile(machine, os.path.join(places[0], "small.json"))
        mislead(machine, os.path.join(places[0], "misled.toml"))
    else:
        renames.allow_none()
        for place in places:
            judge(machine, place)


main()
