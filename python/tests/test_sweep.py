"""Sweeps: the same tables whatever executor runs them, and a message for each failure."""

import io
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import fairground as fg
import pyarrow as pa
import pyarrow.parquet
import pytest
from fairground.sweeps import Inputs, Kernel, Outcome, Store
from fairground.sweeps.errors import StoreRefused, StoreWarning, SweepError
from fairground.sweeps.experiment import Experiment
from fairground.sweeps.output import csv_bytes
from fairground.sweeps.progress import Progress
from fairground.sweeps.spec import CODE, RunSpec
from fairground.sweeps.sweep import default_store, look, sweep
from sweeping import PIPES, PIPES_FILE, Serial, bytes_of, command, pipes, program


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


class FailingPoints:
    """Runs of a workload with `words` in its name and of an ambient temperature fail; all, if that is none."""

    def __init__(self, words, ambient):
        self.words, self.ambient = words, ambient

    def outcomes(self, work, inputs):
        for key, spec in work:
            fails = self.words in spec.workload and self.ambient in (None, dict(spec.options).get("ambient"))
            yield key, Outcome.failure("failed") if fails else spec.run(inputs)


class Broken(Serial):
    """Fails after `after` runs."""

    def __init__(self, after):
        self.after = after

    def outcomes(self, work, inputs):
        for done, item in enumerate(super().outcomes(work, inputs)):
            if done == self.after:
                raise SweepError("no worker is left")
            yield item


def test_no_cell_of_a_csv_is_a_formula():
    """As in the CSV of the command; numbers stay numbers."""
    texts = ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "-1.5", "a=b", "", None]
    table = pa.table({"=name": pa.array(texts), "x": pa.array([-0.5] * len(texts))})
    lines = csv_bytes(table).decode().split("\n")
    assert lines[0] == """"'=name","x\""""
    cells = [line.rsplit(",", 1)[0].strip('"') for line in lines[1:-1]]
    assert cells == ["'=1+1", "'+cmd", "'-2+3", "'@SUM(A1)", "'\t=1", "'\r=1", "-1.5", "a=b", "", ""]


def test_the_table_depends_on_the_experiment_alone(tmp_path):
    """One thread, four threads, another order, broken off twice: the same bytes."""
    once = bytes_of(sweep(PIPES, tmp_path / "one", jobs=1), tmp_path)
    assert bytes_of(sweep(PIPES, tmp_path / "four", jobs=4), tmp_path) == once
    for seed in range(3):
        assert bytes_of(sweep(PIPES, tmp_path / f"shuffled {seed}", client=Shuffled(seed)), tmp_path) == once
    for after in (3, 9):
        with pytest.raises(SweepError, match="no worker is left"):
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
    metadata = json.loads(swept.table.schema.metadata[b"fairground"])
    assert metadata["metrics"]["ops_per_sec"] == {"unit": "ops/s", "better": "higher"}
    assert metadata["axes"][1] == {"name": "sched", "kind": "sched", "levels": ["fair:v5.9", "fair:v6.12"]}


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
            yield key, Outcome.failure("task 7 lost") if i == self.n else spec.run(inputs)


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
    metadata = json.loads(swept.table.schema.metadata[b"fairground"])
    assert metadata["metrics"]["ops_per_sec"] == {"unit": "ops/s", "better": "higher"}


#: Two schedulers, one of them a kernel that is none.
KERNELS = pipes(
    fixed={"machine": "hikey960", "workload": "sched-pipe:loops=20,threads"},
    axes={"sched": ["fair:v5.9", "fair:v6.12"]},
)


def with_a_kernel():
    experiment = Experiment.from_dict(KERNELS)
    (axis,) = experiment.axes
    inputs = Inputs(kernels={"none": Kernel(b"no library")})
    return replace(experiment, axes=(replace(axis, levels=("fair:v5.9", "linux:none")),), inputs=inputs)


def test_a_run_that_was_lost_ends_the_sweep_and_is_not_recorded(tmp_path, monkeypatch):
    """No process can be started, as where memory is short: the next start makes the run."""
    experiment = with_a_kernel()
    with monkeypatch.context() as patched:
        # No variable of a process may be that long.
        patched.setattr(sys, "path", [*sys.path, "x" * 200_000])
        with pytest.raises(SweepError, match="lost and is not recorded.*linux:none.*cannot start a worker"):
            sweep(experiment, tmp_path)
    seen = look(experiment, tmp_path)
    assert (len(seen.table), len(seen.failures), seen.left) == (5, 0, 5)
    again = sweep(experiment, tmp_path)
    assert (len(again.table), len(again.failures), again.left) == (5, 5, 0)


class Limited(Serial):
    """One of its runs takes too long."""

    def outcomes(self, work, inputs):
        for i, (key, outcome) in enumerate(super().outcomes(work, inputs)):
            yield key, Outcome.limited("it took more than 60 s of CPU time") if i == 6 else outcome


def test_a_run_that_a_limit_has_ended_is_told_and_not_recorded(tmp_path):
    swept = sweep(PIPES, tmp_path, client=Limited())
    assert (len(swept.table), swept.left) == (19, 0)
    (failure,) = swept.failures.to_pylist()
    assert (failure["seed"], failure["message"]) == (2, "it took more than 60 s of CPU time")
    assert look(PIPES, tmp_path).left == 1
    again = Shuffled(0)
    assert len(sweep(PIPES, tmp_path, client=again).table) == 20 and len(again.taken) == 1


def test_a_result_that_was_damaged_is_named_and_made_again(tmp_path):
    whole = bytes_of(sweep(PIPES, tmp_path / "store"), tmp_path)
    index = sqlite3.connect(tmp_path / "store" / "results.sqlite")
    with index:
        other = "UPDATE results SET content = (SELECT content FROM results WHERE id = 2) WHERE id = 1"
        assert index.execute(other).rowcount == 1
    index.close()
    with pytest.warns(StoreWarning, match=r"results.sqlite, result .*checksum"):
        assert look(PIPES, tmp_path / "store").left == 1
    with pytest.warns(StoreWarning, match="its run is made again"):
        assert bytes_of(sweep(PIPES, tmp_path / "store"), tmp_path) == whole
    assert bytes_of(look(PIPES, tmp_path / "store"), tmp_path) == whole


def test_a_comparison_and_a_sweep_in_one_store_make_a_run_once(tmp_path):
    """The key depends on the run alone; a sweep's folder may be moved."""
    sweep(PIPES, tmp_path / "before")
    (tmp_path / "before").rename(tmp_path / "store")
    with Store(tmp_path / "store") as store:
        runs = len(store)
    workload, *scheds = "sched-pipe:loops=20,threads", "fair:v5.9", "fair:v6.12"
    fg.compare("hikey960", workload, *scheds, seeds=5, store=tmp_path / "store")
    with Store(tmp_path / "store") as store:
        assert len(store) == runs == 20
    fg.compare("hikey960", workload, *scheds, seeds=7, store=tmp_path / "store")
    longer = Shuffled(0)
    sweep(pipes(experiment={"name": "pipes", "seeds": 7}), tmp_path / "store", client=longer)
    assert len(longer.taken) == 4, "those of the other workload"


def test_what_must_be_said_of_runs_is_said_of_the_sweep(tmp_path):
    changed = pipes(
        fixed={**KERNELS["fixed"], "settings": {"hz": 1000}},
        axes={"sched": ["fair:v5.9"], "settings": {"governor": ["performance", "schedutil"]}},
    )
    assert {"hz: 1000", "governor: schedutil"} <= set(sweep(changed, tmp_path).notes)


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
    class Looking(Serial):
        def outcomes(self, work, inputs):
            for done, item in enumerate(super().outcomes(work, inputs)):
                yield item
                assert len(look(PIPES, tmp_path).table) == done + 1

    assert len(sweep(PIPES, tmp_path, client=Looking()).table) == 20


def test_a_store_at_rest_is_read_where_nobody_may_write(tmp_path):
    mounted = ["mount", "-t", "tmpfs", "none", str(tmp_path)]
    if subprocess.run(mounted, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a disk")
    try:
        sweep(PIPES, tmp_path / "store")
        subprocess.run(["mount", "-o", "remount,ro", str(tmp_path)], check=True)
        assert len(look(PIPES, tmp_path / "store").table) == 20
        with pytest.raises(SweepError, match="Read-only|readonly|read-only"):
            sweep(pipes(experiment={"name": "pipes", "seeds": 6}), tmp_path / "store")
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_figure_that_is_named_like_an_axis_steps_aside(tmp_path):
    experiment = Experiment.from_dict(PIPES)
    axes = tuple(replace(axis, name="migrations") if axis.kind == "sched" else axis for axis in experiment.axes)
    table = sweep(replace(experiment, axes=axes), tmp_path).table
    assert table["migrations"].type == pa.string() and table["migrations_"].type == pa.float64()


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
        command(pipes_file, "--store", tmp_path / "store", "--status", "--output", tmp_path / "pipes.csv").returncode
        == 0
    )
    lines = (tmp_path / "pipes.csv").read_text().splitlines()
    assert len(lines) == 21 and lines[0].startswith('"workload","sched","seed","hash"')
    names = ["version", "commit", "program_hash", "machine_hash", "workload_hash", "kernel_hash", "settings", "figures"]
    names += ["workload_estimates", "command"]
    assert lines[0].endswith(",".join(f'"{name}"' for name in names))
    assert f'"{fg.__version__}","{fg.__commit__}","{CODE}"' in lines[1]


def test_rows_say_what_they_were_made_from(tmp_path):
    """Runs of the first point fail: rows do not begin with it."""
    axes = {
        "workload": [f"sched-pipe:loops={loops},threads" for loops in (20, 30)],
        "settings": {"ambient": [20, 31.5]},
    }
    content = pipes(axes={**axes, "sched": ["fair:v5.9"]})
    swept = sweep(content, tmp_path / "store", client=FailingPoints("loops=20", 20))
    made = swept.provenance().to_pydict()
    rows = swept.table.select(["workload", "ambient"]).to_pylist()
    assert len(rows) == len(made["settings"]) == 15
    texts = [
        RunSpec("hikey960", row["workload"], "fair:v5.9", 1, options=(("ambient", row["ambient"]),)).to_json()
        for row in rows
    ]
    alone = [swept.experiment.inputs.compiled.provenance(iter([text])).to_pyarrow().to_pylist()[0] for text in texts]
    assert swept.provenance().to_pylist() == alone
    assert (len(set(made["workload_hash"])), set(made["program_hash"])) == (2, {CODE})
    assert sorted(set(made["settings"])) == [
        f"governor=performance idle_governor=menu hz=250 ambient={celsius}" for celsius in ("20", "31.5")
    ]


def test_a_table_without_runs_has_all_columns(tmp_path):
    swept = sweep(PIPES, tmp_path / "store", client=FailingPoints("", None))
    swept.write(tmp_path / "none.csv")
    made = swept.provenance()
    assert (len(swept.table), len(made), made.column_names[3]) == (0, 0, "machine_hash")
    assert (tmp_path / "none.csv").read_text().endswith(",".join(f'"{name}"' for name in made.column_names) + "\n")


@pytest.mark.parametrize(
    "words, message",
    [
        (["--output", "x.xlsx"], ".parquet or .csv"),
        (["--output", "/nowhere/x.csv"], "cannot be written"),
        (["--report", "x.txt"], ".html"),
        (["--jobs", "0"], "from 1 on"),
        (["--sotre", "x"], "--sotre"),
        (["--status", "--store", "nothing"], "is not a store"),
    ],
)
def test_bad_words_are_refused_before_anything_runs(pipes_file, tmp_path, words, message):
    ran = command(pipes_file, *words, cwd=tmp_path)
    assert ran.returncode == 2 and message in ran.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pipes.toml"]


@pytest.mark.parametrize(
    "change, message",
    [
        (('"hikey960"', '"hikey96"'), "hikey960"),
        (('"fair:v6.12"', '"fair:v6.12+asym-prev-frist"'), "asym-prev-first"),
        (("seeds = 5", "seeds = 1000000"), "4,000,000 runs"),
    ],
)
def test_an_experiment_that_cannot_be_meant_is_refused_before_anything_runs(tmp_path, change, message):
    (tmp_path / "pipes.toml").write_text(PIPES_FILE.replace(*change))
    for words in ([], ["--status"]):
        ran = command("pipes.toml", "--store", "store", *words, cwd=tmp_path)
        assert ran.returncode == 2 and message in ran.stderr, ran.stderr
    assert not (tmp_path / "store").exists()


def test_a_look_at_many_runs_is_confirmed_like_a_sweep(tmp_path):
    many = pipes(experiment={"name": "pipes", "seeds": 1_000_000})
    with pytest.raises(fg.InputError, match="4,000,000 runs"):
        look(many, tmp_path)
    with pytest.raises(StoreRefused, match="is not a store"):
        look(many, tmp_path, confirm=True)


@pytest.mark.parametrize("code, warned", [(CODE, False), ("0" * 32, True)], ids=["the same", "another"])
def test_the_command_says_if_the_package_is_another_program(pipes_file, tmp_path, code, warned):
    """The command and the package are installed apart, and it is the package that runs."""
    start = Path(__file__).parents[2] / "crates/cli/src/python/start.py"
    words = [sys.executable, "-c", start.read_text(), "--store", tmp_path / "store", pipes_file]
    environment = {**os.environ, "FAIRGROUND_STUDY_CODE": code}
    ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, env=environment)
    assert (ran.returncode, ran.stdout) == (0, "pipes: 20 of 20 runs\n"), ran.stderr
    message = f"package of {sys.executable} has code {CODE[:12]}, this command has code 000000000000"
    assert (message in ran.stderr) == warned == bool(ran.stderr), ran.stderr


def test_the_command_refuses_a_store_of_before(pipes_file, tmp_path):
    (tmp_path / "store" / "parts").mkdir(parents=True)
    ran = command(pipes_file, "--store", tmp_path / "store")
    assert ran.returncode == 2 and "a store of an earlier fairground (index.sqlite and parts/)" in ran.stderr


def test_the_command_tells_failures_and_ends_with_1(tmp_path):
    """A run that fails in a store, as a crash of a kernel would; the sweep itself goes on."""
    sweep(PIPES, tmp_path / "store", client=Failing(0))
    (tmp_path / "pipes.toml").write_text(PIPES_FILE)
    ran = command(tmp_path / "pipes.toml", "--store", tmp_path / "store")
    assert ran.returncode == 1
    assert ran.stdout == "pipes: 19 of 20 runs, 1 failed\n"
    assert ran.stderr == ("run failed: workload sched-pipe:loops=20,threads, sched fair:v5.9, seed 1: task 7 lost\n")


def test_a_disk_that_fills_ends_the_sweep_and_the_next_goes_on(pipes_file, tmp_path):
    """Files may not grow beyond 120 kB, which takes some runs of several kB each."""
    limited = """
        import resource, sys
        from fairground.sweeps.command import main
        resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, 120_000))
        sys.exit(main(sys.argv[1:]))
    """
    line = program(limited, pipes_file, "--store", tmp_path / "store")
    ran = subprocess.run(line, capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 1 and "earlier results are kept" in ran.stderr
    kept = len(look(PIPES, tmp_path / "store").table)
    assert 0 < kept < 20
    rest = Shuffled(0)
    assert len(sweep(PIPES, tmp_path / "store", client=rest).table) == 20
    assert len(rest.taken) == 20 - kept


def test_ctrl_c_in_the_command_keeps_what_was_finished(tmp_path):
    """Twenty short runs, and some that do not end before they are interrupted. Of each point one run is tried first."""
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
            if len(look(large, tmp_path / "store").table) >= 4:
                break
        except StoreRefused:
            pass
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130, errors
    assert "stopped; finished runs are kept" in errors and "Traceback" not in errors
    assert look(large, tmp_path / "store").left > 0
    sweep(PIPES, tmp_path / "store")
