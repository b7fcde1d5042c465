"""Sweeps: the same tables whoever runs them, and a stated outcome for each trouble."""

import io
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import fairground as fg
import pyarrow as pa
import pyarrow.parquet
import pytest
from fairground import _fairground
from fairground.sweeps.engine import Local
from fairground.sweeps.errors import StoreRefused, SweepError
from fairground.sweeps.experiment import Experiment
from fairground.sweeps.progress import Progress
from fairground.sweeps.spec import CODE, Inputs
from fairground.sweeps.sweep import default_store, look, sweep
from sweeping import PIPES, PIPES_FILE, bytes_of, command, pipes, program


class Shuffled:
    """Carries out all of the work, then gives it in some other order."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.taken = []

    def outcomes(self, work, inputs):
        done = [(key, spec.run(inputs)) for key, spec in work]
        self.taken = [key for key, _ in done]
        self.random.shuffle(done)
        yield from done


class Broken(Local):
    """Breaks down after so many runs."""

    def __init__(self, after):
        super().__init__(1)
        self.after = after

    def outcomes(self, work, inputs):
        for done, item in enumerate(super().outcomes(work, inputs)):
            if done == self.after:
                raise SweepError("nobody is left to run on")
            yield item


def test_the_table_depends_on_the_experiment_alone(tmp_path):
    """One thread, four threads, another order, broken off twice: the same bytes."""
    once = bytes_of(sweep(PIPES, tmp_path / "one", jobs=1), tmp_path)
    assert bytes_of(sweep(PIPES, tmp_path / "four", jobs=4), tmp_path) == once
    for seed in range(3):
        assert bytes_of(sweep(PIPES, tmp_path / f"shuffled {seed}", client=Shuffled(seed)), tmp_path) == once
    for after in (3, 9):
        with pytest.raises(SweepError, match="nobody is left"):
            sweep(PIPES, tmp_path / "broken", client=Broken(after))
    assert bytes_of(sweep(PIPES, tmp_path / "broken"), tmp_path) == once


def test_the_table_does_not_depend_on_what_else_the_store_holds(tmp_path):
    """Runs of another workload stand in the same part, and have figures that these have not."""
    axes = {"workload": ["sched-pipe:loops=20,threads", "hackbench:loops=2"], "sched": ["fair:v5.9", "fair:v6.12"]}
    fewer = {"workload": axes["workload"][:1], "sched": axes["sched"]}
    sweep(pipes(axes=axes), tmp_path / "both")
    alone = bytes_of(sweep(pipes(axes=fewer), tmp_path / "alone"), tmp_path)
    assert bytes_of(sweep(pipes(axes=fewer), tmp_path / "both"), tmp_path) == alone


def test_a_row_is_the_run_that_it_names(tmp_path):
    swept = sweep(PIPES, tmp_path)
    rows = swept.table.to_pylist()
    assert [(row["workload"][17:19], row["sched"], row["seed"]) for row in rows] == [
        (loops, sched, seed) for loops in ("20", "40") for sched in ("fair:v5.9", "fair:v6.12") for seed in range(1, 6)
    ]
    assert swept.table.schema.names[:4] == ["workload", "sched", "seed", "hash"]
    assert swept.table.schema.names[4:] == sorted(swept.table.schema.names[4:])
    run = fg.run("hikey960", rows[7]["workload"], rows[7]["sched"], seed=rows[7]["seed"])
    assert run.hash == rows[7]["hash"] and run["ops_per_sec"] == rows[7]["ops_per_sec"]
    told = json.loads(swept.table.schema.metadata[b"fairground"])
    assert told["metrics"]["ops_per_sec"] == {"unit": "ops/s", "better": "higher"}
    assert told["axes"][1] == {"name": "sched", "kind": "sched", "levels": ["fair:v5.9", "fair:v6.12"]}


def test_a_second_start_does_only_what_is_missing(tmp_path):
    """Two more seeds are four more runs for each workload and scheduler's five."""
    sweep(PIPES, tmp_path)
    again, more = Shuffled(0), Shuffled(0)
    sweep(PIPES, tmp_path, client=again)
    assert again.taken == []
    longer = sweep(pipes(experiment={"name": "pipes", "seeds": 7}), tmp_path, client=more)
    assert (len(more.taken), len(longer.table)) == (8, 28)


def test_axes_have_the_types_of_their_levels(tmp_path):
    """And a feature is off or on."""
    axes = {"features": {"asym-prev-first": [False, True]}, "options": {"loops": [10, 20]}}
    fixed = {"machine": "hikey960", "workload": "sched-pipe:threads", "sched": "fair:v5.9"}
    table = sweep({"experiment": {"name": "types", "seeds": 1}, "fixed": fixed, "axes": axes}, tmp_path).table
    assert table.schema.field("asym-prev-first").type == pa.bool_()
    assert table.schema.field("loops").type == pa.float64()
    assert sorted(table["loops"].to_pylist()) == [10.0, 10.0, 20.0, 20.0]


class Failing:
    """Carries out all of the work; its run `n` fails."""

    def __init__(self, n):
        self.n = n

    def outcomes(self, work, inputs):
        for i, (key, spec) in enumerate(work):
            outcome = spec.run(inputs)
            yield key, replace(outcome, metrics={}, hash="", failed="task 7 lost") if i == self.n else outcome


def test_a_run_that_fails_is_kept_with_its_message_and_harms_no_other(tmp_path):
    swept = sweep(PIPES, tmp_path, client=Failing(6))
    (failure,) = swept.failures.to_pylist()
    assert failure == {
        "workload": "sched-pipe:loops=20,threads",
        "sched": "fair:v6.12",
        "seed": 2,
        "message": "task 7 lost",
    }
    assert (len(swept.table), swept.left) == (19, 0)
    again = Shuffled(0)
    assert len(sweep(PIPES, tmp_path, client=again).failures) == 1 and again.taken == []
    mended = sweep(PIPES, tmp_path, retry=True)
    assert (len(mended.table), len(mended.failures)) == (20, 0)


def test_a_combination_that_is_impossible_fails_alone_even_if_it_is_the_first(tmp_path):
    """The deeper of two idle states pays off sooner than the shallower one: at the first levels of both."""
    idle = "cpu_type.Cortex-A53.idle."
    figures = {
        f"{idle}cpu-sleep.residency": {"times": [2.2, 1]},
        f"{idle}cluster-sleep.residency": {"times": [0.5, 1]},
    }
    fixed = {"machine": "hikey960", "workload": "sched-pipe:loops=20,threads", "sched": "fair:v5.9"}
    swept = sweep({"experiment": {"name": "idle", "seeds": 1}, "fixed": fixed, "axes": {"figures": figures}}, tmp_path)
    assert (len(swept.table), len(swept.failures), swept.left) == (3, 1, 0)
    assert "cluster-sleep" in swept.failures["message"][0].as_py()
    told = json.loads(swept.table.schema.metadata[b"fairground"])
    assert told["metrics"]["ops_per_sec"] == {"unit": "ops/s", "better": "higher"}


def test_a_run_that_was_lost_ends_the_sweep_and_is_not_recorded(tmp_path, monkeypatch):
    """Memory was short and its process was killed: the next start makes it."""
    run = _fairground.run_spec

    def killed(spec, contents):
        if '"seed":3,' in spec and "loops=40" in spec:
            raise ChildProcessError("its process was killed by SIGKILL")
        return run(spec, contents)

    with monkeypatch.context() as patched:
        patched.setattr(_fairground, "run_spec", killed)
        with pytest.raises(SweepError, match="lost and is not recorded.*loops=40.*killed by SIGKILL"):
            sweep(PIPES, tmp_path, jobs=1)
    seen = look(PIPES, tmp_path)
    assert len(seen.failures) == 0 and seen.left > 0
    assert len(sweep(PIPES, tmp_path).table) == 20


def test_look_sees_what_is_there_so_far(tmp_path):
    with pytest.raises(SweepError):
        sweep(PIPES, tmp_path, client=Broken(7))
    seen = look(PIPES, tmp_path)
    assert (len(seen.table), seen.left) == (7, 13)
    assert repr(seen) == "<fairground.Sweep pipes: 7 of 20 runs, 13 left>"


def test_a_sweep_goes_on_with_the_points_that_it_began_with(tmp_path, monkeypatch):
    """Another version of the library that draws would draw others."""
    drawn = {
        "experiment": {"name": "random", "design": "random", "points": 6, "seeds": 1},
        "fixed": {"machine": "hikey960", "workload": "sched-pipe:threads", "sched": "fair:v5.9"},
        "axes": {"options": {"loops": {"low": 10, "high": 1000}}},
    }
    first = sweep(drawn, tmp_path, client=Shuffled(0)).table
    monkeypatch.setattr("fairground.sweeps.experiment.drawn", lambda *_: iter([(0.5,)] * 6))
    assert len(set(Experiment.from_dict(drawn).rows())) == 1
    again = Shuffled(0)
    assert sweep(drawn, tmp_path, client=again).table.equals(first) and again.taken == []
    assert look(drawn, tmp_path).table.equals(first)
    more = Shuffled(0)
    assert len(sweep({**drawn, "experiment": {**drawn["experiment"], "seeds": 2}}, tmp_path, client=more).table) == 12
    assert len(more.taken) == 6
    assert look(pipes(), tmp_path).left == 20


def test_look_while_another_process_writes(tmp_path):
    class Looking(Local):
        def outcomes(self, work, inputs):
            for done, item in enumerate(super().outcomes(work, inputs)):
                yield item
                assert len(look(PIPES, tmp_path).table) == done + 1

    assert len(sweep(PIPES, tmp_path, client=Looking(1)).table) == 20


def test_a_figure_that_is_named_like_an_axis_steps_aside(tmp_path):
    experiment = Experiment.from_dict(PIPES)
    axes = tuple(replace(axis, name="migrations") if axis.kind == "sched" else axis for axis in experiment.axes)
    table = sweep(replace(experiment, axes=axes), tmp_path).table
    assert table["migrations"].type == pa.string() and table["migrations_"].type == pa.float64()


class Endless:
    """Runs that last until they are stopped; some end at once."""

    def __init__(self, seed):
        self.seed = seed

    def run(self, inputs):
        from fairground.sweeps.spec import Outcome

        if self.seed % 2:
            return Outcome({}, "", (), f"seed {self.seed}", 0)
        fg.run("synthetic-1024", "hackbench:groups=100,loops=100000", "fair:v5.9")
        raise AssertionError("it ended")


def test_ctrl_c_ends_runs_under_way_and_gives_what_was_finished():
    """Three are short, one of two threads has an endless one: the short ones come, and then the interrupt."""
    work = ((str(seed), Endless(seed)) for seed in (1, 3, 2, 5))
    outcomes = Local(2).outcomes(work, Inputs())
    came = []
    with pytest.raises(KeyboardInterrupt):
        for key, _ in outcomes:
            came.append(key)
            if len(came) == 3:
                # Whether it is waiting for the last one by then does not matter.
                threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start()
    assert sorted(came) == ["1", "3", "5"]


def test_closing_ends_what_is_under_way():
    outcomes = Local(2).outcomes(((str(seed), Endless(seed)) for seed in (1, 2, 4, 6)), Inputs())
    assert next(outcomes)[0] == "1"
    outcomes.close()


def test_work_is_taken_as_it_is_needed():
    """Of a million runs, as many are taken as two threads have at hand."""
    taken = []

    def work():
        for n in range(1_000_000):
            taken.append(n)
            yield str(n), Endless(1)

    outcomes = Local(2).outcomes(work(), Inputs())
    for _ in range(10):
        next(outcomes)
    assert len(taken) <= 10 + 2 * 2 + 2
    outcomes.close()


def test_an_exception_comes_after_what_was_finished():
    class Lost:
        def run(self, inputs):
            raise OSError("no memory")

    work = [("a", Endless(1)), ("b", Lost()), ("c", Endless(1))]
    outcomes = Local(1).outcomes(iter(work), Inputs())
    came = []
    with pytest.raises(OSError, match="no memory"):
        for key, _ in outcomes:
            came.append(key)
    assert came[0] == "a" and "b" not in came


def test_progress_is_told_on_a_terminal_only():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for stream, words in ((Terminal(), "8 of 20 runs, 1 failed"), (io.StringIO(), "")):
        with Progress(20, 5, stream) as progress:
            for failed in (False, True, False):
                time.sleep(0.12)
                progress.step(failed)
        assert words in stream.getvalue()
        assert bool(words) == bool(stream.getvalue())


def test_progress_tells_rate_and_time_left():
    progress = Progress(total=1000, done=100, stream=io.StringIO())
    progress._looks[0] = (50.0, 100)
    progress.done = 300
    assert progress.line(now=60.0) == "300 of 1000 runs, 20/s, 35 s left"


def test_results_are_kept_in_the_users_cache_by_default(monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path))
    assert default_store("a/b") == tmp_path / "sweeps" / "a%2Fb"
    monkeypatch.delenv("FAIRGROUND_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert str(default_store("pipes")) == "/caches/fairground/sweeps/pipes"


# The command.


@pytest.fixture
def pipes_file(tmp_path):
    path = tmp_path / "pipes.toml"
    path.write_text(PIPES_FILE)
    return path


def test_the_command_writes_the_table(pipes_file, tmp_path):
    ran = command(pipes_file, "--store", tmp_path / "store", "--output", tmp_path / "pipes.parquet", "--jobs", 2)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "pipes: 20 of 20 runs\n", "")
    here = sweep(PIPES, tmp_path / "here")
    here.write(tmp_path / "here.parquet")
    assert (tmp_path / "pipes.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()
    assert pyarrow.parquet.read_table(tmp_path / "pipes.parquet").equals(here.table, check_metadata=True)
    assert (
        command(pipes_file, "--store", tmp_path / "store", "--look", "--output", tmp_path / "pipes.csv").returncode == 0
    )
    lines = (tmp_path / "pipes.csv").read_text().splitlines()
    assert len(lines) == 21 and lines[0].startswith('"workload","sched","seed","hash"')


@pytest.mark.parametrize(
    "words, told",
    [
        (["--output", "x.xlsx"], ".parquet or .csv"),
        (["--output", "/nowhere/x.csv"], "cannot be written"),
        (["--report", "x.txt"], ".html"),
        (["--jobs", "0"], "from 1 on"),
        (["--sotre", "x"], "--sotre"),
        (["--look", "--store", "nothing"], "is no store"),
    ],
)
def test_bad_words_are_refused_before_anything_runs(pipes_file, tmp_path, words, told):
    ran = command(pipes_file, *words, cwd=tmp_path)
    assert ran.returncode == 2 and told in ran.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pipes.toml"]


@pytest.mark.parametrize(
    "change, told",
    [
        (('"hikey960"', '"hikey96"'), "hikey960"),
        (('"fair:v6.12"', '"fair:v6.12+asym-prev-frist"'), "asym-prev-first"),
        (("seeds = 5", "seeds = 1000000"), "4,000,000 runs"),
    ],
)
def test_an_experiment_that_cannot_be_meant_is_refused_before_anything_runs(tmp_path, change, told):
    (tmp_path / "pipes.toml").write_text(PIPES_FILE.replace(*change))
    for words in ([], ["--look"]):
        ran = command("pipes.toml", "--store", "store", *words, cwd=tmp_path)
        assert ran.returncode == 2 and told in ran.stderr, ran.stderr
    assert not (tmp_path / "store").exists()


def test_a_look_at_many_runs_is_confirmed_like_a_sweep(tmp_path):
    many = pipes(experiment={"name": "pipes", "seeds": 1_000_000})
    with pytest.raises(fg.InputError, match="4,000,000 runs"):
        look(many, tmp_path)
    with pytest.raises(StoreRefused, match="is no store"):
        look(many, tmp_path, confirm=True)


@pytest.mark.parametrize("code, warned", [(CODE, False), ("0" * 32, True)], ids=["the same", "another"])
def test_the_command_says_if_the_package_is_another_program(pipes_file, tmp_path, code, warned):
    """The command and the package are installed apart, and it is the package that runs."""
    start = Path(__file__).parents[2] / "crates/cli/src/commands/sweep/start.py"
    words = [sys.executable, "-c", start.read_text(), "--store", tmp_path / "store", pipes_file]
    environment = {**os.environ, "FAIRGROUND_STUDY_CODE": code}
    ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, env=environment)
    assert (ran.returncode, ran.stdout) == (0, "pipes: 20 of 20 runs\n"), ran.stderr
    told = f"package of {sys.executable} has code {CODE[:12]}, this command has code 000000000000"
    assert (told in ran.stderr) == warned == bool(ran.stderr), ran.stderr


def test_the_command_refuses_a_store_in_use(pipes_file, tmp_path):
    from fairground.sweeps.store import Store

    with Store.open(tmp_path / "store"):
        ran = command(pipes_file, "--store", tmp_path / "store")
    assert ran.returncode == 2 and f"in use by process {os.getpid()}" in ran.stderr


def test_the_command_tells_failures_and_ends_with_1(tmp_path):
    """A run that fails in a store, as a crash of a kernel would; the sweep itself goes on."""
    sweep(PIPES, tmp_path / "store", client=Failing(0))
    (tmp_path / "pipes.toml").write_text(PIPES_FILE)
    ran = command(tmp_path / "pipes.toml", "--store", tmp_path / "store")
    assert ran.returncode == 1
    assert ran.stdout == "pipes: 19 of 20 runs, 1 failed\n"
    assert ran.stderr == ("run failed: workload sched-pipe:loops=20,threads, sched fair:v5.9, seed 1: task 7 lost\n")


def test_a_disk_that_fills_ends_the_sweep_and_the_next_goes_on(pipes_file, tmp_path):
    """Files may not grow beyond 60 kB, which takes some runs of several kB each."""
    limited = """
        import resource, sys
        from fairground.sweeps.command import main
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
        sys.exit(main(sys.argv[1:]))
    """
    line = program(limited, pipes_file, "--store", tmp_path / "store")
    ran = subprocess.run(line, capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 1 and "takes no more results" in ran.stderr
    kept = len(look(PIPES, tmp_path / "store").table)
    assert 0 < kept < 20
    rest = Shuffled(0)
    assert len(sweep(PIPES, tmp_path / "store", client=rest).table) == 20
    assert len(rest.taken) == 20 - kept


def test_ctrl_c_in_the_command_keeps_what_was_finished(tmp_path):
    """Twenty short runs, and some that do not end before they are interrupted."""
    endless = "hackbench:groups=100,loops=1000000"
    text = PIPES_FILE.replace('loops=40,threads"]', f'loops=40,threads", "{endless}"]')
    (tmp_path / "pipes.toml").write_text(text)
    line = program("from fairground.sweeps.command import main; import sys; sys.exit(main(sys.argv[1:]))")
    line += [str(tmp_path / "pipes.toml"), "--store", str(tmp_path / "store")]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    large = pipes(axes={**PIPES["axes"], "workload": [*PIPES["axes"]["workload"], endless]})
    deadline = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < deadline:
        try:
            if len(look(large, tmp_path / "store").table) > 5:
                break
        except StoreRefused:
            pass
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130, errors
    assert "stopped; what was finished is kept" in errors and "Traceback" not in errors
    assert look(large, tmp_path / "store").left > 0
    sweep(PIPES, tmp_path / "store")
