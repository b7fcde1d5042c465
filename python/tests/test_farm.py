"""Sweeps on a real Dask scheduler with workers on loopback."""

import random
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from fairground.sweeps.farm import Farm, FarmError
from fairground.sweeps.farm.pace import Pace
from fairground.sweeps.spec import Inputs, RunSpec

pytest.importorskip("distributed")
from cluster import Cluster


def runs(number, workload="sched-pipe:loops=300,threads"):
    """So many different runs, by their keys."""
    scheds = ["fair:v5.9", "fair:v5.9+asym-prev-first"]
    specs = [RunSpec("hikey960", workload, scheds[n % 2], seed=n // 2) for n in range(number)]
    return {spec.key(Inputs()): spec for spec in specs}


def figures(outcome):
    """All of an outcome that a result may depend on."""
    return outcome.metrics, outcome.hash, outcome.notes, outcome.failed


def here(work, inputs=None):
    """What the runs give in this process."""
    return {key: figures(spec.run(inputs or Inputs())) for key, spec in work.items()}


def harvest(farm, work, inputs=None, after=lambda done: None):
    """What the runs give on the farm; `after` is called with their number when one has come back."""
    found = {}
    for key, outcome in farm.outcomes(iter(work.items()), inputs or Inputs()):
        assert key not in found, "a run came back twice"
        found[key] = figures(outcome)
        after(len(found))
    return found


@pytest.fixture
def cluster(tmp_path):
    """Makes clusters, and ends them."""
    made = []

    def make(**arguments):
        made.append(Cluster(tmp_path, **arguments))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("two"), workers=2)
    yield made
    made.close()


def test_two_workers_give_what_one_process_gives(two_workers):
    work = runs(300)
    assert harvest(Farm(two_workers.address), work) == here(work)


def test_a_client_that_was_given_stays_open_and_its_cluster_clean(two_workers):
    with two_workers.client() as client:
        work = runs(20)
        assert len(harvest(Farm(client), work)) == 20
        assert client.status == "running"
        wait_until(lambda: tasks(client) == 0)


def test_a_sweep_that_is_closed_takes_back_what_has_not_begun(two_workers):
    with two_workers.client() as client:
        source = iter(runs(2000).items())
        outcomes = Farm(client).outcomes(source, Inputs())
        next(outcomes)
        outcomes.close()
        wait_until(lambda: tasks(client) == 0)
        assert sum(1 for _ in source) > 1000, "work is taken a few seconds ahead and no more"


def tasks(client):
    return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))


def wait_until(condition, limit=20):
    deadline = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def kill_workers(farm, kills, number, workload):
    """Harvest `number` runs while a worker is killed `kills` times, evenly over the sweep."""
    work = runs(number, workload)
    draw = random.Random(1)
    killed_at = []

    def strike(done):
        if len(killed_at) < kills and done >= (len(killed_at) + 1) * number // (kills + 1):
            farm.kill_worker(draw)
            killed_at.append(done)

    found = harvest(Farm(farm.address), work, after=strike)
    assert len(killed_at) == kills
    assert found == here(work)


def test_workers_killed_three_times_change_nothing(cluster):
    kill_workers(cluster(workers=2), 3, 240, "sched-pipe:loops=2000,threads")


def test_a_worker_that_comes_later_gets_work(cluster):
    farm = cluster(workers=1)
    work = runs(400, "sched-pipe:loops=2000,threads")
    found = harvest(Farm(farm.address), work, after=lambda done: farm.start_workers(1) if done == 1 else None)
    assert len(found) == 400
    with farm.client() as client:
        batches = client.run(lambda dask_worker: dask_worker.state.executed_count)
    assert len(batches) == 2 and min(batches.values()) > 1, "more than the question which program it has"


ANOTHER_PROGRAM = """
import fairground.sweeps.farm.hand as hand
hand.CODE = "of another tree"
"""
WITHOUT_FAIRGROUND = """
import sys
sys.modules["fairground"] = None
"""
RUN = RunSpec.run


def guilty(spec):
    return spec.seed == 7 and "prev" in spec.sched


# Preloads are executed twice.
KILLED_BY_A_RUN = """
import os
import test_farm as test
test.RunSpec.run = lambda spec, inputs: os._exit(1) if test.guilty(spec) else test.RUN(spec, inputs)
"""
FAILED_BY_A_RUN = """
import test_farm as test
test.RunSpec.run = lambda spec, inputs: 1 / 0 if test.guilty(spec) else test.RUN(spec, inputs)
"""


def test_a_worker_of_another_program_is_refused_by_name_and_the_others_go_on(cluster, caplog):
    farm = cluster(workers=1)
    farm.start_workers(1, preload=ANOTHER_PROGRAM)
    work = runs(100)
    assert harvest(Farm(farm.address), work) == here(work)
    (message,) = [record.getMessage() for record in caplog.records if record.name == "fairground.farm"]
    assert message.startswith("the worker tcp://127.0.0.1:")
    assert "with code of another" in message and "this is fairground" in message


@pytest.mark.parametrize(
    ("preload", "why"),
    [(ANOTHER_PROGRAM, "with code of another"), (WITHOUT_FAIRGROUND, "No module named .fairground")],
    ids=["other", "none"],
)
def test_a_farm_whose_workers_are_all_refused_ends_with_their_names(cluster, preload, why):
    farm = cluster()
    farm.start_workers(1, preload=preload)
    with pytest.raises(FarmError, match=f"has no worker that can be used: tcp://127.0.0.1:.*{why}"):
        harvest(Farm(farm.address, patience=3), runs(10))


@pytest.mark.parametrize(
    ("preload", "why"), [(KILLED_BY_A_RUN, "worker"), (FAILED_BY_A_RUN, "ZeroDivisionError")], ids=["killed", "failed"]
)
def test_a_run_that_ends_its_workers_is_named_when_all_others_are_done(cluster, monkeypatch, preload, why):
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    farm = cluster()
    farm.start_workers(2, preload=preload)
    work = runs(40)
    found = {}
    with pytest.raises(FarmError, match=f"1 run does not end on any worker and is not recorded:\n.*{why}") as ended:
        for key, outcome in Farm(farm.address).outcomes(iter(work.items()), Inputs()):
            found[key] = figures(outcome)
    (missing,) = work.keys() - found.keys()
    assert guilty(work[missing]) and work[missing].to_json() in str(ended.value)
    assert found == here({key: work[key] for key in found})


def test_a_scheduler_that_restarts_is_found_again(cluster):
    first = cluster(workers=2)
    again = []

    def restart(done):
        if done == 100:
            first.stop_scheduler()
            again.append(cluster(workers=2, port=first.port))

    work = runs(400, "sched-pipe:loops=1000,threads")
    assert harvest(Farm(first.address), work, after=restart) == here(work)
    assert again


def test_a_scheduler_that_stays_away_ends_the_sweep_in_bounded_time(cluster):
    farm = cluster(workers=1)
    found = {}
    stopped = None
    with pytest.raises(FarmError, match="was lost and has not come back within 2 s"):
        for key, outcome in Farm(farm.address, patience=2).outcomes(iter(runs(2000).items()), Inputs()):
            found[key] = outcome
            if len(found) == 10:
                farm.stop_scheduler()
                stopped = time.monotonic()
    assert time.monotonic() - stopped < 40


def test_a_farm_without_workers_is_told_so(cluster):
    with pytest.raises(FarmError, match="has had no worker for 2 s"):
        harvest(Farm(cluster().address, patience=2), runs(1))


class Page(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass


def test_what_does_not_answer_as_a_scheduler_is_refused_in_bounded_time():
    silent = socket.socket()
    silent.bind(("127.0.0.1", 0))
    silent.listen()
    page = HTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=page.serve_forever, daemon=True).start()
    absent = socket.socket()
    absent.bind(("127.0.0.1", 0))
    for port in (silent.getsockname()[1], page.server_port, absent.getsockname()[1]):
        began = time.monotonic()
        with pytest.raises(FarmError, match=f"no Dask scheduler answers at tcp://127.0.0.1:{port}: "):
            Farm(f"tcp://127.0.0.1:{port}")
        assert time.monotonic() - began < 15
    page.shutdown()
    with pytest.raises(FarmError, match="no Dask scheduler answers at nonsense: missing port"):
        Farm("nonsense")
    with pytest.raises(FarmError, match="expected the address of a Dask scheduler .* found int"):
        Farm(8786)


def test_without_dask_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(FarmError, match=r"pip install 'fairground\[farm\]'"):
        Farm("tcp://127.0.0.1:8786")


def test_batches_are_about_a_second_and_get_smaller_at_the_end():
    pace = Pace()
    assert pace.size(None, 2) == 1, "nothing is known yet"
    pace.note(1, 5_000_000)
    assert pace.size(None, 2) == 4, "one short run says little"
    pace.note(4, 20_000_000)
    pace.note(16, 80_000_000)
    pace.note(64, 320_000_000)
    assert pace.size(None, 2) == 200
    assert [pace.size(left, 2) for left in (1000, 100, 3, 1)] == [200, 25, 1, 1]
    for _ in range(20):
        pace.note(2, 1_000_000_000)
    assert pace.size(None, 2) == 2
