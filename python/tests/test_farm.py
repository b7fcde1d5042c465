"""Sweeps on a real Dask scheduler with workers on loopback.

``FAIRGROUND_FARM_KILLS`` says how often to kill a worker; there are 100 runs for each.
"""

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from cluster import Cluster
from fairground.sweeps import Store
from fairground.sweeps.errors import SweepError
from fairground.sweeps.experiment import Experiment
from fairground.sweeps.farm import Farm, FarmError, FarmWarning
from fairground.sweeps.farm.batch_sizer import BatchSizer
from fairground.sweeps.farm.worker import InputBundle, Program
from fairground.sweeps.farm.worker_registry import WorkerRegistry
from fairground.sweeps.spec import Inputs, RunSpec
from fairground.sweeps.sweep import look, sweep
from sweeping import bytes_of

KILLS = int(os.environ.get("FAIRGROUND_FARM_KILLS", "3"))


MATRIX = """
seeds = 8
draws = 3
[[block]]
machines = ["hikey960", "kunpeng920@node0"]
workloads = ["sched-pipe:loops=50", "load.json"]
"""


def experiment(runs, loops=100):
    """An experiment of `runs` runs."""
    return {
        "experiment": {"name": "farm", "seeds": runs // 2},
        "fixed": {"machine": "hikey960", "workload": f"sched-pipe:loops={loops},threads"},
        "axes": {"sched": ["fair:v5.9", "fair:v5.9+asym-prev-first"]},
    }


def runs(number, loops=100):
    """The runs of :func:`experiment` by their keys."""
    specs = Experiment.from_dict(experiment(number, loops)).specs()
    return {spec.key(Inputs()): spec for spec in specs}


def figures(outcome):
    """All of an outcome that a result may depend on."""
    return outcome.metrics, outcome.hash, outcome.notes, outcome.failed


def here(work):
    """What the runs give in this process."""
    return {key: figures(spec.run(Inputs())) for key, spec in work.items()}


def outcomes(farm, work, after=lambda done: None):
    """What the runs give on the farm; `after` is called with their number when one has come back."""
    found = {}
    for key, outcome in farm.outcomes(iter(work.items()), Inputs()):
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
def shared(tmp_path_factory):
    """A cluster of two workers, which are started again if they are killed."""
    made = Cluster(tmp_path_factory.mktemp("shared"), workers=2, nanny=True)
    yield made
    made.close()


def test_two_workers_give_the_table_of_one_process(shared, tmp_path):
    alone = bytes_of(sweep(experiment(300), tmp_path / "alone"), tmp_path)
    assert bytes_of(sweep(experiment(300), tmp_path / "farm", client=shared.address), tmp_path) == alone


def test_what_a_file_says_travels_by_content(shared, tmp_path):
    board = Path(__file__).parents[2] / "machines/hikey960.toml"
    file = tmp_path / "board.toml"
    file.write_text(board.read_text())
    given = experiment(8)
    given["fixed"]["machine"] = str(file)
    by_file = Experiment.from_dict(given)
    file.unlink()
    swept = sweep(by_file, tmp_path / "file", client=shared.address)
    assert len(swept.table) == 8
    assert swept.table["hash"] == sweep(experiment(8), tmp_path / "preset").table["hash"]


@pytest.mark.parametrize("what", ["features", "patches"])
def test_a_review_on_a_farm_has_the_answer_of_one_process(shared, tmp_path, command, what):
    """Drawn machines, bound CPUs, programs in files and kernels travel by content. Nothing of the matrix is left to be run here.

    ``FAIRGROUND_SERIES`` is a tree of ``tests/series.sh``; kernels are built of it.
    """
    if what == "features":
        series = ["--features", "fair:v5.9+wa-prev-idle+asym-prev-first"]
    elif "FAIRGROUND_SERIES" in os.environ:
        series = [os.environ["FAIRGROUND_SERIES"], "base..planted"]
    else:
        pytest.skip("FAIRGROUND_SERIES names no tree of tests/series.sh")
    (tmp_path / "matrix.toml").write_text(MATRIX)
    (tmp_path / "load.json").write_text('{"tasks": {"t": {"instance": 3, "loop": 20, "run": 300, "sleep": 500}}}')
    # The interpreter, which leaves what it reports: a line for each run.
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\n"{sys.executable}" "$@" | tee -a "{tmp_path}/made"\n')
    python.chmod(0o755)
    line = [command, "review", *series, "--matrix", "matrix.toml"]

    def review(store, *words):
        done = subprocess.run(
            [*line, "--store", store, *words],
            cwd=tmp_path,
            env={**os.environ, "FAIRGROUND_PYTHON": str(python)},
            capture_output=True,
            text=True,
            check=False,
            timeout=1200,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    alone = review("alone")
    assert review("farm", "--dask", shared.address) == alone
    with Store(tmp_path / "alone") as here, Store(tmp_path / "farm") as there:
        assert len(here) == len(there) > 16
        assert (tmp_path / "made").read_text().count("\n") == len(there)


def test_a_client_that_was_given_stays_open_and_its_cluster_clean(shared):
    with shared.client() as client:
        assert len(outcomes(Farm(client), runs(20))) == 20
        assert client.status == "running"
        wait_until(lambda: tasks(client) == 0)


def test_a_sweep_that_is_closed_takes_back_what_has_not_begun(shared):
    with shared.client() as client:
        source = iter(runs(2000).items())
        outcomes = Farm(client).outcomes(source, Inputs())
        next(outcomes)
        outcomes.close()
        wait_until(lambda: tasks(client) == 0)
        assert sum(1 for _ in source) > 1000, "work is taken a few seconds ahead and no more"


def test_ctrl_c_keeps_what_had_finished_and_a_second_start_goes_on(cluster, tmp_path, monkeypatch):
    """Runs of later seeds wait for a gate: the sweep cannot end before it is interrupted."""
    gate = tmp_path / "gate"
    monkeypatch.setenv("FAIRGROUND_TEST_GATE", str(gate))
    farm = cluster()
    farm.start_workers(2, preload=GATED)
    words = ["--store", tmp_path / "farm", "--dask", farm.address]
    (tmp_path / "farm.toml").write_text(FARM_FILE)
    process = subprocess.Popen([sys.executable, "-m", "fairground.sweeps", tmp_path / "farm.toml", *words])
    wait_until(lambda: kept(tmp_path) > 0 or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=300) == 130
    assert 0 < kept(tmp_path) < 600
    gate.touch()
    with farm.client() as client:
        wait_until(lambda: tasks(client) == 0)
    there = bytes_of(sweep(experiment(600), tmp_path / "farm", client=farm.address), tmp_path)
    assert there == bytes_of(sweep(experiment(600), tmp_path / "alone"), tmp_path)


def gated(spec):
    """Hold a run of a later seed until the gate is there."""
    while spec.seed > 200 and not os.path.exists(os.environ["FAIRGROUND_TEST_GATE"]):
        time.sleep(0.05)


FARM_FILE = """
[experiment]
name = "farm"
seeds = 300
[fixed]
machine = "hikey960"
workload = "sched-pipe:loops=100,threads"
[axes]
sched = ["fair:v5.9", "fair:v5.9+asym-prev-first"]
"""


def kept(folder):
    """Runs on record."""
    try:
        return len(look(folder / "farm.toml", folder / "farm").table)
    except SweepError:
        return 0


def test_a_worker_that_has_begun_anew_is_asked_anew(shared):
    def forget(done):
        if done in (50, 150):
            with shared.client() as client:
                client.run(lambda: sys.modules["fairground.sweeps.farm.worker"]._inputs.clear())

    work = runs(300)
    assert outcomes(Farm(shared.address), work, after=forget) == here(work)


def tasks(client):
    return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))


def wait_until(condition):
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


class Struck:
    """A farm of which a worker is killed again and again, evenly over the sweep."""

    def __init__(self, cluster, kills, runs):
        self.cluster = cluster
        self.at = [runs * (kill + 1) // (kills + 1) for kill in range(kills)]

    def outcomes(self, work, inputs):
        draw = random.Random(1)
        for done, item in enumerate(Farm(self.cluster.address).outcomes(work, inputs)):
            yield item
            if self.at and done >= self.at[0]:
                self.cluster.kill_worker(draw)
                del self.at[0]


def test_workers_that_are_killed_change_nothing(shared, tmp_path):
    number = 100 * KILLS
    struck = Struck(shared, KILLS, number)
    made = experiment(number, loops=500)
    there = bytes_of(sweep(made, tmp_path / "farm", client=struck), tmp_path)
    assert not struck.at, "all kills have happened"
    assert there == bytes_of(sweep(made, tmp_path / "alone"), tmp_path)


def test_a_worker_that_comes_later_gets_work(cluster):
    farm = cluster(workers=1)
    work = runs(400, loops=1000)
    found = outcomes(Farm(farm.address), work, after=lambda done: farm.start_workers(1) if done == 1 else None)
    assert len(found) == 400
    with farm.client() as client:
        batches = client.run(lambda dask_worker: dask_worker.state.executed_count)
    assert len(batches) == 2 and min(batches.values()) > 1, "more than the question which program it has"


ANOTHER_PROGRAM = """
import fairground.sweeps.farm.worker as worker
worker.CODE = "of another tree"
"""
WITHOUT_FAIRGROUND = """
import sys
sys.modules["fairground"] = None
"""
RUN = RunSpec.run


def guilty(spec):
    return spec.seed == 7 and "prev" in spec.sched


# Preloads are executed twice.
GATED = """
import test_farm as test
test.RunSpec.run = lambda spec, inputs: test.gated(spec) or test.RUN(spec, inputs)
"""
KILLED_BY_A_RUN = """
import os
import test_farm as test
test.RunSpec.run = lambda spec, inputs: os._exit(1) if test.guilty(spec) else test.RUN(spec, inputs)
"""
FAILED_BY_A_RUN = """
import test_farm as test
test.RunSpec.run = lambda spec, inputs: 1 / 0 if test.guilty(spec) else test.RUN(spec, inputs)
"""


def test_a_worker_of_another_program_is_refused_by_name_and_the_others_go_on(cluster):
    farm = cluster(workers=1)
    farm.start_workers(1, preload=ANOTHER_PROGRAM)
    work = runs(100)
    with pytest.warns(FarmWarning, match="the worker tcp://127.* with code of another.*, this is fairground") as warned:
        assert outcomes(Farm(farm.address), work) == here(work)
    assert len(warned) == 1


@pytest.mark.parametrize(
    ("preload", "why"),
    [(ANOTHER_PROGRAM, "with code of another"), (WITHOUT_FAIRGROUND, "No module named .fairground")],
    ids=["other", "none"],
)
def test_a_farm_whose_workers_are_all_refused_ends_with_their_names(cluster, preload, why):
    farm = cluster()
    farm.start_workers(1, preload=preload)
    with (
        pytest.warns(FarmWarning, match=why),
        pytest.raises(FarmError, match=f"has no worker that can be used: tcp://127.0.0.1:.*{why}"),
    ):
        outcomes(Farm(farm.address, patience=3), runs(10))


@pytest.mark.parametrize(
    ("preload", "why"), [(KILLED_BY_A_RUN, "worker"), (FAILED_BY_A_RUN, "ZeroDivisionError")], ids=["killed", "failed"]
)
def test_a_run_that_ends_its_workers_is_named_when_all_others_are_done(cluster, monkeypatch, preload, why):
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    farm = cluster()
    farm.start_workers(2, preload=preload, nanny=True)
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

    work = runs(400, loops=1000)
    assert outcomes(Farm(first.address), work, after=restart) == here(work)
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
    assert time.monotonic() - stopped < 300


def test_a_farm_without_workers_is_told_so(cluster):
    with pytest.raises(FarmError, match="has had no worker for 2 s"):
        outcomes(Farm(cluster().address, patience=2), runs(2))


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
    ports = [silent.getsockname()[1], page.server_port, absent.getsockname()[1]]
    began = time.monotonic()
    with ThreadPoolExecutor() as at_once:
        answers = [at_once.submit(Farm, f"tcp://127.0.0.1:{port}") for port in ports]
    for port, answer in zip(ports, answers, strict=True):
        with pytest.raises(FarmError, match=f"no Dask scheduler answers at tcp://127.0.0.1:{port}: "):
            answer.result()
    assert time.monotonic() - began < 120
    page.shutdown()
    with pytest.raises(FarmError, match="no Dask scheduler answers at nonsense: missing port"):
        Farm("nonsense")
    with pytest.raises(FarmError, match="expected the address of a Dask scheduler .* found int"):
        Farm(8786)


class Quiet:
    """A connection on which no worker answers by itself."""

    def __init__(self):
        self.asked = []

    def submit(self, function, *arguments, workers):
        self.asked += workers
        return object()


def test_a_worker_that_was_refused_is_asked_again_in_a_while(monkeypatch):
    """Another may have begun at its address. It is named once."""
    monkeypatch.setattr("fairground.sweeps.farm.worker_registry.time.monotonic", lambda: now)
    connection, registry, present = Quiet(), WorkerRegistry(InputBundle.from_inputs(Inputs())), {"tcp://one": 2}

    def answers(*program):
        registry.asked.pop("tcp://one")
        registry.answer("tcp://one", program)

    now = 0.0
    registry.meet(connection, present)
    with pytest.warns(FarmWarning, match="fairground 0 with code another"):
        answers("0", "another")
    now = 29.0
    assert registry.meet(connection, present) == [] and connection.asked == ["tcp://one"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for now in (31.0, 62.0):
            registry.meet(connection, present)
            assert registry.refused.keys() == registry.asked.keys() == present.keys()
            answers("0", "another")
        now = 93.0
        registry.meet(connection, present)
        answers(*astuple(Program.here()))
    assert (registry.admitted, registry.refused) == (present, {})


def test_what_a_process_keeps_of_a_sweep_is_named_with_the_program(monkeypatch):
    """A process that stays while its program is replaced later: the inputs that it received before are not used."""
    before = InputBundle.from_inputs(Inputs()).digest
    assert (
        InputBundle.from_inputs(Inputs()).digest
        == before
        != InputBundle.from_inputs(Inputs(machines={"mine": ""})).digest
    )
    monkeypatch.setattr("fairground.sweeps.farm.worker.CODE", "another")
    assert InputBundle.from_inputs(Inputs()).digest != before


def test_without_dask_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(FarmError, match=r"pip install 'fairground\[farm\]'"):
        Farm("tcp://127.0.0.1:8786")


def test_batches_are_about_a_second_and_get_smaller_at_the_end():
    sizer = BatchSizer()
    assert sizer.size(None, 2) == 1, "nothing is known yet"
    sizer.note(1, 5_000_000)
    assert sizer.size(None, 2) == 4, "one short run says little"
    sizer.note(4, 20_000_000)
    sizer.note(16, 80_000_000)
    sizer.note(64, 320_000_000)
    assert sizer.size(None, 2) == 200
    assert [sizer.size(left, 2) for left in (1000, 100, 3, 1)] == [200, 25, 1, 1]
    for _ in range(20):
        sizer.note(2, 1_000_000_000)
    assert sizer.size(None, 2) == 2
