"""What a user of the package relies on."""

import json
import subprocess
import sys
import threading
import time

import fairground as fg
import pandas
import polars
import pyarrow
import pytest
from interrupts import interrupted, used_cpu
from printed import without_command

PIPE = "sched-pipe:loops=200,threads"


def test_a_run_is_that_of_the_command(command):
    """The same machine, workload, scheduler and seed give the same event stream."""
    printed = subprocess.run(
        [
            command,
            "run",
            "hikey960",
            PIPE,
            "--sched",
            "fair:v5.9",
            "--seed",
            "3",
            "--metrics",
            "all",
            "--format",
            "json",
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    theirs = json.loads(printed.stdout)
    ours = fg.run("hikey960", PIPE, "fair:v5.9", seed=3)
    assert ours.hash == theirs["hash"]
    assert {m["name"]: m["value"] for m in theirs["metrics"]} == {name: ours[name] for name in names(ours)}


def names(run):
    return run.metrics.to_pyarrow()["metric"].to_pylist()


def test_figures_have_units_and_a_better_end():
    metrics = fg.run("hikey960", PIPE, "fair:v5.9").metrics.to_pandas().set_index("metric")
    assert metrics.loc["ops_per_sec", ["unit", "better"]].tolist() == ["ops/s", "higher"]
    assert metrics.loc["migrations", "better"] == "lower"


def test_events_are_tables_that_all_libraries_take():
    run = fg.run("hikey960", PIPE, "fair:v5.9", events=True)
    switches = run.events["sched_switch"]
    for frame in (pyarrow.table(switches), polars.DataFrame(switches), switches.to_pandas(), switches.to_polars()):
        assert len(frame) == len(switches) > 400
    frame = switches.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.time_ns.is_monotonic_increasing
    # The task that stops is the one that ran: the line's context and the event's own field agree.
    assert (frame["prev_pid"] == frame["__pid"]).all()


def test_events_are_not_kept_unless_asked_for():
    assert fg.run("hikey960", PIPE, "fair:v5.9").events == {}


def test_reasons_come_on_request():
    run = fg.run("hikey960", PIPE, "fair:v5.9", why=True)
    assert len(run.events["fairground_why"]) > len(run.events["fairground_decision"]) > 400


def test_events_change_no_byte():
    assert fg.run("hikey960", PIPE, "fair:v5.9").hash == fg.run("hikey960", PIPE, "fair:v5.9", why=True).hash


def test_a_dict_is_a_machine_file(tmp_path):
    """A preset as a dict, taken back, runs alike; a key that does not exist is named with its nearest."""
    preset = fg.Machine("hikey960").to_dict()
    same = fg.run(preset, PIPE, "fair:v5.9")
    assert same.hash == fg.run("hikey960", PIPE, "fair:v5.9").hash
    path = tmp_path / "board.toml"
    path.write_text(fg.Machine(preset).to_toml())
    assert fg.run(str(path), PIPE, "fair:v5.9").hash == same.hash
    preset["cost"] = preset.pop("costs")
    with pytest.raises(fg.InputError, match="costs"):
        fg.Machine(preset)


def test_a_dict_is_an_rt_app_file(tmp_path):
    load = {
        "tasks": {"t": {"instance": 3, "loop": 20, "run": 2000, "timer": {"ref": "unique", "period": 16000}}},
        "global": {"duration": -1, "calibration": 100},
    }
    path = tmp_path / "load.json"
    path.write_text(json.dumps(load))
    assert fg.run("hikey960", load, "fair:v5.9")["switches"] == fg.run("hikey960", str(path), "fair:v5.9")["switches"]
    load["tasks"]["t"]["instanc"] = 2
    assert any("instance" in warning for warning in fg.Workload(load, "hikey960").warnings)


@pytest.mark.parametrize(
    "given, words",
    [
        (dict(machine="hikey96", workload=PIPE, sched="fair:v5.9"), "hikey960"),
        (dict(machine="hikey960", workload="sched-pip", sched="fair:v5.9"), "sched-pipe"),
        (dict(machine="hikey960", workload=PIPE, sched="v5.9"), "fair:"),
        (dict(machine="hikey960", workload=PIPE, sched="fair:v5.9+asym-prev-frist"), "asym-prev-first"),
        (dict(machine="hikey960", workload=PIPE, sched="fair:v5.9", governor="ondemand"), "schedutil"),
        (dict(machine="hikey960", workload=PIPE, sched="fair:v5.9", hz=123), "250"),
        (
            dict(machine="hikey960", workload=PIPE, sched="fair:v5.9", sysctl={"sched_util_clamp_mni": 1}),
            "sched_util_clamp_min",
        ),
        (
            dict(machine="hikey960", workload=PIPE, sched="fair:v5.9", sysctl={"hz": 1000}),
            'sysctl "hz": expected sched_util_clamp_min',
        ),
        (dict(machine="hikey960", workload=PIPE, sched="fair:v5.9", sysctl={"sched_util_clamp_min": 1025}), "1024"),
        (dict(machine="hikey960", workload=PIPE, sched="fair:v5.9", ambient=1000), "100"),
        (dict(machine="hikey960", workload=PIPE, sched="fair:v5.9", ambient=float("nan")), "ambient NaN"),
        (dict(machine="hikey960", workload=PIPE, sched="fair:v5.9", sysctl={"sched_util_clamp_min": -1}), "1024"),
        (dict(machine="hikey960", workload=PIPE, sched="fair:v5.9", hz=-1), "250"),
        (dict(machine="hikey960", workload=PIPE, sched="fair:v5.9", seed=-1), "seed"),
        (dict(machine=7, workload=PIPE, sched="fair:v5.9"), "dict"),
    ],
)
def test_bad_input_is_named(given, words):
    with pytest.raises(fg.InputError, match=words):
        fg.run(**given)


def test_a_workload_belongs_to_its_machine():
    """It may be bound to some of the CPUs, and sized by them."""
    hackbench = fg.Workload("hackbench:groups=1,loops=2", "kunpeng920@node0")
    assert fg.run("kunpeng920@node0", hackbench, "fair:v5.9").hash
    with pytest.raises(fg.InputError, match="kunpeng920@node0"):
        fg.run("kunpeng920", hackbench, "fair:v5.9")


def test_what_must_be_said_of_a_workload_is_said_of_its_runs():
    load = {"tasks": {"t": {"instanc": 3, "loop": 2, "run": 2000}}}
    assert any("instanc" in note for note in fg.run("hikey960", load, "fair:v5.9").notes)


@pytest.mark.parametrize("seeds", [0, -1, 10**12])
def test_pairs_of_runs_are_a_number_that_can_be_run(seeds):
    with pytest.raises(fg.InputError, match="1000000"):
        fg.compare("hikey960", PIPE, "fair:v5.9", "fair:v6.12", seeds=seeds)


def test_a_worker_serves_runs_only():
    """How kernels run: without a job it says so, and ends."""
    ended = subprocess.run(
        [sys.executable, "-m", "fairground._worker"], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert ended.returncode == 2 and "serves runs" in ended.stderr


def test_bad_input_is_a_value_error():
    with pytest.raises(ValueError):
        fg.run("nowhere", PIPE, "fair:v5.9")


def test_tests_that_change_no_decision_are_named():
    comparison = fg.compare(
        "hikey960", PIPE, "fair:v5.9", ["fair:v5.9", "fair:v5.9+asym-prev-first"], seeds=1, store=False
    )
    assert comparison.identical == ["fair:v5.9"]


def test_sides_differ_in_any_setting():
    governors = ["governor=performance", "governor=schedutil hz=1000"]
    comparison = fg.compare("hikey960", PIPE, *governors, sched="fair:v6.12", seeds=1)
    frame = comparison.table.to_pandas()
    assert frame.base.unique().tolist() == ["hz=250 governor=performance"]
    assert frame.test.unique().tolist() == ["hz=1000 governor=schedutil"]
    machines = fg.compare(fg.Machine("hikey960"), PIPE, "fair:v5.9", "fair:v5.9 machine=hikey", seeds=1)
    assert machines.table.to_pandas().test.unique().tolist() == ["machine=hikey"]
    with pytest.raises(fg.InputError, match="test: `hz=100` names no scheduler"):
        fg.compare("hikey960", PIPE, "fair:v5.9", "hz=100")
    with pytest.raises(fg.InputError, match="did you mean `governor`"):
        fg.compare("hikey960", PIPE, "fair:v5.9", "fair:v5.9 goverour=schedutil")


def test_a_comparison_is_that_of_the_command(command):
    arguments = ["hikey960", PIPE, "--base", "fair:v5.9", "--test", "fair:v5.9+asym-prev-first", "--seeds", "6"]
    theirs = subprocess.run(
        [command, "compare", *arguments, "--metrics", "all", "--doubt", "0"], check=True, capture_output=True, text=True
    )
    ours = fg.compare("hikey960", PIPE, "fair:v5.9", "fair:v5.9+asym-prev-first", seeds=6, store=False)
    assert without_command(str(ours)) == without_command(theirs.stdout)
    assert "command: fairground compare hikey960" in theirs.stdout
    theirs = subprocess.run(
        [command, "compare", *arguments, "--doubt", "20"], check=True, capture_output=True, text=True
    )
    usual = fg.compare(
        "hikey960", PIPE, "fair:v5.9", "fair:v5.9+asym-prev-first", metrics="usual", seeds=6, doubt=20, store=False
    )
    assert without_command(str(usual)) == without_command(theirs.stdout)
    with pytest.raises(fg.InputError, match="do not report metric"):
        fg.compare("hikey960", PIPE, "fair:v5.9", "fair:v5.9+asym-prev-first", metrics="ops_per_second", seeds=1)
    row = ours.table.to_pandas().set_index("metric").loc["ops_per_sec"]
    assert row.low <= row.improvement_pct <= row.high and row.significant
    runs = ours.runs.to_pandas().query("metric == 'ops_per_sec'")
    assert runs.seed.tolist() == [1, 2, 3, 4, 5, 6]
    assert runs.base_value.mean() == pytest.approx(row.base_mean)


def test_a_screening_is_that_of_the_command(command):
    sides = ["fair:v5.9", "fair:v5.9+asym-prev-first"]
    arguments = ["--base", sides[0], "--test", sides[1], "--seeds", "1", "--doubt", "0", "--screen", "--format", "json"]
    theirs = subprocess.run(
        [command, "compare", "hikey960", "sched-pipe:loops=400", *arguments], check=True, capture_output=True, text=True
    )
    theirs = json.loads(theirs.stdout)
    ours = fg.compare("hikey960", "sched-pipe:loops=400", *sides, seeds=1, screen=True).doubt.to_pandas()
    figures = ours.dropna()
    assert figures.figure.tolist() == [share["figure"] for share in theirs["doubt"]]
    assert figures.share.tolist() == [share["share"] for share in theirs["doubt"]]
    assert ours[ours.figure.isna()].share.tolist() == [theirs["doubt_unattributed"]]
    assert ours.share.sum() == pytest.approx(1)
    energy = fg.compare("hikey960", "sched-pipe:loops=400", *sides, metrics="energy_j", seeds=1, screen=True)
    assert energy.doubt.to_pandas().metric.unique().tolist() == ["energy_j"]
    assert fg.compare("hikey960", PIPE, *sides, seeds=1).doubt.to_pandas().empty
    with pytest.raises(fg.InputError, match="screen draws machine and workload"):
        fg.compare("hikey960", PIPE, *sides, draw=3, screen=True)


def test_threads_have_no_part_in_a_result():
    tables = [
        fg.compare(
            "hikey960", PIPE, "fair:v5.9", ["fair:v5.4", "fair:v6.12"], seeds=2, jobs=jobs, store=False
        ).table.to_pyarrow()
        for jobs in (1, 2)
    ]
    assert tables[0].equals(tables[1])


def ticks_during(act):
    """How often another thread came to its turn meanwhile."""
    ticks = []
    over = threading.Event()

    def tick():
        while not over.wait(0.01):
            ticks.append(time.monotonic())

    beside = threading.Thread(target=tick)
    beside.start()
    began = time.monotonic()
    act()
    ended = time.monotonic()
    over.set()
    beside.join()
    return sum(began < t < ended for t in ticks)


def test_other_threads_go_on_during_a_run():
    assert ticks_during(lambda: fg.run("hikey960", "sched-pipe:loops=200000,threads", "fair:v5.9")) >= 3


def test_other_threads_go_on_while_placements_are_explained():
    run = fg.run("hikey960", "sched-pipe:loops=20000,threads", "fair:v5.9", events=True)
    assert ticks_during(lambda: fg.explain(run)) >= 3
    assert ticks_during(lambda: fg.diff(run, run)) >= 3


def test_an_interrupt_ends_a_run_and_leaves_the_package_usable():
    """The run would take hours."""
    with interrupted(when=used_cpu(0.3)):
        fg.run("thunderx2-224", "hackbench:groups=64,loops=1000000", "fair:v6.12")
    assert fg.run("hikey960", PIPE, "fair:v5.9").hash


def test_what_there_is_can_be_listed():
    assert "pixel6" in fg.machines()
    assert "v6.12" in fg.presets().to_pandas().name.tolist()
    features = fg.features().to_pandas().set_index("name")
    assert features.loc["lb-p06", "mail"] == "lb-rework"
    assert features.loc["newidle-fail", "functions"].startswith("sched_balance_newidle")
    assert features.loc["newidle-fail", "described"] == "docs/spec/placement-new.md 5.2"


def test_two_presets_differ_in_what_changed_between_them():
    changed = fg.feature_diff("v5.10", "fair:v5.11").to_pandas().set_index("name")
    assert changed.loc["numa-imb", ["base", "test", "changed_by"]].tolist() == ["pair", "quarter", "v5.11"]
    assert len(changed) == 4
    with pytest.raises(fg.InputError, match="did you mean"):
        fg.feature_diff("v6.l2", "v6.12")


def test_a_scheduler_without_a_preset_is_the_newest_release():
    newest = fg.run("hikey960", "sched-pipe:loops=10", "fair:")
    assert newest.sched in {f"fair:{name}" for name in fg.presets().to_pandas().name}
    assert newest.hash == fg.run("hikey960", "sched-pipe:loops=10", newest.sched).hash
