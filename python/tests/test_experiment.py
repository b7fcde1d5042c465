"""Experiments: files are looked up before anything runs, and the same experiment is the same runs everywhere."""

import json
import math
import pickle
import re
import time
from itertools import islice
from pathlib import Path

import fairground as fg
import numpy
import pytest
from fairground.sweeps import Experiment, Inputs, Kernel, RunSpec
from fairground.sweeps.design import arranged, between, drawn

HEAD = '[experiment]\nname = "x"\n'
FIXED = '[fixed]\nmachine = "hikey960"\nworkload = "sched-pipe:loops=100,threads"\nsched = "fair:v5.9"\n'


def written(tmp_path, text):
    path = tmp_path / "x.toml"
    path.write_text(text)
    return path


@pytest.fixture
def refusal(tmp_path, monkeypatch):
    """The message about a file. Its name is short, so that lines are wrapped as little as possible."""
    monkeypatch.chdir(tmp_path)
    return lambda text: refused(written(tmp_path, text).name)


def refused(path):
    with pytest.raises(fg.InputError) as error:
        Experiment.load(path)
    # What the report wraps is one line again.
    return " ".join(line.strip(" |") for line in str(error.value).splitlines())


WHOLE = """
[experiment]
name = "whole"
seeds = 2

[fixed]
workload = "sched-pipe:threads"
sched = "fair:v5.9"
[fixed.settings]
hz = 1000

[axes]
machine = ["hikey960", "kunpeng920@node0"]
[axes.features]
asym-prev-first = [false, true]
[axes.options]
loops = [10, 20, 30]
[axes.figures]
"costs.soft.wakeup" = { times = [0.5, 2] }
"costs.soft.enqueue" = { to = [100] }
[axes.settings]
governor = ["performance", "schedutil"]
"""


def test_a_grid_is_every_level_with_every_other_seeds_innermost(tmp_path):
    experiment = Experiment.load(written(tmp_path, WHOLE))
    specs = list(experiment.specs())
    assert experiment.size == len(specs) == 2 * 2 * 3 * 2 * 1 * 2 * 2
    assert specs[0] == RunSpec(
        machine="hikey960",
        workload="sched-pipe:threads,loops=10",
        sched="fair:v5.9-asym-prev-first",
        seed=1,
        figures=(("costs.soft.enqueue", "to", 100.0), ("costs.soft.wakeup", "times", 0.5)),
        options=(("governor", "performance"), ("hz", 1000)),
    )
    assert [spec.seed for spec in specs[:4]] == [1, 2, 1, 2]
    assert [spec.options[0][1] for spec in specs[:4]] == ["performance"] * 2 + ["schedutil"] * 2
    assert specs[-1].machine == "kunpeng920@node0" and specs[-1].workload.endswith("loops=30")
    rows = list(experiment.rows())
    assert [axis.name for axis in experiment.axes] == [
        "machine",
        "asym-prev-first",
        "loops",
        "costs.soft.wakeup",
        "costs.soft.enqueue",
        "governor",
    ]
    assert rows[2] == ("hikey960", False, 10, 0.5, 100, "schedutil")
    assert len(rows) == len(specs)


def test_a_run_of_a_sweep_is_the_run_of_that_name(tmp_path):
    experiment = Experiment.load(written(tmp_path, WHOLE))
    spec = next(spec for spec in experiment.specs() if spec.figures[1][2] == 0.5)
    outcome = spec.run(experiment.inputs)
    board = fg.Machine("hikey960").to_dict()
    board["costs"]["soft"]["wakeup"]["ns"] *= 0.5
    board["costs"]["soft"]["enqueue"]["ns"] = 100
    run = fg.run(board, "sched-pipe:threads,loops=10", "fair:v5.9-asym-prev-first", hz=1000)
    assert outcome.failed is None and outcome.hash == run.hash
    assert outcome.metrics["ops_per_sec"] == run["ops_per_sec"]


def test_a_dict_is_an_experiment_file(tmp_path):
    """The same keys, the same runs, and the same words where a name is wrong."""
    content = {
        "experiment": {"name": "x", "seeds": 1},
        "fixed": {"machine": "hikey960", "workload": "sched-pipe:loops=10", "sched": "fair:v5.9"},
        "axes": {"features": {"asym-prev-first": [False, True]}},
    }
    text = (
        '[experiment]\nname = "x"\nseeds = 1\n[fixed]\nmachine = "hikey960"\nworkload = "sched-pipe:loops=10"\n'
        'sched = "fair:v5.9"\n[axes.features]\nasym-prev-first = [false, true]\n'
    )
    assert Experiment.from_dict(content) == Experiment.load(written(tmp_path, text))
    content["axes"]["features"]["asym-prev-frist"] = [True]
    with pytest.raises(fg.InputError, match="experiment given as a dict:.*(\n.*)*did you mean `asym-prev-first`"):
        Experiment.from_dict(content)


def axes(text):
    return HEAD + FIXED + "[axes]\n" + text


def clamps(*limits):
    return axes("[axes.settings]\n" + "".join(f"sched_util_clamp_{limit}\n" for limit in limits))


def fixed_clamps(limit, *varied):
    return HEAD + FIXED + f"[fixed.settings]\nsched_util_clamp_{limit}\n" + clamps(*varied).split(FIXED)[1]


@pytest.mark.parametrize(
    "text, line, words",
    [
        (
            HEAD + FIXED.replace("hikey960", "hikey96") + "[axes]\n",
            4,
            ["unknown machine `hikey96`", "did you mean `hikey960`"],
        ),
        (HEAD + FIXED.replace("sched-pipe", "sched-pip") + "[axes]\n", 5, ["no workload `sched-pip`", "sched-pipe"]),
        (HEAD + FIXED.replace("v5.9", "v5.9+lb-p44") + "[axes]\n", 6, ["unknown feature", "lb-p04"]),
        (
            HEAD + FIXED.replace("fair:v5.9", "linux:nothing") + "[axes]\n",
            6,
            ["unknown kernel `linux:nothing`", "kernel build"],
        ),
        (HEAD + FIXED.replace("fair:v5.9", "linux:./no.so") + "[axes]\n", 6, ["no.so: there is no such file"]),
        (HEAD + FIXED.replace("sched-pipe", "./no.json") + "[axes]\n", 5, ["there is no file"]),
        (HEAD + FIXED.replace("hikey960", "kunpeng920@node9") + "[axes]\n", 4, ["there is no node 9"]),
        (axes(""), 7, ["nothing varies", "expected one axis or more"]),
        (
            HEAD + '[axes]\nsched = ["fair:v5.9"]\n',
            3,
            ["no `machine`", '[fixed], or `machine = ["NAME", ...]` in [axes]'],
        ),
        (axes('sched = ["fair:v6.12"]'), 8, ["`sched` is fixed and an axis"]),
        (axes("[axes.optoins]"), 8, ["unknown key `optoins`", "did you mean `options`"]),
        (axes("[axes.circumstances]\nhz = [100]"), 8, ["unknown key `circumstances`", "is called `settings`"]),
        (
            HEAD + FIXED + "[fixed.circumstances]\nhz = 100\n[axes.settings]\nambient = [20]",
            7,
            ["unknown key `circumstances`", "is called `settings`"],
        ),
        (
            axes("[axes.features]\nasym-prev-frist = [true]"),
            9,
            ["unknown feature `asym-prev-frist`", "`asym-prev-first`"],
        ),
        (axes("[axes.features]\nasym-prev-first = [1]"), 9, ["expected true or false, found an integer"]),
        (axes("[axes.features]\nsis-mode = [true]"), 9, ["is not a switch", "fair:PRESET+sis-mode="]),
        (
            axes("[axes.features]\nlb-p04 = [true, false]\nlb-p01 = [true, false]"),
            10,
            ["feature `lb-p04` needs `lb-p01`"],
        ),
        (axes("[axes.features]\nasym-prev-first = []"), 9, ["an axis without levels", "one or more"]),
        (axes("[axes.features]\nasym-prev-first = [true, true]"), 9, ["true is listed twice"]),
        (axes("[axes.options]\nlops = [1]"), 9, ["`sched-pipe` has no option `lops`"]),
        (axes("[axes.options]\nlops = [false]"), 9, ["`sched-pipe` has no option `lops`"]),
        (axes("[axes.options]\nstart-cpu = [false, 4]"), 9, ["option `start-cpu` of `sched-pipe`: needs a value"]),
        (axes("[axes.options]\nloops = [5]"), 9, ["option `loops` of `sched-pipe`: is given twice"]),
        (axes("[axes.options]\nprocesses = [1]"), 9, ["option `processes` of `sched-pipe`"]),
        (axes('[axes.options]\nstart-cpu = ["0,loops=7"]'), 9, ["contains a comma", "without commas"]),
        (axes("[axes.options]\nstart-cpu = [0, 8]"), 9, ["`8` is not a CPU of hikey960"]),
        (
            axes('[axes.figures]\n"costs.soft.wakup" = { times = [1] }'),
            9,
            ["no figure `costs.soft.wakup`", "`costs.soft.wakeup`"],
        ),
        (axes("[axes.figures]\ncosts.soft.wakeup = { times = [1] }"), 9, ["no figure `costs`", "one key, in quotes"]),
        (
            axes('[axes.figures]\n"costs.soft.wakeup" = { time = [1] }'),
            9,
            ["unknown key `time`", "did you mean `times`"],
        ),
        (axes('[axes.figures]\n"costs.soft.wakeup" = { to = [-1] }'), 9, ["-1 is negative"]),
        (axes('[axes.figures]\n"costs.soft.wakeup" = { to = [nan] }'), 9, ["NaN is not a level"]),
        (axes('[axes.figures]\n"costs.soft.wakeup" = { to = [1e30] }'), 9, ["is too much"]),
        (axes('[axes.figures]\n"topology.source" = { to = [1] }'), 9, ["has no figure `topology.source`"]),
        (axes('[axes.settings]\ngoverner = ["schedutil"]'), 9, ['no setting "governer"', "`governor`"]),
        (axes('[axes.settings]\ngovernor = ["ondemand"]'), 9, ['governor "ondemand"', "schedutil"]),
        (axes("[axes.settings]\nhz = [123]"), 9, ["hz 123", "100, 250, 300 or 1000"]),
        (axes("[axes.settings]\nambient = [1000]"), 9, ["ambient 1000", "-40 to 100"]),
        (axes("[axes.settings]\nsched_util_clamp_max = [512]"), 9, ["sched_util_clamp_min is 1024, above"]),
        (
            clamps("min = [0, 512]", "max = [1024, 256]"),
            10,
            ["clamp_max[1]`: sched_util_clamp_min is 512, above", "256"],
        ),
        (axes("[axes.settings]\nsched_util_clamp_min = [0, 1025]"), 9, ["0 to 1024"]),
        (axes('[axes.settings]\n"kernel.sched_util_clamp_min" = [0]'), 9, ["called `sched_util_clamp_min` here"]),
        (fixed_clamps("max = 200", "min = [0, 201]"), 11, ["clamp_min[1]`: sched_util_clamp_min is 201, above"]),
        (fixed_clamps("max = 200", "min_rt_default = [0]"), 7, ["sched_util_clamp_min is 1024, above"]),
        (
            HEAD + FIXED + '[fixed.settings]\n"kernel.sched_util_clamp_min" = 0\n[axes.settings]\nhz = [100]',
            8,
            ["called `sched_util_clamp_min` here"],
        ),
        (axes("[axes.settings]\nambient = { low = 0, high = 9 }"), 9, ["a range in a grid", "sobol"]),
        (axes("sched = 5").replace('sched = "fair:v5.9"\n', ""), 7, ["expected an array, found an integer"]),
        (HEAD.replace('"x"', '"a/b"') + FIXED + "[axes.settings]\nhz = [100]", 2, ['"a/b" is not a valid name']),
        (HEAD.replace('"x"', '".."') + FIXED + "[axes.settings]\nhz = [100]", 2, ['".." is not a valid name']),
        (HEAD + "seeds = 0\n" + FIXED + "[axes.settings]\nhz = [100]", 3, ["0 is out of range", "1 to 1000000"]),
        (HEAD + 'design = "sobel"\n' + FIXED + "[axes]", 3, ["unknown design `sobel`", "did you mean `sobol`"]),
        (HEAD + "points = 8\n" + FIXED + "[axes.settings]\nhz = [100]", 3, ["a grid with points"]),
        (
            HEAD + 'design = "sobol"\npoints = 100\n' + FIXED + "[axes.settings]\nhz = [100]",
            4,
            ["100 points", "expected 64 or 128"],
        ),
        (HEAD + "points == 8", 3, []),
    ],
)
def test_what_names_nothing_is_refused_with_its_line(refusal, text, line, words):
    message = refusal(text)
    assert f"x.toml:{line}:" in message
    for word in words:
        assert word in message
    assert "--sysctl" not in message


@pytest.mark.parametrize(
    "text",
    [
        clamps("min = [0, 128]", "max = [256, 1024]"),
        clamps("max = [256, 1024]", "min = [0, 256]"),
        fixed_clamps("max = 200", "min = [0, 200]"),
        fixed_clamps("min = 100", "max = [100, 200]"),
    ],
)
def test_limits_of_clamps_that_never_cross_are_run(tmp_path, text):
    experiment = Experiment.load(written(tmp_path, text))
    assert [spec.run(experiment.inputs).failed for spec in experiment.specs()] == [None] * experiment.size


def sobol(text):
    return HEAD + 'design = "sobol"\npoints = 64\nseeds = 1\n' + FIXED + "[axes]\n" + text


@pytest.mark.parametrize(
    "text, words",
    [
        ("[axes.settings]\nambient = { low = 9, high = 9 }", ["a range from 9 to 9", "`low` below `high`"]),
        ("[axes.settings]\nambient = { low = 0, high = 9, log = true }", ["begins at 0", "above 0"]),
        ("[axes.settings]\nambient = { low = 0, hihg = 9 }", ["unknown key `hihg`", "`high`"]),
        ("[axes.settings]\nhz = { low = 100, high = 1000 }", ["`hz` takes no range", "a list of levels"]),
        ("[axes.settings]\nsched_util_clamp_min = { low = 0, high = 9.5 }", ["9.5 is not a whole number"]),
        (
            "[axes.settings]\nsched_util_clamp_min = { low = 0, high = 300 }\nsched_util_clamp_max = [200, 900]",
            ["clamp_max[0]`: sched_util_clamp_min is 300, above sched_util_clamp_max"],
        ),
        ("[axes.options]\nprocesses = { low = 0, high = 1 }", ["`processes` takes no range"]),
        ("[axes.options]\nstart-cpu = { low = 0, high = 8 }", ["`8` is not a CPU of hikey960"]),
        ('[axes.figures]\n"costs.soft.wakeup" = { to = { low = 1, high = inf } }', ["inf is not a level"]),
    ],
)
def test_ranges_that_cannot_be_drawn_from_are_refused(refusal, text, words):
    message = refusal(sobol(text))
    for word in words:
        assert word in message


def test_a_file_that_is_none_is_refused(tmp_path):
    with pytest.raises(fg.InputError, match="cannot read experiment file"):
        Experiment.load(tmp_path / "none.toml")
    with pytest.raises(fg.InputError, match="cannot read experiment file"):
        Experiment.load(tmp_path)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(fg.InputError, match="UTF-8"):
        Experiment.load(tmp_path / "binary.toml")


def test_sizes_are_told_without_counting(tmp_path):
    """10 axes of 1,000 levels are 10^30 runs; a billion must be confirmed."""
    figures = [f["path"] for f in COSTS]
    levels = [1 + i / 1000 for i in range(1000)]
    axes = {path: {"times": levels} for path in figures[:10]}
    content = {
        "experiment": {"name": "huge", "seeds": 1},
        "fixed": {"machine": "hikey960", "workload": "sched-pipe", "sched": "fair:v5.9"},
        "axes": {"figures": axes},
    }
    huge = Experiment.from_dict(content)
    assert huge.size == 10**30
    with pytest.raises(fg.InputError, match="1,000,000,000,000,000,000,000,000,000,000 runs.*--yes"):
        huge.ensure_size()
    huge.ensure_size(confirmed=True)
    assert len(list(islice(huge.specs(), 3))) == 3
    content["axes"]["figures"] = dict(islice(axes.items(), 2))
    Experiment.from_dict(content).ensure_size()


COSTS = [{"path": f"costs.soft.{kind}"} for kind in ("wakeup", "pick", "enqueue", "dequeue", "probe", "tick", "fork")]
COSTS += [{"path": f"costs.soft.{kind}"} for kind in ("exec", "exit", "migrate")]


def test_files_are_relative_to_the_experiment_and_keyed_by_content(tmp_path):
    """Files that move or are renamed make the same runs; a machine file that changes makes others, a comment does not."""

    def keyed(folder, board, load, text):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / board).write_text(text)
        (tmp_path / folder / load).write_text(json.dumps(LOAD))
        text = HEAD + f'seeds = 1\n[fixed]\nworkload = "{load}"\nsched = "fair:v5.9"\n[axes]\nmachine = ["{board}"]\n'
        experiment = Experiment.load(written(tmp_path / folder, text))
        (spec,) = experiment.specs()
        assert spec.machine == board and spec.run(experiment.inputs).failed is None
        return spec.key(experiment.inputs)

    text, other = fg.Machine("hikey960").to_toml(), fg.Machine("hikey960").to_dict()
    other["costs"]["soft"]["wakeup"]["ns"] *= 2
    first = keyed("a", "b.toml", "l.json", text)
    assert keyed("b", "c.toml", "m.json", text + "# a comment\n") == first
    assert keyed("c", "b.toml", "l.json", fg.Machine(other).to_toml()) != first


LOAD = {"tasks": {"t": {"instance": 3, "loop": 20, "run": 2000, "timer": {"ref": "unique", "period": 16000}}}}


def test_machines_and_workloads_may_be_dicts():
    board = fg.Machine("hikey960").to_dict()
    experiment = Experiment.from_dict(
        {
            "experiment": {"name": "x", "seeds": 1},
            "fixed": {"sched": "fair:v5.9", "machine": "mine@0-3"},
            "axes": {"workload": ["load"], "options": {"duration": [0.05, 0.1]}},
        },
        machines={"mine": board},
        workloads={"load": LOAD},
    )
    specs = list(experiment.specs())
    assert [spec.workload for spec in specs] == ["load:duration=0.05", "load:duration=0.1"]
    assert all(spec.run(experiment.inputs).failed is None for spec in specs)
    with pytest.raises(fg.InputError, match="did you mean `costs`"):
        Experiment.from_dict({}, machines={"mine": {**board, "cost": {}}})


def test_experiments_share_runs_whatever_the_order_of_their_axes():
    def keys(*names):
        axes = {name: {"times": [0.5, 2]} for name in names}
        fixed = {"machine": "hikey960", "workload": "sched-pipe", "sched": "fair:v5.9"}
        content = {"experiment": {"name": "x", "seeds": 1}, "fixed": fixed, "axes": {"figures": axes}}
        return [spec.key(Inputs()) for spec in Experiment.from_dict(content).specs()]

    there, back = keys("costs.soft.pick", "costs.soft.wakeup"), keys("costs.soft.wakeup", "costs.soft.pick")
    assert sorted(there) == sorted(back) and there != back


def test_flags_are_options_that_are_there_or_not():
    experiment = Experiment.from_dict(
        {
            "experiment": {"name": "x", "seeds": 1},
            "fixed": {"machine": "hikey960", "workload": "sched-pipe", "sched": "fair:v5.9"},
            "axes": {"options": {"threads": [False, True], "loops": [7]}},
        }
    )
    assert [spec.workload for spec in experiment.specs()] == ["sched-pipe:loops=7", "sched-pipe:threads,loops=7"]


def ranged(design, points=64, draw=1):
    return Experiment.from_dict(
        {
            "experiment": {"name": "x", "seeds": 1, "design": design, "points": points, "draw": draw},
            "fixed": {"machine": "hikey960", "workload": "sched-pipe", "sched": "fair:v5.9"},
            "axes": {
                "features": {"asym-prev-first": [False, True]},
                "options": {"loops": {"low": 1, "high": 1000, "log": True}},
                "figures": {"costs.soft.wakeup": {"times": {"low": 0.5, "high": 2.0, "log": True}}},
                "settings": {"ambient": {"low": -10, "high": 40}},
            },
        }
    )


@pytest.mark.parametrize("design", ["random", "sobol"])
def test_drawn_points_fill_the_space_evenly(design):
    """Of 64 points half are below the middle of each axis; whole numbers stay whole."""
    experiment = ranged(design)
    on, loops, times, ambient = zip(*experiment.rows(), strict=True)
    assert experiment.size == 64 and sum(on) == 32
    assert all(type(value) is int and 1 <= value <= 1000 for value in loops)
    assert 30 <= sum(value < math.sqrt(1000) for value in loops) <= 34
    assert sum(value < 1 for value in times) == 32 and all(0.5 <= value <= 2 for value in times)
    assert sum(value < 15 for value in ambient) == 32 and all(-10 <= value <= 40 for value in ambient)
    specs = list(experiment.specs())
    assert specs[0].workload == f"sched-pipe:loops={loops[0]}"
    assert specs[0].options == (("ambient", ambient[0]),)
    assert list(experiment.rows()) == list(ranged(design).rows())
    assert list(experiment.rows()) != list(ranged(design, draw=2).rows())


def test_draws_are_the_same_everywhere():
    """A version of scipy that draws others is seen here; sweeps that have begun keep their points."""
    assert drawn("random", 2, 2, 7) == [
        (0.10107040657832184, 0.973453058371798),
        (0.7043244412850517, 0.06558742832488229),
    ]
    assert drawn("sobol", 2, 2, 7) == [
        (0.6504268515855074, 0.9173101615160704),
        (0.15269753616303205, 0.4988693334162235),
    ]
    assert drawn("saltelli", 2, 1, 7) == [
        (0.6504268515855074, 0.9173101615160704, 0.10045647248625755, 0.9323312602937222),
    ]


def test_saltellis_arrangement_is_what_salib_analyses():
    """f = x + 2y + xz = 1.5u + 2v + 0.5w + uw + constant, u, v, w around 0 with variance 1/12: of 79 parts of its variance
    x has 27 alone, y 48, z 3, and x with z has one."""
    sobol = pytest.importorskip("SALib.analyze.sobol")
    points = numpy.array([point for pair in drawn("saltelli", 3, 4096, 1) for point in arranged(pair)])
    values = points[:, 0] + 2 * points[:, 1] + points[:, 0] * points[:, 2]
    problem = {"num_vars": 3, "names": ["x", "y", "z"], "bounds": [[0, 1]] * 3}
    found = sobol.analyze(problem, values, calc_second_order=False, seed=1)
    assert found["S1"] == pytest.approx([27 / 79, 48 / 79, 3 / 79], abs=0.01)
    assert found["ST"] == pytest.approx([28 / 79, 48 / 79, 4 / 79], abs=0.01)


def test_saltellis_arrangement_has_a_row_for_each_axis_and_two_more():
    experiment = ranged("saltelli", points=8)
    rows = list(experiment.rows())
    assert experiment.size == len(rows) == 8 * (4 + 2)
    for block in range(0, len(rows), 6):
        first, *mixed, last = rows[block : block + 6]
        for i, row in enumerate(mixed):
            assert row == first[:i] + (last[i],) + first[i + 1 :]


def test_ranges_reach_their_ends_and_no_further():
    almost = math.nextafter(1, 0)
    assert [between(1, 3, False, True, x) for x in (0, 0.33, 0.34, 0.67, almost)] == [1, 1, 2, 3, 3]
    assert [between(1, 3, True, True, x) for x in (0, 0.49, 0.51, 0.79, 0.8, almost)] == [1, 1, 2, 2, 3, 3]
    assert [between(0.5, 2, True, False, x) for x in (0, 0.5, almost)] == [0.5, 1, 2]
    assert between(0, 1, False, False, 1 / 3) == 0.333333


@pytest.mark.parametrize("design", ["grid", "sobol"])
def test_an_experiment_is_kept_as_json_with_its_points(design):
    experiment = ranged("sobol") if design == "sobol" else Experiment.from_dict(SMALL)
    again = Experiment.from_json(experiment.to_json(), experiment.inputs)
    assert list(again.specs()) == list(experiment.specs())
    assert again.to_json() == experiment.to_json()
    if design == "sobol":
        moved = experiment.with_points([[0.0] * 4])
        assert list(moved.rows()) == [(False, 1, 0.5, -10)]


SMALL = {
    "experiment": {"name": "x", "seeds": 2},
    "fixed": {"machine": "hikey960", "workload": "sched-pipe:loops=10", "sched": "fair:v5.9"},
    "axes": {"settings": {"governor": ["performance", "schedutil"]}},
}


def test_all_that_determines_a_run_is_in_its_key():
    plain = {"machine": "hikey960", "workload": "sched-pipe", "sched": "fair:v5.9", "seed": 1}
    changes = [
        {},
        {"machine": "hikey960@0-3"},
        {"workload": "sched-pipe:loops=7"},
        {"sched": "fair:v6.12"},
        {"seed": 2},
        {"figures": (("costs.soft.wakeup", "to", 1.0),)},
        {"figures": (("costs.soft.wakeup", "times", 3.0),)},
        {"options": (("hz", 100),)},
    ]
    keys = {RunSpec(**(plain | change)).key(Inputs()) for change in changes}
    assert len(keys) == len(changes) and all(len(key) == 32 for key in keys)
    kernel = RunSpec(**(plain | {"sched": "linux:mine"}))
    kernels = [Kernel(b"a", (250, 8)), Kernel(b"b", (250, 8)), Kernel(b"a", (100, 8))]
    assert len({kernel.key(Inputs(kernels={"mine": one})) for one in kernels}) == 3
    same = Kernel(b"a", None)
    assert kernel.key(Inputs(kernels={"mine": same})) == kernel.key(Inputs(kernels={"mine": kernels[0]})), "250 HZ"


def test_a_run_without_its_inputs_is_refused_and_no_failure():
    """Elsewhere the same names may stand for something else: nothing is looked for there."""
    for change in ({"sched": "linux:mine"}, {"machine": "./hikey.toml"}, {"workload": "./load.json"}):
        spec = RunSpec(**({"machine": "hikey960", "workload": "sched-pipe", "sched": "fair:v5.9"} | change))
        with pytest.raises(fg.InputError, match="not among the inputs"):
            spec.run(Inputs())


def test_what_keeps_a_run_from_being_made_is_its_outcome():
    def failed(**change):
        plain = {"machine": "hikey960", "workload": "sched-pipe:loops=10", "sched": "fair:v5.9"}
        outcome = RunSpec(**(plain | change)).run(Inputs())
        assert outcome.metrics == {} and outcome.hash == ""
        return outcome.failed

    assert "no option `lops`" in failed(workload="sched-pipe:lops=1")
    assert "no figure costs.soft.no" in failed(figures=(("costs.soft.no", "to", 1.0),))
    assert "too much" in failed(figures=(("costs.soft.wakeup", "to", 1e30),))
    assert "hz 7" in failed(options=(("hz", 7),))


def test_the_examples_of_the_page_are_experiments():
    """docs/sweeps.md; what it says of their sizes, too."""
    tomllib = pytest.importorskip("tomllib", reason="Python 3.11 reads TOML by itself")
    page = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text()
    sizes = []
    for text in re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        experiment = Experiment.from_dict(tomllib.loads(text))
        sizes.append(experiment.size)
        assert f"{experiment.size:,} runs" in page
    assert len(sizes) == 2


def test_specs_and_inputs_travel():
    experiment = Experiment.from_dict(SMALL)
    spec, inputs = pickle.loads(pickle.dumps((next(experiment.specs()), experiment.inputs)))
    assert spec == next(experiment.specs()) and spec.key(inputs) == spec.key(experiment.inputs)
    assert RunSpec.from_json(spec.to_json()) == spec
    assert spec.run(inputs).hash == spec.run(experiment.inputs).hash != ""


def test_a_hundred_thousand_keys_take_two_seconds_at_most():
    content = {**SMALL, "experiment": {"name": "x", "seeds": 50_000}}
    experiment = Experiment.from_dict(content)
    began = time.process_time()
    keys = experiment.keys()
    assert len(keys) == 100_000 and time.process_time() - began < 2
