"""What LISA is handed, looked at without LISA; tests/lisa.sh asks LISA itself."""

import importlib.util
import json

import fairground as fg
import numpy
import pandas
import pytest
from fairground.lisa import frames, plat_info, platform

LOAD = {"tasks": {"t": {"loop": 5, "run": 2000, "timer": {"ref": "unique", "period": 16000}}}}


@pytest.fixture(scope="module")
def made():
    return frames(fg.run("hikey960", LOAD, "fair:v6.12", events=True, util_events=True, rtapp_marks=True))


def test_times_are_seconds_that_rise_and_never_meet(made):
    """As LISA wants them to join tables, though runs have many events in one ns."""
    together = numpy.sort(numpy.concatenate([frame.index for name, frame in made.items() if name != "task_rename"]))
    assert (numpy.diff(together) > 0).all()
    assert all(frame.index.is_monotonic_increasing and frame.index.name == "Time" for frame in made.values())
    run = fg.run("hikey960", LOAD, "fair:v6.12", events=True)
    switches = run.events["sched_switch"].to_pandas()
    assert numpy.allclose(made["sched_switch"].index, switches.time_ns / 1e9, rtol=0, atol=1e-12)


def test_fields_are_as_wide_as_lisa_has_them(made):
    switch = made["sched_switch"]
    assert {name: str(switch[name].dtype) for name in ("__cpu", "__pid", "prev_pid", "prev_prio", "prev_state")} == {
        "__cpu": "uint32",
        "__pid": "uint32",
        "prev_pid": "uint32",
        "prev_prio": "int16",
        "prev_state": "uint16",
    }
    assert str(made["cpu_idle"]["state"].dtype) == "int64" and str(made["cpu_frequency"]["state"].dtype) == "uint32"
    assert str(made["sched_pelt_se"]["pid"].dtype) == "int32" and str(made["sched_pelt_se"]["util"].dtype) == "uint16"


def test_a_value_that_does_not_fit_stays_whole():
    """A thread of nice -20 weighs 88761, LISA's width of a load ends at 65535."""
    heavy = {"tasks": {"t": {"loop": 200, "priority": -20, "run": 10000}}}
    run = fg.run("hikey960", heavy, "fair:v6.12", events=True, util_events=True)
    assert frames(run)["sched_pelt_se"]["load"].max() > 65535


def test_who_ran_there_is_idle_or_the_thread(made):
    switch = made["sched_switch"]
    assert set(switch["__comm"][switch["__pid"] == 0]) == {"<idle>"}
    assert set(switch["__comm"][switch["__pid"] != 0]) == {"t-0"}


def test_rounds_and_signals_are_among_them_only_on_request(made):
    assert len(made["rtapp_loop"]) == 10 and len(made["rtapp_stats"]) == 5
    plain = frames(fg.run("hikey960", LOAD, "fair:v6.12", events=True))
    assert not {"rtapp_loop", "rtapp_stats", "sched_pelt_se", "sched_pelt_cfs"} & plain.keys()


def test_what_is_added_changes_no_byte():
    plain = fg.run("hikey960", LOAD, "fair:v6.12")
    assert fg.run("hikey960", LOAD, "fair:v6.12", util_events=True, rtapp_marks=True).hash == plain.hash


def test_rounds_of_a_file_are_those_of_its_dict(tmp_path):
    path = tmp_path / "load.json"
    path.write_text(json.dumps(LOAD))
    of = [fg.run("hikey960", load, "fair:v6.12", rtapp_marks=True).events["rtapp_stats"] for load in (LOAD, str(path))]
    pandas.testing.assert_frame_equal(*[table.to_pandas() for table in of])


def test_only_rt_apps_threads_say_what_they_do():
    with pytest.raises(fg.InputError, match="rt-app"):
        fg.run("hikey960", "sched-pipe:loops=10,threads", "fair:v6.12", rtapp_marks=True)


def test_a_run_without_events_is_refused():
    with pytest.raises(fg.InputError, match="events=True"):
        frames(fg.run("hikey960", LOAD, "fair:v6.12"))


def test_a_board_as_lisa_describes_one():
    """hikey960: 592 of 1024 DMIPS/MHz at 1844 of 2362 MHz is a capacity of 462, and 1024000 / 462 ns are 2216."""
    board = platform("hikey960", hz=100, release="6.12.117")
    assert board["cpu-capacities"] == {"writeable": False, "orig": dict(enumerate([462] * 4 + [1024] * 4))}
    assert board["freq-domains"] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert board["freqs"][0] == [533000, 999000, 1402000, 1709000, 1844000] == board["freqs"][3]
    assert board["freqs"][7][-1] == 2362000
    assert board["rtapp"]["calib"] == dict(enumerate([2216] * 4 + [1000] * 4))
    assert (board["name"], board["cpus-count"], board["numa-nodes-count"]) == ("hikey960", 8, 1)
    assert board["kernel"] == {"config": {"CONFIG_HZ": 100}, "version": "6.12.117"}
    assert platform("kunpeng920")["numa-nodes-count"] == 4


@pytest.mark.skipif(importlib.util.find_spec("lisa") is not None, reason="LISA is there")
def test_without_lisa_it_says_what_to_install():
    with pytest.raises(ImportError, match="lisa-linux"):
        plat_info("hikey960")
