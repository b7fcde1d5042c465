"""Asks LISA 3.1.0 what it makes of our traces: its parser, its load-tracking tables, its placement test.

    tests/lisa/referee.py prepare MACHINE.toml DIR      DIR/small.json: the test's rt-app file for this machine;
                                                        DIR/misled.toml: the machine with powers upside down, for a
                                                        policy that is wrong
    tests/lisa/referee.py judge MACHINE.toml DIR...     the test's verdicts on each DIR/trace.dat

A verdict is a line: the name of DIR, what was asked, what LISA says, the figures. tests/lisa.sh makes the runs and says
which verdicts are to be had. What a machine is, LISA is told from its file: clocks, capacities, powers, idle states. Its
energy model charges no transitions and no heat.
"""

import json
import logging
import os
import re
import sys
import tomllib
import warnings
from collections import OrderedDict

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

from lisa.energy_model import ActiveState, EnergyModel, EnergyModelNode, EnergyModelRoot, PowerDomain
from lisa.platforms.platinfo import PlatformInfo
from lisa.tests.scheduler.eas_behaviour import OneSmallTask
from lisa.trace import MissingTraceEventError, Trace
from lisa.wlgen.rta import RTAConf
from pandas import DataFrame, Series

# What the test needs of rt-app's marks.
MARKS = ["task", "loop", "stats"]


def cpus(value):
    """CPUs of a list such as 0-3,6 or of several."""
    if isinstance(value, list):
        return [cpu for part in value for cpu in cpus(part)]
    ends = [part.split("-") for part in str(value).split(",")]
    return [cpu for part in ends for cpu in range(int(part[0]), int(part[-1]) + 1)]


class Machine:
    """What LISA must know of a machine file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = tomllib.load(file)
        self.path = path
        self.name = data["name"]
        self.nr_cpus = data["topology"]["cpus"]
        self.clusters = [
            (cpus(part), mw(cluster.get("active")), mw(cluster.get("idle")))
            for cluster in data["cluster"]
            for part in (cluster["cpus"] if isinstance(cluster["cpus"], list) else [cluster["cpus"]])
        ]
        self.clocks = [cpus(d["cpus"]) for d in data["freq_domain"]]
        self.opps = {}
        for domain in data["freq_domain"]:
            columns = domain["opps"]["columns"]
            at = columns.index("MHz"), columns.index("mW")
            for cpu in cpus(domain["cpus"]):
                self.opps[cpu] = [(int(row[at[0]] * 1000), row[at[1]]) for row in domain["opps"]["rows"]]
        self.idle = {}
        speed = {}
        for kind in data["cpu_type"].values():
            for cpu in cpus(kind["cpus"]):
                speed[cpu] = kind["efficiency"]["dmips_per_mhz"] * self.opps[cpu][-1][0]
                self.idle[cpu] = OrderedDict((name, mw(state.get("power"))) for name, state in kind["idle"].items())
        # As the kernel normalizes: of the largest, rounded down.
        self.capacity = {cpu: speed[cpu] * 1024 // max(speed.values()) for cpu in range(self.nr_cpus)}


def mw(figure):
    return float(figure["mW"]) if figure else 0.0


def energy_model(machine):
    def cpu_node(cpu):
        top = machine.opps[cpu][-1][0]
        states = OrderedDict(
            (khz, ActiveState(capacity=machine.capacity[cpu] * khz // top, power=power))
            for khz, power in machine.opps[cpu]
        )
        return EnergyModelNode(cpu=cpu, active_states=states, idle_states=machine.idle[cpu])

    def cluster_node(members, active, idle):
        first = members[0]
        states = OrderedDict((khz, ActiveState(power=active)) for khz, _ in machine.opps[first])
        names = list(machine.idle[first])
        # Its deepest state is the one in which all of it is off.
        idle_states = OrderedDict((name, idle if name == names[-1] else active) for name in names)
        return EnergyModelNode(
            active_states=states, idle_states=idle_states, children=[cpu_node(cpu) for cpu in members]
        )

    def domain(members):
        names = list(machine.idle[members[0]])
        leaves = [PowerDomain(cpu=cpu, idle_states=names[:-1]) for cpu in members]
        return PowerDomain(idle_states=names[-1:], children=leaves)

    root = EnergyModelRoot(children=[cluster_node(*cluster) for cluster in machine.clusters])
    domains = PowerDomain(idle_states=[], children=[domain(members) for members, _, _ in machine.clusters])
    return EnergyModel(root_node=root, root_power_domain=domains, freq_domains=machine.clocks)


def plat_info(machine):
    # rt-app's work is counted in us of the largest CPU; a smaller one takes longer for a loop.
    calibration = {cpu: 1024 / capacity for cpu, capacity in machine.capacity.items()}
    return PlatformInfo(
        conf={
            "name": machine.name,
            "abi": "arm64",
            "os": "linux",
            "cpus-count": machine.nr_cpus,
            "numa-nodes-count": 1,
            "cpu-capacities": {"writeable": False, "orig": dict(machine.capacity)},
            "rtapp": {"calib": {cpu: int(1000 * ratio) for cpu, ratio in calibration.items()}},
            "freq-domains": machine.clocks,
            "freqs": {cpu: [khz for khz, _ in opps] for cpu, opps in machine.opps.items()},
            "nrg-model": energy_model(machine),
        }
    )


def profile(machine, out):
    info = plat_info(machine)
    conf = RTAConf.from_profile(OneSmallTask.get_rtapp_profile(info), plat_info=info, trace_events=MARKS)
    with open(out, "w", encoding="ascii") as file:
        json.dump(dict(conf), file, indent=4)


def allow_no_renames():
    """Nobody is renamed in our runs, so there is no task_rename, which LISA takes for one that was not recorded."""
    real = Trace.df_event

    def df_event(self, event, **kwargs):
        try:
            return real(self, event, **kwargs)
        except MissingTraceEventError:
            if event != "task_rename":
                raise
            columns = {"__cpu": "uint32", "pid": "uint32", "oldcomm": "object", "newcomm": "object"}
            frame = DataFrame({name: Series(dtype=dtype) for name, dtype in columns.items()})
            frame.index = frame.index.astype("float64")
            frame.index.name = "Time"
            return frame

    Trace.df_event = df_event


def mislead(machine, out):
    """Every operating point but those of the largest CPUs costs more than the fastest of these."""
    large = max(machine.capacity, key=machine.capacity.get)
    wrong = 10 * max(power for opps in machine.opps.values() for _, power in opps)
    with open(machine.path, encoding="utf-8") as file:
        text = file.read()
    others = [clock[0] for clock in machine.clocks if large not in clock]
    for khz, power in (opp for cpu in others for opp in machine.opps[cpu]):
        row = re.compile(rf"\[\s*{re.escape(f'{khz / 1000:g}')}\s*,\s*{re.escape(f'{power:g}')}(\.0*)?\s*")
        text, found = row.subn(f"[{khz / 1000:g}, {power + wrong:g}", text, count=1)
        if not found:
            sys.exit(f"{machine.path}: no row of {khz / 1000:g} MHz and {power:g} mW")
    with open(out, "w", encoding="utf-8") as file:
        file.write(text)


def judge(machine, directory):
    info = plat_info(machine)
    trace = Trace(f"{directory}/trace.dat", plat_info=info)
    name = os.path.basename(directory)

    def told(what, verdict, *figures):
        print(f"{name}: {what}: {verdict}", *figures)

    for event in ["sched_switch", "sched_wakeup", "sched_waking", "cpu_frequency", "cpu_idle", "sched_pelt_se"]:
        told(f"events {event}", len(trace.df_event(event)))
    signals = trace.ana.load_tracking.df_tasks_signal("util")
    small = signals[signals["comm"].str.startswith("small")]
    told("util", round(float(small["util"].max())), "of 1024 at most in", len(small), "signals")
    bundle = OneSmallTask(directory, info)
    for test in (bundle.test_noisy_tasks, bundle.test_task_placement, bundle.test_slack):
        arguments = {"noise_threshold_pct": 1} if "noisy" in test.__name__ else {}
        result = test(**arguments)
        told(test.__name__, result.result.name, {name: str(metric) for name, metric in result.metrics.items()})


def main():
    command, file, *places = sys.argv[1:]
    machine = Machine(file)
    if command == "prepare":
        profile(machine, os.path.join(places[0], "small.json"))
        mislead(machine, os.path.join(places[0], "misled.toml"))
    else:
        allow_no_renames()
        for place in places:
            judge(machine, place)


main()
